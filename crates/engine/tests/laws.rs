//! Properties of learners, over every task, momentum, clock and step.

mod common;

use std::collections::VecDeque;

use common::{LearnerRecipe, TASKS, plain, without_zeros};
use querist_engine::coin::Coin;
use querist_engine::optimizer::{Beta, Clock, Constraint, Momentum};
use querist_engine::rule::ScoreRule;
use querist_engine::step::StepSize;
use querist_engine::stream::{Importance, Rules, StreamLearner, Trace, Warm};
use querist_engine::task::Labels;
use querist_rows::Features;
use querist_rows::{DenseRows, Rows};
use querist_theory::loss::{self, LOSSES};
use querist_theory::uncertainty::{self, UNCERTAINTIES};

fn recipes() -> Vec<LearnerRecipe> {
    let mut all = vec![];
    for (loss, rule, labels) in TASKS {
        let base = LearnerRecipe { labels: *labels, ..LearnerRecipe::new(loss, rule, 5) };
        for momentum in [
            Momentum::None,
            Momentum::HeavyBall(Beta::Constant(0.5)),
            Momentum::Nesterov(Beta::Constant(0.6)),
            Momentum::Nesterov(Beta::Rising { first: 0.0 }),
        ] {
            for clock in [Clock::Query, Clock::Raw] {
                for step in [StepSize::Fixed(0.05), StepSize::Auto, StepSize::InverseSqrt(0.2)] {
                    all.push(LearnerRecipe { step, momentum, clock, ..base.clone() });
                }
            }
        }
        let constraint = Constraint { l2: 0.1, radius: Some(1.5) };
        all.push(LearnerRecipe { constraint, ..base.clone() });
        all.push(LearnerRecipe { importance: Importance::Original, ..base.clone() });
        all.push(LearnerRecipe { step: StepSize::Pilot { unit: 0.1, u_max: 1.0, window: 60 }, ..base });
    }
    all
}

