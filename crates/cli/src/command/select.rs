//! `querist select`: the next rows of a pool larger than memory.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use querist_data::pool::Pool;
use querist_engine::rule::Rule;
use querist_engine::select::{Chosen, SelectedRow};
use querist_ledger::ModelFile;
use querist_render::table;
use querist_run::Model;
use querist_run::overwrite::{check_inputs, check_output};
use querist_run::select::{Query, to_parquet};
use querist_run::text::grouped;
use serde_json::{Value, json};

use crate::Output;
use crate::number::{json as number, json_option, show};
use crate::run::outcome::Outcome;
use crate::run::output::count;
use crate::run::progress::Progress;

/// The next rows of a pool larger than memory: drawn without replacement, in proportion to U
#[derive(Args)]
pub(crate) struct Arguments {
    /// A file, a folder, or a pattern such as 'pool/*.parquet'
    pool: String,
    /// The model
    #[arg(long, value_name = "FILE")]
    model: PathBuf,
    /// How many rows
    #[arg(short, value_parser = count)]
    k: u64,
    /// The rule [default: the model's]
    #[arg(long)]
    rule: Option<String>,
    /// The column with ids [default: the model's, `id`, or the row's number in a single file]
    #[arg(long, value_name = "COLUMN")]
    id: Option<String>,
    /// The column of vectors that holds all features [default: the columns the model was learned from]
    #[arg(long, value_name = "COLUMN")]
    features: Option<String>,
    /// The seed of the draws
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// How many threads may work; results do not depend on it
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Writes the rows drawn to this file: .csv, .jsonl or .parquet
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Prints JSON
    #[arg(long)]
    json: bool,
    /// No progress bar, no remarks
    #[arg(long)]
    quiet: bool,
}

/// The number of rows in the text output.
const SHOWN: usize = 10;

pub(super) fn run(arguments: &Arguments) -> Result<Output> {
    let threads = match arguments.threads {
        Some(threads @ (0 | 257..)) => bail!("--threads = {threads}, need 1 to 256"),
        Some(threads) => threads,
        None => std::thread::available_parallelism().map_or(1, NonZero::get),
    };
    let write = arguments.out.as_deref().map(|path| writer(path).map(|write| (path, write))).transpose()?;
    let file = ModelFile::read(&arguments.model)?;
    let model = Model::new(&file.header, &file.arrays);
    let model = model.map_err(|found| anyhow!("{}: {found}", arguments.model.display()))?;
    let pool = Pool::find(&arguments.pool)?;
    if let Some(path) = &arguments.out {
        check_inputs("--out", path, pool.files().iter().chain([&arguments.model]).map(PathBuf::as_path))?;
    }
    let query = Query {
        model: &model,
        rule: arguments.rule.as_deref(),
        k: usize::try_from(arguments.k)?,
        seed: arguments.seed,
        id: arguments.id.as_deref(),
        features: arguments.features.as_deref(),
    };
    // A rule relative to the pool needs two passes.
    let passes = query.rule().map_or(1, |rule| if matches!(rule, Rule::Relative(_)) { 2 } else { 1 });
    let progress = Progress::new(pool.rows()?.map(|rows| passes * rows), "rows", arguments.quiet);
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
    if let Ok(held) = progress.lock() {
        held.0.done();
    }
    if let Some((path, write)) = write {
        querist_ledger::write_atomic(path, &write(&chosen.drawn)?)
            .map_err(|error| anyhow!("the rows were not written: {error}"))?;
    }
    Ok(Output::done(describe(arguments, &chosen, &rule.name())))
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
    for (place, drawn) in drawn.iter().enumerate() {
        let SelectedRow { id, uncertainty, key, probability, inclusion } = drawn;
        let id = super::export::cell(&id.to_string(), false);
        text.push_str(&format!("{},{id},{uncertainty:?},{key:?},{probability:?},{inclusion:?}\n", place + 1));
    }
    text
}

fn lines(drawn: &[SelectedRow]) -> String {
    let lines = drawn.iter().enumerate().map(|(place, drawn)| format!("{}\n", object(place, drawn)));
    lines.collect()
}

fn object(place: usize, drawn: &SelectedRow) -> Value {
    let SelectedRow { id, uncertainty, key, probability, inclusion } = drawn;
    json!({"order": place + 1, "id": id.to_string(), "uncertainty": number(*uncertainty), "key": number(*key),
           "probability": number(*probability), "inclusion": number(*inclusion)})
}

fn describe(arguments: &Arguments, chosen: &Chosen, rule: &str) -> String {
    let mut outcome = Outcome::default();
    outcome.count("rows", "rows in the pool", chosen.rows);
    outcome.number("sum_u", "sum of U", chosen.sum);
    outcome.number("mean_u", "mean of U", chosen.mean());
    outcome.put("k", arguments.k.into());
    outcome.count("drawn", "drawn", chosen.drawn.len() as u64);
    outcome.put("seed", arguments.seed.into());
    outcome.put("rule", rule.into());
    outcome.put("threshold", json_option(chosen.threshold));
    outcome
        .line("threshold", chosen.threshold.map_or("none: all that can be drawn were".to_owned(), |key| show(key, 6)));
    if arguments.out.is_none() {
        let rows = chosen.drawn.iter().enumerate().map(|(place, drawn)| object(place, drawn));
        outcome.put("selected", rows.collect());
    }
    if arguments.json {
        return outcome.to_json();
    }
    let mut text = outcome.to_text(&format!("rows drawn by {rule}, seed {}", arguments.seed), arguments.quiet);
    if let Some(path) = &arguments.out {
        return text + &format!("\nwritten to {}\n", path.display());
    }
    let cells = |(place, drawn): (usize, &SelectedRow)| {
        let numbers = [drawn.uncertainty, drawn.probability, drawn.inclusion].map(|value| show(value, 6));
        [vec![(place + 1).to_string(), drawn.id.to_string()], numbers.to_vec()].concat()
    };
    let rows: Vec<_> = chosen.drawn.iter().enumerate().take(SHOWN).map(cells).collect();
    text.push('\n');
    text.push_str(&table::columns(&["order", "id", "U", "probability", "inclusion"], &rows));
    if SHOWN < chosen.drawn.len() {
        let more = grouped((chosen.drawn.len() - SHOWN) as u64);
        text.push_str(&format!("  … and {more} more: --out FILE or --json gives all\n"));
    }
    text
}
