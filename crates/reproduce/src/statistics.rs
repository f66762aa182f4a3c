//! Means of runs and their standard errors.

/// A mean and its standard error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Its standard error.
    pub error: f64,
}

impl Estimate {
    /// Estimates the mean of independent numbers.
    pub(crate) fn of(numbers: impl IntoIterator<Item = f64>) -> Self {
        let numbers: Vec<f64> = numbers.into_iter().collect();
        let n = numbers.len() as f64;
        let mean = numbers.iter().sum::<f64>() / n;
        let variance = numbers.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
        Self { mean, error: (variance / n).sqrt() }
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
    fn an_estimate_has_its_standard_error() {
        let found = Estimate::of([1.0, 2.0, 3.0, 6.0]);
        assert_eq!(found.mean, 3.0);
        assert!((found.error - (14.0_f64 / 3.0 / 4.0).sqrt()).abs() < 1e-15);
        assert!((found.high() - found.low() - 10.0 * found.error).abs() < 1e-12 && found.off(3.0) == 0.0);
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
