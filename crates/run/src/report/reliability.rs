//! The reliability of a model's probabilities.

use crate::history::History;
use crate::scored_pool;
use querist_report::{Axis, Color, SeriesMark};

use super::plot::{Points, Shown, line, one_panel};

const TITLE: &str = "Reliability of probabilities";

/// Returns the reliability diagram of the last model.
pub(super) fn reliability(history: &History) -> Shown {
    let bins = &history.reliability;
    if history.header["command"] == "stream" {
        return Err("Reliability is estimated for pools and labeling sessions.".to_owned());
    }
    if history.header["command"] == scored_pool::COMMAND {
        return Err("The predictions for the rows that were not drawn are not in the ledger.".to_owned());
    }
    if history.classes.is_empty() {
        return Err("The labels are numbers.".to_owned());
    }
    if bins.is_empty() && history.draw() == Some("top") {
        return Err("Draws of `--draw top` have no probabilities, so nothing can be estimated from them.".to_owned());
    }
    if bins.len() < 2 {
        return Err("There are too few labels with probabilities to estimate from.".to_owned());
    }
    let lows = bins.iter().map(|bin| bin.low).collect();
    let highs: Points = bins.iter().map(|bin| (bin.confidence, bin.high)).collect();
    let shares: Points = bins.iter().map(|bin| (bin.confidence, bin.accuracy)).collect();
    let from = bins[0].confidence.min(0.5);
    Ok(one_panel(
        TITLE,
        "How often the likeliest class is the true one, for items with about the same predicted probability, \
         estimated for the whole pool with 95 % intervals. Below the diagonal, the model is too sure.",
        Axis { range: Some((from, 1.0)), ..Axis::new("predicted probability of the likeliest class") },
        Axis { range: Some((0.0, 1.02)), ..Axis::new("share that is right") },
        vec![
            line("interval", Color::Blue, SeriesMark::Band(lows), highs),
            line("as predicted", Color::Gray, SeriesMark::Dashed, vec![(from, from), (1.0, 1.0)]),
            line("estimate", Color::Blue, SeriesMark::Points, shares),
        ],
    ))
}
