//! Replays of sessions.

use std::sync::Arc;

use querist_engine::session::{
    AnswerId, AskId, BackgroundFitter, LabelValue, LabelingPool, Replay, ReplayDifference, ReplayPlan, ReplayReport,
    Response, SessionEvent,
};

use super::{at, name, pool, session, truth};

/// Runs a session in which models are adopted late, people change their minds, and the server stops and resumes.
fn eventful(pool: &Arc<LabelingPool>) -> Vec<SessionEvent> {
    let (mut log, mut fitter) = (vec![], BackgroundFitter::new(Arc::clone(pool)));
    let mut session = session(pool, 1, None);
    session.resume(at(0), &mut log);
    let people = [name("Ada"), name("Ben")];
    let mut next_job = None;
    for step in 0..300_u64 {
        let who = &people[(step % 2) as usize];
        let assigned = session.next(who, 3, at(step), &mut log);
        let row = session.item(assigned.asks[0]).unwrap().row.unwrap();
        let response = if step % 17 == 3 { Response::Skip } else { Response::Label(truth(pool, row)) };
        session.answer(who, assigned.asks[0], &name(&format!("k{step}")), response, at(step), &mut log).unwrap();
        if step % 23 == 5 {
            session.undo(who, &name(&format!("u{step}")), None, at(step), &mut log).unwrap();
        }
        // A job is created at one step, and its model is adopted at a later one.
        if step % 7 == 0 {
            next_job = Some(session.fit_job());
        }
        if step % 7 == 4
            && let Some((job, position)) = next_job.take()
        {
            session.adopt(fitter.fit(&job), position, at(step), &mut log);
        }
        if step % 90 == 89 {
            let mut again = super::session(pool, 1, None);
            for event in &log {
                again.fold(event, step);
            }
            again.begin();
            again.resume(at(step), &mut log);
            (session, next_job) = (again, None);
        }
    }
    log
}

fn replayed(pool: &Arc<LabelingPool>, log: &[SessionEvent]) -> ReplayReport {
    let mut plan = ReplayPlan::default();
    for event in log {
        plan.process(event);
    }
    let mut replay = Replay::new(session(pool, 1, None), plan);
    for event in log {
        replay.process(event);
    }
    replay.end().0
}

#[test]
fn a_replay_draws_the_same_items_by_the_same_models() {
    let pool = pool(2000, vec![(3, 1.0), (4, -1.0)]);
    let log = eventful(&pool);
    let count = |of: fn(&SessionEvent) -> bool| log.iter().filter(|event| of(event)).count() as u64;
    let (draws, models) = (
        count(|event| matches!(event, SessionEvent::Asked { .. })),
        count(|event| matches!(event, SessionEvent::Fitted { .. })),
    );
    let found = replayed(&pool, &log);
    assert_eq!((found.differences, found.not_compared), (vec![], 0));
    assert_eq!((found.draws, found.models), (draws, models));
    assert!(250 < draws && 30 < models, "{draws} {models}");
    assert_eq!(found.is_up_to_date, Some(false));
}

#[test]
fn a_replay_reports_differences() {
    let pool = pool(2000, vec![]);
    let log = eventful(&pool);
    let index = log
        .iter()
        .position(|event| matches!(event, SessionEvent::Asked { ask, .. } if *ask == AskId::new(200)))
        .unwrap();
    // Change the last bit of one U.
    let mut changed = log.clone();
    if let SessionEvent::Asked { odds, .. } = &mut changed[index] {
        odds.uncertainty = odds.uncertainty.next_up();
    }
    let found = replayed(&pool, &changed);
    assert_eq!(found.differing, 1);
    assert!(found.differences[0].to_string().starts_with("ask 200 was item"), "{}", found.differences[0]);
    // Flip one answer: the models trained on it differ, and so do their draws.
    let mut changed = log.clone();
    let answered = changed.iter_mut().find_map(|event| match event {
        SessionEvent::Answered { response: Response::Label(LabelValue(label)), answer, .. }
            if AnswerId::new(50) <= *answer =>
        {
            Some(label)
        }
        _ => None,
    });
    *answered.unwrap() *= -1.0;
    let found = replayed(&pool, &changed);
    assert!(1 < found.differing && 40 < found.draws, "{found:?}");
    assert!(matches!(found.differences[0], ReplayDifference::Model { .. }), "{:?}", found.differences[0]);
    // Draws from another pool cannot be reproduced.
    let larger = super::pool(2001, vec![]);
    let found = replayed(&larger, &log);
    assert_eq!((found.draws, found.models, found.differing), (0, 0, 0));
    assert!(250 < found.not_compared);
}
