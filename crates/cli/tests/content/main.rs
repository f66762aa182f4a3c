//! Labels stay bound to the content that annotators saw even if the data file changes; projects can be moved.

#[path = "../common/mod.rs"]
mod common;
mod images;

use std::collections::BTreeMap;
use std::fs;

use common::client::LabelServer;
use common::{Folder, error, json, querist};
use querist_ledger::{Ledger, Record};
use querist_rows::Digest;
use serde_json::Value;

/// Returns a unique text with a word that determines its label.
fn text(row: usize) -> String {
    format!("{} thing, number {row}", if row.is_multiple_of(2) { "awful" } else { "lovely" })
}

fn label_of(text: &str) -> &'static str {
    if text.contains("awful") { "bad" } else { "good" }
}

/// Writes rows with ids; the row with id `t{n}` has the text of row `n + shift`.
fn table(path: &str, rows: usize, shift: usize) {
    let lines: Vec<String> = (0..rows).map(|row| format!("t{row},\"{}\"\n", text(row + shift))).collect();
    fs::write(path, format!("id,body\n{}", lines.concat())).unwrap();
}

fn arguments<'a>(data: &'a str, ledger: &'a str) -> Vec<&'a str> {
    let fixed = ["label", data, "--text", "body", "--labels", "bad,good", "--port", "0", "--no-browser", "--json"];
    fixed.into_iter().chain(["--ledger", ledger]).collect()
}

/// Labels some items by their texts; returns the text that was shown for each id.
fn label(arguments: &[&str], names: &[&str], count: usize) -> BTreeMap<String, String> {
    let mut server = LabelServer::start(arguments);
    let mut client = server.client();
    let mut shown = BTreeMap::new();
    for number in 0..count {
        for name in names {
            let item = client.next(name, 1).unwrap().remove(0);
            let text = item["fields"][0]["value"].as_str().unwrap().to_owned();
            client.answer(name, &item["ask"], &format!("{name}{number}"), label_of(&text)).unwrap();
            shown.insert(item["item"].as_str().unwrap().to_owned(), text);
        }
    }
    assert!(server.terminate());
    shown
}

/// Runs a command that succeeds; returns standard output and standard error.
fn run(arguments: &[&str]) -> (String, String) {
    let output = querist(arguments).output().unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert!(output.status.success(), "{arguments:?}: {err}");
    (out, err)
}

/// Exports in one format; returns id, text and label of each line or task.
fn exported(ledger: &str, format: &str, more: &[&str]) -> (Vec<[String; 3]>, String) {
    let (out, err) = run(&[&["export", ledger, "--format", format], more].concat());
    let string = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{value}")).to_owned();
    let lines = || out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let found = match format {
        "csv" => csv(&out).into_iter().skip(1).map(|row| [row[0].clone(), row[8].clone(), row[1].clone()]).collect(),
        "jsonl" => lines().map(|line| ["id", "text", "label"].map(|key| string(&line[key]))).collect(),
        "prodigy" => lines().map(|line| [&line["meta"]["id"], &line["text"], &line["accept"][0]].map(string)).collect(),
        "doccano" => lines().map(|line| [&line["meta"]["id"], &line["text"], &line["label"][0]].map(string)).collect(),
        _ => {
            let tasks: Vec<Value> = serde_json::from_str(&out).unwrap();
            let label = |task: &Value| task["annotations"][0]["result"][0]["value"]["choices"][0].clone();
            tasks.iter().map(|task| [&task["data"]["id"], &task["data"]["text"], &label(task)].map(string)).collect()
        }
    };
    (found, err)
}

/// Parses CSV, independently of the writer.
fn csv(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell, mut quoted) = (vec![], vec![], String::new(), false);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => cell.push(letters.next().unwrap()),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut cell)),
            '\n' if !quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            other => cell.push(other),
        }
    }
    rows
}

const FORMATS: [&str; 5] = ["csv", "jsonl", "prodigy", "doccano", "label-studio"];

