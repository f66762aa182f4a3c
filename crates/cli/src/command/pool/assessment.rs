//! Estimates for the whole pool from its labels, and advice on stopping.

use querist_engine::estimate::{ClassScores, ClippedMean, Estimate, ReliabilityBin, Warning};
use querist_engine::pool::{Assessment, NotAssessed, PoolLearner as _, RefitPool};
use querist_engine::stop::{Advice, GAIN_BATCH, StopRule};
use querist_rows::Rows;
use querist_run::pool::stop::GAIN;
use serde_json::{Value, json};

use crate::number::{json as number, show};
use crate::run::results::PrintedResults;

/// The largest number of classes whose scores are in the text output; JSON has all of them.
const MOST_CLASSES: usize = 12;

/// A pool with the names of its classes.
pub(super) struct AssessedPool<'a> {
    pub(super) rows: &'a Rows,
    pub(super) classes: &'a [String],
}

/// Reports the estimate, its random twin and advice on stopping.
pub(super) fn report(
    results: &mut PrintedResults,
    learner: &RefitPool,
    pool: &AssessedPool<'_>,
    stop: Option<&StopRule>,
) {
    let assessed = match learner.assess(Some(pool.rows)) {
        Ok(assessed) => assessed,
        Err(reason) => {
            for key in ["estimate", "twin", "stop"] {
                results.put(key, Value::Null);
            }
            let why = match reason {
                NotAssessed::NoProbabilities => return,
                NotAssessed::Draws(invalid) => invalid.to_string(),
            };
            results.remarks.push(format!("no estimate for the pool: {why}"));
            return;
        }
    };
    let key = if assessed.is_accuracy { "accuracy" } else { "loss" };
    let score = &assessed.score;
    let mut estimate = to_json(score, key);
    if assessed.is_accuracy {
        results.line("estimated accuracy on the pool", with_ends(score));
    } else {
        report_regression(results, &mut estimate, &assessed);
    }
    report_classifier(results, &mut estimate, &assessed, pool.classes);
    report_clipped_loss(results, &mut estimate, &assessed);
    if !assessed.reliability.is_empty() {
        estimate["reliability"] = assessed.reliability.iter().map(bin_to_json).collect();
    }
    results.put("estimate", estimate);
    let mut twin = assessed.twin.as_ref().map_or_else(|| json!({}), |twin| to_json(twin, key));
    twin["labels"] = assessed.twin_labels.into();
    // The score of numbers is not in the line above.
    let from = if assessed.is_accuracy { "from" } else { "mean squared error from" };
    if let Some(score) = &assessed.twin {
        results.line(&format!("{from} {} random labels", assessed.twin_labels), with_ends(score));
    }
    if let Some(score) = &assessed.twin_at_equal_labels {
        twin["at_equal_labels"] = to_json(score, key);
        let labels = assessed.readings.len();
        results.line(&format!("{from} {labels} random labels"), format!("{}, extrapolated", with_ends(score)));
    }
    results.put("twin", twin);
    report_warnings(results, &assessed);
    let default = StopRule::Gain { batch: GAIN_BATCH, below: GAIN };
    let mut advice = stop.unwrap_or(&default).advise(&assessed.progress());
    if learner.left() == 0 {
        advice = Advice { stop: true, why: "all rows are labeled".to_owned() };
    }
    results.put("stop", json!({"advice": if advice.stop { "stop" } else { "go on" }, "why": advice.why}));
    results.line("advice", format!("{}: {}", if advice.stop { "stop" } else { "continue" }, advice.why));
}

/// Reports the warnings of the scores; those of numbers with the name of the score.
fn report_warnings(results: &mut PrintedResults, assessed: &Assessment) {
    let warning = assessed.score.warning.map(|warning| warning.to_string());
    let r_squared = assessed.regression.and_then(|regression| regression.r_squared.warning);
    match (r_squared.map(|warning| warning.to_string()), warning) {
        (Some(one), Some(other)) if one != other => {
            results.remarks.extend([format!("R²: {one}"), format!("mean squared error: {other}")]);
        }
        (None, Some(warning)) if !assessed.is_accuracy => {
            results.remarks.push(format!("mean squared error: {warning}"));
        }
        (one, other) => results.remarks.extend(one.or(other)),
    }
}

/// Reports R² and the mean squared error.
fn report_regression(results: &mut PrintedResults, estimate: &mut Value, assessed: &Assessment) {
    let r_squared = assessed.regression.map(|regression| regression.r_squared);
    if let Some(score) = &r_squared {
        results.line("estimated R² on the pool", with_ends(score));
    }
    estimate["r_squared"] = r_squared.map_or(Value::Null, |score| to_json(&score, "value"));
    results.line("estimated mean squared error", with_ends(&assessed.score));
}

