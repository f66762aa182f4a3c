//! An exact sum: the same in any order, and what is taken away again leaves no trace.

/// How many powers of two share a slot; a slot then has 43 bits left for carries, enough for 10¹² numbers.
const SHARED: u32 = 32;
const SLOTS: usize = 64;

/// The exact sum of finite numbers that are not negative.
///
/// The significand of a number, 53 bits, is added in its place within one of 64 whole numbers of 128 bits, which one its
/// exponent says; carries wait until the sum is asked for.
#[derive(Clone, Debug)]
pub struct Total {
    slots: Box<[i128; SLOTS]>,
}

impl Default for Total {
    fn default() -> Self {
        Self { slots: Box::new([0; SLOTS]) }
    }
}

impl Total {
    /// Adds a number.
    #[inline]
    pub fn add(&mut self, value: f64) {
        let (slot, amount) = placed(value);
        self.slots[slot] += amount;
    }

    /// Takes away a number that was added before.
    pub fn subtract(&mut self, value: f64) {
        let (slot, amount) = placed(value);
        self.slots[slot] -= amount;
    }

    /// Adds all of another sum.
    pub fn merge(&mut self, other: &Self) {
        for (slot, more) in self.slots.iter_mut().zip(other.slots.iter()) {
            *slot += more;
        }
    }

    /// The sum, rounded once.
    pub fn value(&self) -> f64 {
        let digits = self.digits();
        let Some(top) = digits.iter().rposition(|digit| *digit != 0) else { return 0.0 };
        let lowest = top.saturating_sub(2);
        let head = digits[lowest..=top].iter().rev().fold(0_u128, |head, digit| head << SHARED | u128::from(*digit));
        // More than 64 bits are in the head, so whatever is below only breaks ties.
        let sticky = u128::from(digits[..lowest].iter().any(|digit| *digit != 0));
        scaled((head | sticky) as f64, (SHARED * lowest as u32).cast_signed() - 1074)
    }

    /// The sum in whole numbers of 32 bits, the lowest first, in units of 2⁻¹⁰⁷⁴.
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

    /// The sum with these digits; `None` where there are too many.
    pub(super) fn from_digits(digits: &[u32]) -> Option<Self> {
        let mut total = Self::default();
        for (place, digit) in digits.iter().enumerate().filter(|(_, digit)| **digit != 0) {
            // What is above the last slot stands in it, further up.
            let (slot, shift) = (place.min(SLOTS - 1), SHARED as usize * place.saturating_sub(SLOTS - 1));
            if 64 < shift {
                return None;
            }
            total.slots[slot] += i128::from(*digit) << shift;
        }
        Some(total)
    }
}

/// The slot of a number and what it adds there.
#[inline]
fn placed(value: f64) -> (usize, i128) {
    let bits = value.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as u32;
    let fraction = bits & ((1 << 52) - 1);
    // Below the smallest normal number there is no leading 1, and the exponent stays.
    let normal = u32::from(exponent != 0);
    let power = exponent - normal;
    (((power / SHARED) as usize) % SLOTS, i128::from(fraction | u64::from(normal) << 52) << (power % SHARED))
}

/// value·2^power, where the result is a number that value's bits fit into.
fn scaled(value: f64, power: i32) -> f64 {
    let half = power / 2;
    value * 2_f64.powi(half) * 2_f64.powi(power - half)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coin::Coin;

    fn of(values: &[f64]) -> Total {
        let mut total = Total::default();
        for value in values {
            total.add(*value);
        }
        total
    }

    #[test]
    fn single_numbers_come_back() {
        let coin = Coin::new(1, "total");
        let some = (0..20_000).map(|at| f64::from_bits(coin.bits(at) >> 1)).filter(|value| value.is_finite());
        for value in some.chain([0.0, 1.0, f64::MAX, f64::MIN_POSITIVE, 5e-324, 1e-310]) {
            assert_eq!(of(&[value]).value().to_bits(), value.to_bits(), "{value:e}");
        }
    }

    /// Whole numbers of quanta of 2⁻⁸⁰ add up exactly in 128 bits.
    #[test]
    fn sums_are_those_of_whole_numbers() {
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
    fn ties_go_to_even_and_the_least_bit_breaks_them() {
        let (unit, half) = (f64::EPSILON, 0.5 * f64::EPSILON);
        assert_eq!(of(&[1.0, half]).value(), 1.0);
        assert_eq!(of(&[1.0 + unit, half]).value(), 1.0 + 2.0 * unit);
        assert_eq!(of(&[1.0, half, 5e-324]).value(), 1.0 + unit);
        assert_eq!(of(&[1e300; 10]).value(), 1e301);
    }

    #[test]
    fn digits_go_there_and_back() {
        for total in [of(&[]), of(&[0.3, 1e-300, 7e200]), of(&[f64::MAX; 5]), of(&[1.0; 1000])] {
            let back = Total::from_digits(&total.digits()).unwrap();
            assert_eq!(back.digits(), total.digits());
        }
        assert!(Total::from_digits(&[1; 70]).is_none());
    }
}
