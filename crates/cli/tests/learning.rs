//! What runs learn when it is said by name: losses, rules, steps, test rows; and what they say when they stall.

mod common;

use std::fs;
use std::io::Write;
use std::process::Stdio;

use common::{Folder, error, json, querist, table};
use serde_json::Value;

/// The numbers of a field.
fn numbers(of: &Value) -> Vec<f64> {
    of.as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
}

#[test]
fn a_loss_that_is_named_is_the_loss_of_two_classes() {
    let folder = Folder::new("named-loss");
    let data = folder.path("data.csv");
    table(&data, 400);
    for command in [vec!["stream"], vec!["pool", "--budget", "60", "--fit", "sgd"], vec!["pool", "--budget", "30"]] {
        let run = |more: &[&str]| json(&[&command[..], &[&data, "--label", "label", "--json"], more].concat());
        let (default, named) = (run(&[]), run(&["--loss", "logistic"]));
        assert_eq!(named["loss"], "logistic", "{command:?}");
        assert_eq!(named["theta"], default["theta"], "{command:?}");
        assert_eq!(run(&["--loss", "hinge"])["theta"].as_array().unwrap().len(), 4, "{command:?}");
    }
    let run = |more: &[&str]| json(&[&["stream", &data, "--label", "label", "--json"], more].concat());
    for (loss, rule) in [("hinge", "margin:mu=10"), ("logistic", "threshold:gamma=2"), ("logistic", "critical")] {
        let found = run(&["--loss", loss, "--rule", rule, "--start", "0,0,0,0"]);
        assert_eq!((&found["loss"], &found["rule"]), (&loss.into(), &rule.into()));
        assert!(0.8 < found["progressive_accuracy"].as_f64().unwrap(), "{loss} {rule}: {found}");
    }
    // Cross entropy of two classes is the logistic loss.
    assert_eq!(run(&["--loss", "cross-entropy"])["theta"], run(&["--loss", "logistic"])["theta"]);
}

#[test]
fn a_warm_start_asks_by_its_rule_first() {
    let run = |more: &[&str]| {
        let mixture = ["stream", "--synthetic", "mixture", "--observations", "3e5", "--loss", "hinge", "--json"];
        let rule = ["--rule", "margin:mu=10", "--step", "fixed:eta=1e-3", "--start=-1,-1,-1"];
        json(&[&mixture[..], &rule, more].concat())
    };
    // From this start the sharp rule alone goes elsewhere.
    let (cold, warm) = (run(&[]), run(&["--warm-rule", "critical", "--warm-labels", "2e4"]));
    let good = |run: &Value| {
        let theta = numbers(&run["theta"]);
        (theta[1] - 1.87).abs() < 0.3 && (theta[2] - 1.89).abs() < 0.3
    };
    assert!(good(&warm) && !good(&cold), "{warm}\n{cold}");
    assert!(20_000 < warm["asked"].as_u64().unwrap());
    assert_eq!(warm["settings"]["warm_rule"], "critical");
}

#[test]
fn test_rows_are_never_learned_from() {
    let folder = Folder::new("test-rows");
    let (data, test) = (folder.path("data.csv"), folder.path("test.csv"));
    table(&data, 900);
    let text = fs::read_to_string(&data).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    fs::write(&data, lines[..601].join("\n")).unwrap();
    fs::write(&test, [&lines[..1], &lines[601..]].concat().join("\n")).unwrap();
    for command in [vec!["stream"], vec!["pool", "--budget", "50", "--fit", "sgd"], vec!["pool", "--budget", "50"]] {
        let run = |more: &[&str]| json(&[&command[..], &[&data, "--label", "label", "--json"], more].concat());
        let (alone, tested) = (run(&[]), run(&["--test", &test]));
        assert_eq!(tested["theta"], alone["theta"], "{command:?}");
        assert_eq!(tested["test"]["rows"], 300, "{command:?}: {tested}");
        assert!(0.85 < tested["test"]["accuracy"].as_f64().unwrap(), "{command:?}: {tested}");
    }
}

