//! Existence of a potential of U∇ℓ, with a witness if there is none (§6.1, label `prop:existence_equiv`).
//!
//! The field U∇ℓ has a potential exactly if ∂ᵢU ∂ⱼℓ = ∂ⱼU ∂ᵢℓ. For softmax with K ≥ 3 classes the gradients p − `e_y`
//! of two labels are independent, so a label-free U must have ∇U = 0: only a constant has an equivalent loss.

use crate::expression::Interval;
use crate::numeric::quadrature::integrate;
use crate::vector::{EnclosedSoftmax, VectorScore, cross_entropy, cross_entropy_gradient, softmax};

/// Returns the curl of U∇ℓ in the logits zᵢ, zⱼ: ∂ᵢU ∂ⱼℓ − ∂ⱼU ∂ᵢℓ.
pub fn curl(score: &dyn VectorScore, logits: &[f64], label: usize, i: usize, j: usize) -> f64 {
    let p = softmax(logits);
    let (u, g) = (score.gradient(&p), cross_entropy_gradient(&p, label));
    u[i] * g[j] - u[j] * g[i]
}

/// A point where the curl is certainly not zero.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Curl {
    /// The logits.
    pub logits: Vec<f64>,
    /// The label, from 0.
    pub label: usize,
    /// The indices of the two coordinates, from 0.
    pub plane: (usize, usize),
    /// The curl at the point; it is 0 for a gradient field.
    pub curl: f64,
    /// Outward-rounded bounds for the curl, which exclude 0.
    pub enclosure: Interval,
}

/// Searches for a point where an enclosure shows that the curl is not 0.
///
/// The candidates are (1, 0, −1/2, −1, …), the multiple of it at which the rule says that U varies, and smaller
/// multiples, for rules that have decayed to 0 there.
/// The result is the largest curl over the first few labels and planes.
/// A curl among a few coordinates is a curl of the whole field.
pub fn find_curl(score: &dyn VectorScore, classes: usize) -> Option<Curl> {
    let scales = [1.0].into_iter().chain(score.varying_gap()).chain([0.1, 0.01, 1e-3, 1e-4]);
    scales.into_iter().find_map(|scale| find_curl_at(score, classes, scale))
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

/// Returns the field U(z)·(p − `e_y`).
pub fn queried_field(score: &dyn VectorScore, label: usize, logits: &[f64]) -> Vec<f64> {
    let p = softmax(logits);
    let u = score.at(&p);
    cross_entropy_gradient(&p, label).iter().map(|g| u * g).collect()
}

/// Returns L∇L/M, the mean field of U = L/M with L(z) = Σ `η_y` `ℓ_y(z)`; it is the gradient of L²/(2M).
pub fn conditional_loss_field(label_probabilities: &[f64], bound: f64, logits: &[f64]) -> Vec<f64> {
    let p = softmax(logits);
    let loss: f64 =
        label_probabilities.iter().enumerate().map(|(y, probability)| probability * cross_entropy(logits, y)).sum();
    p.iter().zip(label_probabilities).map(|(p, probability)| loss / bound * (p - probability)).collect()
}

/// Integrates a field around a closed polygon; the work of a gradient is 0.
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
