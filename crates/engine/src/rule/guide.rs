//! A table that decides most flips. For a rule that decreases in |v|, ξ < U(v) exactly when |v| is small enough.
//!
//! The unit interval is divided into cells. Each cell of ξ has one |v| below which the answer is certainly yes, and one
//! above which it is certainly no. Only between the two, about once in a thousand, is the rule evaluated.

/// A table of thresholds on |v| for cells of ξ.
#[derive(Debug)]
pub struct Guide {
    cells: Box<[GuideCell; CELLS]>,
}

#[derive(Clone, Copy, Debug)]
struct GuideCell {
    /// The |v| up to which a query is certain.
    asked: f64,
    /// The |v| from which a skip is certain.
    skipped: f64,
}

const CELLS: usize = 1024;
/// A relative tolerance, a thousand times the rise that rounding can cause in a decreasing rule.
const GUARD: f64 = 1e-9;

impl Guide {
    /// Makes a table for a rule of |v| that never rises except by rounding.
    pub(super) fn new(rule: impl Fn(f64) -> f64) -> Self {
        let edge = |k: usize| k as f64 / CELLS as f64;
        // The thresholds fall as ξ grows, so each search starts where the last one ended.
        let (mut not_asked, mut skipped) = (f64::INFINITY, f64::INFINITY);
        let cell = |k: usize| {
            let asked;
            (asked, not_asked) = bisect_threshold(not_asked, |a| edge(k + 1) * (1.0 + GUARD) <= rule(a));
            (_, skipped) = bisect_threshold(skipped, |a| edge(k) * (1.0 - GUARD) < rule(a) || rule(a) != 0.0 && k == 0);
            GuideCell { asked, skipped }
        };
        Self { cells: Box::new(std::array::from_fn(cell)) }
    }

    /// Returns whether ξ < U at |v| = a, or `None` if the table cannot decide.
    #[inline]
    pub fn decide(&self, coin: f64, a: f64) -> Option<bool> {
        // The first ten binary digits of ξ, which are those of the mantissa of 1 + ξ, are the index of the cell.
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

/// Brackets the end of a condition on a ≥ 0 that holds up to some point and is known not to hold from `high` on.
/// Returns a number at which it holds, −1 if nowhere, and one at which it does not, +∞ if nowhere. The bracket need not
/// be tight: inside it the rule itself decides, which costs less than a closer search for every learner.
fn bisect_threshold(high: f64, holds: impl Fn(f64) -> bool) -> (f64, f64) {
    /// A relative width of about a thousandth, in units of the bits of a float.
    const NEAR: u64 = 1 << 42;
    if !holds(0.0) {
        return (-1.0, 0.0);
    }
    if high == f64::INFINITY && holds(f64::MAX) {
        return (f64::INFINITY, f64::INFINITY);
    }
    let (mut high, mut stride) = (high.min(f64::MAX).to_bits(), NEAR);
    let mut low = high.saturating_sub(stride);
    // Steps down with doubling strides until the condition holds, at 0 at the latest; then bisects.
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
