//! When U∇ℓ is a gradient, and a witness when it is not (§6.1, label `prop:existence_equiv`).
//!
//! The field U∇ℓ has a potential just when ∂ᵢU ∂ⱼℓ = ∂ⱼU ∂ᵢℓ. For softmax with K ≥ 3 classes the gradients p − `e_y`
//! of two labels are independent, so a label-free U must have ∇U = 0: only a constant has an equivalent loss.

use crate::expression::Interval;
use crate::numeric::quadrature::integrate;
use crate::vector::{EnclosedSoftmax, VectorScore, cross_entropy, cross_entropy_gradient, softmax};

/// The curl of U∇ℓ in the logits zᵢ, zⱼ: ∂ᵢU ∂ⱼℓ − ∂ⱼU ∂ᵢℓ.
pub fn curl(score: &dyn VectorScore, logits: &[f64], label: usize, i: usize, j: usize) -> f64 {
    let p = softmax(logits);
    let (u, g) = (score.gradient(&p), cross_entropy_gradient(&p, label));
    u[i] * g[j] - u[j] * g[i]
}

/// A point where the curl is certainly not zero.
#[derive(Clone, Debug, PartialEq)]
pub struct Curl {
    /// The logits.
    pub logits: Vec<f64>,
    /// The label, from 0.
    pub label: usize,
    /// The two coordinates, from 0.
    pub plane: (usize, usize),
    /// The curl there; a gradient field has 0.
    pub curl: f64,
    /// Outward-rounded bounds for it, which exclude 0.
    pub enclosure: Interval,
}

/// A curl at the point (1, 0, −1/2, −1, …), the largest over the first few labels and planes that an enclosure shows not to
/// be 0; at a tenth of the point, and so on, for a rule that has faded away there.
///
/// A curl among a few coordinates is one of the whole field.
pub fn find_curl(score: &dyn VectorScore, classes: usize) -> Option<Curl> {
    [1.0, 0.1, 0.01, 1e-3, 1e-4].into_iter().find_map(|scale| find_curl_at(score, classes, scale))
}

fn find_curl_at(score: &dyn VectorScore, classes: usize, scale: f64) -> Option<Curl> {
    let logit = |k: usize| if k == 0 { scale } else { 0.5 * scale * (1.0 - (k as f64).min(8.0)) };
    let logits: Vec<f64> = (0..classes).map(logit).collect();
    let softmax = EnclosedSoftmax::new(&logits);
    let slope = score.enclose_gradient(&softmax);
    let few = classes.min(4);
    let mut best: Option<(f64, usize, (usize, usize), Interval)> = None;
    for label in 0..few {
        let gradient = softmax.cross_entropy_gradient(label);
        for i in 0..few {
            for j in i + 1..few {
                let enclosure = slope[i] * gradient[j] - slope[j] * gradient[i];
                let least = enclosure.absolute().low;
                if enclosure.defined && best.is_none_or(|(larger, ..)| larger < least) {
                    best = Some((least, label, (i, j), enclosure));
                }
            }
        }
    }
    let (_, label, plane, enclosure) = best.filter(|(least, ..)| 0.0 < *least)?;
    let curl = enclosure.nearest_to(curl(score, &logits, label, plane.0, plane.1));
    Some(Curl { logits, label, plane, curl, enclosure })
}

/// The field U(z)·(p − `e_y`).
pub fn queried_field(score: &dyn VectorScore, label: usize, logits: &[f64]) -> Vec<f64> {
    let p = softmax(logits);
    let u = score.at(&p);
    cross_entropy_gradient(&p, label).iter().map(|g| u * g).collect()
}

/// The mean field of the construction U = L/M with L(z) = Σ `η_y` `ℓ_y(z)`: L∇L/M, the gradient of L²/(2M).
pub fn conditional_loss_field(label_odds: &[f64], bound: f64, logits: &[f64]) -> Vec<f64> {
    let p = softmax(logits);
    let loss: f64 = label_odds.iter().enumerate().map(|(y, odds)| odds * cross_entropy(logits, y)).sum();
    p.iter().zip(label_odds).map(|(p, odds)| loss / bound * (p - odds)).collect()
}

/// The work of a field around a closed polygon; 0 for a gradient.
pub fn loop_work(field: &dyn Fn(&[f64]) -> Vec<f64>, corners: &[Vec<f64>]) -> f64 {
    let mut work = 0.0;
    for (i, from) in corners.iter().enumerate() {
        let to = &corners[(i + 1) % corners.len()];
        let along = |t: f64| {
            let point: Vec<f64> = from.iter().zip(to).map(|(a, b)| a + t * (b - a)).collect();
            field(&point).iter().zip(from.iter().zip(to)).map(|(f, (a, b))| f * (b - a)).sum()
        };
        work += integrate(&along, 0.0, 1.0, &[]);
    }
    work
}
