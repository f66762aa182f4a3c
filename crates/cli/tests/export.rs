//! Labeling sessions: exports, imports, models and access tokens.

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use common::client::LabelServer;
use common::{Folder, error, json, querist};
use serde_json::{Value, json};

/// Writes texts with special characters and a word that determines the label.
fn texts(path: &str, rows: usize) {
    let mut text = "id,body\n".to_owned();
    for row in 0..rows {
        let word = if row % 2 == 0 { "terrible, \"really\" awful" } else { "wonderful and lovely" };
        let word = word.replace('"', "\"\"");
        text.push_str(&format!("=t{row},\"{word} {}\u{1f642}\"\n", row % 7));
    }
    fs::write(path, text).unwrap();
}

fn label_of(id: &str) -> &'static str {
    let number: usize = id.trim_start_matches("=t").parse().unwrap();
    if number.is_multiple_of(2) { "bad" } else { "good" }
}

fn run(arguments: &[&str]) -> String {
    let output = querist(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Records a session with 40 labels, a skip, an unsure, a change and an undo; returns the data and the ledger.
fn labeled(folder: &Folder) -> (String, String) {
    let (data, ledger) = (folder.path("texts.csv"), folder.path("run.ledger"));
    texts(&data, 120);
    let fixed = ["label", &data, "--text", "body", "--labels", "bad,good", "--port", "0", "--no-browser", "--json"];
    let mut server = LabelServer::start(&[&fixed[..], &["--ledger", &ledger]].concat());
    let mut client = server.client();
    for count in 0..40 {
        let item = client.next("Ada", 1).unwrap().remove(0);
        client.answer("Ada", &item["ask"], &format!("k{count}"), label_of(item["item"].as_str().unwrap())).unwrap();
    }
    for (key, what) in [("s", "skip"), ("u", "unsure")] {
        let item = client.next("Ada", 1).unwrap().remove(0);
        let mut answer = json!({"ask": item["ask"], "annotator": "Ada", "key": key});
        answer[what] = true.into();
        assert_eq!(client.post("/api/answers", &json!([answer])).unwrap().1[0]["status"], "saved");
    }
    client.answer("Ada", &json!(1), "changed", "good").unwrap();
    client.post("/api/undo", &json!({"annotator": "Ada", "key": "undo", "answer": 40})).unwrap();
    assert!(server.terminate());
    (data, ledger)
}

#[test]
fn every_format_has_every_active_answer() {
    let folder = Folder::new("export");
    let (data, ledger) = labeled(&folder);
    let plain = lines(&run(&["export", &ledger, "--format", "jsonl"]));
    assert_eq!(plain.len(), 41);
    let count = |status: &str| plain.iter().filter(|entry| entry["status"] == status).count();
    assert_eq!((count("label"), count("skip"), count("unsure")), (39, 1, 1));
    let first = plain.iter().find(|entry| entry["ask"] == 1).unwrap();
    assert_eq!((first["label"].as_str(), first["answer"].as_u64()), (Some("good"), Some(43)));
    assert!(first["probability"].as_f64().is_some_and(|p| 0.0 < p && p < 1.0));
    assert_eq!(lines(&run(&["export", &ledger, "--format", "jsonl", "--all"])).len(), 43);

    let table = run(&["export", &ledger]);
    assert_eq!(table.lines().next(), Some("id,label,status,annotator,at,ask,answer,probability,text"));
    assert_eq!(table.lines().count(), 42);
    assert!(table.lines().skip(1).all(|line| line.starts_with("=t")));
    let safe = run(&["export", &ledger, "--csv-safe"]);
    assert!(safe.lines().skip(1).all(|line| line.starts_with("'=t")));

    let prodigy = lines(&run(&["export", &ledger, "--format", "prodigy"]));
    assert_eq!(prodigy.iter().filter(|entry| entry["answer"] == "accept").count(), 39);
    assert!(prodigy.iter().all(|entry| entry["text"].as_str().unwrap().contains('\u{1f642}')));
    let studio: Value = serde_json::from_str(&run(&["export", &ledger, "--format", "label-studio"])).unwrap();
    assert_eq!(studio.as_array().unwrap().len(), 41);
    assert!(studio[0]["annotations"][0]["result"][0]["value"]["choices"][0].is_string());
    assert_eq!(lines(&run(&["export", &ledger, "--format", "doccano"])).len(), 39);
    let tasks = folder.path("tasks.json");
    assert!(run(&["export", &ledger, "--format", "doccano", "--out", &tasks]).contains("39 items written"));

    let out = folder.path("out.csv");
    assert!(run(&["export", &ledger, "--out", &out]).contains("41 answers written"));
    assert_eq!(fs::read_to_string(&out).unwrap(), table);
    let other = folder.path("other.ledger");
    let arguments = ["label", &data, "--text", "body", "--labels", "bad,good", "--port", "0", "--no-browser", "--json"];
    let mut server = LabelServer::start(&[&arguments[..], &["--ledger", &other, "--import", &out]].concat());
    let mut client = server.client();
    let (_, status) = client.get("/api/status").unwrap();
    assert_eq!((status["answered"].as_u64(), status["pool"].as_u64()), (Some(0), Some(81)), "imported, not asked");
    assert!(server.terminate());
    let mut server = LabelServer::start(&[&arguments[..], &["--ledger", &other]].concat());
    assert_eq!(server.client().get("/api/status").unwrap().1["pool"], 81, "and remembered");
    assert!(server.terminate());
}

#[test]
fn the_model_of_a_session_predicts() {
    let folder = Folder::new("predict");
    let (data, ledger) = labeled(&folder);
    let model = folder.path("model");
    assert!(run(&["export", &ledger, "--model", &model]).contains("a model of 39 labels"));
    let predictions = run(&["predict", &model, &data]);
    assert_eq!(predictions.lines().count(), 121);
    let right = predictions.lines().skip(1).filter(|line| {
        let mut cells = line.split(',');
        let (id, label) = (cells.next().unwrap(), cells.next().unwrap());
        let probability: f64 = cells.next().unwrap().parse().unwrap();
        assert!((0.5..=1.0).contains(&probability));
        label == label_of(id)
    });
    assert!(114 <= right.count());
    assert_eq!(lines(&run(&["predict", &model, &data, "--format", "jsonl"])).len(), 120);
    let folder_out = folder.path("report");
    assert!(run(&["report", &ledger, "--out", &folder_out]).contains("class-balance.svg"));
    let page = fs::read_to_string(format!("{folder_out}/index.html")).unwrap();
    assert!(page.contains("boundary:half=0.01,floor=0.2,late=0.3") && !page.contains("--step"), "a fit takes no steps");
    assert!(page.contains("<td>answers</td><td>39</td>"), "what was withdrawn or replaced is no answer");
    assert_eq!(json(&["replay", &ledger, "--json"])["disagreeing"], 0);
}

/// Attacks 19 and 20: a public address, and weak tokens.
#[test]
fn a_public_address_needs_a_strong_private_token() {
    let folder = Folder::new("token");
    let (data, ledger, token) = (folder.path("texts.csv"), folder.path("run.ledger"), folder.path("token"));
    texts(&data, 10);
    let fixed = ["label", &data, "--text", "body", "--labels", "bad,good", "--port", "0", "--no-browser", "--json"];
    let public = [&fixed[..], &["--ledger", &ledger, "--host", "0.0.0.0"]].concat();
    let with_token = [&public[..], &["--token-file", &token]].concat();
    assert!(error(&public).contains("--token-file token"));
    for (content, words) in [
        ("", "at least 22 random letters"),
        ("secret", "at least 22 random letters"),
        ("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "at least 22 random letters"),
        ("with a space in the middle of it all", "at least 22 random letters"),
    ] {
        fs::write(&token, content).unwrap();
        fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
        let message = error(&with_token);
        assert!(message.contains(words), "{content}: {message}");
    }
    fs::write(&token, "q7Jx0ZtA9mKc2VbN4sLw8RfE").unwrap();
    fs::set_permissions(&token, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(error(&with_token).contains("others can read it"));
    fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
    let mut server = LabelServer::start(&with_token);
    assert_eq!(server.token, "q7Jx0ZtA9mKc2VbN4sLw8RfE");
    assert_eq!(server.client().get("/api/status").unwrap().0, 200);
    assert!(server.terminate());
    let key = format!("{ledger}-key");
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(error(&with_token).contains("others can read it"));
}

/// Checks the fields that other tools import, for a session of classes and one of numbers.
#[test]
fn exports_have_the_fields_that_other_tools_import() {
    let folder = Folder::new("export-tools");
    let data = folder.path("texts.csv");
    texts(&data, 12);
    let session = |name: &str, labels: &[&str], label: &dyn Fn(usize) -> Value| -> String {
        let ledger = folder.path(name);
        let fixed = ["label", &data, "--text", "body", "--port", "0", "--no-browser", "--json", "--ledger", &ledger];
        let mut server = LabelServer::start(&[&fixed[..], labels].concat());
        let mut client = server.client();
        for count in 0..3 {
            let item = client.next("Ada", 1).unwrap().remove(0);
            let key = format!("k{count}");
            let answer = json!([{"ask": item["ask"], "annotator": "Ada", "key": key, "label": label(count)}]);
            assert_eq!(client.post("/api/answers", &answer).unwrap().1[0]["status"], "saved");
        }
        assert!(server.terminate());
        ledger
    };
    let classes = session("classes.ledger", &["--labels", "bad,good"], &|_| "good".into());
    let numbers = session("numbers.ledger", &["--number"], &|count| (0.5 + count as f64).into());
    let export = |ledger: &str, format: &str| run(&["export", ledger, "--format", format]);

    // Label Studio treats annotations without `ground_truth` as ground truth, and rejects names in `completed_by`.
    let studio: Value = serde_json::from_str(&export(&classes, "label-studio")).unwrap();
    let annotation = &studio[0]["annotations"][0];
    assert_eq!((&annotation["ground_truth"], &annotation["completed_by"]), (&false.into(), &Value::Null));
    let result = json!([{"id": "answer-1", "from_name": "label", "to_name": "text", "type": "choices",
                         "value": {"choices": ["good"]}}]);
    assert_eq!((&annotation["result"], &studio[0]["meta"]), (&result, &json!({"annotators": ["Ada"]})));
    let studio: Value = serde_json::from_str(&export(&numbers, "label-studio")).unwrap();
    assert_eq!(studio[0]["annotations"][0]["result"][0]["value"], json!({"number": 0.5}));

    let line = &lines(&export(&classes, "prodigy"))[0];
    assert_eq!((&line["_view_id"], &line["accept"]), (&"choice".into(), &json!(["good"])));
    assert_eq!(line["options"], json!([{"id": "bad", "text": "bad"}, {"id": "good", "text": "good"}]));
    let line = &lines(&export(&numbers, "prodigy"))[0];
    assert_eq!((&line["_view_id"], &line["user_input"]), (&"text_input".into(), &"0.5".into()));
    assert_eq!((&line["options"], &line["accept"]), (&Value::Null, &Value::Null));

    // doccano's labels are strings.
    assert_eq!(lines(&export(&classes, "doccano"))[0]["label"], json!(["good"]));
    let line = &lines(&export(&numbers, "doccano"))[0];
    assert_eq!((&line["label"], &line["meta"]["annotators"]), (&json!(["0.5"]), &json!({"Ada": "0.5"})));
}

#[test]
fn options_that_have_no_effect_are_rejected() {
    let folder = Folder::new("export-options");
    let (_, ledger) = labeled(&folder);
    let (model, out) = (folder.path("model"), folder.path("out.csv"));
    for flags in [&["--out", &*out][..], &["--format", "jsonl"], &["--csv-safe"], &["--all"]] {
        let message = error(&[&["export", &ledger, "--model", &model][..], flags].concat());
        assert!(message.contains("'--model <FILE>'") && message.contains("cannot be used with"), "{message}");
        assert!(message.contains(flags[0]), "{message}");
    }
    assert!(!fs::exists(&model).unwrap() && !fs::exists(&out).unwrap());
    for format in ["jsonl", "prodigy", "label-studio", "doccano"] {
        let message = error(&["export", &ledger, "--format", format, "--csv-safe"]);
        assert!(message.contains(&format!("--csv-safe: the format {format} has no cells")), "{message}");
    }
}

#[test]
fn outputs_do_not_overwrite_the_session() {
    let folder = Folder::new("export-overwrite");
    let (data, ledger) = labeled(&folder);
    let data_before = fs::read(&data).unwrap();
    let link = folder.path("link");
    let refused = |arguments: &[&str], words: &str| {
        let message = error(arguments);
        assert!(message.contains(words), "{arguments:?}: {message}");
    };
    let roundabout = format!("{}/../{}", folder.path("."), ledger.rsplit('/').nth(1).unwrap());
    for ending in ["", "-wal", "-shm", "-mark", "-key", "-lock"] {
        let file = format!("{ledger}{ending}");
        let before = fs::read(&file).ok();
        for flag in ["--out", "--model"] {
            refused(&["export", &ledger, flag, &file], "belongs to the ledger");
            refused(&["export", &ledger, flag, &format!("{roundabout}/run.ledger{ending}")], "belongs to the ledger");
            #[cfg(unix)]
            {
                std::os::unix::fs::symlink(&file, &link).unwrap();
                refused(&["export", &ledger, flag, &link], "belongs to the ledger");
                fs::remove_file(&link).unwrap();
            }
        }
        refused(&["replay", &ledger, "--model", &file], "belongs to the ledger");
        if !ending.is_empty() {
            refused(&["backup", &ledger, &file], "belongs to the ledger");
        }
        assert_eq!(fs::read(&file).ok(), before, "{file}");
    }
    refused(&["export", &ledger, "--out", &data], "that is the data");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&data, &link).unwrap();
        refused(&["export", &ledger, "--out", &link], "that is the data");
        fs::remove_file(&link).unwrap();
        fs::hard_link(&data, &link).unwrap();
        refused(&["export", &ledger, "--out", &link], "that is the data");
        // A folder of outputs may contain a symbolic link.
        let page = folder.path("page");
        fs::create_dir(&page).unwrap();
        std::os::unix::fs::symlink(&ledger, format!("{page}/index.html")).unwrap();
        refused(&["report", &ledger, "--out", &page], "belongs to the ledger");
    }
    assert_eq!(fs::read(&data).unwrap(), data_before);
    assert!(querist(&["verify", &ledger]).output().unwrap().status.success());
}
