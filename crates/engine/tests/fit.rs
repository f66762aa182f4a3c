//! Fits reach the minimum, equally for dense and sparse rows and from any start, as checked by an independent slow
//! descent.

mod common;

use common::{plain, without_zeros};
use querist_engine::coin::Coin;
use querist_engine::fit::{self, Problem, Refit, minimize};
use querist_engine::linear::Linear;
use querist_engine::task::{self, Labels, Task};
use querist_rows::Features;
use querist_rows::{Row, Rows, Sparse, SparseRows};

const TASKS: [(&str, Labels); 7] = [
    ("logistic", Labels::Binary),
    ("squared-hinge", Labels::Binary),
    ("modified-huber", Labels::Binary),
    ("exponential", Labels::Binary),
    ("cross-entropy", Labels::Classes(2)),
    ("cross-entropy", Labels::Classes(5)),
    ("squared", Labels::Numbers),
];

fn smooth(loss: &str, labels: Labels) -> Box<dyn Task> {
    task::parse(loss, labels).unwrap().smooth().unwrap()
}

fn problem<'a>(
    task: &'a dyn Task,
    rows: &'a Rows,
    labels: &'a [f64],
    weights: &'a [f64],
    strength: f64,
) -> Problem<'a> {
    let model = Linear { outputs: task.outputs(), intercept: true };
    Problem { task, model, rows: rows.into(), labels, weights, strength }
}

fn max_difference(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).fold(0.0, |most: f64, (a, b)| most.max((a - b).abs()))
}

/// Runs Nesterov's descent with backtracking: slow, and computed from one answer at a time.
fn slow_descent(task: &dyn Task, rows: &Rows, labels: &[f64], weights: &[f64], strength: f64) -> Vec<f64> {
    let (outputs, dim) = (task.outputs(), rows.dim());
    let evaluate = |theta: &[f64]| -> (f64, Vec<f64>) {
        let (mut value, mut gradient) = (0.0, vec![0.0; theta.len()]);
        for (index, label) in labels.iter().enumerate() {
            let mut x = vec![1.0];
            rows.row(index).each(|_, feature| x.push(feature));
            let scores: Vec<f64> =
                (0..outputs).map(|k| x.iter().enumerate().map(|(j, x)| x * theta[j * outputs + k]).sum()).collect();
            value += weights[index] * task.loss(&scores, *label);
            let mut slope = vec![0.0; outputs];
            task.slope(&scores, *label, &mut slope);
            for (j, x) in x.iter().enumerate() {
                for k in 0..outputs {
                    gradient[j * outputs + k] += weights[index] * slope[k] * x;
                }
            }
        }
        for (p, t) in theta.iter().enumerate() {
            let penalty = if p < outputs { 0.01 * strength } else { strength };
            value += 0.5 * penalty * t * t;
            gradient[p] += penalty * t;
        }
        (value, gradient)
    };
    let mut theta = vec![0.0; (dim + 1) * outputs];
    let (mut step, mut ahead, mut momentum) = (1.0, theta.clone(), 1.0_f64);
    for _ in 0..200_000 {
        let (value, gradient) = evaluate(&ahead);
        let size: f64 = gradient.iter().map(|g| g * g).sum();
        if size.sqrt() < 1e-10 {
            break;
        }
        let next = loop {
            let next: Vec<f64> = ahead.iter().zip(&gradient).map(|(t, g)| t - step * g).collect();
            if evaluate(&next).0 <= value - 0.5 * step * size + 1e-13 * value.abs() {
                break next;
            }
            step *= 0.5;
        };
        let forward: f64 = next.iter().zip(&theta).zip(&gradient).map(|((n, t), g)| g * (n - t)).sum();
        let grown = f64::midpoint(1.0, (1.0 + 4.0 * momentum * momentum).sqrt());
        let share = if 0.0 < forward { 0.0 } else { (momentum - 1.0) / grown };
        momentum = if 0.0 < forward { 1.0 } else { grown };
        ahead = next.iter().zip(&theta).map(|(n, t)| n + share * (n - t)).collect();
        theta = next;
    }
    theta
}

