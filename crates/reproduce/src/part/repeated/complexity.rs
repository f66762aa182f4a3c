//! The expected Rademacher complexity of the loss class with m independent labels per feature, by full enumeration.
//!
//! With finitely many predictors and n features it is a sum over all signs and all numbers of positive labels; nothing
//! is sampled.

use std::f64::consts::PI;

use querist_report::{Axis, AxisScale, Color, Figure, Panel, Series, SeriesMark};
use querist_theory::equivalent::Queried;
use querist_theory::loss::Loss;
use rayon::prelude::{IntoParallelIterator, ParallelIterator};

use crate::numbers::brief;
use crate::{Basis, Findings, FindingsTable, PaperClaim, ReproductionSettings};

/// The features, each with the sign of its more likely label.
const FEATURES: [([f64; 2], f64); 5] =
    [([1.0, 0.2], 1.0), ([-0.3, 0.9], 1.0), ([-0.8, -0.5], -1.0), ([0.4, -1.0], -1.0), ([0.7, 0.7], 1.0)];
/// Probabilities that a label differs from the more likely one, with their colors.
const NOISES: [(f64, Color); 4] = [(0.0, Color::Gray), (0.1, Color::Green), (0.3, Color::Blue), (0.5, Color::Red)];

/// Returns linear predictors of two lengths in 24 directions.
fn predictors() -> Vec<[f64; 2]> {
    let directions = (0..24).map(|i| PI * f64::from(i) / 12.0);
    directions.flat_map(|angle| [0.7, 2.0].map(|length| [length * angle.cos(), length * angle.sin()])).collect()
}

/// An outcome at one feature: a probability, and σ·(mean loss over its labels) for every predictor.
struct FeatureOutcome {
    probability: f64,
    losses: Vec<f64>,
}

/// Returns all outcomes at a feature with `labels` labels (`None`: infinitely many), each +1 with probability `odds`.
fn outcomes(pair: &Queried, x: [f64; 2], odds: f64, labels: Option<u32>) -> Vec<FeatureOutcome> {
    let shares: Vec<(f64, f64)> = match labels {
        Some(m) => (0..=m).map(|k| (binomial(m, k, odds), f64::from(k) / f64::from(m))).collect(),
        None => vec![(1.0, odds)],
    };
    let both = shares.into_iter().flat_map(|(probability, positive)| {
        [1.0, -1.0].map(|sign| {
            let losses = predictors().into_iter().map(|w| {
                let score = w[0] * x[0] + w[1] * x[1];
                sign * (positive * pair.value(score) + (1.0 - positive) * pair.value(-score))
            });
            FeatureOutcome { probability: 0.5 * probability, losses: losses.collect() }
        })
    });
    both.filter(|outcome| 0.0 < outcome.probability).collect()
}

fn binomial(m: u32, k: u32, p: f64) -> f64 {
    let choose: f64 = (0..k).map(|i| f64::from(m - i) / f64::from(k - i)).product();
    choose * p.powf(f64::from(k)) * (1.0 - p).powf(f64::from(m - k))
}

/// Returns E[sup over predictors of the mean of σᵢ·lossᵢ], over all outcomes of all features.
fn complexity(features: &[Vec<FeatureOutcome>]) -> f64 {
    let n = features.len() as f64;
    let (first, rest) = features.split_first().expect("there are features");
    let parts: Vec<f64> = (0..first.len())
        .into_par_iter()
        .map(|i| first[i].probability * expected_most(rest, &first[i].losses))
        .collect();
    parts.iter().sum::<f64>() / n
}

/// Returns the expected maximum, over predictors, of the partial sums plus the terms of these features.
fn expected_most(features: &[Vec<FeatureOutcome>], partial_sums: &[f64]) -> f64 {
    let Some((first, rest)) = features.split_first() else {
        return partial_sums.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    };
    let with = |outcome: &FeatureOutcome| {
        let sum: Vec<f64> = partial_sums.iter().zip(&outcome.losses).map(|(a, b)| a + b).collect();
        outcome.probability * expected_most(rest, &sum)
    };
    first.iter().map(with).sum()
}

