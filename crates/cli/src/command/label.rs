//! `querist label`: people label what the engine asks for, in the browser.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::Args;
use querist_engine::pool::Draw;
use querist_engine::session::{Moment, Settings as SessionSettings, Study};
use querist_engine::step::StepSize;
use querist_engine::stop::Rule;
use querist_ledger::{Ledger, Record};
use querist_server::{Catalogue, Images, Server, Setup};
use serde_json::Value;

use crate::Output;
use crate::labelling::source::{self, Data, Header, Items};
use crate::run::build::{self, Fitted, Resolved};
use crate::run::files::Files;
use crate::run::list::{List, entries};
use crate::run::output::count;

mod access;
pub(super) mod again;
mod announce;
mod browser;
mod certified;
mod place;
mod shown;

/// People label what the engine asks for, in the browser; nothing acknowledged is ever lost
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Arguments {
    /// What is to be labelled
    #[arg(required_unless_present = "demo", conflicts_with = "demo")]
    data: Option<PathBuf>,
    /// Labels the SMS messages that come with the project
    #[arg(long)]
    demo: bool,
    /// Labels are numbers
    #[arg(long, conflicts_with = "labels")]
    number: bool,
    /// The columns that are shown [default: all]
    #[arg(long, value_name = "COLUMNS")]
    show: Vec<List>,
    /// A folder of images that cells name
    #[arg(long, value_name = "DIR")]
    images: Option<PathBuf>,
    /// Where answers are kept [default: the data's name with .ledger]
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    /// Continues although acknowledged answers were lost, and notes it
    #[arg(long)]
    accept_loss: bool,
    /// Labels made elsewhere, a file with columns id and label: learned from, never asked for, in no estimate
    #[arg(long, value_name = "FILE")]
    import: Option<PathBuf>,
    /// How many items are to be labelled [default: all]
    #[arg(long, value_name = "N", value_parser = count)]
    budget: Option<u64>,
    /// How many people are asked of each item
    #[arg(long, value_name = "N", value_parser = count, default_value_t = 1)]
    overlap: u64,
    /// How long an item is kept for somebody, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = count, default_value_t = 300)]
    lease: u64,
    /// The loss [default: logistic, cross-entropy or squared, by the labels]
    #[arg(long)]
    loss: Option<String>,
    /// The rule that decides what is asked [default: boundary; conditional-loss for numbers]
    #[arg(long)]
    rule: Option<String>,
    /// λ [default: chosen from the answers]
    #[arg(long, value_name = "LAMBDA", default_value_t = 0.0)]
    l2: f64,
    /// The seed of all chance
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    network: access::Network,
    /// Prints one line of JSON with the address, the token and the ledger
    #[arg(long)]
    json: bool,
    /// Does not open a browser
    #[arg(long)]
    no_browser: bool,
    #[command(flatten)]
    files: Files,
}

impl Arguments {
    fn check(&self) -> Result<()> {
        if self.overlap == 0 || self.lease == 0 || self.budget == Some(0) {
            bail!("--overlap, --lease and --budget must be at least 1");
        }
        if self.files.labels.is_none() && self.files.label.is_none() && !self.number && !self.demo {
            bail!("what are the labels? say --labels A,B, or --number, or --label COLUMN for a column that has some");
        }
        if self.data.as_deref() == Some(Path::new("-")) {
            bail!("standard input cannot be read again later; save it to a file first");
        }
        Ok(())
    }

    /// What is labelled, as the ledger remembers it.
    fn data(&self) -> Result<Data> {
        let mut files = self.files.clone();
        if self.demo {
            files.labels = Some(files.labels.unwrap_or_else(|| vec![List::of(["ham", "spam"])]));
            files.text = vec![List::of(["text"])];
        }
        let file = match &self.data {
            Some(path) if !path.exists() => bail!("{}: there is no such file", path.display()),
            Some(path) => Some(path.canonicalize().with_context(|| path.display().to_string())?),
            None => None,
        };
        let show = entries("--show", &self.show)?;
        let show = if self.demo && show.is_empty() { vec!["text".to_owned()] } else { show };
        Ok(Data { file, files, number: self.number, show })
    }

