//! The table of coverage, in Markdown.

use std::io::Write as _;

use querist_engine::stats::mean;

use crate::RunArguments;
use crate::coverage::{self, find, is_too_low};
use crate::set::LabeledSet;
use crate::simulate::{CheckedEstimate, Milestone};

/// The columns: a name, the statistic for classes, and the one for numbers.
const COLUMNS: [(&str, &str, &str); 6] = [
    ("accuracy", "accuracy", ""),
    ("loss", "log loss", "loss"),
    ("clipped loss", "clipped", "clipped"),
    ("precision", "precision", ""),
    ("recall", "recall", ""),
    ("F1", "F1", ""),
];

/// Prints a line for each set, strategy and number of labels. A cell has the coverage and the mean width of fixed-sample
/// intervals, and after a slash of anytime-valid ones; bold if the 99 % upper limit of the coverage is below 95 %.
pub(crate) fn print(
    arguments: &RunArguments,
    sets: impl Iterator<Item = anyhow::Result<LabeledSet>>,
) -> anyhow::Result<()> {
    println!("| pool | labels | {} | accuracy, whole runs |", COLUMNS.map(|(name, ..)| name).join(" | "));
    println!("|---|---|{}---|", "---|".repeat(COLUMNS.len()));
    let several = 1 < arguments.strategies()?.len();
    for set in sets {
        let set = set?;
        for strategy in arguments.strategies()? {
            let runs = arguments.run(&set, &strategy, true)?;
            let name = if several { format!("{} by {}", set.name, strategy.name) } else { set.name.clone() };
            for (at, labels) in arguments.at.iter().enumerate() {
                let cell = |(_, of_classes, of_numbers): (&str, &str, &str)| {
                    of_runs(&runs, at, if set.kind.classes() > 0 { of_classes } else { of_numbers })
                };
                let whole = if at + 1 == arguments.at.len() { whole_runs(&runs) } else { String::new() };
                println!("| {name} | {labels} | {} | {whole} |", COLUMNS.map(cell).join(" | "));
            }
            std::io::stdout().flush()?;
        }
    }
    Ok(())
}

/// Returns the percentage of runs whose anytime-valid interval of accuracy covers the truth at every milestone.
fn whole_runs(runs: &[Vec<Milestone>]) -> String {
    let covers = coverage::whole_runs("accuracy", runs);
    if covers.is_empty() { "–".to_owned() } else { percentage(mean(&covers), covers.len()) }
}

/// Returns a coverage in percent, bold if it is too low.
fn percentage(covered: f64, runs: usize) -> String {
    let text = format!("{:.1}", 100.0 * covered);
    if is_too_low(covered, runs) { format!("**{text}**") } else { text }
}

fn of_runs(runs: &[Vec<Milestone>], at: usize, statistic: &str) -> String {
    let checked: Vec<&CheckedEstimate> =
        runs.iter().filter_map(|run| run.get(at).and_then(|milestone| find(milestone, statistic))).collect();
    if checked.is_empty() {
        return "–".to_owned();
    }
    let fixed: Vec<(f64, f64, f64)> = checked.iter().map(|c| (c.estimate.low, c.truth, c.estimate.high)).collect();
    let anytime: Vec<(f64, f64, f64)> =
        checked.iter().filter_map(|c| c.estimate.anytime.map(|(low, high)| (low, c.truth, high))).collect();
    let fixed = coverage_and_width(&fixed);
    if anytime.is_empty() { fixed } else { format!("{fixed} / {}", coverage_and_width(&anytime)) }
}

/// Returns the coverage in percent and the mean width of those that are bounded.
fn coverage_and_width(intervals: &[(f64, f64, f64)]) -> String {
    let covers: Vec<f64> =
        intervals.iter().map(|(low, truth, high)| f64::from(low <= truth && truth <= high)).collect();
    let widths: Vec<f64> =
        intervals.iter().map(|(low, _, high)| high - low).filter(|width| width.is_finite()).collect();
    let covered = percentage(mean(&covers), covers.len());
    let unbounded = 1.0 - widths.len() as f64 / intervals.len() as f64;
    let declined = if 0.0 < unbounded { format!(", {:.0} % declined", 100.0 * unbounded) } else { String::new() };
    let width = if widths.is_empty() { "–".to_owned() } else { format!("{:.3}", mean(&widths)) };
    format!("{covered} ({width}{declined})")
}
