//! CPU time of this process, wall-clock time, and medians.

use std::hint::black_box;
use std::time::Instant;

use cpu_time::ProcessTime;

/// Returns the CPU nanoseconds of all threads during `work`, and its result.
pub(crate) fn cpu_ns<R>(work: impl FnOnce() -> R) -> (f64, R) {
    let start = ProcessTime::now();
    let result = work();
    (start.elapsed().as_nanos() as f64, result)
}

/// Returns the wall-clock milliseconds of `work`, on any number of cores.
#[expect(clippy::disallowed_methods, reason = "this function measures wall-clock time")]
pub(crate) fn wall_ms<R>(work: impl FnOnce() -> R) -> f64 {
    let start = Instant::now();
    black_box(work());
    1e3 * start.elapsed().as_secs_f64()
}

/// Returns the middle value, the mean of the two middle values, or NaN for an empty slice.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    match n {
        0 => f64::NAN,
        _ if n % 2 == 1 => sorted[n / 2],
        _ => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
    }
}

/// Returns the medians of several columns of figures.
pub(crate) fn medians<const N: usize>(rounds: &[[f64; N]]) -> [f64; N] {
    std::array::from_fn(|column| median(&rounds.iter().map(|round| round[column]).collect::<Vec<_>>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_the_middle_value() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(medians(&[[1.0, 30.0], [2.0, 10.0], [9.0, 20.0]]), [2.0, 20.0]);
    }
}
