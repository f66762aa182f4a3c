//! Statistics over many runs.

#![allow(dead_code)]

use querist_engine::estimate::Estimate;

/// The performance of a series of estimates of one number.
#[derive(Clone, Copy, Default)]
pub(crate) struct CoverageRecord {
    pub(crate) runs: f64,
    pub(crate) error: f64,
    pub(crate) square: f64,
    pub(crate) covered: f64,
    pub(crate) always: f64,
    pub(crate) width: f64,
}

impl CoverageRecord {
    pub(crate) fn add(&mut self, estimate: Option<Estimate>, truth: f64) {
        let Some(estimate) = estimate else { return };
        let within = |(low, high): (f64, f64)| f64::from(low <= truth + 1e-9 && truth <= high + 1e-9);
        self.runs += 1.0;
        self.error += estimate.value - truth;
        self.square += (estimate.value - truth).powi(2);
        self.width += estimate.high - estimate.low;
        self.covered += within((estimate.low, estimate.high));
        self.always += estimate.anytime.map_or(1.0, within);
    }

    /// Returns the mean error in units of its standard error.
    pub(crate) fn bias(&self) -> f64 {
        self.error / self.square.sqrt()
    }

    /// Returns the fraction of runs whose interval contained the truth.
    pub(crate) fn coverage(&self) -> f64 {
        self.covered / self.runs
    }
}

impl std::fmt::Display for CoverageRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (mean, deviation) = (self.error / self.runs, (self.square / self.runs).sqrt());
        let (covered, always) = (self.coverage(), self.always / self.runs);
        let bias = self.bias();
        let (runs, width) = (self.runs, self.width / self.runs);
        write!(
            f,
            "{runs} runs: mean error {mean:+.4} ({bias:+.1} deviations), spread {deviation:.4}, width {width:.4}, "
        )?;
        write!(f, "covers {covered:.3} once, {always:.3} always")
    }
}
