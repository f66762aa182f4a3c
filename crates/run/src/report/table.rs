//! The table of a run's settings and results.

use crate::history::History;
use crate::scored_pool;
use crate::text::grouped;
use querist_report::html::PageBlock;
use serde_json::{Value, json};

use querist_render::number::show;

/// The largest number of classes whose scores are in the table; JSON has all of them.
const MOST_CLASSES: usize = 12;

/// The rows of the table, each with a name and a value.
#[derive(Default)]
struct TableRows(Vec<Vec<String>>);

impl TableRows {
    fn push(&mut self, what: impl Into<String>, value: impl Into<String>) {
        self.0.push(vec![what.into(), value.into()]);
    }

    /// Appends a result unless it is null.
    fn push_value(&mut self, what: &str, value: &Value) {
        match value {
            Value::Null => {}
            Value::String(text) => self.push(what, text),
            value => self.push(what, number(value)),
        }
    }

    /// Appends a flag as it would be typed, unless it is null or false.
    fn flag(&mut self, key: &str, value: &Value) {
        let text = match value {
            Value::Null | Value::Bool(false) => return,
            Value::Bool(true) => "yes".to_owned(),
            Value::String(text) => text.clone(),
            Value::Array(parts) if parts.is_empty() => return,
            Value::Array(parts) => parts.iter().map(as_text).collect::<Vec<_>>().join("; "),
            other => other.to_string(),
        };
        self.push(format!("--{}", key.replace('_', "-")), text);
    }
}

/// Formats a part of a list.
fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Formats a count with digit grouping, and any other number with four digits.
fn number(value: &Value) -> String {
    match (value.as_u64(), value.as_f64(), value.as_str()) {
        (Some(count), _, _) => grouped(count),
        (_, Some(number), _) => show(number, 4),
        // Infinities are strings in JSON.
        (_, _, text) => text.unwrap_or("undefined").to_owned(),
    }
}

/// Returns the table, with the numbers of `considered` items and `asked` labels.
pub(super) fn table(history: &History, considered: u64, asked: u64) -> PageBlock {
    let mut lines = TableRows::default();
    let is_scored = history.header["command"] == scored_pool::COMMAND;
    if is_scored {
        of_scored_pool(&mut lines, &history.header);
    } else {
        of_data(&mut lines, history);
        of_learner(&mut lines, history);
    }
    if 0 < considered {
        lines.push("items considered", grouped(considered));
    }
    lines.push("labels queried", grouped(asked));
    lines.push("answers", grouped(history.labels.len() as u64));
    match &history.finished {
        Some(end) => of_end(&mut lines, end),
        None if history.header["command"] == "label" => of_session(&mut lines, history),
        None if is_scored => of_predictions(&mut lines, history),
        None => lines.push("ended", "not yet: results are recorded at the end of the run"),
    }
    let header = vec!["what".to_owned(), "value".to_owned()];
    PageBlock::Table { header, rows: lines.0, caption: String::new() }
}

/// Appends the settings of a pool that a program scores.
fn of_scored_pool(lines: &mut TableRows, header: &Value) {
    lines.push("program", "querist.Pool in Python");
    lines.push_value("rows in the pool", &header["rows"]);
    for (key, what) in [("rule", "rule"), ("cold_start", "cold start"), ("precision", "wanted precision")] {
        lines.push_value(what, &header[key]);
    }
    lines.push_value("seed", &header["seed"]);
}

/// Appends the accuracy of the predictions that were passed with each draw.
fn of_predictions(lines: &mut TableRows, history: &History) {
    let Some((_, value, low, high)) = history.measured.last().copied() else { return };
    let ends = json!({"value": value, "low": low, "high": high});
    lines.push("accuracy of the predictions at each draw", with_ends(&ends, "value"));
}

