//! Test rows need no extra memory: they are scored as they are read, or in place.

mod common;

use std::fs;

use common::client::LabelServer;
use common::{Folder, querist, table, within_memory};
use serde_json::Value;

/// Writes rows of a hundred numbers: 400 bytes of memory each.
fn wide(path: &str, rows: usize) {
    let names: Vec<String> = (0..100).map(|column| format!("x{column}")).collect();
    let mut text = format!("label,{}\n", names.join(","));
    for row in 0..rows {
        text.push_str(["no", "yes"][row % 2]);
        for column in 0..100 {
            text.push_str([",0", ",1", ",2"][(row * row + column * row) % 3]);
        }
        text.push('\n');
    }
    fs::write(path, text).unwrap();
}

fn tested(megabytes: u32, arguments: &[&str]) -> u64 {
    let output = within_memory(megabytes, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    result["test"]["rows"].as_u64().unwrap()
}

#[test]
fn test_rows_of_a_stream_are_scored_as_they_are_read() {
    let folder = Folder::new("memory-stream");
    let (few, many) = (folder.path("few.csv"), folder.path("many.csv"));
    wide(&few, 1000);
    wide(&many, 100_000);
    let flags = ["--label", "label", "--threads", "1", "--json"];
    assert_eq!(tested(30, &[&["stream", &few, "--test", &many][..], &flags].concat()), 100_000);
    let held = tested(30, &[&["stream", &many, "--test-fraction", "0.9"][..], &flags].concat());
    assert!((89_000..91_000).contains(&held), "{held}");
}

/// Rows from a pipe are kept in memory; a file is read in blocks.
#[test]
fn test_rows_score_the_same_in_blocks_and_as_a_whole() {
    let folder = Folder::new("memory-same");
    let (few, many) = (folder.path("few.csv"), folder.path("many.csv"));
    wide(&few, 500);
    wide(&many, 9000);
    let run = |test: &str| {
        let arguments = ["stream", &few, "--label", "label", "--json", "--test", test];
        let output = querist(&arguments).stdin(fs::File::open(&many).unwrap()).output().unwrap();
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        result["test"].clone()
    };
    assert_eq!(run(&many)["rows"], 9000);
    assert_eq!(run(&many), run("-"));
}

#[test]
fn test_rows_of_a_pool_are_scored_in_place() {
    let folder = Folder::new("memory-pool");
    let data = folder.path("data.csv");
    wide(&data, 100_000);
    let flags = ["--label", "label", "--budget", "5", "--test-fraction", "0.9", "--threads", "1", "--json"];
    let held = tested(65, &[&["pool", &data][..], &flags].concat());
    assert!((89_000..91_000).contains(&held), "{held}");
}

#[test]
fn test_rows_that_cannot_be_read_are_counted() {
    let folder = Folder::new("test-skipped");
    let (data, test) = (folder.path("data.csv"), folder.path("test.csv"));
    table(&data, 100);
    fs::write(&test, "id,a,b,c,label\nx,1,0,0,yes\ny,much,0,0,no\nz,-1,0,0,no\n").unwrap();
    let flags = ["--label", "label", "--skip-bad-rows", "--test", &test];
    for command in [&["stream", &data][..], &["pool", &data, "--budget", "10"][..]] {
        let arguments = [command, &flags[..]].concat();
        let result = common::json(&[&arguments[..], &["--json"]].concat());
        assert_eq!((&result["test"]["rows"], &result["test_skipped_rows"]), (&2.into(), &1.into()), "{command:?}");
        let text = querist(&arguments).output().unwrap().stdout;
        assert!(String::from_utf8(text).unwrap().contains("test rows skipped"), "{command:?}");
    }
}

/// A session needs memory for the features that its items have, not for all indices up to the largest.
#[test]
fn labeling_renumbers_features_with_large_indices() {
    let folder = Folder::new("memory-label");
    let (data, ledger, model) = (folder.path("rows.svm"), folder.path("run.ledger"), folder.path("model"));
    let rows: Vec<String> =
        (0..12).map(|row| format!("{}:1 {}:{}\n", 5 + row % 2, 134_217_700 + row, row + 1)).collect();
    fs::write(&data, rows.concat()).unwrap();
    let script = "ulimit -d 102400; exec \"$0\" \"$@\"";
    let mut command = std::process::Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_querist"), "label", &data, "--labels", "even,odd"]);
    command.args(["--port", "0", "--json", "--no-browser", "--ledger", &ledger]);
    let mut server = LabelServer::from_command(command);
    let mut client = server.client();
    for count in 0..8 {
        let item = client.next("ann", 1).unwrap().remove(0);
        let row: u64 = item["item"].as_str().unwrap().parse().unwrap();
        let label = if row.is_multiple_of(2) { "even" } else { "odd" };
        client.answer("ann", &item["ask"], &format!("k{count}"), label).unwrap();
    }
    assert!(server.terminate());
    let output = within_memory(100, &["replay", &ledger, "--json"]);
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(output.status.success() && result["disagreeing"] == 0, "{result}");
    let output = within_memory(100, &["export", &ledger, "--model", &model]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = within_memory(100, &["predict", &model, &data]);
    let predicted = String::from_utf8(output.stdout).unwrap();
    let right = predicted.lines().filter(|line| line.contains("even") || line.contains("odd")).count();
    assert!(output.status.success() && 12 <= right, "{predicted}");
}
