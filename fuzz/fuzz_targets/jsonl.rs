//! Fuzzes `jsonl`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| querist_fuzz::jsonl::run(data));
