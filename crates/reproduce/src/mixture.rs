//! Exact means over the paper's four Gaussians: risk, rate, gradient and noise of a linear model as integrals.
//!
//! In each component the score w·x + b is normal. Every mean is therefore an integral over one standard normal variable
//! t, the coordinate of the feature along the weights.

use std::f64::consts::PI;

use querist_theory::equivalent::Queried;
use querist_theory::loss::Loss;
use querist_theory::momentum::Landscape;

use crate::matrix::{Matrix, newton_direction, norm};

/// The parameters (w₁, w₂, b).
pub(crate) type Theta = [f64; 3];

/// A component N(center, ¼I) of the mixture.
pub(crate) struct Component {
    center: [f64; 2],
    label: f64,
    weight: f64,
}

const COMPONENTS: [Component; 4] = [
    Component { center: [-2.0, 0.0], label: 1.0, weight: 0.2 },
    Component { center: [2.0, 0.0], label: 1.0, weight: 0.3 },
    Component { center: [0.0, -2.0], label: -1.0, weight: 0.4 },
    Component { center: [0.0, 2.0], label: -1.0, weight: 0.1 },
];
const DEVIATION: f64 = 0.5;

/// Extra interval ends around a kink at 0, where a rule may change within a tenth.
const GRADES: [f64; 7] = [-1.2, -0.4, -0.1, 0.0, 0.1, 0.4, 1.2];

/// The means of one pair over the mixture.
pub(crate) struct Population<'a> {
    pub(crate) pair: &'a Queried,
    /// Larger margins are clamped to this one.
    cap: f64,
    breaks: Vec<f64>,
    grid: Grid,
}

impl<'a> Population<'a> {
    /// Creates means accurate to about 1e-13.
    pub(crate) fn new(pair: &'a Queried) -> Self {
        Self::with(pair, f64::INFINITY, Grid::new(9, 16))
    }

    /// Creates fast means accurate to about 1e-7.
    pub(crate) fn rough(pair: &'a Queried) -> Self {
        Self::with(pair, f64::INFINITY, Grid::new(6, 8))
    }

    /// Creates the means of L(min(s, cap)), the objective of gradients that are set to 0 beyond the cap.
    pub(crate) fn capped(pair: &'a Queried, cap: f64) -> Self {
        Self::with(pair, cap, Grid::new(9, 16))
    }

    fn with(pair: &'a Queried, cap: f64, grid: Grid) -> Self {
        // A rule is even: a kink for one label is a kink for the other.
        let mut breaks: Vec<f64> = pair.kinks().iter().flat_map(|kink| [*kink, -kink]).collect();
        if breaks.contains(&0.0) {
            breaks.extend(GRADES);
        }
        breaks.extend([0.0, cap].into_iter().filter(|at| at.is_finite()));
        breaks.sort_by(f64::total_cmp);
        breaks.dedup();
        Self { pair, cap, breaks, grid }
    }

    /// Returns E[ℓ̃].
    pub(crate) fn risk(&self, theta: Theta) -> f64 {
        let mut sum = 0.0;
        self.visit(theta, |at| sum += at.mass * self.pair.value((at.component.label * at.score).min(self.cap)));
        sum
    }

    /// Returns E[U].
    pub(crate) fn rate(&self, theta: Theta) -> f64 {
        let mut sum = 0.0;
        self.visit(theta, |at| sum += at.mass * self.pair.rule().at(at.score));
        sum
    }

    /// Returns P(y·(w·x + b) < 0).
    pub(crate) fn zero_one(&self, theta: Theta) -> f64 {
        let mut sum = 0.0;
        self.visit(theta, |at| sum += if at.component.label * at.score < 0.0 { at.mass } else { 0.0 });
        sum
    }

    /// Returns ∇E[ℓ̃].
    pub(crate) fn gradient(&self, theta: Theta) -> Theta {
        let mut sum = [0.0; 3];
        self.visit(theta, |at| {
            let s = at.component.label * at.score;
            if s < self.cap {
                let slope = at.mass * at.component.label * self.pair.slope(s);
                let x = at.mean_feature();
                sum = [sum[0] + slope * x[0], sum[1] + slope * x[1], sum[2] + slope];
            }
        });
        sum
    }

    /// Returns the Hessian, by finite differences of the gradient.
    pub(crate) fn hessian(&self, theta: Theta) -> Matrix<3> {
        let h = 1e-3;
        let mut out = [[0.0; 3]; 3];
        for j in 0..3 {
            let moved = |by: f64| {
                let mut moved = theta;
                moved[j] += by;
                self.gradient(moved)
            };
            let ([up, down], [far_up, far_down]) = ([h, -h].map(moved), [2.0 * h, -2.0 * h].map(moved));
            for i in 0..3 {
                let slope = (8.0 * (up[i] - down[i]) - (far_up[i] - far_down[i])) / (12.0 * h);
                out[i][j] += 0.5 * slope;
                out[j][i] += 0.5 * slope;
            }
        }
        out
    }

