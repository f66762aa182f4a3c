//! Pool runs that start with some rows: killed, resumed, replayed, rejected.

mod common;

use std::fs;

use common::{Folder, error, json, killed_again_and_again};
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
            assert!(other.contains("settings start_with was \"prize\", is \"lunch\""), "{other}");
        }
    }
    let pool = ["pool", &data, "--text", "body", "--label", "label", "--budget", "5", "--ignore", "guess"];
    let sgd = error(&[&pool[..], &["--fit", "sgd", "--start-with", "prize"]].concat());
    assert!(sgd.contains("--start-with needs --fit refit"), "{sgd}");
    let none = error(&[&pool[..], &["--start-with", "zebra"]].concat());
    assert!(none.contains("--start-with zebra: none of the 1,500 rows matches"), "{none}");
}
