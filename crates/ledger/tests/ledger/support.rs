//! Deterministic batches of events, and a child process that appends them.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use querist_ledger::{Ledger, LedgerError, Record};

/// The number of asks in a batch.
const ASKS: u64 = 3;
/// The environment variable with the task of a child process and the path of the ledger.
const TASK: &str = "QUERIST_LEDGER_CHILD";

/// Creates a record with these fields.
pub(crate) fn record(kind: &str, fields: &str) -> Record {
    Record { kind: kind.to_owned(), fields: fields.to_owned(), ..Record::default() }
}

/// Creates the batch with this number: events with and without bulk data.
pub(crate) fn batch(number: u64) -> Vec<Record> {
    let start = 10 * number;
    let block = record("considered", &format!("{{\"first\":{start},\"loss\":-0.0}}"));
    let mut records = vec![block.with_data((0..40).map(|byte| (byte * start) as u8).collect())];
    for time in start..start + ASKS {
        let ask = record("asked", &format!("{{\"time\":{time},\"id\":\"item {time}\"}}"));
        records.push(ask.with_data((0..time % 9).map(|byte| (byte * time) as u8).collect()));
    }
    records.push(record("answered", &format!("{{\"ask\":{},\"label\":-1.0}}", start + 1)));
    records
}

/// Formats the events of the first `n_batches` batches.
pub(crate) fn texts(n_batches: u64) -> Vec<String> {
    (0..n_batches).flat_map(batch).map(|event| format!("{event:?}")).collect()
}

/// Formats the events of a ledger up to the first that cannot be read, and returns its error too.
pub(crate) fn read_texts(ledger: &Ledger) -> (Vec<String>, Option<LedgerError>) {
    let mut texts = vec![];
    for event in ledger.records() {
        match event {
            Ok(event) => texts.push(format!("{event:?}")),
            Err(error) => return (texts, Some(error)),
        }
    }
    (texts, None)
}

/// Returns the number of batches in a ledger.
pub(crate) fn n_batches(ledger: &Ledger) -> u64 {
    ledger.count("asked") / ASKS
}

/// Creates a ledger with `n_batches` batches and closes it.
pub(crate) fn ledger_of(path: &Path, n_batches: u64) {
    let mut ledger = Ledger::create(path, "{\"seed\": 1}").unwrap();
    for number in 0..n_batches {
        ledger.append(&batch(number)).unwrap();
    }
    ledger.set_note("encoder", "none").unwrap();
}

/// Returns a command that runs this program as a child process with a task; its output is piped.
pub(crate) fn child(program: &Path, task: &str, path: &Path) -> Command {
    let mut command = Command::new(program);
    prepare(&mut command, task, path);
    command
}

/// Returns a command like [`child`], in a shell that first runs a line.
pub(crate) fn child_in_shell(line: &str, task: &str, path: &Path) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{line}; exec \"$0\" \"$@\"")).arg(this_program());
    prepare(&mut command, task, path);
    command
}

fn prepare(command: &mut Command, task: &str, path: &Path) {
    command.args(["--exact", "support::child_process", "--nocapture", "--test-threads=1"]);
    command.env(TASK, format!("{task} {}", path.display())).stdout(Stdio::piped()).stdin(Stdio::null());
}

pub(crate) fn this_program() -> PathBuf {
    std::env::current_exe().unwrap()
}

/// Extracts a child's message from a line of its output; returns `None` for output of the test harness.
pub(crate) fn said(line: &str) -> Option<&str> {
    line.find("child: ").map(|start| &line[start + "child: ".len()..])
}

/// Runs as the child process of other tests; does nothing without a task.
#[test]
fn child_process() {
    let Some(task) = std::env::var_os(TASK) else { return };
    let task = task.into_string().unwrap();
    let (task, path) = task.split_once(' ').unwrap();
    let path = Path::new(path);
    match task {
        "append" => append_forever(path),
        "read" => match Ledger::read(path) {
            Ok(ledger) => print(&format!("{} batches, {:?}", n_batches(&ledger), read_texts(&ledger).1)),
            Err(error) => print(&one_line(&error)),
        },
        "open" => match Ledger::open(path) {
            Ok(ledger) => print(&format!("opened {} batches", n_batches(&ledger))),
            Err(error) => print(&one_line(&error)),
        },
        "create" => match Ledger::create(path, "{}") {
            Ok(_) => print("created"),
            Err(error) => print(&one_line(&error)),
        },
        _ => print("unknown task"),
    }
}

/// Opens or creates a ledger, appends batches until an error, and prints the number of each acknowledged batch.
fn append_forever(path: &Path) {
    let opened = if path.exists() { Ledger::open(path) } else { Ledger::create(path, "{}") };
    let mut ledger = opened.unwrap();
    for number in n_batches(&ledger).. {
        match ledger.append(&batch(number)) {
            Ok(()) => print(&format!("acknowledged {number}")),
            Err(error) => {
                print(&one_line(&error));
                print(&one_line(&ledger.append(&batch(number)).unwrap_err()));
                return;
            }
        }
    }
}

fn one_line(error: &LedgerError) -> String {
    error.to_string().replace('\n', " ")
}

fn print(message: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "child: {message}").and_then(|()| out.flush()).unwrap();
}
