//! The words of the source code: openings of doc comments, phrases in comments, and names of types.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Phrases that have a plainer or a standard alternative, in lower case.
const AVOID: &[&str] = &[
    "so many",
    "so long",
    "so few",
    "at hand",
    "of now",
    "somebody",
    "told",
    "gone on",
    "gone through",
    "goes on",
    "anew",
    "stands",
    "stood",
    "handed",
    "lent",
    "in the plane",
    "by eights",
    "kept apart",
    "what is no",
    "the asked",
    "left out",
    "labelling",
    "labelled",
];

/// Words that open a question or a relative clause in place of the noun or verb that a doc comment should begin with.
const QUESTION_WORDS: &[&str] = &["What", "How", "Where", "Whether", "Who", "Whom", "Whose", "When", "Why"];

/// The percentage of doc comments that may open with one of [`QUESTION_WORDS`]. Fields and help texts have some.
const MAX_QUESTION_PERCENT: usize = 6;

/// The number of type names that may be defined more than once. Lower it, never raise it.
const MAX_REPEATED_TYPES: usize = 2;

/// Returns the Rust files below a folder, without build folders, sorted.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    let mut found = vec![];
    for path in entries {
        if path.is_dir() && !path.ends_with("target") {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

fn all_sources() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let files = ["crates", "fuzz"].iter().flat_map(|folder| sources(&root.join(folder)));
    // This file lists the words.
    let files = files.filter(|path| !path.ends_with("tests/vocabulary.rs") && !path.ends_with("tests/prose.rs"));
    files.map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn doc_comments_begin_with_a_verb_or_a_noun() {
    let (mut blocks, mut questions) = (0, vec![]);
    for (path, text) in all_sources() {
        let mut in_block = false;
        for (index, line) in text.lines().map(str::trim_start).enumerate() {
            let doc = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
            if let Some(opening) = doc.filter(|_| !in_block) {
                blocks += 1;
                let first = opening.split_whitespace().next().unwrap_or_default();
                if QUESTION_WORDS.contains(&first) {
                    questions.push(format!("{}:{}{opening}", path.display(), index + 1));
                }
            }
            in_block = doc.is_some();
        }
    }
    assert!(1000 < blocks, "only {blocks} doc comments");
    let report = questions.join("\n");
    assert!(
        100 * questions.len() <= MAX_QUESTION_PERCENT * blocks,
        "{} of {blocks} doc comments open with a question word:\n{report}",
        questions.len()
    );
}

#[test]
fn comments_use_plain_words() {
    let mut found = vec![];
    for (path, text) in all_sources() {
        for (index, line) in text.lines().enumerate() {
            let Some((_, comment)) = line.split_once("//") else { continue };
            let words = comment.split(|letter: char| !letter.is_alphanumeric() && letter != '-' && letter != '_');
            let words: Vec<String> = words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
            let spaced = format!(" {} ", words.join(" "));
            for phrase in AVOID.iter().filter(|phrase| spaced.contains(&format!(" {phrase} "))) {
                found.push(format!("{}:{} `{phrase}`: {}", path.display(), index + 1, line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "{} phrases to avoid:\n{}", found.len(), found.join("\n"));
}

#[test]
fn a_type_name_means_one_thing() {
    let mut defined: BTreeMap<String, usize> = BTreeMap::new();
    for (_, text) in all_sources() {
        for line in text.lines().map(str::trim_start).filter(|line| !line.starts_with("//")) {
            let mut words = line.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
            while let Some(word) = words.next() {
                if ["struct", "enum", "trait"].contains(&word)
                    && let Some(name) = words.next().filter(|name| name.starts_with(char::is_uppercase))
                {
                    *defined.entry(name.to_owned()).or_default() += 1;
                }
            }
        }
    }
    let repeated: Vec<(&String, &usize)> = defined.iter().filter(|(_, count)| 1 < **count).collect();
    assert!(
        repeated.len() <= MAX_REPEATED_TYPES,
        "{} type names are defined more than once: {repeated:?}",
        repeated.len()
    );
}
