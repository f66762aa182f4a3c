//! Labeling sessions: leases, overlap, late and repeated answers, undo, exact probabilities, and the fold.

mod replay;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use querist_engine::coin::Coin;
use querist_engine::fit::Refit;
use querist_engine::learner::Learner;
use querist_engine::optimizer::{Clock, Constraint, Momentum, Optimizer};
use querist_engine::pool::{ColdDraws, Draw, Objective, RefitPool, RefitSettings, StartRows};
use querist_engine::rule;
use querist_engine::session::{
    AnswerId, AnswerOutcome, AskId, BackgroundFitter, LabelValue, LabelingPool, NoMore, Rejection, Response, RowId,
    Session, SessionEvent, SessionSettings, SessionTime,
};
use querist_engine::step::{StepSize, Steps};
use querist_engine::stop::StopRule as Stop;
use querist_engine::stream::Rules;
use querist_engine::task::{self, Labels};
use querist_rows::{DenseRows, Rows};

const LEASE: u64 = 300_000;
const PLUS: Response = Response::Label(LabelValue(1.0));
const MINUS: Response = Response::Label(LabelValue(-1.0));

fn asks<const N: usize>(numbers: [u64; N]) -> Vec<AskId> {
    numbers.map(AskId::new).to_vec()
}

/// Returns items on a line; the label is the side of 0.3.
fn pool(items: usize, imported: Vec<(usize, f64)>) -> Arc<LabelingPool> {
    let coin = Coin::new(3, "items");
    let values: Vec<f32> = (0..items as u64).map(|at| 2.0 * coin.unit(at) as f32 - 1.0).collect();
    let rows = Rows::Dense(DenseRows::from_values(1, values).unwrap());
    let learner = Box::new(move || {
        let task = || task::parse("logistic", Labels::Binary).unwrap();
        let rule = rule::parse("margin:share=0.05,floor=0.2", "logistic", Labels::Binary).unwrap();
        let optimizer = Optimizer::new(Momentum::None, Clock::Query, Constraint::default());
        let learner = Learner::new(task(), true, 1, optimizer, Steps::new(StepSize::Auto), None).unwrap();
        let refit = Refit::new(&*task(), true, Rows::Dense(DenseRows::new(1)), None, 1).unwrap();
        let (draw, objective, labels) = (Draw::Scan, Objective::AsAsked, Labels::Binary);
        let settings = RefitSettings { draw, seed: 1, refit, objective, labels };
        RefitPool::new(learner, Rules { warm: None, rule }, items, settings).unwrap()
    });
    let ids = (0..items).map(|item| format!("item {item}").into()).collect();
    let fingerprints = (0..items as u64).collect();
    Arc::new(LabelingPool {
        rows,
        renumbered: None,
        ids,
        content: Box::new(|row| row.0.to_string()),
        fingerprints,
        hidden: vec![],
        imported: imported.into_iter().map(|(row, label)| (RowId(row), LabelValue(label))).collect(),
        changed_imports: vec![],
        draw: Draw::Scan,
        cold_draws: ColdDraws::Random,
        start: StartRows::default(),
        learner,
        stop: Stop::Gain { batch: 50, below: 0.01 },
    })
}

fn session(pool: &Arc<LabelingPool>, overlap: usize, budget: Option<usize>) -> Session {
    let settings = SessionSettings { labels: Labels::Binary, overlap, budget, lease_ms: LEASE, seed: 7 };
    Session::new(Arc::clone(pool), task::parse("logistic", Labels::Binary).unwrap(), settings)
}

fn at(tick: u64) -> SessionTime {
    SessionTime { tick, clock: 1_000_000 + tick }
}

fn name(text: &str) -> Arc<str> {
    text.into()
}

fn truth(pool: &LabelingPool, row: RowId) -> LabelValue {
    let mut value = 0.0;
    if let querist_rows::Row::Dense(x) = pool.rows.row(row.0) {
        value = f64::from(x[0]);
    }
    LabelValue(if 0.3 < value { 1.0 } else { -1.0 })
}

/// Returns the state of a session as seen by one person.
fn view(session: &Session, person: &str) -> String {
    let status = session.status(0);
    format!(
        "{:?} {:?} {} {} {} {} {:?} {:?} {:?}",
        session.history(person, 1000),
        status.annotators,
        status.answered,
        status.skipped,
        status.unsure,
        status.pending,
        status.by_label,
        status.curve,
        session.fit_job().0
    )
}

