//! Server-sent events: the status once, then its changes.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Either;
use hyper::body::{Body, Frame};
use hyper::header::HeaderValue;
use hyper::{Response, header};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time;

use crate::app_state::AppState;
use crate::reply::Reply;
use crate::{patch, views};

/// The body of an event stream, which is sent in chunks.
pub(crate) struct EventStreamBody {
    chunks: mpsc::Receiver<Bytes>,
}

impl Body for EventStreamBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.chunks.poll_recv(context).map(|chunk| chunk.map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// The interval between checks for a changed status.
const CHECK_INTERVAL: Duration = Duration::from_millis(400);
/// The interval between comments that keep the connection open.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(15);
/// The number of unread chunks after which a slow client is disconnected.
const MAX_UNREAD_CHUNKS: usize = 16;

/// The last published status, and its difference from the previous one.
#[derive(Default)]
pub(crate) struct PublishedStatus {
    /// Counts published statuses.
    version: u64,
    /// The inputs of the status: the session's counter of changes, and whether the store has a problem.
    inputs: Option<(u64, bool)>,
    status: Value,
    /// The event that turns the previous status into this one.
    change: Bytes,
}

impl PublishedStatus {
    fn event(&self) -> Bytes {
        event("status", &self.status)
    }
}

fn event(name: &str, data: &impl Serialize) -> Bytes {
    let data = serde_json::to_string(data).expect("events are texts, numbers, lists and maps");
    Bytes::from(format!("event: {name}\ndata: {data}\n\n"))
}

/// Publishes the status to all event streams, if it has changed.
fn publish(state: &Arc<AppState>) {
    state.statuses.send_if_modified(|last| {
        let inputs = Some((state.store.change_count(), state.store.problem().is_some()));
        if last.inputs == inputs {
            return false;
        }
        last.inputs = inputs;
        let status = json!(views::status::streamed_status(state));
        let changes = patch::difference(&last.status, &status);
        if changes.is_empty() {
            return false;
        }
        (last.change, last.status) = (event("patch", &changes), status);
        last.version += 1;
        true
    });
}

/// Publishes changes of the status until the server ends, while there are event streams.
pub(crate) async fn publish_regularly(state: Arc<AppState>) {
    loop {
        if 0 < state.statuses.receiver_count() {
            publish(&state);
        }
        tokio::select! {
            () = time::sleep(CHECK_INTERVAL) => {}
            () = state.stopping() => return,
        }
    }
}

/// Replies with a stream of events: first the whole status, then patches of it. A client that has missed a patch gets
/// the whole status again.
pub(crate) fn reply(state: &Arc<AppState>) -> Reply {
    let (sender, chunks) = mpsc::channel(MAX_UNREAD_CHUNKS);
    let state = Arc::clone(state);
    publish(&state);
    let mut statuses = state.statuses.subscribe();
    tokio::spawn(async move {
        let (mut version, mut next) = {
            let first = statuses.borrow_and_update();
            (first.version, first.event())
        };
        loop {
            if sender.try_send(next).is_err() {
                return;
            }
            next = tokio::select! {
                changed = statuses.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    let published = statuses.borrow_and_update();
                    let missed = published.version != version + 1;
                    version = published.version;
                    if missed { published.event() } else { published.change.clone() }
                }
                () = time::sleep(HEARTBEAT_INTERVAL) => Bytes::from_static(b": here\n\n"),
                () = sender.closed() => return,
                () = state.stopping() => return,
            };
        }
    });
    let mut reply = Response::new(Either::Right(EventStreamBody { chunks }));
    reply.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    reply
}
