//! Measures the events per second that a ledger appends and reads.
//!
//! `cargo run --release --example ledger_speed -- FOLDER`
#![allow(clippy::disallowed_methods, clippy::print_stdout)]

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use querist_ledger::{Ledger, Record};

const APPENDS: u64 = 50;
const EVENTS: u64 = 10_000;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("give a folder to write to")?;
    let folder = tempfile::tempdir_in(folder)?;
    measure("asks and answers, 54 bytes of features", folder.path(), |n| match n % 2 {
        0 => ask(n, 54),
        _ => answer(n - 1, n),
    })?;
    measure("answers to one ask", folder.path(), |n| match n {
        0 => ask(0, 54),
        _ => answer(0, n),
    })?;
    measure("asks, 54 bytes of features", folder.path(), |n| ask(n, 54))?;
    measure("asks, 1200 bytes of features", folder.path(), |n| ask(n, 1200))?;
    measure("blocks of 10 items", folder.path(), |n| Record {
        kind: "considered".to_owned(),
        fields: format!("{{\"first\":{},\"count\":10,\"sums\":{{\"looked\":1,\"labeled\":2}}}}", 10 * n),
        data: Some([0.25_f64; 10].iter().flat_map(|value| value.to_le_bytes()).collect()),
        content: None,
    })?;
    one_by_one(folder.path())
}

fn ask(n: u64, bytes: usize) -> Record {
    let fields = format!("{{\"time\":{n},\"id\":\"row-{n}\",\"probability\":0.25}}");
    Record { kind: "asked".to_owned(), fields, data: Some(vec![7; bytes]), content: None }
}

fn answer(ask: u64, at: u64) -> Record {
    let fields = format!("{{\"ask\":{ask},\"label\":1.0,\"at\":{at}}}");
    Record { kind: "answered".to_owned(), fields, data: None, content: None }
}

fn measure(name: &str, folder: &Path, event: impl Fn(u64) -> Record) -> Result<(), Box<dyn Error>> {
    let path = folder.join(name.replace(' ', "-"));
    let mut ledger = Ledger::create(&path, "{}")?;
    let batches: Vec<Vec<Record>> =
        (0..APPENDS).map(|batch| (0..EVENTS).map(|n| event(batch * EVENTS + n)).collect()).collect();
    let start = Instant::now();
    for batch in &batches {
        ledger.append(batch)?;
    }
    let appended = start.elapsed().as_secs_f64();
    drop(ledger);
    let start = Instant::now();
    let n_read = Ledger::read(&path)?.records().collect::<Result<Vec<_>, _>>()?.len() as f64;
    let read = start.elapsed().as_secs_f64();
    let megabytes = std::fs::metadata(&path)?.len() as f64 / 1e6;
    println!("{name}: {:.0} appended/s, {:.0} read/s, {megabytes:.1} MB", n_read / appended, n_read / read);
    Ok(())
}

fn one_by_one(folder: &Path) -> Result<(), Box<dyn Error>> {
    let mut ledger = Ledger::create(folder.join("one-by-one"), "{}")?;
    ledger.append(&[ask(0, 54)])?;
    let start = Instant::now();
    for at in 0..300 {
        ledger.append(&[answer(0, at)])?;
    }
    println!("one by one: {:.0} acknowledged/s", 300.0 / start.elapsed().as_secs_f64());
    Ok(())
}
