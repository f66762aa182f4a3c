//! The grammar of names, `name:key=value,…`, as for losses and rules.

use std::fmt::Display;

pub use querist_theory::registry::NameError;
use querist_theory::registry::unknown;

/// A name that is split into its head and its parameters.
#[derive(Clone, Debug)]
pub struct ParsedName<'a> {
    text: &'a str,
    head: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
}

impl<'a> ParsedName<'a> {
    /// Splits a name such as `fixed:eta=0.1`. Returns an error for a parameter without `=`.
    pub fn new(text: &'a str) -> Result<Self, NameError> {
        let (head, rest) = text.split_once(':').unwrap_or((text, ""));
        let mut name = Self { text, head, parameters: vec![] };
        for piece in rest.split(',').filter(|_| !rest.is_empty()) {
            let Some(parameter) = piece.split_once('=') else {
                return Err(name.error(format!("`{piece}` is not a parameter; write {head}:KEY=VALUE")));
            };
            name.parameters.push(parameter);
        }
        Ok(name)
    }

    /// Returns the part before the colon.
    pub fn head(&self) -> &'a str {
        self.head
    }

    /// Returns whether the name has no parameters.
    pub fn is_plain(&self) -> bool {
        self.parameters.is_empty()
    }

    /// Returns the parameters, as keys and values.
    pub fn parameters(&self) -> &[(&'a str, &'a str)] {
        &self.parameters
    }

    /// Returns an error if the name has parameters.
    pub fn expect_plain(&self) -> Result<(), NameError> {
        if self.is_plain() { Ok(()) } else { Err(self.error(format!("{} has no parameters", self.head))) }
    }

    /// Returns the value of the only parameter, which has this key.
    pub fn value(&self, key: &str) -> Result<&'a str, NameError> {
        match *self.parameters.as_slice() {
            [(found, value)] if found == key => Ok(value),
            _ => Err(self.error(format!("write {}:{key}=NUMBER", self.head))),
        }
    }

    /// Returns the number of the only parameter, which has this key. The number must be finite and above 0.
    pub fn positive(&self, key: &str) -> Result<f64, NameError> {
        match self.value(key)?.parse() {
            Ok(value) if 0.0 < value && f64::is_finite(value) => Ok(value),
            Ok(value) => Err(self.error(format!("{key} = {value}, need a finite number > 0"))),
            Err(_) => Err(self.error(format!("write {}:{key}=NUMBER", self.head))),
        }
    }

    /// Returns the error for a name that is not one of these; it suggests the nearest of them, or lists all.
    pub fn unknown(&self, kind: &str, names: &[&str]) -> NameError {
        self.error(unknown(kind, self.head, names.iter().copied()))
    }

    /// Returns an error about this name.
    pub fn error(&self, message: String) -> NameError {
        NameError { name: self.text.to_owned(), message }
    }
}

/// Returns the one of these values that has this name. The error suggests the nearest name, or lists all.
pub fn find<T: Copy + Display>(kind: &str, text: &str, all: &[T]) -> Result<T, NameError> {
    let names: Vec<String> = all.iter().map(T::to_string).collect();
    match names.iter().position(|name| name == text) {
        Some(index) => Ok(all[index]),
        None => {
            let message = unknown(kind, text, names.iter().map(String::as_str));
            Err(NameError { name: text.to_owned(), message })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_split_at_its_colon_and_commas() {
        let name = ParsedName::new("fixed:eta=0.1").unwrap();
        assert_eq!((name.head(), name.positive("eta").unwrap()), ("fixed", 0.1));
        assert!(ParsedName::new("auto").unwrap().expect_plain().is_ok());
        assert!(name.expect_plain().is_err());
    }

    #[test]
    fn wrong_parameters_are_rejected() {
        assert!(ParsedName::new("fixed:0.1").is_err());
        for name in ["fixed:eta=0", "fixed:eta=inf", "fixed:eta=x", "fixed:mu=1", "fixed:eta=1,mu=2", "fixed"] {
            assert!(ParsedName::new(name).unwrap().positive("eta").is_err(), "{name}");
        }
    }

    #[test]
    fn an_unknown_name_suggests_the_nearest_or_lists_all() {
        let error = find("draw", "scam", &["reject", "scan", "top"]).unwrap_err().to_string();
        assert_eq!(error, "`scam`: unknown draw; did you mean `scan`?");
        let error = ParsedName::new("best").unwrap().unknown("draw", &["reject", "scan", "top"]).to_string();
        assert_eq!(error, "`best`: unknown draw; there are reject, scan, top");
    }
}
