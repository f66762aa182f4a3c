//! `querist label`: people label what the engine asks for, in the browser.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use querist_engine::model_kind::ModelKind;
use querist_engine::pool::Draw;
use querist_engine::session::{LabelingPool, SessionSettings};
use querist_engine::task::Labels;
use querist_ledger::Ledger;
use querist_run::build;
use querist_run::files::distinct;
use querist_run::labeling::Images;
use querist_run::labeling::answers::AnswerRecord;
use querist_run::labeling::location::Moved;
use querist_run::labeling::open;
use querist_run::labeling::pool::{announce_precision, import, labeling_pool, loss_name, note_growth, note_items};
use querist_run::labeling::source::{self, DataSource, Items, SessionHeader};
use querist_run::settings::LearnerSettings;
use querist_run::start::PriorLabelCounts;
use querist_run::text::counted;
use querist_run::written::Written;
use querist_server::{Catalog, LabelingServer, Setup};

use crate::Output;
use crate::run::files::DataArgs;
use crate::run::list::{List, entries};
use crate::run::output::{count, whole};
use crate::run::progress::{Terminal, print_line};
use crate::run::settings::{ColdStartName, optional_l2, precision};
use crate::run::start::StartArgs;

mod access;
mod announce;
mod browser;
mod certified;
mod file_system;
mod fields;

/// Label items in the browser, chosen by the model; saved answers are never lost
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a separate flag")]
pub(crate) struct LabelArgs {
    /// The file with the items to label
    #[arg(required_unless_present = "demo", conflicts_with = "demo")]
    data: Option<PathBuf>,
    /// Label the SMS messages that come with Querist
    #[arg(long)]
    demo: bool,
    /// The labels are numbers
    #[arg(long, conflicts_with = "labels")]
    number: bool,
    /// The columns to show [default: all]
    #[arg(long, value_name = "COLUMNS")]
    show: Vec<List>,
    /// The folder of the images that cells name
    #[arg(long, value_name = "DIR")]
    images: Option<PathBuf>,
    /// The file in which answers are saved [default: the data's name with .ledger]
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    /// Continue although saved answers were lost; the ledger notes it
    #[arg(long)]
    accept_loss: bool,
    /// A file of existing labels, with columns id and label; the model learns from these rows, never asks for them, and
    /// excludes them from estimates
    #[arg(long, value_name = "FILE")]
    import: Option<PathBuf>,
    /// The number of items to label [default: all]
    #[arg(long, value_name = "N", value_parser = count)]
    budget: Option<u64>,
    /// The number of annotators for each item
    #[arg(long, value_name = "N", value_parser = count, default_value_t = 1)]
    overlap: u64,
    /// The time for which an item is reserved for an annotator, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = count, default_value_t = 300)]
    lease: u64,
    /// The loss [default: logistic, cross-entropy or squared, by the labels]
    #[arg(long)]
    loss: Option<String>,
    /// The query rule [default: boundary; conditional-loss for numbers]
    #[arg(long)]
    rule: Option<String>,
    /// The kind of model: linear, kernel[:landmarks=300,width=1], forest[:trees=200], or auto to let the answers choose
    /// [default: linear]
    #[arg(long, value_name = "KIND")]
    model: Option<Written<ModelKind>>,
    /// How to draw items once there is a model [default: scan]
    #[arg(long, value_enum)]
    draw: Option<SessionDrawName>,
    /// How to draw until a fit is possible [default: coverage; random for the rule `constant`]
    #[arg(long, value_enum)]
    cold_start: Option<ColdStartName>,
    #[command(flatten)]
    start: StartArgs,
    /// Advise to stop once the estimate of accuracy is within ±H, for example 0.03, or with f1:CLASS=H that of a class's
    /// F1. The program announces the cost, and later draws are spread more evenly over the items
    #[arg(long, value_name = "H")]
    precision: Option<String>,
    /// λ: add λ/2·‖w‖² to the loss; 0 chooses λ from the answers
    #[arg(long, value_name = "LAMBDA", default_value_t = 0.0)]
    l2: f64,
    /// Random seed
    #[arg(long, value_parser = whole::<u64>, default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    network: access::Network,
    /// Print one line of JSON with the address, the token and the ledger
    #[arg(long)]
    json: bool,
    /// Do not open a browser
    #[arg(long)]
    no_browser: bool,
    #[command(flatten)]
    files: DataArgs,
}

/// A method to draw items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SessionDrawName {
    /// Draw items at random in proportion to U, each with a recorded probability
    Scan,
    /// Take the most uncertain item; it has no probability, so there are no estimates and no advice on stopping
    Top,
    /// Rejected: a session knows U of every item, so it does not need proposals
    #[value(hide = true)]
    Reject,
}

