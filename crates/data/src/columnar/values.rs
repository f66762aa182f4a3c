//! The decoded cells of one column of a chunk.

use std::sync::Arc;

use arrow_array::{
    Array, BinaryArray, BinaryViewArray, FixedSizeBinaryArray, LargeBinaryArray, LargeStringArray, StringArray,
    StringViewArray,
};
use arrow_buffer::NullBuffer;

use crate::source::CellValue;

/// The cells of a column.
#[derive(Clone, Debug)]
pub(super) enum Values {
    /// Cells that are not needed.
    Absent,
    /// Decoded cells, with a mask of nulls.
    Present(ColumnData, Option<NullBuffer>),
}

/// The data of the cells.
#[derive(Clone, Debug)]
pub(super) enum ColumnData {
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
    pub(super) fn cell(&self, row: usize) -> Option<CellValue<'_>> {
        match self {
            Values::Absent => None,
            Values::Present(_, Some(nulls)) if nulls.is_null(row) => Some(CellValue::Missing),
            Values::Present(data, _) => Some(data.cell(row)),
        }
    }
}

impl ColumnData {
    fn cell(&self, row: usize) -> CellValue<'_> {
        match self {
            ColumnData::Missing => CellValue::Missing,
            ColumnData::Integer(values) => CellValue::Integer(values[row]),
            ColumnData::Unsigned(values) => {
                i64::try_from(values[row]).map_or(CellValue::Unsigned(values[row]), CellValue::Integer)
            }
            ColumnData::Number(values) => CellValue::Number(values[row]),
            ColumnData::Boolean(values) => CellValue::Boolean(values[row]),
            ColumnData::Text(values) => CellValue::Text(values.value(row)),
            ColumnData::LargeText(values) => CellValue::Text(values.value(row)),
            ColumnData::TextView(values) => CellValue::Text(values.value(row)),
            ColumnData::Bytes(values) => CellValue::Bytes(values.value(row)),
            ColumnData::LargeBytes(values) => CellValue::Bytes(values.value(row)),
            ColumnData::BytesView(values) => CellValue::Bytes(values.value(row)),
            ColumnData::FixedBytes(values) => CellValue::Bytes(values.value(row)),
            ColumnData::Made(values) => CellValue::Text(&values[row]),
            ColumnData::Strings(values) => CellValue::Bytes(&values[row]),
            ColumnData::Coded(codes, words) => words.cell(codes[row]).unwrap_or(CellValue::Missing),
            ColumnData::Lists(starts, values) => CellValue::Vector(&values[starts[row]..starts[row + 1]]),
            ColumnData::Rows(dim, values) => CellValue::Vector(&values[row * dim..(row + 1) * dim]),
        }
    }

    /// Returns the number of cells, if it is known.
    pub(super) fn len(&self) -> Option<usize> {
        Some(match self {
            ColumnData::Missing => return None,
            ColumnData::Integer(values) => values.len(),
            ColumnData::Unsigned(values) => values.len(),
            ColumnData::Number(values) => values.len(),
            ColumnData::Boolean(values) => values.len(),
            ColumnData::Text(values) => values.len(),
            ColumnData::LargeText(values) => values.len(),
            ColumnData::TextView(values) => values.len(),
            ColumnData::Bytes(values) => values.len(),
            ColumnData::LargeBytes(values) => values.len(),
            ColumnData::BytesView(values) => values.len(),
            ColumnData::FixedBytes(values) => values.len(),
            ColumnData::Made(values) => values.len(),
            ColumnData::Strings(values) => values.len(),
            ColumnData::Coded(codes, _) => codes.len(),
            ColumnData::Lists(starts, _) => starts.len().saturating_sub(1),
            ColumnData::Rows(dim, values) => values.len().checked_div(*dim)?,
        })
    }
}
