//! Pools in files: the rows drawn equal those that a loop over single rows draws. They do not depend on formats, on the
//! split into files or on the number of threads. Errors are reported with their file and location.

#![allow(clippy::cast_possible_wrap, clippy::from_iter_instead_of_collect, reason = "small numbers, arrays of options")]

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{FixedSizeListBuilder, Float32Builder, ListBuilder};
use arrow_array::{ArrayRef, Float32Array, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_ipc::writer::FileWriter;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use querist_data::pool::PoolFiles;
use querist_data::{Encoder, Input, ReadOptions, load, load_with};
use querist_engine::coin::{Coin, shuffled};
use querist_engine::rule::Rule;
use querist_engine::select::{Chosen, Id, IdSet, RowIds, Selection};
use querist_run::Model;
use querist_run::select::{Pass, Query, to_batch, to_parquet};
use serde_json::json;
use tempfile::TempDir;

const ROWS: usize = 3000;
const DIM: usize = 5;

/// Returns number j of a row, one that `f32` and a short decimal both represent exactly.
fn value(row: usize, j: usize) -> f32 {
    (Coin::new(1, "table").below((row * DIM + j) as u64, 4096) as f32 - 2048.0) / 256.0
}

fn column(rows: &[usize], j: usize) -> ArrayRef {
    Arc::new(Float32Array::from_iter_values(rows.iter().map(|row| value(*row, j))))
}

/// Returns rows as columns x0 … with an id.
fn table(rows: &[usize]) -> RecordBatch {
    let id = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| *row as i64))) as ArrayRef;
    let columns = (0..DIM).map(|j| (format!("x{j}"), column(rows, j)));
    RecordBatch::try_from_iter([("id".to_owned(), id)].into_iter().chain(columns)).unwrap()
}

fn write_parquet(path: &Path, batch: &RecordBatch, group: usize) {
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(group)).build();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

fn write_arrow(path: &Path, batch: &RecordBatch) {
    let mut writer = FileWriter::try_new(File::create(path).unwrap(), &batch.schema()).unwrap();
    for start in (0..batch.num_rows()).step_by(700) {
        writer.write(&batch.slice(start, 700.min(batch.num_rows() - start))).unwrap();
    }
    writer.finish().unwrap();
}

/// Returns a model of these columns, with the encoder fitted on a labeled file.
fn model(folder: &Path, header: &str, lines: &[String], rule: &str, outputs: usize) -> Model {
    let path = folder.join("labeled.csv");
    fs::write(&path, format!("{header}\n{}\n", lines.join("\n"))).unwrap();
    let options = ReadOptions { missing: querist_data::Missing::Mean, ..ReadOptions::default() };
    let encoder = load(&Input::File(path.clone()), &options).unwrap().encoder;
    fs::remove_file(path).unwrap();
    let loss = if outputs == 1 { "logistic" } else { "cross-entropy" };
    let recipe: serde_json::Value = serde_json::from_str(&encoder.to_json()).unwrap();
    let header = json!({"loss": loss, "rule": rule, "outputs": outputs, "encoder": recipe});
    let parameters =
        (0..(encoder.dim() + 1) * outputs).map(|at| Coin::new(2, "weights").unit(at as u64) - 0.4).collect();
    Model::new(&header.to_string(), &[("mean".to_owned(), parameters)]).unwrap()
}

fn numbers_model(folder: &Path, rule: &str, outputs: usize) -> Model {
    let classes = if outputs == 1 { 2 } else { outputs };
    let cells = |row: usize| (0..DIM).map(|j| value(row, j).to_string()).collect::<Vec<_>>().join(",");
    let lines: Vec<String> = (0..200).map(|row| format!("{row},{},c{}", cells(row), row % classes)).collect();
    model(folder, "id,x0,x1,x2,x3,x4,label", &lines, rule, outputs)
}

fn query(model: &Model, k: usize) -> Query<'_> {
    Query { model, rule: None, k, seed: 5, id: None, features: None, exclude: None, are_probabilities: false }
}

