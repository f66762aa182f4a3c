//! Baseline fits on all labels at once, by formulas that share nothing with the learners.

use querist_rows::Rows;

use crate::datasets::{DataSplit, Labeled};

/// Returns both parts as f64 rows with a trailing 1. Features are standardized by the training part.
fn standardized(split: &DataSplit) -> [Vec<Vec<f64>>; 2] {
    let raw = |part: &Labeled| -> Vec<Vec<f64>> {
        let Rows::Dense(rows) = &part.rows else { unreachable!("splits are dense") };
        (0..rows.len()).map(|row| rows.row(row).iter().map(|x| f64::from(*x)).collect()).collect()
    };
    let (train, test) = (raw(&split.train), raw(&split.test));
    let n = train.len() as f64;
    let scales: Vec<(f64, f64)> = (0..train[0].len())
        .map(|j| {
            let mean = train.iter().map(|row| row[j]).sum::<f64>() / n;
            let variance = train.iter().map(|row| (row[j] - mean).powi(2)).sum::<f64>() / n;
            (mean, if variance == 0.0 { 1.0 } else { variance.sqrt() })
        })
        .collect();
    let scaled = |rows: Vec<Vec<f64>>| {
        let scale = |row: Vec<f64>| {
            let features = row.iter().zip(&scales).map(|(x, (mean, deviation))| (x - mean) / deviation);
            features.chain([1.0]).collect()
        };
        rows.into_iter().map(scale).collect()
    };
    [scaled(train), scaled(test)]
}

/// Returns the accuracy of softmax regression with penalty ‖w‖²/2n, fitted by accelerated descent on the training part.
pub(crate) fn softmax_accuracy(split: &DataSplit, classes: usize, rounds: usize) -> f64 {
    let [train, test] = standardized(split);
    let (n, dim) = (train.len() as f64, train[0].len());
    let scores = |theta: &[f64], row: &[f64], out: &mut [f64]| {
        out.fill(0.0);
        for (weights, x) in theta.chunks_exact(classes).zip(row) {
            out.iter_mut().zip(weights).for_each(|(score, w)| *score += x * w);
        }
    };
    // The curvature is at most half the largest eigenvalue of the mean of xxᵀ, plus that of the penalty.
    let step = 1.0 / (0.5 * largest_eigenvalue(&train) + 1.0 / n);
    let (mut theta, mut ahead) = (vec![0.0; dim * classes], vec![0.0; dim * classes]);
    let mut out = vec![0.0; classes];
    for round in 0..rounds {
        let mut gradient: Vec<f64> = ahead.iter().map(|t| t / n).collect();
        for (row, label) in train.iter().zip(&split.train.labels) {
            scores(&ahead, row, &mut out);
            let top = out.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            for score in &mut out {
                *score = (*score - top).exp();
            }
            let sum: f64 = out.iter().sum();
            for p in &mut out {
                *p /= sum * n;
            }
            out[*label as usize] -= 1.0 / n;
            for (weights, x) in gradient.chunks_exact_mut(classes).zip(row) {
                weights.iter_mut().zip(&out).for_each(|(g, slope)| *g += x * slope);
            }
        }
        let momentum = round as f64 / (round as f64 + 3.0);
        for ((t, a), g) in theta.iter_mut().zip(&mut ahead).zip(&gradient) {
            let next = *a - step * g;
            *a = next + momentum * (next - *t);
            *t = next;
        }
    }
    let right = test.iter().zip(&split.test.labels).filter(|(row, label)| {
        scores(&theta, row, &mut out);
        let best = (1..classes).fold(0, |best, k| if out[best] < out[k] { k } else { best });
        best == **label as usize
    });
    right.count() as f64 / test.len() as f64
}

/// Returns an upper bound on the largest eigenvalue of the mean of xxᵀ. λ₁⁸ is at most the sum of all λ⁸, the trace of
/// the eighth power.
fn largest_eigenvalue(rows: &[Vec<f64>]) -> f64 {
    let gram = gram(rows);
    let square = |m: &[Vec<f64>]| -> Vec<Vec<f64>> {
        let product = |row: &Vec<f64>, j: usize| row.iter().zip(m).map(|(a, other)| a * other[j]).sum();
        m.iter().map(|row| (0..m.len()).map(|j| product(row, j)).collect()).collect()
    };
    let eighth = square(&square(&square(&gram)));
    (0..gram.len()).map(|i| eighth[i][i]).sum::<f64>().powf(0.125)
}

/// Returns the mean of xxᵀ.
fn gram(rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let dim = rows[0].len();
    let mut gram = vec![vec![0.0; dim]; dim];
    for row in rows {
        for (line, a) in gram.iter_mut().zip(row) {
            line.iter_mut().zip(row).for_each(|(cell, b)| *cell += a * b / rows.len() as f64);
        }
    }
    gram
}

/// Returns the mean squared error and R² on the test part of a ridge regression with penalty ‖w‖², in closed form.
pub(crate) fn ridge(split: &DataSplit) -> (f64, f64) {
    let [train, test] = standardized(split);
    let (n, dim) = (train.len() as f64, train[0].len());
    let mut system = gram(&train);
    for (j, line) in system.iter_mut().enumerate() {
        line[j] += if j + 1 < dim { 1.0 / n } else { 0.0 };
        line.push(train.iter().zip(&split.train.labels).map(|(row, y)| row[j] * y / n).sum());
    }
    let theta = solve(system);
    let labels = &split.test.labels;
    let mean = labels.iter().sum::<f64>() / labels.len() as f64;
    let predicted = |row: &[f64]| row.iter().zip(&theta).map(|(x, w)| x * w).sum::<f64>();
    let errors: f64 = test.iter().zip(labels).map(|(row, y)| (predicted(row) - y).powi(2)).sum();
    let spread: f64 = labels.iter().map(|y| (y - mean).powi(2)).sum();
    (errors / labels.len() as f64, 1.0 - errors / spread)
}

/// Solves a linear system by Gaussian elimination with partial pivoting; the right-hand side is the last column.
fn solve(mut system: Vec<Vec<f64>>) -> Vec<f64> {
    let n = system.len();
    for j in 0..n {
        let pivot = (j..n).max_by(|a, b| system[*a][j].abs().total_cmp(&system[*b][j].abs())).unwrap_or(j);
        system.swap(j, pivot);
        let line = system[j].clone();
        for (_, other) in system.iter_mut().enumerate().filter(|(i, _)| *i != j) {
            let factor = other[j] / line[j];
            other.iter_mut().zip(&line).for_each(|(cell, top)| *cell -= factor * top);
        }
    }
    (0..n).map(|j| system[j][n] / system[j][j]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_system_is_solved() {
        let found = solve(vec![vec![0.0, 2.0, 4.0], vec![3.0, 1.0, 5.0]]);
        assert!((found[0] - 1.0).abs() < 1e-12 && (found[1] - 2.0).abs() < 1e-12, "{found:?}");
    }
}
