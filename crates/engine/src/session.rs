//! Labeling sessions: the assignment of items to annotators, leases, and the processing of answers.
//!
//! A session is a state machine without clock, disk or threads. Times are arguments; events are returned as
//! [`SessionEvent`] to be recorded, and the state is the fold of these. Learning runs elsewhere: [`Session::work`] is a
//! job for an [`Apprentice`], and [`Session::adopt`] takes its result, so that no annotator waits. An item is drawn in
//! proportion to its U under the current model, among all items not drawn before. So the probability of every draw is
//! exact, whoever was asked and whenever the model changed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
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
mod count_tree;
mod fold;
mod event;
mod hand;
mod learn;
mod queue;
mod replay;
mod skipped;
mod status;
mod table;

pub use agreement::Agreement;
pub use answer::{Outcome, Refused, Remembered, Undo};
pub use ask::consensus;
pub use event::{Guess, Moment, Odds, Prediction, Response, SessionEvent};
pub use hand::{Handed, NoMore};
pub use learn::{Answer, Apprentice, DisplayedContent, Learned, Study, Work};
pub use replay::{Difference, Plan, Replay, Replayed};
pub use skipped::name_ids;
pub use status::Status;

use agreement::Agreements;
use ask::{Ask, Standing};
use queue::Queues;
use table::Table;

/// The settings of a session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// The kind of labels.
    pub labels: Labels,
    /// The number of annotators per item.
    pub overlap: usize,
    /// The number of items to label; `None` for all.
    pub budget: Option<usize>,
    /// The duration of a lease in milliseconds.
    pub lease: u64,
    /// The random seed.
    pub seed: u64,
}

/// A point of the learning curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
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
pub struct Session {
    study: Arc<Study>,
    task: Box<dyn Task>,
    settings: Settings,
    coin: Coin,
    places: HashMap<Arc<str>, usize>,
    asks: Vec<Ask>,
    people: Vec<Person>,
    names: HashMap<Arc<str>, usize>,
    acts: Vec<Act>,
    keys: HashMap<Arc<str>, u64>,
    /// Asks that need another annotator, and those that each annotator cannot have.
    queues: Queues,
    agreements: Agreements,
    /// The ends of leases: tick, ask, annotator.
    deadlines: BTreeSet<(u64, u64, usize)>,
    /// Labeled asks, in the order they got their label.
    labelled: Vec<u64>,
    unsure: usize,
    /// The number of asks that are leased or need an annotator.
    pending: usize,
    by_label: BTreeMap<u64, usize>,
    /// The number of asks before the pool last grew.
    before_growth: u64,
    table: Table,
    model: Model,
    /// The number of changes to the training data.
    version: u64,
    curve: Vec<Reading>,
    /// The times of recent answers, by the monotonic clock.
    recent: std::collections::VecDeque<u64>,
    /// Drawn items that are no longer in the pool.
    missing: Vec<Arc<str>>,
    /// Drawn items whose content has changed since. Training skips them, and they are not drawn again.
    changed: Vec<Arc<str>>,
    changed_rows: Vec<usize>,
}

/// The current model.
struct Model {
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

impl Model {
    /// Returns the model before any training.
    fn none(study: &Study, task: &dyn Task) -> Self {
        let parameters = (study.rows.dim() + 1) * task.outputs();
        let scorer = Scorer::new(task.outputs(), &vec![0.0; parameters]);
        Self { scorer, labels: 0, is_cold: true, version: 0, assessment: None, advice: None, scale: None }
    }
}

/// The state of a session at which a job was created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The number of changes to the training data.
    version: u64,
    asks: u64,
    acts: u64,
}

/// An annotator.
struct Person {
    name: Arc<str>,
    /// Leased asks, in the order to show them.
    held: Vec<u64>,
    /// The numbers of their answers, some of which may have been withdrawn.
    said: Vec<u64>,
    answered: usize,
}

/// An answer or a withdrawal.
struct Act {
    ask: u64,
    person: usize,
    /// `None` for a withdrawal.
    given: Option<Response>,
    /// The number of the withdrawn answer.
    of: u64,
    stands: bool,
}

impl Session {
    /// Creates a session without asks. The task defines the meaning of labels and scores.
    pub fn new(study: Arc<Study>, task: Box<dyn Task>, settings: Settings) -> Self {
        let places = study.ids.iter().enumerate().map(|(place, id)| (Arc::clone(id), place)).collect();
        let imported = study.imported.iter().map(|(row, _)| *row);
        let table = Table::uniform(study.rows.len()).without(imported);
        let model = Model::none(&study, &*task);
        Self {
            coin: Coin::new(settings.seed, "session"),
            study,
            task,
            settings,
            places,
            asks: vec![],
            people: vec![],
            names: HashMap::new(),
            acts: vec![],
            keys: HashMap::new(),
            queues: Queues::default(),
            agreements: Agreements::default(),
            deadlines: BTreeSet::new(),
            labelled: vec![],
            unsure: 0,
            pending: 0,
            by_label: BTreeMap::new(),
            before_growth: 0,
            table,
            model,
            version: 1,
            curve: vec![],
            recent: std::collections::VecDeque::new(),
            missing: vec![],
            changed: vec![],
            changed_rows: vec![],
        }
    }

