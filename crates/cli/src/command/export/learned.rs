//! The model that a labelling session has come to.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use querist_engine::session::{Apprentice, Moment, Settings};
use querist_ledger::Ledger;

use crate::command::label;
use crate::labelling::source::{self, Header};
use crate::run::build;
use crate::run::outcome::{self, Naming};

/// Learns from all answers of a ledger, and writes the model.
pub(super) fn write(ledger: &Ledger, header: &Header, path: &Path) -> Result<String> {
    let items = header.data.read(header.settings.loss.as_deref())?;
    let labels = source::labels(&items.encoder)?;
    let encoder = items.encoder.clone();
    let known = source::imported(ledger)?;
    let mut imported: std::collections::BTreeMap<usize, f64> = items.labelled.iter().copied().collect();
    imported.extend(items.ids.iter().enumerate().filter_map(|(row, id)| Some((row, *known.get(&**id)?))));
    let (study, rule) = label::study(header, items, imported.into_iter().collect())?;
    let settings = Settings { labels, overlap: 1, budget: None, lease: 1, seed: header.settings.seed };
    let task = build::task(&header.settings, labels)?;
    let (loss, outputs) = (task.name().to_owned(), task.outputs());
    let session = querist_server::restore(ledger, &study, task, settings, Moment::default())?;
    let (work, _) = session.work();
    let learned = Apprentice::new(Arc::clone(&study)).learn(&work);
    let naming = Naming { loss: &loss, rule: &rule, outputs, encoder: Some(&encoder) };
    let model = outcome::model(&naming, &learned.parameters, &learned.parameters)?;
    outcome::write_model(path, &model)?;
    Ok(format!("a model of {} labels written to {}", learned.labels, path.display()))
}