fn draw(query: &Query<'_>, pool: &Path, threads: usize) -> Result<Chosen, String> {
    let pool = PoolFiles::find(pool.to_str().unwrap()).map_err(|error| error.to_string())?;
    query.select(&pool, threads, &|_| true).map(|(chosen, _)| chosen).map_err(|error| error.to_string())
}

/// Draws row by row, with the functions that `querist predict` uses.
fn draw_row_by_row(query: &Query<'_>, file: &Path, rule: &Rule) -> Chosen {
    let encoder = query.model.encoder.as_ref().unwrap();
    let options = ReadOptions { unlabeled: true, ..ReadOptions::default() };
    let (batch, _) = load_with(encoder, &Input::File(file.to_owned()), &options).unwrap();
    let mut selection = Selection::new(query.seed, query.k);
    let mut scores = vec![0.0; query.model.scorer.outputs()];
    for row in 0..batch.rows.len() {
        query.model.scorer.scores(batch.rows.row(row), &mut scores);
        let uncertainty = rule.probability(&scores, batch.rows.row(row));
        selection.offer(&RowIds::Texts(vec![&batch.ids.get(row)]), &[uncertainty], 0).unwrap();
    }
    selection.finish().unwrap()
}

fn write_text(path: &Path, rows: &[usize]) {
    let lines = rows.iter().map(|row| {
        let cells: Vec<String> = (0..DIM).rev().map(|j| value(*row, j).to_string()).collect();
        format!("{},{row},unused", cells.join(","))
    });
    let lines: Vec<String> = lines.collect();
    fs::write(path, format!("x4,x3,x2,x1,x0,id,note\n{}\n", lines.join("\n"))).unwrap();
}

fn write_lines(path: &Path, rows: &[usize]) {
    let line = |row: &usize| {
        let cells: Vec<String> = (0..DIM).map(|j| format!("\"x{j}\": {}", value(*row, j))).collect();
        format!("{{\"id\": \"{row}\", {}}}\n", cells.join(", "))
    };
    fs::write(path, rows.iter().map(line).collect::<String>()).unwrap();
}

/// A pool without some rows draws as if they were in no file.
#[test]
fn excluded_rows_are_not_part_of_the_pool() {
    let folder = TempDir::new().unwrap();
    let rows: Vec<usize> = (0..3000).collect();
    let (all, some) = (folder.path().join("all.parquet"), folder.path().join("some.parquet"));
    write_parquet(&all, &table(&rows), 700);
    let rest: Vec<usize> = rows.iter().copied().filter(|row| row % 7 != 3 && !(40..1100).contains(row)).collect();
    write_parquet(&some, &table(&rest), 500);
    let excluded: Vec<String> = rows.iter().filter(|row| !rest.contains(row)).map(ToString::to_string).collect();
    let ids: IdSet = excluded.iter().map(String::as_str).collect();
    for rule in ["entropy", "boundary"] {
        let model = numbers_model(folder.path(), rule, 1);
        let expected = draw(&query(&model, 30), &some, 1).unwrap();
        let found = draw(&Query { exclude: Some(&ids), ..query(&model, 30) }, &all, 3).unwrap();
        assert_eq!(found, expected, "{rule}");
    }
}