impl LabelArgs {
    fn check(&self) -> Result<()> {
        if self.draw == Some(SessionDrawName::Reject) {
            bail!(
                "--draw reject: a labeling session knows U of every item, so it does not need random proposals\n  \
                 use --draw scan; it has the same distribution"
            );
        }
        if self.overlap == 0 || self.lease == 0 || self.budget == Some(0) {
            bail!("--overlap, --lease and --budget must be at least 1");
        }
        if let names @ 1.. = self.network.annotators.len() as u64
            && names < self.overlap
        {
            bail!(
                "--overlap {}: each item needs {} annotators, and --annotators has {}\n  \
                 add names to --annotators, or use a smaller --overlap",
                self.overlap,
                self.overlap,
                counted(names, "name")
            );
        }
        if self.files.labels.is_none() && self.files.label.is_none() && !self.number && !self.demo {
            bail!("no labels given\n  use --labels A,B, or --number, or --label COLUMN if a column has labels");
        }
        if self.data.as_deref() == Some(Path::new("-")) {
            bail!("standard input cannot be read again later; save it to a file first");
        }
        Ok(())
    }

    /// Returns the settings of the learner of a new session.
    fn learner(&self) -> Result<LearnerSettings> {
        let mut settings = LearnerSettings {
            loss: self.loss.clone(),
            rule: self.rule.clone(),
            l2: optional_l2(self.l2),
            cold_start: self.cold_start.map(ColdStartName::setting),
            precision: precision(self.precision.as_deref(), self.budget)?,
            seed: self.seed,
            ..LearnerSettings::default()
        };
        settings.check()?;
        self.start.add_to(&mut settings)?;
        Ok(settings)
    }

    /// Returns the settings of the session.
    fn session(&self, labels: Labels) -> SessionSettings {
        SessionSettings {
            labels,
            overlap: self.overlap as usize,
            budget: self.budget.map(|budget| budget as usize),
            lease_ms: 1000 * self.lease,
            seed: self.seed,
        }
    }

    /// Returns the data with full paths; images are where an existing ledger says if they are not given.
    fn data(&self, ledger: Option<&Ledger>) -> Result<DataSource> {
        let mut files = self.files.settings();
        self.start.add_column_to(&mut files);
        if self.demo {
            files.labels = Some(files.labels.unwrap_or_else(|| vec!["ham".to_owned(), "spam".to_owned()]));
            files.text = vec!["text".to_owned()];
        }
        let file = match &self.data {
            Some(path) if !path.exists() => bail!("{}: the file does not exist", path.display()),
            Some(path) => Some(path.canonicalize().with_context(|| path.display().to_string())?),
            None => None,
        };
        let show = distinct("--show", &entries(self.show.clone()))?;
        let show = if self.demo && show.is_empty() { vec!["text".to_owned()] } else { show };
        let images = match (&self.images, ledger) {
            (Some(folder), _) => Some(folder.canonicalize().with_context(|| format!("--images {}", folder.display()))?),
            (None, Some(ledger)) => source::header(ledger)?.data.located(ledger, &Moved::default())?.images,
            (None, None) => None,
        };
        files.model.clone_from(&self.model);
        if let Some(ledger) = ledger {
            files.continue_from(&source::header(ledger)?.data.files);
        }
        let columns = ledger.map(source::columns).transpose()?.flatten();
        let hidden = ledger.map(source::hidden).transpose()?.flatten();
        Ok(DataSource { file, images, files, number: self.number, show, columns, hidden })
    }

    /// Returns the method of drawing items: the one that is set, otherwise that of the session to resume.
    ///
    /// # Errors
    /// If estimates are wanted from draws without probabilities.
    fn draw(&self, existing: Option<&SessionHeader>) -> Result<Option<Written<Draw>>> {
        let draw = match self.draw {
            Some(SessionDrawName::Scan | SessionDrawName::Reject) => None,
            Some(SessionDrawName::Top) => Some(Draw::Top.into()),
            None => existing.and_then(|header| header.draw.clone()),
        };
        if draw.is_some() && self.precision.is_some() {
            bail!("--precision needs estimates from probabilities, which --draw top does not have");
        }
        Ok(draw)
    }

    /// Opens the ledger to resume; `None` if there is none yet.
    fn existing_ledger(&self, path: &Path) -> Result<Option<Ledger>> {
        let open = if self.accept_loss { Ledger::open_accepting_loss } else { Ledger::open };
        Ok(if path.exists() { Some(open(path)?) } else { None })
    }

    fn ledger(&self) -> PathBuf {
        match (&self.ledger, &self.data) {
            (Some(path), _) => path.clone(),
            (None, Some(data)) => data.with_extension("ledger"),
            (None, None) => PathBuf::from("sms-demo.ledger"),
        }
    }
}

/// A new session, or one to resume.
struct OpenedSession {
    ledger: Ledger,
    settings: SessionSettings,
    learner: LearnerSettings,
    pool: Arc<LabelingPool>,
    catalog: Catalog,
    images: Arc<Images>,
}

