//! Branch-free exp, log, sine and cosine, so that the compiler vectorizes loops over them.
//!
//! Errors are a few units in the last place; a test compares each function with the standard library. The same function
//! serves one number and a block of numbers, so block sizes change nothing. Products and sums are fused and rounded
//! once. Dispatched loops (`simd.rs`) use one instruction for this and other code a call: same bits, different speed.

// These are loop bodies: a call would prevent vectorization.
#![allow(clippy::inline_always)]

use std::f64::consts::{LN_2, LOG2_E, SQRT_2};

use crate::simd::dispatch;

/// Adding this rounds to an integer and leaves it in the lowest bits of the significand.
const ROUNDER: f64 = 6_755_399_441_055_744.0;
const LN_2_HIGH: f64 = 6.931_471_803_691_238_2e-1;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// Evaluates the polynomial with these coefficients, lowest power first. Pairing terms keeps the chain of operations
/// short.
#[inline(always)]
fn cubic(x: f64, square: f64, [a, b, c, d]: [f64; 4]) -> f64 {
    d.mul_add(x, c).mul_add(square, b.mul_add(x, a))
}

/// Returns e⁻ᵃ for a ≥ 0; beyond 708 the result stays at e⁻⁷⁰⁸ ≈ 3e-308.
#[inline(always)]
pub fn exp_neg(a: f64) -> f64 {
    let y = -(if a < 708.0 { a } else { 708.0 });
    let rounded = y.mul_add(LOG2_E, ROUNDER);
    let n = rounded - ROUNDER;
    let r = n.mul_add(-LN_2_LOW, n.mul_add(-LN_2_HIGH, y));
    // e^r = 1 + r + r²·g(r): g interpolated at the Chebyshev nodes of |r| ≤ ½log 2, to 2e-17.
    let square = r * r;
    let fourth = square * square;
    let low = cubic(
        r,
        square,
        [
            5.000_000_000_000_001_0e-1,
            1.666_666_666_666_666_75e-1,
            4.166_666_666_662_412_8e-2,
            8.333_333_333_330_061_8e-3,
        ],
    );
    let middle = cubic(
        r,
        square,
        [
            1.388_888_891_721_371_7e-3,
            1.984_126_986_305_361_7e-4,
            2.480_152_129_595_437_5e-5,
            2.755_726_845_999_706_5e-6,
        ],
    );
    let high = r.mul_add(2.510_038_549_551_031_9e-8, 2.762_008_844_540_974_8e-7);
    let g = fourth.mul_add(fourth.mul_add(high, middle), low);
    let sum = 1.0 + square.mul_add(g, r);
    // Add the integer part directly to the exponent.
    f64::from_bits(sum.to_bits().wrapping_add(rounded.to_bits() << 52))
}

/// Returns log(1 + x) and x/(1 + x) for 0 ≤ x ≤ 1, with one division for both.
#[inline(always)]
pub fn ln_1p_and_share(x: f64) -> (f64, f64) {
    // Halve 1 + x where that brings it closer to 1; the distance to 1 is exact either way.
    let halved = SQRT_2 - 1.0 < x;
    let gap = if halved { (x - 1.0) * 0.5 } else { x };
    let added = if halved { LN_2 } else { 0.0 };
    let (above, sum) = (2.0 + gap, 1.0 + x);
    let inverse = 1.0 / (above * sum);
    (added + twice_atanh(gap * sum * inverse), x * above * inverse)
}

/// Returns −log(1 − v) for 0 ≤ v < 1.
pub fn neg_ln_1m(v: f64) -> f64 {
    if v <= 0.5 {
        return ln_1p(v / (1.0 - v));
    }
    // 1 − v, exact here, is m·2⁻ⁿ with 1 ≤ m < 2.
    let bits = (1.0 - v).to_bits();
    let n = 1023.0 - (bits >> 52) as f64;
    let m = f64::from_bits(bits & ((1 << 52) - 1) | 1.0_f64.to_bits());
    n * LN_2 - ln_1p(m - 1.0)
}

/// Returns log(1 + x) of a single number.
fn ln_1p(x: f64) -> f64 {
    dispatch(
        #[inline(always)]
        move || ln_1p_and_share(x).0,
    )
}

/// Returns 2 atanh s for |s| ≤ 0.1716.
#[inline(always)]
fn twice_atanh(s: f64) -> f64 {
    let q = s * s;
    // atanh s = s + s·q·h(q): h interpolated at the Chebyshev nodes of 0 ≤ q ≤ 0.02944, to 5e-18.
    let square = q * q;
    let low = cubic(
        q,
        square,
        [
            3.333_333_333_333_334_8e-1,
            1.999_999_999_994_972_7e-1,
            1.428_571_431_299_928_0e-1,
            1.111_110_556_551_425_9e-1,
        ],
    );
    let high =
        square.mul_add(7.308_281_211_052_322_8e-2, q.mul_add(7.665_856_239_690_650_2e-2, 9.091_444_699_838_860_0e-2));
    let h = (square * square).mul_add(high, low);
    let twice = s + s;
    twice.mul_add(q * h, twice)
}

