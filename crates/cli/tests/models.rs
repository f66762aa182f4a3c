//! Runs with models that are not linear: more accurate on a curved boundary, resumed, replayed, predicted.

mod common;

use std::fmt::Write as _;
use std::fs;

use common::{Folder, error, json, killed_again_and_again, querist};
use serde_json::Value;

/// Writes points of which those inside a circle are of one class.
fn circle(path: &str) {
    let mut text = "id,x,y,label\n".to_owned();
    for row in 0..900_u32 {
        let (x, y) = (f64::from(row % 30) / 7.5 - 1.93, f64::from(row / 30) / 7.5 - 1.93);
        let label = if x * x + y * y < 2.0 { "in" } else { "out" };
        let _ = writeln!(text, "p{row},{x:.3},{y:.3},{label}");
    }
    fs::write(path, text).unwrap();
}

fn run<'a>(data: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let fixed = ["pool", data, "--label", "label", "--budget", "80", "--test-fraction", "0.3", "--json"];
    fixed.iter().chain(more).copied().collect()
}

#[test]
fn a_curved_boundary_is_learned_with_kernel_features() {
    let folder = Folder::new("kernel-circle");
    let data = folder.path("data.csv");
    circle(&data);
    let accuracy = |model: &[&str]| json(&run(&data, model))["test"]["accuracy"].as_f64().unwrap();
    let (linear, kernel) = (accuracy(&[]), accuracy(&["--model", "kernel"]));
    assert!(linear < 0.75 && 0.9 < kernel, "{linear} {kernel}");
    assert_eq!(accuracy(&["--model", "linear"]), linear);
}

