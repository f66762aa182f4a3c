//! Properties of whole half-lines, shown panel by panel.

use super::Interval;

/// How often a panel may be halved before the property counts as not shown.
const DEEPEST: u32 = 12;

/// Whether a property of panels holds on each of a set that covers `over`, halving where it is not yet shown.
pub(crate) fn holds_on(over: Interval, holds: &dyn Fn(Interval) -> bool) -> bool {
    halve(over, holds, 0)
}

fn halve(over: Interval, holds: &dyn Fn(Interval) -> bool, depth: u32) -> bool {
    if holds(over) {
        return true;
    }
    if depth == DEEPEST {
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
