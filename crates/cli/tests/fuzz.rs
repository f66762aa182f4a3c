//! Replays the corpus of the fuzz targets, so that bugs found by a fuzzer stay fixed.

use std::collections::BTreeSet;
use std::fs;
use std::panic;
use std::path::{Path, PathBuf};

/// The bodies of the targets.
#[path = "../../../fuzz/src/lib.rs"]
pub mod targets;

use targets::TARGETS;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// Returns the names in a folder, sorted.
fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn every_input_of_the_corpus_passes() {
    let mut failed = vec![];
    for (target, run) in TARGETS {
        let corpus = folder().join("corpus").join(target);
        for name in names(&corpus) {
            let bytes = fs::read(corpus.join(&name)).unwrap();
            if panic::catch_unwind(|| run(&bytes)).is_err() {
                failed.push(format!("{target}/{name}"));
            }
        }
    }
    assert!(failed.is_empty(), "of fuzz/corpus: {}", failed.join(", "));
}

#[test]
fn every_target_has_a_program_and_a_corpus() {
    let targets: BTreeSet<String> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(names(&folder().join("corpus")), targets);
    let programs = names(&folder().join("fuzz_targets"));
    assert_eq!(programs, targets.iter().map(|name| format!("{name}.rs")).collect());
    let manifest = fs::read_to_string(folder().join("Cargo.toml")).unwrap();
    for target in &targets {
        assert!(manifest.contains(&format!("name = \"{target}\"")), "{target} is not in fuzz/Cargo.toml");
        assert!(1 < names(&folder().join("corpus").join(target)).len(), "{target} has no corpus");
    }
}
