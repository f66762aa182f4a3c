//! A pool whose rows are scored by a model outside of the engine.
//!
//! The engine has no model here: every draw gets the current predictions for all rows. It draws by a rule, knows the exact
//! probability of each draw, and estimates the performance of any model that predicted the pool. Until every class has a
//! label, rows are drawn uniformly or by coverage of the pool. The state is a fold of draws and answers, so it can be
//! recorded and restored.

use super::cold_start::{Coverage, MOST_CLASSES, StartRows, least_labels, phase_of};
use super::row_weights::settle_on;
use super::{ColdDraws, NoRow, Precision, PrecisionGoal, Retired, RowWeights};
use crate::coin::Coin;
use crate::rows::Rows;
use crate::rule::{self, Rule, Scale};
use crate::select::check;
use crate::settings::IllegalSettings;
use crate::task::Labels;
use querist_theory::registry::NameError;

mod assess;
mod error;
mod predictions;

pub use assess::ScoredPoolEstimate;
pub use error::ScoredPoolError;
pub use predictions::{Prediction, PredictionKind, PredictionValues, Predictions, WrongPrediction};

/// The draws before every class has a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColdMethod {
    /// There is no cold start: every draw follows the rule.
    None,
    /// Uniform draws.
    Random,
    /// Draws that cover the pool.
    Coverage,
}

/// The settings of a pool without a model.
#[derive(Clone, Debug)]
pub struct ScoredPoolSettings {
    /// The number of rows.
    pub rows: usize,
    /// The name of the rule.
    pub rule: String,
    /// The number of classes; `None` if the first predictions determine it.
    pub classes: Option<usize>,
    /// The draws before every class has a label.
    pub cold: ColdMethod,
    /// The wanted precision of an estimate, if there is one.
    pub precision: Option<Precision>,
    /// The random seed.
    pub seed: u64,
}

/// The method of a draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrawMethod {
    /// In proportion to U of the rule.
    Rule,
    /// Uniformly, in a cold start.
    Uniform,
    /// By coverage, in a cold start.
    Coverage,
    /// Uniformly, because the rule gives U = 0 at every row that was left.
    Fallback,
}

/// A draw from a pool without a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoredDraw {
    /// The index of the row.
    pub row: usize,
    /// U of the row.
    pub uncertainty: f64,
    /// The exact probability of the draw, given the earlier ones.
    pub probability: f64,
    /// The mean of U over the rows that were left.
    pub rate: f64,
    /// The method.
    pub method: DrawMethod,
    /// The scale of a rule in units of the pool; for coverage its constant.
    pub scale: Option<Scale>,
    /// The prediction for the row before its label was known.
    pub prediction: Option<Prediction>,
}

/// A pool whose rows are scored by a model outside of the engine.
///
/// ```
/// use querist_engine::pool::{
///     ColdMethod, PredictionKind, PredictionValues, Predictions, ScoredPool, ScoredPoolSettings,
/// };
///
/// let rule = "entropy".to_owned();
/// let settings =
///     ScoredPoolSettings { rows: 4, rule, classes: None, cold: ColdMethod::None, precision: None, seed: 1 };
/// let mut pool = ScoredPool::new(settings).unwrap();
/// let values = PredictionValues::F64(&[0.5, 0.9, 0.999, 0.5]);
/// let predictions = Predictions::new(values, 1, PredictionKind::Probabilities);
/// let drawn = pool.draw(Some(&predictions), None, 2).unwrap();
/// assert!(drawn.iter().all(|draw| 0.0 < draw.probability && draw.probability <= 1.0));
/// for draw in drawn {
///     pool.record(draw);
/// }
/// assert_eq!(pool.left(), 2);
/// ```
#[derive(Debug)]
pub struct ScoredPool {
    settings: ScoredPoolSettings,
    rule: Option<Rule>,
    retired: Retired,
    draws: Vec<ScoredDraw>,
    /// The class of each draw, in the order of the draws.
    answers: Vec<Option<usize>>,
    n_answered: usize,
    counts: Vec<u64>,
    coverage: Option<Coverage>,
    /// The number of draws that the coverage includes.
    covered: usize,
}

/// The number of labels of each class after which a cold start ends, even if a class has none, in units of its least number.
const MOST_COLD: u64 = 5;

