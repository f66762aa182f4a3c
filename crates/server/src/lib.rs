//! The labeling server: annotators label items over HTTP, and nothing is acknowledged before it is on disk.
//!
//! The engine's session assigns items to annotators, and the ledger stores the events; this crate connects both to a
//! browser. It has no learning logic: a separate thread runs the engine's learner, and answers never wait for it.

mod admission;
mod app_state;
mod assets;
mod catalog;
mod clock;
mod connection;
mod credentials;
mod event_stream;
mod images;
mod key_file;
mod openapi;
mod operator_events;
mod patch;
mod reply;
mod request_checks;
mod routes;
mod session_store;
mod views;
mod wire;

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;

use querist_engine::session::{LabelingPool, SessionSettings};
use querist_ledger::{Ledger, LedgerError};
use querist_run::labeling::Images;
use socket2::SockRef;
use tokio::runtime;
use tokio::sync::watch;

pub use admission::{Limits, Overload};
pub use catalog::{Catalog, MakeCertificate};
pub use credentials::{AccessSettings, Credential, RandomnessError, new_token};
pub use key_file::{KeyError, KeyFile, is_private};
pub use operator_events::{OnOperatorEvent, OperatorEvent};
pub use session_store::MakeTask;
pub use wire::certificate::{CertificateClaim, CertificateConstants, CertificateReply, CertifiedPair};
pub use wire::replies::{DisplayedField, FieldKind};

use admission::Connections;
use app_state::AppState;
use session_store::SessionStore;

/// The maximum number of connections that wait to be accepted.
const BACKLOG: i32 = 4096;

/// The parts of a server.
pub struct Setup {
    /// The socket to listen on.
    pub listener: TcpListener,
    /// The ledger of the session, new or to be resumed.
    pub ledger: Ledger,
    /// The items to label and the learner.
    pub pool: Arc<LabelingPool>,
    /// Creates the task, which interprets labels and scores.
    pub task: MakeTask,
    /// The settings of the session.
    pub settings: SessionSettings,
    /// Titles, labels and fields for display.
    pub catalog: Catalog,
    /// The images that items refer to.
    pub images: Arc<Images>,
    /// The credentials and host names of the server.
    pub access: AccessSettings,
    /// The limits on connections.
    pub limits: Limits,
    /// Called with events for the operator.
    pub on_event: OnOperatorEvent,
}

/// An error of a server: it cannot start or run, or it stopped saving answers.
#[derive(Debug)]
#[non_exhaustive]
pub enum ServerError {
    /// The ledger cannot be used.
    Ledger(LedgerError),
    /// The server had to stop saving answers, for this reason.
    Store(String),
    /// The operating system reported an error.
    System(io::Error),
}

impl std::fmt::Display for ServerError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ledger(error) => write!(f, "{error}"),
            Self::Store(message) => write!(f, "answers could not be saved: {message}"),
            Self::System(error) => write!(f, "the server cannot run: {error}"),
        }
    }
}

impl std::error::Error for ServerError {}

/// A server that is ready to run.
pub struct LabelingServer {
    state: Arc<AppState>,
    listener: TcpListener,
}

/// A handle that stops a server from another thread.
#[derive(Clone)]
pub struct StopHandle(Arc<AppState>);

impl StopHandle {
    /// Stops the server after the pending requests are finished.
    pub fn stop(&self) {
        self.0.is_stopping.send_replace(true);
    }
}

impl LabelingServer {
    /// Creates a server that resumes the session of a ledger.
    pub fn new(setup: Setup) -> Result<Self, ServerError> {
        let store =
            SessionStore::open(setup.ledger, setup.pool, setup.task, setup.settings).map_err(ServerError::Ledger)?;
        let state = AppState {
            store: Arc::new(store),
            catalog: setup.catalog,
            links: credentials::SignInLinks::new(&setup.access)
                .map_err(|error| ServerError::System(io::Error::other(error)))?,
            connections: Arc::new(Connections::new(setup.limits)),
            access: setup.access,
            wrong_tokens: request_checks::WrongTokenCounter::default(),
            images: setup.images,
            statuses: watch::Sender::default(),
            is_stopping: watch::Sender::new(false),
            on_event: setup.on_event,
        };
        Ok(Self { state: Arc::new(state), listener: setup.listener })
    }

    /// Returns the tokens of the one-time links, in the order of the credentials.
    pub fn links(&self) -> Vec<String> {
        self.state.links.all()
    }

    /// Returns a handle that stops the server.
    pub fn stop_handle(&self) -> StopHandle {
        StopHandle(Arc::clone(&self.state))
    }

    /// Describes the items that training skips or that are never asked, with one sentence for each reason.
    pub fn data_problems(&self) -> Vec<String> {
        self.state.store.read(|session, _| views::status::data_problems(&self.state, session))
    }

    /// Serves until a signal or a [`StopHandle`] stops it. Then finishes the pending requests; everything acknowledged
    /// is on disk. A second signal exits the process immediately, which loses nothing acknowledged either.
    pub fn run(self) -> Result<(), ServerError> {
        let state = self.state;
        let store = Arc::clone(&state.store);
        let learner = thread::Builder::new().name("learner".to_owned()).spawn(move || store.learn());
        learner.map_err(ServerError::System)?;
        self.listener.set_nonblocking(true).map_err(ServerError::System)?;
        // Pages that reconnect at the same time, after a restart, wait in the queue and do not have to retry.
        SockRef::from(&self.listener).listen(BACKLOG).map_err(ServerError::System)?;
        let runtime = runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.map_err(ServerError::System)?;
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(self.listener).map_err(ServerError::System)?;
            tokio::spawn(event_stream::publish_regularly(Arc::clone(&state)));
            tokio::spawn(until_signal(StopHandle(Arc::clone(&state))));
            tokio::spawn(operator_events::report_overload_regularly(Arc::clone(&state)));
            tokio::spawn(operator_events::apply_revocations(Arc::clone(&state)));
            tokio::spawn(operator_events::report_store_problem(Arc::clone(&state)));
            // On a worker thread, where yielding lets new connections run.
            let served = tokio::spawn(connection::serve(Arc::clone(&state), listener)).await;
            operator_events::report_overload(&state);
            served.map_err(|error| ServerError::System(io::Error::other(error)))
        })?;
        let closed = state.store.close();
        runtime.shutdown_background();
        closed.map_err(|problem| ServerError::Store(problem.message))
    }
}

/// Installs signal handlers before it returns; the future stops the server at the first signal.
#[cfg(unix)]
fn until_signal(stop: StopHandle) -> impl Future<Output = ()> {
    use tokio::signal::unix::{SignalKind, signal};
    let signals = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal);
    async move {
        let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = signals else { return };
        let mut is_stopping = false;
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
            }
            if is_stopping {
                std::process::exit(130);
            }
            is_stopping = true;
            stop.stop();
        }
    }
}

#[cfg(not(unix))]
async fn until_signal(stop: StopHandle) {
    if tokio::signal::ctrl_c().await.is_ok() {
        stop.stop();
    }
}
