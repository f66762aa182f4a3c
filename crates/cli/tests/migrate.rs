//! Ledgers of version 2 give the same results as the program that wrote them, before and after they are rewritten.

mod common;

use std::fs;
use std::path::Path;

use common::{Folder, json, querist};
use querist_ledger::Ledger;
use serde_json::Value;

fn fixtures() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the recorded output of the older program.
fn expected(name: &str) -> Value {
    let path = fixtures().join("tests/fixtures").join(name);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Checks that every field of the first is in the second, except names of rules, which may have changed.
fn check(expected: &Value, found: &Value, what: &str) {
    for (key, value) in expected.as_object().unwrap().iter().filter(|(key, _)| *key != "rule") {
        assert_eq!(found[key], *value, "{what}: {key}");
    }
}

fn check_results(ledger: &str, name: &str, out: &str) {
    check(&expected(&format!("version-2-{name}.replay.json")), &json(&["replay", ledger, "--json"]), name);
    let report = json(&["report", ledger, "--out", out, "--json"]);
    let before = expected(&format!("version-2-{name}.report.json"));
    for key in ["run", "finished"] {
        assert_eq!(report[key], before[key], "{name}: {key}");
    }
    // Later versions draw more figures.
    check(&before["figures"], &report["figures"], name);
    check(&before["missing"], &report["missing"], name);
}

fn check_export(ledger: &str) {
    let output = querist(&["export", ledger, "--all", "--format", "jsonl"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let path = fixtures().join("tests/fixtures/version-2-label.jsonl");
    let (before, now) = (fs::read_to_string(path).unwrap(), String::from_utf8(output.stdout).unwrap());
    assert_eq!(now.lines().count(), before.lines().count());
    for (line, (before, now)) in before.lines().zip(now.lines()).enumerate() {
        let [before, now]: [Value; 2] = [before, now].map(|line| serde_json::from_str(line).unwrap());
        check(&before, &now, &format!("line {line}"));
    }
}

#[test]
fn ledgers_of_version_2_give_the_same_results() {
    for name in ["label", "stream", "pool", "refit"] {
        let folder = Folder::new(&format!("migrate-{name}"));
        let (ledger, out) = (folder.path("run.ledger"), folder.path("report"));
        let fixture = fixtures().join(format!("../ledger/tests/fixtures/version-2-{name}.ledger"));
        fs::copy(fixture, &ledger).unwrap();
        let bytes = fs::read(&ledger).unwrap();
        check_results(&ledger, name, &out);
        if name == "label" {
            check_export(&ledger);
        }
        assert!(bytes == fs::read(&ledger).unwrap(), "{name}: reading changes nothing");
        drop(Ledger::open(&ledger).unwrap());
        assert!(bytes != fs::read(&ledger).unwrap(), "{name}: opening rewrites it");
        check_results(&ledger, name, &out);
        if name == "label" {
            check_export(&ledger);
        }
    }
}
