//! The fitted encoder: all that is needed to encode new data in the same way.

use std::collections::HashMap;

use querist_rows::kernel::KernelMap;
use serde::{Deserialize, Serialize};

use crate::category::Categories;
use crate::error::{DataFault, EncoderError};
use crate::label::{LabelCoding, LabelKind, LabelReader};
use crate::options::{Missing, ReadOptions, TableLocation};
use crate::record::{ColumnUse, ManyNumbers, PendingRecord, RawRows, RowRecorder};
use crate::roles::{Role, Roles};
use crate::scaling::{self, ColumnScale};
use crate::source::Column;
use crate::text::{Frequencies, Grams};

/// An encoder of records as rows. It is stored with a model and survives a round trip through JSON bit for bit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Encoder {
    /// The format version. It increases with changes that old readers cannot handle.
    pub(crate) version: u32,
    /// A remark on the format, such as its separator.
    pub(crate) note: String,
    /// The location of the table in files.
    #[serde(default, skip_serializing_if = "TableLocation::is_default")]
    pub(crate) table: TableLocation,
    pub(crate) id: Option<String>,
    pub(crate) labels: Option<LabelCoding>,
    /// Numbers and vectors in the order of the file, then categories, then the rest.
    pub(crate) fields: Vec<EncodedColumn>,
    pub(crate) ignored: Vec<String>,
    pub(crate) missing: Missing,
    pub(crate) standardize: bool,
    pub(crate) hash_bits: u32,
    pub(crate) frequencies: Frequencies,
    pub(crate) dim: usize,
    /// The positions in raw rows of the cells with a feature for missing ones, in ascending order. These features follow
    /// the categories.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) indicators: Vec<usize>,
    /// The kernel features that follow the encoded columns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) kernel: Option<KernelMap>,
    /// Remarks for the user on the rows it was fitted on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) remarks: Vec<String>,
}

/// A column of features and its encoding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct EncodedColumn {
    pub(crate) column: String,
    pub(crate) coding: Coding,
}

/// The encoding of a column's cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Coding {
    Number(ColumnScale),
    /// A number that is one component of a vector.
    Part,
    Vector(usize),
    /// A list of numbers, each of which was a column of its own in fitting.
    Scaled(Vec<ColumnScale>),
    OneHot(Vec<String>),
    Hashed,
    Text,
    Features,
}

impl Coding {
    /// Returns the sort key of fields: numbers, then categories, then the rest.
    fn rank(&self) -> u8 {
        match self {
            Coding::Number(_) | Coding::Part | Coding::Vector(_) | Coding::Scaled(_) => 0,
            Coding::OneHot(_) | Coding::Hashed => 1,
            Coding::Text | Coding::Features => 2,
        }
    }
}

/// The maximum number of features: indices have 32 bits.
const MOST_FEATURES: usize = u32::MAX as usize;

/// The maximum number of parameters of a model. Learning more takes over five gigabytes: too much for one number in a
/// file to request.
const MOST_PARAMETERS: usize = 1 << 27;

/// The format version of encoders without kernel features. Older programs read it.
pub(crate) const VERSION: u32 = 1;
/// The format version of encoders with kernel features.
pub(crate) const KERNEL_VERSION: u32 = 2;
/// The format version of encoders with features for missing cells.
pub(crate) const INDICATOR_VERSION: u32 = 3;

impl Encoder {
    /// Returns whether rows have ids of their own.
    pub fn has_ids(&self) -> bool {
        self.id.is_some()
    }

    /// Returns the learning task; `None` if neither the file nor the options determine it.
    pub fn task(&self) -> Option<LabelKind> {
        self.labels.as_ref().map(|labels| labels.task)
    }

    /// Returns the classes in order; none for numbers.
    pub fn classes(&self) -> &[String] {
        self.labels.as_ref().map(|labels| labels.classes.as_slice()).unwrap_or_default()
    }

