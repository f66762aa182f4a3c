//! Numbers from labels asked for adaptively: unbiased, with intervals that keep their word.

mod laws;
mod possible;
mod runs;
mod stop;
mod twin;
mod world;
