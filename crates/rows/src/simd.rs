//! SIMD: loops compiled once for each instruction set, and arithmetic on vectors of eight `f64`.
//!
//! Every instruction set gives the same bits. Nothing here reorders sums, and a·b + c is rounded once only where the code calls
//! `mul_add`: by one instruction where there is one, by a function call elsewhere. So the choice at run time affects speed alone.

// These functions are bodies of dispatched loops.
#![allow(clippy::inline_always)]

use std::sync::LazyLock;

pub use pulp::Arch;

use crate::features::sum;

/// The widest instruction set of this machine, detected once.
pub static ARCH: LazyLock<Arch> = LazyLock::new(Arch::new);

/// Runs a loop with the widest registers of this machine.
///
/// The closure must be `#[inline(always)] move`, and so must be everything it calls. Code that is not inlined stays narrow, and
/// the compiler must assume that the loop itself changes what the closure only borrows.
#[inline]
pub fn dispatch<R>(work: impl FnOnce() -> R) -> R {
    ARCH.dispatch(work)
}

/// Below this length wide registers do not pay for the call.
const SHORT: usize = 24;

/// Runs a loop over `len` numbers like [`dispatch`], where that pays.
#[inline(always)]
pub fn wide<R>(len: usize, work: impl FnOnce() -> R) -> R {
    if len < SHORT { work() } else { dispatch(work) }
}

/// Evaluates an expression with a name bound to the widest instruction set of this machine: `V4`, `V3` or [`Scalar`].
///
/// Use it where a loop names its instructions. Every function in the expression must be `#[inline(always)]`.
#[macro_export]
macro_rules! with_widest_simd {
    (|$simd:ident| $work:expr) => {
        match *$crate::simd::ARCH {
            #[cfg(target_arch = "x86_64")]
            $crate::simd::Arch::V4($simd) => $simd.vectorize(
                #[inline(always)]
                || $work,
            ),
            #[cfg(target_arch = "x86_64")]
            $crate::simd::Arch::V3($simd) => $simd.vectorize(
                #[inline(always)]
                || $work,
            ),
            _ => {
                let $simd = $crate::simd::Scalar;
                $work
            }
        }
    };
}

/// The instruction set that every machine has.
#[derive(Clone, Copy, Debug)]
pub struct Scalar;

/// The number of `f64` in a vector.
pub const LANES: usize = 8;

/// An instruction set with arithmetic on vectors of eight `f64`. The compiler left to itself chooses narrow registers.
pub trait Simd: Copy {
    /// Eight numbers.
    type Vector: Copy;

    /// Returns a vector of eight equal numbers.
    fn splat(self, value: f64) -> Self::Vector;

    /// Loads eight numbers.
    fn load(self, values: &[f64; LANES]) -> Self::Vector;

    /// Stores a vector into eight numbers.
    fn store(self, vector: Self::Vector, into: &mut [f64; LANES]);

    /// Converts single precision to double, with a mask applied to the bits of each number first.
    fn widen(self, values: &[f32; LANES], mask: &[u32; LANES]) -> Self::Vector;

