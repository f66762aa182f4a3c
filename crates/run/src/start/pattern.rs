//! The words or the regular expression that the first rows of a cold start contain.

use std::fmt::{self, Display};
use std::str::FromStr;

use querist_engine::name::NameError;
use regex::Regex;

/// Words, or a regular expression, that a text contains.
///
/// ```
/// use querist_run::start::TextPattern;
///
/// let words: TextPattern = "free, prize draw".parse().unwrap();
/// assert!(words.is_match("FREE entry!") && words.is_match("a prize  draw") && !words.is_match("freedom"));
/// let regex: TextPattern = "/£\\d+/".parse().unwrap();
/// assert!(regex.is_match("win £100 now"));
/// ```
#[derive(Clone, Debug)]
pub struct TextPattern {
    text: String,
    regex: Regex,
}

impl TextPattern {
    /// Returns whether a text contains one of the words, in any case and as whole words, or matches the expression.
    pub fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

impl FromStr for TextPattern {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let error = |message: String| NameError { name: text.to_owned(), message };
        let source = match text.strip_prefix('/') {
            None => of_words(text).ok_or_else(|| error("write words separated by commas, or /REGEX/".to_owned()))?,
            Some(rest) => match (rest.strip_suffix("/i"), rest.strip_suffix('/')) {
                (Some(""), _) | (_, Some("")) => return Err(error("the regular expression is empty".to_owned())),
                (Some(body), _) => format!("(?i:{body})"),
                (None, Some(body)) => body.to_owned(),
                (None, None) => {
                    return Err(error("a regular expression ends with / or /i, as in /refund/i".to_owned()));
                }
            },
        };
        let regex = Regex::new(&source).map_err(|fault| {
            let fault = fault.to_string();
            // The last line states the fault; the lines before it point at its position.
            let why = fault.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            error(format!("not a regular expression: {why}"))
        })?;
        Ok(Self { text: text.to_owned(), regex })
    }
}

/// Returns an expression for whole words or phrases, separated by commas; `None` if there are none.
fn of_words(text: &str) -> Option<String> {
    let phrase = |phrase: &str| phrase.split_whitespace().map(regex::escape).collect::<Vec<_>>().join(r"\s+");
    let phrases: Vec<String> = text.split(',').map(phrase).filter(|phrase| !phrase.is_empty()).collect();
    // Words may begin or end with a sign, as in C++, where \b does not match.
    (!phrases.is_empty()).then(|| format!(r"(?i)(?:^|\W)(?:{})(?:$|\W)", phrases.join("|")))
}

impl Display for TextPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        pattern.parse::<TextPattern>().unwrap().is_match(text)
    }

    #[test]
    fn words_match_as_whole_words_in_any_case() {
        assert!(matches("refund", "Refund, please") && matches("refund", "my REFUND"));
        assert!(!matches("refund", "refunds") && !matches("refund", "prerefund"));
        assert!(matches("Ärger,x", "so ein ärger!") && matches("C++", "I like c++.") && !matches("C++", "c"));
        assert!(matches(" late fee , x", "a late\tfee") && !matches("late fee", "late"));
        assert!(matches("a.b", "a.b") && !matches("a.b", "axb"), "signs are literal");
    }

    #[test]
    fn expressions_match_parts_of_words() {
        assert!(matches("/fund/", "refunds") && !matches("/Fund/", "refunds") && matches("/Fund/i", "refunds"));
        assert!(matches("/a|b/i", "B"));
    }

    #[test]
    fn other_texts_are_errors() {
        for (bad, why) in [
            ("", "write words"),
            (" , ", "write words"),
            ("//", "is empty"),
            ("//i", "is empty"),
            ("/refund", "ends with / or /i"),
            ("/(a/", "not a regular expression: unclosed group"),
            ("/a{2000000000}/", "not a regular expression"),
        ] {
            let error = bad.parse::<TextPattern>().unwrap_err().to_string();
            assert!(error.contains(why), "{bad}: {error}");
        }
    }
}
