//! Parsing of stopping rules: `target=0.95`, `gain=0.002`, or both.

use querist_engine::stop::Rule;
use querist_engine::task::Labels;

use crate::error::{Result, bail};

/// The number of further labels whose gain `gain` estimates.
pub const BATCH: usize = 50;
/// The default minimum gain that justifies these labels.
pub const GAIN: f64 = 0.002;

/// Parses a stopping rule.
pub fn parse(text: Option<&str>) -> Result<Option<Rule>> {
    let Some(text) = text else { return Ok(None) };
    let mut rules = vec![];
    for piece in text.split(',') {
        let number = |value: &str| value.parse().ok().filter(|number: &f64| number.is_finite());
        rules.push(match piece.trim().split_once('=') {
            Some(("target", value)) => match number(value) {
                Some(target) => Rule::Target(target),
                None => bail!("--stop {piece}: need target=NUMBER"),
            },
            Some(("gain", value)) => match number(value).filter(|gain| 0.0 < *gain) {
                Some(below) => Rule::Gain { batch: BATCH, below },
                None => bail!("--stop {piece}: need gain=NUMBER, above 0"),
            },
            _ => bail!("--stop {piece}: there are target=NUMBER and gain=NUMBER"),
        });
    }
    Ok(Some(Rule::Any(rules)))
}

/// Rejects a target that no run can reach.
pub fn check(rule: &Rule, labels: Labels) -> Result<()> {
    match rule {
        Rule::Any(rules) => rules.iter().try_for_each(|rule| check(rule, labels)),
        Rule::Target(_) if labels == Labels::Numbers => {
            bail!("--stop target= is of accuracy, and the labels are numbers; there is gain=NUMBER")
        }
        Rule::Target(target) if !(0.0 < *target && *target <= 1.0) => {
            bail!("--stop target={target}: accuracy is at most 1, need 0 < target <= 1")
        }
        _ => Ok(()),
    }
}
