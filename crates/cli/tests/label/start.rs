//! Sessions that start with some items, or that always ask for the most uncertain one: draws, kills, resuming, replay.

use std::fs;

use serde_json::{Value, json};

use super::common::client::LabelServer;
use super::common::{Folder, error, events_of, json as output, querist};
use super::replay::{answer_some, wait_for_model};
use super::{arguments, export, texts};

/// Writes texts of which one in fifty has a rare word, with a column of predicted labels that are often wrong.
fn predicted_texts(path: &str, rows: usize) {
    let mut text = "id,body,llm,title\n".to_owned();
    for row in 0..rows {
        let word = if row % 50 == 7 { "bad Ärger" } else { "good" };
        let llm = match row {
            _ if row % 50 == 7 || row % 75 == 3 => "no",
            _ if row % 97 == 5 => "",
            _ if row % 101 == 6 => "perhaps",
            _ => "yes",
        };
        text.push_str(&format!("t{row},\"message {row}, {word} and {}\",{llm},title {row}\n", row % 17));
    }
    fs::write(path, text).unwrap();
}

fn with<'a>(data: &'a str, ledger: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&arguments(data, ledger)[..], more].concat()
}

/// Returns what a rejected or killed server printed on standard error.
fn notices(mut server: LabelServer) -> String {
    server.kill();
    let mut text = String::new();
    std::io::Read::read_to_string(&mut server.process.stderr.take().unwrap(), &mut text).unwrap();
    text
}

fn replayed(ledger: &str) -> Value {
    let found = output(&["replay", ledger, "--json"]);
    assert_eq!((&found["confirmed"], &found["same_model"]), (&found["asked"], &Value::Bool(true)), "{found}");
    assert_eq!((found["disagreeing"].as_u64(), found["not_compared"].as_u64()), (Some(0), Some(0)), "{found}");
    found
}

#[test]
fn a_session_of_top_draws_has_no_estimates_and_is_resumed_and_replayed() {
    let folder = Folder::new("label-top");
    let (data, ledger) = (folder.path("texts.csv"), folder.path("run.ledger"));
    texts(&data, 600);
    let mut server = LabelServer::start(&with(&data, &ledger, &["--draw", "top"]));
    answer_some(&mut server.client(), "Ada", "1", 20);
    server.kill();
    // A resumed session keeps its draws, whether they are stated again or not.
    let mut server = LabelServer::start(&arguments(&data, &ledger));
    let mut client = server.client();
    answer_some(&mut client, "Ada", "2", 20);
    wait_for_model(&mut client);
    let item = client.next("Ada", 1).unwrap()[0].clone();
    assert!(item["probability"].is_null() && item["why"].as_str().unwrap().starts_with("model: "), "{item}");
    let (_, status) = client.get("/api/status").unwrap();
    assert_eq!((&status["draw"], &status["estimate"], &status["curve"]), (&json!("top"), &Value::Null, &json!([])));
    let advice = status["stop"].to_string();
    assert!(advice.contains("have no probabilities") && advice.contains("go on"), "{advice}");
    let (_, certificate) = client.get("/api/certificate").unwrap();
    assert!(certificate["objective"].as_str().unwrap().contains("always the most uncertain one"), "{certificate}");
    assert!(server.terminate());
    replayed(&ledger);

    // Draws of the cold start have probabilities; later ones have none, and each is the most uncertain item left.
    let asks = events_of(&ledger, "asked");
    let is_cold = |ask: usize| asks[ask].fields["guess"]["labels"] == 0;
    assert!(is_cold(0) && (0..asks.len()).filter(|ask| !is_cold(*ask)).count() > 10);
    for (index, ask) in asks.iter().enumerate() {
        assert_eq!(ask.fields["probability"].is_null(), !is_cold(index), "{}", ask.fields);
        assert_eq!(ask.fields["odds"]["total"].is_null(), !is_cold(index), "{}", ask.fields);
    }
    let lines = export(&ledger, &[]);
    assert!(
        lines.iter().any(|line| line["probability"].is_null()) && lines.iter().any(|line| line["probability"].is_f64())
    );
    let csv = querist(&["export", &ledger]).output().unwrap();
    let csv = String::from_utf8(csv.stdout).unwrap();
    assert!(csv.lines().skip(1).any(|line| line.contains(",,")), "{csv}");
    let report = output(&["report", &ledger, "--out", &folder.path("report"), "--json"]);
    assert!(report["missing"]["query-rate"].as_str().unwrap().contains("has no rate"), "{report}");
    assert!(report["missing"]["learning-curve"].as_str().unwrap().contains("no probabilities"), "{report}");

    let other = error(&with(&data, &ledger, &["--draw", "scan"]));
    assert!(other.contains("it was started with --draw top, not scan"), "{other}");
    let reject = error(&with(&data, &ledger, &["--draw", "reject"]));
    assert!(reject.contains("does not need random proposals"), "{reject}");
    assert!(reject.contains("use --draw scan; it has the same distribution"), "{reject}");
    let precision = error(&with(&data, &ledger, &["--precision", "0.1"]));
    assert!(precision.contains("--precision needs estimates from probabilities"), "{precision}");
}