#[test]
fn exports_have_the_texts_that_were_shown() {
    let folder = Folder::new("content-shifted");
    let (data, ledger, model) = (folder.path("texts.csv"), folder.path("run.ledger"), folder.path("model"));
    table(&data, 60, 0);
    let shown = label(&arguments(&data, &ledger), &["Ada"], 30);
    assert_eq!(shown.len(), 30);
    let check = |more: &[&str]| {
        for format in FORMATS {
            let (found, err) = exported(&ledger, format, more);
            assert_eq!((found.len(), err.as_str()), (30, ""), "{format}");
            for [id, text, label] in found {
                assert_eq!((&text, &*label), (&shown[&id], label_of(&shown[&id])), "{format}: {id}");
            }
        }
    };
    check(&[]);
    // Every id has the text of its neighbor now, which contradicts its label.
    table(&data, 60, 1);
    check(&[]);
    let refused = error(&["export", &ledger, "--model", &model]);
    assert!(refused.contains("30 items have changed since being asked"), "{refused}");
    assert!(refused.contains("none of the 30 items"), "{refused}");
    assert!(fs::metadata(&model).is_err(), "no model is written");
    // The session continues, learns from none of them, and says so.
    let mut server = LabelServer::start(&arguments(&data, &ledger));
    let (_, status) = server.client().get("/api/status").unwrap();
    let problem = status["data_problems"][0].as_str().unwrap();
    assert!(problem.starts_with("30 items have changed since being asked; training skips: "), "{problem}");
    assert!(problem.ends_with(" and 25 more"), "{problem}");
    assert_eq!(status["model"]["answers"], 0);
    assert!(server.terminate());
    // Exports do not need the data at all.
    fs::remove_file(&data).unwrap();
    check(&[]);
    assert!(error(&["export", &ledger, "--model", &model]).contains("use --data FILE"));
}

#[test]
fn models_learn_from_unchanged_rows_only() {
    let folder = Folder::new("content-part");
    let (data, ledger, model) = (folder.path("texts.csv"), folder.path("run.ledger"), folder.path("model"));
    table(&data, 60, 0);
    let shown = label(&arguments(&data, &ledger), &["Ada"], 40);
    // The first ten that were labeled get a text that contradicts their label; one more is removed.
    let swapped: Vec<&String> = shown.keys().take(10).collect();
    let removed = shown.keys().nth(10).unwrap();
    let lines = (0..60).filter(|row| format!("t{row}") != **removed).map(|row| {
        let id = format!("t{row}");
        let shift = usize::from(swapped.contains(&&id));
        format!("{id},\"{}\"\n", text(row + shift))
    });
    fs::write(&data, format!("id,body\n{}", lines.collect::<String>())).unwrap();
    let (out, err) = run(&["export", &ledger, "--model", &model]);
    assert!(out.contains("a model of 29 labels"), "{out}");
    assert!(err.contains("10 items have changed since being asked") && err.contains("and 5 more"), "{err}");
    assert!(
        err.contains(&format!("1 item that was asked is missing from the data; training skips: {removed}")),
        "{err}"
    );
    let (predicted, _) = run(&["predict", &model, &data]);
    let texts: BTreeMap<String, String> =
        csv(&fs::read_to_string(&data).unwrap()).into_iter().map(|row| (row[0].clone(), row[1].clone())).collect();
    for row in csv(&predicted).iter().skip(1) {
        assert_eq!(row[1], label_of(&texts[&row[0]]), "{row:?}");
    }
    let replayed = querist(&["replay", &ledger, "--json"]).output().unwrap();
    let err = String::from_utf8(replayed.stderr).unwrap();
    assert!(err.contains("10 items have changed since being asked"), "{err}");
}

