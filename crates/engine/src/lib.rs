//! Learners that are offered features and answer "skip" or "ask"; they never touch the world.
//!
//! A driver offers and answers: it knows where observations and labels come from. Learners do no IO, read no clock, and
//! take all chance from [`coin::Coin`], a function of (seed, purpose, time). So a run can be resumed, replayed, cut into
//! blocks and spread over threads, and ends in the same bits.

pub mod numbers;
pub mod rows;
pub mod features;
pub mod coin;
pub mod digest;
pub mod exact;
pub mod elementary;
pub mod simd;
pub mod index;
pub mod narrow;
pub mod linear;
pub mod task;
pub mod rule;
pub mod optimizer;
pub mod step;
mod weights;
pub mod fit;
pub mod learner;
mod state;
pub mod settings;
pub mod stream;
pub mod pool;
pub mod select;
pub mod scorer;
pub mod compare;
pub mod synthetic;
pub mod estimate;
pub mod stop;
pub mod session;

/// How many threads passes over a pool may use; the first call counts. Results do not depend on it.
pub fn set_threads(threads: usize) {
    // Set already: the number changes speed alone, so the first one stays.
    let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
}
