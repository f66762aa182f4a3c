//! Storage of features: rows of `f32`, all dense or all sparse.

use prefetch_index::prefetch_index;

use crate::features::LINE;
use crate::numbers::Numbers;

/// Rows of features.
///
/// ```
/// use querist_rows::{DenseRows, Row, Rows};
///
/// let mut rows = Rows::Dense(DenseRows::new(2));
/// rows.push(Row::Dense(&[0.5, 1.0]));
/// assert_eq!((rows.len(), rows.dim()), (1, 2));
/// assert_eq!(rows.row(0), Row::Dense(&[0.5, 1.0]));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Rows {
    /// Every feature of every row.
    Dense(DenseRows),
    /// The features that are not 0.
    Sparse(SparseRows),
}

/// Contiguous rows, `dim` values each.
///
/// ```
/// use querist_rows::DenseRows;
///
/// let rows = DenseRows::from_values(2, vec![0.5, 1.0, -0.3, 0.2]).expect("whole rows");
/// assert_eq!(rows.row(1), [-0.3_f32, 0.2]);
/// assert!(DenseRows::from_values(2, vec![0.5, 1.0, -0.3]).is_none());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DenseRows {
    dim: usize,
    values: Numbers,
}

/// Compressed sparse rows (CSR): the indices of all rows in one array and the values in another.
///
/// ```
/// use querist_rows::{Sparse, SparseRows};
///
/// let mut rows = SparseRows::new(1000);
/// rows.push(Sparse { index: &[3, 700], value: &[1.0, 0.5] });
/// assert_eq!((rows.len(), rows.dim()), (1, 1000));
/// assert_eq!(rows.row(0).index, [3_u32, 700]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SparseRows {
    dim: usize,
    /// The start of each row, and the end of the last.
    starts: Vec<usize>,
    index: Numbers<u32>,
    value: Numbers,
}

/// A view of sparse rows from some index on, for loops.
#[derive(Clone, Copy, Debug)]
pub struct SparsePart<'a> {
    starts: &'a [usize],
    index: &'a [u32],
    value: &'a [f32],
}

/// One row.
///
/// ```
/// use querist_rows::{Features, Row, Sparse};
///
/// let dense = Row::Dense(&[0.5, 0.0, 1.0]);
/// let sparse = Row::Sparse(Sparse { index: &[0, 2], value: &[0.5, 1.0] });
/// let weights = [2.0, 5.0, -3.0];
/// assert_eq!((dense.dot(&weights), sparse.dot(&weights)), (-2.0, -2.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Row<'a> {
    /// Every feature.
    Dense(&'a [f32]),
    /// The features that are not 0.
    Sparse(Sparse<'a>),
}

/// The features of a sparse row; indices are sorted, distinct and below the dimension.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sparse<'a> {
    /// The indices of the features.
    pub index: &'a [u32],
    /// The values of the features.
    pub value: &'a [f32],
}

impl Rows {
    /// Returns the number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Rows::Dense(rows) => rows.len(),
            Rows::Sparse(rows) => rows.len(),
        }
    }

    /// Returns `true` if there are no rows.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of features of a row.
    #[inline]
    pub fn dim(&self) -> usize {
        match self {
            Rows::Dense(rows) => rows.dim,
            Rows::Sparse(rows) => rows.dim,
        }
    }

    /// Returns the row at this index.
    #[inline]
    pub fn row(&self, place: usize) -> Row<'_> {
        match self {
            Rows::Dense(rows) => Row::Dense(rows.row(place)),
            Rows::Sparse(rows) => Row::Sparse(rows.row(place)),
        }
    }

    /// Removes all rows and keeps the space.
    pub fn clear(&mut self) {
        match self {
            Rows::Dense(rows) => rows.values.clear(),
            Rows::Sparse(rows) => {
                rows.starts.truncate(1);
                rows.index.clear();
                rows.value.clear();
            }
        }
    }
}

