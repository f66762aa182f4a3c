//! Model files: writing a file that was read gives the same bytes, and an accepted model can be used.

use querist_data::{ReadOptions, load_with};
use querist_ledger::{ModelFile, ModelVersion};
use querist_run::Model;
use sha2::{Digest, Sha256};

use super::loading::input;

/// The rows on which a model is tested.
const ROWS: &[u8] = b"id,x,z,text,color,label\n1,0.5,2,a word,red,no\n2,-1,3,two words,blue,yes\n";

/// Checks one input: as a file, or as the content of a file with a correct length and checksum.
///
/// # Panics
///
/// If a property is violated.
pub fn run(data: &[u8]) {
    let Some((mode, content)) = data.split_first() else { return };
    match mode % 3 {
        0 => file(content),
        1 => file(&sealed(content)),
        _ => stored(content),
    }
}

/// Returns a file with the first line, the correct length, these bytes, and the correct checksum.
fn sealed(content: &[u8]) -> Vec<u8> {
    let length = 16 + 8 + content.len() + 32;
    let mut bytes = b"querist model 1\n".to_vec();
    bytes.extend((length as u64).to_le_bytes());
    bytes.extend(content);
    let checksum = Sha256::digest(&bytes);
    bytes.extend_from_slice(&checksum);
    bytes
}

fn file(bytes: &[u8]) {
    match ModelFile::from_bytes(bytes) {
        Ok(file) => {
            assert_eq!(file.to_bytes(), bytes, "a model file written again");
            model(&file);
        }
        Err(fault) => assert!(!fault.to_string().is_empty(), "a fault without a reason"),
    }
}

/// Checks a model file made of a line of numbers and a header. The numbers become all arrays that models read.
fn stored(content: &[u8]) {
    let Ok(text) = std::str::from_utf8(content) else { return };
    let (numbers, header) = text.split_once('\n').unwrap_or(("", text));
    let numbers: Vec<f64> = numbers.split(' ').filter_map(|number| number.parse().ok()).collect();
    let arrays = ["mean", "theta", "alpha"].map(|name| (name.to_owned(), numbers.clone())).to_vec();
    let file = ModelFile { version: ModelVersion::OfKinds, header: header.to_owned(), arrays };
    let read = ModelFile::from_bytes(&file.to_bytes()).expect("a file that was just written");
    assert_eq!(read.to_bytes(), file.to_bytes(), "a model file read again");
    model(&file);
}

/// Checks that an accepted model reads rows, or gives a reason why it cannot, and scores them.
fn model(file: &ModelFile) {
    let mut model = match Model::new(&file.header, &file.arrays) {
        Ok(model) => model,
        Err(reason) => {
            assert!(!reason.to_string().is_empty(), "a rejected model without a reason");
            return;
        }
    };
    let Some(encoder) = &model.encoder else { return };
    let options = ReadOptions { unlabeled: true, ..ReadOptions::default() };
    if let Ok((batch, _)) = load_with(encoder, &input(ROWS), &options) {
        let mut scores = vec![];
        model.scorer.widen(batch.rows.dim());
        model.scorer.scores_of_rows(&batch.rows, &mut scores);
        assert_eq!(scores.len(), batch.rows.len() * model.scorer.outputs(), "a score for each row and output");
    }
    let _ = model.pool_rule(None);
}
