//! The title, labels and fields that the page displays.

use querist_engine::rule::Scale;
use querist_engine::session::RowId;

use crate::wire::WireLabel;
use crate::wire::certificate::CertificateReply;
use crate::wire::replies::DisplayedField;

/// The title, labels and fields that the page displays.
pub struct Catalog {
    /// The title of the labeling task.
    pub title: String,
    /// The classes with their codes, in the order of their keys; empty for numeric labels.
    pub labels: Vec<(String, f64)>,
    /// Returns the fields of the item in a row.
    pub fields: Box<dyn Fn(RowId) -> Vec<DisplayedField> + Send + Sync>,
    /// Returns what is proved about the loss and the rule in use, at the scale of the current model.
    pub certificate: MakeCertificate,
}

/// A function that creates a certificate for the scale of a rule in units of the pool; `None` before the first model.
pub type MakeCertificate = Box<dyn Fn(Option<Scale>) -> CertificateReply + Send + Sync>;

impl Catalog {
    /// Returns the label with this code; `None` for a numeric label that is NaN or infinite.
    pub(crate) fn label(&self, code: f64) -> Option<WireLabel> {
        match self.labels.iter().find(|(_, known)| *known == code) {
            Some((name, _)) => Some(WireLabel::Text(name.clone())),
            None => code.is_finite().then_some(WireLabel::Number(code)),
        }
    }

    /// Returns the code of a label from a request, or `None` if there is no such label.
    pub(crate) fn code(&self, label: &WireLabel) -> Option<f64> {
        match label {
            WireLabel::Number(number) if self.labels.is_empty() => Some(*number).filter(|number| number.is_finite()),
            WireLabel::Text(text) if self.labels.is_empty() => {
                text.trim().parse().ok().filter(|number: &f64| number.is_finite())
            }
            WireLabel::Number(_) => None,
            WireLabel::Text(name) => self.labels.iter().find(|(known, _)| known == name).map(|(_, code)| *code),
        }
    }
}
