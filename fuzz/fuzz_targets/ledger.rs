//! Fuzzes `ledger`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| querist_fuzz::ledger::run(data));
