//! Conversion of Arrow arrays to cells.

use std::fmt::Display;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::temporal_conversions::as_datetime;
use arrow_array::types::{
    ArrowPrimitiveType, ArrowTemporalType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type,
    Decimal256Type, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{Array, ArrayRef, OffsetSizeTrait, PrimitiveArray};
use arrow_schema::{DataType, Field, TimeUnit};

use super::pages::MOST_VALUES;
use super::values::{ColumnData, Values};
use super::{ListedColumn, fault};
use crate::error::DataFault;
use crate::source::ColumnKind;

/// Returns a field as a column.
pub(super) fn listed(field: &Field) -> ListedColumn {
    let kind = kind(field.data_type()).ok_or_else(|| refusal(field.name(), field.data_type()));
    ListedColumn { name: field.name().clone(), kind }
}

fn refusal(name: &str, data_type: &DataType) -> DataFault {
    fault(
        format!("column `{name}` holds values of type {data_type}"),
        "numbers, booleans, texts, dates, or lists of numbers",
        "remove the column, or write its parts as separate columns",
    )
}

/// Returns the kind of a type; `None` if its cells cannot be read.
fn kind(data_type: &DataType) -> Option<ColumnKind> {
    use DataType as T;
    Some(match data_type {
        T::Null | T::Binary | T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_) => ColumnKind::Any,
        T::Boolean => ColumnKind::Boolean,
        T::Utf8 | T::LargeUtf8 | T::Utf8View => ColumnKind::Text,
        T::Date32 | T::Date64 | T::Time32(_) | T::Time64(_) | T::Timestamp(_, _) => ColumnKind::Text,
        T::Decimal32(_, _) | T::Decimal64(_, _) | T::Decimal128(_, _) | T::Decimal256(_, _) => ColumnKind::Number,
        number if is_plain_number(number) => ColumnKind::Number,
        T::List(item) | T::LargeList(item) if is_plain_number(item.data_type()) => ColumnKind::Vector(None),
        T::FixedSizeList(item, dim) if is_plain_number(item.data_type()) => {
            // Memory for a list of fixed length is allocated even if it is null.
            let dim = u64::try_from(*dim).ok().filter(|dim| *dim <= MOST_VALUES)?;
            ColumnKind::Vector(Some(dim as usize))
        }
        T::Dictionary(_, word) if !matches!(**word, T::Dictionary(_, _)) => match kind(word)? {
            ColumnKind::Vector(_) => return None,
            kind => kind,
        },
        _ => return None,
    })
}

fn is_plain_number(data_type: &DataType) -> bool {
    data_type.is_integer() || data_type.is_floating()
}

/// The last dictionary, decoded once for all chunks that share it.
pub(super) type Words = Option<(ArrayRef, Arc<Values>)>;

/// Converts an array of a type that `listed` accepts to cells.
pub(super) fn values(array: &ArrayRef, words: &mut Words) -> Result<Values, String> {
    if *array.data_type() == DataType::Null {
        return Ok(Values::Present(ColumnData::Missing, None));
    }
    let data = match array.data_type() {
        DataType::Dictionary(_, _) => coded(array, words)?,
        DataType::List(_) => lists::<i32>(array)?,
        DataType::LargeList(_) => lists::<i64>(array)?,
        DataType::FixedSizeList(_, dim) => {
            let dim = usize::try_from(*dim).map_err(|_| format!("lists of {dim} values"))?;
            ColumnData::Rows(dim, vector(array.as_fixed_size_list().values())?)
        }
        _ => simple(array)?,
    };
    // Vectors of length 0 have no values to count.
    if data.len().is_some_and(|len| len != array.len()) {
        return Err(format!("{} rows hold {} cells", array.len(), data.len().unwrap_or(0)));
    }
    Ok(Values::Present(data, array.nulls().cloned()))
}

