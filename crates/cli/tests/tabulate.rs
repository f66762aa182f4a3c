//! `querist tabulate --json` and `certify --out`: numbers are exact to the last bit, and every file is written.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use querist_theory::equivalent::Queried;
use querist_theory::link::Link;
use querist_theory::loss::Loss;
use serde_json::Value;

fn querist(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_querist")).args(arguments).output().expect("the binary runs")
}

fn json(arguments: &[&str]) -> Value {
    let output = querist(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one JSON value")
}

/// Parses a number or the string of an infinity; null is NaN here.
fn number(value: &Value) -> f64 {
    match value {
        Value::Number(number) => number.as_f64().unwrap(),
        Value::String(text) => text.parse().unwrap(),
        _ => f64::NAN,
    }
}

fn same(found: &Value, expected: f64) {
    let found = number(found);
    assert!(found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan()), "{found} {expected}");
}

fn scratch(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn numbers_survive_to_the_last_bit() {
    let points: Vec<f64> = (0..2000).map(|i| (f64::from(i) * 0.618_033_988).sin() * 10_f64.powi(i % 7 - 3)).collect();
    let file = scratch("points").join("points.txt");
    let lines: Vec<String> = points.iter().map(|s| format!("{s}")).collect();
    fs::write(&file, lines.join("\n")).unwrap();
    let at_file = format!("@{}", file.display());
    for (loss, rule) in [("logistic", "entropy"), ("exponential", "margin:mu=2"), ("squared-hinge", "entropy")] {
        let pair = Queried::parse(loss, rule).unwrap();
        let table = json(&["tabulate", loss, rule, "--s", &at_file, "--json"]);
        let rows = table["margin"].as_array().unwrap();
        assert_eq!(rows.len(), points.len());
        for (row, &s) in rows.iter().zip(&points) {
            same(&row["s"], s);
            same(&row["uncertainty"], pair.rule().at(s));
            same(&row["loss"], pair.loss().value(s));
            same(&row["loss_slope"], pair.loss().slope(s));
            same(&row["equivalent"], pair.value(s));
            same(&row["equivalent_above_infimum"], pair.above_infimum(s).unwrap());
            same(&row["equivalent_slope"], pair.slope(s));
            same(&row["equivalent_curvature"], pair.curvature_at(s).unwrap_or(f64::NAN));
        }
    }
}

#[test]
fn infinities_are_strings_and_the_undefined_is_null() {
    let table = json(&["tabulate", "exponential", "margin:mu=1", "--s=-1000,0,inf", "--z", "1", "--json"]);
    let rows = &table["margin"];
    assert_eq!(rows[0]["loss"], "inf");
    assert_eq!(rows[0]["loss_slope"], "-inf");
    assert_eq!(rows[1]["equivalent_curvature"], Value::Null, "a kink");
    assert_eq!(rows[2]["s"], "inf");
    assert_eq!(table["link"][0]["psi_slope"], "inf");
}

#[test]
fn links_and_their_inverses_are_tabulated() {
    let pair = Queried::parse("logistic", "margin:mu=1").unwrap();
    let link = Link::new(&pair).unwrap();
    let table = json(&["tabulate", "logistic", "margin:mu=1", "--z=0.2,0.9", "--psi=0.01,7", "--json"]);
    same(&table["link"][1]["psi"], link.value(0.9));
    same(&table["link"][1]["psi_slope"], link.slope(0.9));
    same(&table["inverse"][0]["z"], link.inverse(0.01));
    same(&table["inverse"][1]["z"], 1.0);
}

#[test]
fn a_certificate_is_written_with_its_figure() {
    for (name, loss, rule) in [("score", "logistic", "entropy"), ("regression", "squared", "margin:mu=1")] {
        let folder = scratch(name);
        let output = querist(&["certify", loss, rule, "--out", folder.to_str().unwrap()]);
        assert!(output.status.success());
        let page = fs::read_to_string(folder.join("index.html")).unwrap();
        for claim in ["integrable", "calibrated", "convex-in-score", "convex-in-probability", "lipschitz", "positive"] {
            assert!(page.contains(claim), "{claim} on the page");
        }
        assert!(page.contains("<svg") && !page.contains("src=") && !page.contains("<script"));
        let picture = fs::read(folder.join("figure.png")).unwrap();
        assert!(picture.starts_with(b"\x89PNG"));
        assert!(fs::read_to_string(folder.join("figure.svg")).unwrap().starts_with("<svg"));
        let saved: Value = serde_json::from_slice(&fs::read(folder.join("certificate.json")).unwrap()).unwrap();
        assert_eq!(saved, json(&["certify", loss, rule, "--json"]));
    }
}

#[test]
fn every_registered_pair_can_be_drawn() {
    // The figure has risks, links and losses at their limits; no part of it may be empty.
    let folder = scratch("all");
    let out = folder.to_str().unwrap();
    for loss in ["logistic", "cross-entropy", "hinge", "squared-hinge", "exponential", "expr:max(0,1-s)^2"] {
        for rule in ["entropy", "threshold:gamma=1.5", "critical", "expr:1/(1+s^2)"] {
            assert!(querist(&["certify", loss, rule, "--out", out]).status.success(), "{loss} {rule}");
            let svg = fs::read_to_string(folder.join("figure.svg")).unwrap();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{loss} {rule}");
        }
    }
}
