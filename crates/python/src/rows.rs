//! Rows owned by Python, read in place: numpy arrays of any strides, columns of tables, compressed sparse rows.
//!
//! A pool is never copied. Anything but contiguous `f32` rows is converted block by block. Python may change an array
//! while it is read: every bit pattern is a valid number, so the worst consequence is a meaningless number.

use numpy::ndarray::{ArrayView, ArrayView1, ArrayView2, Dimension, Ix1, Ix2};
use numpy::{PyReadonlyArray, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use querist_engine::scorer::Scorer;
use querist_rows::{DenseRows, Rows, Sparse, SparseRows};

use crate::error::{wrong_type, wrong_value};

/// Declares an array of any real type, as a Python reference and as a view that threads may share.
macro_rules! real_numbers {
    ($($name:ident: $kind:ty),*) => {
        /// An array that is kept alive.
        enum HeldArray<'py, D: Dimension> {
            $($name(PyReadonlyArray<'py, $kind, D>)),*
        }

        /// A view of its values.
        enum ArrayValues<'a, D: Dimension> {
            $($name(ArrayView<'a, $kind, D>)),*
        }

        impl<'py, D: Dimension> HeldArray<'py, D> {
            fn take(array: &Bound<'py, PyAny>) -> Option<Self> {
                $(if let Ok(array) = array.extract() {
                    return Some(Self::$name(array));
                })*
                None
            }

            fn numbers(&self) -> ArrayValues<'_, D> {
                match self {
                    $(Self::$name(array) => ArrayValues::$name(array.as_array())),*
                }
            }
        }

        impl ArrayValues<'_, Ix2> {
            fn shape(&self) -> (usize, usize) {
                match self {
                    $(Self::$name(view) => view.dim()),*
                }
            }

            /// Copies rows from `first` on, in order.
            fn fill(&self, first: usize, out: &mut [f32]) {
                match self {
                    $(Self::$name(view) => fill_matrix(view, first, out)),*
                }
            }
        }

        impl ArrayValues<'_, Ix1> {
            fn len(&self) -> usize {
                match self {
                    $(Self::$name(view) => view.len()),*
                }
            }

            /// Copies values from `first` on to every `step`-th element of `out`.
            fn fill(&self, first: usize, out: &mut [f32], step: usize) {
                match self {
                    $(Self::$name(view) => fill_column(view, first, out, step)),*
                }
            }
        }
    };
}

real_numbers!(F32: f32, F64: f64, I64: i64, I32: i32, I16: i16, I8: i8, U64: u64, U32: u32, U16: u16, U8: u8, Bool: bool);

/// A number that converts to the feature type `f32`.
trait NarrowNumber: Copy {
    fn narrow(self) -> f32;
}

macro_rules! narrow {
    ($($kind:ty),*) => {
        $(impl NarrowNumber for $kind {
            #[inline]
            #[allow(clippy::cast_lossless, reason = "short types fit, long ones are rounded")]
            fn narrow(self) -> f32 {
                self as f32
            }
        })*
    };
}

narrow!(f32, f64, i64, i32, i16, i8, u64, u32, u16, u8);

impl NarrowNumber for bool {
    #[inline]
    fn narrow(self) -> f32 {
        f32::from(u8::from(self))
    }
}

fn fill_matrix<T: NarrowNumber>(view: &ArrayView2<'_, T>, first: usize, out: &mut [f32]) {
    let dim = view.ncols();
    let by_columns = view.strides()[0].unsigned_abs() < view.strides()[1].unsigned_abs();
    if by_columns {
        for (j, column) in view.columns().into_iter().enumerate() {
            for (i, out) in out[j..].iter_mut().step_by(dim).enumerate() {
                *out = column[first + i].narrow();
            }
        }
        return;
    }
    for (i, out) in out.chunks_exact_mut(dim).enumerate() {
        for (out, value) in out.iter_mut().zip(view.row(first + i)) {
            *out = value.narrow();
        }
    }
}

fn fill_column<T: NarrowNumber>(view: &ArrayView1<'_, T>, first: usize, out: &mut [f32], step: usize) {
    for (i, out) in out.iter_mut().step_by(step).enumerate() {
        *out = view[first + i].narrow();
    }
}

/// Rows owned by Python, kept alive during a call.
pub(crate) struct PythonRows<'py> {
    name: String,
    kind: RowStorage<'py>,
}

