//! Registries: names such as `margin:mu=0.5` are parsed to losses and rules, and printed back.
//!
//! A registry is a static list of entries. An entry has a name, parameters and a constructor; everything
//! else (command line, documentation, laws, figures) iterates over the list.

use std::fmt::{self, Debug, Display};
use std::sync::Arc;

use crate::loss::Loss;
use crate::uncertainty::Uncertainty;

/// A one-line reason that a mathematician would accept.
pub type Because = std::borrow::Cow<'static, str>;

/// An entry of a registry.
pub struct Entry<T: ?Sized> {
    /// The name on the command line, kebab-case.
    pub name: &'static str,
    /// A one-line description.
    pub summary: &'static str,
    /// The parameters, in order.
    pub params: &'static [Param],
    /// The constructor; it reports parameters out of range.
    pub make: fn(&ConstructorArguments<'_>) -> Result<Arc<T>, ParamError>,
    /// Names on which the laws are checked, near both ends of every range.
    pub samples: &'static [&'static str],
    /// The source in the literature.
    pub source: &'static str,
}

/// A parameter of an entry.
#[derive(Debug)]
pub struct Param {
    /// The key.
    pub name: &'static str,
    /// The kind of value after `=`.
    pub kind: ParamKind,
}

/// The kind of a parameter.
#[derive(Debug)]
pub enum ParamKind {
    /// A number with its default; `None` if it is required.
    Number(Option<f64>),
    /// A number that is derived from the others if it is omitted; it is NaN then.
    Derived,
    /// Another rule.
    Rule,
    /// An expression of s: the rest of the text.
    Expression,
}

/// A parameter out of its range.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ParamError {
    /// The parameter and its value, `mu = -1`.
    pub found: String,
    /// The allowed range, `mu >= 0`; empty if `found` describes it.
    pub need: String,
}

impl ParamError {
    /// Creates an error for a number.
    pub fn number(name: &str, value: f64, need: &str) -> Self {
        // Very large and very small numbers are more readable with a power of ten.
        let plain = value == 0.0 || (1e-6..1e9).contains(&value.abs());
        let found = if plain { format!("{name} = {value}") } else { format!("{name} = {value:e}") };
        Self { found, need: need.to_owned() }
    }
}

impl Display for ParamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.need.as_str() {
            "" => f.write_str(&self.found),
            need => write!(f, "{}, need {need}", self.found),
        }
    }
}

/// The arguments of a constructor: the parameters in order, and the loss a rule will be used with.
pub struct ConstructorArguments<'a> {
    pub(crate) values: Vec<Argument>,
    pub(crate) loss: Option<&'a Named<dyn Loss>>,
}

/// The value of a parameter.
pub(crate) enum Argument {
    Number(f64),
    Rule(Named<dyn Uncertainty>),
    Expression(String),
}

impl ConstructorArguments<'_> {
    /// Returns the number at an index of the entry's `params`; NaN if it is [`ParamKind::Derived`] and was omitted.
    pub fn number(&self, index: usize) -> f64 {
        match self.values.get(index) {
            Some(Argument::Number(value)) => *value,
            _ => unreachable!("parsing fills every index of `params` with its kind"),
        }
    }

    /// Returns the rule at an index of `params`.
    pub fn rule(&self, index: usize) -> &Named<dyn Uncertainty> {
        match self.values.get(index) {
            Some(Argument::Rule(rule)) => rule,
            _ => unreachable!("parsing fills every index of `params` with its kind"),
        }
    }

    /// Returns the expression at an index of `params`.
    pub fn expression(&self, index: usize) -> &str {
        match self.values.get(index) {
            Some(Argument::Expression(text)) => text,
            _ => unreachable!("parsing fills every index of `params` with its kind"),
        }
    }

    /// Returns the loss with which the new rule will be used.
    pub fn loss(&self) -> &Named<dyn Loss> {
        self.loss.unwrap_or_else(|| unreachable!("rules are parsed with a loss"))
    }
}

/// A loss or a rule together with its name.
#[derive(Debug)]
pub struct Named<T: ?Sized> {
    /// The canonical name; parsing it gives the same object.
    pub name: String,
    /// The registry entry's name.
    pub entry: &'static str,
    /// The numeric parameters, in order.
    pub numbers: Vec<f64>,
    /// The object.
    pub object: Arc<T>,
}

