//! Fixed-sample intervals.
//!
//! The error of a leveled mean is a sum of uncorrelated terms; their squares add up to its variance, their cubes to its
//! skewness. With uneven weights, the usual failure is that the heaviest item was not drawn. So one extra term as large
//! as the largest is added.

use super::leveled::{Levels, Worth};
use crate::stats::student_quantile;

/// The spread of an estimate.
pub(super) struct Spread {
    variance: f64,
    pub(super) skewness: f64,
    /// The absolute value of the largest term.
    largest: f64,
    /// Degrees of freedom of the variance: few if it consists of a few large terms.
    freedom: f64,
}

impl Spread {
    /// Computes the spread of the leveled mean of these values; for a ratio, of its residuals.
    pub(super) fn of(levels: &Levels, values: &[f64]) -> Self {
        let mean = levels.mean(values);
        let n = values.len() as f64;
        let (mut second, mut third, mut fourth, mut largest) = (0.0, 0.0, 0.0, 0.0_f64);
        for error in levels.errors(values, mean) {
            let square = error * error;
            second += square;
            third += square * error;
            fourth += square * square;
            largest = largest.max(error.abs());
        }
        if !(second > 0.0) {
            return Self { variance: 0.0, skewness: 0.0, largest: 0.0, freedom: f64::INFINITY };
        }
        // Satterthwaite: a variance whose own variance is Σe⁴ − (Σe²)²/n has twice its square over that as its degrees
        // of freedom. The extra term already covers half of that tail: this factor was measured, between Satterthwaite
        // and a normal quantile.
        let noise = (fourth - second * second / n).max(f64::MIN_POSITIVE);
        let freedom = 4.0 * second * second / noise;
        let variance = second * n / (n - 1.0).max(1.0);
        Self { variance, skewness: third / second.powf(1.5), largest, freedom }
    }

    /// Returns the number of standard deviations to the ends of an interval.
    pub(super) fn quantile(&self, confidence: f64) -> f64 {
        student_quantile(0.5 + confidence / 2.0, self.freedom)
    }

    /// Returns Hall's interval (1992): the studentized mean, transformed to remove its skewness.
    pub(super) fn skewed(&self, mean: f64, confidence: f64) -> (f64, f64) {
        self.skewed_to(mean, self.quantile(confidence))
    }

    /// Returns Hall's interval with its ends at this number of standard deviations.
    pub(super) fn skewed_to(&self, mean: f64, t: f64) -> (f64, f64) {
        let variance = self.variance + self.largest.powi(2);
        let third = self.skewness * self.variance.powf(1.5) + self.largest.powi(3) * self.skewness.signum();
        let (error, skewness) = (variance.sqrt(), third / variance.powf(1.5));
        let unbent = |x: f64| {
            // The transformation is negligible where rounding would swamp it.
            if skewness.abs() < 1e-6 {
                return x;
            }
            3.0 / skewness * ((1.0 + skewness * (x - skewness / 6.0)).cbrt() - 1.0)
        };
        if error > 0.0 { (mean - error * unbent(t), mean - error * unbent(-t)) } else { (mean, mean) }
    }

    /// Returns the number of evenly spread draws that would estimate a share in [0, 1] as precisely, p(1−p)/variance. A
    /// share of exactly 0 or 1 shows no variance, and a few heavy draws may show hardly any. Then the effective sample
    /// size of the weights is used instead.
    pub(super) fn even_draws(&self, p: f64, worth: &Worth) -> f64 {
        let rarer = (p.min(1.0 - p) + self.largest).min(0.5);
        let shows = self.variance > 0.0 && p > 0.0 && p < 1.0;
        let seen = rarer * (1.0 - rarer) / (self.variance + self.largest.powi(2));
        match (shows, worth.is_uneven) {
            (false, _) => worth.draws,
            (true, true) => seen.min(worth.draws),
            (true, false) => seen,
        }
    }

    /// Returns Wilson's interval at the effective number of draws, p(1−p)/variance, as Korn and Graubard (1998) do for
    /// surveys.
    pub(super) fn proportion(&self, share: f64, worth: &Worth, confidence: f64) -> (f64, f64) {
        let p = share.clamp(0.0, 1.0);
        let n = self.even_draws(p, worth);
        let t = self.quantile(confidence);
        let shrink = 1.0 + t * t / n;
        let center = (p + t * t / (2.0 * n)) / shrink;
        let half = t / shrink * (p * (1.0 - p) / n + t * t / (4.0 * n * n)).sqrt();
        ((center - half).max(0.0), (center + half).min(1.0))
    }
}