pub(super) fn report(settings: &ReproductionSettings, findings: &mut Findings) {
    let pair = Queried::parse("squared-hinge", "margin:mu=1").expect("a registered pair");
    let numbers: &[u32] = settings.pick(&[1, 2, 3, 4, 5, 6, 8], &[1, 2, 3]);
    let of = |noise: f64, labels: Option<u32>| {
        let at = |(x, lean): ([f64; 2], f64)| outcomes(&pair, x, if 0.0 < lean { 1.0 - noise } else { noise }, labels);
        complexity(&FEATURES.map(at))
    };
    let (mut series, mut rows) = (vec![], vec![]);
    for (noise, color) in NOISES {
        let found: Vec<f64> = numbers.iter().map(|m| of(noise, Some(*m))).collect();
        let limit = of(noise, None);
        findings.claim(falls(noise, numbers, &found, limit));
        let mut points: Vec<(f64, f64)> = numbers.iter().zip(&found).map(|(m, r)| (f64::from(*m), *r)).collect();
        rows.push([vec![brief(noise)], found.iter().chain([&limit]).map(|r| format!("{r:.5}")).collect()].concat());
        series.push(Series { name: format!("noise {noise}"), color, mark: SeriesMark::Points, points: points.clone() });
        for point in &mut points {
            point.1 = limit;
        }
        series.push(Series { name: String::new(), color, mark: SeriesMark::Dashed, points });
    }
    let mut header = vec!["noise".to_owned()];
    header.extend(numbers.iter().map(|m| format!("m = {m}")));
    header.push("m → ∞".to_owned());
    findings.tables.push(FindingsTable {
        name: "repeated-complexity".to_owned(),
        caption:
            "Expected Rademacher complexity of the equivalent loss of 48 linear predictors on five features, with m \
                  labels a feature; m = 1 is the single query."
                .to_owned(),
        header,
        rows,
    });
    findings.plate(
        "repeated-complexity",
        Figure {
            title: String::new(),
            caption:
                "Expected Rademacher complexity by the number of labels a feature has (dots), and with infinitely \
                      many (dashed), for four rates of label noise. By full enumeration."
                    .to_owned(),
            panels: vec![Panel {
                title: String::new(),
                x: Axis { scale: AxisScale::Log, ..Axis::new("labels m for each feature") },
                y: Axis::new("Rademacher complexity"),
                series,
            }],
        },
    );
}

fn falls(noise: f64, numbers: &[u32], found: &[f64], limit: f64) -> PaperClaim {
    let falling = found.windows(2).all(|pair| pair[1] <= pair[0] + 1e-12) && limit <= found[found.len() - 1] + 1e-12;
    let strictly = noise == 0.0 || limit < 0.999 * found[0];
    let last = numbers[numbers.len() - 1];
    PaperClaim::new("apd:pool-details", format!("repeated labels lower the Rademacher complexity, label noise {noise}"))
        .computed(format!(
            "single {:.5}, {last} labels {:.5}, infinitely many {limit:.5}",
            found[0],
            found[found.len() - 1]
        ))
        .expected(
            if noise == 0.0 { "the same for any number: labels never differ" } else { "falling in m" },
            Basis::Theory,
        )
        .holds(falling && strictly && (noise != 0.0 || found[0] - limit < 1e-12))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With one feature and one label, E sup σ·loss is half the difference of the largest and the smallest loss.
    #[test]
    fn one_feature_matches_the_closed_form() {
        let pair = Queried::parse("squared-hinge", "margin:mu=1").unwrap();
        let values: Vec<f64> = predictors().iter().map(|w| pair.value(w[0])).collect();
        let (most, least) = (values.iter().copied().fold(0.0, f64::max), values.iter().copied().fold(9.0, f64::min));
        let found = complexity(&[outcomes(&pair, [1.0, 0.0], 1.0, Some(1))]);
        assert!((found - 0.5 * (most - least)).abs() < 1e-14);
    }

    #[test]
    fn probabilities_sum_to_one() {
        let pair = Queried::parse("squared-hinge", "margin:mu=1").unwrap();
        for labels in [Some(1), Some(7), None] {
            let total: f64 = outcomes(&pair, [0.3, 0.1], 0.3, labels).iter().map(|o| o.probability).sum();
            assert!((total - 1.0).abs() < 1e-14);
        }
    }
}
