//! Writes files of numbers and prints how long a line takes from bytes to rows: `cargo run --release --example speed`.

#![allow(clippy::print_stdout, clippy::disallowed_methods)]

use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

use querist_data::{Batch, DataError, Input, Options, Stream, load};

/// Numbers that only have to look like data.
struct Digits(u64);

impl Digits {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// Six significant digits between -10 and 10.
    fn number(&mut self) -> String {
        let sign = if self.next().is_multiple_of(2) { "-" } else { "" };
        format!("{sign}{}.{:05}", self.next() % 10, self.next() % 100_000)
    }
}

fn csv(lines: usize, d: usize, digits: &mut Digits) -> String {
    let mut text = String::new();
    for column in 0..d {
        let _ = write!(text, "x{column},");
    }
    text.push_str("label\n");
    for _ in 0..lines {
        for _ in 0..d {
            let _ = write!(text, "{},", digits.number());
        }
        let _ = writeln!(text, "{}", digits.next() % 2);
    }
    text
}

fn svmlight(lines: usize, digits: &mut Digits) -> String {
    let mut text = String::new();
    for _ in 0..lines {
        text.push_str(if digits.next().is_multiple_of(2) { "1" } else { "-1" });
        let mut index = 0;
        for _ in 0..50 {
            index += 1 + digits.next() % 1000;
            let _ = write!(text, " {index}:{}", digits.number());
        }
        text.push('\n');
    }
    text
}

fn vw(lines: usize, digits: &mut Digits) -> String {
    let mut text = String::new();
    for _ in 0..lines {
        text.push_str(if digits.next().is_multiple_of(2) { "1 |f" } else { "-1 |f" });
        for _ in 0..50 {
            let _ = write!(text, " w{}:{}", digits.next() % 50_000, digits.number());
        }
        text.push('\n');
    }
    text
}

/// The best of many runs, in microseconds a line: as a stream whose encoder is known, and whole. Runs are short, so
/// that some of them have the processor to themselves.
fn time(path: &Path, lines: usize) -> Result<(f64, f64), DataError> {
    const RUNS: usize = 40;
    let input = Input::File(path.to_path_buf());
    let options = Options::default();
    let encoder = load(&input, &options)?.encoder;
    let (mut streamed, mut loaded) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..RUNS {
        let start = Instant::now();
        let mut stream = Stream::with(encoder.clone(), &input, &options)?;
        let mut batch = Batch::default();
        let mut rows = 0;
        while 0 < stream.next(1024, &mut batch)? {
            rows += batch.rows.len();
        }
        assert_eq!(rows, lines, "every line is a row");
        streamed = streamed.min(start.elapsed().as_secs_f64());
        let start = Instant::now();
        load(&input, &options)?;
        loaded = loaded.min(start.elapsed().as_secs_f64());
    }
    let per_line = 1e6 / lines as f64;
    Ok((streamed * per_line, loaded * per_line))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let mut digits = Digits(7);
    let files = [
        ("2.csv", 100_000, csv(100_000, 2, &mut digits)),
        ("30.csv", 30_000, csv(30_000, 30, &mut digits)),
        ("100.csv", 10_000, csv(10_000, 100, &mut digits)),
        ("50.svm", 10_000, svmlight(10_000, &mut digits)),
        ("50.vw", 10_000, vw(10_000, &mut digits)),
    ];
    println!("file       lines  µs/line: stream   load   MB/s");
    for (name, lines, text) in files {
        let path = folder.path().join(name);
        std::fs::write(&path, &text)?;
        let (streamed, loaded) = time(&path, lines)?;
        let rate = text.len() as f64 / (streamed * lines as f64);
        println!("{name:<8} {lines:>8} {streamed:>15.3} {loaded:>7.3} {rate:>6.0}");
    }
    Ok(())
}
