//! Learners and data for the tests.

#![allow(dead_code)]

use querist_engine::coin::Coin;
use querist_engine::fit::Refit;
use querist_engine::learner::Learner;
use querist_engine::optimizer::{Clock, Constraint, Momentum, Optimizer};
use querist_engine::pool::{Draw, Objective, RefitPool, RefitSettings};
use querist_engine::rule;
use querist_engine::step::{StepSize, Steps};
use querist_engine::stream::{Importance, Rules, StreamLearner};
use querist_engine::task::{self, Labels};
use querist_rows::Features;
use querist_rows::{DenseRows, Rows, Sparse, SparseRows};

/// The configuration of a test's learner.
#[derive(Clone, Debug)]
pub(crate) struct LearnerRecipe {
    pub loss: &'static str,
    pub rule: &'static str,
    pub labels: Labels,
    pub dim: usize,
    pub step: StepSize,
    pub momentum: Momentum,
    pub clock: Clock,
    pub constraint: Constraint,
    pub importance: Importance,
    pub start: Option<Vec<f64>>,
    pub seed: u64,
}

impl LearnerRecipe {
    pub(crate) fn new(loss: &'static str, rule: &'static str, dim: usize) -> Self {
        Self {
            loss,
            rule,
            labels: Labels::Binary,
            dim,
            step: StepSize::Fixed(0.1),
            momentum: Momentum::None,
            clock: Clock::Query,
            constraint: Constraint::default(),
            importance: Importance::Equivalent,
            start: None,
            seed: 7,
        }
    }

    pub(crate) fn learner(&self) -> Learner {
        let task = task::parse(self.loss, self.labels).unwrap();
        let optimizer = Optimizer::new(self.momentum, self.clock, self.constraint);
        Learner::new(task, true, self.dim, optimizer, Steps::new(self.step), self.start.as_deref()).unwrap()
    }

    pub(crate) fn rules(&self) -> Rules {
        Rules::only(rule::parse(self.rule, self.loss, self.labels).unwrap())
    }

    pub(crate) fn stream(&self) -> StreamLearner {
        StreamLearner::new(self.learner(), self.rules(), self.seed, self.importance).unwrap()
    }
}

/// Creates a fitting learner with default settings except for the rule.
pub(crate) fn fitted(rows: &Rows, labels: Labels, rule_name: &str, seed: u64) -> RefitPool {
    fitted_by(rows, labels, rule_name, Draw::Scan, Objective::AsAsked, seed)
}

/// Creates a fitting learner.
pub(crate) fn fitted_by(
    rows: &Rows,
    labels: Labels,
    rule_name: &str,
    draw: Draw,
    objective: Objective,
    seed: u64,
) -> RefitPool {
    let loss = if labels == Labels::Numbers { "squared" } else { "logistic" };
    let task = task::parse(loss, labels).unwrap();
    let refit = Refit::new(&*task, true, rows.empty_like(), None, seed).unwrap();
    let rules = Rules::only(rule::parse(rule_name, loss, labels).unwrap());
    let optimizer = Optimizer::new(Momentum::None, Clock::Query, Constraint::default());
    let learner = Learner::new(task, true, rows.dim(), optimizer, Steps::new(StepSize::Auto), None).unwrap();
    let settings = RefitSettings { draw, seed, refit, objective, labels };
    RefitPool::new(learner, rules, rows.len(), settings).unwrap()
}

/// Generates rows uniform on [−1, 1]ᵈ and labels that mostly follow the first feature.
pub(crate) fn plain(n: usize, dim: usize, seed: u64, labels: Labels) -> (Rows, Vec<f64>) {
    let (x, y) = (Coin::new(seed, "x"), Coin::new(seed, "y"));
    let values: Vec<f32> = (0..n * dim).map(|i| (2.0 * x.unit(i as u64) - 1.0) as f32).collect();
    let label = |i: usize| {
        let (lean, noise) = (f64::from(values[i * dim]), y.unit(i as u64));
        match labels {
            Labels::Binary => {
                if noise < 0.5 + 0.45 * lean {
                    1.0
                } else {
                    -1.0
                }
            }
            Labels::Classes(k) => {
                ((f64::midpoint(lean, 1.0) * 0.8 + 0.2 * noise) * k as f64).floor().min(k as f64 - 1.0)
            }
            Labels::Numbers => lean + noise - 0.5,
        }
    };
    let labels = (0..n).map(label).collect();
    (Rows::Dense(DenseRows::from_values(dim, values).unwrap()), labels)
}

/// All tasks: a loss, a rule and labels.
pub(crate) const TASKS: &[(&str, &str, Labels)] = &[
    ("logistic", "entropy", Labels::Binary),
    ("squared-hinge", "margin:mu=1", Labels::Binary),
    ("hinge", "threshold:gamma=0.5", Labels::Binary),
    ("exponential", "exponential:mu=0.9", Labels::Binary),
    ("logistic", "mix:rule=entropy,floor=0.1", Labels::Binary),
    ("cross-entropy", "entropy:base=3", Labels::Classes(3)),
    ("cross-entropy", "top-two-margin", Labels::Classes(4)),
    ("hinge", "least-confidence", Labels::Classes(3)),
    ("cross-entropy", "conditional-loss", Labels::Classes(3)),
    ("squared", "conditional-loss", Labels::Numbers),
    ("squared", "constant:p=0.4", Labels::Numbers),
];

/// Returns the same rows without their zeros.
pub(crate) fn without_zeros(rows: &Rows) -> Rows {
    let mut sparse = SparseRows::new(rows.dim());
    for row in 0..rows.len() {
        let (mut index, mut value) = (vec![], vec![]);
        rows.row(row).each(|j, x| {
            if x != 0.0 {
                index.push(j as u32);
                value.push(x as f32);
            }
        });
        sparse.push(Sparse { index: &index, value: &value });
    }
    Rows::Sparse(sparse)
}
