//! Algorithm 1 on the mixture from one start, and the flow it follows.
//!
//! With a small step η, the run is the flow dθ/dt = −∇R̃ at time ηT plus noise. The covariance Σ of the noise obeys
//! dΣ/dt = −HΣ − ΣH + ηC. H is the Hessian of R̃ along the flow, and C is the covariance of one observation's gradient.
//! The deviation of a single run is therefore known in advance.

use querist_engine::learner::Learner;
use querist_engine::optimizer::{Clock, Constraint, Momentum, Optimizer};
use querist_engine::rule;
use querist_engine::step::{StepSize, Steps};
use querist_engine::stream::{Importance, Rules, StreamLearner, Trace, Warm};
use querist_engine::synthetic::Mixture;
use querist_engine::task::{self, Labels};
use querist_rows::{DenseRows, Rows};
use querist_theory::equivalent::Queried;

use crate::matrix::{Matrix, product};
use crate::mixture::{Population, Theta};
use crate::ode::integrate;

/// The end of a flow, its time average, its mean query rate, and the standard deviations of single runs.
pub(super) struct Track {
    pub last: Theta,
    pub average: Theta,
    pub rate: f64,
    pub last_sd: Theta,
    pub average_sd: Theta,
    pub rate_sd: f64,
}

/// The result of Algorithm 1.
pub(super) struct StreamEnd {
    pub last: Theta,
    pub average: Theta,
    pub rate: f64,
}

/// Integrates the flow over this time, with the noise of runs at this step.
pub(super) fn follow(pair: &Queried, start: Theta, time: f64, step: f64) -> Track {
    let population = Population::rough(pair);
    // θ, ∫θ and ∫E[U].
    let field = |_: f64, y: &[f64; 7]| {
        let theta = [y[0], y[1], y[2]];
        let down = population.gradient(theta);
        [-down[0], -down[1], -down[2], y[0], y[1], y[2], population.rate(theta)]
    };
    let first = [start[0], start[1], start[2], 0.0, 0.0, 0.0, 0.0];
    let mut noise = Noise::new();
    let end = integrate(field, first, 0.0..time, 1e-7, |length, y| {
        let theta = [y[0], y[1], y[2]];
        noise.pass(length, &Local::at(&population, theta), step);
    });
    Track {
        last: [end[0], end[1], end[2]],
        average: [end[3] / time, end[4] / time, end[5] / time],
        rate: end[6] / time,
        last_sd: std::array::from_fn(|i| noise.covariance[i][i].sqrt()),
        average_sd: std::array::from_fn(|i| noise.covariance[3 + i][3 + i].sqrt() / time),
        rate_sd: noise.covariance[6][6].sqrt() / time,
    }
}

/// The quantities that determine the noise at one point of the flow.
struct Local {
    hessian: Matrix<3>,
    /// The covariance of one observation's gradient, which is 0 if the observation is not queried.
    noise: Matrix<3>,
    gradient: Theta,
    rate: f64,
    rate_gradient: Theta,
}

impl Local {
    fn at(population: &Population<'_>, theta: Theta) -> Self {
        let rate_gradient = std::array::from_fn(|i| {
            let rate = |by: f64| population.rate(std::array::from_fn(|j| theta[j] + if i == j { by } else { 0.0 }));
            (rate(1e-4) - rate(-1e-4)) / 2e-4
        });
        Self {
            hessian: population.hessian(theta),
            noise: population.noise(theta),
            gradient: population.gradient(theta),
            rate: population.rate(theta),
            rate_gradient,
        }
    }

    /// Returns the covariance of one observation's contribution to θ and to the label count, in units of η².
    fn added(&self, i: usize, j: usize) -> f64 {
        match (i, j) {
            (0..3, 0..3) => self.noise[i][j],
            // Queried gradients have mean ∇R̃, and are 0 where the count is 0.
            (0..3, 6) => -(1.0 - self.rate) * self.gradient[i],
            (6, 0..3) => -(1.0 - self.rate) * self.gradient[j],
            (6, 6) => self.rate * (1.0 - self.rate),
            _ => 0.0,
        }
    }
}

/// The covariance of (θ, ∫θ, η·labels) around the flow.
struct Noise {
    covariance: Matrix<7>,
}

impl Noise {
    fn new() -> Self {
        Self { covariance: [[0.0; 7]; 7] }
    }

