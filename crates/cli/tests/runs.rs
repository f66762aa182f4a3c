//! Runs of the binary: killed and resumed, replayed, multithreaded, live.

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;

use common::{Folder, error, events, events_of, json, killed_again_and_again, querist, table};
use serde_json::Value;

#[test]
fn a_killed_stream_ends_like_an_undisturbed_one() {
    let folder = Folder::new("killed-stream");
    let data = folder.path("data.csv");
    table(&data, 60_000);
    let file = ["stream", &data, "--label", "label", "--rule", "margin:mu=1", "--seed", "5"];
    let apart = ["--test-fraction", "0.1", "--momentum", "nesterov:beta=0.5"];
    let warm = ["--shuffle", "--warm-rule", "critical", "--warm-labels", "9000"];
    let raw = ["--clock", "raw", "--momentum", "heavy-ball:beta=0.8", "--step", "fixed:eta=0.01"];
    let mixture = ["stream", "--synthetic", "mixture", "--observations", "4e5", "--seed", "5"];
    let settings = [
        ("nesterov", [&file[..], &apart].concat()),
        ("warm", [&file[..], &warm].concat()),
        ("raw", [&file[..], &raw].concat()),
        ("mixture", mixture.to_vec()),
    ];
    for (name, setting) in settings {
        assert!(2 <= killed_streams(&folder, name, &setting), "{name}: hardly any kill hit a run");
    }
}

/// Compares two runs that are killed and resumed with an undisturbed one; returns the number of kills.
fn killed_streams(folder: &Folder, name: &str, setting: &[&str]) -> u32 {
    let kept =
        |called: &str| [folder.path(&format!("{name}-{called}")), folder.path(&format!("{name}-{called}-model"))];
    let run = |kept: &[String; 2]| -> Vec<String> {
        let keeping = ["--json", "--resume", "--ledger", &kept[0], "--model", &kept[1]];
        setting.iter().chain(&keeping).map(|text| (*text).to_owned()).collect()
    };
    let texts = |run: &[String]| json(&run.iter().map(String::as_str).collect::<Vec<_>>());
    let whole = kept("whole");
    let (expected, expected_events) = (texts(&run(&whole)), events(&whole[0]));
    // A ledger changes nothing, except that the mixture is also scored progressively.
    let mut unwritten = expected.clone();
    if name == "mixture" {
        for key in ["progressive_loss", "progressive_accuracy"] {
            unwritten.as_object_mut().unwrap().remove(key);
        }
    }
    assert_eq!(json(&[setting, &["--json"]].concat()), unwritten, "{name}");
    let mut kills = 0;
    for round in 0..2 {
        let stopped = kept(&round.to_string());
        let arguments = run(&stopped);
        kills += killed_again_and_again(&arguments.iter().map(String::as_str).collect::<Vec<_>>(), 17 * round + 5);
        // Resumed after its end, a run does nothing and prints the same.
        assert_eq!(texts(&arguments), expected, "{name}");
        assert_eq!(fs::read(&stopped[1]).unwrap(), fs::read(&whole[1]).unwrap(), "{name}");
        assert!(events(&stopped[0]) == expected_events, "{name}, round {round}: other events");
    }
    let replayed = json(&["replay", &whole[0], "--json"]);
    assert_eq!(replayed["same_model"], true, "{name}");
    assert_eq!((&replayed["disagreeing"], &replayed["asked"]), (&0.into(), &expected["asked"]), "{name}");
    kills
}