    /// Returns the covariance of one observation's step in units of η: that of 1{asked}·∇ℓ.
    pub(crate) fn noise(&self, theta: Theta) -> Matrix<3> {
        let mut out = [[0.0; 3]; 3];
        self.visit(theta, |at| {
            let slope = self.pair.loss().slope(at.component.label * at.score);
            let mass = at.mass * self.pair.rule().at(at.score) * slope * slope;
            let x = at.mean_feature();
            for i in 0..3 {
                for j in 0..3 {
                    out[i][j] += mass * (x[i] * x[j] + at.spread_across(i, j));
                }
            }
        });
        let mean = self.gradient(theta);
        for i in 0..3 {
            for j in 0..3 {
                out[i][j] -= mean[i] * mean[j];
            }
        }
        out
    }

    /// Finds a local minimum near this start by Newton's method with descent steps of length at most 1.
    pub(crate) fn minimum(&self, start: Theta) -> Option<Theta> {
        let (mut theta, mut risk) = (start, self.risk(start));
        for _ in 0..300 {
            let gradient = self.gradient(theta);
            if norm(gradient) < 1e-14 {
                return Some(theta);
            }
            let step = newton_direction(self.hessian(theta), gradient);
            let mut share = (1.0 / norm(step)).min(1.0);
            loop {
                let next: Theta = std::array::from_fn(|i| theta[i] + share * step[i]);
                let found = self.risk(next);
                if found < risk {
                    (theta, risk) = (next, found);
                    break;
                }
                share *= 0.5;
                // Below rounding no step decreases the risk: this is the bottom, or there is no minimum.
                if share < 1e-6 {
                    let arrived = norm(self.gradient(theta)) < 1e-9;
                    return arrived.then_some(theta);
                }
            }
        }
        None
    }

    /// Calls `see` for every node of every integral.
    fn visit(&self, theta: Theta, mut see: impl FnMut(&QuadratureNode<'_>)) {
        let length = theta[0].hypot(theta[1]);
        let spread = DEVIATION * length;
        for component in &COMPONENTS {
            let middle = theta[0] * component.center[0] + theta[1] * component.center[1] + theta[2];
            if spread == 0.0 {
                let along = [0.0; 2];
                see(&QuadratureNode { component, along, t: 0.0, mass: component.weight, score: middle });
                continue;
            }
            let along = [theta[0] / length, theta[1] / length];
            // Breaks are margins. Their order as values of t depends on the label.
            let breaks = self.breaks.iter().map(|s| (component.label * s - middle) / spread);
            self.grid.visit(breaks, component.label < 0.0, |t, mass| {
                see(&QuadratureNode { component, along, t, mass: component.weight * mass, score: middle + spread * t });
            });
        }
    }
}

impl Landscape for Population<'_> {
    fn risk(&self, theta: &[f64]) -> f64 {
        self.risk(from_slice(theta))
    }

    fn gradient(&self, theta: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&self.gradient(from_slice(theta)));
    }

    fn rate(&self, theta: &[f64]) -> f64 {
        self.rate(from_slice(theta))
    }

    fn rate_gradient(&self, theta: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        self.visit(from_slice(theta), |at| {
            let slope = at.mass * self.pair.rule().slope(at.score);
            for (sum, x) in out.iter_mut().zip(at.mean_feature()) {
                *sum += slope * x;
            }
        });
    }
}

fn from_slice(theta: &[f64]) -> Theta {
    [theta[0], theta[1], theta[2]]
}

/// A quadrature node in one component, at t standard deviations along the weights.
struct QuadratureNode<'a> {
    component: &'a Component,
    along: [f64; 2],
    t: f64,
    mass: f64,
    score: f64,
}

impl QuadratureNode<'_> {
    /// Returns E[(x, 1)] given this score.
    fn mean_feature(&self) -> Theta {
        let shift = |i: usize| self.component.center[i] + DEVIATION * self.t * self.along[i];
        [shift(0), shift(1), 1.0]
    }

    /// Returns the covariance of x given this score: orthogonal to the weights, or in all directions if they are 0.
    fn spread_across(&self, i: usize, j: usize) -> f64 {
        if i == 2 || j == 2 {
            return 0.0;
        }
        let identity = if i == j { 1.0 } else { 0.0 };
        DEVIATION * DEVIATION * (identity - self.along[i] * self.along[j])
    }
}

/// Gauss–Legendre nodes under the normal density, on intervals of length 1.
struct Grid {
    /// Nodes and weights on [−1, 1].
    nodes: Vec<(f64, f64)>,
    reach: i32,
    /// Values of t and their masses, for each interval.
    table: Vec<Vec<(f64, f64)>>,
}

impl Grid {
    fn new(reach: i32, order: usize) -> Self {
        let nodes = gauss_legendre(order);
        let table = (-reach..reach)
            .map(|k| {
                let mut points = vec![];
                on_interval(&nodes, f64::from(k), f64::from(k + 1), &mut |t, mass| points.push((t, mass)));
                points
            })
            .collect();
        Self { nodes, reach, table }
    }

