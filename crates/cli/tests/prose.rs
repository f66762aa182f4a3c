//! The documents: sentence length, words to avoid, links, and the table of contents.

use std::fs;
use std::path::{Path, PathBuf};

/// Phrases that have a plainer or a standard alternative, in lower case. Code, code blocks and generated blocks may have them.
const AVOID: &[&str] = &[
    // Verbs and phrases of the old dialect.
    "told",
    "tell",
    "tells",
    "said",
    "says",
    "gone on with",
    "go on",
    "goes on",
    "anew",
    "gone through",
    "handed",
    "lend",
    "lent",
    "stand",
    "stands",
    "so many",
    "so long",
    "at hand",
    "of now",
    "left out",
    "refused",
    "refuses",
    "somebody",
    "whoever",
    "foretell",
    "foretells",
    "is no number",
    "what is no",
    "kept apart",
    "keeps apart",
    "by eights",
    "in the plane",
    "asks memory",
    "the asked",
    "for who",
    "looks once",
    "of late",
    "in thought",
    // Nouns with a standard term.
    "chance",
    "chances",
    "odds",
    "lot",
    "happened",
    "given",
    "known",
    "possible",
    "place",
    "places",
    "taken",
    "whole",
    "world",
    "worlds",
    "doubts",
    "better accuracy by",
    "to better",
    "betters",
    "bettered",
    // British spelling.
    "labelling",
    "labelled",
    "labeller",
    "levelled",
    "modelled",
    "licence",
    "neighbour",
    "neighbours",
    "colour",
    "behaviour",
    "judgement",
    "judgements",
    "optimise",
    "optimised",
    "optimising",
    "minimise",
    "minimised",
    "standardise",
    "standardised",
    "recognise",
    "recognised",
    "analyse",
    "centre",
    "favour",
];

/// The longest sentence that nine of ten may have, in words.
const MOST_WORDS: usize = 27;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Returns the Markdown files below a folder, sorted.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    let mut found = vec![];
    for path in entries {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !["target", ".git", "node_modules"].contains(&name.as_str()) {
            found.extend(pages(&path));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    found
}

/// Returns a path relative to the root, with forward slashes.
fn name_of(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/")
}

/// Returns the lines outside of code blocks and generated blocks, without inline code and link targets.
/// A line that was skipped is empty, so line numbers are those of the file.
fn prose(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = vec![];
    let mut fenced = false;
    let mut generated = false;
    for line in text.lines() {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        generated = (generated || line.starts_with("<!-- generated")) && !line.starts_with("<!-- end");
        let follows = lines.last().is_none_or(String::is_empty);
        let skipped = fence || fenced || generated || line.starts_with("<!--") || (follows && line.starts_with("    "));
        lines.push(if skipped { String::new() } else { without_code(line) });
    }
    lines
}

/// Replaces inline code by the word `code`, and removes the targets of links.
fn without_code(line: &str) -> String {
    let mut text = String::new();
    for (index, piece) in line.split('`').enumerate() {
        text.push_str(if index % 2 == 0 { piece } else { "code" });
    }
    let mut pieces = text.split("](");
    let mut kept = pieces.next().unwrap_or_default().to_string();
    for piece in pieces {
        kept.push_str(piece.split_once(')').map_or(piece, |(_, rest)| rest));
    }
    kept.replace(['[', ']', '*'], "")
}

/// Returns the number of words of every sentence. Headings and tables have none; a list item is a paragraph.
fn sentence_lengths(lines: &[String]) -> Vec<usize> {
    let mut paragraphs = vec![String::new()];
    for line in lines {
        let text = line.trim_start();
        let item = text.starts_with("- ") || text.split_once(". ").is_some_and(|(head, _)| head.parse::<u32>().is_ok());
        if text.is_empty() || text.starts_with(['#', '|', '!']) {
            paragraphs.push(String::new());
        } else if item {
            paragraphs.push(text.trim_start_matches(|c: char| c.is_ascii_digit() || "-. ".contains(c)).to_string());
        } else {
            let last = paragraphs.last_mut().unwrap();
            last.push(' ');
            last.push_str(text);
        }
    }
    paragraphs.iter().flat_map(|paragraph| lengths(paragraph)).collect()
}

/// Returns the number of words of every sentence of a paragraph. A word has a letter or a digit.
fn lengths(paragraph: &str) -> Vec<usize> {
    let mut found = vec![];
    let mut words = 0;
    for word in paragraph.split_whitespace() {
        words += usize::from(word.chars().any(char::is_alphanumeric));
        let bare = word.trim_end_matches([')', '"', '”', '\'']);
        if bare.ends_with(['.', '!', '?', '…']) && !["e.g.", "i.e.", "vs.", "al."].contains(&bare) {
            found.push(words);
            words = 0;
        }
    }
    found.push(words);
    found.retain(|words| 0 < *words);
    found
}

/// Returns every phrase to avoid in a file, with its line.
fn avoided(text: &str) -> Vec<String> {
    let mut found = vec![];
    for (index, line) in prose(text).iter().enumerate() {
        let words: Vec<String> = line
            .split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '-')
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect();
        let spaced = format!(" {} ", words.join(" "));
        for phrase in AVOID.iter().filter(|phrase| spaced.contains(&format!(" {phrase} "))) {
            found.push(format!("{}: \"{phrase}\"", index + 1));
        }
    }
    found
}

