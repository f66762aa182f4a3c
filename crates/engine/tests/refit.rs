//! Fitting pool learners: their draws, cold starts and estimates, and comparisons of rules.

mod common;

use common::{fitted_by as pool, plain};
use querist_engine::coin::Coin;
use querist_engine::compare::{
    self, ComparisonVerdict, Contest, Criterion, Entrant, Fit, Metric, TestSet, summarize, verdict,
};
use querist_engine::pool::{Draw, Objective, PoolLearner, RefitPool};
use querist_engine::rule;
use querist_engine::task::{self, Labels};
use querist_rows::{DenseRows, Rows};

const MARGIN: &str = "margin:share=0.05,floor=0.2";

fn ask(learner: &mut RefitPool, rows: &Rows, labels: &[f64], asks: usize) {
    for _ in 0..asks {
        let drawn = learner.ask(rows).unwrap();
        learner.answer(&[(rows.row(drawn.row), drawn, labels[drawn.row])]).unwrap();
    }
}

/// Recorded probabilities are U/ΣU over the remaining rows, also within a batch under one θ. A floor of 0.2 keeps every
/// probability above 0.2/n, except for the error of the sample that sets the scale.
#[test]
fn probabilities_are_exact_and_above_the_floor() {
    for (kind, rule_name) in [
        (Labels::Binary, MARGIN),
        (Labels::Binary, "rare:floor=0.2"),
        (Labels::Classes(4), MARGIN),
        (Labels::Classes(4), "rare:floor=0.2"),
    ] {
        let (rows, labels) = plain(300, 4, 1, kind);
        let mut learner = pool(&rows, kind, rule_name, Draw::Scan, Objective::AsAsked, 3);
        let mut asked = vec![false; 300];
        for _ in 0..20 {
            let mut batch = vec![];
            for _ in 0..5 {
                let drawn = learner.ask(&rows).unwrap();
                let left: Vec<usize> = (0..300).filter(|row| !asked[*row]).collect();
                let total: f64 = left.iter().map(|row| learner.uncertainty(rows.row(*row))).sum();
                let chance = drawn.draw_probability(left.len()).unwrap();
                assert!((chance.probability - drawn.uncertainty / total).abs() < 1e-12);
                assert!((drawn.probability.unwrap() - chance.probability).abs() < 1e-12);
                let least = left.iter().map(|row| learner.uncertainty(rows.row(*row))).fold(1.0, f64::min) / total;
                assert!(chance.floor <= least * (1.0 + 1e-12), "{rule_name}: {} > {least}", chance.floor);
                assert!(0.15 / left.len() as f64 <= chance.floor || learner.is_cold(), "{rule_name}: {}", chance.floor);
                asked[drawn.row] = true;
                batch.push((rows.row(drawn.row), drawn, labels[drawn.row]));
            }
            learner.answer(&batch).unwrap();
        }
        assert_eq!(learner.models().answers(), 100);
    }
}

/// With proposals, the mean of U is sampled: over 400 draws its mean is the exact one, within 5 standard errors.
#[test]
fn the_sampled_rate_is_unbiased() {
    let (rows, labels) = plain(2000, 3, 2, Labels::Binary);
    let mut learner = pool(&rows, Labels::Binary, MARGIN, Draw::Reject, Objective::AsAsked, 1);
    ask(&mut learner, &rows, &labels, 60);
    let differences: Vec<f64> = (0..400)
        .map(|_| {
            let drawn = learner.ask(&rows).unwrap();
            drawn.rate.unwrap() - learner.scan(&rows).mean()
        })
        .collect();
    let mean = differences.iter().sum::<f64>() / 400.0;
    let deviation = (differences.iter().map(|d| (d - mean) * (d - mean)).sum::<f64>() / 399.0).sqrt();
    assert!(mean.abs() < 5.0 * deviation / 20.0 && 0.0 < deviation, "{mean} of {deviation}");
}