impl Row<'_> {
    /// Returns the row as bytes, little-endian: 0 and the values, or 1, the number of entries, the indices and the
    /// values.
    pub fn to_bytes(self) -> Vec<u8> {
        match self {
            Row::Dense(values) => [0].into_iter().chain(values.iter().flat_map(|x| x.to_le_bytes())).collect(),
            Row::Sparse(row) => {
                let count = (row.index.len() as u32).to_le_bytes();
                let indices = row.index.iter().flat_map(|j| j.to_le_bytes());
                let values = row.value.iter().flat_map(|x| x.to_le_bytes());
                [1].into_iter().chain(count).chain(indices).chain(values).collect()
            }
        }
    }
}

impl Rows {
    /// Reads one row from bytes. A sparse row gets at least `dim` features. Returns `None` if the bytes are not those
    /// of a row.
    pub fn from_bytes(bytes: &[u8], dim: usize) -> Option<Self> {
        let (kind, rest) = bytes.split_first()?;
        let (words, []) = rest.as_chunks::<4>() else { return None };
        if *kind == 0 {
            let values: Vec<f32> = words.iter().map(|word| f32::from_le_bytes(*word)).collect();
            return DenseRows::from_values(values.len(), values).map(Rows::Dense);
        }
        let (count, words) = words.split_first()?;
        let count = u32::from_le_bytes(*count) as usize;
        if *kind != 1 || words.len() != 2 * count {
            return None;
        }
        let index: Vec<u32> = words[..count].iter().map(|word| u32::from_le_bytes(*word)).collect();
        let value: Vec<f32> = words[count..].iter().map(|word| f32::from_le_bytes(*word)).collect();
        if !index.is_sorted_by(|a, b| a < b) {
            return None;
        }
        let mut rows = SparseRows::new(dim.max(index.last().map_or(0, |last| *last as usize + 1)));
        rows.push(Sparse { index: &index, value: &value });
        Some(Rows::Sparse(rows))
    }

    /// Returns no rows, of the same kind and dimension.
    pub fn empty_like(&self) -> Self {
        match self {
            Rows::Dense(rows) => Rows::Dense(DenseRows::new(rows.dim)),
            Rows::Sparse(rows) => Rows::Sparse(SparseRows::new(rows.dim)),
        }
    }

    /// Appends a row of the same kind.
    ///
    /// # Panics
    /// If it is of the other kind.
    pub fn push(&mut self, row: Row<'_>) {
        match (self, row) {
            (Rows::Dense(rows), Row::Dense(row)) => rows.push(row),
            (Rows::Sparse(rows), Row::Sparse(row)) => rows.push(row),
            _ => panic!("dense and sparse rows do not mix"),
        }
    }
}

/// Returns whether indices are strictly increasing. Compares all of them, which SIMD does at once; most rows pass.
#[inline]
pub fn rise(index: &[u32]) -> bool {
    let mut rise = true;
    for [a, b] in index.array_windows() {
        rise &= a < b;
    }
    rise
}

impl DenseRows {
    /// Makes an empty set of rows.
    pub fn new(dim: usize) -> Self {
        Self { dim, values: Numbers::new() }
    }

    /// Makes rows from contiguous values. Returns `None` if the number of values is not a multiple of `dim`.
    pub fn from_values(dim: usize, values: Vec<f32>) -> Option<Self> {
        Self::from_numbers(dim, values.into())
    }

    /// Does the same as [`Self::from_values`] for [`Numbers`], which may be in large pages.
    pub fn from_numbers(dim: usize, values: Numbers) -> Option<Self> {
        let whole = if dim == 0 { values.is_empty() } else { values.len().is_multiple_of(dim) };
        whole.then_some(Self { dim, values })
    }

