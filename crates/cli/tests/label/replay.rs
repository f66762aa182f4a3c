//! `querist replay` of labeling sessions: draws and models are the same as recorded.

use std::fs;

use serde_json::{Value, json};

use super::common::client::{LabelServer, TestClient};
use super::common::{Folder, error, events_of, json as said, querist};
use super::{arguments, made, texts};

/// Answers items by their texts. Waits for the model after every tenth answer, so that draws use a model.
pub(super) fn answer_some(client: &mut TestClient, name: &str, round: &str, count: usize) {
    for number in 0..count {
        let item = client.next(name, 3).unwrap()[0].clone();
        let label = if item["fields"].to_string().contains("bad") { "no" } else { "yes" };
        client.answer(name, &item["ask"], &format!("{name}-{round}-{number}"), label).unwrap();
        if number % 10 == 9 {
            wait_for_model(client);
        }
    }
}

pub(super) fn wait_for_model(client: &mut TestClient) {
    for _ in 0..1000 {
        let (_, status) = client.get("/api/status").unwrap();
        if status["model"]["fitting"] == false {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("it never ends learning");
}

#[test]
fn a_replay_gives_the_same_draws_and_models() {
    let folder = Folder::new("label-replay");
    let (data, ledger) = (folder.path("texts.csv"), folder.path("run.ledger"));
    texts(&data, 2000);
    let mut server = LabelServer::start(&arguments(&data, &ledger));
    let mut client = server.client();
    answer_some(&mut client, "Ada", "1", 30);
    answer_some(&mut client, "Ben", "1", 25);
    client.post("/api/undo", &json!({"annotator": "Ada", "key": "u"})).unwrap();
    server.kill();
    let mut server = LabelServer::start(&arguments(&data, &ledger));
    let mut client = server.client();
    answer_some(&mut client, "Ada", "2", 20);
    wait_for_model(&mut client);
    assert!(server.terminate());

    let found = said(&["replay", &ledger, "--json"]);
    assert_eq!(found["confirmed"], found["asked"], "{found}");
    assert_eq!((found["disagreeing"].as_u64(), found["not_compared"].as_u64()), (Some(0), Some(0)), "{found}");
    assert!(7 <= found["models"].as_u64().unwrap() && 60 < found["asked"].as_u64().unwrap(), "{found}");
    assert_eq!((&found["same_model"], &found["labelled"]), (&Value::Bool(true), &json!(74)), "{found}");

    // A report has the mean of U at every ask, except random asks without a model.
    let numbers = said(&["report", &ledger, "--out", &folder.path("report"), "--json"]);
    let wanted: Vec<Value> = events_of(&ledger, "asked")
        .iter()
        .map(|event| &event.fields)
        .filter(|fields| fields["guess"]["labels"] != 0)
        .map(|fields| {
            let number = |name: &str| fields["odds"][name].as_f64().unwrap();
            json!([fields["ask"].as_f64(), 1.0 / (number("left") / number("total"))])
        })
        .collect();
    assert!(30 < wanted.len(), "{}", wanted.len());
    assert_eq!(numbers["figures"]["query-rate"]["mean of U"], Value::Array(wanted));

    // The model of the replay is the exported one.
    let (one, two) = (folder.path("one.model"), folder.path("two.model"));
    said(&["replay", &ledger, "--json", "--model", &one]);
    assert!(querist(&["export", &ledger, "--model", &two]).output().unwrap().status.success());
    assert_eq!(fs::read(one).unwrap(), fs::read(two).unwrap());

    // The replay reports changed rows and the resulting differences.
    let text = fs::read_to_string(&data).unwrap();
    fs::write(&data, text.replace("good", "fine")).unwrap();
    let output = querist(&["replay", &ledger]).output().unwrap();
    let (printed, error) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(1), "{printed} {error}");
    assert!(printed.contains("the data have changed"), "{printed}");
    // Models skip the changed rows, so they have fewer labels.
    assert!(printed.contains("the model after answer ") && printed.contains(" labels, now from "), "{printed}");
    assert!(error.contains("does not give the draws and models it recorded"), "{error}");
}

#[test]
fn a_ledger_is_resumed_only_with_its_own_settings() {
    let folder = Folder::new("label-begun");
    let (data, ledger) = (folder.path("texts.csv"), folder.path("run.ledger"));
    texts(&data, 30);
    made(&data, &ledger);
    let with = |more: &'static [&'static str]| -> String {
        error(&arguments(&data, &ledger).into_iter().chain(more.iter().copied()).collect::<Vec<_>>())
    };
    assert!(with(&["--seed", "5"]).contains("it was started with --seed 0, not 5"), "{}", with(&["--seed", "5"]));
    assert!(
        with(&["--rule", "entropy"]).contains("it was started without --rule\n"),
        "{}",
        with(&["--rule", "entropy"])
    );
}

