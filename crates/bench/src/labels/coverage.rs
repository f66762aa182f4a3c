//! Coverage and width of intervals.

use clap::Args;
use querist_engine::estimate::Estimate;
use querist_engine::stats::mean;

use crate::set::LabeledSet;
use crate::simulate::{CheckedEstimate, Milestone, SamplingStrategy};
use crate::{RunArguments, markdown, synthetic};

const STATISTICS: [&str; 8] = ["accuracy", "loss", "R²", "log loss", "clipped", "precision", "recall", "F1"];

/// The runs whose intervals are checked.
#[derive(Debug, Args)]
pub(crate) struct CoverageArguments {
    #[command(flatten)]
    pub(crate) runs: RunArguments,
    /// Adds the synthetic pools, such as one with 1 % positives or one with wrong labels
    #[arg(long)]
    synthetic: bool,
    /// Only the synthetic pools whose names contain this
    #[arg(long, default_value = "")]
    only: String,
    /// Prints one line of a Markdown table for each pool and number of labels
    #[arg(long)]
    markdown: bool,
}

pub(crate) fn print(arguments: &CoverageArguments) -> anyhow::Result<()> {
    let CoverageArguments { runs, synthetic, only, markdown } = arguments;
    let sets = runs.sets.iter().map(|path| LabeledSet::read(path));
    let mut synthetic = if *synthetic { synthetic::all() } else { vec![] };
    synthetic.retain(|set| set.name.contains(only.as_str()));
    if *markdown {
        return markdown::print(runs, sets.chain(synthetic.into_iter().map(Ok)));
    }
    println!("fixed: share of runs that cover (`!` if the 99 % upper limit of it is below 95 %), mean width");
    for set in sets.chain(synthetic.into_iter().map(Ok)) {
        print_set(runs, &set?)?;
    }
    Ok(())
}

fn print_set(arguments: &RunArguments, set: &LabeledSet) -> anyhow::Result<()> {
    let random = if set.kind.classes() > 0 { held_out_by_random(arguments, set)? } else { vec![] };
    for strategy in arguments.strategies()? {
        println!("\n{} by {}", set.name, strategy.name);
        println!(
            "  statistic        labels    fixed   width   bias   error     anytime   width   times fixed  warned  declined  runs"
        );
        let runs = arguments.run(set, &strategy, true)?;
        for statistic in STATISTICS {
            for (at, labels) in arguments.at.iter().enumerate() {
                print_line(statistic, *labels, &runs, at);
            }
            print_whole_runs(statistic, &runs);
        }
        if set.kind.classes() > 0 {
            print_twins(&random, &runs, &arguments.at);
        }
    }
    Ok(())
}

/// Returns the mean accuracy on held-out rows with random labels, at each milestone.
fn held_out_by_random(arguments: &RunArguments, set: &LabeledSet) -> anyhow::Result<Vec<f64>> {
    let runs = arguments.run(set, &SamplingStrategy::parse("random")?, false)?;
    let at = |index: usize| runs.iter().filter_map(|run| Some(run.get(index)?.accuracy)).collect::<Vec<_>>();
    Ok((0..arguments.at.len()).map(|index| mean(&at(index))).collect())
}

/// Prints how often the intervals of random sampling contain its mean accuracy.
fn print_twins(random: &[f64], runs: &[Vec<Milestone>], at: &[u64]) {
    for (index, (labels, truth)) in at.iter().zip(random).enumerate() {
        let twin = |run: &Vec<Milestone>| run.get(index)?.assessment.as_ref()?.twin_at_equal_labels;
        let twins: Vec<Estimate> = runs.iter().filter_map(twin).collect();
        let all = |value: &dyn Fn(&Estimate) -> f64| mean(&twins.iter().map(value).collect::<Vec<_>>());
        let covered = all(&|twin| f64::from(twin.low <= *truth && *truth <= twin.high));
        let (width, bias) = (all(&|twin| twin.high - twin.low), all(&|twin| twin.value - truth));
        println!("  as if random   {labels:>8} {covered:>8.3} {width:>7.3} {bias:>+7.4} {:>51}", twins.len());
    }
}

