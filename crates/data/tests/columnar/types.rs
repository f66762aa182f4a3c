//! The values of every type, as written by another program.

use querist_data::source::ColumnKind;

use crate::support::{open, open_and_read, stored};

/// Column, kind, first and second cell; the third is null.
const TYPES: &[(&str, ColumnKind, &str, &str)] = &[
    ("i8", ColumnKind::Number, "Integer(-128)", "Integer(127)"),
    ("i16", ColumnKind::Number, "Integer(-32768)", "Integer(32767)"),
    ("i32", ColumnKind::Number, "Integer(-2147483648)", "Integer(2147483647)"),
    ("i64", ColumnKind::Number, "Integer(-9223372036854775808)", "Integer(9223372036854775807)"),
    ("u8", ColumnKind::Number, "Integer(0)", "Integer(255)"),
    ("u16", ColumnKind::Number, "Integer(0)", "Integer(65535)"),
    ("u32", ColumnKind::Number, "Integer(0)", "Integer(4294967295)"),
    ("u64", ColumnKind::Number, "Integer(9223372036854775807)", "Unsigned(9223372036854775808)"),
    ("f16", ColumnKind::Number, "Number(0.0999755859375)", "Number(-65504.0)"),
    ("f32", ColumnKind::Number, "Number(0.10000000149011612)", "Number(inf)"),
    ("f64", ColumnKind::Number, "Number(0.1)", "Number(-1e300)"),
    ("flag", ColumnKind::Boolean, "Boolean(true)", "Boolean(false)"),
    ("text", ColumnKind::Text, "Text(\"\")", "Text(\"zwölf\")"),
    ("large", ColumnKind::Text, "Text(\"a\")", "Text(\"bbbbbbbbbbbbbbbbbbbb\")"),
    ("view", ColumnKind::Text, "Text(\"short\")", "Text(\"longer than twelve bytes\")"),
    ("word", ColumnKind::Text, "Text(\"spam\")", "Text(\"ham\")"),
    ("code", ColumnKind::Number, "Integer(7)", "Integer(5)"),
    ("dim3", ColumnKind::Vector(Some(3)), "Vector([1.0, 2.0, 3.0])", "Vector([4.0, 5.0, NaN])"),
    ("list", ColumnKind::Vector(None), "Vector([0.1])", "Vector([])"),
    ("ints", ColumnKind::Vector(None), "Vector([1.0, 2.0])", "Vector([-3.0])"),
    ("cents", ColumnKind::Number, "Number(1.2345678901234568e16)", "Number(-0.001)"),
    ("wide", ColumnKind::Number, "Number(1e40)", "Number(-2.5)"),
    ("date", ColumnKind::Text, "Text(\"1969-12-31\")", "Text(\"2024-02-29\")"),
    ("when", ColumnKind::Text, "Text(\"2024-02-29T01:02:03.004\")", "Text(\"0001-01-01T00:00:00\")"),
    ("zone", ColumnKind::Text, "Text(\"2024-07-01T12:00:00Z\")", "Text(\"2024-07-01T13:00:00Z\")"),
    ("time", ColumnKind::Text, "Text(\"23:59:58\")", "Text(\"00:00:00.000005\")"),
    ("raw", ColumnKind::Any, "Bytes([255, 0])", "Bytes([])"),
    ("none", ColumnKind::Any, "Missing", "Missing"),
];

const FILES: &[&str] = &[
    "types-none.parquet",
    "types-snappy.parquet",
    "types-zstd.parquet",
    "types-gzip.parquet",
    "types-lz4.parquet",
    "types-v2.parquet",
    "types-uncompressed.arrow",
    "types-zstd.arrow",
    "types-lz4.arrow",
    "types.arrows",
];

#[test]
fn every_value_of_every_type_is_read_with_every_codec() {
    for file in FILES {
        let source = open(&stored(file)).unwrap();
        let columns: Vec<_> = source.columns().iter().map(|column| (column.name.as_str(), column.kind)).collect();
        let expected: Vec<_> = TYPES.iter().map(|(name, kind, _, _)| (*name, *kind)).collect();
        assert_eq!(columns, expected, "{file}");
        let records = open_and_read(&stored(file)).unwrap();
        assert_eq!(records.len(), 3, "{file}");
        for (column, (name, _, first, second)) in TYPES.iter().enumerate() {
            for (record, cell) in records.iter().zip([*first, second, "Missing"]) {
                assert_eq!(record[column], (column, cell.to_owned()), "{file}, {name}");
            }
        }
    }
}

#[test]
fn a_column_that_cannot_be_a_feature_is_reported_unless_it_is_deselected() {
    for file in ["nested.parquet", "nested.arrow"] {
        let error = open_and_read(&stored(file)).unwrap_err().to_string();
        assert!(error.contains("column `deep`") && error.contains("Struct"), "{error}");
        let mut source = open(&stored(file)).unwrap();
        let kinds: Vec<_> = source.columns().iter().map(|column| column.kind).collect();
        assert_eq!(kinds, [ColumnKind::Number, ColumnKind::Any, ColumnKind::Any, ColumnKind::Boolean]);
        source.select(&[true, false, true, true]);
        let error = crate::support::read(&mut *source, &[9]).unwrap_err().to_string();
        assert!(error.contains("column `words`"), "{error}");
        source.select(&[true, false, false, true]);
        let records = crate::support::read(&mut *source, &[9]).unwrap();
        let cell = |column: usize, text: &str| (column, text.to_owned());
        assert_eq!(records[0], [cell(0, "Integer(1)"), cell(3, "Boolean(true)")]);
        assert_eq!(records[1], [cell(0, "Integer(2)"), cell(3, "Boolean(false)")]);
    }
}
