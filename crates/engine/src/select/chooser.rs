//! Scores in, a selection out: what reads a pool needs no rule.

use querist_theory::registry::NameError;

use super::{Ids, NotAnUncertainty, Selection, check};
use crate::rule::{self, Rule};
use crate::task::Labels;

/// A rule and the rows it has chosen so far.
#[derive(Clone, Debug)]
pub struct Chooser {
    rule: Rule,
    outputs: usize,
    selection: Selection,
    uncertainties: Vec<f64>,
}

impl Chooser {
    /// With a rule from [`rule()`], for so many scores a row.
    pub fn new(rule: Rule, outputs: usize, selection: Selection) -> Self {
        Self { rule, outputs, selection, uncertainties: vec![] }
    }

    /// Takes rows with their scores. `place` is the first one's, for messages.
    pub fn take(&mut self, ids: &Ids<'_>, scores: &[f64], place: u64) -> Result<(), NotAnUncertainty> {
        self.uncertainties.resize(scores.len() / self.outputs, 0.0);
        fill(&self.rule, self.outputs, scores, &mut self.uncertainties)?;
        self.selection.offer(ids, &self.uncertainties, place)
    }

    /// What was chosen.
    pub fn into_selection(self) -> Selection {
        self.selection
    }
}

/// Writes U of rows from their scores alone, and checks that it can be drawn by.
pub fn fill(rule: &Rule, outputs: usize, scores: &[f64], out: &mut [f64]) -> Result<(), NotAnUncertainty> {
    if let (Rule::Score(rule), 1) = (rule, outputs) {
        rule.fill(scores, out);
    } else {
        let no_features: &[f32] = &[];
        for (u, scores) in out.iter_mut().zip(scores.chunks_exact(outputs)) {
            *u = rule.probability(scores, no_features);
        }
    }
    check(out)
}

/// The rule a text names, as pools understand it, if a model and a row are all it needs.
pub fn rule(name: &str, loss_name: &str, labels: Labels) -> Result<Rule, NameError> {
    let made = rule::parse(&rule::in_pool(name, labels), loss_name, labels)?;
    let needs = match &made {
        Rule::ConditionalLoss(_) => "the answers of its run",
        Rule::Relative(rule) if !rule.is_of_gaps() => "to know which class has the fewest answers",
        _ => return Ok(made),
    };
    let message = format!("needs {needs}, and a model file does not say; name another rule");
    Err(NameError { name: name.to_owned(), message })
}
