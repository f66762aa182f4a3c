//! Pool runs that start with some rows: killed, resumed, replayed, rejected.

mod common;

use std::fs;

use common::{Folder, error, json, killed_again_and_again, querist};
use serde_json::Value;

/// Writes texts of which one in fifty is positive, with predictions of which some are wrong or missing.
fn texts(path: &str, rows: usize) {
    let mut text = "id,body,guess,label\n".to_owned();
    for row in 0..rows {
        let (word, label) = if row % 50 == 7 { ("prize", "yes") } else { ("lunch", "no") };
        let guess = match row {
            _ if row % 50 == 7 || row % 90 == 4 => "yes",
            _ if row % 33 == 5 => "",
            _ => "no",
        };
        text.push_str(&format!("t{row},message {row} about {word} number {},{guess},{label}\n", row % 13));
    }
    fs::write(path, text).unwrap();
}

#[test]
fn a_killed_run_that_starts_with_some_rows_ends_like_an_undisturbed_one() {
    let folder = Folder::new("killed-start");
    let data = folder.path("texts.csv");
    texts(&data, 1500);
    for (name, start) in [
        ("with", &["--start-with", "prize", "--ignore", "guess"][..]),
        ("like", &["--start-like", "a prize", "--start-like", "lunch", "--ignore", "guess"][..]),
        ("predicted", &["--predictions", "guess"][..]),
        ("random", &["--predictions", "guess", "--cold-start", "random", "--draw", "top"][..]),
    ] {
        let run = |ledger: &str| -> Vec<String> {
            let fixed = ["pool", &data, "--text", "body", "--label", "label", "--budget", "40", "--json", "--asks"];
            let mut all: Vec<String> = fixed.iter().chain(start).map(|text| (*text).to_owned()).collect();
            all.extend(["--resume".to_owned(), "--ledger".to_owned(), folder.path(ledger)]);
            all
        };
        let strings = |run: &[String]| -> Value { json(&run.iter().map(String::as_str).collect::<Vec<_>>()) };
        let expected = strings(&run(&format!("{name}-whole")));
        let asks = expected["asks"].as_array().unwrap();
        let is_yes = |ask: &Value| ask["id"].as_str().unwrap()[1..].parse::<usize>().unwrap() % 50 == 7;
        // Predicted rows come first only until every class has an answer.
        assert!(asks[..10].iter().any(is_yes), "{name}: no positive among the first ten");
        assert!(
            asks[..10].iter().all(|ask| ask["probability"].as_f64().is_some_and(|p| 0.0 < p && p <= 1.0)),
            "{name}"
        );
        for round in 0..2 {
            let stopped = run(&format!("{name}-{round}"));
            let arguments: Vec<&str> = stopped.iter().map(String::as_str).collect();
            killed_again_and_again(&arguments, 40 * round + 60);
            assert!(json(&arguments) == expected, "{name}, round {round}");
        }
        let whole = folder.path(&format!("{name}-whole"));
        let replayed = json(&["replay", &whole, "--json"]);
        assert_eq!((&replayed["same_model"], &replayed["disagreeing"]), (&true.into(), &0.into()), "{name}");
        // The rows to start with are recorded: a resumed run need not state them, and others are another run.
        if name == "with" {
            let same = ["pool", &data, "--text", "body", "--label", "label", "--budget", "40", "--json", "--asks"];
            let resumed = ["--ignore", "guess", "--resume", "--ledger", &whole];
            assert!(json(&[&same[..], &resumed].concat()) == expected);
            let other = error(&[&same[..], &resumed, &["--start-with", "lunch"]].concat());
            assert!(other.contains("it was started with --start-with prize, not lunch"), "{other}");
        }
    }
    let pool = ["pool", &data, "--text", "body", "--label", "label", "--budget", "5", "--ignore", "guess"];
    let sgd = error(&[&pool[..], &["--fit", "sgd", "--start-with", "prize"]].concat());
    assert!(sgd.contains("--start-with needs --fit refit"), "{sgd}");
    let none = error(&[&pool[..], &["--start-with", "zebra"]].concat());
    assert!(none.contains("--start-with zebra: none of the 1,500 rows matches"), "{none}");
}

