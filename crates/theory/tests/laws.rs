//! Every law on every registered loss, rule and pair; the number of checks is asserted.

use querist_theory::equivalent::Queried;
use querist_theory::laws::{LOSS_LAWS, Law, PAIR_LAWS, RULE_LAWS};
use querist_theory::link::Link;
use querist_theory::loss::{self, LOSSES, Loss};
use querist_theory::registry::{Entry, Named};
use querist_theory::uncertainty::{self, UNCERTAINTIES, Uncertainty};

/// Known violations as (loss, rule, law, reason); `*` matches any name. An exception that is not needed fails a test.
const EXCEPTIONS: &[(&str, &str, &str, &str)] = &[
    ("*", "threshold", "calibration_keeps_the_sign", "U is 0 outside the band"),
    ("*", "product:rule=threshold", "calibration_keeps_the_sign", "U is 0 outside the band"),
    ("*", "expr:max(0,1-abs(s)/2)", "calibration_keeps_the_sign", "U is 0 for |s| >= 2"),
    (
        "hinge",
        "*",
        "link_starts_as_the_rule_at_zero",
        "H has a kink at 1/2: the link is z times the mean of U on [0, 1]",
    ),
];

fn losses() -> Vec<Named<dyn Loss>> {
    samples(LOSSES).map(|name| loss::parse(name).unwrap()).collect()
}