#[test]
fn a_session_with_a_precision_is_resumed_and_replayed() {
    let folder = Folder::new("label-precision");
    let (data, ledger) = (folder.path("texts.csv"), folder.path("run.ledger"));
    texts(&data, 2000);
    let with = |wanted: &'static str, budget: &'static str| -> Vec<&str> {
        arguments(&data, &ledger).into_iter().chain(["--precision", wanted, "--budget", budget]).collect()
    };
    let few = error(&with("0.02", "300"));
    assert!(few.contains("more than the budget of 300"), "{few}");
    assert!(!fs::exists(&ledger).unwrap(), "a rejected session leaves no file");

    let mut server = LabelServer::start(&with("0.1", "300"));
    answer_some(&mut server.client(), "Ada", "1", 105);
    server.kill();
    // The number of labels within which the precision is wanted remains that of the first time.
    let mut server = LabelServer::start(&with("0.1", "400"));
    answer_some(&mut server.client(), "Ada", "2", 10);
    server.kill();
    // The precision is recorded: it need not be stated again.
    let mut server = LabelServer::start(&arguments(&data, &ledger));
    let mut client = server.client();
    answer_some(&mut client, "Ada", "3", 15);
    wait_for_model(&mut client);
    let advice = client.get("/api/status").unwrap().1["stop"].to_string();
    assert!(advice.contains("±0.1"), "{advice}");
    assert!(server.terminate());

    let asks = events_of(&ledger, "asked");
    let least = |ask: usize| {
        let odds = &asks[ask].fields["odds"];
        let number = |name: &str| odds[name].as_f64().unwrap();
        number("least") * number("left") / number("total")
    };
    // The floor of the rule is 0.2, and after 100 answers half of the draws are even. On a slow machine a model serves
    // more draws; as it loses the items near its boundary, its share of even draws rises.
    assert!((0.15..0.4).contains(&least(60)) && 0.45 < least(128), "{} {}", least(60), least(128));
    let found = said(&["replay", &ledger, "--json"]);
    assert_eq!((&found["confirmed"], &found["same_model"]), (&found["asked"], &Value::Bool(true)), "{found}");
    // A report has the settings as users write them, and the last estimate.
    let out = folder.path("report");
    said(&["report", &ledger, "--out", &out, "--json"]);
    let page = fs::read_to_string(format!("{out}/index.html")).unwrap();
    for line in ["<td>--precision</td><td>0.1</td>", "<td>defaults of version</td><td>0.2</td>"] {
        assert!(page.contains(line), "{line} in {page}");
    }
    let (_, estimate) = page.split_once("<td>estimated accuracy on the pool, from ").expect("the estimate");
    let (labels, estimate) = estimate.split_once(" labels</td><td>").unwrap();
    assert!(labels.parse::<u64>().unwrap() <= 130, "{labels}");
    assert!(estimate.split_once("</td>").unwrap().0.contains(" to "), "{estimate}");
    assert!(!page.contains("labels=300") && !page.contains("--defaults"), "{page}");
    let other = error(&with("0.05", "300"));
    assert!(other.contains("it was started with --precision 0.1, not 0.05\n"), "{other}");
}

/// The ids of points tell whether they are inside a circle.
#[test]
fn sessions_with_other_models_replay_and_export_them() {
    let folder = Folder::new("label-models");
    let data = folder.path("points.csv");
    let point = |row: i32| {
        let (x, y) = (f64::from(row % 20) / 5.0 - 1.9, f64::from(row / 20) / 5.0 - 1.9);
        format!("{}-{row},{x:.2},{y:.2}\n", if x * x + y * y < 2.0 { "in" } else { "out" })
    };
    fs::write(&data, format!("id,x,y\n{}", (0..400).map(point).collect::<String>())).unwrap();
    for kind in ["kernel:landmarks=50", "forest:trees=40", "auto"] {
        let [ledger, model] = ["ledger", "model"].map(|name| folder.path(&format!("{}.{name}", &kind[..4])));
        let fixed = ["label", &data, "--labels", "in,out", "--numbers", "x,y", "--port", "0", "--no-browser", "--json"];
        let mut server = LabelServer::start(&[&fixed[..], &["--ledger", &ledger, "--model", kind]].concat());
        let mut client = server.client();
        for number in 0..60 {
            let item = client.next("Ada", 1).unwrap()[0].clone();
            let label = item["item"].as_str().unwrap().split('-').next().unwrap().to_owned();
            client.answer("Ada", &item["ask"], &format!("Ada-{number}"), &label).unwrap();
            if number % 15 == 14 {
                wait_for_model(&mut client);
            }
        }
        let status = client.get("/api/status").unwrap().1;
        let is_chosen = kind == "auto";
        assert!(is_chosen || status["model"]["kind"] != "linear", "{kind}: {}", status["model"]);
        assert!(server.terminate());
        let found = said(&["replay", &ledger, "--json"]);
        assert_eq!((&found["same_model"], &found["disagreeing"]), (&Value::Bool(true), &json!(0)), "{kind}: {found}");
        assert!(querist(&["export", &ledger, "--model", &model]).output().unwrap().status.success());
        let output = querist(&["predict", &model, &data]).output().unwrap();
        let predicted = String::from_utf8(output.stdout).unwrap();
        let right = predicted.lines().skip(1).filter(|line| line.starts_with(line.split(',').nth(1).unwrap())).count();
        // What the answers choose depends on when models were ready for draws.
        assert!(is_chosen || 340 < right, "{kind}: {right} of 400");
    }
}
