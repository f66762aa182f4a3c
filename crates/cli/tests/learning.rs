//! Learning with named losses, rules, steps and test rows; stalls and their warnings.

mod common;

use std::fs;
use std::io::Write;
use std::process::Stdio;

use common::{Folder, error, json, querist, table};
use querist_engine::coin::Coin;
use serde_json::Value;

/// Returns the numbers of a field.
fn numbers(of: &Value) -> Vec<f64> {
    of.as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
}

#[test]
fn a_named_loss_is_used_for_two_classes() {
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
fn the_boundary_rule_has_an_older_name() {
    let folder = Folder::new("old-name");
    let (data, ledger) = (folder.path("data.csv"), folder.path("old.ledger"));
    table(&data, 400);
    let run = |rule: &str, more: &[&str]| {
        let flags = ["pool", &data, "--label", "label", "--budget", "40", "--asks", "--json", "--rule", rule];
        json(&[&flags[..], more].concat())
    };
    for (old, new) in [("margin", "boundary"), ("margin:share=0.05,floor=0.2", "boundary:share=0.05,floor=0.2")] {
        let (before, after) = (run(old, &[]), run(new, &[]));
        assert_eq!((&before["asks"], &before["theta"]), (&after["asks"], &after["theta"]), "{old}");
        assert!(before["rule"].as_str().unwrap().starts_with("boundary:"), "{before}");
    }
    // A ledger with the old name can be replayed.
    let recorded = run("margin:share=0.05,floor=0.2", &["--ledger", &ledger]);
    assert_eq!(json(&["replay", &ledger, "--json"])["theta"], recorded["theta"]);
}

#[test]
fn a_stream_can_use_the_boundary_rule_at_a_fixed_scale() {
    let folder = Folder::new("boundary-stream");
    let data = folder.path("data.csv");
    table(&data, 400);
    let run = |rule: &str| json(&["stream", &data, "--label", "label", "--json", "--rule", rule]);
    let (named, mixed) = (run("boundary:reach=0.5,base=0.25"), run("mix:rule=exponential:mu=2,floor=0.2"));
    assert_eq!(named["rule"], "boundary:reach=0.5,base=0.25");
    for (one, other) in numbers(&named["theta"]).into_iter().zip(numbers(&mixed["theta"])) {
        assert!((one - other).abs() <= 1e-12 * other.abs(), "{one} and {other}");
    }
}

#[test]
fn a_warm_start_asks_by_its_rule_first() {
    let run = |more: &[&str]| {
        let mixture = ["stream", "--synthetic", "mixture", "--observations", "3e5", "--loss", "hinge", "--json"];
        let rule = ["--rule", "margin:mu=10", "--step", "fixed:eta=1e-3", "--start=-1,-1,-1"];
        json(&[&mixture[..], &rule, more].concat())
    };
    // From this start the sharp rule alone converges to a bad solution.
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

/// Flipping the labels of the held-out rows changes only the test scores: correct predictions become wrong.
#[test]
fn held_out_rows_are_only_used_in_the_test() {
    let folder = Folder::new("kept-apart");
    let (data, turned) = (folder.path("data.csv"), folder.path("turned.csv"));
    table(&data, 900);
    let (text, coin) = (fs::read_to_string(&data).unwrap(), Coin::new(3, "test"));
    let mut held_out = vec![];
    let turn = |(row, line): (u64, &str)| {
        let (features, label) = line.rsplit_once(',').unwrap();
        if row == 0 || 0.3 <= coin.unit(row) {
            return line.to_owned();
        }
        held_out.push(line.split(',').next().unwrap().to_owned());
        format!("{features},{}", if label == "yes" { "no" } else { "yes" })
    };
    fs::write(&turned, (0..).zip(text.lines()).map(turn).collect::<Vec<_>>().join("\n")).unwrap();
    let sgd = vec!["pool", "--budget", "200", "--fit", "sgd", "--asks"];
    for command in [vec!["stream"], vec!["stream", "--shuffle"], sgd, vec!["pool", "--budget", "40", "--asks"]] {
        let flags = ["--label", "label", "--seed", "3", "--test-fraction", "0.3", "--json"];
        let run = |file: &str| json(&[&command[..], &[file], &flags].concat());
        let (plain, turned) = (run(&data), run(&turned));
        assert_eq!((&turned["theta"], &turned["mean"]), (&plain["theta"], &plain["mean"]), "{command:?}");
        assert_eq!(turned["progressive_loss"], plain["progressive_loss"], "{command:?}");
        let used = plain.get("observed").unwrap_or(&plain["rows"]).as_u64().unwrap() as usize;
        assert_eq!(used, 900 - held_out.len(), "{command:?}");
        for ask in plain["asks"].as_array().unwrap_or(&vec![]) {
            assert!(!held_out.iter().any(|id| ask["id"] == **id), "{command:?}: {ask}");
        }
        for (run, what) in [(&plain, "right"), (&turned, "turned round")] {
            assert_eq!(run["test"]["rows"], held_out.len(), "{command:?}, {what}");
        }
        for key in ["accuracy", "accuracy_last"] {
            let (right, wrong) = (plain["test"][key].as_f64().unwrap(), turned["test"][key].as_f64().unwrap());
            assert!((right + wrong - 1.0).abs() < 1e-12 && 0.8 < right, "{command:?}: {key} {right} and {wrong}");
        }
    }
}

/// Three rows, calculated by hand: the scores before each label are 0, 2 and 2σ(2).
#[test]
fn every_row_is_predicted_before_its_label_is_used() {
    let folder = Folder::new("before");
    let data = folder.path("data.csv");
    fs::write(&data, "x,label\n1,yes\n3,no\n-1,no\n").unwrap();
    let flags = ["--label", "label", "--no-standardize", "--rule", "constant", "--step", "fixed:eta=1", "--json"];
    let run = json(&[&["stream", &data][..], &flags].concat());
    // w = b = 1/2 after the first; then both lose the slope σ(2), w three times.
    let slope = 1.0 / (1.0 + f64::exp(-2.0));
    let losses = [f64::ln(2.0), f64::ln(1.0 + f64::exp(2.0)), f64::ln(1.0 + f64::exp(2.0 * slope))];
    let expected = losses.iter().sum::<f64>() / 3.0;
    assert!((run["progressive_loss"].as_f64().unwrap() - expected).abs() < 1e-12, "{run} for {expected}");
    assert!((run["progressive_accuracy"].as_f64().unwrap() - 1.0 / 3.0).abs() < 1e-12, "{run}");
    let last = 1.0 / (1.0 + f64::exp(-2.0 * slope));
    for (found, expected) in numbers(&run["theta"]).iter().zip([0.5 - 3.0 * slope + last, 0.5 - slope - last]) {
        assert!((found - expected).abs() < 1e-12, "{found} for {expected}");
    }
}

#[test]
fn the_theory_step_matches_its_formula() {
    // The step is c·D/(G√T): a fixed step of the same size gives the same bits.
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

/// In a pool `U_max` does not enter and T counts steps: D/(G√T).
#[test]
fn the_pool_step_matches_its_formula() {
    let folder = Folder::new("pool-step");
    let data = folder.path("data.csv");
    table(&data, 400);
    let run = |more: &[&str]| {
        let pool = ["pool", &data, "--label", "label", "--budget", "100", "--fit", "sgd", "--json"];
        json(&[&pool[..], more].concat())["theta"].clone()
    };
    let theory = ["--step", "theory:c=umax", "--distance", "3", "--gradient", "1.5"];
    assert_eq!(run(&theory), run(&["--step", "fixed:eta=0.2"]));
    let in_batches = run(&[&theory[..], &["--batch", "4"]].concat());
    assert_eq!(in_batches, run(&["--batch", "4", "--step", "fixed:eta=0.4"]));
    assert_ne!(in_batches, run(&["--batch", "4", "--step", "fixed:eta=0.2"]));
}

/// Features of size 2 have D = 4/2 and G = √(2² + 1); 80 observations make a step of 0.1, 20 labels one of 0.2.
#[test]
fn distance_and_gradient_are_estimated_from_the_features() {
    let folder = Folder::new("estimated");
    let data = folder.path("data.csv");
    let row =
        |i: u32| format!("{},{}\n", if i.is_multiple_of(3) { -2 } else { 2 }, if i % 5 < 2 { "no" } else { "yes" });
    fs::write(&data, "x,label\n".to_owned() + &(0..80).map(row).collect::<String>()).unwrap();
    let pool = ["pool", "--budget", "20", "--fit", "sgd"];
    for (command, step) in [(&["stream"][..], "fixed:eta=0.1"), (&pool[..], "fixed:eta=0.2")] {
        let run = |step: &str| {
            let flags = [&data, "--label", "label", "--no-standardize", "--step", step, "--json"];
            numbers(&json(&[command, &flags[..]].concat())["theta"])
        };
        for (estimated, fixed) in run("theory:c=1").iter().zip(run(step)) {
            assert!((estimated - fixed).abs() < 1e-12 && fixed != 0.0, "{command:?}: {estimated} for {fixed}");
        }
    }
}

/// A tenth of the horizon at c = `U_max^{-1/2}`, and then another step.
#[test]
fn a_pilot_uses_the_theory_step_only_within_its_window() {
    for rule in ["margin:mu=1", "entropy"] {
        let run = |step: &str, observations: &str| {
            let mixture = ["stream", "--synthetic", "mixture", "--rule", rule, "--json", "--horizon", "1e4"];
            let sizes = ["--distance", "3", "--gradient", "1.5", "--step", step, "--observations", observations];
            numbers(&json(&[&mixture[..], &sizes].concat())["theta"])
        };
        let apart = |observations: &str| -> f64 {
            let (pilot, theory) = (run("pilot", observations), run("theory:c=umax", observations));
            pilot.iter().zip(theory).map(|(pilot, theory)| (pilot - theory).abs()).sum()
        };
        assert!(apart("1000") < 1e-12, "{rule}: within the window");
        assert!(1e-3 < apart("1100"), "{rule}: beyond it");
    }
}

#[test]
fn a_rule_that_stops_asking_is_a_stall() {
    let mixture = ["stream", "--synthetic", "mixture", "--observations", "2e5", "--rule", "threshold:gamma=2"];
    let run = |more: &[&str]| json(&[&mixture[..], &["--step", "fixed:eta=1e-3", "--json"], more].concat());
    // The plateau of the threshold, and a region of one class.
    assert_eq!(run(&["--start", "0,0,60"])["stalled"], true);
    assert_eq!(run(&["--start", "1,0,40"])["stalled"], true);
    assert_eq!(run(&[])["stalled"], false);
    // The asks of the warm-start rule do not hide a stall.
    let warm = ["--warm-rule", "critical", "--warm-labels", "1e5", "--rule", "threshold:gamma=0.001"];
    let hidden = ["stream", "--synthetic", "mixture", "--observations", "2e5", "--step", "fixed:eta=0.01", "--json"];
    assert_eq!(json(&[&hidden[..], &warm].concat())["stalled"], true);
    let quiet = querist(&[&mixture[..], &["--start", "0,0,60", "--quiet"]].concat()).output().unwrap();
    assert!(String::from_utf8(quiet.stdout).unwrap().contains("stalled"));
}

#[test]
fn a_stalled_pool_has_finite_parameters() {
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
fn late_features_are_in_the_replayed_model() {
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
fn late_categories_are_counted() {
    let folder = Folder::new("late-categories");
    let data = folder.path("data.csv");
    let row = |i: u32| format!("{},{},{}\n", ["north", "south", "east"][(i / 200) as usize], i % 7, i % 2);
    fs::write(&data, "city,size,label\n".to_owned() + &(0..600).map(row).collect::<String>()).unwrap();
    let run = |more: &[&str]| json(&[&["stream", &data, "--categories", "city", "--json"], more].concat());
    assert_eq!(run(&["--warm-up", "300"])["unknown_categories"], 200);
    assert_eq!(run(&[])["unknown_categories"], 0);
}

#[test]
fn a_model_overwrites_only_a_model() {
    let folder = Folder::new("spared");
    let (data, ledger, model) = (folder.path("data.csv"), folder.path("ledger"), folder.path("model"));
    table(&data, 50);
    let run = ["stream", &data, "--label", "label"];
    let both = error(&[&run[..], &["--ledger", &ledger, "--model", &ledger]].concat());
    assert!(both.contains("--model and --ledger are the same file"), "{both}");
    json(&[&run[..], &["--json", "--ledger", &ledger, "--model", &model]].concat());
    json(&[&run[..], &["--json", "--model", &model]].concat());
    for over in [&[&run[..], &["--model", &ledger]].concat()[..], &["replay", &ledger, "--model", &ledger]] {
        let refused = error(over);
        assert!(refused.contains("belongs to the ledger") && refused.contains("is not overwritten"), "{refused}");
    }
    assert_eq!(json(&["replay", &ledger, "--json"])["same_model"], true);
    let absent = folder.path("absent/model");
    let nowhere = error(&[&run[..], &["--model", &absent]].concat());
    assert!(nowhere.contains("need the name of a file in a folder that exists"), "{nowhere}");
}

/// Feeds input to a live stream; returns the lines it prints.
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
fn a_live_stream_resumes_and_rejects_early_answers() {
    let folder = Folder::new("live-again");
    let ledger = folder.path("ledger");
    let line = |i: u32| format!("{{\"id\":{i},\"x\":{},\"y\":{}}}\n", i % 5, i % 3);
    let rows = |range: std::ops::Range<u32>| range.map(line).collect::<String>();
    // An answer without an ask is rejected; a line that is not an object is skipped and counted.
    let early = live(&["--skip-bad-rows"], &format!("{{\"answer\":1,\"label\":\"a\"}}\n[]\n{}", rows(0..20)));
    assert_eq!(early[0]["why"], "nothing has been asked yet");
    assert_eq!(early.last().unwrap()["finished"]["skipped_rows"], 1);
    // A stream in two parts ends like the whole stream.
    let whole = live(&["--warm-up", "10"], &rows(0..60));
    live(&["--warm-up", "10", "--ledger", &ledger], &rows(0..35));
    let rest = live(&["--warm-up", "10", "--ledger", &ledger, "--resume"], &rows(35..60));
    assert_eq!(rest[0]["resumed"]["observed"], 35);
    let (whole, rest) = (&whole.last().unwrap()["finished"], &rest.last().unwrap()["finished"]);
    assert_eq!((&rest["observed"], &rest["asked"]), (&whole["observed"], &whole["asked"]));
}

/// For K classes a run warns that its rule has no objective, and names a command that shows it. There is no warning if
/// the weights keep the loss.
#[test]
fn rules_without_an_objective_are_reported_with_a_working_command() {
    let fixed = ["pool", "../../data/waveform.csv", "--label", "label", "--budget", "40", "--json"];
    let warning = |more: &[&str]| json(&[&fixed[..], more].concat())["warning"].clone();
    for more in [&[][..], &["--rule", "least-confidence"], &["--fit", "sgd"], &["--objective", "equivalent"]] {
        let reported = warning(more);
        let words = reported.as_str().unwrap_or_else(|| panic!("{more:?}: no warning"));
        let command = words.split('`').find_map(|part| part.strip_prefix("querist ")).unwrap();
        let shown = querist(&command.split(' ').collect::<Vec<_>>()).output().unwrap();
        let text = String::from_utf8(shown.stdout).unwrap();
        assert!(shown.status.success() && text.contains("refuted"), "{command}: {text}");
    }
    for more in [&["--objective", "original"][..], &["--fit", "sgd", "--importance"], &["--rule", "conditional-loss"]] {
        assert!(warning(more).is_null(), "{more:?}");
    }
}

#[test]
fn class_names_cannot_send_control_sequences() {
    let folder = Folder::new("steering");
    let data = folder.path("data.csv");
    table(&data, 200);
    let text = fs::read_to_string(&data).unwrap().replace(",yes\n", ",\u{1b}[31mred\n");
    fs::write(&data, text).unwrap();
    let output = querist(&["pool", &data, "--label", "label", "--budget", "60"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\\u{1b}[31mred") && !text.contains('\u{1b}'), "{text}");
}
