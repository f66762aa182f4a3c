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
        // A larger ξ is not exceeded where a smaller one was not: each search begins where the last one ended.
        let (mut not_asked, mut skipped) = (f64::INFINITY, f64::INFINITY);
        let cell = |k: usize| {
            let asked;
            (asked, not_asked) = turn(not_asked, |a| edge(k + 1) * (1.0 + GUARD) <= rule(a));
            (_, skipped) = turn(skipped, |a| edge(k) * (1.0 - GUARD) < rule(a) || rule(a) != 0.0 && k == 0);
            Cell { asked, skipped }
        };
        Self { cells: Box::new(std::array::from_fn(cell)) }
    }

    /// Whether ξ < U at |v| = a, where the table knows.
    #[inline]
    pub fn decide(&self, coin: f64, a: f64) -> Option<bool> {
        // The first ten binary digits of ξ are the index of the cell: the first digits of the mantissa of 1 + ξ.
        let cell = self.cells[((1.0 + coin).to_bits() >> 42) as usize & (CELLS - 1)];
        if a <= cell.asked {
            Some(true)
        } else if cell.skipped <= a {
            Some(false)
        } else {
            None
        }
    }
}

/// Where a condition on a ≥ 0 that holds up to some point ends: a number at which it holds, −1 if nowhere, and one at
/// which it does not, +∞ if nowhere. From `high` on it is known not to hold. The two are near each other, no more: between
/// them the rule itself decides, which costs less than a closer search for every learner.
fn turn(high: f64, holds: impl Fn(f64) -> bool) -> (f64, f64) {
    /// A thousandth, as floats are ordered by their bits.
    const NEAR: u64 = 1 << 42;
    if !holds(0.0) {
        return (-1.0, 0.0);
    }
    if high == f64::INFINITY && holds(f64::MAX) {
        return (f64::INFINITY, f64::INFINITY);
    }
    let (mut high, mut stride) = (high.min(f64::MAX).to_bits(), NEAR);
    let mut low = high.saturating_sub(stride);
    // In strides that double until it holds, at 0 at the latest; then by halves.
    while !holds(f64::from_bits(low)) {
        stride = stride.saturating_mul(2);
        (low, high) = (low.saturating_sub(stride), low);
    }
    while low + NEAR < high {
        let middle = low.midpoint(high);
        if holds(f64::from_bits(middle)) { low = middle } else { high = middle }
    }
    (f64::from_bits(low), f64::from_bits(high))
}
