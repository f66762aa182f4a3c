//! `querist predict`: input, output and accepted models.

mod common;

use std::fmt::Write;
use std::fs;
use std::process::Stdio;

use common::{Folder, error, json, querist, table};
use querist_ledger::ModelFile;
use serde_json::{Value, json};

/// Runs a command that succeeds; returns standard output and standard error.
fn outputs(arguments: &[&str]) -> (String, String) {
    let output = querist(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

/// Learns a model from three numeric columns; returns the data and the model.
fn learned(folder: &Folder) -> (String, String) {
    let (data, model) = (folder.path("data.csv"), folder.path("model"));
    table(&data, 300);
    json(&["stream", &data, "--label", "label", "--model", &model, "--json"]);
    (data, model)
}

#[test]
fn labels_and_duplicate_ids_of_rows_are_ignored() {
    let folder = Folder::new("predict-labels");
    let (_, model) = learned(&folder);
    let rows = folder.path("rows.csv");
    fs::write(&rows, "id,a,b,c,label\nx,1,0,0,?\nx,-1,0,0,perhaps\ny,1,0,0,\n").unwrap();
    let (text, _) = outputs(&["predict", &model, &rows]);
    let labels: Vec<&str> = text.lines().map(|line| line.rsplit_once(',').unwrap().0).collect();
    assert_eq!(labels, ["id,label", "x,yes", "x,no", "y,yes"]);
}

#[test]
fn the_flags_that_an_error_suggests_exist() {
    let folder = Folder::new("predict-advice");
    let (_, model) = learned(&folder);
    let rows = folder.path("rows.csv");
    fs::write(&rows, "id,a,b,c\nx,1,,0\ny,-1,0,0\n").unwrap();
    let message = error(&["predict", &model, &rows]);
    assert!(
        message.contains("line 2, column `b`") && message.contains("--missing mean, indicator or zero"),
        "{message}"
    );
    let (filled, _) = outputs(&["predict", &model, &rows, "--missing", "mean"]);
    assert!(filled.contains("\nx,yes,") && filled.contains("\ny,no,"), "{filled}");
    let (left, remark) = outputs(&["predict", &model, &rows, "--skip-bad-rows"]);
    assert_eq!(left.lines().count(), 2, "{left}");
    assert!(remark.contains("skipped 1 row that cannot be read"), "{remark}");
}

#[test]
fn rows_without_labels_are_read_in_the_named_format() {
    let folder = Folder::new("predict-format");
    let (data, model) = (folder.path("data.svm"), folder.path("model"));
    let line = |i: u32| format!("{} 1:{} 3:{}", if i % 7 < 3 { -1 } else { 1 }, f64::from(i % 7) - 3.0, i % 5);
    fs::write(&data, (0..200).map(line).collect::<Vec<_>>().join("\n")).unwrap();
    json(&["stream", &data, "--model", &model, "--json"]);
    let rows = folder.path("rows");
    fs::write(&rows, "1:3 3:1\n1:-3\n").unwrap();
    let flags = ["predict", &model, "-", "--input-format", "svmlight"];
    let output = querist(&flags).stdin(fs::File::open(&rows).unwrap()).stdout(Stdio::piped()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\n1,1,") && text.contains("\n2,-1,"), "{text}");
    let unknown = error(&["predict", &model, &rows, "--input-format", "svm"]);
    assert!(unknown.contains("--input-format: unknown format `svm`"), "{unknown}");
}

#[test]
fn unknown_categories_are_reported() {
    let folder = Folder::new("predict-categories");
    let (data, model, rows) = (folder.path("data.csv"), folder.path("model"), folder.path("rows.csv"));
    let line = |i: u32| format!("{},{}", ["red", "blue"][i as usize % 2], ["yes", "no"][i as usize % 2]);
    fs::write(&data, format!("color,label\n{}\n", (0..100).map(line).collect::<Vec<_>>().join("\n"))).unwrap();
    json(&["stream", &data, "--label", "label", "--model", &model, "--json"]);
    fs::write(&rows, "color\nred\ngreen\npink\n").unwrap();
    let (text, remark) = outputs(&["predict", &model, &rows]);
    assert_eq!(text.lines().count(), 4);
    assert!(remark.contains("2 cells with a category that the model does not know"), "{remark}");
}

/// A model with a valid length and checksum may still be inconsistent.
#[test]
fn an_inconsistent_model_is_rejected() {
    let folder = Folder::new("predict-false");
    let (data, model) = learned(&folder);
    let good = ModelFile::read(&model).unwrap();
    let header: Value = serde_json::from_str(&good.header).unwrap();
    let numbers = |name: &str| good.arrays.iter().find(|(found, _)| found == name).unwrap().1.clone();
    let write = |name: &str, change: &dyn Fn(&mut Value), mean: Vec<f64>, theta: Vec<f64>| {
        let (mut header, path) = (header.clone(), folder.path(name));
        change(&mut header);
        let arrays = vec![("theta".to_owned(), theta), ("mean".to_owned(), mean)];
        ModelFile { header: header.to_string(), arrays, ..ModelFile::default() }.write(&path).unwrap();
        path
    };
    let (mean, theta) = (numbers("mean"), numbers("theta"));
    let vector = |length: Value| {
        move |header: &mut Value| {
            header["encoder"]["dim"] = length.clone();
            header["encoder"]["fields"] = json!([{"column": "a", "coding": {"vector": length}}]);
        }
    };
    let same = |_: &mut Value| ();
    let numbered = |header: &mut Value| {
        header["encoder"]["dim"] = 4_000_000_000_u32.into();
        header["encoder"]["fields"] = json!([{"column": "features", "coding": "features"}]);
    };
    let cases = [
        write("long", &vector((1_u64 << 40).into()), mean.clone(), theta.clone()),
        write("longer", &vector(u64::MAX.into()), mean.clone(), theta.clone()),
        write("numbered", &numbered, mean.clone(), theta.clone()),
        write("no-fields", &|header| header["encoder"]["fields"] = json!([]), mean.clone(), theta.clone()),
        write("narrow", &|header| header["encoder"]["dim"] = 7.into(), mean.clone(), theta.clone()),
        write("outputs", &|header| header["outputs"] = 2.into(), mean.clone(), theta.clone()),
        write("none", &same, vec![], theta.clone()),
        write("fewer", &same, mean[1..].to_vec(), theta[1..].to_vec()),
        write("more", &same, [&mean[..], &[1.0]].concat(), [&theta[..], &[1.0]].concat()),
        write("theta", &same, mean.clone(), theta[1..].to_vec()),
        write("no-number", &same, vec![f64::NAN; mean.len()], theta.clone()),
        write("infinite", &same, mean.clone(), vec![f64::INFINITY; mean.len()]),
    ];
    for path in &cases {
        for arguments in [&["predict", path, &data][..], &["select", &data, "--model", path, "-k", "2"][..]] {
            let message = error(arguments);
            assert!(
                message.contains(path.as_str()) && message.contains("model") || message.contains("encoder"),
                "{message}"
            );
        }
    }
    let kept = write("kept", &same, mean, theta);
    assert_eq!(fs::read(kept).unwrap(), fs::read(model).unwrap());
}

/// Rows are read in blocks, so memory does not grow with the file.
#[test]
fn memory_of_predictions_does_not_grow_with_the_rows() {
    let folder = Folder::new("predict-memory");
    let (_, model) = learned(&folder);
    let (rows, count) = (folder.path("rows.csv"), 400_000);
    let mut text = "id,a,b,c\n".to_owned();
    for row in 0..count {
        let _ = writeln!(text, "a-name-of-some-length-{row},1,0,{}", row % 2);
    }
    fs::write(&rows, text).unwrap();
    let output = common::within_memory(24, &["predict", &model, &rows]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), count + 1);
}
