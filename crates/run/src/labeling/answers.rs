//! The asks and answers of a labeling session, from its ledger.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use querist_engine::session::{AnswerId, AskId, DrawTerms, LearningCurvePoint, RecordedBin, Response, SessionEvent};
use querist_ledger::Ledger;
use querist_rows::Digest;

use crate::error::{Context, Result, bail, ensure};

/// A recorded ask.
#[non_exhaustive]
pub struct RecordedAsk {
    /// The id of the item.
    pub id: Arc<str>,
    /// The digest of the displayed content; `None` in ledgers before version 3.
    pub content: Option<Digest>,
    /// The digest of the cells that are learned from and not displayed.
    pub hidden: Option<Digest>,
    /// 53 bits of a hash of the cells, in ledgers before version 3.
    pub fingerprint: Option<u64>,
    /// The terms of the probability of its draw.
    pub draw: DrawTerms,
    /// `true` if there was no model yet.
    pub is_cold: bool,
}

/// A recorded answer.
#[derive(Clone)]
#[non_exhaustive]
pub struct RecordedAnswer {
    /// The number of the answer.
    pub id: AnswerId,
    /// The ask.
    pub ask: AskId,
    /// The response.
    pub response: Response,
    /// The annotator.
    pub annotator: Arc<str>,
    /// The time in milliseconds since 1970.
    pub at: u64,
    /// `true` if it was neither withdrawn nor replaced.
    pub is_active: bool,
}

/// All asks and answers of a session.
#[derive(Default)]
#[non_exhaustive]
pub struct AnswerRecord {
    /// The asks; a salvaged ledger has gaps.
    pub asks: BTreeMap<AskId, RecordedAsk>,
    /// The answers in their order.
    pub answers: Vec<RecordedAnswer>,
    /// Estimates of the score.
    pub curve: Vec<LearningCurvePoint>,
    /// How often predictions of some probability are right, by the last estimate.
    pub reliability: Vec<RecordedBin>,
}

/// Iterates over the events of the ledger of a labeling session.
pub fn events(ledger: &Ledger) -> impl Iterator<Item = Result<SessionEvent>> {
    ledger.records().map(|record| {
        let event = record?.decode();
        event.with_context(|| format!("{}: not the ledger of a labeling session", ledger.path().display()))
    })
}

/// Checks that a salvaged ledger has every ask and answer that its session needs to continue.
///
/// Estimates and later draws depend on all earlier draws, so a session cannot skip one.
pub fn check_salvaged(ledger: &Ledger) -> Result<()> {
    if ledger.note("salvaged").is_none() {
        return Ok(());
    }
    let (mut asks, mut answers) = (0, 0);
    for event in events(ledger) {
        let missing = match event? {
            SessionEvent::Asked { ask, .. } => next("ask", &mut asks, ask.get()),
            SessionEvent::Answered { ask, .. } | SessionEvent::Assigned { ask, .. } if asks < ask.get() => {
                Some(format!("ask {}", asks + 1))
            }
            SessionEvent::Answered { answer: number, .. } | SessionEvent::Withdrawn { number, .. } => {
                next("answer", &mut answers, number.get())
            }
            SessionEvent::Grown { asks: needed } | SessionEvent::Fitted { asks: needed, .. } if asks < needed => {
                Some(format!("ask {}", asks + 1))
            }
            SessionEvent::Fitted { acts: needed, .. } if answers < needed => Some(format!("answer {}", answers + 1)),
            _ => None,
        };
        if let Some(missing) = missing {
            let path = ledger.path().display();
            bail!(
                "{path}: it was salvaged from a damaged ledger, and {missing} is missing, so the session cannot continue\n  \
                 start a new session with its answers: querist export {path} --out labels.csv,\n  \
                 then querist label DATA … --import labels.csv --ledger NEW.ledger"
            );
        }
    }
    Ok(())
}

/// Counts an ask or answer. Returns the name of the one that is missing before it, if any.
fn next(what: &str, count: &mut u64, number: u64) -> Option<String> {
    *count += 1;
    (number != *count).then(|| format!("{what} {count}"))
}

impl AnswerRecord {
    /// Reads a ledger.
    pub fn read(ledger: &Ledger) -> Result<Self> {
        let mut record = Self::default();
        // Indices of all answers, and of the active one by ask and annotator.
        let mut indices: HashMap<AnswerId, usize> = HashMap::new();
        let mut active: HashMap<(AskId, Arc<str>), usize> = HashMap::new();
        let is_salvaged = ledger.note("salvaged").is_some();
        for event in events(ledger) {
            match event? {
                SessionEvent::Asked { ask, id, content, hidden, fingerprint, odds, guess, .. } => {
                    let is_cold = guess.labels == 0;
                    record.asks.insert(ask, RecordedAsk { id, content, hidden, fingerprint, draw: odds, is_cold });
                }
                SessionEvent::Answered { ask, .. } if !record.asks.contains_key(&ask) => {
                    ensure!(is_salvaged, "an answer to ask {ask}, which does not exist");
                }
                SessionEvent::Answered { answer: id, ask, response, annotator, at, .. } => {
                    let index = record.answers.len();
                    if let Some(before) = active.insert((ask, Arc::clone(&annotator)), index) {
                        record.answers[before].is_active = false;
                    }
                    indices.insert(id, index);
                    record.answers.push(RecordedAnswer { id, ask, response, annotator, at, is_active: true });
                }
                SessionEvent::Withdrawn { answer, .. } => match indices.get(&answer) {
                    Some(index) => record.answers[*index].is_active = false,
                    None => ensure!(is_salvaged, "a withdrawal of answer {answer}, which does not exist"),
                },
                SessionEvent::Measured { labels, value, low, high, reliability, .. } => {
                    record.reliability = reliability;
                    record.curve.push(LearningCurvePoint { labels, value, low, high });
                }
                SessionEvent::Assigned { .. }
                | SessionEvent::Grown { .. }
                | SessionEvent::Fitted { .. }
                | SessionEvent::Started { .. } => {}
            }
        }
        Ok(record)
    }

    /// Returns the active answers, by ask and then in their order.
    pub fn active(&self) -> Vec<&RecordedAnswer> {
        let mut active: Vec<&RecordedAnswer> = self.answers.iter().filter(|answer| answer.is_active).collect();
        active.sort_by_key(|answer| (answer.ask, answer.id));
        active
    }

    /// Returns the ask of an answer.
    pub fn ask(&self, answer: &RecordedAnswer) -> Option<&RecordedAsk> {
        self.asks.get(&answer.ask)
    }
}
