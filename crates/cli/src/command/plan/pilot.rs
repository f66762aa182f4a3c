//! `querist plan --pilot RUN`: the expected gain of the next labels of a run, from its ledger.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use querist_engine::pool::{Assessment, NotAssessed, PoolLearner as _};
use querist_engine::session::Apprentice;
use querist_engine::stop::{Needed, Outlook};
use querist_ledger::Ledger;
use querist_run::labeling::answers::AnswerRecord;
use querist_run::labeling::recorded::RecordedSession;
use querist_run::labeling::source;
use querist_run::pilot;
use querist_run::text::grouped;
use querist_theory::bound::Setting;
use serde_json::{Value, json};

use super::Arguments;
use crate::Output;
use crate::command::pool::assessed::to_json;
use crate::number::{json as number, show};
use crate::run::outcome::Outcome;
use crate::run::progress::Terminal;

pub(super) fn run(arguments: &Arguments, path: &Path) -> Result<Output> {
    check(arguments)?;
    let ledger = Ledger::read(path)?;
    let header: Value = serde_json::from_str(ledger.header()).context("the ledger's header")?;
    let mut outcome = Outcome::default();
    outcome.put("pilot", path.display().to_string().into());
    outcome.put("command", header["command"].clone());
    match header["command"].as_str() {
        Some("stream") => stream(arguments, &ledger, &mut outcome)?,
        Some("pool") => pool(arguments, &ledger, &header, &mut outcome)?,
        Some("label") => label(arguments, &ledger, &mut outcome)?,
        _ => bail!("{}: the ledger of an unknown command", path.display()),
    }
    let title = format!("What {} foretells", path.display());
    Ok(Output::done(if arguments.json { outcome.to_json() } else { outcome.to_text(&title, false) }).with_loss(&ledger))
}

fn check(arguments: &Arguments) -> Result<()> {
    if arguments.next == 0 {
        bail!("--next must be at least 1");
    }
    if let Some(target) = arguments.target.filter(|target| !target.is_finite()) {
        bail!("--target = {target}, need a finite number");
    }
    let needs = [arguments.distance, arguments.gradient, arguments.horizon];
    if needs.iter().any(Option::is_some) && needs.iter().any(Option::is_none) {
        bail!("the oracle step cD/(G√T) needs --distance, --gradient and --horizon, all three");
    }
    for (flag, value) in ["--distance", "--gradient", "--horizon"].iter().zip(needs) {
        value.map_or(Ok(()), |value| super::require_positive(flag, value))?;
    }
    Ok(())
}

/// Reports the query rate of a stream. There are no estimates, because a stream has no pool.
fn stream(arguments: &Arguments, ledger: &Ledger, outcome: &mut Outcome) -> Result<()> {
    if arguments.target.is_some() {
        bail!("--target needs estimates, and the ledger of a stream has none: they are of a pool (`querist pool`)");
    }
    let (considered, rate) = pilot::stream_rate(ledger)?;
    outcome.count("considered", "items considered", considered);
    outcome.count("labels", "labels so far", ledger.count("answered"));
    report_rate(arguments, rate, outcome)?;
    outcome.put("next", Value::Null);
    outcome.remarks.push(
        "a stream has no pool of known size to estimate a score of: what more labels bring is told for `querist pool`"
            .to_owned(),
    );
    Ok(())
}

fn pool(arguments: &Arguments, ledger: &Ledger, header: &Value, outcome: &mut Outcome) -> Result<()> {
    let (learner, rate) = pilot::pool(ledger, header)?;
    outcome.put("loss", learner.learner().task().name().into());
    outcome.put("rule", learner.rules().rule.name().into());
    outcome.count("labels", "labels so far", learner.answered());
    let Some(pool) = learner.as_refit() else {
        if arguments.target.is_some() {
            bail!("--target needs estimates, and a run of steps has none: say --fit refit when it is made");
        }
        outcome.put("next", Value::Null);
        outcome.remarks.push("a run of steps has no estimates: --fit refit has".to_owned());
        return report_rate(arguments, rate, outcome);
    };
    match pool.assess(None) {
        Ok(assessed) => report_gain(arguments, learner.askable(), &assessed, outcome)?,
        Err(NotAssessed::NoProbabilities) => {
            bail!("`--draw top` has no probabilities, so nothing can be foretold from its labels");
        }
        Err(NotAssessed::Draws(invalid)) => bail!("nothing can be foretold: {invalid}"),
    }
    report_rate(arguments, rate, outcome)
}