impl ScoredPool {
    /// Creates a pool. Returns an error if the rule is unknown, or has no floor that a precision needs.
    pub fn new(settings: ScoredPoolSettings) -> Result<Self, ScoredPoolError> {
        let mut pool = Self {
            retired: Retired::new(settings.rows),
            rule: None,
            draws: vec![],
            answers: vec![],
            n_answered: 0,
            counts: vec![],
            coverage: None,
            covered: 0,
            settings,
        };
        let ScoredPoolSettings { classes, ref rule, precision, .. } = pool.settings;
        let parsed = match classes {
            Some(classes) => parse(rule, classes)?,
            // The kinds of rules for two and for more classes differ.
            None => parse(rule, 2).or_else(|error| parse(rule, 3).map_err(|_| error))?,
        };
        if precision.is_some() && !matches!(parsed, Rule::Relative(_)) {
            return Err(ScoredPoolError::Settings(IllegalSettings::NeedsFloor { rule: parsed.name() }));
        }
        if let Some(classes) = classes {
            pool.set_classes(classes)?;
        }
        Ok(pool)
    }

    /// Returns the settings.
    pub fn settings(&self) -> &ScoredPoolSettings {
        &self.settings
    }

    /// Returns the number of classes, if it is known.
    pub fn classes(&self) -> Option<usize> {
        self.settings.classes.filter(|_| self.rule.is_some())
    }

    /// Sets the number of classes, once.
    pub fn set_classes(&mut self, classes: usize) -> Result<(), ScoredPoolError> {
        if let Some(expected) = self.classes() {
            return if expected == classes {
                Ok(())
            } else {
                Err(ScoredPoolError::OtherClasses { expected, found: classes })
            };
        }
        let rule = parse(&self.settings.rule, classes)?;
        if let Some(class) = self.answers.iter().flatten().copied().find(|class| classes <= *class) {
            return Err(ScoredPoolError::NoClass { class, classes });
        }
        if let Some(Precision { goal: PrecisionGoal::F1(class), .. }) = self.settings.precision
            && classes <= class
        {
            return Err(ScoredPoolError::NoClass { class, classes });
        }
        self.rule = Some(rule);
        self.settings.classes = Some(classes);
        self.counts.resize(classes, 0);
        Ok(())
    }

    /// Returns the full name of the rule; as it was written while the number of classes is unknown.
    pub fn rule_name(&self) -> String {
        self.rule.as_ref().map_or_else(|| self.settings.rule.clone(), Rule::name)
    }

    /// Returns the rule, once the number of classes is known.
    pub fn rule(&self) -> Option<&Rule> {
        self.rule.as_ref()
    }

    /// Returns the draws so far.
    pub fn draws(&self) -> &[ScoredDraw] {
        &self.draws
    }

    /// Returns the class of each draw, `None` without an answer.
    pub fn answers(&self) -> &[Option<usize>] {
        &self.answers
    }

    /// Returns the number of answers.
    pub fn n_answered(&self) -> usize {
        self.n_answered
    }

    /// Returns the number of rows that can still be drawn.
    pub fn left(&self) -> usize {
        self.retired.left()
    }

    /// Returns whether the next draws are those of a cold start.
    pub fn is_cold(&self) -> bool {
        if self.settings.cold == ColdMethod::None {
            return false;
        }
        let labels = labels_of(self.settings.classes.unwrap_or(2));
        let is_unseen = self.rule.is_none() || self.counts.iter().take(labels.classes()).any(|count| *count == 0);
        is_unseen && (self.n_answered as u64) < MOST_COLD * least_labels(labels)
    }

    /// Draws rows without replacement, given the current predictions; [`Self::record`] then retires them. Cold draws by
    /// coverage need the features of the pool.
    pub fn draw(
        &mut self,
        predictions: Option<&Predictions<'_>>,
        features: Option<&Rows>,
        n: usize,
    ) -> Result<Vec<ScoredDraw>, ScoredPoolError> {
        let left = self.retired.left();
        if left == 0 {
            return Err(ScoredPoolError::NoRow(NoRow::Exhausted));
        }
        if left < n {
            return Err(ScoredPoolError::TooFew { left, wanted: n });
        }
        if let Some(predictions) = predictions {
            let (expected, found) = (self.settings.rows, predictions.len());
            if expected != found {
                return Err(ScoredPoolError::OtherRows { expected, found });
            }
            self.set_classes(predictions.classes())?;
        }
        if self.is_cold() || (predictions.is_none() && self.rule.is_none()) {
            return self.draw_cold(predictions, features, n);
        }
        self.draw_by_rule(predictions.ok_or(ScoredPoolError::NoPredictions)?, n)
    }

