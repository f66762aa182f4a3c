//! Rows of features, which file readers produce and learners consume.
//!
//! Values are stored as `f32` and summed as `f64` in eight lanes of a fixed order, so results have the same bits on
//! every machine. This crate does no IO and depends on no other crate of the workspace.

pub mod numbers;
mod rows;
pub mod features;
pub mod digest;
pub mod fnv;
pub mod simd;
pub mod elementary;
pub mod kernel;

pub use digest::Digest;
pub use features::Features;
pub use fnv::Fnv;
pub use numbers::Numbers;
pub use rows::{DenseRows, Row, Rows, Sparse, SparsePart, SparseRows, rise};
