//! svmlight: compared with a reference reader, in pieces, and with the fast path for many features disabled.

use super::loading::{input, load_checked, load_same};
use super::reading::{Transcript, Value, read_twice};
use super::reference::{feature, lines, number};
use super::settings::{Group, Property, Settings};

/// The largest index of a feature.
const LARGEST: u64 = (1 << 28) - 1;

/// Checks one input.
///
/// # Panics
///
/// If a property is violated.
pub fn run(data: &[u8]) {
    let Some((settings, content)) = Settings::split(data) else { return };
    match settings.group {
        Group::Reading => judge(&read_twice("svmlight", content, &settings), content, settings.skip_bad_rows, line),
        Group::Loading => {
            let options = settings.options("svmlight");
            match settings.property {
                Property::Spelling => load_same(&input(content), &input(&spaced(content)), &options),
                _ => load_checked(&input(content), &options, &settings),
            }
        }
    }
}

/// The outcome of one line: no record, a rejected one, or its cells.
pub type Outcome = Option<Option<Vec<(usize, Value)>>>;

/// Compares a transcript with the result of the reference reader for each line.
///
/// # Panics
///
/// If they differ.
pub fn judge(transcript: &Transcript, content: &[u8], skips: bool, line: fn(&[u8]) -> Outcome) {
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    let (mut expected, mut faults) = (vec![], 0);
    for outcome in lines(content).into_iter().filter_map(|bytes| line(bytes.trim_ascii())) {
        match outcome {
            Some(record) => expected.push(record),
            None if !skips => {
                assert!(transcript.error.is_some(), "a fault was accepted");
                break;
            }
            None => faults += 1,
        }
    }
    assert_eq!(transcript.records, expected, "records");
    assert_eq!(transcript.skipped, faults, "rejected records");
}

fn line(line: &[u8]) -> Outcome {
    let content = line.split(|byte| *byte == b'#').next().unwrap_or_default();
    if line.is_empty() || line[0] == b'#' {
        return None;
    }
    let is_gap = |byte: &u8| matches!(byte, b' ' | b'\t');
    let label = content.split(is_gap).next().unwrap_or_default();
    let has_label = !label.contains(&b':');
    if has_label && number(label.trim_ascii()).is_none() {
        return Some(None);
    }
    let cell = if has_label { Value::Bytes(label.to_vec()) } else { Value::Missing };
    let words = content.split(is_gap).skip(usize::from(has_label)).filter(|word| !word.is_empty());
    Some(pairs(words).map(|pairs| vec![(0, cell), (1, Value::Features(pairs))]))
}

fn pairs<'a>(words: impl Iterator<Item = &'a [u8]>) -> Option<Vec<(u32, u32)>> {
    let mut pairs: Vec<(u32, u32)> = vec![];
    for word in words.filter(|word| !word.starts_with(b"qid:")) {
        let colon = word.iter().position(|byte| *byte == b':')?;
        let digits = &word[..colon];
        let is_index = !digits.is_empty() && digits.len() <= 19 && digits.iter().all(u8::is_ascii_digit);
        let index: u64 = std::str::from_utf8(digits).ok().filter(|_| is_index)?.parse().ok()?;
        let rises = pairs.last().is_none_or(|(last, _)| u64::from(*last) < index);
        let index = u32::try_from(index).ok().filter(|_| rises && index <= LARGEST)?;
        pairs.push((index, feature(&word[colon + 1..])?));
    }
    Some(pairs)
}

/// Returns the same lines with two spaces after the label, which the fast path for many features does not accept.
fn spaced(content: &[u8]) -> Vec<u8> {
    let mut spaced = vec![];
    for line in content.split_inclusive(|byte| *byte == b'\n') {
        let start = line.len() - line.trim_ascii_start().len();
        let gap = line[start..].iter().position(|byte| *byte == b' ').map_or(line.len(), |gap| start + gap);
        spaced.extend_from_slice(&line[..gap]);
        spaced.extend_from_slice(if gap < line.len() { b" " } else { b"" });
        spaced.extend_from_slice(&line[gap..]);
    }
    spaced
}
