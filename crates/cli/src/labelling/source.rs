//! A file to be labelled: rows to learn from, cells to show, and what was known before.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use querist_data::{Cells, Encoder, Input, Options, Wanted, load_cells, load_shown};
use querist_engine::digest::Digest;
use querist_engine::rows::Rows;
use querist_engine::task::Labels;
use querist_ledger::Ledger;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::run::build;
use crate::run::files::Files;
use crate::run::settings::{ClockName, Settings};

/// The messages that come with the project.
static DEMO: &[u8] = include_bytes!("../../../../data/sms_spam_text.csv");

/// What a labelling ledger says of its data, and what the same command must say again.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Header {
    /// `label`
    pub(crate) command: String,
    pub(crate) data: Data,
    /// The classes with their codes; none for numbers.
    pub(crate) labels: Vec<(String, f64)>,
    pub(crate) settings: Settings,
}

/// Where the items are.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Data {
    /// By its full name; none for the demo.
    pub(crate) file: Option<PathBuf>,
    pub(crate) files: Files,
    /// Labels are numbers.
    pub(crate) number: bool,
    /// The columns that are shown; all where there are none.
    pub(crate) show: Vec<String>,
}

/// A file that was read.
pub(crate) struct Items {
    pub(crate) encoder: Encoder,
    pub(crate) rows: Rows,
    pub(crate) ids: Vec<Arc<str>>,
    pub(crate) displayed: Arc<Displayed>,
    /// The digest of every item's displayed content.
    pub(crate) contents: Vec<Digest>,
    /// 53 bits of FNV-1a of every item's cells, as in ledgers before version 3.
    pub(crate) fingerprints: Vec<u64>,
    /// Labels that the file has already.
    pub(crate) labelled: Vec<(usize, f64)>,
    pub(crate) skipped_rows: u64,
}

/// The cells of a file that annotators see.
pub(crate) struct Displayed {
    cells: Cells,
    /// The kind of each column that is shown.
    kinds: Vec<Option<&'static str>>,
}

impl Displayed {
    /// `is_named`: the columns to show were named. Otherwise columns without features are hidden, since one may be the
    /// label.
    fn new(cells: Cells, encoder: &Encoder, is_named: bool) -> Self {
        let kind = |name: &String| encoder.kind(name).or(is_named.then_some("text"));
        let kinds = cells.names().iter().map(kind).collect();
        Self { cells, kinds }
    }

    /// All cells, also those that are not shown.
    pub(crate) fn cells(&self) -> &Cells {
        &self.cells
    }

    /// Iterates over the fields of an item that are shown: name, kind and value.
    pub(crate) fn fields(&self, row: usize) -> impl Iterator<Item = (&str, &'static str, &str)> {
        let cells = self.cells.names().iter().zip(&self.kinds).zip(self.cells.row(row));
        cells.filter_map(|((name, kind), value)| {
            kind.filter(|_| !value.is_empty()).map(|kind| (name.as_str(), kind, value))
        })
    }

    /// Returns the displayed content of an item: a JSON object with its fields, in the order of the file.
    pub(crate) fn content(&self, row: usize) -> String {
        struct Fields<'a>(&'a Displayed, usize);
        impl Serialize for Fields<'_> {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_map(self.0.fields(self.1).map(|(name, _, value)| (name, value)))
            }
        }
        serde_json::to_string(&Fields(self, row)).expect("texts are JSON")
    }
}

impl Data {
    /// What it is called.
    pub(crate) fn title(&self) -> String {
        match &self.file {
            Some(path) => path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            None => "SMS messages".to_owned(),
        }
    }

    fn input(&self) -> Input {
        match &self.file {
            Some(path) => Input::File(path.clone()),
            None => Input::Bytes { name: "the demo".to_owned(), bytes: Arc::from(DEMO) },
        }
    }

    fn options(&self, loss: Option<&str>) -> Result<Options> {
        let mut options = self.files.options(loss)?;
        options.unlabeled = true;
        options.guess_label = false;
        if self.number {
            options.wanted = Wanted::Number;
        }
        Ok(options)
    }

