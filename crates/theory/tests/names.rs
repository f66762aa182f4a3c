//! Malformed names: every text parses to an object or gives a clear error message.

use querist_theory::certificate::certify_classes;
use querist_theory::loss;
use querist_theory::uncertainty;

/// Fragments of names, and some that no name contains.
const PIECES: &[&str] = &[
    "margin",
    "mix",
    "product",
    "power",
    "expr",
    "entropy",
    "critical",
    "constant",
    "threshold",
    "rule",
    "by",
    "floor",
    "exponent",
    "mu",
    "gamma",
    "base",
    "scale",
    "p",
    ":",
    ":",
    "=",
    "=",
    ",",
    "(",
    ")",
    "'",
    "\"",
    " ",
    "-",
    "+",
    "*",
    "/",
    "^",
    "s",
    "abs(",
    "exp(",
    "log(",
    "1",
    "0",
    "0.5",
    "2",
    "1e308",
    "1e-320",
    "-1",
    "nan",
    "inf",
    "é",
    "𝜓",
    "\u{0}",
    "\n",
    "%",
    "softmax",
    "",
];

/// Draws from a small counter-based generator, which gives the same texts on every run.
fn pick(counter: u64, n: usize) -> usize {
    let mut x = counter.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) % n as u64) as usize
}

fn text(i: u64) -> String {
    let length = 1 + pick(i, 12) as u64;
    (0..length).map(|j| PIECES[pick(i * 31 + j + 1, PIECES.len())]).collect()
}

#[test]
fn no_text_panics_and_every_error_has_a_message() {
    let logistic = loss::parse("logistic").unwrap();
    let mut accepted = 0;
    for i in 0..60_000 {
        let text = text(i);
        let outcomes = [
            loss::parse(&text).map(|loss| loss.name),
            uncertainty::parse(&text, &logistic).map(|rule| rule.name),
            certify_classes("softmax-cross-entropy", &text, 3).map(|certificate| certificate.rule),
        ];
        for outcome in outcomes {
            match outcome {
                Ok(_) => accepted += 1,
                Err(error) => assert!(12 < error.message.len(), "{text:?}: {error}"),
            }
        }
    }
    // The generator does produce valid names.
    assert!(200 < accepted, "only {accepted} texts were names");
}

#[test]
fn names_of_parsed_rules_round_trip() {
    let logistic = loss::parse("logistic").unwrap();
    for i in 0..60_000 {
        if let Ok(rule) = uncertainty::parse(&text(i), &logistic) {
            let again =
                uncertainty::parse(&rule.name, &logistic).unwrap_or_else(|error| panic!("{}: {error}", rule.name));
            assert_eq!(again.name, rule.name);
        }
    }
}

#[test]
fn nesting_is_bounded() {
    let logistic = loss::parse("logistic").unwrap();
    let nested = |depth: usize| "power:exponent=1,rule=".repeat(depth) + "entropy";
    assert!(uncertainty::parse(&nested(19), &logistic).is_ok());
    let error = uncertainty::parse(&nested(1000), &logistic).unwrap_err();
    assert!(error.message.contains("deep"), "{error}");
    let long = "x".repeat(1_000_000);
    assert!(uncertainty::parse(&long, &logistic).is_err());
}

#[test]
fn composed_rules_have_the_expected_values() {
    let logistic = loss::parse("logistic").unwrap();
    let rule = |text: &str| uncertainty::parse(text, &logistic).unwrap();
    let v = 1.3;
    let (entropy, margin) = (rule("entropy").at(v), rule("margin:mu=2").at(v));
    assert_eq!(rule("mix:rule=margin:mu=2,floor=0.1").at(v), 0.1 + (1.0 - 0.1) * margin);
    assert_eq!(rule("mix:floor=0.1,rule=margin:mu=2").at(v), 0.1 + (1.0 - 0.1) * margin);
    assert_eq!(rule("product:rule=entropy,by=margin:mu=2").at(v), entropy * margin);
    assert_eq!(rule("power:rule=margin:mu=2,exponent=2").at(v), margin.powf(2.0));
    let nested = rule("mix:rule=(product:rule=entropy,by=margin:mu=2),floor=0.1");
    assert_eq!(nested.at(v), 0.1 + (1.0 - 0.1) * (entropy * margin));
    assert_eq!(rule("mix:rule=(expr:max(0, 1-abs(s)/2)),floor=0.5").at(1.0), 0.75);
    assert_eq!(rule("expr:'1/(1+s^2)'").at(1.0), 0.5);
}