/// A regenerated file may have its columns in another order, and new ones.
#[test]
fn new_columns_and_another_order_change_no_content() {
    let folder = Folder::new("content-columns");
    let (data, ledger) = (folder.path("texts.csv"), folder.path("run.ledger"));
    let rows = |line: &dyn Fn(usize) -> String| (0..30).map(line).collect::<String>();
    fs::write(&data, format!("id,body,size\n{}", rows(&|row| format!("t{row},\"{}\",{row}\n", text(row))))).unwrap();
    let shown = label(&arguments(&data, &ledger), &["Ada"], 10);
    let wider = rows(&|row| format!("{row},{row},\"{}\",t{row}\n", text(row)));
    fs::write(&data, format!("rank,size,body,id\n{wider}")).unwrap();
    let mut server = LabelServer::start(&arguments(&data, &ledger));
    let mut client = server.client();
    assert_eq!(client.get("/api/status").unwrap().1["data_problems"], serde_json::json!([]));
    let item = client.next("Ben", 1).unwrap().remove(0);
    let names: Vec<&str> =
        item["fields"].as_array().unwrap().iter().map(|field| field["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"body") && !names.contains(&"rank"), "{names:?}");
    assert!(server.terminate());
    assert!(exported(&ledger, "csv", &[]).0.iter().all(|[id, text, _]| *text == shown[id]));
    let other = [&arguments(&data, &ledger)[..], &["--show", "size"]].concat();
    assert!(error(&other).contains("it was started without --show"), "{}", error(&other));
}

#[test]
fn row_numbers_do_not_identify_rows_that_moved() {
    let folder = Folder::new("content-numbers");
    let (data, ledger) = (folder.path("texts.csv"), folder.path("run.ledger"));
    let rows: Vec<String> = (0..40).map(|row| format!("\"{}\"\n", text(row))).collect();
    let write = |rows: &[String]| fs::write(&data, format!("body\n{}", rows.concat())).unwrap();
    write(&rows);
    let shown = label(&arguments(&data, &ledger), &["Ada"], 20);
    let bytes = fs::read(&ledger).unwrap();
    write(&[&["a new row\n".to_owned()][..], &rows].concat());
    let refused = error(&arguments(&data, &ledger));
    assert!(refused.contains("20 answered rows changed: ") && refused.contains(" and 15 more"), "{refused}");
    assert!(refused.contains("Restore the file"), "{refused}");
    assert!(bytes == fs::read(&ledger).unwrap(), "the ledger is as it was");
    let (found, _) = exported(&ledger, "csv", &[]);
    assert!(found.iter().all(|[id, text, _]| *text == shown[id]));
    // Rows at the end change nothing.
    write(&[&rows[..], &["a new row\n".to_owned()]].concat());
    label(&arguments(&data, &ledger), &["Ben"], 1);
}

#[test]
fn purged_contents_are_reported() {
    let folder = Folder::new("content-purged");
    let (data, ledger) = (folder.path("texts.csv"), folder.path("run.ledger"));
    table(&data, 20, 0);
    label(&arguments(&data, &ledger), &["Ada"], 7);
    Ledger::open(&ledger).unwrap().purge_contents().unwrap();
    for format in FORMATS {
        let (out, err) = run(&["export", &ledger, "--format", format]);
        assert!(err.contains("no text for 7 items, because the stored content was purged: "), "{format}: {err}");
        assert!(err.contains(" and 2 more"), "{format}: {err}");
        assert!(!out.contains("thing, number"), "{format}: {out}");
    }
}

#[test]
fn a_folder_can_be_moved() {
    let folder = Folder::new("content-moved");
    let (before, after, elsewhere) = (folder.path("before"), folder.path("after"), folder.path("elsewhere.csv"));
    fs::create_dir_all(format!("{before}/runs")).unwrap();
    table(&format!("{before}/texts.csv"), 40, 0);
    let ledger = |place: &str| format!("{place}/runs/run.ledger");
    label(&arguments(&format!("{before}/texts.csv"), &ledger(&before)), &["Ada"], 20);
    let model = |place: &str, more: &[&str]| {
        let path = folder.path("model");
        let told = run(&[&["export", &ledger(place), "--model", &path], more].concat());
        assert_eq!(told.1, "");
        fs::read(path).unwrap()
    };
    let first = model(&before, &[]);
    fs::rename(&before, &after).unwrap();
    assert!(first == model(&after, &[]));
    assert_eq!(json(&["replay", &ledger(&after), "--json"])["disagreeing"], 0);
    label(&arguments(&format!("{after}/texts.csv"), &ledger(&after)), &["Ben"], 2);
    let second = model(&after, &[]);
    // The data go elsewhere, under another name.
    fs::rename(format!("{after}/texts.csv"), &elsewhere).unwrap();
    let refused = error(&["export", &ledger(&after), "--model", &folder.path("model")]);
    assert!(refused.contains("use --data FILE if the data were moved"), "{refused}");
    assert!(second == model(&after, &["--data", &elsewhere]));
    assert_eq!(json(&["replay", &ledger(&after), "--json", "--data", &elsewhere])["disagreeing"], 0);
    // Resuming with the moved file records its path.
    label(&arguments(&elsewhere, &ledger(&after)), &["Cid"], 2);
    model(&after, &[]);
    // Another file is rejected, and the ledger stays bound to its own.
    let other = folder.path("other.csv");
    table(&other, 40, 1);
    let refused = error(&arguments(&other, &ledger(&after)));
    assert!(refused.contains("it belongs to") && refused.contains("24 changed ("), "{refused}");
    assert!(error(&["replay", &ledger(&after), "--data", &other]).contains("none of the 24 items"));
    model(&after, &[]);
}

#[test]
fn an_item_is_one_task() {
    let folder = Folder::new("content-task");
    let (data, ledger) = (folder.path("texts.csv"), folder.path("run.ledger"));
    table(&data, 30, 0);
    let both = [&arguments(&data, &ledger)[..], &["--overlap", "2"]].concat();
    label(&both, &["Ada", "Ben"], 10);
    let (studio, _) = run(&["export", &ledger, "--format", "label-studio"]);
    let tasks: Vec<Value> = serde_json::from_str(&studio).unwrap();
    assert_eq!(tasks.len(), 10);
    for task in &tasks {
        let annotations = task["annotations"].as_array().unwrap();
        let names: Vec<&str> = annotations.iter().map(|each| each["created_username"].as_str().unwrap()).collect();
        assert_eq!(names, ["Ada", "Ben"]);
    }
    assert_eq!(exported(&ledger, "doccano", &[]).0.len(), 10);
    let (prodigy, _) = exported(&ledger, "prodigy", &[]);
    assert_eq!(prodigy.len(), 20);
    assert!(prodigy.chunks(2).all(|pair| pair[0] == pair[1]), "both annotators have the same task");
    for format in ["label-studio", "doccano", "prodigy"] {
        let refused = error(&["export", &ledger, "--all", "--format", format]);
        assert!(refused.contains("--all") && refused.contains("use --format csv or jsonl"), "{refused}");
    }
}

/// Rewrites a ledger in the form of programs before version 3: full paths, no contents, fingerprints of cells.
fn older(from: &str, to: &str, data: &str) {
    let ledger = Ledger::read(from).unwrap();
    let mut header: Value = serde_json::from_str(ledger.header()).unwrap();
    header["data"]["file"] = data.into();
    header["data"].as_object_mut().unwrap().remove("images");
    let cells: BTreeMap<String, Vec<String>> =
        csv(&fs::read_to_string(data).unwrap()).into_iter().map(|row| (row[0].clone(), row)).collect();
    let mut old = Ledger::create(to, &header.to_string()).unwrap();
    for record in ledger.records() {
        let mut record: Record = record.unwrap();
        if record.kind == "asked" {
            let mut fields: Value = serde_json::from_str(&record.fields).unwrap();
            let asked = fields.as_object_mut().unwrap();
            asked.remove("content");
            asked.remove("features");
            let row = &cells[asked["id"].as_str().unwrap()];
            asked.insert("fingerprint".to_owned(), fnv(row).into());
            record.fields = fields.to_string();
        }
        old.append(&[record]).unwrap();
    }
}

/// Returns the upper 53 bits of 64-bit FNV-1a, each cell followed by a byte 0xff.
fn fnv(cells: &[String]) -> u64 {
    let bytes = cells.iter().flat_map(|cell| cell.bytes().chain([0xff]));
    bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)) >> 11
}

