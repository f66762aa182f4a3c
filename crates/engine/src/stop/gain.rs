//! The expected gain in score from more labels.

use super::Better;
use crate::estimate::Estimate;
use crate::stats::{mean, normal_quantile};

/// The expected improvement of a score by a batch of labels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    /// The expectation if the distance to the limit shrinks as 1/√labels.
    pub value: f64,
    /// The lowest end of the intervals over all shapes of the learning curve.
    pub low: f64,
    /// The highest end of those intervals.
    pub high: f64,
}

/// The number of further labels needed for a target; `None` if it exceeds the limit of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Needed {
    /// The number if the score equals its estimate and the distance to the limit shrinks as 1/√labels.
    pub expected: Option<usize>,
    /// The number at the most favorable ends of the intervals of score and gain.
    pub least: Option<usize>,
    /// The number at the least favorable ends.
    pub most: Option<usize>,
}

/// The exponents c of learning curves a + b/mᶜ, from hard to easy problems. Readings are too noisy to choose one.
pub(crate) const EXPONENTS: [f64; 4] = [0.25, 0.5, 1.0, 2.0];
/// The exponent of parametric learning.
pub(crate) const PARAMETRIC: f64 = 0.5;
/// The least number of readings to extrapolate from.
const MIN_READINGS: usize = 30;

impl Gain {
    /// Computes the expected gain, with a fixed-sample interval, from a reading of the score at each draw. Returns
    /// `None` if there are fewer than 30.
    pub fn expected(readings: &[f64], better: Better, batch: usize, confidence: f64) -> Option<Self> {
        Some(Outlook::of(readings, better, confidence)?.gain(batch))
    }
}

/// The extrapolation of a score: learning curves a + b/mᶜ fitted to its readings, one for each c.
#[derive(Clone, Copy, Debug)]
pub struct Outlook {
    labels: usize,
    better: Better,
    /// The half-width of intervals in standard errors.
    reach: f64,
    /// b and its standard error, for each c.
    slopes: [(f64, f64); EXPONENTS.len()],
}

impl Outlook {
    /// Fits learning curves to a reading of the score at each draw, for fixed-sample intervals. Returns `None` if there
    /// are fewer than 30.
    pub fn of(readings: &[f64], better: Better, confidence: f64) -> Option<Self> {
        if readings.len() < MIN_READINGS {
            return None;
        }
        let reach = normal_quantile(0.5 + confidence / 2.0);
        Some(Self {
            labels: readings.len(),
            better,
            reach,
            slopes: EXPONENTS.map(|exponent| slope(readings, exponent)),
        })
    }

    /// Returns the gain expected from `batch` further labels.
    pub fn gain(&self, batch: usize) -> Gain {
        let mut gain = Gain { value: 0.0, low: f64::INFINITY, high: f64::NEG_INFINITY };
        for (exponent, (slope, error)) in EXPONENTS.into_iter().zip(self.slopes) {
            let at = |labels: usize| (labels as f64).powf(-exponent);
            let change = at(self.labels + batch) - at(self.labels);
            let change = if self.better == Better::Higher { change } else { -change };
            let (expected, spread) = (slope * change, self.reach * error * change.abs());
            gain.low = gain.low.min(expected - spread);
            gain.high = gain.high.max(expected + spread);
            if exponent == PARAMETRIC {
                gain.value = expected;
            }
        }
        gain
    }

    /// Returns the number of further labels that bring the score to a target, up to `farthest`.
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

    /// Returns the least number of labels that closes a gap. Each curve is monotone, so every larger number closes it
    /// too.
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

/// Returns b of a + b/mᶜ by least squares, with its heteroskedasticity-robust standard error.
fn slope(readings: &[f64], exponent: f64) -> (f64, f64) {
    let n = readings.len() as f64;
    let points: Vec<f64> = (1..=readings.len()).map(|m| (m as f64).powf(-exponent)).collect();
    let (center, level) = (mean(&points), mean(readings));
    let square: f64 = points.iter().map(|x| (x - center).powi(2)).sum();
    let slope = points.iter().zip(readings).map(|(x, y)| (x - center) * (y - level)).sum::<f64>() / square;
    // The first few points have high leverage, so residuals are corrected for it (HC3 of MacKinnon and White).
    let noise: f64 = points
        .iter()
        .zip(readings)
        .map(|(x, y)| {
            let leverage = 1.0 / n + (x - center).powi(2) / square;
            let residual = (y - level - slope * (x - center)) / (1.0 - leverage);
            ((x - center) * residual).powi(2)
        })
        .sum();
    (slope, noise.sqrt() / square)
}
