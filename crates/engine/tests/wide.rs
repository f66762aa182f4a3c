//! Features with large indices: results do not depend on the numbering of features, and memory does not depend on the
//! largest index.

mod common;

use common::LearnerRecipe;
use querist_engine::coin::Coin;
use querist_engine::compare::{self, Contest, Entrant, Fit, TestSet};
use querist_engine::index::{Coefficients, WIDE};
use querist_engine::optimizer::{Beta, Constraint, Momentum};
use querist_engine::pool::{Draw, Objective};
use querist_engine::rule;
use querist_engine::scorer::Scorer;
use querist_engine::step::StepSize;
use querist_engine::stream::{StreamLearner, Trace};
use querist_engine::task::{self, Labels};
use querist_rows::{Row, Rows, Sparse, SparseRows};

const FEATURES: usize = 300;

/// Returns another index for each feature, in the same order: one in four beyond the first million, up to 2²⁷ − 1.
fn far(feature: u32) -> u32 {
    if feature < 225 { feature } else { (1 << 20) + (feature - 225) * 1_779_487 }
}

/// Returns rows of up to 20 of few features, and the same rows with other indices for them.
fn rows(n: usize) -> (Rows, Rows, Vec<f64>) {
    let (which, value, label) = (Coin::new(3, "which"), Coin::new(3, "value"), Coin::new(3, "label"));
    let last = far(FEATURES as u32 - 1) as usize;
    let (mut near, mut wide, mut labels) = (SparseRows::new(FEATURES), SparseRows::new(last + 1), vec![]);
    for row in 0..n as u64 {
        let mut index: Vec<u32> =
            (0..20).map(|place| (which.unit(20 * row + place) * FEATURES as f64) as u32).collect();
        index.sort_unstable();
        index.dedup();
        let value: Vec<f32> = (0..index.len() as u64).map(|place| value.unit(20 * row + place) as f32 - 0.4).collect();
        let lean: f64 = index.iter().zip(&value).map(|(j, x)| f64::from(j % 3) * f64::from(*x)).sum();
        near.push(Sparse { index: &index, value: &value });
        let index: Vec<u32> = index.into_iter().map(far).collect();
        wide.push(Sparse { index: &index, value: &value });
        labels.push(if label.unit(row) < 1.0 / (1.0 + (-lean).exp()) { 1.0 } else { -1.0 });
    }
    (Rows::Sparse(near), Rows::Sparse(wide), labels)
}

/// Processes rows in blocks of this size.
fn learned(mut learner: StreamLearner, rows: &Rows, labels: &[f64], block: usize) -> (StreamLearner, Vec<u64>) {
    let (mut trace, mut bits) = (Trace::default(), vec![]);
    for first in (0..rows.len()).step_by(block) {
        let places = first..(first + block).min(rows.len());
        learner.learn_range(rows, places.clone(), &labels[places], &mut trace).unwrap();
        bits.extend(trace.scores.iter().chain(&trace.probabilities).map(|number| number.to_bits()));
        bits.extend(trace.asked.iter().map(|place| first as u64 + u64::from(*place)));
    }
    (learner, bits)
}

/// Processes rows like a replay: one by one, with the features of queried rows only.
fn replayed(mut learner: StreamLearner, rows: &Rows, labels: &[f64]) -> StreamLearner {
    learner.widen(rows.dim());
    for (place, label) in labels.iter().enumerate() {
        let offer = learner.offer(rows.row(place));
        if offer.asked {
            learner.answer(rows.row(place), offer.probability, *label).unwrap();
        }
    }
    learner
}

/// Returns the same coefficients with the indices of `far`.
fn renumbered(near: &Coefficients, outputs: usize) -> Coefficients {
    let set = |feature: &usize| {
        let range = feature * outputs..(feature + 1) * outputs;
        near.theta[range.clone()].iter().chain(&near.mean[range]).any(|number| *number != 0.0)
    };
    let kept: Vec<usize> = (0..FEATURES).filter(set).collect();
    let gather = |numbers: &[f64]| {
        let weights = kept.iter().flat_map(|feature| &numbers[feature * outputs..(feature + 1) * outputs]);
        weights.chain(&numbers[FEATURES * outputs..]).copied().collect()
    };
    let features = kept.iter().map(|feature| far(*feature as u32)).collect();
    Coefficients { features: Some(features), theta: gather(&near.theta), mean: gather(&near.mean) }
}