fn simple(array: &ArrayRef) -> Result<ColumnData, String> {
    use DataType as T;
    Ok(match array.data_type() {
        T::Boolean => ColumnData::Boolean(array.as_boolean().values().iter().collect()),
        T::Int8 => ColumnData::Integer(each::<Int8Type, _>(array)),
        T::Int16 => ColumnData::Integer(each::<Int16Type, _>(array)),
        T::Int32 => ColumnData::Integer(each::<Int32Type, _>(array)),
        T::Int64 => ColumnData::Integer(each::<Int64Type, _>(array)),
        T::UInt8 => ColumnData::Integer(each::<UInt8Type, _>(array)),
        T::UInt16 => ColumnData::Integer(each::<UInt16Type, _>(array)),
        T::UInt32 => ColumnData::Integer(each::<UInt32Type, _>(array)),
        T::UInt64 => ColumnData::Unsigned(each::<UInt64Type, _>(array)),
        T::Float16 => ColumnData::Number(each::<Float16Type, _>(array)),
        T::Float32 => ColumnData::Number(each::<Float32Type, _>(array)),
        T::Float64 => ColumnData::Number(each::<Float64Type, _>(array)),
        T::Decimal32(_, scale) => ColumnData::Number(decimals::<Decimal32Type>(array, *scale)),
        T::Decimal64(_, scale) => ColumnData::Number(decimals::<Decimal64Type>(array, *scale)),
        T::Decimal128(_, scale) => ColumnData::Number(decimals::<Decimal128Type>(array, *scale)),
        T::Decimal256(_, scale) => ColumnData::Number(decimals::<Decimal256Type>(array, *scale)),
        T::Utf8 => ColumnData::Text(array.as_string().clone()),
        T::LargeUtf8 => ColumnData::LargeText(array.as_string().clone()),
        T::Utf8View => ColumnData::TextView(array.as_string_view().clone()),
        T::Binary => ColumnData::Bytes(array.as_binary().clone()),
        T::LargeBinary => ColumnData::LargeBytes(array.as_binary().clone()),
        T::BinaryView => ColumnData::BytesView(array.as_binary_view().clone()),
        T::FixedSizeBinary(_) => ColumnData::FixedBytes(array.as_fixed_size_binary().clone()),
        T::Date32 => ColumnData::Made(dates::<Date32Type>(array)),
        T::Date64 => ColumnData::Made(dates::<Date64Type>(array)),
        T::Time32(TimeUnit::Second) => ColumnData::Made(times::<Time32SecondType>(array)),
        T::Time32(TimeUnit::Millisecond) => ColumnData::Made(times::<Time32MillisecondType>(array)),
        T::Time64(TimeUnit::Microsecond) => ColumnData::Made(times::<Time64MicrosecondType>(array)),
        T::Time64(TimeUnit::Nanosecond) => ColumnData::Made(times::<Time64NanosecondType>(array)),
        T::Timestamp(unit, zone) => {
            let mark = if zone.is_some() { "Z" } else { "" };
            ColumnData::Made(match unit {
                TimeUnit::Second => instants::<TimestampSecondType>(array, mark),
                TimeUnit::Millisecond => instants::<TimestampMillisecondType>(array, mark),
                TimeUnit::Microsecond => instants::<TimestampMicrosecondType>(array, mark),
                TimeUnit::Nanosecond => instants::<TimestampNanosecondType>(array, mark),
            })
        }
        other => return Err(format!("type {other} cannot be read as cells")),
    })
}

fn each<T: ArrowPrimitiveType, V: From<T::Native>>(array: &ArrayRef) -> Vec<V> {
    array.as_primitive::<T>().values().iter().map(|value| V::from(*value)).collect()
}

fn decimals<T: ArrowPrimitiveType>(array: &ArrayRef, scale: i8) -> Vec<f64>
where
    T::Native: Display,
{
    // Parsing the digits gives the nearest f64 for a decimal of any width.
    let nearest = |value: &T::Native| format!("{value}e{}", -i32::from(scale)).parse().unwrap_or(f64::NAN);
    array.as_primitive::<T>().values().iter().map(nearest).collect()
}

