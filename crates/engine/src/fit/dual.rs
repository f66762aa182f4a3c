//! Newton's method for several scores and more features than answers.
//!
//! A minimum has weights W = `XᵀA`, with a row of A for each answer. So vectors have one number for each score of an
//! answer, for any number of features, and a pass is a product with the Gram matrix `XXᵀ`. Conjugate gradients in its
//! metric take the same steps as in the space of W. Parameters are the intercepts, followed by A.

use super::gram::DualRows;
use super::newton::{MOST_STEPS, NewtonEnd, norm, product};
use super::problem::{INTERCEPT, Problem};

/// The limit of passes for one step.
const MOST_PASSES: usize = 250;
/// A step solves Newton's equations to at most this relative residual.
const ROUGHLY: f64 = 0.1;
/// The curvature that weights are assumed to have relative to λ, to scale them to intercepts.
const TYPICAL_CURVATURE: f64 = 10.0;

/// F at one point.
struct DualPoint {
    value: f64,
    scores: Vec<f64>,
    /// The gradient by intercepts.
    intercepts: Vec<f64>,
    /// R, so that `XᵀR` is the gradient by weights.
    residual: Vec<f64>,
}

/// A vector of intercepts and multiples of answers, with the product of the Gram matrix with the latter.
struct DualVector {
    intercepts: Vec<f64>,
    multiples: Vec<f64>,
    products: Vec<f64>,
}

impl DualVector {
    fn zero(answers: usize, outputs: usize) -> Self {
        let zeros = vec![0.0; answers * outputs];
        Self { intercepts: vec![0.0; outputs], multiples: zeros.clone(), products: zeros }
    }

    /// Returns the product of two vectors as parameters of features; those of `other` need no products.
    fn product(&self, other: &Self) -> f64 {
        product(&self.intercepts, &other.intercepts) + product(&self.products, &other.multiples)
    }

    /// Returns ‖·‖ of the parameters of features.
    fn norm(&self) -> f64 {
        // Rounding may make the square of a tiny vector negative.
        self.product(self).max(0.0).sqrt()
    }
}

/// Computes target = share·target + scale·other.
fn combine(target: &mut [f64], share: f64, scale: f64, other: &[f64]) {
    for (target, other) in target.iter_mut().zip(other) {
        *target = share * *target + scale * other;
    }
}

/// Moves the parameters until ‖∇F‖ ≤ tolerance·(1 + Σw).
pub(super) fn minimize(problem: &Problem<'_>, rows: DualRows<'_>, theta: &mut [f64], tolerance: f64) -> NewtonEnd {
    let outputs = problem.model.outputs;
    let goal = tolerance * (1.0 + problem.weights.iter().sum::<f64>());
    let mut at = point(problem, scores(rows, theta, outputs), theta);
    let mut before = f64::NAN;
    for steps in 0..MOST_STEPS {
        let gradient = gradient(rows, &at, outputs);
        let size = gradient.norm();
        if size <= goal {
            return NewtonEnd { gradient: size, steps };
        }
        // The closer to the minimum, the more exact a step. `min` ignores the NaN of the first step.
        let enough = ROUGHLY.min((size / before).powi(2)).max(0.5 * goal / size);
        before = size;
        let direction = direction(problem, rows, &at, gradient, enough * size);
        match search(problem, theta, &at, &direction) {
            Some(next) => at = next,
            // Only rounding errors are left of the gradient.
            None => return NewtonEnd { gradient: size, steps },
        }
    }
    NewtonEnd { gradient: before, steps: MOST_STEPS }
}

/// Returns the scores of all answers.
pub(super) fn scores(rows: DualRows<'_>, theta: &[f64], outputs: usize) -> Vec<f64> {
    let (intercepts, multiples) = theta.split_at(outputs);
    let mut scores = vec![0.0; multiples.len()];
    rows.multiply(multiples, outputs, &mut scores);
    scores.chunks_exact_mut(outputs).for_each(|scores| {
        scores.iter_mut().zip(intercepts).for_each(|(score, intercept)| *score += intercept);
    });
    scores
}

/// Evaluates F at parameters whose scores are known.
fn point(problem: &Problem<'_>, scores: Vec<f64>, theta: &[f64]) -> DualPoint {
    let (outputs, strength) = (problem.model.outputs, problem.strength);
    let (intercepts, multiples) = theta.split_at(outputs);
    let mut residual: Vec<f64> = multiples.iter().map(|multiple| strength * multiple).collect();
    let mut sums: Vec<f64> = intercepts.iter().map(|intercept| INTERCEPT * strength * intercept).collect();
    let mut value = 0.5 * product(&sums, intercepts);
    let mut slope = vec![0.0; outputs];
    for answer in 0..problem.labels.len() {
        let own = answer * outputs..(answer + 1) * outputs;
        let (scores, label, weight) = (&scores[own.clone()], problem.labels[answer], problem.weights[answer]);
        for (k, multiple) in multiples[own.clone()].iter().enumerate() {
            value += 0.5 * strength * multiple * (scores[k] - intercepts[k]);
        }
        if weight == 0.0 {
            continue;
        }
        value += weight * problem.task.loss(scores, label);
        problem.task.slope(scores, label, &mut slope);
        for ((residual, sum), slope) in residual[own].iter_mut().zip(&mut sums).zip(&slope) {
            *residual += weight * slope;
            *sum += weight * slope;
        }
    }
    if !problem.model.intercept {
        sums.fill(0.0);
    }
    DualPoint { value, scores, intercepts: sums, residual }
}

