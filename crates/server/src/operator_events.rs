//! Events for the operator of a server, and the tasks that report them.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{self, MissedTickBehavior};

use crate::admission::{Limits, Overload};
use crate::app_state::AppState;
use crate::key_file::KeyError;

/// An event that the operator of a server should know about.
#[derive(Debug)]
pub enum OperatorEvent<'a> {
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

/// A callback for every event.
pub type OnOperatorEvent = Box<dyn Fn(OperatorEvent<'_>) + Send + Sync>;

/// The interval between reports of overload.
const OVERLOAD_INTERVAL: Duration = Duration::from_secs(10);
/// The interval between checks of the key file for revocations.
const REVOCATION_INTERVAL: Duration = Duration::from_millis(500);

/// The interval between checks of the store for problems.
const STORE_INTERVAL: Duration = Duration::from_millis(500);

/// Reports that answers cannot be saved, once for each reason, until the server ends.
pub(crate) async fn report_store_problem(state: Arc<AppState>) {
    let mut reported: Option<String> = None;
    loop {
        tokio::select! {
            biased;
            () = state.stopping() => return,
            () = time::sleep(STORE_INTERVAL) => {}
        }
        let problem = state.store.problem().map(|problem| problem.message);
        if let Some(message) = problem.as_deref().filter(|message| reported.as_deref() != Some(message)) {
            state.notify(OperatorEvent::StoreProblem(message));
        }
        reported = problem;
    }
}

/// Reports overload at intervals.
pub(crate) async fn report_overload_regularly(state: Arc<AppState>) {
    let mut interval = time::interval(OVERLOAD_INTERVAL);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        interval.tick().await;
        report_overload(&state);
    }
}

/// Reports overload since the last report, if there was any.
pub(crate) fn report_overload(state: &AppState) {
    let counts = state.connections.take_overload();
    if counts != Overload::default() {
        let limits = state.connections.limits;
        state.notify(OperatorEvent::Overload { counts, within: OVERLOAD_INTERVAL, limits });
    }
}

/// Applies revocations from the key file until the server ends.
pub(crate) async fn apply_revocations(state: Arc<AppState>) {
    let mut interval = time::interval(REVOCATION_INTERVAL);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut is_readable = true;
    loop {
        tokio::select! {
            _ = interval.tick() => {}
            () = state.stopping() => return,
        }
        let generations = || -> Vec<u64> {
            state.access.credentials.iter().map(|known| state.access.key.generation(known.name.as_deref())).collect()
        };
        let before = generations();
        match tokio::task::block_in_place(|| state.access.key.reload()) {
            Ok(_) => {
                is_readable = true;
                apply_revoked(&state, &before, &generations());
            }
            Err(error) if is_readable => {
                is_readable = false;
                state.notify(OperatorEvent::KeyUnreadable(&error));
            }
            Err(_) => {}
        }
    }
}

/// Closes the connections of revoked sessions and replaces the links of their annotators.
fn apply_revoked(state: &AppState, before: &[u64], now: &[u64]) {
    if before == now {
        return;
    }
    let connections = state.connections.close_sessions(|identity| state.access.is_current(identity));
    state.notify(OperatorEvent::Revoked { connections });
    for (index, credential) in
        state.access.credentials.iter().enumerate().filter(|(index, _)| before[*index] != now[*index])
    {
        if let Ok(next) = state.links.replace(index) {
            state.notify(OperatorEvent::LinkReplaced { next: &next, annotator: credential.name.as_deref() });
        }
    }
}