    fn coin(&self, draw: usize) -> f64 {
        Coin::new(self.settings.seed, "draw").unit((self.draws.len() + draw) as u64)
    }

    fn draw_by_rule(&self, predictions: &Predictions<'_>, n: usize) -> Result<Vec<ScoredDraw>, ScoredPoolError> {
        let rule = self.settled_rule(predictions)?;
        let mut weights = RowWeights::default();
        weights.extend(self.settings.rows, |first, out| {
            predictions.fill(&rule, first, out)?;
            check(out).map_err(|odd| ScoredPoolError::NotAnUncertainty { row: first + odd.0 })
        })?;
        weights.retire(self.draws.iter().map(|draw| draw.row));
        let scale = match &rule {
            Rule::Relative(rule) => Some(rule.scale()),
            _ => None,
        };
        let mut drawn = Vec::with_capacity(n);
        for draw in 0..n {
            let left = self.retired.left() - draw;
            let found = weights.draw_or_uniform(self.coin(draw)).map_err(ScoredPoolError::NoRow)?;
            let (method, rate) = if found.is_uniform {
                (DrawMethod::Fallback, 0.0)
            } else {
                (DrawMethod::Rule, found.uncertainty / found.probability / left as f64)
            };
            drawn.push(ScoredDraw {
                row: found.row,
                uncertainty: found.uncertainty,
                probability: found.probability,
                rate,
                method,
                scale: scale.filter(|_| method == DrawMethod::Rule),
                prediction: Some(predictions.prediction(found.row)?),
            });
        }
        Ok(drawn)
    }

    /// Returns the rule at its scale on the remaining rows, with the share of even draws that the run needs.
    fn settled_rule(&self, predictions: &Predictions<'_>) -> Result<Rule, ScoredPoolError> {
        let mut rule = self.rule.clone().ok_or(ScoredPoolError::NoPredictions)?;
        let classes = predictions.classes();
        if let Rule::Relative(relative) = &mut rule {
            let mut share = relative.floor_after(self.n_answered, classes);
            if let Some(precision) = self.settings.precision {
                let (answers, pool) = (self.n_answered as u64, self.settings.rows);
                share = share.max(precision.even_share(answers, self.evidence_of_errors(), relative.floor(), pool));
            }
            relative.set_even_share(share);
        }
        let outputs = if classes == 2 { 1 } else { classes };
        let rarest =
            (1..classes).fold(0, |least, class| if self.counts[class] < self.counts[least] { class } else { least });
        settle_on(&mut rule, &self.retired, outputs, rarest, |rows, out| {
            let mut each = rows.iter().zip(out.chunks_exact_mut(outputs));
            each.try_for_each(|(row, out)| predictions.scores(*row, out))
        })?;
        Ok(rule)
    }

