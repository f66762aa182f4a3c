//! Kernel features of rows: the same in every way of reading, stored with the encoder, and only for dense rows.

use std::fs;
use std::path::Path;

use querist_data::{Batch, Encoder, Input, ReadOptions, RowStream, load, load_with};
use querist_rows::Rows;
use querist_rows::kernel::{KernelMap, KernelSettings};

/// Writes numbers, a category and a label, and returns the path.
fn table(folder: &Path) -> Input {
    let mut text = "id,a,b,kind,label\n".to_owned();
    for row in 0..400 {
        let t = f64::from(row);
        let kind = ["red", "green", "blue"][row as usize % 3];
        let label = if (t * 0.7).sin() < 0.0 { "no" } else { "yes" };
        text.push_str(&format!("r{row},{},{},{kind},{label}\n", (t * 0.7).sin(), 3.0 + (t * 0.31).cos()));
    }
    let path = folder.join("table.csv");
    fs::write(&path, text).unwrap();
    Input::File(path)
}

fn options(landmarks: usize) -> ReadOptions {
    ReadOptions { kernel: Some(KernelSettings { landmarks, width: 1.0 }), ..ReadOptions::default() }
}

#[test]
fn kernel_features_follow_the_encoded_columns() {
    let folder = tempfile::tempdir().unwrap();
    let input = table(folder.path());
    let [plain, wide] = [ReadOptions::default(), options(40)].map(|options| load(&input, &options).unwrap());
    assert_eq!((plain.encoder.dim(), wide.encoder.dim(), wide.encoder.kernel_features()), (5, 45, 40));
    assert!(wide.encoder.describe().contains("kernel: 40 landmarks"), "{}", wide.encoder.describe());
    let (Rows::Dense(base), Rows::Dense(extended)) = (&plain.batch.rows, &wide.batch.rows) else {
        panic!("dense rows")
    };
    // The map of all rows: fewer than the sample from which landmarks are chosen.
    let expected = KernelMap::fit(base, KernelSettings { landmarks: 40, width: 1.0 }).prepare().extend(base);
    assert_eq!(extended, &expected);
}

#[test]
fn an_encoder_with_kernel_features_survives_json_and_encodes_blocks_alike() {
    let folder = tempfile::tempdir().unwrap();
    let input = table(folder.path());
    let options = options(25);
    let loaded = load(&input, &options).unwrap();
    let json = loaded.encoder.to_json();
    assert!(json.contains("\"version\":2"), "older programs cannot read it");
    let encoder = Encoder::from_json(&json).unwrap();
    assert_eq!(encoder, loaded.encoder);
    assert_eq!(load_with(&encoder, &input, &options).unwrap().0.rows, loaded.batch.rows);
    let (mut stream, mut batch, mut rows) = (RowStream::with(encoder, &input, &options).unwrap(), Batch::default(), 0);
    while 0 < stream.next(7, &mut batch).unwrap() {
        for row in 0..batch.rows.len() {
            assert_eq!(batch.rows.row(row), loaded.batch.rows.row(rows + row));
        }
        rows += batch.rows.len();
    }
    assert_eq!(rows, 400);
    let edited = json.replacen("\"width\":1.0", "\"width\":0.0", 1);
    assert!(edited != json && Encoder::from_json(&edited).is_err());
    assert!(Encoder::from_json(&json.replacen("\"version\":2", "\"version\":1", 1)).is_err());
}

#[test]
fn a_stream_takes_landmarks_from_its_warm_up() {
    let folder = tempfile::tempdir().unwrap();
    let input = table(folder.path());
    let options = ReadOptions { warm_up: 60, ..options(300) };
    let mut stream = RowStream::open(&input, &options).unwrap();
    assert_eq!(stream.encoder().kernel_features(), 30, "half of the rows");
    let mut batch = Batch::default();
    assert_eq!(stream.next(1000, &mut batch).unwrap(), 400);
    assert_eq!(batch.rows.dim(), 35);
}

#[test]
fn texts_have_no_kernel_features() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("texts.csv");
    fs::write(&path, "id,body,label\n1,hello there my friend,a\n2,good bye to all of you,b\n").unwrap();
    let options = ReadOptions { text: vec!["body".to_owned()], ..options(10) };
    let error = load(&Input::File(path), &options).unwrap_err().to_string();
    assert!(error.contains("numbers, categories or vectors") && error.contains("--model linear"), "{error}");
}
