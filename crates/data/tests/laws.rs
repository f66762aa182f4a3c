//! Properties of reading: values survive a round trip, blocks and streams change nothing, and no input causes a panic.

mod common;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use querist_data::{
    Batch, BatchIds, Encoder, Format, Input, Missing, ReadOptions, RequiredLabels, RowStream, load, load_with,
};
use querist_rows::{Row, Rows};

/// Configures the same cases on every machine, and no file of failures beside the sources.
fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, rng_seed: RngSeed::Fixed(20), ..ProptestConfig::default() }
}

/// Generates any finite feature: small, large, subnormal, zero of either sign.
fn feature() -> impl Strategy<Value = f32> {
    prop_oneof![
        any::<u32>().prop_map(f32::from_bits).prop_filter("finite", |value| value.is_finite()),
        (-1e6_f32..1e6),
        Just(-0.0),
        Just(1e-45),
        Just(f32::MAX)
    ]
}

fn table(width: impl Strategy<Value = usize>) -> impl Strategy<Value = Vec<Vec<f32>>> {
    width.prop_flat_map(|d| prop::collection::vec(prop::collection::vec(feature(), d), 2..20))
}

/// Generates a number of columns. Many adjacent numbers are read on another path than few, and more than 128 of them in
/// parts.
fn any_width() -> impl Strategy<Value = usize> {
    prop_oneof![1_usize..6, 7_usize..20, 120_usize..270]
}

/// Generates a number as people write one, or something else.
fn cell() -> impl Strategy<Value = String> {
    prop_oneof![
        60 => "-?[0-9]{1,4}[.][0-9]{1,4}",
        20 => "[-+]?[0-9]{0,9}[.]?[0-9]{0,9}",
        10 => "-?[0-9][.][0-9]{1,18}(e-?[0-9]{1,2})?",
        1 => "[-+0-9.e: ]{0,10}"
    ]
}

fn bits(batch: &Batch) -> Vec<Vec<(u32, u32)>> {
    let row = |index: usize| match batch.rows.row(index) {
        Row::Dense(values) => (0..).zip(values).map(|(index, value)| (index, value.to_bits())).collect(),
        Row::Sparse(row) => row.index.iter().copied().zip(row.value.iter().map(|value| value.to_bits())).collect(),
    };
    (0..batch.rows.len()).map(row).collect()
}

fn same(left: &Batch, right: &Batch) {
    assert_eq!(bits(left), bits(right));
    let labels = |batch: &Batch| batch.labels.iter().map(|label| label.to_bits()).collect::<Vec<_>>();
    assert_eq!(labels(left), labels(right));
    let ids = |batch: &Batch| (0..batch.rows.len()).map(|index| batch.ids.get(index)).collect::<Vec<_>>();
    assert_eq!(ids(left), ids(right));
}

fn write_csv(rows: &[Vec<f32>], separator: char, end: &str) -> String {
    let names: Vec<String> = (0..rows[0].len()).map(|column| format!("x{column}")).collect();
    let mut text = format!("{}{separator}label{end}", names.join(&separator.to_string()));
    for (index, row) in rows.iter().enumerate() {
        let cells: Vec<String> =
            row.iter().map(|value| if index % 2 == 0 { format!("{value:?}") } else { format!("{value:e}") }).collect();
        text.push_str(&format!("{}{separator}{}{end}", cells.join(&separator.to_string()), index % 2));
    }
    text
}

fn write_jsonl(rows: &[Vec<f32>]) -> String {
    let object = |(index, row): (usize, &Vec<f32>)| {
        let cells: Vec<String> =
            row.iter().enumerate().map(|(column, value)| format!("\"x{column}\": {value:?}")).collect();
        format!("{{{}, \"label\": {}}}\n", cells.join(", "), index % 2)
    };
    rows.iter().enumerate().map(object).collect()
}

fn write_svmlight(rows: &[Vec<f32>]) -> String {
    let line = |(index, row): (usize, &Vec<f32>)| {
        let pairs: Vec<String> = row.iter().enumerate().map(|(column, value)| format!("{column}:{value:?}")).collect();
        format!("{} {}\n", index % 2, pairs.join(" "))
    };
    rows.iter().enumerate().map(line).collect()
}

/// Returns options for reading rows unchanged, whatever they look like.
fn raw() -> ReadOptions {
    ReadOptions { vectors: vec!["x".to_owned()], ..common::plain() }
}

