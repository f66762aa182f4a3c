//! The random twin: of labels asked for adaptively, those that random sampling would have asked for.
//!
//! Taking answer m with probability floor/q takes each item that was *left* with the same probability. That alone is not
//! a uniform sample of the pool: what was drawn and passed over is gone, and it was drawn by preference. So whatever
//! was passed over stays eligible, with the same probability at every later draw, and needs no new label. Given the past,
//! draw m then adds each item that the twin has not yet, labelled or not, with one and the same probability
//! h = min(floor, 1/count of them): the twin's items, in order, are a uniform draw without replacement from the pool.
//! If floors do not depend on what was drawn (a rule mixed with a constant share of chance), nor does the twin's size.

use super::Draw;
use crate::coin::Coin;

/// Grows by one draw at a time, as a run does.
#[derive(Clone, Debug)]
pub struct Twin {
    pool: usize,
    drawn: usize,
    /// Drawn but not taken, by position among the draws.
    passed: Vec<usize>,
    members: Vec<usize>,
    accept: Coin,
    recall: Coin,
    choose: Coin,
}

impl Twin {
    /// Of a run on a pool of this many items.
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

    /// The twin of a whole run.
    pub fn of(pool: usize, seed: u64, draws: &[Draw], ids: &[u64]) -> Self {
        let mut twin = Self::new(pool, seed);
        for (&draw, &id) in draws.iter().zip(ids) {
            let _ = twin.draw(draw, id);
        }
        twin
    }

    /// Hears of the next draw, and says which draw (counted from 0) the twin takes now, if any: this one, or one passed over.
    pub fn draw(&mut self, draw: Draw, id: u64) -> Option<usize> {
        let this = self.drawn;
        let left = self.pool.saturating_sub(this) as f64;
        let passed = self.passed.len() as f64;
        self.drawn += 1;
        let each = draw.floor.min(1.0 / (left + passed));
        if self.accept.unit(id) * draw.probability < each {
            self.members.push(this);
            return Some(this);
        }
        // Given that this draw was not taken, which has probability 1 − left·each.
        let refused = 1.0 - left * each;
        let taken = if passed > 0.0 && self.recall.unit(id) * refused < passed * each {
            let place = self.choose.below(id, self.passed.len());
            let taken = self.passed.swap_remove(place);
            self.members.push(taken);
            Some(taken)
        } else {
            None
        };
        self.passed.push(this);
        taken
    }

    /// The draws taken, counted from 0, in the order in which random sampling would have asked for them.
    pub fn members(&self) -> &[usize] {
        &self.members
    }
}
