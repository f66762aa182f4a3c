//! The random twin: a subset of adaptively requested labels that is a uniform random sample.
//!
//! Accepting answer m with probability floor/q accepts each *remaining* item with the same probability. That alone is
//! not a uniform sample of the pool: items that were drawn and passed over are gone, and they were drawn by preference.
//! So these stay eligible, with the same probability at every later draw, and need no new label. Given the past, draw m
//! then adds each item that the twin does not have yet, labeled or not, with the same probability h = min(floor,
//! 1/count of them). So the twin's items, in order, are a uniform draw without replacement from the pool. If floors do
//! not depend on the draws (a rule mixed with a constant fraction of uniform draws), neither does the twin's size.

use super::DrawProbability;
use crate::coin::Coin;

/// A random twin, which grows draw by draw.
#[derive(Clone, Debug)]
pub struct RandomTwin {
    pool: usize,
    drawn: usize,
    /// Indices of draws that were passed over.
    passed: Vec<usize>,
    members: Vec<usize>,
    accept: Coin,
    recall: Coin,
    choose: Coin,
}

impl RandomTwin {
    /// Creates an empty twin of a run on a pool of this many items.
    pub fn new(pool: usize, seed: u64) -> Self {
        Self {
            pool,
            drawn: 0,
            passed: Vec::new(),
            members: Vec::new(),
            accept: Coin::new(seed, "twin"),
            recall: Coin::new(seed, "twin recalls"),
            choose: Coin::new(seed, "twin chooses"),
        }
    }

    /// Creates the twin of a complete run.
    pub fn of(pool: usize, seed: u64, draws: &[DrawProbability], ids: &[u64]) -> Self {
        let mut twin = Self::new(pool, seed);
        for (&draw, &id) in draws.iter().zip(ids) {
            let _ = twin.draw(draw, id);
        }
        twin
    }

    /// Processes the next draw and returns the index of the draw that the twin adds, if any: this one, or one passed
    /// over.
    pub fn draw(&mut self, draw: DrawProbability, id: u64) -> Option<usize> {
        let this = self.drawn;
        let left = self.pool.saturating_sub(this) as f64;
        let passed = self.passed.len() as f64;
        self.drawn += 1;
        let each = draw.floor.min(1.0 / (left + passed));
        if self.accept.unit(id) * draw.probability < each {
            self.members.push(this);
            return Some(this);
        }
        // Given that this draw was not accepted, which has probability 1 − left·each.
        let passed_over = 1.0 - left * each;
        let taken = if passed > 0.0 && self.recall.unit(id) * passed_over < passed * each {
            let index = self.choose.below(id, self.passed.len());
            let taken = self.passed.swap_remove(index);
            self.members.push(taken);
            Some(taken)
        } else {
            None
        };
        self.passed.push(this);
        taken
    }

    /// Returns the indices of the accepted draws, in the order in which random sampling would have requested them.
    pub fn members(&self) -> &[usize] {
        &self.members
    }
}
