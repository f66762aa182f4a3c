//! Long work away from Python: without its lock, on all cores, ended by Ctrl-C.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::refused;

/// The threads, and the process they belong to: a forked child has none of its parent's, and waiting for them would be forever.
static THREADS: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// This process's threads.
pub(crate) fn threads() -> PyResult<Arc<ThreadPool>> {
    let mut held = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some((_, pool)) = held.as_ref().filter(|(owner, _)| *owner == process) {
        return Ok(Arc::clone(pool));
    }
    let pool = Arc::new(ThreadPoolBuilder::new().build().map_err(refused)?);
    // To drop the parent's in its child would be to wait for threads that are not there.
    std::mem::forget(held.replace((process, Arc::clone(&pool))));
    Ok(pool)
}

/// As many numbers are worked on between two looks at whether Ctrl-C was pressed.
const AT_ONCE: usize = 1 << 24;

/// Work in pieces, each a whole number of `block`s of rows of `width` numbers: `piece` is given its rows. It is run among this
/// process's threads, but for a single block, which it is to do by itself.
pub(crate) fn in_pieces(
    py: Python<'_>,
    rows: usize,
    (block, width): (usize, usize),
    mut piece: impl FnMut(std::ops::Range<usize>) -> PyResult<()> + Send,
) -> PyResult<()> {
    let step = (AT_ONCE / width.max(1) / block).max(1) * block;
    if rows <= block {
        // A block is done before another thread would wake.
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
