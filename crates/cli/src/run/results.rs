//! The results of a run: numbers to print and a model to save.

use anyhow::Result;
use querist_data::{Encoder, escape_control};
use querist_engine::index::Coefficients;
use querist_engine::learner::Diverged;
use querist_engine::scorer::Score;
use querist_render::table::wrap;
use querist_run::model_file::{ModelHeader, ModelParameters, model, write_model};
use querist_run::record::Recorder;
use querist_run::text::grouped;
use serde_json::{Map, Value, json};

use super::output::OutputArgs;
use crate::Output;
use crate::number::{json as number, show};

/// Named results in the order in which they are printed.
#[derive(Default)]
pub(crate) struct PrintedResults {
    fields: Map<String, Value>,
    lines: Vec<(String, String)>,
    /// Sentences that are printed after the results.
    pub(crate) remarks: Vec<String>,
}

/// The largest number of parameters in the JSON output; the model file has all of them.
const MOST_SHOWN: usize = 1000;

impl PrintedResults {
    /// Adds a number as a field and as a line.
    pub(crate) fn number(&mut self, key: &str, what: &str, value: f64) {
        self.put(key, number(value));
        self.line(what, show(value, 6));
    }

    /// Adds a count as a field and as a line.
    pub(crate) fn count(&mut self, key: &str, what: &str, value: u64) {
        self.put(key, value.into());
        self.line(what, grouped(value));
    }

    /// Adds a field that only the JSON output has.
    pub(crate) fn put(&mut self, key: &str, value: Value) {
        self.fields.insert(key.to_owned(), value);
    }

    /// Adds a line that only the text output has.
    pub(crate) fn line(&mut self, what: &str, value: impl Into<String>) {
        self.lines.push((what.to_owned(), value.into()));
    }

    /// Adds a description of the data, its classes and the remarks about it.
    pub(crate) fn data(&mut self, encoder: &Encoder) {
        self.put("data", encoder.describe().into());
        self.put("classes", json!(encoder.classes()));
        self.put("data_remarks", json!(encoder.remarks()));
        self.line("data", encoder.describe());
        self.remarks.extend_from_slice(encoder.remarks());
    }

    /// Adds θ and θ̄ if there are few features and they are dense; otherwise the fields are null, as for models that are not
    /// linear.
    pub(crate) fn parameters(&mut self, found: Option<&Coefficients>) {
        let Some(found) = found else {
            self.put("theta", Value::Null);
            self.put("mean", Value::Null);
            return;
        };
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

    /// Adds the scores of the model on the test rows.
    pub(crate) fn test(&mut self, mean: Score, last: Score, is_classification: bool) {
        if mean.rows == 0 {
            self.put("test", Value::Null);
            self.remarks.push("there are no test rows".to_owned());
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
        // A fitted model has no averaged parameters, so both scores are the same.
        let of_last = if mean == last { "" } else { &of_last };
        self.line(&format!("test {what} on {rows} rows"), format!("{}{of_last}", show(mean.accuracy, 4)));
    }

    /// Returns the fields as JSON.
    pub(crate) fn to_json(&self) -> String {
        Value::Object(self.fields.clone()).to_string()
    }

    /// Returns the lines as text, with the remarks unless `quiet`.
    pub(crate) fn to_text(&self, title: &str, quiet: bool) -> String {
        let lines: Vec<(String, String)> =
            self.lines.iter().map(|(what, value)| (escaped(what), escaped(value))).collect();
        let width = lines.iter().map(|(what, _)| what.chars().count()).max().unwrap_or(0);
        let mut text = format!("{title}\n\n");
        for (what, value) in &lines {
            text.push_str(&wrap(&format!("  {what:width$}  "), value));
        }
        for remark in self.remarks.iter().filter(|_| !quiet) {
            text.push('\n');
            text.push_str(&wrap("", &escaped(remark)));
        }
        text
    }
}

/// Escapes control characters. Class names come from files, and they must not send control sequences to a terminal.
fn escaped(text: &str) -> String {
    escape_control(&text.replace('\n', " "))
}

/// Writes the model to its file and notes the results in the ledger, where these are requested.
pub(crate) fn keep(
    results: &mut PrintedResults,
    header: &ModelHeader<'_>,
    found: &ModelParameters,
    output: &OutputArgs,
    recorder: &mut Recorder,
) -> Result<()> {
    if output.model_file().is_none() && !recorder.is_on() {
        return Ok(());
    }
    let model = model(header, found)?;
    if let Some(path) = output.model_file() {
        write_model(path, &model)?;
        results.line("model", path.display().to_string());
    }
    if recorder.is_on() {
        recorder.note("finished", &results.to_json())?;
        recorder.note("model", &model.checksum())?;
    }
    Ok(())
}

/// Returns the printed results of a run and its exit code, 2 if it diverged.
pub(crate) fn print(
    results: &PrintedResults,
    header: &ModelHeader<'_>,
    (how, seed): (&str, u64),
    output: &OutputArgs,
    stopped: Option<Diverged>,
    found: Option<&Coefficients>,
) -> Output {
    let title = format!("{} queried by {}, {how}, seed {seed}", header.loss, header.rule);
    let text = if output.json { results.to_json() } else { results.to_text(&title, output.quiet) };
    let missing = stopped.map(|diverged| {
        let kept = match found
            .map_or(&[][..], |found| &found.theta)
            .iter()
            .fold(0.0, |most: f64, value| most.max(value.abs()))
        {
            size @ 1e6.. => format!(
                "the model before it was kept, but its parameters are up to {size:.0e}, so it is \
                 not useful"
            ),
            _ => "the last valid model was kept".to_owned(),
        };
        format!("{diverged}\n  {kept}; try a smaller step, `--step auto` or `--radius`")
    });
    Output { text, code: if stopped.is_some() { 2 } else { 0 }, missing }
}
