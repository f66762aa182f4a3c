//! Notifications of a stream while it is read: the features of its rows, and the fraction of the file that was read.

mod common;

use querist_data::{Batch, Input, RowStream};
use querist_rows::Rows;

#[test]
fn features_are_reported_as_they_are_read() {
    let indexed = |row: usize| format!("{}:1 {}:0.5", row % 7, 100 + row * 31 % 50);
    for (name, bar) in [("a.svm", ""), ("a.vw", "| ")] {
        let line = |row: usize| format!("{} {bar}{}\n", row % 2, indexed(row));
        let text: String = (0..50).map(line).collect();
        let (_folder, input) = common::file(name, text.as_bytes());
        let mut stream = RowStream::open(&input, &common::plain()).unwrap();
        let (mut batch, mut rows, mut reported) = (Batch::default(), 0, vec![]);
        while 0 < stream.next_with(16, &mut batch, &mut |features| reported.push(features.to_vec())).unwrap() {
            let Rows::Sparse(block) = &batch.rows else { panic!("{name} has sparse rows") };
            let indices: Vec<Vec<u32>> = (0..block.len()).map(|row| block.row(row).index.to_vec()).collect();
            assert_eq!(reported[rows..], indices, "{name}");
            rows = reported.len();
        }
        assert_eq!(rows, 50, "{name}");
    }
    let (_folder, input) = common::file("a.csv", b"x,label\n1,a\n2,b\n");
    let mut stream = RowStream::open(&input, &common::plain()).unwrap();
    assert_eq!(stream.next_with(9, &mut Batch::default(), &mut |_| panic!("it has columns")).unwrap(), 2);
}

/// The fraction is of bytes, and blocks of them are read ahead.
#[test]
fn the_fraction_of_a_file_that_was_read_is_known() {
    let line = |row: usize| format!("{row}.5,some words to fill a line of row {row},{}\n", row % 2);
    let text = format!("x,body,label\n{}", (0..20_000).map(line).collect::<String>());
    let mut packed = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, text.as_bytes()).unwrap();
    for (name, bytes) in [("a.csv", text.clone().into_bytes()), ("a.csv.gz", packed.finish().unwrap())] {
        let (_folder, input) = common::file(name, &bytes);
        let mut stream = RowStream::open(&input, &common::plain()).unwrap();
        let (mut batch, mut rows, mut before) = (Batch::default(), 0, 0.0);
        loop {
            let read = stream.next(1000, &mut batch).unwrap();
            let share = stream.share().unwrap();
            assert!(before <= share && share <= 1.0, "{name}: {share} after {before}");
            let ahead = 65_536.0 / bytes.len() as f64;
            assert!((share - rows as f64 / 20_000.0).abs() < 0.1 + ahead, "{name}: {share} after {rows} rows");
            if read == 0 {
                break;
            }
            (rows, before) = (rows + read, share);
        }
        assert_eq!((rows, stream.share()), (20_000, Some(1.0)), "{name}");
    }
    let input = Input::Bytes { name: "rows".to_owned(), bytes: text.into_bytes().into() };
    assert_eq!(RowStream::open(&input, &common::plain()).unwrap().share(), None);
}
