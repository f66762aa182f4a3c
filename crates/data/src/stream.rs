//! Reading of files as rows: whole, or block by block.

use crate::anomalies;
use crate::batch::{Batch, IdList};
use crate::cells::{CellRecorder, Cells, TeeSink};
use crate::encode::EncodingPlan;
use crate::encoder::Encoder;
use crate::error::{DataError, DataFault, DataPosition};
use crate::format::Opener;
use crate::header;
use crate::input::{Input, ReadProgress};
use crate::label::{self, LabelReader};
use crate::options::{Missing, ReadOptions};
use crate::record::RowRecorder;
use crate::roles::{Role, Roles};
use crate::sample::{ColumnStatistics, SampleStatistics};
use crate::source::{BadRows, CellValue, Column, ColumnKind, Sink, Source};
use crate::stored_cells::{StoredCells, StoredColumns};

/// The number of records, and of bytes, from which roles are guessed.
const SAMPLE_RECORDS: usize = 1000;
const SAMPLE_BYTES: usize = 16 << 20;

/// The maximum number of faulty records among the first ones, if faulty records are skipped. Records are buffered while
/// roles are guessed, and a pipe may deliver faulty ones forever.
const MAX_FAULTY_RECORDS: u64 = 1 << 20;

/// A whole file.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The encoder, fitted on the whole file.
    pub encoder: Encoder,
    /// Its rows.
    pub batch: Batch,
    /// The skipped records.
    pub bad: BadRows,
}

/// Reads a whole file and fits an encoder on it. Needs little more memory than the rows of numbers take.
pub fn load(input: &Input, options: &ReadOptions) -> Result<Loaded, DataError> {
    Ok(load_with_cells(input, options, StoredColumns::default())?.0)
}

/// Reads a whole file and also returns the cells of the shown columns: those named, or all that can be shown.
pub fn load_shown(input: &Input, options: &ReadOptions, shown: &[String]) -> Result<(Loaded, Cells), DataError> {
    let columns = StoredColumns { shown: Some(shown), ..StoredColumns::default() };
    let (loaded, cells) = load_with_cells(input, options, columns)?;
    Ok((loaded, cells.shown))
}

/// Reads a whole file, fits an encoder on it, and also returns the cells of some columns.
pub fn load_with_cells(
    input: &Input,
    options: &ReadOptions,
    columns: StoredColumns<'_>,
) -> Result<(Loaded, StoredCells), DataError> {
    let mut cells = StoredCells::default();
    let loaded = read_all(input, options, columns, &mut cells)?;
    Ok((loaded, cells))
}

/// Reads only the cells of some columns of a file.
pub fn load_cells(input: &Input, options: &ReadOptions, columns: &[String]) -> Result<Cells, DataError> {
    let opener = Opener::new(input, options.format, options.hash_bits, &options.table)?;
    let mut source = opener.play(&[])?;
    let mut cells = Cells::new(&*source, columns).map_err(|fault| fault.of_file(opener.file()))?;
    let mut keeper = CellRecorder::new(&mut cells, source.columns());
    source.select(&keeper.needed_columns());
    source.read(usize::MAX, &mut keeper, &mut BadRows::default())?;
    Ok(cells)
}

fn read_all(
    input: &Input,
    options: &ReadOptions,
    columns: StoredColumns<'_>,
    cells: &mut StoredCells,
) -> Result<Loaded, DataError> {
    let opener = Opener::new(input, options.format, options.hash_bits, &options.table)?;
    let guess = GuessedRoles::new(&opener, options, SAMPLE_RECORDS)?;
    let source = opener.play(&guess.columns)?;
    let mut fitted = guess.fit(source, options, usize::MAX, opener.file(), (columns, cells))?;
    let batch = fitted.take(opener.file())?;
    if let Some(column) = &fitted.encoder.id {
        batch.ids.check_unique(opener.file(), column)?;
    }
    Ok(Loaded { encoder: fitted.encoder, batch, bad: fitted.bad })
}

