//! A thousand simulated runs each: errors of estimates, and how often intervals cover.

use std::ops::{Range, RangeInclusive};

use querist_engine::estimate::{self, Estimate, Estimator, Judgement, Twin, fold};

use crate::world::{Drawing, Pool, Run, learn};

const RUNS: u64 = 1000;

/// What a series of estimates of one number did.
#[derive(Clone, Copy, Default)]
struct Record {
    runs: f64,
    error: f64,
    square: f64,
    covered: f64,
    always: f64,
}

impl Record {
    fn add(&mut self, estimate: Option<Estimate>, truth: f64) {
        let Some(estimate) = estimate else { return };
        let within = |(low, high): (f64, f64)| f64::from(low <= truth + 1e-9 && truth <= high + 1e-9);
        self.runs += 1.0;
        self.error += estimate.value - truth;
        self.square += (estimate.value - truth).powi(2);
        self.covered += within((estimate.low, estimate.high));
        self.always += estimate.anytime.map_or(1.0, within);
    }

    /// The mean error in units of its own deviation.
    fn bias(&self) -> f64 {
        self.error / self.square.sqrt()
    }
}

impl std::fmt::Display for Record {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (mean, deviation) = (self.error / self.runs, (self.square / self.runs).sqrt());
        let (covered, always) = (self.covered / self.runs, self.always / self.runs);
        let bias = self.bias();
        let covers = format!("covers {covered:.3} once, {always:.3} always");
        write!(f, "mean error {mean:+.4} ({bias:+.1} deviations), spread {deviation:.4}, {covers}")
    }
}

/// What a whole pool is judged to be, item by item.
struct Judged {
    scores: Vec<Judgement>,
    logs: Vec<f64>,
    squares: Vec<f64>,
}

impl Judged {
    fn new(pool: &Pool, theta: &[f64]) -> Self {
        let items = 0..pool.len();
        let scores: Vec<Judgement> = items.clone().map(|i| pool.judge(theta, i)).collect();
        let squares = items.map(|i| (pool.probability(theta, i) - pool.truth[i] as f64).powi(2)).collect();
        Self { logs: scores.iter().map(|j| j.loss).collect(), scores, squares }
    }

    /// All estimates from one run: four scores, log loss, squared error.
    fn estimates(&self, run: &Run) -> [Option<Estimate>; 6] {
        let of = |values: &[f64]| run.items.iter().map(|&i| values[i]).collect::<Vec<f64>>();
        let drawn: Vec<Judgement> = run.items.iter().map(|&i| self.scores[i]).collect();
        let estimator = Estimator::new(self.scores.len());
        let scores = estimator.scores(&drawn, &run.draws, Some(1)).unwrap();
        let logs = estimator.mean(&of(&self.logs), &run.draws, estimate::Range::Unbounded).unwrap();
        let squares = estimator.mean(&of(&self.squares), &run.draws, estimate::Range::Within(0.0, 1.0)).unwrap();
        [Some(scores.accuracy), scores.precision, scores.recall, scores.f1, Some(logs), Some(squares)]
    }

    fn truths(&self) -> [f64; 6] {
        let count = |f: &dyn Fn(&Judgement) -> bool| self.scores.iter().filter(|j| f(j)).count() as f64;
        let found = count(&|j| j.predicted == 1 && j.truth == 1);
        let (said, are) = (count(&|j| j.predicted == 1), count(&|j| j.truth == 1));
        let n = self.scores.len() as f64;
        let mean = |values: &[f64]| values.iter().sum::<f64>() / n;
        let right = count(&|j| j.predicted == j.truth) / n;
        [right, found / said, found / are, 2.0 * found / (said + are), mean(&self.logs), mean(&self.squares)]
    }
}

const SCORES: [&str; 6] = ["accuracy", "precision", "recall", "F1", "log loss", "squares"];

/// Seeds to run, and how much intervals must and may cover: those of log losses, and any others.
struct Expected {
    seeds: Range<u64>,
    log_losses: RangeInclusive<f64>,
    others: RangeInclusive<f64>,
}

