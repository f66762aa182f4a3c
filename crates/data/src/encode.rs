//! Raw rows become rows of features: fitted where nothing is known yet, then scaled, spread and weighed.

use querist_rows::Numbers;
use querist_rows::{DenseRows, Row, Rows, Sparse, SparseRows};

use crate::batch::Batch;
use crate::category::Categories;
use crate::encoder::{Coding, Encoder};
use crate::error::Fault;
use crate::record::{Recorder, Table};
use crate::remarks;
use crate::scaling::{self, Scale, Step, Steps};
use crate::text::{self, Frequencies};

impl Encoder {
    /// Fits on the raw rows of a recorder; codes of categories in them become those of the encoder.
    pub(crate) fn fit(&mut self, recorder: &mut Recorder) {
        let numbers = self.numbers();
        let table = &mut recorder.table;
        let met = scaling::fit(&table.dense, table.width, numbers);
        self.remarks.extend(remarks::of(&self.fields, self.standardize, &met));
        let (mut place, mut which) = (0, 0);
        for field in &mut self.fields {
            match &mut field.coding {
                Coding::Number(scale) => {
                    *scale = Scale { offset: scale.offset, ..met[place].scale };
                    place += 1;
                }
                Coding::Part => place += 1,
                Coding::Vector(length) => place += *length,
                Coding::Scaled(scales) => place += scales.len(),
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
        self.dim = if self.has_features() { table.sparse.dim() } else { self.width_in_all() };
    }

    /// Makes what is computed once for many rows.
    pub(crate) fn plan(&self) -> Plan {
        let mut steps = vec![];
        let mut offsets = vec![];
        let mut offset = self.numbers();
        for field in &self.fields {
            match &field.coding {
                Coding::Number(scale) => steps.push(Step::new(*scale, self.standardize)),
                Coding::Part => steps.push(Step::PLAIN),
                Coding::Vector(length) => steps.extend((0..*length).map(|_| Step::PLAIN)),
                Coding::Scaled(scales) => steps.extend(scales.iter().map(|scale| Step::new(*scale, self.standardize))),
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
            (true, _) => Layout::AsIs,
            (false, true) => Layout::Sparse,
            (false, false) => Layout::Dense,
        };
        let together = Steps::of(&steps);
        Plan { layout, steps, together, offsets, hashed: offset, weights, index: vec![], value: vec![] }
    }
}

/// Values met in rows that were kept; their codes in these rows become final.
fn fit_categories(categories: &Categories, table: &mut Table, place: usize) -> Vec<String> {
    let mut kept = vec![false; categories.values.len()];
    for code in table.dense.iter().skip(place).step_by(table.width) {
        if let Some(kept) = kept.get_mut(code.to_bits() as usize) {
            *kept = true;
        }
    }
    let (values, codes) = categories.finish(&kept);
    for cell in table.dense.iter_mut().skip(place).step_by(table.width) {
        if let Some(code) = codes.get(cell.to_bits() as usize) {
            *cell = f32::from_bits(*code);
        }
    }
    values
}

/// In how many rows each feature is met. Features are hashed, so there are few enough for a place each.
fn count(rows: &Rows) -> Frequencies {
    let mut counts: Vec<u32> = vec![];
    for place in 0..rows.len() {
        if let Row::Sparse(row) = rows.row(place) {
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

/// How rows are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// Numbers and one-hot categories.
    Dense,
    /// Numbers in front, then one-hot categories, then what is hashed.
    Sparse,
    /// Numbered features as they are.
    AsIs,
}

/// An encoder at work.
pub(crate) struct Plan {
    layout: Layout,
    steps: Vec<Step>,
    together: Steps,
    /// Where the features of each column of categories begin.
    offsets: Vec<usize>,
    /// Where hashed features begin.
    hashed: usize,
    weights: Vec<f64>,
    index: Vec<u32>,
    value: Vec<f32>,
}

impl Plan {
    /// What is done to each number.
    pub(crate) fn into_steps(self) -> Vec<Step> {
        self.steps
    }

    /// Takes the raw rows out of a table into a batch, but for those that are too far from all that was met in fitting.
    pub(crate) fn encode(&mut self, table: &mut Table, dim: usize, batch: &mut Batch) -> Vec<Far> {
        std::mem::swap(&mut batch.labels, &mut table.labels);
        table.labels.clear();
        let len = std::mem::take(&mut table.len);
        // The room of the last rows is that of the next.
        let recycled = std::mem::replace(&mut batch.rows, Rows::Dense(DenseRows::new(0)));
        let mut far = vec![];
        batch.rows = match self.layout {
            Layout::AsIs => take(table, dim, recycled),
            Layout::Dense if self.offsets.is_empty() => self.scale(table, recycled, &mut far),
            Layout::Dense => self.spread(table, dim, &mut far),
            Layout::Sparse => self.hash(table, len, dim, &mut far),
        };
        table.dense.clear();
        table.sparse.clear();
        if !far.is_empty() {
            leave_out(&far, &mut batch.labels);
        }
        far
    }

    /// The first number of a raw row whose feature is not finite.
    #[cold]
    fn far(&self, row: usize, raw: &[f32]) -> Far {
        let place = raw.iter().zip(&self.steps).position(|(value, step)| !step.apply(*value).is_finite());
        let place = place.unwrap_or(0);
        let found = format!("{:e} is too far from what was met in fitting", raw[place]);
        let hint = "--warm-up N looks at N rows first, --skip-bad-rows leaves such rows out";
        Far { row, place, fault: Fault::new(found, "numbers of a size that was met").hint(hint) }
    }

    /// Numbers alone are scaled where they are: a file that fills the memory must not need it twice.
    fn scale(&mut self, table: &mut Table, recycled: Rows, far: &mut Vec<Far>) -> Rows {
        let room = if let Rows::Dense(rows) = recycled { rows.into_numbers() } else { Numbers::new() };
        let mut values = std::mem::replace(&mut table.dense, room);
        self.value.resize(table.width, 0.0);
        for (row, values) in values.chunks_exact_mut(table.width).enumerate() {
            if !self.together.apply(values, &mut self.value) {
                far.push(self.far(row, values));
            }
            values.copy_from_slice(&self.value);
        }
        let rows = DenseRows::from_numbers(table.width, values);
        let rows = rows.unwrap_or_else(|| DenseRows::new(table.width));
        if far.is_empty() {
            return Rows::Dense(rows);
        }
        let mut kept = DenseRows::new(table.width);
        let mut left_out = far.iter().map(|far| far.row).peekable();
        for (row, values) in rows.into_numbers().chunks_exact(table.width).enumerate() {
            if left_out.next_if_eq(&row).is_none() {
                kept.push(values);
            }
        }
        Rows::Dense(kept)
    }

    fn spread(&self, table: &Table, dim: usize, far: &mut Vec<Far>) -> Rows {
        let mut rows = DenseRows::new(dim);
        let mut features = vec![0.0; dim];
        rows.reserve(table.dense.len() / table.width);
        for (place, raw) in table.dense.chunks_exact(table.width).enumerate() {
            features.fill(0.0);
            let mut finite = true;
            for ((feature, value), step) in features.iter_mut().zip(raw).zip(&self.steps) {
                *feature = step.apply(*value);
                finite &= feature.is_finite();
            }
            if !finite {
                far.push(self.far(place, raw));
                continue;
            }
            for (code, offset) in raw[self.steps.len()..].iter().zip(&self.offsets) {
                if code.to_bits() < Categories::UNKNOWN {
                    features[offset + code.to_bits() as usize] = 1.0;
                }
            }
            rows.push(&features);
        }
        Rows::Dense(rows)
    }

    fn hash(&mut self, table: &Table, len: usize, dim: usize, far: &mut Vec<Far>) -> Rows {
        let mut rows = SparseRows::new(dim);
        for place in 0..len {
            let raw = &table.dense[place * table.width..(place + 1) * table.width];
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
                far.push(self.far(place, raw));
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
            self.push_hashed(table, place, hashed);
            rows.push(Sparse { index: &self.index, value: &self.value });
        }
        Rows::Sparse(rows)
    }

    /// Text and hashed categories share their features; what falls on the same one is added.
    fn push_hashed(&mut self, table: &Table, place: usize, mut hashed: Vec<(u32, f32)>) {
        if let (Rows::Sparse(rows), false) = (&table.sparse, self.weights.is_empty()) {
            let row = rows.row(place);
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

/// Numbered features are rows already.
fn take(table: &mut Table, dim: usize, recycled: Rows) -> Rows {
    let room = if matches!(recycled, Rows::Sparse(_)) { recycled } else { Rows::Sparse(SparseRows::new(dim)) };
    let mut taken = std::mem::replace(&mut table.sparse, room);
    if let Rows::Sparse(rows) = &mut taken {
        rows.widen(dim);
    }
    taken
}

/// A row that is left out: where it stood among those of its block, and which of its numbers is why.
pub(crate) struct Far {
    pub(crate) row: usize,
    pub(crate) place: usize,
    pub(crate) fault: Fault,
}

/// Removes what belongs to rows that are left out.
pub(crate) fn leave_out<T>(far: &[Far], of_rows: &mut Vec<T>) {
    let (mut row, mut left_out) = (0, far.iter().map(|far| far.row).peekable());
    of_rows.retain(|_| {
        row += 1;
        left_out.next_if_eq(&(row - 1)).is_none()
    });
}