fn read(name: &str, text: &[u8], options: &ReadOptions) -> (Encoder, Batch) {
    let (_folder, input) = common::file(name, text);
    let loaded = load(&input, options).unwrap();
    (loaded.encoder, loaded.batch)
}

/// Returns a file that exercises every way of encoding rows.
fn mixed(rows: usize) -> String {
    let mut text = "id,x,color,city,body,label\n".to_owned();
    for row in 0..rows {
        let x = (row * 7919 % 1000) as f64 / 8.0 - 3.0;
        let color = ["red", "green", "blue"][row * 31 % 3];
        let body = format!("\"Some words, number {} of the \"\"{color}\"\" text\"", row % 17);
        text.push_str(&format!("r{row},{x},{color},city{},{body},{}\n", row * 13 % 150, ["ham", "spam"][row % 2]));
    }
    text
}

/// Generates common spellings of values, and a few rare ones.
fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "-?[0-9]{1,2}[.][0-9]{0,7}|-?0[.][0-9]{1,9}|[0-9]",
        1 => "[-+]?[0-9]{0,12}[.]?[0-9]{1,12}(e-?[0-9])?",
    ]
}

/// Generates an unusual word in the position of a feature.
fn rare_word() -> impl Strategy<Value = String> {
    prop_oneof![
        "[0-9]{0,3}:[-+.0-9e]{0,4}|[0-9]{1,3}|:|[0-9]:[0-9]:[0-9]|[0-9]{1,20}:1",
        "[a-z]{1,9}(:[0-9])?|#.{0,3}|qid:[0-9]|[|][a-z]{0,2}(:2)?|[0-9]:1[|] 2:1|[0-9]:1[ \t\r\x0c]{1,2}[|][a-z]?(:0.5)?",
        "[0-9]:1[\t\r][0-9]:1|[0-9]:1[\t\r]| |\u{e9}|[0-9]:\u{e9}",
    ]
}

