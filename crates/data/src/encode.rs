//! Encoding of raw rows as rows of features: fitting, then scaling, one-hot encoding and hashing with weights.

use querist_rows::kernel::{KernelFeatures, KernelMap, KernelSettings};
use querist_rows::{DenseRows, Numbers, Row, Rows, Sparse, SparseRows};

use crate::anomalies;
use crate::batch::Batch;
use crate::category::Categories;
use crate::encoder::{Coding, Encoder};
use crate::error::DataFault;
use crate::options::Missing;
use crate::record::{RawRows, RowRecorder};
use crate::scaling::{self, ColumnScale, NumberTransform, RowTransform};
use crate::text::{self, Frequencies, Grams};

impl Encoder {
    /// Fits on the raw rows of a recorder. Replaces the provisional codes of categories in them by the final ones.
    pub(crate) fn fit(&mut self, recorder: &mut RowRecorder) {
        let numbers = self.numbers();
        let table = &mut recorder.table;
        let met = scaling::fit(&table.dense, table.width, numbers);
        self.remarks.extend(anomalies::of(&self.fields, self.standardize, &met));
        let (mut index, mut which) = (0, 0);
        for field in &mut self.fields {
            match &mut field.coding {
                Coding::Number(scale) => {
                    *scale = ColumnScale { offset: scale.offset, ..met[index].scale };
                    index += 1;
                }
                Coding::Part => index += 1,
                Coding::Vector(length) => index += *length,
                Coding::Scaled(scales) => index += scales.len(),
                Coding::OneHot(values) => {
                    let categories = &recorder.categories[which];
                    *values = fit_categories(categories, table, numbers + which);
                    which += 1;
                    if categories.hashed {
                        field.coding = Coding::Hashed;
                    }
                }
                Coding::Hashed | Coding::Text | Coding::Features => {}
            }
        }
        if self.has_text() {
            self.frequencies = count(&table.sparse);
        }
        if self.missing == Missing::Indicator {
            self.indicators = self.positions_with_missing_cells(table);
        }
        self.version = self.version_of_features();
        self.dim = if self.has_features() { table.sparse.dim() } else { self.width_in_all() };
    }

    /// Returns the positions of numbers and categories that are missing in some raw row.
    fn positions_with_missing_cells(&self, table: &RawRows) -> Vec<usize> {
        let numbers = self.numbers();
        let is_missing = |position: usize, cell: &f32| {
            if position < numbers { cell.is_nan() } else { cell.to_bits() == Categories::UNKNOWN }
        };
        let mut has_missing = vec![false; table.width];
        for row in table.dense.chunks_exact(table.width.max(1)) {
            for (position, cell) in row.iter().enumerate() {
                has_missing[position] |= is_missing(position, cell);
            }
        }
        (0..table.width).filter(|position| has_missing[*position]).collect()
    }

    /// Chooses the landmarks of kernel features among the raw rows of a recorder.
    pub(crate) fn fit_kernel(&mut self, recorder: &RowRecorder, settings: KernelSettings) -> Result<(), DataFault> {
        let mut plan = self.plan();
        if plan.layout != RowLayout::Dense {
            let found = "text, hashed categories or indexed features";
            return Err(
                DataFault::new(found, "numbers, categories or vectors for kernel features").hint("use --model linear")
            );
        }
        let mut batch = Batch::default();
        plan.encode(&mut recorder.table.sample(SAMPLE), self.dim, &mut batch);
        if let Rows::Dense(rows) = &batch.rows
            && !rows.is_empty()
        {
            let kernel = KernelMap::fit(rows, settings);
            self.dim += kernel.landmarks();
            self.kernel = Some(kernel);
            self.version = self.version_of_features();
        }
        Ok(())
    }

    /// Encodes a text as if it were the cell of every text column, and all other cells were empty. Returns features with
    /// their values; `None` if no column has texts or the text has no words.
    pub fn encode_text(&self, text: &str) -> Option<Vec<(u32, f32)>> {
        let mut found = vec![];
        for column in self.text_columns() {
            Grams::new(&column, self.hash_bits).count(text, &mut found);
        }
        if found.is_empty() {
            return None;
        }
        found.sort_unstable();
        let same: Vec<&[u32]> = found.chunk_by(|one, next| one == next).collect();
        let index: Vec<u32> = same.iter().map(|same| same[0]).collect();
        let counts: Vec<f32> = same.iter().map(|same| same.len() as f32).collect();
        let mut values = vec![];
        text::weigh(&index, &counts, &self.frequencies.weights(self.hash_bits), &mut values);
        let first = self.plan().hashed as u32;
        Some(index.into_iter().map(|feature| first + feature).zip(values).collect())
    }

