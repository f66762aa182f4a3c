//! Fuzzes `compressed`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| querist_fuzz::compressed::run(data));