/// Formats temporal values as text; values outside the calendar become numbers.
fn formatted<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    text: impl Fn(&PrimitiveArray<T>, usize) -> Option<String>,
) -> Vec<String>
where
    T::Native: Display,
{
    let array = array.as_primitive::<T>();
    let cell = |row| text(array, row).unwrap_or_else(|| array.value(row).to_string());
    (0..array.len()).map(cell).collect()
}

fn dates<T: ArrowTemporalType>(array: &ArrayRef) -> Vec<String>
where
    T::Native: Display,
    i64: From<T::Native>,
{
    formatted::<T>(array, |array, row| Some(array.value_as_date(row)?.to_string()))
}

fn times<T: ArrowTemporalType>(array: &ArrayRef) -> Vec<String>
where
    T::Native: Display,
    i64: From<T::Native>,
{
    formatted::<T>(array, |array, row| Some(array.value_as_time(row)?.to_string()))
}

fn instants<T: ArrowTemporalType<Native = i64>>(array: &ArrayRef, mark: &str) -> Vec<String> {
    // Only the `Debug` format puts the `T` of ISO 8601 between date and time.
    formatted::<T>(array, |array, row| Some(format!("{:?}{mark}", as_datetime::<T>(array.value(row))?)))
}

fn coded(array: &ArrayRef, words: &mut Words) -> Result<ColumnData, String> {
    let dictionary = array.as_any_dictionary();
    let entries = dictionary.values();
    let decoded = match words {
        Some((seen, decoded)) if Arc::ptr_eq(seen, entries) => Arc::clone(decoded),
        _ => {
            let decoded = Arc::new(Values::Present(simple(entries)?, entries.nulls().cloned()));
            *words = Some((Arc::clone(entries), Arc::clone(&decoded)));
            decoded
        }
    };
    let keys = dictionary.keys();
    let code = |row: usize, key: Option<usize>| match key {
        _ if keys.is_null(row) => Ok(0),
        Some(key) if key < entries.len() => Ok(key),
        _ => Err(format!("an index is outside a dictionary of {} words", entries.len())),
    };
    let codes: Result<Vec<usize>, String> = match simple(&arrow_array::make_array(keys.to_data()))? {
        ColumnData::Integer(keys) => {
            keys.iter().enumerate().map(|(row, key)| code(row, usize::try_from(*key).ok())).collect()
        }
        ColumnData::Unsigned(keys) => {
            keys.iter().enumerate().map(|(row, key)| code(row, usize::try_from(*key).ok())).collect()
        }
        _ => Err("the indices of a dictionary are not integers".to_owned()),
    };
    Ok(ColumnData::Coded(codes?, decoded))
}

fn lists<O: OffsetSizeTrait>(array: &ArrayRef) -> Result<ColumnData, String> {
    let list = array.as_list::<O>();
    let offsets = list.value_offsets();
    let first = offsets[0].as_usize();
    let starts: Vec<usize> = offsets.iter().map(|offset| offset.as_usize() - first).collect();
    let n_values = starts.last().copied().unwrap_or(0);
    Ok(ColumnData::Lists(starts, vector(&list.values().slice(first, n_values))?))
}

/// Converts numbers to features; null becomes NaN, which the sink rejects.
fn vector(array: &ArrayRef) -> Result<Vec<f32>, String> {
    let mut values: Vec<f32> = match array.data_type() {
        DataType::Float16 => each::<Float16Type, _>(array),
        DataType::Float32 => array.as_primitive::<Float32Type>().values().to_vec(),
        _ => match simple(array)? {
            ColumnData::Integer(values) => values.into_iter().map(|value| value as f32).collect(),
            ColumnData::Unsigned(values) => values.into_iter().map(|value| value as f32).collect(),
            ColumnData::Number(values) => values.into_iter().map(|value| value as f32).collect(),
            _ => return Err(format!("type {} cannot be read as vectors", array.data_type())),
        },
    };
    if let Some(nulls) = array.nulls() {
        for (value, valid) in values.iter_mut().zip(nulls.iter()) {
            if !valid {
                *value = f32::NAN;
            }
        }
    }
    Ok(values)
}
