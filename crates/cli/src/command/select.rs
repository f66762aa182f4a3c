//! `querist select`: the next rows of a pool larger than memory.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use querist_data::pool::PoolFiles;
use querist_engine::rule::Rule;
use querist_engine::select::{Chosen, IdSet, SelectedRow};
use querist_ledger::ModelFile;
use querist_render::table;
use querist_run::Model;
use querist_run::overwrite::{check_inputs, check_output};
use querist_run::select::{Query, probability_width_of_files, read_ids, to_parquet};
use querist_run::text::grouped;
use serde_json::{Value, json};

use crate::Output;
use crate::number::{json as number, json_option, show};
use crate::run::output::{count, whole};
use crate::run::progress::ProgressMeter;
use crate::run::results::PrintedResults;

/// Draw the next rows of a pool larger than memory, without replacement, in proportion to U
#[derive(Args)]
pub(crate) struct SelectArgs {
    /// A file, a folder, or a pattern such as 'pool/*.parquet'
    pool: String,
    /// The model
    #[arg(long, value_name = "FILE", required_unless_present = "probabilities", conflicts_with = "probabilities")]
    model: Option<PathBuf>,
    /// Draw by the probabilities of another model in this column: lists with one for each class, or numbers, those of the
    /// second of two classes
    #[arg(long, value_name = "COLUMN", conflicts_with = "features")]
    probabilities: Option<String>,
    /// Number of rows to draw
    #[arg(short, value_parser = count)]
    k: u64,
    /// The rule [default: the model's, or boundary with --probabilities]
    #[arg(long)]
    rule: Option<String>,
    /// The column with ids [default: the model's, `id`, or the row number in a single file]
    #[arg(long, value_name = "COLUMN")]
    id: Option<String>,
    /// The column of vectors that holds all features [default: the columns that the model was fitted on]
    #[arg(long, value_name = "COLUMN")]
    features: Option<String>,
    /// Do not draw the rows whose ids are in this file: lines of a .txt file, or a column of a table, such as labels or an
    /// earlier selection
    #[arg(long, value_name = "FILE")]
    exclude: Option<PathBuf>,
    /// Random seed
    #[arg(long, value_parser = whole::<u64>, default_value_t = 0)]
    seed: u64,
    /// Number of threads; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = whole::<usize>)]
    threads: Option<usize>,
    /// Write the drawn rows to this file, .csv, .jsonl or .parquet
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Do not print a progress bar and remarks
    #[arg(long)]
    quiet: bool,
}

/// The number of rows in the text output.
const SHOWN: usize = 10;

pub(super) fn run(arguments: &SelectArgs) -> Result<Output> {
    if arguments.k == 0 {
        bail!("-k must be at least 1");
    }
    let threads = match arguments.threads {
        Some(threads @ (0 | 257..)) => bail!("--threads = {threads}, need 1 to 256"),
        Some(threads) => threads,
        None => std::thread::available_parallelism().map_or(1, NonZero::get),
    };
    let write = arguments.out.as_deref().map(|path| writer(path).map(|write| (path, write))).transpose()?;
    let pool = PoolFiles::find(&arguments.pool)?;
    let model = model_of(arguments, &pool)?;
    if let Some(path) = &arguments.out {
        let inputs = pool.files().iter().chain(&arguments.model).chain(&arguments.exclude);
        check_inputs("--out", path, inputs.map(PathBuf::as_path))?;
    }
    let ids = excluded_ids(arguments)?;
    let exclude: IdSet = ids.iter().map(String::as_str).collect();
    let query = Query {
        model: &model,
        rule: arguments.rule.as_deref(),
        k: usize::try_from(arguments.k)?,
        seed: arguments.seed,
        id: arguments.id.as_deref(),
        features: arguments.probabilities.as_deref().or(arguments.features.as_deref()),
        exclude: Some(&exclude),
        are_probabilities: arguments.probabilities.is_some(),
    };
    let rule = query.rule().map_err(|fault| match arguments.rule {
        Some(_) => anyhow!("--rule {}", fault.found),
        None => {
            let model = arguments.model.as_deref().unwrap_or(Path::new("the model"));
            anyhow!("{}: {}; name it with --rule", model.display(), fault.found)
        }
    })?;
    // A rule relative to the pool needs two passes.
    let passes = if matches!(rule, Rule::Relative(_)) { 2 } else { 1 };
    let progress = ProgressMeter::new(pool.rows()?.map(|rows| passes * rows), "rows", arguments.quiet);
    let progress = Mutex::new((progress, 0));
    let on_rows = |rows: u64| {
        if let Ok(mut held) = progress.lock() {
            held.1 += rows;
            let seen = held.1;
            held.0.at(seen);
        }
        true
    };
    let (chosen, rule) = query.select(&pool, threads, &on_rows)?;
    let mut seen = 0;
    if let Ok(held) = progress.lock() {
        held.0.done();
        seen = held.1 / passes;
    }
    if let Some((path, write)) = write {
        querist_ledger::write_atomic(path, &write(&chosen.drawn)?)
            .map_err(|error| anyhow!("the rows were not written: {error}"))?;
    }
    let mut results = PrintedResults::default();
    report_excluded(arguments, &mut results, ids.len(), seen.saturating_sub(chosen.rows));
    Ok(Output::done(describe(arguments, results, &chosen, &rule.name())))
}

