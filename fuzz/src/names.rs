//! Names of losses and rules: parsing a canonical name gives the same function again.

use querist_theory::{loss, uncertainty};

const POINTS: [f64; 7] = [0.0, 0.25, -0.25, 1.0, -3.0, 20.0, -800.0];

/// Checks one input.
///
/// # Panics
///
/// If a property is violated.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match loss::parse(text) {
        Ok(loss) => {
            let again = loss::parse(&loss.name).unwrap_or_else(|error| panic!("{}: {error}", loss.name));
            assert_eq!(loss.name, again.name, "a name read again");
            for s in POINTS {
                assert_eq!(loss.value(s).to_bits(), again.value(s).to_bits(), "{} at {s}", loss.name);
            }
        }
        Err(error) => assert!(!error.message.is_empty(), "an error without a reason"),
    }
    let logistic = loss::parse("logistic").expect("a loss of the registry");
    match uncertainty::parse(text, &logistic) {
        Ok(rule) => {
            let again = uncertainty::parse(&rule.name, &logistic);
            let again = again.unwrap_or_else(|error| panic!("{}: {error}", rule.name));
            assert_eq!(rule.name, again.name, "a name read again");
            for v in POINTS {
                assert_eq!(rule.at(v).to_bits(), again.at(v).to_bits(), "{} at {v}", rule.name);
            }
        }
        Err(error) => assert!(!error.message.is_empty(), "an error without a reason"),
    }
}
