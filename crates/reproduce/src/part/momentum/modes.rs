//! Modes near stationary points: small pushes along eigenvectors, compared with the roots of z̈ + γż + (λ/r)z = 0.

use querist_theory::equivalent::Queried;
use querist_theory::momentum::{Clock, Damping, Mode, acceleration, critical_damping, mode};

use crate::mixture::{Population, Theta};
use crate::numbers::brief;
use crate::ode::integrate;
use crate::{Basis, PaperClaim};

/// The length of a push; the linearization error is of the order of its square.
const PUSH: f64 = 1e-5;

/// The response to a push under one damping: the name of the damping, and (time, integrated, predicted) over time.
pub(super) struct Settling {
    pub(super) name: &'static str,
    pub(super) points: Vec<(f64, f64, f64)>,
    /// (time, predicted) on a fine grid.
    pub(super) fine: Vec<(f64, f64)>,
}

/// An eigenvalue with its unit eigenvector.
struct Eigen {
    value: f64,
    vector: Theta,
}

pub(super) fn claims(population: &Population<'_>) -> (Vec<PaperClaim>, Vec<Settling>) {
    let best = stationary(population, [0.04, 0.42, 0.35]);
    let eigen = eigenvalues(population.hessian(best));
    let rate = population.rate(best);
    let (minimum, settling) = minimum(population, best, rate, &eigen);
    (vec![stays(population, best), minimum, critical(rate, &eigen), saddle()], settling)
}

/// Solves ∇R̃ = 0 by Newton's method.
fn stationary(population: &Population<'_>, mut theta: Theta) -> Theta {
    for _ in 0..40 {
        let (gradient, hessian) = (population.gradient(theta), population.hessian(theta));
        // By Cramer's rule; the Hessian is symmetric.
        let (a, b, c) = (cross(hessian[1], hessian[2]), cross(hessian[2], hessian[0]), cross(hessian[0], hessian[1]));
        let determinant = dot(hessian[0], a);
        let step = [0, 1, 2].map(|j| (gradient[0] * a[j] + gradient[1] * b[j] + gradient[2] * c[j]) / determinant);
        theta = [0, 1, 2].map(|j| theta[j] - step[j]);
    }
    theta
}

fn dot(a: Theta, b: Theta) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn cross(a: Theta, b: Theta) -> Theta {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// Returns the eigenvalues in increasing order, with eigenvectors, by Jacobi rotations.
fn eigenvalues(mut matrix: [Theta; 3]) -> Vec<Eigen> {
    let mut basis = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    for _ in 0..30 {
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            let angle = 0.5 * (2.0 * matrix[p][q]).atan2(matrix[q][q] - matrix[p][p]);
            let (sine, cosine) = angle.sin_cos();
            for row in &mut matrix {
                (row[p], row[q]) = (cosine * row[p] - sine * row[q], sine * row[p] + cosine * row[q]);
            }
            let (first, second) = (matrix[p], matrix[q]);
            matrix[p] = [0, 1, 2].map(|j| cosine * first[j] - sine * second[j]);
            matrix[q] = [0, 1, 2].map(|j| sine * first[j] + cosine * second[j]);
            let (first, second) = (basis[p], basis[q]);
            basis[p] = [0, 1, 2].map(|j| cosine * first[j] - sine * second[j]);
            basis[q] = [0, 1, 2].map(|j| sine * first[j] + cosine * second[j]);
        }
    }
    let mut found: Vec<Eigen> = (0..3).map(|j| Eigen { value: matrix[j][j], vector: basis[j] }).collect();
    found.sort_by(|a, b| a.value.total_cmp(&b.value));
    found
}

/// Returns the displacement along a vector at these times after a push of size 1, by the full equation.
fn pushed(population: &Population<'_>, theta: Theta, along: Theta, gamma: f64, times: &[f64]) -> Vec<f64> {
    let slope = |now: f64, state: &[f64; 6]| {
        let mut out = [0.0; 6];
        out[..3].copy_from_slice(&state[3..]);
        let damping = Damping::Constant(gamma);
        acceleration(population, Clock::Query, damping, now, &state[..3], &state[3..], &mut out[3..]);
        out
    };
    let start = [0, 1, 2].map(|j| theta[j] + PUSH * along[j]);
    let (mut state, mut now) = ([start[0], start[1], start[2], 0.0, 0.0, 0.0], 0.0);
    let mut found = vec![];
    for &time in times {
        state = integrate(slope, state, now..time, 1e-7 * PUSH, |_, _| ());
        now = time;
        found.push(dot([0, 1, 2].map(|j| state[j] - theta[j]), along) / PUSH);
    }
    found
}

