//! Partial results of a comparison, shown below its progress bar.

use querist_engine::compare::{Criterion, Entrant, FinishedRun};
use querist_engine::stats::mean;

use super::results::shown;
use crate::run::progress::ProgressMeter;

/// The progress of a comparison and the scores of its finished runs.
pub(super) struct PartialResults<'a> {
    meter: ProgressMeter,
    criterion: &'a Criterion,
    entrants: &'a [Entrant],
    runs: u64,
    /// The last score of each entrant, for each seed.
    scores: Vec<Vec<Option<f64>>>,
}

impl<'a> PartialResults<'a> {
    pub(super) fn new(criterion: &'a Criterion, entrants: &'a [Entrant], seeds: usize, quiet: bool) -> Self {
        // Each seed also has a fit to all labels.
        let runs = (seeds * (entrants.len() + 1)) as u64;
        let meter = ProgressMeter::new(Some(runs), "runs", quiet);
        Self { meter, criterion, entrants, runs: 0, scores: vec![vec![None; entrants.len()]; seeds] }
    }

    /// Records a finished run. Updates the means once all entrants of a seed are done.
    pub(super) fn record(&mut self, finished: FinishedRun<'_>) {
        self.runs += 1;
        self.meter.at(self.runs);
        let Some(entrant) = finished.entrant else { return };
        let score = finished.run.points.last().map_or(f64::NAN, |(_, scores)| self.criterion.value(scores));
        self.scores[finished.seed][entrant] = Some(score);
        if self.scores[finished.seed].iter().all(Option::is_some) {
            self.meter.note(self.means());
        }
    }

    /// Returns the mean last score of each entrant over the seeds that are done.
    fn means(&self) -> String {
        let done: Vec<Vec<f64>> = self.scores.iter().filter_map(|seed| seed.iter().copied().collect()).collect();
        let mean_of = |entrant: usize| mean(&done.iter().map(|scores| scores[entrant]).collect::<Vec<f64>>());
        let metric = self.criterion.metric();
        let means: Vec<String> = (0..self.entrants.len())
            .map(|entrant| format!("{} {}", self.entrants[entrant].name, shown(mean_of(entrant), metric)))
            .collect();
        format!("{} after {} of {} seeds: {}", metric.title(), done.len(), self.scores.len(), means.join(", "))
    }

    /// Removes the progress bar.
    pub(super) fn finish(&self) {
        self.meter.done();
    }
}