enum RowStorage<'py> {
    /// A matrix.
    Matrix(HeldArray<'py, Ix2>),
    /// Columns, each in chunks.
    Columns(usize, Vec<Vec<HeldArray<'py, Ix1>>>),
    /// Compressed sparse rows: row ends, indices, values and the number of features.
    Sparse(PyReadonlyArray1<'py, i64>, Index<'py>, HeldArray<'py, Ix1>, usize),
}

/// Indices of a scipy matrix, which have either size.
enum Index<'py> {
    Narrow(PyReadonlyArray1<'py, i32>),
    Wide(PyReadonlyArray1<'py, i64>),
}

impl<'py> PythonRows<'py> {
    /// Reads the result of `querist._rows.rows`: `("matrix", array)`, `("columns", rows, columns)` or
    /// `("csr", indptr, indices, values, features)`. Returns a `TypeError` for arrays that are not real numbers.
    pub(crate) fn take(name: &str, table: &Bound<'py, PyTuple>) -> PyResult<Self> {
        let unknown = || wrong_type(name, "need an array of real numbers");
        let kind: String = table.get_item(0)?.extract()?;
        let kind = match kind.as_str() {
            "matrix" => RowStorage::Matrix(HeldArray::take(&table.get_item(1)?).ok_or_else(unknown)?),
            "columns" => {
                let mut columns = vec![];
                for column in table.get_item(2)?.cast_into::<PyList>()? {
                    let parts = column.cast_into::<PyList>()?;
                    columns.push(
                        parts.iter().map(|part| HeldArray::take(&part).ok_or_else(unknown)).collect::<PyResult<_>>()?,
                    );
                }
                RowStorage::Columns(table.get_item(1)?.extract()?, columns)
            }
            _ => {
                let index = table.get_item(2)?;
                let index = match index.extract() {
                    Ok(index) => Index::Narrow(index),
                    Err(_) => Index::Wide(index.extract()?),
                };
                let values = HeldArray::take(&table.get_item(3)?).ok_or_else(unknown)?;
                RowStorage::Sparse(table.get_item(1)?.extract()?, index, values, table.get_item(4)?.extract()?)
            }
        };
        Ok(Self { name: name.to_owned(), kind })
    }

    /// Returns a view of the rows for threads.
    pub(crate) fn view(&self) -> PyResult<View<'_>> {
        let shape = match &self.kind {
            RowStorage::Matrix(held) => {
                let numbers = held.numbers();
                let (rows, dim) = numbers.shape();
                return Ok(View { name: &self.name, rows, dim, shape: plain(numbers) });
            }
            RowStorage::Columns(rows, columns) => {
                let columns: Vec<Vec<ArrayValues<'_, Ix1>>> =
                    columns.iter().map(|parts| parts.iter().map(HeldArray::numbers).collect()).collect();
                for (j, parts) in columns.iter().enumerate() {
                    let length: usize = parts.iter().map(ArrayValues::<Ix1>::len).sum();
                    if length != *rows {
                        return Err(wrong_value(&self.name, format!("column {j} has {length} rows, not {rows}")));
                    }
                }
                View { name: &self.name, rows: *rows, dim: columns.len(), shape: ViewLayout::Columns(columns) }
            }
            RowStorage::Sparse(ends, index, values, dim) => {
                let ends = ends.as_array();
                let index = match index {
                    Index::Narrow(index) => Indices::Narrow(index.as_array()),
                    Index::Wide(index) => Indices::Wide(index.as_array()),
                };
                let rows = ends.len().checked_sub(1);
                let rows = rows.ok_or_else(|| wrong_value(&self.name, "indptr is empty"))?;
                View { name: &self.name, rows, dim: *dim, shape: ViewLayout::Sparse(ends, index, values.numbers()) }
            }
        };
        Ok(shape)
    }
}

/// Returns a matrix as a contiguous slice if it is one.
fn plain(numbers: ArrayValues<'_, Ix2>) -> ViewLayout<'_> {
    match numbers {
        ArrayValues::F32(view) if view.is_standard_layout() => match view.to_slice() {
            Some(values) => ViewLayout::Plain(values),
            None => ViewLayout::Matrix(ArrayValues::F32(view)),
        },
        other => ViewLayout::Matrix(other),
    }
}

/// A view of rows that threads can share.
pub(crate) struct View<'a> {
    name: &'a str,
    pub(crate) rows: usize,
    pub(crate) dim: usize,
    shape: ViewLayout<'a>,
}

enum ViewLayout<'a> {
    Plain(&'a [f32]),
    Matrix(ArrayValues<'a, Ix2>),
    Columns(Vec<Vec<ArrayValues<'a, Ix1>>>),
    Sparse(ArrayView1<'a, i64>, Indices<'a>, ArrayValues<'a, Ix1>),
}

enum Indices<'a> {
    Narrow(ArrayView1<'a, i32>),
    Wide(ArrayView1<'a, i64>),
}

impl Indices<'_> {
    fn len(&self) -> usize {
        match self {
            Indices::Narrow(view) => view.len(),
            Indices::Wide(view) => view.len(),
        }
    }

    fn at(&self, position: usize) -> i64 {
        match self {
            Indices::Narrow(view) => i64::from(view[position]),
            Indices::Wide(view) => view[position],
        }
    }
}

/// Buffers for reading a sparse row.
#[derive(Default)]
struct SparseBuffer {
    entries: Vec<(u32, f32)>,
    index: Vec<u32>,
    value: Vec<f32>,
    raw: Vec<f32>,
}

impl View<'_> {
    fn fill(&self, first: usize, out: &mut [f32]) {
        match &self.shape {
            ViewLayout::Plain(values) => out.copy_from_slice(&values[first * self.dim..][..out.len()]),
            ViewLayout::Matrix(numbers) => numbers.fill(first, out),
            ViewLayout::Columns(columns) => {
                let rows = out.len() / self.dim;
                for (j, parts) in columns.iter().enumerate() {
                    // A block can begin in the middle of a chunk of this column and continue in the next.
                    let (mut start, mut done) = (0, 0);
                    for part in parts {
                        let from = (first + done).saturating_sub(start);
                        if done < rows && from < part.len() {
                            let count = (rows - done).min(part.len() - from);
                            let cells = &mut out[done * self.dim + j..=(done + count - 1) * self.dim + j];
                            part.fill(from, cells, self.dim);
                            done += count;
                        }
                        start += part.len();
                    }
                }
            }
            ViewLayout::Sparse(..) => unreachable!("sparse rows are not made dense"),
        }
    }

    /// Reads one sparse row: indices in increasing order, with duplicates summed.
    fn sparse<'r>(&self, row: usize, buffer: &'r mut SparseBuffer) -> PyResult<Sparse<'r>> {
        let ViewLayout::Sparse(ends, index, values) = &self.shape else { unreachable!("only sparse rows are read so") };
        let wrong = |what: &str| wrong_value(self.name, format!("{what} in row {row} of the sparse matrix"));
        let (start, end) = (ends[row], ends[row + 1]);
        let most = index.len().min(values.len()) as i64;
        if !(0 <= start && start <= end && end <= most) {
            return Err(wrong("indptr does not fit"));
        }
        let (start, count) = (start as usize, (end - start) as usize);
        buffer.raw.resize(count, 0.0);
        values.fill(start, &mut buffer.raw, 1);
        buffer.entries.clear();
        for (position, value) in buffer.raw.iter().enumerate() {
            let j = index.at(start + position);
            if j < 0 || self.dim as i64 <= j {
                return Err(wrong("an index out of range"));
            }
            buffer.entries.push((j as u32, *value));
        }
        if !buffer.entries.is_sorted_by(|a, b| a.0 < b.0) {
            buffer.entries.sort_by_key(|entry| entry.0);
        }
        buffer.index.clear();
        buffer.value.clear();
        for (j, value) in &buffer.entries {
            match (buffer.index.last(), buffer.value.last_mut()) {
                (Some(last), Some(sum)) if last == j => *sum += value,
                _ => {
                    buffer.index.push(*j);
                    buffer.value.push(*value);
                }
            }
        }
        Ok(Sparse { index: &buffer.index, value: &buffer.value })
    }

    /// Scores rows from `first` on. A score that is not finite means that the features are not, and is an error.
    pub(crate) fn score(&self, scorer: &Scorer, outputs: usize, first: usize, out: &mut [f64]) -> PyResult<()> {
        let rows = out.len() / outputs;
        match &self.shape {
            ViewLayout::Plain(values) => scorer.dense(&values[first * self.dim..(first + rows) * self.dim], out),
            ViewLayout::Sparse(..) => {
                let mut buffer = SparseBuffer::default();
                for (i, scores) in out.chunks_exact_mut(outputs).enumerate() {
                    scorer.scores(self.sparse(first + i, &mut buffer)?, scores);
                }
            }
            _ => {
                let mut values = vec![0.0; rows * self.dim];
                self.fill(first, &mut values);
                scorer.dense(&values, out);
            }
        }
        match out.iter().position(|score| !score.is_finite()) {
            Some(position) => Err(self.not_finite(first + position / outputs)),
            None => Ok(()),
        }
    }

    fn not_finite(&self, row: usize) -> PyErr {
        wrong_value(self.name, format!("contains NaN, infinity or a value too large for float32 in row {row}"))
    }

    /// Copies all rows for learning. Fails if a value is not finite.
    pub(crate) fn own(&self) -> PyResult<Rows> {
        if matches!(self.shape, ViewLayout::Sparse(..)) {
            let mut rows = SparseRows::new(self.dim);
            let mut buffer = SparseBuffer::default();
            for row in 0..self.rows {
                let x = self.sparse(row, &mut buffer)?;
                if x.value.iter().any(|value| !value.is_finite()) {
                    return Err(self.not_finite(row));
                }
                rows.push(x);
            }
            return Ok(Rows::Sparse(rows));
        }
        let mut values = vec![0.0; self.rows * self.dim];
        if !values.is_empty() {
            self.fill(0, &mut values);
        }
        if let Some(position) = values.iter().position(|value| !value.is_finite()) {
            return Err(self.not_finite(position / self.dim));
        }
        let rows = DenseRows::from_values(self.dim, values);
        Ok(Rows::Dense(rows.ok_or_else(|| wrong_value(self.name, "has no features"))?))
    }
}
