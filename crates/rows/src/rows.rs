//! Features at rest: rows of `f32`, all dense or all sparse.

use prefetch_index::prefetch_index;

use crate::features::LINE;
use crate::numbers::Numbers;

/// Rows of features.
#[derive(Clone, Debug, PartialEq)]
pub enum Rows {
    /// Every feature of every row.
    Dense(DenseRows),
    /// The features that are not 0.
    Sparse(SparseRows),
}

/// Rows one after the other, `dim` values each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DenseRows {
    dim: usize,
    values: Numbers,
}

/// Compressed rows: indices and values of each row side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct SparseRows {
    dim: usize,
    /// Where each row begins, and where the last one ends.
    starts: Vec<usize>,
    index: Numbers<u32>,
    value: Numbers,
}

/// Sparse rows from some place on, found in memory once.
#[derive(Clone, Copy, Debug)]
pub struct SparsePart<'a> {
    starts: &'a [usize],
    index: &'a [u32],
    value: &'a [f32],
}

/// One row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Row<'a> {
    /// Every feature.
    Dense(&'a [f32]),
    /// The features that are not 0.
    Sparse(Sparse<'a>),
}

/// The features of a sparse row; indices rise and are below the dimension.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sparse<'a> {
    /// Which features.
    pub index: &'a [u32],
    /// Their values.
    pub value: &'a [f32],
}

impl Rows {
    /// How many rows.
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Rows::Dense(rows) => rows.len(),
            Rows::Sparse(rows) => rows.len(),
        }
    }

    /// No row at all.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many features a row has.
    #[inline]
    pub fn dim(&self) -> usize {
        match self {
            Rows::Dense(rows) => rows.dim,
            Rows::Sparse(rows) => rows.dim,
        }
    }

    /// The row at this place.
    #[inline]
    pub fn row(&self, place: usize) -> Row<'_> {
        match self {
            Rows::Dense(rows) => Row::Dense(rows.row(place)),
            Rows::Sparse(rows) => Row::Sparse(rows.row(place)),
        }
    }

    /// Forgets every row, keeps the room.
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
    /// The row as bytes, little-endian: 0 and the values, or 1, how many, the indices and the values.
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
    /// The one row these bytes are of, with at least this many features; `None` when they are of none.
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

    /// Rows of the same kind and dimension, none yet.
    pub fn empty_like(&self) -> Self {
        match self {
            Rows::Dense(rows) => Rows::Dense(DenseRows::new(rows.dim)),
            Rows::Sparse(rows) => Rows::Sparse(SparseRows::new(rows.dim)),
        }
    }

    /// Adds a row of the same kind.
    ///
    /// # Panics
    /// When it is of the other kind.
    pub fn push(&mut self, row: Row<'_>) {
        match (self, row) {
            (Rows::Dense(rows), Row::Dense(row)) => rows.push(row),
            (Rows::Sparse(rows), Row::Sparse(row)) => rows.push(row),
            _ => panic!("dense and sparse rows do not mix"),
        }
    }
}

/// Whether numbers of features rise. All are compared, which wide registers do at once; most do rise.
#[inline]
pub fn rise(index: &[u32]) -> bool {
    let mut rise = true;
    for [a, b] in index.array_windows() {
        rise &= a < b;
    }
    rise
}

impl DenseRows {
    /// No rows yet.
    pub fn new(dim: usize) -> Self {
        Self { dim, values: Numbers::new() }
    }

    /// Rows that are already one after the other; `None` when their number is not whole.
    pub fn from_values(dim: usize, values: Vec<f32>) -> Option<Self> {
        Self::from_numbers(dim, values.into())
    }

    /// The same of numbers, which may stand in large pages.
    pub fn from_numbers(dim: usize, values: Numbers) -> Option<Self> {
        let whole = if dim == 0 { values.is_empty() } else { values.len().is_multiple_of(dim) };
        whole.then_some(Self { dim, values })
    }