#[test]
fn a_reload_returns_the_same_items_and_an_answer_brings_the_next() {
    let pool = pool(50, vec![]);
    let (mut session, mut log, ada) = (session(&pool, 1, None), vec![], name("Ada"));
    let first = session.next(&ada, 3, at(0), &mut log);
    assert_eq!(first.asks, asks([1, 2, 3]));
    assert_eq!(session.next(&ada, 3, at(10), &mut log).asks, first.asks);
    assert_eq!(log.len(), 3);
    let saved = session.answer(&ada, AskId::new(1), &name("k"), PLUS, at(20), &mut log);
    assert_eq!(saved, Ok(AnswerOutcome::Saved(AnswerId::new(1))));
    assert_eq!(session.next(&ada, 3, at(30), &mut log).asks, asks([2, 3, 4]));
}

#[test]
fn the_same_key_counts_once_and_a_new_key_replaces_the_answer() {
    let pool = pool(50, vec![]);
    let (mut session, mut log, ada) = (session(&pool, 1, None), vec![], name("Ada"));
    session.next(&ada, 2, at(0), &mut log);
    let mut answer = |key: &str, ask, label| {
        session.answer(&ada, AskId::new(ask), &name(key), Response::Label(LabelValue(label)), at(1), &mut log)
    };
    assert_eq!(answer("a", 1, 1.0), Ok(AnswerOutcome::Saved(AnswerId::new(1))));
    for _ in 0..100 {
        assert_eq!(answer("a", 1, 1.0), Ok(AnswerOutcome::Repeated(AnswerId::new(1))));
    }
    assert_eq!(answer("a", 2, 1.0), Err(Rejection::KeyConflict), "another ask");
    assert_eq!(answer("a", 1, -1.0), Err(Rejection::KeyConflict), "another label");
    assert_eq!(answer("b", 1, -1.0), Ok(AnswerOutcome::Saved(AnswerId::new(2))));
    assert_eq!(answer("c", 9, 1.0), Err(Rejection::UnknownAsk));
    assert_eq!(answer("d", 2, 0.5), Err(Rejection::UnknownLabel));
    assert_eq!(session.status(1).by_label, [(LabelValue(-1.0), 1)]);
    let ben = session.answer(&name("Ben"), AskId::new(2), &name("e"), PLUS, at(1), &mut log);
    assert_eq!(ben, Err(Rejection::NotAsked));
}

#[test]
fn undo_reaches_all_of_ones_own_answers_and_no_others() {
    let pool = pool(2000, vec![]);
    let (mut session, mut log, ada, ben) = (session(&pool, 1, None), vec![], name("Ada"), name("Ben"));
    for answer in 1..=1000_u64 {
        let ask = session.next(&ada, 1, at(answer), &mut log).asks[0];
        session.answer(&ada, ask, &name(&format!("k{answer}")), PLUS, at(answer), &mut log).unwrap();
    }
    assert_eq!(session.undo(&ben, &name("b"), None, at(1), &mut log), Ok(None));
    session.next(&ben, 1, at(1), &mut log);
    assert_eq!(session.undo(&ben, &name("b"), Some(AnswerId::new(5)), at(1), &mut log), Err(Rejection::NotYours));
    assert_eq!(
        session.undo(&name("Eve"), &name("b"), Some(AnswerId::new(5)), at(1), &mut log),
        Err(Rejection::NotYours),
        "a new name"
    );
    for back in (1..=1000_u64).rev() {
        let undone = session.undo(&ada, &name(&format!("u{back}")), None, at(2000), &mut log).unwrap().unwrap();
        assert_eq!((undone.answer, undone.ask), (AnswerId::new(back), AskId::new(back)));
        let again = session.undo(&ada, &name(&format!("u{back}")), None, at(2000), &mut log).unwrap().unwrap();
        assert_eq!(again, undone, "the same request twice");
        assert_eq!(session.next(&ada, 1, at(2000), &mut log).asks, asks([back]), "it comes first");
    }
    assert_eq!(session.undo(&ada, &name("last"), None, at(2000), &mut log), Ok(None));
    assert_eq!(session.status(2000).answered, 0);
}

