//! Proofs of properties over whole intervals, panel by panel.

use super::Interval;

/// The maximum number of times a panel is halved before the property counts as not shown.
const MAX_DEPTH: u32 = 12;

/// Returns whether a property holds on panels that cover `over`; panels are halved where it is not yet shown.
pub(crate) fn holds_on(over: Interval, holds: &dyn Fn(Interval) -> bool) -> bool {
    halve(over, holds, 0)
}

fn halve(over: Interval, holds: &dyn Fn(Interval) -> bool, depth: u32) -> bool {
    if holds(over) {
        return true;
    }
    if depth == MAX_DEPTH {
        return false;
    }
    let middle = match (over.low, over.high) {
        (f64::NEG_INFINITY, f64::INFINITY) => 0.0,
        (f64::NEG_INFINITY, high) => 2.0 * high.min(-0.5),
        (low, f64::INFINITY) => 2.0 * low.max(0.5),
        (low, high) => 0.5 * (low + high),
    };
    halve(Interval::new(over.low, middle), holds, depth + 1)
        && halve(Interval::new(middle, over.high), holds, depth + 1)
}