    /// How many rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.values.len().checked_div(self.dim).unwrap_or(0)
    }

    /// No row at all.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// How many features a row has.
    #[inline]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The row at this place.
    #[inline]
    pub fn row(&self, place: usize) -> &[f32] {
        &self.values[place * self.dim..(place + 1) * self.dim]
    }

    /// The rows by their places, for loops: where they begin is found once.
    #[inline]
    pub fn by_place<'a>(&'a self) -> impl Fn(usize) -> &'a [f32] {
        let (dim, values) = (self.dim, self.values());
        move |place| &values[place * dim..(place + 1) * dim]
    }

    /// All values, row by row.
    #[inline]
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// All values, row by row, to keep.
    pub fn into_values(self) -> Vec<f32> {
        self.values.into_vec()
    }

    /// The same, where they are.
    pub fn into_numbers(self) -> Numbers {
        self.values
    }

    /// All values, to be changed in place.
    pub fn values_mut(&mut self) -> &mut [f32] {
        &mut self.values
    }

    /// Adds a row.
    ///
    /// # Panics
    /// When it has another number of features.
    #[inline]
    pub fn push(&mut self, row: &[f32]) {
        assert_eq!(row.len(), self.dim, "a row has as many features as the others");
        self.values.extend_from_slice(row);
    }

    /// Room for this many more rows.
    pub fn reserve(&mut self, rows: usize) {
        self.values.reserve(rows * self.dim);
    }
}

impl SparseRows {
    /// No rows yet.
    pub fn new(dim: usize) -> Self {
        Self { dim, starts: vec![0], index: Numbers::new(), value: Numbers::new() }
    }

    /// How many rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// No row at all.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many features a row has.
    #[inline]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// More features than before, for files that say how many only at their end.
    pub fn widen(&mut self, dim: usize) {
        self.dim = self.dim.max(dim);
    }

    /// The row at this place.
    #[inline]
    pub fn row(&self, place: usize) -> Sparse<'_> {
        self.from(0).row(place)
    }

    /// The rows by their places, for loops: where they begin is found once.
    #[inline]
    pub fn by_place<'a>(&'a self) -> impl Fn(usize) -> Sparse<'a> {
        let rows = self.from(0);
        move |place| rows.row(place)
    }

    /// The rows from a place on.
    #[inline]
    pub fn from(&self, first: usize) -> SparsePart<'_> {
        SparsePart { starts: &self.starts[first..], index: &self.index, value: &self.value }
    }

    /// All indices and values, the values to be changed in place.
    pub fn entries_mut(&mut self) -> (&[u32], &mut [f32]) {
        (&self.index, &mut self.value)
    }

    /// Adds a row of slots, which need not rise; the dimension is set afterwards.
    #[inline]
    pub fn push_slots(&mut self, row: Sparse<'_>) {
        self.index.extend_from_slice(row.index);
        self.value.extend_from_slice(row.value);
        self.starts.push(self.index.len());
    }

    /// Adds a row.
    ///
    /// # Panics
    /// When indices do not rise, reach the dimension, or are not as many as the values.
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
    /// From a place on, counted from its first row.
    #[inline]
    pub fn from(self, first: usize) -> Self {
        Self { starts: &self.starts[first..], ..self }
    }

    /// The row at this place.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "in the loop to the next ask a call for every row costs a twentieth")]
    pub fn row(self, place: usize) -> Sparse<'a> {
        let (start, end) = (self.starts[place], self.starts[place + 1]);
        Sparse { index: &self.index[start..end], value: &self.value[start..end] }
    }

    /// The same, where there is one.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "as above")]
    pub fn get(self, place: usize) -> Option<Sparse<'a>> {
        (place + 1 < self.starts.len()).then(|| self.row(place))
    }

    /// Asks memory for the features that are so many numbers behind the beginning of a row, as many as the row has.
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
