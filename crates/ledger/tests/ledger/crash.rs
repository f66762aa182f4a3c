//! A process that is killed loses nothing it has acknowledged.
//!
//! SIGKILL leaves the system alive, so this shows transactions and locks at work, not that a disk was waited for.

use std::io::{BufRead, BufReader};
use std::time::Duration;

use querist_ledger::Ledger;

use crate::support::{child, child_in_shell, n_batches, read_texts, said, texts, this_program};

/// A fixed sequence of numbers below a bound.
struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % bound
    }
}

#[test]
fn what_was_acknowledged_survives_being_killed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ledger");
    let mut draws = Draws(11);
    let mut acknowledged = 0;
    for kill in 0..40 {
        // Every fourth is killed before it has said anything, while it starts or opens the ledger.
        let heard = if kill % 4 == 0 { 0 } else { 1 + draws.below(25) };
        let delay = Duration::from_micros(draws.below(if heard == 0 { 20_000 } else { 4_000 }));
        let mut process = child(&this_program(), "append", &path).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok);
        let number = |line: String| said(&line)?.strip_prefix("acknowledged ")?.parse::<u64>().ok();
        let mut numbers: Vec<u64> = lines.by_ref().filter_map(number).take(heard as usize).collect();
        std::thread::sleep(delay);
        process.kill().unwrap();
        process.wait().unwrap();
        numbers.extend(lines.filter_map(number));
        assert!(heard <= numbers.len() as u64);
        assert_eq!(numbers, (acknowledged..acknowledged + numbers.len() as u64).collect::<Vec<_>>());
        acknowledged += numbers.len() as u64;

        if !path.exists() {
            assert_eq!(acknowledged, 0);
            continue;
        }
        // The last batch may be on disk without the child having lived to say so.
        let ledger = if kill % 2 == 0 { Ledger::read(&path) } else { Ledger::open(&path) }.unwrap();
        let there = n_batches(&ledger);
        assert!((acknowledged..=acknowledged + 1).contains(&there), "{acknowledged} acknowledged, {there} there");
        assert_eq!(read_texts(&ledger), (texts(there), None));
        acknowledged = there;
    }
    assert!(100 < acknowledged);
}

#[test]
fn a_file_limit_stops_appends_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ledger");
    // A write beyond the limit fails, as on a full disk, once the signal that comes with it is ignored.
    let output = child_in_shell("trap '' XFSZ; ulimit -f 300", "append", &path).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let words: Vec<&str> = text.lines().filter_map(said).collect();
    let (acknowledged, errors) = words.split_at(words.len() - 2);
    assert!(errors[0].contains("run.ledger: disk I/O error"), "{}", errors[0]);
    assert!(errors[0].contains("the disk may be full, over a limit or failing; what was acknowledged is kept"));
    assert!(errors[1].contains("takes no more events, because a write failed: disk I/O error"), "{}", errors[1]);
    assert!(errors[1].contains("open the ledger again to go on"), "{}", errors[1]);
    assert!(3 < acknowledged.len());

    let mut ledger = Ledger::open(&path).unwrap();
    let there = n_batches(&ledger);
    assert!((acknowledged.len() as u64..=acknowledged.len() as u64 + 1).contains(&there));
    ledger.append(&crate::support::batch(there)).unwrap();
    assert_eq!(read_texts(&ledger), (texts(there + 1), None));
}

#[test]
fn a_backup_of_a_ledger_at_work_is_a_prefix() {
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
        let there = n_batches(&copy);
        assert!(before < there);
        assert_eq!(read_texts(&copy), (texts(there), None));
        before = there;
    }
    process.kill().unwrap();
    process.wait().unwrap();
}
