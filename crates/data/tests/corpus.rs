//! Snapshots of a corpus of files: for each, the rows read from it or the exact error message.
//!
//! `corpus/verdicts.txt` holds a paragraph for each file: its name, options, and the verdict below.

mod common;

use std::collections::BTreeSet;
use std::path::PathBuf;

fn corpus() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

/// Returns the first lines of paragraphs, which are not indented.
fn headings(verdicts: &str) -> Vec<&str> {
    let first = |line: &&str| !line.is_empty() && !line.starts_with([' ', '#']);
    verdicts.lines().filter(first).collect()
}

#[test]
fn every_file_gets_its_verdict() {
    let expected = std::fs::read_to_string(corpus().join("verdicts.txt")).unwrap();
    let mut found: String = expected.lines().take_while(|line| line.starts_with('#')).collect::<Vec<_>>().join("\n");
    for heading in headings(&expected) {
        let (name, words) = heading.split_once(' ').unwrap_or((heading, ""));
        let verdict = common::verdict(&corpus(), name, words);
        found.push_str(&format!("\n\n{heading}"));
        verdict.lines().for_each(|line| found.push_str(&format!("\n  {line}")));
    }
    found.push('\n');
    let differ = expected.lines().zip(found.lines()).position(|(a, b)| a != b);
    let differ = differ.or((expected.lines().count() != found.lines().count()).then_some(0));
    if let Some(line) = differ {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("verdicts.txt");
        std::fs::write(&path, &found).unwrap();
        let (before, after) = (expected.lines().nth(line), found.lines().nth(line));
        panic!("line {}: {before:?} became {after:?}; all verdicts are in {}", line + 1, path.display());
    }
}

#[test]
fn every_file_is_listed() {
    let verdicts = std::fs::read_to_string(corpus().join("verdicts.txt")).unwrap();
    let names = |heading: &&str| heading.split(' ').next().unwrap_or_default().to_owned();
    let listed: BTreeSet<String> = headings(&verdicts).iter().map(names).collect();
    let files = std::fs::read_dir(corpus()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let files: BTreeSet<String> = files.filter(|name| name != "verdicts.txt" && !name.starts_with('.')).collect();
    assert_eq!(listed, files);
    assert!(60 <= files.len());
}