/// A cold start draws uniformly until all classes were seen, but only up to a limit.
#[test]
fn a_cold_start_waits_for_every_class_up_to_a_limit() {
    let (rows, _) = plain(400, 3, 5, Labels::Binary);
    let rare: Vec<f64> = (0..400).map(|i| if i % 25 == 0 { 1.0 } else { -1.0 }).collect();
    for (labels, cap) in [(&rare, false), (&vec![-1.0; 400], true)] {
        let mut learner = pool(&rows, Labels::Binary, MARGIN, Draw::Top, Objective::AsAsked, 9);
        let (mut seen, mut asks) = ([false; 2], 0);
        while learner.is_cold() {
            let left = learner.left() as f64;
            let drawn = learner.ask(&rows).unwrap();
            assert!((drawn.probability.unwrap() * left - 1.0).abs() < 1e-12);
            learner.answer(&[(rows.row(drawn.row), drawn, labels[drawn.row])]).unwrap();
            seen[usize::from(0.0 < labels[drawn.row])] = true;
            asks += 1;
        }
        assert!(10 <= asks && (seen == [true; 2]) != cap, "{asks} asks");
        assert_eq!(asks == 50, cap);
        assert!(learner.ask(&rows).unwrap().probability.is_none());
    }
}

/// The mean of estimates from requested labels is the accuracy on the pool; seed labels are excluded.
#[test]
fn estimates_of_accuracy_on_the_whole_pool_are_unbiased() {
    let (rows, labels) = plain(600, 5, 4, Labels::Binary);
    let mut differences = vec![];
    for seed in 0..60 {
        let mut learner = pool(&rows, Labels::Binary, MARGIN, Draw::Scan, Objective::AsAsked, seed);
        for row in 0..5 {
            learner.add_seed_label(row, rows.row(row), labels[row]);
        }
        ask(&mut learner, &rows, &labels, 80);
        let assessed = learner.assess(Some(&rows)).unwrap();
        assert_eq!((assessed.score.draws, assessed.readings.len()), (80, 80));
        assert!(0 < assessed.twin_labels && assessed.twin_labels <= 80);
        let theta = learner.models().theta().unwrap();
        assert_eq!(learner.models().answers(), 85);
        let right = |row: usize| {
            let score = theta[0] + rows.row(row).dot_with(&theta[1..]);
            f64::from(u8::from((0.0 <= score) == (0.0 < labels[row])))
        };
        let truth = (5..600).map(right).sum::<f64>() / 595.0;
        differences.push(assessed.score.value - truth);
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let center = mean(&differences);
    let deviation = (differences.iter().map(|d| (d - center) * (d - center)).sum::<f64>() / 59.0).sqrt();
    // Folds leave a fifth out, so one percentage point is allowed in addition to noise.
    assert!(center.abs() < 0.01 + 4.0 * deviation / 60_f64.sqrt(), "off by {center}, deviation {deviation}");
}

trait Dot {
    fn dot_with(self, w: &[f64]) -> f64;
}

impl Dot for querist_rows::Row<'_> {
    fn dot_with(self, w: &[f64]) -> f64 {
        querist_rows::Features::dot(self, w)
    }
}

/// Uniform draws have weight 1 under every objective, so the three fits agree.
#[test]
fn objectives_agree_for_uniform_draws() {
    let (rows, labels) = plain(200, 3, 6, Labels::Binary);
    let fitted = |objective| {
        let mut learner = pool(&rows, Labels::Binary, "constant", Draw::Scan, objective, 2);
        ask(&mut learner, &rows, &labels, 60);
        learner.models().theta().unwrap().to_vec()
    };
    let first = fitted(Objective::AsAsked);
    for objective in [Objective::Equivalent, Objective::Original] {
        let other = fitted(objective);
        assert!(first.iter().zip(&other).all(|(a, b)| (a - b).abs() < 1e-9), "{objective:?}");
    }
}

/// Generates data in which a fraction of the rows lies in a fog around the boundary, where labels are mostly wrong,
/// while the others are clear. Asking near the boundary then costs accuracy.
fn fog(first: u64, n: u64, dim: usize, share: f64) -> (Rows, Vec<f64>) {
    let coin = Coin::new(11, "fog");
    let normal = |at: u64| (0..12).map(|k| coin.unit(at * 16 + k)).sum::<f64>() - 6.0;
    let (mut values, mut labels) = (vec![], vec![]);
    for row in first..first + n {
        let at = row * 64;
        let label = if coin.unit(at * 16 + 13) < 0.5 { -1.0 } else { 1.0 };
        let is_clear = share <= coin.unit(at * 16 + 14);
        for j in 0..dim as u64 {
            let (center, spread) = match (is_clear, j < 6) {
                (true, true) => (0.5 * label, 0.5),
                (true, false) => (0.0, 0.5),
                (false, true) => (-0.15 * label, 0.1),
                (false, false) => (0.0, 0.5),
            };
            values.push((center + spread * normal(at + j)) as f32);
        }
        labels.push(label);
    }
    (Rows::Dense(DenseRows::from_values(dim, values).unwrap()), labels)
}

