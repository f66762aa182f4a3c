//! R² of a model for numbers over a pool.
//!
//! R² is 1 − ρ with ρ = Σe/Σ(y − ȳ)² over the pool, for squared errors e. A ratio ρ is accepted if 0 is in the interval of
//! the mean of e − ρ(y − c)², where c is the weighted mean of the drawn numbers (Fieller 1954). The center c minimizes the
//! denominator, so its error changes ρ only to second order, which is corrected.

use super::interval::Spread;
use super::leveled::{Levels, effective};
use super::tail::is_heavy_tailed;
use super::{DrawProbability, Estimate, Estimator, Invalid, Warning};

/// The number of times that the search for an end doubles its step, and halves its bracket.
const DOUBLINGS: usize = 40;
const HALVINGS: usize = 50;
/// The number of labels at which anytime-valid intervals of R² are about as narrow as they can be, relative to the
/// fixed-sample one.
const NARROWEST_AT: f64 = 100.0;
/// The square of the scale of the normal mixture that is best for one number of labels, times that number.
const MIXTURE: f64 = 8.0;

/// A drawn number and the squared errors of two predictions of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NumberJudgement {
    /// The number.
    pub truth: f64,
    /// The squared error of a model that had not seen the number.
    pub squared_error: f64,
    /// The squared error of the model that is estimated; the same if that model has not seen the number either.
    pub fitted: f64,
}

impl Estimator {
    /// Returns the estimated variance of a number over the pool.
    pub(crate) fn variance(&self, numbers: &[f64], draws: &[DrawProbability]) -> Result<f64, Invalid> {
        self.check(numbers.len(), draws)?;
        let levels = Levels::new(self.pool, draws);
        Ok(Distances::new(&levels, numbers).variance(&levels))
    }

    /// Estimates R² over the pool, of a model that agrees with the judging models on the items that were not drawn. Returns
    /// `None` if fewer than two different numbers were drawn.
    ///
    /// The fixed-sample interval needs no bound on the numbers. The anytime-valid one is asymptotic: a normal mixture
    /// (Robbins 1970) in place of the normal quantile, after Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas (2024).
    /// Where a few large errors could decide the mean, the lower ends are −∞. Where a few large numbers could decide the
    /// variance, the upper ends are 1.
    pub fn r_squared(
        &self,
        judged: &[NumberJudgement],
        draws: &[DrawProbability],
    ) -> Result<Option<Estimate>, Invalid> {
        self.check(judged.len(), draws)?;
        let is_finite = |judged: &NumberJudgement| (judged.truth + judged.squared_error + judged.fitted).is_finite();
        if let Some(draw) = judged.iter().position(|judged| !is_finite(judged)) {
            return Err(Invalid::Value { draw });
        }
        Ok(ErrorRatio::new(self, judged, draws).and_then(|ratio| ratio.r_squared()))
    }
}

/// The squared distances of numbers from their weighted mean.
struct Distances {
    squares: Vec<f64>,
    /// The variance of the weighted mean.
    center_noise: f64,
}

impl Distances {
    fn new(levels: &Levels<'_>, numbers: &[f64]) -> Self {
        let weight: f64 = levels.weights.iter().sum();
        // Weights do not add up to the number of draws, so a far origin would add noise.
        let origin = numbers[0];
        let sum: f64 = levels.weights.iter().zip(numbers).map(|(v, number)| v * (number - origin)).sum();
        let deviations: Vec<f64> = numbers.iter().map(|number| number - origin - sum / weight).collect();
        Self {
            center_noise: levels.errors(&deviations, 0.0).map(|error| error * error).sum(),
            squares: deviations.iter().map(|deviation| deviation * deviation).collect(),
        }
    }

    fn variance(&self, levels: &Levels<'_>) -> f64 {
        levels.mean(&self.squares) + self.center_noise
    }
}

/// The ratio of the mean squared error to the variance of the numbers.
struct ErrorRatio<'a> {
    estimator: &'a Estimator,
    levels: Levels<'a>,
    errors: Vec<f64>,
    /// The change of the mean squared error from the judging models to the estimated one.
    change: f64,
    distances: Distances,
}

impl<'a> ErrorRatio<'a> {
    fn new(estimator: &'a Estimator, judged: &[NumberJudgement], draws: &'a [DrawProbability]) -> Option<Self> {
        let numbers: Vec<f64> = judged.iter().map(|judged| judged.truth).collect();
        if numbers.iter().all(|number| *number == numbers[0]) {
            return None;
        }
        let levels = Levels::new(estimator.pool, draws);
        let change: f64 = judged.iter().map(|judged| judged.fitted - judged.squared_error).sum();
        Some(Self {
            estimator,
            errors: judged.iter().map(|judged| judged.squared_error).collect(),
            change: change / estimator.pool as f64,
            distances: Distances::new(&levels, &numbers),
            levels,
        })
    }

