//! `querist plan --pilot RUN`: the expected gain of the next labels of a run, from its ledger.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use querist_engine::estimate::Estimate;
use querist_engine::pool::{Assessment, NotAssessed, PoolLearner as _};
use querist_engine::session::BackgroundFitter;
use querist_engine::stop::Needed;
use querist_ledger::Ledger;
use querist_run::labeling::answers::AnswerRecord;
use querist_run::labeling::recorded::RecordedSession;
use querist_run::labeling::source;
use querist_run::text::grouped;
use querist_run::{pilot, scored_pool};
use querist_theory::bound::BoundInputs;
use serde_json::{Value, json};

use super::PlanArgs;
use crate::Output;
use crate::command::pool::assessment::{to_json, with_ends};
use crate::number::{json as number, show};
use crate::run::progress::Terminal;
use crate::run::results::PrintedResults;

pub(super) fn run(arguments: &PlanArgs, path: &Path) -> Result<Output> {
    check(arguments)?;
    let ledger = Ledger::read(path)?;
    let header: Value = serde_json::from_str(ledger.header()).context("the ledger's header")?;
    let mut results = PrintedResults::default();
    results.put("pilot", path.display().to_string().into());
    results.put("command", header["command"].clone());
    match header["command"].as_str() {
        Some("stream") => stream(arguments, &ledger, &mut results)?,
        Some("pool") => pool(arguments, &ledger, &header, &mut results)?,
        Some("label") => label(arguments, &ledger, &mut results)?,
        Some(scored_pool::COMMAND) => bail!(
            "{}: the ledger of `querist.Pool` in Python has no model to forecast with\n  use pool.advice(…) there",
            path.display()
        ),
        _ => bail!("{}: the ledger of an unknown command", path.display()),
    }
    let title = format!("Forecast from {}", path.display());
    Ok(Output::done(if arguments.json { results.to_json() } else { results.to_text(&title, false) }).with_loss(&ledger))
}

fn check(arguments: &PlanArgs) -> Result<()> {
    if arguments.next == 0 {
        bail!("--next must be at least 1");
    }
    if let Some(target) = arguments.target.filter(|target| !target.is_finite()) {
        bail!("--target = {target}, need a finite number");
    }
    let needs = [arguments.distance, arguments.gradient, arguments.horizon];
    if needs.iter().any(Option::is_some) && needs.iter().any(Option::is_none) {
        bail!("the oracle step cD/(G√T) needs all of --distance, --gradient and --horizon");
    }
    for (flag, value) in ["--distance", "--gradient", "--horizon"].iter().zip(needs) {
        if let Some(value) = value.filter(|value| !(0.0 < *value && value.is_finite())) {
            bail!("{flag} = {value}, need a finite number > 0");
        }
    }
    Ok(())
}

/// Reports the query rate of a stream. There are no estimates, because a stream has no pool.
fn stream(arguments: &PlanArgs, ledger: &Ledger, results: &mut PrintedResults) -> Result<()> {
    if arguments.target.is_some() {
        bail!("--target needs estimates, which the ledger of a stream does not have; use a ledger of `querist pool`");
    }
    let (considered, rate) = pilot::stream_rate(ledger)?;
    results.count("considered", "items considered", considered);
    results.count("labels", "labels so far", ledger.count("answered"));
    report_rate(arguments, rate, results)?;
    results.put("next", Value::Null);
    results.remarks.push(
        "a stream has no pool to estimate a score of; for the gain of more labels, use a ledger of `querist pool`"
            .to_owned(),
    );
    Ok(())
}

fn pool(arguments: &PlanArgs, ledger: &Ledger, header: &Value, results: &mut PrintedResults) -> Result<()> {
    let (learner, rate) = pilot::pool(ledger, header)?;
    results.put("loss", learner.learner().task().name().into());
    results.put("rule", learner.rules().rule.name().into());
    results.count("labels", "labels so far", learner.answered());
    let Some(pool) = learner.as_refit() else {
        if arguments.target.is_some() {
            bail!(
                "--target needs estimates, which a run with --fit sgd does not have; run `querist pool` with \
                 --fit refit"
            );
        }
        results.put("next", Value::Null);
        results.remarks.push("a run with --fit sgd has no estimates; use --fit refit".to_owned());
        return report_rate(arguments, rate, results);
    };
    match pool.assess(None) {
        Ok(assessed) => report_gain(arguments, learner.askable(), &assessed, results)?,
        Err(NotAssessed::NoProbabilities) => {
            bail!("`--draw top` has no probabilities, so its labels allow no forecast");
        }
        Err(NotAssessed::Draws(invalid)) => bail!("no forecast: {invalid}"),
    }
    report_rate(arguments, rate, results)
}

