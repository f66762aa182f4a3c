//! `querist plan --pilot`: the forecast from a ledger agrees with the run's own results.

mod common;

use common::{Folder, StoredEvent, error, events_of, json, table};
use serde_json::Value;

fn near(found: &Value, wanted: f64) {
    let found = found.as_f64().unwrap();
    assert!((found - wanted).abs() <= 1e-12 * wanted.abs(), "{found} is not {wanted}");
}

#[test]
fn the_forecast_from_a_pool_agrees_with_its_run() {
    let folder = Folder::new("pilot-pool");
    let (data, run) = (folder.path("data.csv"), folder.path("run"));
    table(&data, 2000);
    let reported = json(&["pool", &data, "--label", "label", "--budget", "120", "--json", "--ledger", &run]);
    let plan = json(&["plan", "--pilot", &run, "--next", "50", "--target", "0.5", "--json"]);
    // Without the rows of the pool, estimates and intervals use only the draws; everything else agrees with the run.
    for same in ["confidence", "effective_n"] {
        assert_eq!(plan["estimate"][same], reported["estimate"][same], "{same}");
    }
    let accuracy = |of: &Value| of["estimate"]["accuracy"].as_f64().unwrap();
    assert!((accuracy(&plan) - accuracy(&reported)).abs() < 0.03, "{plan} and {reported}");
    let ends = |of: &Value| (of["estimate"]["low"].as_f64().unwrap(), of["estimate"]["high"].as_f64().unwrap());
    let ((low, high), (reported_low, reported_high)) = (ends(&plan), ends(&reported));
    assert!(
        (low - reported_low).abs() < 0.2 && (high - reported_high).abs() < 0.2,
        "{low} to {high}, {reported_low} to {reported_high}"
    );
    assert_eq!((&plan["labels"], &plan["left"]), (&120.into(), &1880.into()));
    // The run's own advice is about the next 50 labels.
    let why = reported["stop"]["why"].as_str().unwrap();
    let digits = |value: &Value| {
        let text = format!("{:.4}", value.as_f64().unwrap());
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    let (gain, high) = (digits(&plan["next"]["gain"]), digits(&plan["next"]["high"]));
    let begins = if plan["next"]["gain"].as_f64().unwrap() < 0.0 {
        format!("50 more labels should not improve accuracy ({high} at most);")
    } else {
        format!("50 more labels should improve accuracy by about {gain} ({high} at most);")
    };
    assert!(why.starts_with(&begins), "{why}\nand not: {begins}");
    // An accuracy of a half is already reached, so no more labels are needed.
    assert_eq!(plan["target"]["labels"], 0);
    let asks = events_of(&run, "asked");
    // The rule has a scale only after the cold start.
    let draws = asks.iter().map(|event| &event.fields["draw"]).filter(|draw| draw["scale"]["reach"].is_number());
    let rates: Vec<f64> = draws.map(|draw| draw["rate"].as_f64().unwrap()).collect();
    assert!(100 < rates.len() && rates.len() < 120);
    let rate = rates.iter().sum::<f64>() / rates.len() as f64;
    near(&plan["rate"], rate);
    near(&plan["c"], rate.powf(-0.5));
    let more = json(&["plan", "--pilot", &run, "--next", "5000", "--json"]);
    assert_eq!(more["next"]["labels"], 1880, "no more than are left");
}

#[test]
fn a_stream_and_a_run_of_steps_report_their_rate() {
    let folder = Folder::new("pilot-stream");
    let (data, run, steps) = (folder.path("data.csv"), folder.path("run"), folder.path("steps"));
    table(&data, 2000);
    json(&["stream", &data, "--label", "label", "--json", "--ledger", &run]);
    let of_step = ["--distance", "2", "--gradient", "3", "--horizon", "100"];
    let plan = json(&[&["plan", "--pilot", &run, "--json"][..], &of_step].concat());
    let probabilities: Vec<f64> = events_of(&run, "considered").iter().flat_map(StoredEvent::numbers).collect();
    let rate = probabilities.iter().sum::<f64>() / probabilities.len() as f64;
    near(&plan["rate"], rate);
    near(&plan["step"], rate.powf(-0.5) * 2.0 / 30.0);
    assert!(plan["next"].is_null());
    assert!(error(&["plan", "--pilot", &run, "--target", "0.9"]).contains("the ledger of a stream does not have"));
    json(&["pool", &data, "--label", "label", "--budget", "80", "--fit", "sgd", "--json", "--ledger", &steps]);
    let plan = json(&["plan", "--pilot", &steps, "--json"]);
    let asks = events_of(&steps, "asked");
    let inverse: Vec<f64> = asks.iter().map(|event| event.fields["draw"]["inverse_rate"].as_f64().unwrap()).collect();
    near(&plan["rate"], inverse.len() as f64 / inverse.iter().sum::<f64>());
    assert!(plan["next"].is_null());
}

#[test]
fn a_pilot_without_a_forecast_reports_the_reason() {
    let folder = Folder::new("pilot-errors");
    let data = folder.path("data.csv");
    table(&data, 500);
    let run = |name: &str, more: &[&str]| {
        let path = folder.path(name);
        let fixed = ["pool", &data, "--label", "label", "--json", "--ledger", &path];
        json(&[&fixed[..], more].concat());
        path
    };
    let few = run("few", &["--budget", "20"]);
    assert!(error(&["plan", "--pilot", &few]).contains("20 labels are too few"));
    let top = run("top", &["--budget", "40", "--draw", "top"]);
    assert!(error(&["plan", "--pilot", &top]).contains("`--draw top` has no probabilities"));
    let good = run("good", &["--budget", "40"]);
    for (more, says) in [
        (["--target", "1.5"], "0 < target <= 1"),
        (["--target", "nan"], "a finite number"),
        (["--next", "0"], "at least 1"),
        (["--distance", "2"], "needs all of --distance, --gradient and --horizon"),
        (["--loss", "logistic"], "cannot be used with"),
    ] {
        let message = error(&[&["plan", "--pilot", &good][..], &more].concat());
        assert!(message.contains(says), "{message}");
    }
    assert!(error(&["plan", "--pilot", &folder.path("none")]).contains("does not exist"));
}