/// Returns z(t) from z(0) = 1, ż(0) = 0, by the characteristic roots −γ/2 ± ω.
fn predicted(stiffness: f64, gamma: f64, t: f64) -> f64 {
    let squared = 0.25 * gamma * gamma - stiffness;
    let omega = squared.abs().sqrt();
    let half = 0.5 * gamma;
    let swing = if omega * t < 1e-9 {
        1.0 + half * t
    } else if squared < 0.0 {
        (omega * t).cos() + half / omega * (omega * t).sin()
    } else {
        (omega * t).cosh() + half / omega * (omega * t).sinh()
    };
    (-half * t).exp() * swing
}

/// Checks that constant solutions are the points where the gradient is 0.
fn stays(population: &Population<'_>, best: Theta) -> PaperClaim {
    let size = population.gradient(best).iter().fold(0.0_f64, |most, g| most.max(g.abs()));
    let slope = |now: f64, state: &[f64; 6]| {
        let mut out = [0.0; 6];
        out[..3].copy_from_slice(&state[3..]);
        let damping = Damping::Constant(0.8);
        acceleration(population, Clock::Query, damping, now, &state[..3], &state[3..], &mut out[3..]);
        out
    };
    let from = super::FROM;
    let start = [from[0], from[1], from[2], 0.0, 0.0, 0.0];
    let end = integrate(slope, start, 0.0..60.0, super::TOLERANCE, |_, _| ());
    let off = (0..3).map(|j| (end[j] - best[j]).abs().max(end[3 + j].abs())).fold(0.0, f64::max);
    PaperClaim::new("prop:momentum-ode", "constant solutions have no velocity and no gradient of the equivalent risk")
        .computed(format!(
            "{} after time 60, {} from the minimizer",
            super::triple([end[0], end[1], end[2]]),
            brief(off)
        ))
        .expected(
            format!("{}, where ∇R̃ = 0 to {} by Newton's method; to 1e-6", super::triple(best), brief(size)),
            Basis::Run,
        )
        .holds(size < 1e-12 && off < 1e-6)
}

/// Checks that every mode of a minimum decays as its roots predict, at three dampings.
fn minimum(population: &Population<'_>, best: Theta, rate: f64, eigen: &[Eigen]) -> (PaperClaim, Vec<Settling>) {
    let mut worst = 0.0_f64;
    let mut named = true;
    let mut settling = vec![];
    for (index, eigen) in eigen.iter().enumerate() {
        let critical = critical_damping(eigen.value, rate).unwrap_or(f64::NAN);
        for (factor, name) in
            [(0.2, "0.2 of the critical damping"), (1.0, "critical damping"), (3.0, "3 times the critical damping")]
        {
            let gamma = factor * critical;
            let times: Vec<f64> = (1..=8).map(|i| 1.5 * f64::from(i) / critical).collect();
            let found = pushed(population, best, eigen.vector, gamma, &times);
            let expected = times.iter().map(|t| predicted(eigen.value / rate, gamma, *t));
            let points: Vec<(f64, f64, f64)> =
                times.iter().zip(found).zip(expected).map(|((t, found), expected)| (*t, found, expected)).collect();
            worst = points.iter().map(|(_, found, expected)| (found - expected).abs()).fold(worst, f64::max);
            // At the critical damping itself, rounding decides between the three names.
            named &= match mode(eigen.value, rate, gamma) {
                Mode::Oscillating { .. } => factor <= 1.0,
                Mode::Overdamped { .. } => 1.0 <= factor,
                Mode::Critical { .. } => factor == 1.0,
                _ => false,
            };
            if index == 0 {
                let end = points.last().map_or(0.0, |point| point.0);
                let times = (1..=160).map(|i| end * f64::from(i) / 160.0);
                let fine = times.map(|t| (t, predicted(eigen.value / rate, gamma, t))).collect();
                settling.push(Settling { name, points, fine });
            }
        }
    }
    let values: Vec<String> = eigen.iter().map(|eigen| brief(eigen.value)).collect();
    let claim = PaperClaim::new(
        "apd:momentum-details",
        "a nondegenerate minimum is stable: modes settle by the roots of z̈ + γż + (λ/r)z = 0",
    )
    .computed(format!("λ = {}, r = {}; pushes off by at most {}", values.join(", "), brief(rate), brief(worst)))
    .expected("the roots' motion at three dampings, to 1e-3 of the push", Basis::Run)
    .holds(worst < 1e-3 && named && eigen.iter().all(|eigen| 0.0 < eigen.value));
    (claim, settling)
}

