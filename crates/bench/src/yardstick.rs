//! The program in C: built into a temporary folder, run as a child, its lines of JSON read.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use serde_json::Value;
use tempfile::TempDir;

/// The built program.
pub(crate) struct Yardstick {
    folder: TempDir,
}

/// The lines a run printed.
pub(crate) struct Printed(Vec<Value>);

const FLAGS: [&str; 4] = ["-std=gnu11", "-O3", "-march=native", "-fno-math-errno"];

impl Yardstick {
    /// Compiles it.
    pub(crate) fn build() -> anyhow::Result<Self> {
        let folder = tempfile::tempdir().context("no temporary folder to be had")?;
        let source = sources().join("yardstick.c");
        let mut compiler = Command::new("cc");
        compiler.args(FLAGS).arg("-o").arg(folder.path().join("yardstick")).arg(&source).args(["-lm", "-lpthread"]);
        let done = compiler.output().context("cannot run `cc`; a C compiler is needed to measure against C")?;
        if !done.status.success() {
            bail!("`cc` failed on {}:\n{}", source.display(), String::from_utf8_lossy(&done.stderr));
        }
        Ok(Self { folder })
    }

    /// Room for files, gone at the end.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The program.
    pub(crate) fn program(&self) -> PathBuf {
        self.folder.path().join("yardstick")
    }

    /// Runs it with these words.
    pub(crate) fn run(&self, words: &[&str]) -> anyhow::Result<Printed> {
        Printed::of(Command::new(self.program()).args(words))
    }
}

/// The folder of the C files and of the script for Vowpal Wabbit.
pub(crate) fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("yardstick")
}

impl Printed {
    /// Runs a command that prints lines of JSON.
    pub(crate) fn of(command: &mut Command) -> anyhow::Result<Self> {
        let done = command.output().with_context(|| format!("cannot run {}", command.get_program().display()))?;
        if !done.status.success() {
            bail!("{}", String::from_utf8_lossy(&done.stderr).trim());
        }
        let text = String::from_utf8(done.stdout).context("a child printed bytes that are no text")?;
        let lines = text.lines().map(serde_json::from_str).collect::<Result<_, _>>();
        Ok(Self(lines.with_context(|| format!("a child printed what is no JSON: {text}"))?))
    }

    /// Nanoseconds of this measurement.
    pub(crate) fn ns(&self, name: &str) -> anyhow::Result<f64> {
        self.figure(name, "ns")
    }

    /// One of the figures of this measurement.
    pub(crate) fn figure(&self, name: &str, key: &str) -> anyhow::Result<f64> {
        let line = self.0.iter().find(|line| line["name"] == name);
        let figure = line.and_then(|line| line[key].as_f64());
        figure.with_context(|| format!("the yardstick printed no {key} of {name}"))
    }

    /// One of the things checked in this measurement.
    pub(crate) fn check(&self, name: &str, what: &str) -> Option<f64> {
        self.0.iter().find(|line| line["name"] == name)?["checks"][what].as_f64()
    }

    /// Why a measurement was left out, if it was.
    pub(crate) fn skipped(&self, name: &str) -> Option<String> {
        self.0.iter().find(|line| line["name"] == name)?["skipped"].as_str().map(str::to_owned)
    }
}
