//! The program in C: compiled into a temporary folder and run as a child that prints JSON lines.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use serde_json::Value;
use tempfile::TempDir;

/// The compiled program.
pub(crate) struct Yardstick {
    folder: TempDir,
}

/// The JSON lines that a run printed.
pub(crate) struct Printed(Vec<Value>);

const FLAGS: [&str; 4] = ["-std=gnu11", "-O3", "-march=native", "-fno-math-errno"];

impl Yardstick {
    /// Compiles the program.
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

    /// Returns the folder for temporary files, which is removed at the end.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the path of the program.
    pub(crate) fn program(&self) -> PathBuf {
        self.folder.path().join("yardstick")
    }

    /// Runs the program with these arguments.
    pub(crate) fn run(&self, words: &[&str]) -> anyhow::Result<Printed> {
        Printed::of(Command::new(self.program()).args(words))
    }
}

/// Returns the folder of the C files and of the script for Vowpal Wabbit.
pub(crate) fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("yardstick")
}

impl Printed {
    /// Runs a command that prints JSON lines.
    pub(crate) fn of(command: &mut Command) -> anyhow::Result<Self> {
        let done = command.output().with_context(|| format!("cannot run {}", command.get_program().display()))?;
        if !done.status.success() {
            bail!("{}", String::from_utf8_lossy(&done.stderr).trim());
        }
        let text = String::from_utf8(done.stdout).context("a child printed bytes that are no text")?;
        let lines = text.lines().map(serde_json::from_str).collect::<Result<_, _>>();
        Ok(Self(lines.with_context(|| format!("a child printed what is no JSON: {text}"))?))
    }

    /// Returns the nanoseconds of a measurement.
    pub(crate) fn ns(&self, name: &str) -> anyhow::Result<f64> {
        self.figure(name, "ns")
    }

    /// Returns one figure of a measurement.
    pub(crate) fn figure(&self, name: &str, key: &str) -> anyhow::Result<f64> {
        let line = self.0.iter().find(|line| line["name"] == name);
        let figure = line.and_then(|line| line[key].as_f64());
        figure.with_context(|| format!("the yardstick printed no {key} of {name}"))
    }

    /// Returns a checked value of a measurement.
    pub(crate) fn check(&self, name: &str, what: &str) -> Option<f64> {
        self.0.iter().find(|line| line["name"] == name)?["checks"][what].as_f64()
    }

    /// Returns the reason for a skipped measurement, or `None` if it was not skipped.
    pub(crate) fn skipped(&self, name: &str) -> Option<String> {
        self.0.iter().find(|line| line["name"] == name)?["skipped"].as_str().map(str::to_owned)
    }
}