/// Checks that no damping makes a mode decay faster than 2√(λ/r).
fn critical(rate: f64, eigen: &[Eigen]) -> PaperClaim {
    let mut shown = vec![];
    let mut good = true;
    for eigen in eigen {
        let stiffness = eigen.value / rate;
        // The real part of the slower root, directly from the quadratic.
        let slower = |gamma: f64| -0.5 * gamma + (0.25 * gamma * gamma - stiffness).max(0.0).sqrt();
        let grid: Vec<f64> = (1..=4000).map(|i| f64::from(i) / 1000.0 * 2.0 * stiffness.sqrt()).collect();
        let best = crate::by_hand::least(&slower, &grid).0;
        let found = critical_damping(eigen.value, rate).unwrap_or(f64::NAN);
        good &= (best / found - 1.0).abs() < 1e-3;
        shown.push(format!("{} (search {})", brief(found), brief(best)));
    }
    PaperClaim::new("apd:momentum-details", "critical damping is 2√(λ/r): there a mode settles fastest")
        .computed(shown.join(", "))
        .expected("the damping whose slower root is least, by search, to 1e-3", Basis::Run)
        .holds(good)
}

/// Checks a saddle point of the entropy's risk: one direction is unstable at any damping.
fn saddle() -> PaperClaim {
    let pair = Queried::parse("logistic", "entropy").expect("a registered pair");
    let population = Population::new(&pair);
    let theta = stationary(&population, SADDLE);
    let size = population.gradient(theta).iter().fold(0.0_f64, |most, g| most.max(g.abs()));
    let eigen = eigenvalues(population.hessian(theta));
    let (rate, down) = (population.rate(theta), &eigen[0]);
    let mut worst = 0.0_f64;
    let mut growths = vec![];
    for gamma in [0.1, 0.5] {
        let Mode::Unstable { growth } = mode(down.value, rate, gamma) else { continue };
        let times = [1.0, 1.5, 2.0].map(|t| t / growth);
        for (found, t) in pushed(&population, theta, down.vector, gamma, &times).into_iter().zip(times) {
            worst = worst.max((found / predicted(down.value / rate, gamma, t) - 1.0).abs());
        }
        growths.push(brief(growth));
    }
    PaperClaim::new("subsec:momentum", "a direction of negative curvature leaves, at any damping")
        .computed(format!(
            "entropy × logistic at {}: λ = {}; growth {} at γ = 0.1, 0.5; pushes off by {}",
            super::triple(theta),
            brief(down.value),
            growths.join(", "),
            brief(worst)
        ))
        .expected("the positive root's motion, to 1e-3", Basis::Run)
        .holds(size < 1e-12 && down.value < -1e-6 && growths.len() == 2 && worst < 1e-3)
}

/// A point near a saddle between two minima of the entropy's risk.
const SADDLE: Theta = [0.08, -1.95, 2.55];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eigenvectors_are_scaled_by_their_eigenvalues() {
        let matrix = [[2.0, -1.0, 0.3], [-1.0, 1.0, 0.5], [0.3, 0.5, -1.0]];
        for Eigen { value, vector } in eigenvalues(matrix) {
            for (i, row) in matrix.iter().enumerate() {
                assert!((dot(*row, vector) - value * vector[i]).abs() < 1e-12);
            }
        }
    }
}