    /// Precomputes what is needed to encode many rows.
    pub(crate) fn plan(&self) -> EncodingPlan {
        let mut steps = vec![];
        let mut offsets = vec![];
        let mut offset = self.numbers();
        for field in &self.fields {
            match &field.coding {
                Coding::Number(scale) => steps.push(NumberTransform::new(*scale, self.standardize)),
                Coding::Part => steps.push(NumberTransform::PLAIN),
                Coding::Vector(length) => steps.extend((0..*length).map(|_| NumberTransform::PLAIN)),
                Coding::Scaled(scales) => {
                    steps.extend(scales.iter().map(|scale| NumberTransform::new(*scale, self.standardize)));
                }
                Coding::OneHot(values) => {
                    offsets.push(offset);
                    offset += values.len();
                }
                Coding::Hashed => offsets.push(usize::MAX),
                Coding::Text | Coding::Features => {}
            }
        }
        let weights = if self.has_text() { self.frequencies.weights(self.hash_bits) } else { vec![] };
        let layout = match (self.has_features(), self.has_hashed()) {
            (true, _) => RowLayout::AsIs,
            (false, true) => RowLayout::Sparse,
            (false, false) => RowLayout::Dense,
        };
        let together = RowTransform::of(&steps);
        let kernel = self.kernel.as_ref().map(KernelMap::prepare);
        let indicators = self.indicators.clone();
        let hashed = offset + indicators.len();
        let (index, value) = (vec![], vec![]);
        EncodingPlan { layout, steps, together, offsets, indicators, hashed, weights, kernel, index, value }
    }
}

/// Returns the values that occur in retained rows, and replaces the codes in these rows by the final ones.
fn fit_categories(categories: &Categories, table: &mut RawRows, index: usize) -> Vec<String> {
    let mut kept = vec![false; categories.values.len()];
    for code in table.dense.iter().skip(index).step_by(table.width) {
        if let Some(kept) = kept.get_mut(code.to_bits() as usize) {
            *kept = true;
        }
    }
    let (values, codes) = categories.finish(&kept);
    for cell in table.dense.iter_mut().skip(index).step_by(table.width) {
        if let Some(code) = codes.get(cell.to_bits() as usize) {
            *cell = f32::from_bits(*code);
        }
    }
    values
}

/// Counts the rows in which each feature occurs. Features are hashed, so a vector with an entry for each is small
/// enough.
fn count(rows: &Rows) -> Frequencies {
    let mut counts: Vec<u32> = vec![];
    for index in 0..rows.len() {
        if let Row::Sparse(row) = rows.row(index) {
            for feature in row.index {
                let feature = *feature as usize;
                if counts.len() <= feature {
                    counts.resize(feature + 1, 0);
                }
                counts[feature] += 1;
            }
        }
    }
    let counts = (0..).zip(counts).filter(|(_, count)| 0 < *count);
    Frequencies { texts: rows.len() as u64, counts: counts.collect() }
}

/// The number of rows from which landmarks and the width of the kernel are chosen.
const SAMPLE: usize = 4096;

/// The layout of encoded rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowLayout {
    /// Numbers and one-hot categories.
    Dense,
    /// Numbers first, then one-hot categories, then hashed features.
    Sparse,
    /// Indexed features, unchanged.
    AsIs,
}

/// A plan for encoding: precomputed steps and offsets, with buffers.
pub(crate) struct EncodingPlan {
    layout: RowLayout,
    steps: Vec<NumberTransform>,
    together: RowTransform,
    /// The first feature of each column of categories; `usize::MAX` for hashed columns.
    offsets: Vec<usize>,
    /// The positions of the cells with a feature for missing ones. These features precede the hashed ones.
    indicators: Vec<usize>,
    /// The first hashed feature.
    hashed: usize,
    weights: Vec<f64>,
    kernel: Option<KernelFeatures>,
    index: Vec<u32>,
    value: Vec<f32>,
}

