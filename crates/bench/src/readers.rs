//! Reading text files, without learning, against the crates that could replace our own parsing of cells and numbers.
//! Ours also checks and encodes labels; the crates only fill a vector of numbers.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use anyhow::Context;
use querist_data::Batch;
use querist_rows::{Row, Sparse};

use crate::line::{Figures, Measurement};
use crate::measure::{cpu_ns, medians};
use crate::{Bench, data, text};

/// Our own parsing must be faster by a third, or a crate should replace it.
const BAR: f64 = 0.67;
/// Bytes per read of the crates' readers.
const BUFFER: usize = 1 << 16;

/// Parses the number in a cell.
type ParseNumber = fn(&[u8]) -> Option<f32>;
const PARSERS: [(&str, ParseNumber); 2] =
    [("fast-float2", |cell| fast_float2::parse(cell).ok()), ("lexical", |cell| lexical_core::parse(cell).ok())];

/// A file to read.
struct TextFile {
    name: &'static str,
    format: &'static str,
    width: usize,
    dim: usize,
    rows: usize,
    /// Writes numbers with all digits of an `f64` instead of six decimals. `fast-float2` reads these for us, too.
    is_long: bool,
}

const FILES: [TextFile; 5] = [
    TextFile { name: "csv/2", format: "csv", width: 2, dim: 2, rows: 500_000, is_long: false },
    TextFile { name: "csv/30", format: "csv", width: 30, dim: 30, rows: 60_000, is_long: false },
    TextFile { name: "csv/100", format: "csv", width: 100, dim: 100, rows: 20_000, is_long: false },
    TextFile { name: "csv/30-all-digits", format: "csv", width: 30, dim: 30, rows: 40_000, is_long: true },
    TextFile { name: "svm/50of10000", format: "svm", width: 50, dim: 10_000, rows: 40_000, is_long: false },
];

/// Measures every file against both number parsers.
pub(crate) fn readers(bench: &Bench) -> anyhow::Result<Vec<Measurement>> {
    let mut lines = vec![];
    for file in FILES.iter().filter(|file| bench.wants(&format!("readers/{}", file.name))) {
        let path = bench.yardstick.folder().join(format!("readers.{}", file.format));
        file.write(&path)?;
        let mut rounds = vec![];
        for _ in 0..bench.repeat {
            let (ours, done) = cpu_ns(|| file.read_by_us(&path));
            done?;
            let [first, second] = PARSERS.map(|(_, parse)| cpu_ns(|| file.read_by_crates(&path, parse)));
            first.1?;
            second.1?;
            rounds.push([ours, first.0, second.0].map(|ns| ns / file.rows as f64));
        }
        let [ours, first, second] = medians(&rounds);
        for ((parser, _), theirs) in PARSERS.iter().zip([first, second]) {
            lines.push(Measurement {
                name: format!("readers/{}", file.name),
                against: (*parser).to_owned(),
                unit: "ns a line",
                found: Ok(Figures { theirs, ours }),
                // In narrow rows, labels and the ends of lines take most of the time.
                bar: (!file.is_long && 2 < file.width).then_some(BAR),
            });
        }
        std::fs::remove_file(&path)?;
    }
    Ok(lines)
}

impl TextFile {
    fn write(&self, path: &Path) -> anyhow::Result<()> {
        let (rows, labels) = data::rows(self.rows, self.width, self.dim);
        let mut out = BufWriter::new(File::create(path)?);
        if self.format == "csv" {
            (0..self.dim).try_for_each(|column| write!(out, "x{column},"))?;
            writeln!(out, "label")?;
        }
        for (row, label) in labels.iter().enumerate() {
            if self.format == "svm" {
                write!(out, "{label}")?;
            }
            match rows.row(row) {
                Row::Sparse(Sparse { index, value }) => {
                    index
                        .iter()
                        .zip(value)
                        .try_for_each(|(column, value)| write!(out, " {}:{value:.6}", column + 1))?;
                }
                Row::Dense(values) if self.is_long => {
                    values.iter().try_for_each(|value| write!(out, "{},", f64::from(*value) * std::f64::consts::PI))?;
                }
                Row::Dense(values) => values.iter().try_for_each(|value| write!(out, "{value:.6},"))?,
            }
            if self.format == "csv" {
                write!(out, "{label}")?;
            }
            writeln!(out)?;
        }
        out.into_inner()?.sync_all()?;
        Ok(())
    }

    fn read_by_us(&self, path: &Path) -> anyhow::Result<()> {
        let mut stream = text::open(path)?;
        let (mut batch, mut n_rows) = (Batch::default(), 0);
        loop {
            match stream.next(text::BLOCK, &mut batch)? {
                0 => break,
                n => n_rows += n,
            }
        }
        anyhow::ensure!(n_rows == self.rows, "{n_rows} of {} rows were read", self.rows);
        Ok(())
    }

    fn read_by_crates(&self, path: &Path, parse: ParseNumber) -> anyhow::Result<()> {
        let file = File::open(path)?;
        let n_rows = if self.format == "csv" { read_csv(file, parse)? } else { read_svmlight(file, parse)? };
        anyhow::ensure!(n_rows == self.rows, "{n_rows} of {} rows were read", self.rows);
        Ok(())
    }
}

fn read_csv(file: File, parse: ParseNumber) -> anyhow::Result<usize> {
    let mut reader = csv::ReaderBuilder::new().buffer_capacity(BUFFER).from_reader(file);
    let (mut record, mut values, mut n_rows) = (csv::ByteRecord::new(), vec![], 0);
    while reader.read_byte_record(&mut record)? {
        values.clear();
        for cell in &record {
            values.push(parse(cell).context("not a number")?);
        }
        std::hint::black_box(&values);
        n_rows += 1;
    }
    Ok(n_rows)
}

fn read_svmlight(file: File, parse: ParseNumber) -> anyhow::Result<usize> {
    let mut reader = BufReader::with_capacity(BUFFER, file);
    let (mut line, mut values, mut n_rows) = (vec![], vec![], 0);
    while 0 < reader.read_until(b'\n', &mut line)? {
        values.clear();
        let mut cells = line.trim_ascii_end().split(|byte| *byte == b' ');
        let label = cells.next().and_then(parse).context("no label")?;
        for cell in cells {
            let colon = cell.iter().position(|byte| *byte == b':').context("no colon")?;
            let column: u32 = lexical_core::parse(&cell[..colon])?;
            values.push((column, parse(&cell[colon + 1..]).context("not a number")?));
        }
        std::hint::black_box((label, &values));
        line.clear();
        n_rows += 1;
    }
    Ok(n_rows)
}