#[test]
fn a_session_starts_with_matching_items() {
    let folder = Folder::new("label-start-with");
    let (data, ledger) = (folder.path("texts.csv"), folder.path("run.ledger"));
    predicted_texts(&data, 2000);
    let more = ["--ignore", "llm,title", "--start-with", "ärger, nowhere"];
    let server = LabelServer::start(&with(&data, &ledger, &more));
    let mut client = server.client();
    answer_some(&mut client, "Ada", "1", 6);
    let text = notices(server);
    assert!(text.contains("40 of 2,000 items match --start-with; such items come first"), "{text}");
    // The setting is recorded: it need not be stated again, and another one is rejected.
    let mut server = LabelServer::start(&with(&data, &ledger, &more[..2]));
    let mut client = server.client();
    answer_some(&mut client, "Ada", "2", 25);
    wait_for_model(&mut client);
    assert!(server.terminate());
    replayed(&ledger);
    let asks = events_of(&ledger, "asked");
    let matches = |ask: usize| asks[ask].fields["id"].as_str().unwrap()[1..].parse::<usize>().unwrap() % 50 == 7;
    assert!(3 < (0..5).filter(|ask| matches(*ask)).count(), "nine of ten draws match, by a fixed seed");
    for ask in &asks[..9] {
        let number = |name: &str| ask.fields["odds"][name].as_f64().unwrap();
        assert!((number("least") * number("left") / number("total") - 0.1).abs() < 1e-9, "a tenth is uniform");
    }
    let other = error(&with(&data, &ledger, &["--ignore", "llm,title", "--start-with", "good"]));
    assert!(other.contains("started with --start-with `ärger, nowhere`, not good"), "{other}");
}

#[test]
fn a_session_with_enough_imported_labels_announces_that_its_first_items_are_not_used() {
    let folder = Folder::new("label-start-imported");
    let (data, labels) = (folder.path("texts.csv"), folder.path("labels.csv"));
    predicted_texts(&data, 2000);
    let more = ["--start-with", "ärger", "--predictions", "llm", "--import", &labels];
    for (imported, start_with, predictions) in [
        (4, "40 of 2,000 items match --start-with; such items come first", None),
        (5, "--start-with is not used: 5 labels are there already, and it chooses only the first 5", None),
        (
            10,
            "--start-with is not used: 10 labels are there already, and it chooses only the first 5",
            Some("--predictions is not used: 10 labels are there already, enough for a model"),
        ),
    ] {
        let rows = (0..imported).map(|row| format!("t{row},{}\n", if row % 2 == 0 { "yes" } else { "no" }));
        fs::write(&labels, format!("id,label\n{}", rows.collect::<String>())).unwrap();
        let ledger = folder.path(&format!("{imported}.ledger"));
        let text = notices(LabelServer::start(&with(&data, &ledger, &more)));
        assert!(text.contains(start_with), "{text}");
        assert!(predictions.is_none_or(|words| text.contains(words)), "{text}");
        assert_eq!(text.contains("enough for a model"), predictions.is_some(), "{text}");
    }
}

