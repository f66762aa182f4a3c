//! Models learn only from labels whose items are unchanged: hidden features, imported labels and late answers.

mod common;

use std::fs;

use common::client::{LabelServer, TestClient};
use common::{Folder, error, querist};
use serde_json::{Value, json};

const LABELS: [&str; 6] = ["--labels", "neg,pos", "--port", "0", "--no-browser", "--json"];

fn arguments<'a>(data: &'a str, ledger: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["label", data, "--ledger", ledger], &LABELS[..], more].concat()
}

/// Returns the label of an item: positive if its number is odd.
fn label_of(number: usize) -> &'static str {
    if number % 2 == 1 { "pos" } else { "neg" }
}

/// Returns the number in an id such as `v12`.
fn number_of(id: &str) -> usize {
    id.trim_start_matches(|letter: char| !letter.is_ascii_digit()).parse().unwrap()
}

/// Labels some items by the numbers in their ids.
fn label(arguments: &[&str], count: usize) {
    let mut server = LabelServer::start(arguments);
    let mut client = server.client();
    for number in 0..count {
        let item = client.next("Ada", 1).unwrap().remove(0);
        let label = label_of(number_of(item["item"].as_str().unwrap()));
        client.answer("Ada", &item["ask"], &format!("k{number}"), label).unwrap();
    }
    assert!(server.terminate());
}

/// Starts a server, reads its status and stops it.
fn status(arguments: &[&str]) -> Value {
    let mut server = LabelServer::start(arguments);
    let (_, status) = server.client().get("/api/status").unwrap();
    assert!(server.terminate());
    status
}

/// Runs a command that succeeds; returns standard output and standard error.
fn run(arguments: &[&str]) -> (String, String) {
    let output = querist(arguments).output().unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert!(output.status.success(), "{arguments:?}: {err}");
    (out, err)
}

/// Returns the features of an item, which determine its label.
fn features(number: usize) -> [f64; 2] {
    let sign = if number % 2 == 1 { 1.0 } else { -1.0 };
    [sign * (0.2 + 0.01 * number as f64), 0.05 * ((7 * number) % 11) as f64]
}

fn svmlight(numbers: &[usize]) -> String {
    let line = |number: &usize| {
        let [a, b] = features(*number);
        format!("0 1:{a} 2:{b}\n")
    };
    numbers.iter().map(line).collect()
}

#[test]
fn row_numbers_of_hidden_features_are_checked() {
    let folder = Folder::new("changes-svmlight");
    let (data, ledger, model) = (folder.path("x.svm"), folder.path("run.ledger"), folder.path("model"));
    let rows: Vec<usize> = (1..=40).collect();
    fs::write(&data, svmlight(&rows)).unwrap();
    label(&arguments(&data, &ledger, &[]), 16);
    assert_eq!(run(&["export", &ledger, "--model", &model]).1, "");
    // A new first row shifts all others.
    fs::write(&data, svmlight(&[&[50], &rows[..]].concat())).unwrap();
    let refused = error(&arguments(&data, &ledger, &[]));
    assert!(refused.contains("16 answered rows changed: ") && refused.contains("Restore the file"), "{refused}");
    for command in [&["export", &ledger, "--model", &model][..], &["replay", &ledger], &["plan", "--pilot", &ledger]] {
        let refused = error(command);
        assert!(refused.contains("16 items have changed since being asked"), "{command:?}: {refused}");
        assert!(refused.contains("none of the 16 items"), "{command:?}: {refused}");
    }
    // Rows at the end change nothing.
    fs::write(&data, svmlight(&[&rows[..], &[50]].concat())).unwrap();
    assert_eq!(status(&arguments(&data, &ledger, &[]))["data_problems"], json!([]));
    assert!(run(&["export", &ledger, "--model", &model]).0.contains("a model of 16 labels"));
}

