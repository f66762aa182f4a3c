//! Replay of a session: the same random numbers and models must draw the same items, bit for bit.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display};
use std::sync::Arc;

use super::event::{DrawTerms, ModelPrediction, SessionEvent};
use super::ids::AskId;
use super::{BackgroundFitter, FitJob, LabelingPool, Session};

/// Facts about a session that its replay needs in advance: when models were trained, and since when the pool has been
/// the current one.
#[derive(Clone, Debug, Default)]
pub struct ReplayPlan {
    /// The numbers of asks and of answers and withdrawals when a model was trained.
    positions: BTreeSet<(u64, u64)>,
    /// The pool of the last start: its items, and the number of them with a prior label.
    pool: Option<(u64, u64)>,
    /// The number of starts, and the first one since which the pool is the same.
    starts: usize,
    same_since: usize,
}

impl ReplayPlan {
    /// Processes the next recorded event.
    pub fn process(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::Fitted { asks, acts, .. } => {
                self.positions.insert((*asks, *acts));
            }
            SessionEvent::Started { items, imported, .. } => {
                self.starts += 1;
                if self.pool.replace((*items, *imported)) != Some((*items, *imported)) {
                    self.same_since = self.starts;
                }
            }
            _ => {}
        }
    }

    /// Returns whether the last start had this pool.
    fn has_pool(&self, pool: &LabelingPool) -> bool {
        self.pool == Some((pool.rows.len() as u64, pool.imported.len() as u64))
    }
}

/// The result of a replay.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ReplayReport {
    /// The number of draws reproduced exactly: the item, its U, the sum and the prediction.
    pub draws: u64,
    /// The number of models reproduced exactly.
    pub models: u64,
    /// The number of draws and models not compared, because they are of another pool or by a model that was not
    /// recorded.
    pub not_compared: u64,
    /// The number of draws and models that differ.
    pub differing: u64,
    /// The first differences.
    pub differences: Vec<ReplayDifference>,
    /// `true` if the last model had used all answers; `None` if there was none to compare.
    pub is_up_to_date: Option<bool>,
}

/// A difference between the record and the replay.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplayDifference {
    /// A draw.
    Draw {
        /// The ask.
        ask: AskId,
        /// The recorded item and the terms of its probability.
        recorded: (Arc<str>, DrawTerms),
        /// The item and terms in the replay.
        replayed: Option<(Arc<str>, DrawTerms)>,
        /// The predictions, recorded and replayed, if the draw itself is the same.
        predictions: Option<(ModelPrediction, ModelPrediction)>,
    },
    /// A model.
    Model {
        /// The number of answers and withdrawals before it.
        answers: u64,
        /// The number of labels it was trained on, recorded and replayed.
        labels: (u64, u64),
    },
}

impl Display for ReplayDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let drawn = |(id, terms): &(Arc<str>, DrawTerms)| {
            let how =
                terms.probability().map_or("without a probability".to_owned(), |p| format!("with probability {p}"));
            format!("{} {how} among {}", id.escape_debug(), terms.left)
        };
        match self {
            Self::Draw { ask, recorded, predictions: Some((was, is)), .. } => {
                write!(f, "ask {ask}, {}: the prediction was {was}; it is now {is}", recorded.0.escape_debug())
            }
            Self::Draw { ask, recorded, replayed, .. } => {
                let replayed = replayed.as_ref().map_or("nothing".to_owned(), drawn);
                write!(f, "ask {ask} was {}, now {replayed}", drawn(recorded))
            }
            Self::Model { answers, labels: (was, is) } if was == is => {
                write!(f, "the model of {was} labels after answer {answers} has other parameters now")
            }
            Self::Model { answers, labels: (was, is) } => {
                write!(f, "the model after answer {answers} learned from {was} labels, now from {is}")
            }
        }
    }
}

/// The number of differences that are reported in full.
const MAX_REPORTED: usize = 10;

/// A replay of a session.
pub struct Replay {
    session: Session,
    fitter: BackgroundFitter,
    plan: ReplayPlan,
    /// The jobs of models that are yet to be compared, by position.
    jobs: BTreeMap<(u64, u64), FitJob>,
    starts: usize,
    /// The number of answers and withdrawals when the last compared model was trained.
    last_fitted: Option<u64>,
    report: ReplayReport,
}

