//! Vowpal Wabbit text: compared with a reference reader, in pieces, and with the fast path for many features disabled.

use super::loading::{input, load_checked, load_same};
use super::reading::{Value, read_twice};
use super::reference::number;
use super::settings::{Group, Property, Settings};
use super::svmlight::{Outcome, judge};

/// The number of bits of hashed features, as in `reading`.
const BITS: u32 = 6;

/// Checks one input.
///
/// # Panics
///
/// If a property is violated.
pub fn run(data: &[u8]) {
    let Some((settings, content)) = Settings::split(data) else { return };
    match settings.group {
        Group::Reading => judge(&read_twice("vw", content, &settings), content, settings.skip_bad_rows, line),
        Group::Loading => {
            let options = settings.options("vw");
            match settings.property {
                Property::Spelling => load_same(&input(content), &input(&spaced(content)), &options),
                _ => load_checked(&input(content), &options, &settings),
            }
        }
    }
}

fn line(line: &[u8]) -> Outcome {
    if line.is_empty() {
        return None;
    }
    let record = || {
        let bar = line.iter().position(|byte| *byte == b'|')?;
        let (label, tag) = head(&line[..bar])?;
        Some(vec![(0, label), (1, tag), (2, Value::Features(merged(features(&line[bar..])?)?))])
    };
    Some(record())
}

/// Parses the label and the tag.
fn head(head: &[u8]) -> Option<(Value, Value)> {
    let touches_bar = head.last().is_some_and(|byte| !byte.is_ascii_whitespace());
    let words: Vec<&[u8]> = head.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
    let (mut label, mut tag) = (Value::Missing, Value::Missing);
    for (place, word) in words.iter().enumerate() {
        let value = number(word);
        let is_tag = place + 1 == words.len() && touches_bar && value.is_none();
        match (place, value) {
            _ if word[0] == b'\'' => tag = Value::Bytes(word[1..].to_vec()),
            _ if is_tag => tag = Value::Bytes(word.to_vec()),
            (0, Some(value)) if value.is_finite() => label = Value::Bytes(word.to_vec()),
            (1, Some(1.0)) => {}
            _ => return None,
        }
    }
    Some((label, tag))
}

/// Parses the features of all namespaces, in order.
fn features(bytes: &[u8]) -> Option<Vec<(u32, f32)>> {
    let mut features = vec![];
    for space in bytes.split(|byte| *byte == b'|').skip(1) {
        let mut words = space.split(|byte| matches!(byte, b' ' | b'\t'));
        let (name, weight) = pair(words.next().unwrap_or_default())?;
        let seed = hash(hash(0xcbf2_9ce4_8422_2325, b"vw"), name);
        let first = if name.is_empty() { 0 } else { top_bits(seed) };
        for word in words.filter(|word| !word.is_empty()) {
            let (name, value) = pair(word)?;
            let feature = (value * weight) as f32;
            let is_number = !name.is_empty() && name.iter().all(u8::is_ascii_digit);
            // Whole numbers are indices modulo 2³², relative to the start of the namespace.
            let digit = |sum: u32, byte: &u8| sum.wrapping_mul(10).wrapping_add(u32::from(byte - b'0'));
            let index = if is_number {
                name.iter().fold(0, digit).wrapping_add(first) % (1 << BITS)
            } else {
                top_bits(hash(seed, name))
            };
            features.push((index, Some(feature).filter(|feature| feature.is_finite())?));
        }
    }
    Some(features)
}

/// Splits a word into a name and its value, 1 if there is none.
fn pair(word: &[u8]) -> Option<(&[u8], f64)> {
    match word.iter().position(|byte| *byte == b':') {
        None => Some((word, 1.0)),
        Some(colon) => {
            let value = number(word[colon + 1..].trim_ascii()).filter(|value| value.is_finite())?;
            Some((&word[..colon], value))
        }
    }
}

/// Adds up features with the same index in the order of their bits, if any are out of order.
fn merged(mut features: Vec<(u32, f32)>) -> Option<Vec<(u32, u32)>> {
    if !features.windows(2).all(|pair| pair[0].0 < pair[1].0) {
        features.sort_by_key(|(index, value)| (*index, value.to_bits()));
    }
    let mut merged: Vec<(u32, f32)> = vec![];
    for (index, value) in features {
        match merged.last_mut() {
            Some((last, sum)) if *last == index => {
                *sum = (f64::from(*sum) + f64::from(value)) as f32;
                if !sum.is_finite() {
                    return None;
                }
            }
            _ => merged.push((index, value)),
        }
    }
    Some(merged.into_iter().map(|(index, value)| (index, value.to_bits())).collect())
}

/// Returns the hash of names, from its definition: the length, then words of eight bytes, the last one always padded.
fn hash(seed: u64, bytes: &[u8]) -> u64 {
    let mix = |state: u64, word: u64| {
        let mixed = (state ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ mixed >> 32
    };
    let mut padded = bytes.to_vec();
    padded.resize(8 * (bytes.len() / 8 + 1), 0);
    let words = padded.chunks(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes")));
    words.fold(mix(seed, bytes.len() as u64), mix)
}

/// Returns the feature of a hash.
fn top_bits(hash: u64) -> u32 {
    let mut z = hash;
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ z >> 31) >> (64 - BITS)) as u32
}

/// Returns the same lines with two spaces after each namespace, which the fast path for many features does not accept.
fn spaced(content: &[u8]) -> Vec<u8> {
    let (mut spaced, mut in_name) = (vec![], false);
    for byte in content {
        if in_name && *byte == b' ' {
            spaced.push(b' ');
        }
        in_name = *byte == b'|' || in_name && !matches!(byte, b' ' | b'\t' | b'\n');
        spaced.push(*byte);
    }
    spaced
}