/// Reads a whole file with an existing encoder.
pub fn load_with(encoder: &Encoder, input: &Input, options: &ReadOptions) -> Result<(Batch, BadRows), DataError> {
    let mut stream = RowStream::with(encoder.clone(), input, options)?;
    let mut batch = Batch::default();
    stream.next(usize::MAX, &mut batch)?;
    if let Some(column) = &encoder.id {
        batch.ids.check_unique(&stream.file, column)?;
    }
    Ok((batch, stream.bad))
}

/// A file that is read block by block.
pub struct RowStream {
    file: String,
    encoder: Encoder,
    plan: EncodingPlan,
    recorder: RowRecorder,
    source: Box<dyn Source + Send>,
    bad: BadRows,
    /// The number of good records so far.
    rows: u64,
    gauge: Option<ReadProgress>,
}

impl RowStream {
    /// Fits an encoder on the first records, for which it waits, and starts again with the first record.
    pub fn open(input: &Input, options: &ReadOptions) -> Result<Self, DataError> {
        let opener = Opener::new(input, options.format, options.hash_bits, &options.table)?;
        let guess = GuessedRoles::new(&opener, options, options.warm_up.clamp(1, SAMPLE_RECORDS))?;
        let columns = guess.columns.clone();
        let source = opener.look(&columns)?;
        let nothing = (StoredColumns::default(), &mut StoredCells::default());
        let fitted = guess.fit(source, options, options.warm_up.max(1), opener.file(), nothing)?;
        Self::new(fitted.encoder, &opener, &columns, options)
    }

    /// Opens a file with an existing encoder; waits for no more than the first line.
    pub fn with(encoder: Encoder, input: &Input, options: &ReadOptions) -> Result<Self, DataError> {
        let opener = Opener::new(input, options.format, encoder.hash_bits, &encoder.table)?;
        // Faults in ignored columns count, as they did in fitting.
        let columns = [encoder.columns(), encoder.ignored.clone()].concat();
        Self::new(encoder, &opener, &columns, options)
    }

    fn new(encoder: Encoder, opener: &Opener, columns: &[String], options: &ReadOptions) -> Result<Self, DataError> {
        let file = opener.file().to_owned();
        let mut source = opener.play(columns)?;
        let recorder = encoder.recorder(source.columns(), None, options.unlabeled);
        let recorder = recorder.map_err(|fault| fault.of_file(&file))?;
        source.select(&recorder.needed_columns());
        let bad = BadRows { skip: options.skip_bad_rows, ..BadRows::default() };
        Ok(Self { file, plan: encoder.plan(), encoder, recorder, source, bad, rows: 0, gauge: opener.gauge() })
    }

    /// Creates a stream with these columns and without records, which `feed` provides.
    pub(crate) fn of_columns(encoder: &Encoder, columns: &[Column], file: &str) -> Result<Self, DataError> {
        let recorder = encoder.recorder(columns, None, true).map_err(|fault| fault.of_file(file))?;
        let source = Box::new(NoRecords { columns: columns.to_vec() });
        let (plan, encoder) = (encoder.plan(), encoder.clone());
        let (file, bad) = (file.to_owned(), BadRows::default());
        Ok(Self { file, plan, encoder, recorder, source, bad, rows: 0, gauge: None })
    }

    /// Continues with the records of another source with the same columns; `before` is the number of records that
    /// precede them.
    pub(crate) fn feed(&mut self, mut source: Box<dyn Source + Send>, before: u64) {
        source.select(&self.recorder.needed_columns());
        self.source = source;
        self.rows = before;
    }

    /// Reads the next rows into a batch, which is cleared first, and returns their number. Returns fewer than `limit`
    /// only at the end or if rows are skipped because of extreme numbers, and 0 only at the end. Returns as soon as
    /// `limit` records are there: it does not wait for a pipe that pauses.
    pub fn next(&mut self, limit: usize, batch: &mut Batch) -> Result<usize, DataError> {
        self.next_with(limit, batch, &mut |_| ())
    }

