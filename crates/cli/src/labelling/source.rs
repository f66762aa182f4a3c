//! A file to be labelled: rows to learn from, cells to show, and what was known before.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use querist_data::{Encoder, Input, Options, Wanted, load_cells, load_shown};
use querist_engine::digest::Digest;
use querist_engine::rows::Rows;
use querist_engine::task::Labels;
use querist_ledger::Ledger;
use querist_server::Images;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::answers::RecordedAsk;
use super::displayed::{Columns, Displayed};
use super::location::{self, Moved};
use crate::run::build;
use crate::run::files::Files;
use crate::run::settings::{ClockName, Settings};

/// The messages that come with the project.
static DEMO: &[u8] = include_bytes!("../../../../data/sms_spam_text.csv");

/// The notes of where data and images are now, if not where the header says.
const DATA: &str = "data";
const IMAGES: &str = "images";

/// The note of the columns that are shown, with their kinds.
const COLUMNS: &str = "columns";

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
    /// Relative to the ledger's folder if it is near, otherwise by its full name; none for the demo.
    pub(crate) file: Option<PathBuf>,
    /// The folder of images that cells name, like `file`.
    #[serde(default)]
    pub(crate) images: Option<PathBuf>,
    pub(crate) files: Files,
    /// Labels are numbers.
    pub(crate) number: bool,
    /// The columns that are shown; all where there are none.
    pub(crate) show: Vec<String>,
    /// The columns that the session shows, as its ledger notes; `None` for a new one.
    #[serde(skip)]
    pub(crate) columns: Option<Columns>,
}

/// A file that was read.
pub(crate) struct Items {
    pub(crate) encoder: Encoder,
    pub(crate) rows: Rows,
    pub(crate) ids: Vec<Arc<str>>,
    pub(crate) displayed: Arc<Displayed>,
    pub(crate) images: Arc<Images>,
    /// 53 bits of FNV-1a of every item's cells, as in ledgers before version 3.
    pub(crate) fingerprints: Vec<u64>,
    /// Labels that the file has already.
    pub(crate) labelled: Vec<(usize, f64)>,
    pub(crate) skipped_rows: u64,
}

impl Items {
    /// Whether a row has the content that was asked.
    pub(crate) fn has_content(&self, row: usize, ask: &RecordedAsk) -> bool {
        match (ask.content, ask.fingerprint) {
            (Some(content), _) => Digest::of(self.displayed.content(row).as_bytes()) == content,
            (None, fingerprint) => fingerprint == Some(self.fingerprints[row]),
        }
    }

    /// Whether items have no ids but their row numbers.
    pub(crate) fn has_row_numbers(&self) -> bool {
        self.encoder.id_column().is_none()
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

    /// Returns the name of the file for messages.
    pub(crate) fn name(&self) -> String {
        self.file.as_ref().map_or("the demo".to_owned(), |path| path.display().to_string())
    }

    /// Returns the same data with paths as a ledger in `folder` stores them.
    pub(crate) fn stored_in(&self, folder: &Path) -> Self {
        let stored = |path: &Option<PathBuf>| path.as_deref().map(|path| location::stored(path, folder));
        Self { file: stored(&self.file), images: stored(&self.images), ..self.clone() }
    }

    /// Returns the same data with full paths: where they were moved, where the ledger notes, or where its header says.
    pub(crate) fn located(&self, ledger: &Ledger, moved: &Moved) -> Result<Self> {
        let folder = location::folder(ledger.path())?;
        let find = |moved: &Option<PathBuf>, key: &str, header: &Option<PathBuf>| match moved {
            Some(path) => path.canonicalize().map(Some).with_context(|| format!("--{key} {}", path.display())),
            None => {
                let stored = ledger.note(key).map(Path::new).or(header.as_deref());
                Ok(stored.map(|stored| location::resolved(stored, &folder)))
            }
        };
        let (file, images) = (find(&moved.data, DATA, &self.file)?, find(&moved.images, IMAGES, &self.images)?);
        Ok(Self { file, images, columns: columns(ledger)?, ..self.clone() })
    }

    /// Notes in a ledger where its data are now, if its header says otherwise.
    pub(crate) fn note_location(&self, ledger: &mut Ledger, header: &Header) -> Result<()> {
        let before = header.data.located(ledger, &Moved::default())?;
        let stored = self.stored_in(&location::folder(ledger.path())?);
        let paths =
            [(DATA, &self.file, &before.file, stored.file), (IMAGES, &self.images, &before.images, stored.images)];
        for (key, now, before, stored) in paths {
            if let Some(stored) = stored.filter(|_| now != before) {
                let text = stored.to_str().with_context(|| format!("{}: its name is not Unicode", stored.display()))?;
                ledger.set_note(key, text)?;
            }
        }
        Ok(())
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

    /// Reads the file; paths must be full, see [`Self::located`].
    pub(crate) fn read(&self, loss: Option<&str>) -> Result<Items> {
        let options = self.options(loss)?;
        let images = match &self.images {
            Some(folder) => Images::of(folder).with_context(|| format!("--images {}", folder.display()))?,
            None => Images::default(),
        };
        let images = Arc::new(images);
        let (loaded, cells) = load_shown(&self.input(), &options, &self.show)?;
        let (encoder, batch) = (loaded.encoder, loaded.batch);
        let fingerprints = (0..batch.rows.len()).map(|row| fingerprint(cells.row(row))).collect();
        let mut displayed = Displayed::new(cells, &encoder, self.columns.as_ref(), !self.show.is_empty());
        if self.images.is_some() {
            displayed = displayed.with_images(&images);
        }
        let ids = (0..batch.rows.len()).map(|row| batch.ids.get(row).into()).collect();
        let labelled = batch.labels.iter().copied().enumerate().filter(|(_, label)| !label.is_nan()).collect();
        let rows = batch.rows;
        let displayed = Arc::new(displayed);
        let skipped_rows = loaded.bad.skipped;
        Ok(Items { encoder, rows, ids, displayed, images, fingerprints, labelled, skipped_rows })
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

/// Returns the columns that a session shows, as its ledger notes them; ledgers before version 3 may have no such note.
pub(crate) fn columns(ledger: &Ledger) -> Result<Option<Columns>> {
    ledger.note(COLUMNS).map(serde_json::from_str).transpose().context("the ledger's note of columns")
}

/// Notes the columns that a session shows from now on, unless they are noted.
pub(crate) fn note_columns(ledger: &mut Ledger, items: &Items) -> Result<()> {
    if ledger.note(COLUMNS).is_none() {
        ledger.set_note(COLUMNS, &serde_json::to_string(&items.displayed.columns())?)?;
    }
    Ok(())
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