fn documents() -> Vec<PathBuf> {
    let mut found = pages(&root().join("docs"));
    for name in ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "ARCHITECTURE.md", "SECURITY.md"] {
        found.push(root().join(name));
    }
    found
}

#[test]
fn sentences_of_the_guides_are_short() {
    let mut all = vec![];
    let mut report = String::new();
    for path in pages(&root().join("docs")) {
        if path.ends_with("SUMMARY.md") {
            continue;
        }
        let mut found = sentence_lengths(&prose(&fs::read_to_string(&path).unwrap()));
        found.sort_unstable();
        if let Some(p90) = found.get(found.len() * 9 / 10) {
            report.push_str(&format!("{p90:4} words at p90 of {:4} sentences, {}\n", found.len(), name_of(&path)));
        }
        all.extend(found);
    }
    all.sort_unstable();
    assert!(500 < all.len(), "only {} sentences found", all.len());
    let p90 = all[all.len() * 9 / 10];
    assert!(p90 <= MOST_WORDS, "nine of ten sentences may have {MOST_WORDS} words, not {p90}\n{report}");
}

#[test]
fn documents_use_plain_words() {
    let mut report = String::new();
    for path in documents() {
        let name = name_of(&path);
        let found = avoided(&fs::read_to_string(&path).unwrap());
        if !found.is_empty() {
            report.push_str(&format!("{name} has {} phrases to avoid:\n", found.len()));
            report.extend(found.iter().map(|line| format!("  {line}\n")));
        }
    }
    assert!(report.is_empty(), "{report}");
}

/// Returns the targets of links and images in Markdown, outside of code.
fn targets(text: &str) -> Vec<String> {
    let mut found = vec![];
    let mut fenced = false;
    for line in text.lines() {
        fenced ^= line.trim_start().starts_with("```");
        if fenced {
            continue;
        }
        let code_free: String = line.split('`').step_by(2).collect();
        for piece in code_free.split("](").skip(1) {
            found.extend(piece.split_once(')').map(|(target, _)| target.to_string()));
        }
    }
    found
}

/// Returns the anchor that code hosts make from a heading.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
    text.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect()
}

#[test]
fn links_resolve() {
    let mut checked = 0;
    let mut report = String::new();
    for path in pages(&root()) {
        let text = fs::read_to_string(&path).unwrap();
        for target in targets(&text) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            checked += 1;
            let (file, fragment) = target.split_once('#').unwrap_or((&target, ""));
            let to = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            let inside = to
                .canonicalize()
                .is_ok_and(|to| !name_of(&path).starts_with("docs/") || to.starts_with(root().join("docs")));
            let headed = fragment.is_empty()
                || fs::read_to_string(&to)
                    .is_ok_and(|text| text.lines().any(|line| line.starts_with('#') && anchor(line) == fragment));
            if !inside || !headed {
                report.push_str(&format!("{}: {target}\n", name_of(&path)));
            }
        }
    }
    assert!(50 < checked, "only {checked} links");
    assert!(
        report.is_empty(),
        "links that lead nowhere, or from docs/ to a file that the book does not have:\n{report}"
    );
}

#[test]
fn the_table_of_contents_has_every_page() {
    let folder = root().join("docs");
    let listed = targets(&fs::read_to_string(folder.join("SUMMARY.md")).unwrap());
    for path in pages(&folder) {
        let name = path.strip_prefix(&folder).unwrap().to_string_lossy().replace('\\', "/");
        assert!(name == "SUMMARY.md" || listed.contains(&name), "docs/SUMMARY.md does not list {name}");
    }
}

#[test]
fn every_command_has_its_help() {
    let page = fs::read_to_string(root().join("docs/reference/commands.md")).unwrap();
    // The first help is that of the program, with a line for each command.
    let listed = page.split("\nCommands:\n").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap();
    let names: Vec<&str> = listed
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    assert!(15 < names.len(), "only {names:?}");
    for name in names {
        assert!(page.contains(&format!("\n$ querist {name} --help\n")), "docs/reference/commands.md lacks {name}");
    }
}
