//! Shared test support: pairs by name, reproducible random numbers, and a small problem with exactly computable means.

use querist_theory::equivalent::Queried;
use querist_theory::loss::{self, LOSSES, Loss, LossTask};
use querist_theory::momentum::Landscape;
use querist_theory::risk::Risk;
use querist_theory::uncertainty::{self, UNCERTAINTIES};

/// The pairs of the paper's Examples 1 to 5, at parameters on both sides of 1.
pub(crate) const PAPER_PAIRS: [(&str, &str); 13] = [
    ("logistic", "entropy"),
    ("logistic", "least-confidence"),
    ("squared-hinge", "margin:mu=0.5"),
    ("squared-hinge", "margin:mu=1"),
    ("squared-hinge", "margin:mu=3"),
    ("logistic", "threshold:gamma=0.5"),
    ("logistic", "threshold:gamma=2"),
    ("hinge", "margin:mu=0.5"),
    ("hinge", "margin:mu=10"),
    ("exponential", "exponential:mu=0"),
    ("exponential", "exponential:mu=0.5"),
    ("exponential", "exponential:mu=0.9"),
    ("exponential", "exponential:mu=2"),
];

pub(crate) fn pair(loss: &str, rule: &str) -> Queried {
    Queried::parse(loss, rule).unwrap_or_else(|error| panic!("{loss} by {rule}: {error}"))
}

/// Returns all samples of classification losses, paired with all samples of rules that accept them.
pub(crate) fn every_classification_pair() -> Vec<Queried> {
    let mut pairs = Vec::new();
    for name in LOSSES.iter().flat_map(|entry| entry.samples) {
        let loss = loss::parse(name).unwrap();
        if loss.facts().task == LossTask::Regression {
            continue;
        }
        for rule in UNCERTAINTIES.iter().flat_map(|entry| entry.samples) {
            if let Ok(rule) = uncertainty::parse(rule, &loss) {
                pairs.push(Queried::new(loss.clone(), rule));
            }
        }
    }
    pairs
}

pub(crate) fn name(pair: &Queried) -> String {
    format!("{} by {}", pair.loss().name, pair.rule().name)
}

/// Asserts that `found` is within `tolerance` of `expected`, absolutely or relatively, whichever allows more.
#[track_caller]
pub(crate) fn near(what: &str, found: f64, expected: f64, tolerance: f64) {
    let allowed = tolerance * expected.abs().max(1.0);
    assert!((found - expected).abs() <= allowed, "{what}: found {found}, expected {expected}");
}

/// A reproducible random stream: the n-th number is a hash of n, offset by the key.
pub(crate) struct RandomStream {
    state: u64,
}

impl RandomStream {
    pub(crate) fn new(key: u64) -> Self {
        Self { state: key.wrapping_mul(0xd134_2543_de82_ef95) }
    }

    /// Draws a number uniformly from [0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.state;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Draws a number uniformly from [low, high).
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Draws an index with these weights, which sum to `total`.
    pub(crate) fn place(&mut self, weights: impl Iterator<Item = f64>, total: f64) -> usize {
        let mut left = total * self.unit();
        let mut last = 0;
        for (i, weight) in weights.enumerate() {
            left -= weight;
            last = i;
            if left < 0.0 {
                break;
            }
        }
        last
    }
}

/// Returns the mean of some numbers and its standard error.
pub(crate) fn mean_and_error(numbers: &[f64]) -> (f64, f64) {
    let n = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / n;
    let variance = numbers.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

pub(crate) type Vector = [f64; 2];

pub(crate) fn dot(a: Vector, b: Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1]
}

pub(crate) fn norm(a: Vector) -> f64 {
    dot(a, a).sqrt()
}

/// Returns a + t·b.
pub(crate) fn plus(a: Vector, t: f64, b: Vector) -> Vector {
    [a[0] + t * b[0], a[1] + t * b[1]]
}

/// A feature with its probability `weight`, and the probability `odds` of the label +1.
#[derive(Clone, Copy)]
pub(crate) struct WeightedFeature {
    pub(crate) weight: f64,
    pub(crate) x: Vector,
    pub(crate) odds: f64,
}

/// A feature with a label, and their joint probability.
#[derive(Clone, Copy)]
pub(crate) struct LabeledFeature {
    pub(crate) mass: f64,
    pub(crate) x: Vector,
    pub(crate) label: f64,
}

