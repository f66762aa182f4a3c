//! Statistics of samples: means, standard deviations, medians, and quantiles of the normal and of Student's t distribution.

mod normal;
mod student;

pub use normal::normal_quantile;
pub use student::{student_quantile, student_two_sided};

/// Returns the mean; NaN for an empty sample.
pub fn mean(sample: &[f64]) -> f64 {
    sample.iter().sum::<f64>() / sample.len() as f64
}

/// Returns the standard deviation of a sample, with the divisor n − 1; 0 for fewer than two values.
pub fn deviation(sample: &[f64]) -> f64 {
    let center = mean(sample);
    let squares: f64 = sample.iter().map(|value| (value - center) * (value - center)).sum();
    if sample.len() < 2 { 0.0 } else { (squares / (sample.len() as f64 - 1.0)).sqrt() }
}

/// Returns the median, the upper of the two middle values of an even number; NaN for an empty sample.
pub fn upper_median(sample: &[f64]) -> f64 {
    let mut sorted = sample.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_its_median() {
        assert_eq!([upper_median(&[3.0, -1.0, 2.0]), upper_median(&[4.0, 1.0, 2.0, 3.0])], [2.0, 3.0]);
        assert!(upper_median(&[]).is_nan());
    }

    #[test]
    fn a_sample_has_its_mean_and_deviation() {
        assert_eq!(mean(&[1.0, 2.0, 3.0, 6.0]), 3.0);
        assert!((deviation(&[1.0, 2.0, 3.0, 6.0]) - (14.0_f64 / 3.0).sqrt()).abs() < 1e-15);
        assert!(mean(&[]).is_nan());
        assert_eq!([deviation(&[]), deviation(&[4.0])], [0.0; 2]);
    }
}
