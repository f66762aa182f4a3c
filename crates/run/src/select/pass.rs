//! One pass over a pool larger than memory: every row is scored, row groups and files side by side.
//!
//! What is done with the scores is the [`Taker`]'s business; there is one for each thread, and they are merged at the end. So
//! a taker whose merge does not mind the order gives the same for any number of threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use querist_data::pool::{Pool, Reader, Recipe};
use querist_data::{DataError, Fault};
use querist_engine::scorer::Scorer;
use querist_engine::select::Ids;

use super::scored::Scoring;

/// What takes rows with their scores.
pub trait Taker: Send {
    /// Some rows: their ids, their scores one row after the other, and the place of the first for [`Pool::whereabouts`].
    /// An error is about one of these rows.
    fn take(&mut self, ids: &Ids<'_>, scores: &[f64], place: u64) -> Result<(), (usize, Fault)>;
}

/// How a pass is made.
pub struct Pass<'a> {
    /// How rows are read.
    pub recipe: &'a Recipe,
    /// The model.
    pub scorer: &'a Scorer,
    /// How many threads may work.
    pub threads: usize,
    /// Is told of every so many rows; false ends the pass with an error.
    pub told: &'a (dyn Fn(u64) -> bool + Sync),
}

impl Pass<'_> {
    /// Scores every row of the pool; the takers in no order.
    pub fn over<T: Taker>(&self, pool: &Pool, taker: impl Fn() -> T + Sync) -> Result<Vec<T>, DataError> {
        let units = pool.units()?;
        let (next, failed, faults) = (AtomicUsize::new(0), AtomicBool::new(false), Mutex::new(Vec::new()));
        // Units are begun in order, and what was begun before a fault is finished: so the first fault is always found.
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

/// What to do about a missing cell was said when the model was learned.
fn of_model(mut error: DataError) -> DataError {
    if error.fault.hint.contains("--missing") {
        "the model was learned where no cell is missing: fill it, or leave the row out"
            .clone_into(&mut error.fault.hint);
    }
    error
}

/// Record batches that are in memory, one after the other.
pub struct Batches<'a, T> {
    name: String,
    schema: SchemaRef,
    scoring: Scoring<'a, T>,
    rows: u64,
}

impl<'a, T: Taker> Batches<'a, T> {
    /// Batches of this schema, with so many rows before them; messages call the table `name`.
    pub fn new(pass: &'a Pass<'a>, schema: SchemaRef, name: &str, before: u64, taker: T) -> Result<Self, DataError> {
        let mut scoring = Scoring::new(pass, taker);
        scoring.begin(name, &schema)?;
        Ok(Self { name: name.to_owned(), schema, scoring, rows: before })
    }

    /// Scores the rows of a batch.
    pub fn take(&mut self, batch: &RecordBatch) -> Result<(), DataError> {
        if batch.schema_ref() != &self.schema {
            return Err(Fault::new("a batch has other columns than the first", "the same in all").of_file(&self.name));
        }
        let before = self.rows;
        self.rows += batch.num_rows() as u64;
        self.scoring.batch(batch, before, before).map_err(of_model)
    }

    /// The taker, with all it was given.
    pub fn into_taker(self) -> T {
        self.scoring.into_taker()
    }
}