/// Reports on a labeling session: fits a model to its answers, and reads the rates of its draws from the ledger.
fn label(arguments: &PlanArgs, ledger: &Ledger, results: &mut PrintedResults) -> Result<()> {
    let recorded = RecordedSession::read(ledger, &source::header(ledger)?, &arguments.moved.moved())?;
    let (job, _) = recorded.restore(ledger, &Terminal::new(false))?.fit_job();
    let model = BackgroundFitter::new(Arc::clone(&recorded.pool)).fit(&job);
    results.put("loss", recorded.loss.clone().into());
    results.put("rule", recorded.rule.clone().into());
    results.count("labels", "labels so far", model.labels);
    let Some(assessed) = &model.assessment else {
        bail!("{} labels are too few for a prediction; label items of every class first", model.labels);
    };
    report_gain(arguments, job.askable, assessed, results)?;
    report_rate(arguments, pilot::session_rate(&AnswerRecord::read(ledger)?), results)
}

/// Reports the expected gain of the next labels.
///
/// `askable` is the number of rows that could be asked at the start.
fn report_gain(
    arguments: &PlanArgs,
    askable: usize,
    assessed: &Assessment,
    results: &mut PrintedResults,
) -> Result<()> {
    let progress = assessed.progress();
    let (name, score) = (progress.name, progress.score.unwrap_or(&assessed.score));
    let left = askable.saturating_sub(progress.labels);
    results.count("left", "rows left in the pool", left as u64);
    let Some(outlook) = progress.outlook() else {
        let labels = progress.labels;
        bail!(
            "{labels} labels are too few to forecast the effect of {} more on {name}; at least 30 are needed",
            arguments.next
        );
    };
    let next = usize::try_from(arguments.next).unwrap_or(usize::MAX).min(left);
    let gain = outlook.gain(next);
    results.put("estimate", to_json(score, if assessed.is_accuracy { "accuracy" } else { "r_squared" }));
    results.put(
        "next",
        json!({"labels": next, "gain": number(gain.value), "low": number(gain.low), "high": number(gain.high)}),
    );
    results.line(&format!("estimated {name} on the pool"), with_ends(score));
    let what = format!("expected gain of {} more labels", grouped(next as u64));
    results.line(&what, with_ends(&Estimate { value: gain.value, low: gain.low, high: gain.high, ..*score }));
    if (next as u64) < arguments.next {
        results.remarks.push(format!("only {} rows are left", grouped(left as u64)));
    }
    if let Some(target) = arguments.target {
        if assessed.is_accuracy && !(0.0 < target && target <= 1.0) {
            bail!("--target = {target}, need 0 < target <= 1 for an accuracy");
        }
        if 1.0 < target {
            bail!("--target = {target}, need at most 1 for R²");
        }
        report_target(target, outlook.labels_to(target, score, left), name, results);
    }
    if let Some(warning) = &score.warning {
        results.remarks.push(warning.to_string());
    }
    Ok(())
}

fn report_target(target: f64, needed: Needed, name: &str, results: &mut PrintedResults) {
    let field = |labels: Option<usize>| labels.map_or(Value::Null, Value::from);
    results.put(
        "target",
        json!({"score": number(target), "labels": field(needed.expected),
               "low": field(needed.least), "high": field(needed.most)}),
    );
    let words = |labels: Option<usize>, never: &str| labels.map_or(never.to_owned(), |labels| grouped(labels as u64));
    let range = match (needed.least, needed.most) {
        (None, _) => "even in the best case".to_owned(),
        (least, None) => format!("{} in the best case", words(least, "")),
        (least, most) => format!("{} to {}", words(least, ""), words(most, "")),
    };
    let expected = words(needed.expected, "more than are left");
    results.line(&format!("more labels to {name} {}", show(target, 4)), format!("{expected} ({range})"));
    results.remarks.push(
        "labels to a target are extrapolated with curves a + b/mᶜ: treat them as an order of magnitude".to_owned(),
    );
}

/// Reports r, and the best step for a stream with that rate.
fn report_rate(arguments: &PlanArgs, rate: Option<f64>, results: &mut PrintedResults) -> Result<()> {
    let Some(rate) = rate.filter(|rate| 0.0 < *rate) else {
        results.put("rate", Value::Null);
        results.put("c", Value::Null);
        if arguments.distance.is_some() {
            bail!("the rule has made no queries yet, so there is no rate to compute a step from");
        }
        return Ok(());
    };
    results.number("rate", "r, the observed mean query probability", rate);
    results.number("c", "oracle step constant of a stream, r^-1/2", rate.powf(-0.5));
    if let (Some(distance), Some(gradient), Some(horizon)) = (arguments.distance, arguments.gradient, arguments.horizon)
    {
        let setting = BoundInputs { distance, gradient, horizon, rate, u_max: 1.0 };
        results.number("step", "oracle step size, cD/(G√T)", setting.step(setting.oracle_c()));
    }
    Ok(())
}
