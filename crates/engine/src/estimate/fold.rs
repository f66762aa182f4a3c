//! Folds of items for cross-fitting.

use crate::coin::Coin;

/// Returns the fold of an item, below `folds`: a function of (seed, id), so every model knows what it may not see.
pub fn fold(seed: u64, id: u64, folds: usize) -> usize {
    Coin::new(seed, "fold").below(id, folds)
}
