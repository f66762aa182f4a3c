//! Labeling sessions: the assignment of items to annotators, leases, and the processing of answers.
//!
//! A session is a state machine without clock, disk or threads. Times are arguments; events are returned as
//! [`SessionEvent`] to be recorded, and the state is the fold of these. Training runs elsewhere: [`Session::fit_job`]
//! is a job for a [`BackgroundFitter`], and [`Session::adopt`] takes its result, so that no annotator waits. An item is
//! drawn in proportion to its U under the current model, or its cold start, among all items not drawn before. So the
//! probability of every draw is exact, whoever was asked and whenever the model changed. Only draws of the most uncertain
//! item ([`Draw::Top`](crate::pool::Draw::Top)) have none.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use crate::coin::Coin;
use crate::pool::{Assessment, Drawn};
use crate::rule::Scale;
use crate::scorer::Scorer;
use crate::stop::Advice;
use crate::task::{Labels, Task};

mod agreement;
mod answer;
mod ask;
mod assignment;
mod cold_start;
mod count_tree;
mod event;
mod fitter;
mod fold;
mod ids;
mod labeling_pool;
mod queue;
mod replay;
mod sampling_table;
mod skipped;
mod status;

pub use agreement::Agreement;
pub use answer::{AnswerOutcome, AnswerSummary, AskedItem, Rejection};
pub use ask::consensus;
pub use assignment::{Assignment, NoMore};
pub use event::{DrawTerms, ModelPrediction, PredictedLabel, RecordedBin, Response, SessionEvent, SessionTime};
pub use fitter::{AnsweredDraw, BackgroundFitter, FitJob, FittedModel};
pub use ids::{AnswerId, AskId, LabelValue, RowId};
pub use labeling_pool::{ContentOfRow, LabelingPool};
pub use replay::{Replay, ReplayDifference, ReplayPlan, ReplayReport};
pub use skipped::name_ids;
pub use status::SessionStatus;

use agreement::Agreements;
use ask::{AskState, AskStatus};
use cold_start::SessionColdStart;
use ids::IdVec;
use queue::Queues;
use sampling_table::SamplingTable;

/// The settings of a session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SessionSettings {
    /// The kind of labels.
    pub labels: Labels,
    /// The number of annotators per item.
    pub overlap: usize,
    /// The number of items to label; `None` for all.
    pub budget: Option<usize>,
    /// The duration of a lease in milliseconds.
    pub lease_ms: u64,
    /// The random seed.
    pub seed: u64,
}

/// A point of the learning curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LearningCurvePoint {
    /// The number of labels.
    pub labels: u64,
    /// The estimated score.
    pub value: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// A labeling session on a pool.