    /// Visits the nodes between −reach and reach. Intervals end at these breaks, in increasing or decreasing order.
    fn visit(
        &self,
        breaks: impl DoubleEndedIterator<Item = f64> + ExactSizeIterator,
        falling: bool,
        mut see: impl FnMut(f64, f64),
    ) {
        let mut sorted = [f64::INFINITY; 24];
        let count = breaks.len();
        for (i, break_at) in breaks.enumerate() {
            sorted[if falling { count - 1 - i } else { i }] = break_at;
        }
        let mut next = 0;
        for (points, k) in self.table.iter().zip(-self.reach..) {
            let (low, high) = (f64::from(k), f64::from(k + 1));
            while sorted[next] <= low {
                next += 1;
            }
            if high <= sorted[next] {
                for (t, mass) in points {
                    see(*t, *mass);
                }
                continue;
            }
            let mut from = low;
            while sorted[next] < high {
                on_interval(&self.nodes, from, sorted[next], &mut see);
                from = sorted[next];
                next += 1;
            }
            on_interval(&self.nodes, from, high, &mut see);
        }
    }
}

fn on_interval(nodes: &[(f64, f64)], low: f64, high: f64, see: &mut impl FnMut(f64, f64)) {
    let (center, half) = (f64::midpoint(low, high), 0.5 * (high - low));
    for (node, weight) in nodes {
        let t = center + half * node;
        see(t, half * weight * (-0.5 * t * t).exp() / (2.0 * PI).sqrt());
    }
}

/// Returns nodes and weights on [−1, 1]: the roots of the Legendre polynomial, by Newton's method.
fn gauss_legendre(order: usize) -> Vec<(f64, f64)> {
    let n = order as f64;
    (0..order)
        .map(|i| {
            let mut x = (PI * (i as f64 + 0.75) / (n + 0.5)).cos();
            let mut slope = 1.0;
            for _ in 0..20 {
                let (mut before, mut value) = (1.0, x);
                for k in 2..=order {
                    let k = k as f64;
                    (before, value) = (value, ((2.0 * k - 1.0) * x * value - (k - 1.0) * before) / k);
                }
                slope = n * (x * value - before) / (x * x - 1.0);
                x -= value / slope;
            }
            (x, 2.0 / ((1.0 - x * x) * slope * slope))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_are_integrated_under_the_normal_density() {
        let grid = Grid::new(9, 16);
        let mut moments = [0.0; 5];
        grid.visit([-0.3, 2.0].into_iter(), false, |t, mass| {
            let mut power = 1.0;
            for moment in &mut moments {
                *moment += mass * power;
                power *= t;
            }
        });
        for (found, right) in moments.iter().zip([1.0, 0.0, 1.0, 0.0, 3.0]) {
            assert!((found - right).abs() < 1e-13, "{moments:?}");
        }
    }

    #[test]
    fn the_gradient_matches_differences_of_the_risk() {
        for (loss, rule) in
            [("logistic", "threshold:gamma=2"), ("hinge", "margin:mu=10"), ("squared-hinge", "margin:mu=1")]
        {
            let pair = Queried::parse(loss, rule).unwrap();
            let theta = [0.7, -1.9, 0.4];
            let (fine, rough) = (Population::new(&pair), Population::rough(&pair));
            let gradient = fine.gradient(theta);
            for i in 0..3 {
                let moved = |by: f64| std::array::from_fn(|j| theta[j] + if i == j { by } else { 0.0 });
                let slope = (fine.risk(moved(1e-5)) - fine.risk(moved(-1e-5))) / 2e-5;
                assert!((slope - gradient[i]).abs() < 1e-8, "{loss} by {rule}: {slope} for {}", gradient[i]);
                assert!((rough.gradient(theta)[i] - gradient[i]).abs() < 1e-6, "{loss} by {rule}");
            }
        }
    }

    #[test]
    fn the_rate_gradient_matches_differences_of_the_rate() {
        let pair = Queried::parse("squared-hinge", "margin:mu=1").unwrap();
        let (population, theta) = (Population::new(&pair), [0.6, -0.4, 0.2]);
        let mut slope = [0.0; 3];
        population.rate_gradient(&theta, &mut slope);
        for i in 0..3 {
            let moved = |by: f64| std::array::from_fn(|j| theta[j] + if i == j { by } else { 0.0 });
            let found = (population.rate(moved(1e-5)) - population.rate(moved(-1e-5))) / 2e-5;
            assert!((found - slope[i]).abs() < 1e-8, "{found} for {}", slope[i]);
        }
    }

    #[test]
    fn zero_weights_are_the_limit_of_small_weights() {
        let pair = Queried::parse("logistic", "entropy").unwrap();
        let population = Population::new(&pair);
        let (at, near) = (population.gradient([0.0, 0.0, 0.3]), population.gradient([1e-9, 0.0, 0.3]));
        assert!((0..3).all(|i| (at[i] - near[i]).abs() < 1e-8), "{at:?} {near:?}");
        let (at, near) = (population.noise([0.0, 0.0, 0.3]), population.noise([1e-9, 0.0, 0.3]));
        assert!((0..3).all(|i| (0..3).all(|j| (at[i][j] - near[i][j]).abs() < 1e-8)), "{at:?} {near:?}");
    }
}