    /// Does the same, and calls `on_features` with the indices of each row's indexed features as soon as they are read.
    /// A learner can then prefetch their weights while later rows are read. Such rows may still be skipped.
    pub fn next_with(
        &mut self,
        limit: usize,
        batch: &mut Batch,
        on_features: &mut dyn FnMut(&[u32]),
    ) -> Result<usize, DataError> {
        loop {
            self.recorder.table.ids = IdList::new(self.rows + 1);
            let mut sink = NotifyingRecorder { recorder: &mut self.recorder, on_features };
            let read = self.source.read(limit, &mut sink, &mut self.bad)?;
            let table = &mut self.recorder.table;
            if self.encoder.has_features() {
                self.encoder.dim = self.encoder.dim.max(table.sparse.dim());
                self.encoder.check_width().map_err(|fault| fault.of_file(&self.file))?;
            }
            batch.ids = table.ids.take(0);
            let rejected = self.plan.encode(table, self.encoder.dim, batch);
            if !rejected.is_empty() && self.recorder.has_id {
                batch.ids.remove_rows(&rejected, read);
            }
            if let Some(labels) = &self.encoder.labels {
                labels.recode(&mut batch.labels);
            }
            let kept = read - rejected.len();
            for rejected in rejected {
                let position = DataPosition {
                    line: None,
                    row: self.rows + rejected.row as u64 + 1,
                    column: self.encoder.column_of(rejected.position),
                };
                self.bad.take(&self.file, position, rejected.fault)?;
            }
            self.rows += kept as u64;
            // Returning 0 means the end, so continue if all rows of a block were skipped.
            if 0 < kept || read < limit || limit == 0 {
                return Ok(kept);
            }
        }
    }

    /// Skips `n` good records without encoding them and returns the number of records skipped.
    pub fn skip(&mut self, n: u64) -> Result<u64, DataError> {
        const BLOCK: u64 = 1 << 20;
        if self.bad.skip && 0 < self.encoder.numbers() {
            return self.skip_encoded(n);
        }
        self.recorder.passing = true;
        let mut passed = 0;
        while passed < n {
            let wanted = (n - passed).min(BLOCK);
            let read = self.source.read(wanted as usize, &mut self.recorder, &mut self.bad)? as u64;
            passed += read;
            if read < wanted {
                break;
            }
        }
        self.recorder.passing = false;
        self.rows += passed;
        Ok(passed)
    }

    /// Does the same if rows may be skipped because of their features, which requires encoding them.
    fn skip_encoded(&mut self, n: u64) -> Result<u64, DataError> {
        const BLOCK: u64 = 1 << 12;
        let (mut batch, mut passed) = (Batch::default(), 0);
        while passed < n {
            match self.next((n - passed).min(BLOCK) as usize, &mut batch)? {
                0 => break,
                read => passed += read as u64,
            }
        }
        Ok(passed)
    }

    /// Returns whether there is a column of ids.
    pub(crate) fn reads_ids(&self) -> bool {
        self.recorder.has_id
    }

    /// Returns the encoder.
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// Raises the number of features to at least `dim`, for skipped rows that were read in an earlier run.
    pub fn widen(&mut self, dim: usize) {
        self.encoder.widen(dim);
    }

    /// Returns the fraction of the file that was read, from 0 to 1; `None` for input without a known length.
    pub fn share(&self) -> Option<f64> {
        self.source.share().or_else(|| self.gauge.as_ref().map(ReadProgress::share))
    }

    /// Returns the number of cells so far whose category was not seen in fitting and therefore has no feature.
    pub fn unknown_categories(&self) -> u64 {
        self.recorder.categories.iter().map(|categories| categories.unknown).sum()
    }

    /// Returns the number of cells skipped so far because the first records did not have their columns.
    pub fn passed_over(&self) -> u64 {
        self.source.passed_over()
    }

    /// Returns the records skipped so far.
    pub fn bad(&self) -> &BadRows {
        &self.bad
    }
}

/// A recorder that calls `on_features` for indexed features.
struct NotifyingRecorder<'a> {
    recorder: &'a mut RowRecorder,
    on_features: &'a mut dyn FnMut(&[u32]),
}

