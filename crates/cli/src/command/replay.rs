//! `querist replay`: the events of a ledger, folded again, give the same model.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use querist_data::Encoder;
use querist_engine::index::Coefficients;
use querist_engine::learner::Learner;
use querist_engine::narrow::Narrow;
use querist_engine::pool::{PoolLearner, Replacement};
use querist_ledger::Ledger;
use querist_rows::{DenseRows, Rows};
use serde_json::Value;

use super::pool::given;
use crate::Output;
use crate::labelling::location::Moved;
use crate::run::build::{self, Fitted, Resolved};
use crate::run::event::{self, RunEvent};
use crate::run::outcome::{self, Naming, Outcome};
use crate::run::overwrite::check_output;
use crate::run::progress::waiting;
use crate::run::replay::{self, Folded};
use crate::run::settings::Settings;

mod labelling;

/// Checks a ledger: the same events give the same model, bit for bit
#[derive(Args)]
pub(crate) struct Arguments {
    /// The ledger of a run
    ledger: PathBuf,
    /// Writes the model to this file
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// Prints JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    moved: Moved,
}

pub(super) fn run(arguments: &Arguments) -> Result<Output> {
    if let Some(path) = &arguments.model {
        check_output("--model", path)?;
    }
    let ledger = Ledger::read(&arguments.ledger)?;
    let header: Value = serde_json::from_str(ledger.header()).context("the ledger's header")?;
    if header["command"] == "label" {
        return labelling::run(arguments, &ledger);
    }
    if arguments.moved.data.is_some() || arguments.moved.images.is_some() {
        bail!("--data and --images are for labeling sessions; the ledger of another run holds all that a replay needs");
    }
    let folded = waiting("going through the ledger", false, || fold(&ledger, &header))?;
    let mut outcome = Outcome::default();
    outcome.put("loss", folded.names.0.clone().into());
    outcome.put("rule", folded.names.1.clone().into());
    if 0 < folded.found.considered {
        outcome.count("considered", "items considered", folded.found.considered);
    }
    outcome.count("asked", "asked", ledger.count("asked"));
    outcome.count("answered", "answered", ledger.count("answered"));
    outcome.count("confirmed", "asks with the recorded probability", folded.found.confirmed);
    outcome.count("disagreeing", "asks with another", folded.found.disagreeing);
    outcome.parameters(&folded.coefficients);
    let encoder = ledger.note("encoder").map(Encoder::from_json).transpose();
    let mut encoder = encoder.map_err(anyhow::Error::msg)?;
    if let Some(encoder) = &mut encoder {
        encoder.widen(folded.found.sums.dim);
    }
    let naming =
        Naming { loss: &folded.names.0, rule: &folded.names.1, outputs: folded.outputs, encoder: encoder.as_ref() };
    let model = outcome::model(&naming, &folded.coefficients)?;
    // Models of older runs name the rule `boundary` by its former name.
    let old_rule = folded.names.1.replacen("boundary", "margin", 1);
    let old_model = || outcome::model(&Naming { rule: &old_rule, ..naming }, &folded.coefficients);
    if let Some(path) = &arguments.model {
        outcome::write_model(path, &model)?;
    }
    let recorded = ledger.note("model").filter(|sum| !sum.is_empty());
    let same = recorded.map(|sum| Ok::<_, anyhow::Error>(sum == model.checksum() || sum == old_model()?.checksum()));
    let same = same.transpose()?;
    outcome.put("same_model", same.map_or(Value::Null, Value::from));
    outcome.remarks.push(match same {
        Some(true) => "the same model, bit for bit".to_owned(),
        Some(false) => "another model than the run ended in".to_owned(),
        None => "the run has not ended, so there is no model to compare with".to_owned(),
    });
    let text = if arguments.json {
        outcome.to_json()
    } else {
        let (loss, rule) = &folded.names;
        outcome.to_text(&format!("{loss} queried by {rule}, from {}", arguments.ledger.display()), false)
    };
    let differs = same == Some(false) || 0 < folded.found.disagreeing;
    let missing = differs.then(|| "the ledger does not give the model it recorded".to_owned());
    Ok(Output { text, code: u8::from(differs), missing }.with_loss(&ledger))
}