/// As the intervals promise.
const TAME: Expected = Expected { seeds: 0..1000, log_losses: 0.93..=0.97, others: 0.93..=0.97 };
/// Where rare log losses dwarf the rest, their intervals cannot.
const WILD: Expected = Expected { log_losses: 0.8..=0.97, ..TAME };
/// Pools and seeds that the constants of the intervals were not chosen on.
const FRESH: Expected = Expected { seeds: 50_000..51_000, log_losses: 0.93..=0.99, others: 0.93..=0.99 };

/// Means and ratios are right on average, where the plain share of the drawn is far off. Intervals cover as expected for
/// who looks once, and at least 95 % of whole runs for who always looks.
fn is_honest(pool: &Pool, (labels, chance, sharpness): (usize, f64, i32), model: &[f64], expected: &Expected) {
    let how = Drawing { labels, chance, sharpness };
    let judged = Judged::new(pool, model);
    let truths = judged.truths();
    let mut records = [Record::default(); 6];
    let mut plain = Record::default();
    for seed in expected.seeds.clone() {
        let run = learn(pool, how, seed);
        let right = run.items.iter().filter(|&&i| judged.scores[i].predicted == pool.truth[i]).count();
        let estimates = judged.estimates(&run);
        plain.add(estimates[0].map(|e| Estimate { value: right as f64 / labels as f64, ..e }), truths[0]);
        for ((record, estimate), truth) in records.iter_mut().zip(estimates).zip(truths) {
            record.add(estimate, truth);
        }
    }
    assert!(plain.bias().abs() > 15.0, "plain share: {plain}");
    for (record, score) in records.iter().zip(SCORES) {
        let covered = record.covered / record.runs;
        let promised = if score == "log loss" { &expected.log_losses } else { &expected.others };
        assert!(record.bias().abs() < 3.5, "{score}: {record}");
        assert!(promised.contains(&covered), "{score}: {record}");
        assert!(record.always >= 0.95 * record.runs, "{score}: {record}");
    }
}

#[test]
fn honest_on_two_equal_classes() {
    is_honest(&Pool::clouds(1000, 0.5, 2.0, 1), (200, 0.2, 1), &[0.0, 1.0, 0.0], &TAME);
}

#[test]
fn honest_with_few_labels() {
    is_honest(&Pool::clouds(1000, 0.5, 2.0, 1), (60, 0.1, 1), &[0.0, 1.0, 0.0], &TAME);
}

#[test]
fn honest_with_one_percent_positive() {
    is_honest(&Pool::clouds(4000, 0.01, 4.0, 2), (400, 0.2, 1), &[-2.0, 2.0, 0.0], &WILD);
}

#[test]
fn honest_with_one_percent_hard_to_find() {
    is_honest(&Pool::clouds(4000, 0.01, 2.0, 2), (400, 0.2, 1), &[-3.0, 2.0, 0.0], &WILD);
}

#[test]
fn honest_with_heavy_weights() {
    is_honest(&Pool::clouds(2000, 0.3, 2.0, 3), (300, 0.1, 3), &[-1.0, 2.0, 0.0], &WILD);
}

/// Items are drawn by what one model is unsure of, and another is judged.
#[test]
fn honest_about_another_model() {
    is_honest(&Pool::clouds(2000, 0.3, 2.0, 3), (300, 0.1, 2), &[-1.0, 0.3, 1.0], &TAME);
}

#[test]
fn honest_when_most_of_the_pool_is_drawn() {
    is_honest(&Pool::clouds(500, 0.5, 2.0, 3), (400, 0.2, 1), &[0.0, 1.0, 0.0], &WILD);
}

#[test]
fn honest_on_waveform() {
    let pool = Pool::waveform();
    let model = pool.fit(&(0..200).collect::<Vec<_>>());
    is_honest(&pool, (200, 0.2, 1), &model, &TAME);
}

