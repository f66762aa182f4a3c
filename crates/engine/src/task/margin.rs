//! Two classes: a loss of the margin s = y·v.

use querist_theory::loss::Loss;
use querist_theory::registry::Named;

use super::{LogisticSlope, Task};

/// Two classes, −1 and +1.
#[derive(Clone, Debug)]
pub struct MarginTask {
    loss: Named<dyn Loss>,
    table: Option<LogisticSlope>,
}

impl MarginTask {
    /// With this loss.
    pub fn new(loss: Named<dyn Loss>) -> Self {
        // Of a margin both losses are the same function.
        let table = matches!(loss.entry, "logistic" | "cross-entropy").then(LogisticSlope::new);
        Self { loss, table }
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
        self.loss.value(label * scores[0])
    }

    fn slope(&self, scores: &[f64], label: f64, out: &mut [f64]) {
        out[0] = self.slope_of_one(scores[0], label);
    }

    fn slope_of_one(&self, score: f64, label: f64) -> f64 {
        let margin = label * score;
        label * self.table.as_ref().map_or_else(|| self.loss.slope(margin), |table| table.at(margin))
    }

    fn slope_table(&self) -> Option<&LogisticSlope> {
        self.table.as_ref()
    }

    fn decide(&self, scores: &[f64]) -> f64 {
        if scores[0] < 0.0 { -1.0 } else { 1.0 }
    }

    fn steepness(&self) -> Option<f64> {
        self.loss.facts().lipschitz.map(|(constant, _)| constant)
    }
}