/// Returns the features sorted by index, without duplicate indices.
fn rising(pairs: &[(String, String)]) -> Vec<String> {
    let mut pairs: Vec<(u64, String)> =
        pairs.iter().map(|(number, value)| (number.parse().unwrap(), value.clone())).collect();
    pairs.sort_by_key(|pair| pair.0);
    pairs.dedup_by_key(|pair| pair.0);
    pairs.into_iter().map(|(number, value)| format!("{number}:{value}")).collect()
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn features_survive_a_round_trip_bit_for_bit(rows in table(any_width()), windows in any::<bool>()) {
        let expected: Vec<Vec<u32>> = rows.iter().map(|row| row.iter().map(|value| value.to_bits()).collect()).collect();
        let end = if windows { "\r\n" } else { "\n" };
        for (name, text) in [
            ("a.csv", write_csv(&rows, ',', end)),
            ("a.csv", write_csv(&rows, ';', end)),
            ("a.tsv", write_csv(&rows, '\t', end)),
            ("a.csv", write_csv(&rows, '|', end)),
            ("a.jsonl", write_jsonl(&rows)),
            ("a.svm", write_svmlight(&rows)),
        ] {
            let options = if name == "a.svm" { common::plain() } else { raw() };
            let (_, batch) = read(name, text.as_bytes(), &options);
            let found: Vec<Vec<u32>> = bits(&batch).into_iter().map(|row| row.into_iter().map(|(_, value)| value).collect()).collect();
            prop_assert_eq!(&found, &expected, "{}", name);
            let labels: Vec<f64> = (0..rows.len()).map(|index| if index % 2 == 0 { -1.0 } else { 1.0 }).collect();
            prop_assert_eq!(&batch.labels, &labels);
        }
    }

    #[test]
    fn lines_of_many_numbers_are_read_as_if_cell_by_cell(
        cells in prop::collection::vec(prop::collection::vec(cell(), 12), 1..8),
        missing in prop::sample::select(&[Missing::Error, Missing::Zero][..]),
    ) {
        let names: Vec<String> = (1..=12).map(|column| format!("x{column}")).collect();
        let options = ReadOptions { vectors: vec![], numbers: names.clone(), missing, skip_bad_rows: true, ..raw() };
        // Quoted cells are read one by one.
        let read = |quote: &str| {
            let line = |(row, cells): (usize, &Vec<String>)| {
                let cells: Vec<String> = cells.iter().map(|cell| format!("{quote}{cell}{quote}")).collect();
                format!("{},{}\n", cells.join(","), row % 2)
            };
            let plain = names.iter().map(|_| "0.5").collect::<Vec<_>>().join(",");
            let lines: String = cells.iter().enumerate().map(line).collect();
            let text = format!("{},label\n{plain},0\n{plain},1\n{lines}", names.join(","));
            let (_folder, input) = common::file("rows.csv", text.as_bytes());
            let loaded = load(&input, &options).unwrap();
            let faults: Vec<String> = loaded.bad.examples.iter().map(|error| format!("{:?} {:?}", error.position, error.fault)).collect();
            (loaded.batch, loaded.bad.skipped, faults)
        };
        let ((left, left_skipped, left_faults), (right, right_skipped, right_faults)) = (read(""), read("\""));
        same(&left, &right);
        prop_assert_eq!((left_skipped, left_faults), (right_skipped, right_faults));
    }

    #[test]
    fn lines_of_many_features_are_read_as_if_one_by_one(
        lines in prop::collection::vec(prop::collection::vec(("[0-9]{1,7}", value()), 18..160), 1..6),
        rare in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), rare_word()), 0..3),
        format in prop::sample::select(&["svmlight", "vw"][..]),
        ends in any::<bool>(),
    ) {
        let mut lines: Vec<Vec<String>> = lines.iter().map(|pairs| rising(pairs)).collect();
        for (line, word, replacement) in rare {
            let words: &mut Vec<String> = line.get_mut(&mut lines[..]);
            *word.get_mut(words) = replacement;
        }
        // After a second space, features are read one by one.
        let read = |gap: &str| {
            let label = |row: usize| if format == "vw" { format!("{} |", row % 2) } else { (row % 2).to_string() };
            let line = |(row, words): (usize, &Vec<String>)| format!("{}{gap}{}", label(row), words.join(" "));
            let plain = format!("{} 1:1\n{} 1:1\n", label(0), label(1));
            let text = plain + &lines.iter().enumerate().map(line).collect::<Vec<_>>().join("\n") + if ends { "\n" } else { "" };
            let (_folder, input) = common::file("rows", text.as_bytes());
            let format = Some(Format::named(format).unwrap());
            let loaded = load(&input, &ReadOptions { format, skip_bad_rows: true, ..common::plain() }).unwrap();
            let faults: Vec<String> = loaded.bad.examples.iter().map(|error| format!("{:?} {:?}", error.position, error.fault)).collect();
            (loaded.batch, loaded.bad.skipped, faults)
        };
        let ((left, left_skipped, left_faults), (right, right_skipped, right_faults)) = (read(" "), read("  "));
        same(&left, &right);
        prop_assert_eq!((left_skipped, left_faults), (right_skipped, right_faults));
    }

    /// Numeric names in VW text, with tabs and spaces around them, at the end of a line and of the file.
    #[test]
    fn indexed_features_of_both_formats_are_equal(rows in table(1_usize..6), gap in "[ \t]{1,2}", tail in "[ \t\r]{0,2}") {
        let svmlight = write_svmlight(&rows);
        let vw = |line: &str| line.replacen(' ', " | ", 1).replace(' ', &gap) + &tail;
        let lines: Vec<String> = svmlight.lines().map(vw).collect();
        let (_, expected) = read("a.svm", svmlight.as_bytes(), &common::plain());
        for end in ["\n", ""] {
            let (_, found) = read("a.vw", (lines.join("\n") + end).as_bytes(), &common::plain());
            prop_assert_eq!(bits(&found), bits(&expected));
            prop_assert_eq!(&found.labels, &expected.labels);
        }
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), skip in any::<bool>()) {
        for format in ["csv", "jsonl", "svmlight", "vw"] {
            let (_folder, input) = common::file("any", &bytes);
            let options = ReadOptions { format: Some(Format::named(format).unwrap()), skip_bad_rows: skip, ..common::plain() };
            let _ = load(&input, &options);
        }
    }

    #[test]
    fn plausible_text_does_not_panic(text in "([-0-9.,:|#\"'{}\\[\\] \\r\\nae\\\\\u{e9}\u{0}]|label|x,y\n|\\{\"x\":){0,60}", skip in any::<bool>()) {
        for format in ["csv", "jsonl", "svmlight", "vw"] {
            let (_folder, input) = common::file("any", text.as_bytes());
            let options = ReadOptions { format: Some(Format::named(format).unwrap()), skip_bad_rows: skip, missing: Missing::Mean, ..common::plain() };
            let _ = load(&input, &options);
        }
    }

    #[test]
    fn changed_and_truncated_files_do_not_panic(index in 0_usize..4000, byte in any::<u8>()) {
        let mut bytes = mixed(40).into_bytes();
        let index = index % bytes.len();
        bytes[index] = byte;
        let (_folder, input) = common::file("flipped.csv", &bytes);
        let _ = load(&input, &common::plain());
        let (_folder, input) = common::file("cut.csv", &bytes[..index]);
        let _ = load(&input, &common::plain());
    }
}

