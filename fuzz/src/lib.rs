//! Fuzz targets for all code that reads external bytes.
//!
//! A target is a function of bytes that panics if a property is violated. This library does not depend on a fuzzer:
//! `fuzz_targets/` calls it from libFuzzer, and `crates/cli/tests/fuzz.rs` replays `corpus/` as an ordinary test.

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

/// The name of a target, which is also the folder of its corpus, and its function.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
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
