//! A finished model, with how its rows are made: what a model file says, ready for use.

use querist_data::{Encoder, Task};
use querist_engine::rule::Rule;
use querist_engine::scorer::Scorer;
use querist_engine::select;
use querist_engine::task::Labels;
use serde_json::Value;

/// Parameters, what they were learned for, and how rows become features.
#[derive(Clone, Debug)]
pub struct Model {
    /// How rows are made; `None` where the model was not learned from a file.
    pub encoder: Option<Encoder>,
    /// The columns that are the features as they are, where there is no encoder and they have names.
    pub features: Option<Vec<String>>,
    /// What the labels are.
    pub labels: Labels,
    /// The loss.
    pub loss: String,
    /// The rule rows were asked by.
    pub rule: String,
    /// The parameters.
    pub scorer: Scorer,
}

impl Model {
    /// From the header and the arrays of a model file; what is wrong with them otherwise.
    pub fn new(header: &str, arrays: &[(String, Vec<f64>)]) -> Result<Self, String> {
        let header: Value = serde_json::from_str(header).map_err(|error| format!("the model's header: {error}"))?;
        let text =
            |key: &str| header[key].as_str().map(str::to_owned).ok_or(format!("the model does not say its {key}"));
        let (loss, rule) = (text("loss")?, text("rule")?);
        let outputs = header["outputs"].as_u64().filter(|outputs| 0 < *outputs);
        let outputs = outputs.ok_or("the model does not say how many outputs it has")? as usize;
        let encoder = match &header["encoder"] {
            Value::Null => None,
            recipe => Some(Encoder::from_json(&recipe.to_string())?),
        };
        let labels = match encoder.as_ref().and_then(Encoder::task) {
            Some(Task::Binary) => Labels::Binary,
            Some(Task::Classes(classes)) => Labels::Classes(classes),
            Some(Task::Number) => Labels::Numbers,
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
            return Err(format!("the model has {outputs} outputs, but its labels need {wanted}"));
        }
        let encoded = encoder.as_ref().map(Encoder::dim);
        let parameters = parameters(arrays, outputs)?;
        let scorer = match listed_features(arrays, parameters.len() / outputs - 1, encoded)? {
            None => Scorer::new(outputs, parameters),
            Some((listed, dim)) => Scorer::of_features(outputs, &listed, parameters, dim),
        };
        let dim = scorer.dim();
        if let Some(found) = encoded.or(features.as_ref().map(Vec::len)).filter(|found| *found != dim) {
            return Err(format!("the model has weights for {dim} features, its rows have {found}"));
        }
        Ok(Self { encoder, features, labels, loss, rule, scorer })
    }

    /// The rule for drawing from a pool: this one, or the model's own.
    pub fn pool_rule(&self, name: Option<&str>) -> Result<Rule, String> {
        let name = name.unwrap_or(&self.rule);
        select::rule(name, &self.loss, self.labels).map_err(|error| error.to_string())
    }
}

/// The features that have weights, `count` of them, and how many features there are, where a model lists them; what is wrong
/// with the list otherwise.
fn listed_features(
    arrays: &[(String, Vec<f64>)],
    count: usize,
    encoded: Option<usize>,
) -> Result<Option<(Vec<u32>, usize)>, String> {
    let Some((_, numbers)) = arrays.iter().find(|(name, _)| name == "index") else { return Ok(None) };
    let dim = encoded.ok_or("the model lists its features, but does not say how rows are made")?;
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

/// The averaged parameters; what is wrong with them, or with the last ones, otherwise.
fn parameters(arrays: &[(String, Vec<f64>)], outputs: usize) -> Result<&[f64], String> {
    let find = |wanted: &str| arrays.iter().find(|(name, _)| name == wanted).map(|(_, numbers)| numbers.as_slice());
    let mean = find("mean").ok_or("the model has no parameters")?;
    let theta = find("theta").unwrap_or(mean);
    // An intercept for each output, and as many weights for each feature.
    if mean.is_empty() || !mean.len().is_multiple_of(outputs) {
        return Err(format!("the model has {} parameters for {outputs} outputs", mean.len()));
    }
    if theta.len() != mean.len() {
        return Err(format!("the model has {} last parameters, but {} averaged ones", theta.len(), mean.len()));
    }
    if !mean.iter().chain(theta).all(|parameter| parameter.is_finite()) {
        return Err("a parameter of the model is no number".to_owned());
    }
    Ok(mean)
}
