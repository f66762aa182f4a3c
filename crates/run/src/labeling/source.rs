//! A file to be labeled: rows to learn from, cells to show, and prior labels.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use querist_data::{Encoder, Hidden, Input, ReadOptions, RequiredLabels, StoredCells, StoredColumns, load_with_cells};
use querist_engine::pool::Draw;
use querist_engine::session::{LabelValue, RowId};
use querist_engine::task::Labels;
use querist_ledger::Ledger;
use querist_rows::{Digest, Fnv, Rows};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Images;
use super::answers::RecordedAsk;
use super::displayed::{Columns, Displayed};
use super::location::{self, Moved};
use crate::build;
use crate::error::{Context, Result, bail};
use crate::files::FileSettings;
use crate::scored_pool;
use crate::settings::LearnerSettings;
use crate::start::{StartData, StartFound};
use crate::written::Written;

/// The notes of the locations of data and images, if they differ from the header.
const DATA: &str = "data";
const IMAGES: &str = "images";

/// The note of the displayed columns, with their kinds.
const COLUMNS: &str = "columns";

/// The note of the columns that are learned from and not displayed.
const HIDDEN: &str = "hidden";

/// The header of a labeling ledger, which the same command must reproduce.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct SessionHeader {
    /// The command, `label`.
    pub command: String,
    /// The location of the items.
    pub data: DataSource,
    /// The classes with their codes; empty for numbers.
    pub labels: Vec<(String, f64)>,
    /// The method of drawing items once there is a model [default: scan].
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub draw: Option<Written<Draw>>,
    /// The settings of the learner.
    pub settings: LearnerSettings,
}

impl SessionHeader {
    /// Returns the method of drawing items once there is a model.
    pub fn draw(&self) -> Draw {
        self.draw.as_deref().copied().unwrap_or(Draw::Scan)
    }
}

/// The location of the items, and the settings for reading them.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct DataSource {
    /// The file: relative to the ledger's folder if it is near, otherwise a full path; `None` for the demo.
    pub file: Option<PathBuf>,
    /// The folder of images that cells name, like `file`.
    #[serde(default)]
    pub images: Option<PathBuf>,
    /// The settings for reading the file.
    pub files: FileSettings,
    /// Whether labels are numbers.
    pub number: bool,
    /// The columns to show; all if empty.
    pub show: Vec<String>,
    /// The columns that the session shows, from the notes of its ledger; `None` for a new one.
    #[serde(skip)]
    pub columns: Option<Columns>,
    /// The columns that the session learns from and does not show, from the notes of its ledger; `None` for a new one.
    #[serde(skip)]
    pub hidden: Option<Vec<String>>,
}

/// The items of a file.
pub struct Items {
    /// The encoder of rows.
    pub encoder: Encoder,
    /// The features.
    pub rows: Rows,
    /// The ids.
    pub ids: Vec<Arc<str>>,
    /// The displayed cells.
    pub displayed: Arc<Displayed>,
    /// The images that cells name.
    pub images: Arc<Images>,
    /// 53 bits of FNV-1a of every item's cells, as in ledgers before version 3.
    pub fingerprints: Vec<u64>,
    /// Digests of the cells that are learned from and not shown.
    pub hidden: Hidden,
    /// Labels that are in the file.
    pub labeled: Vec<(RowId, LabelValue)>,
    /// The items that a cold start draws first.
    pub start: StartFound,
    /// Rows that were skipped as unreadable.
    pub skipped_rows: u64,
}

impl Items {
    /// Returns whether a row is the queried item: its displayed content and the cells that are learned from are the
    /// same.
    pub fn is_unchanged(&self, row: RowId, ask: &RecordedAsk) -> bool {
        match (ask.content, ask.fingerprint) {
            (Some(content), _) => self.has_digests(row, content, ask.hidden),
            (None, fingerprint) => fingerprint == Some(self.fingerprints[row.0]),
        }
    }

    /// Computes the digests of a row: of its displayed content, and of the cells that are learned from and not shown.
    pub fn digests(&self, row: RowId) -> (Digest, Option<Digest>) {
        (Digest::of(self.displayed.content(row).as_bytes()), self.hidden.digests.get(row.0).copied())
    }

    /// Returns whether a row has these digests. Hidden cells are compared only if their digest was recorded.
    pub fn has_digests(&self, row: RowId, content: Digest, hidden: Option<Digest>) -> bool {
        let (now, hidden_now) = self.digests(row);
        now == content && (hidden.is_none() || hidden == hidden_now)
    }

