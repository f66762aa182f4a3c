//! Rows proposed at random and accepted in proportion to U: the cost does not grow with the pool.

use super::{Drawn, Fitting, NoRow, PoolLearner};
use crate::features::Features;
use crate::rows::Rows;

/// The number of proposals by which rows are prefetched, to cover the memory latency of a large pool.
const AHEAD: u64 = 8;

/// The offset of random numbers for proposals, numbered by proposal; passes use the number of their draw.
const PROPOSALS: u64 = 1 << 63;

/// The number of rows from which a mean over a pool is estimated.
const SAMPLED_ROWS: usize = 256;

impl PoolLearner {
    /// Estimates the mean of U over the remaining rows from separate rows. They are independent of the draw, so that a
    /// weight proportional to the estimate keeps its mean.
    pub(super) fn sampled_rate(&self, rows: &Rows) -> f64 {
        let (mut sum, mut count, mut at) = (0.0, 0, self.time << 32);
        let wanted = self.retired.left().min(SAMPLED_ROWS);
        while count < wanted {
            let index = self.look.below(at, rows.len());
            at += 1;
            if !self.retired.contains(index) {
                sum += self.counted(rows.row(index));
                count += 1;
            }
        }
        sum / wanted as f64
    }

    /// Skips the proposals of a draw that took this number of tries.
    pub(super) fn pass_over(&mut self, mut tries: u64) {
        let n = self.retired.rows();
        while 0 < tries {
            self.proposed += 1;
            tries -= u64::from(!self.retired.contains(self.propose.below(self.proposed, n)));
        }
    }

    /// Proposes rows until one is accepted; scans after as many tries as a scan would cost.
    pub(super) fn reject<X: Features>(&mut self, rows: &Rows, row: impl Fn(usize) -> X) -> Result<Drawn, NoRow> {
        // Uses the fields, not `rule()`, because the scores are written while the rule is borrowed.
        let rule = self.fitting.as_ref().and_then(Fitting::cold_rule).unwrap_or_else(|| self.rules.now());
        let u_max = rule.max();
        let (n, cap) = (rows.len(), (self.retired.left() as u64).max(1000));
        let mut tries = 0;
        // While no row is retired, skip the bit set: reading it in a large pool is a cache miss.
        let some_retired = self.retired.left() < n;
        while tries < cap {
            self.proposed += 1;
            let (proposal, coming) = (self.proposed, self.propose.below(self.proposed + AHEAD, n));
            row(coming).fetch();
            if some_retired {
                self.retired.fetch(coming);
            }
            let index = self.propose.below(proposal, n);
            if some_retired && self.retired.contains(index) {
                continue;
            }
            tries += 1;
            let x = row(index);
            self.learner.scores(x, &mut self.scores);
            let share = self.apart.as_ref().map_or(1.0, |apart| apart.share(x));
            let uncertainty = share * rule.probability(&self.scores, x);
            let probability = uncertainty / u_max;
            if self.accept.unit(PROPOSALS | proposal) < probability {
                let inverse_rate = tries as f64 / u_max;
                return Ok(Drawn {
                    row: index,
                    uncertainty,
                    probability: Some(probability),
                    tries,
                    inverse_rate,
                    fallback: false,
                    rate: None,
                    scale: None,
                    least: 0.0,
                });
            }
        }
        if let Some(apart) = &mut self.apart {
            apart.look(rows);
        }
        let drawn = self.scan(rows).draw(self.accept.unit(self.time))?;
        // Given that `cap` tries failed, E[N] is `cap` more than before: the weight stays unbiased.
        Ok(Drawn { tries: cap, inverse_rate: cap as f64 / u_max + drawn.inverse_rate, fallback: true, ..drawn })
    }
}