/// Reads the ids of `--exclude`.
fn excluded_ids(arguments: &SelectArgs) -> Result<Vec<String>> {
    let Some(path) = &arguments.exclude else { return Ok(vec![]) };
    read_ids(path, arguments.id.as_deref()).map_err(|error| anyhow!("--exclude {error:#}"))
}

/// Reports how many rows of the pool `--exclude` named.
fn report_excluded(arguments: &SelectArgs, results: &mut PrintedResults, ids: usize, excluded: u64) {
    let Some(path) = &arguments.exclude else { return };
    results.count("excluded", "rows excluded", excluded);
    if 0 < ids && excluded == 0 {
        results.remarks.push(format!("the pool has none of the ids in {}", path.display()));
    }
}

/// Reads the model, or makes that of a column of probabilities.
fn model_of(arguments: &SelectArgs, pool: &PoolFiles) -> Result<Model> {
    if let Some(column) = &arguments.probabilities {
        let width = probability_width_of_files(pool, column)?;
        return Ok(Model::of_probabilities(width).map_err(|fault| fault.of_file(column))?);
    }
    let path = arguments.model.as_deref().unwrap_or(Path::new(""));
    let file = ModelFile::read(path)?;
    Model::new(&file.header, &file.arrays).map_err(|found| anyhow!("{}: {found}", path.display()))
}

type Write = fn(&[SelectedRow]) -> Result<Vec<u8>>;

/// Returns the writer for a file name. An invalid name is an error before the pass, not after it.
fn writer(path: &Path) -> Result<Write> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if folder.is_some_and(|folder| !folder.is_dir()) || path.is_dir() {
        bail!("--out {}: need the name of a file in a folder that exists", path.display());
    }
    check_output("--out", path)?;
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("csv") => Ok(|drawn| Ok(csv(drawn).into_bytes())),
        Some("jsonl") => Ok(|drawn| Ok(lines(drawn).into_bytes())),
        Some("parquet") => Ok(|drawn| to_parquet(drawn).context("the rows as Parquet")),
        _ => bail!("--out {}: need a name that ends in .csv, .jsonl or .parquet", path.display()),
    }
}

fn csv(drawn: &[SelectedRow]) -> String {
    let mut text = "order,id,uncertainty,key,probability,inclusion\n".to_owned();
    for (index, drawn) in drawn.iter().enumerate() {
        let SelectedRow { id, uncertainty, key, probability, inclusion } = drawn;
        let id = querist_run::labeling::export::cell(&id.to_string(), false);
        text.push_str(&format!("{},{id},{uncertainty:?},{key:?},{probability:?},{inclusion:?}\n", index + 1));
    }
    text
}

fn lines(drawn: &[SelectedRow]) -> String {
    let lines = drawn.iter().enumerate().map(|(index, drawn)| format!("{}\n", object(index, drawn)));
    lines.collect()
}

fn object(index: usize, drawn: &SelectedRow) -> Value {
    let SelectedRow { id, uncertainty, key, probability, inclusion } = drawn;
    json!({"order": index + 1, "id": id.to_string(), "uncertainty": number(*uncertainty), "key": number(*key),
           "probability": number(*probability), "inclusion": number(*inclusion)})
}

fn describe(arguments: &SelectArgs, mut results: PrintedResults, chosen: &Chosen, rule: &str) -> String {
    results.count("rows", "rows in the pool", chosen.rows);
    results.number("sum_u", "sum of U", chosen.sum);
    results.number("mean_u", "mean of U", chosen.mean());
    results.put("k", arguments.k.into());
    results.count("drawn", "drawn", chosen.drawn.len() as u64);
    results.put("seed", arguments.seed.into());
    results.put("rule", rule.into());
    results.put("threshold", json_option(chosen.threshold));
    results
        .line("threshold", chosen.threshold.map_or("none: no other row can be drawn".to_owned(), |key| show(key, 6)));
    if arguments.out.is_none() {
        let rows = chosen.drawn.iter().enumerate().map(|(index, drawn)| object(index, drawn));
        results.put("selected", rows.collect());
    }
    if arguments.json {
        return results.to_json();
    }
    let mut text = results.to_text(&format!("rows drawn by {rule}, seed {}", arguments.seed), arguments.quiet);
    if let Some(path) = &arguments.out {
        return text + &format!("\nwritten to {}\n", path.display());
    }
    let cells = |(index, drawn): (usize, &SelectedRow)| {
        let numbers = [drawn.uncertainty, drawn.probability, drawn.inclusion].map(|value| show(value, 6));
        [vec![(index + 1).to_string(), drawn.id.to_string()], numbers.to_vec()].concat()
    };
    let rows: Vec<_> = chosen.drawn.iter().enumerate().take(SHOWN).map(cells).collect();
    text.push('\n');
    text.push_str(&table::columns(&["order", "id", "U", "probability", "inclusion"], &rows));
    if SHOWN < chosen.drawn.len() {
        let more = grouped((chosen.drawn.len() - SHOWN) as u64);
        text.push_str(&format!("  … and {more} more; use --out FILE or --json for all of them\n"));
    }
    text
}