    /// Returns the row of each id.
    pub fn rows_by_id(&self) -> HashMap<&str, RowId> {
        self.ids.iter().enumerate().map(|(row, id)| (&**id, RowId(row))).collect()
    }

    /// Removes rows, which are sorted, from all but the displayed cells.
    fn without(mut self, removed: &[usize]) -> Self {
        if removed.is_empty() {
            return self;
        }
        let kept: Vec<usize> = (0..self.ids.len()).filter(|row| removed.binary_search(row).is_err()).collect();
        let mut rows = self.rows.empty_like();
        for row in &kept {
            rows.push(self.rows.row(*row));
        }
        self.rows = rows;
        self.ids = kept.iter().map(|row| Arc::clone(&self.ids[*row])).collect();
        self.fingerprints = kept.iter().map(|row| self.fingerprints[*row]).collect();
        if !self.hidden.digests.is_empty() {
            self.hidden.digests = kept.iter().map(|row| self.hidden.digests[*row]).collect();
        }
        let moved = |(row, label): (RowId, LabelValue)| Some((RowId(kept.binary_search(&row.0).ok()?), label));
        self.labeled = self.labeled.into_iter().filter_map(moved).collect();
        self
    }

    /// Returns whether items have only row numbers as ids.
    pub fn has_row_numbers(&self) -> bool {
        self.encoder.id_column().is_none()
    }
}

impl DataSource {
    /// Returns the title of the data.
    pub fn title(&self) -> String {
        match &self.file {
            Some(path) => path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            None => "SMS messages".to_owned(),
        }
    }

    /// Returns the name of the file for messages.
    pub fn name(&self) -> String {
        self.file.as_ref().map_or("the demo".to_owned(), |path| path.display().to_string())
    }

    /// Returns the same data with paths as a ledger in `folder` stores them.
    pub fn stored_in(&self, folder: &Path) -> Self {
        let stored = |path: &Option<PathBuf>| path.as_deref().map(|path| location::stored(path, folder));
        Self { file: stored(&self.file), images: stored(&self.images), ..self.clone() }
    }

    /// Returns the same data with full paths: where they were moved, where the ledger notes, or where its header says.
    pub fn located(&self, ledger: &Ledger, moved: &Moved) -> Result<Self> {
        let folder = location::folder(ledger.path())?;
        let find = |moved: &Option<PathBuf>, key: &str, header: &Option<PathBuf>| match moved {
            Some(path) => path.canonicalize().map(Some).with_context(|| format!("--{key} {}", path.display())),
            None => {
                let stored = ledger.note(key).map(Path::new).or(header.as_deref());
                Ok(stored.map(|stored| location::resolved(stored, &folder)))
            }
        };
        let (file, images) = (find(&moved.data, DATA, &self.file)?, find(&moved.images, IMAGES, &self.images)?);
        Ok(Self { file, images, columns: columns(ledger)?, hidden: hidden(ledger)?, ..self.clone() })
    }

