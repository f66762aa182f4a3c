//! Speed ratios to the same algorithms in C, measured alternately on one machine.

#![allow(clippy::print_stdout, reason = "printing the table is the purpose of this program")]

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Parser;

mod line;
mod measure;
mod yardstick;
mod data;
mod learner;
mod stream;
mod models;
mod pool;
mod text;
mod readers;
mod resident;
mod fits;

use line::Measurement;
use yardstick::Yardstick;

/// Measures the engine and the yardstick in turn and prints ratios; a bar is the largest ratio that is wanted.
#[derive(Debug, Parser)]
struct BenchArguments {
    /// What to measure: stream-mixture, stream-memory, pool-reject, pool-scan, models, text, readers, memory, fits, or the
    /// beginning of a measurement's name; everything where none is given
    names: Vec<String>,
    /// How often; medians are shown
    #[arg(long, default_value_t = 5)]
    repeat: usize,
    /// Writes the figures to a file, too
    #[arg(long, value_name = "PATH")]
    json: Option<PathBuf>,
    /// A Python that has the vowpalwabbit package, and for fits scikit-learn
    #[arg(long, value_name = "PATH", default_value = "python3")]
    python: String,
    /// A file with a column `label`, for fits; synthetic texts by default
    #[arg(long, value_name = "PATH")]
    data: Option<PathBuf>,
    /// The column of that file with texts, if it has one
    #[arg(long, value_name = "NAME")]
    text: Option<String>,
    /// Loads a file and prints how much memory that took, in bytes
    #[arg(long, hide = true, value_name = "PATH")]
    load: Option<PathBuf>,
}

/// The context of every measurement.
struct Bench {
    yardstick: Yardstick,
    names: Vec<String>,
    repeat: usize,
    python: String,
    data: Option<PathBuf>,
    text: Option<String>,
}

/// Measurements that share a name prefix.
type Group = (&'static str, fn(&Bench) -> anyhow::Result<Vec<Measurement>>);

const GROUPS: [Group; 9] = [
    ("stream-mixture", stream::mixture),
    ("stream-memory", stream::memory),
    ("pool-reject", pool::reject),
    ("pool-scan", pool::scan),
    ("models", models::measure),
    ("text", text::text),
    ("readers", readers::readers),
    ("memory", resident::memory),
    ("fits", fits::fits),
];

impl Bench {
    /// Returns whether a measurement was requested.
    fn wants(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|wanted| name.starts_with(wanted.as_str()))
    }

    /// Returns whether any measurement of a group was requested.
    fn wants_any(&self, group: &str) -> bool {
        self.wants(group) || self.names.iter().any(|wanted| wanted.starts_with(group))
    }
}

fn main() -> anyhow::Result<()> {
    let BenchArguments { names, repeat, json, python, data, text, load } = BenchArguments::parse();
    if let Some(path) = load {
        println!("{}", resident::load(path)?);
        return Ok(());
    }
    let known = |name: &&String| GROUPS.iter().any(|(group, _)| group.starts_with(*name) || name.starts_with(group));
    if let Some(odd) = names.iter().find(|name| !known(name)) {
        let groups: Vec<&str> = GROUPS.iter().map(|(group, _)| *group).collect();
        bail!("nothing is called `{odd}`; there are {}", groups.join(", "));
    }
    let yardstick = Yardstick::build()?;
    let bench = Bench { yardstick, names, repeat: repeat.max(1), python, data, text };
    println!("{}", line::HEAD);
    let mut lines = vec![];
    for (group, run) in GROUPS {
        if bench.wants_any(group) {
            for line in run(&bench).with_context(|| format!("in {group}"))? {
                println!("{line}");
                lines.push(line);
            }
        }
    }
    let missed = lines.iter().filter(|line| line.meets_bar() == Some(false)).count();
    println!("\n{missed} of {} bars missed", lines.iter().filter(|line| line.meets_bar().is_some()).count());
    if let Some(path) = json {
        let text = serde_json::to_string_pretty(&lines.iter().map(Measurement::to_json).collect::<Vec<_>>())?;
        std::fs::write(&path, text + "\n").with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
