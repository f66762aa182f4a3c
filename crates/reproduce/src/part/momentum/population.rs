//! Means over the paper's four Gaussians as integrals in one dimension: the score of a component is normal.

use querist_theory::equivalent::Queried;
use querist_theory::loss::Loss;
use querist_theory::momentum::Landscape;

/// (w₁, w₂, b).
pub(super) type Vector = [f64; 3];

/// Weight, center and label of each component; all have the covariance ¼·I.
const COMPONENTS: [(f64, [f64; 2], f64); 4] =
    [(0.2, [-2.0, 0.0], 1.0), (0.3, [2.0, 0.0], 1.0), (0.4, [0.0, -2.0], -1.0), (0.1, [0.0, 2.0], -1.0)];
const DEVIATION: f64 = 0.5;
/// Deviations beyond this weigh less than rounding.
const REACH: f64 = 8.5;

/// A pair on the mixture.
pub(super) struct Population<'a> {
    pub(super) pair: &'a Queried,
    kinks: Vec<f64>,
}

impl<'a> Population<'a> {
    pub(super) fn new(pair: &'a Queried) -> Self {
        let kinks = pair.kinks().iter().flat_map(|k| [*k, -k]).collect();
        Self { pair, kinks }
    }

    /// E[f·x₁], E[f·x₂], E[f] for a function f of score and label.
    fn means(&self, theta: &[f64], f: &dyn Fn(f64, f64) -> f64) -> Vector {
        let norm = theta[0].hypot(theta[1]);
        let direction = if norm == 0.0 { [1.0, 0.0] } else { [theta[0] / norm, theta[1] / norm] };
        let mut sums = [0.0; 3];
        for (weight, center, label) in COMPONENTS {
            let middle = theta[0] * center[0] + theta[1] * center[1] + theta[2];
            let spread = DEVIATION * norm;
            let mut edges: Vec<f64> = (0..=34).map(|i| REACH * (f64::from(i) / 17.0 - 1.0)).collect();
            edges.extend(self.kinks.iter().map(|k| (k - middle) / spread).filter(|g| g.abs() < REACH));
            edges.sort_by(f64::total_cmp);
            let (mut plain, mut along) = (0.0, 0.0);
            for (low, high) in edges.iter().zip(&edges[1..]) {
                let at = |g: f64| (-0.5 * g * g).exp() * f(middle + spread * g, label);
                let both = moments(&at, *low, *high);
                plain += both.0;
                along += both.1;
            }
            let scale = weight / std::f64::consts::TAU.sqrt();
            for j in 0..2 {
                sums[j] += scale * (center[j] * plain + DEVIATION * direction[j] * along);
            }
            sums[2] += scale * plain;
        }
        sums
    }

    /// ∇R̃ as an array.
    pub(super) fn slope(&self, theta: &Vector) -> Vector {
        self.means(theta, &|score, label| label * self.pair.slope(label * score))
    }

    /// The Hessian of R̃ by differences of its gradient, made symmetric.
    pub(super) fn hessian(&self, theta: &Vector) -> [Vector; 3] {
        let columns = [0, 1, 2].map(|j| {
            let at = |by: f64| {
                let mut moved = *theta;
                moved[j] += by;
                self.slope(&moved)
            };
            let h = 1e-3;
            let (near, far) = ([at(h), at(-h)], [at(2.0 * h), at(-2.0 * h)]);
            [0, 1, 2].map(|i| (8.0 * (near[0][i] - near[1][i]) - (far[0][i] - far[1][i])) / (12.0 * h))
        });
        [0, 1, 2].map(|i| [0, 1, 2].map(|j| 0.5 * (columns[i][j] + columns[j][i])))
    }
}

/// ∫ f and ∫ g·f(g) over an interval, by six points of Gauss and Legendre.
fn moments(f: &dyn Fn(f64) -> f64, low: f64, high: f64) -> (f64, f64) {
    const POINTS: [(f64, f64); 3] = [
        (0.238_619_186_083_196_9, 0.467_913_934_572_691_04),
        (0.661_209_386_466_264_5, 0.360_761_573_048_138_6),
        (0.932_469_514_203_152, 0.171_324_492_379_170_36),
    ];
    let (middle, half) = (0.5 * (low + high), 0.5 * (high - low));
    let mut sums = (0.0, 0.0);
    for (x, weight) in POINTS {
        for g in [middle - half * x, middle + half * x] {
            let value = half * weight * f(g);
            sums.0 += value;
            sums.1 += g * value;
        }
    }
    sums
}

impl Landscape for Population<'_> {
    fn risk(&self, theta: &[f64]) -> f64 {
        self.means(theta, &|score, label| self.pair.value(label * score))[2]
    }

    fn gradient(&self, theta: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&self.slope(&[theta[0], theta[1], theta[2]]));
    }

    fn rate(&self, theta: &[f64]) -> f64 {
        self.means(theta, &|score, _| self.pair.rule().at(score))[2]
    }

    fn rate_gradient(&self, theta: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&self.means(theta, &|score, _| self.pair.rule().slope(score)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::derivative;

    #[test]
    fn gradients_are_those_of_the_risk_and_the_rate() {
        let pair = Queried::parse("squared-hinge", "margin:mu=1").unwrap();
        let population = Population::new(&pair);
        let theta = [0.6, -0.4, 0.2];
        let (mut risk, mut rate) = ([0.0; 3], [0.0; 3]);
        population.gradient(&theta, &mut risk);
        population.rate_gradient(&theta, &mut rate);
        for j in 0..3 {
            let along = |f: &dyn Fn(&[f64]) -> f64| {
                let at = |t: f64| {
                    let mut moved = theta;
                    moved[j] += t;
                    f(&moved)
                };
                derivative(&at, 0.0, 1e-3)
            };
            assert!((along(&|theta| population.risk(theta)) - risk[j]).abs() < 1e-9, "{j}");
            assert!((along(&|theta| population.rate(theta)) - rate[j]).abs() < 1e-9, "{j}");
        }
    }
}
