//! Error messages for invalid expressions.

use super::super::Expression;
use super::parsed;

fn message(text: &str) -> String {
    match Expression::parse(text) {
        Ok(_) => "no error".to_string(),
        Err(error) => error.to_string(),
    }
}

const KNOWN: &str = "known: abs, exp, log, ln, log1p, expm1, sqrt, tanh, sinh, cosh, \
                     sigmoid, min, max, sign, atan, sin, cos";

const MESSAGES: [(&str, &str); 25] = [
    ("", "at character 1: expected a number, `s` or `(`, found the end"),
    ("   ", "at character 4: expected a number, `s` or `(`, found the end"),
    ("1+(2)*)", "at character 7: expected a number, `s` or `(`, found `)`"),
    ("1+()", "at character 4: expected a number, `s` or `(`, found `)`"),
    ("(1+s", "at character 5: expected an operator or `)`, found the end"),
    ("1+s)", "at character 4: expected an operator or the end, found `)`"),
    ("2s", "at character 2: expected an operator or the end, found `s`"),
    ("2 3.5", "at character 3: expected an operator or the end, found `3.5`"),
    ("s**2", "at character 3: expected a number, `s` or `(`, found `*`"),
    ("+s", "at character 1: expected a number, `s` or `(`, found `+`"),
    ("s^", "at character 3: expected a number, `s` or `(`, found the end"),
    ("s $ 2", "at character 3: unexpected character `$`"),
    ("s − 2", "at character 3: unexpected character `−`"),
    ("s\u{7}", "at character 2: unexpected character `\\u{7}`"),
    (".", "at character 1: `.` is not a number"),
    ("1+1e999", "at character 3: the number `1e999` is too large"),
    ("exp", "at character 4: expected `(` after `exp`, found the end"),
    ("exp s", "at character 5: expected `(` after `exp`, found `s`"),
    ("exp(s", "at character 6: expected an operator or `)`, found the end"),
    ("exp(s, 2)", "at character 6: `exp` takes one argument: expected `)`, found `,`"),
    ("max(s)", "at character 6: `max` takes two arguments: expected `,`, found `)`"),
    ("max(s, 1, 2)", "at character 9: `max` takes two arguments: expected `)`, found `,`"),
    ("max(s 1)", "at character 7: expected an operator or `,`, found `1`"),
    ("2*x", "at character 3: unknown name `x`; the variable is `s`, the constants are `pi` and `e`"),
    ("2e", "at character 2: expected an operator or the end, found `e`"),
];

#[test]
fn exact_messages() {
    for (text, expected) in MESSAGES {
        assert_eq!(message(text), expected, "{text:?}");
    }
}

#[test]
fn unknown_functions() {
    let cases = [
        ("foobar(s)", "`foobar`;"),
        ("tahn(s)", "`tahn`; did you mean `tanh`?"),
        ("Exp(s)", "`Exp`; did you mean `exp`?"),
        ("sigmod(s)", "`sigmod`; did you mean `sigmoid`?"),
        ("arctan(s)", "`arctan`; did you mean `atan`?"),
        ("abss(s)", "`abss`; did you mean `abs`?"),
        ("x(s)", "`x`;"),
    ];
    for (text, beginning) in cases {
        let expected = format!("at character 1: unknown function {beginning} {KNOWN}");
        assert_eq!(message(text), expected);
    }
    let long = "q".repeat(40);
    let expected = format!("at character 1: unknown function `{}…`; {KNOWN}", "q".repeat(24));
    assert_eq!(message(&format!("{long}(s)")), expected);
}

#[test]
fn nesting_and_length_are_limited() {
    let nested = |depth: usize| format!("{}s{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(parsed(&nested(200)).value(2.0), 2.0);
    assert_eq!(message(&nested(201)), "at character 202: nested more than 200 deep");
    assert_eq!(message(&"-".repeat(5000)), "at character 202: nested more than 200 deep");
    assert_eq!(message(&"s^".repeat(4000)), "at character 403: nested more than 200 deep");
    let long = format!("s{}", "+s".repeat(4999));
    assert_eq!(parsed(&long).value(1.0), 5000.0);
    assert_eq!(parsed(&long).jet(1.0).slope, 5000.0);
    let longer = format!("s{}", "+s".repeat(5000));
    assert_eq!(message(&longer), "at character 10001: the expression is longer than 10000 characters");
}

#[test]
fn source_is_trimmed() {
    assert_eq!(parsed("  1 + s \n").source(), "1 + s");
}
