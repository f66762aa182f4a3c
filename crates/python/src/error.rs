//! Conversion of errors to Python exceptions.
//!
//! A wrong argument is a `ValueError` or `TypeError` that begins with the argument's name. An error of the engine is a
//! `QueristError`. A panic is a bug of ours, but it must not end the user's notebook: it becomes a `QueristError` too.

use std::any::Any;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::exceptions::{PyException, PyTypeError, PyValueError};
use pyo3::{PyErr, PyResult, create_exception};

create_exception!(
    querist,
    QueristError,
    PyException,
    "What querist cannot do with arguments that are right in themselves."
);

/// Creates a `ValueError` for an argument.
pub(crate) fn wrong_value(argument: &str, why: impl Display) -> PyErr {
    PyValueError::new_err(format!("{argument}: {}", with_arguments(&why.to_string())))
}

/// Creates a `TypeError` for an argument.
pub(crate) fn wrong_type(argument: &str, why: impl Display) -> PyErr {
    PyTypeError::new_err(format!("{argument}: {why}"))
}

/// Creates a `QueristError` for an error of the engine.
pub(crate) fn refused(why: impl Display) -> PyErr {
    QueristError::new_err(with_arguments(&why.to_string()))
}

/// Replaces the flags in a message of a lower crate by the arguments of the same name: `--skip-bad-rows` becomes
/// `skip_bad_rows`.
fn with_arguments(message: &str) -> String {
    let mut parts = message.split("--");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        if !part.starts_with(|c: char| c.is_ascii_lowercase()) {
            text += "--";
            text += part;
            continue;
        }
        let end = part.find(|c: char| !(c.is_ascii_lowercase() || c == '-')).unwrap_or(part.len());
        text += &part[..end].replace('-', "_");
        text += &part[end..];
    }
    text
}

/// Runs a call from Python and converts a panic to an exception that `except Exception` catches.
pub(crate) fn sheltered<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(refused(panic_message(&*panic))))
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let message = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("a bug in querist: {}; please report it", message.unwrap_or("no message"))
}

/// Keeps panics of third-party decoders off standard error: they become exceptions about the file. The hook belongs to
/// this extension alone, which has its own Rust runtime; other extensions of the process keep theirs.
#[allow(clippy::disallowed_methods, reason = "no other code shares this runtime")]
pub(crate) fn silence_decoders() {
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !querist_data::columnar::is_decoding() {
            previous(info);
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::with_arguments;

    #[test]
    fn flags_become_arguments() {
        let message = "use --missing zero, or --skip-bad-rows to skip the row -- see --hash-bits";
        assert_eq!(with_arguments(message), "use missing zero, or skip_bad_rows to skip the row -- see hash_bits");
    }
}
