//! Lists on the command line: `a,b`, and `"a,b",c` for entries that contain commas.

use std::str::FromStr;

/// One value of a list flag, split into its entries. A flag that is given several times has several of them.
///
/// Entries are separated by commas, and spaces around them are removed. An entry in double quotes is kept unchanged; a
/// quote inside it is doubled, as in CSV.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct List(Vec<String>);

impl FromStr for List {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut entries = vec![];
        let mut rest = Some(text);
        while let Some(text) = rest {
            let number = entries.len() + 1;
            let entry;
            (entry, rest) = match text.trim_start().strip_prefix('"') {
                Some(quoted) => split_quoted(quoted).map_err(|error| format!("entry {number} {error}"))?,
                None => split_plain(text),
            };
            if entry.is_empty() {
                return Err(format!("entry {number} is empty; remove the extra comma"));
            }
            entries.push(entry);
        }
        Ok(Self(entries))
    }
}

/// Returns the entry before the first comma, and the rest after the comma.
fn split_plain(text: &str) -> (String, Option<&str>) {
    let (entry, rest) = text.split_once(',').map_or((text, None), |(entry, rest)| (entry, Some(rest)));
    (entry.trim().to_owned(), rest)
}

/// Returns an entry whose opening quote was read, and the rest after the comma that follows the closing quote.
fn split_quoted(text: &str) -> Result<(String, Option<&str>), &'static str> {
    let mut entry = String::new();
    let mut rest = text;
    loop {
        let (before, after) = rest.split_once('"').ok_or("has no closing quote")?;
        entry.push_str(before);
        rest = match after.strip_prefix('"') {
            Some(after) => {
                entry.push('"');
                after
            }
            None => after.trim_start(),
        };
        if after.starts_with('"') {
            continue;
        }
        return match rest.strip_prefix(',') {
            None if !rest.is_empty() => Err("has text after its closing quote; double a quote inside quotes"),
            rest => Ok((entry, rest)),
        };
    }
}

/// Returns the entries of all values of a flag.
pub(crate) fn entries(lists: Vec<List>) -> Vec<String> {
    lists.into_iter().flat_map(|list| list.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_split_at_commas_and_trimmed() {
        let split = |text: &str| text.parse::<List>().unwrap().0;
        assert_eq!(split("a, b"), ["a", "b"]);
        assert_eq!(split(" a b ,c"), ["a b", "c"]);
        assert_eq!(split(r#""a,b",c"#), ["a,b", "c"]);
        assert_eq!(split(r#"c, "a,b" "#), ["c", "a,b"]);
        assert_eq!(split(r#""say ""a, b""""#), [r#"say "a, b""#]);
        assert_eq!(split(r#"" a""#), [" a"], "quotes keep spaces");
        assert_eq!(split(r#"5" pipe,x"#), [r#"5" pipe"#, "x"], "a quote inside a plain entry is a letter");
    }

    #[test]
    fn faulty_lists_are_rejected() {
        let error = |text: &str| text.parse::<List>().unwrap_err();
        for text in ["", " ", "a,,b", "a,", ",a", "\"\"", "a, ,b"] {
            assert!(error(text).contains("is empty"), "{text}: {}", error(text));
        }
        assert_eq!(error("a,\"b"), "entry 2 has no closing quote");
        assert!(error("\"a\"b").starts_with("entry 1 has text after its closing quote"));
    }
}
