//! Notices for the operator of a server, and the tasks that send them.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{self, MissedTickBehavior};

use crate::admission::{Limits, Overload};
use crate::key::KeyError;
use crate::routes::House;

/// Something that the operator of a server should know.
#[derive(Debug)]
pub enum Notice<'a> {
    /// A link was used, and another one replaces it.
    LinkUsed {
        /// The token of the new link.
        next: &'a str,
        /// The annotator that the link belongs to, if any.
        annotator: Option<&'a str>,
    },
    /// Sessions were revoked, and their connections closed.
    Revoked {
        /// The number of closed connections.
        connections: usize,
    },
    /// A link was withdrawn because the sessions of its annotator were revoked, and another one replaces it.
    LinkReplaced {
        /// The token of the new link.
        next: &'a str,
        /// The annotator that the link belongs to, if any.
        annotator: Option<&'a str>,
    },
    /// The key file cannot be read, so revocations have no effect.
    KeyUnreadable(&'a KeyError),
    /// Answers cannot be saved; the text is the reason.
    StoreProblem(&'a str),
    /// Connections were rejected or closed because of limits.
    Overload {
        /// The counts of rejected and closed connections.
        counts: Overload,
        /// The length of the reporting interval.
        within: Duration,
        /// The limits in force.
        limits: Limits,
    },
}

/// A callback for every notice.
pub type OnNotice = Box<dyn Fn(Notice<'_>) + Send + Sync>;

/// The interval between reports of overload.
const OVERLOAD_EVERY: Duration = Duration::from_secs(10);
/// The interval between checks of the key file for revocations.
const REVOCATIONS_EVERY: Duration = Duration::from_millis(500);

/// The interval between checks of the store for problems.
const STORE_EVERY: Duration = Duration::from_millis(500);

/// Reports that answers cannot be saved, once for each reason, until the server ends.
pub(crate) async fn report_store_problem(house: Arc<House>) {
    let mut reported: Option<String> = None;
    loop {
        tokio::select! {
            biased;
            () = house.ending() => return,
            () = time::sleep(STORE_EVERY) => {}
        }
        let problem = house.desk.problem().map(|problem| problem.words);
        if let Some(words) = problem.as_deref().filter(|words| reported.as_deref() != Some(words)) {
            house.notify(Notice::StoreProblem(words));
        }
        reported = problem;
    }
}

/// Reports overload at intervals.
pub(crate) async fn report_overload_regularly(house: Arc<House>) {
    let mut interval = time::interval(OVERLOAD_EVERY);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        interval.tick().await;
        report_overload(&house);
    }
}

/// Reports overload since the last report, if there was any.
pub(crate) fn report_overload(house: &House) {
    let counts = house.connections.take_overload();
    if counts != Overload::default() {
        let limits = house.connections.limits;
        house.notify(Notice::Overload { counts, within: OVERLOAD_EVERY, limits });
    }
}

/// Applies revocations from the key file until the server ends.
pub(crate) async fn apply_revocations(house: Arc<House>) {
    let mut interval = time::interval(REVOCATIONS_EVERY);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut is_readable = true;
    loop {
        tokio::select! {
            _ = interval.tick() => {}
            () = house.ending() => return,
        }
        let generations = || -> Vec<u64> {
            house.access.credentials.iter().map(|known| house.access.key.generation(known.name.as_deref())).collect()
        };
        let before = generations();
        match tokio::task::block_in_place(|| house.access.key.reload()) {
            Ok(_) => {
                is_readable = true;
                apply(&house, &before, &generations());
            }
            Err(error) if is_readable => {
                is_readable = false;
                house.notify(Notice::KeyUnreadable(&error));
            }
            Err(_) => {}
        }
    }
}

/// Closes the connections of revoked sessions and replaces the links of their annotators.
fn apply(house: &House, before: &[u64], now: &[u64]) {
    if before == now {
        return;
    }
    let connections = house.connections.close_sessions(|identity| house.access.is_current(identity));
    house.notify(Notice::Revoked { connections });
    for (index, credential) in house.access.credentials.iter().enumerate().filter(|(at, _)| before[*at] != now[*at]) {
        if let Ok(next) = house.links.replace(index) {
            house.notify(Notice::LinkReplaced { next: &next, annotator: credential.name.as_deref() });
        }
    }
}
