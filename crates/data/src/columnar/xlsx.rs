//! A sheet of an Excel workbook, whose cells are read like those of a CSV file.

use std::collections::HashMap;
use std::fmt::Write;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::ops::Range;
use std::path::Path;

use calamine::{CellErrorType, DataRef, ExcelDateTime, Reader, Xlsx};

use super::guard::guarded;
use crate::error::{DataError, DataFault, DataPosition};
use crate::format::{FormatEntry, FormatOpener, OpenContext, Opened};
use crate::header;
use crate::source::{BadRows, CellValue, Column, ColumnKind, Sink, Source};

pub(crate) const ENTRY: FormatEntry = FormatEntry {
    name: "xlsx",
    summary: "a sheet of an Excel workbook; its first row names the columns",
    endings: &["xlsx", "xlsm"],
    choices: &["--no-header", "--sheet"],
    magic: &[],
    looks: |_| false,
    open: FormatOpener::Path(open),
};

/// The maximum size in bytes of a workbook's XML, because a small archive can expand to any size.
const LARGEST_XML: u64 = 1 << 30;

/// A cell of a sheet; rows and columns are numbered from 0.
struct SheetCell {
    row: u32,
    column: u32,
    value: SheetValue,
}

/// The value of a cell.
enum SheetValue {
    Number(f64),
    Boolean(bool),
    /// A range in the text of the sheet.
    Text(Range<usize>),
    /// A formula without a result.
    Error(CellErrorType),
}

/// The non-empty cells of a sheet, row by row.
#[derive(Default)]
struct Sheet {
    cells: Vec<SheetCell>,
    text: String,
    /// The ranges in `text` of strings that cells share, by their address and length in the workbook.
    shared: HashMap<(usize, usize), Range<usize>>,
}

struct SheetSource {
    file: String,
    sheet: Sheet,
    columns: Vec<Column>,
    /// The first column of the table.
    left: u32,
    has_header: bool,
    /// The next cell.
    at: usize,
}

fn open(path: &Path, context: &OpenContext<'_>) -> Opened {
    let of_file = |fault: DataFault| fault.of_file(context.file);
    let read = guarded(|| check_volume(path).and_then(|()| read(path, context.table.sheet.as_deref())));
    let unread = |found: String| DataFault::new(format!("cannot be read: {found}"), "an Excel workbook");
    let mut sheet = read.map_err(unread).and_then(|read| read).map_err(of_file)?;
    sheet.sort().map_err(of_file)?;
    let Some(first) = sheet.cells.first().map(|cell| cell.row) else {
        return Err(of_file(DataFault::new("an empty sheet", "a row with the names of the columns")));
    };
    let top = sheet.cells.iter().take_while(|cell| cell.row == first).count();
    let named = if context.table.no_header { &sheet.cells[..] } else { &sheet.cells[..top] };
    let left = named.iter().map(|cell| cell.column).min().unwrap_or(0);
    let right = named.iter().map(|cell| cell.column).max().unwrap_or(0);
    let width = (right - left + 1) as usize;
    let has_header = !context.table.no_header;
    let names = if has_header { sheet.names(top, left, width) } else { Ok(header::numbered(width)) };
    let position = DataPosition { line: None, row: u64::from(first) + 1, column: None };
    let names = names.map_err(|fault| DataError { file: context.file.to_owned(), position: Some(position), fault })?;
    let columns = names.into_iter().map(|name| Column { name, kind: ColumnKind::Any }).collect();
    let at = if has_header { top } else { 0 };
    Ok(Box::new(SheetSource { file: context.file.to_owned(), sheet, columns, left, has_header, at }))
}

/// Rejects workbooks whose XML does not fit into memory.
fn check_volume(path: &Path) -> Result<(), DataFault> {
    let unread =
        |error: &dyn std::fmt::Display| DataFault::new(format!("cannot be read: {error}"), "an Excel workbook");
    let file = File::open(path).map_err(|error| unread(&error))?;
    let mut archive = zip::ZipArchive::new(BufReader::new(file)).map_err(|error| unread(&error))?;
    let mut left = LARGEST_XML;
    for part in 0..archive.len() {
        let part = archive.by_index(part).map_err(|error| unread(&error))?;
        // Pictures and other files are not read.
        let is_xml = part.name().is_ok_and(|name| name.ends_with(".xml") || name.ends_with(".rels"));
        if !is_xml {
            continue;
        }
        let read = io::copy(&mut part.take(left + 1), &mut io::sink()).map_err(|error| unread(&error))?;
        left = left.checked_sub(read).ok_or_else(|| {
            let found = format!("more than {} MB of XML", LARGEST_XML >> 20);
            DataFault::new(found, "a smaller workbook").hint("save the sheet as CSV")
        })?;
    }
    Ok(())
}