#[test]
fn a_killed_pool_run_ends_like_an_undisturbed_one() {
    let folder = Folder::new("killed-pool");
    let data = folder.path("data.csv");
    table(&data, 3000);
    for (fit, draw, batch, objective, budget) in [
        ("sgd", "reject", "1", "", "900"),
        ("sgd", "scan", "3", "", "900"),
        ("sgd", "top", "1", "", "900"),
        ("refit", "reject", "1", "original", "150"),
        ("refit", "scan", "3", "as-asked", "150"),
        ("refit", "scan", "1", "equivalent", "150"),
        ("refit", "top", "1", "as-asked", "150"),
        ("refit", "scan", "10 --apart", "as-asked", "150"),
        ("sgd", "reject", "10 --apart=0.3", "", "900"),
    ] {
        let (asks, called) = (budget.parse::<usize>().unwrap(), format!("{fit}-{draw}-{batch}"));
        let (batch, apart) = batch.split_once(' ').unwrap_or((batch, ""));
        let run = |ledger: &str, model: &str, threads: &str| -> Vec<String> {
            let fixed = ["pool", &data, "--label", "label", "--budget", budget, "--draw", draw, "--batch", batch];
            let mut all: Vec<String> = fixed.iter().map(|text| (*text).to_owned()).collect();
            all.extend(
                ["--json", "--asks", "--resume", "--test-fraction", "0.3", "--threads", threads].map(str::to_owned),
            );
            all.extend(["--ledger".to_owned(), folder.path(ledger), "--model".to_owned(), folder.path(model)]);
            all.extend(["--fit", fit].map(str::to_owned));
            all.extend((!apart.is_empty()).then(|| apart.to_owned()));
            if fit == "refit" {
                all.extend(["--objective", objective].map(str::to_owned));
            }
            all
        };
        let texts = |run: &[String]| -> Vec<String> { run.to_vec() };
        let whole = texts(&run(&format!("{called}-whole"), &format!("{called}-model"), "2"));
        let expected = json(&whole.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(expected["asks"].as_array().unwrap().len(), asks);
        for round in 0..3 {
            let (ledger, model) = (format!("{called}-{round}"), format!("{called}-model-{round}"));
            let stopped = run(&ledger, &model, "1");
            let stopped: Vec<&str> = stopped.iter().map(String::as_str).collect();
            killed_again_and_again(&stopped, 11 * round + 5);
            let ended = json(&stopped);
            assert!(ended == expected, "{called}, round {round}");
            assert_eq!(
                fs::read(folder.path(&model)).unwrap(),
                fs::read(folder.path(&format!("{called}-model"))).unwrap()
            );
        }
        let replayed = json(&["replay", &folder.path(&format!("{called}-whole")), "--json"]);
        assert_eq!((&replayed["same_model"], &replayed["disagreeing"]), (&true.into(), &0.into()), "{called}");
    }
}

#[test]
fn another_run_cannot_resume_a_ledger() {
    let folder = Folder::new("another");
    let (data, ledger) = (folder.path("data.csv"), folder.path("ledger"));
    table(&data, 50);
    json(&["stream", &data, "--label", "label", "--json", "--ledger", &ledger]);
    let again = error(&["stream", &data, "--label", "label", "--ledger", &ledger]);
    assert!(again.contains("already exists; use `--resume` to continue it"), "{again}");
    let other = error(&["stream", &data, "--label", "label", "--seed", "3", "--ledger", &ledger, "--resume"]);
    assert!(other.contains("is the ledger of another run: it was started with --seed 0, not 3"), "{other}");
    let warm = error(&["stream", &data, "--label", "label", "--warm-up", "10", "--ledger", &ledger, "--resume"]);
    assert!(warm.contains("it was started without --warm-up"), "{warm}");
    let pool = error(&["pool", &data, "--label", "label", "--budget", "5", "--ledger", &ledger, "--resume"]);
    assert!(pool.contains("is the ledger of `querist stream`"), "{pool}");
    let (fitted, flags) = (folder.path("fitted"), ["--label", "label", "--budget", "5", "--resume", "--ledger"]);
    json(&[&["pool", &data, "--json"], &flags[..], &[&fitted]].concat());
    let steps = error(&[&["pool", &data, "--fit", "sgd"], &flags[..], &[&fitted]].concat());
    assert!(steps.contains("it was started with --fit refit, not sgd\n"), "{steps}");
    table(&data, 51);
    let changed = error(&["stream", &data, "--label", "label", "--ledger", &ledger, "--resume"]);
    assert!(changed.contains("has changed since"), "{changed}");
}

#[test]
fn the_mixture_prints_what_programs_expect() {
    let run = json(&[
        "stream",
        "--synthetic",
        "mixture",
        "--observations",
        "1e5",
        "--loss",
        "logistic",
        "--rule",
        "entropy",
        "--step",
        "fixed:eta=1e-2",
        "--start",
        "0,0,0",
        "--seed",
        "1",
        "--json",
    ]);
    assert_eq!(run["observed"], 100_000);
    for key in ["theta", "mean"] {
        assert_eq!(run[key].as_array().unwrap().len(), 3, "{key}");
    }
    // The flow at time 1000 has w₂ = 4.815 and b = 4.876; a step of 1e-2 deviates ten times as much as one of 1e-4.
    assert!((run["theta"][1].as_f64().unwrap() - 4.815).abs() < 0.3, "{}", run["theta"]);
    assert!((run["asked"].as_f64().unwrap() - run["expected_asked"].as_f64().unwrap()).abs() < 600.0);
}

#[test]
fn a_live_stream_accepts_answers_late_and_in_any_order() {
    let folder = Folder::new("live");
    let ledger = folder.path("ledger");
    let arguments = ["stream", "-", "--ask", "--labels", "no,yes", "--warm-up", "5", "--ledger", &ledger, "--resume"];
    let mut child = querist(&arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    for i in 0..40 {
        writeln!(input, r#"{{"id": "e{i}", "a": {}, "b": {}}}"#, i % 7, (i * i) % 5).unwrap();
    }
    input.flush().unwrap();
    assert_eq!(next()["resumed"]["observed"], 0);
    let (first, second, third) = (next(), next(), next());
    assert!(first["ask"].as_u64() < second["ask"].as_u64() && first["probability"].is_f64());
    // Answer the last ask by number, the first by id, and that once more; an unknown label is rejected.
    writeln!(input, r#"{{"answer": {}, "label": "yes"}}"#, third["ask"]).unwrap();
    writeln!(input, r#"{{"answer": {}, "label": "no"}}"#, first["id"]).unwrap();
    writeln!(input, r#"{{"answer": {}, "label": "no"}}"#, first["id"]).unwrap();
    writeln!(input, r#"{{"answer": {}, "label": "maybe"}}"#, second["ask"]).unwrap();
    input.flush().unwrap();
    let mut answered = vec![];
    while answered.len() < 4 {
        let line = next();
        if line.get("ask").is_none() {
            answered.push(line);
        }
    }
    assert_eq!((&answered[0]["answered"], &answered[1]["answered"]), (&third["ask"], &first["ask"]));
    assert_eq!((&answered[2]["answered"], &answered[2]["again"]), (&first["ask"], &true.into()));
    assert_eq!(answered[3]["why"], "the label is none of no, yes");
    // After a kill both acknowledged answers are kept, and the open asks are repeated.
    child.kill().unwrap();
    child.wait().unwrap();
    let kept = events_of(&ledger, "answered").len();
    assert_eq!(kept, 2);
    let mut child = querist(&arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    writeln!(child.stdin.take().unwrap(), r#"{{"answer": {}, "label": "no"}}"#, second["ask"]).unwrap();
    let output = child.wait_with_output().unwrap();
    let lines: Vec<Value> =
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["resumed"]["observed"], 40);
    assert_eq!((&lines[1]["ask"], &lines[1]["again"]), (&second["ask"], &true.into()));
    let end = &lines[lines.len() - 1]["finished"];
    assert_eq!((&end["observed"], &end["answered"]), (&40.into(), &3.into()));
    assert_eq!(json(&["replay", &ledger, "--json"])["same_model"], true);
}

#[test]
fn a_run_that_diverges_says_so_and_keeps_the_last_good_model() {
    let folder = Folder::new("diverges");
    let (data, model) = (folder.path("data.csv"), folder.path("model"));
    let rows: Vec<String> = (0..300).map(|i| format!("{},{}", f64::from(i % 17) - 8.0, f64::from(i % 5))).collect();
    fs::write(&data, format!("x,target\n{}\n", rows.join("\n"))).unwrap();
    let arguments = ["stream", &data, "--label", "target", "--loss", "squared", "--rule", "constant"];
    let with = ["--step", "fixed:eta=50", "--model", &model, "--json"];
    let output = querist(&[&arguments[..], &with[..]].concat()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("the run diverges") && message.contains("--step auto"), "{message}");
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(printed["theta"].as_array().unwrap().iter().all(Value::is_f64));
    assert!(Path::new(&model).exists());
}

#[test]
fn a_diverged_run_is_replayed_and_resumed_to_the_same_end() {
    let folder = Folder::new("diverged");
    let data = folder.path("data.csv");
    table(&data, 300);
    for command in [&["stream"][..], &["pool", "--budget", "100", "--asks", "--fit", "sgd"][..]] {
        let ledger = folder.path(command[0]);
        let flags = ["--label", "label", "--loss", "exponential", "--rule", "constant", "--step", "fixed:eta=1e3"];
        let kept = [&data, "--json", "--ledger", &ledger, "--resume"];
        let all = [command, &flags[..], &kept[..]].concat();
        let ends: Vec<Value> = (0..2)
            .map(|_| {
                let output = querist(&all).output().unwrap();
                assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
                let mut end: Value = serde_json::from_slice(&output.stdout).unwrap();
                end.as_object_mut().unwrap().remove("seconds");
                end
            })
            .collect();
        assert_eq!(ends[0], ends[1], "{command:?}");
        let replayed = json(&["replay", &ledger, "--json"]);
        assert_eq!(replayed["same_model"], true, "{command:?}");
        assert_eq!((&replayed["theta"], &replayed["asked"]), (&ends[0]["theta"], &ends[0]["asked"]), "{command:?}");
    }
}

#[test]
fn an_answer_that_would_diverge_is_rejected_and_the_stream_continues() {
    let folder = Folder::new("live-diverges");
    let ledger = folder.path("ledger");
    let arguments = [
        "stream",
        "-",
        "--ask",
        "--loss",
        "squared",
        "--rule",
        "constant",
        "--step",
        "fixed:eta=1e9",
        "--warm-up",
        "2",
        "--ledger",
        &ledger,
    ];
    let mut child = querist(&arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let lines = "{\"a\":1}\n{\"a\":2}\n{\"answer\":1,\"label\":1e300}\n{\"answer\":1}\n{\"answer\":2,\"label\":0}\n";
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let lines: Vec<Value> =
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines[2]["why"].as_str().unwrap().starts_with("the run diverges"), "{}", lines[2]);
    assert_eq!((&lines[3]["why"], &lines[4]["answered"]), (&"an answer has a label".into(), &2.into()));
    assert_eq!((&lines[5]["finished"]["answered"], &lines[5]["finished"]["open_asks"]), (&1.into(), &1.into()));
    assert_eq!(json(&["replay", &ledger, "--json"])["same_model"], true);
}

#[test]
fn a_pipe_is_read_once_and_skipped_rows_are_counted() {
    let folder = Folder::new("pipe");
    let (data, fifo) = (folder.path("data.csv"), folder.path("fifo"));
    fs::write(&data, "a,label\n1,yes\n2,no\nx,no\n3,yes\n-1,no\n").unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let mut feeder = std::process::Command::new("sh").args(["-c", &format!("cat {data} > {fifo}")]).spawn().unwrap();
    let piped = json(&["stream", &fifo, "--format", "csv", "--label", "label", "--skip-bad-rows", "--json"]);
    feeder.wait().unwrap();
    assert_eq!((&piped["observed"], &piped["skipped_rows"]), (&4.into(), &1.into()));
    let shuffled = json(&["stream", &data, "--label", "label", "--skip-bad-rows", "--shuffle", "--json"]);
    assert_eq!((&shuffled["observed"], &shuffled["skipped_rows"]), (&4.into(), &1.into()));
    let over = error(&["stream", &data, "--label", "label", "--skip-bad-rows", "--model", &data]);
    assert!(over.contains("that is the data"), "{over}");
    let theory = ["stream", "-", "--label", "label", "--skip-bad-rows", "--step", "theory:c=umax", "--horizon", "9"];
    let output = querist(&theory).stdin(fs::File::open(&data).unwrap()).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("needs --distance and --gradient"), "{message}");
}

#[test]
fn a_fitted_pool_reports_estimates_for_the_whole_pool() {
    let folder = Folder::new("fitted");
    let (data, seeds, ledger) = (folder.path("data.csv"), folder.path("seeds"), folder.path("ledger"));
    table(&data, 2000);
    fs::write(&seeds, "r1\nr5\n\nr20\n").unwrap();
    let kept = ["--seed-labels", &seeds, "--ledger", &ledger, "--json", "--asks"];
    let run = json(&[&["pool", &data, "--label", "label", "--budget", "120"][..], &kept[..]].concat());
    assert_eq!(run["asked"], 120);
    let asked: Vec<&str> = run["asks"].as_array().unwrap().iter().map(|ask| ask["id"].as_str().unwrap()).collect();
    assert!(!asked.iter().any(|id| ["r1", "r5", "r20"].contains(id)));
    let estimate = |key: &str| run["estimate"][key].as_f64().unwrap();
    assert!(estimate("low") <= estimate("accuracy") && estimate("accuracy") <= estimate("high"));
    // The anytime interval uses other weights than the estimate, so neither interval needs to contain the other.
    assert!(estimate("anytime_low") < estimate("anytime_high") && 0.5 < estimate("anytime_high"));
    assert!(estimate("effective_n") <= 120.0 && run["twin"]["labels"].as_u64().unwrap() <= 120);
    let warning = run["estimate"]["warning"].as_str().is_none_or(|warning| warning.contains("weights are uneven"));
    assert!(warning, "{}", run["estimate"]);
    let loss = &run["estimate"]["mean_loss"];
    assert!(0.0 < loss["low"].as_f64().unwrap() && loss["anytime_low"].is_null(), "{loss}");
    let classes = run["estimate"]["classes"].as_array().unwrap();
    assert_eq!(
        classes.iter().map(|class| &class["class"]).collect::<Vec<_>>(),
        run["classes"].as_array().unwrap().iter().collect::<Vec<_>>()
    );
    for score in classes.iter().flat_map(|class| ["precision", "recall", "f1"].map(|name| &class[name])) {
        let number = |key: &str| score[key].as_f64().unwrap();
        assert!(
            0.0 <= number("low") && number("low") <= number("value") && number("value") <= number("high"),
            "{score}"
        );
        assert!(number("high") <= 1.0 && number("effective_n") <= 120.0, "{score}");
    }
    assert!(["stop", "go on"].contains(&run["stop"]["advice"].as_str().unwrap()), "{}", run["stop"]);
    assert!(run["stop"]["why"].as_str().unwrap().contains("50 more labels"), "{}", run["stop"]);
    let replayed = json(&["replay", &ledger, "--json"]);
    assert_eq!((&replayed["same_model"], &replayed["disagreeing"]), (&true.into(), &0.into()));

    // A target that is reached early ends a run, and a resumed run ends there, too.
    let early = folder.path("early");
    let flags = ["--budget", "500", "--stop", "target=0.6", "--ledger", &early, "--resume", "--json"];
    let all = [&["pool", &data, "--label", "label"][..], &flags[..]].concat();
    let first = json(&all);
    assert!(first["asked"].as_u64().unwrap() < 500 && first["stopped"].as_str().unwrap().contains("target is reached"));
    assert_eq!(json(&all), first);

    let top = json(&["pool", &data, "--label", "label", "--budget", "30", "--draw", "top", "--json"]);
    assert!(top["estimate"].is_null() && top["twin"].is_null());
}

#[test]
fn a_comparison_is_the_same_for_any_number_of_threads() {
    let folder = Folder::new("compared");
    let (data, figure) = (folder.path("data.csv"), folder.path("figure.png"));
    table(&data, 900);
    let run = |threads: &str| {
        let fixed = ["compare", &data, "--label", "label", "--budget", "60", "--seeds", "4", "--json", "--threads"];
        let more = [threads, "--rules", "margin,entropy/original,margin@top/sgd,rare,random,top", "--figure", &figure];
        json(&[&fixed[..], &more[..]].concat())
    };
    let one = run("1");
    assert_eq!(one, run("3"));
    let rules = one["rules"].as_array().unwrap();
    let names: Vec<&str> = rules.iter().map(|rule| rule["rule"].as_str().unwrap()).collect();
    assert_eq!(names, ["random", "margin", "entropy/original", "margin@top/sgd", "rare", "top"]);
    for rule in rules {
        let last = rule["curve"].as_array().unwrap().last().unwrap();
        assert_eq!(last["labels"], 60);
        assert!(last["accuracy_mean"].is_f64() && last["accuracy_sd"].is_f64() && rule["area"].is_f64(), "{rule}");
        let by_seed: Vec<f64> = last["accuracy"].as_array().unwrap().iter().map(|one| one.as_f64().unwrap()).collect();
        let mean = by_seed.iter().sum::<f64>() / by_seed.len() as f64;
        assert_eq!(by_seed.len(), 4);
        assert!((mean - last["accuracy_mean"].as_f64().unwrap()).abs() < 1e-12, "{rule}");
        assert!(rule.get("labels_to_95").is_some() && rule.get("labels_to_98").is_some());
    }
    assert!(one["verdict"].is_string() && fs::metadata(&figure).unwrap().len() > 1000);
}

/// Pools that end before the budget, have constant features, are linearly separable, have a class with one row, or have
/// a hundred classes.
#[test]
fn runs_on_difficult_pools_end() {
    let folder = Folder::new("hard");
    let write = |name: &str, rows: usize, row: &dyn Fn(usize) -> (f64, String)| -> String {
        let path = folder.path(name);
        let lines: Vec<String> = (0..rows).map(&row).map(|(a, label)| format!("{a},{},{label}", a * a % 0.7)).collect();
        fs::write(&path, format!("a,b,label\n{}\n", lines.join("\n"))).unwrap();
        path
    };
    let spread = |i: usize| (i * 37 % 101) as f64 / 50.0 - 1.0;
    let cases = [
        write("constant", 60, &|i| (1.0, format!("k{}", i % 2))),
        write("parted", 80, &|i| (spread(i), format!("k{}", u8::from(0.1 < spread(i))))),
        write("once", 80, &|i| (spread(i), if i == 17 { "c".to_owned() } else { format!("k{}", i % 2) })),
        write("hundred", 300, &|i| (spread(i), format!("k{}", i % 100))),
    ];
    for data in &cases {
        let run = json(&["pool", data, "--label", "label", "--budget", "1000", "--json"]);
        assert_eq!(run["asked"], run["rows"], "{data}");
        assert_eq!(run["stopped"], "no row of the pool is left to ask", "{data}");
        let theta: Vec<f64> = run["theta"].as_array().unwrap().iter().map(|t| t.as_f64().unwrap()).collect();
        assert!(theta.iter().all(|t| t.abs() < 1e6), "{data}: {theta:?}");
        let compared = json(&["compare", data, "--label", "label", "--budget", "30", "--seeds", "2", "--json"]);
        assert!(compared["verdict"].is_string(), "{data}");
    }
    let cold = json(&["compare", &cases[3], "--label", "label", "--budget", "30", "--seeds", "2", "--json"]);
    assert!(cold["verdict"].as_str().unwrap().contains("within the cold start"), "{}", cold["verdict"]);
}

#[test]
fn a_reproduction_has_its_page_figures_and_numbers() {
    let folder = Folder::new("reproduction");
    let (once, again) = (folder.path("once"), folder.path("again"));
    let claims = json(&["reproduce", "figures", "existence", "--quick", "--json", "--out", &once]);
    assert_eq!(claims["parts"].as_array().unwrap().len(), 2);
    assert!(claims["claims"].as_array().unwrap().iter().all(|claim| claim["foreseen"] == true));
    json(&["reproduce", "existence", "figures", "--quick", "--json", "--threads", "1", "--out", &again]);
    let mut names: Vec<_> = fs::read_dir(&once).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert!(names.iter().any(|name| name == "index.html") && names.iter().any(|name| name == "no-objective.csv"));
    for name in names {
        let read = |folder: &str| fs::read(std::path::Path::new(folder).join(&name)).unwrap();
        assert!(read(&once) == read(&again), "{} differs", name.display());
    }
    let page = fs::read_to_string(format!("{once}/index.html")).unwrap();
    assert!(page.contains("querist reproduce figures existence --seed 1 --quick"), "the page says how it was made");
}
