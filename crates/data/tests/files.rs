//! Inputs that cannot be kept as test files: long lines, folders, pipes, unreadable files.

mod common;

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use querist_data::format::{FORMATS, FormatOpener, OpenContext};
use querist_data::source::{CellValue, Sink};
use querist_data::{
    BadRows, Batch, BatchIds, DataFault, Input, ReadOptions, RowStream, TableLocation, load, load_with,
};
use querist_rows::Features;

fn outcome(input: &Input, options: &ReadOptions) -> String {
    load(input, options).map_or_else(|error| error.fault.found, |loaded| loaded.encoder.describe())
}

#[test]
fn a_line_of_seventy_megabytes_is_rejected_and_one_of_sixty_is_read() {
    let line = |length: usize| format!("text,x,label\n{},1,a\nshort,2,b\n", "word ".repeat(length / 5));
    let (_folder, input) = common::file("long.csv", line(70_000_000).as_bytes());
    assert_eq!(outcome(&input, &common::plain()), "a line of more than 64 MB");
    let options = ReadOptions { ignore: vec!["text".to_owned()], ..common::plain() };
    let (_folder, input) = common::file("long.csv", line(60_000_000).as_bytes());
    assert_eq!(outcome(&input, &options), "label: label (a, b) · numbers: x · ignored: text");
}

#[test]
fn all_features_of_a_line_of_a_hundred_thousand_are_read() {
    let line = |start: &str| {
        let pairs: Vec<String> = (1..100_000).map(|j| format!("{j}:0.1234")).collect();
        format!("{start} {}\n", pairs.join(" "))
    };
    for (name, starts) in [("long.svm", ["0", "1"]), ("long.vw", ["0 |", "1 |"])] {
        let text: String = starts.map(line).concat();
        assert!(2 << 20 < text.len());
        let (_folder, input) = common::file(name, text.as_bytes());
        let loaded = load(&input, &ReadOptions { hash_bits: 18, ..common::plain() }).unwrap();
        assert_eq!(loaded.batch.rows.row(1).numbers(), 99_999, "{name}");
    }
}

#[test]
fn an_unclosed_quote_is_reported_within_the_maximum_line_length() {
    let text = format!("c,label\n\"open,a\n{}", "more,b\n".repeat(11_000_000));
    let (_folder, input) = common::file("open.csv", text.as_bytes());
    let found = outcome(&input, &common::plain());
    assert!(found.starts_with("a line of more than 64 MB") || found.contains("not closed within 64 MB"), "{found}");
}

#[test]
fn folders_and_missing_files_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let of = |path: PathBuf| outcome(&Input::File(path), &common::plain());
    assert_eq!(of(folder.path().to_path_buf()), "a folder");
    for ending in ["csv", "jsonl", "svm", "vw", "parquet", "arrow", "npy", "npz"] {
        assert_eq!(of(folder.path().join(format!("absent.{ending}"))), "the file does not exist", "{ending}");
        let inner = folder.path().join(format!("inner.{ending}"));
        fs::create_dir(&inner).unwrap();
        assert_eq!(of(inner), "a folder", "{ending}");
    }
    assert_eq!(of(folder.path().join("x".repeat(300))), "cannot be opened: File name too long (os error 36)");
}

#[cfg(unix)]
#[test]
fn unreadable_files_are_reported() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let (folder, input) = common::file("closed.csv", b"x,label\n1,a\n2,b\n");
    let path = folder.path().join("closed.csv");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    // The superuser can read everything.
    let expected =
        if File::open(&path).is_ok() { "label: label (a, b) · numbers: x" } else { "no permission to read it" };
    assert_eq!(outcome(&input, &common::plain()), expected);
    let link = folder.path().join("loop.csv");
    symlink(&link, &link).unwrap();
    let found = outcome(&Input::File(link), &common::plain());
    assert!(found.starts_with("cannot be opened: "), "{found}");
}

#[cfg(target_os = "linux")]
#[test]
fn an_endless_file_of_zeros_is_rejected() {
    assert_eq!(outcome(&Input::File("/dev/zero".into()), &common::plain()), "a NUL byte in the first line");
    assert_eq!(outcome(&Input::File("/dev/null".into()), &common::plain()), "an empty file");
}

