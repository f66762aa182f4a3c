//! Learning curves of several strategies, and their distances from the sharpest rule and from random sampling.

use querist_engine::stats::{deviation, mean};

use crate::RunArguments;
use crate::set::LabeledSet;
use crate::simulate::Milestone;

/// A name and the values of the seeds, for each number of labels.
type EntrantScores = (String, Vec<Vec<f64>>);

pub(crate) fn print(arguments: &RunArguments) -> anyhow::Result<()> {
    let strategies = arguments.strategies()?;
    let mut summary: Vec<(String, Vec<EntrantScores>)> = vec![];
    for path in &arguments.sets {
        let set = LabeledSet::read(path)?;
        println!("\n{} ({} rows, {:?})", set.name, set.rows.len(), set.kind);
        let head: Vec<String> = arguments.at.iter().map(|labels| format!("{labels:>24}")).collect();
        println!("  {:<34} {}", "", head.concat());
        let mut scores = vec![];
        for strategy in &strategies {
            let runs = arguments.run(&set, strategy, false)?;
            for (statistic, value) in STATISTICS {
                print_line(&format!("{} {statistic}", strategy.name), &by_labels(&runs, value));
            }
            let found = by_labels(&runs, |milestone| f64::from(milestone.has_all_classes));
            if found.iter().flatten().any(|found| *found < 1.0) {
                print_line(&format!("{} all classes", strategy.name), &found);
            }
            scores.push((strategy.name.clone(), by_labels(&runs, |milestone| milestone.accuracy)));
        }
        summary.push((set.name, scores));
    }
    print_summary(arguments, &summary);
    Ok(())
}

/// A statistic of a milestone, with its name.
type Statistic = (&'static str, fn(&Milestone) -> f64);

const STATISTICS: [Statistic; 3] = [
    ("accuracy", |milestone| milestone.accuracy),
    ("log loss", |milestone| milestone.log_loss),
    ("recall", |milestone| milestone.recall),
];

/// Returns the values of all seeds, for each number of labels that all runs reached.
fn by_labels(runs: &[Vec<Milestone>], value: fn(&Milestone) -> f64) -> Vec<Vec<f64>> {
    let reached = runs.iter().map(Vec::len).min().unwrap_or(0);
    (0..reached).map(|at| runs.iter().map(|run| value(&run[at])).collect()).collect()
}

/// Prints mean ± standard error and the range of the seeds.
fn print_line(name: &str, columns: &[Vec<f64>]) {
    let cell = |values: &Vec<f64>| {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let error = deviation(values) / (values.len() as f64).sqrt();
        format!("{:>8.4} ± {error:.4} ({least:.3})", mean(values))
    };
    println!("  {name:<34} {}", columns.iter().map(cell).collect::<String>());
}

/// Prints, in points of accuracy, the mean distance of each strategy from `top`, and the sets on which it is farthest
/// behind the better one of `top` and `random`.
fn print_summary(arguments: &RunArguments, summary: &[(String, Vec<EntrantScores>)]) {
    for (column, labels) in arguments.at.iter().enumerate() {
        println!(
            "\nat {labels} labels: mean difference from top in points; worst set against the better of top and random"
        );
        let strategies = summary.first().map_or(0, |(_, scores)| scores.len());
        for strategy in 0..strategies {
            let mut differences = vec![];
            let mut worst: Option<(f64, f64, &str)> = None;
            for (set, scores) in summary {
                let of = |name: &str| scores.iter().find(|(strategy, _)| strategy == name)?.1.get(column);
                let (Some(top), Some(random), Some(own)) = (of("top"), of("random"), scores[strategy].1.get(column))
                else {
                    continue;
                };
                differences.push(100.0 * (mean(own) - mean(top)));
                let better = if mean(random) < mean(top) { top } else { random };
                let gaps: Vec<f64> = own.iter().zip(better).map(|(own, better)| 100.0 * (own - better)).collect();
                let error = deviation(&gaps) / (gaps.len() as f64).sqrt();
                if worst.is_none_or(|worst| mean(&gaps) < worst.0) {
                    worst = Some((mean(&gaps), error, set));
                }
            }
            let name = &summary[0].1[strategy].0;
            if let Some((gap, error, set)) = worst {
                println!("  {name:<34} {:>7.2}   {gap:>7.2} ± {error:.2} on {set}", mean(&differences));
            }
        }
    }
}
