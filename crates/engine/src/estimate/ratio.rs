//! Ratios of two sums over a pool, such as shares, precision, recall and F1.

use super::anytime::{Betting, Control, boundary};
use super::interval::Spread;
use super::leveled::{Levels, effective};
use super::score_test::{Count, ScoreTests};
use super::{DrawProbability, Estimate, Estimator, Warning};

/// Ratios with fewer drawn cases than this get a warning.
const FEW_CASES: usize = 10;

/// The number of intervals of the grid on which ratios are tested, before bisection refines the ends.
const TRIED: usize = 20;

/// The contribution of an item to a ratio.
#[derive(Clone, Copy, Debug)]
pub(super) struct RatioTerm {
    pub(super) numerator: f64,
    pub(super) denominator: f64,
}

impl RatioTerm {
    pub(super) fn new(numerator: bool, denominator: bool) -> Self {
        Self { numerator: f64::from(numerator), denominator: f64::from(denominator) }
    }
}

/// Draws from a pool of which Σ numerator/Σ denominator is to be estimated.
pub(super) struct Ratio<'a> {
    /// The contribution of each drawn item.
    pub(super) terms: Vec<RatioTerm>,
    /// The largest numerator that an item of the pool can have. Its denominator is then as large, and others are at most 1.
    pub(super) largest: f64,
    /// Whether it is a share of the items with a property, estimated from the draws alone.
    pub(super) is_share: bool,
    pub(super) draws: &'a [DrawProbability],
}

impl<'a> Ratio<'a> {
    /// Creates the ratio of items with two properties to those with the second one.
    pub(super) fn of_shares(terms: Vec<RatioTerm>, draws: &'a [DrawProbability]) -> Self {
        Self { terms, largest: 1.0, is_share: true, draws }
    }

    /// Estimates the ratio, without an anytime-valid interval; returns `None` if the denominator is 0 for every draw.
    pub(super) fn estimate(&self, estimator: &Estimator, tests: Option<(&ScoreTests<'_>, Count)>) -> Option<Estimate> {
        let (terms, draws) = (&self.terms, self.draws);
        let cases = terms.iter().filter(|term| term.denominator > 0.0).count();
        if cases == 0 {
            return None;
        }
        let levels = Levels::new(estimator.pool, draws);
        let denominators: Vec<f64> = terms.iter().map(|term| term.denominator).collect();
        let hits: Vec<f64> = terms.iter().map(|term| term.numerator).collect();
        let denominator = levels.mean(&denominators);
        let ratio = levels.mean(&hits) / denominator;
        // To first order, the ratio's error is the mean of (numerator − ratio·denominator)/denominator.
        let residuals: Vec<f64> =
            terms.iter().map(|term| (term.numerator - ratio * term.denominator) / denominator).collect();
        let weights: Vec<f64> =
            denominators.iter().zip(&levels.weights).map(|(denominator, v)| denominator * v).collect();
        let spread = Spread::of(&levels, &residuals);
        let mut worth = levels.worth(&weights);
        // A share that is estimated from the draws alone: a few errors of small weight show too little variance.
        let is_whole = denominators.iter().all(|denominator| *denominator == 1.0);
        worth.is_uneven |= tests.is_none() && (self.is_share || is_whole);
        let ends = spread.proportion(ratio, &worth, estimator.confidence);
        // To second order, a ratio is biased by −cov(residual, denominator)/denominator, which is estimated like a variance.
        let off: f64 = levels
            .errors(&residuals, 0.0)
            .zip(levels.errors(&denominators, denominator))
            .map(|(e, w)| e * w / denominator)
            .sum();
        let value = (ratio + off).clamp(0.0, 1.0);
        let mut estimate = estimator.estimate(&levels, value, ends, None);
        // Only draws that count in the ratio carry information about it.
        estimate.effective_n = effective(&weights);
        let missing = levels.missing_share();
        // A tilted model would be extrapolated to missing rows.
        if let Some((tests, count)) = tests.filter(|_| missing == 0.0) {
            estimate = estimate.with_tested_interval(tests.ratio_interval(count, estimator.confidence));
        }
        if cases < FEW_CASES.min(draws.len()) && draws.len() < estimator.pool {
            estimate.warning = Some(Warning::FewCases { cases });
        }
        Some(estimate.ratio_with_missing_rows(missing, denominator, self.largest))
    }

    /// Adds the anytime-valid interval to an estimate of the ratio.
    pub(super) fn with_anytime(&self, estimate: Estimate, estimator: &Estimator) -> Estimate {
        Estimate { anytime: Some(self.anytime(estimator)), ..estimate }.nested()
    }

    /// Returns the range of ratios that are not excluded. The ratio is r exactly if numerator − r·denominator has mean 0
    /// over the pool. Shifted and scaled to [0, 1], this is a mean like any other; before the shift, the value is 0 for every item
    /// that does not count.
    fn anytime(&self, estimator: &Estimator) -> (f64, f64) {
        let betting = Betting::new(estimator.pool, self.draws, estimator.confidence);
        let largest = self.largest;
        let is_excluded = |ratio: f64, above: bool| {
            let scale = ratio + largest * (1.0 - ratio);
            let neutral = ratio / scale;
            let values = self.terms.iter().map(|term| (term.numerator - ratio * term.denominator + ratio) / scale);
            if above {
                betting.is_too_low(values, neutral, &Control::constants(&[neutral]))
            } else {
                betting.is_too_low(
                    values.map(|value| 1.0 - value),
                    1.0 - neutral,
                    &Control::constants(&[1.0 - neutral]),
                )
            }
        };
        // Wealth need not be monotone in the ratio, so search for the accepted ratios from the outside.
        let grid = |k: usize| k as f64 / TRIED as f64;
        let first = (0..=TRIED).find(|&k| !is_excluded(grid(k), true));
        let last = (0..=TRIED).rev().find(|&k| !is_excluded(grid(k), false));
        let low =
            first.map_or(1.0, |k| if k == 0 { 0.0 } else { boundary(grid(k - 1), grid(k), |r| is_excluded(r, true)) });
        let high = last
            .map_or(0.0, |k| if k == TRIED { 1.0 } else { boundary(grid(k + 1), grid(k), |r| is_excluded(r, false)) });
        (low, high)
    }
}

impl Estimate {
    /// Replaces the fixed-sample interval by that of the score tests, if there is one.
    fn with_tested_interval(self, interval: Option<(f64, f64)>) -> Self {
        let Some((low, high)) = interval else { return self };
        // Uneven weights can yield a ratio that no tilted model has.
        Self { low: low.min(self.value), high: high.max(self.value), ..self }
    }
}