    /// Returns the column with ids; `None` if ids are row numbers.
    pub fn id_column(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Returns the kind of a feature column: `text`, `number` or `category`. Returns `None` for columns that are not
    /// features or cannot be shown.
    pub fn kind(&self, column: &str) -> Option<&'static str> {
        let field = self.fields.iter().find(|field| field.column == column)?;
        match field.coding {
            Coding::Number(_) => Some("number"),
            Coding::OneHot(_) | Coding::Hashed => Some("category"),
            Coding::Text => Some("text"),
            Coding::Part | Coding::Vector(_) | Coding::Scaled(_) | Coding::Features => None,
        }
    }

    /// Returns remarks on the rows it was fitted on, one sentence each.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// Returns the number of features of a row, which grows while a file with indexed features is read.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Raises the number of features to at least `dim` if features are indexed, as reading the file again would.
    pub fn widen(&mut self, dim: usize) {
        if self.has_features() {
            self.dim = self.dim.max(dim);
        }
    }

    /// Returns the encoder without labels: rows are then encoded without reading any.
    pub fn without_labels(self) -> Self {
        Self { labels: None, ..self }
    }

    /// Returns the encoder with another treatment of missing cells.
    pub fn with_missing(self, missing: Missing) -> Self {
        Self { missing, ..self }
    }

    /// Returns the label with this code; empty for NaN.
    pub fn decode(&self, label: f64) -> String {
        self.labels.as_ref().map(|labels| labels.decode(label)).unwrap_or_default()
    }

    /// Returns the code of a label; `None` if it is neither a class nor, for numbers, a number.
    pub fn code(&self, label: &str) -> Option<f64> {
        self.labels.as_ref()?.code(label)
    }

    /// Returns the encoder as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Parses an encoder from JSON.
    pub fn from_json(json: &str) -> Result<Self, EncoderError> {
        let encoder: Self = serde_json::from_str(json).map_err(|error| EncoderError::Json(error.to_string()))?;
        if encoder.version != encoder.version_of_features() {
            return Err(EncoderError::Version(encoder.version));
        }
        encoder.check()?;
        Ok(encoder)
    }

    /// Returns the oldest format version that has its features.
    pub(crate) fn version_of_features(&self) -> u32 {
        match (self.indicators.is_empty(), &self.kernel) {
            (false, _) => INDICATOR_VERSION,
            (true, Some(_)) => KERNEL_VERSION,
            (true, None) => VERSION,
        }
    }

    /// Rejects states that no fitted encoder has, because the JSON may have been edited.
    fn check(&self) -> Result<(), EncoderError> {
        check_bits(self.hash_bits).map_err(|fault| EncoderError::HashBits(fault.found))?;
        let scaled = |scale: &ColumnScale| {
            let numbers = [scale.mean, scale.deviation, scale.offset];
            numbers.iter().all(|number| number.is_finite()) && 0.0 <= scale.deviation
        };
        let finite = self.fields.iter().all(|field| match &field.coding {
            Coding::Number(scale) => scaled(scale),
            Coding::Scaled(scales) => scales.iter().all(scaled),
            Coding::OneHot(values) => values.len() <= Categories::UNKNOWN as usize,
            Coding::Vector(length) => 0 < *length,
            _ => true,
        });
        let positive = self.labels.as_ref().is_none_or(|labels| match labels.task {
            LabelKind::Binary => labels.classes.len() == 2 && labels.positive < 2,
            LabelKind::Classes(n) => labels.classes.len() == n,
            LabelKind::Number => labels.classes.is_empty(),
        });
        // Rows are laid out in this order, and indexed features cannot be combined with other fields.
        let in_order = !self.fields.is_empty() && self.fields.is_sorted_by_key(|field| field.coding.rank());
        let wide = match self.checked_width() {
            Some(width) if self.has_features() => width == 0 && self.fields.len() == 1,
            width => width.is_some_and(|width| width + self.kernel_features() == self.dim) && 0 < self.dim,
        };
        let has_kernel = self.kernel.as_ref().is_none_or(|kernel| {
            kernel.is_valid()
                && !self.has_features()
                && !self.has_hashed()
                && Some(kernel.dim()) == self.checked_width()
        });
        let raw = self.numbers() + self.fields.iter().filter(|field| field.coding.rank() == 1).count();
        let has_cells = self.indicators.is_sorted_by(|one, next| one < next)
            && self.indicators.last().is_none_or(|last| *last < raw)
            && (self.indicators.is_empty() || !self.has_features());
        if finite && positive && in_order && wide && has_kernel && has_cells && self.dim <= MOST_FEATURES {
            return Ok(());
        }
        Err(EncoderError::Inconsistent)
    }