#[test]
fn the_gradient_vanishes_at_the_solution_for_dense_and_sparse_rows() {
    for (loss, labels) in TASKS {
        let task = smooth(loss, labels);
        for (n, dim, strength) in [(8, 3, 1.0), (60, 5, 0.01), (200, 30, 10.0), (40, 120, 0.3)] {
            let (rows, answers) = plain(n, dim, 4, labels);
            let weights: Vec<f64> = (0..n).map(|i| [1.0, 0.25, 3.0][i % 3]).collect();
            let (theta, ended) = minimize(&problem(&*task, &rows, &answers, &weights, strength));
            assert!(ended.gradient < 1e-8 * n as f64, "{loss}, {n} × {dim}: {ended:?}");
            let gradient = problem(&*task, &rows, &answers, &weights, strength).gradient(&theta);
            let size: f64 = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
            assert!(size < 1e-8 * n as f64, "{loss}: {size}");
            let sparse_rows = without_zeros(&rows);
            let (same, _) = minimize(&problem(&*task, &sparse_rows, &answers, &weights, strength));
            assert!(max_difference(&theta, &same) < 1e-6, "{loss}, {n} × {dim}: {}", max_difference(&theta, &same));
        }
    }
}

#[test]
fn an_independent_slow_descent_finds_the_same_minimum() {
    for (loss, labels) in TASKS {
        let task = smooth(loss, labels);
        let (rows, answers) = plain(50, 3, 9, labels);
        let weights: Vec<f64> = (0..50).map(|i| 0.5 + f64::from(i % 4)).collect();
        let (theta, _) = minimize(&problem(&*task, &rows, &answers, &weights, 0.7));
        let slow = slow_descent(&*task, &rows, &answers, &weights, 0.7);
        assert!(max_difference(&theta, &slow) < 1e-6, "{loss} {labels:?}: {theta:?} {slow:?}");
    }
}

#[test]
fn problems_too_large_to_factor_are_fitted_as_well() {
    for (loss, labels, dim) in [("logistic", Labels::Binary, 700), ("cross-entropy", Labels::Classes(6), 120)] {
        let task = smooth(loss, labels);
        let (rows, answers) = plain(90, dim, 2, labels);
        let weights = vec![1.0; 90];
        let problem = problem(&*task, &rows, &answers, &weights, 1.0);
        let (theta, _) = minimize(&problem);
        let size: f64 = problem.gradient(&theta).iter().map(|g| g * g).sum::<f64>().sqrt();
        assert!(size < 1e-7, "{loss}: {size}");
    }
}

#[test]
fn an_answer_of_weight_three_equals_three_answers() {
    for (loss, labels) in TASKS {
        let task = smooth(loss, labels);
        let (rows, answers) = plain(40, 4, 3, labels);
        let weights: Vec<f64> = (0..40).map(|i| f64::from(i % 4)).collect();
        let (mut repeated, mut repeated_answers) = (rows.empty_like(), vec![]);
        for index in 0..40 {
            for _ in 0..weights[index] as usize {
                repeated.push(rows.row(index));
                repeated_answers.push(answers[index]);
            }
        }
        let ones = vec![1.0; repeated_answers.len()];
        let (weighted, _) = minimize(&problem(&*task, &rows, &answers, &weights, 0.4));
        let (counted, _) = minimize(&problem(&*task, &repeated, &repeated_answers, &ones, 0.4));
        assert!(max_difference(&weighted, &counted) < 1e-6, "{loss}");
    }
}