#[test]
fn draws_do_not_depend_on_formats_files_or_threads() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    let rows: Vec<usize> = (0..ROWS).collect();
    let mixed: Vec<usize> = shuffled(Coin::new(3, "order"), ROWS).into_iter().map(|row| row as usize).collect();
    write_parquet(&at("one.parquet"), &table(&rows), 257);
    write_arrow(&at("one.arrow"), &table(&mixed));
    write_text(&at("one.csv"), &mixed);
    write_lines(&at("one.jsonl"), &rows);
    fs::create_dir_all(at("parts/day=2")).unwrap();
    write_parquet(&at("parts/a.parquet"), &table(&mixed[..1111]), 100);
    write_text(&at("parts/b.csv"), &mixed[1111..2000]);
    write_parquet(&at("parts/day=2/c.parquet"), &table(&mixed[2000..]), 10_000);
    fs::write(at("parts/_SUCCESS"), "").unwrap();
    for (rule, outputs) in
        [("entropy", 1), ("margin:mu=2", 1), ("margin:share=0.05,floor=0.1", 1), ("entropy", 4), ("margin", 3)]
    {
        let model = numbers_model(folder.path(), rule, outputs);
        let query = query(&model, 40);
        let pool = PoolFiles::find(at("one.parquet").to_str().unwrap()).unwrap();
        let (chosen, settled) = query.select(&pool, 2, &|_| true).unwrap();
        assert_eq!((chosen.rows, chosen.drawn.len()), (ROWS as u64, 40));
        assert_eq!(draw_row_by_row(&query, &at("one.csv"), &settled), chosen, "{rule}, {outputs} outputs");
        for file in ["one.parquet", "one.arrow", "one.csv", "one.jsonl", "parts", "parts/**/*.*", "one.[p]arquet"] {
            for threads in [1, 2, 5] {
                assert_eq!(draw(&query, &at(file), threads).unwrap(), chosen, "{file}, {threads} threads");
            }
        }
    }
}

/// Vectors in lists of either kind, numbers of other types, and ids of other types.
#[test]
fn draws_do_not_depend_on_column_types() {
    let folder = TempDir::new().unwrap();
    let model = numbers_model(folder.path(), "entropy", 1);
    let rows: Vec<usize> = (0..ROWS).collect();
    let numbers = table(&rows);
    let path = folder.path().join("pool.parquet");
    write_parquet(&path, &numbers, 1000);
    let expected = draw(&query(&model, 25), &path, 1).unwrap();
    let texts = Arc::new(StringArray::from_iter_values(rows.iter().map(usize::to_string))) as ArrayRef;
    let small = Arc::new(Int32Array::from_iter_values(rows.iter().map(|row| *row as i32))) as ArrayRef;
    let (mut lists, mut fixed) =
        (ListBuilder::new(Float32Builder::new()), FixedSizeListBuilder::new(Float32Builder::new(), DIM as i32));
    for row in &rows {
        for j in 0..DIM {
            lists.values().append_value(value(*row, j));
            fixed.values().append_value(value(*row, j));
        }
        lists.append(true);
        fixed.append(true);
    }
    let vectors = [Arc::new(lists.finish()) as ArrayRef, Arc::new(fixed.finish())];
    for (vector, id) in vectors.iter().flat_map(|vector| [(vector, &texts), (vector, &small)]) {
        let batch = RecordBatch::try_from_iter([("e", Arc::clone(vector)), ("key", Arc::clone(id))]).unwrap();
        write_parquet(&path, &batch, 1000);
        let query = Query { features: Some("e"), id: Some("key"), ..query(&model, 25) };
        assert_eq!(draw(&query, &path, 2).unwrap(), expected);
        // The same batch in memory, in slices.
        let recipe = query.recipe().unwrap();
        let pass = Pass { recipe: &recipe, scorer: &model.scorer, threads: 1, on_rows: &|_| true };
        let chooser = query.chooser(&query.rule().unwrap());
        let mut batches = querist_run::select::BatchReader::new(&pass, batch.schema(), "table", 0, chooser).unwrap();
        for start in (0..ROWS).step_by(999) {
            batches.take(&batch.slice(start, 999.min(ROWS - start))).unwrap();
        }
        assert_eq!(batches.into_taker().inner.into_selection().finish().unwrap(), expected);
    }
    // Integers and doubles among the columns, in another order, with one that is not used.
    let whole = |j: usize| Arc::new(Int32Array::from_iter_values(rows.iter().map(|row| value(*row, j).round() as i32)));
    let wide =
        |j: usize| Arc::new(Float64Array::from_iter_values(rows.iter().map(|row| f64::from(value(*row, j).round()))));
    let single = |j: usize| Arc::new(Float32Array::from_iter_values(rows.iter().map(|row| value(*row, j).round())));
    let mut drawn = vec![];
    for kind in 0..3 {
        let column = |j: usize| match (kind + j) % 3 {
            0 => whole(j) as ArrayRef,
            1 => wide(j),
            _ => single(j),
        };
        let columns = (0..DIM).rev().map(|j| (format!("x{j}"), column(j)));
        let batch = RecordBatch::try_from_iter(
            columns.chain([("u".to_owned(), texts.clone()), ("id".to_owned(), texts.clone())]),
        );
        write_parquet(&path, &batch.unwrap(), 1000);
        drawn.push(draw(&query(&model, 25), &path, 2).unwrap());
    }
    assert!(drawn.iter().all(|chosen| *chosen == drawn[0]) && drawn[0] != expected);
}

