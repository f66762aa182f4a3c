//! The recorded events of streams and pools. The state of a learner is the fold of its events.

use querist_engine::exact;
use querist_engine::pool::Drawn;
use querist_engine::rule::Scale;
use querist_ledger::{Ledger, Record};
use serde::{Deserialize, Serialize};

use crate::error::{Context, Result, ensure};

/// An event of a run. The names of variants and fields are those of the ledger.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunEvent {
    /// Consecutive items of a stream. A block of no items records the sums after rejected rows.
    Considered {
        /// The time of the first item.
        first: u64,
        /// The number of items.
        count: u64,
        /// Running sums at the end of the block.
        sums: Sums,
        /// The probability of each item, queried or not; the bulk data of the record.
        #[serde(skip)]
        probabilities: Vec<f64>,
    },
    /// A query for a label.
    Asked {
        /// The time of the query, unique among queries.
        time: u64,
        /// The id of the item.
        id: String,
        /// The probability of the query, if there is one.
        #[serde(with = "exact::option", skip_serializing_if = "Option::is_none", default)]
        probability: Option<f64>,
        /// The number of proposals of the draw, where rows are proposed.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        tries: Option<u64>,
        /// The details of a draw from a pool.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        draw: Option<RecordedDraw>,
        /// The encoded row; the bulk data of the record.
        #[serde(skip)]
        features: Vec<u8>,
    },
    /// An answer to a query.
    Answered {
        /// The time of the query.
        ask: u64,
        /// The label.
        #[serde(with = "exact")]
        label: f64,
        /// The number of items considered when the answer was applied.
        at: u64,
        /// The annotator, if recorded.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        annotator: Option<String>,
    },
}

/// Running sums of a stream, at the end of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Sums {
    /// Rows read, including those held out.
    pub looked: u64,
    /// Rows with a known label; only these count in `loss` and `right`.
    pub labeled: u64,
    /// Σ loss before the label was used.
    #[serde(with = "exact")]
    pub loss: f64,
    /// Rows classified correctly before the label was used.
    pub right: u64,
    /// The number of features.
    pub dim: usize,
    /// Rows that were skipped as unreadable.
    pub skipped: u64,
    /// Cells whose category first appeared after the warm-up.
    pub unknown: u64,
}

impl Sums {
    /// Returns the mean loss of rows before their labels were used; `None` before the first label.
    pub fn progressive_loss(&self) -> Option<f64> {
        (0 < self.labeled).then(|| self.loss / self.labeled as f64)
    }

    /// Returns the share of rows that were classified correctly before their labels were used.
    pub fn progressive_accuracy(&self) -> Option<f64> {
        (0 < self.labeled).then(|| self.right as f64 / self.labeled as f64)
    }
}

/// A draw from a pool.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct RecordedDraw {
    /// The index of the row in the pool.
    pub row: usize,
    /// U of the row.
    #[serde(with = "exact")]
    pub uncertainty: f64,
    /// 1/mean of U, the weight of the step.
    #[serde(with = "exact")]
    pub inverse_rate: f64,
    /// `true` if too many proposals were rejected, so that the draw scanned the pool.
    pub fallback: bool,
    /// The mean of U over the remaining rows, for a learner that fits.
    #[serde(with = "exact::option", skip_serializing_if = "Option::is_none", default)]
    pub rate: Option<f64>,
    /// The scale of a rule in units of the pool.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub scale: Option<RecordedScale>,
}

/// The scale of a rule in units of the pool.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct RecordedScale {
    /// The scale τ, over which U falls by a factor of e.
    #[serde(with = "exact")]
    pub reach: f64,
    /// The gap up to which U is 1.
    #[serde(with = "exact", skip_serializing_if = "is_zero", default)]
    pub from: f64,
    /// The constant added to U.
    #[serde(with = "exact")]
    pub base: f64,
    /// The class with the fewest answers.
    pub rarest: usize,
}

/// Returns whether a number is 0, and not −0, so that leaving it out loses nothing.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(value: &f64) -> bool {
    value.to_bits() == 0
}

impl RecordedDraw {
    /// Makes the record of a draw; includes its rate and scale only for a learner that fits.
    pub fn new(drawn: &Drawn, is_fitted: bool) -> Self {
        let scale = |Scale { reach, from, base, rarest }| RecordedScale { reach, from, base, rarest };
        Self {
            row: drawn.row,
            uncertainty: drawn.uncertainty,
            inverse_rate: drawn.inverse_rate,
            fallback: drawn.fallback,
            rate: drawn.rate.filter(|_| is_fitted),
            scale: drawn.scale.filter(|_| is_fitted).map(scale),
        }
    }

