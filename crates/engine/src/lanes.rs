//! Eight numbers at once in registers that are named, where the compiler left to itself takes narrow ones.
//!
//! The operations are the same on every machine, those that round once by a call where there is no instruction for it, so
//! the bits are, too.

// These are bodies of dispatched loops.
#![allow(clippy::inline_always)]

use crate::simd::ARCH;

pub(crate) use querist_rows::features::LANES;

/// A machine's way to do eight at once.
pub(crate) trait Eight: Copy {
    /// Eight numbers.
    type Numbers: Copy;

    fn splat(self, value: f64) -> Self::Numbers;

    fn load(self, values: &[f64; LANES]) -> Self::Numbers;

    fn store(self, numbers: Self::Numbers, into: &mut [f64; LANES]);

    /// Single precision, those without a mask's bits taken as 0.
    fn widen(self, values: &[f32; LANES], mask: &[u32; LANES]) -> Self::Numbers;

    /// Pairs in single precision: their first numbers and their second.
    fn split(self, pairs: &[[f32; 2]; LANES]) -> (Self::Numbers, Self::Numbers);

    /// Of eight numbers those at these places, each below eight.
    fn pick(self, from: &[f64; LANES], places: &[u16; LANES]) -> Self::Numbers;

    fn add(self, a: Self::Numbers, b: Self::Numbers) -> Self::Numbers;

    fn multiply(self, a: Self::Numbers, b: Self::Numbers) -> Self::Numbers;

    /// a·b + c, rounded once.
    fn multiply_add(self, a: Self::Numbers, b: Self::Numbers, c: Self::Numbers) -> Self::Numbers;

    /// The eight added, in the one order sums have everywhere.
    fn sum(self, numbers: Self::Numbers) -> f64;

    /// A bit for each that is not negative; what is no number is not.
    fn not_negative(self, numbers: Self::Numbers) -> u8;
}

/// Work in which numbers go by eights. `run` must be `#[inline(always)]`, and so must be all it calls.
pub(crate) trait Work {
    type Made;

    fn run<E: Eight>(self, eight: E) -> Self::Made;
}

/// Does some work in the widest registers there are.
#[inline]
pub(crate) fn by_eights<W: Work>(work: W) -> W::Made {
    match *ARCH {
        #[cfg(target_arch = "x86_64")]
        pulp::Arch::V4(simd) => simd.vectorize(
            #[inline(always)]
            move || work.run(simd),
        ),
        #[cfg(target_arch = "x86_64")]
        pulp::Arch::V3(simd) => simd.vectorize(
            #[inline(always)]
            move || work.run(simd),
        ),
        _ => work.run(Narrow),
    }
}

/// Any machine.
#[derive(Clone, Copy)]
struct Narrow;

impl Eight for Narrow {
    type Numbers = [f64; LANES];

    #[inline(always)]
    fn splat(self, value: f64) -> [f64; LANES] {
        [value; LANES]
    }

    #[inline(always)]
    fn load(self, values: &[f64; LANES]) -> [f64; LANES] {
        *values
    }

    #[inline(always)]
    fn store(self, numbers: [f64; LANES], into: &mut [f64; LANES]) {
        *into = numbers;
    }

    #[inline(always)]
    fn widen(self, values: &[f32; LANES], mask: &[u32; LANES]) -> [f64; LANES] {
        std::array::from_fn(|lane| f64::from(f32::from_bits(values[lane].to_bits() & mask[lane])))
    }

    #[inline(always)]
    fn split(self, pairs: &[[f32; 2]; LANES]) -> ([f64; LANES], [f64; LANES]) {
        (pairs.map(|[x, _]| x.into()), pairs.map(|[_, y]| y.into()))
    }

