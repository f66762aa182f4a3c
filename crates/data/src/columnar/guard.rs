//! Foreign decoders are run so that a panic becomes an error.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// This thread is inside a foreign decoder, whose panics are errors and are not printed.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Decoders meet hostile bytes; where they index out of range or overflow, the file is to blame.
/// What the work was changing must not be used again after an error.
pub(super) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                previous(info);
            }
        }));
    });
    let before = QUIET.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    QUIET.set(before);
    result.map_err(|payload| format!("the bytes make no sense: {}", message(payload.as_ref())))
}

fn message(payload: &dyn Any) -> &str {
    match (payload.downcast_ref::<String>(), payload.downcast_ref::<&str>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text,
        _ => "no reason given",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_and_the_next_work_is_done() {
        let index = "abc".len();
        let broken = guarded(|| [1, 2, 3][index]);
        assert!(broken.is_err_and(|message| message.contains("index out of bounds")));
        assert_eq!(guarded(|| 5), Ok(5));
        assert!(!QUIET.get());
    }
}
