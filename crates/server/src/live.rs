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
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time;

use crate::reply::Reply;
use crate::routes::House;
use crate::{patch, show};

/// The body of an event stream, which is sent in pieces.
pub(crate) struct Live {
    pieces: mpsc::Receiver<Bytes>,
}

impl Body for Live {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.pieces.poll_recv(context).map(|piece| piece.map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// The interval between checks for a changed status.
const CHECK_INTERVAL: Duration = Duration::from_millis(400);
/// The interval between comments that keep the connection open.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// The number of unread pieces after which a slow client is disconnected.
const MAX_UNREAD: usize = 16;

/// The last published status, and its difference from the previous one.
#[derive(Default)]
pub(crate) struct Published {
    /// Counts published statuses.
    version: u64,
    /// The inputs of the status: the session's counter of changes, and whether the store has a problem.
    seen: Option<(u64, bool)>,
    status: Value,
    /// The event that turns the previous status into this one.
    change: Bytes,
}

impl Published {
    fn event(&self) -> Bytes {
        event("status", &self.status)
    }
}

fn event(name: &str, data: &Value) -> Bytes {
    Bytes::from(format!("event: {name}\ndata: {data}\n\n"))
}

/// Publishes the status to all event streams, if it has changed.
fn publish(house: &Arc<House>) {
    house.statuses.send_if_modified(|last| {
        let seen = Some((house.desk.seen(), house.desk.problem().is_some()));
        if last.seen == seen {
            return false;
        }
        last.seen = seen;
        let status = show::live_status(house);
        let changes = patch::difference(&last.status, &status);
        if changes.is_empty() {
            return false;
        }
        (last.change, last.status) = (event("patch", &Value::Array(changes)), status);
        last.version += 1;
        true
    });
}

/// Publishes changes of the status until the server ends, while there are event streams.
pub(crate) async fn broadcast(house: Arc<House>) {
    loop {
        if 0 < house.statuses.receiver_count() {
            publish(&house);
        }
        tokio::select! {
            () = time::sleep(CHECK_INTERVAL) => {}
            () = house.ending() => return,
        }
    }
}

/// Replies with a stream of events: first the whole status, then patches of it. A client that has missed a patch gets
/// the whole status again.
pub(crate) fn events(house: &Arc<House>) -> Reply {
    let (sender, pieces) = mpsc::channel(MAX_UNREAD);
    let house = Arc::clone(house);
    publish(&house);
    let mut statuses = house.statuses.subscribe();
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
                () = time::sleep(HEARTBEAT) => Bytes::from_static(b": here\n\n"),
                () = sender.closed() => return,
                () = house.ending() => return,
            };
        }
    });
    let mut reply = Response::new(Either::Right(Live { pieces }));
    reply.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    reply
}
