//! The paper's construction for K classes and regression: ask in proportion to the expected loss (§6.1).
//!
//! U = min(1, L̂/scale), with L̂(x) a kernel estimate (Nadaraya and Watson 1964) from the answered items: the mean of
//! their losses under the current model, weighted by e^{−‖x−xᵢ‖²/2h²}. The bandwidth is h = width·n^{−1/(d+4)}, in
//! units of the typical difference of two answered items in one of their d features. It shrinks as answers arrive
//! (Scott 1992); d counts the nonzero features of x. In units of the full distance, √d times as much, all items would
//! be about equally near and U nearly constant. In the authors' code the bandwidth had n^{+1/(d+3)}, which grows. The
//! scale defaults to twice the mean loss of the answered items. It is known before the current observation, so U stays
//! a probability; it only changes how fast labels are spent.

use querist_theory::registry::NameError;

use super::RunRule;
use super::neighbors::{Neighbors, entries};
use crate::features::Features;
use crate::linear::Linear;
use crate::task::Task;

pub(super) const LISTED: RunRule = RunRule {
    name: "conditional-loss",
    params: &["width", "scale", "floor"],
    summary: "in proportion to the expected loss at the features, estimated from the answers of the run",
    source: "label sec:multi_dim",
};

/// A rule that estimates the conditional loss.
#[derive(Clone, Debug)]
pub struct ConditionalLoss {
    width: f64,
    /// `None` means twice the mean loss of the answered items.
    scale: Option<f64>,
    floor: f64,
    answered: Neighbors,
    /// Twice the mean loss of the answered items.
    twice_mean: f64,
    /// The number of all answers, including dropped ones.
    count: f64,
    /// The mean squared distance between successive answered items.
    spread: f64,
}

impl ConditionalLoss {
    /// Parses `conditional-loss` and `conditional-loss:width=1,scale=2,floor=0.05`.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let fail = |message: String| NameError { name: text.to_owned(), message };
        let mut rule = Self {
            width: 1.0,
            scale: None,
            floor: 0.05,
            answered: Neighbors::default(),
            twice_mean: 0.0,
            count: 0.0,
            spread: 0.0,
        };
        let rest = text.split_once(':').map_or("", |(_, rest)| rest);
        for piece in rest.split(',').filter(|piece| !piece.is_empty()) {
            let usage = || fail(format!("`{piece}`; write conditional-loss:width=NUMBER,scale=NUMBER,floor=NUMBER"));
            let (key, value) = piece.split_once('=').ok_or_else(usage)?;
            let value: f64 = value.parse().map_err(|_| usage())?;
            let within = match key {
                "width" | "scale" => 0.0 < value && value.is_finite(),
                "floor" => (0.0..=1.0).contains(&value),
                _ => return Err(usage()),
            };
            if !within {
                let need = if key == "floor" { "0 <= floor <= 1".to_owned() } else { format!("{key} > 0") };
                return Err(fail(format!("{key} = {value}, need {need}")));
            }
            match key {
                "width" => rule.width = value,
                "scale" => rule.scale = Some(value),
                _ => rule.floor = value,
            }
        }
        Ok(rule)
    }

    /// Returns the least possible probability.
    pub fn floor(&self) -> f64 {
        self.floor
    }

    /// Returns the name.
    pub fn name(&self) -> String {
        let width = (self.width != 1.0).then(|| format!("width={}", self.width));
        let scale = self.scale.map(|scale| format!("scale={scale}"));
        let floor = (self.floor != 0.05).then(|| format!("floor={}", self.floor));
        let params: Vec<String> = [width, scale, floor].into_iter().flatten().collect();
        if params.is_empty() { "conditional-loss".to_owned() } else { format!("conditional-loss:{}", params.join(",")) }
    }

    /// Returns the probability of asking, which is 1 until there is an estimate.
    pub fn at<X: Features>(&self, x: X) -> f64 {
        let Some(estimate) = self.estimate(x) else { return 1.0 };
        let scale = self.scale.unwrap_or(self.twice_mean).max(f64::MIN_POSITIVE);
        (estimate / scale).clamp(self.floor, 1.0)
    }

    /// Returns L̂(x), or `None` if there are too few answers.
    pub fn estimate<X: Features>(&self, x: X) -> Option<f64> {
        if self.answered.len() < 2 || self.spread == 0.0 {
            return None;
        }
        let row = entries(x);
        // Stored zeros do not count either.
        let bandwidth_squared = self.bandwidth_squared(row.iter().filter(|(_, x)| *x != 0.0).count());
        Some(self.answered.estimate(&row, x.norm_squared(), bandwidth_squared))
    }

    /// Returns h², which shrinks with the number of answers.
    fn bandwidth_squared(&self, dim: usize) -> f64 {
        let dim = (dim as f64).max(1.0);
        let h = self.width * self.count.powf(-1.0 / (dim + 4.0));
        h * h * self.spread / dim
    }

    /// Records an answer.
    pub(crate) fn learn<X: Features>(&mut self, x: X, label: f64) {
        let row = entries(x);
        let norm_squared = x.norm_squared();
        if let Some(distance_squared) = self.answered.distance_to_last(&row, norm_squared) {
            self.spread += (distance_squared - self.spread) / self.count;
        }
        self.answered.push(row, norm_squared, label);
        self.count += 1.0;
    }

    /// Recomputes the losses of the answered items, after the model has changed.
    pub(crate) fn refresh(&mut self, task: &dyn Task, model: Linear, theta: &[f64]) {
        self.answered.refresh(task, model, theta);
        self.twice_mean = 2.0 * self.answered.mean_loss();
    }
}