pub(super) fn run(arguments: &LabelArgs) -> Result<Output> {
    arguments.check()?;
    let limits = arguments.network.limits()?;
    let OpenedSession { ledger, settings, learner, pool, catalog, images } = open_session(arguments)?;
    let full = ledger.path().to_owned();
    file_system::warn(&full);
    let listener = listen(arguments)?;
    let address = listener.local_addr()?;
    let access = arguments.network.access(&full, address)?;
    let announcer = Arc::new(announce::Announcer::new(&arguments.network, address, arguments.json));
    let on_event = Arc::clone(&announcer);
    let credentials = access.credentials.clone();
    let setup = Setup {
        listener,
        ledger,
        pool,
        task: Box::new(move || build::task(&learner, settings.labels).expect("the loss was known before")),
        settings,
        catalog,
        images,
        access,
        limits,
        on_event: Box::new(move |event| on_event.print_event(&event)),
    };
    let server = LabelingServer::new(setup)?;
    server.data_problems().iter().for_each(|problem| remark(problem));
    let browser = !arguments.no_browser && !arguments.json;
    let options = announce::AnnounceOptions { json: arguments.json, browser };
    announcer.start(&credentials, &server.links(), &full, options)?;
    let served = server.run();
    announcer.remove_redirect();
    served?;
    Ok(Output { text: ended(arguments, &full), code: 0, missing: None })
}

/// Reads the items, and creates the ledger or opens the existing one. Prints notices.
fn open_session(arguments: &LabelArgs) -> Result<OpenedSession> {
    let mut learner = arguments.learner()?;
    let path = arguments.ledger();
    let existing = arguments.existing_ledger(&path)?;
    let is_new = existing.is_none();
    let before = existing.as_ref().map(source::header).transpose()?;
    if let Some(before) = &before {
        learner.continue_from(&before.settings);
    }
    let draw = arguments.draw(before.as_ref())?;
    let data = arguments.data(existing.as_ref())?;
    let items = data.read(&learner)?;
    let images = Arc::clone(&items.images);
    note_display(&items, &data);
    let (command, classes) = ("label".to_owned(), source::class_codes(&items.encoder));
    let header = SessionHeader { command, data, labels: classes, draw, settings: learner };
    let cost = announce_precision(&header.settings, &items)?;
    if is_new {
        items.start.check()?;
    }
    let mut ledger = open::ledger(&path, existing, &header, &items)?;
    let terminal = Terminal::new(false);
    let prior = import(arguments.import.as_deref(), &mut ledger, &items, &terminal)?;
    let labels = source::labels(&items.encoder)?;
    if header.draw() == Draw::Top {
        remark(
            "with --draw top, items have no probabilities, so this session has no estimates and no advice on stopping",
        );
    }
    if is_new {
        let prior = PriorLabelCounts::of(labels, prior.labels.iter().map(|(_, label)| label.0));
        items.start.notices(prior).iter().for_each(|notice| remark(notice));
    }
    if let Some(cost) = &cost {
        remark(cost);
    }
    let grown = note_items(&mut ledger, &items, &terminal)?;
    let settings = arguments.session(labels);
    let displayed = Arc::clone(&items.displayed);
    let (pool, rule) = labeling_pool(&header, items, prior)?;
    if grown {
        note_growth(&mut ledger, &pool, &header, settings)?;
    }
    let certificate = certified::of(loss_name(&header)?, rule, labels, header.draw(), header.data.files.model_kind());
    let fields = fields::fields(displayed);
    let catalog = Catalog { title: header.data.title(), labels: header.labels, fields, certificate };
    Ok(OpenedSession { ledger, settings, learner: header.settings, pool, catalog, images })
}

/// Prints what reading the data found, and whether there is something to display.
fn note_display(items: &Items, data: &DataSource) {
    items.encoder.remarks().iter().for_each(|words| remark(words));
    if items.displayed.columns().is_empty() {
        remark(&format!(
            "warning: {} has no column to display, so annotators see nothing of the items\n  \
             use a format with named columns, such as CSV, JSON or Parquet",
            data.name()
        ));
    }
}

/// The default port. If it is taken, the system picks another.
const PORT: u16 = 8417;

fn listen(arguments: &LabelArgs) -> Result<TcpListener> {
    let host = arguments.network.check()?;
    let port = arguments.network.port;
    let bind = |port: u16| TcpListener::bind(SocketAddr::new(host, port));
    let bound = match port {
        Some(port) => bind(port),
        None => bind(PORT).or_else(|_| bind(0)),
    };
    bound.with_context(|| format!("cannot listen on {host}, port {}", port.unwrap_or(PORT)))
}

/// Prints a notice on standard error.
fn remark(words: &str) {
    print_line(false, words);
}

fn ended(arguments: &LabelArgs, ledger: &Path) -> String {
    if arguments.json {
        return String::new();
    }
    let answers = Ledger::read(ledger).ok().and_then(|ledger| {
        let record = AnswerRecord::read(&ledger).ok()?;
        Some(record.active().len())
    });
    let kept = answers.map_or(String::new(), |answers| format!("{}. ", counted(answers as u64, "active answer")));
    format!("{kept}Run the same command to resume; `querist export {}` writes the labels.", ledger.display())
}
