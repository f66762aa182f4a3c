//! The scale of a rule in units of the pool, from a sample that does not depend on the order of reading.

use super::RowIds;
use crate::coin::Coin;
use crate::rule::Relative;

/// The number of rows in the sample.
const SAMPLE: usize = 1 << 14;

/// The score gaps of a random sample: the rows whose ids have the lowest hashes.
#[derive(Clone, Debug)]
pub struct ScaleSample {
    coin: Coin,
    kept: Vec<(u64, f64)>,
    bound: u64,
}

impl Default for ScaleSample {
    fn default() -> Self {
        Self { coin: Coin::new(0, "scale"), kept: vec![], bound: u64::MAX }
    }
}

impl ScaleSample {
    /// Adds rows with their scores, `outputs` numbers per row.
    pub fn offer(&mut self, ids: &RowIds<'_>, scores: &[f64], outputs: usize) {
        for (row, scores) in scores.chunks_exact(outputs).enumerate() {
            let bits = self.coin.bits(ids.get(row).bits());
            if bits <= self.bound {
                self.kept.push((bits, Relative::gap(scores)));
                self.trim(2 * SAMPLE);
            }
        }
    }

    fn trim(&mut self, most: usize) {
        if SAMPLE < self.kept.len() && most <= self.kept.len() {
            self.kept.select_nth_unstable_by(SAMPLE - 1, order);
            self.kept.truncate(SAMPLE);
            self.bound = self.kept[SAMPLE - 1].0;
        }
    }

    /// Merges the rows of another part of the pool.
    pub fn merge(&mut self, other: Self) {
        self.kept.extend(other.kept);
        self.trim(0);
    }

    /// Sets the scale of a rule; returns `false` if the sample is empty.
    pub fn settle(mut self, rule: &mut Relative) -> bool {
        self.trim(0);
        self.kept.sort_unstable_by(order);
        let gaps: Vec<f64> = self.kept.iter().map(|(_, gap)| *gap).collect();
        if !gaps.is_empty() {
            rule.settle(&gaps, 1, 0);
        }
        !gaps.is_empty()
    }

    /// Serializes the sample, for another machine.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.kept.iter().flat_map(|(bits, gap)| [bits.to_le_bytes(), gap.to_le_bytes()]).flatten().collect()
    }

    /// Deserializes a sample; returns `None` if the bytes are not one.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (words, []) = bytes.as_chunks::<8>() else { return None };
        let (pairs, []) = words.as_chunks::<2>() else { return None };
        let pair = |[bits, gap]: &[[u8; 8]; 2]| (u64::from_le_bytes(*bits), f64::from_le_bytes(*gap));
        Some(Self { kept: pairs.iter().map(pair).collect(), ..Self::default() })
    }
}

fn order(a: &(u64, f64), b: &(u64, f64)) -> std::cmp::Ordering {
    a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
}
