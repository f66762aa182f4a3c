//! How many events a second a ledger takes and gives back: `cargo run --release --example ledger_speed -- FOLDER`.
#![allow(clippy::disallowed_methods, clippy::print_stdout)]

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use querist_ledger::{Event, Ledger};

const APPENDS: u64 = 50;
const EVENTS: u64 = 10_000;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("give a folder to write to")?;
    let folder = tempfile::tempdir_in(folder)?;
    measure("asks and answers, 54 bytes of features", folder.path(), |n| match n % 2 {
        0 => ask(n, 54),
        _ => Event::Answered { ask: n - 1, label: 1.0, at: n, by: None },
    })?;
    measure("answers to one ask", folder.path(), |n| match n {
        0 => ask(0, 54),
        _ => Event::Answered { ask: 0, label: 1.0, at: n, by: None },
    })?;
    measure("asks, 54 bytes of features", folder.path(), |n| ask(n, 54))?;
    measure("asks, 1200 bytes of features", folder.path(), |n| ask(n, 1200))?;
    measure("blocks of 10 items", folder.path(), |n| Event::Considered {
        first: 10 * n,
        probabilities: vec![0.25; 10],
        totals: vec![1.0, 2.0],
    })?;
    one_by_one(folder.path())
}

fn ask(n: u64, bytes: usize) -> Event {
    let id = format!("row-{n}");
    Event::Asked { time: n, id, probability: Some(0.25), tries: None, features: vec![7; bytes], extra: vec![] }
}

fn measure(name: &str, folder: &Path, event: impl Fn(u64) -> Event) -> Result<(), Box<dyn Error>> {
    let path = folder.join(name.replace(' ', "-"));
    let mut ledger = Ledger::create(&path, "{}")?;
    let batches: Vec<Vec<Event>> =
        (0..APPENDS).map(|batch| (0..EVENTS).map(|n| event(batch * EVENTS + n)).collect()).collect();
    let start = Instant::now();
    for batch in &batches {
        ledger.append(batch)?;
    }
    let appended = start.elapsed().as_secs_f64();
    drop(ledger);
    let start = Instant::now();
    let n_read = Ledger::read(&path)?.events().collect::<Result<Vec<_>, _>>()?.len() as f64;
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
        ledger.append(&[Event::Answered { ask: 0, label: 1.0, at, by: None }])?;
    }
    println!("one by one: {:.0} acknowledged/s", 300.0 / start.elapsed().as_secs_f64());
    Ok(())
}
