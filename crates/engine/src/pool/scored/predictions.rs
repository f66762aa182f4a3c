//! Predictions of a model outside of the engine, and U computed from them.

use std::fmt::{self, Display};

use crate::rule::Rule;
use crate::task::{Labels, softmax_into};

/// The largest accepted deviation from 1 of the sum of a row's probabilities.
const SLACK: f64 = 1e-3;

/// The meaning of predictions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PredictionKind {
    /// The probability of each class; in a single column, that of the second of two.
    Probabilities,
    /// Logits or other scores of each class; in a single column, the score of the second class minus that of the first.
    Scores,
}

/// The numbers of predictions, row by row.
#[derive(Clone, Copy, Debug)]
pub enum PredictionValues<'a> {
    /// In single precision.
    F32(&'a [f32]),
    /// In double precision.
    F64(&'a [f64]),
}

/// Predictions for every row of a pool.
#[derive(Clone, Copy, Debug)]
pub struct Predictions<'a> {
    values: PredictionValues<'a>,
    columns: usize,
    kind: PredictionKind,
}

/// A row whose predictions are not probabilities, or not finite scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongPrediction {
    /// The index of the row.
    pub row: usize,
    /// What was expected.
    pub kind: PredictionKind,
}

impl Display for WrongPrediction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            PredictionKind::Probabilities => write!(f, "row {} has no probabilities that add up to 1", self.row),
            PredictionKind::Scores => write!(f, "row {} has NaN, infinity, or no finite score", self.row),
        }
    }
}

impl<'a> Predictions<'a> {
    /// Creates predictions with this number of columns.
    ///
    /// # Panics
    /// If there are no columns, or the last row is not whole.
    pub fn new(values: PredictionValues<'a>, columns: usize, kind: PredictionKind) -> Self {
        let length = match values {
            PredictionValues::F32(values) => values.len(),
            PredictionValues::F64(values) => values.len(),
        };
        assert!(0 < columns && length.is_multiple_of(columns), "predictions have whole rows");
        Self { values, columns, kind }
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        match self.values {
            PredictionValues::F32(values) => values.len() / self.columns,
            PredictionValues::F64(values) => values.len() / self.columns,
        }
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of classes.
    pub fn classes(&self) -> usize {
        self.columns.max(2)
    }

    /// Returns the labels of these classes.
    pub fn labels(&self) -> Labels {
        if self.classes() == 2 { Labels::Binary } else { Labels::Classes(self.columns) }
    }

    /// Returns the meaning of the numbers.
    pub fn kind(&self) -> PredictionKind {
        self.kind
    }

    /// Returns the prediction for a row.
    ///
    /// # Errors
    /// If it is no prediction of this kind.
    pub fn prediction(&self, row: usize) -> Result<Prediction, WrongPrediction> {
        let mut values = vec![0.0; self.classes()];
        self.read(row, &mut values)?;
        Ok(Prediction { kind: self.kind, values })
    }

    /// Reads a number for each class and checks them.
    #[inline]
    fn read(&self, row: usize, out: &mut [f64]) -> Result<(), WrongPrediction> {
        let (start, skipped) = (row * self.columns, out.len() - self.columns);
        match self.values {
            PredictionValues::F32(values) => {
                let values = &values[start..start + self.columns];
                out[skipped..].iter_mut().zip(values).for_each(|(out, x)| *out = f64::from(*x));
            }
            PredictionValues::F64(values) => {
                out[skipped..].copy_from_slice(&values[start..start + self.columns]);
            }
        }
        if let ([first, second], 1) = (&mut *out, self.columns) {
            *first = if self.kind == PredictionKind::Probabilities { 1.0 - *second } else { 0.0 };
        }
        let is_right = match self.kind {
            PredictionKind::Probabilities => {
                let (mut sum, mut all) = (0.0, true);
                for p in &*out {
                    sum += p;
                    all &= (0.0..=1.0 + SLACK).contains(p);
                }
                // NaN fails these comparisons.
                all && (1.0 - SLACK..=1.0 + SLACK).contains(&sum)
            }
            // The logarithm of a probability of 0 is −∞.
            PredictionKind::Scores => {
                out.iter().all(|score| *score < f64::INFINITY) && out.iter().any(|score| score.is_finite())
            }
        };
        if is_right { Ok(()) } else { Err(WrongPrediction { row, kind: self.kind }) }
    }

    /// Computes the scores of a row as rules take them: one for two classes, otherwise one for each class.
    ///
    /// # Errors
    /// If the row has no predictions of this kind.
    pub fn scores(&self, row: usize, out: &mut [f64]) -> Result<(), WrongPrediction> {
        let prediction = self.prediction(row)?;
        prediction.scores(out);
        Ok(())
    }

    /// Computes U of consecutive rows.
    ///
    /// # Errors
    /// If a row has no predictions of this kind.
    pub fn fill(&self, rule: &Rule, first: usize, out: &mut [f64]) -> Result<(), WrongPrediction> {
        let mut values = vec![0.0; self.classes()];
        let mut kernel = Kernel::new(rule, self.kind, self.classes());
        for (index, u) in out.iter_mut().enumerate() {
            self.read(first + index, &mut values)?;
            *u = kernel.uncertainty(&values);
        }
        Ok(())
    }

    /// Writes the probability of each class of a row: the probabilities themselves, or the softmax of scores.
    pub fn probabilities(&self, row: usize, out: &mut [f64]) -> Result<(), WrongPrediction> {
        let mut values = vec![0.0; self.classes()];
        self.read(row, &mut values)?;
        to_probabilities(self.kind, &values, out);
        Ok(())
    }
}

fn to_probabilities(kind: PredictionKind, values: &[f64], out: &mut [f64]) {
    match kind {
        PredictionKind::Probabilities => {
            let sum: f64 = values.iter().sum();
            out.iter_mut().zip(values).for_each(|(out, p)| *out = p / sum);
        }
        PredictionKind::Scores => softmax_into(values, out),
    }
}

/// The prediction for one row.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The meaning of the numbers.
    pub kind: PredictionKind,
    /// A number for each class.
    pub values: Vec<f64>,
}

