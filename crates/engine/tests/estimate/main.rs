//! Numbers from labels asked for adaptively: unbiased, with intervals that keep their word.

mod laws;
mod possible;
#[path = "../common/record.rs"]
mod record;
mod runs;
mod stop;
mod twin;
mod world;