/// Reports on a labeling session: fits a model to its answers, and reads the rates of its draws from the ledger.
fn label(arguments: &Arguments, ledger: &Ledger, outcome: &mut Outcome) -> Result<()> {
    let again = RecordedSession::read(ledger, &source::header(ledger)?, &arguments.moved.moved())?;
    let (work, _) = again.restore(ledger, &Terminal::new(false))?.work();
    let learned = Apprentice::new(Arc::clone(&again.study)).learn(&work);
    outcome.put("loss", again.loss.clone().into());
    outcome.put("rule", again.rule.clone().into());
    outcome.count("labels", "labels so far", learned.labels);
    let Some(assessed) = &learned.assessment else {
        bail!("{} labels are too few to predict anything: label items of every class first", learned.labels);
    };
    report_gain(arguments, work.askable, assessed, outcome)?;
    report_rate(arguments, pilot::session_rate(&AnswerRecord::read(ledger)?), outcome)
}

/// Reports the expected gain of the next labels.
///
/// `askable` is the number of rows that could be asked at the start.
fn report_gain(arguments: &Arguments, askable: usize, assessed: &Assessment, outcome: &mut Outcome) -> Result<()> {
    let progress = assessed.progress();
    let (name, score) = (progress.name, &assessed.score);
    let left = askable.saturating_sub(progress.labels);
    outcome.count("left", "rows left in the pool", left as u64);
    let Some(outlook) = Outlook::of(progress.readings, progress.better, score.confidence) else {
        let labels = progress.labels;
        bail!(
            "{labels} labels are too few to foretell what {} more would do for {name}; 30 are needed",
            arguments.next
        );
    };
    let next = usize::try_from(arguments.next).unwrap_or(usize::MAX).min(left);
    let gain = outlook.gain(next);
    outcome.put("estimate", to_json(score, if assessed.is_accuracy { "accuracy" } else { "loss" }));
    outcome.put(
        "next",
        json!({"labels": next, "gain": number(gain.value), "low": number(gain.low), "high": number(gain.high)}),
    );
    let ends = |value: f64, low: f64, high: f64| format!("{} ({} to {})", show(value, 4), show(low, 4), show(high, 4));
    outcome.line(&format!("{name} on the whole pool, estimated"), ends(score.value, score.low, score.high));
    let what = format!("{} more labels are expected to better it by", grouped(next as u64));
    outcome.line(&what, ends(gain.value, gain.low, gain.high));
    if (next as u64) < arguments.next {
        outcome.remarks.push(format!("only {} rows are left", grouped(left as u64)));
    }
    if let Some(target) = arguments.target {
        if assessed.is_accuracy && !(0.0 < target && target <= 1.0) {
            bail!("--target = {target}, need 0 < target <= 1 for an accuracy");
        }
        report_target(target, outlook.labels_to(target, score, left), name, outcome);
    }
    if let Some(warning) = &score.warning {
        outcome.remarks.push(warning.to_string());
    }
    Ok(())
}

fn report_target(target: f64, needed: Needed, name: &str, outcome: &mut Outcome) {
    let field = |labels: Option<usize>| labels.map_or(Value::Null, Value::from);
    outcome.put(
        "target",
        json!({"score": number(target), "labels": field(needed.expected),
               "low": field(needed.least), "high": field(needed.most)}),
    );
    let words = |labels: Option<usize>, never: &str| labels.map_or(never.to_owned(), |labels| grouped(labels as u64));
    let range = match (needed.least, needed.most) {
        (None, _) => "not even if all goes as well as it may".to_owned(),
        (least, None) => format!("at least {}; perhaps never", words(least, "")),
        (least, most) => format!("{} to {}", words(least, ""), words(most, "")),
    };
    let expected = words(needed.expected, "more than are left");
    outcome.line(&format!("more labels to {name} {}", show(target, 4)), format!("{expected} ({range})"));
    outcome.remarks.push(
        "labels to a target are read off curves a + b/mᶜ far beyond what was seen: an order of magnitude, no promise"
            .to_owned(),
    );
}

/// Reports r, and the best step for a stream with that rate.
fn report_rate(arguments: &Arguments, rate: Option<f64>, outcome: &mut Outcome) -> Result<()> {
    let Some(rate) = rate.filter(|rate| 0.0 < *rate) else {
        outcome.put("rate", Value::Null);
        outcome.put("c", Value::Null);
        if arguments.distance.is_some() {
            bail!("the rule has not asked yet: there is no rate to take a step from");
        }
        return Ok(());
    };
    outcome.number("rate", "r, the mean query probability seen", rate);
    outcome.number("c", "oracle step constant of a stream, r^-1/2", rate.powf(-0.5));
    if let (Some(distance), Some(gradient), Some(horizon)) = (arguments.distance, arguments.gradient, arguments.horizon)
    {
        let setting = Setting { distance, gradient, horizon, rate, u_max: 1.0 };
        outcome.number("step", "oracle step size, cD/(G√T)", setting.step(setting.oracle_c()));
    }
    Ok(())
}
