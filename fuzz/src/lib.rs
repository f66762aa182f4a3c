//! Fuzz targets for everything that reads bytes from outside.
//!
//! A target is a function of bytes that panics when a property is violated. This library knows no fuzzer:
//! `fuzz_targets/` feeds it from libFuzzer, and `crates/cli/tests/fuzz.rs` replays `corpus/` as an ordinary test.

pub mod columnar;
pub mod compressed;
pub mod csv;
pub mod expression;
pub mod files;
pub mod http;
pub mod json;
pub mod jsonl;
pub mod ledger;
pub mod loading;
pub mod model;
pub mod names;
pub mod reading;
pub mod reference;
pub mod selection;
pub mod settings;
pub mod svmlight;
pub mod vw;

/// A target by name; its corpus is the folder of that name.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: &[Target] = &[
    ("arrow", columnar::arrow),
    ("compressed", compressed::run),
    ("csv", csv::run),
    ("expression", expression::run),
    ("http", http::run),
    ("json", json::run),
    ("jsonl", jsonl::run),
    ("kinks", expression::kinks),
    ("ledger", ledger::run),
    ("model", model::run),
    ("names", names::run),
    ("npy", columnar::npy),
    ("npz", columnar::npz),
    ("parquet", columnar::parquet),
    ("selection", selection::run),
    ("svmlight", svmlight::run),
    ("vw", vw::run),
    ("xlsx", columnar::xlsx),
];
