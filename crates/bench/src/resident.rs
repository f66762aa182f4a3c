//! Memory overhead of a pool beyond its numbers.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use querist_data::{Input, ReadOptions, load as load_file};
use querist_rows::Rows;

use crate::line::{Figures, Measurement};
use crate::{Bench, data};

const ROWS: usize = 200_000;
const DIM: usize = 100;

/// Loads a pool in a child process, which reports its memory use.
pub(crate) fn memory(bench: &Bench) -> anyhow::Result<Vec<Measurement>> {
    let mut lines = vec![];
    for format in ["npy", "csv"] {
        let name = format!("memory/{format}");
        if !bench.wants(&name) {
            continue;
        }
        let path = bench.yardstick.folder().join(format!("pool.{format}"));
        if format == "npy" {
            write_npy(&path)?;
        } else {
            let (rows, dim, path) = (ROWS.to_string(), DIM.to_string(), path.display().to_string());
            bench.yardstick.run(&["generate", "csv", &dim, &rows, &path])?;
        }
        let done = Command::new(std::env::current_exe()?).arg("--load").arg(&path).output()?;
        let text = String::from_utf8_lossy(&done.stdout);
        let theirs = (4 * ROWS * DIM) as f64 / 1e6;
        let found = match text.trim().parse::<f64>() {
            Ok(bytes) => Ok(Figures { theirs, ours: bytes / 1e6 }),
            Err(_) => Err(String::from_utf8_lossy(&done.stderr).lines().next().unwrap_or("no answer").to_owned()),
        };
        lines.push(Measurement { name, against: "4nd bytes".to_owned(), unit: "MB", found, bar: Some(1.1) });
        std::fs::remove_file(&path)?;
    }
    Ok(lines)
}

/// Loads a file and returns the increase of the peak memory, in bytes.
pub(crate) fn load(path: PathBuf) -> anyhow::Result<u64> {
    let before = status("VmHWM")?;
    // Labels are not part of a pool, but they are read if the file has some.
    let options = ReadOptions { standardize: false, unlabeled: true, ..ReadOptions::default() };
    let loaded = load_file(&Input::File(path), &options)?;
    let after = status("VmHWM")?;
    anyhow::ensure!(loaded.batch.rows.len() == ROWS, "{} rows were read", loaded.batch.rows.len());
    Ok(after - before)
}

/// Returns an entry of `/proc/self/status`, in bytes.
fn status(name: &str) -> anyhow::Result<u64> {
    let text = std::fs::read_to_string("/proc/self/status").context("memory can be measured on Linux alone")?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    Ok(kilobytes.with_context(|| format!("/proc/self/status says nothing of {name}"))? * 1024)
}

/// Writes a matrix of `f32`, row by row, in version 1 of the npy format.
fn write_npy(path: &Path) -> anyhow::Result<()> {
    let mut head = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({ROWS}, {DIM}), }}");
    // The ten-byte preamble and the header end at a multiple of 64, with a newline.
    let padding = (64 - (10 + head.len() + 1) % 64) % 64;
    head.push_str(&" ".repeat(padding));
    head.push('\n');
    let mut file = BufWriter::new(std::fs::File::create(path)?);
    file.write_all(b"\x93NUMPY\x01\x00")?;
    file.write_all(&u16::try_from(head.len())?.to_le_bytes())?;
    file.write_all(head.as_bytes())?;
    let (Rows::Dense(rows), _) = data::rows(ROWS, DIM, DIM) else { return Ok(()) };
    for value in rows.values() {
        file.write_all(&value.to_le_bytes())?;
    }
    file.flush()?;
    Ok(())
}
