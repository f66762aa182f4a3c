//! Kernel features: similarities of dense rows to landmarks, so that a linear model of them is not linear in the columns.
//!
//! The kernel is k(x, z) = e^(−‖x − z‖²/(w²V)), where V is the total variance of the features and w the width. A row gets
//! the features √V·L⁻¹k, where k has its similarities to the m landmarks z, and `LLᵀ` is the matrix of their similarities
//! (Nyström). The product of the kernel features of two rows is then nearly V·k, for all rows that landmarks represent.
//! They follow the row's own features, so that every model of them has a linear part of the same size.

mod features;

pub use features::{KernelFeatures, Similarities};

use serde::{Deserialize, Serialize};

use crate::fnv::Fnv;
use crate::rows::DenseRows;

/// The default number of landmarks.
pub const LANDMARKS: usize = 300;

/// The number of landmarks, and the width of the kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KernelSettings {
    /// The largest number of landmarks; at most half of the rows are landmarks.
    pub landmarks: usize,
    /// The width, relative to the root of the total variance.
    pub width: f64,
}

impl Default for KernelSettings {
    fn default() -> Self {
        Self { landmarks: LANDMARKS, width: 1.0 }
    }
}

/// A map from dense rows to their features and kernel features.
///
/// ```
/// use querist_rows::DenseRows;
/// use querist_rows::kernel::{KernelMap, KernelSettings};
///
/// let rows = DenseRows::from_values(1, vec![-2.0, -1.0, 0.0, 1.0, 2.0, 3.0]).expect("whole rows");
/// let map = KernelMap::fit(&rows, KernelSettings { landmarks: 2, width: 1.0 });
/// let features = map.prepare().extend(&rows);
/// assert_eq!((features.len(), features.dim()), (6, 3));
/// assert_eq!(features.row(0)[0], -2.0, "a row begins with its own features");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelMap {
    /// The number of features of a row.
    dim: usize,
    width: f64,
    variance: f64,
    /// The landmarks, one after another.
    landmarks: Vec<f32>,
}

/// Added to the similarity of each landmark with itself, so that landmarks that are nearly equal add no noise.
const RIDGE: f64 = 1e-6;

impl KernelMap {
    /// Chooses landmarks among these rows, in an order that depends on their number alone.
    pub fn fit(rows: &DenseRows, settings: KernelSettings) -> Self {
        let (dim, count) = (rows.dim(), rows.len());
        let mut order: Vec<(u64, usize)> =
            (0..count).map(|row| (Fnv::default().bytes((row as u64).to_le_bytes()).finish(), row)).collect();
        order.sort_unstable();
        let chosen = settings.landmarks.min(count / 2).max(1).min(count);
        let landmarks = order[..chosen].iter().flat_map(|(_, row)| rows.row(*row)).copied().collect();
        Self { dim, width: settings.width, variance: total_variance(rows), landmarks }
    }

    /// Returns the number of features of a row without its kernel features.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Returns the number of kernel features.
    pub fn landmarks(&self) -> usize {
        self.landmarks.len().checked_div(self.dim).unwrap_or(0)
    }

    /// Returns whether the map could have been fitted; a file may have been edited.
    pub fn is_valid(&self) -> bool {
        let positive = |value: f64| value.is_finite() && 0.0 < value;
        0 < self.dim
            && !self.landmarks.is_empty()
            && self.landmarks.len().is_multiple_of(self.dim)
            && self.landmarks.iter().all(|value| value.is_finite())
            && positive(self.width)
            && positive(self.variance)
    }

    /// Factors the similarities of the landmarks, once for many rows.
    pub fn prepare(&self) -> KernelFeatures {
        KernelFeatures::new(self.similarities(), &self.landmarks, self.variance.sqrt())
    }

    /// Prepares the landmarks for similarities alone.
    pub fn similarities(&self) -> Similarities {
        let rate = 1.0 / (self.width * self.width * self.variance);
        Similarities::new(self.dim, &self.landmarks, rate)
    }
}

/// Returns the sum of the variances of all features; 1 if they are constant.
fn total_variance(rows: &DenseRows) -> f64 {
    let (mut sums, mut squares) = (vec![0.0; rows.dim()], vec![0.0; rows.dim()]);
    for row in rows.values().chunks_exact(rows.dim().max(1)) {
        for ((sum, square), value) in sums.iter_mut().zip(&mut squares).zip(row) {
            *sum += f64::from(*value);
            *square += f64::from(*value) * f64::from(*value);
        }
    }
    let n = rows.len().max(1) as f64;
    let variance: f64 = sums.iter().zip(&squares).map(|(sum, square)| square / n - (sum / n) * (sum / n)).sum();
    if variance.is_finite() && 0.0 < variance { variance } else { 1.0 }
}