/// Reads the cells of the named sheet, or of the first one.
fn read(path: &Path, name: Option<&str>) -> Result<Sheet, DataFault> {
    let unread =
        |error: &dyn std::fmt::Display| DataFault::new(format!("cannot be read: {error}"), "an Excel workbook");
    let file = File::open(path).map_err(|error| unread(&error))?;
    let mut book = Xlsx::new(BufReader::new(file)).map_err(|error| unread(&error))?;
    let names = book.sheet_names();
    let name = match name {
        Some(name) if names.iter().any(|known| known == name) => name.to_owned(),
        Some(name) => return Err(DataFault::new(format!("no sheet `{name}`"), format!("one of {}", names.join(", ")))),
        None => names.first().cloned().ok_or_else(|| DataFault::new("a workbook without sheets", "at least one"))?,
    };
    let mut cells = book.worksheet_cells_reader(&name).map_err(|error| unread(&error))?;
    let mut sheet = Sheet::default();
    while let Some(cell) = cells.next_cell().map_err(|error| unread(&error))? {
        let (row, column) = cell.get_position();
        let value = match cell.get_value() {
            DataRef::Empty => continue,
            DataRef::Int(number) => SheetValue::Number(*number as f64),
            DataRef::Float(number) => SheetValue::Number(*number),
            DataRef::Bool(value) => SheetValue::Boolean(*value),
            DataRef::Error(error) => SheetValue::Error(error.clone()),
            DataRef::SharedString(text) => SheetValue::Text(sheet.share(text)),
            DataRef::String(text) | DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => {
                SheetValue::Text(sheet.add(text))
            }
            DataRef::DateTime(time) => SheetValue::Text(sheet.add(&spelled(time))),
        };
        sheet.cells.push(SheetCell { row, column, value });
    }
    Ok(sheet)
}

/// Formats a date, a time or both as ISO 8601, and a duration as hours, minutes and seconds.
fn spelled(time: &ExcelDateTime) -> String {
    const SECONDS: f64 = 86400.0;
    let days = time.as_f64();
    let (year, month, day, hour, minute, second, milli) = time.to_ymd_hms_milli();
    let fraction = if milli == 0 { String::new() } else { format!(".{milli:03}") };
    let clock = format!("{minute:02}:{second:02}{fraction}");
    if time.is_duration() {
        // The hours of a duration do not wrap after a day.
        let sign = if days < 0.0 { "-" } else { "" };
        let seconds = (days.abs() * SECONDS).round();
        let (hours, rest) = ((seconds / 3600.0).floor(), seconds % 3600.0);
        return format!("{sign}{hours:02}:{:02}:{:02}", (rest / 60.0).floor(), rest % 60.0);
    }
    let date = format!("{year:04}-{month:02}-{day:02}");
    match (days < 1.0, days.fract() == 0.0) {
        (true, _) => format!("{hour:02}:{clock}"),
        (false, true) => date,
        (false, false) => format!("{date}T{hour:02}:{clock}"),
    }
}

impl Sheet {
    fn add(&mut self, text: &str) -> Range<usize> {
        let start = self.text.len();
        self.text.push_str(text);
        start..self.text.len()
    }

    /// Does the same for a shared string of the workbook, which is stored only once.
    fn share(&mut self, text: &str) -> Range<usize> {
        let key = (text.as_ptr().addr(), text.len());
        match self.shared.get(&key) {
            Some(range) => range.clone(),
            None => {
                let range = self.add(text);
                self.shared.insert(key, range.clone());
                range
            }
        }
    }

    /// Sorts the cells by row and column. Fails if two have the same position.
    fn sort(&mut self) -> Result<(), DataFault> {
        let position = |cell: &SheetCell| (cell.row, cell.column);
        if !self.cells.is_sorted_by_key(position) {
            self.cells.sort_by_key(position);
        }
        match self.cells.windows(2).find(|pair| position(&pair[0]) == position(&pair[1])) {
            None => Ok(()),
            Some(pair) => Err(DataFault::new(format!("two cells at {}", address(&pair[0])), "one")),
        }
    }