#[test]
fn a_file_with_only_a_byte_order_mark_is_empty() {
    for no_header in [false, true] {
        let options = ReadOptions { table: TableLocation { no_header, sheet: None }, ..common::plain() };
        let (_folder, input) = common::file("mark.csv", b"\xef\xbb\xbf");
        assert_eq!(outcome(&input, &options), "an empty file", "no header: {no_header}");
    }
}

#[test]
fn a_fault_in_an_ignored_column_counts_with_a_fitted_encoder_too() {
    let lines = b"{\"x\": 1, \"label\": \"a\"}\n{\"x\": 2, \"label\": \"b\"}\n{\"x\": 3, \"label\": \"a\", \"note\": \"\\ud83d\"}\n";
    let (_folder, input) = common::file("rows.jsonl", lines);
    let options = ReadOptions { skip_bad_rows: true, ignore: vec!["note".to_owned()], ..common::plain() };
    let loaded = load(&input, &options).unwrap();
    let (batch, bad) = load_with(&loaded.encoder, &input, &options).unwrap();
    assert_eq!((loaded.batch.labels.len(), loaded.bad.skipped), (2, 1));
    assert_eq!((batch.labels.len(), bad.skipped), (2, 1));
}

/// A pipe that delivers one byte at a time.
struct Slow(&'static [u8]);

impl Read for Slow {
    fn read(&mut self, block: &mut [u8]) -> std::io::Result<usize> {
        let count = self.0.len().min(block.len()).min(1);
        self.0.read(&mut block[..count])
    }
}

#[test]
fn a_misplaced_byte_in_an_array_is_reported_the_same_from_a_slow_pipe() {
    let array = b"[{\"x\": 1}, {\"x\": 2}} and more";
    let table = TableLocation::default();
    let context = OpenContext { file: "input", ending: "json", columns: &[], hash_bits: 6, table: &table };
    let fault = |bytes: Box<dyn Read + Send>| {
        let Some(FormatOpener::Bytes(open)) =
            FORMATS.iter().find(|format| format.name == "json").map(|format| &format.open)
        else {
            panic!("JSON is read from bytes")
        };
        let mut source = open(bytes, &context).unwrap();
        source.read(usize::MAX, &mut Nowhere, &mut BadRows::default()).unwrap_err().fault
    };
    let whole = fault(Box::new(&array[..]));
    assert_eq!(whole.found, "\"} and more\"");
    assert_eq!(fault(Box::new(Slow(array))), whole);
}

/// A sink that ignores all cells.
struct Nowhere;

impl Sink for Nowhere {
    fn cell(&mut self, _column: usize, _cell: CellValue<'_>) -> Result<(), DataFault> {
        Ok(())
    }

    fn end(&mut self) -> Result<(), DataFault> {
        Ok(())
    }

    fn discard(&mut self) {}
}

#[test]
fn decompression_bombs_are_read_line_by_line() {
    // 200 MB of the same line compress to 200 kB; a stream holds one block of them.
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
    encoder.write_all(b"x,label\n1,a\n2,b\n").unwrap();
    let block = "1,a\n".repeat(250_000);
    (0..200).for_each(|_| encoder.write_all(block.as_bytes()).unwrap());
    let (_folder, input) = common::file("bomb.csv.gz", &encoder.finish().unwrap());
    let mut stream = RowStream::open(&input, &common::plain()).unwrap();
    assert_eq!(stream.skip(50_000_001).unwrap(), 50_000_001);
    let mut batch = Batch::default();
    assert_eq!(stream.next(5, &mut batch).unwrap(), 1);
    assert_eq!(batch.ids, BatchIds::Numbered { first: 50_000_002 });
}

#[test]
fn file_names_may_contain_any_characters() {
    for name in ["with space.csv", "with\nline.csv", "ünï.CSV", "no ending", "two.dots.csv.gz"] {
        let (_folder, input) = common::file(name, b"x,label\n1,a\n2,b\n");
        assert_eq!(outcome(&input, &common::plain()), "label: label (a, b) · numbers: x", "{name}");
    }
}

/// Creates a named pipe.
#[cfg(unix)]
fn pipe(folder: &Path) -> PathBuf {
    let path = folder.join("pipe");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

#[cfg(unix)]
#[test]
fn a_pipe_is_read_once_and_guessed_from() {
    for (text, expected) in [
        ("x,label\n1,a\n2,b\n", "label: label (a, b) · numbers: x"),
        ("{\"x\": 1, \"label\": \"a\"}\n{\"x\": 2, \"label\": \"b\"}\n", "label: label (a, b) · numbers: x"),
        ("1 1:2\n-1 3:4\n", "label: label (-1, 1) · features: 4 so far"),
        ("id|x|label\n1|2|a\n2|3|b\n", "separated by | · id: id · label: label (a, b) · numbers: x"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = pipe(folder.path());
        let target = path.clone();
        let writer = thread::spawn(move || fs::write(target, text).unwrap());
        assert_eq!(outcome(&Input::File(path), &common::plain()), expected);
        writer.join().unwrap();
    }
}

#[cfg(unix)]
#[test]
fn a_record_is_returned_before_the_next_one_arrives() {
    let (_folder, input) = common::file("fit.csv", b"x,label\n1,a\n2,b\n");
    let encoder = load(&input, &common::plain()).unwrap().encoder;
    let folder = tempfile::tempdir().unwrap();
    let path = pipe(folder.path());
    let (row_read, next_row) = std::sync::mpsc::channel::<()>();
    let target = path.clone();
    let writer = thread::spawn(move || {
        let mut pipe = OpenOptions::new().write(true).open(target).unwrap();
        pipe.write_all(b"x,label\n").unwrap();
        for line in ["5,a\n", "6,b\n", "7,a\n"] {
            pipe.write_all(line.as_bytes()).unwrap();
            // The next line is written only after this one was returned: waiting for two lines would block forever.
            next_row.recv().unwrap();
        }
    });
    let mut stream = RowStream::with(encoder, &Input::File(path), &common::plain()).unwrap();
    let mut batch = Batch::default();
    for first in 1..=3 {
        assert_eq!(stream.next(1, &mut batch).unwrap(), 1);
        assert_eq!(batch.ids, BatchIds::Numbered { first });
        row_read.send(()).unwrap();
    }
    assert_eq!(stream.next(1, &mut batch).unwrap(), 0);
    writer.join().unwrap();
}

#[test]
fn new_data_are_read_by_name() {
    let (_folder, input) = common::file("old.csv", b"id,x,color,y,label\nu,1,red,2,a\nv,3,blue,4,b\n");
    let encoder = load(&input, &common::plain()).unwrap().encoder;
    let read = |text: &[u8], words: &str| {
        let (_folder, input) = common::file("new.csv", text);
        load_with(&encoder, &input, &common::options(words)).map(|(batch, _)| batch).map_err(|error| error.to_string())
    };
    let batch = read(b"label,more,color,y,x,id\nb,9,green,4,3,w\n", "").unwrap();
    assert_eq!(batch.labels, [1.0]);
    assert_eq!(batch.ids, BatchIds::Named(vec!["w".to_owned()]));
    // A color that was not seen in fitting is unknown.
    assert_eq!(batch.rows.row(0), querist_rows::Row::Dense(&[3.0, 4.0, 0.0, 0.0]));
    let unlabeled = read(b"x,y,color\n1,2,red\n", "unlabeled").unwrap();
    assert!(unlabeled.labels[0].is_nan());
    assert_eq!(unlabeled.ids, BatchIds::Numbered { first: 1 });
    assert!(read(b"x,y,color\n1,2,red\n", "").unwrap_err().contains("no column `label`"));
    assert!(read(b"x,color,label\n1,red,a\n", "").unwrap_err().contains("no column `y`"));
    assert!(read(b"x,y,color,label\n1,2,red,c\n", "").unwrap_err().contains("expected one of \"a\", \"b\""));
}

#[test]
fn a_stream_fits_on_its_first_records() {
    let mut text = "x,label\n".to_owned();
    (0..50).for_each(|row| text.push_str(&format!("{row},{}\n", ["a", "b"][row % 2])));
    text.push_str("1000,c\n");
    let (_folder, input) = common::file("stream.csv", text.as_bytes());
    let options = ReadOptions { warm_up: 50, ..ReadOptions::default() };
    let mut stream = RowStream::open(&input, &options).unwrap();
    assert_eq!(stream.encoder().classes(), ["a", "b"]);
    let mut batch = Batch::default();
    assert_eq!(stream.next(50, &mut batch).unwrap(), 50);
    let error = stream.next(50, &mut batch).unwrap_err().to_string();
    assert!(
        error.ends_with(
            "expected one of \"a\", \"b\"\n  name all classes with --labels, or use --skip-bad-rows to skip other rows"
        ),
        "{error}"
    );
    let options = ReadOptions { skip_bad_rows: true, ..options };
    let mut stream = RowStream::open(&input, &options).unwrap();
    assert_eq!(stream.next(100, &mut batch).unwrap(), 50);
    assert_eq!(stream.bad().skipped, 1);
}

/// Returns the features of the last row of a stream that is fitted on all rows before it, and the remarks.
fn last_row(lines: &[&str], last: &str) -> (Vec<f32>, Vec<String>) {
    let text = format!("x,flag,label\n{}\n{last}\n", lines.join("\n"));
    let (_folder, input) = common::file("stream.csv", text.as_bytes());
    let mut stream = RowStream::open(&input, &ReadOptions { warm_up: lines.len(), ..ReadOptions::default() }).unwrap();
    let mut batch = Batch::default();
    assert_eq!(stream.next(100, &mut batch).unwrap(), lines.len() + 1);
    for row in 0..lines.len() {
        assert_eq!(dense(&batch, row)[1].to_bits(), 0, "nothing is learned from what does not change");
    }
    (dense(&batch, lines.len()), stream.encoder().remarks().to_vec())
}

fn dense(batch: &Batch, row: usize) -> Vec<f32> {
    match batch.rows.row(row) {
        querist_rows::Row::Dense(values) => values.to_vec(),
        querist_rows::Row::Sparse(_) => panic!("rows of numbers are dense"),
    }
}

#[test]
fn an_initially_constant_column_counts_once_it_changes() {
    let remark = "constant in the rows that numbers were scaled by: flag; such a column has no effect until it changes";
    let (row, remarks) = last_row(&["1,0,a", "3,0,b"], "3,1,a");
    assert_eq!((row, remarks), (vec![1.0, 1.0], vec![remark.to_owned()]));
    assert_eq!(last_row(&["1,200,a", "3,200,b"], "3,300,a").0, [1.0, 0.5]);
    assert_eq!(last_row(&["1,-200,a", "3,-200,b"], "3,0,a").0, [1.0, 1.0]);
    assert_eq!(last_row(&["1,1e-44,a", "3,1e-44,b"], "3,1,a").0, [1.0, 1.0]);
}

#[test]
fn an_extreme_number_is_remarked_on() {
    let (_folder, input) = common::file("far.csv", b"x,y,label\n1,5,a\n-5e19,6,b\n2,1e15,a\n");
    let remarks = load(&input, &ReadOptions::default()).unwrap().encoder.remarks().to_vec();
    assert_eq!(
        remarks,
        ["`x` holds -5e19, which scales the other numbers of the column to almost 0; remove such rows, or rescale \
             the column"]
    );
    assert!(load(&input, &common::plain()).unwrap().encoder.remarks().is_empty(), "nothing is scaled");
}

#[cfg(unix)]
#[test]
fn a_pipe_of_only_bad_rows_is_not_read_forever() {
    for words in ["", "skip"] {
        let folder = tempfile::tempdir().unwrap();
        let path = pipe(folder.path());
        let target = path.clone();
        let writer = thread::spawn(move || {
            let mut pipe = OpenOptions::new().write(true).open(target).unwrap();
            pipe.write_all(b"id,x,label\n").unwrap();
            let block = "1,2,3,4\n".repeat(1000);
            // Write until the reader closes the pipe.
            while pipe.write_all(block.as_bytes()).is_ok() {}
        });
        let error = RowStream::open(&Input::File(path), &common::options(words)).err().unwrap();
        assert_eq!((error.fault.found.as_str(), error.position.unwrap().line), ("4 cells", Some(2)), "{words}");
        writer.join().unwrap();
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_that_turns_bad_is_not_read_forever() {
    let folder = tempfile::tempdir().unwrap();
    let path = pipe(folder.path());
    let target = path.clone();
    let writer = thread::spawn(move || {
        let mut pipe = OpenOptions::new().write(true).open(target).unwrap();
        pipe.write_all(b"x,label\n1,a\n2,b\n").unwrap();
        let block = "1\n".repeat(1000);
        while pipe.write_all(block.as_bytes()).is_ok() {}
    });
    let error = RowStream::open(&Input::File(path), &common::options("skip")).err().unwrap().to_string();
    assert!(error.ends_with("all 1048576 rows before it were invalid too"), "{error}");
    writer.join().unwrap();
}

#[test]
fn a_row_with_an_extreme_number_is_reported_and_can_be_skipped() {
    for more in ["", ",red", ",some words that are a text of more than a few letters"] {
        let header = if more.is_empty() { "" } else { ",c" };
        let line = |row: usize, x: &str| format!("r{row},{x},{}{more}\n", ["a", "b"][row % 2]);
        let mut text = format!("id,x,label{header}\n");
        (0..20).for_each(|row| text.push_str(&line(row, &format!("{}e-31", row % 7))));
        (20..23).for_each(|row| text.push_str(&line(row, "3e30")));
        (23..25).for_each(|row| text.push_str(&line(row, "2e-31")));
        let (_folder, input) = common::file("far.csv", text.as_bytes());
        let options = ReadOptions { warm_up: 20, hash_bits: 6, ..ReadOptions::default() };
        let mut batch = Batch::default();
        let error = RowStream::open(&input, &options).unwrap().next(100, &mut batch).unwrap_err();
        assert!(error.to_string().contains("far.csv, row 21, column `x`: 3e30 is too far from"), "{error}");
        assert!(error.fault.hint.contains("--skip-bad-rows"), "{error}");
        for limit in [1, 2, 100] {
            let mut stream = RowStream::open(&input, &ReadOptions { skip_bad_rows: true, ..options.clone() }).unwrap();
            assert_eq!(stream.skip(5).unwrap(), 5);
            let (mut ids, mut labels) = (vec![], vec![]);
            while 0 < stream.next(limit, &mut batch).unwrap() {
                ids.extend((0..batch.rows.len()).map(|index| batch.ids.get(index)));
                labels.extend_from_slice(&batch.labels);
            }
            let kept: Vec<usize> = (5..20).chain(23..25).collect();
            assert_eq!(ids, kept.iter().map(|row| format!("r{row}")).collect::<Vec<_>>());
            assert_eq!(labels, kept.iter().map(|row| [-1.0, 1.0][row % 2]).collect::<Vec<_>>());
            assert_eq!(stream.bad().skipped, 3);
            let mut stream = RowStream::open(&input, &ReadOptions { skip_bad_rows: true, ..options.clone() }).unwrap();
            assert_eq!(stream.skip(21).unwrap(), 21);
            assert_eq!(stream.next(limit, &mut batch).unwrap(), 1);
            assert_eq!(batch.ids.get(0), "r24");
        }
    }
}

#[test]
fn late_keys_are_counted_and_can_be_named() {
    let mut text = String::new();
    (0..1001).for_each(|row| text.push_str(&format!("{{\"x\": {row}, \"label\": {}}}\n", row % 2)));
    text.push_str("{\"x\": 1, \"z\": 5, \"label\": 0}\n");
    let (_folder, input) = common::file("late.jsonl", text.as_bytes());
    let read = |words: &str| {
        let mut stream = RowStream::open(&input, &common::options(words)).unwrap();
        let mut batch = Batch::default();
        stream.next(10_000, &mut batch).unwrap();
        (dense(&batch, 1001), stream.passed_over())
    };
    assert_eq!(read(""), (vec![1.0], 1));
    assert_eq!(read("numbers=x,z zero"), (vec![1.0, 5.0], 0));
    let error = RowStream::open(&input, &common::options("numbers=x,z")).err().unwrap().to_string();
    assert!(error.contains("--numbers z: the column does not exist"), "{error}");
}

#[test]
fn a_huge_feature_index_does_not_create_a_huge_model() {
    let (_folder, input) = common::file("huge.svm", b"1 1:1\n-1 2:1\n1 268435455:1\n");
    let found = "feature 268435455, so that a model has 268435456 parameters";
    assert_eq!(outcome(&input, &common::plain()), found);
    let mut stream = RowStream::open(&input, &ReadOptions { warm_up: 2, ..common::plain() }).unwrap();
    assert_eq!(stream.next(10, &mut Batch::default()).unwrap_err().fault.found, found);
    let meant = ReadOptions { hash_bits: 28, ..common::plain() };
    assert_eq!(outcome(&input, &meant), "label: label (-1, 1) \u{b7} features: 268435456 so far");
    let (_folder, input) = common::file("wide.svm", b"1 1:1\n2 9999999:1\n3 9999999:1\n");
    assert_eq!(outcome(&input, &common::plain()), "label: label (1, 2, 3) \u{b7} features: 10000000 so far");
}
