//! npy and npz: every type in both byte orders, every shape that is rejected.

use std::io::Cursor;
use std::path::Path;

use querist_data::columnar::{CHUNK, npy};
use querist_data::error::DataError;
use querist_data::source::{ColumnKind, Source};
use querist_data::{Input, ReadOptions, load_shown};

use crate::support::{Record, made, open, open_and_read, read, stored};

/// Returns an array in version 1 of the format.
fn array(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

fn opened(bytes: &[u8], len: Option<u64>) -> Result<Box<dyn Source + Send>, DataError> {
    npy::open(Box::new(Cursor::new(bytes.to_vec())), len, "x.npy")
}

/// Reads all records; they must not depend on whether the length is known.
fn records(bytes: &[u8]) -> Vec<Record> {
    let known = read(&mut *opened(bytes, Some(bytes.len() as u64)).unwrap(), &[2]).unwrap();
    assert_eq!(read(&mut *opened(bytes, None).unwrap(), &[100]).unwrap(), known);
    known
}

/// A row of the table of types.
type Row = (&'static str, &'static [&'static [u8]], [&'static str; 2], &'static str);

/// Type, two values of it in big-endian bytes, and their cells: alone and as a vector.
const TYPES: &[Row] = &[
    ("f2", &[&[0x2e, 0x66], &[0xfb, 0xff]], ["Number(0.0999755859375)", "Number(-65504.0)"], "[0.099975586, -65504.0]"),
    ("f4", &[&[0x3f, 0xc0, 0, 0], &[0xff, 0x80, 0, 0]], ["Number(1.5)", "Number(-inf)"], "[1.5, -inf]"),
    (
        "f8",
        &[&[0x3f, 0xf8, 0, 0, 0, 0, 0, 0], &[0xc0, 0, 0, 0, 0, 0, 0, 1]],
        ["Number(1.5)", "Number(-2.0000000000000004)"],
        "[1.5, -2.0]",
    ),
    ("i1", &[&[0x80], &[0x7f]], ["Integer(-128)", "Integer(127)"], "[-128.0, 127.0]"),
    ("i2", &[&[0x80, 0], &[1, 2]], ["Integer(-32768)", "Integer(258)"], "[-32768.0, 258.0]"),
    ("i4", &[&[0xff, 0xff, 0xff, 0xfe], &[0, 0, 1, 2]], ["Integer(-2)", "Integer(258)"], "[-2.0, 258.0]"),
    (
        "i8",
        &[&[0x80, 0, 0, 0, 0, 0, 0, 0], &[0, 0, 0, 0, 0, 0, 1, 2]],
        ["Integer(-9223372036854775808)", "Integer(258)"],
        "[-9.223372e18, 258.0]",
    ),
    ("u1", &[&[0xff], &[0]], ["Integer(255)", "Integer(0)"], "[255.0, 0.0]"),
    ("u2", &[&[0xff, 0xff], &[1, 2]], ["Integer(65535)", "Integer(258)"], "[65535.0, 258.0]"),
    (
        "u4",
        &[&[0xff, 0xff, 0xff, 0xff], &[0, 0, 1, 2]],
        ["Integer(4294967295)", "Integer(258)"],
        "[4294967300.0, 258.0]",
    ),
    (
        "u8",
        &[&[0x80, 0, 0, 0, 0, 0, 0, 0], &[0, 0, 0, 0, 0, 0, 1, 2]],
        ["Unsigned(9223372036854775808)", "Integer(258)"],
        "[9.223372e18, 258.0]",
    ),
    ("b1", &[&[1], &[0]], ["Boolean(true)", "Boolean(false)"], "[1.0, 0.0]"),
];

#[test]
fn every_type_is_read_in_both_byte_orders() {
    for (name, values, cells, vector) in TYPES {
        for order in ["<", ">"] {
            let mut data = Vec::new();
            for value in *values {
                let mut value = value.to_vec();
                if order == "<" {
                    value.reverse();
                }
                data.extend(value);
            }
            let descr = format!("{order}{name}");
            let line = records(&array(&descr, "2,", &data));
            assert_eq!(line, cells.map(|cell| vec![(0, cell.to_owned())]), "{descr}");
            let table = records(&array(&descr, "1, 2", &data));
            assert_eq!(table, [[(0, format!("Vector({vector})"))]], "{descr}");
        }
    }
}

#[test]
fn trailing_zeros_of_texts_are_removed() {
    let cell = |text: &str| vec![(0, text.to_owned())];
    let data = [0x61, 0, 0, 0, 0xe9, 0, 0, 0, 0x62, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(records(&array("<U2", "2,", &data)), [cell("Text(\"aé\")"), cell("Text(\"b\")")]);
    assert_eq!(records(&array("|S3", "2,", b"ab\0abc")), [cell("Bytes([97, 98])"), cell("Bytes([97, 98, 99])")]);
}

#[test]
fn rows_are_read_in_order_for_any_limits() {
    let n_rows = 2 * CHUNK + 3;
    let data: Vec<u8> = (0..n_rows * 3).flat_map(|index| (index as f32).to_le_bytes()).collect();
    let path = made("many.npy");
    std::fs::write(&path, array("<f4", &format!("{n_rows}, 3"), &data)).unwrap();
    let row = |row: usize| {
        let row: Vec<f32> = (0..3).map(|index| (3 * row + index) as f32).collect();
        vec![(0, format!("Vector({row:?})"))]
    };
    let expected: Vec<Record> = (0..n_rows).map(row).collect();
    for limits in [&[usize::MAX][..], &[1], &[CHUNK], &[0, 10000, 3]] {
        assert!(read(&mut *open(&path).unwrap(), limits).unwrap() == expected, "{limits:?}");
    }
}

#[test]
fn arrays_without_rows_are_accepted() {
    assert_eq!(records(&array("<f4", "0,", b"")), Vec::<Record>::new());
    assert_eq!(records(&array("<f4", "0, 5", b"")), Vec::<Record>::new());
}

#[test]
fn a_shape_that_does_not_match_the_bytes_is_rejected() {
    // Shape, number of bytes after the header, part of the reason with and without a known length.
    let table = [
        ("2,", 7, "7 bytes follow the header; expected 8", "1 rows too early"),
        ("2,", 9, "9 bytes follow the header; expected 8", "bytes follow the last of 2 rows"),
        ("1152921504606846976,", 8, "8 bytes follow", "1152921504606846974 rows too early"),
        ("1, 4294967295", 8, "8 bytes follow", "1 rows too early"),
        ("9223372036854775807,", 8, "larger than any file", "larger than any file"),
        ("9223372036854775807, 8", 8, "larger than any file", "larger than any file"),
        ("3, 4294967296", 8, "shape (3, 4294967296)", "shape (3, 4294967296)"),
        ("-2,", 8, "shape (-2,)", "shape (-2,)"),
    ];
    for (shape, len, known, unknown) in table {
        let bytes = array("<f4", shape, &vec![0; len]);
        for (len, reason) in [(Some(bytes.len() as u64), known), (None, unknown)] {
            let error = opened(&bytes, len).and_then(|mut source| read(&mut *source, &[5])).unwrap_err().to_string();
            assert!(error.starts_with("x.npy") && error.contains(reason), "{shape}: {error}");
        }
    }
}

#[test]
fn a_header_of_more_than_64_kb_is_rejected_before_it_is_read() {
    let error = opened(b"\x93NUMPY\x02\x00\xff\xff\xff\xff", None).err().unwrap().to_string();
    assert!(error.contains("header of 4294967295 bytes"), "{error}");
}

#[test]
fn arrays_of_equal_length_are_named_columns() {
    for file in ["plain.npz", "packed.npz"] {
        let source = open(&stored(file)).unwrap();
        let columns: Vec<_> = source.columns().iter().map(|column| (column.name.as_str(), column.kind)).collect();
        let kinds = [
            ("X", ColumnKind::Vector(Some(3))),
            ("y", ColumnKind::Number),
            ("w", ColumnKind::Number),
            ("words", ColumnKind::Text),
        ];
        assert_eq!(columns, kinds, "{file}");
        let records = open_and_read(&stored(file)).unwrap();
        let expected = [
            ["Vector([0.0, 0.125, 0.25])", "Integer(1)", "Number(0.5)", "Text(\"ham\")"],
            ["Vector([0.375, 0.5, 0.625])", "Integer(-1)", "Number(1.0)", "Text(\"spam\")"],
            ["Vector([0.75, 0.875, 1.0])", "Integer(1)", "Number(2.0)", "Text(\"\")"],
            ["Vector([1.125, 1.25, 1.375])", "Integer(1)", "Number(4.0)", "Text(\"é\")"],
        ];
        let expected = expected.map(|cells| cells.map(str::to_owned).into_iter().enumerate().collect::<Record>());
        assert_eq!(records, expected, "{file}");
        let mut source = open(&stored(file)).unwrap();
        source.select(&[false, true, false, false]);
        assert_eq!(read(&mut *source, &[3]).unwrap()[1], [(1, "Integer(-1)".to_owned())]);
    }
}

#[test]
fn arrays_of_different_lengths_are_reported() {
    let error = open(&stored("lengths.npz")).err().unwrap().to_string();
    assert!(error.contains("`X` has 4 rows, `y` has 2"), "{error}");
}

#[test]
fn an_array_of_objects_is_reported_unless_it_is_deselected() {
    let error = open_and_read(&stored("objects.npz")).unwrap_err().to_string();
    assert!(error.contains("array `names`") && error.contains("Python objects"), "{error}");
    let mut source = open(&stored("objects.npz")).unwrap();
    source.select(&[true, false]);
    assert_eq!(read(&mut *source, &[3]).unwrap().len(), 4);
}

#[test]
fn column_major_tables_are_read_by_rows() {
    let n_rows = CHUNK + 5;
    let header = |fortran: &str| {
        let bytes = array("<f4", &format!("{n_rows}, 3"), b"");
        let index = bytes.windows(5).position(|word| word == b"False").unwrap();
        [&bytes[..index], fortran.as_bytes(), &bytes[index + 5..]].concat()
    };
    let by_rows: Vec<u8> = (0..n_rows * 3).flat_map(|index| (index as f32).to_le_bytes()).collect();
    let by_columns: Vec<u8> =
        (0..n_rows * 3).flat_map(|index| ((index % n_rows * 3 + index / n_rows) as f32).to_le_bytes()).collect();
    let table = |fortran: &str, data: &[u8]| [header(fortran), data.to_vec()].concat();
    assert_eq!(records(&table("True ", &by_columns)), records(&table("False", &by_rows)));
    let cut = table("True ", &by_columns[4..]);
    let error = read(&mut *opened(&cut, None).unwrap(), &[5]).unwrap_err().to_string();
    assert!(error.contains("the table has less bytes than its shape"), "{error}");
}

#[test]
fn arrays_that_cannot_be_read_are_not_shown() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/arrays-complex-and-more.npz");
    let options = ReadOptions { label: Some("y".to_owned()), ..ReadOptions::default() };
    let (loaded, cells) = load_shown(&Input::File(path), &options, &[]).unwrap();
    assert_eq!(cells.names(), ["z", "y"]);
    assert_eq!((cells.len(), loaded.batch.rows.len()), (2, 2));
    assert_eq!(cells.row(1).collect::<Vec<_>>(), ["2.5", "1"]);
}
