//! Certificates and registries, as the text and JSON of the command line.

use pyo3::prelude::*;
use querist_render::certificate::{as_json, as_text};
use querist_render::list;
use querist_theory::certificate::{certify as certify_pair, certify_classes};
use querist_theory::equivalent::Queried;
use querist_theory::loss;

use crate::error::{sheltered, wrong_value};

/// Returns a certificate as JSON, as brief text, and as text with its facts.
#[pyfunction]
#[pyo3(signature = (loss, rule, classes=None))]
pub(crate) fn certify(py: Python<'_>, loss: &str, rule: &str, classes: Option<usize>) -> PyResult<[String; 3]> {
    sheltered(|| {
        py.detach(|| {
            let certificate = match (loss.starts_with("softmax"), classes) {
                (true, None) => return Err(wrong_value("classes", format!("`{loss}` needs a number of classes"))),
                (true, Some(classes)) => certify_classes(loss, rule, classes).map_err(|e| wrong_value("rule", e))?,
                (false, Some(_)) => {
                    return Err(wrong_value(
                        "classes",
                        format!("goes with softmax-cross-entropy; `{loss}` is for two"),
                    ));
                }
                (false, None) => {
                    loss::parse(loss).map_err(|error| wrong_value("loss", error))?;
                    certify_pair(&Queried::parse(loss, rule).map_err(|error| wrong_value("rule", error))?)
                }
            };
            Ok([as_json(&certificate).to_string(), as_text(&certificate, true), as_text(&certificate, false)])
        })
    })
}

/// Returns losses, rules and pairs as JSON.
#[pyfunction]
pub(crate) fn listed() -> PyResult<String> {
    sheltered(|| Ok(list::as_json().to_string()))
}