#[test]
fn older_ledgers_read_texts_from_unchanged_data() {
    let folder = Folder::new("content-older");
    let (data, new, ledger) = (folder.path("texts.csv"), folder.path("new.ledger"), folder.path("run.ledger"));
    table(&data, 30, 0);
    let shown = label(&arguments(&data, &new), &["Ada"], 12);
    older(&new, &ledger, &data);
    for format in FORMATS {
        let (found, err) = exported(&ledger, format, &[]);
        assert!(err.contains("the text of 12 items comes from") && err.contains("older than version 3"), "{err}");
        assert!(found.iter().all(|[id, text, _]| *text == shown[id]), "{format}");
    }
    let labels = |more: &[&str]| {
        let (out, err) = run(&[&["export", &ledger, "--format", "jsonl"], more].concat());
        let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 12);
        (lines.into_iter().filter(|line| line["text"].is_string()).count(), err)
    };
    let changed = shown.keys().next().unwrap();
    let text = fs::read_to_string(&data).unwrap();
    fs::write(&data, text.replace(&format!("{changed},\""), &format!("{changed},\"other "))).unwrap();
    let (with_text, err) = labels(&[]);
    assert_eq!(with_text, 11);
    assert!(err.contains(&format!("has changed at {changed}")), "{err}");
    // The full path in the header no longer exists.
    let moved = folder.path("moved.csv");
    fs::rename(&data, &moved).unwrap();
    let (with_text, err) = labels(&[]);
    assert_eq!(with_text, 0);
    assert!(err.contains("the data cannot be read") && err.contains("use --data FILE"), "{err}");
    assert_eq!(labels(&["--data", &moved]).0, 11);
    // `label` resumes with the moved file once its content is restored.
    assert!(error(&arguments(&moved, &ledger)).contains("1 changed ("));
    fs::write(&moved, text).unwrap();
    label(&arguments(&moved, &ledger), &["Ben"], 3);
    assert_eq!(labels_of(&ledger), 15);
}

