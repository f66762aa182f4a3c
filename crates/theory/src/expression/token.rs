//! Tokenizer: splits the text of an expression into numbers, names and symbols.

use super::ExpressionError;
use super::interval::Interval;
use super::node::EnclosedConstant;
use super::number::Number;

/// The maximum length of a text, in characters.
const MAX_TEXT: usize = 10_000;

/// The maximum length of a token quoted in an error message, in characters.
const MAX_QUOTE: usize = 24;

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum TokenKind {
    Number(EnclosedConstant),
    Name,
    Symbol(char),
    End,
}

/// A token with its text and the position of its first character, counted from one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) at: usize,
    pub(super) text: String,
}

impl Token {
    /// Returns the name of the token for error messages.
    pub(super) fn quoted(&self) -> String {
        match self.kind {
            TokenKind::End => "the end".to_string(),
            _ => quote(&self.text),
        }
    }
}

/// Puts the text between backticks, shortened and with control characters escaped.
pub(super) fn quote(text: &str) -> String {
    let shown: String = text.chars().take(MAX_QUOTE).collect();
    let rest = if shown.len() < text.len() { "…" } else { "" };
    format!("`{}{rest}`", shown.escape_debug())
}

/// Returns all tokens of `text`, the last of which is the end.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, ExpressionError> {
    let characters: Vec<char> = text.chars().collect();
    if characters.len() > MAX_TEXT {
        return Err(ExpressionError::new(MAX_TEXT + 1, format!("the expression is longer than {MAX_TEXT} characters")));
    }
    let mut found = Vec::new();
    let mut start = 0;
    while start < characters.len() {
        if characters[start].is_whitespace() {
            start += 1;
            continue;
        }
        let length = token_length(&characters[start..]);
        let text: String = characters[start..start + length].iter().collect();
        let at = start + 1;
        let kind = kind_of(characters[start], &text, at)?;
        found.push(Token { kind, at, text });
        start += length;
    }
    found.push(Token { kind: TokenKind::End, at: characters.len() + 1, text: String::new() });
    Ok(found)
}

fn kind_of(first: char, text: &str, at: usize) -> Result<TokenKind, ExpressionError> {
    match first {
        '0'..='9' | '.' => number(text, at).map(TokenKind::Number),
        '+' | '-' | '*' | '/' | '^' | '(' | ')' | ',' => Ok(TokenKind::Symbol(first)),
        _ if starts_name(first) => Ok(TokenKind::Name),
        _ => Err(ExpressionError::new(at, format!("unexpected character {}", quote(text)))),
    }
}

fn starts_name(character: char) -> bool {
    character.is_alphabetic() || character == '_'
}

/// Returns the number of characters of the token that `rest` begins with.
fn token_length(rest: &[char]) -> usize {
    let count = |from: usize, belongs: &dyn Fn(char) -> bool| {
        rest.iter().skip(from).take_while(|&&character| belongs(character)).count()
    };
    let digit = |character: char| character.is_ascii_digit();
    if starts_name(rest[0]) {
        return count(0, &|character| starts_name(character) || character.is_alphanumeric());
    }
    if !digit(rest[0]) && rest[0] != '.' {
        return 1;
    }
    let mut length = count(0, &digit);
    if rest.get(length) == Some(&'.') {
        length += 1 + count(length + 1, &digit);
    }
    if let Some('e' | 'E') = rest.get(length) {
        let signed = matches!(rest.get(length + 1), Some('+' | '-'));
        let begin = length + 1 + usize::from(signed);
        let digits = count(begin, &digit);
        // Without digits the letter is the constant `e`, or a mistake.
        if digits > 0 {
            length = begin + digits;
        }
    }
    length
}

fn number(text: &str, at: usize) -> Result<EnclosedConstant, ExpressionError> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(EnclosedConstant { value, bounds: literal_bounds(text, value) }),
        Ok(_) => Err(ExpressionError::new(at, format!("the number {} is too large", quote(text)))),
        Err(_) => Err(ExpressionError::new(at, format!("{} is not a number", quote(text)))),
    }
}

/// Returns bounds around the decimal literal, a point if `value` is exact.
fn literal_bounds(text: &str, value: f64) -> Interval {
    if literal_is_exact(text, value) {
        Interval::point(value)
    } else {
        Interval::new(value.next_down().max(0.0), value.next_up())
    }
}

/// Returns whether `value` certainly equals the decimal literal.
///
/// Small digits and small powers of ten are both exact as doubles, and a fused product then
/// shows any difference.
fn literal_is_exact(text: &str, value: f64) -> bool {
    const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_992.0;
    const MAX_EXACT_POWER: f64 = 22.0;
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}").parse::<f64>();
    let (Ok(digits), Ok(exponent)) = (digits, exponent.parse::<f64>()) else {
        return false;
    };
    let power = exponent - fraction.len() as f64;
    if digits >= MAX_EXACT_INTEGER || power.abs() > MAX_EXACT_POWER {
        return digits == 0.0;
    }
    let ten = 10_f64.integer_power(power.abs());
    if power >= 0.0 { digits.mul_add(ten, -value) == 0.0 } else { value.mul_add(ten, -digits) == 0.0 }
}
