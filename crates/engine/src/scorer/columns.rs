//! Scores of rows that stand in columns, without turning them: the same bits as row by row.

use super::Scorer;
use crate::features::sum;
use crate::simd::{LANES, dispatch};

/// The scores of a block of rows while one column after the other is added. Some hundred rows at a time stay in the
/// cache.
#[derive(Clone, Debug, Default)]
pub struct ColumnScores {
    rows: usize,
    /// For one output a sum for each lane; otherwise one for each output. Each has all the rows.
    sums: Vec<f64>,
}

impl ColumnScores {
    /// Begins with so many rows.
    pub fn begin(&mut self, scorer: &Scorer, rows: usize) {
        let outputs = scorer.outputs();
        self.rows = rows;
        self.sums.clear();
        if outputs == 1 {
            self.sums.resize(LANES * rows, 0.0);
        } else {
            scorer.theta[..outputs].iter().for_each(|intercept| self.sums.extend((0..rows).map(|_| intercept)));
        }
    }

    /// Adds a column: feature j is (value − shift)·factor, rounded to `f32` as in rows. Says whether all of them are
    /// finite.
    pub fn add(&mut self, scorer: &Scorer, j: usize, values: &[f32], (shift, factor): (f64, f64)) -> bool {
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

    /// The scores, one row after the other.
    pub fn finish(&self, scorer: &Scorer, out: &mut Vec<f64>) {
        let (outputs, rows) = (scorer.outputs(), self.rows);
        out.clear();
        if outputs == 1 {
            let lane = |row: usize| std::array::from_fn(|lane| self.sums[lane * rows + row]);
            out.extend((0..rows).map(|row| scorer.theta[0] + sum(lane(row))));
        } else {
            let scores = (0..rows).flat_map(|row| (0..outputs).map(move |k| k * rows + row));
            out.extend(scores.map(|place| self.sums[place]));
        }
    }
}

fn add(sums: &mut [f64], values: &[f32], weight: f64, shift: f64, factor: f64) -> bool {
    dispatch(
        #[inline(always)]
        move || {
            let mut odd = 0_u32;
            for (sum, value) in sums.iter_mut().zip(values) {
                let feature = ((f64::from(*value) - shift) * factor) as f32;
                *sum += f64::from(feature) * weight;
                // The exponent of what is not finite is all ones, and then this carries into the sign.
                odd |= (feature.to_bits() & 0x7fff_ffff) + 0x0080_0000;
            }
            odd >> 31 == 0
        },
    )
}