fn of_data(lines: &mut TableRows, history: &History) {
    let header = &history.header;
    let command = header["command"].as_str().unwrap_or_default();
    lines.push("command", format!("querist {command}"));
    let data = match (header["data"]["file"].as_str(), command) {
        (Some("-"), _) => "standard input",
        (Some(file), _) => file,
        (None, "label") => "the SMS messages of the demo",
        (None, _) => "the paper's mixture of four Gaussians",
    };
    lines.push("data", data);
    lines.flag("observations", &header["observations"]);
    if let Some(encoder) = &history.encoder {
        lines.push("columns", encoder.describe());
    }
    for key in ["shuffle", "warm_up", "test_fraction"] {
        lines.flag(key, &header[key]);
    }
}

fn of_learner(lines: &mut TableRows, history: &History) {
    let header = &history.header;
    if let Some((loss, rule)) = history.names() {
        lines.push("loss", loss);
        lines.push("rule", rule);
    }
    if header["command"] == "pool" {
        lines.push("--fit", if history.is_fitted() { "refit" } else { "sgd" });
        for key in ["objective", "draw", "budget", "batch", "apart", "repeat", "stop"] {
            lines.flag(key, &header[key]);
        }
    }
    if header["command"] == "label" {
        lines.flag("draw", &header["draw"]);
    }
    for files in [&header["files"], &header["data"]["files"]] {
        lines.flag("predictions", &files["predictions"]);
        lines.flag("model", &files["model"]);
    }
    if 0 < history.given {
        lines.push("seed labels", grouped(history.given));
    }
    let settings = &header["settings"];
    lines.push_value("defaults of version", &settings["defaults"]);
    // The number of labels is the budget.
    if let Some(precision) = settings["precision"].as_str() {
        lines.push("--precision", precision.split(",labels=").next().unwrap_or(precision));
    }
    for (key, value) in settings.as_object().into_iter().flatten() {
        let elsewhere = match key.as_str() {
            "loss" | "rule" | "seed" | "defaults" | "precision" => true,
            // A fit has no step schedule.
            "step" => history.is_fitted(),
            "clock" => settings["momentum"] == "none",
            _ => false,
        };
        // Settings that are off have no row.
        let idle = *value == json!("none") || *value == json!(0.0);
        if !idle && !elsewhere {
            lines.flag(key, value);
        }
    }
    lines.flag("seed", &settings["seed"]);
}

/// Appends the last estimate of a labeling session.
fn of_session(lines: &mut TableRows, history: &History) {
    let Some((labels, value, low, high)) = history.measured.last().copied() else { return };
    let score = if history.classes.is_empty() { "mean squared error" } else { "accuracy" };
    let [value, low, high] = [value, low, high].map(querist_render::number::json);
    let ends = json!({"value": value, "low": low, "high": high});
    let what = format!("estimated {score} on the pool, from {} labels", grouped(labels as u64));
    lines.push(what, with_ends(&ends, "value"));
}

/// Appends the results at the end of the run.
fn of_end(lines: &mut TableRows, end: &Value) {
    if end["fit"] == "refit" {
        lines.push_value("λ of the last fit", &end["l2"]);
    }
    lines.push_value("progressive accuracy", &end["progressive_accuracy"]);
    lines.push_value("progressive loss", &end["progressive_loss"]);
    if !end["inverse_probability_mean"].is_null() {
        let (mean, error) = (number(&end["inverse_probability_mean"]), end["inverse_probability_error"].as_f64());
        lines.push("mean of asked/probability", format!("{mean} ± {}", show(error.unwrap_or(f64::NAN), 2)));
    }
    lines.push_value("rows proposed per query", &end["tries_mean"]);
    for (key, what) in [
        ("fallbacks", "queries that scanned the pool"),
        ("open_asks", "queries without an answer"),
        ("skipped_rows", "rows skipped"),
    ] {
        if end[key].as_u64().is_some_and(|count| 0 < count) {
            lines.push_value(what, &end[key]);
        }
    }
    of_test(lines, &end["test"]);
    of_estimate(lines, end);
    lines.push_value("stopped", &end["stopped"]);
    if end["stalled"] == json!(true) {
        lines.push("stalled", "yes: the query rate vanished before the end");
    }
    lines.push_value("warning", &end["warning"]);
}

