//! The paper's construction for K classes and regression: ask in proportion to the loss to be expected (§6.1).
//!
//! U = min(1, L̂/scale), with L̂(x) a kernel estimate (Nadaraya and Watson 1964) from the answered items: the mean of their losses
//! under the present model, weighted by e^{−‖x−xᵢ‖²/2h²}. The bandwidth h = width·n^{−1/(d+4)}, in units of the typical
//! distance between answered items, shrinks as answers come in. (The authors' code had n^{+1/(d+3)}, which grows.) The
//! scale is twice the mean loss of the answered items unless it is given: it is known before the observation at hand, so U
//! stays a probability, and it changes only how fast labels are spent.

use querist_theory::registry::NameError;

use crate::features::Features;
use crate::linear::Linear;
use crate::task::Task;

/// A rule that estimates the conditional loss.
#[derive(Clone, Debug)]
pub struct ConditionalLoss {
    width: f64,
    /// `None`: twice the mean loss of the answered.
    scale: Option<f64>,
    floor: f64,
    answered: Vec<Answered>,
    /// Answers so far, also those no longer kept.
    count: f64,
    /// The mean squared distance between successive answered items.
    spread: f64,
}

#[derive(Clone, Debug)]
struct Answered {
    features: Vec<(u32, f32)>,
    norm_squared: f64,
    label: f64,
    loss: f64,
}

/// Older answers are forgotten: they cost time with every observation.
const KEPT: usize = 1000;

impl ConditionalLoss {
    /// `conditional-loss`, `conditional-loss:width=1,scale=2,floor=0.05`.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let fail = |message: String| NameError { name: text.to_owned(), message };
        let mut made = Self { width: 1.0, scale: None, floor: 0.05, answered: vec![], count: 0.0, spread: 0.0 };
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
                "width" => made.width = value,
                "scale" => made.scale = Some(value),
                _ => made.floor = value,
            }
        }
        Ok(made)
    }

    /// No probability is below this.
    pub fn floor(&self) -> f64 {
        self.floor
    }

    /// Its name.
    pub fn name(&self) -> String {
        let width = (self.width != 1.0).then(|| format!("width={}", self.width));
        let scale = self.scale.map(|scale| format!("scale={scale}"));
        let floor = (self.floor != 0.05).then(|| format!("floor={}", self.floor));
        let given: Vec<String> = [width, scale, floor].into_iter().flatten().collect();
        if given.is_empty() { "conditional-loss".to_owned() } else { format!("conditional-loss:{}", given.join(",")) }
    }

    /// The probability of asking: 1 until there is an answer.
    pub fn at<X: Features>(&self, x: X) -> f64 {
        let Some(estimate) = self.estimate(x) else { return 1.0 };
        let mean = || self.answered.iter().map(|item| item.loss).sum::<f64>() / self.answered.len() as f64;
        let scale = self.scale.unwrap_or_else(|| 2.0 * mean()).max(f64::MIN_POSITIVE);
        (estimate / scale).clamp(self.floor, 1.0)
    }

    /// L̂(x), where anything is known.
    pub fn estimate<X: Features>(&self, x: X) -> Option<f64> {
        if self.answered.len() < 2 || self.spread == 0.0 {
            return None;
        }
        let mut dense = Vec::new();
        x.each(|j, value| dense.push((j as u32, value as f32)));
        let norm_squared = x.norm_squared();
        let bandwidth_squared = self.bandwidth_squared(dense.len());
        let (mut weights, mut losses, mut nearest) = (0.0, 0.0, (f64::INFINITY, 0.0));
        for item in &self.answered {
            let apart = (norm_squared + item.norm_squared - 2.0 * product(&dense, &item.features)).max(0.0);
            let weight = (-apart / (2.0 * bandwidth_squared)).exp();
            weights += weight;
            losses += weight * item.loss;
            if apart < nearest.0 {
                nearest = (apart, item.loss);
            }
        }
        // Far from every answer all weights underflow; the nearest one is then all there is.
        Some(if 1e-300 < weights { losses / weights } else { nearest.1 })
    }

    /// h², shrinking with the number of answers.
    fn bandwidth_squared(&self, dim: usize) -> f64 {
        let h = self.width * self.count.powf(-1.0 / (dim as f64 + 4.0));
        h * h * self.spread / 2.0
    }

    /// An answer came in.
    pub(crate) fn learn<X: Features>(&mut self, x: X, label: f64) {
        let mut features = Vec::new();
        x.each(|j, value| features.push((j as u32, value as f32)));
        let norm_squared = x.norm_squared();
        if let Some(last) = self.answered.last() {
            let apart = (norm_squared + last.norm_squared - 2.0 * product(&features, &last.features)).max(0.0);
            self.spread += (apart - self.spread) / self.count;
        }
        if KEPT <= self.answered.len() {
            self.answered.remove(0);
        }
        self.answered.push(Answered { features, norm_squared, label, loss: 0.0 });
        self.count += 1.0;
    }

    /// The model changed: the losses of the answered items are found anew.
    pub(crate) fn refresh(&mut self, task: &dyn Task, model: Linear, theta: &[f64]) {
        let mut scores = vec![0.0; model.outputs];
        for item in &mut self.answered {
            scores.copy_from_slice(&theta[..model.outputs]);
            for (j, x) in &item.features {
                let weights = &theta[model.outputs * (*j as usize + 1)..][..model.outputs];
                for (score, w) in scores.iter_mut().zip(weights) {
                    *score += f64::from(*x) * w;
                }
            }
            item.loss = task.loss(&scores, item.label);
        }
    }
}

/// The inner product of two rows whose indices rise.
fn product(a: &[(u32, f32)], b: &[(u32, f32)]) -> f64 {
    let (mut sum, mut j) = (0.0, 0);
    for (index, value) in a {
        while j < b.len() && b[j].0 < *index {
            j += 1;
        }
        if j < b.len() && b[j].0 == *index {
            sum += f64::from(*value) * f64::from(b[j].1);
        }
    }
    sum
}
