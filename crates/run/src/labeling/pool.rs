//! The data of a labeling session: its items, their prior labels, and the learner.

use std::path::Path;
use std::sync::Arc;

use querist_engine::narrow::Renumbered;
use querist_engine::pool::{Objective, PoolLearner as _};
use querist_engine::session::{LabelingPool, SessionSettings, SessionTime};
use querist_engine::step::StepSize;
use querist_engine::stop::{GAIN_BATCH, StopRule};
use querist_engine::task::Labels;
use querist_ledger::{Ledger, Record};

use super::imports::{Imports, PriorLabels};
use super::restore::restore;
use super::source::{self, Items, SessionHeader};
use crate::build::{self, FitSettings, Resolved};
use crate::error::Result;
use crate::monitor::Monitor;
use crate::pool::stop::GAIN;
use crate::settings::LearnerSettings;
use crate::text::counted;

/// Returns the name of the loss in use.
pub fn loss_name(header: &SessionHeader) -> Result<String> {
    let labels = match header.labels.len() {
        0 => Labels::Numbers,
        2 => Labels::Binary,
        classes => Labels::Classes(classes),
    };
    Ok(build::task(&header.settings, labels)?.name().to_owned())
}

/// Returns the prior labels: those in the file, those imported earlier, and those imported now.
pub fn import(path: Option<&Path>, ledger: &mut Ledger, items: &Items, monitor: &dyn Monitor) -> Result<PriorLabels> {
    let mut imports = Imports::read(ledger)?;
    if let Some(path) = path {
        imports.add(path, items)?.iter().for_each(|words| monitor.on_notice(words));
        imports.note(ledger)?;
    }
    let prior = imports.prior_labels(items);
    if 0 < prior.missing {
        let labels = counted(prior.missing as u64, "imported label");
        monitor.on_notice(&format!("{labels} of items that the data do not have"));
    }
    Ok(prior)
}

/// Notes the number of items, and notifies the monitor. Returns whether there are more than before.
pub fn note_items(ledger: &mut Ledger, items: &Items, monitor: &dyn Monitor) -> Result<bool> {
    let before: Option<usize> = ledger.note("items").and_then(|text| text.parse().ok());
    let now = items.ids.len();
    if before != Some(now) {
        ledger.set_note("items", &now.to_string())?;
    }
    if let Some(before) = before.filter(|before| *before < now) {
        monitor.on_notice(&format!("{} since the last time", counted((now - before) as u64, "new item")));
    }
    if 0 < items.skipped_rows {
        monitor.on_notice(&format!("skipped {} that cannot be read", counted(items.skipped_rows, "row")));
    }
    Ok(before.is_some_and(|before| before < now))
}

/// Records that items were added, which earlier draws could not include.
pub fn note_growth(
    ledger: &mut Ledger,
    pool: &Arc<LabelingPool>,
    header: &SessionHeader,
    session: SessionSettings,
) -> Result<()> {
    let task = build::task(&header.settings, session.labels)?;
    let mut restored = restore(ledger, pool, task, session, SessionTime::default())?;
    let mut events = vec![];
    restored.grow(SessionTime::default(), &mut events);
    let records: Result<Vec<_>, _> = events.iter().map(Record::encode).collect();
    Ok(ledger.append(&records?)?)
}

/// Returns a sentence on the expected cost of the wanted precision, if there is one.
pub fn announce_precision(settings: &LearnerSettings, items: &Items) -> Result<Option<String>> {
    let Some(precision) = &settings.precision else { return Ok(None) };
    let labels = source::labels(&items.encoder)?;
    let goal = precision.goal(labels, items.encoder.classes())?;
    let rules = build::pool_rules(settings, &*build::task(settings, labels)?, labels, true)?;
    precision.announce(goal, &rules.rule, items.rows.len()).map(Some)
}

/// Creates the pool of a session. Returns it with the full name of the rule.
///
/// # Panics
/// Never: the learner was built once before the function that builds it is stored.
pub fn labeling_pool(header: &SessionHeader, items: Items, prior: PriorLabels) -> Result<(Arc<LabelingPool>, String)> {
    let labels = source::labels(&items.encoder)?;
    let precision_class = header.settings.precision_class(labels, items.encoder.classes())?;
    let dim = items.encoder.dim();
    let Items { rows, ids, displayed, fingerprints, hidden, start, .. } = items;
    let PriorLabels { labels: imported, changed: changed_imports, .. } = prior;
    let (rows, renumbered) = Renumbered::of(rows);
    let dim = if renumbered.is_some() { rows.dim() } else { dim };
    let resolved = Resolved { labels, dim, step: StepSize::Auto, precision_class };
    let (settings, draw) = (header.settings.clone(), header.draw());
    let (empty, count) = (rows.empty_like(), rows.len());
    let models = build::models(header.data.files.model_kind(), &rows, &*build::task(&settings, labels)?, &settings)?;
    let make = move || {
        let fitted = FitSettings { objective: Objective::AsAsked, empty: empty.clone(), models: models.clone() };
        build::refit_pool(&settings, &resolved, draw, fitted, count)
    };
    let first = make()?;
    let (rule, cold_draws) = (first.rules().rule.name(), first.cold_draws());
    let stop = first.precision().map_or(StopRule::Gain { batch: GAIN_BATCH, below: GAIN }, StopRule::Precision);
    let learner = Box::new(move || make().expect("it was made before"));
    let content = Box::new(move |row| displayed.content(row));
    let hidden = hidden.digests;
    let pool = LabelingPool {
        rows,
        renumbered,
        ids,
        content,
        fingerprints,
        hidden,
        imported,
        changed_imports,
        draw,
        cold_draws,
        start: start.rows,
        learner,
        stop,
    };
    Ok((Arc::new(pool), rule))
}