    #[inline(always)]
    fn pick(self, from: &[f64; LANES], places: &[u16; LANES]) -> [f64; LANES] {
        std::array::from_fn(|lane| from[places[lane] as usize % LANES])
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
    fn sum(self, numbers: [f64; LANES]) -> f64 {
        crate::features::sum(numbers)
    }

    #[inline(always)]
    fn not_negative(self, numbers: [f64; LANES]) -> u8 {
        (0..LANES).fold(0, |bits, lane| bits | u8::from(0.0 <= numbers[lane] || numbers[lane].is_nan()) << lane)
    }
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use pulp::x86::{V3, V4};
    use pulp::{cast, f32x4, f32x8, f64x2, f64x4, f64x8};

    use super::{Eight, LANES};

    impl Eight for V4 {
        type Numbers = f64x8;

        #[inline(always)]
        fn splat(self, value: f64) -> f64x8 {
            self.splat_f64x8(value)
        }

        #[inline(always)]
        fn load(self, values: &[f64; LANES]) -> f64x8 {
            cast(*values)
        }

        #[inline(always)]
        fn store(self, numbers: f64x8, into: &mut [f64; LANES]) {
            *into = cast(numbers);
        }

        #[inline(always)]
        fn widen(self, values: &[f32; LANES], mask: &[u32; LANES]) -> f64x8 {
            let values: f32x8 = cast(*values);
            self.convert_f32x8_to_f64x8(self.and_f32x8(values, cast(*mask)))
        }

        #[inline(always)]
        fn split(self, pairs: &[[f32; 2]; LANES]) -> (f64x8, f64x8) {
            const APART: [u32; 2 * LANES] = [0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15];
            let [x, y]: [f32x8; 2] = cast(self.avx512f._mm512_permutexvar_ps(cast(APART), cast(*pairs)));
            (self.convert_f32x8_to_f64x8(x), self.convert_f32x8_to_f64x8(y))
        }

        #[inline(always)]
        fn pick(self, from: &[f64; LANES], places: &[u16; LANES]) -> f64x8 {
            cast(self.avx512f._mm512_permutexvar_pd(self.avx512f._mm512_cvtepu16_epi64(cast(*places)), cast(*from)))
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
        fn sum(self, numbers: f64x8) -> f64 {
            Eight::sum(*self, cast::<f64x8, [f64x4; 2]>(numbers))
        }

        #[inline(always)]
        fn not_negative(self, numbers: f64x8) -> u8 {
            self.cmp_not_lt_f64x8(numbers, self.splat_f64x8(0.0)).0
        }
    }

    impl Eight for V3 {
        type Numbers = [f64x4; 2];

        #[inline(always)]
        fn splat(self, value: f64) -> [f64x4; 2] {
            [self.splat_f64x4(value); 2]
        }

        #[inline(always)]
        fn load(self, values: &[f64; LANES]) -> [f64x4; 2] {
            cast(*values)
        }

        #[inline(always)]
        fn store(self, numbers: [f64x4; 2], into: &mut [f64; LANES]) {
            *into = cast(numbers);
        }

        #[inline(always)]
        fn widen(self, values: &[f32; LANES], mask: &[u32; LANES]) -> [f64x4; 2] {
            let values: f32x8 = cast(*values);
            let [low, high]: [f32x4; 2] = cast(self.and_f32x8(values, cast(*mask)));
            [self.convert_f32x4_to_f64x4(low), self.convert_f32x4_to_f64x4(high)]
        }

        #[inline(always)]
        fn split(self, pairs: &[[f32; 2]; LANES]) -> ([f64x4; 2], [f64x4; 2]) {
            let [low, high]: [f32x8; 2] = cast(*pairs);
            let widen = |half: f32x8| {
                // x₀ x₁ y₀ y₁ x₂ x₃ y₂ y₃, then all x before all y.
                let nearer = self.avx._mm256_permute_ps::<0b1101_1000>(cast(half));
                let [x, y]: [f32x4; 2] = cast(self.avx2._mm256_permute4x64_pd::<0b1101_1000>(cast(nearer)));
                (self.convert_f32x4_to_f64x4(x), self.convert_f32x4_to_f64x4(y))
            };
            let ((x, y), (u, v)) = (widen(low), widen(high));
            ([x, u], [y, v])
        }

        #[inline(always)]
        fn pick(self, from: &[f64; LANES], places: &[u16; LANES]) -> [f64x4; 2] {
            cast(super::Narrow.pick(from, places))
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

        #[inline(always)]
        fn not_negative(self, [low, high]: [f64x4; 2]) -> u8 {
            let zero = self.splat_f64x4(0.0);
            let low = self.avx._mm256_movemask_pd(cast(self.cmp_not_lt_f64x4(low, zero)));
            let high = self.avx._mm256_movemask_pd(cast(self.cmp_not_lt_f64x4(high, zero)));
            (low | high << 4) as u8
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Some of each operation.
    #[derive(Clone, Copy)]
    struct Sample {
        values: [f32; LANES],
        mask: [u32; LANES],
        places: [u16; LANES],
    }

    impl Work for Sample {
        type Made = [u64; 3 + LANES];

        #[inline(always)]
        fn run<E: Eight>(self, eight: E) -> Self::Made {
            let x = eight.widen(&self.values, &self.mask);
            let y = eight.add(eight.multiply(x, eight.load(&[0.1; LANES])), eight.splat(1e-7));
            let y = eight.multiply_add(x, eight.splat(0.3), y);
            let pairs = std::array::from_fn(|lane| [self.values[lane], self.values[lane] - 7.0]);
            let (u, v) = eight.split(&pairs);
            let y = eight.add(eight.multiply(y, u), eight.multiply(x, v));
            let mut stored = [0.0; LANES];
            eight.store(y, &mut stored);
            let y = eight.pick(&stored, &self.places);
            let mut stored = [0.0; LANES];
            eight.store(y, &mut stored);
            let mut made = [0; 3 + LANES];
            let found = [eight.sum(x), eight.sum(y)].into_iter().chain(stored);
            made.iter_mut().zip(found).for_each(|(made, found)| *made = found.to_bits());
            made[2 + LANES] = eight.not_negative(x).into();
            made
        }
    }

    #[test]
    fn every_way_gives_the_same_bits() {
        for i in 0..1000_u16 {
            let values = std::array::from_fn(|lane| (f32::from(i) * 0.37 + lane as f32 * 1.71).sin() * 1e3);
            let mask = std::array::from_fn(|lane| if lane < usize::from(i % 9) { u32::MAX } else { 0 });
            let places = std::array::from_fn(|lane| (i >> lane) % LANES as u16);
            let sample = Sample { values, mask, places };
            let expected = (0..LANES).filter(|lane| mask[*lane] == 0 || values[*lane] >= 0.0);
            assert_eq!(sample.run(Narrow)[2 + LANES], expected.fold(0, |bits, lane| bits | 1 << lane));
            let narrow = sample.run(Narrow);
            assert_eq!(by_eights(sample), narrow);
            #[cfg(target_arch = "x86_64")]
            if let Some(simd) = pulp::x86::V3::try_new() {
                assert_eq!(simd.vectorize(move || sample.run(simd)), narrow);
            }
        }
    }

    /// Looks at the bits of numbers that are none, too.
    struct Signs([f64; LANES]);

    impl Work for Signs {
        type Made = u8;

        #[inline(always)]
        fn run<E: Eight>(self, eight: E) -> u8 {
            eight.not_negative(eight.load(&self.0))
        }
    }

    #[test]
    fn what_is_no_number_is_not_negative() {
        let numbers = [f64::NAN, -f64::NAN, -0.0, -1e-300, f64::NEG_INFINITY, f64::INFINITY, -1.0, 1.0];
        let bits = 0b1010_0111;
        assert_eq!((by_eights(Signs(numbers)), Signs(numbers).run(Narrow)), (bits, bits));
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = pulp::x86::V3::try_new() {
            assert_eq!(simd.vectorize(move || Signs(numbers).run(simd)), bits);
        }
    }
}
