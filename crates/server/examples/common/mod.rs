//! A server with random items, for load tests.

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use querist_engine::coin::Coin;
use querist_engine::fit::Refit;
use querist_engine::learner::Learner;
use querist_engine::optimizer::{Clock, Constraint, Momentum, Optimizer};
use querist_engine::pool::{ColdDraws, Draw, Objective, RefitPool, RefitSettings, StartRows};
use querist_engine::rule;
use querist_engine::session::{LabelingPool, SessionSettings};
use querist_engine::step::{StepSize, Steps};
use querist_engine::stop::StopRule;
use querist_engine::stream::Rules;
use querist_engine::task::{self, Labels};
use querist_ledger::Ledger;
use querist_rows::{DenseRows, Rows};
use querist_server::{
    AccessSettings, Catalog, CertificateReply, Credential, DisplayedField, FieldKind, KeyFile, LabelingServer, Limits,
    Setup, StopHandle, new_token,
};

/// The number of features of an item.
pub(crate) const FEATURES: usize = 100;
const TEXT: &str = "a short text to label";

/// Creates a pool of random items with [`FEATURES`] features.
pub(crate) fn pool(items: usize) -> Arc<LabelingPool> {
    let coin = Coin::new(1, "items");
    let values: Vec<f32> = (0..(items * FEATURES) as u64).map(|at| coin.unit(at) as f32 - 0.5).collect();
    let rows = Rows::Dense(DenseRows::from_values(FEATURES, values).expect("whole rows"));
    let learner = Box::new(move || {
        let task = || task::parse("logistic", Labels::Binary).expect("a loss");
        let rule = rule::parse("margin:share=0.01,floor=0.1", "logistic", Labels::Binary).expect("a rule");
        let optimizer = Optimizer::new(Momentum::None, Clock::Query, Constraint::default());
        let learner = Learner::new(task(), true, FEATURES, optimizer, Steps::new(StepSize::Auto), None).unwrap();
        let refit = Refit::new(&*task(), true, Rows::Dense(DenseRows::new(FEATURES)), None, 1).expect("a fit");
        let (draw, objective, labels) = (Draw::Scan, Objective::AsAsked, Labels::Binary);
        let settings = RefitSettings { draw, seed: 1, refit, objective, labels };
        RefitPool::new(learner, Rules { warm: None, rule }, items, settings).unwrap()
    });
    let ids = (0..items).map(|item| item.to_string().into()).collect();
    let stop = StopRule::Gain { batch: 50, below: 0.01 };
    Arc::new(LabelingPool {
        rows,
        renumbered: None,
        ids,
        content: Box::new(|_| TEXT.to_owned()),
        fingerprints: vec![0; items],
        hidden: vec![],
        imported: vec![],
        changed_imports: vec![],
        draw: Draw::Scan,
        cold_draws: ColdDraws::Random,
        start: StartRows::default(),
        learner,
        stop,
    })
}

/// A server on a thread of this process.
pub(crate) struct RunningServer {
    pub(crate) port: u16,
    pub(crate) token: String,
    stop: StopHandle,
    thread: thread::JoinHandle<()>,
}

impl RunningServer {
    /// Stops the server and waits until it has ended.
    pub(crate) fn stop(self) {
        self.stop.stop();
        self.thread.join().expect("a server");
    }
}

/// Starts a server with a new ledger.
pub(crate) fn serve(ledger: &Path, pool: Arc<LabelingPool>, limits: Limits) -> RunningServer {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let token = new_token().expect("random numbers");
    let field = || vec![DisplayedField { name: "text".to_owned(), kind: FieldKind::Text, value: TEXT.to_owned() }];
    let labels = vec![("no".to_owned(), -1.0), ("yes".to_owned(), 1.0)];
    let setup = Setup {
        listener,
        ledger: Ledger::create(ledger, "{}").expect("a ledger"),
        pool,
        task: Box::new(|| task::parse("logistic", Labels::Binary).expect("a loss")),
        settings: SessionSettings { labels: Labels::Binary, overlap: 1, budget: None, lease_ms: 300_000, seed: 1 },
        catalog: Catalog {
            title: "load".to_owned(),
            labels,
            fields: Box::new(move |_| field()),
            certificate: Box::new(|_| CertificateReply::default()),
        },
        images: Arc::default(),
        access: AccessSettings {
            credentials: vec![Credential { name: None, token: token.clone() }],
            key: KeyFile::open_or_create(ledger).expect("a key file"),
            hosts: vec![format!("127.0.0.1:{port}")],
            numeric_hosts: false,
            port,
            secure_cookie: false,
            trusted_proxies: vec![],
        },
        limits,
        on_event: Box::new(|event| println!("event: {event:?}")),
    };
    let server = LabelingServer::new(setup).expect("a server");
    let stop = server.stop_handle();
    RunningServer { port, token, stop, thread: thread::spawn(move || server.run().expect("a server")) }
}
