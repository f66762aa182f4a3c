//! Two classes: a loss of the margin s = y·v.

use querist_theory::loss::Loss;
use querist_theory::numeric::stable::sigmoid;
use querist_theory::registry::Named;

use super::logistic_slope::LogisticSlope;
use super::{ROUNDING, Task};

/// A task with two classes, −1 and +1.
#[derive(Clone, Debug)]
pub struct MarginTask {
    loss: Named<dyn Loss>,
    table: Option<LogisticSlope>,
    /// The margins at which the slope jumps and is smoothed.
    rounded: Vec<f64>,
}

impl MarginTask {
    /// Makes a task with this loss.
    pub fn new(loss: Named<dyn Loss>) -> Self {
        // As functions of a margin both losses are the same.
        let table = matches!(loss.entry, "logistic" | "cross-entropy").then(LogisticSlope::new);
        Self { loss, table, rounded: vec![] }
    }

    /// Returns the smoothed kink near this margin, if any. Near it the loss is replaced by its mean over s ±
    /// [`ROUNDING`].
    fn near_kink(&self, s: f64) -> Option<f64> {
        self.rounded.iter().copied().find(|kink| (s - kink).abs() < ROUNDING)
    }

    fn value(&self, s: f64) -> f64 {
        let Some(kink) = self.near_kink(s) else { return self.loss.value(s) };
        let (low, high) = (s - ROUNDING, s + ROUNDING);
        // Either side is smooth, so Simpson's rule with three values is enough.
        let simpson = |a: f64, b: f64| {
            (b - a) / 6.0 * (self.loss.value(a) + 4.0 * self.loss.value(0.5 * (a + b)) + self.loss.value(b))
        };
        (simpson(low, kink) + simpson(kink, high)) / (2.0 * ROUNDING)
    }

    fn margin_slope(&self, s: f64) -> f64 {
        if let Some(table) = &self.table {
            return table.at(s);
        }
        if self.near_kink(s).is_none() {
            return self.loss.slope(s);
        }
        (self.loss.value(s + ROUNDING) - self.loss.value(s - ROUNDING)) / (2.0 * ROUNDING)
    }

    fn margin_curvature(&self, s: f64) -> f64 {
        if self.near_kink(s).is_none() {
            return self.loss.curvature(s);
        }
        (self.loss.slope(s + ROUNDING) - self.loss.slope(s - ROUNDING)) / (2.0 * ROUNDING)
    }
}

impl Task for MarginTask {
    fn name(&self) -> &str {
        &self.loss.name
    }

    fn outputs(&self) -> usize {
        1
    }

    fn loss(&self, scores: &[f64], label: f64) -> f64 {
        self.value(label * scores[0])
    }

    fn slope(&self, scores: &[f64], label: f64, out: &mut [f64]) {
        out[0] = self.slope_of_one(scores[0], label);
    }

    fn slope_of_one(&self, score: f64, label: f64) -> f64 {
        label * self.margin_slope(label * score)
    }

    fn curve(&self, scores: &[f64], label: f64, direction: &[f64], out: &mut [f64]) {
        out[0] = self.margin_curvature(label * scores[0]).max(0.0) * direction[0];
    }

    fn prepare_curve(&self, scores: &mut [f64], label: f64) {
        scores[0] = self.margin_curvature(label * scores[0]).max(0.0);
    }

    fn curve_prepared(&self, curvature: &[f64], _label: f64, direction: &[f64], out: &mut [f64]) {
        out[0] = curvature[0] * direction[0];
    }

    fn smooth(&self) -> Option<Box<dyn Task>> {
        let jumps = |kink: &f64| {
            let (before, after) = (self.loss.slope(kink - 1e-9), self.loss.slope(kink + 1e-9));
            1e-6 * (1.0 + before.abs()) < (after - before).abs()
        };
        let rounded = self.loss.facts().kinks.iter().copied().filter(jumps).collect();
        Some(Box::new(Self { rounded, ..self.clone() }))
    }

    fn decide(&self, scores: &[f64]) -> f64 {
        if scores[0] < 0.0 { -1.0 } else { 1.0 }
    }

    /// Both names denote the same function of a margin.
    fn is_logistic(&self) -> bool {
        matches!(self.loss.entry, "logistic" | "cross-entropy")
    }

    fn probabilities(&self, scores: &[f64]) -> Option<Vec<f64>> {
        // Computing one as 1 − the other would lose the digits of a small probability.
        self.is_logistic().then(|| vec![sigmoid(-scores[0]), sigmoid(scores[0])])
    }

    fn steepness(&self) -> Option<f64> {
        self.loss.facts().lipschitz.map(|(constant, _)| constant)
    }
}
