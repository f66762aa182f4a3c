//! A finished model with its encoder, as read from a model file.

use std::fmt::{self, Display};

use querist_data::{Encoder, EncoderError, LabelKind};
use querist_engine::rule::Rule;
use querist_engine::scorer::{LinearScorer, Scorer};
use querist_engine::select;
use querist_engine::task::Labels;
use querist_theory::registry::NameError;
use serde_json::Value;

use crate::model_kinds;

/// The parameters of a model, its task, and its encoder.
#[derive(Clone, Debug)]
pub struct Model {
    /// The encoder of rows; `None` if the model was not learned from a file.
    pub encoder: Option<Encoder>,
    /// The columns that are the features, if there is no encoder and they have names.
    pub features: Option<Vec<String>>,
    /// The kind of labels.
    pub labels: Labels,
    /// The name of the loss.
    pub loss: String,
    /// The name of the rule that queried rows.
    pub rule: String,
    /// The parameters.
    pub scorer: Scorer,
}

/// The reason why a model file has no usable model.
#[derive(Debug)]
#[non_exhaustive]
pub enum UnusableModel {
    /// The header is not JSON.
    Header(serde_json::Error),
    /// The header lacks a field.
    Unsaid(&'static str),
    /// The encoder cannot be read.
    Encoder(EncoderError),
    /// The numbers do not fit each other.
    Shape(String),
}

impl Display for UnusableModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header(error) => write!(f, "the model's header: {error}"),
            Self::Unsaid(what) => write!(f, "the model does not say {what}"),
            Self::Encoder(error) => error.fmt(f),
            Self::Shape(found) => f.write_str(found),
        }
    }
}

impl std::error::Error for UnusableModel {}

impl From<String> for UnusableModel {
    fn from(found: String) -> Self {
        Self::Shape(found)
    }
}

impl Model {
    /// Reads a model from the header and the arrays of a model file.
    ///
    /// # Errors
    /// If the header or the arrays do not describe a model.
    pub fn new(header: &str, arrays: &[(String, Vec<f64>)]) -> Result<Self, UnusableModel> {
        let header: Value = serde_json::from_str(header).map_err(UnusableModel::Header)?;
        let text = |key: &str, what| header[key].as_str().map(str::to_owned).ok_or(UnusableModel::Unsaid(what));
        let (loss, rule) = (text("loss", "its loss")?, text("rule", "its rule")?);
        let outputs = header["outputs"].as_u64().filter(|outputs| 0 < *outputs);
        let outputs = outputs.ok_or(UnusableModel::Unsaid("how many outputs it has"))? as usize;
        let encoder = match &header["encoder"] {
            Value::Null => None,
            recipe => Some(Encoder::from_json(&recipe.to_string()).map_err(UnusableModel::Encoder)?),
        };
        let labels = match encoder.as_ref().and_then(Encoder::task) {
            Some(LabelKind::Binary) => Labels::Binary,
            Some(LabelKind::Classes(classes)) => Labels::Classes(classes),
            Some(LabelKind::Number) => Labels::Numbers,
            None if loss == "squared" => Labels::Numbers,
            None if outputs == 1 => Labels::Binary,
            None => Labels::Classes(outputs),
        };
        let names =
            header["features"].as_array().map(|names| names.iter().filter_map(Value::as_str).map(str::to_owned));
        let features: Option<Vec<String>> = names.map(Iterator::collect);
        let wanted = match labels {
            Labels::Classes(classes) => classes,
            Labels::Binary | Labels::Numbers => 1,
        };
        if outputs != wanted {
            return Err(format!("the model has {outputs} outputs, but its labels need {wanted}").into());
        }
        let encoded = encoder.as_ref().map(Encoder::dim);
        let scorer = match model_kinds::read(&header, arrays, outputs)? {
            Some(scorer) => scorer,
            None => linear(arrays, outputs, encoded)?,
        };
        let dim = scorer.dim();
        if let Some(found) = encoded.or(features.as_ref().map(Vec::len)).filter(|found| *found != dim) {
            return Err(format!("the model has weights for {dim} features, its rows have {found}").into());
        }
        Ok(Self { encoder, features, labels, loss, rule, scorer })
    }

    /// Parses a rule for drawing from a pool. `None` means the model's own rule.
    pub fn pool_rule(&self, name: Option<&str>) -> Result<Rule, NameError> {
        select::rule(name.unwrap_or(&self.rule), &self.loss, self.labels)
    }
}

/// Reads a linear model from its arrays.
///
/// # Errors
/// If they do not describe one; the message says why.
fn linear(arrays: &[(String, Vec<f64>)], outputs: usize, encoded: Option<usize>) -> Result<Scorer, String> {
    let parameters = parameters(arrays, outputs)?;
    Ok(match listed_features(arrays, parameters.len() / outputs - 1, encoded)? {
        None => Scorer::new(outputs, parameters),
        Some((listed, dim)) => Scorer::Linear(LinearScorer::of_features(outputs, &listed, parameters, dim)),
    })
}

/// Returns the `count` features that have weights and the number of all features, if a model lists them.
///
/// # Errors
/// If the list is not valid; the message says why.
fn listed_features(
    arrays: &[(String, Vec<f64>)],
    count: usize,
    encoded: Option<usize>,
) -> Result<Option<(Vec<u32>, usize)>, String> {
    let Some((_, numbers)) = arrays.iter().find(|(name, _)| name == "index") else { return Ok(None) };
    let dim = encoded.ok_or("the model lists its features, but has no encoder for rows")?;
    if numbers.len() != count {
        return Err(format!("the model lists {} features, but has weights for {count}", numbers.len()));
    }
    let whole =
        |number: &f64| (0.0 <= *number && *number < dim as f64 && number.fract() == 0.0).then_some(*number as u32);
    let features: Option<Vec<u32>> = numbers.iter().map(whole).collect();
    match features.filter(|features| features.is_sorted_by(|a, b| a < b)) {
        Some(features) => Ok(Some((features, dim))),
        None => Err(format!("the features that the model lists are not numbers below {dim} that rise")),
    }
}

/// Returns the averaged parameters.
///
/// # Errors
/// If they or the last parameters are not valid; the message says why.
fn parameters(arrays: &[(String, Vec<f64>)], outputs: usize) -> Result<&[f64], String> {
    let find = |wanted: &str| arrays.iter().find(|(name, _)| name == wanted).map(|(_, numbers)| numbers.as_slice());
    let mean = find("mean").ok_or("the model has no parameters")?;
    let theta = find("theta").unwrap_or(mean);
    // There is an intercept for each output, and as many weights for each feature.
    if mean.is_empty() || !mean.len().is_multiple_of(outputs) {
        return Err(format!("the model has {} parameters for {outputs} outputs", mean.len()));
    }
    if theta.len() != mean.len() {
        return Err(format!("the model has {} last parameters, but {} averaged ones", theta.len(), mean.len()));
    }
    if !mean.iter().chain(theta).all(|parameter| parameter.is_finite()) {
        return Err("a parameter of the model is not a finite number".to_owned());
    }
    Ok(mean)
}
