//! Missing cells with a feature of their own: the same in every way of reading, and stored with the encoder.

use std::fs;
use std::path::Path;

use querist_data::{Batch, Encoder, Input, Missing, ReadOptions, RowStream, load, load_with};
use querist_rows::kernel::KernelSettings;
use querist_rows::{Row, Rows};

const TABLE: &str = "id,a,b,kind,size,label\n\
    r1,1,10,red,s,yes\nr2,,20,blue,m,no\nr3,3,30,,s,yes\nr4,2,40,red,m,no\n";

fn input(folder: &Path, name: &str, text: &str) -> Input {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    Input::File(path)
}

fn options() -> ReadOptions {
    ReadOptions { missing: Missing::Indicator, standardize: false, ..ReadOptions::default() }
}

fn dense(rows: &Rows) -> Vec<Vec<f32>> {
    let values = |row: usize| match rows.row(row) {
        Row::Dense(values) => values.to_vec(),
        Row::Sparse(_) => panic!("dense rows"),
    };
    (0..rows.len()).map(values).collect()
}

#[test]
fn columns_with_missing_cells_have_a_feature_for_them() {
    let folder = tempfile::tempdir().unwrap();
    let loaded = load(&input(folder.path(), "table.csv", TABLE), &options()).unwrap();
    // a, b; blue, red; m, s; a is missing, kind is missing.
    let expected = [
        vec![1.0, 10.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0],
        vec![2.0, 20.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0],
        vec![3.0, 30.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0],
        vec![2.0, 40.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0],
    ];
    assert_eq!(dense(&loaded.batch.rows), expected);
    assert!(loaded.encoder.describe().contains("with missing cells: 2 of them"), "{}", loaded.encoder.describe());
}

#[test]
fn new_categories_share_the_feature_of_missing_ones() {
    let folder = tempfile::tempdir().unwrap();
    let loaded = load(&input(folder.path(), "table.csv", TABLE), &options()).unwrap();
    let new = "id,a,b,kind,size,label\nr9,,,green,xl,yes\n";
    let (batch, _) = load_with(&loaded.encoder, &input(folder.path(), "new.csv", new), &options()).unwrap();
    // No fitted row lacks b or size, so their missing and new cells have no feature.
    assert_eq!(dense(&batch.rows), [vec![2.0, 25.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0]]);
}

#[test]
fn the_encoder_survives_json_and_encodes_blocks_alike() {
    let folder = tempfile::tempdir().unwrap();
    let input = input(folder.path(), "table.csv", TABLE);
    for kernel in [None, Some(KernelSettings { landmarks: 3, width: 1.0 })] {
        let options = ReadOptions { kernel, ..options() };
        let loaded = load(&input, &options).unwrap();
        let json = loaded.encoder.to_json();
        assert!(json.contains("\"version\":3"), "older programs cannot read it");
        let encoder = Encoder::from_json(&json).unwrap();
        assert_eq!(encoder, loaded.encoder);
        let (mut stream, mut batch, mut rows) =
            (RowStream::with(encoder, &input, &options).unwrap(), Batch::default(), 0);
        while 0 < stream.next(3, &mut batch).unwrap() {
            for row in 0..batch.rows.len() {
                assert_eq!(batch.rows.row(row), loaded.batch.rows.row(rows + row));
            }
            rows += batch.rows.len();
        }
        assert_eq!(rows, 4);
    }
}

#[test]
fn hashed_text_follows_the_features_of_missing_cells() {
    let folder = tempfile::tempdir().unwrap();
    let text = "id,a,text,label\nr1,1,some words of a text,yes\nr2,,other words in another text,no\n";
    let options = ReadOptions { text: vec!["text".to_owned()], hash_bits: 4, ..options() };
    let loaded = load(&input(folder.path(), "text.csv", text), &options).unwrap();
    assert_eq!(loaded.encoder.dim(), 2 + 16);
    let Row::Sparse(second) = loaded.batch.rows.row(1) else { panic!("sparse rows") };
    assert_eq!((second.index[..2].to_vec(), second.value[1]), (vec![0, 1], 1.0));
    assert!(second.index.is_sorted_by(|one, next| one < next));
}

#[test]
fn files_without_missing_cells_are_encoded_as_ever() {
    let folder = tempfile::tempdir().unwrap();
    let input = input(folder.path(), "whole.csv", "id,a,kind,label\nr1,1,red,yes\nr2,2,blue,no\n");
    let [with, without] =
        [options(), ReadOptions { missing: Missing::Mean, ..options() }].map(|options| load(&input, &options).unwrap());
    assert_eq!(with.batch.rows, without.batch.rows);
    assert!(with.encoder.to_json().contains("\"version\":1"));
}

#[test]
fn encoders_with_impossible_positions_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let json = load(&input(folder.path(), "table.csv", TABLE), &options()).unwrap().encoder.to_json();
    assert!(json.contains("\"indicators\":[0,2]"), "{json}");
    for positions in ["[0,9]", "[2,0]", "[0]"] {
        let edited = json.replace("\"indicators\":[0,2]", &format!("\"indicators\":{positions}"));
        assert!(Encoder::from_json(&edited).is_err(), "{positions}");
    }
}
