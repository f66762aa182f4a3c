//! Exact sums and products of doubles, stored as sums of non-overlapping doubles (Shewchuk 1997).
//!
//! Exact if no product underflows, that is for terms between about 1e-250 and 1e250.

use std::cmp::Ordering;

/// A real number that is a finite sum of doubles, stored in increasing magnitude without zeros.
#[derive(Clone, Debug, Default)]
pub struct Exact {
    parts: Vec<f64>,
}

impl From<f64> for Exact {
    fn from(value: f64) -> Self {
        Self { parts: if value == 0.0 { vec![] } else { vec![value] } }
    }
}

impl PartialEq for Exact {
    fn eq(&self, other: &Self) -> bool {
        self.minus(other).sign() == Ordering::Equal
    }
}

impl Exact {
    /// Compares the number with 0.
    pub fn sign(&self) -> Ordering {
        self.parts.last().map_or(Ordering::Equal, |largest| largest.total_cmp(&0.0))
    }

    /// Returns the nearest double, up to rounding in the last place.
    pub fn approximate(&self) -> f64 {
        self.parts.iter().sum()
    }

    /// Returns the exact sum.
    pub fn plus(&self, other: &Self) -> Self {
        other.parts.iter().fold(self.clone(), |sum, part| sum.plus_double(*part))
    }

    /// Returns the exact difference.
    pub fn minus(&self, other: &Self) -> Self {
        self.plus(&other.negated())
    }

    /// Returns the exact product with a double.
    pub fn times(&self, factor: f64) -> Self {
        self.parts.iter().fold(Self::default(), |sum, part| {
            let product = part * factor;
            sum.plus_double(part.mul_add(factor, -product)).plus_double(product)
        })
    }

    /// Returns the negative.
    pub fn negated(&self) -> Self {
        Self { parts: self.parts.iter().map(|part| -part).collect() }
    }

    /// Returns the smaller of two numbers.
    pub fn min(&self, other: &Self) -> Self {
        if self.minus(other).sign() == Ordering::Greater { other.clone() } else { self.clone() }
    }

    /// Adds a double, carrying the rounding error of each addition.
    fn plus_double(&self, value: f64) -> Self {
        let mut parts = Vec::with_capacity(self.parts.len() + 1);
        let mut carried = value;
        for part in &self.parts {
            let sum = carried + part;
            let of_part = sum - carried;
            let rounded_away = (carried - (sum - of_part)) + (part - of_part);
            if rounded_away != 0.0 {
                parts.push(rounded_away);
            }
            carried = sum;
        }
        if carried != 0.0 {
            parts.push(carried);
        }
        Self { parts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the value in units of 2⁻⁶⁰, exact for doubles of at least 2⁻⁸: an independent exact representation.
    fn scaled(value: f64) -> i128 {
        (value * 2_f64.powi(60)) as i128
    }

    #[test]
    fn sums_of_decimals_compare_with_one_exactly() {
        let mut below = 0;
        for i in 1..400_i32 {
            for j in 1..400_i32 {
                let terms = [f64::from(i + 4) / 1000.0, f64::from(j + 4) / 1000.0, f64::from(992 - i - j) / 1000.0];
                let sum = terms.iter().fold(Exact::from(-1.0), |sum, term| sum.plus(&Exact::from(*term)));
                let expected = terms.iter().map(|term| scaled(*term)).sum::<i128>().cmp(&scaled(1.0));
                assert_eq!(sum.sign(), expected, "{terms:?}");
                below += usize::from(expected == Ordering::Less);
            }
        }
        assert!(1000 < below, "{below}");
    }

    #[test]
    fn products_are_exact() {
        let tenth = Exact::from(0.1);
        let square = tenth.times(0.1);
        assert_eq!(square.minus(&Exact::from(0.1 * 0.1)).approximate(), 0.1_f64.mul_add(0.1, -(0.1 * 0.1)));
        assert_eq!(tenth.times(3.0).minus(&tenth).minus(&tenth), tenth);
        assert_eq!(tenth.times(0.0), Exact::default());
    }
}