    /// Reserves capacity for this many asks and answers.
    pub fn reserve(&mut self, asks: usize, answers: usize) {
        self.asks.reserve(asks);
        self.acts.reserve(answers);
        self.keys.reserve(answers);
    }

    /// Returns the pool and its learner.
    pub fn study(&self) -> &Arc<Study> {
        &self.study
    }

    /// Returns the settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns whether there is training data that the model has not used.
    pub fn is_behind(&self) -> bool {
        self.model.version < self.version
    }

    /// Returns a training job, and a mark of the state it was created from.
    ///
    /// Drawn items without a label are excluded from the pool of estimates. Probabilities of draws are taken among the
    /// others, as if their mean U equaled that of all. Draws made before the pool grew, and imported labels, are used
    /// only for training.
    pub fn work(&self) -> (Work, Mark) {
        // Labels from this session take precedence over imported ones.
        let mut given = self.study.imported.clone();
        if !given.is_empty() {
            let asked: std::collections::HashSet<usize> = self.asks.iter().filter_map(|ask| ask.row).collect();
            given.retain(|(row, _)| !asked.contains(row));
        }
        let mut answers = vec![];
        for number in &self.labelled {
            let ask = &self.asks[*number as usize - 1];
            let (Some(row), Standing::Labelled(label)) = (ask.row, ask.standing) else { continue };
            if *number <= self.before_growth {
                given.push((row, label));
            } else {
                answers.push(Answer { drawn: drawn(row, ask), label, loss: self.loss(ask, label) });
            }
        }
        let first = self.asks.get(self.before_growth as usize);
        let at_start = first.map_or(self.table.left(), |ask| ask.odds.left);
        let drawn = self.asks.len() - self.before_growth as usize;
        let askable = (at_start - drawn.min(at_start) + answers.len()).max(answers.len());
        (Work { given, answers, askable }, self.mark())
    }

    fn mark(&self) -> Mark {
        Mark { version: self.version, asks: self.asks.len() as u64, acts: self.acts.len() as u64 }
    }

    /// Adopts the model trained on the job of a mark, unless a newer one is in use. Adds a point to the learning curve
    /// if there is an estimate for more labels.
    pub fn adopt(&mut self, learned: Learned, mark: Mark, now: Moment, events: &mut Vec<SessionEvent>) {
        if mark.version < self.model.version {
            return;
        }
        let (digest, labels) = (self.study.parameter_digest(&learned), learned.labels);
        let taken = SessionEvent::Fitted { asks: mark.asks, acts: mark.acts, labels, digest, at: now.clock };
        self.happen(taken, now.tick, events);
        if let Some(assessment) = &learned.assessment {
            let labels = assessment.readings.len() as u64;
            let known = self.curve.last().is_some_and(|last| labels <= last.labels);
            if !known {
                let score = &assessment.score;
                let (value, low, high) = (score.value, score.low, score.high);
                self.happen(SessionEvent::Measured { labels, value, low, high, at: now.clock }, now.tick, events);
            }
        }
        self.take(learned, mark.version);
    }

    /// Replaces the current model.
    fn take(&mut self, learned: Learned, version: u64) {
        let Learned { scorer, uncertainty, least, labels, is_cold, assessment, advice, scale, .. } = learned;
        self.table = Table::new(uncertainty, least);
        self.remove_drawn();
        self.model = Model { scorer, labels, is_cold, version, assessment, advice, scale };
    }

    /// Returns the scale of a rule in units of the pool, under the current model.
    pub fn scale(&self) -> Option<Scale> {
        self.model.scale
    }

    /// Records that the pool has items that earlier draws could not draw.
    pub fn grow(&mut self, now: Moment, events: &mut Vec<SessionEvent>) {
        let asks = self.asks.len() as u64;
        if self.before_growth < asks {
            self.happen(SessionEvent::Grown { asks }, now.tick, events);
        }
    }

    /// Returns the loss of the model that asked, given the label of the item: 1 or 0 for classes.
    fn loss(&self, ask: &Ask, label: f64) -> f64 {
        let guess = ask.guess.likeliest.first().map_or(f64::NAN, |likeliest| likeliest.label);
        if self.task.is_classification() {
            f64::from(u8::from(guess != label))
        } else {
            self.task.loss(&[guess], label)
        }
    }

    fn ask(&self, number: u64) -> Option<&Ask> {
        self.asks.get((number as usize).checked_sub(1)?)
    }

    fn is_numbers(&self) -> bool {
        self.settings.labels == Labels::Numbers
    }
}

fn drawn(row: usize, ask: &Ask) -> Drawn {
    let Odds { uncertainty, total, left, least } = ask.odds;
    Drawn {
        row,
        uncertainty,
        probability: Some(ask.odds.probability()),
        tries: 0,
        inverse_rate: left as f64 / total,
        fallback: false,
        rate: Some(total / left as f64),
        scale: None,
        least,
    }
}
