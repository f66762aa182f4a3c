//! Active learners that take features and answer "skip" or "ask", without input or output of their own.
//!
//! A driver supplies observations and labels. Learners do no IO, read no clock, and take all randomness from
//! [`coin::Coin`], a function of (seed, purpose, time). So a run can be resumed, replayed, split into blocks and spread
//! over threads with bit-identical results.

pub mod name;
pub mod coin;
pub mod exact;
pub mod stats;
pub mod index;
pub mod narrow;
pub mod linear;
pub mod task;
pub mod rule;
pub mod optimizer;
pub mod step;
mod weights;
pub mod fit;
pub mod forest;
pub mod model_kind;
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

// Modules of this crate name rows and their features as `crate::rows::Row` and `crate::features::Features`.
use querist_rows::{self as rows, digest, elementary, features, fnv, numbers, simd};

/// Sets the number of threads that passes over a pool use. Only the first call has an effect. Results do not depend on
/// it.
pub fn set_threads(threads: usize) {
    // An error means that the number is already set. It only changes speed, so the first one stays.
    let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
}
