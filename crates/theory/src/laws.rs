//! Laws: properties that every loss, rule and pair must have, as functions that search for violations.
//!
//! They are public so that you can run them on your own loss or rule. A law that finds no violation proves nothing;
//! a violation that it finds is real.
//!
//! ```
//! use querist_theory::{laws, loss};
//! let mine = loss::parse("expr:log(1+exp(-s))")?;
//! for law in laws::LOSS_LAWS {
//!     (law.check)(&*mine.object).expect("a sound loss");
//! }
//! # Ok::<(), querist_theory::registry::NameError>(())
//! ```

use std::fmt;

use crate::numeric::search::probes;

mod certificates;
mod losses;
mod pairs;
mod rules;

pub use losses::LOSS_LAWS;
pub use pairs::PAIR_LAWS;
pub use rules::RULE_LAWS;

/// A law about losses, rules or pairs.
pub struct Law<T: ?Sized> {
    /// The name of the law.
    pub name: &'static str,
    /// Searches for a violation.
    pub check: fn(&T) -> Result<(), Broken>,
}

/// A violation of a law.
#[derive(Clone, Debug, PartialEq)]
pub struct Broken {
    /// The quantity that was checked.
    pub what: &'static str,
    /// The point of the violation.
    pub at: f64,
    /// The value found.
    pub found: f64,
    /// The value that the law requires.
    pub expected: f64,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}: found {}, expected {}", self.what, self.at, self.found, self.expected)
    }
}

impl std::error::Error for Broken {}

/// The number of points at which a claimed fact is checked.
const TRIES: u64 = 10_000;

/// Checks that `found` equals `expected` to `relative` of the larger, plus `absolute`.
fn agree(what: &'static str, at: f64, found: f64, expected: f64, relative: f64, absolute: f64) -> Result<(), Broken> {
    let close = (found - expected).abs() <= relative * found.abs().max(expected.abs()) + absolute;
    if found == expected || close { Ok(()) } else { Err(Broken { what, at, found, expected }) }
}

/// Checks that `found` is at most `expected`, up to `slack`.
fn at_most(what: &'static str, at: f64, found: f64, expected: f64, slack: f64) -> Result<(), Broken> {
    if found <= expected + slack { Ok(()) } else { Err(Broken { what, at, found, expected }) }
}

/// Iterates over 10,000 fixed points: three of four spread over |s| ≤ 40, the others over magnitudes from 10⁻⁶ to 10³.
fn tries() -> impl Iterator<Item = f64> {
    (0..TRIES).map(|i| {
        let unit = spread(i);
        if i % 4 == 0 {
            let size = 10_f64.powf(-6.0 + 9.0 * unit);
            if i % 8 == 0 { size } else { -size }
        } else {
            80.0 * (unit - 0.5)
        }
    })
}

/// Hashes i to a number in [0, 1).
fn spread(i: u64) -> f64 {
    let mut x = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Returns points where derivatives can be compared: not close to a kink, and not where differences are all rounding.
fn smooth_points(kinks: &[f64]) -> Vec<f64> {
    probes(kinks)
        .into_iter()
        .filter(|s| (1e-3..=40.0).contains(&s.abs()))
        .filter(|s| kinks.iter().all(|k| 1e-2 * k.abs().max(0.1) < (s - k).abs()))
        .collect()
}

/// Returns f′(s) by central differences at h and h/2, extrapolated; h is small enough to avoid kinks.
fn derivative(f: &dyn Fn(f64) -> f64, s: f64, kinks: &[f64]) -> f64 {
    let clear = kinks.iter().map(|k| (s - k).abs()).fold(f64::INFINITY, f64::min);
    let h = (1e-3 * s.abs().max(0.05)).min(4e-3).min(0.3 * clear);
    let central = |h: f64| (f(s + h) - f(s - h)) / (2.0 * h);
    (4.0 * central(0.5 * h) - central(h)) / 3.0
}
