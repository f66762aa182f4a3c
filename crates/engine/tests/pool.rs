//! Algorithm 2: draws in proportion to U, by proposals and by a pass, and what is made of them.

mod common;

use common::{Recipe, plain};
use querist_engine::pool::{Draw, NoRow, PoolLearner, PoolSettings, Replacement};
use querist_engine::rows::{Row, Rows, Sparse, SparseRows};
use querist_engine::step::StepSize;
use querist_engine::stream::{Importance, Rules, StreamLearner};
use querist_engine::task::Labels;

fn pool(recipe: &Recipe, rows: usize, draw: Draw, replacement: Replacement, seed: u64) -> PoolLearner {
    pool_by(recipe, recipe.rules(), rows, draw, replacement, seed)
}

fn pool_by(recipe: &Recipe, rules: Rules, rows: usize, draw: Draw, again: Replacement, seed: u64) -> PoolLearner {
    let settings = PoolSettings { draw, replacement: again, importance: recipe.importance, seed };
    PoolLearner::new(recipe.learner(), rules, rows, settings)
}

/// A learner at a point where probabilities differ: |v| reaches 4.
fn recipe() -> Recipe {
    Recipe { start: Some(vec![3.0, -1.0, 0.5, 0.2]), ..Recipe::new("logistic", "entropy", 3) }
}

/// Both draws have the law p ∝ U: every row's frequency is within 6 deviations over 200,000 draws of 50 rows; tries have
/// mean `U_max/S_t` and are independent of the row; the recorded probabilities are what they say.
#[test]
fn alg_usgd_pool_based() {
    let (rows, _) = plain(50, 3, 1, Labels::Binary);
    let n = 200_000;
    for draw in [Draw::Reject, Draw::Scan] {
        let mut learner = pool(&recipe(), 50, draw, Replacement::With, 3);
        let uncertainties: Vec<f64> = (0..50).map(|i| learner.uncertainty(rows.row(i))).collect();
        let (total, u_max) = (uncertainties.iter().sum::<f64>(), std::f64::consts::LN_2);
        let rate = total / 50.0;
        assert!((learner.scan(&rows).mean() - rate).abs() < 1e-12);
        let mut counts = [0_u32; 50];
        let (mut tries, mut tries_squared, mut low_tries, mut low) = (0.0, 0.0, 0.0, 0.0);
        let mut inverse = 0.0;
        for _ in 0..n {
            let drawn = learner.ask(&rows).unwrap();
            counts[drawn.row] += 1;
            let p = uncertainties[drawn.row] / if draw == Draw::Scan { total } else { u_max };
            assert!((drawn.probability.unwrap() - p).abs() < 1e-12 && drawn.uncertainty == uncertainties[drawn.row]);
            let count = drawn.tries as f64;
            tries += count;
            tries_squared += count * count;
            inverse += drawn.inverse_rate;
            if uncertainties[drawn.row] < rate {
                low += 1.0;
                low_tries += count;
            }
        }
        for (count, u) in counts.iter().zip(&uncertainties) {
            let p = u / total;
            let deviation = (f64::from(n) * p * (1.0 - p)).sqrt();
            assert!(
                (f64::from(*count) - f64::from(n) * p).abs() <= 6.0 * deviation,
                "{draw:?}: {count} of {}",
                f64::from(n) * p
            );
        }
        let n = f64::from(n);
        if draw == Draw::Scan {
            assert!((inverse / n - 1.0 / rate).abs() < 1e-9);
            continue;
        }
        // Geometric with success rate S/U_max.
        let (mean, success) = (tries / n, rate / u_max);
        let deviation = ((1.0 - success) / (success * success)).sqrt();
        assert!((mean - u_max / rate).abs() <= 4.0 * deviation / n.sqrt(), "{mean} tries for {}", u_max / rate);
        let variance = tries_squared / n - mean * mean;
        assert!((variance / (deviation * deviation) - 1.0).abs() < 0.05, "variance {variance}");
        assert!((low_tries / low - mean).abs() <= 5.0 * deviation / low.sqrt(), "tries depend on the row");
        assert!((inverse / n - 1.0 / rate).abs() <= 4.0 * deviation / u_max / n.sqrt());
    }
}