fn entrants(names: &[(&str, &str, Draw)]) -> Vec<Entrant> {
    names
        .iter()
        .map(|(name, rule_name, draw)| Entrant {
            name: (*name).to_owned(),
            rule: rule::parse(rule_name, "logistic", Labels::Binary).unwrap(),
            draw: *draw,
            fit: Fit::Refit { objective: Objective::AsAsked, strength: None },
        })
        .collect()
}

fn compared(
    (rows, labels): (&Rows, &[f64]),
    test: TestSet<'_>,
    budget: u64,
    seeds: u64,
    threads: usize,
) -> (compare::Comparison, ComparisonVerdict, String) {
    let contest = Contest { rows, labels, kind: Labels::Binary, test, budget, batch: 1 };
    let all =
        entrants(&[("random", "constant", Draw::Scan), ("margin", MARGIN, Draw::Scan), ("top", MARGIN, Draw::Top)]);
    let seeds: Vec<u64> = (0..seeds).collect();
    let work = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let make = || task::parse("logistic", Labels::Binary).unwrap();
    let outcome = work.install(|| compare::run(&contest, &make, &all, &seeds, &|_| ())).unwrap();
    let accuracy = Criterion::new(Metric::Accuracy, &*make(), &[]).unwrap();
    let curves: Vec<_> = outcome.runs.iter().map(|runs| summarize(runs, &accuracy)).collect();
    let names: Vec<String> = all.into_iter().map(|entrant| entrant.name).collect();
    let verdict = verdict(&curves, 0, &outcome.full_values(&accuracy));
    let text = verdict.text(&names, accuracy.metric());
    (outcome, verdict, text)
}

#[test]
fn a_comparison_finds_the_winner_with_any_number_of_threads() {
    let ((rows, labels), (clear_rows, clear)) = (fog(0, 900, 20, 0.5), fog(5000, 600, 20, 0.0));
    let test = TestSet::Rows(&clear_rows, &clear);
    let (outcome, verdict, text) = compared((&rows, &labels), test, 100, 20, 1);
    assert!(matches!(verdict, ComparisonVerdict::Random { .. }), "{text}");
    assert!(text.starts_with("random is better"), "{text}");
    let (again, same, _) = compared((&rows, &labels), test, 100, 20, 3);
    assert!(outcome == again && verdict == same);

    // Every seed has its own split, and all entrants of a seed but random sampling start equally.
    for seed in 0..20 {
        let first = |entrant: usize| outcome.runs[entrant][seed].points[..10].to_vec();
        assert_ne!(first(0), first(1));
        assert_eq!(first(1), first(2));
    }

    // A clear boundary in few dimensions: asking near it pays off.
    let (rows, _) = plain(900, 6, 3, Labels::Binary);
    let clear: Vec<f64> = (0..900)
        .map(|row| if rows.row(row).dot_with(&[1.0, -0.7, 0.5, 0.9, 0.0, 0.3]) < 0.2 { -1.0 } else { 1.0 })
        .collect();
    let (_, verdict, text) = compared((&rows, &clear), TestSet::Share(0.3), 120, 8, 2);
    assert!(matches!(verdict, ComparisonVerdict::Better { saved: Some(_), .. }), "{text}");
    assert!(text.contains("is better: by ") && text.contains("of labels at"), "{text}");

    // Labels that are pure noise: there is no winner.
    let coin = Coin::new(2, "noise");
    let noise: Vec<f64> = (0..900).map(|row| if coin.unit(row) < 0.5 { -1.0 } else { 1.0 }).collect();
    let (_, verdict, text) = compared((&rows, &noise), TestSet::Share(0.3), 60, 8, 2);
    assert!(matches!(verdict, ComparisonVerdict::Undecided(_)), "{text}");
    assert!(text.contains("more seeds needed"), "{text}");
    let (.., text) = compared((&rows, &clear), TestSet::Share(0.3), 60, 1, 2);
    assert!(text.starts_with("undecided: at least 2 seeds are needed"), "{text}");
}