impl Sink for NotifyingRecorder<'_> {
    fn cell(&mut self, column: usize, cell: CellValue<'_>) -> Result<(), DataFault> {
        if let CellValue::Features { index, .. } = cell {
            (self.on_features)(index);
        }
        self.recorder.cell(column, cell)
    }

    fn line(&mut self, text: &[u8], len: usize, separator: u8) -> bool {
        self.recorder.line(text, len, separator)
    }

    fn end(&mut self) -> Result<(), DataFault> {
        self.recorder.end()
    }

    fn discard(&mut self) {
        self.recorder.discard();
    }
}

/// A source with columns and without records.
struct NoRecords {
    columns: Vec<Column>,
}

impl Source for NoRecords {
    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn read(&mut self, _limit: usize, _sink: &mut dyn Sink, _bad: &mut BadRows) -> Result<usize, DataError> {
        Ok(0)
    }
}

/// The roles and the unfitted encoder, guessed from the first records.
struct GuessedRoles {
    encoder: Encoder,
    columns: Vec<String>,
    label: ColumnStatistics,
}

/// An encoder and the raw rows it was fitted on.
struct Fitted {
    encoder: Encoder,
    recorder: RowRecorder,
    bad: BadRows,
}

impl GuessedRoles {
    fn new(opener: &Opener, options: &ReadOptions, records: usize) -> Result<Self, DataError> {
        opener.check_choices()?;
        let mut source = opener.look(&[])?;
        // A table declares which of its columns cannot be features; text formats have columns of any kind.
        let readable: Vec<bool> = source.columns().iter().map(|column| column.kind != ColumnKind::Any).collect();
        source.select(&readable);
        let mut sample = SampleStatistics::default();
        // Faults in records are reported when these are read again.
        let most = if options.skip_bad_rows { MAX_FAULTY_RECORDS } else { SAMPLE_RECORDS as u64 };
        let mut bad = BadRows { skip: true, most: Some(most), ..BadRows::default() };
        let mut left = records;
        while 0 < left && sample.bytes < SAMPLE_BYTES && !bad.is_full() {
            let wanted = left.min(16);
            let read = match source.read(wanted, &mut sample, &mut bad) {
                Err(_) if bad.is_full() => 0,
                read => read?,
            };
            left -= wanted;
            if read < wanted {
                break;
            }
        }
        let of_file = |fault: DataFault| fault.of_file(opener.file());
        if sample.records == 0 {
            let none = || of_file(DataFault::new("no records", "at least one"));
            return Err(bad.examples.first().map_or_else(none, |error| bad.without_good_rows(error.clone())));
        }
        if let Some(fault) = named_but_unreadable(&*source, options) {
            return Err(of_file(fault.clone()));
        }
        let roles = Roles::find(&listed(&*source, options), &sample, options).map_err(of_file)?;
        let label = roles.columns.iter().position(|(_, role)| *role == Role::Label);
        let label = label.map(|index| sample.column(index)).unwrap_or_default();
        let columns = roles.columns.iter().map(|(name, _)| name.clone()).collect();
        let unreadable = unreadable(&*source, &roles, options);
        let or_unreadable = |fault| of_file(unreadable.first().map_or(fault, |unreadable| (*unreadable).clone()));
        let mut encoder = Encoder::new(&roles, options, source.note()).map_err(or_unreadable)?;
        if options.standardize {
            let names = roles.columns.iter().map(|(name, _)| name.as_str());
            let seen = names.zip(&sample.columns);
            encoder.set_offsets(&seen.filter_map(|(name, seen)| Some((name, seen.range?))).collect());
        }
        encoder.remarks = unreadable.iter().map(|fault| anomalies::of_ignored(fault)).collect();
        if source.has_header() && header::looks_like_data(source.columns(), &sample) {
            encoder.remarks.push(header::warning(source.columns()));
        }
        Ok(Self { encoder, columns, label })
    }

