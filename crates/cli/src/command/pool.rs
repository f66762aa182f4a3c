//! `querist pool`: reveals the labels of a pool as they are asked for, and fits them or takes steps as in Algorithm 2.

use anyhow::Result;
use querist_engine::pool::{Draw, Drawn, NoRow, PoolLearner as _};
use querist_run::model_file::ModelHeader;
use querist_run::pool::{CurvePoint, PoolRun, PoolRunEnd, PoolRunSettings};
use querist_run::text::grouped;
use serde_json::{Value, json};

use crate::Output;
use crate::number::json as number;
use crate::run::outcome::{self, Outcome};
use crate::run::progress::{Terminal, Timer};
pub(crate) use arguments::Arguments;

mod arguments;
pub(super) mod assessed;

pub(super) fn run(arguments: &Arguments) -> Result<Output> {
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
    arguments: &Arguments,
    settings: &PoolRunSettings,
    stopped: &PoolRunEnd,
    timer: &Timer,
) -> Result<Output> {
    let found = run.coefficients();
    let mut outcome = Outcome::default();
    report(&mut outcome, &run, settings, stopped);
    if let Some((of_mean, of_last)) = run.test_scores() {
        outcome.test(of_mean, of_last, run.learner.learner().task().is_classification());
    }
    if let Some(learner) = run.learner.as_refit() {
        let pool = assessed::Pool { rows: &run.pool.rows, classes: run.encoder.classes() };
        assessed::report(&mut outcome, learner, &pool, run.stop.as_ref());
    }
    outcome.parameters(&found);
    outcome.put("curve", run.curve().iter().map(point).collect());
    let (asks, mut recorder) = (run.take_asks(), run.recorder.take());
    let outputs = run.learner.learner().task().outputs();
    let header = ModelHeader { loss: &run.loss, rule: &run.rule, outputs, encoder: Some(&run.encoder) };
    outcome::keep(&mut outcome, &header, &found, &arguments.output, &mut recorder)?;
    outcome.put("seconds", number(timer.seconds()));
    if settings.keep_asks {
        outcome.put("asks", asks.iter().map(ask).collect());
    }
    let diverged = if let PoolRunEnd::Diverged(diverged) = stopped { Some(*diverged) } else { None };
    let how = if settings.fit.is_some() { arguments.describe_fit() } else { settings.learner.describe() };
    let how = (how.as_str(), settings.learner.seed);
    Ok(outcome::say(&outcome, &header, how, &arguments.output, diverged, &found.theta))
}

/// Returns a point of the learning curve: labels, accuracy and loss of the average, accuracy of the last parameters.
fn point(point: &CurvePoint) -> Value {
    json!([point.labels, number(point.mean.accuracy), number(point.mean.loss), number(point.last.accuracy)])
}

fn ask((id, drawn): &(String, Drawn)) -> Value {
    json!({"id": id, "probability": drawn.probability.map(number), "uncertainty": number(drawn.uncertainty),
           "tries": drawn.tries, "fallback": drawn.fallback})
}

fn report(outcome: &mut Outcome, run: &PoolRun, settings: &PoolRunSettings, stopped: &PoolRunEnd) {
    outcome.put("loss", run.loss.clone().into());
    outcome.put("rule", run.rule.clone().into());
    match run.learner.as_refit() {
        None => outcome.put("step", settings.learner.step.to_string().into()),
        Some(pool) => {
            outcome.put("fit", "refit".into());
            outcome.put("objective", settings.fit.map(|objective| objective.to_string()).into());
            outcome.put("l2", number(pool.refit().strength()));
        }
    }
    outcome.put("draw", settings.draw.to_string().into());
    outcome.put("seed", settings.learner.seed.into());
    outcome.data(&run.encoder);
    outcome.count("rows", "rows in the pool", (run.pool.rows.len() - run.held_out()) as u64);
    outcome.count("asked", "asked", run.learner.time());
    outcome.put("tries", run.learner.tries().into());
    if settings.draw == Draw::Reject && 0 < run.learner.time() {
        let tries = run.learner.tries() as f64 / run.learner.time() as f64;
        outcome.number("tries_mean", "rows proposed for each ask", tries);
    }
    outcome.put("fallbacks", run.learner.fallbacks().into());
    if 0 < run.learner.fallbacks() {
        outcome.line("asks that took a pass over the pool", grouped(run.learner.fallbacks()));
    }
    // U is 0 for all rows, or its recent mean was close to 0.
    let stalled = matches!(stopped, PoolRunEnd::NoRow(NoRow::AllZero { .. })) || run.is_stalled();
    outcome.put("stalled", stalled.into());
    if stalled {
        let remark = "stalled: the rule hardly asks for any row that is left; that is not convergence. Start \
                      elsewhere, take smaller steps, or give the rule a floor";
        outcome.remarks.push(remark.to_owned());
    }
    if settings.draw == Draw::Top {
        outcome.remarks.push("`top` has no probabilities: nothing that needs them can be said of this run".to_owned());
    }
    outcome.put("skipped_rows", run.skipped_rows.into());
    if 0 < run.skipped_rows {
        outcome.line("rows left out", grouped(run.skipped_rows));
    }
    if let skipped @ 1.. = run.skipped_test_rows() {
        outcome.count("test_skipped_rows", "test rows left out", skipped);
    }
    let reason = match stopped {
        PoolRunEnd::Not => None,
        PoolRunEnd::Advised(why) => Some(why.clone()),
        PoolRunEnd::NoRow(reason) => Some(reason.to_string()),
        PoolRunEnd::Diverged(diverged) => Some(diverged.to_string()),
    };
    outcome.put("stopped", reason.clone().map_or(Value::Null, Value::from));
    if let Some(reason) = reason {
        outcome.remarks.push(format!("stopped before the budget was spent: {reason}"));
    }
    if let Some(warning) = &run.warning {
        outcome.put("warning", warning.clone().into());
        outcome.remarks.push(warning.clone());
    }
}