    /// Returns the names in the first `cells` cells, which are those of the first row.
    fn names(&self, cells: usize, left: u32, width: usize) -> Result<Vec<String>, DataFault> {
        let mut names = vec!["unnamed".to_owned(); width];
        let mut spelling = String::new();
        for cell in &self.cells[..cells] {
            let name = match self.cell(&cell.value, &mut spelling).map_err(|fault| fault.clone())? {
                CellValue::Bytes(bytes) => String::from_utf8_lossy(bytes).trim().to_owned(),
                _ => String::new(),
            };
            if !name.is_empty() {
                names[(cell.column - left) as usize] = name;
            }
        }
        header::check(&names)?;
        Ok(names)
    }

    /// Returns a value as the cell it would be in a CSV file.
    fn cell<'s>(&'s self, value: &SheetValue, spelling: &'s mut String) -> Result<CellValue<'s>, DataFault> {
        spelling.clear();
        Ok(match value {
            SheetValue::Text(range) => CellValue::Bytes(self.text[range.clone()].as_bytes()),
            SheetValue::Number(number) => {
                let _ = write!(spelling, "{number}");
                CellValue::Bytes(spelling.as_bytes())
            }
            SheetValue::Boolean(true) => CellValue::Bytes(b"true"),
            SheetValue::Boolean(false) => CellValue::Bytes(b"false"),
            SheetValue::Error(CellErrorType::NA) => CellValue::Bytes(b""),
            SheetValue::Error(error) => {
                return Err(DataFault::new(format!("a formula without a result, {error}"), "a value"));
            }
        })
    }
}

/// Returns the address of a cell in its sheet, `B3`.
fn address(cell: &SheetCell) -> String {
    let (mut letters, mut column) = (vec![], cell.column + 1);
    while 0 < column {
        letters.push(char::from(b'A' + ((column - 1) % 26) as u8));
        column = (column - 1) / 26;
    }
    let letters: String = letters.iter().rev().collect();
    format!("{letters}{}", u64::from(cell.row) + 1)
}

impl Source for SheetSource {
    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn has_header(&self) -> bool {
        self.has_header
    }

    fn share(&self) -> Option<f64> {
        Some(self.at as f64 / self.sheet.cells.len().max(1) as f64)
    }

    fn read(&mut self, limit: usize, sink: &mut dyn Sink, bad: &mut BadRows) -> Result<usize, DataError> {
        let mut read = 0;
        while read < limit && self.at < self.sheet.cells.len() {
            let row = self.sheet.cells[self.at].row;
            let cells = self.sheet.cells[self.at..].iter().take_while(|cell| cell.row == row).count();
            let cells = self.at..self.at + cells;
            self.at = cells.end;
            match self.emit(cells, sink) {
                Ok(()) => read += 1,
                Err((column, fault)) => {
                    sink.discard();
                    let column = column.map(|column| self.columns[column].name.clone());
                    bad.take(&self.file, DataPosition { line: None, row: u64::from(row) + 1, column }, fault)?;
                }
            }
        }
        Ok(read)
    }
}

impl SheetSource {
    /// Passes the cells of a row to the sink; absent cells are empty.
    fn emit(&self, cells: Range<usize>, sink: &mut dyn Sink) -> Result<(), (Option<usize>, DataFault)> {
        let mut spelling = String::new();
        let mut cells = self.sheet.cells[cells].iter().peekable();
        for column in 0..self.columns.len() {
            let of_column = |fault| (Some(column), fault);
            let present = cells.next_if(|cell| cell.column == self.left + column as u32);
            let cell = match present {
                Some(cell) => self.sheet.cell(&cell.value, &mut spelling),
                None => Ok(CellValue::Bytes(b"")),
            };
            match cell {
                Ok(cell) => sink.cell(column, cell),
                Err(fault) => sink.cell(column, CellValue::Unread(&fault)),
            }
            .map_err(of_column)?;
        }
        match cells.next() {
            Some(cell) => {
                let found = format!("a value in cell {}, outside the table", address(cell));
                Err((None, DataFault::new(found, "cells in the columns of the first row")))
            }
            None => sink.end().map_err(|fault| (None, fault)),
        }
    }
}