impl Replay {
    /// Creates a replay of a session at its start; the plan must have processed all events.
    pub fn new(session: Session, plan: ReplayPlan) -> Self {
        let fitter = BackgroundFitter::new(Arc::clone(&session.pool));
        let (jobs, report) = (BTreeMap::new(), ReplayReport::default());
        Self { session, fitter, plan, jobs, starts: 0, last_fitted: None, report }
    }

    /// Returns whether current events were drawn from the current pool.
    fn is_comparable(&self) -> bool {
        self.plan.has_pool(&self.session.pool) && self.plan.same_since <= self.starts
    }

    /// Processes the next recorded event, which must be a valid successor as checked by [`Session::can_follow`].
    pub fn process(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::Started { .. } => {
                self.starts += 1;
                self.session.begin();
            }
            SessionEvent::Fitted { asks, acts, labels, digest, .. } => self.fit((*asks, *acts), *labels, *digest),
            SessionEvent::Asked { ask, id, odds, guess, .. } => self.draw(*ask, id, *odds, guess),
            _ => {}
        }
        self.session.fold(event, 0);
        let position = (self.session.asks.len() as u64, self.session.entries.len() as u64);
        if self.plan.positions.contains(&position) && self.is_comparable() && !self.jobs.contains_key(&position) {
            self.jobs.insert(position, self.session.fit_job().0);
        }
    }

    fn fit(&mut self, position: (u64, u64), labels: u64, digest: u64) {
        let Some(job) = self.jobs.remove(&position).filter(|_| self.is_comparable()) else {
            self.report.not_compared += 1;
            return;
        };
        // Models are recorded in order, so jobs before this one are no longer needed.
        self.jobs.retain(|other, _| position <= *other);
        let model = self.fitter.fit(&job);
        if (model.labels, self.session.pool.parameter_digest(&model)) == (labels, digest) {
            self.report.models += 1;
        } else {
            self.add_difference(ReplayDifference::Model { answers: position.1, labels: (labels, model.labels) });
        }
        self.session.set_model(model, self.session.version);
        self.last_fitted = Some(position.1);
    }

    fn draw(&mut self, ask: AskId, id: &Arc<str>, recorded: DrawTerms, prediction: &ModelPrediction) {
        // A ledger without recorded models can still have draws by models.
        if !self.is_comparable() || (self.plan.positions.is_empty() && 0 < prediction.labels) {
            self.report.not_compared += 1;
        } else {
            let found = self.session.next_draw();
            let replayed = found.map(|(row, terms)| (Arc::clone(&self.session.pool.ids[row.0]), terms));
            let is_same = replayed.as_ref().is_some_and(|(found, terms)| found == id && bits(*terms) == bits(recorded));
            let predicted = found.map(|(row, _)| self.session.predict(row));
            if is_same && predicted.as_ref().is_some_and(|predicted| self.is_same_prediction(prediction, predicted)) {
                self.report.draws += 1;
            } else {
                let predictions = predicted.filter(|_| is_same).map(|predicted| (prediction.clone(), predicted));
                let recorded = (Arc::clone(id), recorded);
                self.add_difference(ReplayDifference::Draw { ask, recorded, replayed, predictions });
            }
        }
        if let Some(row) = self.session.rows_by_id.get(id) {
            self.session.table.remove(*row);
        }
    }

    /// Returns whether a model's prediction equals the recorded one. If the loss defines no probabilities, older
    /// ledgers have some anyway, which are ignored.
    fn is_same_prediction(&self, recorded: &ModelPrediction, replayed: &ModelPrediction) -> bool {
        let label = |prediction: &ModelPrediction| prediction.likeliest.first().map(|predicted| predicted.label);
        if self.session.has_probabilities() {
            return recorded == replayed;
        }
        (label(recorded), recorded.labels) == (label(replayed), replayed.labels)
    }

    fn add_difference(&mut self, difference: ReplayDifference) {
        self.report.differing += 1;
        if self.report.differences.len() < MAX_REPORTED {
            self.report.differences.push(difference);
        }
    }

    /// Returns the result and the session in its final state.
    pub fn end(mut self) -> (ReplayReport, Session) {
        self.report.is_up_to_date = self.last_fitted.map(|entries| entries == self.session.entries.len() as u64);
        (self.report, self.session)
    }
}

fn bits(terms: DrawTerms) -> (u64, Option<u64>, usize, u64) {
    (terms.uncertainty.to_bits(), terms.total.map(f64::to_bits), terms.left, terms.least.to_bits())
}
