//! Newton's method, with equations solved by conjugate gradients preconditioned with a factor kept from earlier fits.
//!
//! From one answer to the next the Hessian hardly changes, so a few passes over the answers suffice. It is factored
//! again only if they do not.

use super::dual;
use super::factor::Factor;
use super::problem::{EvaluatedPoint, Problem};

/// The state that one fit leaves for the next.
#[derive(Clone, Debug, Default)]
pub(super) struct Newton {
    factor: Option<Factor>,
}

/// The end of a fit.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct NewtonEnd {
    /// ‖∇F‖ at the end.
    pub gradient: f64,
    /// The number of Newton steps.
    pub steps: usize,
}

/// The limit of Newton steps; no fit that makes progress needs more.
pub(super) const MOST_STEPS: usize = 100;
/// The limit of passes for one step; beyond it the Hessian is factored again.
const MOST_PASSES: usize = 10;
/// The same for coordinates in a span, of which a pass is cheaper relative to a factor.
const MOST_PASSES_IN_SPAN: usize = 30;
/// The limit of passes without a factor of the full Hessian.
const MOST_PASSES_ALONG_DIAGONAL: usize = 250;

impl Newton {
    /// Moves θ until ‖∇F‖ ≤ tolerance·(1 + Σw).
    pub(super) fn minimize(&mut self, problem: &Problem<'_>, theta: &mut [f64], tolerance: f64) -> NewtonEnd {
        if let Some(rows) = problem.rows.as_dual() {
            return dual::minimize(problem, rows, theta, tolerance);
        }
        let total: f64 = problem.weights.iter().sum();
        let goal = tolerance * (1.0 + total);
        let mut at = problem.point(theta);
        for steps in 0..MOST_STEPS {
            let gradient = norm(&at.gradient);
            if gradient <= goal {
                return NewtonEnd { gradient, steps };
            }
            let direction = self.direction(problem, &at, goal / gradient);
            match search(problem, theta, &at, &direction) {
                Some(next) => at = next,
                // Only rounding errors are left of the gradient.
                None => return NewtonEnd { gradient, steps },
            }
        }
        NewtonEnd { gradient: norm(&at.gradient), steps: MOST_STEPS }
    }

    /// Returns −H⁻¹∇F, to a relative residual that shrinks near the goal.
    fn direction(&mut self, problem: &Problem<'_>, at: &EvaluatedPoint, left: f64) -> Vec<f64> {
        let enough = (0.5 * left).clamp(1e-10, 1e-1);
        let size = problem.parameters();
        if let Some(factor) = self.factor.as_ref().filter(|factor| factor.is_exact() && factor.fits(size)) {
            let passes = if problem.rows.is_span() { MOST_PASSES_IN_SPAN } else { MOST_PASSES };
            let (direction, solved) = conjugate(problem, at, factor, enough, passes);
            if solved {
                return direction;
            }
        }
        let factor = Factor::new(problem, &at.curvature);
        let passes = if factor.is_exact() { MOST_PASSES } else { MOST_PASSES_ALONG_DIAGONAL };
        let (direction, _) = conjugate(problem, at, &factor, enough, passes);
        self.factor = Some(factor);
        direction
    }
}

/// Solves H·d = −∇F by preconditioned conjugate gradients; returns whether the residual is small enough.
fn conjugate(
    problem: &Problem<'_>,
    at: &EvaluatedPoint,
    factor: &Factor,
    enough: f64,
    passes: usize,
) -> (Vec<f64>, bool) {
    let mut residual: Vec<f64> = at.gradient.iter().map(|g| -g).collect();
    let goal = enough * norm(&residual);
    let mut solution = vec![0.0; residual.len()];
    let mut conditioned = residual.clone();
    factor.solve(&mut conditioned);
    let mut direction = conditioned.clone();
    let mut size = product(&residual, &conditioned);
    let mut curved = vec![0.0; residual.len()];
    for _ in 0..passes {
        problem.curve(&at.curvature, &direction, &mut curved);
        let step = size / product(&direction, &curved);
        if !step.is_finite() {
            break;
        }
        for p in 0..solution.len() {
            solution[p] += step * direction[p];
            residual[p] -= step * curved[p];
        }
        if norm(&residual) <= goal {
            return (solution, true);
        }
        conditioned.copy_from_slice(&residual);
        factor.solve(&mut conditioned);
        let next = product(&residual, &conditioned);
        let share = next / size;
        size = next;
        for (d, c) in direction.iter_mut().zip(&conditioned) {
            *d = c + share * *d;
        }
    }
    (solution, false)
}

/// Backtracks along a direction until F decreases; returns `None` if rounding hides every descent.
fn search(problem: &Problem<'_>, theta: &mut [f64], at: &EvaluatedPoint, direction: &[f64]) -> Option<EvaluatedPoint> {
    let descent = product(&at.gradient, direction);
    let start = theta.to_vec();
    let mut step = 1.0;
    while 1e-12 < step {
        for ((t, s), d) in theta.iter_mut().zip(&start).zip(direction) {
            *t = s + step * d;
        }
        let next = problem.point(theta);
        let falls = next.value <= at.value + 1e-4 * step * descent;
        // Near the end differences of F are rounding errors, but the gradient still shrinks.
        let settles =
            next.value <= at.value + 1e-12 * at.value.abs() && norm(&next.gradient) < 0.9 * norm(&at.gradient);
        if falls && norm(&next.gradient).is_finite() || settles {
            return Some(next);
        }
        step *= 0.5;
    }
    theta.copy_from_slice(&start);
    None
}

pub(super) fn norm(values: &[f64]) -> f64 {
    product(values, values).sqrt()
}

pub(super) fn product(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