    /// Returns the number of features of a row, not counting indexed features; `None` if it overflows.
    fn checked_width(&self) -> Option<usize> {
        let width = |field: &EncodedColumn| match &field.coding {
            Coding::Vector(length) => *length,
            Coding::Scaled(scales) => scales.len(),
            Coding::OneHot(values) => values.len(),
            Coding::Number(_) | Coding::Part => 1,
            Coding::Hashed | Coding::Text | Coding::Features => 0,
        };
        let hashed: usize = if self.has_hashed() { 1 << self.hash_bits } else { 0 };
        let others = hashed.checked_add(self.indicators.len())?;
        self.fields.iter().map(width).try_fold(others, usize::checked_add)
    }

    /// Creates an encoder that is not fitted yet. Fails if there are no features, or if `hash_bits` is out of range.
    pub(crate) fn new(roles: &Roles, options: &ReadOptions, note: String) -> Result<Self, DataFault> {
        check_bits(options.hash_bits)?;
        let mut fields = vec![];
        for (column, role) in &roles.columns {
            let coding = match role {
                Role::Number => Coding::Number(ColumnScale::default()),
                Role::Part => Coding::Part,
                Role::Vector(length) => Coding::Vector(*length),
                Role::Category => Coding::OneHot(vec![]),
                Role::Text => Coding::Text,
                Role::Features => Coding::Features,
                Role::Id | Role::Label | Role::Ignored => continue,
            };
            fields.push(EncodedColumn { column: column.clone(), coding });
        }
        if fields.is_empty() {
            let names: Vec<&str> = roles.columns.iter().map(|(name, _)| name.as_str()).collect();
            let found = format!("no features among the columns {}", names.join(", "));
            return Err(DataFault::new(found, "numbers, categories, text or vectors"));
        }
        fields.sort_by_key(|field| field.coding.rank());
        Ok(Self { fields, ..Self::bare(roles, options, note) })
    }

    /// Sets the offset of each column of numbers from its range. An offset is subtracted where `f32` would otherwise
    /// lose digits.
    pub(crate) fn set_offsets(&mut self, ranges: &HashMap<&str, (f64, f64)>) {
        for field in &mut self.fields {
            if let (Coding::Number(scale), Some((low, high))) = (&mut field.coding, ranges.get(field.column.as_str())) {
                scale.offset = scaling::offset(*low, *high);
            }
        }
    }

    /// Creates an encoder without features.
    pub(crate) fn bare(roles: &Roles, options: &ReadOptions, note: String) -> Self {
        let find = |wanted: Role| roles.columns.iter().find(|(_, role)| *role == wanted).map(|(name, _)| name.clone());
        let ignored = roles.columns.iter().filter(|(_, role)| *role == Role::Ignored).map(|(name, _)| name.clone());
        // Only the column matters until the classes are found.
        let labels = find(Role::Label).map(|column| LabelCoding {
            column: Some(column),
            task: LabelKind::Number,
            classes: vec![],
            positive: 0,
        });
        Self {
            version: VERSION,
            note,
            table: options.table.clone(),
            id: find(Role::Id),
            labels,
            fields: vec![],
            ignored: ignored.collect(),
            missing: options.missing,
            standardize: options.standardize,
            hash_bits: options.hash_bits,
            frequencies: Frequencies::default(),
            dim: 0,
            indicators: vec![],
            kernel: None,
            remarks: vec![],
        }
    }