    fn r_squared(&self) -> Option<Estimate> {
        let (levels, estimator) = (&self.levels, self.estimator);
        let variance = self.distances.variance(levels);
        let ratio = (levels.mean(&self.errors) + self.change).max(0.0) / variance;
        if !ratio.is_finite() {
            return None;
        }
        let scaled: Vec<f64> = self.residuals(ratio).iter().map(|residual| residual / variance).collect();
        let spread = Spread::of(levels, &scaled);
        // To second order, a ratio is biased by −cov(residual, denominator)/denominator.
        let denominator = levels.mean(&self.distances.squares);
        let errors = levels.errors(&scaled, levels.mean(&scaled));
        let bias: f64 =
            errors.zip(levels.errors(&self.distances.squares, denominator)).map(|(e, d)| e * d / variance).sum();
        let value = 1.0 - (ratio + bias).max(0.0);
        let fixed = spread.quantile(estimator.confidence);
        let anytime = fixed * mixture_quantile(self.errors.len(), estimator.confidence);
        let ends = |quantile: f64| {
            let (low, high) = self.interval(ratio, quantile);
            ((1.0 - high).min(value), (1.0 - low).clamp(value, 1.0))
        };
        let mut estimate = estimator.estimate(levels, value, ends(fixed), Some(ends(anytime)));
        estimate.effective_n = effective(&levels.weights);
        Some(self.without_unknown_ends(estimate))
    }

    fn residuals(&self, ratio: f64) -> Vec<f64> {
        self.errors.iter().zip(&self.distances.squares).map(|(error, distance)| error - ratio * distance).collect()
    }

    /// Returns whether the draws do not show that the ratio differs from this one, at this number of standard deviations.
    fn accepts(&self, ratio: f64, quantile: f64) -> bool {
        let residuals = self.residuals(ratio);
        let mean = self.levels.mean(&residuals) + self.change - ratio * self.distances.center_noise;
        let (low, high) = Spread::of(&self.levels, &residuals).skewed_to(mean, quantile);
        low <= 0.0 && 0.0 <= high
    }

    /// Returns the ratios around the estimated one that are accepted.
    fn interval(&self, ratio: f64, quantile: f64) -> (f64, f64) {
        let low = if self.accepts(0.0, quantile) { 0.0 } else { self.end(0.0, ratio, quantile) };
        let step = ratio.max(1e-9);
        let above = (0..DOUBLINGS).map(|at| ratio + step * (1_u64 << at) as f64);
        let high = above
            .into_iter()
            .find(|ratio| !self.accepts(*ratio, quantile))
            .map_or(f64::INFINITY, |rejected| self.end(rejected, ratio, quantile));
        (low, high)
    }

    /// Returns the first accepted ratio on the way from a rejected one to the estimated one.
    fn end(&self, mut rejected: f64, mut accepted: f64, quantile: f64) -> f64 {
        for _ in 0..HALVINGS {
            let middle = 0.5 * (rejected + accepted);
            *(if self.accepts(middle, quantile) { &mut accepted } else { &mut rejected }) = middle;
        }
        rejected
    }

    /// Withdraws the ends that a few numbers without a label could move.
    fn without_unknown_ends(&self, estimate: Estimate) -> Estimate {
        if self.errors.len() == self.estimator.pool {
            return estimate;
        }
        let missing = self.levels.missing_share();
        let (errors, numbers) = (is_heavy_tailed(&self.errors), is_heavy_tailed(&self.distances.squares));
        let warning = match (0.0 < missing, errors || numbers) {
            (true, _) => Some(Warning::MissingRows { share: missing }),
            (_, true) => Some(Warning::HeavyTail),
            _ => estimate.warning,
        };
        let ends = |(low, high): (f64, f64)| {
            let low = if 0.0 < missing || errors { f64::NEG_INFINITY } else { low };
            (low, if 0.0 < missing || numbers { 1.0 } else { high })
        };
        let (low, high) = ends((estimate.low, estimate.high));
        Estimate { low, high, anytime: estimate.anytime.map(ends), warning, ..estimate }
    }
}

/// Returns the boundary of the normal mixture after this number of draws, relative to the normal quantile.
fn mixture_quantile(draws: usize, confidence: f64) -> f64 {
    let scale = draws as f64 * MIXTURE / NARROWEST_AT;
    let boundary = 2.0 * (scale + 1.0) / scale * ((scale + 1.0).sqrt() / (1.0 - confidence)).ln();
    boundary.sqrt() / crate::stats::normal_quantile(0.5 + confidence / 2.0)
}