/// A linear model on finitely many features, trained by querying one loss by one rule.
pub(crate) struct FinitePopulation<'a> {
    pub(crate) pair: &'a Queried,
    pub(crate) features: Vec<WeightedFeature>,
    pub(crate) outcomes: Vec<LabeledFeature>,
}

impl<'a> FinitePopulation<'a> {
    pub(crate) fn new(pair: &'a Queried, features: Vec<WeightedFeature>) -> Self {
        let both = |f: &WeightedFeature| {
            [(f.odds, 1.0), (1.0 - f.odds, -1.0)].map(|(p, label)| LabeledFeature { mass: f.weight * p, x: f.x, label })
        };
        let outcomes = features.iter().flat_map(both).filter(|outcome| 0.0 < outcome.mass).collect();
        Self { pair, features, outcomes }
    }

    /// Returns a problem of seven noisy features that no line separates as the Bayes rule does.
    pub(crate) fn noisy(pair: &'a Queried) -> Self {
        let features = [
            (0.15, [1.0, 0.3], 0.9),
            (0.2, [0.4, -1.0], 0.2),
            (0.15, [-0.8, 0.6], 0.35),
            (0.1, [-0.3, -0.9], 0.1),
            (0.15, [0.9, -0.5], 0.7),
            (0.1, [-1.0, -0.2], 0.6),
            (0.15, [0.2, 0.8], 0.6),
        ];
        Self::new(pair, features.map(|(weight, x, odds)| WeightedFeature { weight, x, odds }).to_vec())
    }

    /// Returns the gradient of ℓ itself at one outcome.
    pub(crate) fn loss_gradient(&self, theta: Vector, at: LabeledFeature) -> Vector {
        plus([0.0; 2], at.label * self.pair.loss().slope(at.label * dot(theta, at.x)), at.x)
    }

    pub(crate) fn mean_gradient(&self, theta: Vector) -> Vector {
        let mut out = [0.0; 2];
        self.gradient(&theta, &mut out);
        out
    }

    /// Returns ∇R̃ by differences of R̃, without using slopes.
    pub(crate) fn difference_gradient(&self, theta: Vector) -> Vector {
        let h = 1e-5;
        [[1.0, 0.0], [0.0, 1.0]].map(|e| (self.risk(&plus(theta, h, e)) - self.risk(&plus(theta, -h, e))) / (2.0 * h))
    }

    /// Returns the minimizer of a convex R̃, by gradient descent from 0; panics if the gradient has not vanished.
    pub(crate) fn minimizer(&self, step: f64) -> Vector {
        let mut theta = [0.0; 2];
        for _ in 0..20_000 {
            theta = plus(theta, -step, self.mean_gradient(theta));
        }
        assert!(norm(self.mean_gradient(theta)) < 1e-13, "not a minimizer");
        theta
    }

    /// Returns the excess 0–1 risk of θ over the best prediction at each feature; a prediction of 0 counts as wrong.
    pub(crate) fn excess_zero_one(&self, theta: Vector) -> f64 {
        let wrong = |f: &&WeightedFeature| dot(theta, f.x) * (2.0 * f.odds - 1.0) <= 0.0;
        self.features.iter().filter(wrong).map(|f| f.weight * (2.0 * f.odds - 1.0).abs()).sum()
    }

    /// Returns the minimal mean equivalent loss over all predictors.
    pub(crate) fn bayes_risk(&self) -> f64 {
        let risk = Risk::new(self.pair);
        self.features.iter().map(|f| f.weight * risk.bayes(f.odds)).sum()
    }
}

/// Converts the slice of a `Landscape` method to a vector.
fn vector(theta: &[f64]) -> Vector {
    [theta[0], theta[1]]
}

impl Landscape for FinitePopulation<'_> {
    fn risk(&self, theta: &[f64]) -> f64 {
        self.outcomes.iter().map(|o| o.mass * self.pair.value(o.label * dot(vector(theta), o.x))).sum()
    }

    fn gradient(&self, theta: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for o in &self.outcomes {
            let slope = o.mass * o.label * self.pair.slope(o.label * dot(vector(theta), o.x));
            out[0] += slope * o.x[0];
            out[1] += slope * o.x[1];
        }
    }

    fn rate(&self, theta: &[f64]) -> f64 {
        self.features.iter().map(|f| f.weight * self.pair.rule().at(dot(vector(theta), f.x))).sum()
    }

    fn rate_gradient(&self, theta: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for f in &self.features {
            let slope = f.weight * self.pair.rule().slope(dot(vector(theta), f.x));
            out[0] += slope * f.x[0];
            out[1] += slope * f.x[1];
        }
    }
}
