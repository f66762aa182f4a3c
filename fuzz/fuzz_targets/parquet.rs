//! Fuzzes `parquet`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| querist_fuzz::columnar::parquet(data));
