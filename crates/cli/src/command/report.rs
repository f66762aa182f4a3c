//! `querist report`: a page with the figures of a run.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use querist_ledger::Ledger;
use querist_report::Figure;
use querist_report::html::{self, Page, PageBlock, Section};
use querist_run::history::History;
use querist_run::overwrite;
use serde_json::{Map, Value, json};

use crate::Output;

mod balance;
mod curve;
mod plot;
mod rate;
mod spread;
mod table;

use plot::Shown;

/// Report on a run: learning curve, query rate, probabilities, class balance
#[derive(Args)]
pub(crate) struct ReportArgs {
    /// The ledger of a run
    ledger: PathBuf,
    /// The folder to write the page and its figures to
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Print the numbers of the figures as JSON
    #[arg(long)]
    json: bool,
}

/// A figure with the name of its files and a heading for the case that there is no figure.
type Named = (&'static str, &'static str, Shown);

pub(super) fn run(arguments: &ReportArgs) -> Result<Output> {
    let ledger = Ledger::read(&arguments.ledger)?;
    let history = History::read(&ledger)?;
    let spread = if history.header["command"] == "stream" {
        ("probabilities", "Probabilities", spread::probabilities(&history))
    } else {
        ("uncertainty", "Uncertainty", spread::uncertainty(&history))
    };
    let figures = [
        ("learning-curve", "Learning curve", curve::learning_curve(&history)),
        ("query-rate", "Query rate over time", rate::query_rate(&history)),
        spread,
        ("class-balance", "Class balance", balance::class_balance(&history)),
    ];
    let numbers = as_json(&history, &figures);
    let table = table::table(&history, history.considered.iter().sum(), ledger.count("asked"));
    let mut sections = vec![Section { heading: "The run".to_owned(), id: "run".to_owned(), body: vec![table] }];
    for (name, heading, shown) in &figures {
        let block = match shown {
            Ok(figure) => PageBlock::Figure(figure.clone()),
            Err(why) => PageBlock::Paragraph(format!("There is no figure: {why}")),
        };
        sections.push(Section { heading: (*heading).to_owned(), id: (*name).to_owned(), body: vec![block] });
    }
    let page = Page { title: format!("Run of {}", arguments.ledger.display()), sections };
    let written = write(&arguments.out, &page, &figures, &numbers)?;
    let text = if arguments.json {
        numbers.to_string()
    } else {
        format!("Written to {}: {}", arguments.out.display(), written.join(", "))
    };
    Ok(Output::done(text).with_loss(&ledger))
}

/// Returns the series of the figures by name, and the reasons for missing figures.
fn as_json(history: &History, figures: &[Named]) -> Value {
    let series = |figure: &Figure| -> Value {
        let all = figure.panels.iter().flat_map(|panel| &panel.series);
        Value::Object(all.map(|series| (series.name.clone(), json!(series.points))).collect())
    };
    let (mut drawn, mut missing) = (Map::new(), Map::new());
    for (name, _, shown) in figures {
        match shown {
            Ok(figure) => drawn.insert((*name).to_owned(), series(figure)),
            Err(why) => missing.insert((*name).to_owned(), why.clone().into()),
        };
    }
    json!({"run": history.header, "finished": history.finished, "figures": drawn, "missing": missing})
}

fn write(folder: &Path, page: &Page, figures: &[Named], numbers: &Value) -> Result<Vec<String>> {
    fs::create_dir_all(folder).with_context(|| format!("--out: cannot create the folder {}", folder.display()))?;
    let mut written = vec![];
    let mut save = |name: String, bytes: &[u8]| -> Result<()> {
        let path = folder.join(&name);
        overwrite::save(&path, bytes)?;
        written.push(name);
        Ok(())
    };
    save("index.html".to_owned(), html::render(page).as_bytes())?;
    save("report.json".to_owned(), format!("{numbers:#}\n").as_bytes())?;
    for (name, _, shown) in figures {
        let Ok(figure) = shown else { continue };
        save(format!("{name}.svg"), querist_report::svg(figure).as_bytes())?;
        save(format!("{name}.png"), &querist_report::png(figure, 2.0).context("drawing a figure")?)?;
    }
    Ok(written)
}