/// Single-precision versions, for data stored in single precision.
pub mod single {
    use std::f32::consts::{FRAC_PI_2, LN_2};

    const ROUNDER: f32 = 12_582_912.0;

    /// Maps 32 bits to a uniform number on (0, 1], with fine steps near 0.
    #[inline(always)]
    pub fn unit(bits: u32) -> f32 {
        // 31 bits fit into a signed integer, which processors convert to floats quickly.
        (bits >> 1).cast_signed() as f32 * 4.656_612_9e-10 + 2.328_306_4e-10
    }

    /// Returns −log u for a normal number 0 < u ≤ 1.
    #[inline(always)]
    pub fn neg_ln_unit(u: f32) -> f32 {
        let bits = u.to_bits();
        // m in [√½, √2): the bits of √½ are subtracted before the exponent is read.
        let exponent_bits = bits.wrapping_sub(0x3f35_04f3) & 0xff80_0000;
        let m = f32::from_bits(bits.wrapping_sub(exponent_bits));
        let e = (exponent_bits.cast_signed() >> 23) as f32;
        let s = (m - 1.0) / (m + 1.0);
        let q = s * s;
        let sum = ((q * 0.111_111_11 + 0.142_857_15) * q + 0.2) * q + 0.333_333_34;
        let twice = s + s;
        -(e * LN_2 + (twice + twice * (q * sum)))
    }

    /// Returns (cos 2πu, sin 2πu) for 0 ≤ u ≤ 1.
    #[inline(always)]
    pub fn cos_sin_turn(u: f32) -> (f32, f32) {
        let rounded = 4.0 * u + ROUNDER;
        let quarter = rounded.to_bits();
        let t = (4.0 * u - (rounded - ROUNDER)) * FRAC_PI_2;
        let q = t * t;
        let sine = t + t * q * ((q * -1.984_127e-4 + 8.333_333_5e-3) * q - 0.166_666_67);
        let cosine = 1.0 + q * (((q * 2.480_158_7e-5 - 1.388_888_9e-3) * q + 4.166_666_8e-2) * q - 0.5);
        let odd = (quarter & 1).wrapping_neg();
        let (c, s) = (cosine.to_bits(), sine.to_bits());
        // An odd quadrant swaps the two; the quadrant also determines the signs.
        let swap = (c ^ s) & odd;
        let c = (c ^ swap) ^ (((quarter.wrapping_add(1) >> 1) & 1) << 31);
        let s = (s ^ swap) ^ (((quarter >> 1) & 1) << 31);
        (f32::from_bits(c), f32::from_bits(s))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within(found: f64, expected: f64, units: f64, what: &str) {
        let error = (found - expected).abs();
        assert!(error <= units * expected.abs() * f64::EPSILON, "{what}: {found} instead of {expected}");
    }

    #[test]
    fn all_functions_agree_with_the_standard_library() {
        for i in 0..200_000 {
            let t = f64::from(i) / 200_000.0;
            within(exp_neg(708.0 * t), (-708.0 * t).exp(), 2.0, "exp");
            within(exp_neg(t), (-t).exp(), 2.0, "exp");
            for x in [t, t.powi(40)] {
                let (log, share) = ln_1p_and_share(x);
                within(log, x.ln_1p(), 4.0, "log1p");
                within(share, x / (1.0 + x), 4.0, "share");
                if x < 1.0 {
                    within(neg_ln_1m(x), -(-x).ln_1p(), 6.0, "log(1 − v)");
                }
            }
            let u = t as f32;
            if 0 < i {
                for u in [u, u.powi(5)] {
                    let (found, expected) = (f64::from(single::neg_ln_unit(u)), -f64::from(u).ln());
                    assert!((found - expected).abs() <= 3e-7 * expected.max(1e-1), "{found} instead of {expected}");
                }
            }
            let (c, s) = single::cos_sin_turn(u);
            let turn = std::f64::consts::TAU * f64::from(u);
            let error = (f64::from(c) - turn.cos()).abs().max((f64::from(s) - turn.sin()).abs());
            assert!(error < 1e-6, "{error} at {t}");
        }
        assert_eq!((exp_neg(0.0), ln_1p_and_share(0.0), single::neg_ln_unit(1.0)), (1.0, (0.0, 0.0), 0.0));
        assert_eq!(exp_neg(f64::INFINITY), exp_neg(708.0));
    }

    /// Without fused multiply-add instructions, a call does the same.
    #[test]
    fn results_are_bit_identical_with_and_without_simd() {
        for i in 0..20_000 {
            let a = f64::from(i) * 0.003_7;
            let x = (f64::from(i) / 20_000.0).powi(3);
            let narrow = (exp_neg(a), ln_1p_and_share(x));
            let wide = dispatch(
                #[inline(always)]
                move || (exp_neg(a), ln_1p_and_share(x)),
            );
            assert_eq!(wide, narrow, "{a} {x}");
        }
    }
}