    /// Returns the names of the columns it reads.
    pub(crate) fn columns(&self) -> Vec<String> {
        let label = self.labels.iter().filter_map(|labels| labels.column.clone());
        let fields = self.fields.iter().map(|field| field.column.clone());
        self.id.clone().into_iter().chain(label).chain(fields).collect()
    }

    /// Returns the number of values of a raw row that precede its categories.
    pub(crate) fn numbers(&self) -> usize {
        let width = |field: &EncodedColumn| match &field.coding {
            Coding::Number(_) | Coding::Part => 1,
            Coding::Vector(length) => *length,
            Coding::Scaled(scales) => scales.len(),
            _ => 0,
        };
        self.fields.iter().map(width).sum()
    }

    /// Rejects rows of width 0, such as those of a category whose values appear in skipped rows only.
    pub(crate) fn check_has_features(&self) -> Result<(), DataFault> {
        if self.has_features() || 0 < self.dim {
            return Ok(());
        }
        let names: Vec<&str> = self.fields.iter().map(|field| field.column.as_str()).collect();
        let found = format!("no features: all valid rows have empty cells in {}", names.join(", "));
        Err(DataFault::new(found, "a value in at least one row")
            .hint("check which rows are skipped, or use other columns"))
    }

    /// Rejects indexed features that would need a model too large to be intended. Always accepts as many features as
    /// hashing could produce.
    pub(crate) fn check_width(&self) -> Result<(), DataFault> {
        let outputs = match self.task() {
            Some(LabelKind::Classes(classes)) => classes,
            _ => 1,
        };
        if !self.has_features() || self.dim <= (MOST_PARAMETERS / outputs).max(1 << self.hash_bits) {
            return Ok(());
        }
        let found =
            format!("feature {}, so that a model has {} parameters", self.dim - 1, self.dim.saturating_mul(outputs));
        let fault = DataFault::new(found, format!("feature numbers that need at most {MOST_PARAMETERS} parameters"));
        Err(fault.hint("number the features from 0 without gaps, or use --hash-bits 28"))
    }

    /// Returns the column of the number at this index of a raw row.
    pub(crate) fn column_of(&self, index: usize) -> Option<String> {
        let mut end = 0;
        let contains = |field: &&EncodedColumn| {
            end += match &field.coding {
                Coding::Vector(length) => *length,
                Coding::Scaled(scales) => scales.len(),
                _ => 1,
            };
            index < end
        };
        self.fields.iter().find(contains).map(|field| field.column.clone())
    }

    pub(crate) fn has_features(&self) -> bool {
        self.fields.iter().any(|field| field.coding == Coding::Features)
    }

    /// Returns the names of the columns with texts.
    pub(crate) fn text_columns(&self) -> Vec<String> {
        self.fields.iter().filter(|field| field.coding == Coding::Text).map(|field| field.column.clone()).collect()
    }

    /// Returns whether a column has texts.
    pub fn has_text(&self) -> bool {
        self.fields.iter().any(|field| field.coding == Coding::Text)
    }

    /// Returns whether some features are hashed.
    pub(crate) fn has_hashed(&self) -> bool {
        self.has_text() || self.fields.iter().any(|field| field.coding == Coding::Hashed)
    }

    /// Returns the number of kernel features of a row.
    pub fn kernel_features(&self) -> usize {
        self.kernel.as_ref().map_or(0, KernelMap::landmarks)
    }

    /// Returns the number of features of a row, not counting indexed and kernel features.
    pub(crate) fn width_in_all(&self) -> usize {
        self.checked_width().unwrap_or(usize::MAX)
    }