/// A learner fitted after every answer finds the same minimum as one fitted once, with fixed λ.
#[test]
fn warm_and_cold_starts_find_the_same_minimum() {
    for (loss, labels) in TASKS {
        let task = task::parse(loss, labels).unwrap();
        let (rows, answers) = plain(80, 6, 5, labels);
        let fitted = |every: usize| {
            let mut refit = Refit::new(&*task, true, rows.empty_like(), Some(0.5), 1).unwrap();
            for index in 0..80 {
                refit.add(index as u64, rows.row(index), answers[index]);
                if (index + 1) % every == 0 {
                    refit.fit(&vec![1.0; index + 1]);
                }
            }
            refit.theta().to_vec()
        };
        assert!(max_difference(&fitted(1), &fitted(80)) < 1e-6, "{loss}: {}", max_difference(&fitted(1), &fitted(80)));
    }
}

/// The hinge is smoothed: the result is within the smoothing error of the minimum, compared with nearby points.
#[test]
fn the_hinge_is_fitted_to_within_its_smoothing_error() {
    let task = task::parse("hinge", Labels::Binary).unwrap();
    let (rows, answers) = plain(60, 3, 8, Labels::Binary);
    let weights = vec![1.0; 60];
    let rounded = task.smooth().unwrap();
    let (theta, ended) = minimize(&problem(&*rounded, &rows, &answers, &weights, 1.0));
    assert!(ended.gradient < 1e-6, "{ended:?}");
    let exact = problem(&*task, &rows, &answers, &weights, 1.0);
    let least = exact.value(&theta);
    let coin = querist_engine::coin::Coin::new(3, "near");
    for trial in 0..2000_u64 {
        let size = 10_f64.powf(-5.0 * coin.unit(trial));
        let near: Vec<f64> =
            theta.iter().zip(0..).map(|(t, p)| t + size * (2.0 * coin.unit(10_000 + 4 * trial + p) - 1.0)).collect();
        assert!(least <= exact.value(&near) + 60.0 * 0.5 * task::ROUNDING, "lower at {near:?}");
    }
    assert!(task::parse("hinge", Labels::Classes(3)).unwrap().smooth().is_none());
}

/// θ stays finite for separable answers, a single class, constant features, a class with one answer, and many classes.
#[test]
fn hard_cases_stay_finite() {
    let (rows, _) = plain(30, 4, 6, Labels::Binary);
    let separable: Vec<f64> =
        (0..30).map(|i| if rows.row(i).dot(&[1.0, 0.0, 0.0, 0.0]) < 0.0 { -1.0 } else { 1.0 }).collect();
    let constant = {
        let mut constant = rows.empty_like();
        (0..30).for_each(|_| constant.push(Row::Dense(&[2.0; 4])));
        constant
    };
    let hundred: Vec<f64> = (0..30).map(|i| f64::from(i % 10)).collect();
    let once: Vec<f64> = (0..30).map(|i| f64::from(u8::from(i == 3))).collect();
    let cases: [(&str, Labels, &Rows, &[f64]); 6] = [
        ("logistic", Labels::Binary, &rows, &separable),
        ("exponential", Labels::Binary, &rows, &separable),
        ("logistic", Labels::Binary, &rows, &[1.0; 30]),
        ("logistic", Labels::Binary, &constant, &separable),
        ("cross-entropy", Labels::Classes(100), &rows, &hundred),
        ("cross-entropy", Labels::Classes(3), &rows, &once),
    ];
    for (loss, labels, rows, answers) in cases {
        let task = task::parse(loss, labels).unwrap();
        let mut refit = Refit::new(&*task, true, rows.empty_like(), None, 2).unwrap();
        for index in 0..30 {
            refit.add(index as u64, rows.row(index), answers[index]);
            let ended = refit.fit(&vec![1.0; index + 1]);
            assert!(ended.gradient < 1e-5, "{loss} {labels:?} at {index}: {ended:?}");
            assert!(refit.theta().iter().all(|t| t.abs() < 1e4), "{loss} {labels:?} at {index}");
        }
        assert!(refit.strength().is_finite() && 0.0 < refit.strength());
    }
}

