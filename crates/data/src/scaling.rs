//! Numbers are shifted and scaled by what was met in fitting.

use querist_rows::simd::wide;
use serde::{Deserialize, Serialize};

/// Mean and standard deviation of a column, of its numbers less the offset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Scale {
    pub(crate) mean: f64,
    /// 0 for a column that never changes.
    pub(crate) deviation: f64,
    /// What is taken off each number before it is rounded to `f32`; not 0 where numbers differ by little next to their size.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) offset: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(offset: &f64) -> bool {
    *offset == 0.0
}

/// Numbers that are so many times as large as their range lose too many digits as `f32`.
const NARROW: f64 = 1000.0;

/// Whole numbers of this size keep a sixteenth as `f32`, and a column that has not changed may yet change by as little.
const LARGE: f64 = 1_048_576.0;

/// The offset of a column whose first numbers lie in this range.
pub(crate) fn offset(low: f64, high: f64) -> f64 {
    let middle = low + (high - low) / 2.0;
    let is_narrow =
        if low < high { NARROW * (high - low) < middle.abs() } else { low == high && LARGE <= middle.abs() };
    // Beyond this, what fits into `f32` might not fit any more.
    if is_narrow && middle.abs() < 1e30 { middle } else { 0.0 }
}

impl Scale {
    /// For numbers from which the offset was not taken off before.
    pub(crate) fn of_whole_numbers(self) -> Self {
        Self { mean: self.offset + self.mean, offset: 0.0, ..self }
    }

    /// Numbers stay as they are.
    pub(crate) const PLAIN: Scale = Scale { mean: 0.0, deviation: 1.0, offset: 0.0 };

    /// What is a step of 1. A column that has not changed yet is measured by its own number, so that it counts as soon as
    /// it changes; until then all its features are 0 in any measure.
    fn size(self) -> f64 {
        match (self.deviation, (self.offset + self.mean).abs()) {
            (0.0, mean) if f64::from(f32::MIN_POSITIVE) <= mean => mean,
            (0.0, _) => 1.0,
            (deviation, _) => deviation,
        }
    }
}

/// What was met in a column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Met {
    pub(crate) scale: Scale,
    /// The lowest and the highest number; the lowest is infinite where there was none.
    pub(crate) range: (f32, f32),
}

impl Met {
    /// Every number was the same.
    pub(crate) fn is_constant(&self) -> bool {
        self.range.1 <= self.range.0
    }

    /// The number that is farthest from 0.
    pub(crate) fn farthest(&self) -> f32 {
        if self.range.0.abs() < self.range.1.abs() { self.range.1 } else { self.range.0 }
    }
}

/// What is done to a number: replaced by the mean where it is missing, then shifted and scaled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    mean: f32,
    shift: f64,
    factor: f64,
}

impl Step {
    /// As it is.
    pub(crate) const PLAIN: Step = Step { mean: 0.0, shift: 0.0, factor: 1.0 };

    pub(crate) fn new(scale: Scale, standardize: bool) -> Self {
        let mean = scale.mean as f32;
        if !standardize {
            return Self { mean, ..Self::PLAIN };
        }
        Self { mean, shift: scale.mean, factor: 1.0 / scale.size() }
    }

    /// (shift, factor): a number that is there becomes (number − shift)·factor.
    pub(crate) fn line(self) -> (f64, f64) {
        (self.shift, self.factor)
    }

    /// The feature; missing numbers are NaN.
    #[inline]
    pub(crate) fn apply(&self, raw: f32) -> f32 {
        let raw = if raw.is_nan() { self.mean } else { raw };
        ((f64::from(raw) - self.shift) * self.factor) as f32
    }
}

/// The steps of the numbers of a row, side by side, so that many are taken at once.
#[derive(Debug)]
pub(crate) struct Steps {
    means: Vec<f32>,
    shifts: Vec<f64>,
    factors: Vec<f64>,
}

impl Steps {
    pub(crate) fn of(steps: &[Step]) -> Self {
        let means = steps.iter().map(|step| step.mean).collect();
        let (shifts, factors) = steps.iter().map(|step| step.line()).unzip();
        Self { means, shifts, factors }
    }

    /// The features of a row, as [`Step::apply`] makes them; says whether all of them are finite.
    pub(crate) fn apply(&self, raw: &[f32], features: &mut [f32]) -> bool {
        let Self { means, shifts, factors } = self;
        let (means, shifts, factors) = (means.as_slice(), shifts.as_slice(), factors.as_slice());
        wide(
            means.len(),
            #[inline(always)]
            move || {
                let width = means.len();
                // So that no place has to be checked.
                let (raw, features) = (&raw[..width], &mut features[..width]);
                let (shifts, factors) = (&shifts[..width], &factors[..width]);
                let mut odd = 0_u32;
                for place in 0..width {
                    let value = if raw[place].is_nan() { means[place] } else { raw[place] };
                    let feature = ((f64::from(value) - shifts[place]) * factors[place]) as f32;
                    features[place] = feature;
                    // The exponent of what is not finite is all ones, and then this carries into the sign.
                    odd |= (feature.to_bits() & 0x7fff_ffff) + 0x0080_0000;
                }
                odd >> 31 == 0
            },
        )
    }
}

/// Means and deviations of the first columns of rows of this width; missing numbers are NaN and do not count.
/// Two passes, because one loses the digits of a small deviation from a large mean.
pub(crate) fn fit(rows: &[f32], width: usize, columns: usize) -> Vec<Met> {
    let mut counts = vec![0.0_f64; columns];
    let mut sums = vec![0.0_f64; columns];
    let mut ranges = vec![(f32::INFINITY, f32::NEG_INFINITY); columns];
    for row in rows.chunks_exact(width.max(1)) {
        for (place, value) in row[..columns].iter().enumerate().filter(|(_, value)| !value.is_nan()) {
            counts[place] += 1.0;
            sums[place] += f64::from(*value);
            ranges[place] = (ranges[place].0.min(*value), ranges[place].1.max(*value));
        }
    }
    let means: Vec<f64> = sums.iter().zip(&counts).map(|(sum, count)| sum / count.max(1.0)).collect();
    let mut squares = vec![0.0_f64; columns];
    for row in rows.chunks_exact(width.max(1)) {
        for (place, value) in row[..columns].iter().enumerate().filter(|(_, value)| !value.is_nan()) {
            let gap = f64::from(*value) - means[place];
            squares[place] += gap * gap;
        }
    }
    let met = |place: usize| {
        let range = ranges[place];
        let scale = if counts[place] == 0.0 {
            Scale::default()
        } else if range.1 <= range.0 {
            // A mean that was rounded would make a constant column seem to change.
            Scale { mean: f64::from(range.0), ..Scale::default() }
        } else {
            Scale { mean: means[place], deviation: (squares[place] / counts[place]).sqrt(), ..Scale::default() }
        };
        Met { scale, range }
    };
    (0..columns).map(met).collect()
}
