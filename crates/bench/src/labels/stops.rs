//! Simulated stopping: where rules stop a run, and how often they should not have.

use anyhow::bail;
use clap::Args;
use querist_engine::pool::{Precision, PrecisionGoal};
use querist_engine::stats::mean;
use querist_engine::stop::{GAIN_BATCH, Gain, StopRule};

use crate::RunArguments;
use crate::set::LabeledSet;
use crate::simulate::{CheckedEstimate, Milestone, RunPlan};

/// The runs to stop, and the rules.
#[derive(Debug, Args)]
pub(crate) struct StopArguments {
    #[command(flatten)]
    pub(crate) runs: RunArguments,
    /// A wanted half-width of the interval of accuracy, for a second set of runs
    #[arg(long)]
    precision: Option<f64>,
    /// The smallest gains that are worth 50 labels
    #[arg(long, value_delimiter = ',', default_value = "0.002")]
    gain: Vec<f64>,
}

pub(crate) fn print(arguments: &StopArguments) -> anyhow::Result<()> {
    let runs = &arguments.runs;
    let step = GAIN_BATCH as u64;
    if runs.at.windows(2).any(|pair| pair[1] - pair[0] != step) {
        bail!("--at needs numbers of labels at a distance of {step}, as in --at 50,100,150");
    }
    println!("a target that is too high: share of runs with a time when it would have stopped (stated: at most 0.025)");
    println!(
        "gain: its limit, runs stopped, mean labels, mean true gain of {step} more labels, share of false stops among all runs"
    );
    println!("precision: runs stopped, mean labels, worst half-width, share that covers, accuracy");
    for path in &runs.sets {
        let set = LabeledSet::read(path)?;
        for strategy in runs.strategies()? {
            println!("\n{} by {}", set.name, strategy.name);
            let plan = RunPlan { milestones: runs.at.clone(), batch: runs.batch, estimates: true, precision: None };
            let found = runs.run_plan(&set, &strategy, &plan)?;
            print_targets(&found);
            arguments.gain.iter().for_each(|below| print_gains(&found, &runs.at, *below));
            print_expected(&found, &runs.at);
            if let Some(precision) = arguments.precision {
                let plan = RunPlan { precision: Some(precision), ..plan };
                print_precision(&runs.run_plan(&set, &strategy, &plan)?, &runs.at, precision);
            }
        }
    }
    Ok(())
}

/// Returns the checked accuracy; R² for numbers.
fn accuracy(milestone: &Milestone) -> Option<&CheckedEstimate> {
    milestone.estimates.iter().find(|checked| ["accuracy", "R²"].contains(&checked.statistic))
}

/// Prints the share of runs in which some target above the true accuracy would have stopped, at one milestone or more.
fn print_targets(runs: &[Vec<Milestone>]) {
    let is_false = |milestone: &Milestone| {
        accuracy(milestone).is_some_and(|checked| {
            let low = checked.estimate.anytime.map_or(0.0, |(low, _)| low);
            checked.truth < low && checked.estimate.warning.is_none()
        })
    };
    let found: Vec<f64> = runs.iter().map(|run| f64::from(run.iter().any(is_false))).collect();
    println!("  target     {:>6.4} of {} runs", mean(&found), found.len());
}

/// Returns the index of the first milestone at which a rule advises to stop.
fn first_stop(run: &[Milestone], rule: &StopRule) -> Option<usize> {
    run.iter().position(|milestone| {
        milestone.assessment.as_ref().is_some_and(|assessment| rule.advise(&assessment.progress()).stop)
    })
}

/// Prints what more labels would have gained where a run was stopped. A stop is false if the mean learning curve of all
/// runs gains more than the limit there: the gain of a single run is mostly noise.
fn print_gains(runs: &[Vec<Milestone>], at: &[u64], below: f64) {
    let rule = StopRule::Gain { batch: GAIN_BATCH, below };
    let mean_at = |index: usize| {
        let reached: Vec<f64> = runs.iter().filter_map(|run| Some(run.get(index)?.accuracy)).collect();
        mean(&reached)
    };
    let gains: Vec<f64> = (1..at.len()).map(|index| mean_at(index) - mean_at(index - 1)).collect();
    let stops: Vec<usize> =
        runs.iter().filter_map(|run| first_stop(run, &rule).filter(|stop| *stop < gains.len())).collect();
    let at_stops = |value: &dyn Fn(usize) -> f64| mean(&stops.iter().map(|stop| value(*stop)).collect::<Vec<_>>());
    let labels = at_stops(&|stop| at[stop] as f64);
    let gain = at_stops(&|stop| gains[stop]);
    let false_stops = stops.iter().filter(|stop| below <= gains[**stop]).count() as f64 / runs.len() as f64;
    println!("  gain {below:<5} {:>6} {labels:>8.0} {gain:>+8.4} {false_stops:>8.3}", stops.len());
}

/// Prints the mean expected gain of a batch at each number of labels, what the mean learning curve gained, and the share
/// of runs whose upper end is below that.
fn print_expected(runs: &[Vec<Milestone>], at: &[u64]) {
    for index in 0..at.len() - 1 {
        let expected = |run: &Vec<Milestone>| {
            let (now, next) = (run.get(index)?, run.get(index + 1)?);
            let outlook = now.assessment.as_ref()?.progress().outlook()?;
            Some((outlook.gain(GAIN_BATCH), next.accuracy - now.accuracy))
        };
        let found: Vec<_> = runs.iter().filter_map(expected).collect();
        let all = |value: &dyn Fn(&(Gain, f64)) -> f64| mean(&found.iter().map(value).collect::<Vec<_>>());
        let (guess, gained) = (all(&|(gain, _)| gain.value), all(&|(_, gained)| *gained));
        let below = all(&|(gain, _)| f64::from(gain.high < gained));
        println!("  expected at {:>5} {guess:>+8.4}, gained {gained:>+8.4}, upper end below it {below:.3}", at[index]);
    }
}

fn print_precision(runs: &[Vec<Milestone>], at: &[u64], half_width: f64) {
    let rule = StopRule::Precision(Precision { goal: PrecisionGoal::Accuracy, half_width, labels: None });
    let stops: Vec<(f64, f64, f64, f64)> = runs
        .iter()
        .filter_map(|run| {
            let stop = first_stop(run, &rule)?;
            let checked = accuracy(&run[stop])?;
            let (low, high) = (checked.estimate.low, checked.estimate.high);
            let covers = f64::from(low <= checked.truth && checked.truth <= high);
            Some((at[stop] as f64, 0.5 * (high - low), covers, checked.truth))
        })
        .collect();
    let all = |value: fn(&(f64, f64, f64, f64)) -> f64| mean(&stops.iter().map(value).collect::<Vec<_>>());
    let widest = stops.iter().fold(0.0, |most: f64, stop| most.max(stop.1));
    let (labels, covers, accuracy) = (all(|stop| stop.0), all(|stop| stop.2), all(|stop| stop.3));
    println!("  precision  {:>6} {labels:>8.0} {widest:>8.4} {covers:>8.3} {accuracy:>8.4}", stops.len());
}