/// λ follows the answers: it is large for noise and small for a clear pattern.
#[test]
fn the_strength_is_chosen_from_the_answers() {
    let (rows, clear) = plain(300, 20, 7, Labels::Binary);
    let coin = querist_engine::coin::Coin::new(1, "noise");
    let noise: Vec<f64> = (0..300).map(|i| if coin.unit(i) < 0.5 { -1.0 } else { 1.0 }).collect();
    let separable: Vec<f64> = (0..300)
        .map(|i| {
            let mut sum = 0.0;
            rows.row(i).each(|_, x| sum += x);
            if sum < 0.0 { -1.0 } else { 1.0 }
        })
        .collect();
    let task = task::parse("logistic", Labels::Binary).unwrap();
    let strength = |answers: &[f64]| {
        let mut refit = Refit::new(&*task, true, rows.empty_like(), None, 2).unwrap();
        for (index, answer) in answers.iter().enumerate() {
            refit.add(index as u64, rows.row(index), *answer);
            if index % 3 == 0 {
                refit.fit(&vec![1.0; index + 1]);
            }
        }
        refit.strength()
    };
    assert!(strength(&separable) < strength(&clear) && strength(&clear) < strength(&noise));
}

/// For rows of many features of which few occur, the fit to those alone solves the full problem.
#[test]
fn features_that_no_answer_has_do_not_change_the_fit() {
    let (coin, dim) = (Coin::new(5, "wide"), 5000);
    let task = task::parse("logistic", Labels::Binary).unwrap();
    let mut refit = Refit::new(&*task, true, Rows::Sparse(SparseRows::new(dim)), Some(0.3), 1).unwrap();
    let mut rows = Rows::Sparse(SparseRows::new(dim));
    let mut labels = vec![];
    for answer in 0..60_u64 {
        let mut index: Vec<u32> = (0..6).map(|k| 97 * coin.below(10 * answer + k, 50) as u32).collect();
        index.sort_unstable();
        index.dedup();
        let value: Vec<f32> = (0..index.len()).map(|k| coin.unit(1000 + 10 * answer + k as u64) as f32 - 0.5).collect();
        let x = Row::Sparse(Sparse { index: &index, value: &value });
        labels.push(if coin.unit(5000 + answer) < 0.4 { 1.0 } else { -1.0 });
        rows.push(x);
        refit.add(answer, x, labels[answer as usize]);
        if answer % 20 == 7 {
            refit.fit(&vec![1.0; labels.len()]);
        }
    }
    let weights = vec![1.0; labels.len()];
    refit.fit(&weights);
    let model = Linear { outputs: 1, intercept: true };
    let whole = Problem {
        task: &*task,
        model,
        rows: (&rows).into(),
        labels: &labels,
        weights: &weights,
        strength: refit.strength(),
    };
    let gradient = whole.gradient(refit.theta());
    assert!(gradient.iter().map(|g| g * g).sum::<f64>().sqrt() < 1e-6);
    let halved: Vec<f64> = (0..labels.len()).map(|index| f64::from(u8::from(index % 2 == 0))).collect();
    let whole = Problem { weights: &halved, ..whole };
    let gradient = whole.gradient(&refit.fitted_to(&halved));
    assert!(gradient.iter().map(|g| g * g).sum::<f64>().sqrt() < 1e-3);
}

/// Rows of a few among many features, with the labels of `classes` classes.
fn sparse(answers: u64, numbers: u64, dim: usize, classes: usize) -> (Rows, Vec<f64>) {
    let coin = Coin::new(6, "sparse");
    let (mut rows, mut labels) = (Rows::Sparse(SparseRows::new(dim)), vec![]);
    for answer in 0..answers {
        let at = 1000 * answer;
        let class = coin.below(at, classes);
        // Half of the features are frequent ones of the class.
        let feature =
            |k: u64| if k.is_multiple_of(2) { 10 * class + coin.below(at + k, 10) } else { coin.below(at + k, dim) };
        let mut index: Vec<u32> = (1..=numbers).map(|k| feature(k) as u32).collect();
        index.sort_unstable();
        index.dedup();
        let value: Vec<f32> = (0..index.len()).map(|k| coin.unit(at + 500 + k as u64) as f32 + 0.1).collect();
        rows.push(Row::Sparse(Sparse { index: &index, value: &value }));
        labels.push(class as f64);
    }
    (rows, labels)
}

