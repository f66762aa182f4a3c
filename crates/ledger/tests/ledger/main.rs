//! What a ledger promises: every bit comes back, nothing acknowledged is lost, and what is wrong is said.

mod support;
mod round_trip;
mod fault;
mod crash;
mod damage;
mod documented;
mod journal;
mod enumeration;
mod lock;
mod replaced;
mod writer;
mod legacy;