fn sparse_recipes() -> Vec<LearnerRecipe> {
    let plain = LearnerRecipe::new("logistic", "entropy", 0);
    vec![
        plain.clone(),
        LearnerRecipe { step: StepSize::Auto, ..plain.clone() },
        LearnerRecipe { rule: "margin:mu=1", loss: "squared-hinge", ..plain.clone() },
        LearnerRecipe { loss: "cross-entropy", rule: "entropy:base=3", labels: Labels::Classes(3), ..plain },
    ]
}

fn dense_recipes() -> Vec<LearnerRecipe> {
    let plain = LearnerRecipe::new("logistic", "entropy", 0);
    let heavy = Momentum::HeavyBall(Beta::Constant(0.5));
    vec![
        LearnerRecipe { momentum: heavy, step: StepSize::Auto, ..plain.clone() },
        LearnerRecipe { constraint: Constraint { l2: 0.01, radius: Some(0.7) }, ..plain },
    ]
}

/// Returns the labels in the form that the recipe's task expects.
fn labels_for(recipe: &LearnerRecipe, labels: &[f64]) -> Vec<f64> {
    let class = |(place, label): (usize, &f64)| if *label < 0.0 { 0.0 } else { 1.0 + (place % 2) as f64 };
    match recipe.labels {
        Labels::Classes(_) => labels.iter().enumerate().map(class).collect(),
        _ => labels.to_vec(),
    }
}

#[test]
fn feature_indices_do_not_affect_the_result() {
    let (near, wide, labels) = rows(1500);
    assert!(near.dim() <= WIDE && WIDE < wide.dim());
    for recipe in sparse_recipes() {
        let labels = labels_for(&recipe, &labels);
        let outputs = if recipe.labels == Labels::Binary { 1 } else { 3 };
        let (mut expected, bits) = learned(recipe.stream(), &near, &labels, 700);
        let expected = renumbered(&expected.coefficients(), outputs);
        assert!(expected.features.as_ref().is_some_and(|features| 200 < features.len()));
        for block in [700, 64] {
            let (mut found, found_bits) = learned(recipe.stream(), &wide, &labels, block);
            assert_eq!(found.dim(), wide.dim());
            assert_eq!(found.coefficients(), expected, "{recipe:?}, blocks of {block}");
            assert!(block != 700 || found_bits == bits, "{recipe:?}: scores and asks");
            assert!(found.learner().dim() < 100_000, "{} weights", found.learner().dim());
        }
        assert_eq!(replayed(recipe.stream(), &wide, &labels).coefficients(), expected, "{recipe:?}, replayed");
    }
}

#[test]
fn optimizers_that_move_all_weights_replay_to_the_same_bits() {
    let (near, wide, labels) = rows(800);
    for recipe in dense_recipes() {
        let (mut expected, _) = learned(recipe.stream(), &near, &labels, 300);
        let expected = renumbered(&expected.coefficients(), 1);
        let (mut found, _) = learned(recipe.stream(), &wide, &labels, 300);
        let found = found.coefficients();
        assert_eq!(found.features, expected.features, "{recipe:?}");
        for (found, expected) in found.theta.iter().zip(&expected.theta) {
            assert!((found - expected).abs() <= 1e-9 * (1.0 + expected.abs()), "{recipe:?}: {found}, not {expected}");
        }
        assert_eq!(replayed(recipe.stream(), &wide, &labels).coefficients(), found, "{recipe:?}, replayed");
    }
}

#[test]
fn a_learner_that_becomes_wide_can_be_saved_and_resumed() {
    let (near, wide, labels) = rows(1200);
    let recipe = LearnerRecipe::new("logistic", "entropy", 0);
    // The first rows have only near features; the others are cut off.
    let narrow = {
        let mut rows = SparseRows::new(225);
        for place in 0..400 {
            let Row::Sparse(row) = wide.row(place) else { panic!("sparse rows") };
            let kept = row.index.iter().take_while(|feature| **feature < 225).count();
            rows.push(Sparse { index: &row.index[..kept], value: &row.value[..kept] });
        }
        Rows::Sparse(rows)
    };
    let run = |rest: &Rows| {
        let (learner, _) = learned(recipe.stream(), &narrow, &labels[..400], 128);
        let mut again = recipe.stream();
        let (mut learner, _) = learned(learner, rest, &labels, 128);
        again.restore(&learner.state().unwrap()).unwrap();
        assert_eq!(again.dim(), learner.dim());
        let found = learner.coefficients();
        assert_eq!(again.coefficients(), found);
        let resumed = learned(again, rest, &labels, 128).0.coefficients();
        assert_eq!(learned(learner, rest, &labels, 128).0.coefficients(), resumed);
        found
    };
    assert_eq!(run(&wide), renumbered(&run(&near), 1));
}

