//! A pool whose rows are scored by a model outside of the engine.
//!
//! The engine has no model here: every draw gets the current predictions for all rows. It draws by a rule, knows the exact
//! probability of each draw, and estimates the performance of any model that predicted the pool. Until every class has a
//! label, rows are drawn uniformly or by coverage of the pool. The state is a fold of draws and answers, so it can be
//! recorded and restored.

use std::fmt::{self, Display};

use super::cold_start::{Coverage, MOST_CLASSES, StartRows, least_labels, phase_of};
use super::precision::ShareEvidence;
use super::row_weights::settle_on;
use super::{ColdDraws, NoRow, Precision, PrecisionGoal, Retired, RowWeights};
use crate::coin::Coin;
use crate::estimate::{
    ClassScores, DrawProbability, Estimate, Estimator, Invalid, Judgement, LossMatrix, Range, leveled_weights,
};
use crate::rows::Rows;
use crate::rule::{self, Rule, Scale};
use crate::select::check;
use crate::settings::IllegalSettings;
use crate::stop::{Advice, Better, Progress, StopRule, accuracy_readings};
use crate::task::Labels;
use querist_theory::registry::NameError;

mod predictions;

use predictions::WrongPrediction;
pub use predictions::{Prediction, PredictionKind, PredictionValues, Predictions};

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

/// A reason why rows cannot be drawn, or an answer cannot be taken.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum DrawError {
    /// No row can be drawn.
    NoRow(NoRow),
    /// Fewer rows are left than wanted.
    TooFew {
        /// The number of rows that are left.
        left: usize,
        /// The number of rows wanted.
        wanted: usize,
    },
    /// The cold start is over, and there are no predictions.
    NoPredictions,
    /// The number of predictions is not that of the rows.
    OtherRows {
        /// The number of rows of the pool.
        expected: usize,
        /// The number of predictions.
        found: usize,
    },
    /// The number of classes is not that of the pool.
    OtherClasses {
        /// The number of classes of the pool.
        expected: usize,
        /// The number of classes of the predictions.
        found: usize,
    },
    /// Coverage needs features.
    NoFeatures,
    /// A prediction is invalid.
    Prediction(WrongPrediction),
    /// The rule is unknown or not usable here.
    Rule(NameError),
    /// The settings exclude each other.
    Settings(IllegalSettings),
    /// U of a row is NaN, negative or infinite.
    NotAnUncertainty {
        /// The index of the row.
        row: usize,
    },
    /// An answer is of a row that was not drawn.
    NotDrawn {
        /// The index of the row.
        row: usize,
    },
    /// A row has an answer already.
    Answered {
        /// The index of the row.
        row: usize,
    },
    /// An answer is of a class that does not exist.
    NoClass {
        /// The class.
        class: usize,
        /// The number of classes.
        classes: usize,
    },
}

impl Display for DrawError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRow(none) => none.fmt(f),
            Self::TooFew { left, wanted } => write!(f, "{wanted} rows are wanted, but only {left} are left"),
            Self::NoPredictions => write!(f, "every class has a label, so the next draws need predictions"),
            Self::OtherRows { expected, found } => write!(f, "predictions for {found} rows, need {expected}"),
            Self::OtherClasses { expected, found } => write!(f, "predictions of {found} classes, need {expected}"),
            Self::NoFeatures => write!(f, "draws that cover the pool need its features"),
            Self::Prediction(wrong) => wrong.fmt(f),
            Self::Rule(error) => error.fmt(f),
            Self::Settings(error) => error.fmt(f),
            Self::NotAnUncertainty { row } => {
                write!(f, "the rule gives NaN, a negative or an infinite number in row {row}")
            }
            Self::NotDrawn { row } => write!(f, "row {row} was not drawn"),
            Self::Answered { row } => write!(f, "row {row} has an answer already"),
            Self::NoClass { class, classes } => write!(f, "there is no class {class} among {classes}"),
        }
    }
}

impl std::error::Error for DrawError {}

impl From<WrongPrediction> for DrawError {
    fn from(wrong: WrongPrediction) -> Self {
        Self::Prediction(wrong)
    }
}

/// The estimated performance of a model on the whole pool.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ScoredPoolEstimate {
    /// The fraction of rows that are classified correctly.
    pub accuracy: Estimate,
    /// The mean of −ln of the probability of the true class.
    pub log_loss: Estimate,
    /// The Brier score: the mean squared error of the probabilities, of the second class of two, or summed over more.
    pub brier: Estimate,
    /// The scores of each class.
    pub classes: Vec<ClassScores>,
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

