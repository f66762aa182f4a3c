//! `querist predict`: what a model says of rows.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use querist_data::{Encoder, Options, load_with};
use querist_engine::scorer::Scorer;
use querist_engine::task::{self, Labels};
use querist_ledger::ModelFile;
use serde_json::{Value, json};

use crate::Output;
use crate::labelling::source;
use crate::number::json as number;
use crate::run::files::input;

/// What a model says of rows: labels, with their probabilities where the loss has some
#[derive(Args)]
pub(crate) struct Arguments {
    /// The model
    model: PathBuf,
    /// The rows
    data: PathBuf,
    /// How the predictions are written
    #[arg(long, value_enum, default_value = "csv")]
    format: Format,
    /// Leaves out rows that cannot be read
    #[arg(long)]
    skip_bad_rows: bool,
}

/// How predictions are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// id,label,probability
    Csv,
    /// {"id","label","probability"}
    Jsonl,
}

pub(super) fn run(arguments: &Arguments) -> Result<Output> {
    let model = ModelFile::read(&arguments.model)?;
    let header: Value = serde_json::from_str(&model.header).context("the model's header")?;
    if header["encoder"].is_null() {
        bail!("{}: the model does not say how rows are made", arguments.model.display());
    }
    let encoder = Encoder::from_json(&header["encoder"].to_string()).map_err(anyhow::Error::msg)?;
    let labels = source::labels(&encoder)?;
    let loss = header["loss"].as_str().context("the model's loss")?;
    let task = task::parse(loss, labels)?;
    let parameters = model.arrays.iter().find(|(name, _)| name == "mean").context("the model's parameters")?;
    let mut scorer = Scorer::new(task.outputs(), &parameters.1);
    let options = Options { unlabeled: true, skip_bad_rows: arguments.skip_bad_rows, ..Options::default() };
    let (batch, bad) = load_with(&encoder, &input(&arguments.data), &options)?;
    scorer.widen(batch.rows.dim());
    let mut scores = vec![0.0; task.outputs()];
    let mut text = vec![];
    if arguments.format == Format::Csv {
        writeln!(text, "id,label,probability")?;
    }
    for row in 0..batch.rows.len() {
        scorer.scores(batch.rows.row(row), &mut scores);
        let label = encoder.decode(task.decide(&scores));
        let probability = probability(loss, labels, &scores);
        let id = batch.ids.get(row);
        match arguments.format {
            Format::Csv => {
                let shown = probability.map_or(String::new(), |p| format!("{p:.6}"));
                writeln!(text, "{},{},{shown}", super::export::cell(&id, false), super::export::cell(&label, false))?;
            }
            Format::Jsonl => {
                let label = if labels == Labels::Numbers { number(task.decide(&scores)) } else { label.into() };
                writeln!(text, "{}", json!({"id": id, "label": label, "probability": probability.map(number)}))?;
            }
        }
    }
    let missing = (0 < bad.skipped).then(|| format!("{} rows that cannot be read were left out", bad.skipped));
    Ok(Output { text: String::from_utf8(text)?, code: 0, missing })
}

/// The probability of the label that is decided on, where the loss is one of probabilities.
fn probability(loss: &str, labels: Labels, scores: &[f64]) -> Option<f64> {
    match (labels, loss) {
        (Labels::Binary, "logistic" | "cross-entropy") => Some(1.0 / (1.0 + (-scores[0].abs()).exp())),
        (Labels::Classes(_), "cross-entropy" | "softmax-cross-entropy") => {
            let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            Some(1.0 / scores.iter().map(|score| (score - most).exp()).sum::<f64>())
        }
        _ => None,
    }
}