    /// Returns the number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.values.len().checked_div(self.dim).unwrap_or(0)
    }

    /// Returns `true` if there are no rows.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the number of features of a row.
    #[inline]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Returns the row at this index.
    #[inline]
    pub fn row(&self, place: usize) -> &[f32] {
        &self.values[place * self.dim..(place + 1) * self.dim]
    }

    /// Returns a function from indices to rows, for loops: it looks up the start of the values once.
    #[inline]
    pub fn by_place<'a>(&'a self) -> impl Fn(usize) -> &'a [f32] {
        let (dim, values) = (self.dim, self.values());
        move |place| &values[place * dim..(place + 1) * dim]
    }

    /// Returns all values, row by row.
    #[inline]
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// Converts into all values, row by row.
    pub fn into_values(self) -> Vec<f32> {
        self.values.into_vec()
    }

    /// Converts into all values without a copy.
    pub fn into_numbers(self) -> Numbers {
        self.values
    }

    /// Returns all values, mutable.
    pub fn values_mut(&mut self) -> &mut [f32] {
        &mut self.values
    }

    /// Appends a row.
    ///
    /// # Panics
    /// If its number of features is not `dim`.
    #[inline]
    pub fn push(&mut self, row: &[f32]) {
        assert_eq!(row.len(), self.dim, "a row has as many features as the others");
        self.values.extend_from_slice(row);
    }

    /// Reserves space for this many more rows.
    pub fn reserve(&mut self, rows: usize) {
        self.values.reserve(rows * self.dim);
    }
}

impl SparseRows {
    /// Makes an empty set of rows.
    pub fn new(dim: usize) -> Self {
        Self { dim, starts: vec![0], index: Numbers::new(), value: Numbers::new() }
    }

    /// Returns the number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns `true` if there are no rows.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of features of a row.
    #[inline]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Raises the number of features, for files that give it only at their end.
    pub fn widen(&mut self, dim: usize) {
        self.dim = self.dim.max(dim);
    }

    /// Returns the row at this index.
    #[inline]
    pub fn row(&self, place: usize) -> Sparse<'_> {
        self.from(0).row(place)
    }

    /// Returns a function from indices to rows, for loops: it looks up the start of the values once.
    #[inline]
    pub fn by_place<'a>(&'a self) -> impl Fn(usize) -> Sparse<'a> {
        let rows = self.from(0);
        move |place| rows.row(place)
    }

    /// Returns the rows from this index on.
    #[inline]
    pub fn from(&self, first: usize) -> SparsePart<'_> {
        SparsePart { starts: &self.starts[first..], index: &self.index, value: &self.value }
    }

    /// Returns all indices, and all values, mutable.
    pub fn entries_mut(&mut self) -> (&[u32], &mut [f32]) {
        (&self.index, &mut self.value)
    }

    /// Appends a row of slots, which need not be sorted; set the dimension afterwards.
    #[inline]
    pub fn push_slots(&mut self, row: Sparse<'_>) {
        self.index.extend_from_slice(row.index);
        self.value.extend_from_slice(row.value);
        self.starts.push(self.index.len());
    }

    /// Appends a row.
    ///
    /// # Panics
    /// If indices are not strictly increasing, reach the dimension, or differ in number from the values.
    #[inline]
    pub fn push(&mut self, row: Sparse<'_>) {
        assert_eq!(row.index.len(), row.value.len(), "an index for every value");
        assert!(rise(row.index), "indices rise");
        assert!(row.index.last().is_none_or(|last| (*last as usize) < self.dim), "indices stay below the dimension");
        self.index.extend_from_slice(row.index);
        self.value.extend_from_slice(row.value);
        self.starts.push(self.index.len());
    }
}

impl<'a> SparsePart<'a> {
    /// Returns the row at this index.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "in the loop to the next query a call for every row costs a twentieth")]
    pub fn row(self, place: usize) -> Sparse<'a> {
        let (start, end) = (self.starts[place], self.starts[place + 1]);
        Sparse { index: &self.index[start..end], value: &self.value[start..end] }
    }

    /// Returns the row at this index, or `None` after the last.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "as above")]
    pub fn get(self, place: usize) -> Option<Sparse<'a>> {
        (place + 1 < self.starts.len()).then(|| self.row(place))
    }

    /// Prefetches the features that are `numbers` entries after the start of a row, as many as the row has.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "as above")]
    pub fn fetch_behind(self, place: usize, numbers: usize) {
        let (start, end) = (self.starts[place], self.starts[place + 1]);
        let mut at = start + numbers;
        while at < end + numbers {
            prefetch_index(self.index, at);
            prefetch_index(self.value, at);
            at += LINE;
        }
    }
}