///
/// ```
/// use std::sync::Arc;
///
/// use querist_engine::session::{LabelValue, Response, Session, SessionSettings, SessionTime};
/// use querist_engine::task::Labels;
/// # use querist_engine::fit::Refit;
/// # use querist_engine::learner::Learner;
/// # use querist_engine::optimizer::{Clock, Constraint, Momentum, Optimizer};
/// # use querist_engine::pool::{ColdDraws, Draw, Objective, RefitPool, RefitSettings, StartRows};
/// # use querist_engine::session::LabelingPool;
/// # use querist_engine::step::{StepSize, Steps};
/// # use querist_engine::stop::StopRule;
/// # use querist_engine::stream::Rules;
/// # use querist_engine::{rule, task};
/// # use querist_rows::{DenseRows, Rows};
///
/// # let values = vec![-1.0, -0.1, 0.2, 0.9];
/// # let rows = Rows::Dense(DenseRows::from_values(1, values).expect("whole rows"));
/// # let learner = || {
/// #     let task = || task::parse("logistic", Labels::Binary).unwrap();
/// #     let optimizer = Optimizer::new(Momentum::None, Clock::Query, Constraint::default());
/// #     let learner = Learner::new(task(), true, 1, optimizer, Steps::new(StepSize::Auto), None).unwrap();
/// #     let rules = Rules::only(rule::parse("entropy", "logistic", Labels::Binary).unwrap());
/// #     let refit = Refit::new(&*task(), true, Rows::Dense(DenseRows::new(1)), None, 1).unwrap();
/// #     let (objective, labels) = (Objective::AsAsked, Labels::Binary);
/// #     let settings = RefitSettings { draw: Draw::Scan, seed: 1, refit, objective, labels };
/// #     RefitPool::new(learner, rules, 4, settings).unwrap()
/// # };
/// # let pool = LabelingPool {
/// #     rows,
/// #     renumbered: None,
/// #     ids: vec!["a".into(), "b".into(), "c".into(), "d".into()],
/// #     content: Box::new(|row| row.0.to_string()),
/// #     fingerprints: vec![0; 4],
/// #     hidden: vec![],
/// #     imported: vec![],
/// #     changed_imports: vec![],
/// #     draw: Draw::Scan,
/// #     cold_draws: ColdDraws::Random,
/// #     start: StartRows::default(),
/// #     learner: Box::new(learner),
/// #     stop: StopRule::Budget(4),
/// # };
/// // `pool` is a `LabelingPool` of four items.
/// let settings = SessionSettings { labels: Labels::Binary, overlap: 1, budget: None, lease_ms: 300_000, seed: 7 };
/// let mut session = Session::new(Arc::new(pool), task::parse("logistic", Labels::Binary)?, settings);
/// let (ada, key): (Arc<str>, Arc<str>) = ("Ada".into(), "answer-1".into());
/// let (now, mut events) = (SessionTime::default(), vec![]);
/// let ask = session.next(&ada, 1, now, &mut events).asks[0];
/// let response = Response::Label(LabelValue(1.0));
/// session.answer(&ada, ask, &key, response, now, &mut events).expect("the answer is accepted");
/// assert_eq!((session.status(0).answered, events.len()), (1, 2));
/// # Ok::<(), querist_theory::registry::NameError>(())
/// ```
pub struct Session {
    pool: Arc<LabelingPool>,
    task: Box<dyn Task>,
    settings: SessionSettings,
    coin: Coin,
    rows_by_id: HashMap<Arc<str>, RowId>,
    asks: IdVec<AskId, AskState>,
    annotators: Vec<Annotator>,
    annotators_by_name: HashMap<Arc<str>, usize>,
    /// Answers and withdrawals.
    entries: IdVec<AnswerId, AnswerEntry>,
    keys: HashMap<Arc<str>, AnswerId>,
    /// Asks that need another annotator, and those that each annotator cannot have.
    queues: Queues,
    agreements: Agreements,
    /// The ends of leases: tick, ask, annotator.
    deadlines: BTreeSet<(u64, AskId, usize)>,
    /// Labeled asks, in the order they got their label.
    labeled: Vec<AskId>,
    unsure: usize,
    /// The number of asks that are leased or need an annotator.
    pending: usize,
    /// The number of items with each label, by its bits.
    by_label: BTreeMap<u64, usize>,
    /// The number of asks before the pool last grew.
    before_growth: u64,
    table: SamplingTable,
    cold: SessionColdStart,
    model: SessionModel,
    /// The number of changes to the training data.
    version: u64,
    curve: Vec<LearningCurvePoint>,
    /// The times of recent answers, by the monotonic clock.
    recent: VecDeque<u64>,
    /// Drawn items that are no longer in the pool.
    missing: Vec<Arc<str>>,
    /// Drawn items whose content has changed since. Training skips them, and they are not drawn again.
    changed: Vec<Arc<str>>,
    changed_rows: Vec<RowId>,
}

/// The current model.
struct SessionModel {
    scorer: Scorer,
    labels: u64,
    is_cold: bool,
    /// The version of the training data it was fitted to.
    version: u64,
    assessment: Option<Assessment>,
    advice: Option<Advice>,
    /// The scale of a rule in units of the pool.
    scale: Option<Scale>,
}