/// Several classes and more features than answers are fitted by dual parameters: while products of answers are stored, and
/// beyond, with and without intercepts, after every answer or once. The minimum is that of the features.
#[test]
fn dual_parameters_find_the_minimum_of_the_features() {
    for (numbers, dim, intercept) in [(3, 6000, true), (40, 6000, true), (40, 900, false)] {
        let (rows, labels) = sparse(130, numbers, dim, 7);
        let task = task::parse("cross-entropy", Labels::Classes(7)).unwrap();
        let weights: Vec<f64> = (0..130).map(|i| [1.0, 0.5, 1.5, 0.0][i % 4]).collect();
        let refit = || Refit::new(&*task, intercept, rows.empty_like(), Some(0.2), 1).unwrap();
        let fitted = |mut refit: Refit, every: usize| {
            for (index, label) in labels.iter().enumerate() {
                refit.add(index as u64, rows.row(index), *label);
                if (index + 1) % every == 0 {
                    let ended = refit.fit(&weights[..=index]);
                    assert!(ended.gradient < 1e-5, "{numbers} of {dim} at {index}: {ended:?}");
                }
            }
            refit
        };
        let (warm, cold) = (fitted(refit(), 1), fitted(refit(), 130));
        let by_features = fitted(refit().by_features(), 130);
        // A common shift of all intercepts hardly changes F.
        let difference = max_difference(warm.theta(), by_features.theta());
        assert!(difference < 1e-4, "{numbers} of {dim}: {difference}");
        let difference = max_difference(cold.theta(), by_features.theta());
        assert!(difference < 1e-4, "{numbers} of {dim}: {difference}");
        let share = 130.0 / weights.iter().sum::<f64>();
        let scaled: Vec<f64> = weights.iter().map(|weight| share * weight).collect();
        let model = Linear { outputs: 7, intercept };
        let problem =
            Problem { task: &*task, model, rows: (&rows).into(), labels: &labels, weights: &scaled, strength: 0.2 };
        let free = |gradient: Vec<f64>| {
            let from = if intercept { 0 } else { 7 };
            gradient[from..].iter().map(|g| g * g).sum::<f64>().sqrt()
        };
        assert!(free(problem.gradient(warm.theta())) < 1e-5, "{numbers} of {dim}");
        let halved: Vec<f64> = (0..130).map(|index| f64::from(u8::from(index % 2 == 0))).collect();
        let problem = Problem { weights: &halved, ..problem };
        assert!(free(problem.gradient(&warm.fitted_to(&halved))) < 1e-3, "{numbers} of {dim}");
    }
}

/// Dense rows with many parameters are fitted by dual parameters too, to the minimum of the features.
#[test]
fn dual_parameters_of_dense_rows_find_the_minimum_of_the_features() {
    for intercept in [true, false] {
        let (rows, labels) = plain(90, 150, 5, Labels::Classes(5));
        let task = task::parse("cross-entropy", Labels::Classes(5)).unwrap();
        let weights: Vec<f64> = (0..90).map(|i| [1.0, 0.5, 0.0][i % 3]).collect();
        let fitted = |mut refit: Refit| {
            for (index, label) in labels.iter().enumerate() {
                refit.add(index as u64, rows.row(index), *label);
            }
            let ended = refit.fit(&weights);
            assert!(ended.gradient < 1e-5, "{ended:?}");
            refit.theta().to_vec()
        };
        let refit = || Refit::new(&*task, intercept, rows.empty_like(), Some(5.0), 1).unwrap();
        let (dual, by_features) = (fitted(refit()), fitted(refit().by_features()));
        let difference = max_difference(&dual, &by_features);
        assert!(0.0 < difference && difference < 1e-5, "{difference}");
    }
}