#[test]
fn the_step_of_the_theory_is_its_formula() {
    // c·D/(G√T), as a fixed step of the same size ends in the same bits.
    let run = |step: &str, more: &[&str]| {
        let mixture = ["stream", "--synthetic", "mixture", "--observations", "1e4", "--rule", "margin:mu=1", "--json"];
        json(&[&mixture[..], &["--step", step], more].concat())["theta"].clone()
    };
    let sizes = ["--distance", "3", "--gradient", "1.5"];
    assert_eq!(run("theory:c=2", &sizes), run("fixed:eta=0.04", &[]));
    assert_eq!(run("theory:c=umax", &sizes), run("fixed:eta=0.02", &[]));
    assert_eq!(run("theory:c=oracle", &[&sizes[..], &["--rate", "0.25"]].concat()), run("fixed:eta=0.04", &[]));
    let estimated = numbers(&run("theory:c=1", &[]));
    assert!(estimated.iter().all(|value| value.is_finite()) && estimated != numbers(&run("fixed:eta=0.02", &[])));
}

#[test]
fn a_rule_that_stops_asking_is_a_stall() {
    let mixture = ["stream", "--synthetic", "mixture", "--observations", "2e5", "--rule", "threshold:gamma=2"];
    let run = |more: &[&str]| json(&[&mixture[..], &["--step", "fixed:eta=1e-3", "--json"], more].concat());
    // The plateau of the threshold, and a region of one class.
    assert_eq!(run(&["--start", "0,0,60"])["stalled"], true);
    assert_eq!(run(&["--start", "1,0,40"])["stalled"], true);
    assert_eq!(run(&[])["stalled"], false);
    // What the rule of the start asked for does not hide it.
    let warm = ["--warm-rule", "critical", "--warm-labels", "1e5", "--rule", "threshold:gamma=0.001"];
    let hidden = ["stream", "--synthetic", "mixture", "--observations", "2e5", "--step", "fixed:eta=0.01", "--json"];
    assert_eq!(json(&[&hidden[..], &warm].concat())["stalled"], true);
    let quiet = querist(&[&mixture[..], &["--start", "0,0,60", "--quiet"]].concat()).output().unwrap();
    assert!(String::from_utf8(quiet.stdout).unwrap().contains("stalled"));
}

#[test]
fn a_pool_that_is_not_asked_any_more_stops_with_numbers() {
    let folder = Folder::new("stalled-pool");
    let data = folder.path("data.csv");
    table(&data, 300);
    for step in ["fixed:eta=1e3", "fixed:eta=1e6"] {
        let pool = ["pool", &data, "--label", "label", "--budget", "200", "--fit", "sgd", "--step", step, "--json"];
        let run = json(&pool);
        assert!(numbers(&run["mean"]).iter().chain(&numbers(&run["theta"])).all(|value| value.is_finite()), "{run}");
        assert_eq!(run["stalled"], true, "{run}");
    }
    let fine = json(&["pool", &data, "--label", "label", "--budget", "50", "--fit", "sgd", "--json"]);
    assert_eq!((&fine["stalled"], &fine["stopped"]), (&false.into(), &Value::Null));
}

#[test]
fn features_that_come_late_are_in_the_model_again() {
    let folder = Folder::new("late-features");
    let row = |i: u32| format!("{} {}:1 {}:0.5\n", i % 2, 1 + i % 2, 3 + i / 10);
    let text: String = (0..600).map(row).collect();
    for (name, text) in [("a.svm", text.clone()), ("a.vw", text.replace(" 1:", " | 1:").replace(" 2:", " | 2:"))] {
        let data = folder.path(name);
        fs::write(&data, text).unwrap();
        let (ledger, first, second) = (folder.path("ledger"), folder.path("first"), folder.path("second"));
        let _ = fs::remove_file(&ledger);
        let run = |model: &str, more: &[&str]| {
            json(
                &[&["stream", &data, "--warm-up", "50", "--json", "--ledger", &ledger, "--model", model], more]
                    .concat(),
            )
        };
        let whole = run(&first, &[]);
        assert_eq!(json(&["replay", &ledger, "--json", "--model", &second])["same_model"], true, "{name}");
        assert_eq!(fs::read(&first).unwrap(), fs::read(&second).unwrap(), "{name}");
        assert_eq!(run(&second, &["--resume"])["data"], whole["data"], "{name}");
        assert_eq!(fs::read(&first).unwrap(), fs::read(&second).unwrap(), "{name}");
    }
}

