//! `querist export`: the answers of a labeling session, for other programs; or the model that was learned from them.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use querist_ledger::{Ledger, write_atomic};
use querist_run::Error;
use querist_run::labeling::export::{ExportFormat, ExportRequest, Exported, FORMATS, export};
use querist_run::labeling::source;
use querist_run::overwrite::{check_inputs, check_output};
use querist_run::text::counted;

use crate::Output;
use crate::run::moved::MovedArgs;
use crate::run::progress::print_line;

mod learned;

/// Write the answers of a labeling session for other programs, or the model learned from them
#[derive(Args)]
pub(crate) struct ExportArgs {
    /// The ledger of `querist label`
    ledger: PathBuf,
    /// The format
    #[arg(long, value_parser = formats(), default_value = FORMATS[0].name)]
    format: &'static ExportFormat,
    /// Write to this file [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Put an apostrophe before cells that a spreadsheet would read as a formula (csv)
    #[arg(long)]
    csv_safe: bool,
    /// Add answers that were withdrawn or replaced (csv, jsonl)
    #[arg(long)]
    all: bool,
    /// Write the model learned from all answers to this file, instead of the answers
    #[arg(long, value_name = "FILE", conflicts_with_all = ["format", "out", "csv_safe", "all"])]
    model: Option<PathBuf>,
    #[command(flatten)]
    moved: MovedArgs,
}

fn formats() -> impl TypedValueParser<Value = &'static ExportFormat> {
    let names = FORMATS.iter().map(|format| PossibleValue::new(format.name).help(format.summary));
    PossibleValuesParser::new(names)
        .map(|name| *FORMATS.iter().find(|format| format.name == name).expect("it is one of the names"))
}

pub(super) fn run(arguments: &ExportArgs) -> Result<Output> {
    check_format(arguments)?;
    let outputs = || [("--out", &arguments.out), ("--model", &arguments.model)].into_iter();
    let outputs = || outputs().filter_map(|(flag, path)| Some((flag, path.as_deref()?)));
    outputs().try_for_each(|(flag, path)| check_output(flag, path))?;
    let ledger = Ledger::read(&arguments.ledger)?;
    let header = source::header(&ledger)?;
    let moved = arguments.moved.moved();
    let data = header.data.located(&ledger, &moved)?;
    outputs().try_for_each(|(flag, path)| check_inputs(flag, path, data.file.as_deref()))?;
    if let Some(path) = &arguments.model {
        return learned::write(&ledger, &header, &moved, path).map(|text| Output::done(text).with_loss(&ledger));
    }
    let (format, all, csv_safe) = (arguments.format, arguments.all, arguments.csv_safe);
    let text = write(arguments, &ledger, &ExportRequest { format, all, csv_safe, moved })?;
    Ok(Output::done(text).with_loss(&ledger))
}

/// Rejects options that the format cannot honor.
fn check_format(arguments: &ExportArgs) -> Result<()> {
    let ExportFormat { name, marks_inactive, has_cells, .. } = arguments.format;
    if arguments.all && !marks_inactive {
        bail!(
            "--all: the format {name} cannot mark answers as withdrawn or replaced\n  use --format csv or jsonl, which \
             have a status"
        );
    }
    if arguments.csv_safe && !has_cells {
        bail!(
            "--csv-safe: the format {name} has no cells that a spreadsheet would read as a formula\n  \
             remove --csv-safe, or use --format csv"
        );
    }
    Ok(())
}

fn write(arguments: &ExportArgs, ledger: &Ledger, request: &ExportRequest) -> Result<String> {
    let print_remarks = |exported: &Exported| exported.remarks.iter().for_each(|line| print_line(false, line));
    let Some(path) = &arguments.out else {
        let mut out = BufWriter::new(io::stdout().lock());
        let written = export(ledger, request, &mut out).and_then(|exported| Ok(out.flush().map(|()| exported)?));
        return match written {
            // The reader may close the pipe before the end of the output.
            Err(Error::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(String::new()),
            other => {
                print_remarks(&other?);
                Ok(String::new())
            }
        };
    };
    if path.is_dir() {
        bail!("--out {}: need the name of a file", path.display());
    }
    let mut bytes = vec![];
    let exported = export(ledger, request, &mut bytes)?;
    write_atomic(path, &bytes)?;
    print_remarks(&exported);
    Ok(format!("{} written to {}", counted(exported.written as u64, request.format.unit), path.display()))
}
