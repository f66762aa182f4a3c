//! Every command that reads a ledger, and the verdict on what it does with a damaged one.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use querist_ledger::Ledger;
use serde_json::{Value, json};

use crate::common::client::TestClient;
use crate::common::querist;
use crate::library::has_part;
use crate::specimen::{LABEL, LEDGER, Specimen};

/// A command that reads a ledger.
pub(crate) struct LedgerCommand {
    arguments: &'static [&'static str],
    /// The file that the command writes.
    product: Option<&'static str>,
    pub(crate) kind: AccessKind,
}

/// A way in which a command accesses the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AccessKind {
    /// Reads events, notes and contents through `Ledger::read`, and nothing else of the file.
    Reader,
    /// Copies the tables after `Ledger::read`.
    Backup,
    /// Reads past damage.
    Verify,
    /// Reads past damage, and writes what is intact.
    Salvage,
    /// Opens the ledger to write.
    Purge,
    /// Opens the ledger to write, and serves until it is stopped.
    Label,
}

const fn reader(arguments: &'static [&'static str], product: Option<&'static str>) -> LedgerCommand {
    LedgerCommand { arguments, product, kind: AccessKind::Reader }
}

/// All commands. `stream` and `pool` resume a ledger with the same call as `label`, and reject a session's ledger.
pub(crate) static COMMANDS: [LedgerCommand; 17] = [
    reader(&["export", LEDGER], None),
    reader(&["export", LEDGER, "--all"], None),
    reader(&["export", LEDGER, "--format", "jsonl"], None),
    reader(&["export", LEDGER, "--format", "jsonl", "--all"], None),
    reader(&["export", LEDGER, "--format", "prodigy"], None),
    reader(&["export", LEDGER, "--format", "label-studio"], None),
    reader(&["export", LEDGER, "--format", "doccano"], None),
    reader(&["export", LEDGER, "--model", "out.model"], Some("out.model")),
    reader(&["replay", LEDGER, "--json", "--model", "out.model"], Some("out.model")),
    reader(&["report", LEDGER, "--out", "report", "--json"], Some("report/index.html")),
    reader(&["plan", "--pilot", LEDGER, "--json"], None),
    LedgerCommand {
        arguments: &["backup", LEDGER, "new.ledger"],
        product: Some("new.ledger"),
        kind: AccessKind::Backup,
    },
    LedgerCommand { arguments: &["verify", LEDGER], product: None, kind: AccessKind::Verify },
    LedgerCommand {
        arguments: &["salvage", LEDGER, "new.ledger"],
        product: Some("new.ledger"),
        kind: AccessKind::Salvage,
    },
    LedgerCommand { arguments: &["purge", LEDGER], product: Some(LEDGER), kind: AccessKind::Purge },
    LedgerCommand { arguments: &LABEL, product: None, kind: AccessKind::Label },
    LedgerCommand { arguments: &["--accept-loss"], product: None, kind: AccessKind::Label },
];

/// The result of a command.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CommandResult {
    code: Option<i32>,
    stdout: String,
    stderr: String,
    /// The file that the command wrote; a ledger as its events and contents.
    product: Vec<String>,
    /// The command changed the ledger or its journal, although it only reads them.
    is_ledger_changed: bool,
}

/// The results of a command on an intact ledger and on its intact prefixes.
pub(crate) struct ExpectedResults {
    intact: CommandResult,
    prefixes: BTreeSet<(String, Vec<String>)>,
}

impl LedgerCommand {
    pub(crate) fn name(&self) -> String {
        self.arguments.join(" ")
    }

    /// Runs the command on a ledger in the folder.
    pub(crate) fn run(&self, specimen: &Specimen, folder: &Path) -> CommandResult {
        specimen.lay(folder);
        if let Some(product) = self.product.filter(|product| *product != LEDGER) {
            let _ = fs::remove_file(folder.join(product));
        }
        let accepts = if self.arguments == ["--accept-loss"] { &LABEL[..] } else { &[] };
        let mut command = querist(&[accepts, self.arguments].concat());
        command.current_dir(folder).stdin(Stdio::null());
        if self.kind == AccessKind::Label {
            return serve(&mut command);
        }
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let product = self.product.map_or(vec![], |product| read_product(&folder.join(product)));
        CommandResult {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
            product,
            is_ledger_changed: self.kind != AccessKind::Purge && !specimen.is_unchanged(folder),
        }
    }

    /// Runs the command on the whole ledger and on its prefixes, all intact.
    pub(crate) fn expect(&self, whole: &Specimen, prefixes: &[Specimen], folder: &Path) -> ExpectedResults {
        let run = |specimen: &Specimen| self.run(specimen, folder);
        let prefixes = prefixes.iter().map(run).map(|outcome| (outcome.stdout, outcome.product)).collect();
        ExpectedResults { intact: run(whole), prefixes }
    }