/// With dual parameters, λ is chosen by the same losses as with features. There are fewer of them, so a choice is spread
/// over fewer fits and can be one move ahead.
#[test]
fn dual_parameters_choose_nearly_the_same_strength() {
    let (rows, labels) = sparse(150, 30, 5000, 4);
    let task = task::parse("cross-entropy", Labels::Classes(4)).unwrap();
    let chosen = |mut refit: Refit| {
        for (index, label) in labels.iter().enumerate() {
            refit.add(index as u64, rows.row(index), *label);
            refit.fit(&vec![1.0; index + 1]);
        }
        refit.strength()
    };
    let refit = || Refit::new(&*task, true, rows.empty_like(), None, 3).unwrap();
    let (dual, by_features) = (chosen(refit()), chosen(refit().by_features()));
    let steps = 2.0 * (dual / by_features).log10();
    assert!(steps.abs() < 1.1, "{dual} and {by_features} are {steps} half decades apart");
}

/// If answers are many, a choice is spread over the following fits. It still ends near the λ that all answers choose at
/// once, and a second identical run chooses the same λ, bit for bit.
#[test]
fn a_strength_chosen_over_many_fits_is_near_the_one_chosen_at_once() {
    let (rows, labels) = plain(1400, 120, 3, Labels::Binary);
    let task = task::parse("logistic", Labels::Binary).unwrap();
    let run = || {
        let mut refit = Refit::new(&*task, true, rows.empty_like(), None, 2).unwrap();
        for (index, label) in labels.iter().enumerate() {
            refit.add(index as u64, rows.row(index), *label);
            if index % 5 == 0 {
                refit.fit(&vec![1.0; index + 1]);
            }
        }
        refit.strength()
    };
    let over_many_fits = run();
    assert_eq!(over_many_fits.to_bits(), run().to_bits());
    let model = Linear { outputs: 1, intercept: true };
    let weights = vec![1.0; labels.len()];
    let problem =
        Problem { task: &*task, model, rows: (&rows).into(), labels: &labels, weights: &weights, strength: 1.0 };
    let at_once = fit::strength(&problem, 2);
    let steps = 2.0 * (over_many_fits / at_once).log10();
    assert!(steps.abs() < 1.1, "{over_many_fits} and {at_once} are {steps} half decades apart");
}

#[test]
fn losses_of_all_classes_equal_the_loss_of_each() {
    let scores: Vec<f64> = (0..7).map(|k| f64::from(k * k % 5) - 1.5).collect();
    let labels = Labels::Classes(7);
    let task = task::parse("cross-entropy", labels).unwrap();
    let mut found = vec![0.0; 7];
    task.losses(&scores, labels, &mut found);
    for (class, found) in found.into_iter().enumerate() {
        let expected = task.loss(&scores, labels.label(class));
        assert!((found / expected - 1.0).abs() < 1e-14, "{class}: {found} for {expected}");
    }
}

#[test]
fn curvatures_equal_the_diagonal_of_the_hessian() {
    let scores: Vec<f64> = (0..7).map(|k| f64::from(k * k % 5) - 1.5).collect();
    let task = task::parse("cross-entropy", Labels::Classes(7)).unwrap();
    let mut found = vec![0.0; 7];
    task.curvatures(&scores, 3.0, &mut found);
    for (k, found) in found.into_iter().enumerate() {
        let (mut unit, mut bent) = (vec![0.0; 7], vec![0.0; 7]);
        unit[k] = 1.0;
        task.curve(&scores, 3.0, &unit, &mut bent);
        assert!((found - bent[k]).abs() < 1e-15 && 0.0 < found, "{k}: {found} for {}", bent[k]);
    }
}
