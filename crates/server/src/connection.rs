//! Connections: how many, how slow, how long.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time;

use crate::routes::{House, answer};

/// Heads of requests are this long at most, and come within this time; so long may a connection be idle, too.
const HEAD: usize = 32 << 10;
const PATIENCE: Duration = Duration::from_secs(30);
/// Connections at once. Of those beyond, the oldest whose owner is not known is closed.
const MOST: usize = 800;
/// How long requests under way are waited for at the end.
const DRAIN: Duration = Duration::from_secs(4);

/// Connections whose owners have not said who they are, the oldest first.
#[derive(Default)]
struct Strangers(Mutex<VecDeque<(AbortHandle, Arc<AtomicBool>)>>);

impl Strangers {
    fn add(&self, handle: AbortHandle, known: Arc<AtomicBool>, open: usize) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push_back((handle, known));
        waiting.retain(|(handle, known)| !handle.is_finished() && !known.load(Ordering::Relaxed));
        if MOST < open
            && let Some((oldest, _)) = waiting.pop_front()
        {
            oldest.abort();
        }
    }
}

/// Serves until the end is called for, then until requests under way are done.
pub(crate) async fn serve(house: Arc<House>, listener: TcpListener) {
    let mut connections = JoinSet::new();
    let strangers = Strangers::default();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let known = Arc::new(AtomicBool::new(false));
                    let handle = connections.spawn(connection(Arc::clone(&house), stream, Arc::clone(&known)));
                    strangers.add(handle, known, connections.len());
                }
                // Too many open files, most likely: it passes.
                Err(_) => time::sleep(Duration::from_millis(20)).await,
            },
            Some(_) = connections.join_next() => {}
            () = house.ending() => break,
        }
    }
    drop(listener);
    let all = async { while connections.join_next().await.is_some() {} };
    // What is not done by then was not acknowledged.
    let _ = time::timeout(DRAIN, all).await;
}

async fn connection(house: Arc<House>, stream: TcpStream, known: Arc<AtomicBool>) {
    // Answers are small, and somebody waits for each.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| {
        let (house, known) = (Arc::clone(&house), Arc::clone(&known));
        async move {
            let (reply, is_known) = answer(house, request).await;
            known.fetch_or(is_known, Ordering::Relaxed);
            Ok::<_, Infallible>(reply)
        }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(PATIENCE).max_buf_size(HEAD).half_close(false);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        () = house.ending() => connection.as_mut().graceful_shutdown(),
    }
    // A connection that breaks is its owner's business.
    let _ = connection.await;
}
