//! Settings that a learner cannot run with. Constructors return them as errors, so callers need no checks of their own.

use std::fmt::{self, Display};

use crate::rule::Rule;
use crate::stream::Rules;

/// A reason why a learner cannot be created from its settings.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum IllegalSettings {
    /// A stream asks with probability U, but this rule exceeds 1.
    NotAProbability {
        /// The setting that holds the rule, as [`Self::setting`] names it.
        setting: &'static str,
        /// The name of the rule.
        rule: String,
        /// `U_max`.
        max: f64,
        /// The number of classes, for rules of class probabilities.
        classes: Option<usize>,
    },
    /// A rule in units of a pool was given to a stream.
    NeedsPool {
        /// The setting that holds the rule.
        setting: &'static str,
        /// The name of the rule.
        rule: String,
    },
    /// A rule needs a different number of scores than the model has.
    WrongOutputs {
        /// The setting that holds the rule.
        setting: &'static str,
        /// The name of the rule.
        rule: String,
        /// The number of scores the rule needs.
        needs: usize,
        /// The number of scores the model has.
        outputs: usize,
    },
    /// The start has a different number of parameters than the model.
    StartLength {
        /// The number of parameters of the start.
        found: usize,
        /// The number of parameters of the model.
        expected: usize,
        /// `true` if the model has intercepts.
        intercept: bool,
    },
    /// A precision needs draws that are spread evenly, and the rule has none.
    NeedsFloor {
        /// The name of the rule.
        rule: String,
    },
    /// A number is out of its range.
    OutOfRange {
        /// The name of the setting.
        setting: &'static str,
        /// The value.
        value: f64,
        /// The range it must be in.
        need: &'static str,
    },
}

impl IllegalSettings {
    /// Returns the name of the illegal setting: `rule`, `warm_rule`, `start`, `l2`, `radius`, `apart`, `precision`.
    pub fn setting(&self) -> &'static str {
        match self {
            Self::NotAProbability { setting, .. }
            | Self::NeedsPool { setting, .. }
            | Self::WrongOutputs { setting, .. }
            | Self::OutOfRange { setting, .. } => setting,
            Self::StartLength { .. } => "start",
            Self::NeedsFloor { .. } => "precision",
        }
    }

    /// Returns an error unless a setting is legal. NaN must fail the condition `is_legal`.
    pub(crate) fn unless(
        is_legal: bool,
        setting: &'static str,
        value: f64,
        need: &'static str,
    ) -> Result<(), IllegalSettings> {
        if is_legal { Ok(()) } else { Err(Self::OutOfRange { setting, value, need }) }
    }
}

impl Display for IllegalSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAProbability { rule, max, classes, .. } => {
                write!(f, "`{rule}` reaches {max}, so it is not a probability")?;
                match classes {
                    Some(classes) if rule.starts_with("entropy") => {
                        write!(f, "; `entropy:base={classes}` is at most 1")
                    }
                    _ => Ok(()),
                }
            }
            Self::NeedsPool { rule, .. } => {
                write!(
                    f,
                    "`{rule}` is in units of a pool, and a stream has none; use margin:mu=NUMBER or boundary:reach=NUMBER"
                )
            }
            Self::WrongOutputs { rule, needs, outputs, .. } => {
                write!(f, "`{rule}` is a rule of {needs} scores, and the model has {outputs}")
            }
            Self::StartLength { found, expected, intercept } => {
                let then = if *intercept { ", then the intercept" } else { "" };
                write!(f, "the start has {found} numbers, need {expected}: a weight for each feature{then}")
            }
            Self::NeedsFloor { rule } => {
                write!(f, "a precision needs a rule with a floor, such as boundary or rare, and `{rule}` has none")
            }
            Self::OutOfRange { setting, value, need } => write!(f, "{setting} = {value}, need {need}"),
        }
    }
}

impl std::error::Error for IllegalSettings {}

impl Rules {
    /// Checks that a stream can use these rules: U is a probability and needs no pool.
    pub fn check_for_stream(&self) -> Result<(), IllegalSettings> {
        for (setting, rule) in self.named() {
            if let Rule::Relative(_) = rule {
                return Err(IllegalSettings::NeedsPool { setting, rule: rule.name() });
            }
            // Written so that NaN fails the check.
            if !(rule.max() <= 1.0) {
                let classes = if let Rule::Classes(rule) = rule { Some(rule.classes()) } else { None };
                return Err(IllegalSettings::NotAProbability { setting, rule: rule.name(), max: rule.max(), classes });
            }
        }
        Ok(())
    }

    /// Checks that the rules take as many scores as the model has.
    pub(crate) fn check_outputs(&self, outputs: usize) -> Result<(), IllegalSettings> {
        for (setting, rule) in self.named() {
            let needs = match rule {
                Rule::Score(rule) if !rule.is_constant() => 1,
                Rule::Classes(rule) => rule.classes(),
                _ => outputs,
            };
            if needs != outputs {
                return Err(IllegalSettings::WrongOutputs { setting, rule: rule.name(), needs, outputs });
            }
        }
        Ok(())
    }

    fn named(&self) -> impl Iterator<Item = (&'static str, &Rule)> {
        let warm = self.warm.as_ref().map(|warm| ("warm_rule", &warm.rule));
        [Some(("rule", &self.rule)), warm].into_iter().flatten()
    }
}
