//! Intervals for somebody who looks once.
//!
//! The error of a levelled mean is a sum of uncorrelated terms; their squares add up to its variance, their cubes to its
//! skewness.

use super::levelled::Levels;
use super::quantile::{normal, student};

/// How far an estimate is spread.
pub(super) struct Spread {
    pub(super) variance: f64,
    skewness: f64,
    freedom: f64,
}

impl Spread {
    /// Of the levelled mean of these values.
    pub(super) fn of(levels: &Levels, values: &[f64]) -> Self {
        let mean = levels.mean(values);
        let n = values.len() as f64;
        let (mut second, mut third, mut fourth) = (0.0, 0.0, 0.0);
        for error in levels.errors(values, mean) {
            let square = error * error;
            second += square;
            third += square * error;
            fourth += square * square;
        }
        if !(second > 0.0) {
            return Self { variance: 0.0, skewness: 0.0, freedom: f64::INFINITY };
        }
        // Satterthwaite: a variance estimate of variance Σe⁴ − (Σe²)²/n is worth 2(Σe²)² over it in degrees of freedom.
        let noise = fourth - second * second / n;
        let freedom = if noise > 0.0 { (2.0 * second * second / noise).min(n) - 1.0 } else { n - 1.0 };
        let variance = second * n / (n - 1.0).max(1.0);
        Self { variance, skewness: third / second.powf(1.5), freedom }
    }

    /// Hall's interval (1992): the studentized mean, bent straight by its own skewness.
    pub(super) fn skewed(&self, mean: f64, confidence: f64) -> (f64, f64) {
        let error = self.variance.sqrt();
        let t = student(0.5 + confidence / 2.0, self.freedom);
        let unbent = |x: f64| {
            let s = self.skewness;
            if s.abs() < 1e-6 { x } else { 3.0 / s * ((1.0 + s * (x - s / 6.0)).cbrt() - 1.0) }
        };
        (mean - error * unbent(t), mean - error * unbent(-t))
    }

    /// Wilson's interval at the effective number of draws p(1−p)/variance, as Korn and Graubard (1998) for surveys.
    /// A share of exactly 0 or 1 shows no variance: then `fallback` draws stand behind it.
    pub(super) fn proportion(&self, share: f64, fallback: f64, confidence: f64) -> (f64, f64) {
        let z = normal(0.5 + confidence / 2.0);
        let p = share.clamp(0.0, 1.0);
        let n = if self.variance > 0.0 && p > 0.0 && p < 1.0 { p * (1.0 - p) / self.variance } else { fallback };
        let shrink = 1.0 + z * z / n;
        let centre = (p + z * z / (2.0 * n)) / shrink;
        let half = z / shrink * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
        ((centre - half).max(0.0), (centre + half).min(1.0))
    }
}
