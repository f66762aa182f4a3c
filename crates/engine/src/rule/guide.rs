//! Most flips decided by a table: for a rule that falls in |v|, ξ < U(v) just when |v| is small enough.
//!
//! The unit interval is cut into cells; for each cell of ξ there is an |v| below which the answer is yes for certain and
//! one above which it is no for certain. Only between the two, about once in a thousand, is the rule evaluated.

/// The table.
#[derive(Debug)]
pub struct Guide {
    cells: Box<[Cell; CELLS]>,
}

#[derive(Clone, Copy, Debug)]
struct Cell {
    /// Asked for certain up to here.
    asked: f64,
    /// Skipped for certain from here.
    skipped: f64,
}

const CELLS: usize = 1024;
/// How far a rule that falls may rise by rounding, relatively, and then a thousandfold more.
const GUARD: f64 = 1e-9;

impl Guide {
    /// For a rule of |v| that never rises, but for rounding.
    pub(super) fn new(rule: impl Fn(f64) -> f64) -> Self {
        let edge = |k: usize| k as f64 / CELLS as f64;
        let cell = |k: usize| Cell {
            asked: turn(|a| edge(k + 1) * (1.0 + GUARD) <= rule(a)).0,
            skipped: turn(|a| edge(k) * (1.0 - GUARD) < rule(a) || rule(a) != 0.0 && k == 0).1,
        };
        Self { cells: Box::new(std::array::from_fn(cell)) }
    }

    /// Whether ξ < U at |v| = a, where the table knows.
    #[inline]
    pub fn decide(&self, coin: f64, a: f64) -> Option<bool> {
        let cell = self.cell(coin);
        if a <= cell.asked {
            Some(true)
        } else if cell.skipped <= a {
            Some(false)
        } else {
            None
        }
    }

    /// The |v| from which ξ ≥ U for certain.
    #[inline]
    pub(crate) fn skipped_from(&self, coin: f64) -> f64 {
        self.cell(coin).skipped
    }

    #[inline]
    fn cell(&self, coin: f64) -> Cell {
        // The first ten binary digits of ξ are the cell, and stand at the head of the mantissa of 1 + ξ.
        self.cells[((1.0 + coin).to_bits() >> 42) as usize & (CELLS - 1)]
    }
}

/// Where a condition on a ≥ 0 that holds up to some point ends: a number at which it holds, −1 if nowhere, and one at
/// which it does not, +∞ if nowhere. They are near, no more: between them the rule is asked, which takes little where it is
/// seldom, and the table is made for every learner.
fn turn(holds: impl Fn(f64) -> bool) -> (f64, f64) {
    const NEAR: u64 = 1 << 34;
    if !holds(0.0) {
        return (-1.0, 0.0);
    }
    if holds(f64::MAX) {
        return (f64::INFINITY, f64::INFINITY);
    }
    // Non-negative floats are ordered as their bits.
    let (mut low, mut high) = (0_u64, f64::MAX.to_bits());
    while low + NEAR < high {
        let middle = low.midpoint(high);
        if holds(f64::from_bits(middle)) { low = middle } else { high = middle }
    }
    (f64::from_bits(low), f64::from_bits(high))
}
