//! `querist report`: a page with the figures of a run.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use querist_ledger::Ledger;
use querist_report::html;
use querist_run::overwrite;
use querist_run::report::{RunFigure, RunReport};

use crate::Output;

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

pub(super) fn run(arguments: &ReportArgs) -> Result<Output> {
    let ledger = Ledger::read(&arguments.ledger)?;
    let report = RunReport::of(&ledger)?;
    let written = write(&arguments.out, &report)?;
    let text = if arguments.json {
        report.numbers.to_string()
    } else {
        format!("Written to {}: {}", arguments.out.display(), written.join(", "))
    };
    Ok(Output::done(text).with_loss(&ledger))
}

fn write(folder: &Path, report: &RunReport) -> Result<Vec<String>> {
    fs::create_dir_all(folder).with_context(|| format!("--out: cannot create the folder {}", folder.display()))?;
    let mut written = vec![];
    let mut save = |name: String, bytes: &[u8]| -> Result<()> {
        let path = folder.join(&name);
        overwrite::save(&path, bytes)?;
        written.push(name);
        Ok(())
    };
    save("index.html".to_owned(), html::render(&report.page).as_bytes())?;
    save("report.json".to_owned(), format!("{:#}\n", report.numbers).as_bytes())?;
    for RunFigure { name, figure, .. } in &report.figures {
        let Ok(figure) = figure else { continue };
        save(format!("{name}.svg"), querist_report::svg(figure).as_bytes())?;
        save(format!("{name}.png"), &querist_report::png(figure, 2.0).context("drawing a figure")?)?;
    }
    Ok(written)
}
