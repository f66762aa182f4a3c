//! What a pool's labels say of the whole pool, and whether more are worth it.

use querist_engine::estimate::Estimate;
use querist_engine::pool::{NotAssessed, PoolLearner};
use querist_engine::stop::Rule;
use serde_json::{Value, json};

use super::stop::{BATCH, GAIN};
use crate::number::{json as number, show};
use crate::run::outcome::Outcome;

/// Tells the estimate, its random twin and advice on stopping.
pub(super) fn tell(outcome: &mut Outcome, learner: &PoolLearner, stop: Option<&Rule>) {
    let assessed = match learner.assess() {
        Ok(assessed) => assessed,
        Err(reason) => {
            for key in ["estimate", "twin", "stop"] {
                outcome.put(key, Value::Null);
            }
            let why = match reason {
                NotAssessed::NoProbabilities => return,
                NotAssessed::Steps | NotAssessed::Repeated => "it is not fitted to rows asked once".to_owned(),
                NotAssessed::Draws(invalid) => invalid.to_string(),
            };
            outcome.remarks.push(format!("no estimate for the pool: {why}"));
            return;
        }
    };
    let key = if assessed.is_accuracy { "accuracy" } else { "loss" };
    outcome.put("estimate", to_json(&assessed.score, key));
    let score = &assessed.score;
    outcome.line(
        &format!("estimated {key} on the whole pool"),
        format!("{} ({} to {})", show(score.value, 4), show(score.low, 4), show(score.high, 4)),
    );
    let mut twin = assessed.twin.as_ref().map_or_else(|| json!({}), |twin| to_json(twin, key));
    twin["labels"] = assessed.twin_labels.into();
    outcome.put("twin", twin);
    if let Some(twin) = &assessed.twin {
        let (value, low, high) = (show(twin.value, 4), show(twin.low, 4), show(twin.high, 4));
        outcome.line(&format!("by {} labels at random", assessed.twin_labels), format!("{value} ({low} to {high})"));
    }
    if let Some(warning) = &score.warning {
        outcome.remarks.push(warning.to_string());
    }
    let default = Rule::Gain { batch: BATCH, below: GAIN };
    let advice = stop.unwrap_or(&default).advise(&assessed.progress());
    let word = if advice.stop { "stop" } else { "go on" };
    outcome.put("stop", json!({"advice": word, "why": advice.why}));
    outcome.line("advice", format!("{word}: {}", advice.why));
}

/// An estimate for programs.
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
    })
}
