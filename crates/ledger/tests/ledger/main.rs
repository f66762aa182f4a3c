//! The guarantees of a ledger: every bit is read back, no acknowledged event is lost, and every fault is reported.

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
