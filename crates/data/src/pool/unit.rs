//! What one thread reads at a time: a row group, or a file of another format.

use crate::batch::{Batch, Ids as Names};
use crate::columnar::ipc;
use crate::columnar::parquet::Parquet;
use crate::error::{DataError, Fault};
use crate::format::Opener;
use crate::input::Input;
use crate::options::{Options, TablePlace};
use crate::stream::Stream;

use super::scored::Scoring;
use super::{Pool, Taker};

/// So many rows are read at a time where a file is not columnar.
const BLOCK: usize = 8192;

/// Rows that are read one after the other.
pub(super) struct Unit {
    file: usize,
    /// A row group with the number of rows before it; `None` for the whole file.
    group: Option<(usize, u64)>,
}

/// The units of a pool, in the order of its rows.
pub(super) fn plan(pool: &Pool) -> Result<Vec<Unit>, DataError> {
    let mut units = vec![];
    for (file, path) in pool.files().iter().enumerate() {
        let opener = Opener::new(&Input::File(path.clone()), None, 1, &TablePlace::default())?;
        if opener.format().name() != "parquet" {
            units.push(Unit { file, group: None });
            continue;
        }
        let mut before = 0;
        for (group, rows) in Parquet::open(path, opener.file())?.group_rows().into_iter().enumerate() {
            units.push(Unit { file, group: Some((group, before)) });
            before += rows;
        }
    }
    Ok(units)
}

impl Pool {
    /// How many rows there are, where the files say so.
    pub fn rows(&self) -> Result<Option<u64>, DataError> {
        let mut sum = 0;
        for path in self.files() {
            let opener = Opener::new(&Input::File(path.clone()), None, 1, &TablePlace::default())?;
            if opener.format().name() != "parquet" {
                return Ok(None);
            }
            sum += Parquet::open(path, opener.file())?.group_rows().iter().sum::<u64>();
        }
        Ok(Some(sum))
    }
}

impl Unit {
    pub(super) fn read<T: Taker>(&self, pool: &Pool, scoring: &mut Scoring<'_, T>) -> Result<(), DataError> {
        let path = &pool.files()[self.file];
        let input = Input::File(path.clone());
        let (place, encoder) = (|row| Pool::place(self.file, row), &scoring.pass().recipe.encoder);
        if let Some((group, before)) = self.group {
            let name = format!("{}, row group {}", input.name(), group + 1);
            return self.read_group(&Parquet::open(path, &input.name())?, &name, (group, before), scoring);
        }
        let opener = Opener::new(&input, None, encoder.hash_bits, &encoder.table)?;
        if opener.format().name() == "arrow" {
            let mut batches = ipc::batches(Box::new(opener.bytes()?), opener.file())?;
            scoring.begin(opener.file(), &batches.schema().clone())?;
            let mut row = 0;
            while let Some(batch) = batches.next_batch()? {
                scoring.batch(&batch, row, place(row))?;
                row += batch.num_rows() as u64;
            }
            return Ok(());
        }
        let options = Options { unlabeled: true, ..Options::default() };
        let mut stream = Stream::with(encoder.clone(), &input, &options)?;
        if let Some(id) = encoder.id.as_ref().filter(|_| !stream.reads_ids()) {
            return Err(Fault::new(format!("no column `{id}`"), "a column of ids").of_file(opener.file()));
        }
        let (mut batch, mut row) = (Batch::default(), 0);
        loop {
            let read = stream.next(BLOCK, &mut batch)?;
            if 0 < read {
                scoring.rows(opener.file(), &batch, row, place(row))?;
            }
            row += read as u64;
            if read < BLOCK {
                return Ok(());
            }
        }
    }

    fn read_group<T: Taker>(
        &self,
        file: &Parquet,
        name: &str,
        (group, before): (usize, u64),
        scoring: &mut Scoring<'_, T>,
    ) -> Result<(), DataError> {
        let columns = scoring.begin(name, file.schema())?;
        let unread = |error: String| Fault::new(format!("cannot be read: {error}"), "").of_file(name);
        let mut rows = file.group(group, &columns).map_err(unread)?;
        let mut row = before;
        while let Some(batch) = rows.next().map_err(unread)? {
            scoring.batch(&batch, row, Pool::place(self.file, row))?;
            row += batch.num_rows() as u64;
        }
        Ok(())
    }
}

impl Names {
    /// As a selection takes them.
    pub(super) fn as_ids(&self) -> querist_engine::select::Ids<'_> {
        match self {
            Names::Numbered { first } => querist_engine::select::Ids::Counted(*first),
            Names::Named(names) => querist_engine::select::Ids::Texts(names.iter().map(String::as_str).collect()),
        }
    }
}