impl EncodingPlan {
    /// Returns the transformation of each number.
    pub(crate) fn into_steps(self) -> Vec<NumberTransform> {
        self.steps
    }

    /// Moves the raw rows of a table into a batch and empties the table. Skips and returns rows with a number that is
    /// too far from those seen in fitting.
    pub(crate) fn encode(&mut self, table: &mut RawRows, dim: usize, batch: &mut Batch) -> Vec<RejectedRow> {
        std::mem::swap(&mut batch.labels, &mut table.labels);
        table.labels.clear();
        let len = std::mem::take(&mut table.len);
        // Reuse the buffer of the previous rows for the next ones.
        let recycled = std::mem::replace(&mut batch.rows, Rows::Dense(DenseRows::new(0)));
        let mut rejected = vec![];
        batch.rows = match self.layout {
            RowLayout::AsIs => take(table, dim, recycled),
            RowLayout::Dense if self.offsets.is_empty() && self.indicators.is_empty() => {
                self.scale(table, recycled, &mut rejected)
            }
            RowLayout::Dense => self.spread(table, &mut rejected),
            RowLayout::Sparse => self.hash(table, len, dim, &mut rejected),
        };
        table.dense.clear();
        table.sparse.clear();
        if let (Some(kernel), Rows::Dense(rows)) = (&self.kernel, &batch.rows) {
            batch.rows = Rows::Dense(kernel.extend(rows));
        }
        if !rejected.is_empty() {
            remove_rows(&rejected, &mut batch.labels);
        }
        rejected
    }

    /// Describes the first number of a raw row whose feature is not finite.
    #[cold]
    fn reject(&self, row: usize, raw: &[f32]) -> RejectedRow {
        let position = raw.iter().zip(&self.steps).position(|(value, step)| !step.apply(*value).is_finite());
        let position = position.unwrap_or(0);
        let found = format!("{:e} is too far from the numbers in the fitted rows", raw[position]);
        let hint = "use --warm-up N to fit on N rows, or --skip-bad-rows to skip such rows";
        RejectedRow { row, position, fault: DataFault::new(found, "numbers of a similar size").hint(hint) }
    }

    /// Scales tables that hold only numbers in place, so that a file that fills the memory is not stored twice.
    fn scale(&mut self, table: &mut RawRows, recycled: Rows, rejected: &mut Vec<RejectedRow>) -> Rows {
        let room = if let Rows::Dense(rows) = recycled { rows.into_numbers() } else { Numbers::new() };
        let mut values = std::mem::replace(&mut table.dense, room);
        self.value.resize(table.width, 0.0);
        for (row, values) in values.chunks_exact_mut(table.width).enumerate() {
            if !self.together.apply(values, &mut self.value) {
                rejected.push(self.reject(row, values));
            }
            values.copy_from_slice(&self.value);
        }
        let rows = DenseRows::from_numbers(table.width, values);
        let rows = rows.unwrap_or_else(|| DenseRows::new(table.width));
        if rejected.is_empty() {
            return Rows::Dense(rows);
        }
        let mut kept = DenseRows::new(table.width);
        let mut skipped = rejected.iter().map(|rejected| rejected.row).peekable();
        for (row, values) in rows.into_numbers().chunks_exact(table.width).enumerate() {
            if skipped.next_if_eq(&row).is_none() {
                kept.push(values);
            }
        }
        Rows::Dense(kept)
    }

    fn spread(&self, table: &RawRows, rejected: &mut Vec<RejectedRow>) -> Rows {
        // Without hashed columns, the features end where the hashed ones would begin.
        let dim = self.hashed;
        let mut rows = DenseRows::new(dim);
        let mut features = vec![0.0; dim];
        rows.reserve(table.dense.len() / table.width);
        for (index, raw) in table.dense.chunks_exact(table.width).enumerate() {
            features.fill(0.0);
            let mut finite = true;
            for ((feature, value), step) in features.iter_mut().zip(raw).zip(&self.steps) {
                *feature = step.apply(*value);
                finite &= feature.is_finite();
            }
            if !finite {
                rejected.push(self.reject(index, raw));
                continue;
            }
            for (code, offset) in raw[self.steps.len()..].iter().zip(&self.offsets) {
                if code.to_bits() < Categories::UNKNOWN {
                    features[offset + code.to_bits() as usize] = 1.0;
                }
            }
            self.missing_cells(raw).for_each(|feature| features[feature] = 1.0);
            rows.push(&features);
        }
        Rows::Dense(rows)
    }