    /// Advances the covariance over a segment of the flow, on which the local quantities are taken as constant.
    fn pass(&mut self, length: f64, local: &Local, step: f64) {
        let mut drift = [[0.0; 7]; 7];
        for i in 0..3 {
            for j in 0..3 {
                drift[i][j] = -local.hessian[i][j];
            }
            drift[3 + i][i] = 1.0;
            drift[6][i] = local.rate_gradient[i];
        }
        let size = local.hessian.iter().flatten().map(|h| h * h).sum::<f64>().sqrt();
        // Modes of the covariance decay twice as fast as those of θ. The Runge–Kutta method is stable up to 2.78.
        let pieces = (2.0 * size * length).ceil().max(1.0);
        let h = length / pieces;
        let rate = |p: &Matrix<7>| -> Matrix<7> {
            let moved = product(&drift, p);
            std::array::from_fn(|i| std::array::from_fn(|j| moved[i][j] + moved[j][i] + step * local.added(i, j)))
        };
        for _ in 0..pieces as u64 {
            let p = self.covariance;
            let ahead = |slope: &Matrix<7>, by: f64| -> Matrix<7> {
                std::array::from_fn(|i| std::array::from_fn(|j| p[i][j] + by * slope[i][j]))
            };
            let a = rate(&p);
            let b = rate(&ahead(&a, 0.5 * h));
            let c = rate(&ahead(&b, 0.5 * h));
            let d = rate(&ahead(&c, h));
            self.covariance = std::array::from_fn(|i| {
                std::array::from_fn(|j| p[i][j] + h / 6.0 * (a[i][j] + 2.0 * b[i][j] + 2.0 * c[i][j] + d[i][j]))
            });
        }
    }
}

/// The configuration of a run on the mixture.
pub(super) struct MixtureRun<'a> {
    pub loss: &'a str,
    pub rule: &'a str,
    /// The rule of the warm start and its number of labels.
    pub warm: Option<(&'a str, u64)>,
    pub start: Theta,
    pub observations: u64,
    pub step: f64,
    pub seed: u64,
}

/// Runs Algorithm 1 on fresh observations.
pub(super) fn learn(plan: &MixtureRun<'_>) -> StreamEnd {
    let parse = |name: &str| rule::parse(name, plan.loss, Labels::Binary).expect("a registered rule");
    let task = task::parse(plan.loss, Labels::Binary).expect("a registered loss");
    let optimizer = Optimizer::new(Momentum::None, Clock::Query, Constraint::default());
    let steps = Steps::new(StepSize::Fixed(plan.step));
    let learner = Learner::new(task, true, 2, optimizer, steps, Some(&plan.start)).expect("legal settings");
    let warm = plan.warm.map(|(name, labels)| Warm { rule: parse(name), labels });
    let rules = Rules { warm, rule: parse(plan.rule) };
    let mut learner = StreamLearner::new(learner, rules, plan.seed, Importance::Equivalent).expect("legal settings");
    let mixture = Mixture::new(plan.seed);
    let (mut rows, mut labels, mut trace) = (Rows::Dense(DenseRows::new(2)), vec![], Trace::default());
    let mut observed = 0;
    while observed < plan.observations {
        labels.resize(2048.min(plan.observations - observed) as usize, 0.0);
        mixture.fill(observed + 1, &mut rows, &mut labels);
        learner.learn_rows(&rows, &labels, &mut trace).expect("steps this small do not diverge");
        observed += labels.len() as u64;
    }
    let theta = |values: Vec<f64>| -> Theta { [values[0], values[1], values[2]] };
    let average = theta(learner.mean());
    let rate = learner.totals().asked as f64 / plan.observations as f64;
    StreamEnd { last: theta(learner.learner().theta()), average, rate }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On R = ½θ² with gradient noise of variance 1, the variance at time t is η(1 − e^{−2t})/2. The variance of the
    /// average over a long time is η/t.
    #[test]
    fn noise_on_a_parabola_matches_the_closed_form() {
        let mut noise = Noise::new();
        let mut identity = [[0.0; 3]; 3];
        (0..3).for_each(|i| identity[i][i] = 1.0);
        let local =
            Local { hessian: identity, noise: identity, gradient: [0.0; 3], rate: 0.25, rate_gradient: [0.0; 3] };
        noise.pass(0.3, &local, 0.01);
        assert!((noise.covariance[1][1] - 0.005 * (1.0 - (-0.6_f64).exp())).abs() < 1e-6);
        (0..100).for_each(|_| noise.pass(10.0, &local, 0.01));
        assert!((noise.covariance[1][1] - 0.005).abs() < 1e-5);
        assert!((noise.covariance[4][4] / 1000.3 / 0.01 - 1.0).abs() < 0.01);
        // T = t/η observations, each queried with probability 1/4.
        assert!((noise.covariance[6][6] / (1000.3 * 0.01 * 0.1875) - 1.0).abs() < 1e-9);
    }
}