fn labels_of(ledger: &str) -> usize {
    exported(ledger, "csv", &[]).0.len()
}

#[test]
fn a_pilot_may_be_a_labeling_session() {
    let folder = Folder::new("content-pilot");
    let (data, ledger) = (folder.path("texts.csv"), folder.path("run.ledger"));
    table(&data, 300, 0);
    let mut server = LabelServer::start(&arguments(&data, &ledger));
    let mut client = server.client();
    let settle = |client: &mut common::client::TestClient| {
        while client.get("/api/status").unwrap().1["model"]["fitting"] == true {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    };
    for number in 0..60 {
        let item = client.next("Ada", 1).unwrap().remove(0);
        let text = item["fields"][0]["value"].as_str().unwrap();
        client.answer("Ada", &item["ask"], &format!("k{number}"), label_of(text)).unwrap();
        if number % 10 == 9 {
            settle(&mut client);
        }
    }
    let (_, status) = client.get("/api/status").unwrap();
    assert!(server.terminate());
    let plan = json(&["plan", "--pilot", &ledger, "--next", "50", "--json"]);
    assert_eq!((&plan["command"], &plan["labels"], &plan["left"]), (&"label".into(), &60.into(), &240.into()));
    assert_eq!(plan["next"]["labels"], 50);
    // The page shows the same estimate of the same answers.
    let (found, shown) =
        (plan["estimate"]["accuracy"].as_f64().unwrap(), status["estimate"]["accuracy"].as_f64().unwrap());
    assert!((found - shown).abs() < 1e-12, "{found} {shown}");
    // The mean U of the remaining items, over the draws by a model.
    let asks = common::events_of(&ledger, "asked");
    let by_model = asks.iter().filter(|event| 0 < event.fields["guess"]["labels"].as_u64().unwrap());
    let rate = |event: &common::StoredEvent| {
        let odds = &event.fields["odds"];
        odds["total"].as_f64().unwrap() / odds["left"].as_f64().unwrap()
    };
    let rates: Vec<f64> = by_model.map(rate).collect();
    assert!(!rates.is_empty());
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    assert!((plan["rate"].as_f64().unwrap() - mean).abs() < 1e-12 * mean);
    let moved = folder.path("moved.csv");
    fs::rename(&data, &moved).unwrap();
    assert!(error(&["plan", "--pilot", &ledger]).contains("use --data FILE"));
    assert_eq!(json(&["plan", "--pilot", &ledger, "--next", "50", "--json", "--data", &moved]), plan);
}