pub(crate) fn find<'a>(milestone: &'a Milestone, statistic: &str) -> Option<&'a CheckedEstimate> {
    milestone.estimates.iter().find(|checked| checked.statistic == statistic)
}

fn print_line(statistic: &str, labels: u64, runs: &[Vec<Milestone>], at: usize) {
    let checked: Vec<&CheckedEstimate> =
        runs.iter().filter_map(|run| run.get(at).and_then(|milestone| find(milestone, statistic))).collect();
    if checked.is_empty() {
        return;
    }
    let all =
        |value: fn(&CheckedEstimate) -> f64| mean(&checked.iter().map(|checked| value(checked)).collect::<Vec<_>>());
    let covered = all(|c| f64::from(c.estimate.low <= c.truth && c.truth <= c.estimate.high));
    // Where a mean cannot be bounded, its interval has no width.
    let widths: Vec<f64> =
        checked.iter().map(|c| c.estimate.high - c.estimate.low).filter(|width| width.is_finite()).collect();
    let (width, declined) = (mean(&widths), 1.0 - widths.len() as f64 / checked.len() as f64);
    let mark = if is_too_low(covered, checked.len()) { '!' } else { ' ' };
    let bias = all(|c| c.estimate.value - c.truth);
    let error = all(|c| (c.estimate.value - c.truth).powi(2)).sqrt();
    print!("  {statistic:<14} {labels:>8} {covered:>8.3}{mark}{width:>7.4} {bias:>+7.4} {error:>7.4}");
    if checked.iter().all(|c| c.estimate.anytime.is_some()) {
        let ends = |c: &CheckedEstimate| c.estimate.anytime.unwrap_or((f64::NAN, f64::NAN));
        let inside: Vec<f64> =
            checked.iter().map(|c| f64::from(ends(c).0 <= c.truth && c.truth <= ends(c).1)).collect();
        let widths: Vec<f64> = checked.iter().map(|c| ends(c).1 - ends(c).0).collect();
        print!("    {:>8.3} {:>7.3} {:>8.2}", mean(&inside), mean(&widths), mean(&widths) / width);
    } else {
        print!("    {:>8} {:>7} {:>8}", "-", "-", "-");
    }
    println!(
        "        {:>6.3}    {declined:>6.3} {:>5}",
        all(|c| f64::from(c.estimate.warning.is_some())),
        checked.len()
    );
}

/// Prints the share of runs whose anytime-valid interval covers the truth at every milestone.
fn print_whole_runs(statistic: &str, runs: &[Vec<Milestone>]) {
    let whole = whole_runs(statistic, runs);
    if !whole.is_empty() {
        println!("  {statistic:<14} whole runs covered by the anytime interval: {:.3}", mean(&whole));
    }
}

/// Returns, for each run with anytime-valid intervals, 1 if they cover the truth at every milestone, else 0.
pub(crate) fn whole_runs(statistic: &str, runs: &[Vec<Milestone>]) -> Vec<f64> {
    let covers = |run: &Vec<Milestone>| {
        let ends = run.iter().filter_map(|milestone| {
            let checked = find(milestone, statistic)?;
            checked.estimate.anytime.map(|(low, high)| low <= checked.truth && checked.truth <= high)
        });
        let ends: Vec<bool> = ends.collect();
        (!ends.is_empty()).then(|| f64::from(ends.iter().all(|inside| *inside)))
    };
    runs.iter().filter_map(covers).collect()
}

/// Returns whether the 99 % upper Clopper–Pearson limit of a coverage is below 95 %: whether at most this many hits
/// among n have a probability below 1 % if each has a probability of 95 %.
pub(crate) fn is_too_low(covered: f64, n: usize) -> bool {
    const LEVEL: f64 = 0.95;
    let hits = (covered * n as f64).round() as usize;
    // The binomial distribution, term by term from 0 hits, in logarithms.
    let (mut term, mut below) = (n as f64 * (1.0 - LEVEL).ln(), 0.0);
    for hit in 0..=hits {
        below += term.exp();
        term += ((n - hit) as f64 / (hit + 1) as f64).ln() + (LEVEL / (1.0 - LEVEL)).ln();
    }
    below < 0.01
}