#[test]
fn late_answers_are_kept_and_expired_items_go_to_others() {
    let pool = pool(50, vec![]);
    let (mut session, mut log, ada, ben) = (session(&pool, 1, None), vec![], name("Ada"), name("Ben"));
    assert_eq!(session.next(&ada, 1, at(0), &mut log).asks, asks([1]));
    assert_eq!(session.next(&ben, 1, at(1), &mut log).asks, asks([2]));
    assert_eq!(session.heartbeat("Ada", &asks([1, 2]), LEASE - 1), (asks([1]), asks([2])));
    // Ada's lease was renewed just before its end; Ben's was not, so the item returns and goes to Ada.
    assert_eq!(session.next(&ada, 2, at(LEASE + 1), &mut log).asks, asks([1, 2]));
    assert_eq!(session.heartbeat("Ben", &asks([2]), LEASE + 1), (vec![], asks([2])));
    let late = session.answer(&ben, AskId::new(2), &name("late"), PLUS, at(LEASE + 2), &mut log);
    assert_eq!(late, Ok(AnswerOutcome::Late(AnswerId::new(1))));
    let both = session.answer(&ada, AskId::new(2), &name("own"), MINUS, at(LEASE + 3), &mut log);
    assert_eq!(both, Ok(AnswerOutcome::Saved(AnswerId::new(2))));
    assert_eq!(session.status(0).by_label, [(LabelValue(1.0), 1)], "of two different ones the earlier");
    assert_eq!(session.history("Ben", 9).len(), 1);
}

#[test]
fn skipped_items_come_back_last_and_remaining_work_is_reported() {
    let pool = pool(4, vec![(3, 1.0)]);
    let (mut session, mut log, ada, ben) = (session(&pool, 1, None), vec![], name("Ada"), name("Ben"));
    let mut answer = |session: &mut Session, who: &Arc<str>, ask: u64, response: Response| {
        let key = name(&format!("{who}{ask}{response:?}{}", log.len()));
        session.answer(who, AskId::new(ask), &key, response, at(1), &mut log).unwrap();
    };
    let mut none = vec![];
    session.next(&ada, 1, at(0), &mut none);
    answer(&mut session, &ada, 1, Response::Skip);
    assert_eq!(session.next(&ada, 1, at(0), &mut none).asks, asks([2]));
    answer(&mut session, &ada, 2, PLUS);
    assert_eq!(session.next(&ada, 1, at(0), &mut none).asks, asks([3]));
    assert_eq!(session.next(&ben, 1, at(0), &mut none).asks, asks([1]), "skipped, and nothing else is left");
    let empty = session.next(&name("Cem"), 1, at(5), &mut none);
    assert_eq!((empty.asks, empty.leased, empty.no_more), (vec![], 2, Some(NoMore::AllLeased)));
    assert_eq!(empty.next_free_ms, Some(LEASE - 5));
    answer(&mut session, &ada, 3, Response::Unsure);
    answer(&mut session, &ben, 1, Response::Skip);
    let assigned = session.next(&ben, 1, at(0), &mut none);
    assert_eq!(assigned.asks, asks([1]), "once more");
    answer(&mut session, &ben, 1, Response::Skip);
    assert_eq!(session.next(&ben, 1, at(0), &mut none).no_more, Some(NoMore::Finished));
    let status = session.status(0);
    assert_eq!((status.answered, status.skipped, status.unsure, status.pending, status.pool), (1, 1, 1, 0, 3));
}

#[test]
fn a_budget_counts_labels() {
    let pool = pool(50, vec![]);
    let (mut session, mut log, ada) = (session(&pool, 1, Some(3)), vec![], name("Ada"));
    assert_eq!(session.next(&ada, 5, at(0), &mut log).asks, asks([1, 2, 3]));
    session.answer(&ada, AskId::new(1), &name("1"), Response::Unsure, at(1), &mut log).unwrap();
    assert_eq!(session.next(&ada, 5, at(0), &mut log).asks, asks([2, 3, 4]), "an item without a label costs none");
    for ask in asks([2, 3, 4]) {
        session.answer(&ada, ask, &name(&format!("{ask}")), PLUS, at(1), &mut log).unwrap();
    }
    let assigned = session.next(&ada, 5, at(0), &mut log);
    assert_eq!((assigned.asks, assigned.no_more), (vec![], Some(NoMore::Budget)));
}

