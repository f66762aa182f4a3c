//! What a run ends in: numbers to print, a model to keep.

use std::path::Path;

use anyhow::{Result, anyhow};
use querist_data::{Batch, Encoder, shown};
use querist_engine::index::Coefficients;
use querist_engine::learner::{Diverged, Learner};
use querist_engine::scorer::{Score, Scorer, Tally};
use querist_engine::task::Task;
use querist_ledger::ModelFile;
use serde_json::{Map, Value, json};

use super::output::{OutputArgs, spare};
use super::record::Recorder;
use crate::Output;
use crate::number::{json as number, show};
use querist_tell::table::wrap;

/// Named numbers in the order they are told.
#[derive(Default)]
pub(crate) struct Outcome {
    fields: Map<String, Value>,
    lines: Vec<(String, String)>,
    /// Whole sentences for the end.
    pub(crate) remarks: Vec<String>,
}

/// More parameters than this are kept for the model file.
const MOST_SHOWN: usize = 1000;

impl Outcome {
    /// A number.
    pub(crate) fn number(&mut self, key: &str, what: &str, value: f64) {
        self.put(key, number(value));
        self.line(what, show(value, 6));
    }

    /// A count.
    pub(crate) fn count(&mut self, key: &str, what: &str, value: u64) {
        self.put(key, value.into());
        self.line(what, grouped(value));
    }

    /// A field for programs alone.
    pub(crate) fn put(&mut self, key: &str, value: Value) {
        self.fields.insert(key.to_owned(), value);
    }

    /// A line for people alone.
    pub(crate) fn line(&mut self, what: &str, value: impl Into<String>) {
        self.lines.push((what.to_owned(), value.into()));
    }

    /// What was read, and what is odd about it.
    pub(crate) fn data(&mut self, encoder: &Encoder) {
        self.put("data", encoder.describe().into());
        self.put("classes", json!(encoder.classes()));
        self.put("data_remarks", json!(encoder.remarks()));
        self.line("data", encoder.describe());
        self.remarks.extend_from_slice(encoder.remarks());
    }

    /// θ and θ̄, where every feature has a number and there are few.
    pub(crate) fn parameters(&mut self, found: &Coefficients) {
        let (theta, mean) = (&found.theta, &found.mean);
        for (key, values) in [("theta", theta), ("mean", mean)] {
            let few = found.features.is_none() && values.len() <= MOST_SHOWN;
            let list = || values.iter().map(|value| number(*value)).collect();
            self.put(key, if few { Value::Array(list()) } else { Value::Null });
        }
        if found.features.is_none() && theta.len() <= 8 {
            let shown = |values: &[f64]| values.iter().map(|value| show(*value, 6)).collect::<Vec<_>>().join(", ");
            if theta == mean {
                self.line("parameters w…, b", shown(theta));
            } else {
                self.line("last parameters w…, b", shown(theta));
                self.line("their average", shown(mean));
            }
        }
    }

    /// How the model does on rows that were never used.
    pub(crate) fn test(&mut self, mean: Score, last: Score, is_classification: bool) {
        if mean.rows == 0 {
            self.put("test", Value::Null);
            self.remarks.push("there are no test rows to measure the model on".to_owned());
            return;
        }
        let (key, what) = if is_classification { ("accuracy", "accuracy") } else { ("r_squared", "R²") };
        self.put(
            "test",
            json!({"rows": mean.rows, key: number(mean.accuracy), "loss": number(mean.loss),
                   format!("{key}_last"): number(last.accuracy), "loss_last": number(last.loss)}),
        );
        let rows = grouped(mean.rows as u64);
        let of_last = format!(" (last parameters {})", show(last.accuracy, 4));
        // A fit has no average of its own.
        let of_last = if mean == last { "" } else { &of_last };
        self.line(&format!("test {what} on {rows} rows"), format!("{}{of_last}", show(mean.accuracy, 4)));
    }

    /// For programs.
    pub(crate) fn to_json(&self) -> String {
        Value::Object(self.fields.clone()).to_string()
    }

    /// For people; without remarks where they want quiet.
    pub(crate) fn to_text(&self, title: &str, quiet: bool) -> String {
        let lines: Vec<(String, String)> = self.lines.iter().map(|(what, value)| (tame(what), tame(value))).collect();
        let width = lines.iter().map(|(what, _)| what.chars().count()).max().unwrap_or(0);
        let mut text = format!("{title}\n\n");
        for (what, value) in &lines {
            text.push_str(&wrap(&format!("  {what:width$}  "), value));
        }
        for remark in self.remarks.iter().filter(|_| !quiet) {
            text.push('\n');
            text.push_str(&wrap("", &tame(remark)));
        }
        text
    }
}

