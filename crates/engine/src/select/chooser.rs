//! Selection of rows from their scores, so that readers of a pool need no rule.

use querist_theory::registry::NameError;

use super::{NotAnUncertainty, RowIds, Selection, check};
use crate::rule::{self, Rule};
use crate::task::Labels;

/// A rule and the selection it feeds.
#[derive(Clone, Debug)]
pub struct Chooser {
    rule: Rule,
    outputs: usize,
    selection: Selection,
    uncertainties: Vec<f64>,
}

impl Chooser {
    /// Creates a chooser with a rule from [`rule()`], for `outputs` scores per row.
    pub fn new(rule: Rule, outputs: usize, selection: Selection) -> Self {
        Self { rule, outputs, selection, uncertainties: vec![] }
    }

    /// Adds rows with their scores. `position` is the position of the first row, for messages.
    pub fn take(&mut self, ids: &RowIds<'_>, scores: &[f64], position: u64) -> Result<(), NotAnUncertainty> {
        self.uncertainties.resize(scores.len() / self.outputs, 0.0);
        fill(&self.rule, self.outputs, scores, &mut self.uncertainties)?;
        self.selection.offer(ids, &self.uncertainties, position)
    }

    /// Returns the selection.
    pub fn into_selection(self) -> Selection {
        self.selection
    }
}

/// Computes U of rows from their scores alone; returns an error if some U is illegal.
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

/// Parses the name of a rule, as pools interpret it. Returns an error if it needs more than a model and a row.
pub fn rule(name: &str, loss_name: &str, labels: Labels) -> Result<Rule, NameError> {
    let parsed = rule::parse(&rule::in_pool(name, labels), loss_name, labels)?;
    let needs = match &parsed {
        Rule::ConditionalLoss(_) => "the answers of its run",
        Rule::Relative(rule) if !rule.is_of_gaps() => "the number of answers of each class",
        _ => return Ok(parsed),
    };
    let message = format!("needs {needs}, which a model file does not have; use another rule");
    Err(NameError { name: name.to_owned(), message })
}
