//! The replay of a labeling session: the same draws by the same models.

use std::sync::Arc;

use anyhow::Result;
use querist_engine::session::{BackgroundFitter, ReplayReport, Session};
use querist_ledger::Ledger;
use querist_run::labeling::recorded::RecordedSession;
use querist_run::labeling::source;
use querist_run::model_file;
use querist_run::text::counted;
use serde_json::Value;

use super::ReplayArgs;
use crate::Output;
use crate::run::progress::Terminal;
use crate::run::results::PrintedResults;

/// Replays a session and reports the differences.
pub(super) fn run(arguments: &ReplayArgs, ledger: &Ledger) -> Result<Output> {
    let header = source::header(ledger)?;
    let recorded = RecordedSession::read(ledger, &header, &arguments.moved.moved())?;
    let (report, session) = recorded.replay(ledger, &Terminal::new(false))?;
    let status = session.status(0);
    let mut results = PrintedResults::default();
    results.put("loss", recorded.loss.clone().into());
    results.put("rule", recorded.rule.clone().into());
    results.count("asked", "items asked", ledger.count("asked"));
    results.count("labelled", "items with a label", status.answered as u64);
    results.count("confirmed", "draws reproduced exactly", report.draws);
    results.count("models", "models reproduced exactly", report.models);
    results.count("disagreeing", "draws and models that differ", report.differing);
    results.count("not_compared", "not compared", report.not_compared);
    let differences: Vec<String> = report.differences.iter().map(ToString::to_string).collect();
    results.put("differences", differences.clone().into());
    results.put("same_model", same_model(&report).map_or(Value::Null, Value::from));
    results.remarks.extend(differences);
    results.remarks.extend(remarks(&report, &session));
    if let Some(path) = &arguments.model {
        let model = BackgroundFitter::new(Arc::clone(&recorded.pool)).fit(&session.fit_job().0);
        model_file::write_model(path, &recorded.model(model.scorer)?)?;
        results.remarks.push(format!("a model of {} written to {}", counted(model.labels, "label"), path.display()));
    }
    let title = format!("{} queried by {}, from {}", recorded.loss, recorded.rule, arguments.ledger.display());
    let text = if arguments.json { results.to_json() } else { results.to_text(&title, false) };
    let differs = 0 < report.differing;
    let missing = differs.then(|| "the ledger does not give the draws and models it recorded".to_owned());
    Ok(Output { text, code: u8::from(differs), missing }.with_loss(ledger))
}

/// Returns whether the replay came out the same if the last model has learned from all answers; `None` otherwise.
fn same_model(report: &ReplayReport) -> Option<bool> {
    match report.is_up_to_date {
        Some(true) => Some(report.differing == 0),
        _ => None,
    }
}

fn remarks(report: &ReplayReport, session: &Session) -> Vec<String> {
    let mut remarks = vec![];
    let listed = report.differences.len() as u64;
    if listed < report.differing {
        remarks.push(format!("and {} more", report.differing - listed));
    }
    let (missing, changed) = session.differences();
    if !missing.is_empty() || !changed.is_empty() {
        let (missing, changed) = (missing.len(), changed.len());
        remarks.push(format!(
            "the data have changed: of the queried items, {missing} are missing and {changed} have changed; models \
             skip them, so they may differ from those recorded; restore the data for an exact replay"
        ));
    }
    if 0 < report.not_compared {
        remarks.push(
            "some draws cannot be replayed: the pool has changed since, or the ledger does not record the model that \
             made them"
                .to_owned(),
        );
    }
    remarks.push(
        match (report.is_up_to_date, report.differing) {
            (Some(true), 0) => {
                "every draw and every model is identical, bit for bit; the last model was fitted to all answers"
            }
            (Some(false), 0) => {
                "every draw and every model is identical, bit for bit; the last answers came after the last model"
            }
            (None, 0) => "no model was fitted to the current pool",
            _ => {
                "draws or models differ from those recorded; a change of any row can cause this, even of a row that \
                 was never asked, because all rows affect scaling and drawing"
            }
        }
        .to_owned(),
    );
    remarks
}