/// Categories, texts and missing numbers are encoded as rows, one row group after the other.
#[test]
fn columns_of_other_kinds_are_read_as_the_model_reads_them() {
    let folder = TempDir::new().unwrap();
    let words = ["a fine day", "rain again", "no news at all", "sun and rain"];
    let line = |row: usize| {
        let number = if row % 11 == 3 { String::new() } else { value(row, 0).to_string() };
        format!("r{row},{number},{},{} and some more words", ["red", "green", "blue"][row % 3], words[row % 4])
    };
    let labeled: Vec<String> = (0..300).map(|row| format!("{},{}", line(row), row % 2)).collect();
    let model = model(folder.path(), "id,x,color,body,label", &labeled, "least-confidence", 1);
    let lines: Vec<String> = (0..ROWS).map(line).collect();
    let text = folder.path().join("pool.csv");
    fs::write(&text, format!("id,x,color,body\n{}\n", lines.join("\n"))).unwrap();
    let cell = |row: usize, place: usize| line(row).split(',').nth(place).unwrap().to_owned();
    let column =
        |place: usize| Arc::new(StringArray::from_iter_values((0..ROWS).map(|row| cell(row, place)))) as ArrayRef;
    let numbers = Arc::new(Float32Array::from_iter((0..ROWS).map(|row| cell(row, 1).parse().ok()))) as ArrayRef;
    let batch =
        RecordBatch::try_from_iter([("id", column(0)), ("x", numbers), ("color", column(2)), ("body", column(3))]);
    let columns = folder.path().join("pool.parquet");
    write_parquet(&columns, &batch.unwrap(), 500);
    let query = query(&model, 30);
    let expected = draw_row_by_row(&query, &text, &query.rule().unwrap());
    assert_eq!(draw(&query, &text, 1).unwrap(), expected);
    assert_eq!(draw(&query, &columns, 3).unwrap(), expected);
}

#[test]
fn rows_without_ids_are_numbered_in_a_single_file() {
    let folder = TempDir::new().unwrap();
    let lines: Vec<String> = (0..200).map(|row| format!("{},{},{}", value(row, 0), value(row, 1), row % 2)).collect();
    let model = model(folder.path(), "x0,x1,label", &lines, "entropy", 1);
    let rows: Vec<usize> = (0..ROWS).collect();
    let batch = table(&rows).project(&[1, 2]).unwrap();
    let path = folder.path().join("pool.parquet");
    write_parquet(&path, &batch, 321);
    let chosen = draw(&query(&model, 12), &path, 2).unwrap();
    write_parquet(&path, &batch, ROWS);
    assert_eq!(draw(&query(&model, 12), &path, 1).unwrap(), chosen);
    assert!(chosen.drawn.iter().all(|drawn| matches!(drawn.id, Id::Number(1..=3000))));
    fs::copy(&path, folder.path().join("second.parquet")).unwrap();
    let error = draw(&query(&model, 12), folder.path(), 1).unwrap_err();
    assert!(error.contains("rows of several files without ids") && error.contains("--id"), "{error}");
    // A column `id` is used even if the model had none.
    write_parquet(&path, &table(&rows).project(&[0, 1, 2]).unwrap(), 321);
    let numbered = draw(&query(&model, 12), &path, 1).unwrap();
    assert_ne!(numbered, chosen);
}

