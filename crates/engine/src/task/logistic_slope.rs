//! The slope of the logistic loss from a table. Its latency dominates that of a step inside the row loop.
//!
//! Each cell holds σ(−s) as a polynomial around its midpoint, accurate to a few units in the last place. A test
//! compares it with the function of `querist_theory`.

use querist_theory::numeric::stable::sigmoid;

use crate::simd::dispatch;

/// Cells per unit of the margin.
const A_UNIT: f64 = 16.0;
/// The largest |margin| in the table. Beyond it, σ(−s) is evaluated.
const REACH: f64 = 32.0;
const CELLS: usize = (2.0 * REACH * A_UNIT) as usize + 1;
/// Adding it rounds to an integer, which then occupies the lowest bits.
const ROUNDER: f64 = 6_755_399_441_055_744.0;

/// A table of ℓ′(s) = −σ(−s).
#[derive(Clone, Debug)]
pub(crate) struct LogisticSlope {
    cells: Box<[[f64; 8]]>,
}

impl LogisticSlope {
    /// Fills the table.
    pub(crate) fn new() -> Self {
        Self { cells: (0..CELLS).map(|k| expansion(k as f64 / A_UNIT - REACH)).collect() }
    }

    /// Returns ℓ′ at this margin.
    #[inline]
    pub(super) fn at(&self, s: f64) -> f64 {
        dispatch(
            #[inline(always)]
            move || self.inlined_at(s),
        )
    }

    /// Evaluates [`Self::at`] with the instruction set of the caller.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "fused operations must be inlined into what is dispatched")]
    pub(crate) fn inlined_at(&self, s: f64) -> f64 {
        let rounded = s * A_UNIT + ROUNDER;
        let index = (rounded.to_bits() as i32).wrapping_add((REACH * A_UNIT) as i32) as usize;
        // For a margin beyond the table the lowest bits have no meaning.
        let Some(c) = self.cells.get(index).filter(|_| s.abs() <= REACH) else { return -sigmoid(-s) };
        let r = s - (rounded - ROUNDER) * (1.0 / A_UNIT);
        let square = r * r;
        // Fused operations take half the time of two roundings, and give the same bits on every machine.
        let low = c[3].mul_add(r, c[2]).mul_add(square, c[1].mul_add(r, c[0]));
        let high = c[7].mul_add(r, c[6]).mul_add(square, c[5].mul_add(r, c[4]));
        high.mul_add(square * square, low)
    }
}

/// Returns the first eight Taylor coefficients of −σ(−s) around a midpoint, from f′ = −f(1 − f) for f = σ(−s).
fn expansion(middle: f64) -> [f64; 8] {
    let (mut f, mut rest) = ([0.0; 8], [0.0; 8]);
    (f[0], rest[0]) = (sigmoid(-middle), sigmoid(middle));
    for k in 0..7 {
        let product: f64 = (0..=k).map(|i| f[i] * rest[k - i]).sum();
        f[k + 1] = -product / (k + 1) as f64;
        rest[k + 1] = -f[k + 1];
    }
    f.map(|c| -c)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error is at most 4 units in the last place of the theory's value, which itself is within one; beyond the
    /// table the two agree.
    #[test]
    fn the_table_matches_the_slope() {
        let table = LogisticSlope::new();
        for i in -4_000_000..=4_000_000 {
            let s = f64::from(i) * 1e-5 + 1e-9;
            let (found, expected) = (table.at(s), -sigmoid(-s));
            assert!((found - expected).abs() <= 4.0 * f64::EPSILON * expected.abs(), "{s}: {found} for {expected}");
            if i % 100 == 0 {
                // Without a fused instruction, a function call rounds product and sum once.
                assert_eq!(table.inlined_at(s).to_bits(), found.to_bits(), "{s}");
            }
        }
        for s in [32.0, -32.0, 32.1, 700.0, 1e4, -1e4, 1e15, 4.5e15, -1e300, f64::INFINITY, f64::NEG_INFINITY] {
            assert!((table.at(s) + sigmoid(-s)).abs() <= 4.0 * f64::EPSILON * sigmoid(-s), "{s}");
        }
        assert!(table.at(f64::NAN).is_nan());
    }
}
