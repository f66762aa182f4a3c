//! A multiset of numbers that finds its first element missing from a sub-multiset in logarithmic time.

use std::collections::HashMap;

/// The number of children of a node; a level resolves [`BITS`] bits of a number.
const CHILDREN: usize = 1 << BITS;
const BITS: u32 = 4;

/// A multiset of numbers, stored as counts over aligned ranges: level 0 counts single numbers, and each level above
/// counts ranges [`CHILDREN`] times as wide. Only nonempty ranges take memory.
#[derive(Debug, Default, PartialEq)]
pub(super) struct CountTree {
    levels: Vec<HashMap<u64, [u32; CHILDREN]>>,
    len: usize,
}

impl CountTree {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Adds one copy of a number.
    pub(super) fn add(&mut self, number: u64) {
        while self.is_beyond(number) {
            // All existing numbers lie in the first child of the new root.
            let mut root = [0; CHILDREN];
            root[0] = self.len as u32;
            let level = if self.len == 0 { HashMap::new() } else { HashMap::from([(0, root)]) };
            self.levels.push(level);
        }
        self.len += 1;
        for (level, nodes) in self.levels.iter_mut().enumerate() {
            visit();
            let (node, child) = position(number, level);
            nodes.entry(node).or_default()[child] += 1;
        }
    }

    /// Removes one copy of a number, which must be in the multiset.
    pub(super) fn remove(&mut self, number: u64) {
        self.len -= 1;
        for (level, nodes) in self.levels.iter_mut().enumerate() {
            visit();
            let (node, child) = position(number, level);
            let Some(counts) = nodes.get_mut(&node) else {
                debug_assert!(false, "{number} is not in the tree");
                continue;
            };
            counts[child] -= 1;
            if counts.iter().all(|count| *count == 0) {
                nodes.remove(&node);
            }
        }
    }

    /// Returns the smallest number of which `part` has fewer copies. No number may be in `part` more often than here.
    pub(super) fn first_beyond(&self, part: Option<&Self>) -> Option<u64> {
        if self.len <= part.map_or(0, Self::len) {
            return None;
        }
        let mut node = 0;
        for level in (0..self.levels.len()).rev() {
            visit();
            let counts = self.counts(level, node);
            let excluded = part.map_or([0; CHILDREN], |part| part.counts(level, node));
            let child = (0..CHILDREN).find(|child| excluded[*child] < counts[*child])?;
            node = node << BITS | child as u64;
        }
        Some(node)
    }

    fn is_beyond(&self, number: u64) -> bool {
        let bits = BITS * self.levels.len() as u32;
        self.levels.is_empty() || (bits < u64::BITS && number >> bits != 0)
    }

    /// Returns the counts of a node's children. Above the root everything is in the first child.
    fn counts(&self, level: usize, node: u64) -> [u32; CHILDREN] {
        let mut counts = [0; CHILDREN];
        match self.levels.get(level) {
            Some(nodes) => counts = nodes.get(&node).copied().unwrap_or(counts),
            None if node == 0 => counts[0] = self.len as u32,
            None => {}
        }
        counts
    }
}

/// Returns the node of a number on a level, and its child within that node.
fn position(number: u64, level: usize) -> (u64, usize) {
    let range = number >> (BITS * level as u32);
    (range >> BITS, range as usize % CHILDREN)
}

/// Counts steps in tests.
#[cfg(not(test))]
pub(super) fn visit() {}

#[cfg(test)]
pub(super) use counted::{visit, visits};

#[cfg(test)]
mod counted {
    use std::cell::Cell;

    thread_local! {
        static VISITS: Cell<u64> = const { Cell::new(0) };
    }

    pub(in super::super) fn visit() {
        VISITS.set(VISITS.get() + 1);
    }

    /// Returns the number of steps this thread has taken.
    pub(in super::super) fn visits() -> u64 {
        VISITS.get()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::coin::Coin;

    /// Compares with sorted maps, for numbers of all magnitudes.
    #[test]
    fn first_beyond_agrees_with_sorted_maps() {
        let coin = Coin::new(5, "count tree");
        for round in 0..40_u64 {
            let (mut whole, mut part) = (CountTree::default(), CountTree::default());
            let (mut sorted, mut taken) = (BTreeMap::<u64, usize>::new(), BTreeMap::<u64, usize>::new());
            for step in 0..300 {
                let at = 4 * (1000 * round + step);
                let number = (coin.below(at, 1 << 20) as u64) << coin.below(at + 1, 45) >> coin.below(at + 2, 20);
                let known: Vec<u64> = sorted.keys().copied().collect();
                let old = known.get(coin.below(at + 3, known.len().max(1))).copied();
                match (step % 4, old) {
                    (0 | 1, _) | (_, None) => {
                        whole.add(number);
                        *sorted.entry(number).or_default() += 1;
                    }
                    (2, Some(old)) if taken.get(&old) < sorted.get(&old) => {
                        part.add(old);
                        *taken.entry(old).or_default() += 1;
                    }
                    (_, Some(old)) => {
                        if taken.get(&old) == sorted.get(&old) {
                            part.remove(old);
                            *taken.get_mut(&old).unwrap() -= 1;
                        }
                        whole.remove(old);
                        *sorted.get_mut(&old).unwrap() -= 1;
                        sorted.retain(|_, count| 0 < *count);
                        taken.retain(|_, count| 0 < *count);
                    }
                }
                let mut beyond =
                    sorted.iter().filter(|(number, count)| taken.get(number).is_none_or(|taken| taken < count));
                assert_eq!(whole.first_beyond(Some(&part)), beyond.next().map(|(number, _)| *number));
                assert_eq!(whole.first_beyond(None), sorted.keys().next().copied());
                assert_eq!((whole.len(), part.len()), (sorted.values().sum(), taken.values().sum()));
            }
        }
    }
}
