//! The yardstick's rows, by the same formula (`data.c`): both programs learn from the same numbers.

use querist_rows::{DenseRows, Rows, Sparse, SparseRows};

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
const KEY_DATA: u64 = 0x243f_6a88_85a3_08d3;
const KEY_LABEL: u64 = 0x082e_fa98_ec4e_6c89;
const KEY_MODEL: u64 = 0x4528_21e6_38d0_1377;
const KEY_COLUMN: u64 = 0xbe54_66cf_34e9_0c6c;
const SQRT_3: f64 = 1.732_050_807_568_877_2;

fn hash_at(key: u64, time: u64) -> u64 {
    let mut z = key.wrapping_add(time.wrapping_add(1).wrapping_mul(GOLDEN));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn unit(hash: u64) -> f64 {
    (hash >> 12) as f64 / (1_u64 << 52) as f64
}

fn value_at(place: u64) -> f32 {
    let hash = hash_at(KEY_DATA, place >> 1);
    let bits = if place % 2 == 1 { hash as u32 } else { (hash >> 32) as u32 };
    let unit = (f64::from(bits) + 0.5) / (1_u64 << 32) as f64;
    (SQRT_3 * (2.0 * unit - 1.0)) as f32
}

/// The weight of a column in the model the labels are from.
pub(crate) fn model_at(column: usize, width: usize) -> f64 {
    4.0 * SQRT_3 / (width as f64).sqrt() * (2.0 * unit(hash_at(KEY_MODEL, column as u64)) - 1.0)
}

fn column_at(place: u64, j: usize, width: usize, dim: usize) -> u32 {
    let stride = (dim / width) as u64;
    (j as u64 * stride + (((hash_at(KEY_COLUMN, place) >> 32) * stride) >> 32)) as u32
}

fn label_of(score: f64, row: u64) -> f64 {
    let hash = hash_at(KEY_LABEL, row);
    let positive = unit(hash) < 1.0 / (1.0 + (-score).exp());
    if positive == (hash & 31 != 0) { 1.0 } else { -1.0 }
}

/// Rows of `width` features out of `dim`, dense where that is all of them, with their labels.
pub(crate) fn rows(n: usize, width: usize, dim: usize) -> (Rows, Vec<f64>) {
    let model: Vec<f64> = (0..dim).map(|j| model_at(j, width)).collect();
    let mut labels = Vec::with_capacity(n);
    let (mut index, mut value) = (vec![0; width], vec![0.0; width]);
    let (mut dense, mut sparse) = (DenseRows::new(dim), SparseRows::new(dim));
    if width == dim {
        dense.reserve(n);
    }
    for row in 0..n as u64 {
        let first = row * width as u64;
        let mut score = 0.0;
        for (j, (index, value)) in index.iter_mut().zip(&mut value).enumerate() {
            *index = if width < dim { column_at(first + j as u64, j, width, dim) } else { j as u32 };
            *value = value_at(first + j as u64);
            score += model[*index as usize] * f64::from(*value);
        }
        if width < dim {
            sparse.push(Sparse { index: &index, value: &value });
        } else {
            dense.push(&value);
        }
        labels.push(label_of(score, row));
    }
    (if width < dim { Rows::Sparse(sparse) } else { Rows::Dense(dense) }, labels)
}
