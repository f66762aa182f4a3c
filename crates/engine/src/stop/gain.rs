//! What more labels are expected to do for a score.

use super::Better;
use crate::estimate::{Estimate, normal};

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

/// How many more labels bring a score to a target; `None` where no number within reach does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needed {
    /// If the score is what it is estimated to be, and its distance to the limit shrinks as 1/√labels.
    pub expected: Option<usize>,
    /// If all is as good as the intervals of score and gain allow.
    pub least: Option<usize>,
    /// If all is as bad as they allow.
    pub most: Option<usize>,
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
        Some(Outlook::of(readings, better, confidence)?.gain(batch))
    }
}

/// Where a score is heading: learning curves a + b/mᶜ fitted to its readings, one for each c.
#[derive(Clone, Copy, Debug)]
pub struct Outlook {
    labels: usize,
    better: Better,
    /// How far ends are from the middle, in standard errors.
    reach: f64,
    /// b and its standard error, for each c.
    slopes: [(f64, f64); EXPONENTS.len()],
}

impl Outlook {
    /// From a reading of the score at each draw, for somebody who looks once. None if there are fewer than 30.
    pub fn of(readings: &[f64], better: Better, confidence: f64) -> Option<Self> {
        if readings.len() < FEW {
            return None;
        }
        let reach = normal(0.5 + confidence / 2.0);
        Some(Self {
            labels: readings.len(),
            better,
            reach,
            slopes: EXPONENTS.map(|exponent| slope(readings, exponent)),
        })
    }

    /// What so many more labels are expected to give.
    pub fn gain(&self, batch: usize) -> Gain {
        let mut gain = Gain { value: 0.0, low: f64::INFINITY, high: f64::NEG_INFINITY };
        for (exponent, (slope, error)) in EXPONENTS.into_iter().zip(self.slopes) {
            let at = |labels: usize| (labels as f64).powf(-exponent);
            let change = at(self.labels + batch) - at(self.labels);
            let change = if self.better == Better::Higher { change } else { -change };
            let (expected, spread) = (slope * change, self.reach * error * change.abs());
            gain.low = gain.low.min(expected - spread);
            gain.high = gain.high.max(expected + spread);
            if exponent == USUAL {
                gain.value = expected;
            }
        }
        gain
    }

    /// How many more labels bring the score from where it is to a target, looking at most `farthest` labels ahead.
    pub fn labels_to(&self, target: f64, score: &Estimate, farthest: usize) -> Needed {
        let (gap, good, bad) = match self.better {
            Better::Higher => (target - score.value, target - score.high, target - score.low),
            Better::Lower => (score.value - target, score.low - target, score.high - target),
        };
        Needed {
            expected: self.fewest(gap, farthest, |gain| gain.value),
            least: self.fewest(good, farthest, |gain| gain.high),
            most: self.fewest(bad, farthest, |gain| gain.low),
        }
    }

    /// The fewest labels that close a gap. What closes it at some number does so at every larger one: each curve is monotone.
    fn fewest(&self, gap: f64, farthest: usize, end: fn(Gain) -> f64) -> Option<usize> {
        let closes = |labels: usize| gap <= end(self.gain(labels));
        if gap <= 0.0 {
            return Some(0);
        }
        if !closes(farthest) {
            return None;
        }
        let (mut open, mut closed) = (0, farthest);
        while 1 < closed - open {
            let middle = open.midpoint(closed);
            *(if closes(middle) { &mut closed } else { &mut open }) = middle;
        }
        Some(closed)
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