/// Returns θ, θ̄ and the trace after learning these rows.
fn run(recipe: &LearnerRecipe, rows: &Rows, labels: &[f64]) -> (Vec<f64>, Vec<f64>, Trace) {
    let mut learner = recipe.stream();
    let mut trace = Trace::default();
    learner.learn_rows(rows, labels, &mut trace).unwrap();
    let mean = learner.mean();
    (learner.learner().theta(), mean, trace)
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn learners_evaluate_the_rules_of_the_theory() {
    let mut checked = 0;
    let coin = Coin::new(1, "points");
    for loss_name in ["logistic", "squared-hinge", "exponential"] {
        let loss = loss::parse(loss_name).unwrap();
        for name in UNCERTAINTIES.iter().flat_map(|entry| entry.samples) {
            let Ok(named) = uncertainty::parse(name, &loss) else { continue };
            let rule = ScoreRule::new(named.clone());
            let scores: Vec<f64> = (0..4000)
                .map(|i| {
                    let size = 10_f64.powf(8.0 * coin.unit(i) - 5.0);
                    if coin.bits(i).is_multiple_of(2) { size } else { -size }
                })
                .chain([0.0, -0.0, 0.001, 0.5, 1.5, 40.0, 708.0, 1e6])
                .collect();
            let mut filled = vec![0.0; scores.len()];
            rule.fill(&scores, &mut filled);
            for (score, filled) in scores.iter().zip(&filled) {
                let (own, theory) = (rule.at(score.abs()), named.at(*score));
                assert_eq!(own.to_bits(), filled.to_bits(), "{name} at {score}: a block is its scores");
                // Two units of e⁻ᵃ for each unit of a, as the theory's own reference allows.
                let allowed = (8.0 + score.abs()) * f64::EPSILON * theory + 1e-300;
                assert!((own - theory).abs() <= allowed, "{name} at {score}: {own} instead of {theory}");
                checked += 1;
            }
            if let Some(guide) = rule.guide() {
                for (i, score) in scores.iter().enumerate() {
                    // A table is most likely wrong close to the edge.
                    let own = rule.at(score.abs());
                    for coin in [coin.unit(i as u64), own.next_down(), own, own.next_up(), 0.0] {
                        let coin = coin.clamp(0.0, 1.0_f64.next_down());
                        let decided = guide.decide(coin, score.abs());
                        assert!(decided.is_none_or(|asked| asked == (coin < own)), "{name}: ξ = {coin} at {score}");
                    }
                }
            }
        }
    }
    assert!(400_000 < checked, "only {checked} points");
}

#[test]
fn the_mean_step_over_the_coin_is_u_times_the_gradient() {
    for (loss, rule, labels) in TASKS {
        let (rows, targets) = plain(40, 5, 3, *labels);
        let recipe = LearnerRecipe { labels: *labels, ..LearnerRecipe::new(loss, rule, 5) };
        // The test leaves the start, where symmetry would hide errors.
        let mut learner = recipe.stream();
        for i in 0..20 {
            learner.answer(rows.row(i), 1.0, targets[i]).unwrap();
        }
        let (x, label) = (rows.row(30), targets[30]);
        let (before, probability) = (learner.learner().theta(), learner.probability(x));
        learner.answer(x, probability, label).unwrap();
        let after = learner.learner().theta();
        let task = querist_engine::task::parse(loss, *labels).unwrap();
        let outputs = task.outputs();
        let value = |theta: &[f64]| {
            let mut scores = vec![0.0; outputs];
            querist_engine::scorer::Scorer::new(outputs, theta).scores(x, &mut scores);
            task.loss(&scores, label)
        };
        for j in 0..before.len() {
            // Skipping changes nothing, so the mean of the two outcomes is U·(after − before).
            let mean_step = probability * (after[j] - before[j]);
            let mut moved = before.clone();
            let h = 1e-6;
            moved[j] += h;
            let up = value(&moved);
            moved[j] -= 2.0 * h;
            let expected = -0.1 * probability * (up - value(&moved)) / (2.0 * h);
            assert!((mean_step - expected).abs() <= 1e-8, "{loss}, {rule}, parameter {j}: {mean_step} for {expected}");
        }
    }
}

/// Returns θ and θ̄ of stochastic gradient descent that queries everything, rounded as learners round.
fn passive(recipe: &LearnerRecipe, rows: &Rows, labels: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let task = querist_engine::task::parse(recipe.loss, recipe.labels).unwrap();
    let (outputs, dim) = (task.outputs(), recipe.dim);
    let (mut theta, mut sum, mut weights) = (vec![0.0; outputs * (dim + 1)], vec![0.0; outputs * (dim + 1)], 0.0);
    for (i, label) in labels.iter().enumerate() {
        let (x, intercept) = (rows.row(i), outputs * dim);
        let size = match recipe.step {
            StepSize::InverseSqrt(step) => step / (i as f64 + 1.0).sqrt(),
            StepSize::Fixed(step) => step,
            _ => panic!("a step that is known beforehand"),
        };
        sum.iter_mut().zip(&theta).for_each(|(sum, t)| *sum += size * t);
        weights += size;
        if outputs == 1 {
            let move_by = -size * task.slope_of_one(theta[intercept] + x.dot(&theta[..intercept]), *label);
            theta[intercept] += move_by;
            // With one output, the product and the sum of a step are rounded once.
            x.each(|j, x| theta[j] = move_by.mul_add(x, theta[j]));
            continue;
        }
        let (mut scores, mut slope) = (theta[intercept..].to_vec(), vec![0.0; outputs]);
        x.each(|j, x| (0..outputs).for_each(|k| scores[k] += x * theta[j * outputs + k]));
        task.slope(&scores, *label, &mut slope);
        (0..outputs).for_each(|k| theta[intercept + k] += -size * slope[k]);
        x.each(|j, x| (0..outputs).for_each(|k| theta[j * outputs + k] += -size * slope[k] * x));
    }
    (theta, sum.iter().map(|sum| sum / weights).collect())
}

#[test]
fn the_constant_rule_is_passive_learning_bit_for_bit() {
    let binary = LOSSES.iter().flat_map(|entry| entry.samples).map(|name| (*name, Labels::Binary));
    let binary = binary.filter(|(name, labels)| querist_engine::task::parse(name, *labels).is_ok());
    let others = [("cross-entropy", Labels::Classes(3)), ("hinge", Labels::Classes(4)), ("squared", Labels::Numbers)];
    let mut checked = 0;
    for (loss, labels) in binary.chain(others) {
        for dim in [1, 2, 5, 17] {
            let (dense, answers) = plain(300, dim, 4, labels);
            let (Rows::Dense(values), 300) = (dense, answers.len()) else { panic!("dense") };
            let values = values.into_values().into_iter().map(|x| if x.abs() < 0.3 { 0.0 } else { x });
            let dense = Rows::Dense(DenseRows::from_values(dim, values.collect()).unwrap());
            for rows in [&dense, &without_zeros(&dense)] {
                for step in [StepSize::Fixed(0.02), StepSize::InverseSqrt(0.1)] {
                    let recipe = LearnerRecipe { labels, step, ..LearnerRecipe::new(loss, "constant", dim) };
                    let (theta, mean, trace) = run(&recipe, rows, &answers);
                    assert_eq!(trace.asked, (0..300).collect::<Vec<_>>(), "{recipe:?}");
                    let (expected, expected_mean) = passive(&recipe, rows, &answers);
                    assert!(expected.iter().all(|t| *t != 0.0 && t.is_finite()), "{recipe:?}: {expected:?}");
                    assert_eq!(bits(&theta), bits(&expected), "{recipe:?}");
                    for (mean, expected) in mean.iter().zip(&expected_mean) {
                        let apart = (mean - expected).abs();
                        assert!(apart <= 1e-12 * (1.0 + expected.abs()), "{recipe:?}: {mean} for {expected}");
                    }
                    checked += 1;
                }
            }
        }
    }
    assert_eq!(checked, 12 * 16);
}

/// Storing or dropping zeros changes results only by rounding, for every task and step.
#[test]
fn dropping_zeros_changes_results_only_by_rounding() {
    for recipe in recipes() {
        let (Rows::Dense(values), labels) = plain(150, 5, 16, recipe.labels) else { panic!("dense") };
        let values = values.into_values().into_iter().map(|x| if x.abs() < 0.4 { 0.0 } else { x }).collect();
        let dense = Rows::Dense(DenseRows::from_values(5, values).unwrap());
        let ((theta, mean, trace), sparse) =
            (run(&recipe, &dense, &labels), run(&recipe, &without_zeros(&dense), &labels));
        assert_eq!(sparse.2.asked, trace.asked, "{recipe:?}");
        for (found, expected) in [(sparse.0, theta), (sparse.1, mean), (sparse.2.probabilities, trace.probabilities)] {
            let apart =
                found.iter().zip(&expected).map(|(found, expected)| (found - expected).abs()).fold(0.0, f64::max);
            assert!(apart <= 1e-9, "{recipe:?}: {apart} apart");
        }
    }
}

#[test]
fn resumed_and_replayed_runs_end_in_the_same_bits() {
    let mut checked = 0;
    for recipe in recipes() {
        let (rows, labels) = plain(150, 5, 5, recipe.labels);
        let (theta, mean, trace) = run(&recipe, &rows, &labels);
        let mut replayed = recipe.stream();
        for (i, label) in labels.iter().enumerate() {
            let asked = trace.asked.contains(&(i as u32));
            let probability = trace.probabilities[i];
            assert_eq!(replayed.probability(rows.row(i)).to_bits(), probability.to_bits(), "{recipe:?}, row {i}");
            if i < 70 {
                // This is all that a ledger stores: every probability, and the features of queried items.
                replayed.consider(probability, asked);
            } else {
                let offer = replayed.offer(rows.row(i));
                assert_eq!((offer.time, offer.asked), (i as u64 + 1, asked), "{recipe:?}");
            }
            if asked {
                replayed.answer(rows.row(i), probability, *label).unwrap();
            }
        }
        assert_eq!(bits(&replayed.mean()), bits(&mean), "{recipe:?}");
        assert_eq!(bits(&replayed.learner().theta()), bits(&theta), "{recipe:?}");
        checked += 1;
    }
    assert_eq!(checked, TASKS.len() * 27);
}

#[test]
fn a_skip_advances_the_raw_clock_but_not_the_query_clock() {
    let (rows, labels) = plain(40, 5, 7, Labels::Binary);
    for momentum in [Momentum::HeavyBall(Beta::Constant(0.5)), Momentum::Nesterov(Beta::Constant(0.5))] {
        for clock in [Clock::Query, Clock::Raw] {
            let mut learner =
                LearnerRecipe { momentum, clock, ..LearnerRecipe::new("logistic", "entropy", 5) }.stream();
            for i in 0..10 {
                learner.answer(rows.row(i), 1.0, labels[i]).unwrap();
            }
            let theta = [(); 4].map(|()| {
                let theta = learner.learner().theta();
                learner.consider(0.5, false);
                theta
            });
            let moves: Vec<f64> = (1..4).map(|i| theta[i][0] - theta[i - 1][0]).collect();
            if clock == Clock::Query {
                assert_eq!(moves, [0.0; 3], "{momentum:?}");
            } else {
                // Only momentum moves θ, and half of it is lost each time.
                assert!(moves[0] != 0.0, "{momentum:?}");
                assert!((moves[1] / moves[0] - 0.5).abs() < 1e-9 && (moves[2] / moves[1] - 0.5).abs() < 1e-9);
            }
        }
    }
}

/// On the query clock only labels count: θ and its queries are the same whatever was skipped in between.
#[test]
fn skips_have_no_effect_on_the_query_clock() {
    let on_queries =
        |recipe: &LearnerRecipe| recipe.clock == Clock::Query && !matches!(recipe.step, StepSize::Pilot { .. });
    let (mut checked, mut answers) = (0, 0);
    for recipe in recipes().into_iter().filter(on_queries) {
        let (rows, labels) = plain(60, 5, 14, recipe.labels);
        let (mut alone, mut among_skips) = (recipe.stream(), recipe.stream());
        for (i, label) in labels.iter().enumerate() {
            (0..i % 4).for_each(|_| among_skips.consider(0.3, false));
            let probability = alone.probability(rows.row(i));
            let found = among_skips.probability(rows.row(i));
            assert_eq!(found.to_bits(), probability.to_bits(), "{recipe:?}, row {i}");
            // Other items are hardly ever queried, and have large weights 1/U.
            if 0.1 < probability {
                for learner in [&mut alone, &mut among_skips] {
                    learner.consider(probability, true);
                    learner.answer(rows.row(i), probability, *label).unwrap();
                }
            }
            let (found, expected) = (among_skips.learner().theta(), alone.learner().theta());
            assert_eq!(bits(&found), bits(&expected), "{recipe:?}, row {i}");
        }
        assert_eq!(among_skips.totals().observed, alone.totals().observed + 90, "{recipe:?}");
        answers += alone.totals().answered;
        checked += 1;
    }
    assert_eq!(checked, TASKS.len() * 14);
    assert!(5000 < answers, "only {answers} answers");
}

/// Returns a learner with a warm start of this many labels.
fn warm_learner(recipe: &LearnerRecipe, labels: u64) -> StreamLearner {
    let rule = querist_engine::rule::parse("constant:p=0.7", recipe.loss, recipe.labels).unwrap();
    let rules = Rules { warm: Some(Warm { rule, labels }), ..recipe.rules() };
    StreamLearner::new(recipe.learner(), rules, recipe.seed, recipe.importance).unwrap()
}

/// The rule changes with the answer that completes the labels, however late it arrives, and θ̄ then covers only later
/// observations. A learner that is saved and restored at any time continues in the same way.
#[test]
fn a_warm_start_ends_after_its_labels_and_restarts_the_average() {
    let (mut switches, entropy) = (0, LearnerRecipe::new("logistic", "entropy", 5).rules().rule);
    for (labels, late) in [(1, 0), (2, 0), (25, 0), (25, 3)] {
        for momentum in [Momentum::None, Momentum::Nesterov(Beta::Constant(0.6))] {
            let recipe = LearnerRecipe { momentum, ..LearnerRecipe::new("logistic", "entropy", 5) };
            let (rows, answers) = plain(120, 5, 15, Labels::Binary);
            let (mut learner, mut open) = (warm_learner(&recipe, labels), VecDeque::new());
            let (mut sum, mut weight) = (vec![0.0; 6], 0.0);
            for (i, label) in answers.iter().enumerate() {
                let mut taken_up = warm_learner(&recipe, labels);
                taken_up.restore(&learner.state().unwrap()).unwrap();
                learner = taken_up;
                let warm = learner.totals().answered < labels;
                assert_eq!(learner.is_warming_up(), warm, "{labels} labels, row {i}");
                let mut score = [0.0];
                learner.learner().scores(rows.row(i), &mut score);
                let expected = if warm { 0.7 } else { entropy.probability(&score, rows.row(i)) };
                let theta = learner.learner().theta();
                let offer = learner.offer(rows.row(i));
                assert_eq!(offer.probability, expected, "{labels} labels, row {i}");
                sum.iter_mut().zip(&theta).for_each(|(sum, t)| *sum += t);
                weight += 1.0;
                if offer.asked {
                    open.push_back((i, offer.probability, *label));
                }
                if late < open.len() {
                    let (asked, probability, label) = open.pop_front().unwrap();
                    learner.answer(rows.row(asked), probability, label).unwrap();
                }
                if warm && learner.totals().answered == labels {
                    (sum, weight, switches) = (vec![0.0; 6], 0.0, switches + 1);
                    assert_eq!(bits(&learner.mean()), bits(&learner.learner().theta()));
                }
                for (mean, sum) in learner.mean().iter().zip(&sum).filter(|_| weight != 0.0) {
                    assert!((mean - sum / weight).abs() < 1e-12, "{labels} labels, row {i}: {mean}");
                }
            }
        }
    }
    assert_eq!(switches, 8);
}

#[test]
fn the_radius_is_respected_and_l2_shrinks_the_weights() {
    let (rows, labels) = plain(2000, 5, 8, Labels::Binary);
    let free = run(&LearnerRecipe::new("logistic", "entropy", 5), &rows, &labels).0;
    let norm = |theta: &[f64]| theta.iter().map(|t| t * t).sum::<f64>().sqrt();
    let radius = norm(&free) / 2.0;
    let constraint = Constraint { l2: 0.0, radius: Some(radius) };
    let held = run(&LearnerRecipe { constraint, ..LearnerRecipe::new("logistic", "entropy", 5) }, &rows, &labels).0;
    assert!(norm(&held) <= radius * (1.0 + 1e-12) && 0.9 * radius < norm(&held));
    let constraint = Constraint { l2: 1.0, radius: None };
    let decayed = run(&LearnerRecipe { constraint, ..LearnerRecipe::new("logistic", "entropy", 5) }, &rows, &labels).0;
    assert!(norm(&decayed[..5]) < 0.5 * norm(&free[..5]));
}

#[test]
fn importance_weights_apply_to_the_l2_penalty() {
    // (1/U)·U·∇(ℓ + λ/2·‖w‖²) is the gradient of the penalized loss, whatever U.
    let (rows, labels) = plain(1, 5, 12, Labels::Binary);
    let constraint = Constraint { l2: 0.3, radius: None };
    let step = |importance, probability| {
        let recipe = LearnerRecipe {
            constraint,
            importance,
            start: Some(vec![1.0; 6]),
            ..LearnerRecipe::new("logistic", "entropy", 5)
        };
        let mut learner = recipe.stream();
        learner.answer(rows.row(0), probability, labels[0]).unwrap();
        learner.learner().theta().iter().map(|t| t - 1.0).collect::<Vec<_>>()
    };
    let (plain, weighted) = (step(Importance::Equivalent, 0.25), step(Importance::Original, 0.25));
    for (plain, weighted) in plain.iter().zip(&weighted) {
        assert!((weighted - 4.0 * plain).abs() < 1e-14, "{weighted} for 4 × {plain}");
    }
}

#[test]
fn automatic_steps_do_not_diverge_with_momentum() {
    let (rows, labels) = plain(3000, 5, 13, Labels::Binary);
    let norm = |momentum| {
        let recipe = LearnerRecipe { momentum, step: StepSize::Auto, ..LearnerRecipe::new("logistic", "entropy", 5) };
        run(&recipe, &rows, &labels).0.iter().map(|t| t * t).sum::<f64>().sqrt()
    };
    let plain = norm(Momentum::None);
    for momentum in [Momentum::HeavyBall(Beta::Constant(0.9)), Momentum::Nesterov(Beta::Constant(0.9))] {
        assert!(norm(momentum) < 3.0 * plain, "{momentum:?}: {} against {plain}", norm(momentum));
    }
}

#[test]
fn a_restored_learner_continues_identically() {
    let mut kept = 0;
    for recipe in recipes() {
        let (rows, labels) = plain(300, recipe.dim, 5, recipe.labels);
        let mut whole = recipe.stream();
        let step = |learner: &mut StreamLearner, place: usize| {
            let x = rows.row(place);
            let offer = learner.offer(x);
            if offer.asked {
                learner.answer(x, offer.probability, labels[place]).unwrap();
            }
            offer
        };
        for place in 0..150 {
            let _ = step(&mut whole, place);
        }
        let Some(state) = whole.state() else {
            assert!(recipe.rule.starts_with("conditional-loss"), "{recipe:?}");
            continue;
        };
        let mut taken_up = recipe.stream();
        taken_up.restore(&state).expect("its own words fit");
        for place in 150..300 {
            assert_eq!(step(&mut whole, place), step(&mut taken_up, place), "{recipe:?}");
        }
        assert_eq!(bits(&whole.learner().theta()), bits(&taken_up.learner().theta()), "{recipe:?}");
        assert_eq!(bits(&whole.mean()), bits(&taken_up.mean()), "{recipe:?}");
        assert_eq!(whole.totals(), taken_up.totals(), "{recipe:?}");
        // Truncated words are rejected.
        for length in (0..state.len()).step_by(13) {
            assert!(recipe.stream().restore(&state[..length]).is_none(), "{length} of {}", state.len());
        }
        kept += 1;
    }
    assert!(200 < kept, "{kept}");
}
