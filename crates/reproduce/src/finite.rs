//! A problem small enough that every risk is a sum: finitely many features in the plane, each with its odds.
//!
//! With a convex pair and a projection onto a ball all assumptions of the bounds hold, with D and G known.

use querist_engine::coin::Coin;
use querist_engine::learner::Learner;
use querist_engine::optimizer::{Clock, Constraint, Momentum, Optimizer};
use querist_engine::rule::{self, Rule};
use querist_engine::step::{StepSize, Steps};
use querist_engine::stream::{Importance, Rules, StreamLearner};
use querist_engine::task::{self, Labels};
use querist_rows::{DenseRows, Rows};
use querist_theory::bound::Setting;
use querist_theory::equivalent::Queried;
use querist_theory::loss::Loss;
use querist_theory::risk::Risk;

use crate::matrix::{Matrix, dot, newton_direction, norm};

/// The weights of the two features.
pub(crate) type Weights = [f64; 2];

/// How often a feature comes, and how often its label is +1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Feature {
    /// Its share of all observations.
    pub share: f64,
    /// In single precision, as learners see it.
    pub x: [f32; 2],
    /// P(y = +1).
    pub odds: f64,
}

impl Feature {
    /// As real numbers.
    pub(crate) fn point(&self) -> Weights {
        self.x.map(f64::from)
    }
}

/// Seven noisy features that no line through 0 parts as the best predictor does.
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
    /// Σ of the shares up to each feature and with it.
    up_to: Vec<f64>,
}

impl<'a> Finite<'a> {
    /// These features under this pair.
    pub(crate) fn new(pair: &'a Queried, features: &[Feature]) -> Self {
        let add = |sum: &mut f64, feature: &Feature| {
            *sum += feature.share;
            Some(*sum)
        };
        Self { pair, features: features.to_vec(), up_to: features.iter().scan(0.0, add).collect() }
    }

    /// A sum over all features and labels: of share·odds, the label and the margin.
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

    /// E[ℓ̃].
    pub(crate) fn risk(&self, theta: Weights) -> f64 {
        let mut risk = 0.0;
        self.sum(theta, |mass, _, s, _| risk += mass * self.pair.value(s));
        risk
    }

    /// ∇E[ℓ̃].
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

    /// E[U].
    pub(crate) fn rate(&self, theta: Weights) -> f64 {
        self.features.iter().map(|f| f.share * self.pair.rule().at(dot(theta, f.point()))).sum()
    }

    /// E[‖1{asked}·∇ℓ‖²].
    pub(crate) fn second_moment(&self, theta: Weights) -> f64 {
        let mut moment = 0.0;
        self.sum(theta, |mass, _, s, x| {
            let slope = self.pair.loss().slope(s);
            moment += mass * self.pair.rule().at(s) * slope * slope * dot(x, x);
        });
        moment
    }

    /// The minimizer of a convex E[ℓ̃], from 0 by Newton's method with halved steps.
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
            // Newton's steps square their length: after one as short as this only rounding is left.
            if share <= 1e-9 || norm(step) < 1e-9 {
                break;
            }
        }
        theta
    }

    /// G: the root of the largest E[‖∇ℓ‖² | x] within the ball. It is convex in the score, so largest at the ends.
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

    /// The 0–1 risk above the least there is; a score of 0 counts as wrong.
    pub(crate) fn excess_zero_one(&self, theta: Weights) -> f64 {
        let wrong = |f: &&Feature| dot(theta, f.point()) * (2.0 * f.odds - 1.0) <= 0.0;
        self.features.iter().filter(wrong).map(|f| f.share * (2.0 * f.odds - 1.0).abs()).sum()
    }

    /// The least E[ℓ̃] over all predictors.
    pub(crate) fn bayes_risk(&self) -> f64 {
        let risk = Risk::new(self.pair);
        self.features.iter().map(|f| f.share * risk.bayes(f.odds)).sum()
    }

    /// What the bounds rest on for runs from 0 within the ball, at a rate still to be put in.
    pub(crate) fn setting(&self, radius: f64, horizon: u64) -> Setting {
        Setting {
            distance: norm(self.minimizer()),
            gradient: self.gradient_bound(radius),
            horizon: horizon as f64,
            rate: self.pair.rule_facts().max,
            u_max: self.pair.rule_facts().max,
        }
    }

    /// The feature at this part of all.
    pub(crate) fn draw(&self, unit: f64) -> &Feature {
        let place = self.up_to.partition_point(|up_to| *up_to <= unit);
        // Shares add up to 1 but for rounding.
        &self.features[place.min(self.features.len() - 1)]
    }
}

/// The features as rows of a pool.
pub(crate) fn rows(features: &[Feature]) -> Rows {
    let values = features.iter().flat_map(|feature| feature.x).collect();
    Rows::Dense(DenseRows::from_values(2, values).expect("two numbers a row"))
}

/// How learners on a finite problem are made.
#[derive(Clone, Debug)]
pub(crate) struct Recipe {
    loss: String,
    rule: Rule,
    step: StepSize,
    radius: Option<f64>,
}

/// What a run on a stream came to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trial {
    /// θ̄.
    pub average: Weights,
    /// The mean of U along the run.
    pub rate: f64,
    /// The largest ‖θ‖ on the way.
    pub farthest: f64,
}

impl Recipe {
    /// For this pair, with a projection onto the ball.
    pub(crate) fn new(pair: &Queried, step: StepSize, radius: Option<f64>) -> Self {
        let loss = pair.loss().name.clone();
        let rule = rule::parse(&pair.rule().name, &loss, Labels::Binary).expect("the name of a rule");
        Self { loss, rule, step, radius }
    }

    /// The rule, alone.
    pub(crate) fn rules(&self) -> Rules {
        Rules::only(self.rule.clone())
    }

    /// A learner at 0, without intercept.
    pub(crate) fn learner(&self) -> Learner {
        let task = task::parse(&self.loss, Labels::Binary).expect("the name of a loss");
        let constraint = Constraint { l2: 0.0, radius: self.radius };
        let optimizer = Optimizer::new(Momentum::None, Clock::Query, constraint);
        Learner::new(task, false, 2, optimizer, Steps::new(self.step), None).expect("legal settings")
    }

    /// Algorithm 1 over this many observations.
    pub(crate) fn run(&self, problem: &Finite<'_>, horizon: u64, seed: u64) -> Trial {
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
        Trial { average: [average[0], average[1]], rate, farthest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minimizer_has_no_gradient_and_the_draw_has_the_shares() {
        let pair = Queried::parse("squared-hinge", "margin:mu=1").unwrap();
        let problem = Finite::new(&pair, &NOISY);
        assert!(norm(problem.gradient(problem.minimizer())) < 1e-12);
        let n = 20_000;
        let first = (0..n).filter(|i| problem.draw(f64::from(*i) / f64::from(n)).x == NOISY[1].x).count();
        assert!((first as f64 / f64::from(n) - 0.2).abs() < 1e-3);
    }
}