#[test]
fn a_session_starts_with_items_like_an_example() {
    let folder = Folder::new("label-start-like");
    let (data, ledger) = (folder.path("texts.csv"), folder.path("run.ledger"));
    predicted_texts(&data, 2000);
    let more = ["--ignore", "llm,title", "--start-like", "so much Ärger!"];
    let mut server = LabelServer::start(&with(&data, &ledger, &more));
    answer_some(&mut server.client(), "Ada", "1", 12);
    wait_for_model(&mut server.client());
    assert!(server.terminate());
    replayed(&ledger);
    let asks = events_of(&ledger, "asked");
    let is_like = |ask: usize| asks[ask].fields["id"].as_str().unwrap()[1..].parse::<usize>().unwrap() % 50 == 7;
    assert!(2 < (0..5).filter(|ask| is_like(*ask)).count());
}

#[test]
fn predictions_are_neither_shown_nor_learned_from() {
    let folder = Folder::new("label-predictions");
    let (data, ledger) = (folder.path("texts.csv"), folder.path("run.ledger"));
    predicted_texts(&data, 2000);
    let more = ["--ignore", "title", "--predictions", "llm"];
    let server = LabelServer::start(&with(&data, &ledger, &more));
    let mut client = server.client();
    let item = client.next("Ada", 1).unwrap()[0].clone();
    assert!(!item["fields"].to_string().contains("llm"), "{item}");
    answer_some(&mut client, "Ada", "1", 25);
    wait_for_model(&mut client);
    let text = notices(server);
    assert!(text.contains("predictions in `llm`: no 6"), "{text}");
    assert!(text.contains("items have none;") && text.contains("another value, such as `perhaps`"), "{text}");
    // The column is recorded, so it need not be stated again.
    let mut server = LabelServer::start(&with(&data, &ledger, &more[..2]));
    answer_some(&mut server.client(), "Ada", "2", 5);
    wait_for_model(&mut server.client());
    assert!(server.terminate());
    replayed(&ledger);
    let asks = events_of(&ledger, "asked");
    let predicted_no = |ask: usize| {
        let row: usize = asks[ask].fields["id"].as_str().unwrap()[1..].parse().unwrap();
        row % 50 == 7 || row % 75 == 3
    };
    assert!((0..6).any(predicted_no), "half of the first draws have the rare prediction");
    let other = error(&with(&data, &ledger, &["--ignore", "llm", "--predictions", "title"]));
    assert!(other.contains("with --predictions llm, not title"), "{other}");
    // With --show, people see them.
    let shown = folder.path("shown.ledger");
    let mut server = LabelServer::start(&with(&data, &shown, &[&more[..], &["--show", "body,llm"]].concat()));
    let item = server.client().next("Ada", 1).unwrap()[0].clone();
    assert!(item["fields"].to_string().contains("llm"), "{item}");
    assert!(server.terminate());
}

#[test]
fn starts_without_items_are_rejected() {
    let folder = Folder::new("label-start-errors");
    let (data, ledger) = (folder.path("texts.csv"), folder.path("run.ledger"));
    predicted_texts(&data, 100);
    for (more, why) in [
        (&["--start-with", "zebra"][..], "--start-with zebra: none of the 100 items matches"),
        (&["--start-with", "/(a/"][..], "not a regular expression: unclosed group"),
        (&["--start-with", "/a"][..], "a regular expression ends with / or /i"),
        (&["--start-with", " , "][..], "write words separated by commas"),
        (&["--start-like", "??"][..], "has a word or a part of a word of this example"),
        (&["--start-like", " "][..], "--start-like: the example is empty"),
        (&["--predictions", "gpt"][..], "--predictions gpt"),
        (&["--predictions", "title"][..], "no value is one of the labels no, yes; one is `title 0`"),
        (&["--predictions", "body"][..], "body"),
    ] {
        let message = error(&with(&data, &ledger, &[&["--missing", "zero"], more].concat()));
        assert!(message.contains(why), "{more:?}: {message}");
        assert!(!fs::exists(&ledger).unwrap(), "{more:?}: a rejected session leaves no file");
    }
}