/// Returns the notices of a pool's run with seed labels of this many rows, and the ids of its first queries.
fn started(folder: &Folder, seeds: usize, more: &[&str]) -> (String, Vec<String>) {
    let (data, file) = (folder.path("texts.csv"), folder.path("seeds.txt"));
    let ids: Vec<String> = (0..seeds).map(|row| format!("t{row}")).collect();
    fs::write(&file, ids.join("\n")).unwrap();
    let fixed = ["pool", &data, "--text", "body", "--label", "label", "--budget", "5", "--json", "--asks"];
    let done = querist(&[&fixed[..], &["--seed-labels", &file], more].concat()).output().unwrap();
    let notices = String::from_utf8(done.stderr).unwrap();
    assert!(done.status.success(), "{notices}");
    let found: Value = serde_json::from_slice(&done.stdout).unwrap();
    let asks = found["asks"].as_array().unwrap().iter().map(|ask| ask["id"].as_str().unwrap().to_owned());
    (notices, asks.collect())
}

#[test]
fn rows_to_start_with_are_used_and_announced_only_while_labels_are_few() {
    let folder = Folder::new("start-seeds");
    texts(&folder.path("texts.csv"), 1500);
    // Five labels are half of a cold start.
    let words = ["--start-with", "prize", "--start-like", "a prize number", "--ignore", "guess"];
    let (notices, asks) = started(&folder, 4, &words);
    assert!(notices.contains("30 of 1,500 rows match --start-with; such rows come first"), "{notices}");
    assert!(notices.contains("20 rows most like `a prize number` come first"), "{notices}");
    assert_ne!(asks, started(&folder, 4, &words[4..]).1);
    let (notices, asks) = started(&folder, 5, &words);
    for flag in ["--start-with", "--start-like"] {
        let unused = format!("{flag} is not used: 5 labels are there already, and it chooses only the first 5");
        assert!(notices.contains(&unused), "{notices}");
    }
    assert!(!notices.contains("come first"), "{notices}");
    assert_eq!(asks, started(&folder, 5, &words[4..]).1);

    // Predictions are used until there is a model: that takes ten labels, and both classes. The eighth row has the second.
    for (seeds, is_used) in [(5, true), (7, true), (9, true), (10, false)] {
        let (notices, asks) = started(&folder, seeds, &["--predictions", "guess"]);
        assert_eq!(notices.contains("predictions in `guess`: no "), is_used, "{notices}");
        let unused = format!("--predictions is not used: {seeds} labels are there already, enough for a model");
        assert_eq!(notices.contains(&unused), !is_used, "{notices}");
        assert_eq!(asks == started(&folder, seeds, &["--ignore", "guess"]).1, !is_used, "{seeds} {asks:?}");
    }
}

#[test]
fn a_resumed_run_keeps_its_precision() {
    let folder = Folder::new("resume-precision");
    let (data, ledger) = (folder.path("texts.csv"), folder.path("run.ledger"));
    texts(&data, 1500);
    let with = |more: &'static [&'static str]| {
        let fixed = ["pool", &data, "--text", "body", "--label", "label", "--ignore", "guess", "--budget", "300"];
        [&fixed[..], &["--ledger", &ledger, "--resume", "--json"], more].concat().into_iter().map(str::to_owned)
    };
    let run = |more: &'static [&'static str]| -> Value {
        let arguments: Vec<String> = with(more).collect();
        json(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let expected = run(&["--precision", "0.1"]);
    assert!(expected["stopped"].as_str().unwrap().contains("0.1"), "{}", expected["stopped"]);
    assert_eq!(run(&[]), expected, "it is recorded, so it need not be stated again");
    let other: Vec<String> = with(&["--precision", "0.2"]).collect();
    let other = error(&other.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(other.contains("it was started with --precision 0.1, not 0.2\n"), "{other}");
}
