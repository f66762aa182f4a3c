//! Limits, row groups, selected columns and bad rows have no effect beyond the intended one.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::types::Float32Type;
use arrow_array::{Array, FixedSizeListArray, Int64Array, ListArray, RecordBatch, StringArray};
use arrow_schema::{Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use querist_data::columnar::CHUNK;
use querist_data::source::{BadRows, ColumnKind};

use crate::support::{Notes, Record, made, open, open_and_read, read, stored};

/// Returns rows with a number, a text, a vector of 300 and a list of varying length; every seventh cell is missing.
fn rows(first: usize, n_rows: usize) -> RecordBatch {
    let rows = first..first + n_rows;
    let some = |row: usize, shift: usize| !(row + shift).is_multiple_of(7);
    let id: Int64Array = rows.clone().map(|row| some(row, 0).then(|| i64::try_from(row).unwrap())).collect();
    let text: StringArray = rows.clone().map(|row| some(row, 1).then(|| format!("row {row}"))).collect();
    let fixed = rows.clone().map(|row| some(row, 2).then(|| (0..300).map(move |index| Some((row * index) as f32))));
    let fixed = FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(fixed, 300);
    let list = rows.map(|row| some(row, 3).then(|| (0..row % 5).map(move |index| Some(index as f32))));
    let list = ListArray::from_iter_primitive::<Float32Type, _, _>(list);
    let field = |name: &str, array: &dyn Array| Field::new(name, array.data_type().clone(), true);
    let fields = vec![field("id", &id), field("text", &text), field("fixed", &fixed), field("list", &list)];
    RecordBatch::try_new(
        Arc::new(Schema::new(fields)),
        vec![Arc::new(id), Arc::new(text), Arc::new(fixed), Arc::new(list)],
    )
    .unwrap()
}

fn expected(rows: std::ops::Range<usize>) -> Vec<Record> {
    let cell = |row: usize, shift: usize, text: String| {
        let missing = (row + shift).is_multiple_of(7);
        (shift, if missing { "Missing".to_owned() } else { text })
    };
    let record = |row: usize| {
        let fixed: Vec<f32> = (0..300).map(|index| (row * index) as f32).collect();
        let list: Vec<f32> = (0..row % 5).map(|index| index as f32).collect();
        vec![
            cell(row, 0, format!("Integer({row})")),
            cell(row, 1, format!("Text(\"row {row}\")")),
            cell(row, 2, format!("Vector({fixed:?})")),
            cell(row, 3, format!("Vector({list:?})")),
        ]
    };
    rows.map(record).collect()
}

/// Writes batches of these sizes as Parquet, one row group each, and as Arrow file and stream.
fn files(name: &str, sizes: &[usize]) -> [PathBuf; 3] {
    let paths = ["parquet", "arrow", "arrows"].map(|ending| made(&format!("{name}.{ending}")));
    let file = |index: usize| File::create(&paths[index]).unwrap();
    let schema = rows(0, 0).schema();
    let most = Some(sizes.iter().sum::<usize>() + 1);
    let properties = WriterProperties::builder().set_max_row_group_row_count(most).build();
    let mut parquet = ArrowWriter::try_new(file(0), Arc::clone(&schema), Some(properties)).unwrap();
    let mut arrow = arrow_ipc::writer::FileWriter::try_new(file(1), &schema).unwrap();
    let mut stream = arrow_ipc::writer::StreamWriter::try_new(file(2), &schema).unwrap();
    let mut first = 0;
    for size in sizes {
        let batch = rows(first, *size);
        parquet.write(&batch).unwrap();
        parquet.flush().unwrap();
        arrow.write(&batch).unwrap();
        stream.write(&batch).unwrap();
        first += size;
    }
    parquet.close().unwrap();
    arrow.finish().unwrap();
    stream.finish().unwrap();
    paths
}

#[test]
fn limits_of_any_size_give_the_same_cells() {
    let sizes = [1, 0, CHUNK + 5, 30];
    let expected = expected(0..sizes.iter().sum());
    for path in files("portions", &sizes) {
        for limits in [&[usize::MAX][..], &[1], &[7], &[3, 1, 5000, 2], &[CHUNK], &[expected.len()], &[0, 4000]] {
            let records = read(&mut *open(&path).unwrap(), limits).unwrap();
            assert!(records == expected, "{}, {limits:?}", path.display());
        }
    }
}

#[test]
fn formats_that_know_their_row_count_report_the_fraction_read() {
    let [parquet, arrow, _] = files("share", &[30, 0, 10]);
    for path in [parquet, stored("table.npy"), stored("plain.npz")] {
        let mut source = open(&path).unwrap();
        let all = open_and_read(&path).unwrap().len();
        for row in 1..=all {
            assert_eq!(source.read(1, &mut Notes::default(), &mut BadRows::default()).unwrap(), 1);
            assert_eq!(source.share(), Some(row as f64 / all as f64), "{}", path.display());
        }
    }
    assert_eq!(open(&arrow).unwrap().share(), None);
}

#[test]
fn files_without_rows_are_accepted() {
    for sizes in [&[][..], &[0], &[0, 0]] {
        for path in files("empty", sizes) {
            let source = open(&path).unwrap();
            assert_eq!(source.columns()[2].kind, ColumnKind::Vector(Some(300)));
            assert_eq!(open_and_read(&path).unwrap(), Vec::<Record>::new(), "{}", path.display());
        }
    }
}

#[test]
fn only_selected_columns_are_read_and_rows_count_without_any() {
    for path in files("chosen", &[40, 2]) {
        for chosen in [[false, true, false, true], [true, false, false, false], [false; 4]] {
            let mut source = open(&path).unwrap();
            source.select(&chosen);
            let mut expected = expected(0..42);
            for record in &mut expected {
                record.retain(|(column, _)| chosen[*column]);
            }
            assert!(read(&mut *source, &[10]).unwrap() == expected, "{}, {chosen:?}", path.display());
        }
    }
}

#[test]
fn a_row_that_the_sink_rejects_is_skipped_with_its_location() {
    for path in files("refused", &[4, 6]) {
        let refused = Some("Text(\"row 5\")".to_owned());
        let mut notes = Notes { refused: refused.clone(), ..Notes::default() };
        let mut bad = BadRows { skip: true, ..BadRows::default() };
        let mut source = open(&path).unwrap();
        assert_eq!(source.read(5, &mut notes, &mut bad).unwrap(), 5);
        assert_eq!(source.read(5, &mut notes, &mut bad).unwrap(), 4);
        let mut expected = expected(0..10);
        expected.remove(5);
        assert!(notes.records == expected, "{}", path.display());
        assert_eq!((bad.skipped, bad.examples.len()), (1, 1));
        let position = bad.examples[0].position.clone().unwrap();
        assert_eq!((position.line, position.row, position.column.as_deref()), (None, 6, Some("text")));

        let mut notes = Notes { refused, ..Notes::default() };
        let error = open(&path).unwrap().read(9, &mut notes, &mut BadRows::default()).unwrap_err();
        assert_eq!(error.position, Some(position));
        assert_eq!(notes.records.len(), 5);
    }
}