#[test]
fn hidden_vectors_are_checked() {
    let folder = Folder::new("changes-vectors");
    let (data, ledger, model) = (folder.path("v.jsonl"), folder.path("run.ledger"), folder.path("model"));
    let line = |id: usize, number: usize| {
        format!("{}\n", json!({"id": format!("v{id}"), "vec": features(number), "name": format!("item {id}")}))
    };
    let write =
        |of: &dyn Fn(usize) -> usize| fs::write(&data, (0..40).map(|id| line(id, of(id))).collect::<String>()).unwrap();
    let more = ["--vectors", "vec", "--show", "name"];
    write(&|id| id);
    label(&arguments(&data, &ledger, &more), 16);
    // Every id has the vector of its neighbor.
    write(&|id| id + 1);
    let refused = error(&["export", &ledger, "--model", &model]);
    assert!(refused.contains("16 items have changed since being asked"), "{refused}");
    let status = status(&arguments(&data, &ledger, &more));
    assert!(status["data_problems"][0].as_str().unwrap().starts_with("16 items have changed"), "{status}");
    assert_eq!(status["model"]["answers"], 0);
    write(&|id| id);
    assert_eq!(run(&["export", &ledger, "--model", &model]).1, "");
}

/// Standardization depends on all rows, so new rows change the features of old ones, but not their cells.
#[test]
fn hidden_numbers_are_compared_as_they_are_in_the_file() {
    let folder = Folder::new("changes-numbers");
    let (data, ledger, model) = (folder.path("x.csv"), folder.path("run.ledger"), folder.path("model"));
    let write = |rows: usize, columns: &str, score: &dyn Fn(usize) -> usize| {
        let line = |row: usize| match columns {
            "id,body,score" => format!("t{row},text {row},{}\n", score(row)),
            _ => format!("{},{row}.5,t{row},text {row}\n", score(row)),
        };
        fs::write(&data, format!("{columns}\n{}", (0..rows).map(line).collect::<String>())).unwrap();
    };
    let more = ["--text", "body", "--numbers", "score", "--show", "body"];
    let problems = || status(&arguments(&data, &ledger, &more))["data_problems"].clone();
    write(40, "id,body,score", &|row| 10 * row);
    label(&arguments(&data, &ledger, &more), 20);
    write(400, "id,body,score", &|row| 10 * row);
    assert_eq!(problems(), json!([]));
    write(400, "score,rank,id,body", &|row| 10 * row);
    assert_eq!(problems(), json!([]), "a new column, and another order");
    write(400, "id,body,score", &|row| 10 * row + usize::from(20 <= row));
    let (asked, _) = run(&["export", &ledger]);
    let changed = asked.lines().skip(1).filter(|line| 20 <= number_of(line.split(',').next().unwrap())).count();
    assert!(0 < changed && changed < 20);
    let (out, err) = run(&["export", &ledger, "--model", &model]);
    assert!(out.contains(&format!("a model of {} labels", 20 - changed)), "{out}");
    assert!(err.contains(&format!("{changed} item")) && err.contains("changed since being asked"), "{err}");
}

/// Writes texts with ids `t0`, `t1` …; the first `shifted` rows have the texts of their neighbors.
fn texts(path: &str, rows: usize, shifted: usize) {
    let text = |row: usize| format!("{} thing {row}", if row % 2 == 1 { "lovely" } else { "awful" });
    let line = |row: usize| format!("t{row},{}\n", text(if row < shifted { row + 1 } else { row }));
    fs::write(path, format!("id,body\n{}", (0..rows).map(line).collect::<String>())).unwrap();
}

fn labels_file(path: &str, rows: usize) {
    let line = |row: usize| format!("t{row},{}\n", label_of(row));
    fs::write(path, format!("id,label\n{}", (0..rows).map(line).collect::<String>())).unwrap();
}

