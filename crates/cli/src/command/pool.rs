//! `querist pool`: reveals the labels of a pool as they are asked for, and fits them or takes steps as in Algorithm 2.

use anyhow::Result;
use querist_engine::pool::{CandidateLoss, Draw, Drawn, ModelFit, NoRow, PoolLearner as _};
use querist_run::model_file::ModelHeader;
use querist_run::pool::{CurvePoint, PoolRun, PoolRunEnd, PoolRunSettings};
use querist_run::text::grouped;
use serde_json::{Value, json};

use crate::Output;
use crate::number::{json as number, show};
use crate::run::progress::{Terminal, Timer};
use crate::run::results::{self, PrintedResults};
pub(crate) use arguments::PoolArgs;

mod arguments;
pub(super) mod assessment;

pub(super) fn run(arguments: &PoolArgs) -> Result<Output> {
    let settings = arguments.settings()?;
    arguments.check(&settings)?;
    let terminal = Terminal::new(arguments.output.quiet);
    let mut run = PoolRun::open(&settings, &terminal)?;
    let timer = Timer::start();
    let stopped = run.run(&terminal)?;
    finish(run, arguments, &settings, &stopped, &timer)
}

/// Writes the model of a pool run and returns the printed results.
fn finish(
    mut run: PoolRun,
    arguments: &PoolArgs,
    settings: &PoolRunSettings,
    stopped: &PoolRunEnd,
    timer: &Timer,
) -> Result<Output> {
    let found = run.parameters();
    let mut results = PrintedResults::default();
    report(&mut results, &run, settings, stopped);
    if let Some((of_mean, of_last)) = run.test_scores() {
        results.test(of_mean, of_last, run.learner.learner().task().is_classification());
    }
    if let Some(learner) = run.learner.as_refit() {
        let pool = assessment::AssessedPool { rows: &run.pool.rows, classes: run.encoder.classes() };
        assessment::report(&mut results, learner, &pool, run.stop.as_ref());
    }
    results.parameters(found.as_linear());
    results.put("curve", run.curve().iter().map(point).collect());
    let (asks, mut recorder) = (run.take_asks(), run.recorder.take());
    let outputs = run.learner.learner().task().outputs();
    let header = ModelHeader { loss: &run.loss, rule: &run.rule, outputs, encoder: Some(&run.encoder) };
    results::keep(&mut results, &header, &found, &arguments.output, &mut recorder)?;
    results.put("seconds", number(timer.seconds()));
    if settings.keep_asks {
        results.put("asks", asks.iter().map(ask).collect());
    }
    let diverged = if let PoolRunEnd::Diverged(diverged) = stopped { Some(*diverged) } else { None };
    let how = if settings.fit.is_some() { arguments.describe_fit() } else { settings.learner.describe() };
    let how = (how.as_str(), settings.learner.seed);
    Ok(results::print(&results, &header, how, &arguments.output, diverged, found.as_linear()))
}

/// Returns a point of the learning curve: labels, accuracy and loss of the average, accuracy of the last parameters.
fn point(point: &CurvePoint) -> Value {
    json!([point.labels, number(point.mean.accuracy), number(point.mean.loss), number(point.last.accuracy)])
}

fn ask((id, drawn): &(String, Drawn)) -> Value {
    json!({"id": id, "probability": drawn.probability.map(number), "uncertainty": number(drawn.uncertainty),
           "tries": drawn.tries, "fallback": drawn.fallback})
}

/// Reports the kind of model, and why it was chosen if there was a choice.
fn report_model(results: &mut PrintedResults, models: &ModelFit) {
    results.put("model", models.kind().into());
    let Some(choice) = models.choice() else {
        if models.kind() != "linear" || models.has_alternatives() {
            let until = if models.has_alternatives() { "; too few answers for a choice" } else { "" };
            results.line("model", format!("{}{until}", models.kind()));
        }
        return;
    };
    let loss = |loss: &CandidateLoss| json!({"model": loss.name, "loss": number(loss.mean)});
    let losses: Vec<Value> = choice.losses.iter().map(loss).collect();
    results.put("model_choice", json!({"labels": choice.answers, "losses": losses}));
    let shown = |loss: &CandidateLoss| format!("{} {}", loss.name, show(loss.mean, 3));
    let losses: Vec<String> = choice.losses.iter().map(shown).collect();
    let labels = grouped(choice.answers as u64);
    results
        .line("model", format!("{}; squared errors of {labels} unseen answers: {}", models.kind(), losses.join(", ")));
}

fn report(results: &mut PrintedResults, run: &PoolRun, settings: &PoolRunSettings, stopped: &PoolRunEnd) {
    results.put("loss", run.loss.clone().into());
    results.put("rule", run.rule.clone().into());
    match run.learner.as_refit() {
        None => results.put("step", settings.learner.step.to_string().into()),
        Some(pool) => {
            results.put("fit", "refit".into());
            results.put("objective", settings.fit.map(|objective| objective.to_string()).into());
            report_model(results, pool.models());
            results.put("l2", pool.models().strength().map(number).into());
        }
    }
    results.put("draw", settings.draw.to_string().into());
    results.put("seed", settings.learner.seed.into());
    results.data(&run.encoder);
    results.count("rows", "rows in the pool", (run.pool.rows.len() - run.held_out()) as u64);
    results.count("asked", "asked", run.learner.time());
    results.put("tries", run.learner.tries().into());
    if settings.draw == Draw::Reject && 0 < run.learner.time() {
        let tries = run.learner.tries() as f64 / run.learner.time() as f64;
        results.number("tries_mean", "rows proposed per query", tries);
    }
    results.put("fallbacks", run.learner.fallbacks().into());
    if 0 < run.learner.fallbacks() {
        results.line("queries that scanned the pool", grouped(run.learner.fallbacks()));
    }
    // U is 0 for all rows, or its recent mean was close to 0.
    let stalled = matches!(stopped, PoolRunEnd::NoRow(NoRow::AllZero { .. })) || run.is_stalled();
    results.put("stalled", stalled.into());
    if stalled {
        let remark = "stalled: the rule hardly queries any of the remaining rows. This is not convergence. Use \
             another start, smaller steps, or a rule with a floor";
        results.remarks.push(remark.to_owned());
    }
    let is_estimated = run.learner.as_refit().is_some_and(|learner| learner.assess(None).is_ok());
    if settings.draw == Draw::Top && !is_estimated {
        results.remarks.push("`top` has no probabilities, so this run has no estimates".to_owned());
    }
    results.put("skipped_rows", run.skipped_rows.into());
    if 0 < run.skipped_rows {
        results.line("rows skipped", grouped(run.skipped_rows));
    }
    if let skipped @ 1.. = run.skipped_test_rows() {
        results.count("test_skipped_rows", "test rows skipped", skipped);
    }
    let reason = match stopped {
        PoolRunEnd::Not => None,
        PoolRunEnd::Advised(why) => Some(why.clone()),
        PoolRunEnd::NoRow(reason) => Some(reason.to_string()),
        PoolRunEnd::Diverged(diverged) => Some(diverged.to_string()),
    };
    results.put("stopped", reason.clone().map_or(Value::Null, Value::from));
    if let Some(reason) = reason {
        results.remarks.push(format!("stopped before the budget was spent: {reason}"));
    }
    if let Some(warning) = &run.warning {
        results.put("warning", warning.clone().into());
        results.remarks.push(warning.clone());
    }
}