#[test]
fn overlap_asks_different_people_and_reports_their_agreement() {
    let pool = pool(40, vec![]);
    let (mut session, mut log) = (session(&pool, 2, None), vec![]);
    let people = ["Ada", "Ben", "Cem"].map(name);
    let mut answers: HashMap<AskId, BTreeSet<String>> = HashMap::new();
    for round in 0..200_u64 {
        let person = &people[(round % 3) as usize];
        for ask in session.next(person, 1, at(round), &mut log).asks {
            let label = if ask.get() % 4 == 0 && **person == *"Cem" { -1.0 } else { 1.0 };
            let key = name(&format!("{person}{ask}"));
            session.answer(person, ask, &key, Response::Label(LabelValue(label)), at(round), &mut log).unwrap();
            assert!(answers.entry(ask).or_default().insert(person.to_string()), "twice the same person");
        }
    }
    assert_eq!(answers.len(), 40);
    assert!(answers.values().all(|people| people.len() == 2));
    let agreement = session.status(0).agreement.unwrap();
    let odd = answers.iter().filter(|(ask, people)| ask.get() % 4 == 0 && people.contains("Cem")).count() as f64;
    assert_eq!(agreement.items, 40);
    assert!((agreement.share - (40.0 - odd) / 40.0).abs() < 1e-12);
    let (minus, plus) = (odd / 80.0, 1.0 - odd / 80.0);
    let chance = minus * minus + plus * plus;
    assert!((agreement.kappa - (agreement.share - chance) / (1.0 - chance)).abs() < 1e-12);
}

/// The probabilities of a draw, given all before, add up to 1, and the frequencies of draws agree with them.
#[test]
fn recorded_probabilities_agree_with_the_frequencies_of_draws() {
    let rounds = 4000;
    let mut expected = [0.0; 30];
    let mut found = [0.0; 30];
    for seed in 0..rounds {
        let pool = pool(30, vec![]);
        let settings = SessionSettings { labels: Labels::Binary, overlap: 1, budget: None, lease_ms: LEASE, seed };
        let mut session = Session::new(Arc::clone(&pool), task::parse("logistic", Labels::Binary).unwrap(), settings);
        let mut fitter = BackgroundFitter::new(Arc::clone(&pool));
        let (mut log, ada) = (vec![], name("Ada"));
        for answer in 0..14 {
            let ask = session.next(&ada, 1, at(0), &mut log).asks[0];
            let row = session.item(ask).unwrap().row.unwrap();
            let key = name(&format!("{answer}"));
            session.answer(&ada, ask, &key, Response::Label(truth(&pool, row)), at(0), &mut log).unwrap();
        }
        let (job, position) = session.fit_job();
        let model = fitter.fit(&job);
        let uncertainty = model.uncertainty.clone();
        let drawn: BTreeSet<usize> = job.draws.iter().map(|draw| draw.drawn.row).collect();
        session.adopt(model, position, at(0), &mut log);
        let total: f64 = (0..30).filter(|row| !drawn.contains(row)).map(|row| uncertainty[row]).sum();
        let ask = session.next(&ada, 1, at(0), &mut log).asks[0];
        let item = session.item(ask).unwrap();
        let row = item.row.unwrap().0;
        assert!((item.probability.unwrap() - uncertainty[row] / total).abs() < 1e-12);
        found[row] += 1.0;
        for row in (0..30).filter(|row| !drawn.contains(row)) {
            expected[row] += uncertainty[row] / total;
        }
    }
    // A sum of independent coin flips has a variance of at most its mean; 30 rows, so 4.5 standard deviations.
    for row in 0..30 {
        assert!((found[row] - expected[row]).abs() < 4.5 * f64::sqrt(expected[row]) + 1.0, "row {row}");
    }
}

