//! Fuzzes `json`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| querist_fuzz::json::run(data));
