//! Algorithm 2: draws in proportion to U, by proposals and by a pass, and the steps made with them.

mod common;

use common::{LearnerRecipe, plain, without_zeros};
use querist_engine::pool::{AnswerError, Draw, Drawn, NoRow, PoolLearner, Replacement, SgdPool, SgdSettings};
use querist_engine::step::StepSize;
use querist_engine::stream::{Importance, Rules, StreamLearner};
use querist_engine::task::Labels;
use querist_rows::Features;
use querist_rows::{DenseRows, Row, Rows, Sparse, SparseRows};
use querist_theory::{loss, uncertainty};

fn pool(recipe: &LearnerRecipe, rows: usize, draw: Draw, replacement: Replacement, seed: u64) -> SgdPool {
    pool_by(recipe, recipe.rules(), rows, draw, replacement, seed)
}

fn pool_by(recipe: &LearnerRecipe, rules: Rules, rows: usize, draw: Draw, again: Replacement, seed: u64) -> SgdPool {
    let settings = SgdSettings { draw, replacement: again, importance: recipe.importance, seed };
    SgdPool::new(recipe.learner(), rules, rows, settings).unwrap()
}

/// Returns a learner at a point where probabilities differ: |v| reaches 4.
fn recipe() -> LearnerRecipe {
    LearnerRecipe { start: Some(vec![3.0, -1.0, 0.5, 0.2]), ..LearnerRecipe::new("logistic", "entropy", 3) }
}

/// Returns the entropy in nats at these parameters, w… and b, by the theory.
fn uncertainties(theta: &[f64], rows: &Rows) -> Vec<f64> {
    let entropy = uncertainty::parse("entropy", &loss::parse("logistic").unwrap()).unwrap();
    (0..rows.len()).map(|row| entropy.at(score(theta, rows.row(row)))).collect()
}

fn score(theta: &[f64], x: Row<'_>) -> f64 {
    let mut sum = theta[theta.len() - 1];
    x.each(|j, x| sum += theta[j] * x);
    sum
}

/// Both methods draw with p ∝ U: every row's frequency is within 6 standard deviations over 200,000 draws of 50 rows.
/// Tries have mean `U_max/S_t` and are independent of the row; the recorded probabilities are correct.
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

/// Retired rows do not count: the distribution, tries and `S_t` are those of the remaining rows.
#[test]
fn retired_rows_count_neither_in_tries_nor_in_the_rate() {
    let (rows, _) = plain(60, 3, 13, Labels::Binary);
    let u = uncertainties(&recipe().start.unwrap(), &rows);
    let mut by_uncertainty: Vec<usize> = (0..60).collect();
    by_uncertainty.sort_by(|a, b| u[*a].total_cmp(&u[*b]));
    // The least uncertain rows stay, so that the remaining rows are unlike the whole pool.
    let (left, retired) = by_uncertainty.split_at(20);
    let (total, n, u_max) = (left.iter().map(|row| u[*row]).sum::<f64>(), 200_000, std::f64::consts::LN_2);
    let (rate, success) = (total / 20.0, total / 20.0 / u_max);
    for draw in [Draw::Reject, Draw::Scan] {
        let mut learner = pool(&recipe(), 60, draw, Replacement::With, 14);
        for row in retired {
            learner.retire(*row);
        }
        assert_eq!(learner.left(), 20);
        let (mut counts, mut tries, mut inverse) = ([0.0; 60], [0.0; 60], 0.0);
        for _ in 0..n {
            let drawn = learner.ask(&rows).unwrap();
            counts[drawn.row] += 1.0;
            tries[drawn.row] += drawn.tries as f64;
            inverse += drawn.inverse_rate;
        }
        let n = f64::from(n);
        assert!(retired.iter().all(|row| counts[*row] == 0.0), "{draw:?}");
        // Geometric with success rate S_t/U_max, whatever the row.
        let deviation = (1.0 - success).sqrt() / success;
        for row in left {
            let (count, p) = (counts[*row], u[*row] / total);
            assert!((count - n * p).abs() <= 6.0 * (n * p * (1.0 - p)).sqrt(), "{draw:?}: {count} of {}", n * p);
            let expected = if draw == Draw::Reject { 1.0 / success } else { 0.0 };
            let off = (tries[*row] / count - expected).abs();
            assert!(off <= 5.0 * deviation / count.sqrt(), "{draw:?}: {} tries for {expected}", tries[*row] / count);
        }
        let allowed = if draw == Draw::Reject { 5.0 * deviation / u_max / n.sqrt() } else { 1e-9 };
        assert!((inverse / n - 1.0 / rate).abs() <= allowed, "{draw:?}: 1/S_t is {rate}, not {}", n / inverse);
        assert_eq!(learner.tries() as f64, tries.iter().sum::<f64>());
    }
}