impl<T: ?Sized> Clone for Named<T> {
    fn clone(&self) -> Self {
        Self {
            name: self.name.clone(),
            entry: self.entry,
            numbers: self.numbers.clone(),
            object: Arc::clone(&self.object),
        }
    }
}

impl<T: ?Sized> Named<T> {
    /// Names a user-defined object that is in no registry.
    pub fn own(name: &str, object: Arc<T>) -> Self {
        Self { name: name.to_owned(), entry: "", numbers: Vec::new(), object }
    }
}

impl<T: ?Sized> std::ops::Deref for Named<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.object
    }
}

/// An unknown name, or one with invalid parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct NameError {
    /// The name as typed.
    pub name: String,
    /// The problem and the remedy.
    pub message: String,
}

impl Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: String = self.name.chars().take(MAX_SHOWN).collect();
        let rest = if shown.len() < self.name.len() { "…" } else { "" };
        write!(f, "`{shown}{rest}`: {}", self.message)
    }
}

impl std::error::Error for NameError {}

/// The maximum length of a name in an error message, in characters.
const MAX_SHOWN: usize = 120;

/// The maximum nesting depth of rules.
const MAX_DEPTH: usize = 20;

/// Parses a name and constructs the object.
pub(crate) fn parse<T: ?Sized>(
    kind: &str,
    entries: &[Entry<T>],
    text: &str,
    loss: Option<&Named<dyn Loss>>,
    depth: usize,
) -> Result<Named<T>, NameError> {
    let text = text.trim();
    let fail = |message: String| NameError { name: text.to_owned(), message };
    if MAX_DEPTH < depth {
        return Err(fail(format!("rules within rules more than {MAX_DEPTH} deep")));
    }
    let (head, rest) = text.split_once(':').map_or((text, None), |(head, rest)| (head, Some(rest)));
    let Some(entry) = entries.iter().find(|entry| entry.name == head) else {
        return Err(fail(unknown(kind, head, entries.iter().map(|entry| entry.name))));
    };
    let texts = split_arguments(entry.params, rest)
        .map_err(|message| fail(format!("{message}; {}", usage(entry.name, entry.params))))?;
    let mut values = Vec::new();
    for (param, given) in entry.params.iter().zip(&texts) {
        values.push(read(entry.name, entry.params, param, given.as_deref(), loss, depth).map_err(&fail)?);
    }
    let name = print(entry.name, entry.params, &values);
    let numbers = values.iter().filter_map(|v| if let Argument::Number(x) = v { Some(*x) } else { None }).collect();
    let arguments = ConstructorArguments { values, loss };
    let object = (entry.make)(&arguments).map_err(|error| fail(error.to_string()))?;
    Ok(Named { name, entry: entry.name, numbers, object })
}

/// Returns the message `unknown loss; did you mean ...?`, or a list of all names.
pub fn unknown<'a>(kind: &str, given: &str, names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    let given = &given.to_lowercase();
    let close = names
        .iter()
        .map(|name| (edit_distance(given, name), *name))
        .filter(|(distance, name)| *distance <= name.len().div_ceil(3) || (2 < given.len() && name.starts_with(given)))
        .min();
    match close {
        Some((_, name)) => format!("unknown {kind}; did you mean `{name}`?"),
        None => format!("unknown {kind}; there are {}", names.join(", ")),
    }
}

/// Returns usage text such as `write margin:mu=NUMBER`.
pub fn usage(name: &str, params: &[Param]) -> String {
    let listed: Vec<String> = params
        .iter()
        .map(|param| match param.kind {
            ParamKind::Number(_) | ParamKind::Derived => format!("{}=NUMBER", param.name),
            ParamKind::Rule => format!("{}=RULE", param.name),
            ParamKind::Expression => "EXPRESSION".to_owned(),
        })
        .collect();
    if listed.is_empty() { format!("write {name}") } else { format!("write {name}:{}", listed.join(",")) }
}

