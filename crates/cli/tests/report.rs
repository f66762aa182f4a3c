//! Reports: their figures have the numbers of the run.

mod common;

use std::fs;
use std::io::Write;
use std::process::Stdio;

use common::{Folder, events_of, json, querist, table};
use serde_json::Value;

/// Creates the report of a ledger; returns its numbers and its page.
fn report(ledger: &str) -> (Value, String) {
    let out = format!("{ledger}-report");
    let numbers = json(&["report", ledger, "--out", &out, "--json"]);
    for name in numbers["figures"].as_object().unwrap().keys() {
        for ending in ["svg", "png"] {
            assert!(fs::metadata(format!("{out}/{name}.{ending}")).unwrap().len() > 1000, "{name}.{ending}");
        }
    }
    (numbers, fs::read_to_string(format!("{out}/index.html")).unwrap())
}

fn series(numbers: &Value, figure: &str, name: &str) -> Vec<(f64, f64)> {
    let points = numbers["figures"][figure][name].as_array();
    let points = points.unwrap_or_else(|| panic!("{figure} has no {name}: {}", numbers["missing"]));
    points.iter().map(|point| (point[0].as_f64().unwrap(), point[1].as_f64().unwrap())).collect()
}

/// Returns a value in the page's table.
fn line<'a>(page: &'a str, what: &str) -> &'a str {
    let start = format!("<tr><td>{what}</td><td>");
    let (_, after) = page.split_once(&start).unwrap_or_else(|| panic!("the table has no `{what}`"));
    after.split_once("</td>").unwrap().0
}

fn has_line(page: &str, what: &str) -> bool {
    page.contains(&format!("<tr><td>{what}</td>"))
}

fn near(found: f64, wanted: &Value, within: f64) {
    let wanted = wanted.as_f64().unwrap();
    assert!((found - wanted).abs() < within, "{found} instead of {wanted}");
}

/// Returns the number of items of each point of a rate. A point is in the middle of its items.
fn widths(rates: &[(f64, f64)]) -> Vec<f64> {
    let mut time = 0.0;
    let width = |(middle, _): &(f64, f64)| {
        let items = 2.0 * (middle - time);
        time += items;
        items
    };
    rates.iter().map(width).collect()
}

fn total(rates: &[(f64, f64)]) -> f64 {
    widths(rates).iter().zip(rates).map(|(items, (_, share))| items * share).sum()
}

/// Checks that the curve of a class ends at its share among the ledger's answers.
fn check_balance(numbers: &Value, ledger: &str, class: &str, code: f64) {
    let answers = events_of(ledger, "answered");
    let labels: Vec<f64> = answers.iter().map(|event| event.fields["label"].as_f64().unwrap()).collect();
    let share = labels.iter().filter(|label| **label == code).count() as f64 / labels.len() as f64;
    let last = *series(numbers, "class-balance", class).last().unwrap();
    assert_eq!(last, (labels.len() as f64, share), "{class}");
}

#[test]
fn a_report_of_a_stream_has_its_numbers() {
    let folder = Folder::new("report-stream");
    let (data, ledger) = (folder.path("data.csv"), folder.path("ledger"));
    table(&data, 4000);
    let flags = ["--label", "label", "--shuffle", "--test-fraction", "0.2", "--json", "--ledger", &ledger];
    let run = json(&[&["stream", &data][..], &flags].concat());
    let (numbers, page) = report(&ledger);
    let curve = series(&numbers, "learning-curve", "so far");
    near(curve.last().unwrap().1, &run["progressive_accuracy"], 1e-12);
    near(curve.last().unwrap().0, &run["asked"], 0.5);
    let (asked, expected) =
        (series(&numbers, "query-rate", "asked"), series(&numbers, "query-rate", "mean probability"));
    near(total(&asked), &run["asked"], 1e-6);
    near(total(&expected), &run["expected_asked"], 1e-6);
    near(widths(&asked).iter().sum(), &run["observed"], 1e-6);
    check_balance(&numbers, &ledger, "yes", 1.0);
    check_balance(&numbers, &ledger, "no", -1.0);
    // Bars have a width of a twentieth, so the shares add up to 1.
    for name in ["all items", "those asked"] {
        let bars = series(&numbers, "probabilities", name);
        assert!((bars.iter().map(|bar| bar.1).sum::<f64>() / 2.0 - 1.0).abs() < 1e-9, "{name}");
    }
    // The page has default settings as well as those from the command line.
    for (what, value) in [("loss", "logistic"), ("rule", "entropy"), ("--shuffle", "yes"), ("--test-fraction", "0.2")] {
        assert_eq!(line(&page, what), value);
    }
    assert!(!has_line(&page, "--clock") && line(&page, "--step") == "auto");
}