    /// Returns the verdict on the result for a damaged ledger, or what is wrong with it.
    pub(crate) fn judge(&self, outcome: &CommandResult, expected: &ExpectedResults) -> Result<DamageVerdict, String> {
        let CommandResult { code, stdout, stderr, product, is_ledger_changed } = outcome;
        if *is_ledger_changed {
            return Err("the ledger was changed".to_owned());
        }
        if stderr.contains("panicked") {
            return Err("a panic".to_owned());
        }
        let is_named = stderr.lines().any(|line| line.starts_with("querist: "));
        match code {
            _ if *outcome == expected.intact => Ok(DamageVerdict::Identical),
            Some(2) if is_named => Ok(DamageVerdict::Error),
            Some(2) => Err("an error without a message".to_owned()),
            Some(0) if self.arguments == ["--accept-loss"] => {
                let is_prefix = expected.prefixes.contains(&(stdout.clone(), product.clone()));
                if is_prefix { Ok(DamageVerdict::Prefix) } else { Err("not a prefix".to_owned()) }
            }
            Some(0) => Err("another output, and no notice".to_owned()),
            Some(1) if self.kind == AccessKind::Verify && stdout.contains("problem: ") => Ok(DamageVerdict::Error),
            Some(1) if self.kind == AccessKind::Salvage => judge_salvaged(outcome, expected),
            Some(3) if is_named && stderr.contains("missing") => {
                let is_prefix = expected.prefixes.contains(&(stdout.clone(), product.clone()));
                if is_prefix { Ok(DamageVerdict::Prefix) } else { Err("a notice, but not a prefix".to_owned()) }
            }
            _ => Err("an unexpected exit code".to_owned()),
        }
    }
}

/// Judges `salvage`: the events are a subsequence of the original ones, and the output lists what is missing.
fn judge_salvaged(outcome: &CommandResult, expected: &ExpectedResults) -> Result<DamageVerdict, String> {
    let is_header_proved = !outcome.stdout.contains("the header ");
    if !has_part(&outcome.product, &expected.intact.product, is_header_proved) {
        return Err("salvaged what was not there".to_owned());
    }
    let is_reported = 1 < outcome.stdout.lines().count();
    if is_reported { Ok(DamageVerdict::Prefix) } else { Err("incomplete, and not said".to_owned()) }
}

/// An acceptable result of a command on a damaged ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DamageVerdict {
    /// A clear error.
    Error,
    /// The same as on the intact ledger.
    Identical,
    /// An intact part, with a notice.
    Prefix,
}

/// Starts a server, asks it for its answers, and kills it.
fn serve(command: &mut Command) -> CommandResult {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let (code, stdout) = match serde_json::from_str::<Value>(&line) {
        Ok(started) => (Some(0), answers(&started)),
        Err(_) => (None, line),
    };
    let code = end(&mut child, code);
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    // The messages about the journal differ between a closed and a killed ledger.
    if code == Some(0) {
        assert!(!stderr.contains("panicked"), "{stderr}");
        stderr.clear();
    }
    CommandResult { code, stdout, stderr, product: vec![], is_ledger_changed: false }
}

fn end(child: &mut Child, code: Option<i32>) -> Option<i32> {
    if code.is_some() {
        child.kill().unwrap();
        child.wait().unwrap();
        return code;
    }
    child.wait().unwrap().code()
}

/// Returns the answers that a server has.
fn answers(started: &Value) -> String {
    let url = started["url"].as_str().unwrap();
    let port = url.split(':').nth(2).unwrap().split('/').next().unwrap().parse().unwrap();
    let mut client = TestClient::new(port, started["token"].as_str().unwrap());
    let (_, past) = client.get("/api/history?annotator=ann&n=100").unwrap();
    let pick = |entry: &Value| json!([entry["ask"], entry["item"], entry["label"], entry["status"]]).to_string();
    past.as_array().unwrap().iter().map(pick).collect::<Vec<_>>().join("\n")
}

/// Returns a product as comparable lines; those of a ledger are its events, notes and contents.
fn read_product(path: &Path) -> Vec<String> {
    if path.extension().is_none_or(|ending| ending != "ledger") {
        return fs::read(path).iter().map(|bytes| format!("{bytes:?}")).collect();
    }
    match Ledger::read(path) {
        Ok(ledger) => read_ledger(&ledger),
        Err(_) => vec![],
    }
}

/// Returns everything that a command can read from a ledger.
pub(crate) fn read_ledger(ledger: &Ledger) -> Vec<String> {
    let mut lines = vec![format!("header {}", ledger.header())];
    for key in ["columns", "items", "salvaged"] {
        lines.extend(ledger.note(key).map(|note| format!("note {key} {note}")));
    }
    for record in ledger.records() {
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                lines.push(error.to_string());
                break;
            }
        };
        lines.push(format!("{} {} {:?}", record.kind, record.fields, record.data));
        let fields: Value = serde_json::from_str(&record.fields).unwrap_or_default();
        if let Some(digest) = fields["content"].as_str().and_then(querist_rows::Digest::parse) {
            lines.push(format!("content {:?}", ledger.content(&digest.0)));
        }
    }
    lines
}