/// Returns the text of each parameter, in the order of `params`.
fn split_arguments(params: &[Param], rest: Option<&str>) -> Result<Vec<Option<String>>, String> {
    let mut given: Vec<Option<String>> = params.iter().map(|_| None).collect();
    let Some(rest) = rest else { return Ok(given) };
    if let [Param { kind: ParamKind::Expression, .. }] = params {
        given[0] = Some(unquote(rest).to_owned());
        return Ok(given);
    }
    let mut last = None;
    for piece in split_at_depth_zero(rest)? {
        let key = piece.split_once('=').map(|(key, _)| key.trim());
        let index = key.and_then(|key| params.iter().position(|p| p.name == key));
        match (index, last) {
            (Some(index), _) if given[index].is_none() => {
                let value = piece.split_once('=').map_or("", |(_, value)| value).trim();
                given[index] = Some(unwrap_parentheses(value).to_owned());
                last = Some(index);
            }
            // A piece that is not a parameter of this entry belongs to the rule before it, as `y=2` does in
            // `mix:rule=a:x=1,y=2,floor=0.1`.
            (_, Some(before)) if matches!(params[before].kind, ParamKind::Rule) => {
                let text = given[before].get_or_insert_default();
                text.push(',');
                text.push_str(piece);
            }
            (Some(index), _) => return Err(format!("{} given twice", params[index].name)),
            (None, _) => return Err(format!("`{}` is not one of its parameters", piece.trim())),
        }
    }
    Ok(given)
}

fn read(
    entry: &str,
    params: &[Param],
    param: &Param,
    given: Option<&str>,
    loss: Option<&Named<dyn Loss>>,
    depth: usize,
) -> Result<Argument, String> {
    let missing = || format!("{} is missing; {}", param.name, usage(entry, params));
    match (&param.kind, given) {
        (ParamKind::Number(default), None) => default.map(Argument::Number).ok_or_else(missing),
        (ParamKind::Derived, None) => Ok(Argument::Number(f64::NAN)),
        (ParamKind::Number(_) | ParamKind::Derived, Some(text)) => match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(Argument::Number(value)),
            _ => Err(format!("{} = {text}, need a finite number", param.name)),
        },
        (ParamKind::Rule | ParamKind::Expression, None) => Err(missing()),
        (ParamKind::Expression, Some(text)) => Ok(Argument::Expression(text.trim().to_owned())),
        (ParamKind::Rule, Some(text)) => parse("rule", crate::uncertainty::UNCERTAINTIES, text, loss, depth + 1)
            .map(Argument::Rule)
            .map_err(|error| error.to_string()),
    }
}

/// Returns the canonical name: without defaults, and with complex rules in parentheses.
fn print(entry: &str, params: &[Param], values: &[Argument]) -> String {
    let mut pieces = Vec::new();
    for (param, value) in params.iter().zip(values) {
        match (value, &param.kind) {
            (Argument::Number(x), ParamKind::Number(default)) if *default == Some(*x) => {}
            (Argument::Number(x), ParamKind::Derived) if x.is_nan() => {}
            (Argument::Number(x), _) => pieces.push(format!("{}={x}", param.name)),
            (Argument::Expression(text), _) => pieces.push(text.clone()),
            (Argument::Rule(rule), _) => {
                let plain = !rule.name.contains([',', '(', ')', ' ']);
                pieces.push(if plain {
                    format!("{}={}", param.name, rule.name)
                } else {
                    format!("{}=({})", param.name, rule.name)
                });
            }
        }
    }
    if pieces.is_empty() { entry.to_owned() } else { format!("{entry}:{}", pieces.join(",")) }
}

fn split_at_depth_zero(text: &str) -> Result<Vec<&str>, String> {
    let (mut pieces, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (i, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => return Err("a `)` without its `(`".to_owned()),
            ')' => depth -= 1,
            ',' if depth == 0 => {
                pieces.push(&text[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    if 0 < depth {
        return Err("a `(` without its `)`".to_owned());
    }
    pieces.push(&text[start..]);
    Ok(pieces)
}

/// Removes one pair of parentheses around the whole text.
fn unwrap_parentheses(text: &str) -> &str {
    let Some(inner) = text.strip_prefix('(').and_then(|t| t.strip_suffix(')')) else { return text };
    if split_at_depth_zero(inner).is_ok() { inner.trim() } else { text }
}

/// Removes quotes that the shell did not remove.
fn unquote(text: &str) -> &str {
    let text = text.trim();
    for quote in ['\'', '"'] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|t| t.strip_suffix(quote)) {
            return inner;
        }
    }
    text
}

/// Returns the Levenshtein distance between the first 40 characters of `a` and `b`.
pub(crate) fn edit_distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().take(40).collect();
    let mut row: Vec<usize> = (0..=a.len()).collect();
    for (j, cb) in b.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = j + 1;
        for (i, ca) in a.iter().enumerate() {
            let substituted = diagonal + usize::from(*ca != cb);
            diagonal = row[i + 1];
            row[i + 1] = substituted.min(row[i] + 1).min(diagonal + 1);
        }
    }
    row[a.len()]
}
