//! Neither the parser nor the evaluation panics on any text.

use super::super::{Expression, Interval};
use super::sample::{EXPRESSIONS, HashedNumbers, grown};

const TOKENS: [&str; 44] = [
    "s", "s", "s", "s", "1", "2", "0", ".5", "1e-3", "1e300", "3", "pi", "e", "+", "-", "*", "/", "^", "(", "(", ")",
    ")", ",", " ", "abs(", "exp(", "log(", "ln(", "log1p(", "expm1(", "sqrt(", "tanh(", "sinh(", "cosh(", "sigmoid(",
    "min(", "max(", "sign(", "atan(", "sin(", "cos(", "foo(", "x", "1e999",
];

const POINTS: [f64; 9] = [0.0, -0.0, 1.0, -2.5, 1e300, -1e-300, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];

fn exercise(expression: &Expression, sample: &mut HashedNumbers) {
    for point in POINTS {
        let _ = expression.jet(point);
    }
    let (first, second) = (sample.wild(), sample.wild());
    let intervals = [
        Interval::new(first.min(second), first.max(second)),
        Interval::EVERYTHING,
        Interval::point(0.0),
        Interval::new(second, first),
    ];
    for over in intervals {
        let found = [expression.range(over), expression.slope_range(over), expression.curvature_range(over)];
        for bounds in found {
            assert!(bounds.is_proper(), "{}: {bounds:?} over {over:?}", expression.source());
        }
    }
    let _ = expression.parity();
}

fn try_text(text: &str, sample: &mut HashedNumbers) -> bool {
    match Expression::parse(text) {
        Ok(expression) => {
            exercise(&expression, sample);
            if sample.below(50) == 0 {
                let kinks = expression.kinks();
                assert!(kinks.is_sorted() && kinks.iter().all(|kink| kink.is_finite()));
            }
            true
        }
        Err(error) => {
            assert!(error.at >= 1 && error.at <= text.chars().count() + 1);
            false
        }
    }
}

#[test]
fn random_tokens() {
    let mut sample = HashedNumbers::new(6);
    let mut accepted = 0;
    for _ in 0..100_000 {
        let count = 1 + sample.below(12);
        let text: String = (0..count).map(|_| TOKENS[sample.below(TOKENS.len())]).collect();
        accepted += usize::from(try_text(&text, &mut sample));
    }
    assert!(accepted > 1000);
}

#[test]
fn random_trees() {
    let mut sample = HashedNumbers::new(7);
    for _ in 0..20_000 {
        let depth = 1 + sample.below(5);
        let text = grown(&mut sample, depth);
        assert!(try_text(&text, &mut sample), "{text}");
    }
}

#[test]
fn random_bytes() {
    let mut sample = HashedNumbers::new(8);
    for _ in 0..100_000 {
        let count = sample.below(24);
        let bytes: Vec<u8> = (0..count).map(|_| sample.bits() as u8).collect();
        try_text(&String::from_utf8_lossy(&bytes), &mut sample);
    }
}

/// Tries valid expressions with a character changed, removed or repeated.
#[test]
fn damaged_expressions() {
    let mut sample = HashedNumbers::new(9);
    for _ in 0..20_000 {
        let text = EXPRESSIONS[sample.below(EXPRESSIONS.len())];
        let mut characters: Vec<char> = text.chars().collect();
        let index = sample.below(characters.len());
        match sample.below(3) {
            0 => characters[index] = (32 + sample.below(95) as u8) as char,
            1 => drop(characters.remove(index)),
            _ => characters.insert(index, characters[index]),
        }
        let damaged: String = characters.into_iter().collect();
        try_text(&damaged, &mut sample);
    }
}
