//! Means over splits, with confidence intervals.

/// The mean of a sample, with its standard deviation and size.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(clippy::struct_field_names, reason = "`mean` is the plainest name of the field")]
pub(crate) struct Mean {
    pub mean: f64,
    /// The standard deviation of the sample.
    pub deviation: f64,
    count: f64,
}

impl Mean {
    /// Computes the mean of a sample of at least two values.
    pub(crate) fn of(sample: &[f64]) -> Self {
        let count = sample.len() as f64;
        let mean = sample.iter().sum::<f64>() / count;
        let squares: f64 = sample.iter().map(|x| (x - mean) * (x - mean)).sum();
        Self { mean, deviation: (squares / (count - 1.0)).sqrt(), count }
    }

    /// Returns half the width of the 95 % confidence interval for the mean over random splits of these data.
    pub(crate) fn half_width(&self) -> f64 {
        student(self.count - 1.0) * self.deviation / self.count.sqrt()
    }

    /// Returns half the width for new data of the same kind. Training parts overlap, so splits are not independent
    /// (Nadeau and Bengio 2003); `ratio` is test rows over training rows.
    pub(crate) fn half_width_for_new_data(&self, ratio: f64) -> f64 {
        student(self.count - 1.0) * self.deviation * (1.0 / self.count + ratio).sqrt()
    }
}

impl std::fmt::Display for Mean {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.mean < 0.0 { "−" } else { "+" };
        write!(f, "{sign}{:.4} ± {:.4}", self.mean.abs(), self.half_width())
    }
}

/// Returns the 97.5 % quantile of Student's t, by the first terms of its expansion in 1/ν. The error is within 0.01 for
/// ν ≥ 4 and 0.001 for ν ≥ 9.
fn student(freedom: f64) -> f64 {
    if freedom < 2.5 {
        return if freedom < 1.5 { 12.706 } else { 4.303 };
    }
    let z: f64 = 1.959_963_985;
    let (z3, z5, z7) = (z.powi(3), z.powi(5), z.powi(7));
    z + (z3 + z) / (4.0 * freedom)
        + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * freedom.powi(2))
        + (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / (384.0 * freedom.powi(3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_use_quantiles_of_students_t() {
        for (freedom, printed) in [(4.0, 2.776), (9.0, 2.262), (29.0, 2.045), (60.0, 2.000)] {
            assert!((student(freedom) - printed).abs() < 0.03 / freedom, "{freedom}: {}", student(freedom));
        }
        let mean = Mean::of(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert!((mean.mean - 3.0).abs() < 1e-12 && (mean.deviation - 2.5_f64.sqrt()).abs() < 1e-12);
        assert!((mean.half_width() - 2.776 * 0.5_f64.sqrt()).abs() < 6e-3);
    }
}