impl SessionModel {
    /// Returns the model before any training.
    fn untrained(pool: &LabelingPool, task: &dyn Task) -> Self {
        let parameters = (pool.rows.dim() + 1) * task.outputs();
        let scorer = Scorer::new(task.outputs(), &vec![0.0; parameters]);
        Self { scorer, labels: 0, is_cold: true, version: 0, assessment: None, advice: None, scale: None }
    }
}

/// The position in a session at which a job was created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionPosition {
    /// The number of changes to the training data.
    version: u64,
    /// The number of asks.
    asks: u64,
    /// The number of answers and withdrawals.
    entries: u64,
}

/// An annotator.
struct Annotator {
    name: Arc<str>,
    /// Leased asks, in the order to show them.
    held: Vec<AskId>,
    /// Their answers, some of which may have been replaced or withdrawn.
    answers: Vec<AnswerId>,
    /// The number of their active labels.
    labels: usize,
}

/// An answer or a withdrawal.
struct AnswerEntry {
    ask: AskId,
    annotator: usize,
    kind: EntryKind,
    /// `false` if it is an answer that was replaced or withdrawn.
    is_active: bool,
}

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq)]
enum EntryKind {
    Answer(Response),
    Withdrawal { of: AnswerId },
}

impl Session {
    /// Creates a session without asks. The task defines the meaning of labels and scores.
    pub fn new(pool: Arc<LabelingPool>, task: Box<dyn Task>, settings: SessionSettings) -> Self {
        let rows_by_id = pool.ids.iter().enumerate().map(|(row, id)| (Arc::clone(id), RowId(row))).collect();
        let imported = pool.imported.iter().map(|(row, _)| *row);
        let table = SamplingTable::uniform(pool.rows.len()).without(imported);
        let model = SessionModel::untrained(&pool, &*task);
        let cold = SessionColdStart::default();
        Self {
            coin: Coin::new(settings.seed, "session"),
            pool,
            task,
            settings,
            rows_by_id,
            asks: IdVec::default(),
            annotators: vec![],
            annotators_by_name: HashMap::new(),
            entries: IdVec::default(),
            keys: HashMap::new(),
            queues: Queues::default(),
            agreements: Agreements::default(),
            deadlines: BTreeSet::new(),
            labeled: vec![],
            unsure: 0,
            pending: 0,
            by_label: BTreeMap::new(),
            before_growth: 0,
            table,
            cold,
            model,
            version: 1,
            curve: vec![],
            recent: VecDeque::new(),
            missing: vec![],
            changed: vec![],
            changed_rows: vec![],
        }
    }

    /// Reserves capacity for this many asks and answers.
    pub fn reserve(&mut self, asks: usize, answers: usize) {
        self.asks.reserve(asks);
        self.entries.reserve(answers);
        self.keys.reserve(answers);
    }

    /// Returns the pool and its learner.
    pub fn pool(&self) -> &Arc<LabelingPool> {
        &self.pool
    }

    /// Returns the settings.
    pub fn settings(&self) -> &SessionSettings {
        &self.settings
    }

    /// Returns whether there is training data that the model has not used.
    pub fn is_behind(&self) -> bool {
        self.model.version < self.version
    }