proptest! {
    #![proptest_config(cases(400))]

    /// A label keeps the full precision of a number: it must equal the standard library's result.
    #[test]
    fn numbers_are_rounded_once(numbers in prop::collection::vec("[-+]?([0-9]{1,25}\\.?[0-9]{0,25}|\\.[0-9]{1,25})([eE][-+]?[0-9]{1,3})?", 8)) {
        let values: Vec<f64> = numbers.iter().map(|number| number.parse().unwrap()).collect();
        prop_assume!(values.iter().all(|value| value.is_finite()));
        let lines: Vec<String> = numbers.iter().map(|number| format!("1,{number}\n")).collect();
        let text = format!("x,target\n{}", lines.concat());
        let (_, batch) = read("numbers.csv", text.as_bytes(), &ReadOptions { required_labels: RequiredLabels::Number, ..common::plain() });
        let (found, expected): (Vec<u64>, Vec<u64>) =
            (batch.labels.iter().map(|label| label.to_bits()).collect(), values.iter().map(|value| value.to_bits()).collect());
        prop_assert_eq!(found, expected, "{:?}", numbers);
    }

    /// The same for whole lines, which are rounded to features.
    #[test]
    fn short_numbers_are_rounded_once(whole in 0_u64..1_000_000_000_000, shift in 0_usize..14, minus in any::<bool>()) {
        let digits = format!("{whole:0width$}", width = shift + 1);
        let (front, back) = digits.split_at(digits.len() - shift);
        let number = format!("{}{front}.{back}", if minus { "-" } else { "" });
        let text = format!("a,b,label\n{number},{number},u\n{number},0,v\n");
        let (_, batch) = read("numbers.csv", text.as_bytes(), &common::options("numbers=a,b"));
        let expected = number.parse::<f64>().unwrap() as f32;
        prop_assert_eq!(bits(&batch)[0].clone(), vec![(0, expected.to_bits()), (1, expected.to_bits())], "{}", number);
    }
}

#[test]
fn blocks_and_streams_give_the_same_rows() {
    let text = mixed(300);
    let (_folder, input) = common::file("mixed.csv", text.as_bytes());
    for (name, options) in [
        ("sparse", ReadOptions { hash_bits: 12, ..ReadOptions::default() }),
        ("dense", common::options("standardize ignore=city,body")),
        ("numbers", common::options("standardize ignore=city,body,color")),
    ] {
        let whole = load(&input, &options).unwrap();
        assert_eq!(matches!(whole.batch.rows, Rows::Sparse(_)), name == "sparse");
        let (again, _) = load_with(&whole.encoder, &input, &options).unwrap();
        same(&whole.batch, &again);
        for limit in [1, 7, 100, 299, 1000] {
            let mut stream = RowStream::with(whole.encoder.clone(), &input, &options).unwrap();
            let mut rows = vec![];
            let (mut labels, mut ids) = (vec![], vec![]);
            let mut batch = Batch::default();
            loop {
                let read = stream.next(limit, &mut batch).unwrap();
                rows.extend(bits(&batch));
                labels.extend_from_slice(&batch.labels);
                ids.extend((0..read).map(|index| batch.ids.get(index)));
                if read < limit {
                    break;
                }
            }
            assert_eq!(rows, bits(&whole.batch), "{name} in blocks of {limit}");
            assert_eq!(labels, whole.batch.labels);
            assert_eq!(ids, (0..300).map(|row| format!("r{row}")).collect::<Vec<_>>());
        }
    }
}