#[test]
fn forests_and_models_that_the_answers_choose_are_recorded_resumed_and_predict() {
    let folder = Folder::new("kernel-kinds");
    let data = folder.path("data.csv");
    circle(&data);
    for kind in ["forest:trees=50", "auto"] {
        let [ledger, model] = ["ledger", "model"].map(|name| folder.path(&format!("{}.{name}", &kind[..4])));
        let found = json(&run(&data, &["--model", kind, "--model", &model, "--ledger", &ledger]));
        assert!(0.9 < found["test"]["accuracy"].as_f64().unwrap() && found["model"] != "linear", "{found}");
        assert_eq!(found["theta"], Value::Null);
        assert_eq!(kind == "auto", found["model_choice"]["losses"].as_array().is_some_and(|all| all.len() == 3));
        let replayed = json(&["replay", &ledger, "--json"]);
        assert_eq!((&replayed["same_model"], &replayed["disagreeing"]), (&true.into(), &0.into()));
        let more = json(&run(&data, &["--resume", "--ledger", &ledger]));
        assert_eq!((&more["test"], &more["model"]), (&found["test"], &found["model"]));
        let output = querist(&["predict", &model, &data]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let selected = json(&["select", &data, "--model", &model, "-k", "20", "--json"]);
        assert_eq!(selected["selected"].as_array().map(Vec::len), Some(20), "{selected}");
    }
}

#[test]
fn kinds_that_data_or_losses_do_not_support_are_rejected() {
    let folder = Folder::new("kernel-unsupported");
    let (data, texts) = (folder.path("data.csv"), folder.path("texts.csv"));
    circle(&data);
    fs::write(&texts, "id,text,label\n1,good day,yes\n2,bad night,no\n3,good night,yes\n4,bad day,no\n").unwrap();
    let text = error(&["pool", &texts, "--label", "label", "--text", "text", "--budget", "2", "--model", "forest"]);
    assert!(text.contains("--model forest does not support text") && text.contains("use --model linear"), "{text}");
    let loss = error(&run(&data, &["--model", "forest", "--loss", "squared-hinge"]));
    assert!(loss.contains("needs a loss with probabilities"), "{loss}");
    let steps = error(&run(&data, &["--model", "auto", "--fit", "sgd"]));
    assert!(steps.contains("use linear or kernel"), "{steps}");
    let stream = error(&["stream", &data, "--label", "label", "--model", "forest"]);
    assert!(stream.contains("use linear or kernel"), "{stream}");
    let strength = error(&run(&data, &["--model", "forest", "--l2", "1"]));
    assert!(strength.contains("a forest has neither"), "{strength}");
    let objective = error(&run(&data, &["--model", "auto", "--objective", "equivalent"]));
    assert!(objective.contains("a forest has no equivalent loss"), "{objective}");
    let mixture = error(&["stream", "--synthetic", "mixture", "--observations", "20", "--model", "kernel"]);
    assert!(mixture.contains("needs a file with data"), "{mixture}");
    // The answers have nothing to choose from, but text can be learned.
    let auto =
        json(&["pool", &texts, "--label", "label", "--text", "text", "--budget", "2", "--model", "auto", "--json"]);
    assert_eq!(auto["model"], "linear");
}

#[test]
fn a_killed_run_with_kernel_features_ends_like_an_undisturbed_one() {
    let folder = Folder::new("kernel-killed");
    let (data, whole, stopped) = (folder.path("data.csv"), folder.path("whole"), folder.path("stopped"));
    circle(&data);
    let recorded = |ledger: &'static str| ["--model", "kernel:landmarks=100", "--resume", "--ledger", ledger];
    let leak = |text: &str| -> &'static str { Box::leak(text.to_owned().into_boxed_str()) };
    let expected = json(&run(&data, &recorded(leak(&whole))));
    let again = run(&data, &recorded(leak(&stopped)));
    killed_again_and_again(&again, 30);
    assert!(json(&again) == expected);
    let replayed: Value = json(&["replay", &whole, "--json"]);
    assert_eq!((&replayed["same_model"], &replayed["disagreeing"]), (&true.into(), &0.into()));
    // A resumed run keeps its kind of model, and rejects another one.
    assert!(json(&run(&data, &["--resume", "--ledger", &whole])) == expected);
    let other = error(&run(&data, &["--model", "linear", "--resume", "--ledger", &whole]));
    assert!(other.contains("model"), "{other}");
}

#[test]
fn a_stored_model_predicts_with_kernel_features() {
    let folder = Folder::new("kernel-predict");
    let (data, model) = (folder.path("data.csv"), folder.path("circle.model"));
    circle(&data);
    let found = json(&run(&data, &["--model", "kernel", "--model", &model]));
    let output = querist(&["predict", &model, &data]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let labels = fs::read_to_string(&data).unwrap();
    let label = |line: &str, column: usize| line.split(',').nth(column).unwrap().to_owned();
    let pairs = text.lines().skip(1).zip(labels.lines().skip(1));
    let right = pairs.filter(|(found, known)| label(found, 1) == label(known, 3)).count();
    let accuracy = found["test"]["accuracy"].as_f64().unwrap();
    assert!((right as f64 / 900.0 - accuracy).abs() < 0.06, "{right} of 900, {accuracy}");
    // `select` draws by the same scores.
    let selected = json(&["select", &data, "--model", &model, "-k", "20", "--json"]);
    assert_eq!(selected["selected"].as_array().map(Vec::len), Some(20), "{selected}");
}

#[test]
fn values_that_are_no_models_are_explained() {
    let folder = Folder::new("kernel-errors");
    let data = folder.path("data.csv");
    circle(&data);
    let message = error(&run(&data, &["--model", "kernel:landmarks=none"]));
    assert!(message.contains("landmarks = none, need 1 to 4096"), "{message}");
    let misspelled = error(&run(&data, &["--model", "kernal"]));
    assert!(misspelled.contains("did you mean `kernel`?"), "{misspelled}");
    let twice = error(&run(&data, &["--model", "kernel", "--model", "linear"]));
    assert!(twice.contains("two kinds"), "{twice}");
    let compare = error(&["compare", &data, "--label", "label", "--budget", "20", "--model", "forests"]);
    assert!(compare.contains("unknown model"), "{compare}");
}
