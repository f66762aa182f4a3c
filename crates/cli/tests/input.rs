//! Flags for reading files: lists, files without a header, features with large indices.

mod common;

use std::fs;

use common::{Folder, error, json, querist, within_memory};
use serde_json::Value;

fn text(arguments: &[&str]) -> String {
    let output = querist(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns records of two numbers and a class that depends on the first.
fn records(n: usize) -> String {
    let number = |row: usize, by: usize| ((row * by) % 101) as f64 / 50.5 - 1.0;
    let class = |row: usize| if number(row, 37) < 0.0 { "no" } else { "yes" };
    let line = |row: usize| format!("{:.3},{:.3},{}", number(row, 37), number(row, 53), class(row));
    (1..=n).map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn spaces_in_a_list_of_labels_are_ignored() {
    let folder = Folder::new("input-labels");
    let data = folder.path("data.csv");
    fs::write(&data, format!("a,b,label\n{}", records(60))).unwrap();
    let learned = |labels: &str| json(&["stream", &data, "--labels", labels, "--json"])["classes"].clone();
    assert_eq!(learned("yes, no"), learned("yes,no"));
    assert_eq!(learned(" \"yes\" ,no "), serde_json::json!(["yes", "no"]));
    let message = |labels: &str| error(&["stream", &data, "--labels", labels]);
    assert!(message("yes,,no").contains("entry 2 is empty; remove the extra comma"), "{}", message("yes,,no"));
    assert!(message("yes,no,yes").contains("--labels: `yes` is given twice"), "{}", message("yes,no,yes"));
}

#[test]
fn names_with_commas_are_quoted() {
    let folder = Folder::new("input-commas");
    let data = folder.path("data.csv");
    fs::write(&data, format!("\"size, cm\",\"say \"\"b\"\"\",label\n{}", records(60))).unwrap();
    let read = |flags: &[&str]| {
        let found = json(&[&["stream", &data, "--json"], flags].concat());
        found["data"].as_str().unwrap().to_owned()
    };
    let both = "label: label (no, yes) · numbers: size, cm, say \"b\"";
    assert_eq!(read(&["--numbers", "\"size, cm\",\"say \"\"b\"\"\""]), both);
    assert_eq!(read(&["--numbers", "\"size, cm\"", "--numbers", "say \"b\""]), both);
    assert!(read(&["--ignore", " \"size, cm\" "]).ends_with("ignored: size, cm"));
    let message = error(&["stream", &data, "--numbers", "size, cm"]);
    assert!(message.contains("--numbers size: the column does not exist"), "{message}");
}

#[test]
fn a_file_without_a_header_is_learned_resumed_and_predicted() {
    let folder = Folder::new("input-no-header");
    let (with, without) = (folder.path("with.csv"), folder.path("without.csv"));
    fs::write(&with, format!("column1,column2,column3\n{}", records(200))).unwrap();
    fs::write(&without, records(200)).unwrap();
    let (model, twin) = (folder.path("model"), folder.path("twin"));
    let ledger = folder.path("run.ledger");
    let flags = ["--label", "column3", "--json"];
    let named = json(&[&["stream", &with, "--model", &twin][..], &flags].concat());
    let run = ["stream", &without, "--no-header", "--ledger", &ledger, "--model", &model];
    let found = json(&[&run[..], &flags].concat());
    assert_eq!((&found["observed"], &found["theta"]), (&200.into(), &named["theta"]));
    let again = json(&[&run[..], &["--resume"], &flags].concat());
    assert_eq!(again["theta"], found["theta"]);
    let rows = folder.path("rows.csv");
    fs::write(&rows, "0.9,0.1,\n-0.9,0.1,\n").unwrap();
    let predicted = text(&["predict", &model, &rows]);
    let labels: Vec<&str> = predicted.lines().map(|line| line.split(',').nth(1).unwrap()).collect();
    assert_eq!(labels, ["label", "yes", "no"]);
    let message = error(&["stream", &without, "--label", "column3"]);
    assert!(message.contains("the column does not exist"), "{message}");
    // The records repeat after 101; a repeated first line would look like a header.
    fs::write(&without, records(100)).unwrap();
    let run = json(&["stream", &without, "--label", "no", "--json"]);
    let remark = run["data_remarks"][0].as_str().unwrap_or_default();
    assert!(remark.contains("the first line looks like a record"), "{remark}");
}

#[test]
fn skipping_rows_is_proposed_only_if_rows_remain() {
    let folder = Folder::new("input-bad-rows");
    let data = folder.path("data.csv");
    let message = |rows: &str, command: &[&str]| {
        fs::write(&data, rows).unwrap();
        error(command)
    };
    let stream = ["stream", &data, "--label", "label"];
    let some = message("a,label\n1,\n2,no\n3,yes\n", &stream);
    assert!(some.contains("line 2, column `label`: no label") && some.contains("use --skip-bad-rows"), "{some}");
    let none = message("a,label\n1,\n2,\n3,\n", &stream);
    assert!(none.contains("line 2, column `label`: no label") && none.contains("no row can be read"), "{none}");
    assert!(!none.contains("--skip-bad-rows"), "{none}");
    let outside = message("a,label\n1,x\n2,y\n3,x\n", &[&stream[..], &["--labels", "no,yes"]].concat());
    assert!(outside.ends_with("\n  name all classes with --labels\n"), "{outside}");
    let missing = message("a,b,label\n,1,no\n,2,yes\n,3,no\n", &[&stream[..], &["--numbers", "a"]].concat());
    assert!(missing.ends_with("\n  use --missing mean, indicator or zero to fill it in\n"), "{missing}");
}

/// Writes rows with two informative features and others whose indices go up to 2²⁷ − 1.
fn far(path: &str, rows: usize) {
    let line = |row: usize| {
        let sign = if row.is_multiple_of(2) { "1" } else { "-1" };
        format!("{sign} {}:1 {}:0.5", 2 - row % 2, 134_217_727 - 1_000_000 * (row % 50))
    };
    fs::write(path, (0..rows).map(line).collect::<Vec<_>>().join("\n")).unwrap();
}

#[test]
fn memory_grows_with_the_features_that_occur() {
    let folder = Folder::new("input-far");
    let (two, many, model) = (folder.path("two.svm"), folder.path("many.svm"), folder.path("model"));
    fs::write(&two, "1 134217727:1\n-1 5:1\n").unwrap();
    far(&many, 400);
    let within = |arguments: &[&str]| {
        let output = within_memory(60, arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    within(&["stream", &two, "--threads", "1"]);
    let ledger = folder.path("run.ledger");
    let flags = ["--step", "fixed:eta=0.5", "--threads", "1", "--json"];
    let run =
        within(&[&["stream", &many, "--model", &model, "--ledger", &ledger, "--test", &two][..], &flags].concat());
    let run: Value = serde_json::from_slice(&run).unwrap();
    assert_eq!((&run["observed"], &run["theta"]), (&400.into(), &Value::Null));
    assert!(fs::metadata(&model).unwrap().len() < 10_000);
    let replayed = within(&["replay", &ledger, "--json"]);
    let replayed: Value = serde_json::from_slice(&replayed).unwrap();
    assert_eq!(replayed["same_model"], true);
    let predicted = String::from_utf8(within(&["predict", &model, &many])).unwrap();
    let right = predicted
        .lines()
        .skip(1)
        .enumerate()
        .filter(|(row, line)| line.split(',').nth(1) == Some(if row.is_multiple_of(2) { "1" } else { "-1" }));
    assert!(390 < right.count(), "features 1 and 2 tell the classes apart");
    let (pool, ledger) = (folder.path("pool-model"), folder.path("pool.ledger"));
    for flags in [&["--fit", "sgd", "--step", "fixed:eta=0.5"][..], &["--fit", "refit"]] {
        let _ = fs::remove_file(&ledger);
        let run =
            ["pool", &many, "--budget", "40", "--threads", "1", "--ledger", &ledger, "--model", &pool, "--test", &two];
        within(&[&run[..], flags].concat());
        let replayed: Value = serde_json::from_slice(&within(&["replay", &ledger, "--json"])).unwrap();
        assert_eq!(replayed["same_model"], true, "{flags:?}");
        let predicted = String::from_utf8(within(&["predict", &pool, &many])).unwrap();
        assert_eq!(predicted.lines().count(), 401);
    }
}
