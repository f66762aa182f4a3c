//! A problem small enough that every risk is a sum: finitely many 2-D features, each with a label probability.
//!
//! With a convex pair and a projection onto a ball, all assumptions of the bounds hold, with D and G known.

use querist_engine::coin::Coin;
use querist_engine::learner::Learner;
use querist_engine::optimizer::{Clock, Constraint, Momentum, Optimizer};
use querist_engine::rule::{self, Rule};
use querist_engine::step::{StepSize, Steps};
use querist_engine::stream::{Importance, Rules, StreamLearner};
use querist_engine::task::{self, Labels};
use querist_rows::{DenseRows, Rows};
use querist_theory::bound::BoundInputs;
use querist_theory::equivalent::Queried;
use querist_theory::loss::Loss;
use querist_theory::risk::Risk;

use crate::matrix::{Matrix, dot, newton_direction, norm};

/// The weights of the two features.
pub(crate) type Weights = [f64; 2];

/// A feature with its frequency and the probability of the label +1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Feature {
    /// The share of all observations.
    pub share: f64,
    /// The coordinates in single precision, as learners see them.
    pub x: [f32; 2],
    /// P(y = +1).
    pub odds: f64,
}

impl Feature {
    /// Returns the coordinates in double precision.
    pub(crate) fn point(&self) -> Weights {
        self.x.map(f64::from)
    }
}

/// Seven noisy features that no line through 0 separates like the best predictor.
pub(crate) const NOISY: [Feature; 7] = [
    Feature { share: 0.15, x: [1.0, 0.3], odds: 0.9 },
    Feature { share: 0.2, x: [0.4, -1.0], odds: 0.2 },
    Feature { share: 0.15, x: [-0.8, 0.6], odds: 0.35 },
    Feature { share: 0.1, x: [-0.3, -0.9], odds: 0.1 },
    Feature { share: 0.15, x: [0.9, -0.5], odds: 0.7 },
    Feature { share: 0.1, x: [-1.0, -0.2], odds: 0.6 },
    Feature { share: 0.15, x: [0.2, 0.8], odds: 0.6 },
];

/// One pair on finitely many features.
pub(crate) struct Finite<'a> {
    pub(crate) pair: &'a Queried,
    pub(crate) features: Vec<Feature>,
    /// Cumulative sums of the shares.
    up_to: Vec<f64>,
}

impl<'a> Finite<'a> {
    /// Creates the problem of this pair on these features.
    pub(crate) fn new(pair: &'a Queried, features: &[Feature]) -> Self {
        let add = |sum: &mut f64, feature: &Feature| {
            *sum += feature.share;
            Some(*sum)
        };
        Self { pair, features: features.to_vec(), up_to: features.iter().scan(0.0, add).collect() }
    }

    /// Calls `term` for every feature and label with the probability mass, the label, the margin and the feature.
    fn sum(&self, theta: Weights, mut term: impl FnMut(f64, f64, f64, Weights)) {
        for feature in &self.features {
            let x = feature.point();
            let score = dot(theta, x);
            for (p, label) in [(feature.odds, 1.0), (1.0 - feature.odds, -1.0)] {
                if 0.0 < p {
                    term(feature.share * p, label, label * score, x);
                }
            }
        }
    }

    /// Returns E[ℓ̃].
    pub(crate) fn risk(&self, theta: Weights) -> f64 {
        let mut risk = 0.0;
        self.sum(theta, |mass, _, s, _| risk += mass * self.pair.value(s));
        risk
    }

    /// Returns ∇E[ℓ̃].
    pub(crate) fn gradient(&self, theta: Weights) -> Weights {
        let mut out = [0.0; 2];
        self.sum(theta, |mass, label, s, x| {
            let slope = mass * label * self.pair.slope(s);
            out = [out[0] + slope * x[0], out[1] + slope * x[1]];
        });
        out
    }

    fn hessian(&self, theta: Weights) -> Matrix<2> {
        let mut out = [[0.0; 2]; 2];
        self.sum(theta, |mass, _, s, x| {
            let bend = mass * self.pair.curvature(s);
            for i in 0..2 {
                for j in 0..2 {
                    out[i][j] += bend * x[i] * x[j];
                }
            }
        });
        out
    }

    /// Returns E[U].
    pub(crate) fn rate(&self, theta: Weights) -> f64 {
        self.features.iter().map(|f| f.share * self.pair.rule().at(dot(theta, f.point()))).sum()
    }

    /// Returns E[‖1{asked}·∇ℓ‖²].
    pub(crate) fn second_moment(&self, theta: Weights) -> f64 {
        let mut moment = 0.0;
        self.sum(theta, |mass, _, s, x| {
            let slope = self.pair.loss().slope(s);
            moment += mass * self.pair.rule().at(s) * slope * slope * dot(x, x);
        });
        moment
    }

    /// Returns the minimizer of a convex E[ℓ̃], found from 0 by Newton's method with step halving.
    pub(crate) fn minimizer(&self) -> Weights {
        let mut theta = [0.0; 2];
        for _ in 0..500 {
            let gradient = self.gradient(theta);
            if norm(gradient) < 1e-15 {
                break;
            }
            let step = newton_direction(self.hessian(theta), gradient);
            let (before, mut share) = (self.risk(theta), 1.0);
            let at = |share: f64| [theta[0] + share * step[0], theta[1] + share * step[1]];
            while before < self.risk(at(share)) && 1e-9 < share {
                share *= 0.5;
            }
            theta = at(share);
            // Newton's method converges quadratically: after a step this short only rounding error is left.
            if share <= 1e-9 || norm(step) < 1e-9 {
                break;
            }
        }
        theta
    }