/// A comparison on hashed text, which has few of very many features, equals one on features without gaps. The last
/// feature determines the number of features.
#[test]
fn a_comparison_does_not_depend_on_the_gaps_between_features() {
    const NEAR: usize = 5000;
    let spaced = |by: u32, dim: usize| {
        let (near, _, labels) = rows(80);
        let mut spaced = SparseRows::new(dim);
        for place in 0..near.len() {
            let Row::Sparse(row) = near.row(place) else { panic!("sparse rows") };
            let index: Vec<u32> = row.index.iter().map(|feature| feature * by).collect();
            spaced.push(Sparse { index: &index, value: row.value });
        }
        (Rows::Sparse(spaced), labels)
    };
    let entrant = |name: &str, rule: &str, fit| Entrant {
        name: name.to_owned(),
        rule: rule::parse(rule, "logistic", Labels::Binary).unwrap(),
        draw: Draw::Scan,
        fit,
    };
    let refit = Fit::Refit { objective: Objective::AsAsked, strength: None };
    let entrants = [
        entrant("random", "constant", refit),
        entrant("entropy", "entropy", refit),
        entrant("steps", "entropy", Fit::Sgd),
    ];
    let outcome = |(rows, labels): &(Rows, Vec<f64>), test: TestSet<'_>| {
        let contest = Contest { rows, labels, kind: Labels::Binary, test, budget: 15, batch: 1 };
        compare::run(&contest, &|| task::parse("logistic", Labels::Binary).unwrap(), &entrants, &[1, 2, 3], &|_| ())
            .unwrap()
    };
    let (near, far) = (spaced(1, NEAR), spaced(800, 1 << 18));
    let expected = outcome(&near, TestSet::Share(0.3));
    assert!(expected.runs.iter().flatten().all(|run| run.points.len() == 15));
    assert_eq!(outcome(&far, TestSet::Share(0.3)), expected);
    // These test rows have features that the pool lacks.
    let far_test = {
        let Rows::Sparse(pool) = &far.0 else { panic!("sparse rows") };
        let mut test = SparseRows::new(1 << 18);
        for place in 0..20 {
            let row = pool.row(place);
            let (index, value) = ([row.index, &[(1 << 18) - 1]].concat(), [row.value, &[3.0]].concat());
            test.push(Sparse { index: &index, value: &value });
        }
        Rows::Sparse(test)
    };
    let far_labels = &far.1[..20];
    let tested = outcome(&far, TestSet::Rows(&far_test, far_labels));
    let near_test = {
        let Rows::Sparse(pool) = &near.0 else { panic!("sparse rows") };
        let mut test = SparseRows::new(NEAR);
        (0..20).for_each(|place| test.push(pool.row(place)));
        Rows::Sparse(test)
    };
    let plain = outcome(&near, TestSet::Rows(&near_test, far_labels));
    for (tested, plain) in tested.runs.iter().flatten().zip(plain.runs.iter().flatten()) {
        for (a, b) in tested.points.iter().zip(&plain.points) {
            assert!(
                (a.1.loss - b.1.loss).abs() <= 1e-12 * b.1.loss,
                "an unknown feature counts for nothing: {a:?}, {b:?}"
            );
        }
    }
}

#[test]
fn a_scorer_finds_the_weights_of_its_features() {
    let (near, wide, labels) = rows(300);
    let (mut learner, _) = learned(LearnerRecipe::new("logistic", "entropy", 0).stream(), &near, &labels, 300);
    let found = learner.coefficients();
    let far_found = renumbered(&found, 1);
    let mut expected = Scorer::new(1, &found.theta);
    let mut scorer = Scorer::of(1, &far_found, &far_found.theta, wide.dim());
    let (mut scores, mut far_scores) = (vec![], vec![]);
    expected.scores_of_rows(&near, &mut scores);
    scorer.scores_of_rows(&wide, &mut far_scores);
    assert_eq!(scores, far_scores);
    // The model has few features, and the row has one with a large index.
    let mut rows = SparseRows::new(1 << 27);
    rows.push(Sparse { index: &[3, (1 << 27) - 1], value: &[2.0, 5.0] });
    expected.scores_of_rows(&Rows::Sparse(rows), &mut scores);
    assert_eq!(scores, [found.theta[FEATURES] + 2.0 * found.theta[3]]);
    assert_eq!(expected.dim(), 1 << 27);
}
