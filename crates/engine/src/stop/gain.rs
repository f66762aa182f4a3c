//! The expected gain in score from more labels.

use super::Better;
use crate::estimate::{DrawProbability, Estimate, Estimator, Invalid};
use crate::stats::{mean, normal_quantile};

/// A reading of a learner's mean loss on the pool at one draw. For accuracy, the loss of an error is 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// A number whose conditional expectation is the mean loss, [`Estimator::readings`].
    pub value: f64,
    /// The loss of the drawn item, by the model before its label was used.
    pub loss: f64,
    /// The weight of the loss in the value, 1/(Nq).
    pub weight: f64,
}

impl Reading {
    /// Returns the reading at each draw from a pool of this size, from progressive losses.
    pub fn of_losses(pool: usize, losses: &[f64], draws: &[DrawProbability]) -> Result<Vec<Self>, Invalid> {
        let values = Estimator::new(pool).readings(losses, draws)?;
        let weight = |draw: &DrawProbability| 1.0 / (pool as f64 * draw.probability);
        let readings = values.into_iter().zip(losses).zip(draws);
        Ok(readings.map(|((value, &loss), draw)| Self { value, loss, weight: weight(draw) }).collect())
    }
}

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
/// The number of first readings to leave out: curves are no power laws before there is a model of a few labels.
const SKIPPED: usize = 10;
/// The number of times that the search for the end of an interval doubles or halves its step.
const SEARCH_STEPS: usize = 100;

impl Gain {
    /// Computes the expected gain, with its interval, from a reading at each draw. Returns `None` if there are fewer
    /// than 30.
    pub fn expected(readings: &[Reading], batch: usize, confidence: f64) -> Option<Self> {
        // The gain is the same for losses and for accuracy.
        Some(Outlook::of(readings, Better::Lower, confidence)?.gain(batch))
    }
}

/// The extrapolation of a score: learning curves a + b/mᶜ of the mean loss, fitted to its readings, one for each c.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlook {
    labels: usize,
    better: Better,
    /// b for each c.
    slopes: [Slope; EXPONENTS.len()],
}

impl Outlook {
    /// Fits learning curves to a reading of the mean loss at each draw. Returns `None` if there are fewer than 30.
    /// `better` is the direction of the score: higher for accuracy, which is 1 − the mean loss.
    pub fn of(readings: &[Reading], better: Better, confidence: f64) -> Option<Self> {
        if readings.len() < MIN_READINGS {
            return None;
        }
        let reach = normal_quantile(0.5 + confidence / 2.0);
        let slopes = EXPONENTS.map(|exponent| CurveTest::new(readings, exponent, reach).slope());
        Some(Self { labels: readings.len(), better, slopes })
    }

    /// Extrapolates a score that is higher for better models from its estimated gain between two numbers of labels.
    pub(crate) fn of_gain(gain: &Estimate, fewer: usize, labels: usize) -> Self {
        let slopes = EXPONENTS.map(|exponent| {
            let drop = (fewer as f64).powf(-exponent) - (labels as f64).powf(-exponent);
            Slope { value: gain.value / drop, low: gain.low / drop, high: gain.high / drop }
        });
        Self { labels, better: Better::Higher, slopes }
    }

