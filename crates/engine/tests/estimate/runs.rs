//! A thousand simulated runs each: errors of estimates, and how often intervals cover.

use querist_engine::estimate::{Estimate, Estimator, Judgement, Range};

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
        write!(f, "mean error {mean:+.4} ({bias:+.1} deviations), spread {deviation:.4}, {covered:.3}, {always:.3}")
    }
}

struct World {
    name: &'static str,
    pool: Pool,
    how: Drawing,
    /// The model that is judged.
    judge: Vec<f64>,
}

fn worlds() -> Vec<World> {
    let drawing = |labels, chance, sharpness| Drawing { labels, chance, sharpness };
    let world = |name, pool, how, judge: &[f64]| World { name, pool, how, judge: judge.to_vec() };
    let waveform = Pool::waveform();
    let fitted = waveform.fit(&(0..200).collect::<Vec<_>>());
    vec![
        world("balanced", Pool::clouds(1000, 0.5, 2.0, 1), drawing(200, 0.2, 1), &[0.0, 1.0, 0.0]),
        world("few labels", Pool::clouds(1000, 0.5, 2.0, 1), drawing(60, 0.1, 1), &[0.0, 1.0, 0.0]),
        world("1 % positive", Pool::clouds(4000, 0.01, 4.0, 2), drawing(400, 0.2, 1), &[-2.0, 2.0, 0.0]),
        world("1 % positive, hard", Pool::clouds(4000, 0.01, 2.0, 2), drawing(400, 0.2, 1), &[-3.0, 2.0, 0.0]),
        world("heavy weights", Pool::clouds(2000, 0.3, 2.0, 3), drawing(300, 0.1, 3), &[-1.0, 2.0, 0.0]),
        world("another model", Pool::clouds(2000, 0.3, 2.0, 3), drawing(300, 0.1, 2), &[-1.0, 0.3, 1.0]),
        world("most of the pool", Pool::clouds(500, 0.5, 2.0, 3), drawing(400, 0.2, 1), &[0.0, 1.0, 0.0]),
        world("waveform", waveform, drawing(200, 0.2, 1), &fitted),
    ]
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
        let logs = estimator.mean(&of(&self.logs), &run.draws, Range::Unbounded).unwrap();
        let squares = estimator.mean(&of(&self.squares), &run.draws, Range::Within(0.0, 1.0)).unwrap();
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

/// Means are right on average in every world, where the plain share of the drawn is far off. Intervals of shares, ratios and
/// bounded losses cover 93 to 97 % for who looks once, and at least 95 % of whole runs for who always looks.
#[test]
fn estimates_are_honest() {
    for World { name, pool, how, judge } in worlds() {
        let judged = Judged::new(&pool, &judge);
        let truths = judged.truths();
        let mut records = [Record::default(); 6];
        let mut plain = Record::default();
        for seed in 0..RUNS {
            let run = learn(&pool, how, seed);
            let right = run.items.iter().filter(|&&i| judged.scores[i].predicted == pool.truth[i]).count();
            let estimates = judged.estimates(&run);
            plain.add(estimates[0].map(|e| Estimate { value: right as f64 / how.labels as f64, ..e }), truths[0]);
            for ((record, estimate), truth) in records.iter_mut().zip(estimates).zip(truths) {
                record.add(estimate, truth);
            }
        }
        println!("{name}: plain share {plain}");
        for (record, score) in records.iter().zip(SCORES) {
            println!("  {score:9} {record}");
        }
        assert!(plain.bias().abs() > 15.0, "{name}: {plain}");
        for (record, score) in records.iter().zip(SCORES) {
            let covered = record.covered / record.runs;
            let ratio = matches!(score, "precision" | "recall" | "F1");
            assert!(ratio || record.bias().abs() < 3.5, "{name}, {score}: {record}");
            assert!(score == "log loss" || (0.93..=0.97).contains(&covered), "{name}, {score}: {record}");
            assert!(record.always >= 0.95 * record.runs, "{name}, {score}: {record}");
        }
    }
}