#[test]
fn imported_labels_are_bound_to_their_items() {
    let folder = Folder::new("changes-import");
    let (data, ledger, model) = (folder.path("x.csv"), folder.path("run.ledger"), folder.path("model"));
    let labels = folder.path("labels.csv");
    texts(&data, 60, 0);
    labels_file(&labels, 30);
    let (plain, import) = (["--text", "body"], ["--text", "body", "--import", &labels]);
    label(&arguments(&data, &ledger, &import), 4);
    assert!(run(&["export", &ledger, "--model", &model]).0.contains("a model of 34 labels"));
    // Some imported items have the texts of their neighbors, which contradict their labels.
    texts(&data, 60, 10);
    let skipped = "10 items with imported labels have changed since the import; training skips: t0, t1";
    let (out, err) = run(&["export", &ledger, "--model", &model]);
    assert!(out.contains("a model of 24 labels") && err.contains(skipped), "{out}{err}");
    let replayed = String::from_utf8(querist(&["replay", &ledger]).output().unwrap().stderr).unwrap();
    assert!(replayed.contains(skipped), "{replayed}");
    // The same command imports the same labels again, and does not bind them to the new texts.
    for more in [&plain[..], &import] {
        let problem = status(&arguments(&data, &ledger, more))["data_problems"][0].to_string();
        assert!(problem.contains(skipped), "{problem}");
    }
    assert!(run(&["export", &ledger, "--model", &model]).0.contains("a model of 24 labels"));
    texts(&data, 60, 0);
    assert_eq!(run(&["export", &ledger, "--model", &model]).1, "");
}

#[test]
fn row_numbers_do_not_identify_imported_rows_that_moved() {
    let folder = Folder::new("changes-import-rows");
    let (data, ledger, labels) = (folder.path("x.csv"), folder.path("run.ledger"), folder.path("labels.csv"));
    let rows = (0..20).fold(String::new(), |rows, row| rows + &format!("thing {row}\n"));
    fs::write(&data, format!("body\n{rows}")).unwrap();
    fs::write(&labels, "id,label\n1,neg\n2,pos\n").unwrap();
    status(&arguments(&data, &ledger, &["--text", "body", "--import", &labels]));
    fs::write(&data, format!("body\nnew\n{rows}")).unwrap();
    let refused = error(&arguments(&data, &ledger, &["--text", "body"]));
    assert!(refused.contains("2 imported rows changed: 1, 2"), "{refused}");
    assert!(error(&["export", &ledger, "--model", &folder.path("model")]).contains("none of the 2 items"));
}

#[test]
fn texts_of_an_import_are_compared() {
    let folder = Folder::new("changes-import-texts");
    let (data, ledger, out) = (folder.path("x.csv"), folder.path("run.ledger"), folder.path("labels.csv"));
    texts(&data, 30, 0);
    label(&arguments(&data, &ledger, &["--text", "body"]), 10);
    run(&["export", &ledger, "--out", &out]);
    let new = |name: &str| folder.path(name);
    let second = new("second.ledger");
    let more = ["--text", "body", "--import", &out];
    assert_eq!(status(&arguments(&data, &second, &more))["pool"], 20, "those with a label are not asked");
    texts(&data, 30, 30);
    let refused = error(&arguments(&data, &new("third.ledger"), &more));
    assert!(refused.contains("the text of 10 items is not the one in the data; the first is t"), "{refused}");
    // A column with the name of a displayed one is compared too.
    fs::write(&out, "id,label,body\nt0,neg,awful thing 0\n").unwrap();
    let refused = error(&arguments(&data, &new("fourth.ledger"), &more));
    assert!(refused.contains("the text of 1 item is not the one in the data; the first is t0"), "{refused}");
    fs::write(&out, "id,label,text\nt0,neg,a remark\n").unwrap();
    status(&arguments(&data, &new("fifth.ledger"), &more));
}

