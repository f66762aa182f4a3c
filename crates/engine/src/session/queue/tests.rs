//! Comparison of the indexes with a scan of all asks, and a bound on the number of their steps.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::count_tree::visits;
use super::super::event::{Moment, Response, SessionEvent};
use super::super::{Agreement, Session, Settings, Study};
use super::{Ask, Elsewhere, MOST_SKIPS, Queue, Standing};
use crate::coin::Coin;
use crate::rows::{DenseRows, Rows};
use crate::stop;
use crate::task::{self, Labels};

const LEASE: u64 = 1000;

fn study(items: usize) -> Arc<Study> {
    let rows = Rows::Dense(DenseRows::from_values(1, vec![0.0; items]).unwrap());
    let ids = (0..items).map(|item| format!("item {item}").into()).collect();
    let learner = Box::new(|| unreachable!("nothing is learned here"));
    let stop = stop::StopRule::Gain { batch: 50, below: 0.01 };
    let content = Box::new(|_| String::new());
    Arc::new(Study {
        rows,
        renumbered: None,
        ids,
        content,
        fingerprints: vec![0; items],
        hidden: vec![],
        imported: vec![],
        changed_imports: vec![],
        learner,
        stop,
    })
}

fn session(study: &Arc<Study>, overlap: usize, budget: Option<usize>) -> Session {
    let settings = Settings { labels: Labels::Binary, overlap, budget, lease: LEASE, seed: 7 };
    Session::new(Arc::clone(study), task::parse("logistic", Labels::Binary).unwrap(), settings)
}

fn at(tick: u64) -> Moment {
    Moment { tick, clock: tick }
}

fn name(text: &str) -> Arc<str> {
    text.into()
}

/// Returns the asks that need another annotator, by a scan of all asks.
fn scan_queue(session: &Session, queue: Queue) -> Vec<u64> {
    let needs = |number: &u64| {
        let ask = &session.asks[*number as usize - 1];
        let full = session.settings.overlap <= ask.done() + ask.holders.len();
        let skipped = ask.parts.iter().any(|part| part.said.is_some_and(|(_, given)| given == Response::Skip));
        !full && ask.row.is_some() && skipped == (queue == Queue::Skipped)
    };
    (1..=session.asks.len() as u64).filter(needs).collect()
}

/// Returns the first of those that a person can have.
fn scan_first(session: &Session, person: usize, queue: Queue) -> Option<u64> {
    scan_queue(session, queue).into_iter().find(|number| {
        let ask = &session.asks[*number as usize - 1];
        let free = match ask.part(person) {
            None => true,
            Some(part) => match part.said {
                None => true,
                Some(_) => {
                    queue == Queue::Skipped && matches!(ask.standing, Standing::Skipped) && part.skips < MOST_SKIPS
                }
            },
        };
        free && !ask.is_held_by(person)
    })
}

/// Returns the leases and answers of others, by a scan of all leases and open asks.
fn scan_elsewhere(session: &Session, person: usize) -> Elsewhere {
    let done = |ask: &u64| {
        let part = session.asks[*ask as usize - 1].part(person);
        part.is_some_and(|part| matches!(part.said, Some((_, Response::Label(_) | Response::Unsure))))
    };
    let elsewhere: Vec<_> = session.deadlines.iter().filter(|(_, _, holder)| *holder != person).collect();
    let others: Vec<_> = elsewhere.iter().filter(|(_, ask, _)| !done(ask)).collect();
    let open = scan_queue(session, Queue::Open);
    let wanted = open.iter().chain(elsewhere.iter().map(|(_, ask, _)| ask)).filter(|ask| done(ask));
    Elsewhere {
        leased: others.len(),
        first_deadline: others.first().map(|(deadline, _, _)| *deadline),
        for_others: wanted.collect::<BTreeSet<_>>().len(),
    }
}

/// Returns the agreement, by a scan of all asks.
fn scan_agreement(session: &Session) -> Option<Agreement> {
    let several = session.asks.iter().map(Ask::labels).filter(|labels| 2 <= labels.len());
    let several: Vec<Vec<f64>> = several.filter(|_| 2 <= session.settings.overlap).collect();
    let share = |labels: &Vec<f64>| {
        let pairs =
            labels.iter().enumerate().flat_map(|(a, label)| labels[..a].iter().map(move |other| label == other));
        let (same, all) = pairs.fold((0.0, 0.0), |(same, all), equal| (same + f64::from(u8::from(equal)), all + 1.0));
        same / all
    };
    let all: Vec<f64> = several.iter().flatten().copied().collect();
    let part = |wanted: f64| all.iter().filter(|label| **label == wanted).count() as f64 / all.len() as f64;
    let (share, chance) =
        (several.iter().map(share).sum::<f64>() / several.len() as f64, part(1.0).powi(2) + part(-1.0).powi(2));
    let kappa = if chance < 1.0 { (share - chance) / (1.0 - chance) } else { 1.0 };
    (!several.is_empty()).then_some(Agreement { items: several.len(), share, kappa })
}