/// Appends the scores on test rows.
fn of_test(lines: &mut TableRows, test: &Value) {
    for (key, what) in [("accuracy", "accuracy"), ("r_squared", "R²"), ("loss", "loss")] {
        if test[key].is_null() {
            continue;
        }
        // A fit has no averaged parameters, only the last ones.
        let last = &test[format!("{key}_last")];
        let of_last = format!(" (last parameters {})", number(last));
        let of_last = if last.is_null() || *last == test[key] { "" } else { &of_last };
        lines
            .push(format!("test {what} on {} rows", number(&test["rows"])), format!("{}{of_last}", number(&test[key])));
    }
}

/// Formats an estimate with its interval.
fn with_ends(score: &Value, key: &str) -> String {
    match &score[key] {
        Value::Null => "unknown".to_owned(),
        value => {
            let [value, low, high] = [value, &score["low"], &score["high"]].map(number);
            match (score["low"] == "-inf", is_unbounded(score)) {
                (false, false) => format!("{value} ({low} to {high})"),
                (false, true) => format!("{value} (at least {low}; no upper bound)"),
                (true, false) => format!("{value} (at most {high}; no lower bound)"),
                (true, true) => format!("{value} (no bounds)"),
            }
        }
    }
}

/// Returns whether the interval of an estimate has no upper end.
fn is_unbounded(score: &Value) -> bool {
    score["high"] == "inf"
}

/// Appends the estimates for the whole pool and the advice on stopping.
fn of_estimate(lines: &mut TableRows, end: &Value) {
    let estimate = &end["estimate"];
    let Some(key) = ["accuracy", "loss"].into_iter().find(|key| !estimate[key].is_null()) else { return };
    // Ledgers of earlier versions have no R².
    if !estimate["r_squared"].is_null() {
        lines.push("estimated R² on the pool", with_ends(&estimate["r_squared"], "value"));
    }
    let is_number = key == "loss";
    let what = if is_number { "estimated mean squared error" } else { "estimated accuracy on the pool" };
    lines.push(what, with_ends(estimate, key));
    if !estimate["mean_loss"].is_null() {
        lines.push("estimated mean loss", with_ends(&estimate["mean_loss"], "value"));
    }
    let (loss, clipped) = (if is_number { estimate } else { &estimate["mean_loss"] }, &estimate["clipped_loss"]);
    if is_unbounded(loss) && !clipped.is_null() {
        lines.push(format!("mean loss clipped at {}", number(&clipped["limit"])), with_ends(clipped, "value"));
    }
    let classes = estimate["classes"].as_array().map(Vec::as_slice).unwrap_or_default();
    for class in classes.iter().filter(|_| classes.len() <= MOST_CLASSES) {
        let scores = [("precision", "precision"), ("recall", "recall"), ("F1", "f1")];
        let scores = scores.map(|(what, key)| format!("{what} {}", with_ends(&class[key], "value")));
        lines.push(format!("class {}", class["class"].as_str().unwrap_or_default()), scores.join(", "));
    }
    lines.push_value("notes", &estimate["warning"]);
    let twin = &end["twin"];
    let from = if is_number { "mean squared error from" } else { "from" };
    if !twin[key].is_null() {
        lines.push(format!("{from} {} random labels", number(&twin["labels"])), with_ends(twin, key));
    }
    let equal = &twin["at_equal_labels"];
    if !equal[key].is_null() {
        lines.push(
            format!("{from} {} random labels", number(&end["asked"])),
            format!("{}, extrapolated", with_ends(equal, key)),
        );
    }
    if let (Some(advice), Some(why)) = (end["stop"]["advice"].as_str(), end["stop"]["why"].as_str()) {
        let advice = if advice == "stop" { "stop" } else { "continue" };
        lines.push("advice", format!("{advice}: {why}"));
    }
}
