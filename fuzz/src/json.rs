//! JSON arrays: accepted as a whole exactly if they are valid, in pieces, and on both paths to rows.

use super::jsonl::{Object, assert_same_record, repeats};
use super::loading::{input, load_checked};
use super::reading::{Transcript, read_twice};
use super::settings::{Group, Settings};

/// Checks one input.
///
/// # Panics
///
/// If a property is violated.
pub fn run(data: &[u8]) {
    let Some((settings, content)) = Settings::split(data) else { return };
    match settings.group {
        Group::Reading => judge(&read_twice("json", content, &settings), content),
        Group::Loading => load_checked(&input(content), &settings.options("json"), &settings),
    }
}

fn judge(transcript: &Transcript, content: &[u8]) {
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    let text = std::str::from_utf8(content).ok().filter(|text| !text.contains('\0'));
    let Some(text) = text.filter(|text| text.trim_ascii_start().starts_with('[')) else { return };
    let has_fault = transcript.error.is_some() || 0 < transcript.skipped;
    match serde_json::from_str::<Vec<Object>>(text) {
        Ok(objects) if !objects.iter().any(|object| repeats(&object.0)) => {
            assert!(!has_fault, "a valid array was rejected: {transcript:?}");
            assert_eq!(transcript.records.len(), objects.len(), "records");
            for (record, object) in transcript.records.iter().zip(&objects) {
                assert_same_record(transcript, record, &object.0);
            }
        }
        Ok(_) => assert!(has_fault, "an object with a key twice was accepted"),
        // Skipped values may be nested more deeply than those that are parsed.
        Err(error) if error.to_string().contains("recursion limit") => {}
        Err(error) => assert!(has_fault, "an array that is not valid was accepted: {error}"),
    }
}
