//! Models that are not linear, in the header and the arrays of a model file.

use querist_engine::forest::{Forest, SavedForest};
use querist_engine::scorer::{KernelScorer, Scorer};
use querist_rows::kernel::KernelMap;
use serde_json::Value;

use crate::error::Result;
use crate::model::UnusableModel;

/// The field of the header that names the kind, and the fields of kernel maps and forests.
const KIND: &str = "kind";
const LANDMARKS: &str = "landmarks";
const FOREST: &str = "forest";

/// Adds the kind to the header, and returns the arrays.
pub(crate) fn describe(scorer: &Scorer, header: &mut Value) -> Result<Vec<(String, Vec<f64>)>> {
    Ok(match scorer {
        Scorer::Linear(scorer) => vec![("mean".to_owned(), scorer.parameters())],
        Scorer::Kernel(scorer) => {
            header[KIND] = "kernel".into();
            header[LANDMARKS] = serde_json::to_value(scorer.map())?;
            vec![("theta".to_owned(), scorer.theta().to_vec()), ("alpha".to_owned(), scorer.alpha().to_vec())]
        }
        Scorer::Forest(forest) => {
            header[KIND] = "forest".into();
            header[FOREST] = serde_json::to_value(SavedForest::from(&**forest))?;
            vec![]
        }
    })
}

/// Reads a model that is not linear; `None` if the header describes a linear one.
///
/// # Errors
/// If the header or the arrays do not describe a model.
pub(crate) fn read(
    header: &Value,
    arrays: &[(String, Vec<f64>)],
    outputs: usize,
) -> Result<Option<Scorer>, UnusableModel> {
    let field = |name: &str| header[name].clone();
    match header[KIND].as_str() {
        None | Some("linear") => Ok(None),
        Some("kernel") => {
            let map: KernelMap = serde_json::from_value(field(LANDMARKS)).map_err(UnusableModel::Header)?;
            if !map.is_valid() {
                return Err("the landmarks of the model are out of range".to_owned().into());
            }
            let (theta, alpha) = (array(arrays, "theta")?, array(arrays, "alpha")?);
            let scorer = KernelScorer::from_weights(map, outputs, theta, alpha);
            scorer.map(|scorer| Some(Scorer::Kernel(scorer.into()))).ok_or_else(|| {
                UnusableModel::Shape("the model does not have one weight for each feature and landmark".to_owned())
            })
        }
        Some("forest") => {
            let saved: SavedForest = serde_json::from_value(field(FOREST)).map_err(UnusableModel::Header)?;
            let forest = Forest::try_from(saved).map_err(|error| UnusableModel::Shape(error.to_string()))?;
            if forest.outputs() != outputs {
                return Err(format!("the forest has {} outputs, the model {outputs}", forest.outputs()).into());
            }
            Ok(Some(Scorer::Forest(forest.into())))
        }
        Some(other) => Err(format!("the model is of an unknown kind, {other}").into()),
    }
}

/// Returns a copy of an array of finite numbers.
fn array(arrays: &[(String, Vec<f64>)], name: &str) -> Result<Vec<f64>, UnusableModel> {
    let found = arrays.iter().find(|(named, _)| named == name);
    let (_, numbers) = found.ok_or_else(|| format!("the model has no array `{name}`"))?;
    if numbers.iter().all(|number| number.is_finite()) {
        Ok(numbers.clone())
    } else {
        Err("a parameter of the model is not a finite number".to_owned().into())
    }
}