    /// Returns the index of the label among these columns. It may be absent if `unlabeled`.
    fn label_column(&self, columns: &[Column], unlabeled: bool) -> Result<Option<usize>, DataFault> {
        let Some(name) = self.labels.as_ref().and_then(|labels| labels.column.as_deref()) else { return Ok(None) };
        let position = columns.iter().position(|column| column.name == name);
        if position.is_none() && !unlabeled {
            return Err(absent(name, columns).hint("training and test rows need labels"));
        }
        Ok(position)
    }

    /// Creates a recorder of records with these columns. `fitting` is the label reader while classes are not known yet.
    pub(crate) fn recorder(
        &self,
        columns: &[Column],
        fitting: Option<LabelReader>,
        unlabeled: bool,
    ) -> Result<RowRecorder, DataFault> {
        let open = fitting.is_some();
        // If a name occurs twice, the first column counts.
        let positions: HashMap<&str, usize> =
            columns.iter().enumerate().rev().map(|(position, column)| (column.name.as_str(), position)).collect();
        let position = |name: &str| positions.get(name).copied();
        let mut uses = vec![ColumnUse::Ignore; columns.len()];
        let mut categories = vec![];
        let mut texts = vec![];
        let mut width = 0;
        for field in &self.fields {
            let column = position(&field.column).ok_or_else(|| absent(&field.column, columns))?;
            let categories_of =
                |values: &[String], hashed: bool| Categories::new(&field.column, self.hash_bits, values, hashed, open);
            let (used, taken) = match &field.coding {
                Coding::Number(scale) if scale.offset != 0.0 => {
                    (ColumnUse::Shifted { position: width, offset: scale.offset }, 1)
                }
                Coding::Number(_) | Coding::Part => (ColumnUse::Number(width), 1),
                Coding::Vector(length) => (ColumnUse::Vector { position: width, length: *length }, *length),
                Coding::Scaled(scales) => (ColumnUse::Vector { position: width, length: scales.len() }, scales.len()),
                Coding::OneHot(values) => {
                    categories.push(categories_of(values, false));
                    (ColumnUse::Category { position: width, which: categories.len() - 1 }, 1)
                }
                Coding::Hashed => {
                    categories.push(categories_of(&[], true));
                    (ColumnUse::Category { position: width, which: categories.len() - 1 }, 1)
                }
                Coding::Text => {
                    texts.push(Grams::new(&field.column, self.hash_bits));
                    (ColumnUse::Text(texts.len() - 1), 0)
                }
                Coding::Features => (ColumnUse::Features, 0),
            };
            uses[column] = used;
            width += taken;
        }
        let id = self.id.as_deref().and_then(position);
        if let Some(column) = id {
            uses[column] = ColumnUse::Id;
        }
        let label_column = self.label_column(columns, unlabeled)?;
        if let Some(column) = label_column {
            uses[column] = ColumnUse::Label;
        }
        let known = || self.labels.as_ref().map(|labels| LabelReader::known(labels, unlabeled));
        Ok(RowRecorder {
            label: if label_column.is_some() { fitting.or_else(known) } else { None },
            needed: self.fields.len() + usize::from(id.is_some()),
            many_numbers: ManyNumbers::of(&uses),
            uses,
            names: columns.iter().map(|column| column.name.clone()).collect(),
            missing: self.missing,
            categories,
            texts,
            table: RawRows::new(width, 1),
            passing: false,
            has_id: id.is_some(),
            has_sparse: self.has_text() || self.has_features(),
            record: PendingRecord::default(),
        })
    }
}

fn check_bits(bits: u32) -> Result<(), DataFault> {
    match bits {
        1..=28 => Ok(()),
        _ => Err(DataFault::new(format!("--hash-bits {bits}"), "between 1 and 28")),
    }
}

pub(crate) fn absent(name: &str, columns: &[Column]) -> DataFault {
    let names: Vec<&str> = columns.iter().take(12).map(|column| column.name.as_str()).collect();
    DataFault::new(format!("no column `{name}` among {}", names.join(", ")), "the columns of the fitted rows")
}