    /// Returns the gain expected from `batch` further labels.
    pub fn gain(&self, batch: usize) -> Gain {
        let mut gain = Gain { value: 0.0, low: f64::INFINITY, high: f64::NEG_INFINITY };
        for (exponent, slope) in EXPONENTS.into_iter().zip(self.slopes) {
            let at = |labels: usize| (labels as f64).powf(-exponent);
            let drop = at(self.labels) - at(self.labels + batch);
            if drop == 0.0 {
                // No more labels change nothing, even if nothing bounds the slope.
                return Gain { value: 0.0, low: 0.0, high: 0.0 };
            }
            gain.low = gain.low.min(slope.low * drop);
            gain.high = gain.high.max(slope.high * drop);
            if exponent == PARAMETRIC {
                gain.value = slope.value * drop;
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

/// b of a + b/mᶜ, with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Slope {
    value: f64,
    low: f64,
    high: f64,
}

/// Score tests of learning curves a + b/mᶜ for one c.
///
/// A curve implies the variance of each reading: the loss r(m) of the curve, times the squared weight of the draw, times
/// the ratio of squared losses to losses, which is 1 for errors. The observed residuals would be too small in a run whose
/// early errors all have small weights, by luck. Such a run seems not to learn. The variance is too large if heavy
/// draws are wrong less often than others, as they are for rules that seek errors.
struct CurveTest {
    /// The quantile of the tests.
    reach: f64,
    /// The mean of 1/mᶜ.
    center: f64,
    /// The mean of the readings.
    level: f64,
    /// The variance of that mean, per unit of a and of b.
    level_noise: [f64; 2],
    /// The sum of (1/mᶜ − its mean)·reading, and what it is per unit of b.
    contrast: f64,
    square: f64,
    /// The variance of that sum, per unit of a and of b.
    contrast_noise: [f64; 2],
}

impl CurveTest {
    fn new(readings: &[Reading], exponent: f64, reach: f64) -> Self {
        let kept = &readings[SKIPPED..];
        let points: Vec<f64> = (SKIPPED..readings.len()).map(|m| (m as f64 + 1.0).powf(-exponent)).collect();
        let center = mean(&points);
        let level = kept.iter().map(|reading| reading.value).sum::<f64>() / kept.len() as f64;
        let squares_per_loss = squares_per_loss(kept);
        let (mut contrast, mut square) = (0.0, 0.0);
        let (mut level_noise, mut contrast_noise) = ([0.0; 2], [0.0; 2]);
        for (point, reading) in points.iter().zip(kept) {
            let deviation = point - center;
            contrast += deviation * (reading.value - level);
            square += deviation * deviation;
            let noise = squares_per_loss * reading.weight * reading.weight;
            for (unit, per_unit) in [1.0, *point].into_iter().enumerate() {
                level_noise[unit] += noise * per_unit / (kept.len() as f64).powi(2);
                contrast_noise[unit] += noise * per_unit * deviation * deviation;
            }
        }
        Self { reach, center, level, level_noise, contrast, square, contrast_noise }
    }

    /// Returns the least-squares b, if that is accepted, and the ends of the interval of b that the tests accept.
    fn slope(&self) -> Slope {
        let high = last_accepted(|slope| self.accepts_decrease(slope));
        let value = (self.contrast / self.square).min(high);
        let low = value - last_accepted(|step| self.accepts_increase(value - step));
        Slope { value, low, high }
    }

    /// Returns `true` if the readings do not show that curves of this b fall too steeply. Readings of a curve that
    /// rises count as those of a flat one: without this, luck would have a new try at every look.
    fn accepts_decrease(&self, slope: f64) -> bool {
        let Some(limit) = self.highest_limit(slope) else { return false };
        let excess = slope * self.square - self.contrast.max(0.0);
        excess <= self.reach * self.deviation(limit, slope)
    }

    /// Returns `true` if the readings do not show that curves of this b fall too little.
    fn accepts_increase(&self, slope: f64) -> bool {
        // A rising curve has the noise of a flat one.
        let noisy = slope.max(0.0);
        let limit = self.highest_limit(noisy).unwrap_or(0.0);
        self.contrast - slope * self.square <= self.reach * self.deviation(limit, noisy)
    }

    /// Returns the largest a ≥ 0 for which a + b/mᶜ is not shown to be above the mean reading: the larger root of
    /// (a + b·center − level)² = reach²·(variance of the level). Returns `None` if there is none.
    fn highest_limit(&self, slope: f64) -> Option<f64> {
        let [per_limit, per_slope] = self.level_noise.map(|noise| self.reach * self.reach * noise);
        let gap = self.level - slope * self.center;
        let half = gap + 0.5 * per_limit;
        let discriminant = half * half - gap * gap + per_slope * slope;
        let limit = half + discriminant.max(0.0).sqrt();
        (0.0 <= discriminant && 0.0 <= limit).then_some(limit)
    }

    /// Returns the standard deviation of the contrast if the curve is a + b/mᶜ.
    fn deviation(&self, limit: f64, slope: f64) -> f64 {
        (limit * self.contrast_noise[0] + slope * self.contrast_noise[1]).sqrt()
    }
}

/// Returns the weighted mean of squared losses divided by that of losses: 1 for errors, and if there is no loss.
fn squares_per_loss(readings: &[Reading]) -> f64 {
    let mean_of = |power: i32| readings.iter().map(|reading| reading.weight * reading.loss.powi(power)).sum::<f64>();
    let (losses, squares) = (mean_of(1), mean_of(2));
    if 0.0 < losses { squares / losses } else { 1.0 }
}

/// Returns the largest step that is accepted, if all smaller ones are.
fn last_accepted(accepts: impl Fn(f64) -> bool) -> f64 {
    let (mut accepted, mut rejected) = (0.0, 1e-6);
    for _ in 0..SEARCH_STEPS {
        if !accepts(rejected) {
            break;
        }
        (accepted, rejected) = (rejected, 2.0 * rejected);
    }
    for _ in 0..SEARCH_STEPS {
        let middle = 0.5 * (accepted + rejected);
        *(if accepts(middle) { &mut accepted } else { &mut rejected }) = middle;
    }
    accepted
}
