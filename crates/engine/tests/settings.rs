//! Constructors reject settings that no learner can run with, and name the setting.

mod common;

use common::LearnerRecipe;
use querist_engine::compare::{self, Contest, Entrant, EntrantFault, FinishedRun, Fit, TestSet};
use querist_engine::learner::Learner;
use querist_engine::optimizer::{Clock, Constraint, Momentum, Optimizer};
use querist_engine::pool::{Draw, Objective, PoolLearner, Replacement, SgdPool, SgdSettings};
use querist_engine::rule;
use querist_engine::settings::IllegalSettings;
use querist_engine::step::{StepSize, Steps};
use querist_engine::stream::{Importance, Rules, StreamLearner, Warm};
use querist_engine::task::{self, Labels};
use querist_rows::{DenseRows, Rows};

const POOL: SgdSettings =
    SgdSettings { draw: Draw::Scan, replacement: Replacement::Without, importance: Importance::Equivalent, seed: 1 };

fn rules(name: &str, labels: Labels) -> Rules {
    Rules::only(rule::parse(name, "logistic", labels).unwrap())
}

fn classes(classes: usize) -> LearnerRecipe {
    LearnerRecipe { labels: Labels::Classes(classes), ..LearnerRecipe::new("cross-entropy", "entropy", 2) }
}

fn stream(recipe: &LearnerRecipe, rules: Rules) -> Result<StreamLearner, IllegalSettings> {
    StreamLearner::new(recipe.learner(), rules, 1, Importance::Equivalent)
}

#[test]
fn a_stream_rejects_rules_above_1() {
    let binary = LearnerRecipe::new("logistic", "entropy", 2);
    let above = stream(&binary, rules("least-confidence:scale=3", Labels::Binary)).unwrap_err();
    assert_eq!(above.to_string(), "`least-confidence:scale=3` reaches 1.5, so it is not a probability");
    let nats = stream(&classes(5), rules("entropy", Labels::Classes(5))).unwrap_err();
    assert!(nats.to_string().ends_with("; `entropy:base=5` is at most 1"), "{nats}");
    assert!(stream(&classes(5), rules("entropy:base=5", Labels::Classes(5))).is_ok());
    // A pool draws in proportion to U, so the same rules are legal there.
    for (recipe, name, labels) in
        [(binary, "least-confidence:scale=3", Labels::Binary), (classes(5), "entropy", Labels::Classes(5))]
    {
        assert!(SgdPool::new(recipe.learner(), rules(name, labels), 10, POOL).is_ok());
    }
}

#[test]
fn a_stream_rejects_rules_in_units_of_a_pool() {
    let recipe = LearnerRecipe::new("logistic", "entropy", 2);
    for name in ["margin:share=0.01,floor=0.1", "rare:floor=0.1"] {
        let first = stream(&recipe, rules(name, Labels::Binary)).unwrap_err();
        assert!(matches!(&first, IllegalSettings::NeedsPool { setting: "rule", .. }), "{first:?}");
        let warm = Warm { rule: rules(name, Labels::Binary).rule, labels: 10 };
        let later = Rules { warm: Some(warm), ..rules("entropy", Labels::Binary) };
        assert_eq!(stream(&recipe, later).unwrap_err().setting(), "warm_rule");
        assert!(SgdPool::new(recipe.learner(), rules(name, Labels::Binary), 10, POOL).is_ok());
    }
}

#[test]
fn a_rule_must_match_the_number_of_scores_of_the_model() {
    let three = rules("entropy:base=3", Labels::Classes(3));
    for recipe in [LearnerRecipe::new("logistic", "entropy", 2), classes(4)] {
        let illegal = stream(&recipe, three.clone()).unwrap_err();
        assert!(matches!(illegal, IllegalSettings::WrongOutputs { needs: 3, .. }), "{illegal:?}");
        let illegal = SgdPool::new(recipe.learner(), three.clone(), 10, POOL).unwrap_err();
        assert_eq!(illegal.setting(), "rule");
    }
    assert!(stream(&classes(3), three).is_ok());
    let one = stream(&classes(3), rules("entropy", Labels::Binary)).unwrap_err();
    assert!(matches!(one, IllegalSettings::WrongOutputs { needs: 1, outputs: 3, .. }), "{one:?}");
}