/// What a ledger comes to.
struct Refolded {
    coefficients: Coefficients,
    names: (String, String),
    outputs: usize,
    found: Folded,
}

fn fold(ledger: &Ledger, header: &Value) -> Result<Refolded> {
    let settings: Settings = serde_json::from_value(header["settings"].clone()).context("the ledger's settings")?;
    let resolved = ledger.note("learner").context("the ledger ends before its first note: the run never began")?;
    let resolved: Resolved = serde_json::from_str(resolved).context("the ledger's learner")?;
    let names = |learner: &Learner, rule: String| (learner.task().name().to_owned(), rule);
    match header["command"].as_str() {
        Some("stream") => {
            let mut learner = build::stream(&settings, &resolved)?;
            let rule = build::rules(&settings, learner.learner().task(), resolved.labels()?)?.rule.name();
            let found = replay::stream(ledger, &mut learner, |_, _, _| ())?;
            let coefficients = learner.coefficients();
            let learner = learner.learner();
            let outputs = learner.task().outputs();
            Ok(Refolded { coefficients, names: names(learner, rule), outputs, found })
        }
        Some("pool") => {
            let mut learner = pool(ledger, header, &settings, &resolved)?;
            let rule = learner.rules().rule.name();
            let found = replay::pool(ledger, &mut learner, |_, _| ())?;
            let learner = learner.learner();
            let outputs = learner.task().outputs();
            let coefficients = super::pool::coefficients(learner, renumbered(ledger)?.as_ref());
            Ok(Refolded { coefficients, names: names(learner, rule), outputs, found })
        }
        _ => bail!("a ledger of an unknown command"),
    }
}

/// The features of a pool whose rows have other numbers for them.
fn renumbered(ledger: &Ledger) -> Result<Option<Narrow>> {
    let Some(note) = ledger.note("features") else { return Ok(None) };
    let features = serde_json::from_str(note).context("the ledger's features")?;
    Ok(Some(Narrow::from_features(features).context("the ledger's features do not rise")?))
}

/// The learner of a pool's ledger, at its start.
pub(super) fn pool(ledger: &Ledger, header: &Value, settings: &Settings, resolved: &Resolved) -> Result<PoolLearner> {
    let draw = build::draw(header["draw"].as_str().unwrap_or_default());
    let number = |key: &str| -> Result<usize> {
        let note = ledger.note(key).and_then(|text| text.parse().ok());
        note.with_context(|| format!("the ledger's number of {key}"))
    };
    let rows = number("rows")?;
    let apart = |learner: PoolLearner| -> Result<PoolLearner> {
        Ok(match header["apart"].as_f64() {
            Some(within) => learner.kept_apart(within)?,
            None => learner,
        })
    };
    if header["fit"] == "refit" {
        let objective = header["objective"].as_str().unwrap_or_default();
        let given = given::from_note(ledger.note("given").unwrap_or_default())?;
        let asked = event::events(ledger).find_map(|event| match event {
            Ok(RunEvent::Asked { features, .. }) => Some(features),
            _ => None,
        });
        let first = given.first().map(|(_, _, features)| features.clone()).or(asked);
        // Without a row nothing was asked, and the kind of the rows does not matter.
        let empty = match first.and_then(|features| Rows::from_bytes(&features, resolved.dim)) {
            Some(row) => row.empty_like(),
            None => Rows::Dense(DenseRows::new(resolved.dim)),
        };
        let fitted = Fitted { objective, empty };
        let mut learner = apart(build::fitted_pool(settings, resolved, draw, fitted, rows)?)?;
        for (row, label, features) in &given {
            let x = Rows::from_bytes(features, resolved.dim).context("the features of a given label are no row")?;
            learner.give(*row, x.row(0), *label);
        }
        learner.set_askable(number("askable")?);
        return Ok(learner);
    }
    let again = header["repeat"].as_bool().unwrap_or(false);
    let replacement = if again { Replacement::With } else { Replacement::Without };
    build::pool(settings, resolved, draw, replacement, rows).and_then(apart)
}
