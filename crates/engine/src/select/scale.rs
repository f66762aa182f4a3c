//! The scale of a rule in units of the pool, from rows that are the same whatever the order of reading.

use super::Ids;
use crate::coin::Coin;
use crate::rule::Relative;

/// So many rows say how near the border a pool lies.
const SAMPLE: usize = 1 << 14;

/// The gaps of rows at random: those whose ids hash lowest.
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
    /// Takes rows with their scores, so many numbers a row.
    pub fn offer(&mut self, ids: &Ids<'_>, scores: &[f64], outputs: usize) {
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

    /// Adds the rows of another part of the pool.
    pub fn merge(&mut self, other: Self) {
        self.kept.extend(other.kept);
        self.trim(0);
    }

    /// Gives its scale to a rule; false where there were no rows to take it from.
    pub fn settle(mut self, rule: &mut Relative) -> bool {
        self.trim(0);
        self.kept.sort_unstable_by(order);
        let gaps: Vec<f64> = self.kept.iter().map(|(_, gap)| *gap).collect();
        if !gaps.is_empty() {
            rule.settle(&gaps, 1, 0);
        }
        !gaps.is_empty()
    }

    /// As bytes, for another machine.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.kept.iter().flat_map(|(bits, gap)| [bits.to_le_bytes(), gap.to_le_bytes()]).flatten().collect()
    }

    /// The sample these bytes are of; `None` when they are of none.
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