#[test]
fn categories_that_come_late_are_counted() {
    let folder = Folder::new("late-categories");
    let data = folder.path("data.csv");
    let row = |i: u32| format!("{},{},{}\n", ["north", "south", "east"][(i / 200) as usize], i % 7, i % 2);
    fs::write(&data, "city,size,label\n".to_owned() + &(0..600).map(row).collect::<String>()).unwrap();
    let run = |more: &[&str]| json(&[&["stream", &data, "--categories", "city", "--json"], more].concat());
    assert_eq!(run(&["--warm-up", "300"])["unknown_categories"], 200);
    assert_eq!(run(&[])["unknown_categories"], 0);
}

#[test]
fn a_model_is_written_over_nothing_but_a_model() {
    let folder = Folder::new("spared");
    let (data, ledger, model) = (folder.path("data.csv"), folder.path("ledger"), folder.path("model"));
    table(&data, 50);
    let run = ["stream", &data, "--label", "label"];
    let both = error(&[&run[..], &["--ledger", &ledger, "--model", &ledger]].concat());
    assert!(both.contains("--model and --ledger are one file"), "{both}");
    json(&[&run[..], &["--json", "--ledger", &ledger, "--model", &model]].concat());
    json(&[&run[..], &["--json", "--model", &model]].concat());
    for over in [&[&run[..], &["--model", &ledger]].concat()[..], &["replay", &ledger, "--model", &ledger]] {
        let refused = error(over);
        assert!(refused.contains("is no model and stays as it is"), "{refused}");
    }
    assert_eq!(json(&["replay", &ledger, "--json"])["same_model"], true);
    let absent = folder.path("absent/model");
    let nowhere = error(&[&run[..], &["--model", &absent]].concat());
    assert!(nowhere.contains("need the name of a file in a folder that exists"), "{nowhere}");
}

/// Feeds a live stream; what it prints.
fn live(arguments: &[&str], input: &str) -> Vec<Value> {
    let mut child = querist(&[&["stream", "-", "--ask", "--labels", "a,b"], arguments].concat())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_live_stream_says_where_to_go_on_and_takes_what_comes_early() {
    let folder = Folder::new("live-again");
    let ledger = folder.path("ledger");
    let line = |i: u32| format!("{{\"id\":{i},\"x\":{},\"y\":{}}}\n", i % 5, i % 3);
    let rows = |range: std::ops::Range<u32>| range.map(line).collect::<String>();
    // An answer to nothing is refused; bytes that are no text are left out and counted.
    let early = live(&["--skip-bad-rows"], &format!("{{\"answer\":1,\"label\":\"a\"}}\n[]\n{}", rows(0..20)));
    assert_eq!(early[0]["why"], "nothing has been asked yet");
    assert_eq!(early.last().unwrap()["finished"]["skipped_rows"], 1);
    // Two parts of a stream end as the whole.
    let whole = live(&["--warm-up", "10"], &rows(0..60));
    live(&["--warm-up", "10", "--ledger", &ledger], &rows(0..35));
    let rest = live(&["--warm-up", "10", "--ledger", &ledger, "--resume"], &rows(35..60));
    assert_eq!(rest[0]["resumed"]["observed"], 35);
    let (whole, rest) = (&whole.last().unwrap()["finished"], &rest.last().unwrap()["finished"]);
    assert_eq!((&rest["observed"], &rest["asked"]), (&whole["observed"], &whole["asked"]));
}
