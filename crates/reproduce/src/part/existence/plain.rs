//! Softmax and its scores in plain formulas, with derivatives by finite differences.

use crate::numbers::{derivative, gauss};

/// Three logits.
pub(super) type Logits = [f64; 3];

/// A score of three classes with its reference values.
pub(super) struct ReferenceScore {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) formula: fn(&Logits) -> f64,
    /// U at (1, 0, −1/2).
    pub(super) value: f64,
    /// The curl at that point in the first two logits, for each label.
    pub(super) curls: [f64; 3],
    /// The work around the unit square for the first label.
    pub(super) work: f64,
}

/// Reference values computed at high precision.
pub(super) static SCORES: [ReferenceScore; 3] = [
    ReferenceScore {
        name: "entropy:base=3",
        title: "entropy / log 3",
        formula: |z| entropy(&softmax(z)) / 3_f64.ln(),
        value: 0.824_639_652_973_075_9,
        curls: [-0.014_758_551_870_282_934, 0.120_353_710_090_081_07, -0.132_286_481_222_128_86],
        work: -0.010_641_914_886_298_1,
    },
    ReferenceScore {
        name: "least-confidence",
        title: "least confidence",
        formula: |z| least_confidence(&softmax(z)),
        value: 0.371_468_280_788_237_55,
        curls: [0.0, 0.088_148_043_261_174_75, -0.145_331_553_895_293_9],
        work: 0.0,
    },
    ReferenceScore {
        name: "top-two-margin",
        title: "top-two margin",
        formula: |z| top_two_margin(&softmax(z)),
        value: 0.602_692_178_410_386_6,
        curls: [0.032_427_852_895_277_09, 0.088_148_043_261_174_75, -0.290_663_107_790_587_8],
        work: 0.023_857_242_495_593_7,
    },
];

fn softmax(z: &[f64]) -> Vec<f64> {
    let sum: f64 = z.iter().map(|z| z.exp()).sum();
    z.iter().map(|z| z.exp() / sum).collect()
}

fn entropy(p: &[f64]) -> f64 {
    -p.iter().map(|p| p * p.ln()).sum::<f64>()
}

fn least_confidence(p: &[f64]) -> f64 {
    1.0 - p.iter().copied().fold(0.0, f64::max)
}

fn top_two_margin(p: &[f64]) -> f64 {
    let mut sorted = p.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    1.0 - (sorted[0] - sorted[1])
}

/// Returns −log `p_y`.
pub(super) fn loss(z: &Logits, label: usize) -> f64 {
    z.iter().map(|z| z.exp()).sum::<f64>().ln() - z[label]
}

/// Returns p − `e_y`.
pub(super) fn loss_gradient(z: &Logits, label: usize) -> Logits {
    let mut gradient = [0.0; 3];
    gradient.copy_from_slice(&softmax(z));
    gradient[label] -= 1.0;
    gradient
}

/// Returns ∂₁F₂ − ∂₂F₁ of the field F = U·(p − `e_y`), by finite differences.
pub(super) fn curl_by_differences(score: &dyn Fn(&Logits) -> f64, label: usize, at: Logits) -> f64 {
    let across = |i: usize, j: usize| {
        let component = |shift: f64| {
            let mut z = at;
            z[i] += shift;
            score(&z) * loss_gradient(&z, label)[j]
        };
        derivative(&component, 0.0, 1e-3)
    };
    across(0, 1) - across(1, 0)
}

/// Returns the curl for any number of classes, in the given coordinate plane.
pub(super) fn curl_of_many(score: &str, at: &[f64], label: usize, plane: (usize, usize)) -> f64 {
    let value = |p: &[f64]| match score {
        "entropy" => entropy(p),
        "least-confidence" => least_confidence(p),
        _ => top_two_margin(p),
    };
    let across = |i: usize, j: usize| {
        let component = |shift: f64| {
            let mut z = at.to_vec();
            z[i] += shift;
            let p = softmax(&z);
            value(&p) * (p[j] - f64::from(u8::from(j == label)))
        };
        derivative(&component, 0.0, 1e-3)
    };
    across(plane.0, plane.1) - across(plane.1, plane.0)
}

/// Integrates the curl over the unit square about (1, 0, −1/4). The first two logits tie only in a corner.
pub(super) fn curl_over_square(score: &dyn Fn(&Logits) -> f64, label: usize) -> f64 {
    let pieces = 8;
    let part = |f: &dyn Fn(f64) -> f64, low: f64| -> f64 {
        let width = 1.0 / f64::from(pieces);
        (0..pieces).map(|i| low + f64::from(i) * width).map(|from| gauss(f, from, from + width)).sum()
    };
    part(&|a| part(&|b| curl_by_differences(score, label, [a, b, -0.25]), -0.5), 0.5)
}
