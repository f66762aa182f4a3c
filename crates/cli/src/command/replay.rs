//! `querist replay`: replays the events of a ledger and checks that they give the same model.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use querist_ledger::Ledger;
use querist_run::model_file;
use querist_run::overwrite::check_output;
use querist_run::replay;
use querist_run::scored_pool;
use serde_json::Value;

use crate::Output;
use crate::run::moved::MovedArgs;
use crate::run::progress::waiting;
use crate::run::results::PrintedResults;

mod labeling;

/// Replay a ledger, and check that its events give the same model, bit for bit
#[derive(Args)]
pub(crate) struct ReplayArgs {
    /// The ledger of a run
    ledger: PathBuf,
    /// Write the model to this file
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    moved: MovedArgs,
}

pub(super) fn run(arguments: &ReplayArgs) -> Result<Output> {
    if let Some(path) = &arguments.model {
        check_output("--model", path)?;
    }
    let ledger = Ledger::read(&arguments.ledger)?;
    let header: Value = serde_json::from_str(ledger.header()).context("the ledger's header")?;
    if header["command"] == "label" {
        return labeling::run(arguments, &ledger);
    }
    if arguments.moved.data.is_some() || arguments.moved.images.is_some() {
        bail!("--data and --images are for labeling sessions; the ledger of another run holds all that a replay needs");
    }
    if header["command"] == scored_pool::COMMAND {
        return replay_scored_pool(arguments, &ledger);
    }
    let folded = waiting("replaying the ledger", false, || replay::run(&ledger, &header))?;
    let mut results = PrintedResults::default();
    results.put("loss", folded.loss.clone().into());
    results.put("rule", folded.rule.clone().into());
    if 0 < folded.found.considered {
        results.count("considered", "items considered", folded.found.considered);
    }
    results.count("asked", "asked", ledger.count("asked"));
    results.count("answered", "answered", ledger.count("answered"));
    results.count("confirmed", "queries with the recorded probability", folded.found.confirmed);
    results.count("disagreeing", "queries with another probability", folded.found.disagreeing);
    if 0 < folded.found.not_compared {
        results.count("not_compared", "queries of the cold start, not compared", folded.found.not_compared);
    }
    results.parameters(folded.parameters.as_linear());
    let model = folded.model(&ledger)?;
    if let Some(path) = &arguments.model {
        model_file::write_model(path, &model)?;
    }
    let same = folded.is_recorded_model(&ledger, &model)?;
    results.put("same_model", same.map_or(Value::Null, Value::from));
    results.remarks.push(match same {
        Some(true) => "the same model, bit for bit".to_owned(),
        Some(false) => "this is not the model that the run ended with".to_owned(),
        None => "the run has not ended, so there is no model to compare with".to_owned(),
    });
    let text = if arguments.json {
        results.to_json()
    } else {
        let (loss, rule) = (&folded.loss, &folded.rule);
        results.to_text(&format!("{loss} queried by {rule}, from {}", arguments.ledger.display()), false)
    };
    let differs = same == Some(false) || 0 < folded.found.disagreeing;
    let missing = differs.then(|| "the ledger does not give the model it recorded".to_owned());
    Ok(Output { text, code: u8::from(differs), missing }.with_loss(&ledger))
}

/// Checks the draws of a pool that a program scored. There is no model in its ledger.
fn replay_scored_pool(arguments: &ReplayArgs, ledger: &Ledger) -> Result<Output> {
    if arguments.model.is_some() {
        bail!("--model: the ledger of a pool that another program scores has no model");
    }
    let found = waiting("replaying the ledger", false, || scored_pool::check(ledger))?;
    let mut results = PrintedResults::default();
    results.put("rule", found.rule.clone().into());
    results.count("rows", "rows in the pool", found.rows);
    results.count("asked", "asked", ledger.count("asked"));
    results.count("answered", "answered", ledger.count("answered"));
    results.count("confirmed", "draws with the recorded probability", found.confirmed);
    results.count("disagreeing", "draws with another probability", found.disagreeing);
    if 0 < found.not_compared {
        results.count("not_compared", "draws by coverage, not compared", found.not_compared);
    }
    let text = if arguments.json {
        results.to_json()
    } else {
        results.to_text(&format!("draws by {}, from {}", found.rule, arguments.ledger.display()), false)
    };
    let differs = 0 < found.disagreeing;
    let missing = differs.then(|| "the ledger does not give the probabilities it recorded".to_owned());
    Ok(Output { text, code: u8::from(differs), missing }.with_loss(ledger))
}
