//! Finds the known name that a misspelled one most likely stands for.

/// Longer names are not compared; nobody misspells `abs` that badly.
const LONGEST_NAME: usize = 16;

/// The known name closest to `name`, if it is close enough to be meant.
pub(super) fn closest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let letters: Vec<char> = name.chars().flat_map(char::to_lowercase).collect();
    if letters.len() > LONGEST_NAME {
        return None;
    }
    let tolerated = if letters.len() <= 3 { 1 } else { 2 };
    known
        .iter()
        .map(|&candidate| (distance(&letters, candidate), candidate))
        .min_by_key(|&(distance, _)| distance)
        .filter(|&(distance, _)| distance <= tolerated)
        .map(|(_, candidate)| candidate)
}

/// How many letters must be added, dropped or changed.
fn distance(from: &[char], to: &str) -> usize {
    let target: Vec<char> = to.chars().collect();
    let mut previous: Vec<usize> = (0..=target.len()).collect();
    for (row, letter) in from.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, other) in target.iter().enumerate() {
            let changed = previous[column] + usize::from(letter != other);
            let added = current[column] + 1;
            let dropped = previous[column + 1] + 1;
            current.push(changed.min(added).min(dropped));
        }
        previous = current;
    }
    previous[target.len()]
}
