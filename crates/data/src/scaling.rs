//! Scaling of numbers by the means and deviations found in fitting.

use querist_rows::simd::wide;
use serde::{Deserialize, Serialize};

/// The mean and the standard deviation of a column, after subtracting the offset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ColumnScale {
    pub(crate) mean: f64,
    /// The standard deviation; 0 for a constant column.
    pub(crate) deviation: f64,
    /// The offset, subtracted from each number before rounding to `f32`; nonzero if the range is small relative to the
    /// numbers.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) offset: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(offset: &f64) -> bool {
    *offset == 0.0
}

/// The ratio of the size of numbers to their range above which they lose too many digits as `f32`.
const NARROW: f64 = 1000.0;

/// The absolute value from which a constant column gets an offset. At this size `f32` rounds to within a sixteenth, and
/// the column may yet change by as little.
const LARGE: f64 = 1_048_576.0;

/// Returns the offset of a column whose first numbers are in this range.
pub(crate) fn offset(low: f64, high: f64) -> f64 {
    let middle = low + (high - low) / 2.0;
    let is_narrow =
        if low < high { NARROW * (high - low) < middle.abs() } else { low == high && LARGE <= middle.abs() };
    // With a larger offset, a number that fits into `f32` might no longer fit.
    if is_narrow && middle.abs() < 1e30 { middle } else { 0.0 }
}

impl ColumnScale {
    /// Returns the scale for numbers from which the offset has not been subtracted.
    pub(crate) fn of_whole_numbers(self) -> Self {
        Self { mean: self.offset + self.mean, offset: 0.0, ..self }
    }

    /// The scale that leaves numbers unchanged.
    pub(crate) const PLAIN: ColumnScale = ColumnScale { mean: 0.0, deviation: 1.0, offset: 0.0 };

    /// Returns the unit of scaling. For a column that has not changed yet, it is the absolute value of its number, so
    /// that any change counts. Until then its features are 0 in any unit.
    fn size(self) -> f64 {
        match (self.deviation, (self.offset + self.mean).abs()) {
            (0.0, mean) if f64::from(f32::MIN_POSITIVE) <= mean => mean,
            (0.0, _) => 1.0,
            (deviation, _) => deviation,
        }
    }
}

/// Statistics of a column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NumberStatistics {
    pub(crate) scale: ColumnScale,
    /// The lowest and the highest number; the lowest is infinite if there was none.
    pub(crate) range: (f32, f32),
}

impl NumberStatistics {
    /// Returns whether all numbers were the same.
    pub(crate) fn is_constant(&self) -> bool {
        self.range.1 <= self.range.0
    }

    /// Returns the number with the largest absolute value.
    pub(crate) fn farthest(&self) -> f32 {
        if self.range.0.abs() < self.range.1.abs() { self.range.1 } else { self.range.0 }
    }
}

/// The transformation of a number: replaced by the mean if it is missing, then shifted and scaled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NumberTransform {
    mean: f32,
    shift: f64,
    factor: f64,
}

impl NumberTransform {
    /// The step that leaves numbers unchanged.
    pub(crate) const PLAIN: NumberTransform = NumberTransform { mean: 0.0, shift: 0.0, factor: 1.0 };

    pub(crate) fn new(scale: ColumnScale, standardize: bool) -> Self {
        let mean = scale.mean as f32;
        if !standardize {
            return Self { mean, ..Self::PLAIN };
        }
        Self { mean, shift: scale.mean, factor: 1.0 / scale.size() }
    }

    /// Returns (shift, factor): a number that is present becomes (number − shift)·factor.
    pub(crate) fn line(self) -> (f64, f64) {
        (self.shift, self.factor)
    }

    /// Returns the feature; a missing number is NaN.
    #[inline]
    pub(crate) fn apply(&self, raw: f32) -> f32 {
        let raw = if raw.is_nan() { self.mean } else { raw };
        ((f64::from(raw) - self.shift) * self.factor) as f32
    }
}

/// The steps of all numbers of a row as arrays, for vectorized loops.
#[derive(Debug)]
pub(crate) struct RowTransform {
    means: Vec<f32>,
    shifts: Vec<f64>,
    factors: Vec<f64>,
}

impl RowTransform {
    pub(crate) fn of(steps: &[NumberTransform]) -> Self {
        let means = steps.iter().map(|step| step.mean).collect();
        let (shifts, factors) = steps.iter().map(|step| step.line()).unzip();
        Self { means, shifts, factors }
    }

    /// Computes the features of a row as [`NumberTransform::apply`] does, and returns whether all of them are finite.
    pub(crate) fn apply(&self, raw: &[f32], features: &mut [f32]) -> bool {
        let Self { means, shifts, factors } = self;
        let (means, shifts, factors) = (means.as_slice(), shifts.as_slice(), factors.as_slice());
        wide(
            means.len(),
            #[inline(always)]
            move || {
                let width = means.len();
                // Slices of the same length avoid bounds checks in the loop.
                let (raw, features) = (&raw[..width], &mut features[..width]);
                let (shifts, factors) = (&shifts[..width], &factors[..width]);
                let mut carries = 0_u32;
                for column in 0..width {
                    let value = if raw[column].is_nan() { means[column] } else { raw[column] };
                    let feature = ((f64::from(value) - shifts[column]) * factors[column]) as f32;
                    features[column] = feature;
                    // The exponent of a non-finite number is all ones, so that this addition carries into the sign bit.
                    carries |= (feature.to_bits() & 0x7fff_ffff) + 0x0080_0000;
                }
                carries >> 31 == 0
            },
        )
    }
}

/// Computes the statistics of the first columns of rows of this width, ignoring missing numbers, which are NaN. It
/// makes two passes, because one pass loses the digits of a small deviation from a large mean.
pub(crate) fn fit(rows: &[f32], width: usize, columns: usize) -> Vec<NumberStatistics> {
    let mut counts = vec![0.0_f64; columns];
    let mut sums = vec![0.0_f64; columns];
    let mut ranges = vec![(f32::INFINITY, f32::NEG_INFINITY); columns];
    for row in rows.chunks_exact(width.max(1)) {
        for (column, value) in row[..columns].iter().enumerate().filter(|(_, value)| !value.is_nan()) {
            counts[column] += 1.0;
            sums[column] += f64::from(*value);
            ranges[column] = (ranges[column].0.min(*value), ranges[column].1.max(*value));
        }
    }
    let means: Vec<f64> = sums.iter().zip(&counts).map(|(sum, count)| sum / count.max(1.0)).collect();
    let mut squares = vec![0.0_f64; columns];
    for row in rows.chunks_exact(width.max(1)) {
        for (column, value) in row[..columns].iter().enumerate().filter(|(_, value)| !value.is_nan()) {
            let gap = f64::from(*value) - means[column];
            squares[column] += gap * gap;
        }
    }
    let met = |column: usize| {
        let range = ranges[column];
        let scale = if counts[column] == 0.0 {
            ColumnScale::default()
        } else if range.1 <= range.0 {
            // A rounded mean would make a constant column seem to change.
            ColumnScale { mean: f64::from(range.0), ..ColumnScale::default() }
        } else {
            ColumnScale {
                mean: means[column],
                deviation: (squares[column] / counts[column]).sqrt(),
                ..ColumnScale::default()
            }
        };
        NumberStatistics { scale, range }
    };
    (0..columns).map(met).collect()
}