    /// Fits on at most `limit` records.
    fn fit(
        self,
        mut source: Box<dyn Source + Send>,
        options: &ReadOptions,
        limit: usize,
        file: &str,
        (columns, cells): (StoredColumns<'_>, &mut StoredCells),
    ) -> Result<Fitted, DataError> {
        let mut encoder = self.encoder;
        let of_file = |fault: DataFault| fault.of_file(file);
        options.classes.iter().try_for_each(|classes| label::check(classes, options)).map_err(of_file)?;
        let reader = LabelReader::find(options, &self.label);
        let mut recorder = encoder.recorder(source.columns(), Some(reader), options.unlabeled).map_err(of_file)?;
        let most = (limit < usize::MAX).then_some(MAX_FAULTY_RECORDS);
        let mut bad = BadRows { skip: options.skip_bad_rows, most, ..BadRows::default() };
        *cells = StoredCells::new(&*source, columns, &encoder).map_err(of_file)?;
        let keepers = cells.recorders(source.columns());
        let read = if keepers.is_empty() {
            source.select(&recorder.needed_columns());
            source.read(limit, &mut recorder, &mut bad)
        } else {
            let mut tee = TeeSink { recorder: &mut recorder, keepers };
            source.select(&tee.needed_columns());
            source.read(limit, &mut tee, &mut bad)
        };
        if recorder.table.len == 0 {
            read.map_err(|error| BadRows::correct_hint(error, &mut *source, &mut recorder))?;
            return Err(of_file(DataFault::new("no valid records", "at least one")));
        }
        read?;
        let column = encoder.labels.take().and_then(|labels| labels.column);
        let reader = recorder.label.take().unwrap_or_else(|| LabelReader::find(options, &self.label));
        encoder.labels = reader.finish(column, &mut recorder.table.labels, options).map_err(of_file)?;
        encoder.fit(&mut recorder);
        encoder.check_has_features().map_err(of_file)?;
        encoder.check_width().map_err(of_file)?;
        if let Some(settings) = options.kernel {
            encoder.fit_kernel(&recorder, settings).map_err(of_file)?;
        }
        Ok(Fitted { encoder, recorder, bad })
    }
}

/// Returns the columns. If later records may have more, adds the columns that the options name and that may be absent.
fn listed(source: &dyn Source, options: &ReadOptions) -> Vec<Column> {
    let mut columns = source.columns().to_vec();
    let ReadOptions { text, numbers, categories, ignore, .. } = options;
    let filled = text.iter().chain(numbers).chain(categories).filter(|_| options.missing != Missing::Error);
    for name in filled.chain(ignore).filter(|_| source.is_open()) {
        if columns.iter().all(|column| column.name != *name) {
            columns.push(Column { name: name.clone(), kind: ColumnKind::Any });
        }
    }
    columns
}

/// Returns the fault of the first unreadable column that the options name as a feature column.
fn named_but_unreadable<'s>(source: &'s dyn Source, options: &ReadOptions) -> Option<&'s DataFault> {
    let ReadOptions { text, numbers, categories, vectors, .. } = options;
    let is_named =
        |column: &Column| [text, numbers, categories, vectors].iter().any(|names| names.contains(&column.name));
    let mut columns = source.columns().iter().enumerate().filter(|(_, column)| is_named(column));
    columns.find_map(|(index, _)| source.refusal(index))
}

/// Returns the faults of columns that are ignored because they cannot be read, and not because the options say so.
fn unreadable<'s>(source: &'s dyn Source, roles: &Roles, options: &ReadOptions) -> Vec<&'s DataFault> {
    let ignored =
        |(_, (name, role)): &(usize, &(String, Role))| *role == Role::Ignored && !options.ignore.contains(name);
    let indices = roles.columns.iter().enumerate().filter(ignored).map(|(index, _)| index);
    indices.filter_map(|index| source.refusal(index)).collect()
}

impl Fitted {
    fn take(&mut self, file: &str) -> Result<Batch, DataError> {
        let mut batch = Batch { ids: self.recorder.table.ids.take(0), ..Batch::default() };
        let rejected = self.encoder.plan().encode(&mut self.recorder.table, self.encoder.dim, &mut batch);
        match rejected.into_iter().next() {
            None => Ok(batch),
            Some(rejected) => {
                let position = DataPosition {
                    line: None,
                    row: rejected.row as u64 + 1,
                    column: self.encoder.column_of(rejected.position),
                };
                Err(DataError { file: file.to_owned(), position: Some(position), fault: rejected.fault })
            }
        }
    }
}
