//! Estimates from adaptively requested labels: unbiased, with valid intervals.

mod laws;
mod loss_matrix;
mod missing_rows;
#[path = "../common/record.rs"]
mod record;
mod random_twin;
mod regression;
mod runs;
mod sampled_pool;
mod score_tests;
mod stop;
mod world;