fn samples<T: ?Sized>(entries: &'static [Entry<T>]) -> impl Iterator<Item = &'static str> {
    entries.iter().flat_map(|entry| entry.samples.iter().copied())
}

fn rules(loss: &Named<dyn Loss>) -> Vec<Named<dyn Uncertainty>> {
    samples(UNCERTAINTIES).filter_map(|name| uncertainty::parse(name, loss).ok()).collect()
}

/// Returns the index of the exception that covers this check, if any.
fn exception_for(loss: &str, rule: &str, law: &str) -> Option<usize> {
    let matches = |pattern: &str, name: &str| pattern == "*" || name.starts_with(pattern);
    EXCEPTIONS
        .iter()
        .position(|(of_loss, of_rule, of_law, _)| *of_law == law && matches(of_loss, loss) && matches(of_rule, rule))
}

/// Runs laws on a subject; collects violations without an exception and returns the number of laws.
fn run<T: ?Sized>(laws: &[Law<T>], subject: &T, loss: &str, rule: &str, broken: &mut Vec<String>) -> usize {
    for law in laws {
        match (law.check)(subject) {
            Err(error) if exception_for(loss, rule, law.name).is_none() => {
                broken.push(format!("{loss} {rule}: {}: {error}", law.name));
            }
            _ => {}
        }
    }
    laws.len()
}

fn assert_none_broken(broken: &[String]) {
    assert!(broken.is_empty(), "{} broken:\n{}", broken.len(), broken.join("\n"));
}

/// Returns every loss with every rule that exists for it.
fn pairs() -> Vec<(Named<dyn Loss>, Named<dyn Uncertainty>)> {
    losses().iter().flat_map(|loss| rules(loss).into_iter().map(|rule| (loss.clone(), rule))).collect()
}

#[test]
fn laws_of_losses() {
    let mut broken = vec![];
    let checks: usize = losses().iter().map(|loss| run(LOSS_LAWS, &*loss.object, &loss.name, "", &mut broken)).sum();
    assert_none_broken(&broken);
    assert_eq!(checks, 12 * 13, "losses × laws");
}

#[test]
fn laws_of_rules() {
    let mut broken = vec![];
    let run_on = |(loss, rule): (Named<dyn Loss>, Named<dyn Uncertainty>)| {
        run(RULE_LAWS, &*rule.object, &loss.name, &rule.name, &mut broken)
    };
    let checks: usize = pairs().into_iter().map(run_on).sum();
    assert_none_broken(&broken);
    assert_eq!(checks, (12 * 44 - 4 * 3) * 11, "(losses × rules, less `critical` where there is none) × laws");
}

/// Checks one quarter of the pairs, so that the quarters can run in parallel.
fn laws_of_pairs(quarter: usize) {
    let mut broken = vec![];
    let mut checks = 0;
    let mine = pairs().into_iter().skip(quarter).step_by(4);
    let n_pairs = mine.len();
    for (loss, rule) in mine {
        let pair = Queried::new(loss.clone(), rule.clone());
        checks += run(PAIR_LAWS, &pair, &loss.name, &rule.name, &mut broken);
    }
    assert_none_broken(&broken);
    assert_eq!(checks, n_pairs * 17, "pairs × laws");
}

#[test]
fn laws_of_pairs_first_quarter() {
    laws_of_pairs(0);
}

#[test]
fn laws_of_pairs_second_quarter() {
    laws_of_pairs(1);
}

#[test]
fn laws_of_pairs_third_quarter() {
    laws_of_pairs(2);
}

#[test]
fn laws_of_pairs_last_quarter() {
    laws_of_pairs(3);
}

#[test]
fn the_numbers_of_pairs_and_laws_are_unchanged() {
    assert_eq!(pairs().len(), 12 * 44 - 4 * 3, "losses × rules, less `critical` where there is none");
    assert_eq!((LOSS_LAWS.len(), RULE_LAWS.len(), PAIR_LAWS.len()), (13, 11, 17));
}

#[test]
fn every_exception_is_needed() {
    for (index, (_, _, law, why)) in EXCEPTIONS.iter().enumerate() {
        let law = PAIR_LAWS.iter().find(|known| known.name == *law).unwrap_or_else(|| panic!("no law {law}"));
        let fails = pairs().into_iter().any(|(loss, rule)| {
            exception_for(&loss.name, &rule.name, law.name) == Some(index)
                && (law.check)(&Queried::new(loss, rule)).is_err()
        });
        assert!(fails, "no longer needed: {} because {why}", law.name);
    }
}

/// Checks rules so sharp that they underflow within a few units of 0, where finite differences are useless.
#[test]
fn links_of_very_sharp_rules_hold() {
    let law = PAIR_LAWS.iter().find(|law| law.name == "closed_link_is_the_integrated_link").unwrap();
    for loss in ["logistic", "hinge", "squared-hinge", "exponential"] {
        for rule in ["exponential:mu=60", "exponential:mu=1000", "margin:mu=100000", "threshold:gamma=0.00001"] {
            let pair = Queried::parse(loss, rule).unwrap();
            (law.check)(&pair).unwrap_or_else(|broken| panic!("{loss} {rule}: {broken}"));
        }
    }
}

/// Checks that a loss given as an expression, about which fewer facts are known, gives the same results.
#[test]
fn a_loss_given_as_an_expression_agrees_with_the_registered_one() {
    for (typed, registered) in
        [("expr:log(1+exp(-s))", "logistic"), ("expr:exp(-s)", "exponential"), ("expr:max(0,1-s)^2", "squared-hinge")]
    {
        for rule in ["entropy", "margin:mu=0.5", "critical", "threshold:gamma=0.4", "expr:1/(1+s^2)"] {
            let (typed, registered) = (Queried::parse(typed, rule).unwrap(), Queried::parse(registered, rule).unwrap());
            let (found, expected) = (Link::new(&typed).unwrap(), Link::new(&registered).unwrap());
            let near = |found: f64, expected: f64, relative: f64| {
                let name = format!("{} {rule}: {found} {expected}", registered.loss().name);
                assert!((found - expected).abs() <= relative * expected.abs(), "{name}");
            };
            let close = |found: f64, expected: f64| near(found, expected, 1e-10);
            // Near 0 the descent of the risk is the difference of two nearly equal slopes.
            for (z, relative) in [(1e-9, 1e-7), (1e-7, 1e-7), (1e-3, 1e-10), (0.2, 1e-10), (0.7, 1e-10), (0.99, 1e-10)]
            {
                near(found.value(z), expected.value(z), relative);
                near(found.slope(z), expected.slope(z), relative);
                near(found.inverse(expected.value(z)), z, relative);
            }
            close(found.value(1.0), expected.value(1.0));
            close(found.neg_h2_half().unwrap(), expected.neg_h2_half().unwrap());
            close(found.start().unwrap().coefficient, expected.start().unwrap().coefficient);
            for s in [-30.0, -2.0, 0.3, 1.5] {
                close(typed.value(s) - typed.value(2.0), registered.value(s) - registered.value(2.0));
            }
        }
    }
}

#[test]
fn names_survive_printing_and_parsing() {
    for loss in losses() {
        assert_eq!(loss::parse(&loss.name).unwrap().name, loss.name);
        for rule in rules(&loss) {
            let again = uncertainty::parse(&rule.name, &loss).unwrap();
            assert_eq!(again.name, rule.name);
            for v in [-2.0, 0.0, 0.7] {
                assert_eq!(again.at(v), rule.at(v), "{}", rule.name);
            }
        }
    }
}

#[test]
fn names_are_unique_kebab_case_and_sampled() {
    fn check<T: ?Sized>(entries: &[Entry<T>]) {
        for (i, entry) in entries.iter().enumerate() {
            let kebab = entry.name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
            assert!(kebab && !entry.name.is_empty(), "{}", entry.name);
            assert!(entries[..i].iter().all(|other| other.name != entry.name), "{} twice", entry.name);
            assert!(!entry.samples.is_empty() && !entry.summary.is_empty() && !entry.source.is_empty());
            // A parameter has at least three samples, including one near each end of its range.
            let numbered =
                entry.params.iter().any(|p| matches!(p.kind, querist_theory::registry::ParamKind::Number(_)));
            assert!(!numbered || 3 <= entry.samples.len(), "{} needs three samples", entry.name);
        }
    }
    check(LOSSES);
    check(UNCERTAINTIES);
}