    /// Converts back to a draw.
    pub fn to_drawn(&self, probability: Option<f64>, tries: u64) -> Drawn {
        let scale = |&RecordedScale { reach, from, base, rarest }: &RecordedScale| Scale { reach, from, base, rarest };
        Drawn {
            row: self.row,
            uncertainty: self.uncertainty,
            probability,
            tries,
            inverse_rate: self.inverse_rate,
            fallback: self.fallback,
            rate: self.rate,
            scale: self.scale.as_ref().map(scale),
            least: 0.0,
        }
    }
}

impl RunEvent {
    /// Converts to a record of the ledger.
    pub fn to_record(&self) -> Result<Record> {
        let record = Record::encode(self)?;
        Ok(match self {
            Self::Considered { probabilities, .. } => {
                ensure!(probabilities.iter().all(|value| !value.is_nan()), "a probability is NaN");
                record.with_data(probabilities.iter().flat_map(|value| value.to_le_bytes()).collect())
            }
            Self::Asked { features, .. } => record.with_data(features.clone()),
            Self::Answered { .. } => record,
        })
    }

    /// Converts a record of the ledger.
    pub fn from_record(record: Record) -> Result<Self> {
        let mut event = record.decode()?;
        match &mut event {
            Self::Considered { count, probabilities, .. } => {
                let data = record.data.unwrap_or_default();
                ensure!(data.len() as u64 == 8 * *count, "a block of {count} items has {} bytes", data.len());
                probabilities.extend(data.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes)));
            }
            Self::Asked { features, .. } => *features = record.data.context("an ask has no features")?,
            Self::Answered { .. } => {}
        }
        Ok(event)
    }
}

/// Iterates over the events of the ledger of a stream or pool.
pub fn events(ledger: &Ledger) -> impl Iterator<Item = Result<RunEvent>> {
    ledger.records().map(|record| {
        let event = RunEvent::from_record(record?);
        event.with_context(|| format!("{}: not the ledger of a stream or pool", ledger.path().display()))
    })
}

#[cfg(test)]
mod tests {
    use super::{RecordedDraw, RecordedScale, RunEvent, Sums};

    /// Numbers that JSON or decimal digits could corrupt.
    const AWKWARD: [f64; 8] = [-0.0, 5e-324, f64::MAX, f64::INFINITY, f64::NEG_INFINITY, 0.1, 1e22, 1.0 / 3.0];

    #[test]
    fn events_come_back_to_the_bit() {
        for value in AWKWARD {
            let scale = RecordedScale { reach: value, from: value, base: value, rarest: 2 };
            let draw = RecordedDraw {
                row: 7,
                uncertainty: value,
                inverse_rate: value,
                fallback: true,
                rate: Some(value),
                scale: Some(scale),
            };
            let bare = RecordedDraw { rate: None, scale: None, ..draw.clone() };
            let ask = |probability, tries, draw| RunEvent::Asked {
                time: u64::MAX,
                id: "a\"b\0".to_owned(),
                probability,
                tries,
                draw,
                features: vec![0, 255],
            };
            let sums = Sums { looked: 1, labeled: 2, loss: value, right: 3, dim: 4, skipped: 5, unknown: 6 };
            let events = [
                RunEvent::Considered { first: 1, count: 8, sums, probabilities: AWKWARD.to_vec() },
                RunEvent::Considered { first: 1, count: 0, sums, probabilities: vec![] },
                ask(Some(value), Some(3), Some(draw)),
                ask(None, None, Some(bare)),
                ask(Some(value), None, None),
                RunEvent::Answered { ask: 1, label: value, at: 2, annotator: Some("Ada".to_owned()) },
                RunEvent::Answered { ask: 1, label: value, at: 2, annotator: None },
            ];
            for event in events {
                let found = RunEvent::from_record(event.to_record().unwrap()).unwrap();
                // The texts distinguish −0.0 from 0.0 and every number from its neighbors.
                assert_eq!(format!("{found:?}"), format!("{event:?}"));
            }
        }
    }

    #[test]
    fn nan_and_missing_data_are_errors() {
        let sums = Sums { loss: f64::NAN, ..Sums::default() };
        assert!(RunEvent::Considered { first: 1, count: 0, sums, probabilities: vec![] }.to_record().is_err());
        let (sums, probabilities) = (Sums::default(), vec![0.5, f64::NAN]);
        let block = RunEvent::Considered { first: 1, count: 2, sums, probabilities };
        assert!(block.to_record().is_err());
        let short = RunEvent::Considered { first: 1, count: 2, sums, probabilities: vec![0.5] }.to_record().unwrap();
        assert!(RunEvent::from_record(short).unwrap_err().to_string().contains("a block of 2 items has 8 bytes"));
    }
}