    /// Returns a + b, lane by lane.
    fn add(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// Returns a·b, lane by lane.
    fn multiply(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// Returns a·b + c, rounded once.
    fn multiply_add(self, a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;

    /// Adds the eight lanes, in the order of [`sum`].
    fn sum(self, vector: Self::Vector) -> f64;
}

impl Simd for Scalar {
    type Vector = [f64; LANES];

    #[inline(always)]
    fn splat(self, value: f64) -> [f64; LANES] {
        [value; LANES]
    }

    #[inline(always)]
    fn load(self, values: &[f64; LANES]) -> [f64; LANES] {
        *values
    }

    #[inline(always)]
    fn store(self, vector: [f64; LANES], into: &mut [f64; LANES]) {
        *into = vector;
    }

    #[inline(always)]
    fn widen(self, values: &[f32; LANES], mask: &[u32; LANES]) -> [f64; LANES] {
        std::array::from_fn(|lane| f64::from(f32::from_bits(values[lane].to_bits() & mask[lane])))
    }

    #[inline(always)]
    fn add(self, a: [f64; LANES], b: [f64; LANES]) -> [f64; LANES] {
        std::array::from_fn(|lane| a[lane] + b[lane])
    }

    #[inline(always)]
    fn multiply(self, a: [f64; LANES], b: [f64; LANES]) -> [f64; LANES] {
        std::array::from_fn(|lane| a[lane] * b[lane])
    }

    #[inline(always)]
    fn multiply_add(self, a: [f64; LANES], b: [f64; LANES], c: [f64; LANES]) -> [f64; LANES] {
        std::array::from_fn(|lane| a[lane].mul_add(b[lane], c[lane]))
    }

    #[inline(always)]
    fn sum(self, vector: [f64; LANES]) -> f64 {
        sum(vector)
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use pulp::x86::{V3, V4};
    use pulp::{cast, f32x4, f32x8, f64x2, f64x4, f64x8};

    use super::{LANES, Simd};

    impl Simd for V4 {
        type Vector = f64x8;

        #[inline(always)]
        fn splat(self, value: f64) -> f64x8 {
            self.splat_f64x8(value)
        }

        #[inline(always)]
        fn load(self, values: &[f64; LANES]) -> f64x8 {
            cast(*values)
        }

        #[inline(always)]
        fn store(self, vector: f64x8, into: &mut [f64; LANES]) {
            *into = cast(vector);
        }

        #[inline(always)]
        fn widen(self, values: &[f32; LANES], mask: &[u32; LANES]) -> f64x8 {
            let values: f32x8 = cast(*values);
            self.convert_f32x8_to_f64x8(self.and_f32x8(values, cast(*mask)))
        }

        #[inline(always)]
        fn add(self, a: f64x8, b: f64x8) -> f64x8 {
            self.add_f64x8(a, b)
        }

        #[inline(always)]
        fn multiply(self, a: f64x8, b: f64x8) -> f64x8 {
            self.mul_f64x8(a, b)
        }

        #[inline(always)]
        fn multiply_add(self, a: f64x8, b: f64x8, c: f64x8) -> f64x8 {
            self.mul_add_f64x8(a, b, c)
        }

        #[inline(always)]
        fn sum(self, vector: f64x8) -> f64 {
            Simd::sum(*self, cast::<f64x8, [f64x4; 2]>(vector))
        }
    }

    impl Simd for V3 {
        type Vector = [f64x4; 2];

        #[inline(always)]
        fn splat(self, value: f64) -> [f64x4; 2] {
            [self.splat_f64x4(value); 2]
        }

        #[inline(always)]
        fn load(self, values: &[f64; LANES]) -> [f64x4; 2] {
            cast(*values)
        }

        #[inline(always)]
        fn store(self, vector: [f64x4; 2], into: &mut [f64; LANES]) {
            *into = cast(vector);
        }

        #[inline(always)]
        fn widen(self, values: &[f32; LANES], mask: &[u32; LANES]) -> [f64x4; 2] {
            let values: f32x8 = cast(*values);
            let [low, high]: [f32x4; 2] = cast(self.and_f32x8(values, cast(*mask)));
            [self.convert_f32x4_to_f64x4(low), self.convert_f32x4_to_f64x4(high)]
        }

        #[inline(always)]
        fn add(self, [a, b]: [f64x4; 2], [c, d]: [f64x4; 2]) -> [f64x4; 2] {
            [self.add_f64x4(a, c), self.add_f64x4(b, d)]
        }

        #[inline(always)]
        fn multiply(self, [a, b]: [f64x4; 2], [c, d]: [f64x4; 2]) -> [f64x4; 2] {
            [self.mul_f64x4(a, c), self.mul_f64x4(b, d)]
        }

        #[inline(always)]
        fn multiply_add(self, [a, b]: [f64x4; 2], [c, d]: [f64x4; 2], [e, f]: [f64x4; 2]) -> [f64x4; 2] {
            [self.mul_add_f64x4(a, c, e), self.mul_add_f64x4(b, d, f)]
        }

        #[inline(always)]
        fn sum(self, [low, high]: [f64x4; 2]) -> f64 {
            let [low, high]: [f64x2; 2] = cast(self.add_f64x4(low, high));
            let f64x2(even, odd) = self.add_f64x2(low, high);
            even + odd
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Applies each operation once and returns the bits of the results.
    #[inline(always)]
    fn sample<S: Simd>(simd: S, values: &[f32; LANES], mask: &[u32; LANES]) -> [u64; 2 + LANES] {
        let x = simd.widen(values, mask);
        let y = simd.add(simd.multiply(x, simd.load(&[0.1; LANES])), simd.splat(1e-7));
        let y = simd.multiply_add(x, simd.splat(0.3), y);
        let mut stored = [0.0; LANES];
        simd.store(y, &mut stored);
        let mut bits = [0; 2 + LANES];
        let results = [simd.sum(x), simd.sum(y)].into_iter().chain(stored);
        bits.iter_mut().zip(results).for_each(|(bits, result)| *bits = result.to_bits());
        bits
    }

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        for i in 0..1000_u16 {
            let values = std::array::from_fn(|lane| (f32::from(i) * 0.37 + lane as f32 * 1.71).sin() * 1e3);
            let mask = std::array::from_fn(|lane| if lane < usize::from(i % 9) { u32::MAX } else { 0 });
            let scalar = sample(Scalar, &values, &mask);
            assert_eq!(with_widest_simd!(|simd| sample(simd, &values, &mask)), scalar);
            #[cfg(target_arch = "x86_64")]
            if let Some(simd) = pulp::x86::V3::try_new() {
                assert_eq!(simd.vectorize(move || sample(simd, &values, &mask)), scalar);
            }
        }
    }
}