#[test]
fn without_replacement_every_row_is_asked_once_and_the_law_is_that_of_what_is_left() {
    let (rows, _) = plain(40, 3, 2, Labels::Binary);
    for draw in [Draw::Reject, Draw::Scan, Draw::Top] {
        let mut second = [0_u32; 40];
        let rules = recipe().rules();
        for seed in 0..4000 {
            let mut learner = pool_by(&recipe(), rules.clone(), 40, draw, Replacement::Without, seed);
            let first = learner.ask(&rows).unwrap();
            let next = learner.ask(&rows).unwrap();
            assert!(first.row != next.row);
            if first.row == 7 {
                second[next.row] += 1;
            }
            if seed == 0 {
                let mut seen = vec![first.row, next.row];
                while let Ok(drawn) = learner.ask(&rows) {
                    seen.push(drawn.row);
                }
                assert_eq!(learner.ask(&rows), Err(NoRow::Exhausted));
                seen.sort_unstable();
                assert_eq!(seen, (0..40).collect::<Vec<_>>(), "{draw:?}");
            }
        }
        let total: f64 = second.iter().map(|count| f64::from(*count)).sum();
        let learner = pool(&recipe(), 40, draw, Replacement::Without, 0);
        let mut u: Vec<f64> = (0..40).map(|i| learner.uncertainty(rows.row(i))).collect();
        u[7] = 0.0;
        let sum: f64 = u.iter().sum();
        if draw != Draw::Top {
            assert!(50.0 < total);
            for (count, u) in second.iter().zip(&u) {
                let p = u / sum;
                let deviation = (total * p * (1.0 - p)).sqrt().max(0.5);
                assert!((f64::from(*count) - total * p).abs() <= 6.0 * deviation, "{draw:?}");
            }
        }
    }
}

#[test]
fn top_is_the_most_uncertain_row_and_has_no_probability() {
    let (rows, labels) = plain(3000, 3, 3, Labels::Binary);
    let mut learner = pool(&recipe(), 3000, Draw::Top, Replacement::Without, 1);
    for _ in 0..20 {
        let u: Vec<f64> = (0..3000).map(|i| learner.uncertainty(rows.row(i))).collect();
        let drawn = learner.ask(&rows).unwrap();
        assert_eq!(drawn.probability, None);
        let better = u.iter().filter(|other| drawn.uncertainty < **other).count();
        assert!(better <= learner.time() as usize, "{better} rows are more uncertain");
        learner.answer(&[(rows.row(drawn.row), drawn, labels[drawn.row])]).unwrap();
    }
}

#[test]
fn proposals_that_lead_nowhere_end_in_a_scan_and_a_scan_that_finds_nothing_says_so() {
    let (rows, _) = plain(5000, 3, 4, Labels::Binary);
    // A narrow band: two rows of 5,000 are in it.
    let scores = |row: usize| {
        let Row::Dense(x) = rows.row(row) else { panic!("dense") };
        (100.0 * f64::from(x[0]) - 33.0 * f64::from(x[1]) + 20.0).abs()
    };
    let mut sorted: Vec<f64> = (0..5000).map(scores).collect();
    sorted.sort_by(f64::total_cmp);
    let rule: &'static str = format!("threshold:gamma={}", f64::midpoint(sorted[1], sorted[2])).leak();
    let recipe = Recipe { start: Some(vec![100.0, -33.0, 0.0, 20.0]), ..Recipe::new("logistic", rule, 3) };
    let mut rows_asked = vec![];
    let mut learner = pool(&recipe, 5000, Draw::Reject, Replacement::Without, 5);
    for _ in 0..2 {
        let drawn = learner.ask(&rows).unwrap();
        assert!(scores(drawn.row) <= sorted[1]);
        rows_asked.push(drawn);
    }
    assert_eq!(learner.ask(&rows), Err(NoRow::AllZero { left: 4998 }));
    assert_eq!(
        learner.ask(&rows).unwrap_err().to_string(),
        "the rule gives probability 0, or next to it, to all 4998 rows that are left"
    );
    // Over seeds some draws fall back; the weight stays unbiased: its mean is 1/S_t = 2500.
    let (mut sum, mut squares, mut fallbacks, n) = (0.0, 0.0, 0, 400);
    for seed in 0..n {
        let mut learner = pool(&recipe, 5000, Draw::Reject, Replacement::Without, 100 + seed);
        let weight = learner.ask(&rows).unwrap().inverse_rate;
        sum += weight;
        squares += weight * weight;
        fallbacks += learner.fallbacks();
    }
    let (n, mean) = (n as f64, sum / n as f64);
    let error = ((squares / n - mean * mean) / n).sqrt();
    assert!((mean - 2500.0).abs() <= 4.0 * error, "{mean} ± {error}");
    // (1 − 2/5000)^5000 = 13.5 % of the draws.
    assert!((30..90).contains(&fallbacks), "{fallbacks} fell back");
}