    /// Notes in a ledger the current location of its data, if it differs from the header.
    pub fn note_location(&self, ledger: &mut Ledger, header: &SessionHeader) -> Result<()> {
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
            None => Input::Bytes { name: "the demo".to_owned(), bytes: Arc::from(querist_datasets::SMS_SPAM_TEXT_CSV) },
        }
    }

    fn options(&self, loss: Option<&str>) -> Result<ReadOptions> {
        let mut options = self.files.options(loss)?;
        options.unlabeled = true;
        options.guess_label = false;
        if self.number {
            options.required_labels = RequiredLabels::Number;
        }
        Ok(options)
    }

    /// Reads the file; paths must be full, see [`Self::located`]. Finds the items that a cold start draws first.
    pub fn read(&self, settings: &LearnerSettings) -> Result<Items> {
        let options = self.options(settings.loss.as_deref())?;
        let mut images = match &self.images {
            Some(folder) => Images::of(folder).with_context(|| format!("--images {}", folder.display()))?,
            None => Images::default(),
        };
        let stored = StoredColumns {
            shown: Some(&self.show),
            hidden: self.hidden.as_deref(),
            texts: settings.start_with.is_some(),
            predictions: self.files.predictions.as_deref(),
        };
        let (loaded, StoredCells { shown: mut cells, texts, predictions }) =
            load_with_cells(&self.input(), &options, stored)?;
        let hidden = cells.take_hidden();
        let (encoder, batch) = (loaded.encoder, loaded.batch);
        let fingerprints = (0..batch.rows.len()).map(|row| fingerprint(cells.row(row))).collect();
        let displayed = Displayed::new(cells, &encoder, self.columns.as_ref(), !self.show.is_empty());
        let missing = displayed.rows_without_image(&images);
        let start = StartFound::find(
            settings,
            &StartData {
                encoder: &encoder,
                rows: &batch.rows,
                any_text: &|row, is_match| {
                    let mut shown = displayed.fields(RowId(row)).filter(|(_, kind, _)| *kind == "text");
                    texts.row(row).any(is_match) || shown.any(|(_, _, text)| is_match(text))
                },
                has_texts: !texts.names().is_empty() || displayed.columns().values().any(|kind| kind == "text"),
                predictions: &predictions,
                removed: &missing,
                noun: "item",
            },
        )?;
        images.set_missing(missing.iter().map(|row| batch.ids.get(*row).into()).collect());
        let images = Arc::new(images);
        let displayed = if self.images.is_some() { displayed.with_images(&images) } else { displayed };
        let displayed = Arc::new(displayed.without_rows(&missing));
        let ids = (0..batch.rows.len()).map(|row| batch.ids.get(row).into()).collect();
        let labels = batch.labels.iter().enumerate().filter(|(_, label)| !label.is_nan());
        let labeled = labels.map(|(row, label)| (RowId(row), LabelValue(*label))).collect();
        let rows = batch.rows;
        let skipped_rows = loaded.bad.skipped;
        let items = Items { encoder, rows, ids, displayed, images, fingerprints, hidden, labeled, start, skipped_rows };
        let items = items.without(&missing);
        if items.ids.is_empty() && !missing.is_empty() {
            bail!("{}: every item names an image that is not in the folder of --images", self.name());
        }
        Ok(items)
    }
}

/// Returns a 53-bit FNV-1a hash of a row's cells.
fn fingerprint<'a>(cells: impl Iterator<Item = &'a str>) -> u64 {
    Fnv::default().bytes(cells.flat_map(|cell| cell.bytes().chain([0xff]))).fingerprint()
}

/// Returns the classes of an encoder with their codes.
pub fn class_codes(encoder: &Encoder) -> Vec<(String, f64)> {
    encoder.classes().iter().filter_map(|class| Some((class.clone(), encoder.code(class)?))).collect()
}

/// Returns the kind of labels.
pub fn labels(encoder: &Encoder) -> Result<Labels> {
    build::labels(encoder).context("no labels given; use --labels A,B or --number")
}

/// Returns the columns that a session shows, from the notes of its ledger; ledgers before version 3 may have no such
/// note.
pub fn columns(ledger: &Ledger) -> Result<Option<Columns>> {
    ledger.note(COLUMNS).map(serde_json::from_str).transpose().context("the ledger's note of columns")
}

/// Returns the columns that a session learns from and does not show, from the notes of its ledger.
pub fn hidden(ledger: &Ledger) -> Result<Option<Vec<String>>> {
    ledger.note(HIDDEN).map(serde_json::from_str).transpose().context("the ledger's note of hidden columns")
}

/// Notes the columns that a session shows and hides from now on, unless they are noted already.
pub fn note_columns(ledger: &mut Ledger, items: &Items) -> Result<()> {
    if ledger.note(COLUMNS).is_none() {
        ledger.set_note(COLUMNS, &serde_json::to_string(&items.displayed.columns())?)?;
    }
    if ledger.note(HIDDEN).is_none() {
        ledger.set_note(HIDDEN, &serde_json::to_string(&items.hidden.columns)?)?;
    }
    Ok(())
}

/// Returns the header of a labeling ledger.
pub fn header(ledger: &Ledger) -> Result<SessionHeader> {
    let value: Value = serde_json::from_str(ledger.header()).context("the ledger's header")?;
    if value["command"] == scored_pool::COMMAND {
        bail!(
            "{}: the ledger of `querist.Pool` in Python, not of `querist label`\n  open it with \
             querist.Pool(…, ledger=…), or use `querist report`",
            ledger.path().display()
        );
    }
    if value["command"] != "label" {
        let command = value["command"].as_str().unwrap_or("another command").to_owned();
        bail!("{}: the ledger of `querist {command}`, not of `querist label`", ledger.path().display());
    }
    serde_json::from_value(value).context("the ledger's header")
}
