//! Draws of a session before there are enough labels for a model.

use std::collections::BTreeSet;

use super::Session;
use super::event::DrawTerms;
use super::ids::{AskId, RowId};
use super::sampling_table::SamplingTable;
use crate::pool::{ColdDraws, Coverage, RemainingRows, least_labels, phase_of};

/// The cold start of a session, from its start or resumption to its first model.
#[derive(Default)]
pub(super) enum SessionColdStart {
    /// Nothing has been drawn yet.
    #[default]
    Unprepared,
    /// Items are drawn by coverage. It includes the imported items and this number of asks.
    Covering(Box<Coverage>, u64),
    /// Items are drawn uniformly.
    Uniform,
}

impl Session {
    /// Decides how items are drawn until a model is adopted: by coverage, or with some items first, if there are too few
    /// labels for a model. The decision is a function of the recorded events.
    pub(super) fn prepare_cold_start(&mut self) {
        let (answered, classes) = self.labels_so_far();
        let kind = self.settings.labels;
        let is_needed = answered < least_labels(kind) || classes < kind.classes();
        let is_uniform = self.pool.cold_draws == ColdDraws::Random && self.pool.start.is_empty();
        self.cold = if is_needed && !is_uniform {
            let mut coverage = Coverage::new(&self.pool.rows, self.settings.seed, &self.pool.start);
            self.pool.imported.iter().for_each(|(row, _)| coverage.cover(&self.pool.rows, row.0));
            SessionColdStart::Covering(Box::new(coverage), 0)
        } else {
            SessionColdStart::Uniform
        };
    }

    /// Returns the number of labels, including imported ones, and of classes that have one.
    fn labels_so_far(&self) -> (u64, usize) {
        let imported: BTreeSet<u64> = self.pool.imported.iter().map(|(_, label)| label.0.to_bits()).collect();
        let given = self.by_label.iter().filter(|(_, count)| 0 < **count).map(|(label, _)| label);
        let classes = given.chain(&imported).collect::<BTreeSet<_>>().len();
        ((self.labeled.len() + self.pool.imported.len()) as u64, classes)
    }

    /// Draws an item that covers the pool; `None` if there is a model, draws are uniform, or no item is left.
    pub(super) fn draw_by_coverage(&mut self, coin: f64) -> Option<(RowId, DrawTerms)> {
        if !self.model.is_cold {
            return None;
        }
        if matches!(self.cold, SessionColdStart::Unprepared) {
            self.prepare_cold_start();
        }
        if matches!(self.cold, SessionColdStart::Uniform) {
            return None;
        }
        let (answered, classes) = self.labels_so_far();
        let SessionColdStart::Covering(coverage, included) = &mut self.cold else { return None };
        for ask in *included..self.asks.len() as u64 {
            if let Some(row) = self.asks[AskId::new(ask + 1)].row {
                coverage.cover(&self.pool.rows, row.0);
            }
        }
        *included = self.asks.len() as u64;
        let phase = phase_of(self.pool.cold_draws, self.settings.labels, answered, classes);
        let drawn = coverage.draw(phase, &self.table, coin)?;
        let (uncertainty, total, left) = (drawn.uncertainty, drawn.total, self.table.left());
        Some((RowId(drawn.row), DrawTerms { uncertainty, total: Some(total), left, least: drawn.least() }))
    }
}

impl RemainingRows for SamplingTable {
    fn left(&self) -> usize {
        self.left()
    }

    fn is_left(&self, row: usize) -> bool {
        self.is_left(RowId(row))
    }

    fn nth_left(&self, n: usize) -> Option<usize> {
        self.remaining().nth(n).map(|row| row.0)
    }
}
