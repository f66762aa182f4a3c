//! Measures forests: `cargo run --release -p querist-engine --example forest` prints the times of fits and scores,
//! and `… --example forest -- 400 FILE.csv…` the quality with 400 random answers.
//!
//! A file has numbers without a header, the label last. Labels that are all whole numbers from 0 to 99 are classes.

#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "a measurement prints times")]

use std::error::Error;
use std::time::Instant;

use querist_engine::coin::{Coin, shuffled};
use querist_engine::forest::{Forest, ForestSettings};
use querist_engine::task::{self, Labels};
use querist_rows::{DenseRows, Rows};
use rayon::prelude::*;

const DIM: usize = 20;
const ANSWERS: usize = 400;
const SEEDS: u64 = 10;
/// The most rows of which predictions are tested.
const TESTS: usize = 2000;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((answers, files)) = arguments.split_first() else {
        for kind in [Labels::Binary, Labels::Classes(5), Labels::Classes(26), Labels::Numbers] {
            time(kind)?;
        }
        return Ok(());
    };
    for file in files {
        let (rows, labels, kind) = read(file)?;
        let (quality, loss) = compare(&rows, &labels, kind, answers.parse()?)?;
        println!("{file}: {quality:.4} right (R² in regression), loss {loss:.4}");
    }
    Ok(())
}

/// Measures a fit and the scores of a million rows. The shortest of some times counts.
fn time(kind: Labels) -> Result<(), Box<dyn Error>> {
    let (x, noise) = (Coin::new(1, "x"), Coin::new(1, "noise"));
    let values: Vec<f32> = (0..1_000_000 * DIM as u64).map(|at| 2.0 * x.unit(at) as f32 - 1.0).collect();
    let label = |row: &[f32], at: u64| {
        let lean = f64::from(row[0] + row[1] * row[2] + 0.5 * row[3]) + noise.unit(at) - 0.5;
        match kind {
            Labels::Binary => kind.label(usize::from(0.0 < lean)),
            Labels::Classes(classes) => ((lean + 1.5) / 3.0 * classes as f64).clamp(0.0, classes as f64 - 1.0).floor(),
            Labels::Numbers => lean,
        }
    };
    let labels: Vec<f64> = values.chunks_exact(DIM).take(ANSWERS).zip(0..).map(|(row, at)| label(row, at)).collect();
    let rows = Rows::Dense(DenseRows::from_values(DIM, values).ok_or("whole rows")?);
    let answered = picked(&rows, &(0..ANSWERS as u32).collect::<Vec<_>>());
    let mut fastest = f64::INFINITY;
    let mut fit = || {
        let start = Instant::now();
        let forest = Forest::fit(&answered, &labels, &[1.0; ANSWERS], kind, &ForestSettings::default(), 1);
        fastest = fastest.min(start.elapsed().as_secs_f64() * 1e3);
        forest
    };
    (0..20).try_for_each(|_| fit().map(|_| ()))?;
    let forest = fit()?;
    let outputs = forest.outputs();
    let mut scores = vec![0.0; rows.len() * outputs];
    let start = Instant::now();
    scores.par_chunks_mut(4096 * outputs).enumerate().for_each(|(block, out)| {
        let first = 4096 * block;
        forest.scores_of_rows(&rows, first..first + out.len() / outputs, out);
    });
    let scored = start.elapsed().as_secs_f64();
    println!("{kind:?}: fit of {ANSWERS} × {DIM} {fastest:.1} ms, scores of {} rows {scored:.2} s", rows.len());
    Ok(())
}

/// Returns the rows at these indices.
fn picked(rows: &Rows, indices: &[u32]) -> Rows {
    let mut picked = rows.empty_like();
    for row in indices {
        picked.push(rows.row(*row as usize));
    }
    picked
}

/// Reads rows and labels.
fn read(file: &str) -> Result<(Rows, Vec<f64>, Labels), Box<dyn Error>> {
    let (mut values, mut labels, mut dim) = (vec![], vec![], 0);
    for line in std::fs::read_to_string(file)?.lines() {
        let (features, label) = line.rsplit_once(',').ok_or("a line needs a feature and a label")?;
        let before = values.len();
        for value in features.split(',') {
            values.push(if value.is_empty() { f32::NAN } else { value.parse()? });
        }
        dim = values.len() - before;
        labels.push(label.parse()?);
    }
    let largest = labels.iter().copied().fold(0.0, f64::max);
    let kind = match largest as usize + 1 {
        _ if largest >= 100.0 || !labels.iter().all(|label| Labels::Classes(100).contain(*label)) => Labels::Numbers,
        2 => Labels::Binary,
        classes => Labels::Classes(classes),
    };
    if kind == Labels::Binary {
        for label in &mut labels {
            *label = 2.0 * *label - 1.0;
        }
    }
    let rows = DenseRows::from_values(dim, values).ok_or("lines with as many numbers as others")?;
    Ok((Rows::Dense(rows), labels, kind))
}

/// Returns the mean quality and loss on rows that were not answered.
fn compare(rows: &Rows, labels: &[f64], kind: Labels, answers: usize) -> Result<(f64, f64), Box<dyn Error>> {
    let task = task::parse(kind.default_loss(), kind)?;
    let (mut quality, mut loss) = (0.0, 0.0);
    for seed in 0..SEEDS {
        let order = shuffled(Coin::new(seed, "split"), rows.len());
        let (train, test) = order.split_at_checked(answers).ok_or("the file has too few rows")?;
        let test = &test[..test.len().min(TESTS)];
        let label = |rows: &[u32]| -> Vec<f64> { rows.iter().map(|row| labels[*row as usize]).collect() };
        let weights = vec![1.0; answers];
        let settings = ForestSettings::default();
        let forest = Forest::fit(&picked(rows, train), &label(train), &weights, kind, &settings, seed)?;
        let expected = label(test);
        let mut scores = vec![0.0; test.len() * forest.outputs()];
        forest.scores_of_rows(&picked(rows, test), 0..test.len(), &mut scores);
        let mean = expected.iter().sum::<f64>() / expected.len() as f64;
        let (mut right, mut errors, mut variance) = (0.0, 0.0, 0.0);
        for (scores, label) in scores.chunks_exact(forest.outputs()).zip(&expected) {
            loss += task.loss(scores, *label) / (test.len() as f64 * SEEDS as f64);
            right += f64::from(task.decide(scores) == *label) / test.len() as f64;
            errors += (scores[0] - label).powi(2);
            variance += (mean - label).powi(2);
        }
        quality += if task.is_classification() { right } else { 1.0 - errors / variance } / SEEDS as f64;
    }
    Ok((quality, loss))
}
