//! Search for the sign changes of the arguments of `abs`, `sign`, `min` and `max`.
//!
//! An argument linear in the variable is solved directly. Any other is searched by halving
//! cells. Interval bounds discard the cells without a sign change. A cell on which the argument
//! is monotone, or that is too narrow to halve, is resolved by bisection.

use super::evaluate::{centered_bounds, run, value};
use super::interval::Interval;
use super::node::{Function, Node, Operation, compacted};

/// The maximum number of nodes that the search visits for an expression.
const EFFORT: usize = 200_000;

/// The maximum number of kinks that the search adds for one argument, which may have
/// infinitely many.
const MAX_FOUND: usize = 1000;

/// The half-width of the innermost cell, centered at zero. Its odd value keeps the zeros of
/// common expressions away from cell borders.
const INNERMOST: f64 = 1.371_742_1;

/// The number of further pairs of cells, each reaching twice as far as the one before.
const DOUBLINGS: i32 = 40;

/// The fraction at which a cell is split; not one half, to keep zeros away from cell borders.
const SPLIT: f64 = 0.487_1;

/// Returns all kinks, sorted.
pub(super) fn kinks(nodes: &[Node]) -> Vec<f64> {
    let switches: Vec<Vec<Node>> = (0..nodes.len()).filter_map(|index| switch(nodes, index)).collect();
    let mut found = Vec::new();
    for switch in &switches {
        match linear(switch) {
            Some((offset, slope)) => found.push(-offset / slope + 0.0),
            None => search(switch, EFFORT / switches.len(), &mut found),
        }
    }
    found.retain(|point| point.is_finite());
    found.sort_by(f64::total_cmp);
    found.dedup_by(|later, earlier| (*later - *earlier).abs() <= 4.0 * f64::EPSILON * earlier.abs());
    found
}

/// Returns the expression whose sign selects the branch of the node.
fn switch(nodes: &[Node], index: usize) -> Option<Vec<Node>> {
    match nodes[index] {
        Node::Unary(Function::Absolute | Function::Sign, inner) => Some(compacted(nodes, inner)),
        Node::Binary(Operation::Minimum | Operation::Maximum, left, right) => {
            let mut longer = nodes[..index].to_vec();
            longer.push(Node::Binary(Operation::Subtract, left, right));
            Some(compacted(&longer, index))
        }
        _ => None,
    }
}

/// Returns the offset and slope of an expression that is linear by its form.
fn linear(nodes: &[Node]) -> Option<(f64, f64)> {
    run(nodes, None, |node, before: &[Option<(f64, f64)>]| match *node {
        Node::Variable => Some((0.0, 1.0)),
        Node::Constant(constant) => Some((constant.value, 0.0)),
        Node::Unary(Function::Negate, inner) => before[inner].map(|(offset, slope)| (-offset, -slope)),
        Node::Binary(operation, left, right) => {
            let (first, second) = (before[left]?, before[right]?);
            match operation {
                Operation::Add => Some((first.0 + second.0, first.1 + second.1)),
                Operation::Subtract => Some((first.0 - second.0, first.1 - second.1)),
                Operation::Multiply if second.1 == 0.0 => Some((first.0 * second.0, first.1 * second.0)),
                Operation::Multiply if first.1 == 0.0 => Some((first.0 * second.0, first.0 * second.1)),
                Operation::Divide if second.1 == 0.0 => Some((first.0 / second.0, first.1 / second.0)),
                _ => None,
            }
        }
        _ => None,
    })
}

/// Adds the sign changes of `nodes`, those nearest to zero first, until the effort is spent.
fn search(nodes: &[Node], effort: usize, found: &mut Vec<f64>) {
    let mut cells = Vec::new();
    for doubling in (0..DOUBLINGS).rev() {
        let inner = INNERMOST * 2_f64.powi(doubling);
        cells.push((inner, 2.0 * inner));
        cells.push((-2.0 * inner, -inner));
    }
    cells.push((-INNERMOST, INNERMOST));
    let at = |point: f64| value(nodes, point);
    let enough = found.len() + MAX_FOUND;
    for _ in 0..effort / nodes.len() {
        let Some((low, high)) = cells.pop() else {
            return;
        };
        if found.len() >= enough {
            return;
        }
        let bounds = centered_bounds(nodes, Interval::new(low, high));
        if bounds.value.low >= 0.0 || bounds.value.high <= 0.0 {
            continue;
        }
        let monotone = bounds.slope.defined && !bounds.slope.contains(0.0);
        let narrow = high - low <= (1e-13 * low.abs().max(high.abs())).max(1e-18);
        if monotone || narrow {
            if at(low) * at(high) < 0.0 {
                found.push(bisected(&at, low, high));
            }
            continue;
        }
        let middle = low + SPLIT * (high - low);
        let nowhere = [low, middle, high].iter().all(|&point| at(point).is_nan());
        if !nowhere {
            cells.push((middle, high));
            cells.push((low, middle));
        }
    }
}

/// Finds the point between `low` and `high` where `at` changes sign, by bisection.
fn bisected(at: &impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    let falling = at(low) > 0.0;
    loop {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high || at(middle) == 0.0 {
            return rounded_to_short(at, middle);
        }
        if (at(middle) > 0.0) == falling {
            low = middle;
        } else {
            high = middle;
        }
    }
}

/// Rounds `point` to a short decimal next to it if the argument vanishes or has a pole exactly
/// there; otherwise returns `point`.
fn rounded_to_short(at: &impl Fn(f64) -> f64, point: f64) -> f64 {
    let short = (point * 1e6).round() / 1e6;
    let close = (short - point).abs() <= 1e-9 * point.abs().max(1.0);
    if close && (at(short) == 0.0 || !at(short).is_finite()) { short + 0.0 } else { point }
}
