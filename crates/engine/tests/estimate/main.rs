//! Estimates from adaptively requested labels: unbiased, with valid intervals.

mod laws;
mod possible;
#[path = "../common/record.rs"]
mod record;
mod runs;
mod stop;
mod twin;
mod world;
