//! Means of samples, with standard errors and confidence intervals.

use std::borrow::Borrow;

use querist_engine::stats::{deviation, mean, student_quantile};

/// The mean of a sample, with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(clippy::struct_field_names, reason = "`mean` is the plainest name of the field")]
pub(crate) struct Mean {
    pub mean: f64,
    /// The standard error of the mean.
    pub error: f64,
    /// The standard deviation of the sample.
    deviation: f64,
    count: f64,
}

impl Mean {
    /// Computes the mean of a sample of at least two independent values.
    pub(crate) fn of<N: Borrow<f64>>(sample: impl IntoIterator<Item = N>) -> Self {
        let sample: Vec<f64> = sample.into_iter().map(|value| *value.borrow()).collect();
        let (deviation, count) = (deviation(&sample), sample.len() as f64);
        Self { mean: mean(&sample), error: deviation / count.sqrt(), deviation, count }
    }

    /// Returns a lower bound on the true mean, five standard errors down: it fails once in millions.
    pub(crate) fn low(&self) -> f64 {
        self.mean - 5.0 * self.error
    }

    /// Returns an upper bound on the true mean, five standard errors up: it fails once in millions.
    pub(crate) fn high(&self) -> f64 {
        self.mean + 5.0 * self.error
    }

    /// Returns the distance of the mean from a number, in standard errors.
    pub(crate) fn off(&self, from: f64) -> f64 {
        (self.mean - from).abs() / self.error
    }

    /// Returns half the width of the 95 % confidence interval for the mean over random splits of these data.
    pub(crate) fn half_width(&self) -> f64 {
        student_quantile(0.975, self.count - 1.0) * self.error
    }

    /// Returns half the width for new data of the same kind. Training parts overlap, so splits are not independent
    /// (Nadeau and Bengio 2003); `ratio` is test rows over training rows.
    pub(crate) fn half_width_for_new_data(&self, ratio: f64) -> f64 {
        student_quantile(0.975, self.count - 1.0) * self.deviation * (1.0 / self.count + ratio).sqrt()
    }
}

impl std::fmt::Display for Mean {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.mean < 0.0 { "−" } else { "+" };
        write!(f, "{sign}{:.4} ± {:.4}", self.mean.abs(), self.half_width())
    }
}

/// Returns a limit that χ² with this many degrees of freedom exceeds once in millions (Wilson–Hilferty approximation).
pub(crate) fn chi_squared_limit(degrees: f64) -> f64 {
    let width = 2.0 / (9.0 * degrees);
    degrees * (1.0 - width + 5.2 * width.sqrt()).powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_has_its_standard_error() {
        let found = Mean::of([1.0, 2.0, 3.0, 6.0]);
        assert_eq!(found.mean, 3.0);
        assert!((found.error - (14.0_f64 / 3.0 / 4.0).sqrt()).abs() < 1e-15);
        assert!((found.high() - found.low() - 10.0 * found.error).abs() < 1e-12 && found.off(3.0) == 0.0);
    }

    #[test]
    fn intervals_use_quantiles_of_students_t() {
        let mean = Mean::of([1.0, 2.0, 3.0, 4.0, 5.0]);
        assert!((mean.half_width() - 2.776_445_105_197_79 * 0.5_f64.sqrt()).abs() < 1e-9);
    }

    /// The quantile at 1 − 1e-7 is 45.70 for 7 degrees, 73.38 for 21 and 151.14 for 71. The approximation errs upward.
    #[test]
    fn chi_squared_limits_are_slightly_above_the_quantiles() {
        for (degrees, right) in [(7.0, 45.70), (21.0, 73.38), (71.0, 151.14)] {
            let found = chi_squared_limit(degrees);
            assert!(right <= found && found < 1.05 * right, "{found} for {right}");
        }
    }
}