/// 64 people and 10,000 items: no one gets another's item, expired items come back, and late answers are kept.
#[test]
fn no_item_is_leased_to_two_people() {
    let pool = pool(10_000, vec![]);
    let (mut session, mut log) = (session(&pool, 1, None), vec![]);
    let people: Vec<Arc<str>> = (0..64).map(|person| name(&format!("person {person}"))).collect();
    let coin = Coin::new(11, "people");
    let mut held: BTreeMap<AskId, (usize, u64)> = BTreeMap::new();
    let mut waiting: Vec<Vec<AskId>> = vec![vec![]; 64];
    let (mut tick, mut kept, mut late, mut step) = (0, BTreeSet::new(), 0, 0_u64);
    while session.status(0).answered < 10_000 {
        step += 1;
        assert!(step < 400_000, "it never ends");
        tick += coin.below(3 * step, 400) as u64;
        // Occasionally the machine sleeps for an hour.
        tick += if coin.below(3 * step, 5000) == 0 { 3_600_000 } else { 0 };
        let person = coin.below(3 * step + 1, 64);
        if waiting[person].is_empty() {
            let assigned = session.next(&people[person], 4, at(tick), &mut log);
            for ask in &assigned.asks {
                let other = held.insert(*ask, (person, tick + LEASE));
                let free = other.is_none_or(|(holder, until)| holder == person || until <= tick);
                assert!(free, "{ask} was held by {other:?}, and at {tick} goes to {person}");
            }
            waiting[person] = assigned.asks;
            continue;
        }
        let ask = waiting[person].remove(0);
        // Some people leave for a while with leased items.
        if coin.below(3 * step + 2, 40) == 0 {
            waiting[person].clear();
            continue;
        }
        let key = name(&format!("{person}-{ask}"));
        let outcome = session.answer(&people[person], ask, &key, PLUS, at(tick), &mut log).unwrap();
        late += u64::from(matches!(outcome, AnswerOutcome::Late(_)));
        kept.insert((person, ask));
        held.remove(&ask);
        for _ in 0..4 {
            let again = session.answer(&people[person], ask, &key, PLUS, at(tick), &mut log).unwrap();
            assert!(matches!(again, AnswerOutcome::Repeated(_)));
        }
    }
    let answers = log.iter().filter(|event| matches!(event, SessionEvent::Answered { .. })).count();
    assert_eq!(answers, kept.len(), "every answer once");
    assert!(0 < late, "some were late");
    let asked: BTreeSet<_> = log
        .iter()
        .filter_map(|event| if let SessionEvent::Asked { id, .. } = event { Some(id) } else { None })
        .collect();
    assert_eq!(asked.len(), 10_000);
}

/// A random mix of all actions; the fold of the events yields the same state at any point.
#[test]
fn the_state_is_the_fold_of_the_events() {
    let pool = pool(120, vec![(5, 1.0), (6, -1.0)]);
    for overlap in [1, 2] {
        let (mut session, mut log) = (session(&pool, overlap, Some(90)), vec![]);
        let mut fitter = BackgroundFitter::new(Arc::clone(&pool));
        let people = ["Ada", "Ben", "Cem"].map(name);
        let coin = Coin::new(overlap as u64, "storm");
        let mut tick = 0;
        for step in 0..1500_u64 {
            tick += coin.below(5 * step, 20_000) as u64;
            let person = &people[coin.below(5 * step + 1, 3)];
            let assigned = session.next(person, 2, at(tick), &mut log);
            let key = name(&format!("key {step}"));
            match (coin.below(5 * step + 2, 12), assigned.asks.first()) {
                (0, _) => drop(session.undo(person, &key, None, at(tick), &mut log).unwrap()),
                (1, Some(ask)) => drop(session.answer(person, *ask, &key, Response::Skip, at(tick), &mut log)),
                (2, Some(ask)) => drop(session.answer(person, *ask, &key, Response::Unsure, at(tick), &mut log)),
                (3, Some(ask)) => session.release(person, &[*ask]),
                (4, _) => {
                    let (job, position) = session.fit_job();
                    session.adopt(fitter.fit(&job), position, at(tick), &mut log);
                }
                (_, Some(ask)) => {
                    let row = session.item(*ask).unwrap().row.unwrap();
                    let response = Response::Label(truth(&pool, row));
                    session.answer(person, *ask, &key, response, at(tick), &mut log).unwrap();
                }
                (_, None) => {}
            }
            if step % 100 == 99 {
                let mut again = self::session(&pool, overlap, Some(90));
                for event in &log {
                    assert!(again.can_follow(event));
                    again.fold(event, 0);
                }
                again.begin();
                for person in ["Ada", "Ben", "Cem"] {
                    assert_eq!(
                        without_pending(&view(&again, person)),
                        without_pending(&view(&session, person)),
                        "{step}"
                    );
                }
            }
        }
        assert!(30 < session.status(0).answered);
    }
}

/// Removes the numbers of skipped and pending items, which may differ because the end of a lease is not recorded.
fn without_pending(view: &str) -> String {
    view.split(' ').filter(|word| word.parse::<usize>().is_err()).collect::<Vec<_>>().join(" ")
}

