//! A killed process loses no event that it has acknowledged.
//!
//! SIGKILL leaves the operating system running, so these tests cover transactions and locks, not syncs to disk.

use std::io::{BufRead, BufReader};
use std::time::Duration;

use querist_ledger::Ledger;

use crate::support::{child, child_in_shell, n_batches, read_texts, said, texts, this_program};

/// A deterministic pseudorandom generator.
struct Draws(u64);

impl Draws {
    /// Returns the next number below a bound.
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % bound
    }
}

#[test]
fn acknowledged_events_survive_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ledger");
    let mut draws = Draws(11);
    let mut acknowledged = 0;
    for kill in 0..40 {
        // Every fourth child is killed before it prints anything, while it creates or opens the ledger.
        let n_lines = if kill % 4 == 0 { 0 } else { 1 + draws.below(25) };
        let delay = Duration::from_micros(draws.below(if n_lines == 0 { 20_000 } else { 4_000 }));
        let mut process = child(&this_program(), "append", &path).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok);
        let number = |line: String| said(&line)?.strip_prefix("acknowledged ")?.parse::<u64>().ok();
        let mut numbers: Vec<u64> = lines.by_ref().filter_map(number).take(n_lines as usize).collect();
        std::thread::sleep(delay);
        process.kill().unwrap();
        process.wait().unwrap();
        numbers.extend(lines.filter_map(number));
        assert!(n_lines <= numbers.len() as u64);
        assert_eq!(numbers, (acknowledged..acknowledged + numbers.len() as u64).collect::<Vec<_>>());
        acknowledged += numbers.len() as u64;

        if !path.exists() {
            assert_eq!(acknowledged, 0);
            continue;
        }
        // The last batch may be on disk although the child was killed before it could acknowledge it.
        let ledger = if kill % 2 == 0 { Ledger::read(&path) } else { Ledger::open(&path) }.unwrap();
        let n_found = n_batches(&ledger);
        assert!((acknowledged..=acknowledged + 1).contains(&n_found), "{acknowledged} acknowledged, {n_found} found");
        assert_eq!(read_texts(&ledger), (texts(n_found), None));
        acknowledged = n_found;
    }
    assert!(100 < acknowledged);
}

#[test]
fn a_file_size_limit_stops_appends_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ledger");
    // With the signal ignored, a write beyond the limit fails as on a full disk.
    let output = child_in_shell("trap '' XFSZ; ulimit -f 300", "append", &path).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().filter_map(said).collect();
    let (acknowledged, errors) = lines.split_at(lines.len() - 2);
    assert!(errors[0].contains("run.ledger: disk I/O error"), "{}", errors[0]);
    assert!(errors[0].contains("the disk may be full, over a quota or failing; acknowledged events are saved"));
    assert!(errors[1].contains("accepts no more events, because a write failed: disk I/O error"), "{}", errors[1]);
    assert!(errors[1].contains("open the ledger again to continue"), "{}", errors[1]);
    assert!(3 < acknowledged.len());

    let mut ledger = Ledger::open(&path).unwrap();
    let n_found = n_batches(&ledger);
    assert!((acknowledged.len() as u64..=acknowledged.len() as u64 + 1).contains(&n_found));
    ledger.append(&crate::support::batch(n_found)).unwrap();
    assert_eq!(read_texts(&ledger), (texts(n_found + 1), None));
}

#[test]
fn a_backup_taken_during_writes_is_a_prefix() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ledger");
    let mut process = child(&this_program(), "append", &path).spawn().unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut before = 0;
    for number in 0..5 {
        let copy = folder.path().join(format!("copy-{number}"));
        lines.by_ref().filter(|line| said(line).is_some()).nth(5).unwrap();
        Ledger::read(&path).unwrap().backup(&copy).unwrap();
        let copy = Ledger::open(&copy).unwrap();
        let n_found = n_batches(&copy);
        assert!(before < n_found);
        assert_eq!(read_texts(&copy), (texts(n_found), None));
        before = n_found;
    }
    process.kill().unwrap();
    process.wait().unwrap();
}
