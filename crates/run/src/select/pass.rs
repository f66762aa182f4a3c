//! One pass over a pool larger than memory that scores every row, with row groups and files in parallel.
//!
//! A [`Taker`] processes the scores. Each thread has one, and they are merged at the end. So a taker whose merge
//! ignores the order gives the same result for any number of threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use querist_data::pool::{PoolEncoder, PoolFiles, PoolVisitor};
use querist_data::{DataError, DataFault};
use querist_engine::scorer::Scorer;
use querist_engine::select::RowIds;

use super::scored::Scoring;

/// A consumer of rows with their scores.
pub trait Taker: Send {
    /// Takes some rows: their ids, their scores one row after the other, and the position of the first for
    /// [`PoolFiles::describe_row`]. An error concerns one of these rows and has its index.
    fn take(&mut self, ids: &RowIds<'_>, scores: &[f64], position: u64) -> Result<(), (usize, DataFault)>;
}

/// The settings of a pass.
pub struct Pass<'a> {
    /// The recipe for reading rows.
    pub recipe: &'a PoolEncoder,
    /// The model.
    pub scorer: &'a Scorer,
    /// The maximum number of threads.
    pub threads: usize,
    /// Called with the number of rows of each scored batch; `false` ends the pass with an error.
    pub on_rows: &'a (dyn Fn(u64) -> bool + Sync),
}

impl Pass<'_> {
    /// Scores every row of the pool. Returns the takers in no particular order.
    pub fn over<T: Taker>(&self, pool: &PoolFiles, taker: impl Fn() -> T + Sync) -> Result<Vec<T>, DataError> {
        let units = pool.units()?;
        let (next, failed, faults) = (AtomicUsize::new(0), AtomicBool::new(false), Mutex::new(Vec::new()));
        // Units start in order, and all units that started before a fault finish, so the first fault is always found.
        let work = || {
            let mut scoring = Scoring::new(self, taker());
            while !failed.load(Ordering::Relaxed) {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(unit) = units.get(number) else { break };
                if let Err(error) = unit.read(pool, self.recipe, &mut scoring) {
                    failed.store(true, Ordering::Relaxed);
                    faults.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((number, error));
                }
            }
            scoring.into_taker()
        };
        let threads = self.threads.clamp(1, units.len().max(1));
        let takers = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        });
        let faults = faults.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        match faults.into_iter().min_by_key(|(number, _)| *number) {
            Some((_, error)) => Err(of_model(error)),
            None => Ok(takers),
        }
    }
}

/// Replaces hints that a selection cannot follow: `--missing` is set when the model is learned, and no row is skipped.
fn of_model(mut error: DataError) -> DataError {
    if error.fault.hint.contains("--missing") {
        "the model was learned where no cell is missing: fill it, or leave the row out"
            .clone_into(&mut error.fault.hint);
    } else if error.fault.hint.contains("--skip-bad-rows") {
        "correct the row, or remove it from the file".clone_into(&mut error.fault.hint);
    }
    error
}

/// A pass over record batches in memory, one after the other.
pub struct BatchReader<'a, T> {
    name: String,
    schema: SchemaRef,
    scoring: Scoring<'a, T>,
    rows: u64,
}

impl<'a, T: Taker> BatchReader<'a, T> {
    /// Makes a pass over batches of this schema, with `before` rows before them; messages call the table `name`.
    pub fn new(pass: &'a Pass<'a>, schema: SchemaRef, name: &str, before: u64, taker: T) -> Result<Self, DataError> {
        let mut scoring = Scoring::new(pass, taker);
        scoring.begin(name, &schema)?;
        Ok(Self { name: name.to_owned(), schema, scoring, rows: before })
    }

    /// Scores the rows of a batch.
    pub fn take(&mut self, batch: &RecordBatch) -> Result<(), DataError> {
        if batch.schema_ref() != &self.schema {
            return Err(
                DataFault::new("a batch has other columns than the first", "the same in all").of_file(&self.name)
            );
        }
        let before = self.rows;
        self.rows += batch.num_rows() as u64;
        self.scoring.batch(batch, before, before).map_err(of_model)
    }

    /// Returns the taker.
    pub fn into_taker(self) -> T {
        self.scoring.into_taker()
    }
}
