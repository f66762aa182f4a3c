//! `querist predict`: the predictions of a model.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use clap::{Args, ValueEnum};
use querist_data::{Batch, Encoder, ReadOptions, RowStream};
use querist_engine::task::{self, Labels, Task};
use querist_ledger::ModelFile;
use querist_run::Model;
use querist_run::files::input;
use querist_run::text::counted;
use serde_json::json;

use crate::Output;
use crate::number::json as number;
use crate::run::files::MissingName;
use crate::run::progress::ProgressMeter;

/// Predict the labels of rows with a model, and their probabilities if the loss defines them
#[derive(Args)]
pub(crate) struct PredictArgs {
    /// The model
    model: PathBuf,
    /// The rows, or `-` for standard input; labels are optional and ignored
    data: PathBuf,
    /// The format of the predictions
    #[arg(long, value_enum, default_value = "csv")]
    format: PredictionFormat,
    /// The file format: csv (also separated by tabs, ; or |), json, jsonl, svmlight, vw, parquet, arrow, npy, npz, xlsx
    /// [default: from the file name]
    #[arg(long, value_name = "FORMAT")]
    input_format: Option<String>,
    /// How to read missing cells [default: as when the model was learned]
    #[arg(long, value_enum)]
    missing: Option<MissingName>,
    /// Skip rows that cannot be read, and report their number
    #[arg(long)]
    skip_bad_rows: bool,
}

/// A format of predictions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PredictionFormat {
    /// id,label,probability
    Csv,
    /// {"id","label","probability"}
    Jsonl,
}

/// The number of rows in memory at a time.
const BLOCK: usize = 4096;

pub(super) fn run(arguments: &PredictArgs) -> Result<Output> {
    let at = || arguments.model.display();
    let file = ModelFile::read(&arguments.model)?;
    let mut model = Model::new(&file.header, &file.arrays).map_err(|found| anyhow!("{}: {found}", at()))?;
    let Some(encoder) = model.encoder.take() else { bail!("{}: the model file has no encoder for rows", at()) };
    let format = arguments.input_format.as_deref().map(querist_data::Format::named).transpose();
    let format = format.map_err(|message| anyhow!("--input-format: {message}"))?;
    let options =
        ReadOptions { format, unlabeled: true, skip_bad_rows: arguments.skip_bad_rows, ..ReadOptions::default() };
    let reader = encoder.clone().without_labels();
    let reader = match arguments.missing {
        Some(missing) => reader.with_missing(missing.into()),
        None => reader,
    };
    let mut stream = RowStream::with(reader, &input(&arguments.data), &options)?;
    let mut writer = PredictionWriter {
        task: task::parse(&model.loss, model.labels)?,
        encoder,
        model,
        format: arguments.format,
        out: BufWriter::new(io::stdout().lock()),
    };
    let mut batch = Batch::default();
    // If predictions are printed on the terminal, they show the progress themselves.
    let mut progress = ProgressMeter::new(None, "rows", io::stdout().is_terminal());
    let mut read = stream.next(BLOCK, &mut batch)?;
    let mut done = 0;
    writer.begin()?;
    while 0 < read {
        writer.rows(&batch)?;
        done += read as u64;
        progress.at_share(done, stream.share());
        read = stream.next(BLOCK, &mut batch)?;
    }
    progress.done();
    writer.out.flush()?;
    Ok(Output { text: String::new(), code: 0, missing: remarks(&stream) })
}

/// Returns remarks about skipped rows and unknown categories.
fn remarks(stream: &RowStream) -> Option<String> {
    let (skipped, unknown) = (stream.bad().skipped, stream.unknown_categories());
    let skipped = (0 < skipped).then(|| format!("skipped {} that cannot be read", counted(skipped, "row")));
    let cells = "with a category that the model does not know";
    let unknown = (0 < unknown).then(|| format!("ignored {} {cells}", counted(unknown, "cell")));
    let remarks: Vec<String> = skipped.into_iter().chain(unknown).collect();
    (!remarks.is_empty()).then(|| remarks.join("\n  "))
}

/// A writer of predictions.
struct PredictionWriter<W> {
    model: Model,
    encoder: Encoder,
    task: Box<dyn Task>,
    format: PredictionFormat,
    out: W,
}

impl<W: Write> PredictionWriter<W> {
    fn begin(&mut self) -> io::Result<()> {
        if self.format == PredictionFormat::Csv { writeln!(self.out, "id,label,probability") } else { Ok(()) }
    }

    fn rows(&mut self, batch: &Batch) -> io::Result<()> {
        let Self { model, encoder, task, format, out } = self;
        model.scorer.widen(batch.rows.dim());
        let mut scores = vec![0.0; task.outputs()];
        for row in 0..batch.rows.len() {
            model.scorer.scores(batch.rows.row(row), &mut scores);
            let decided = task.decide(&scores);
            let (id, label) = (batch.ids.get(row), encoder.decode(decided));
            let probability = task.probabilities(&scores).map(|each| each[model.labels.class(decided)]);
            match format {
                PredictionFormat::Csv => {
                    let shown = probability.map_or(String::new(), |p| format!("{p:.6}"));
                    writeln!(
                        out,
                        "{},{},{shown}",
                        querist_run::labeling::export::cell(&id, false),
                        querist_run::labeling::export::cell(&label, false)
                    )?;
                }
                PredictionFormat::Jsonl => {
                    let label =
                        if model.labels == Labels::Numbers { number(task.decide(&scores)) } else { label.into() };
                    writeln!(out, "{}", json!({"id": id, "label": label, "probability": probability.map(number)}))?;
                }
            }
        }
        Ok(())
    }
}
