//! The accept loop and the handling of one connection.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{self, JoinSet};
use tokio::time;

use crate::admission::{Ticket, network};
use crate::app_state::AppState;
use crate::routes::answer;

/// The maximum size of the head of a request, in bytes.
const HEAD_BYTES: usize = 32 << 10;
/// The timeout for the head of a request to arrive, and for an idle connection.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// The pause after the operating system could not accept a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);
/// The time that a stopping server waits for pending requests.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(4);

/// Serves until the server is stopped and its pending requests are finished.
pub(crate) async fn serve(state: Arc<AppState>, listener: TcpListener) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    let source = (!state.access.is_trusted_proxy(peer.ip())).then(|| network(peer.ip()));
                    let ticket = state.connections.admit(source);
                    connections.spawn(serve_connection(Arc::clone(&state), stream, peer, ticket));
                    // A connection whose request has arrived is authenticated before later ones could evict it.
                    task::yield_now().await;
                }
                Err(_) => {
                    state.connections.accept_failed();
                    time::sleep(ACCEPT_PAUSE).await;
                }
            },
            Some(_) = connections.join_next() => {}
            () = state.stopping() => break,
        }
    }
    drop(listener);
    let all = async { while connections.join_next().await.is_some() {} };
    // A request that is still pending then was not acknowledged.
    let _ = time::timeout(DRAIN_TIMEOUT, all).await;
}

async fn serve_connection(state: Arc<AppState>, stream: TcpStream, peer: SocketAddr, ticket: Ticket) {
    // Replies are small, and clients wait for each of them.
    let _ = stream.set_nodelay(true);
    let ticket = &ticket;
    let service = service_fn(|request| {
        let state = Arc::clone(&state);
        async move { Ok::<_, Infallible>(answer(state, request, peer.ip(), ticket).await) }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_buf_size(HEAD_BYTES).half_close(false);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        () = ticket.evicted() => return,
        () = state.stopping() => connection.as_mut().graceful_shutdown(),
    }
    // An error here affects only this connection.
    let _ = connection.await;
}