/// Returns ∇F.
fn gradient(rows: DualRows<'_>, at: &DualPoint, outputs: usize) -> DualVector {
    let mut products = vec![0.0; at.residual.len()];
    rows.multiply(&at.residual, outputs, &mut products);
    DualVector { intercepts: at.intercepts.clone(), multiples: at.residual.clone(), products }
}

/// Solves Newton's equations by conjugate gradients until the norm of the residual is at most `goal`.
fn direction(problem: &Problem<'_>, rows: DualRows<'_>, at: &DualPoint, gradient: DualVector, goal: f64) -> DualVector {
    let outputs = problem.model.outputs;
    let zero = || DualVector::zero(rows.len(), outputs);
    let (mut solution, mut direction, mut curved) = (zero(), zero(), zero());
    let mut residual = gradient;
    for part in [&mut residual.intercepts, &mut residual.multiples, &mut residual.products] {
        for value in part.iter_mut() {
            *value = -*value;
        }
    }
    let scales = intercept_scales(problem, at);
    let prepared = problem.prepared(&at.scores);
    let mut size = f64::INFINITY;
    for _ in 0..MOST_PASSES {
        // The preconditioner changes intercepts alone.
        let conditioned: Vec<f64> = residual.intercepts.iter().zip(&scales).map(|(r, scale)| r * scale).collect();
        let next = product(&residual.intercepts, &conditioned) + product(&residual.products, &residual.multiples);
        let share = next / size;
        size = next;
        combine(&mut direction.intercepts, share, 1.0, &conditioned);
        combine(&mut direction.multiples, share, 1.0, &residual.multiples);
        combine(&mut direction.products, share, 1.0, &residual.products);
        curve(problem, &prepared, &direction, &mut curved);
        let step = size / direction.product(&curved);
        if !step.is_finite() {
            break;
        }
        combine(&mut solution.intercepts, 1.0, step, &direction.intercepts);
        combine(&mut solution.multiples, 1.0, step, &direction.multiples);
        combine(&mut solution.products, 1.0, step, &direction.products);
        combine(&mut residual.intercepts, 1.0, -step, &curved.intercepts);
        combine(&mut residual.multiples, 1.0, -step, &curved.multiples);
        rows.multiply(&residual.multiples, outputs, &mut residual.products);
        if residual.norm() <= goal {
            break;
        }
    }
    solution
}

/// Returns the inverse curvature by each intercept, relative to that of weights.
fn intercept_scales(problem: &Problem<'_>, at: &DualPoint) -> Vec<f64> {
    let outputs = problem.model.outputs;
    let mut curvatures = vec![INTERCEPT * problem.strength; outputs];
    let mut own = vec![0.0; outputs];
    for answer in problem.used() {
        problem.task.curvatures(&at.scores[answer * outputs..][..outputs], problem.labels[answer], &mut own);
        for (sum, own) in curvatures.iter_mut().zip(&own) {
            *sum += problem.weights[answer] * own;
        }
    }
    curvatures.into_iter().map(|curvature| TYPICAL_CURVATURE * problem.strength / curvature).collect()
}

/// Applies the Hessian at prepared scores to a direction. Products with the Gram matrix are not computed.
fn curve(problem: &Problem<'_>, prepared: &[f64], direction: &DualVector, curved: &mut DualVector) {
    let (outputs, strength) = (problem.model.outputs, problem.strength);
    let (mut along, mut own) = (vec![0.0; outputs], vec![0.0; outputs]);
    for (curved, direction) in curved.multiples.iter_mut().zip(&direction.multiples) {
        *curved = strength * direction;
    }
    for (curved, direction) in curved.intercepts.iter_mut().zip(&direction.intercepts) {
        *curved = INTERCEPT * strength * direction;
    }
    for answer in problem.used() {
        let range = answer * outputs..(answer + 1) * outputs;
        for (k, product) in direction.products[range.clone()].iter().enumerate() {
            along[k] = product + direction.intercepts[k];
        }
        problem.task.curve_prepared(&prepared[range.clone()], problem.labels[answer], &along, &mut own);
        for (k, curved) in curved.multiples[range].iter_mut().enumerate() {
            own[k] *= problem.weights[answer];
            *curved += own[k];
        }
        if problem.model.intercept {
            curved.intercepts.iter_mut().zip(&own).for_each(|(curved, own)| *curved += own);
        }
    }
}

/// Backtracks along a direction until F decreases; returns `None` if rounding hides every descent.
fn search(problem: &Problem<'_>, theta: &mut [f64], at: &DualPoint, direction: &DualVector) -> Option<DualPoint> {
    let outputs = problem.model.outputs;
    let descent = product(&at.intercepts, &direction.intercepts) + product(&at.residual, &direction.products);
    let start = theta.to_vec();
    let mut step = 1.0;
    while 1e-12 < step {
        let moves = direction.intercepts.iter().chain(&direction.multiples);
        for ((t, s), d) in theta.iter_mut().zip(&start).zip(moves) {
            *t = s + step * d;
        }
        let mut scores = at.scores.clone();
        for (scores, products) in scores.chunks_exact_mut(outputs).zip(direction.products.chunks_exact(outputs)) {
            for k in 0..outputs {
                scores[k] += step * (products[k] + direction.intercepts[k]);
            }
        }
        let next = point(problem, scores, theta);
        let falls = next.value <= at.value + 1e-4 * step * descent;
        // Near the end differences of F are rounding errors, but the residual still shrinks.
        let settles =
            next.value <= at.value + 1e-12 * at.value.abs() && norm(&next.residual) < 0.9 * norm(&at.residual);
        if falls && next.value.is_finite() || settles {
            return Some(next);
        }
        step *= 0.5;
    }
    theta.copy_from_slice(&start);
    None
}
