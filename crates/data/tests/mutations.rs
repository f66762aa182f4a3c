//! A mutation campaign over all readers: files of the corpus are changed at random and read twice. No reader panics or
//! needs much memory, and the verdict depends on the bytes alone, not on the block size in which they are read.
//!
//! Files are read in a separate process with limited memory. `./check --long` mutates each file a thousand times.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use querist_data::{Batch, Input, RowStream};

/// The memory limit of the reading process in MB; the largest file of the corpus has a few kilobytes.
const MEGABYTES: u64 = 300;

#[test]
fn a_few_mutants_of_each_file() {
    campaign("read_a_few");
}

#[test]
#[ignore = "takes minutes; a part of ./check --long"]
fn many_mutants_of_each_file() {
    campaign("read_many");
}

/// Runs another of these tests in a process with limited memory.
fn campaign(reader: &str) {
    let script = format!("ulimit -d {}; exec \"$0\" \"$@\"", MEGABYTES << 10);
    let test = std::env::current_exe().unwrap();
    let output = Command::new("sh")
        .args(["-c", &script])
        .arg(test)
        .args(["--ignored", "--exact", reader, "--nocapture"])
        .output()
        .unwrap();
    let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{out}\n{error}", output.status);
    assert!(out.contains("1 passed"), "{out}");
}

#[test]
#[ignore = "run by a_few_mutants_of_each_file"]
fn read_a_few() {
    read_mutants(8);
}

#[test]
#[ignore = "run by many_mutants_of_each_file"]
fn read_many() {
    read_mutants(1000);
}

/// Mutates each file `mutants` times and reads the results.
fn read_mutants(mutants: u64) {
    let files = corpus();
    let folder = tempfile::tempdir().unwrap();
    let (mut accepted, mut rejected) = (0, 0);
    for (index, (name, bytes)) in files.iter().enumerate() {
        for mutant in 0..mutants {
            let mut random = Random(1 + index as u64 * 1_000_003 + mutant);
            let other = &files[random.below(files.len())].1;
            let mutated = mutate(bytes, other, &mut random);
            let path = folder.path().join(name);
            std::fs::write(&path, &mutated).unwrap();
            let words = ["", "skip zero unlabeled", "no-header unlabeled", "skip mean"][random.below(4)];
            let context = || format!("mutant {mutant} of {name}, `{words}`");
            let verdict = common::verdict(folder.path(), name, words);
            assert_eq!(verdict, common::verdict(folder.path(), name, words), "{}", context());
            let blocks = |limit| in_blocks(&path, words, limit);
            assert_eq!(blocks(3), blocks(1000), "{}", context());
            *(if verdict.contains(" | ") { &mut accepted } else { &mut rejected }) += 1;
        }
    }
    // Mutations that broke every file, or none, would test little.
    let all = accepted + rejected;
    assert!(all / 20 < accepted && all / 20 < rejected, "{accepted} accepted, {rejected} rejected");
}

/// Returns the files of the corpus with their names.
fn corpus() -> Vec<(String, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let named =
        files.map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(path).unwrap()));
    let mut named: Vec<(String, Vec<u8>)> = named.filter(|(name, _)| name != "verdicts.txt").collect();
    named.sort();
    named
}

/// Returns the rows of a stream with their ids, labels and features, and the way it ends.
fn in_blocks(path: &Path, words: &str, limit: usize) -> (Vec<String>, String) {
    let mut stream = match RowStream::open(&Input::File(path.to_owned()), &common::options(words)) {
        Ok(stream) => stream,
        Err(error) => return (vec![], error.to_string()),
    };
    let (mut batch, mut rows) = (Batch::default(), vec![]);
    loop {
        match stream.next(limit, &mut batch) {
            Ok(0) => return (rows, format!("{} left out", stream.bad().skipped)),
            Ok(read) => rows.extend(
                (0..read).map(|row| format!("{} {} {:?}", batch.ids.get(row), batch.labels[row], batch.rows.row(row))),
            ),
            // The rows of this block before the fault are lost, and their number depends on the block size.
            Err(error) => return (vec![], error.to_string()),
        }
    }
}

/// Applies a few changes, most of them small.
fn mutate(bytes: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len() + 1);
        let end = (at + 1 + random.below(16)).min(bytes.len());
        match random.below(9) {
            0 => bytes.truncate(at),
            1 => bytes.drain(at..end).for_each(drop),
            2 => {
                let copied = bytes[at..end].to_vec();
                bytes.splice(at..at, copied);
            }
            3 => {
                let from = random.below(other.len() + 1);
                let to = (from + random.below(64)).min(other.len());
                bytes.splice(at..at, other[from..to].iter().copied());
            }
            4 => {
                let odd: &[u8] = ODD[random.below(ODD.len())];
                bytes.splice(at..end, odd.iter().copied());
            }
            5 => bytes.insert(at, random.next() as u8),
            6 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = random.next() as u8;
                }
            }
            7 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
            // Overwrites lengths and counts of binary formats.
            _ => bytes[at..end].fill([0, 0xff, 0x7f][random.below(3)]),
        }
    }
    bytes
}

/// Byte strings that readers may stumble over.
const ODD: [&[u8]; 24] = [
    b"",
    b"\"",
    b"\"\"",
    b",",
    b"\n",
    b"\r\n",
    b"\0",
    b"\xef\xbb\xbf",
    b"nan",
    b"-inf",
    b"1e999",
    b"1e39",
    b"-0",
    b"134217727:1",
    b"268435455:1",
    b"99999999999999999999",
    b"[",
    b"]",
    b"{",
    b"}",
    b"\\u0000",
    b"\xff\xfe",
    b"|",
    b":",
];

/// A `SplitMix64` generator.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}
