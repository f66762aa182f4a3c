//! The folder of a comparison: report, numbers and figure.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::{Context, Result, bail};
use querist_run::overwrite::{check_inputs, save};

use super::figure::figure;
use super::results::ComparisonResults;

/// The files in the folder.
const FILES: [&str; 4] = ["report.txt", "comparison.json", "curves.svg", "curves.png"];

/// Creates the folder if it does not exist. Returns an error if it has files that are not those of a comparison.
pub(super) fn create<'a>(folder: &Path, inputs: &(impl Iterator<Item = &'a Path> + Clone)) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("--out: cannot create the folder {}", folder.display()))?;
    let list = || fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>();
    let mut names = list().with_context(|| format!("--out: cannot read the folder {}", folder.display()))?;
    names.sort();
    for name in names {
        if FILES.iter().all(|file| name != *file) {
            bail!(
                "--out {}: the folder has other files ({}); use a new or empty folder",
                folder.display(),
                name.to_string_lossy()
            );
        }
        check_inputs("--out", &folder.join(name), inputs.clone())?;
    }
    Ok(())
}

/// Writes the files and returns a line about them.
pub(super) fn write(folder: &Path, results: &ComparisonResults<'_>) -> Result<String> {
    let [report, numbers, svg, png] = FILES.map(|name| folder.join(name));
    let figure = figure(results);
    save(&report, results.to_text().as_bytes())?;
    save(&numbers, format!("{:#}\n", results.to_json()).as_bytes())?;
    save(&svg, querist_report::svg(&figure).as_bytes())?;
    save(&png, &querist_report::png(&figure, 2.0).context("drawing the figure")?)?;
    Ok(format!("\nWritten to {}: {}\n", folder.display(), FILES.join(", ")))
}