#[test]
fn drawn_rows_are_written_as_a_table() {
    let folder = TempDir::new().unwrap();
    let model = numbers_model(folder.path(), "entropy", 1);
    let path = folder.path().join("pool.parquet");
    write_parquet(&path, &table(&(0..ROWS).collect::<Vec<_>>()), 1000);
    let chosen = draw(&query(&model, 7), &path, 1).unwrap();
    let batch = to_batch(&chosen.drawn).unwrap();
    assert_eq!((batch.num_rows(), batch.schema().field(1).data_type().to_string()), (7, "Int64".to_owned()));
    let out = folder.path().join("drawn.parquet");
    fs::write(&out, to_parquet(&chosen.drawn).unwrap()).unwrap();
    let cells = querist_data::load_cells(&Input::File(out), &ReadOptions::default(), &["id".to_owned()]).unwrap();
    let ids: Vec<String> = (0..7).map(|row| cells.row(row).next().unwrap().to_owned()).collect();
    assert_eq!(ids, chosen.drawn.iter().map(|drawn| drawn.id.to_string()).collect::<Vec<_>>());
}

/// Each case is one error that names the file and, if there is one, the row group and the row.
#[test]
fn errors_are_reported_with_their_location() {
    let folder = TempDir::new().unwrap();
    let mut model = numbers_model(folder.path(), "entropy", 1);
    // Missing numbers are faults here.
    let mut recipe: serde_json::Value = serde_json::from_str(&model.encoder.as_ref().unwrap().to_json()).unwrap();
    recipe["missing"] = "error".into();
    model.encoder = Some(Encoder::from_json(&recipe.to_string()).unwrap());
    let path = folder.path().join("pool.parquet");
    let rows: Vec<usize> = (0..300).collect();
    let good = table(&rows);
    let with = |j: usize, array: ArrayRef| {
        let mut columns = good.columns().to_vec();
        columns[j] = array;
        let names = ["id", "x0", "x1", "x2", "x3", "x4"];
        RecordBatch::try_from_iter_with_nullable(
            names.into_iter().zip(columns).map(|(name, array)| (name, array, true)),
        )
        .unwrap()
    };
    let odd = |at: usize, odd: Option<f32>| {
        Arc::new(Float32Array::from_iter(rows.iter().map(|row| if *row == at { odd } else { Some(1.5) }))) as ArrayRef
    };
    let twice =
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| if *row < 2 { 7 } else { *row as i64 + 10 })));
    let absent = Arc::new(Int64Array::from_iter(rows.iter().map(|row| (*row != 150).then_some(*row as i64))));
    let lengths = |length: fn(usize) -> Option<usize>| {
        let mut lists = ListBuilder::new(Float32Builder::new());
        for row in &rows {
            (0..length(*row).unwrap_or(0)).for_each(|_| lists.values().append_value(0.5));
            lists.append(length(*row).is_some());
        }
        RecordBatch::try_from_iter_with_nullable([
            ("id", good.column(0).clone(), true),
            ("e", Arc::new(lists.finish()) as ArrayRef, true),
        ])
        .unwrap()
    };
    let vectors = Query { features: Some("e"), ..query(&model, 500) };
    let plain = query(&model, 500);
    let cases: [(&str, &Query<'_>, RecordBatch, &str); 11] = [
        (
            "NaN",
            &plain,
            with(3, odd(250, Some(f32::NAN))),
            "row group 3, row 251, column `x2`: a missing value; expected a number",
        ),
        ("infinite", &plain, with(3, odd(0, Some(f32::INFINITY))), "row group 1, row 1, column `x2`: inf is too large"),
        (
            "null",
            &plain,
            with(1, odd(100, None)),
            "row group 2, row 101, column `x0`: a missing value; expected a number",
        ),
        ("absent", &plain, good.project(&[0, 1, 2, 4]).unwrap(), "row group 1: no column `x2` among id, x0, x1, x3"),
        ("no id", &plain, with(0, absent), "row group 2, row 151, column `id`: no id; expected a text or a number"),
        ("twice", &plain, with(0, twice), "pool.parquet, row 2: the id `7` appears also in "),
        (
            "text",
            &plain,
            with(2, Arc::new(StringArray::from(vec!["word"; 300]))),
            "row 1, column `x1`: \"word\" is not a number",
        ),
        (
            "ragged",
            &vectors,
            lengths(|row| Some(if row == 222 { 4 } else { 5 })),
            "row group 3, row 223, column `e`: a list of 4 numbers; expected 5",
        ),
        (
            "null vector",
            &vectors,
            lengths(|row| (row != 99).then_some(5)),
            "row group 1, row 100, column `e`: a missing value; expected a list of numbers",
        ),
        (
            "other length",
            &vectors,
            lengths(|_| Some(3)),
            "row group 1, row 1, column `e`: a list of 3 numbers; expected 5",
        ),
        (
            "not a list",
            &Query { features: Some("x1"), ..query(&model, 500) },
            good.clone(),
            "column `x1`: not a list; expected a list of 5 numbers",
        ),
    ];
    for (what, query, batch, expected) in cases {
        write_parquet(&path, &batch, 100);
        for threads in [1, 3] {
            let error = draw(query, &path, threads).unwrap_err();
            assert!(error.contains(expected) && error.contains("pool.parquet"), "{what}: {error}");
        }
    }
    write_parquet(&path, &good, 100);
    let unknown = Query { id: Some("key"), ..query(&model, 5) };
    assert!(draw(&unknown, &path, 1).unwrap_err().contains("no column `key`"));
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    assert!(draw(&plain, &path, 1).unwrap_err().contains("cannot be read as a Parquet file"));
}