    /// Reads the file.
    pub(crate) fn read(&self, loss: Option<&str>) -> Result<Items> {
        let options = self.options(loss)?;
        let (loaded, cells) = load_shown(&self.input(), &options, &self.show)?;
        let (encoder, batch) = (loaded.encoder, loaded.batch);
        let fingerprints = (0..batch.rows.len()).map(|row| fingerprint(cells.row(row))).collect();
        let displayed = Displayed::new(cells, &encoder, !self.show.is_empty());
        let content = |row| Digest::of(displayed.content(row).as_bytes());
        let contents = (0..batch.rows.len()).map(content).collect();
        let ids = (0..batch.rows.len()).map(|row| batch.ids.get(row).into()).collect();
        let labelled = batch.labels.iter().copied().enumerate().filter(|(_, label)| !label.is_nan()).collect();
        let rows = batch.rows;
        let displayed = Arc::new(displayed);
        let skipped_rows = loaded.bad.skipped;
        Ok(Items { encoder, rows, ids, displayed, contents, fingerprints, labelled, skipped_rows })
    }
}

/// 53 bits of a row's cells, by FNV-1a.
fn fingerprint<'a>(cells: impl Iterator<Item = &'a str>) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for cell in cells {
        for byte in cell.bytes().chain([0xff]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash >> 11
}

/// Settings of a learner that fits, where only these are said.
pub(crate) fn settings(loss: Option<String>, rule: Option<String>, l2: f64, seed: u64) -> Settings {
    Settings {
        loss,
        rule,
        step: "auto".to_owned(),
        distance: None,
        gradient: None,
        horizon: None,
        rate: None,
        momentum: "none".to_owned(),
        clock: ClockName::Query,
        l2,
        radius: None,
        no_intercept: false,
        start: None,
        importance: false,
        warm_rule: None,
        warm_labels: None,
        seed,
    }
}

/// The classes of an encoder with their codes.
pub(crate) fn coded(encoder: &Encoder) -> Vec<(String, f64)> {
    encoder.classes().iter().filter_map(|class| Some((class.clone(), encoder.code(class)?))).collect()
}

/// What labels are.
pub(crate) fn labels(encoder: &Encoder) -> Result<Labels> {
    build::labels(encoder).context("what are the labels? say --labels A,B or --number")
}

/// Labels made elsewhere, by id, as a ledger notes them.
pub(crate) fn imported(ledger: &Ledger) -> Result<BTreeMap<String, f64>> {
    serde_json::from_str(ledger.note("imported").unwrap_or("{}")).context("the ledger's note of imported labels")
}

/// Reads labels made elsewhere: columns `id` and `label`; in exports of our own the last line of an item counts.
pub(crate) fn import(path: &Path, encoder: &Encoder) -> Result<BTreeMap<String, f64>> {
    let columns = ["id".to_owned(), "label".to_owned()];
    let cells = load_cells(&Input::File(path.to_owned()), &Options::default(), &columns)?;
    let mut found = BTreeMap::new();
    for row in 0..cells.len() {
        let mut cells = cells.row(row);
        let (id, label) = (cells.next().unwrap_or_default(), cells.next().unwrap_or_default());
        // Skipped and unsure items have no label.
        if label.is_empty() {
            continue;
        }
        let Some(code) = encoder.code(label) else {
            bail!("--import {}, record {}: `{label}` is not one of the labels", path.display(), row + 1);
        };
        found.insert(id.to_owned(), code);
    }
    Ok(found)
}

/// The header of a labelling ledger.
pub(crate) fn header(ledger: &Ledger) -> Result<Header> {
    let value: Value = serde_json::from_str(ledger.header()).context("the ledger's header")?;
    if value["command"] != "label" {
        let command = value["command"].as_str().unwrap_or("another command").to_owned();
        bail!("{}: the ledger of `querist {command}`, not of `querist label`", ledger.path().display());
    }
    serde_json::from_value(value).context("the ledger's header")
}
