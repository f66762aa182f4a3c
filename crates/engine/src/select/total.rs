//! An exact sum: independent of order, and subtracting a number undoes its addition exactly.

/// The number of exponents that share a slot; a slot then has 43 bits left for carries, enough for 10¹² numbers.
const SHARED: u32 = 32;
const SLOTS: usize = 64;

/// The exact sum of finite nonnegative numbers.
///
/// The exponent of a number selects one of 64 integers of 128 bits, to which its 53-bit significand is added at its
/// position. Carries are propagated only when the sum is requested.
#[derive(Clone, Debug)]
pub struct ExactTotal {
    slots: Box<[i128; SLOTS]>,
}

impl Default for ExactTotal {
    fn default() -> Self {
        Self { slots: Box::new([0; SLOTS]) }
    }
}

impl ExactTotal {
    /// Adds a number.
    #[inline]
    pub fn add(&mut self, value: f64) {
        let (slot, amount) = locate(value);
        self.slots[slot] += amount;
    }

    /// Subtracts a number that was added before.
    pub fn subtract(&mut self, value: f64) {
        let (slot, amount) = locate(value);
        self.slots[slot] -= amount;
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: &Self) {
        for (slot, more) in self.slots.iter_mut().zip(other.slots.iter()) {
            *slot += more;
        }
    }

    /// Returns the sum, rounded once.
    pub fn value(&self) -> f64 {
        let digits = self.digits();
        let Some(top) = digits.iter().rposition(|digit| *digit != 0) else { return 0.0 };
        let lowest = top.saturating_sub(2);
        let head = digits[lowest..=top].iter().rev().fold(0_u128, |head, digit| head << SHARED | u128::from(*digit));
        // The head has more than 64 bits, so that lower digits only break ties.
        let sticky = u128::from(digits[..lowest].iter().any(|digit| *digit != 0));
        scaled((head | sticky) as f64, (SHARED * lowest as u32).cast_signed() - 1074)
    }

    /// Returns the digits of the sum in base 2³², lowest first, in units of 2⁻¹⁰⁷⁴.
    pub(super) fn digits(&self) -> Vec<u32> {
        let mut carry = 0_i128;
        let mut digits = Vec::with_capacity(SLOTS + 4);
        for slot in self.slots.iter().copied().chain([0; 4]) {
            let sum = slot + carry;
            digits.push(sum as u32);
            carry = sum >> SHARED;
        }
        digits
    }

    /// Creates the sum with these digits; returns `None` if there are too many.
    pub(super) fn from_digits(digits: &[u32]) -> Option<Self> {
        let mut total = Self::default();
        for (position, digit) in digits.iter().enumerate().filter(|(_, digit)| **digit != 0) {
            // Digits above the last slot are stored in it, shifted.
            let (slot, shift) = (position.min(SLOTS - 1), SHARED as usize * position.saturating_sub(SLOTS - 1));
            if 64 < shift {
                return None;
            }
            total.slots[slot] += i128::from(*digit) << shift;
        }
        Some(total)
    }
}

/// Returns the slot of a number and the amount to add there.
#[inline]
fn locate(value: f64) -> (usize, i128) {
    let bits = value.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as u32;
    let fraction = bits & ((1 << 52) - 1);
    // Subnormal numbers have no leading 1, and their exponent counts as 1.
    let normal = u32::from(exponent != 0);
    let power = exponent - normal;
    (((power / SHARED) as usize) % SLOTS, i128::from(fraction | u64::from(normal) << 52) << (power % SHARED))
}

/// Returns value·2^power, for results that represent the bits of `value` exactly.
fn scaled(value: f64, power: i32) -> f64 {
    let half = power / 2;
    value * 2_f64.powi(half) * 2_f64.powi(power - half)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coin::Coin;

    fn of(values: &[f64]) -> ExactTotal {
        let mut total = ExactTotal::default();
        for value in values {
            total.add(*value);
        }
        total
    }

    #[test]
    fn the_sum_of_one_number_is_that_number() {
        let coin = Coin::new(1, "total");
        let some = (0..20_000).map(|at| f64::from_bits(coin.bits(at) >> 1)).filter(|value| value.is_finite());
        for value in some.chain([0.0, 1.0, f64::MAX, f64::MIN_POSITIVE, 5e-324, 1e-310]) {
            assert_eq!(of(&[value]).value().to_bits(), value.to_bits(), "{value:e}");
        }
    }

    /// Multiples of 2⁻⁸⁰ add up exactly in 128 bits.
    #[test]
    fn sums_agree_with_integer_arithmetic() {
        let coin = Coin::new(2, "total");
        let values: Vec<f64> = (0..50_000).map(|at| coin.unit(at) * 0.5_f64.powi((at % 25) as i32)).collect();
        let quantum = 2_f64.powi(-80);
        let exact: u128 = values.iter().map(|value| (value / quantum) as u128).sum();
        let mut total = of(&values);
        assert_eq!(total.value(), exact as f64 * quantum);
        for value in &values[1..] {
            total.subtract(*value);
        }
        assert_eq!(total.value(), values[0]);
    }

    #[test]
    fn ties_round_to_even_unless_a_lower_bit_breaks_them() {
        let (unit, half) = (f64::EPSILON, 0.5 * f64::EPSILON);
        assert_eq!(of(&[1.0, half]).value(), 1.0);
        assert_eq!(of(&[1.0 + unit, half]).value(), 1.0 + 2.0 * unit);
        assert_eq!(of(&[1.0, half, 5e-324]).value(), 1.0 + unit);
        assert_eq!(of(&[1e300; 10]).value(), 1e301);
    }

    #[test]
    fn digits_round_trip() {
        for total in [of(&[]), of(&[0.3, 1e-300, 7e200]), of(&[f64::MAX; 5]), of(&[1.0; 1000])] {
            let back = ExactTotal::from_digits(&total.digits()).unwrap();
            assert_eq!(back.digits(), total.digits());
        }
        assert!(ExactTotal::from_digits(&[1; 70]).is_none());
    }
}