impl Prediction {
    /// Returns the predicted class, the first of equals.
    pub fn class(&self) -> usize {
        (1..self.values.len()).fold(0, |best, class| if self.values[class] > self.values[best] { class } else { best })
    }

    /// Returns U by a rule, with the same bits as for a whole pool.
    pub fn uncertainty(&self, rule: &Rule) -> f64 {
        Kernel::new(rule, self.kind, self.values.len()).uncertainty(&self.values)
    }

    fn scores(&self, out: &mut [f64]) {
        let score = |value: &f64| if self.kind == PredictionKind::Probabilities { value.ln() } else { *value };
        if let ([score_of_two], [first, second]) = (&mut *out, &self.values[..]) {
            *score_of_two = score(second) - score(first);
        } else {
            out.iter_mut().zip(&self.values).for_each(|(out, value)| *out = score(value));
        }
    }
}

/// The computation of U for rows of one kind.
struct Kernel<'a> {
    rule: &'a Rule,
    kind: PredictionKind,
    /// Probabilities that add up to 1, or the scores of a row.
    room: Vec<f64>,
    least: f64,
    most: f64,
    negligible: f64,
}

impl<'a> Kernel<'a> {
    fn new(rule: &'a Rule, kind: PredictionKind, classes: usize) -> Self {
        let (least, negligible) = match rule {
            Rule::Relative(rule) => (rule.least(), rule.negligible_ratio()),
            _ => (0.0, 0.0),
        };
        Self { rule, kind, room: vec![0.0; classes], least, most: rule.max(), negligible }
    }

    #[inline]
    fn uncertainty(&mut self, values: &[f64]) -> f64 {
        match (self.rule, self.kind) {
            (Rule::Relative(rule), PredictionKind::Probabilities) => {
                let (first, second) = two_largest(values);
                if second < self.negligible * first {
                    return self.least;
                }
                rule.at_probabilities(first, second, values[rule.scale().rarest])
            }
            (Rule::Classes(rule), PredictionKind::Probabilities) => {
                let scale = 1.0 / values.iter().sum::<f64>();
                self.room.iter_mut().zip(values).for_each(|(p, value)| *p = value * scale);
                rule.at_probabilities(&self.room).clamp(0.0, self.most)
            }
            (rule, PredictionKind::Probabilities) => {
                let no_features: &[f32] = &[];
                rule.probability(&[values[1].ln() - values[0].ln()], no_features)
            }
            (rule, PredictionKind::Scores) => {
                let no_features: &[f32] = &[];
                match values {
                    [first, second] => rule.probability(&[second - first], no_features),
                    _ => rule.probability(values, no_features),
                }
            }
        }
    }
}

/// Returns the two largest numbers.
#[inline]
fn two_largest(values: &[f64]) -> (f64, f64) {
    let (mut first, mut second) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
    for value in values {
        // Comparisons compile to one instruction each; `max` would also treat NaN.
        let lower = if *value < first { *value } else { first };
        second = if second < lower { lower } else { second };
        first = if first < *value { *value } else { first };
    }
    (first, second)
}