    fn ledger(&self) -> PathBuf {
        match (&self.ledger, &self.data) {
            (Some(path), _) => path.clone(),
            (None, Some(data)) => data.with_extension("ledger"),
            (None, None) => PathBuf::from("sms-demo.ledger"),
        }
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<Output> {
    arguments.check()?;
    let limits = arguments.network.limits()?;
    let data = arguments.data()?;
    let items = data.read(arguments.loss.as_deref())?;
    items.encoder.remarks().iter().for_each(|words| remark(words));
    let settings = source::settings(arguments.loss.clone(), arguments.rule.clone(), arguments.l2, arguments.seed);
    settings.check()?;
    let header = Header { command: "label".to_owned(), data, labels: source::coded(&items.encoder), settings };
    let path = arguments.ledger();
    let mut ledger = open(&path, &header, arguments.accept_loss)?;
    let images = match &arguments.images {
        Some(folder) => Images::of(folder).with_context(|| format!("--images {}", folder.display()))?,
        None => Images::default(),
    };
    let imported = import(arguments, &mut ledger, &items)?;
    let grown = note_items(&mut ledger, &items)?;
    let session = SessionSettings {
        labels: source::labels(&items.encoder)?,
        overlap: arguments.overlap as usize,
        budget: arguments.budget.map(|budget| budget as usize),
        lease: 1000 * arguments.lease,
        seed: arguments.seed,
    };
    let displayed = Arc::clone(&items.displayed);
    let (study, rule) = study(&header, items, imported)?;
    if grown {
        note_growth(&mut ledger, &study, &header, session)?;
    }
    let full = ledger.path().to_owned();
    place::warn(&full);
    let listener = listen(arguments)?;
    let address = listener.local_addr()?;
    let access = arguments.network.access(&full, address)?;
    let announcer = Arc::new(announce::Announcer::new(&arguments.network, address, arguments.json));
    let on_notice = Arc::clone(&announcer);
    let credentials = access.credentials.clone();
    let loss = settings_loss(&header)?;
    let certificate = certified::of(loss, rule, session.labels);
    let labels = header.labels.clone();
    let fields = shown::fields(Arc::clone(&displayed), &images);
    let task_settings = header.settings.clone();
    let setup = Setup {
        listener,
        ledger,
        study,
        task: Box::new(move || build::task(&task_settings, session.labels).expect("the loss was known before")),
        settings: session,
        content: Box::new(move |row| displayed.content(row)),
        catalogue: Catalogue { title: header.data.title(), labels, fields, certificate },
        images,
        access,
        limits,
        on_notice: Box::new(move |notice| on_notice.notice(&notice)),
    };
    let server = Server::new(setup)?;
    tell_differences(&server);
    let browser = !arguments.no_browser && !arguments.json;
    let options = announce::Options { json: arguments.json, browser };
    announcer.start(&credentials, &server.links(), &full, options)?;
    let served = server.run();
    announcer.remove_redirect();
    served?;
    Ok(Output { text: ended(arguments, &full), code: 0, missing: None })
}

/// The name of the loss in use.
fn settings_loss(header: &Header) -> Result<String> {
    let labels = match header.labels.len() {
        0 => querist_engine::task::Labels::Numbers,
        2 => querist_engine::task::Labels::Binary,
        classes => querist_engine::task::Labels::Classes(classes),
    };
    Ok(build::task(&header.settings, labels)?.name().to_owned())
}

/// A new ledger, or the one to go on with: its labels must be the same.
fn open(path: &Path, header: &Header, accepts_loss: bool) -> Result<Ledger> {
    if !path.exists() {
        return Ok(Ledger::create(path, &serde_json::to_string(header)?)?);
    }
    let ledger = if accepts_loss { Ledger::open_accepting_loss(path)? } else { Ledger::open(path)? };
    let before = source::header(&ledger)?;
    if before.labels != header.labels {
        let names = |labels: &[(String, f64)]| {
            let names: Vec<&str> = labels.iter().map(|(name, _)| name.as_str()).collect();
            if names.is_empty() { "numbers".to_owned() } else { names.join(",") }
        };
        bail!(
            "{}: its labels are {}, not {}\n  say the same labels, or --ledger ANOTHER",
            path.display(),
            names(&before.labels),
            names(&header.labels)
        );
    }
    let (before_said, said) = (serde_json::to_value(&before.settings)?, serde_json::to_value(&header.settings)?);
    let (before_files, files) = (serde_json::to_value(&before.data.files)?, serde_json::to_value(&header.data.files)?);
    let other = differing(&before_said, &said).into_iter().chain(differing(&before_files, &files));
    let other: Vec<String> = other.collect();
    if before.data.file == header.data.file && !other.is_empty() {
        // What was drawn and learned before could not be told from what comes.
        bail!("{}: it was begun with {}\n  say the same, or --ledger ANOTHER", path.display(), other.join(" and "));
    }
    if before.data.file != header.data.file {
        let name = |data: &Data| data.file.as_ref().map_or("the demo".to_owned(), |path| path.display().to_string());
        bail!(
            "{}: it belongs to {}, not to {}\n  say --ledger ANOTHER",
            path.display(),
            name(&before.data),
            name(&header.data)
        );
    }
    Ok(ledger)
}

/// What was said otherwise before, as `loss hinge, not logistic`.
fn differing(before: &Value, now: &Value) -> Vec<String> {
    let show = |value: &Value| match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    };
    let fields = now.as_object().into_iter().flatten();
    let other = fields.filter(|(name, value)| before.get(name.as_str()).is_some_and(|before| before != *value));
    other.map(|(name, value)| format!("{name} {}, not {}", show(&before[name.as_str()]), show(value))).collect()
}

/// Labels that are known beforehand: those the file has, those imported earlier, those imported now.
fn import(arguments: &Arguments, ledger: &mut Ledger, items: &Items) -> Result<Vec<(usize, f64)>> {
    let mut known = source::imported(ledger)?;
    if let Some(path) = &arguments.import {
        known.extend(source::import(path, &items.encoder)?);
        ledger.set_note("imported", &serde_json::to_string(&known)?)?;
    }
    let mut labelled: std::collections::BTreeMap<usize, f64> = items.labelled.iter().copied().collect();
    let mut unknown = known.len();
    for (row, id) in items.ids.iter().enumerate() {
        if let Some(label) = known.get(&**id) {
            labelled.insert(row, *label);
            unknown -= 1;
        }
    }
    if 0 < unknown {
        remark(&format!("{unknown} imported labels are of items that the data do not have"));
    }
    Ok(labelled.into_iter().collect())
}

/// Notes how many items there are; says whether there are more than before.
fn note_items(ledger: &mut Ledger, items: &Items) -> Result<bool> {
    let before: Option<usize> = ledger.note("items").and_then(|text| text.parse().ok());
    let now = items.ids.len();
    if before != Some(now) {
        ledger.set_note("items", &now.to_string())?;
    }
    if let Some(before) = before.filter(|before| *before < now) {
        remark(&format!("{} new items since the last time", now - before));
    }
    if 0 < items.skipped_rows {
        remark(&format!("{} rows that cannot be read were left out", items.skipped_rows));
    }
    Ok(before.is_some_and(|before| before < now))
}

/// Draws before this had not the chance of the new items.
fn note_growth(ledger: &mut Ledger, study: &Arc<Study>, header: &Header, session: SessionSettings) -> Result<()> {
    let task = build::task(&header.settings, session.labels)?;
    let mut restored = querist_server::restore(ledger, study, task, session, Moment::default())?;
    let mut happened = vec![];
    restored.grow(Moment::default(), &mut happened);
    let records: Result<Vec<_>, _> = happened.iter().map(Record::encode).collect();
    Ok(ledger.append(&records?)?)
}

/// What is learned and how, and the name of the rule.
pub(super) fn study(header: &Header, items: Items, imported: Vec<(usize, f64)>) -> Result<(Arc<Study>, String)> {
    let labels = source::labels(&items.encoder)?;
    let resolved = Resolved::new(labels, items.encoder.dim(), StepSize::Auto);
    let (settings, empty, count) = (header.settings.clone(), items.rows.empty_like(), items.rows.len());
    let make = move || {
        let fitted = Fitted { objective: "as-asked", empty: empty.clone() };
        build::fitted_pool(&settings, &resolved, Draw::Scan, fitted, count)
    };
    let rule = make()?.rules().rule.name();
    let stop = Rule::Gain { batch: 50, below: 0.002 };
    let learner = Box::new(move || make().expect("it was made before"));
    let Items { rows, ids, contents, fingerprints, .. } = items;
    Ok((Arc::new(Study { rows, ids, contents, fingerprints, imported, learner, stop }), rule))
}

/// The port where none is said; another one if it is taken.
const PORT: u16 = 8417;

fn listen(arguments: &Arguments) -> Result<TcpListener> {
    let host = arguments.network.check()?;
    let port = arguments.network.port;
    let bind = |port: u16| TcpListener::bind(SocketAddr::new(host, port));
    let bound = match port {
        Some(port) => bind(port),
        None => bind(PORT).or_else(|_| bind(0)),
    };
    bound.with_context(|| format!("cannot listen at {host}, port {}", port.unwrap_or(PORT)))
}

fn tell_differences(server: &Server) {
    let (missing, changed) = server.differences();
    let some = |ids: &[String]| {
        let shown: Vec<String> = ids.iter().take(5).map(|id| id.escape_debug().to_string()).collect();
        format!("{}{}", shown.join(", "), if 5 < ids.len() { ", …" } else { "" })
    };
    if !missing.is_empty() {
        remark(&format!("{} items that were asked are gone from the data: {}", missing.len(), some(&missing)));
    }
    if !changed.is_empty() {
        remark(&format!("{} items have changed since they were asked: {}", changed.len(), some(&changed)));
    }
}

/// Something people should know, aside.
fn remark(words: &str) {
    // Nothing is left to do if standard error is closed.
    let _ = writeln!(io::stderr(), "querist: {words}");
}

fn ended(arguments: &Arguments, ledger: &Path) -> String {
    if arguments.json {
        return String::new();
    }
    let answers = Ledger::read(ledger).ok().and_then(|ledger| {
        let record = crate::labelling::answers::AnswerRecord::read(&ledger).ok()?;
        Some(record.active().len())
    });
    let kept = answers.map_or(String::new(), |answers| format!("{answers} answers stand. "));
    format!("{kept}The same command goes on; `querist export {}` writes them out.", ledger.display())
}
