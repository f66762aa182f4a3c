//! A one-paragraph description of an encoder.

use crate::encoder::{Coding, Encoder};
use crate::error::escape_control;
use crate::label::LabelKind;

/// A predicate that selects the codings of one kind.
type Is = fn(&Coding) -> bool;

/// The maximum number of names that are listed; with more, only their number is given.
const FEW: usize = 3;

impl Encoder {
    /// Describes the role of every column: `id: id · label: label (ham, spam) · text: body · numbers: 57 columns`.
    pub fn describe(&self) -> String {
        let mut parts = vec![];
        if !self.note.is_empty() {
            parts.push(self.note.clone());
        }
        if let Some(id) = &self.id {
            parts.push(format!("id: {id}"));
        }
        parts.extend(self.describe_labels());
        let kinds: [(&str, Is); 6] = [
            ("text", |coding| matches!(coding, Coding::Text)),
            ("numbers", |coding| matches!(coding, Coding::Number(_))),
            ("vectors", |coding| matches!(coding, Coding::Part | Coding::Vector(_) | Coding::Scaled(_))),
            ("categories", |coding| matches!(coding, Coding::OneHot(_))),
            ("hashed categories", |coding| matches!(coding, Coding::Hashed)),
            ("features", |coding| matches!(coding, Coding::Features)),
        ];
        for (name, is) in kinds {
            let of_kind = self.fields.iter().filter(|field| is(&field.coding));
            let columns: Vec<&str> = of_kind.map(|field| field.column.as_str()).collect();
            match (name, columns.as_slice()) {
                (_, []) => {}
                ("features", _) => parts.push(format!("features: {} so far", self.dim)),
                _ => parts.push(format!("{name}: {}", listed(&columns))),
            }
        }
        if !self.indicators.is_empty() {
            parts.push(format!("with missing cells: {} of them", self.indicators.len()));
        }
        if 0 < self.kernel_features() {
            parts.push(format!("kernel: {} landmarks", self.kernel_features()));
        }
        let ignored: Vec<&str> = self.ignored.iter().map(String::as_str).collect();
        if !ignored.is_empty() {
            parts.push(format!("ignored: {}", listed(&ignored)));
        }
        escape_control(&parts.join(" · "))
    }

    fn describe_labels(&self) -> Option<String> {
        let labels = self.labels.as_ref()?;
        let column = labels.column.as_deref().unwrap_or("to be asked for");
        let classes: Vec<&str> = labels.classes.iter().map(String::as_str).collect();
        Some(match (labels.task, classes.len()) {
            (LabelKind::Number, _) => format!("label: {column} (a number)"),
            (_, 0..=8) => format!("label: {column} ({})", classes.join(", ")),
            (_, n) => format!("label: {column} ({n} classes)"),
        })
    }
}

/// Lists the names, or gives their number if there are more than `FEW`.
pub(crate) fn listed(names: &[&str]) -> String {
    if names.len() <= FEW { names.join(", ") } else { format!("{} columns", names.len()) }
}
