//! What happens in a session, as events of a ledger, and back.

use std::sync::Arc;

use querist_engine::session::{Given, Guess, Happened, Odds};
use querist_ledger::{Event, Kind};

/// As it is written down.
pub fn to_event(happened: &Happened) -> Event {
    match happened {
        Happened::Drawn { ask, id, digest, odds, guess, by, at } => {
            let Odds { uncertainty, total, left, least } = *odds;
            let mut numbers = vec![*digest as f64, uncertainty, total, left as f64, least, guess.answers as f64];
            numbers.extend(guess.likeliest.iter().flat_map(|(label, probability)| [*label, *probability]));
            let (id, by) = (id.to_string(), by.to_string());
            Event::Drawn { ask: *ask, id, probability: odds.probability(), numbers, by, at: *at }
        }
        Happened::Leased { ask, by, first, at } => {
            act(if *first { Kind::First } else { Kind::Lease }, (0, *ask), None, "", by, *at)
        }
        Happened::Answered { number, ask, given, by, key, at } => {
            let (kind, label) = match given {
                Given::Label(label) => (Kind::Label, Some(*label)),
                Given::Skip => (Kind::Skip, None),
                Given::Unsure => (Kind::Unsure, None),
            };
            act(kind, (*number, *ask), label, key, by, *at)
        }
        Happened::Undone { number, of, by, key, at } => act(Kind::Undo, (*number, *of), None, key, by, *at),
        Happened::Measured { labels, value, low, high, at } => {
            with(act(Kind::Measure, (0, *labels), None, "", "", *at), &[*value, *low, *high])
        }
        Happened::Grown { asks } => act(Kind::Grow, (0, *asks), None, "", "", 0),
        Happened::Learned { asks, acts, labels, digest, at } => {
            with(act(Kind::Learn, (*acts, *asks), None, "", "", *at), &[*labels as f64, *digest as f64])
        }
        Happened::Begun { items, imported, at } => {
            with(act(Kind::Begin, (0, *items), None, "", "", *at), &[*imported as f64])
        }
    }
}

fn with(mut event: Event, more: &[f64]) -> Event {
    if let Event::Acted { numbers, .. } = &mut event {
        numbers.extend(more);
    }
    event
}

fn act(kind: Kind, (number, about): (u64, u64), label: Option<f64>, key: &str, by: &str, at: u64) -> Event {
    Event::Acted { kind, number, about, label, numbers: vec![], key: key.to_owned(), by: by.to_owned(), at }
}

/// As it happened; what is wrong with the event otherwise.
pub fn from_event(event: Event) -> Result<Happened, String> {
    match event {
        Event::Drawn { ask, id, numbers, by, at, .. } => {
            let [digest, uncertainty, total, left, least, answers, guessed @ ..] = &numbers[..] else {
                return Err(format!("draw {ask} has {} numbers", numbers.len()));
            };
            let likeliest = guessed.as_chunks::<2>().0.iter().map(|[label, probability]| (*label, *probability));
            let guess = Guess { likeliest: likeliest.collect(), answers: *answers as u64 };
            let odds = Odds { uncertainty: *uncertainty, total: *total, left: *left as usize, least: *least };
            Ok(Happened::Drawn { ask, id: id.into(), digest: *digest as u64, odds, guess, by: by.into(), at })
        }
        Event::Acted { kind, number, about, label, numbers, key, by, at } => {
            let (by, key): (Arc<str>, Arc<str>) = (by.into(), key.into());
            let answered =
                |given| Ok(Happened::Answered { number, ask: about, given, by: by.clone(), key: key.clone(), at });
            match kind {
                Kind::Label => answered(Given::Label(label.ok_or_else(|| format!("answer {number} has no label"))?)),
                Kind::Skip => answered(Given::Skip),
                Kind::Unsure => answered(Given::Unsure),
                Kind::Undo => Ok(Happened::Undone { number, of: about, by, key, at }),
                Kind::Lease | Kind::First => Ok(Happened::Leased { ask: about, by, first: kind == Kind::First, at }),
                Kind::Measure => match numbers[..] {
                    [value, low, high] => Ok(Happened::Measured { labels: about, value, low, high, at }),
                    _ => Err(format!("a score has {} numbers", numbers.len())),
                },
                Kind::Grow => Ok(Happened::Grown { asks: about }),
                Kind::Learn => match numbers[..] {
                    [labels, digest] => {
                        let (labels, digest) = (labels as u64, digest as u64);
                        Ok(Happened::Learned { asks: about, acts: number, labels, digest, at })
                    }
                    _ => Err(format!("a model has {} numbers", numbers.len())),
                },
                Kind::Begin => match numbers[..] {
                    [imported] => Ok(Happened::Begun { items: about, imported: imported as u64, at }),
                    _ => Err(format!("a start has {} numbers", numbers.len())),
                },
            }
        }
        _ => Err("this is not the ledger of a labelling session".to_owned()),
    }
}
