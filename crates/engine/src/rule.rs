//! The rules that determine U, the probability of asking.

use querist_theory::loss;
use querist_theory::registry::{NameError, Named};
use querist_theory::uncertainty;
use querist_theory::vector::{self, VectorScore};

use crate::features::Features;
use crate::task::{Labels, softmax_into};

mod conditional_loss;
mod guide;
mod kernel;
mod neighbors;
mod relative;

pub use conditional_loss::ConditionalLoss;
pub use guide::Guide;
pub use kernel::ScoreRule;
pub use relative::{FLOOR, HALF, LATE_FLOOR, Relative, Scale};

/// A rule that determines the probability of asking.
#[derive(Clone, Debug)]
pub enum Rule {
    /// A function of one score, defined by the theory.
    Score(ScoreRule),
    /// A function of K class probabilities.
    Classes(ClassRule),
    /// An estimate of the expected loss at these features.
    ConditionalLoss(ConditionalLoss),
    /// A function of scores in units of the pool; only for pools.
    Relative(Relative),
}

/// A rule that is not a function of a row's scores alone, so that the theory's registries do not contain it.
#[derive(Clone, Copy, Debug)]
pub struct RunRule {
    /// The name.
    pub name: &'static str,
    /// The parameters, all optional.
    pub params: &'static [&'static str],
    /// A one-line description.
    pub summary: &'static str,
    /// The source of the rule.
    pub source: &'static str,
}

/// All rules that need more than the scores of a row.
pub static RUN_RULES: &[RunRule] = &[conditional_loss::LISTED, relative::RARE];

/// A rule of K class probabilities.
#[derive(Clone, Debug)]
pub struct ClassRule {
    score: Named<dyn VectorScore>,
    classes: usize,
}

impl Rule {
    /// Returns the probability of asking at these scores and features.
    pub fn probability<X: Features>(&self, scores: &[f64], x: X) -> f64 {
        match self {
            Rule::Score(rule) => rule.at(scores[0].abs()),
            Rule::Classes(rule) => rule.at(scores),
            Rule::ConditionalLoss(rule) => rule.at(x),
            Rule::Relative(rule) => rule.at(scores),
        }
    }

    /// Returns the largest probability, `U_max`.
    pub fn max(&self) -> f64 {
        match self {
            Rule::Score(rule) => rule.max(),
            Rule::Classes(rule) => rule.score.max(rule.classes),
            Rule::ConditionalLoss(_) | Rule::Relative(_) => 1.0,
        }
    }

    /// Returns a lower bound on all probabilities, as far as the rule knows one.
    pub fn least(&self) -> f64 {
        match self {
            Rule::Score(rule) => rule.least(),
            Rule::Classes(rule) if rule.score.is_constant() => rule.score.max(rule.classes),
            Rule::Classes(_) => 0.0,
            Rule::ConditionalLoss(rule) => rule.floor(),
            Rule::Relative(rule) => rule.least(),
        }
    }

    /// Prepares the rule for choosing the most uncertain row instead of drawing in proportion to U.
    pub fn prepare_for_top(&mut self) {
        if let Rule::Relative(rule) = self {
            rule.remove_plateau();
        }
    }

    /// Returns the name.
    pub fn name(&self) -> String {
        match self {
            Rule::Score(rule) => rule.name().to_owned(),
            Rule::Classes(rule) => rule.score.name.clone(),
            Rule::ConditionalLoss(rule) => rule.name(),
            Rule::Relative(rule) => rule.name(),
        }
    }
}

impl ClassRule {
    /// Returns the number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Returns U at probabilities that add up to 1. Rounding may push it slightly out of its range.
    pub(crate) fn at_probabilities(&self, probabilities: &[f64]) -> f64 {
        self.score.at(probabilities)
    }

    fn at(&self, scores: &[f64]) -> f64 {
        let mut probabilities = vec![0.0; scores.len()];
        softmax_into(scores, &mut probabilities);
        // Rounding may push a sum slightly above its maximum.
        self.score.at(&probabilities).min(self.score.max(self.classes))
    }
}

/// Parses the name of a rule, for this loss and these labels.
pub fn parse(name: &str, loss_name: &str, labels: Labels) -> Result<Rule, NameError> {
    if name == "conditional-loss" || name.starts_with("conditional-loss:") {
        return ConditionalLoss::parse(name).map(Rule::ConditionalLoss);
    }
    if labels != Labels::Numbers
        && let Some(rule) = Relative::parse(name)
    {
        return rule.map(Rule::Relative);
    }
    let fail = |message: &str| NameError { name: name.to_owned(), message: message.to_owned() };
    match labels {
        Labels::Binary => {
            let loss = loss::parse(loss_name)?;
            Ok(Rule::Score(ScoreRule::new(uncertainty::parse(name, &loss)?)))
        }
        Labels::Classes(classes) => Ok(Rule::Classes(ClassRule { score: vector::parse(name)?, classes })),
        Labels::Numbers if name == "constant" || name.starts_with("constant:") => {
            let loss = loss::parse("squared")?;
            Ok(Rule::Score(ScoreRule::new(uncertainty::parse(name, &loss)?)))
        }
        Labels::Numbers => Err(fail("numbers have no even rule; there are constant and conditional-loss")),
    }
}

/// Returns the full name of a rule in a pool. `boundary`, or its older name `margin` without parameters, gets its
/// default numbers. The entropy of K classes gets base K, so that it is at most 1.
pub fn in_pool(name: &str, labels: Labels) -> String {
    match (name, labels) {
        ("boundary" | "margin", Labels::Binary | Labels::Classes(_)) => {
            format!("boundary:half={HALF},floor={FLOOR},late={LATE_FLOOR}")
        }
        ("entropy", Labels::Classes(classes)) => format!("entropy:base={classes}"),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parsed_rules_keep_their_names() {
        for (name, labels) in [("margin:mu=2", Labels::Binary), ("entropy:base=3", Labels::Classes(3))] {
            assert_eq!(parse(name, "logistic", labels).unwrap().name(), name);
        }
        assert!(parse("entropy", "squared", Labels::Numbers).is_err());
    }

    #[test]
    fn listed_rules_are_parsed_with_and_without_their_parameters() {
        for listed in RUN_RULES {
            let params: Vec<String> = listed.params.iter().map(|param| format!("{param}=0.5")).collect();
            for name in [listed.name.to_owned(), format!("{}:{}", listed.name, params.join(","))] {
                let rule = parse(&name, "logistic", Labels::Binary).unwrap();
                assert!(matches!(rule, Rule::ConditionalLoss(_) | Rule::Relative(_)), "{name}");
                assert!(rule.name().starts_with(listed.name));
            }
        }
    }
}