/// Reports the mean loss of a classifier and the scores of each class.
fn report_classifier(results: &mut PrintedResults, estimate: &mut Value, assessed: &Assessment, names: &[String]) {
    if let Some(loss) = &assessed.loss {
        results.line("estimated mean loss", with_ends(loss));
        estimate["mean_loss"] = to_json(loss, "value");
    }
    if assessed.classes.is_empty() {
        return;
    }
    let named = || names.iter().zip(&assessed.classes);
    estimate["classes"] = named().map(|(name, scores)| class_to_json(name, scores)).collect();
    if names.len() > MOST_CLASSES {
        let classes = names.len();
        results.remarks.push(format!("use --json for precision, recall and F1 of each of the {classes} classes"));
        return;
    }
    for (name, scores) in named() {
        let shown = |what: &str, score: &Option<Estimate>| match score {
            Some(score) => format!("{what} {}", with_ends(score)),
            None => format!("{what} unknown"),
        };
        let [precision, recall, f1] = each(scores).map(|(what, score)| shown(what, score));
        results.line(&format!("class {name}"), format!("{precision}, {recall}, {f1}"));
    }
    let is_rough = |scores: &ClassScores| {
        let few = |score: &Estimate| matches!(score.warning, Some(Warning::FewCases { .. }));
        each(scores).iter().any(|(_, score)| score.as_ref().is_none_or(few))
    };
    let rough: Vec<&str> = named().filter(|(_, scores)| is_rough(scores)).map(|(name, _)| name.as_str()).collect();
    if !rough.is_empty() {
        let (class, it) = if rough.len() == 1 { ("class", "this class") } else { ("classes", "these classes") };
        results.remarks.push(format!(
            "the estimates for {class} {} are rough, because few drawn items are labeled or predicted as {it}; more \
             labels help",
            rough.join(", ")
        ));
    }
}

/// Reports the clipped mean loss; as text only where the mean loss itself cannot be bounded.
fn report_clipped_loss(results: &mut PrintedResults, estimate: &mut Value, assessed: &Assessment) {
    let Some(ClippedMean { limit, mean }) = &assessed.clipped_loss else { return };
    estimate["clipped_loss"] = to_json(mean, "value");
    estimate["clipped_loss"]["limit"] = number(*limit);
    let loss = if assessed.is_accuracy { assessed.loss.as_ref() } else { Some(&assessed.score) };
    if loss.is_some_and(|loss| loss.high.is_infinite()) {
        results.line(&format!("mean loss clipped at {}", show(*limit, 4)), with_ends(mean));
    }
}

/// Returns the scores of a class with their names.
fn each(scores: &ClassScores) -> [(&'static str, &Option<Estimate>); 3] {
    [("precision", &scores.precision), ("recall", &scores.recall), ("F1", &scores.f1)]
}

fn class_to_json(name: &str, scores: &ClassScores) -> Value {
    let mut fields = json!({"class": name});
    for (what, score) in each(scores) {
        fields[what.to_lowercase()] = score.as_ref().map_or(Value::Null, |score| to_json(score, "value"));
    }
    fields
}

fn bin_to_json(bin: &ReliabilityBin) -> Value {
    let Estimate { value, low, high, .. } = bin.accuracy;
    json!({"confidence": number(bin.confidence), "accuracy": number(value), "low": number(low), "high": number(high)})
}

/// Returns an estimate with its interval as text.
pub(in crate::command) fn with_ends(estimate: &Estimate) -> String {
    let [value, low, high] = [estimate.value, estimate.low, estimate.high].map(|number| show(number, 4));
    match (estimate.low.is_finite(), estimate.high.is_finite()) {
        (true, true) => format!("{value} ({low} to {high})"),
        (true, false) => format!("{value} (at least {low}; no upper bound)"),
        (false, true) => format!("{value} (at most {high}; no lower bound)"),
        (false, false) => format!("{value} (no bounds)"),
    }
}

/// Returns an estimate as JSON.
pub(in crate::command) fn to_json(estimate: &Estimate, key: &str) -> Value {
    let anytime = |end: fn((f64, f64)) -> f64| estimate.anytime.map_or(Value::Null, |ends| number(end(ends)));
    json!({
        key: number(estimate.value),
        "low": number(estimate.low),
        "high": number(estimate.high),
        "anytime_low": anytime(|ends| ends.0),
        "anytime_high": anytime(|ends| ends.1),
        "confidence": number(estimate.confidence),
        "effective_n": number(estimate.effective_n),
        "warning": estimate.warning.map(|warning| warning.to_string()),
    })
}
