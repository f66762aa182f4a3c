//! Estimates from adaptively requested labels: unbiased, with valid intervals.

mod laws;
mod loss_matrix;
#[path = "../common/record.rs"]
mod record;
mod runs;
mod stop;
mod random_twin;
mod world;