fn compare(session: &Session, step: u64) {
    match (session.status(0).agreement, scan_agreement(session)) {
        (Some(found), Some(scanned)) => {
            assert_eq!(found.items, scanned.items);
            assert!((found.share - scanned.share).abs() < 1e-12 && (found.kappa - scanned.kappa).abs() < 1e-12);
        }
        (found, scanned) => assert_eq!(found, scanned, "step {step}"),
    }
    for person in 0..session.people.len() {
        for queue in [Queue::Open, Queue::Skipped] {
            let (found, scanned) = (session.queues.first(person, queue), scan_first(session, person, queue));
            assert_eq!(found, scanned, "step {step}, person {person}, {queue:?}");
        }
        assert_eq!(session.queues.elsewhere(person), scan_elsewhere(session, person), "step {step}, person {person}");
    }
}

/// Performs one random action of one person.
fn act(session: &mut Session, coin: &Coin, step: u64, person: &Arc<str>, tick: u64, log: &mut Vec<SessionEvent>) {
    let (key, choice, which) = (name(&format!("key {step}")), coin.below(7 * step, 16), 7 * step + 1);
    let asks = session.asks.len();
    let any = 1 + coin.below(which, asks.max(1)) as u64;
    let held = session.names.get(person).map_or(vec![], |index| session.people[*index].held.clone());
    let own = held.get(coin.below(which, held.len().max(1))).copied();
    match (choice, own) {
        (0, _) => drop(session.undo(person, &key, None, at(tick), log)),
        (1, _) => drop(session.undo(person, &key, Some(any), at(tick), log)),
        (2 | 3, Some(own)) => drop(session.answer(person, own, &key, Response::Skip, at(tick), log)),
        (4, Some(own)) => drop(session.answer(person, own, &key, Response::Unsure, at(tick), log)),
        (5, Some(own)) => session.release(person, &[own, any]),
        (6, _) => drop(session.heartbeat(person, &held, tick)),
        // A late answer, or a replacement of an earlier one.
        (7, _) if 0 < asks => drop(session.answer(person, any, &key, Response::Label(-1.0), at(tick), log)),
        (8, _) => session.expire(tick),
        (9..=11, _) | (_, None) => {
            session.next(person, 1 + coin.below(which, 4), at(tick), log);
        }
        (_, Some(own)) => drop(session.answer(person, own, &key, Response::Label(1.0), at(tick), log)),
    }
}

#[test]
fn the_indexes_agree_with_a_scan_of_all_asks() {
    for (overlap, people, budget) in [(1, 3, None), (2, 2, None), (2, 5, Some(60)), (3, 4, None), (4, 7, Some(80))] {
        let study = study(100);
        let (mut session, mut log) = (session(&study, overlap, budget), vec![]);
        let coin = Coin::new(overlap as u64, "queues");
        let mut tick = 0_u64;
        for step in 0..3000_u64 {
            // Ticks of concurrent requests may arrive out of order.
            tick = (tick + coin.below(7 * step + 2, 120) as u64).saturating_sub(20);
            let person = name(&format!("person {}", coin.below(7 * step + 3, people)));
            act(&mut session, &coin, step, &person, tick, &mut log);
            compare(&session, step);
        }
        assert!(60 <= session.asks.len(), "overlap {overlap}: {} asks", session.asks.len());
        let mut folded = self::session(&study, overlap, budget);
        for (step, event) in log.iter().enumerate() {
            folded.fold(event, 0);
            if step % 50 == 0 {
                compare(&folded, step as u64);
            }
        }
    }
}

/// Returns the number of steps of the most expensive ask. Ada answers everything alone, so that every ask waits for
/// another annotator; then Ben does the same.
fn most_visits(items: usize) -> u64 {
    let study = study(items);
    let (mut session, mut log, mut most) = (session(&study, 2, None), vec![], 0);
    for person in ["Ada", "Ben"].map(name) {
        for answer in 0..items as u64 {
            log.clear();
            let before = visits();
            let asks = session.next(&person, 1, at(0), &mut log).asks;
            let key = name(&format!("{person} {answer}"));
            session.answer(&person, asks[0], &key, Response::Label(1.0), at(0), &mut log).unwrap();
            most = most.max(visits() - before);
        }
    }
    assert_eq!(session.status(0).answered, items);
    most
}

#[test]
fn the_steps_of_an_ask_do_not_grow_with_the_open_asks() {
    let few = most_visits(300);
    let many = most_visits(4000);
    // Both need three levels of 16 children.
    assert_eq!(few, many, "steps of the most expensive ask with 300 and with 4000 open asks");
    assert!(many < 200, "{many} steps");
}