#[test]
fn rules_that_need_a_run_are_rejected() {
    let folder = TempDir::new().unwrap();
    let model = numbers_model(folder.path(), "entropy", 1);
    let path = folder.path().join("pool.parquet");
    write_parquet(&path, &table(&[1, 2, 3]), 10);
    let rules = [
        ("conditional-loss", "needs the answers of its run"),
        ("rare", "needs the number of answers of each class"),
        ("no", "unknown"),
    ];
    for (rule, expected) in rules {
        let error = draw(&Query { rule: Some(rule), ..query(&model, 5) }, &path, 1).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn empty_folders_and_patterns_are_rejected() {
    let folder = TempDir::new().unwrap();
    let find = |name: &str| PoolFiles::find(folder.path().join(name).to_str().unwrap()).unwrap_err().to_string();
    assert!(find("").contains("a folder without files"));
    assert!(find("none.parquet").contains("the file or folder does not exist"));
    assert!(find("*.parquet").contains("no file matches this pattern"));
    fs::write(folder.path().join("_SUCCESS"), "").unwrap();
    assert!(find("").contains("a folder without files"));
    fs::write(folder.path().join("README.doc"), "").unwrap();
    assert!(find("").contains("a file of unknown format"));
    let model = numbers_model(&folder.path().join(""), "entropy", 1);
    let path = folder.path().join("empty.parquet");
    write_parquet(&path, &table(&[]), 10);
    assert!(draw(&query(&model, 3), &path, 2).unwrap_err().contains("there are no rows"));
    write_parquet(&path, &table(&[1, 2, 3]), 10);
    let never = Query { rule: Some("threshold:gamma=1e-9"), ..query(&model, 3) };
    assert!(draw(&never, &path, 2).unwrap_err().contains("U is 0, or next to it, at all 3 rows"));
    let stopped = query(&model, 3).select(&PoolFiles::find(path.to_str().unwrap()).unwrap(), 1, &|_| false);
    assert!(stopped.unwrap_err().to_string().contains("stopped"));
}