/// Rules with another number of scores, and losses without a fit, are errors before anything is run.
#[test]
fn a_comparison_names_the_entrant_that_cannot_be_compared() {
    let rows = Rows::Dense(DenseRows::from_values(1, (0..30).map(|x| x as f32).collect()).unwrap());
    let labels: Vec<f64> = (0..30).map(|row| f64::from(row % 3)).collect();
    let kind = Labels::Classes(3);
    let contest = Contest { rows: &rows, labels: &labels, kind, test: TestSet::Share(0.3), budget: 5, batch: 1 };
    let refit = Fit::Refit { objective: Objective::AsAsked, strength: None };
    let run = |loss: &str, rule: &str, labels: Labels, fit: Fit| {
        let rule = rules(rule, labels).rule;
        let entrants = [Entrant { name: "mine".to_owned(), rule, draw: Draw::Scan, fit }];
        let never = |_: FinishedRun<'_>| panic!("nothing is run");
        let done: &(dyn Fn(FinishedRun<'_>) + Sync) = if fit == Fit::Sgd && labels == kind { &|_| () } else { &never };
        compare::run(&contest, &|| task::parse(loss, kind).unwrap(), &entrants, &[1], done)
    };
    for (rule, of) in [("margin:mu=1", Labels::Binary), ("entropy:base=4", Labels::Classes(4))] {
        let error = run("cross-entropy", rule, of, refit).unwrap_err();
        let EntrantFault::Settings(IllegalSettings::WrongOutputs { outputs: 3, .. }) = &error.reason else {
            panic!("{error:?}");
        };
        let text = error.to_string();
        assert!(text.starts_with("`mine` cannot be compared: `") && text.ends_with("and the model has 3"), "{text}");
    }
    let kinks = run("hinge", "constant", kind, refit).unwrap_err();
    assert!(matches!(kinks.reason, EntrantFault::NoFit(_)), "{kinks:?}");
    assert!(kinks.to_string().ends_with("not by a fit; use `/sgd`"), "{kinks}");
    assert!(run("hinge", "constant", kind, Fit::Sgd).is_ok());
}

#[test]
fn starts_and_constraints_are_checked() {
    let make = |intercept: bool, constraint: Constraint, start: Option<&[f64]>| {
        let task = task::parse("logistic", Labels::Binary).unwrap();
        let optimizer = Optimizer::new(Momentum::None, Clock::Query, constraint);
        Learner::new(task, intercept, 2, optimizer, Steps::new(StepSize::Auto), start).map(|learner| learner.theta())
    };
    let free = Constraint::default();
    assert_eq!(make(true, free, Some(&[1.0, 2.0, 3.0])).unwrap(), [1.0, 2.0, 3.0]);
    assert_eq!(make(false, free, Some(&[1.0, 2.0])).unwrap(), [1.0, 2.0, 0.0]);
    for (intercept, start, expected) in [(true, &[1.0, 2.0][..], 3), (false, &[0.0; 3], 2), (true, &[0.0], 3)] {
        let found = start.len();
        let illegal = make(intercept, free, Some(start)).unwrap_err();
        assert_eq!(illegal, IllegalSettings::StartLength { found, expected, intercept });
    }
    assert_eq!(make(true, free, Some(&[1.0, f64::NAN, 0.0])).unwrap_err().setting(), "start");
    for l2 in [-1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(make(true, Constraint { l2, radius: None }, None).unwrap_err().setting(), "l2");
    }
    for radius in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(make(true, Constraint { l2: 0.0, radius: Some(radius) }, None).unwrap_err().setting(), "radius");
    }
    let recipe = LearnerRecipe::new("logistic", "entropy", 2);
    for within in [0.0, 1.0, f64::NAN] {
        let mut pool = SgdPool::new(recipe.learner(), recipe.rules(), 10, POOL).unwrap();
        assert_eq!(pool.diversify(within).unwrap_err().setting(), "apart");
    }
}

#[test]
fn names_of_momenta_draws_and_objectives_parse_and_print_the_same() {
    for name in ["none", "heavy-ball:beta=0.9", "nesterov:beta=0.5", "nesterov"] {
        assert_eq!(name.parse::<Momentum>().unwrap().to_string(), name);
    }
    for name in ["none:beta=1", "heavy-ball", "heavy-ball:beta=1", "nesterov:gamma=0.5", "heavy"] {
        assert!(name.parse::<Momentum>().is_err(), "{name}");
    }
    assert!(Draw::ALL.iter().all(|draw| draw.to_string().parse() == Ok(*draw)));
    assert!(Objective::ALL.iter().all(|objective| objective.to_string().parse() == Ok(*objective)));
    let error = "rejct".parse::<Draw>().unwrap_err().to_string();
    assert_eq!(error, "`rejct`: unknown draw; did you mean `reject`?");
}