#[test]
fn without_replacement_rows_are_asked_once_in_proportion_to_u_of_the_rest() {
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
fn top_draws_the_first_most_uncertain_row_left_without_a_probability() {
    // Every row appears three times, each time in another block of a pass.
    let (Rows::Dense(once), labels) = plain(1100, 3, 3, Labels::Binary) else { panic!("dense") };
    let values = once.into_values().repeat(3);
    let dense = Rows::Dense(DenseRows::from_values(3, values).unwrap());
    for rows in [&dense, &without_zeros(&dense)] {
        let mut learner = pool(&recipe(), 3300, Draw::Top, Replacement::Without, 1);
        let mut left: Vec<usize> = (0..3300).collect();
        for _ in 0..15 {
            let u = uncertainties(&learner.learner().theta(), rows);
            let mut answers = vec![];
            // More than three, so that a draw proceeds to the next most uncertain row.
            for _ in 0..4 {
                let first = left.iter().copied().reduce(|best, row| if u[best] < u[row] { row } else { best }).unwrap();
                let drawn = learner.ask(rows).unwrap();
                assert_eq!((drawn.row, drawn.probability, drawn.tries), (first, None, 0));
                left.retain(|row| *row != first);
                answers.push((rows.row(first), drawn, labels[first % 1100]));
            }
            learner.answer(&answers).unwrap();
        }
    }
}

#[test]
fn proposals_fall_back_to_a_scan_and_a_scan_without_positive_u_is_an_error() {
    let (rows, _) = plain(5000, 3, 4, Labels::Binary);
    // A narrow band that contains two of 5,000 rows.
    let scores = |row: usize| {
        let Row::Dense(x) = rows.row(row) else { panic!("dense") };
        (100.0 * f64::from(x[0]) - 33.0 * f64::from(x[1]) + 20.0).abs()
    };
    let mut sorted: Vec<f64> = (0..5000).map(scores).collect();
    sorted.sort_by(f64::total_cmp);
    let rule: &'static str = format!("threshold:gamma={}", f64::midpoint(sorted[1], sorted[2])).leak();
    let recipe =
        LearnerRecipe { start: Some(vec![100.0, -33.0, 0.0, 20.0]), ..LearnerRecipe::new("logistic", rule, 3) };
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
                let recipe = LearnerRecipe { step: StepSize::Auto, ..LearnerRecipe::new("logistic", "entropy", 3) };
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
fn a_step_on_several_labels_uses_their_mean_gradient() {
    let (rows, labels) = plain(30, 3, 9, Labels::Classes(3));
    let base = LearnerRecipe { labels: Labels::Classes(3), ..LearnerRecipe::new("cross-entropy", "entropy:base=3", 3) };
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
            let recipe = LearnerRecipe { importance, ..recipe.clone() };
            let rules = recipe.rules();
            let step = |row: usize, learner: &SgdPool| -> Vec<f64> {
                let mut one = StreamLearner::new(recipe.learner(), rules.clone(), 0, importance).unwrap();
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

/// A reference implementation of Algorithm 2. Answers drawn together are one step on the mean of their gradients, each
/// times `S_t/U` or `U_max/U` for the original loss. θ before the step has the weight η/`S_t` in θ̄.
#[derive(Default)]
struct TextbookPool {
    theta: Vec<f64>,
    steps: f64,
    gradients: f64,
    farthest: f64,
    sum: Vec<f64>,
    weights: f64,
}

impl TextbookPool {
    fn step(&mut self, recipe: &LearnerRecipe, answers: &[(Row<'_>, Drawn, f64)], rates: &[f64]) {
        let (logistic, u_max) = (loss::parse("logistic").unwrap(), std::f64::consts::LN_2);
        let entropy = uncertainty::parse("entropy", &logistic).unwrap();
        let (mut gradient, mut inverse_rate, mut largest) = (vec![0.0; 4], 0.0, 0.0_f64);
        let share = 1.0 / answers.len() as f64;
        for ((x, drawn, label), rate) in answers.iter().zip(rates) {
            let v = score(&self.theta, *x);
            let (unit, importance) = match drawn.tries {
                0 => (1.0 / rate, rate / entropy.at(v)),
                tries => (tries as f64 / u_max, u_max / entropy.at(v)),
            };
            inverse_rate += share * unit;
            let weight = if recipe.importance == Importance::Original { importance } else { 1.0 };
            let slope = share * weight * label * logistic.slope(label * v);
            gradient[3] += slope;
            x.each(|j, x| gradient[j] += slope * x);
            largest = largest.max(1.0 + x.norm_squared());
        }
        let squared: f64 = gradient.iter().map(|g| g * g).sum();
        let (size, numerator) = match recipe.step {
            StepSize::Fixed(size) => (size, size),
            StepSize::InverseSqrt(size) => (size / (self.steps + 1.0).sqrt(), size / (self.steps + 1.0).sqrt()),
            _ => {
                let reach = if self.steps == 0.0 { 0.1 / largest.sqrt() } else { self.farthest };
                (reach / (self.gradients + squared).sqrt(), self.farthest)
            }
        };
        self.sum.iter_mut().zip(&self.theta).for_each(|(sum, t)| *sum += numerator * inverse_rate * t);
        self.weights += numerator * inverse_rate;
        self.theta.iter_mut().zip(&gradient).for_each(|(t, g)| *t -= size * g);
        let far: f64 = self.theta.iter().zip(recipe.start.iter().flatten()).map(|(t, s)| (t - s).powi(2)).sum();
        let first = if self.steps == 0.0 { 0.1 / largest.sqrt() } else { 0.0 };
        self.farthest = self.farthest.max(first).max(far.sqrt());
        self.gradients += squared;
        self.steps += 1.0;
    }
}

#[test]
fn steps_and_the_average_agree_with_algorithm_2() {
    let (rows, labels) = plain(80, 3, 17, Labels::Binary);
    for draw in [Draw::Reject, Draw::Scan, Draw::Top] {
        for importance in [Importance::Equivalent, Importance::Original] {
            // Draws without probabilities have no importance weights.
            if draw == Draw::Top && importance == Importance::Original {
                continue;
            }
            for (step, most) in [StepSize::Fixed(0.2), StepSize::InverseSqrt(0.5), StepSize::Auto]
                .into_iter()
                .flat_map(|step| [(step, 1), (step, 4)])
            {
                let recipe = LearnerRecipe { step, importance, ..recipe() };
                let mut learner = pool(&recipe, 80, draw, Replacement::Without, 18);
                let start = recipe.start.clone().unwrap();
                let mut book = TextbookPool { theta: start.clone(), sum: vec![0.0; 4], ..TextbookPool::default() };
                let mut left: Vec<usize> = (0..80).collect();
                for time in 0..12 {
                    let what = format!("{draw:?}, {importance:?}, {step:?}, up to {most} at a time, step {time}");
                    let u = uncertainties(&book.theta, &rows);
                    let (mut answers, mut rates) = (vec![], vec![]);
                    // The number varies, because a weight common to all steps would go unnoticed.
                    for _ in 0..=time % most {
                        let rate = left.iter().map(|row| u[*row]).sum::<f64>() / left.len() as f64;
                        rates.push(if draw == Draw::Top { 1.0 } else { rate });
                        let drawn = learner.ask(&rows).unwrap();
                        assert!(!drawn.fallback && (drawn.tries == 0) == (draw != Draw::Reject), "{what}");
                        left.retain(|row| *row != drawn.row);
                        answers.push((rows.row(drawn.row), drawn, labels[drawn.row]));
                    }
                    book.step(&recipe, &answers, &rates);
                    learner.answer(&answers).unwrap();
                    let (theta, mean) = (learner.learner().theta(), learner.learner().mean());
                    for j in 0..4 {
                        assert!(
                            (theta[j] - book.theta[j]).abs() <= 1e-11,
                            "{what}: {} for {}",
                            theta[j],
                            book.theta[j]
                        );
                        let none = book.weights == 0.0;
                        let expected = if none { book.theta[j] } else { book.sum[j] / book.weights };
                        assert!((mean[j] - expected).abs() <= 1e-11, "{what}: mean {} for {expected}", mean[j]);
                    }
                    book.theta = theta;
                }
            }
        }
    }
}

/// Wrong input is an error and changes nothing: labels of another kind, features that are NaN, rows of another pool.
#[test]
fn answers_that_cannot_be_learned_are_rejected() {
    let (rows, _) = plain(50, 3, 1, Labels::Binary);
    let mut learner = pool(&recipe(), 50, Draw::Scan, Replacement::Without, 3);
    let before = learner.learner().theta();
    let drawn = learner.ask(&rows).unwrap();
    for label in [0.0, 2.0, f64::NAN] {
        let rejected = learner.answer(&[(rows.row(drawn.row), drawn, label)]);
        assert!(matches!(rejected, Err(AnswerError::Label { .. })), "{label}: {rejected:?}");
    }
    for features in [&[1.0, f32::NAN, 0.0][..], &[1.0, 0.0], &[f32::INFINITY, 0.0, 0.0]] {
        let rejected = learner.answer(&[(Row::Dense(features), drawn, 1.0)]);
        assert!(matches!(rejected, Err(AnswerError::Features { dim: 3, .. })), "{features:?}: {rejected:?}");
    }
    assert_eq!((learner.learner().theta(), learner.answered()), (before, 0));
    for (count, dim) in [(50, 2), (49, 3)] {
        let (others, _) = plain(count, dim, 1, Labels::Binary);
        assert!(matches!(learner.ask(&others), Err(NoRow::OtherRows { expected: (50, 3), .. })));
    }
}