    /// Returns G, the root of the largest E[‖∇ℓ‖² | x] within the ball. It is convex in the score, so largest at an
    /// end.
    pub(crate) fn gradient_bound(&self, radius: f64) -> f64 {
        let loss = self.pair.loss();
        let moment = |f: &Feature, score: f64| {
            let x = f.point();
            dot(x, x) * (f.odds * loss.slope(score).powi(2) + (1.0 - f.odds) * loss.slope(-score).powi(2))
        };
        let at_ends = |f: &Feature| {
            let end = radius * norm(f.point());
            moment(f, end).max(moment(f, -end))
        };
        self.features.iter().map(at_ends).fold(0.0, f64::max).sqrt()
    }

    /// Returns the 0–1 risk minus the Bayes risk. A score of 0 counts as wrong.
    pub(crate) fn excess_zero_one(&self, theta: Weights) -> f64 {
        let wrong = |f: &&Feature| dot(theta, f.point()) * (2.0 * f.odds - 1.0) <= 0.0;
        self.features.iter().filter(wrong).map(|f| f.share * (2.0 * f.odds - 1.0).abs()).sum()
    }

    /// Returns the minimal E[ℓ̃] over all predictors.
    pub(crate) fn bayes_risk(&self) -> f64 {
        let risk = Risk::new(self.pair);
        self.features.iter().map(|f| f.share * risk.bayes(f.odds)).sum()
    }

    /// Returns the constants of the bounds for runs from 0 within the ball. The rate is a placeholder, `U_max`.
    pub(crate) fn setting(&self, radius: f64, horizon: u64) -> BoundInputs {
        BoundInputs {
            distance: norm(self.minimizer()),
            gradient: self.gradient_bound(radius),
            horizon: horizon as f64,
            rate: self.pair.rule_facts().max,
            u_max: self.pair.rule_facts().max,
        }
    }

    /// Returns the feature at this quantile of the cumulative shares.
    pub(crate) fn draw(&self, unit: f64) -> &Feature {
        let index = self.up_to.partition_point(|up_to| *up_to <= unit);
        // The shares sum to 1 only up to rounding.
        &self.features[index.min(self.features.len() - 1)]
    }
}

/// Returns the features as rows of a pool.
pub(crate) fn rows(features: &[Feature]) -> Rows {
    let values = features.iter().flat_map(|feature| feature.x).collect();
    Rows::Dense(DenseRows::from_values(2, values).expect("two numbers a row"))
}

/// The configuration of learners on a finite problem.
#[derive(Clone, Debug)]
pub(crate) struct FiniteRecipe {
    loss: String,
    rule: Rule,
    step: StepSize,
    radius: Option<f64>,
}

/// The result of a run on a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamTrial {
    /// θ̄.
    pub average: Weights,
    /// The mean of U along the run.
    pub rate: f64,
    /// The largest ‖θ‖ during the run.
    pub farthest: f64,
}

impl FiniteRecipe {
    /// Creates the configuration for this pair, with a projection onto the ball if a radius is given.
    pub(crate) fn new(pair: &Queried, step: StepSize, radius: Option<f64>) -> Self {
        let loss = pair.loss().name.clone();
        let rule = rule::parse(&pair.rule().name, &loss, Labels::Binary).expect("the name of a rule");
        Self { loss, rule, step, radius }
    }

    /// Returns the rule, without a warm start.
    pub(crate) fn rules(&self) -> Rules {
        Rules::only(self.rule.clone())
    }

    /// Creates a learner that starts at 0, without intercept.
    pub(crate) fn learner(&self) -> Learner {
        let task = task::parse(&self.loss, Labels::Binary).expect("the name of a loss");
        let constraint = Constraint { l2: 0.0, radius: self.radius };
        let optimizer = Optimizer::new(Momentum::None, Clock::Query, constraint);
        Learner::new(task, false, 2, optimizer, Steps::new(self.step), None).expect("legal settings")
    }

    /// Runs Algorithm 1 over this many observations.
    pub(crate) fn run(&self, problem: &Finite<'_>, horizon: u64, seed: u64) -> StreamTrial {
        let mut learner =
            StreamLearner::new(self.learner(), self.rules(), seed, Importance::Equivalent).expect("legal settings");
        let (features, labels) = (Coin::new(seed, "feature"), Coin::new(seed, "label"));
        let mut farthest = 0.0_f64;
        for time in 1..=horizon {
            let feature = problem.draw(features.unit(time));
            let offer = learner.offer(&feature.x[..]);
            if offer.asked {
                let label = if labels.unit(time) < feature.odds { 1.0 } else { -1.0 };
                learner.answer(&feature.x[..], offer.probability, label).expect("steps this small do not diverge");
                let theta = learner.learner().theta();
                farthest = farthest.max(theta[0].hypot(theta[1]));
            }
        }
        let average = learner.mean();
        let rate = learner.totals().expected_asked() / horizon as f64;
        StreamTrial { average: [average[0], average[1]], rate, farthest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gradient_vanishes_at_the_minimizer_and_draws_follow_the_shares() {
        let pair = Queried::parse("squared-hinge", "margin:mu=1").unwrap();
        let problem = Finite::new(&pair, &NOISY);
        assert!(norm(problem.gradient(problem.minimizer())) < 1e-12);
        let n = 20_000;
        let first = (0..n).filter(|i| problem.draw(f64::from(*i) / f64::from(n)).x == NOISY[1].x).count();
        assert!((first as f64 / f64::from(n) - 0.2).abs() < 1e-3);
    }
}