#[test]
fn rows_after_skipped_records_are_the_same() {
    let (_folder, input) = common::file("mixed.csv", mixed(50).as_bytes());
    let encoder = load(&input, &common::plain()).unwrap().encoder;
    let all = load_with(&encoder, &input, &common::plain()).unwrap().0;
    for n in [0, 1, 20, 49, 50] {
        let mut stream = RowStream::with(encoder.clone(), &input, &common::plain()).unwrap();
        assert_eq!(stream.skip(n).unwrap(), n);
        let mut batch = Batch::default();
        assert_eq!(stream.next(100, &mut batch).unwrap(), 50 - n as usize);
        assert_eq!(bits(&batch), bits(&all)[n as usize..]);
        assert_eq!(batch.labels, all.labels[n as usize..]);
    }
    let mut stream = RowStream::with(encoder, &input, &common::plain()).unwrap();
    assert_eq!(stream.skip(51).unwrap(), 50);
}

#[test]
fn encoders_survive_a_round_trip_through_json() {
    for words in ["", "standardize", "standardize mean ignore=body", "ignore=body,city,color standardize"] {
        let (_folder, input) = common::file("mixed.csv", mixed(200).as_bytes());
        let options = common::options(words);
        let loaded = load(&input, &options).unwrap();
        let json = loaded.encoder.to_json();
        let back = Encoder::from_json(&json).unwrap();
        assert_eq!(back, loaded.encoder);
        assert_eq!(back.to_json(), json);
        same(&load_with(&back, &input, &options).unwrap().0, &loaded.batch);
        // An edited encoder is rejected rather than trusted.
        assert!(
            Encoder::from_json(&json.replace("\"version\":1", "\"version\":2"))
                .unwrap_err()
                .to_string()
                .contains("version 2")
        );
        assert!(Encoder::from_json(&json.replace("\"dim\":", "\"dim\":1")).is_err());
        assert!(Encoder::from_json(&json[..json.len() / 2]).is_err());
    }
}

#[test]
fn standardized_columns_have_mean_zero_and_deviation_one() {
    let (_folder, input) = common::file("mixed.csv", mixed(200).as_bytes());
    let batch = load(&input, &common::options("standardize ignore=city,body,color")).unwrap().batch;
    let values: Vec<f64> = bits(&batch).iter().map(|row| f64::from(f32::from_bits(row[0].1))).collect();
    let mean = values.iter().sum::<f64>() / 200.0;
    let square = values.iter().map(|value| value * value).sum::<f64>() / 200.0;
    assert!(mean.abs() < 1e-6 && (square - 1.0).abs() < 1e-6, "{mean} {square}");
}

#[test]
fn texts_have_length_one() {
    let (_folder, input) = common::file("mixed.csv", mixed(100).as_bytes());
    let options = ReadOptions {
        ignore: vec!["x".into(), "color".into(), "city".into()],
        hash_bits: 12,
        ..ReadOptions::default()
    };
    let batch = load(&input, &options).unwrap().batch;
    for row in bits(&batch) {
        let length: f64 = row.iter().map(|(_, value)| f64::from(f32::from_bits(*value)).powi(2)).sum();
        assert!((length - 1.0).abs() < 1e-5, "{length}");
    }
}

/// The hash is part of the format of encoders and of models: these features must never change.
#[test]
fn hashed_features_never_change() {
    let (_, batch) =
        read("a.vw", b"1 |words the cat\n-1 |words dog:2\n", &ReadOptions { hash_bits: 18, ..ReadOptions::default() });
    assert_eq!(bits(&batch).concat().iter().map(|(index, _)| *index).collect::<Vec<_>>(), [89051, 170752, 111463]);
    let (_, batch) = read("a.csv", b"body,label\nthe cat,a\na dog,b\n", &common::options("text=body"));
    assert_eq!(
        bits(&batch)[0].iter().map(|(index, _)| *index).collect::<Vec<_>>(),
        [4, 10, 17, 23, 31, 39, 40, 46, 47, 49, 53, 56, 61]
    );
}