/// The number of losses sampled from a large pool, divided among the classes.
const SAMPLED_LOSSES: usize = 1 << 16;
/// The least number of rows sampled from a large pool.
const MIN_SAMPLED_ROWS: usize = 4096;
/// The least probability of a class in estimates, where a model predicts 0.
const LEAST_PROBABILITY: f64 = 1e-12;
/// The number of labels of each class after which a cold start ends, even if a class has none, in units of its least number.
const MOST_COLD: u64 = 5;

impl ScoredPool {
    /// Creates a pool. Returns an error if the rule is unknown, or has no floor that a precision needs.
    pub fn new(settings: ScoredPoolSettings) -> Result<Self, DrawError> {
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
            return Err(DrawError::Settings(IllegalSettings::NeedsFloor { rule: parsed.name() }));
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
    pub fn set_classes(&mut self, classes: usize) -> Result<(), DrawError> {
        if let Some(expected) = self.classes() {
            return if expected == classes {
                Ok(())
            } else {
                Err(DrawError::OtherClasses { expected, found: classes })
            };
        }
        let rule = parse(&self.settings.rule, classes)?;
        if let Some(class) = self.answers.iter().flatten().copied().find(|class| classes <= *class) {
            return Err(DrawError::NoClass { class, classes });
        }
        if let Some(Precision { goal: PrecisionGoal::F1(class), .. }) = self.settings.precision
            && classes <= class
        {
            return Err(DrawError::NoClass { class, classes });
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
    ) -> Result<Vec<ScoredDraw>, DrawError> {
        let left = self.retired.left();
        if left == 0 {
            return Err(DrawError::NoRow(NoRow::Exhausted));
        }
        if left < n {
            return Err(DrawError::TooFew { left, wanted: n });
        }
        if let Some(predictions) = predictions {
            let (expected, found) = (self.settings.rows, predictions.len());
            if expected != found {
                return Err(DrawError::OtherRows { expected, found });
            }
            self.set_classes(predictions.classes())?;
        }
        if self.is_cold() || (predictions.is_none() && self.rule.is_none()) {
            return self.draw_cold(predictions, features, n);
        }
        self.draw_by_rule(predictions.ok_or(DrawError::NoPredictions)?, n)
    }

    fn coin(&self, draw: usize) -> f64 {
        Coin::new(self.settings.seed, "draw").unit((self.draws.len() + draw) as u64)
    }

    fn draw_by_rule(&self, predictions: &Predictions<'_>, n: usize) -> Result<Vec<ScoredDraw>, DrawError> {
        let rule = self.settled_rule(predictions)?;
        let mut weights = RowWeights::default();
        weights.extend(self.settings.rows, |first, out| {
            predictions.fill(&rule, first, out)?;
            check(out).map_err(|odd| DrawError::NotAnUncertainty { row: first + odd.0 })
        })?;
        weights.retire(self.draws.iter().map(|draw| draw.row));
        let scale = match &rule {
            Rule::Relative(rule) => Some(rule.scale()),
            _ => None,
        };
        let mut drawn = Vec::with_capacity(n);
        for draw in 0..n {
            let left = self.retired.left() - draw;
            let found = weights.draw_or_uniform(self.coin(draw)).map_err(DrawError::NoRow)?;
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
    fn settled_rule(&self, predictions: &Predictions<'_>) -> Result<Rule, DrawError> {
        let mut rule = self.rule.clone().ok_or(DrawError::NoPredictions)?;
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
        settle_on(&mut rule, &self.retired, outputs, rarest, |row, out: &mut [f64]| predictions.scores(row, out))?;
        Ok(rule)
    }

    fn draw_cold(
        &mut self,
        predictions: Option<&Predictions<'_>>,
        features: Option<&Rows>,
        n: usize,
    ) -> Result<Vec<ScoredDraw>, DrawError> {
        let labels = labels_of(self.settings.classes.unwrap_or(2));
        let by_coverage = self.settings.cold == ColdMethod::Coverage && labels.classes() <= MOST_CLASSES;
        if by_coverage {
            let rows = features.ok_or(DrawError::NoFeatures)?;
            let (expected, found) = (self.settings.rows, rows.len());
            if expected != found {
                return Err(DrawError::OtherRows { expected, found });
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
                    let found = coverage.draw(phase, &retired, coin).ok_or(DrawError::NoRow(NoRow::Exhausted))?;
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
    pub fn check_answers(&self, answers: &[(usize, usize)]) -> Result<Vec<usize>, DrawError> {
        let mut seen = std::collections::BTreeSet::new();
        let number = |&(row, class): &(usize, usize)| {
            let number = self.draws.iter().rposition(|draw| draw.row == row).ok_or(DrawError::NotDrawn { row })?;
            if self.answers[number].is_some() || !seen.insert(row) {
                return Err(DrawError::Answered { row });
            }
            match self.classes() {
                Some(classes) if classes <= class => Err(DrawError::NoClass { class, classes }),
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

    /// Returns the probability and the floor of each draw.
    pub fn probabilities(&self) -> Vec<DrawProbability> {
        let draws = self.draws.iter().enumerate();
        draws.map(|(index, draw)| DrawProbability::exact(draw.probability, self.floor(draw, index))).collect()
    }

    /// Returns a lower bound on the probability of every row that was left at a draw.
    fn floor(&self, draw: &ScoredDraw, index: usize) -> f64 {
        let least = match (draw.method, draw.scale) {
            (DrawMethod::Uniform | DrawMethod::Fallback, _) => return draw.probability,
            (_, Some(scale)) => scale.base / (1.0 + scale.base),
            (_, None) => self.rule.as_ref().map_or(0.0, Rule::least),
        };
        let left = (self.settings.rows - index) as f64;
        (least / (draw.rate * left)).min(draw.probability)
    }

    /// Returns the draws before the first one without an answer: their rows with their classes, and their probabilities.
    /// Only these are a sample with known probabilities.
    fn answered_draws(&self) -> (Vec<(usize, usize)>, Vec<DrawProbability>) {
        let answers: Vec<(usize, usize)> = self
            .draws
            .iter()
            .zip(&self.answers)
            .map_while(|(draw, class)| class.map(|class| (draw.row, class)))
            .collect();
        let mut probabilities = self.probabilities();
        probabilities.truncate(answers.len());
        (answers, probabilities)
    }

    /// Returns the number of draws that estimates use: those before the first one without an answer.
    pub fn n_usable(&self) -> usize {
        self.answers.iter().take_while(|answer| answer.is_some()).count()
    }

    /// Returns whether each usable draw was predicted wrongly before its label was known; `None` without a prediction.
    fn progressive_errors(&self) -> Option<Vec<bool>> {
        let draws = self.draws.iter().zip(&self.answers).take(self.n_usable());
        draws.map(|(draw, class)| draw.prediction.as_ref().map(|found| Some(found.class()) != *class)).collect()
    }

    fn evidence_of_errors(&self) -> Option<ShareEvidence> {
        let (wrong, (_, draws)) = (self.progressive_errors()?, self.answered_draws());
        let (share, even_draws) = Estimator::new(self.settings.rows).share_and_even_draws(&wrong, &draws).ok()?;
        Some(ShareEvidence { share, even_draws })
    }

    /// Returns the weight of each draw so that weighted means over draws are those over the pool, whether or not it has an
    /// answer.
    pub fn leveled_weights(&self) -> Vec<f64> {
        leveled_weights(self.settings.rows, &self.probabilities())
    }

    /// Returns U by the rule of each draw, at these predictions.
    pub fn uncertainties(&self, predictions: &Predictions<'_>) -> Result<Vec<f64>, DrawError> {
        let rule = self.settled_rule(predictions)?;
        self.draws.iter().map(|draw| Ok(predictions.prediction(draw.row)?.uncertainty(&rule))).collect()
    }

    /// Estimates the performance of a model with these predictions, none of which was learned from the label of its row.
    ///
    /// # Errors
    /// If predictions or draws are invalid, or there are no answers.
    pub fn estimate(
        &self,
        predictions: &Predictions<'_>,
        confidence: f64,
    ) -> Result<Result<ScoredPoolEstimate, Invalid>, DrawError> {
        let (rows, classes) = (self.settings.rows, predictions.classes());
        if rows != predictions.len() {
            return Err(DrawError::OtherRows { expected: rows, found: predictions.len() });
        }
        if let Some(expected) = self.classes().filter(|expected| *expected != classes) {
            return Err(DrawError::OtherClasses { expected, found: classes });
        }
        let (answers, draws) = self.answered_draws();
        if let Some((_, class)) = answers.iter().find(|(_, class)| classes <= *class) {
            return Err(DrawError::NoClass { class: *class, classes });
        }
        let sampled = self.sampled_rows(classes);
        let mut losses = Vec::with_capacity(sampled.len() * classes);
        let mut probabilities = vec![0.0; classes];
        let mut losses_of = |row: usize, losses: &mut Vec<f64>| {
            predictions.probabilities(row, &mut probabilities)?;
            losses.extend(probabilities.iter().map(|p| -p.max(LEAST_PROBABILITY).ln()));
            Ok::<f64, DrawError>(probabilities.iter().map(|p| p * p).sum())
        };
        for row in sampled {
            losses_of(row, &mut losses)?;
        }
        let (mut drawn, mut judged, mut brier) = (vec![], vec![], vec![]);
        for (row, truth) in &answers {
            let start = drawn.len();
            let squares = losses_of(*row, &mut drawn)?;
            let loss = drawn[start + truth];
            // Σ (p − y)² = Σ p² − 2p + 1; of two classes, half of it.
            let error = (squares - 2.0 * (-loss).exp() + 1.0).max(0.0);
            brier.push(if classes == 2 { 0.5 * error } else { error });
            judged.push(Judgement { loss, predicted: predictions.prediction(*row)?.class(), truth: *truth });
        }
        let visit = |visit: &mut dyn FnMut(&[f64])| losses.chunks_exact(classes).for_each(visit);
        let matrix = LossMatrix { drawn: &drawn, classes, pool: &visit };
        let estimator = Estimator::new(rows).with_confidence(confidence);
        Ok(scores(&estimator, (&judged, &brier), &matrix, &draws))
    }

    /// Returns all rows of a small pool, otherwise a uniform sample of them.
    fn sampled_rows(&self, classes: usize) -> Vec<usize> {
        let most = (SAMPLED_LOSSES / classes).max(MIN_SAMPLED_ROWS);
        if self.settings.rows <= most {
            return (0..self.settings.rows).collect();
        }
        let coin = Coin::new(self.settings.seed, "assess");
        (0..most as u64).map(|time| coin.below(time, self.settings.rows)).collect()
    }

    /// Returns the advice of a stopping rule about a model with this estimated performance. Expected gains are those of the
    /// predictions that were current at each draw.
    pub fn advise(&self, rule: &StopRule, found: Option<&ScoredPoolEstimate>) -> Advice {
        let estimator = Estimator::new(self.settings.rows);
        let readings = self.progressive_errors().and_then(|wrong| {
            let (_, draws) = self.answered_draws();
            accuracy_readings(&estimator, &wrong, &draws).ok()
        });
        let readings = readings.unwrap_or_default();
        rule.advise(&Progress {
            labels: self.n_usable(),
            name: "accuracy",
            better: Better::Higher,
            score: found.map(|found| &found.accuracy),
            classes: found.map_or(&[], |found| &found.classes),
            readings: &readings,
        })
    }
}

/// Returns the row of a uniform draw.
fn uniform_row(retired: &Retired, coin: f64) -> Result<usize, DrawError> {
    let left = retired.left();
    let nth = ((coin * left as f64) as usize).min(left.saturating_sub(1));
    retired.nth_left(nth).ok_or(DrawError::NoRow(NoRow::Exhausted))
}

fn scores(
    estimator: &Estimator,
    (judged, brier): (&[Judgement], &[f64]),
    matrix: &LossMatrix<'_>,
    draws: &[DrawProbability],
) -> Result<ScoredPoolEstimate, Invalid> {
    let losses: Vec<f64> = judged.iter().map(|judged| judged.loss).collect();
    let most = if matrix.classes == 2 { 1.0 } else { 2.0 };
    let tests = estimator.score_tests(matrix, judged, draws)?;
    let of_class = |class| estimator.class_scores(judged, draws, class, tests.as_ref());
    Ok(ScoredPoolEstimate {
        accuracy: estimator.accuracy(judged, draws, tests.as_ref())?,
        log_loss: estimator.mean_loss(&losses, matrix, draws)?,
        brier: estimator.mean(brier, draws, Range::Within(0.0, most))?,
        classes: (0..matrix.classes).map(of_class).collect::<Result<_, _>>()?,
    })
}

fn labels_of(classes: usize) -> Labels {
    if classes == 2 { Labels::Binary } else { Labels::Classes(classes) }
}

fn parse(name: &str, classes: usize) -> Result<Rule, DrawError> {
    let labels = labels_of(classes);
    let rule = rule::parse(&rule::in_pool(name, labels), labels.default_loss(), labels).map_err(DrawError::Rule)?;
    if let Rule::ConditionalLoss(_) = rule {
        let message = "needs the features of a run; use another rule".to_owned();
        return Err(DrawError::Rule(NameError { name: name.to_owned(), message }));
    }
    Ok(rule)
}

#[cfg(test)]
mod tests;
