//! The decoded cells of one column of a chunk.

use std::sync::Arc;

use arrow_array::{
    Array, BinaryArray, BinaryViewArray, FixedSizeBinaryArray, LargeBinaryArray, LargeStringArray, StringArray,
    StringViewArray,
};
use arrow_buffer::NullBuffer;

use crate::source::Cell;

/// The cells of a column.
#[derive(Clone, Debug)]
pub(super) enum Values {
    /// Cells that are not needed.
    Absent,
    /// Decoded cells, with a mask of nulls.
    Present(Data, Option<NullBuffer>),
}

/// The data of the cells.
#[derive(Clone, Debug)]
pub(super) enum Data {
    /// All cells are missing.
    Missing,
    Integer(Vec<i64>),
    Unsigned(Vec<u64>),
    Number(Vec<f64>),
    Boolean(Vec<bool>),
    Text(StringArray),
    LargeText(LargeStringArray),
    TextView(StringViewArray),
    Bytes(BinaryArray),
    LargeBytes(LargeBinaryArray),
    BytesView(BinaryViewArray),
    FixedBytes(FixedSizeBinaryArray),
    /// Texts formatted while reading, such as dates.
    Made(Vec<String>),
    /// Byte strings copied while reading.
    Strings(Vec<Vec<u8>>),
    /// Indices into a dictionary.
    Coded(Vec<usize>, Arc<Values>),
    /// Vectors of varying length: the start of each and the end of the last one.
    Lists(Vec<usize>, Vec<f32>),
    /// Vectors of equal length.
    Rows(usize, Vec<f32>),
}

impl Values {
    /// Returns the cell of this row; `None` if the column is not needed.
    pub(super) fn cell(&self, row: usize) -> Option<Cell<'_>> {
        match self {
            Values::Absent => None,
            Values::Present(_, Some(nulls)) if nulls.is_null(row) => Some(Cell::Missing),
            Values::Present(data, _) => Some(data.cell(row)),
        }
    }
}

impl Data {
    fn cell(&self, row: usize) -> Cell<'_> {
        match self {
            Data::Missing => Cell::Missing,
            Data::Integer(values) => Cell::Integer(values[row]),
            Data::Unsigned(values) => i64::try_from(values[row]).map_or(Cell::Unsigned(values[row]), Cell::Integer),
            Data::Number(values) => Cell::Number(values[row]),
            Data::Boolean(values) => Cell::Boolean(values[row]),
            Data::Text(values) => Cell::Text(values.value(row)),
            Data::LargeText(values) => Cell::Text(values.value(row)),
            Data::TextView(values) => Cell::Text(values.value(row)),
            Data::Bytes(values) => Cell::Bytes(values.value(row)),
            Data::LargeBytes(values) => Cell::Bytes(values.value(row)),
            Data::BytesView(values) => Cell::Bytes(values.value(row)),
            Data::FixedBytes(values) => Cell::Bytes(values.value(row)),
            Data::Made(values) => Cell::Text(&values[row]),
            Data::Strings(values) => Cell::Bytes(&values[row]),
            Data::Coded(codes, words) => words.cell(codes[row]).unwrap_or(Cell::Missing),
            Data::Lists(starts, values) => Cell::Vector(&values[starts[row]..starts[row + 1]]),
            Data::Rows(dim, values) => Cell::Vector(&values[row * dim..(row + 1) * dim]),
        }
    }

    /// Returns the number of cells, if it is known.
    pub(super) fn len(&self) -> Option<usize> {
        Some(match self {
            Data::Missing => return None,
            Data::Integer(values) => values.len(),
            Data::Unsigned(values) => values.len(),
            Data::Number(values) => values.len(),
            Data::Boolean(values) => values.len(),
            Data::Text(values) => values.len(),
            Data::LargeText(values) => values.len(),
            Data::TextView(values) => values.len(),
            Data::Bytes(values) => values.len(),
            Data::LargeBytes(values) => values.len(),
            Data::BytesView(values) => values.len(),
            Data::FixedBytes(values) => values.len(),
            Data::Made(values) => values.len(),
            Data::Strings(values) => values.len(),
            Data::Coded(codes, _) => codes.len(),
            Data::Lists(starts, _) => starts.len().saturating_sub(1),
            Data::Rows(dim, values) => values.len().checked_div(*dim)?,
        })
    }
}
