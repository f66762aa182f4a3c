//! A guard around third-party decoders that turns a panic into an error.
//!
//! The panic hook belongs to the process, so nothing here replaces it. A program that does not want the message of a
//! caught panic on standard error can call [`is_decoding`] in its own hook.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};

thread_local! {
    static IS_DECODING: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether this thread is inside a third-party decoder, whose panics become errors.
///
/// ```
/// let previous = std::panic::take_hook();
/// std::panic::set_hook(Box::new(move |info| {
///     if !querist_data::columnar::is_decoding() {
///         previous(info);
///     }
/// }));
/// ```
pub fn is_decoding() -> bool {
    IS_DECODING.get()
}

/// Marks this thread as decoding until it is dropped.
struct Decoding {
    before: bool,
}

impl Decoding {
    fn begin() -> Self {
        Self { before: IS_DECODING.replace(true) }
    }
}

impl Drop for Decoding {
    fn drop(&mut self) {
        IS_DECODING.set(self.before);
    }
}

/// Runs a decoder on untrusted bytes. A panic, such as an index out of range, becomes an error about the file. Values
/// that the decoder was modifying must not be used after an error.
pub(super) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    let _decoding = Decoding::begin();
    panic::catch_unwind(AssertUnwindSafe(work))
        .map_err(|payload| format!("the bytes are invalid: {}", message(payload.as_ref())))
}

fn message(payload: &dyn Any) -> &str {
    match (payload.downcast_ref::<String>(), payload.downcast_ref::<&str>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text,
        _ => "unknown reason",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_and_later_calls_work() {
        let index = "abc".len();
        let broken = guarded(|| {
            assert!(is_decoding());
            [1, 2, 3][index]
        });
        assert!(broken.is_err_and(|message| message.contains("index out of bounds")));
        assert_eq!(guarded(|| 5), Ok(5));
        assert!(!is_decoding());
    }

    thread_local! {
        /// The numbers of panics that reached the program's hook: while decoding, and otherwise.
        static SEEN: Cell<[usize; 2]> = const { Cell::new([0, 0]) };
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "the test acts as the program")]
    fn the_panic_hook_stays_and_can_distinguish_decoders_from_bugs() {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let [decoding, other] = SEEN.get();
            SEEN.set(if is_decoding() { [decoding + 1, other] } else { [decoding, other + 1] });
            previous(info);
        }));
        let panics = || -> usize { panic!("on purpose") };
        assert!(guarded(panics).is_err() && guarded(panics).is_err());
        assert!(panic::catch_unwind(panics).is_err());
        assert_eq!(SEEN.get(), [2, 1]);
    }
}
