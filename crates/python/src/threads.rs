//! Long work outside of Python: without the GIL, on all cores, interruptible by Ctrl-C.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::refused;

/// The threads and the process that owns them. A forked child has none of its parent's threads and would wait for them
/// forever.
static THREADS: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// Returns the threads of this process, creating them on first use.
pub(crate) fn threads() -> PyResult<Arc<ThreadPool>> {
    let mut held = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some((_, pool)) = held.as_ref().filter(|(owner, _)| *owner == process) {
        return Ok(Arc::clone(pool));
    }
    let pool = Arc::new(ThreadPoolBuilder::new().build().map_err(refused)?);
    // Dropping the parent's pool in its child would wait for threads that do not exist.
    std::mem::forget(held.replace((process, Arc::clone(&pool))));
    Ok(pool)
}

/// The amount of numbers to process between two checks for Ctrl-C.
const NUMBERS_PER_CHECK: usize = 1 << 24;

/// Runs work in pieces, each a whole number of `block`s of rows of `width` numbers. `piece` gets its range of rows and
/// runs on this process's threads, except for a single block, which it processes itself.
pub(crate) fn in_pieces(
    py: Python<'_>,
    rows: usize,
    (block, width): (usize, usize),
    mut piece: impl FnMut(std::ops::Range<usize>) -> PyResult<()> + Send,
) -> PyResult<()> {
    let step = (NUMBERS_PER_CHECK / width.max(1) / block).max(1) * block;
    if rows <= block {
        // A block is finished before another thread would wake.
        py.detach(|| piece(0..rows))?;
        return py.check_signals();
    }
    let threads = threads()?;
    for first in (0..rows).step_by(step) {
        py.detach(|| threads.install(|| piece(first..rows.min(first + step))))?;
        py.check_signals()?;
    }
    Ok(())
}
