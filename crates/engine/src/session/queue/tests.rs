//! Comparison of the indexes with a scan of all asks, and a bound on the number of their steps.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::count_tree::visits;
use super::super::event::{Response, SessionEvent, SessionTime};
use super::super::ids::{AnswerId, AskId, LabelValue};
use super::super::{Agreement, LabelingPool, Session, SessionSettings};
use super::{AskState, AskStatus, MOST_SKIPS, OthersActivity, Queue};
use crate::coin::Coin;
use crate::pool::{ColdDraws, Draw, StartRows};
use crate::rows::{DenseRows, Rows};
use crate::stop;
use crate::task::{self, Labels};

const LEASE: u64 = 1000;
const PLUS: Response = Response::Label(LabelValue(1.0));
const MINUS: Response = Response::Label(LabelValue(-1.0));

fn pool(items: usize) -> Arc<LabelingPool> {
    let rows = Rows::Dense(DenseRows::from_values(1, vec![0.0; items]).unwrap());
    let ids = (0..items).map(|item| format!("item {item}").into()).collect();
    let learner = Box::new(|| unreachable!("nothing is learned here"));
    let stop = stop::StopRule::Gain { batch: 50, below: 0.01 };
    let content = Box::new(|_| String::new());
    Arc::new(LabelingPool {
        rows,
        renumbered: None,
        ids,
        content,
        fingerprints: vec![0; items],
        hidden: vec![],
        imported: vec![],
        changed_imports: vec![],
        draw: Draw::Scan,
        cold_draws: ColdDraws::Random,
        start: StartRows::default(),
        learner,
        stop,
    })
}

fn session(pool: &Arc<LabelingPool>, overlap: usize, budget: Option<usize>) -> Session {
    let settings = SessionSettings { labels: Labels::Binary, overlap, budget, lease_ms: LEASE, seed: 7 };
    Session::new(Arc::clone(pool), task::parse("logistic", Labels::Binary).unwrap(), settings)
}

fn at(tick: u64) -> SessionTime {
    SessionTime { tick, clock: tick }
}

fn name(text: &str) -> Arc<str> {
    text.into()
}

/// Returns the asks that need another annotator, by a scan of all asks.
fn scan_queue(session: &Session, queue: Queue) -> Vec<AskId> {
    let needs = |id: &AskId| {
        let ask = &session.asks[*id];
        let full = session.settings.overlap <= ask.done() + ask.holders.len();
        let skipped = ask.annotators.iter().any(|state| state.has_response(Response::Skip));
        !full && ask.row.is_some() && skipped == (queue == Queue::Skipped)
    };
    (1..=session.asks.len() as u64).map(AskId::new).filter(needs).collect()
}

/// Returns the first of those that an annotator can have.
fn scan_first(session: &Session, annotator: usize, queue: Queue) -> Option<AskId> {
    scan_queue(session, queue).into_iter().find(|id| {
        let ask = &session.asks[*id];
        let free = match ask.annotator(annotator) {
            None => true,
            Some(state) => match state.answer {
                None => true,
                Some(_) => {
                    queue == Queue::Skipped && matches!(ask.status, AskStatus::Skipped) && state.skips < MOST_SKIPS
                }
            },
        };
        free && !ask.is_held_by(annotator)
    })
}

/// Returns the leases and answers of others, by a scan of all leases and open asks.
fn scan_others_activity(session: &Session, annotator: usize) -> OthersActivity {
    let done = |ask: &AskId| {
        let state = session.asks[*ask].annotator(annotator);
        state.is_some_and(|state| matches!(state.answer, Some((_, Response::Label(_) | Response::Unsure))))
    };
    let elsewhere: Vec<_> = session.deadlines.iter().filter(|(_, _, holder)| *holder != annotator).collect();
    let others: Vec<_> = elsewhere.iter().filter(|(_, ask, _)| !done(ask)).collect();
    let open = scan_queue(session, Queue::Open);
    let wanted = open.iter().chain(elsewhere.iter().map(|(_, ask, _)| ask)).filter(|ask| done(ask));
    OthersActivity {
        leased: others.len(),
        first_deadline: others.first().map(|(deadline, _, _)| *deadline),
        for_others: wanted.collect::<BTreeSet<_>>().len(),
    }
}