#[test]
fn threads_and_layout_change_no_draw() {
    let (rows, labels) = plain(7000, 3, 6, Labels::Binary);
    let mut sparse = SparseRows::new(3);
    for i in 0..7000 {
        let Row::Dense(x) = rows.row(i) else { panic!("dense") };
        sparse.push(Sparse { index: &[0, 1, 2], value: x });
    }
    let sparse = Rows::Sparse(sparse);
    for draw in [Draw::Reject, Draw::Scan, Draw::Top] {
        let run = |rows: &Rows, threads: usize| {
            rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| {
                let recipe = Recipe { step: StepSize::Auto, ..Recipe::new("logistic", "entropy", 3) };
                let mut learner = pool(&recipe, 7000, draw, Replacement::Without, 8);
                let mut asked = vec![];
                for _ in 0..60 {
                    let drawn = learner.ask(rows).unwrap();
                    learner.answer(&[(rows.row(drawn.row), drawn, labels[drawn.row])]).unwrap();
                    asked.push((drawn.row, drawn.uncertainty.to_bits(), drawn.inverse_rate.to_bits()));
                }
                (asked, learner.learner().mean())
            })
        };
        let one = run(&rows, 1);
        assert_eq!(one, run(&rows, 2), "{draw:?}");
        assert_eq!(one, run(&rows, 5), "{draw:?}");
        assert_eq!(one, run(&sparse, 3), "{draw:?}: sparse rows");
    }
}

#[test]
fn several_labels_a_step_are_their_mean_gradient() {
    let (rows, labels) = plain(30, 3, 9, Labels::Classes(3));
    let base = Recipe { labels: Labels::Classes(3), ..Recipe::new("cross-entropy", "entropy:base=3", 3) };
    let mut learner = pool(&base, 30, Draw::Scan, Replacement::Without, 10);
    let drawn: Vec<_> = (0..4).map(|_| learner.ask(&rows).unwrap()).collect();
    let answers: Vec<_> = drawn.iter().map(|d| (rows.row(d.row), *d, labels[d.row])).collect();
    learner.answer(&answers).unwrap();
    let mut expected = vec![0.0; 12];
    for d in &drawn {
        let mut single = base.stream();
        single.answer(rows.row(d.row), 1.0, labels[d.row]).unwrap();
        expected.iter_mut().zip(single.learner().theta()).for_each(|(sum, t)| *sum += t / 4.0);
    }
    for (found, expected) in learner.learner().theta().iter().zip(&expected) {
        assert!((found - expected).abs() < 1e-15, "{found} for {expected}");
    }
}

/// E[g | θ] = ∇`R̃ₙ/S_t` on the pool: the mean gradient of draws against the sum over all rows (label eq:pool-mean).
#[test]
fn eq_pool_mean() {
    let (rows, labels) = plain(200, 3, 11, Labels::Binary);
    let recipe = recipe();
    for draw in [Draw::Reject, Draw::Scan] {
        for importance in [Importance::Equivalent, Importance::Original] {
            let recipe = Recipe { importance, ..recipe.clone() };
            let rules = recipe.rules();
            let step = |row: usize, learner: &PoolLearner| -> Vec<f64> {
                let mut one = StreamLearner::new(recipe.learner(), rules.clone(), 0, importance);
                one.answer(rows.row(row), learner.uncertainty(rows.row(row)), labels[row]).unwrap();
                let start = recipe.start.clone().unwrap();
                one.learner().theta().iter().zip(start).map(|(t, s)| (s - t) / 0.1).collect()
            };
            let mut learner = pool(&recipe, 200, draw, Replacement::With, 12);
            let gradients: Vec<Vec<f64>> = (0..200).map(|row| step(row, &learner)).collect();
            let u: Vec<f64> = (0..200).map(|row| learner.uncertainty(rows.row(row))).collect();
            let total: f64 = u.iter().sum();
            let n = 40_000;
            let (mut sum, mut squares) = (vec![0.0; 4], vec![0.0; 4]);
            for _ in 0..n {
                let row = learner.ask(&rows).unwrap().row;
                for j in 0..4 {
                    sum[j] += gradients[row][j];
                    squares[j] += gradients[row][j] * gradients[row][j];
                }
            }
            for j in 0..4 {
                let expected = (0..200).map(|row| u[row] / total * gradients[row][j]).sum::<f64>();
                let mean = sum[j] / f64::from(n);
                let error = ((squares[j] / f64::from(n) - mean * mean) / f64::from(n)).sqrt();
                assert!(
                    (mean - expected).abs() <= 5.0 * error,
                    "{draw:?} {importance:?}: {mean} for {expected} ± {error}"
                );
            }
        }
    }
}
