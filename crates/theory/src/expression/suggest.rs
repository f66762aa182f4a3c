//! Suggests the known name that is most similar to a misspelled one.

use crate::registry::edit_distance;

/// The maximum length of a name to compare, in characters; longer ones are no misspellings.
const MAX_LENGTH: usize = 16;

/// Returns the known name closest to `name`, if it is close enough.
pub(super) fn closest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let name = name.to_lowercase();
    let length = name.chars().count();
    if length > MAX_LENGTH {
        return None;
    }
    let max_distance = if length <= 3 { 1 } else { 2 };
    known
        .iter()
        .map(|&candidate| (edit_distance(&name, candidate), candidate))
        .min_by_key(|&(distance, _)| distance)
        .filter(|&(distance, _)| distance <= max_distance)
        .map(|(_, candidate)| candidate)
}