/// Names that are whole numbers are indices of features, as in svmlight; a namespace shifts all of them by the same
/// amount.
#[test]
fn numeric_names_are_feature_indices() {
    let options = ReadOptions { hash_bits: 18, ..common::plain() };
    let indices = |text: &str| -> Vec<u32> {
        let (_, batch) = read("a.vw", text.as_bytes(), &options);
        bits(&batch)[0].iter().map(|(index, _)| *index).collect()
    };
    assert_eq!(indices("1 | 3:0.5 17:1 200000:-0.25\n-1 | 1:1\n"), [3, 17, 200_000]);
    assert_eq!(indices("1 | 17 3:0.5\n-1 | 1:1\n"), [3, 17], "in any order");
    assert_eq!(indices("1 | 262147:1\n-1 | 1:1\n"), [3], "beyond the bits they begin again");
    let moved = indices("1 |size 3:0.5 17:1\n-1 | 1:1\n");
    assert_eq!((moved[1] - moved[0], moved[0] == 3), (14, false));
    assert_ne!(indices("1 | 3a:0.5\n-1 | 1:1\n"), [3], "a name with a letter is hashed");
}

#[test]
fn consecutive_numeric_ids_are_stored_as_numbers() {
    let ids = |text: &str| read("ids.csv", format!("id,x,label\n{text}").as_bytes(), &common::plain()).1.ids;
    assert_eq!(ids("7,1,a\n8,1,b\n9,1,a\n"), BatchIds::Numbered { first: 7 });
    assert_eq!(ids("7,1,a\n8,1,b\n10,1,a\n"), BatchIds::Named(vec!["7".into(), "8".into(), "10".into()]));
    assert_eq!(ids("07,1,a\n08,1,b\n"), BatchIds::Named(vec!["07".into(), "08".into()]));
}

#[test]
fn labels_are_coded_and_decoded() {
    let (encoder, _) = read("a.csv", b"x,label\n1,ham\n2,spam\n", &common::plain());
    assert_eq!((encoder.code("ham"), encoder.code("spam"), encoder.code("eggs")), (Some(-1.0), Some(1.0), None));
    assert_eq!((encoder.decode(-1.0).as_str(), encoder.decode(1.0).as_str()), ("ham", "spam"));
    let (encoder, _) = read("a.csv", b"x,label\n1,10\n2,9\n3,8\n", &common::plain());
    assert_eq!((encoder.code("8"), encoder.code("9.0"), encoder.code("10")), (Some(0.0), Some(1.0), Some(2.0)));
    let standard_input = Input::Stdin;
    assert_eq!(standard_input.name(), "standard input");
}

/// Numbers that differ in their last digits only, among others, in every format and on every path through the readers.
#[test]
fn small_differences_of_large_numbers_are_kept_in_every_format() {
    let value = |row: usize, column: usize| match column {
        3 => 1_700_000_000.0 + (row * 7 % 21) as f64 - 10.0 + 0.125,
        other => (row * 31 % (17 + other)) as f64,
    };
    for width in [5, 12] {
        let names: Vec<String> = (0..width).map(|column| format!("x{column}")).collect();
        let cells = |row: usize| (0..width).map(move |column| format!("{:?}", value(row, column)));
        let csv = |quote: &str| {
            let line = |row: usize| {
                let cells: Vec<String> = cells(row).map(|cell| format!("{quote}{cell}{quote}")).collect();
                format!("{},{}\n", cells.join(","), row % 2)
            };
            format!("{},label\n{}", names.join(","), (0..50).map(line).collect::<String>())
        };
        let object = |row: usize| {
            let cells: Vec<String> =
                names.iter().zip(cells(row)).map(|(name, cell)| format!("\"{name}\": {cell}")).collect();
            format!("{{{}, \"label\": {}}}\n", cells.join(", "), row % 2)
        };
        let options = common::options("standardize");
        let (encoder, batch) = read("a.csv", csv("").as_bytes(), &options);
        for (name, text) in [("b.csv", csv("\"")), ("b.jsonl", (0..50).map(object).collect())] {
            let (other, found) = read(name, text.as_bytes(), &options);
            same(&batch, &found);
            assert_eq!(encoder.to_json(), other.to_json(), "{name}");
            let (_folder, input) = common::file(name, text.as_bytes());
            same(&batch, &load_with(&Encoder::from_json(&encoder.to_json()).unwrap(), &input, &options).unwrap().0);
        }
        let feature = |row: usize| f64::from(f32::from_bits(bits(&batch)[row][3].1));
        let step = (feature(1) - feature(0)) / 7.0;
        for row in 0..50 {
            let expected = feature(0) + (value(row, 3) - value(0, 3)) * step;
            assert!((feature(row) - expected).abs() < 1e-6, "{row}: {} {expected}", feature(row));
        }
    }
}
