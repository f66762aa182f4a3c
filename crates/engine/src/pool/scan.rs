//! A pass over the pool that adds up U of the remaining rows in fixed blocks and in their order.
//!
//! So `S_t` and the drawn row do not depend on the number of threads.

use rayon::prelude::{IntoParallelIterator, ParallelIterator};

use super::current_model::CurrentModel;
use super::diversity::Diversity;
use super::retired::Retired;
use super::{Drawn, NoRow};
use crate::features::dense_scores;
use crate::rows::Rows;
use crate::rule::Rule;

/// The number of rows in a block.
pub const BLOCK: usize = 1024;

/// Sums of U up to this count as 0. Their inverses are weights of θ̄, whose sum would overflow.
const NEGLIGIBLE: f64 = 1e-100;

/// A pass over the remaining rows of a pool.
pub struct Scan<'a> {
    rows: &'a Rows,
    model: CurrentModel<'a>,
    rule: &'a Rule,
    retired: &'a Retired,
    diversity: Option<&'a Diversity>,
}

impl<'a> Scan<'a> {
    pub(super) fn new(
        rows: &'a Rows,
        model: CurrentModel<'a>,
        rule: &'a Rule,
        retired: &'a Retired,
        diversity: Option<&'a Diversity>,
    ) -> Self {
        Self { rows, model, rule, retired, diversity }
    }

    /// Returns Σ U over each block, in block order.
    pub fn block_sums(&self) -> Vec<f64> {
        self.blocks(|probabilities, _| lane_sum(probabilities))
    }

    /// Returns `S_t`, the mean of U over the remaining rows.
    pub fn mean(&self) -> f64 {
        self.block_sums().iter().sum::<f64>() / self.retired.left() as f64
    }

    /// Returns the row at the random number `coin` in [0, 1), with probability proportional to U.
    pub(super) fn draw(&self, coin: f64) -> Result<Drawn, NoRow> {
        let sums = self.block_sums();
        let total: f64 = sums.iter().sum();
        let left = self.retired.left();
        if !total.is_finite() {
            return Err(NoRow::NotFinite { total });
        }
        if total <= NEGLIGIBLE {
            return Err(NoRow::AllZero { left });
        }
        let (block, rest) = index_at(&sums, coin * total);
        let mut probabilities = vec![0.0; BLOCK];
        let probabilities = self.fill(block, &mut probabilities);
        let (index, _) = index_at(probabilities, rest);
        let uncertainty = probabilities[index];
        let row = block * BLOCK + index;
        let probability = Some(uncertainty / total);
        let (inverse_rate, rate) = (left as f64 / total, Some(total / left as f64));
        Ok(Drawn {
            row,
            uncertainty,
            probability,
            tries: 0,
            inverse_rate,
            fallback: false,
            rate,
            scale: None,
            least: 0.0,
        })
    }

    /// Returns the most uncertain row, the first of equals.
    pub(super) fn top(&self) -> Result<Drawn, NoRow> {
        let bests = self.blocks(|probabilities, first| {
            let mut best: Option<(usize, f64)> = None;
            for (index, probability) in probabilities.iter().enumerate() {
                if !self.retired.contains(first + index) && best.is_none_or(|(_, most)| is_above(*probability, most)) {
                    best = Some((first + index, *probability));
                }
            }
            best
        });
        let best = bests.into_iter().flatten().reduce(|best, next| if is_above(next.1, best.1) { next } else { best });
        let (row, uncertainty) = best.ok_or(NoRow::Exhausted)?;
        if !uncertainty.is_finite() {
            return Err(NoRow::NotFinite { total: uncertainty });
        }
        if uncertainty <= 0.0 {
            return Err(NoRow::AllZero { left: self.retired.left() });
        }
        Ok(Drawn {
            row,
            uncertainty,
            probability: None,
            tries: 0,
            inverse_rate: 1.0,
            fallback: false,
            rate: None,
            scale: None,
            least: 0.0,
        })
    }

    /// Returns U of every row, 0 for retired ones.
    pub(super) fn all(&self) -> Vec<f64> {
        self.blocks(|probabilities, _| probabilities.to_vec()).concat()
    }

    /// Maps every block in parallel; `of` gets its probabilities and the index of its first row.
    fn blocks<R: Send>(&self, of: impl Fn(&[f64], usize) -> R + Sync) -> Vec<R> {
        let work = |block: usize, room: &mut Vec<f64>| {
            room.resize(BLOCK, 0.0);
            let probabilities = self.fill(block, room);
            of(probabilities, block * BLOCK)
        };
        let count = self.rows.len().div_ceil(BLOCK);
        (0..count).into_par_iter().map_init(Vec::new, |room, block| work(block, room)).collect()
    }

    /// Computes U of every row of one block, 0 for retired ones.
    fn fill<'r>(&self, block: usize, room: &'r mut [f64]) -> &'r [f64] {
        let first = block * BLOCK;
        let room = &mut room[..BLOCK.min(self.rows.len() - first)];
        // The rule of a cold start takes a single score even if the model has several.
        let (outputs, learner) = (self.model.outputs(), self.model.learner);
        let single_score = outputs == 1;
        if let Some(model) = self.model.nonlinear {
            let mut scores = vec![0.0; room.len() * outputs];
            model.scores_of_range(self.rows, first..first + room.len(), &mut scores);
            for (index, (probability, scores)) in room.iter_mut().zip(scores.chunks_exact(outputs)).enumerate() {
                *probability = self.rule.probability(scores, self.rows.row(first + index));
            }
        } else if let (true, Rows::Dense(rows), Rule::Score(rule)) = (single_score, self.rows, self.rule) {
            let mut scores = [0.0; BLOCK];
            let scores = &mut scores[..room.len()];
            let values = &rows.values()[first * rows.dim()..(first + room.len()) * rows.dim()];
            dense_scores(values, &learner.point(), scores);
            rule.fill(scores, room);
        } else {
            let mut scores = vec![0.0; outputs];
            for (index, probability) in room.iter_mut().enumerate() {
                let x = self.rows.row(first + index);
                learner.scores(x, &mut scores);
                *probability = self.rule.probability(&scores, x);
            }
        }
        self.retired.clear(first, room);
        if let Some(diversity) = self.diversity {
            diversity.reduce(first, room);
        }
        room
    }
}

/// Returns whether one U is above another. NaN is above all numbers, so that it is noticed.
fn is_above(one: f64, other: f64) -> bool {
    other < one || (one.is_nan() && !other.is_nan())
}

/// Returns the index where the running sum of these values passes `rest`, and the remainder there. If rounding puts
/// `rest` slightly beyond the last sum, this is the last index with a positive value.
pub(super) fn index_at(values: &[f64], mut rest: f64) -> (usize, f64) {
    let mut found = 0;
    for (index, value) in values.iter().enumerate() {
        if 0.0 < *value {
            found = index;
            if rest < *value {
                break;
            }
            rest -= value;
        }
    }
    (found, rest)
}

pub(super) fn lane_sum(values: &[f64]) -> f64 {
    let mut lanes = [0.0; 8];
    for chunk in values.chunks(8) {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane += value;
        }
    }
    lanes.iter().sum()
}
