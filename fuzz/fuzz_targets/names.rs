//! Fuzzes `names`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| querist_fuzz::names::run(data));