/// Names of classes come from files, and what stands in a file must not steer a terminal.
fn tame(text: &str) -> String {
    shown(&text.replace('\n', " "))
}

/// How a run is kept: the model in its file, what came of it in its ledger.
pub(crate) fn keep(
    outcome: &mut Outcome,
    naming: &Naming<'_>,
    found: &Coefficients,
    output: &OutputArgs,
    recorder: &mut Recorder,
) -> Result<()> {
    if output.model.is_none() && !recorder.is_on() {
        return Ok(());
    }
    let model = model(naming, found)?;
    if let Some(path) = &output.model {
        write_model(path, &model)?;
        outcome.line("model", path.display().to_string());
    }
    if recorder.is_on() {
        recorder.note("finished", &outcome.to_json())?;
        recorder.note("model", &model.checksum())?;
    }
    Ok(())
}

/// What a run prints, and its exit code.
pub(crate) fn say(
    outcome: &Outcome,
    naming: &Naming<'_>,
    (how, seed): (&str, u64),
    output: &OutputArgs,
    stopped: Option<Diverged>,
    theta: &[f64],
) -> Output {
    let title = format!("{} queried by {}, {how}, seed {seed}", naming.loss, naming.rule);
    let text = if output.json { outcome.to_json() } else { outcome.to_text(&title, output.quiet) };
    let missing = stopped.map(|diverged| {
        let kept = match theta.iter().fold(0.0, |most: f64, value| most.max(value.abs())) {
            size @ 1e6.. => format!("the model is the one before it, of no use with parameters up to {size:.0e}"),
            _ => "the model is the last good one".to_owned(),
        };
        format!("{diverged}\n  {kept}; try a smaller step, `--step auto` or `--radius`")
    });
    Output { text, code: if stopped.is_some() { 2 } else { 0 }, missing }
}

/// 1234567 → 1,234,567.
pub(crate) fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if 0 < place && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns a number with its noun: `1 item`, `1,200 items`.
pub(crate) fn counted(value: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(value), if value == 1 { "" } else { "s" })
}

/// Scores of θ̄ and θ on labeled rows that come block by block.
pub(crate) struct Scoring<'a> {
    task: &'a dyn Task,
    mean: (Scorer, Tally),
    last: (Scorer, Tally),
}

impl<'a> Scoring<'a> {
    /// No rows yet.
    pub(crate) fn new(learner: &'a Learner, found: &Coefficients, dim: usize) -> Self {
        let task = learner.task();
        let scorer = |parameters: &[f64]| (Scorer::of(task.outputs(), found, parameters, dim), Tally::default());
        Self { task, mean: scorer(&found.mean), last: scorer(&found.theta) }
    }

    /// The rows at these places of a batch.
    pub(crate) fn add(&mut self, test: &Batch, places: impl Iterator<Item = usize> + Clone) {
        let Self { task, mean, last } = self;
        mean.0.tally(*task, &test.rows, &test.labels, places.clone(), &mut mean.1);
        last.0.tally(*task, &test.rows, &test.labels, places, &mut last.1);
    }

    /// Of θ̄ and of θ.
    pub(crate) fn scores(&self) -> (Score, Score) {
        (self.mean.1.score(self.task), self.last.1.score(self.task))
    }
}

/// What a model file says besides its parameters.
#[derive(Clone, Copy)]
pub(crate) struct Naming<'a> {
    pub(crate) loss: &'a str,
    pub(crate) rule: &'a str,
    pub(crate) outputs: usize,
    pub(crate) encoder: Option<&'a Encoder>,
}

/// The model as a file.
pub(crate) fn model(naming: &Naming<'_>, found: &Coefficients) -> Result<ModelFile> {
    let encoder = naming.encoder.map(Encoder::to_json).map(|text| serde_json::from_str::<Value>(&text)).transpose()?;
    let header = json!({
        "loss": naming.loss,
        "rule": naming.rule,
        "outputs": naming.outputs,
        "order": match &found.features {
            None => "weights feature by feature, then the intercept",
            Some(_) => "weights of the features in `index`, then the intercept; other features have weight 0",
        },
        "encoder": encoder,
    });
    let index = found.features.iter().map(|features| features.iter().map(|feature| f64::from(*feature)).collect());
    let mut arrays: Vec<(String, Vec<f64>)> = index.map(|index| ("index".to_owned(), index)).collect();
    arrays.extend([("theta".to_owned(), found.theta.clone()), ("mean".to_owned(), found.mean.clone())]);
    Ok(ModelFile { header: header.to_string(), arrays })
}

/// Writes the model.
pub(crate) fn write_model(path: &Path, model: &ModelFile) -> Result<()> {
    spare(path)?;
    // The message has its cause in it already.
    model.write(path).map_err(|error| anyhow!("the model was not written: {error}"))
}