#[test]
fn an_import_without_a_known_id_is_rejected() {
    let folder = Folder::new("changes-import-unknown");
    let (data, ledger, labels) = (folder.path("x.csv"), folder.path("run.ledger"), folder.path("labels.csv"));
    texts(&data, 30, 0);
    let more = ["--text", "body", "--import", &labels];
    fs::write(&labels, "id,answer\nt1,neg\n").unwrap();
    let refused = error(&arguments(&data, &ledger, &more));
    assert!(refused.contains("no column `label` among id, answer; need the columns id and label"), "{refused}");
    fs::write(&labels, "id,label\n17,neg\n18,pos\n").unwrap();
    let refused = error(&arguments(&data, &ledger, &more));
    assert!(refused.contains("its first id is `17`, the first id in the data is `t0`"), "{refused}");
    fs::write(&labels, "id,label\n17,neg\nt3,pos\n").unwrap();
    assert_eq!(status(&arguments(&data, &ledger, &more))["pool"], 29);
}

/// Imports a file of labels; returns the labels that the ledger notes, and standard error.
fn imported(folder: &Folder, name: &str, labels: &str) -> (Value, String) {
    let (data, ledger, file) =
        (folder.path("x.csv"), folder.path(&format!("{name}.ledger")), folder.path("labels.csv"));
    texts(&data, 30, 0);
    fs::write(&file, labels).unwrap();
    let mut server = LabelServer::start(&arguments(&data, &ledger, &["--text", "body", "--import", &file]));
    assert!(server.terminate());
    let mut messages = String::new();
    std::io::Read::read_to_string(&mut server.process.stderr.take().unwrap(), &mut messages).unwrap();
    let note = querist_ledger::Ledger::read(&ledger).unwrap().note("imported").unwrap().to_owned();
    let note: serde_json::Map<String, Value> = serde_json::from_str(&note).unwrap();
    (note.into_iter().map(|(id, label)| (id, label["label"].clone())).collect(), messages)
}

#[test]
fn only_active_labels_are_imported_and_the_majority_counts() {
    let folder = Folder::new("changes-import-rows-of-one-item");
    let all = "id,label,status\nt0,neg,label\nt0,pos,withdrawn\nt1,,skip\nt2,pos,replaced\n";
    let (labels, messages) = imported(&folder, "all", all);
    assert_eq!(labels, json!({"t0": -1.0}));
    assert!(messages.contains("skipped 2 labels with the status withdrawn or replaced"), "{messages}");
    let several = "id,label\nt0,neg\nt0,neg\nt0,pos\nt1,pos\nt1,neg\nt2,neg\nt2,neg\n";
    let (labels, messages) = imported(&folder, "several", several);
    assert_eq!(labels, json!({"t0": -1.0, "t1": 1.0, "t2": -1.0}));
    assert!(messages.contains("several labels that differ for 2 items; the most frequent counts"), "{messages}");
    assert_eq!(messages.matches("--import").count(), 1, "{messages}");
}

/// An answer to a row that has changed would make it impossible to continue the session.
#[test]
fn late_answers_to_changed_rows_are_rejected() {
    let folder = Folder::new("changes-late");
    let (data, ledger) = (folder.path("x.csv"), folder.path("run.ledger"));
    let write = |changed: Option<usize>| {
        let line = |row: usize| format!("{} {row}\n", if Some(row) == changed { "other" } else { "thing" });
        fs::write(&data, format!("body\n{}", (1..=20).map(line).collect::<String>())).unwrap();
    };
    write(None);
    let arguments = arguments(&data, &ledger, &["--text", "body"]);
    let mut server = LabelServer::start(&arguments);
    let item = server.client().next("Ada", 1).unwrap().remove(0);
    assert!(server.terminate());
    write(Some(number_of(item["item"].as_str().unwrap())));
    let mut server = LabelServer::start(&arguments);
    let mut client: TestClient = server.client();
    let refused = client.answer("Ada", &item["ask"], "late", "neg").unwrap_err().to_string();
    assert!(refused.contains("refused") && refused.contains("changed since you saw it"), "{refused}");
    let other = client.next("Ada", 1).unwrap().remove(0);
    client.answer("Ada", &other["ask"], "other", "pos").unwrap();
    assert!(server.terminate());
    // The session still continues.
    assert_eq!(status(&arguments)["answered"], 1);
}
