//! Server-sent events: the status, whenever it has changed.

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
use tokio::sync::{mpsc, watch};
use tokio::time;

use crate::reply::Reply;
use crate::routes::House;
use crate::show;

/// A body that is written bit by bit.
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

/// How often people's counts are looked at, and how often a word is sent to keep the line open.
const EVERY: Duration = Duration::from_millis(400);
const HEARTBEAT: Duration = Duration::from_secs(15);
/// A reader who does not read is left after so many pieces.
const UNREAD: usize = 16;

/// Makes the status whenever it has changed, once for all who watch.
pub(crate) async fn broadcast(house: Arc<House>, sender: watch::Sender<Bytes>) {
    let (mut seen, mut problem) = (0, false);
    loop {
        if 0 < sender.receiver_count() {
            let (now, broken) = (house.desk.seen(), house.desk.problem().is_some());
            if (now, broken) != (seen, problem) {
                (seen, problem) = (now, broken);
                sender.send_replace(Bytes::from(show::status(&house).to_string()));
            }
        }
        tokio::select! {
            () = time::sleep(EVERY) => {}
            () = house.ending() => return,
        }
    }
}

/// A stream of statuses, the first one at once.
pub(crate) fn events(house: &Arc<House>) -> Reply {
    let (sender, pieces) = mpsc::channel(UNREAD);
    let first = Bytes::from(show::status(house).to_string());
    let house = Arc::clone(house);
    let mut statuses = house.statuses.subscribe();
    statuses.mark_unchanged();
    tokio::spawn(async move {
        let event = |status: &[u8]| Bytes::from([b"event: status\ndata: ", status, b"\n\n"].concat());
        let mut next = event(&first);
        loop {
            if sender.try_send(next).is_err() {
                return;
            }
            next = tokio::select! {
                changed = statuses.changed() => match changed {
                    Ok(()) => event(&statuses.borrow_and_update()),
                    Err(_) => return,
                },
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
