//! Intervals for somebody who looks once.
//!
//! The error of a levelled mean is a sum of uncorrelated terms; their squares add up to its variance, their cubes to its
//! skewness. With uneven weights what went wrong is most often that the heaviest item was not drawn, so one more term as
//! large as the largest is reckoned with.

use super::levelled::{Levels, Worth};
use super::quantile::student;

/// How far an estimate is spread.
pub(super) struct Spread {
    variance: f64,
    pub(super) skewness: f64,
    /// The largest term, in size.
    largest: f64,
    /// Degrees of freedom of the variance: few where a few terms make it up.
    freedom: f64,
}

impl Spread {
    /// Of the levelled mean of these values; for a ratio, of its residuals.
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
        // Satterthwaite: a variance whose own variance is Σe⁴ − (Σe²)²/n has twice its square over that as its degrees of
        // freedom. Half of that tail is in the term reckoned with already: measured, between this and a normal quantile.
        let noise = (fourth - second * second / n).max(f64::MIN_POSITIVE);
        let freedom = 4.0 * second * second / noise;
        let variance = second * n / (n - 1.0).max(1.0);
        Self { variance, skewness: third / second.powf(1.5), largest, freedom }
    }

    /// How many deviations are too many.
    pub(super) fn quantile(&self, confidence: f64) -> f64 {
        student(0.5 + confidence / 2.0, self.freedom)
    }

    /// Hall's interval (1992): the studentized mean, bent straight by its own skewness.
    pub(super) fn skewed(&self, mean: f64, confidence: f64) -> (f64, f64) {
        let variance = self.variance + self.largest.powi(2);
        let third = self.skewness * self.variance.powf(1.5) + self.largest.powi(3) * self.skewness.signum();
        let (error, skewness) = (variance.sqrt(), third / variance.powf(1.5));
        let t = self.quantile(confidence);
        let unbent = |x: f64| {
            // Where the bend is lost in rounding there is none.
            if skewness.abs() < 1e-6 {
                return x;
            }
            3.0 / skewness * ((1.0 + skewness * (x - skewness / 6.0)).cbrt() - 1.0)
        };
        if error > 0.0 { (mean - error * unbent(t), mean - error * unbent(-t)) } else { (mean, mean) }
    }

    /// Wilson's interval at the effective number of draws, p(1−p)/variance, as Korn and Graubard (1998) for surveys.
    /// A share of exactly 0 or 1 shows no variance, and a few heavy draws may show hardly any: then the draws that the weights are
    /// worth stand behind it.
    pub(super) fn proportion(&self, share: f64, worth: &Worth, confidence: f64) -> (f64, f64) {
        let p = share.clamp(0.0, 1.0);
        let rarer = (p.min(1.0 - p) + self.largest).min(0.5);
        let shows = self.variance > 0.0 && p > 0.0 && p < 1.0;
        let seen = rarer * (1.0 - rarer) / (self.variance + self.largest.powi(2));
        let n = match (shows, worth.is_uneven) {
            (false, _) => worth.draws,
            (true, true) => seen.min(worth.draws),
            (true, false) => seen,
        };
        let t = self.quantile(confidence);
        let shrink = 1.0 + t * t / n;
        let centre = (p + t * t / (2.0 * n)) / shrink;
        let half = t / shrink * (p * (1.0 - p) / n + t * t / (4.0 * n * n)).sqrt();
        ((centre - half).max(0.0), (centre + half).min(1.0))
    }
}
