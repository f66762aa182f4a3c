//! Finds the known name that a misspelled one most likely stands for.

use crate::registry::edit_distance;

/// Longer names are not compared; nobody misspells `abs` that badly.
const LONGEST_NAME: usize = 16;

/// The known name closest to `name`, if it is close enough to be meant.
pub(super) fn closest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let name = name.to_lowercase();
    let length = name.chars().count();
    if length > LONGEST_NAME {
        return None;
    }
    let tolerated = if length <= 3 { 1 } else { 2 };
    known
        .iter()
        .map(|&candidate| (edit_distance(&name, candidate), candidate))
        .min_by_key(|&(distance, _)| distance)
        .filter(|&(distance, _)| distance <= tolerated)
        .map(|(_, candidate)| candidate)
}