/// Returns the agreement, by a scan of all asks.
fn scan_agreement(session: &Session) -> Option<Agreement> {
    let several = session.asks.iter().map(AskState::labels).filter(|labels| 2 <= labels.len());
    let several: Vec<Vec<LabelValue>> = several.filter(|_| 2 <= session.settings.overlap).collect();
    let share = |labels: &Vec<LabelValue>| {
        let pairs =
            labels.iter().enumerate().flat_map(|(a, label)| labels[..a].iter().map(move |other| label == other));
        let (same, all) = pairs.fold((0.0, 0.0), |(same, all), equal| (same + f64::from(u8::from(equal)), all + 1.0));
        same / all
    };
    let all: Vec<LabelValue> = several.iter().flatten().copied().collect();
    let share_of = |wanted: f64| all.iter().filter(|label| label.0 == wanted).count() as f64 / all.len() as f64;
    let (share, chance) =
        (several.iter().map(share).sum::<f64>() / several.len() as f64, share_of(1.0).powi(2) + share_of(-1.0).powi(2));
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
    for annotator in 0..session.annotators.len() {
        for queue in [Queue::Open, Queue::Skipped] {
            let (found, scanned) = (session.queues.first(annotator, queue), scan_first(session, annotator, queue));
            assert_eq!(found, scanned, "step {step}, annotator {annotator}, {queue:?}");
        }
        assert_eq!(
            session.queues.others_activity(annotator),
            scan_others_activity(session, annotator),
            "step {step}, annotator {annotator}"
        );
    }
}

/// Performs one random action of one annotator.
fn act_randomly(
    session: &mut Session,
    coin: &Coin,
    step: u64,
    annotator: &Arc<str>,
    tick: u64,
    log: &mut Vec<SessionEvent>,
) {
    let (key, choice, which) = (name(&format!("key {step}")), coin.below(7 * step, 16), 7 * step + 1);
    let asks = session.asks.len();
    let any = 1 + coin.below(which, asks.max(1)) as u64;
    let held =
        session.annotators_by_name.get(annotator).map_or(vec![], |index| session.annotators[*index].held.clone());
    let own = held.get(coin.below(which, held.len().max(1))).copied();
    match (choice, own) {
        (0, _) => drop(session.undo(annotator, &key, None, at(tick), log)),
        (1, _) => drop(session.undo(annotator, &key, Some(AnswerId::new(any)), at(tick), log)),
        (2 | 3, Some(own)) => drop(session.answer(annotator, own, &key, Response::Skip, at(tick), log)),
        (4, Some(own)) => drop(session.answer(annotator, own, &key, Response::Unsure, at(tick), log)),
        (5, Some(own)) => session.release(annotator, &[own, AskId::new(any)]),
        (6, _) => drop(session.heartbeat(annotator, &held, tick)),
        // A late answer, or a replacement of an earlier one.
        (7, _) if 0 < asks => drop(session.answer(annotator, AskId::new(any), &key, MINUS, at(tick), log)),
        (8, _) => session.expire(tick),
        (9..=11, _) | (_, None) => {
            session.next(annotator, 1 + coin.below(which, 4), at(tick), log);
        }
        (_, Some(own)) => drop(session.answer(annotator, own, &key, PLUS, at(tick), log)),
    }
}

#[test]
fn the_indexes_agree_with_a_scan_of_all_asks() {
    for (overlap, annotators, budget) in [(1, 3, None), (2, 2, None), (2, 5, Some(60)), (3, 4, None), (4, 7, Some(80))]
    {
        let pool = pool(100);
        let (mut session, mut log) = (session(&pool, overlap, budget), vec![]);
        let coin = Coin::new(overlap as u64, "queues");
        let mut tick = 0_u64;
        for step in 0..3000_u64 {
            // Ticks of concurrent requests may arrive out of order.
            tick = (tick + coin.below(7 * step + 2, 120) as u64).saturating_sub(20);
            let annotator = name(&format!("annotator {}", coin.below(7 * step + 3, annotators)));
            act_randomly(&mut session, &coin, step, &annotator, tick, &mut log);
            compare(&session, step);
        }
        assert!(60 <= session.asks.len(), "overlap {overlap}: {} asks", session.asks.len());
        let mut folded = self::session(&pool, overlap, budget);
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
    let pool = pool(items);
    let (mut session, mut log, mut most) = (session(&pool, 2, None), vec![], 0);
    for annotator in ["Ada", "Ben"].map(name) {
        for answer in 0..items as u64 {
            log.clear();
            let before = visits();
            let asks = session.next(&annotator, 1, at(0), &mut log).asks;
            let key = name(&format!("{annotator} {answer}"));
            session.answer(&annotator, asks[0], &key, PLUS, at(0), &mut log).unwrap();
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