    fn draw_cold(
        &mut self,
        predictions: Option<&Predictions<'_>>,
        features: Option<&Rows>,
        n: usize,
    ) -> Result<Vec<ScoredDraw>, ScoredPoolError> {
        let labels = labels_of(self.settings.classes.unwrap_or(2));
        let by_coverage = self.settings.cold == ColdMethod::Coverage && labels.classes() <= MOST_CLASSES;
        if by_coverage {
            let rows = features.ok_or(ScoredPoolError::NoFeatures)?;
            let (expected, found) = (self.settings.rows, rows.len());
            if expected != found {
                return Err(ScoredPoolError::OtherRows { expected, found });
            }
            let seed = self.settings.seed;
            let coverage = self.coverage.get_or_insert_with(|| Coverage::new(rows, seed, &StartRows::default()));
            self.draws[self.covered..].iter().for_each(|draw| coverage.cover(rows, draw.row));
            self.covered = self.draws.len();
        }
        let classes_seen = self.counts.iter().filter(|count| 0 < **count).count();
        let phase = phase_of(ColdDraws::Coverage, labels, self.n_answered as u64, classes_seen);
        // The draws are not recorded yet, so changes are made to copies.
        let (mut retired, mut coverage) = (self.retired.clone(), self.coverage.clone().filter(|_| by_coverage));
        let mut drawn = Vec::with_capacity(n);
        for draw in 0..n {
            let (left, coin) = (retired.left(), self.coin(draw));
            let found = match (&mut coverage, features) {
                (Some(coverage), Some(rows)) => {
                    let found = coverage.draw(phase, &retired, coin).ok_or(ScoredPoolError::NoRow(NoRow::Exhausted))?;
                    coverage.cover(rows, found.row);
                    let scale = Some(Scale { base: found.base, ..Scale::default() });
                    (found.row, found.uncertainty, found.total / left as f64, DrawMethod::Coverage, scale)
                }
                _ => (uniform_row(&retired, coin)?, 1.0, 1.0, DrawMethod::Uniform, None),
            };
            let (row, uncertainty, rate, method, scale) = found;
            retired.retire(row);
            let probability =
                if method == DrawMethod::Uniform { 1.0 / left as f64 } else { uncertainty / (rate * left as f64) };
            let prediction = predictions.map(|predictions| predictions.prediction(row)).transpose()?;
            drawn.push(ScoredDraw { row, uncertainty, probability, rate, method, scale, prediction });
        }
        Ok(drawn)
    }

    /// Returns whether a uniform draw is the next one: of the row that its random number selects, with its probability.
    pub fn is_uniform_draw(&self, draw: &ScoredDraw) -> bool {
        let is_same = |row| row == draw.row && draw.probability.to_bits() == (1.0 / self.left() as f64).to_bits();
        uniform_row(&self.retired, self.coin(0)).is_ok_and(is_same)
    }

    /// Records a draw: its row will not be drawn again.
    pub fn record(&mut self, draw: ScoredDraw) {
        self.retired.retire(draw.row);
        self.draws.push(draw);
        self.answers.push(None);
    }

    /// Checks the answers to rows, each the index of a row and a class, and returns the number of each draw.
    ///
    /// # Errors
    /// If a row was not drawn, has an answer, or the class does not exist.
    pub fn check_answers(&self, answers: &[(usize, usize)]) -> Result<Vec<usize>, ScoredPoolError> {
        let mut seen = std::collections::BTreeSet::new();
        let number = |&(row, class): &(usize, usize)| {
            let number =
                self.draws.iter().rposition(|draw| draw.row == row).ok_or(ScoredPoolError::NotDrawn { row })?;
            if self.answers[number].is_some() || !seen.insert(row) {
                return Err(ScoredPoolError::Answered { row });
            }
            match self.classes() {
                Some(classes) if classes <= class => Err(ScoredPoolError::NoClass { class, classes }),
                _ => Ok(number),
            }
        };
        answers.iter().map(number).collect()
    }

    /// Records the answer to a draw by its number.
    pub fn answer(&mut self, draw: usize, class: usize) {
        if self.answers[draw].replace(class).is_none() {
            self.n_answered += 1;
            if self.counts.len() <= class {
                self.counts.resize(class + 1, 0);
            }
            self.counts[class] += 1;
        }
    }
}

/// Returns the row of a uniform draw.
fn uniform_row(retired: &Retired, coin: f64) -> Result<usize, ScoredPoolError> {
    let left = retired.left();
    let nth = ((coin * left as f64) as usize).min(left.saturating_sub(1));
    retired.nth_left(nth).ok_or(ScoredPoolError::NoRow(NoRow::Exhausted))
}

fn labels_of(classes: usize) -> Labels {
    if classes == 2 { Labels::Binary } else { Labels::Classes(classes) }
}

fn parse(name: &str, classes: usize) -> Result<Rule, ScoredPoolError> {
    let labels = labels_of(classes);
    let rule =
        rule::parse(&rule::in_pool(name, labels), labels.default_loss(), labels).map_err(ScoredPoolError::Rule)?;
    if let Rule::ConditionalLoss(_) = rule {
        let message = "needs the features of a run; use another rule".to_owned();
        return Err(ScoredPoolError::Rule(NameError { name: name.to_owned(), message }));
    }
    Ok(rule)
}

#[cfg(test)]
mod tests;