    /// Returns a training job, and the position it was created at.
    ///
    /// Drawn items without a label are excluded from the pool of estimates. Probabilities of draws are taken among the
    /// others, as if their mean U equaled that of all. Draws made before the pool grew, and imported labels, are used
    /// only for training.
    pub fn fit_job(&self) -> (FitJob, SessionPosition) {
        // Labels from this session take precedence over imported ones.
        let mut seed_labels = self.pool.imported.clone();
        if !seed_labels.is_empty() {
            let asked: HashSet<RowId> = self.asks.iter().filter_map(|ask| ask.row).collect();
            seed_labels.retain(|(row, _)| !asked.contains(row));
        }
        let mut draws = vec![];
        for id in &self.labeled {
            let ask = &self.asks[*id];
            let (Some(row), AskStatus::Labeled(label)) = (ask.row, ask.status) else { continue };
            if id.get() <= self.before_growth {
                seed_labels.push((row, label));
            } else {
                draws.push(AnsweredDraw { drawn: drawn(row, ask), label, loss: self.loss(ask, label) });
            }
        }
        let first = self.asks.get(AskId::new(self.before_growth + 1));
        let at_start = first.map_or(self.table.left(), |ask| ask.draw.left);
        let drawn = self.asks.len() - self.before_growth as usize;
        let askable = (at_start - drawn.min(at_start) + draws.len()).max(draws.len());
        (FitJob { seed_labels, draws, askable }, self.position())
    }

    fn position(&self) -> SessionPosition {
        SessionPosition { version: self.version, asks: self.asks.len() as u64, entries: self.entries.len() as u64 }
    }

    /// Adopts the model trained on the job of a position, unless a newer one is in use. Adds a point to the learning
    /// curve if there is an estimate for more labels.
    pub fn adopt(
        &mut self,
        model: FittedModel,
        position: SessionPosition,
        now: SessionTime,
        events: &mut Vec<SessionEvent>,
    ) {
        let SessionPosition { version, asks, entries } = position;
        if version < self.model.version {
            return;
        }
        let (digest, labels) = (self.pool.parameter_digest(&model), model.labels);
        self.emit(SessionEvent::Fitted { asks, acts: entries, labels, digest, at: now.clock }, now.tick, events);
        if let Some(assessment) = &model.assessment {
            let labels = assessment.readings.len() as u64;
            let is_new = self.curve.last().is_none_or(|last| last.labels < labels);
            if is_new {
                let score = &assessment.score;
                let (value, low, high) = (score.value, score.low, score.high);
                let reliability = assessment.reliability.iter().map(RecordedBin::from).collect();
                let at = now.clock;
                self.emit(SessionEvent::Measured { labels, value, low, high, reliability, at }, now.tick, events);
            }
        }
        self.set_model(model, version);
    }

    /// Replaces the current model.
    fn set_model(&mut self, model: FittedModel, version: u64) {
        let FittedModel { scorer, uncertainty, least, labels, is_cold, assessment, advice, scale, .. } = model;
        self.table = SamplingTable::new(uncertainty, least);
        self.remove_drawn();
        self.model = SessionModel { scorer, labels, is_cold, version, assessment, advice, scale };
    }

    /// Returns the scale of a rule in units of the pool, under the current model.
    pub fn scale(&self) -> Option<Scale> {
        self.model.scale
    }

    /// Records that the pool has items that earlier draws could not draw.
    pub fn grow(&mut self, now: SessionTime, events: &mut Vec<SessionEvent>) {
        let asks = self.asks.len() as u64;
        if self.before_growth < asks {
            self.emit(SessionEvent::Grown { asks }, now.tick, events);
        }
    }

    /// Returns the loss of the model that asked, given the label of the item: 1 or 0 for classes.
    fn loss(&self, ask: &AskState, label: LabelValue) -> f64 {
        let predicted = ask.prediction.likeliest.first().map_or(LabelValue(f64::NAN), |likeliest| likeliest.label);
        if self.task.is_classification() {
            f64::from(u8::from(predicted != label))
        } else {
            self.task.loss(&[predicted.0], label.0)
        }
    }

    fn is_numbers(&self) -> bool {
        self.settings.labels == Labels::Numbers
    }
}

fn drawn(row: RowId, ask: &AskState) -> Drawn {
    let DrawTerms { uncertainty, total, left, least } = ask.draw;
    Drawn {
        row: row.0,
        uncertainty,
        probability: ask.draw.probability(),
        tries: 0,
        inverse_rate: ask.draw.inverse_rate(),
        fallback: false,
        rate: total.map(|total| total / left as f64),
        scale: None,
        least,
    }
}