#[test]
fn the_start_of_a_short_stream_is_visible() {
    let folder = Folder::new("report-short");
    let (data, ledger) = (folder.path("data.csv"), folder.path("ledger"));
    table(&data, 546);
    let run = json(&["stream", &data, "--label", "label", "--json", "--ledger", &ledger]);
    let (numbers, _) = report(&ledger);
    let curve = series(&numbers, "learning-curve", "so far");
    assert!(20 <= curve.len() && curve[0].0 <= 32.0, "{curve:?}");
    near(curve.last().unwrap().1, &run["progressive_accuracy"], 1e-12);
    let rates = series(&numbers, "query-rate", "asked");
    near(total(&rates), &run["asked"], 1e-6);
    assert!(widths(&rates).iter().all(|items| 20.0 <= *items), "{rates:?}");
}

#[test]
fn a_synthetic_stream_has_its_curve_and_its_classes() {
    let folder = Folder::new("report-made");
    let ledger = folder.path("ledger");
    let run = json(&["stream", "--synthetic", "mixture", "--observations", "3000", "--json", "--ledger", &ledger]);
    let (numbers, page) = report(&ledger);
    near(series(&numbers, "learning-curve", "so far").last().unwrap().1, &run["progressive_accuracy"], 1e-12);
    check_balance(&numbers, &ledger, "+1", 1.0);
    check_balance(&numbers, &ledger, "−1", -1.0);
    assert_eq!((line(&page, "--observations"), line(&page, "rule")), ("3000", "entropy"));
    assert!(line(&page, "data").contains("mixture"), "{}", line(&page, "data"));
}