#[test]
#[ignore = "a minute: `./check --long` runs it"]
fn honest_on_pools_it_was_not_tuned_on() {
    is_honest(&Pool::clouds(1500, 0.5, 1.5, 21), (150, 0.3, 1), &[0.1, 1.0, 0.1], &FRESH);
    is_honest(&Pool::clouds(3000, 0.4, 2.5, 22), (300, 0.05, 1), &[-0.5, 1.5, 0.0], &FRESH);
    is_honest(&Pool::clouds(2000, 0.1, 2.5, 23), (200, 0.5, 2), &[-2.0, 2.0, 0.0], &FRESH);
    is_honest(&Pool::clouds(5000, 0.01, 3.0, 24), (500, 0.1, 1), &[-3.0, 2.0, 0.0], &FRESH);
    is_honest(&Pool::clouds(5000, 0.01, 3.0, 25), (1000, 0.3, 1), &[-3.0, 2.0, 0.0], &FRESH);
    is_honest(&Pool::clouds(5000, 0.3, 2.0, 27), (1500, 0.1, 2), &[-1.0, 2.0, 0.0], &FRESH);
    is_honest(&Pool::clouds(2000, 0.3, 2.0, 28), (300, 0.3, 2), &[-1.0, -0.3, 1.0], &FRESH);
}

/// Each item judged by the model before its answer: right on average for the models of the run, whose errors on what was
/// left are known here at every draw.
#[test]
fn progressive_judgements_are_of_the_run() {
    let pool = Pool::clouds(600, 0.4, 2.0, 4);
    let how = Drawing { labels: 100, chance: 0.2, sharpness: 1 };
    let (mut levelled, mut plain) = (Record::default(), Record::default());
    for seed in 0..RUNS {
        let run = learn(&pool, how, seed);
        let (n, labels) = (pool.len() as f64, how.labels as f64);
        let (mut truth, mut known) = (0.0, 0.0);
        for m in 0..how.labels {
            let left = n - m as f64;
            let share = n * (n - labels) / (labels * (left - 1.0) * left);
            truth += share * (known + run.left_wrong[m]) / n;
            known += f64::from(run.wrong[m]);
        }
        let estimate = Estimator::new(pool.len()).share(&run.wrong, &run.draws).unwrap();
        levelled.add(Some(estimate), truth);
        plain.add(Some(Estimate { value: known / labels, ..estimate }), truth);
    }
    assert!(levelled.bias().abs() < 3.5 && plain.bias() > 15.0, "{levelled}; {plain}");
    let covered = levelled.covered / levelled.runs;
    assert!((0.93..=0.97).contains(&covered), "{levelled}");
}

/// Fitted without an item's fold, models are judged fairly; judged by what they were fitted to, they are flattered. The
/// models of the random twin are judged by the same draws.
#[test]
fn cross_fitted_judgements_are_fair() {
    let (pool, folds) = (Pool::waveform(), 5);
    let how = Drawing { labels: 100, chance: 0.3, sharpness: 1 };
    let (mut fair, mut flattered, mut of_twin) = (Record::default(), Record::default(), Record::default());
    for seed in 0..RUNS / 2 {
        let run = learn(&pool, how, seed);
        let ids: Vec<u64> = run.items.iter().map(|&i| i as u64).collect();
        let twin = Twin::of(pool.len(), seed, &run.draws, &ids);
        let twins: Vec<usize> = twin.members().iter().map(|&m| run.items[m]).collect();
        let of = |item: usize| fold(seed, item as u64, folds);
        for (labelled, record) in [(&run.items, &mut fair), (&twins, &mut of_twin)] {
            let without = |k: usize| labelled.iter().copied().filter(|&i| of(i) != k).collect::<Vec<_>>();
            let models: Vec<Vec<f64>> = (0..folds).map(|k| pool.fit(&without(k))).collect();
            let wrong = |i: usize| pool.is_wrong(&models[of(i)], i);
            let truth = (0..pool.len()).filter(|&i| wrong(i)).count() as f64 / pool.len() as f64;
            let judged: Vec<bool> = run.items.iter().map(|&i| wrong(i)).collect();
            record.add(Estimator::new(pool.len()).share(&judged, &run.draws).ok(), truth);
        }
        let model = pool.fit(&run.items);
        let judged: Vec<bool> = run.items.iter().map(|&i| pool.is_wrong(&model, i)).collect();
        flattered.add(Estimator::new(pool.len()).share(&judged, &run.draws).ok(), 1.0 - pool.accuracy(&model));
    }
    assert!(fair.bias().abs() < 3.5 && of_twin.bias().abs() < 3.5, "{fair}; {of_twin}");
    assert!(flattered.bias() < -15.0, "{flattered}");
    for record in [fair, of_twin] {
        // Of 500 runs, three deviations below 95 %.
        assert!(record.covered / record.runs > 0.92 && record.always / record.runs > 0.95, "{record}");
    }
}