#[test]
fn incremental_training_equals_training_at_once() {
    let pool = pool(400, vec![(5, -1.0)]);
    let (mut session, mut log, ada) = (session(&pool, 1, None), vec![], name("Ada"));
    let mut fitter = BackgroundFitter::new(Arc::clone(&pool));
    for answer in 0..150_u64 {
        let ask = session.next(&ada, 1, at(answer), &mut log).asks[0];
        let row = session.item(ask).unwrap().row.unwrap();
        let key = name(&format!("{answer}"));
        session.answer(&ada, ask, &key, Response::Label(truth(&pool, row)), at(answer), &mut log).unwrap();
        if answer % 13 == 0 {
            let (job, position) = session.fit_job();
            session.adopt(fitter.fit(&job), position, at(answer), &mut log);
        }
    }
    let (job, _) = session.fit_job();
    let (parts, whole) = (fitter.fit(&job), BackgroundFitter::new(Arc::clone(&pool)).fit(&job));
    assert_eq!(parts.scorer.numbers(), whole.scorer.numbers());
    assert_eq!(parts.uncertainty, whole.uncertainty);
    let (of_parts, of_whole) = (parts.assessment.unwrap(), whole.assessment.unwrap());
    assert_eq!(of_parts.readings, of_whole.readings);
    assert_eq!(of_parts.score.value, of_whole.score.value);
    // The side of 0.3 is easy to learn, and the estimate for the whole pool reflects that.
    let share = (0..400).filter(|row| {
        let mut score = [0.0];
        whole.scorer.scores(pool.rows.row(*row), &mut score);
        (0.0 < score[0]) == (0.0 < truth(&pool, RowId(*row)).0)
    });
    let accuracy = share.count() as f64 / 400.0;
    assert!(0.97 < accuracy, "{accuracy}");
    assert!(of_whole.score.low <= accuracy && accuracy <= of_whole.score.high + 0.02, "{:?}", of_whole.score);
}

#[test]
fn draws_before_the_pool_grew_are_used_only_for_training() {
    let (small, large) = (pool(60, vec![]), pool(100, vec![]));
    let (mut session, mut log, ada) = (session(&small, 1, None), vec![], name("Ada"));
    for answer in 0..20_u64 {
        let ask = session.next(&ada, 1, at(0), &mut log).asks[0];
        session.answer(&ada, ask, &name(&format!("{answer}")), PLUS, at(0), &mut log).unwrap();
    }
    let mut grown = self::session(&large, 1, None);
    for event in &log {
        grown.fold(event, 0);
    }
    grown.begin();
    grown.grow(at(0), &mut log);
    for answer in 20..30_u64 {
        let ask = grown.next(&ada, 1, at(0), &mut log).asks[0];
        grown.answer(&ada, ask, &name(&format!("{answer}")), PLUS, at(0), &mut log).unwrap();
    }
    let (job, _) = grown.fit_job();
    assert_eq!((job.seed_labels.len(), job.draws.len(), job.askable), (20, 10, 80));
    assert!((job.draws[0].drawn.probability.unwrap() - 1.0 / 80.0).abs() < 1e-12);
}

#[test]
fn a_person_who_is_done_sees_what_others_still_have() {
    let pool = pool(4, vec![]);
    let (mut session, mut log, ada, ben) = (session(&pool, 2, None), vec![], name("Ada"), name("Ben"));
    for ask in asks([1, 2, 3, 4]) {
        session.next(&ada, 1, at(0), &mut log);
        session.answer(&ada, ask, &name(&format!("a{ask}")), PLUS, at(0), &mut log).unwrap();
    }
    let assigned = session.next(&ada, 1, at(0), &mut log);
    assert_eq!((assigned.no_more, assigned.for_others, assigned.leased), (Some(NoMore::YoursDone), 4, 0));
    // Asks leased to Ben cannot come back to Ada, who has answered them.
    session.next(&ben, 2, at(0), &mut log);
    let assigned = session.next(&ada, 1, at(0), &mut log);
    assert_eq!((assigned.no_more, assigned.for_others, assigned.next_free_ms), (Some(NoMore::YoursDone), 4, None));
    for ask in asks([1, 2, 3, 4]) {
        session.next(&ben, 1, at(0), &mut log);
        session.answer(&ben, ask, &name(&format!("b{ask}")), PLUS, at(0), &mut log).unwrap();
    }
    let assigned = session.next(&ada, 1, at(0), &mut log);
    assert_eq!((assigned.no_more, assigned.for_others), (Some(NoMore::Finished), 0));
}
