//! Rows proposed at random and taken in proportion to U: the cost does not grow with the pool.

use super::{Drawn, Fitting, NoRow, PoolLearner};
use crate::features::Features;
use crate::rows::Rows;

/// As many proposals of the next draw are brought near during this one, and as many of this one once it has used those up: where
/// one in two is taken, more would mostly be brought in vain, and where one in ten is, none would be too few.
const AHEAD: u64 = 2;

/// A mean over a pool is estimated from as many of its rows.
const LOOKED_AT: usize = 256;

impl PoolLearner {
    /// The mean of U over rows that are left, from rows of its own: independent of the draw, so that a weight in proportion to
    /// it keeps its mean.
    pub(super) fn sampled_rate(&self, rows: &Rows) -> f64 {
        let (mut sum, mut count, mut at) = (0.0, 0, self.time << 32);
        let wanted = self.retired.left().min(LOOKED_AT);
        while count < wanted {
            let place = self.look.below(at, rows.len());
            at += 1;
            if !self.retired.contains(place) {
                sum += self.counted(rows.row(place));
                count += 1;
            }
        }
        sum / wanted as f64
    }

    /// Proposes rows until one is taken; after as many tries as a scan would cost, scans.
    pub(super) fn reject<X: Features>(&mut self, rows: &Rows, row: impl Fn(usize) -> X) -> Result<Drawn, NoRow> {
        // The field itself, not `rule()`: the scores are written to while it is in use.
        let rule = self.fitting.as_ref().and_then(Fitting::cold_rule).unwrap_or_else(|| self.rules.now());
        let u_max = rule.max();
        let (n, cap) = (rows.len(), (self.retired.left() as u64).max(1000));
        let first = self.time << 32;
        let (mut tries, mut proposal) = (0, first);
        let next = (self.time + 1) << 32;
        // While every row is left, what says so is not read: in a large pool that is a miss of the cache.
        let some_retired = self.retired.left() < n;
        let fetch = |proposal| {
            let place = self.propose.below(proposal, n);
            row(place).fetch();
            if some_retired {
                self.retired.fetch(place);
            }
        };
        (next + 1..=next + AHEAD).for_each(fetch);
        let mut fetched = first + AHEAD;
        while tries < cap {
            proposal += 1;
            let used_up = (proposal - first).saturating_sub(AHEAD);
            while fetched < proposal + used_up.min(AHEAD) {
                fetched += 1;
                fetch(fetched);
            }
            let place = self.propose.below(proposal, n);
            if some_retired && self.retired.contains(place) {
                continue;
            }
            tries += 1;
            let x = row(place);
            self.learner.scores(x, &mut self.scores);
            let share = self.apart.as_ref().map_or(1.0, |apart| apart.share(x));
            let uncertainty = share * rule.probability(&self.scores, x);
            let probability = uncertainty / u_max;
            if self.accept.unit(proposal) < probability {
                let inverse_rate = tries as f64 / u_max;
                return Ok(Drawn {
                    row: place,
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
        let drawn = self.scan(rows).draw(self.accept.unit(self.time << 32))?;
        // Given that `cap` tries failed, E[N] is `cap` more than it was: the weight stays unbiased.
        Ok(Drawn { tries: cap, inverse_rate: cap as f64 / u_max + drawn.inverse_rate, fallback: true, ..drawn })
    }
}
