//! The labeling server: annotators label items over HTTP, and nothing is acknowledged before it is on disk.
//!
//! The engine's session assigns items to annotators, and the ledger stores the events; this crate connects both to a
//! browser. It has no learning logic: a separate thread runs the engine's learner, and answers never wait for it.

mod admission;
mod assets;
mod clock;
mod connection;
mod desk;
mod guard;
mod images;
mod key;
mod live;
mod login;
mod notice;
mod openapi;
mod patch;
mod reply;
mod routes;
mod show;
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
pub use desk::MakeTask;
pub use key::{KeyError, KeyFile, is_private};
pub use login::{Access, Credential, new_token};
pub use notice::{Notice, OnNotice};
pub use show::{Catalogue, Certify, Field};

use admission::Connections;
use desk::Desk;
use routes::House;

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
    pub catalogue: Catalogue,
    /// The images that items refer to.
    pub images: Arc<Images>,
    /// The credentials and host names of the server.
    pub access: Access,
    /// The limits on connections.
    pub limits: Limits,
    /// Called with notices for the operator.
    pub on_notice: OnNotice,
}

/// An error of a server: it cannot start or run, or it stopped saving answers.
#[derive(Debug)]
pub enum Trouble {
    /// The ledger cannot be used.
    Ledger(LedgerError),
    /// The server had to stop saving answers.
    Store(String),
    /// The operating system reported an error.
    System(io::Error),
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ledger(error) => write!(f, "{error}"),
            Self::Store(words) => write!(f, "answers could not be saved: {words}"),
            Self::System(error) => write!(f, "the server cannot run: {error}"),
        }
    }
}

impl std::error::Error for Trouble {}

/// A server that is ready to run.
pub struct Server {
    house: Arc<House>,
    listener: TcpListener,
}

/// A handle that stops a server from another thread.
#[derive(Clone)]
pub struct Stop(Arc<House>);

impl Stop {
    /// Stops the server after the pending requests are finished.
    pub fn stop(&self) {
        self.0.over.send_replace(true);
    }
}

impl Server {
    /// Creates a server that resumes the session of a ledger.
    pub fn new(setup: Setup) -> Result<Self, Trouble> {
        let desk = Desk::open(setup.ledger, setup.pool, setup.task, setup.settings).map_err(Trouble::Ledger)?;
        let house = House {
            desk: Arc::new(desk),
            catalogue: setup.catalogue,
            links: login::Links::new(&setup.access).map_err(|error| Trouble::System(io::Error::other(error)))?,
            connections: Arc::new(Connections::new(setup.limits)),
            access: setup.access,
            failures: guard::Failures::default(),
            images: setup.images,
            statuses: watch::Sender::default(),
            over: watch::Sender::new(false),
            on_notice: setup.on_notice,
        };
        Ok(Self { house: Arc::new(house), listener: setup.listener })
    }

    /// Returns the tokens of the one-time links, in the order of the credentials.
    pub fn links(&self) -> Vec<String> {
        self.house.links.all()
    }

    /// Returns a handle that stops the server.
    pub fn stopper(&self) -> Stop {
        Stop(Arc::clone(&self.house))
    }

    /// Describes the items that training skips or that are never asked, with one sentence for each reason.
    pub fn data_problems(&self) -> Vec<String> {
        self.house.desk.look(|session, _| show::data_problems(&self.house, session))
    }

    /// Serves until a signal or a [`Stop`] handle stops it. Then finishes the pending requests; everything acknowledged
    /// is on disk. A second signal exits the process immediately, which loses nothing acknowledged either.
    pub fn run(self) -> Result<(), Trouble> {
        let house = self.house;
        let desk = Arc::clone(&house.desk);
        let learner = thread::Builder::new().name("learner".to_owned()).spawn(move || desk.learn());
        learner.map_err(Trouble::System)?;
        self.listener.set_nonblocking(true).map_err(Trouble::System)?;
        // Pages that reconnect at the same time, after a restart, wait in the queue and do not have to retry.
        SockRef::from(&self.listener).listen(BACKLOG).map_err(Trouble::System)?;
        let runtime = runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.map_err(Trouble::System)?;
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(self.listener).map_err(Trouble::System)?;
            tokio::spawn(live::broadcast(Arc::clone(&house)));
            tokio::spawn(until_signal(Stop(Arc::clone(&house))));
            tokio::spawn(notice::report_overload_regularly(Arc::clone(&house)));
            tokio::spawn(notice::apply_revocations(Arc::clone(&house)));
            tokio::spawn(notice::report_store_problem(Arc::clone(&house)));
            // On a worker thread, where yielding lets new connections run.
            let served = tokio::spawn(connection::serve(Arc::clone(&house), listener)).await;
            notice::report_overload(&house);
            served.map_err(|error| Trouble::System(io::Error::other(error)))
        })?;
        let closed = house.desk.close();
        runtime.shutdown_background();
        closed.map_err(|problem| Trouble::Store(problem.words))
    }
}

/// Installs signal handlers before it returns; the future stops the server at the first signal.
#[cfg(unix)]
fn until_signal(stop: Stop) -> impl Future<Output = ()> {
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
async fn until_signal(stop: Stop) {
    if tokio::signal::ctrl_c().await.is_ok() {
        stop.stop();
    }
}
