//! What the next batch of labels is expected to do for a score.

use super::Better;
use crate::estimate::normal;

/// How much a batch is expected to better a score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    /// If the distance to the limit shrinks as 1/√labels.
    pub value: f64,
    /// The lowest end of its intervals over all shapes of the curve that are tried.
    pub low: f64,
    /// The highest end.
    pub high: f64,
}

/// Exponents c of learning curves a + b/mᶜ that are tried: from hard problems to easy ones. Readings are too noisy to choose.
const EXPONENTS: [f64; 4] = [0.25, 0.5, 1.0, 2.0];
/// The exponent of parametric learning.
const USUAL: f64 = 0.5;
/// Fewer readings than this say nothing.
const FEW: usize = 30;

impl Gain {
    /// From a reading of the score at each draw, for somebody who looks once. None if there are fewer than 30.
    pub fn expected(readings: &[f64], better: Better, batch: usize, confidence: f64) -> Option<Self> {
        if readings.len() < FEW {
            return None;
        }
        let z = normal(0.5 + confidence / 2.0);
        let mut gain = Self { value: 0.0, low: f64::INFINITY, high: f64::NEG_INFINITY };
        for exponent in EXPONENTS {
            let (slope, error) = slope(readings, exponent);
            let at = |labels: usize| (labels as f64).powf(-exponent);
            let change = at(readings.len() + batch) - at(readings.len());
            let change = if better == Better::Higher { change } else { -change };
            let (expected, spread) = (slope * change, z * error * change.abs());
            gain.low = gain.low.min(expected - spread);
            gain.high = gain.high.max(expected + spread);
            if exponent == USUAL {
                gain.value = expected;
            }
        }
        Some(gain)
    }
}

/// b of a + b/mᶜ by least squares, and its standard error, which allows for noise that changes along the run.
fn slope(readings: &[f64], exponent: f64) -> (f64, f64) {
    let n = readings.len() as f64;
    let points: Vec<f64> = (1..=readings.len()).map(|m| (m as f64).powf(-exponent)).collect();
    let (centre, mean) = (points.iter().sum::<f64>() / n, readings.iter().sum::<f64>() / n);
    let square: f64 = points.iter().map(|x| (x - centre).powi(2)).sum();
    let slope = points.iter().zip(readings).map(|(x, y)| (x - centre) * (y - mean)).sum::<f64>() / square;
    // The few first points pull hard: residuals are set right for their own pull (the third of MacKinnon and White).
    let noise: f64 = points
        .iter()
        .zip(readings)
        .map(|(x, y)| {
            let pull = 1.0 / n + (x - centre).powi(2) / square;
            let residual = (y - mean - slope * (x - centre)) / (1.0 - pull);
            ((x - centre) * residual).powi(2)
        })
        .sum();
    (slope, noise.sqrt() / square)
}