    fn hash(&mut self, table: &RawRows, len: usize, dim: usize, rejected: &mut Vec<RejectedRow>) -> Rows {
        let mut rows = SparseRows::new(dim);
        for index in 0..len {
            let raw = &table.dense[index * table.width..(index + 1) * table.width];
            self.index.clear();
            self.value.clear();
            let mut finite = true;
            for (feature, (value, step)) in raw.iter().zip(&self.steps).enumerate() {
                let value = step.apply(*value);
                finite &= value.is_finite();
                if value != 0.0 {
                    self.index.push(feature as u32);
                    self.value.push(value);
                }
            }
            if !finite {
                rejected.push(self.reject(index, raw));
                continue;
            }
            let mut hashed = vec![];
            for (code, offset) in raw[self.steps.len()..].iter().zip(&self.offsets) {
                match code.to_bits() {
                    code if code < Categories::UNKNOWN => {
                        self.index.push((offset + code as usize) as u32);
                        self.value.push(1.0);
                    }
                    Categories::UNKNOWN => {}
                    code => hashed.push((code - Categories::HASHED, 1.0)),
                }
            }
            let missing: Vec<u32> = self.missing_cells(raw).map(|feature| feature as u32).collect();
            self.index.extend(missing);
            self.value.resize(self.index.len(), 1.0);
            self.push_hashed(table, index, hashed);
            rows.push(Sparse { index: &self.index, value: &self.value });
        }
        Rows::Sparse(rows)
    }

    /// Returns the features of the cells of a raw row that are missing, and of categories that the fitted rows do not have.
    fn missing_cells<'a>(&'a self, raw: &'a [f32]) -> impl Iterator<Item = usize> + 'a {
        let (numbers, first) = (self.steps.len(), self.hashed - self.indicators.len());
        let is_missing = move |position: usize| {
            let cell = raw[position];
            if position < numbers { cell.is_nan() } else { cell.to_bits() == Categories::UNKNOWN }
        };
        let indicators = self.indicators.iter().enumerate().filter(move |(_, position)| is_missing(**position));
        indicators.map(move |(index, _)| first + index)
    }

    /// Appends the features of text and of hashed categories, which share indices. Adds the values of features that
    /// collide.
    fn push_hashed(&mut self, table: &RawRows, index: usize, mut hashed: Vec<(u32, f32)>) {
        if let (Rows::Sparse(rows), false) = (&table.sparse, self.weights.is_empty()) {
            let row = rows.row(index);
            let mut weighed = vec![];
            text::weigh(row.index, row.value, &self.weights, &mut weighed);
            hashed.extend(row.index.iter().copied().zip(weighed));
        }
        hashed.sort_by_key(|(feature, _)| *feature);
        for same in hashed.chunk_by(|a, b| a.0 == b.0) {
            self.index.push((self.hashed + same[0].0 as usize) as u32);
            self.value.push(same.iter().map(|(_, value)| value).sum());
        }
    }
}

/// Takes the rows of indexed features, which need no encoding, and widens them to `dim`.
fn take(table: &mut RawRows, dim: usize, recycled: Rows) -> Rows {
    let room = if matches!(recycled, Rows::Sparse(_)) { recycled } else { Rows::Sparse(SparseRows::new(dim)) };
    let mut taken = std::mem::replace(&mut table.sparse, room);
    if let Rows::Sparse(rows) = &mut taken {
        rows.widen(dim);
    }
    taken
}

/// A skipped row: its index in its block, the index of the number at fault, and the fault.
pub(crate) struct RejectedRow {
    pub(crate) row: usize,
    pub(crate) position: usize,
    pub(crate) fault: DataFault,
}

/// Removes the entries of skipped rows from a list with one entry per row.
pub(crate) fn remove_rows<T>(rejected: &[RejectedRow], of_rows: &mut Vec<T>) {
    let (mut row, mut skipped) = (0, rejected.iter().map(|rejected| rejected.row).peekable());
    of_rows.retain(|_| {
        row += 1;
        skipped.next_if_eq(&(row - 1)).is_none()
    });
}
