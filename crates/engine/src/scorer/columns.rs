//! Scores of rows stored in columns, without transposing them: bit-identical to row by row.

use super::LinearScorer;
use crate::features::sum;
use crate::simd::{LANES, dispatch};

/// The scores of a block of rows while columns are added one by one. A few hundred rows at a time fit into the cache.
#[derive(Clone, Debug, Default)]
pub struct ColumnScores {
    rows: usize,
    /// One sum per lane if there is one output, else one per output, each for all rows.
    sums: Vec<f64>,
}

impl ColumnScores {
    /// Starts a block with this number of rows.
    pub fn begin(&mut self, scorer: &LinearScorer, rows: usize) {
        let outputs = scorer.outputs();
        self.rows = rows;
        self.sums.clear();
        if outputs == 1 {
            self.sums.resize(LANES * rows, 0.0);
        } else {
            scorer.theta[..outputs].iter().for_each(|intercept| self.sums.extend((0..rows).map(|_| intercept)));
        }
    }

    /// Adds a column: feature j is (value − shift)·factor, rounded to `f32` as in rows. Returns whether all its
    /// features are finite.
    pub fn add(&mut self, scorer: &LinearScorer, j: usize, values: &[f32], (shift, factor): (f64, f64)) -> bool {
        let outputs = scorer.outputs();
        let slot = scorer.index.as_ref().map_or(j, |index| index.slot(j));
        let weights = &scorer.theta[outputs * (slot + 1)..outputs * (slot + 2)];
        if let [weight] = *weights {
            let lane = &mut self.sums[j % LANES * self.rows..][..self.rows];
            return add(lane, values, weight, shift, factor);
        }
        let mut finite = true;
        for (sums, weight) in self.sums.chunks_exact_mut(self.rows.max(1)).zip(weights) {
            finite &= add(sums, values, *weight, shift, factor);
        }
        finite
    }

    /// Writes the scores, row by row.
    pub fn finish(&self, scorer: &LinearScorer, out: &mut Vec<f64>) {
        let (outputs, rows) = (scorer.outputs(), self.rows);
        out.clear();
        if outputs == 1 {
            let lane = |row: usize| std::array::from_fn(|lane| self.sums[lane * rows + row]);
            out.extend((0..rows).map(|row| scorer.theta[0] + sum(lane(row))));
        } else {
            let scores = (0..rows).flat_map(|row| (0..outputs).map(move |k| k * rows + row));
            out.extend(scores.map(|index| self.sums[index]));
        }
    }
}

fn add(sums: &mut [f64], values: &[f32], weight: f64, shift: f64, factor: f64) -> bool {
    dispatch(
        #[inline(always)]
        move || {
            let mut non_finite = 0_u32;
            for (sum, value) in sums.iter_mut().zip(values) {
                let feature = ((f64::from(*value) - shift) * factor) as f32;
                *sum += f64::from(feature) * weight;
                // The exponent of a non-finite number is all ones, so that this addition carries into the sign.
                non_finite |= (feature.to_bits() & 0x7fff_ffff) + 0x0080_0000;
            }
            non_finite >> 31 == 0
        },
    )
}
