//! Every law over every registered loss, rule and pair, counted.

use std::collections::BTreeMap;

use querist_theory::equivalent::Queried;
use querist_theory::laws::{Broken, LOSS_LAWS, Law, PAIR_LAWS, RULE_LAWS};
use querist_theory::loss::{self, LOSSES, Loss};
use querist_theory::registry::{Entry, Named};
use querist_theory::uncertainty::{self, UNCERTAINTIES, Uncertainty};

/// (loss, rule, law, why): what is known not to hold. `*` stands for any. One that no longer fails is a failure.
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

/// Runs laws and keeps count; an exception must be needed.
#[derive(Default)]
struct Harness {
    checks: usize,
    excused: BTreeMap<usize, usize>,
    broken: Vec<String>,
}

impl Harness {
    fn run<T: ?Sized>(&mut self, laws: &[Law<T>], subject: &T, loss: &str, rule: &str) {
        for law in laws {
            self.checks += 1;
            let excuse = EXCEPTIONS.iter().position(|(of_loss, of_rule, of_law, _)| {
                let matches = |pattern: &str, name: &str| pattern == "*" || name.starts_with(pattern);
                *of_law == law.name && matches(of_loss, loss) && matches(of_rule, rule)
            });
            match ((law.check)(subject), excuse) {
                (Ok(()), None) => {}
                (Err(broken), None) => self.record(loss, rule, law.name, &broken),
                (Err(_), Some(excuse)) => *self.excused.entry(excuse).or_default() += 1,
                (Ok(()), Some(_)) => {}
            }
        }
    }

    fn record(&mut self, loss: &str, rule: &str, law: &str, broken: &Broken) {
        self.broken.push(format!("{loss} {rule}: {law}: {broken}"));
    }

    #[expect(clippy::print_stdout, reason = "how much was checked is worth seeing")]
    /// Nothing broken, as many checks as expected, and just these exceptions needed.
    fn settle(&self, kind: &str, expected: usize, exceptions: &[usize]) {
        assert!(self.broken.is_empty(), "{} broken:\n{}", self.broken.len(), self.broken.join("\n"));
        println!("laws of {kind}: {} checks, {} excused", self.checks, self.excused.values().sum::<usize>());
        assert_eq!(self.checks, expected, "the number of checks of {kind} changed");
        let needed: Vec<usize> = self.excused.keys().copied().collect();
        assert_eq!(needed, exceptions, "an exception is not needed, or not listed here");
    }
}

#[test]
fn laws_of_losses() {
    let mut harness = Harness::default();
    for loss in losses() {
        harness.run(LOSS_LAWS, &*loss.object, &loss.name, "");
    }
    harness.settle("losses", 11 * 13, &[]);
}

#[test]
fn laws_of_rules() {
    let mut harness = Harness::default();
    for loss in losses() {
        for rule in rules(&loss) {
            harness.run(RULE_LAWS, &*rule.object, &loss.name, &rule.name);
        }
    }
    // Regression has no `critical`, nor has what is not convex: three samples each for four losses.
    harness.settle("rules", (11 * 39 - 4 * 3) * 11, &[]);
}

/// Runs the laws of pairs for the losses picked, and asserts how many there were.
fn laws_of_pairs(kind: &str, pick: fn(&str) -> bool, n_pairs: usize, exceptions: &[usize]) {
    let mut harness = Harness::default();
    for loss in losses().into_iter().filter(|loss| pick(&loss.name)) {
        for rule in rules(&loss) {
            let pair = Queried::new(loss.clone(), rule.clone());
            harness.run(PAIR_LAWS, &pair, &loss.name, &rule.name);
        }
    }
    harness.settle(kind, n_pairs * 16, exceptions);
}

#[test]
fn laws_of_pairs_with_logistic() {
    laws_of_pairs("pairs with logistic", |name| name == "logistic", 39, &[0, 1, 2]);
}

#[test]
fn laws_of_pairs_with_cross_entropy() {
    laws_of_pairs("pairs with cross-entropy", |name| name == "cross-entropy", 39, &[0, 1, 2]);
}

#[test]
fn laws_of_pairs_with_hinge() {
    laws_of_pairs("pairs with hinge", |name| name == "hinge", 39, &[0, 1, 2, 3]);
}

#[test]
fn laws_of_pairs_with_squared_hinge() {
    laws_of_pairs("pairs with squared-hinge", |name| name == "squared-hinge", 39, &[0, 1, 2]);
}

#[test]
fn laws_of_pairs_with_exponential() {
    laws_of_pairs("pairs with exponential", |name| name == "exponential", 39, &[0, 1, 2]);
}

#[test]
fn laws_of_pairs_for_regression() {
    laws_of_pairs("regression pairs", |name| name == "squared" || name.starts_with("squared:"), 3 * 36, &[]);
}

#[test]
fn laws_of_pairs_for_expressions() {
    laws_of_pairs("expression pairs", |name| name.starts_with("expr"), 3 * 39 - 3, &[0, 1, 2]);
}

/// Rules so sharp that they underflow within a few units of 0, where finite differences are of no use.
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
            // A parameter is tried at three places, one near each end of its range.
            let numbered =
                entry.params.iter().any(|p| matches!(p.kind, querist_theory::registry::ParamKind::Number(_)));
            assert!(!numbered || 3 <= entry.samples.len(), "{} needs three samples", entry.name);
        }
    }
    check(LOSSES);
    check(UNCERTAINTIES);
}
