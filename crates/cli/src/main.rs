//! `querist`: an active learner that knows what it is optimizing.
//!
//! Commands parse arguments, call the other crates and print; the results are computed elsewhere.

mod command;
mod number;
mod run;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Arg, CommandFactory, FromArgMatches, Parser};
use querist_ledger::Ledger;

use command::Command;

/// An active learner that knows what it is optimizing.
#[derive(Parser)]
#[command(name = "querist", version, max_term_width = 100)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

/// The output of a command.
struct Output {
    text: String,
    /// The exit code. 0: success; 1: a required claim or check failed; 2: a run diverged; 3: success, but events of the
    /// ledger are missing.
    code: u8,
    /// A message for standard error, for example the required claims that are not proved.
    missing: Option<String>,
}

impl Output {
    /// Returns the output of a command that succeeded.
    fn done(text: String) -> Self {
        Self { text, code: 0, missing: None }
    }

    /// Warns if events of the ledger are missing; an exit code of 0 becomes 3.
    fn with_loss(self, ledger: &Ledger) -> Self {
        let Some(loss) = ledger.missing_events() else { return self };
        let warning = format!("{}: {loss}", ledger.path().display());
        let missing = match self.missing {
            Some(missing) => format!("{missing}\nquerist: {warning}"),
            None => warning,
        };
        Self { code: if self.code == 0 { 3 } else { self.code }, missing: Some(missing), ..self }
    }
}

fn main() -> ExitCode {
    silence_decoders();
    let arguments = parse_arguments();
    let code = match arguments.command.run() {
        Ok(output) => match print_text(&output.text) {
            Ok(()) => {
                if let Some(missing) = output.missing {
                    report_error(&missing);
                }
                output.code
            }
            Err(error) => report_error(&format!("cannot write the result: {error}")),
        },
        // The reader of a live stream may close the pipe, too.
        Err(error) if is_broken_pipe(&error) => 0,
        Err(error) => report_error(&format!("{error:#}")),
    };
    ExitCode::from(code)
}

/// Parses the command line. Prints a message and exits if it is invalid, or if it asks for help.
fn parse_arguments() -> CommandLine {
    let command = CommandLine::command().mut_subcommands(|command| command.mut_args(accept_negative));
    CommandLine::from_arg_matches(&command.get_matches()).unwrap_or_else(|error| error.exit())
}

/// Lets an option accept a negative number as its value, so that the check of the option rejects it. Otherwise clap reads
/// `--budget -3` as two options, and proposes `-- -3`.
fn accept_negative(argument: Arg) -> Arg {
    let is_option = !argument.is_positional() && argument.get_action().takes_values();
    if is_option { argument.allow_negative_numbers(true) } else { argument }
}

/// Keeps panics of third-party decoders off standard error: the command reports them as errors of the file.
#[allow(clippy::disallowed_methods, reason = "this is the program")]
fn silence_decoders() {
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !querist_data::columnar::is_decoding() {
            previous(info);
        }
    }));
}

fn print_text(text: &str) -> io::Result<()> {
    // Some commands write their output themselves.
    if text.is_empty() {
        return Ok(());
    }
    let mut stdout = io::stdout().lock();
    match writeln!(stdout, "{}", text.trim_end()).and_then(|()| stdout.flush()) {
        // The reader may close the pipe before the end of the output.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let error = match error.downcast_ref() {
        Some(querist_run::Error::Io(error)) => Some(error),
        _ => error.downcast_ref::<io::Error>(),
    };
    error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

fn report_error(message: &str) -> u8 {
    // If standard error is closed too, there is no way to report the error.
    let _ = writeln!(io::stderr(), "querist: {message}");
    2
}
