//! CSV: compared with a reference reader, in pieces, and on both paths to rows.

use super::loading::{input, load_checked};
use super::reading::{Transcript, Value, read_twice};
use super::reference::number;
use super::settings::{Group, Settings};

/// Checks one input.
///
/// # Panics
///
/// If a property is violated.
pub fn run(data: &[u8]) {
    let Some((settings, content)) = Settings::split(data) else { return };
    match settings.group {
        Group::Reading => judge(&read_twice("csv", content, &settings), content, &settings),
        Group::Loading => load_checked(&input(content), &settings.options("csv"), &settings),
    }
}

/// A record as the reference reader sees it.
#[derive(Debug, PartialEq)]
enum Record {
    Cells(Vec<Vec<u8>>),
    /// A rejected record; reading continues with the next line.
    Fault,
    /// A quote that is never closed; nothing is read after it.
    Unclosed,
}

/// Compares a transcript with the result of the reference reader.
fn judge(transcript: &Transcript, content: &[u8], settings: &Settings) {
    if transcript.columns.is_empty() {
        assert!(transcript.error.is_some(), "a file without columns");
        return;
    }
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    let mut rest = content;
    let separator = separator(rest.split(|byte| *byte == b'\n').next().unwrap_or_default());
    let Some(Record::Cells(header)) = record(&mut rest, separator) else { panic!("a header with a fault was read") };
    assert_eq!(header.len(), transcript.columns.len(), "columns");
    let header_bytes = &content[..content.len() - rest.len()];
    if settings.no_header {
        rest = content;
    } else {
        assert!(!header.iter().all(|name| number(name.trim_ascii()).is_some()), "a header of numbers");
    }
    let (mut expected, mut faults) = (vec![], 0);
    while !rest.is_empty() {
        let line = line(rest);
        if line.is_empty() && 1 < header.len() {
            rest = after_line(rest);
            continue;
        }
        let is_header = !settings.no_header && line == self::line(header_bytes) && is_one_line(header_bytes);
        let found = if is_header && 1 < header.len() {
            rest = after_line(rest);
            Some(Record::Fault)
        } else {
            record(&mut rest, separator)
        };
        match found {
            Some(Record::Cells(cells)) if cells.len() == header.len() => expected.push(cells),
            Some(Record::Unclosed) => {
                assert!(transcript.error.is_some(), "an open quote was accepted");
                break;
            }
            _ if !settings.skip_bad_rows => {
                assert!(transcript.error.is_some(), "a fault was accepted");
                break;
            }
            _ => faults += 1,
        }
    }
    let found: Vec<Vec<Vec<u8>>> = transcript.records.iter().map(|record| cells(record)).collect();
    assert_eq!(found, expected, "cells");
    assert_eq!(transcript.skipped, faults, "rejected records");
}

fn cells(record: &[(usize, Value)]) -> Vec<Vec<u8>> {
    let cell = |(place, (column, value)): (usize, &(usize, Value))| {
        assert_eq!(place, *column, "cells in the order of the columns");
        let Value::Bytes(bytes) = value else { panic!("a cell of CSV that is not bytes: {value:?}") };
        bytes.clone()
    };
    record.iter().enumerate().map(cell).collect()
}

/// Returns the separator that appears most often outside quotes; the first one if several are equally frequent.
fn separator(header: &[u8]) -> u8 {
    let outside: Vec<u8> = header.split(|byte| *byte == b'"').step_by(2).flatten().copied().collect();
    let count = |wanted: u8| outside.split(|byte| *byte == wanted).count() - 1;
    let most = [b',', b'\t', b';', b'|'].map(count).into_iter().max().unwrap_or(0);
    [b',', b'\t', b';', b'|'].into_iter().find(|byte| count(*byte) == most).unwrap_or(b',')
}

fn is_one_line(record: &[u8]) -> bool {
    let end = record.strip_suffix(b"\n").unwrap_or(record);
    !end.contains(&b'\n')
}

/// Returns the first line without its terminator.
fn line(bytes: &[u8]) -> &[u8] {
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn after_line(bytes: &[u8]) -> &[u8] {
    bytes.iter().position(|byte| *byte == b'\n').map_or(&[], |end| &bytes[end + 1..])
}

/// Removes one record from the front of `rest` and parses it byte by byte.
fn record(rest: &mut &[u8], separator: u8) -> Option<Record> {
    let mut cells = vec![];
    loop {
        let mut cell = vec![];
        if let Some(inside) = rest.strip_prefix(b"\"") {
            let mut inside = inside;
            loop {
                match inside {
                    [] => return Some(Record::Unclosed),
                    [b'"', b'"', after @ ..] => {
                        cell.push(b'"');
                        inside = after;
                    }
                    [b'"', after @ ..] => {
                        *rest = after;
                        break;
                    }
                    [byte, after @ ..] => {
                        cell.push(*byte);
                        inside = after;
                    }
                }
            }
            let is_end = line(rest).is_empty() || rest[0] == separator;
            if !is_end {
                *rest = after_line(rest);
                return Some(Record::Fault);
            }
        } else {
            let end = line(rest).iter().position(|byte| *byte == separator).unwrap_or(line(rest).len());
            cell.extend_from_slice(&rest[..end]);
            *rest = &rest[end..];
        }
        cells.push(cell);
        if line(rest).is_empty() {
            *rest = after_line(rest);
            return Some(Record::Cells(cells));
        }
        *rest = &rest[1..];
    }
}