#[test]
fn a_live_stream_has_rates_and_a_reason_for_its_missing_curve() {
    let folder = Folder::new("report-live");
    let ledger = folder.path("ledger");
    let arguments = ["stream", "-", "--ask", "--labels", "no,yes", "--ledger", &ledger];
    let mut child = querist(&arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    for i in 0..310 {
        writeln!(input, r#"{{"a": {}, "b": {}}}"#, i % 7, (i * i) % 5).unwrap();
    }
    drop(input);
    assert!(child.wait_with_output().unwrap().status.success());
    let (numbers, page) = report(&ledger);
    let rates = series(&numbers, "query-rate", "mean probability");
    let widths = widths(&rates);
    assert!(widths.iter().all(|items| 20.0 <= *items) && 10 <= widths.len(), "{widths:?}");
    assert_eq!(widths.iter().sum::<f64>(), 310.0);
    let why = numbers["missing"]["learning-curve"].as_str().unwrap();
    assert!(why.contains("live") && page.contains(why), "{why}");
    assert_eq!(line(&page, "data"), "standard input");
}

#[test]
fn a_diverged_run_has_readable_numbers() {
    let folder = Folder::new("report-diverged");
    let (data, ledger) = (folder.path("data.csv"), folder.path("ledger"));
    let rows: Vec<String> = (0..300).map(|i| format!("{},{}", f64::from(i % 17) - 8.0, f64::from(i % 5))).collect();
    fs::write(&data, format!("x,target\n{}\n", rows.join("\n"))).unwrap();
    let flags = ["--loss", "squared", "--rule", "constant", "--step", "fixed:eta=50", "--ledger", &ledger];
    assert_eq!(
        querist(&[&["stream", &data, "--label", "target"][..], &flags].concat()).output().unwrap().status.code(),
        Some(2)
    );
    let (_, page) = report(&ledger);
    let loss = line(&page, "progressive loss");
    assert!(loss.contains('e') && loss.len() < 12, "{loss}");
    assert!(line(&page, "stopped").contains("diverges"));
}

#[test]
fn a_report_of_a_fitted_pool_has_its_numbers() {
    let folder = Folder::new("report-fitted");
    let (data, ledger) = (folder.path("data.csv"), folder.path("ledger"));
    table(&data, 1500);
    let flags = ["--budget", "131", "--test-fraction", "0.3", "--json", "--asks", "--ledger", &ledger];
    let run = json(&[&["pool", &data, "--label", "label"][..], &flags].concat());
    let (numbers, page) = report(&ledger);
    // A fit has no averaged parameters, so there is one curve, and it ends with the run.
    assert_eq!(numbers["figures"]["learning-curve"].as_object().unwrap().len(), 1);
    let curve = series(&numbers, "learning-curve", "fit");
    assert_eq!(curve.last().unwrap().0, 131.0);
    near(curve.last().unwrap().1, &run["test"]["accuracy"], 1e-12);
    // p = U/ΣU over the remaining rows, so each ask gives the mean of U.
    let (rates, asks) = (series(&numbers, "query-rate", "mean of U"), run["asks"].as_array().unwrap());
    // The first asks are a cold start and do not depend on the rule.
    let start = asks.len() - rates.len();
    assert!((10..20).contains(&start), "{start}");
    for ((place, ask), (number, rate)) in asks.iter().enumerate().skip(start).zip(rates) {
        let left = run["rows"].as_f64().unwrap() - place as f64;
        let implied = ask["uncertainty"].as_f64().unwrap() / ask["probability"].as_f64().unwrap() / left;
        assert!((rate / implied - 1.0).abs() < 1e-12 && number == (place + 1) as f64, "{rate} instead of {implied}");
    }
    let bars = series(&numbers, "uncertainty", "rows asked");
    let ruled = asks[start..].iter().map(|ask| ask["uncertainty"].as_f64().unwrap());
    assert!((bars.last().unwrap().0 - ruled.fold(0.0, f64::max)).abs() < 1e-12);
    assert!(bars.iter().all(|bar| bar.1 < 0.5), "most are in one bar: {bars:?}");
    check_balance(&numbers, &ledger, "yes", 1.0);
    for (what, value) in [
        ("--fit", "refit"),
        ("--draw", "scan"),
        ("--budget", "131"),
        ("--batch", "1"),
        ("--objective", "as-asked"),
        ("--test-fraction", "0.3"),
        ("loss", run["loss"].as_str().unwrap()),
        ("rule", run["rule"].as_str().unwrap()),
    ] {
        assert_eq!(line(&page, what), value, "{what}");
    }
    assert!(!has_line(&page, "--step") && !has_line(&page, "--clock") && !has_line(&page, "--apart"));
    for what in ["estimated accuracy on the pool", "estimated mean loss", "class yes", "class no"] {
        assert!(line(&page, what).contains(" to "), "{what}");
    }
    assert!(has_line(&page, &format!("from {} random labels", run["twin"]["labels"])));
    let advice = if run["stop"]["advice"] == "stop" { "stop: " } else { "continue: " };
    assert!(line(&page, "advice").starts_with(advice));
}

#[test]
fn a_report_of_a_mean_without_an_upper_bound_has_the_clipped_mean() {
    let folder = Folder::new("report-unbounded");
    let (data, ledger) = (concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/forest_fires.csv"), folder.path("ledger"));
    let run = json(&["pool", data, "--label", "target", "--budget", "60", "--json", "--ledger", &ledger]);
    assert_eq!(run["estimate"]["high"], "inf");
    let (_, page) = report(&ledger);
    let loss = line(&page, "estimated mean squared error");
    assert!(loss.ends_with(" (at least 0; no upper bound)"), "{loss}");
    let (_, clipped) = page.split_once("<tr><td>mean loss clipped at ").expect("the clipped mean");
    let (limit, clipped) = clipped.split_once("</td><td>").unwrap();
    near(limit.parse().unwrap(), &run["estimate"]["clipped_loss"]["limit"], 1.0);
    let (mean, ends) = clipped.split_once(" (").unwrap();
    near(mean.parse().unwrap(), &run["estimate"]["clipped_loss"]["value"], 1.0);
    assert!(ends.split_once(')').unwrap().0.contains(" to "), "{ends}");
    assert!(!page.contains("inf)"));
}

#[test]
fn a_report_of_a_pool_of_steps_has_its_numbers() {
    let folder = Folder::new("report-steps");
    let (data, ledger) = (folder.path("data.csv"), folder.path("ledger"));
    table(&data, 1500);
    let flags = ["--budget", "150", "--test-fraction", "0.3", "--json", "--asks", "--fit", "sgd", "--ledger", &ledger];
    let run = json(&[&["pool", &data, "--label", "label"][..], &flags].concat());
    let (numbers, page) = report(&ledger);
    for (name, key) in [("average", "accuracy"), ("last", "accuracy_last")] {
        let end = *series(&numbers, "learning-curve", name).last().unwrap();
        assert_eq!(end.0, 150.0);
        near(end.1, &run["test"][key], 1e-12);
    }
    // A proposal is accepted with probability U/U_max, so the share of accepted proposals is S/U_max.
    let asks = &run["asks"].as_array().unwrap()[120..];
    let (mut tries, mut most) = (0, 0.0);
    for ask in asks {
        tries += ask["tries"].as_u64().unwrap();
        most = ask["uncertainty"].as_f64().unwrap() / ask["probability"].as_f64().unwrap();
    }
    let end = *series(&numbers, "query-rate", "mean of U").last().unwrap();
    assert!((end.1 - most * 30.0 / tries as f64).abs() < 1e-12 && end.0 == 150.0, "{end:?}");
    assert_eq!((line(&page, "--fit"), line(&page, "--draw"), line(&page, "--step")), ("sgd", "reject", "auto"));
}

#[test]
fn a_report_of_top_draws_explains_its_missing_figures() {
    let folder = Folder::new("report-top");
    let (data, ledger) = (folder.path("data.csv"), folder.path("ledger"));
    table(&data, 600);
    let flags = ["--budget", "40", "--draw", "top", "--json", "--ledger", &ledger];
    json(&[&["pool", &data, "--label", "label"][..], &flags].concat());
    let (numbers, page) = report(&ledger);
    assert!(numbers["missing"]["query-rate"].as_str().unwrap().contains("no rate"));
    assert!(numbers["missing"]["learning-curve"].as_str().unwrap().contains("--test-fraction"));
    assert!(page.contains("none has a probability"));
    let bars = series(&numbers, "uncertainty", "rows asked");
    assert!((bars.iter().map(|bar| bar.1).sum::<f64>() / 2.0 - 1.0).abs() < 1e-9);
}
