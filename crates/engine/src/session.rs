//! People label what the engine asks for: who gets which item, until when, and what becomes of what they say.
//!
//! A state machine without clock, disk or threads: moments come in as arguments, what happens goes out as [`SessionEvent`] to be
//! written down, and the state is the fold of that. Learning runs elsewhere: [`Session::work`] is a job for an [`Apprentice`],
//! [`Session::adopt`] takes what it learned; nobody waits for it. An item is drawn in proportion to its U under the model
//! at hand, among all items not drawn before, so the probability of every draw is exact whoever was asked and whenever the model
//! changed.

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

/// How a session goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// What labels are.
    pub labels: Labels,
    /// How many people are asked of each item.
    pub overlap: usize,
    /// How many items are to be labelled, if not all.
    pub budget: Option<usize>,
    /// How long an item is kept for somebody, in milliseconds.
    pub lease: u64,
    /// The seed of all chance.
    pub seed: u64,
}

/// A point of the learning curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// Labels.
    pub labels: u64,
    /// The estimated score.
    pub value: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// People labelling a pool.
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
    /// Asks that need another annotator, and what each person cannot have of them.
    queues: Queues,
    agreements: Agreements,
    /// When leases end.
    deadlines: BTreeSet<(u64, u64, usize)>,
    /// Asks with a label, in the order they got it.
    labelled: Vec<u64>,
    unsure: usize,
    /// Asks that are with somebody or wait for somebody.
    pending: usize,
    by_label: BTreeMap<u64, usize>,
    /// The last asks before the pool grew.
    before_growth: u64,
    table: Table,
    model: Model,
    /// Counts changes of what there is to learn from.
    version: u64,
    curve: Vec<Reading>,
    /// When answers came, by the clock that only goes forward.
    recent: std::collections::VecDeque<u64>,
    /// Items that were drawn and are no longer in the pool.
    missing: Vec<Arc<str>>,
    /// Items that were drawn and have another content now. They are skipped in training and not drawn again.
    changed: Vec<Arc<str>>,
    changed_rows: Vec<usize>,
}

/// The model at hand.
struct Model {
    scorer: Scorer,
    labels: u64,
    is_cold: bool,
    /// The version of the session it was learned from.
    version: u64,
    assessment: Option<Assessment>,
    advice: Option<Advice>,
    /// The scale of a rule in units of the pool.
    scale: Option<Scale>,
}

impl Model {
    /// Before anything was learned.
    fn none(study: &Study, task: &dyn Task) -> Self {
        let parameters = (study.rows.dim() + 1) * task.outputs();
        let scorer = Scorer::new(task.outputs(), &vec![0.0; parameters]);
        Self { scorer, labels: 0, is_cold: true, version: 0, assessment: None, advice: None, scale: None }
    }
}

/// What a piece of work was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Counts changes of what there is to learn from.
    version: u64,
    asks: u64,
    acts: u64,
}

/// Somebody who labels.
struct Person {
    name: Arc<str>,
    /// What they have, in the order they should see it.
    held: Vec<u64>,
    /// The numbers of what they said, which may be withdrawn by now.
    said: Vec<u64>,
    answered: usize,
}

/// Something somebody said, or withdrew.
struct Act {
    ask: u64,
    person: usize,
    /// `None` for a withdrawal.
    given: Option<Response>,
    /// What a withdrawal withdrew.
    of: u64,
    stands: bool,
}

impl Session {
    /// Nothing asked yet. The task is what labels and scores mean.
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

    /// Room for so many asks and answers.
    pub fn reserve(&mut self, asks: usize, answers: usize) {
        self.asks.reserve(asks);
        self.acts.reserve(answers);
        self.keys.reserve(answers);
    }

    /// What is labelled.
    pub fn study(&self) -> &Arc<Study> {
        &self.study
    }

    /// How the session goes.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Whether there is something to learn that the model does not know.
    pub fn is_behind(&self) -> bool {
        self.model.version < self.version
    }

    /// What there is to learn from, and a mark of where it was made.
    ///
    /// Items that were drawn and have no label are left out of the pool of estimates: the chance of a draw is taken among the
    /// others, as if their mean U were that of all. Draws made before the pool grew, and imported labels, are learned from only.
    pub fn work(&self) -> (Work, Mark) {
        // What people said here counts before what was brought along.
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

    /// Takes what was learned from the work of a mark; what is measured is a new point of the curve.
    pub fn adopt(&mut self, learned: Learned, mark: Mark, now: Moment, happened: &mut Vec<SessionEvent>) {
        if mark.version < self.model.version {
            return;
        }
        let (digest, labels) = (self.study.parameter_digest(&learned), learned.labels);
        let taken = SessionEvent::Fitted { asks: mark.asks, acts: mark.acts, labels, digest, at: now.clock };
        self.happen(taken, now.tick, happened);
        if let Some(assessment) = &learned.assessment {
            let labels = assessment.readings.len() as u64;
            let known = self.curve.last().is_some_and(|last| labels <= last.labels);
            if !known {
                let score = &assessment.score;
                let (value, low, high) = (score.value, score.low, score.high);
                self.happen(SessionEvent::Measured { labels, value, low, high, at: now.clock }, now.tick, happened);
            }
        }
        self.take(learned, mark.version);
    }

    /// The model at hand is this one from now on.
    fn take(&mut self, learned: Learned, version: u64) {
        let Learned { scorer, uncertainty, least, labels, is_cold, assessment, advice, scale, .. } = learned;
        self.table = Table::new(uncertainty, least);
        self.remove_drawn();
        self.model = Model { scorer, labels, is_cold, version, assessment, advice, scale };
    }

    /// The scale of a rule in units of the pool, at the model at hand.
    pub fn scale(&self) -> Option<Scale> {
        self.model.scale
    }

    /// The pool has items that were not there when the last draws were made.
    pub fn grow(&mut self, now: Moment, happened: &mut Vec<SessionEvent>) {
        let asks = self.asks.len() as u64;
        if self.before_growth < asks {
            self.happen(SessionEvent::Grown { asks }, now.tick, happened);
        }
    }

    /// What the model that asked made of an item that turned out so.
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