/// Factors a matrix of similarities as `LLᵀ`, and returns L⁻¹ times a scale, column by column.
fn whitening(matrix: &mut [f64], count: usize, scale: f64) -> Vec<f64> {
    for column in 0..count {
        for row in column..count {
            let (above, below) = matrix.split_at_mut(row * count);
            let known = if row == column { &below[..column] } else { &above[column * count..][..column] };
            let dot: f64 = below[..column].iter().zip(known).map(|(a, b)| a * b).sum();
            let ridge = if row == column { RIDGE } else { 0.0 };
            let rest = below[column] + ridge - dot;
            // Without rounding, `rest` of the diagonal is at least the ridge.
            below[column] = if row == column { rest.max(RIDGE).sqrt() } else { rest / above[column * count + column] };
        }
    }
    let mut inverse = vec![0.0; count * count];
    for (column, own) in inverse.chunks_exact_mut(count).enumerate() {
        for row in column..count {
            let known = &matrix[row * count..][..count];
            let dot: f64 = (column..row).map(|k| known[k] * own[k]).sum();
            let unit = if row == column { scale } else { 0.0 };
            own[row] = (unit - dot) / known[row];
        }
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns points of two features without symmetry.
    fn points(count: usize) -> DenseRows {
        let values = (0..count).flat_map(|i| {
            let t = i as f32;
            [(0.37 * t).sin() * 2.0, (0.11 * t * t).cos() + 0.01 * t]
        });
        DenseRows::from_values(2, values.collect()).expect("whole rows")
    }

    fn kernel(map: &KernelMap, x: &[f32], z: &[f32]) -> f64 {
        let squares: f64 = x.iter().zip(z).map(|(x, z)| f64::from(x - z).powi(2)).sum();
        (-squares / (map.width * map.width * map.variance)).exp()
    }

    #[test]
    fn products_of_landmarks_are_their_similarities() {
        let rows = points(80);
        for width in [0.3, 1.0] {
            let map = KernelMap::fit(&rows, KernelSettings { landmarks: 30, width });
            let landmarks = DenseRows::from_values(2, map.landmarks.clone()).unwrap();
            let features = map.prepare().extend(&landmarks);
            for i in 0..map.landmarks() {
                for j in 0..map.landmarks() {
                    let [a, b] = [i, j].map(|row| &features.row(row)[2..]);
                    let product: f64 = a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
                    let expected = map.variance * kernel(&map, landmarks.row(i), landmarks.row(j));
                    assert!((product - expected).abs() < 1e-3 * map.variance, "{i} {j}: {product} for {expected}");
                }
            }
        }
    }

    #[test]
    fn products_of_other_rows_are_nearly_their_similarities() {
        let rows = points(400);
        let map = KernelMap::fit(&rows, KernelSettings { landmarks: 150, width: 1.0 });
        let features = map.prepare().extend(&rows);
        for (i, j) in [(0, 1), (7, 300), (200, 201), (399, 12)] {
            let [a, b] = [i, j].map(|row| &features.row(row)[2..]);
            let product: f64 = a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
            let expected = map.variance * kernel(&map, rows.row(i), rows.row(j));
            assert!((product - expected).abs() < 0.01 * map.variance, "{i} {j}: {product} for {expected}");
        }
    }

    #[test]
    fn features_do_not_depend_on_the_other_rows_or_on_threads() {
        let rows = points(5000);
        let features = KernelMap::fit(&rows, KernelSettings { landmarks: 20, width: 1.0 }).prepare();
        let all = features.extend(&rows);
        for row in [0, 1, 1023, 1024, 2500, 4999] {
            let alone = DenseRows::from_values(2, rows.row(row).to_vec()).unwrap();
            assert_eq!(features.extend(&alone).row(0), all.row(row), "{row}");
        }
    }

    #[test]
    fn equal_rows_and_few_rows_have_finite_features() {
        let constant = DenseRows::from_values(1, vec![3.0; 10]).unwrap();
        for rows in [constant, points(1), points(2), points(3)] {
            let map = KernelMap::fit(&rows, KernelSettings::default());
            assert!(map.is_valid() && map.landmarks() <= (rows.len() / 2).max(1));
            let features = map.prepare().extend(&rows);
            assert!(features.values().iter().all(|value| value.is_finite()));
        }
    }

    #[test]
    fn edited_maps_are_not_valid() {
        let map = KernelMap::fit(&points(10), KernelSettings::default());
        assert!(map.is_valid());
        let broken = [
            KernelMap { dim: 0, ..map.clone() },
            KernelMap { dim: 3, ..map.clone() },
            KernelMap { width: 0.0, ..map.clone() },
            KernelMap { variance: f64::NAN, ..map.clone() },
            KernelMap { landmarks: vec![], ..map.clone() },
            KernelMap { landmarks: vec![f32::INFINITY, 0.0], ..map },
        ];
        assert!(broken.iter().all(|map| !map.is_valid()));
    }
}
