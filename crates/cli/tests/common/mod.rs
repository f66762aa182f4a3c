//! Helpers to run the binary in tests.

#![allow(dead_code)]

pub(crate) mod client;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use querist_ledger::Ledger;
use serde_json::Value;

/// A temporary folder that is removed when it is dropped.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("querist-runs-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Creates a folder within another one; `None` if that fails.
    pub(crate) fn within(place: &Path, name: &str) -> Option<Self> {
        let path = place.join(format!("querist-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).ok().map(|()| Self(path))
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn querist(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_querist"));
    command.args(arguments);
    command
}

/// Runs a command that succeeds; returns its JSON output without the elapsed time.
pub(crate) fn json(arguments: &[&str]) -> Value {
    let output = querist(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    let mut value: Value = serde_json::from_slice(&output.stdout).unwrap();
    value.as_object_mut().unwrap().remove("seconds");
    value
}

/// Runs a command that fails; returns its standard error.
pub(crate) fn error(arguments: &[&str]) -> String {
    let output = querist(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// Writes a CSV file of numbers; the label depends mostly on the first column.
pub(crate) fn table(path: &str, rows: u64) {
    let mut text = "id,a,b,c,label\n".to_owned();
    let mut state = 12345_u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f64 / f64::from(1 << 24) * 2.0 - 1.0
    };
    for row in 0..rows {
        let (a, b, c, noise) = (next(), next(), next(), next());
        let label = if 0.0 < a + 0.3 * b + 0.4 * noise { "yes" } else { "no" };
        text.push_str(&format!("r{row},{a:.4},{b:.4},{c:.4},{label}\n"));
    }
    fs::write(path, text).unwrap();
}

/// An event of a ledger.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StoredEvent {
    pub(crate) kind: String,
    pub(crate) fields: Value,
    pub(crate) data: Vec<u8>,
}

impl StoredEvent {
    /// Returns the bulk data as numbers.
    pub(crate) fn numbers(&self) -> Vec<f64> {
        self.data.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect()
    }
}

/// Returns the events of a ledger.
pub(crate) fn events(path: &str) -> Vec<StoredEvent> {
    let ledger = Ledger::read(Path::new(path)).unwrap();
    let event = |record: querist_ledger::Record| StoredEvent {
        fields: serde_json::from_str(&record.fields).unwrap(),
        kind: record.kind,
        data: record.data.unwrap_or_default(),
    };
    ledger.records().map(|record| event(record.unwrap())).collect()
}

/// Returns the events of one kind.
pub(crate) fn events_of(path: &str, kind: &str) -> Vec<StoredEvent> {
    events(path).into_iter().filter(|event| event.kind == kind).collect()
}

/// Starts a run, kills and resumes it repeatedly until it ends; returns the number of kills.
pub(crate) fn killed_again_and_again(arguments: &[&str], first: u64) -> u32 {
    let mut wait = first;
    for kills in 0..40 {
        let mut child = querist(arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(wait));
        let killed = child.try_wait().unwrap().is_none();
        let _ = child.kill();
        let output = child.wait_with_output().unwrap();
        if !killed {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            return kills;
        }
        // The run must make progress between kills, even on a slow machine.
        wait += wait / 3 + 5;
    }
    panic!("the run never ended");
}

/// Runs the binary with a limit on its data segment, in megabytes.
pub(crate) fn within_memory(megabytes: u32, arguments: &[&str]) -> std::process::Output {
    let script = format!("ulimit -d {}; exec \"$0\" \"$@\"", megabytes << 10);
    Command::new("sh").args(["-c", &script, env!("CARGO_BIN_EXE_querist")]).args(arguments).output().unwrap()
}
