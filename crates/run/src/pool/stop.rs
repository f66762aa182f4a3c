//! Checks of stopping rules.

use querist_engine::stop::StopRule;
use querist_engine::task::Labels;

use crate::error::{Result, bail};

/// The default minimum gain that justifies a batch of labels.
pub const GAIN: f64 = 0.002;

/// Rejects a target that no run can reach.
pub fn check(rule: &StopRule, labels: Labels) -> Result<()> {
    match rule {
        StopRule::Any(rules) => rules.iter().try_for_each(|rule| check(rule, labels)),
        StopRule::Target(target) if !(0.0 < *target && *target <= 1.0) => {
            let score = if labels == Labels::Numbers { "R²" } else { "accuracy" };
            bail!("--stop target={target}: {score} is at most 1, need 0 < target <= 1")
        }
        _ => Ok(()),
    }
}
