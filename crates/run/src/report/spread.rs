//! The distribution of query probabilities and of uncertainty.

use crate::history::{BINS, History};
use querist_report::{Axis, Color};

use super::plot::{Shown, bars, from_zero, one_panel};

/// Returns the histogram of the query probabilities of a stream.
pub(super) fn probabilities(history: &History) -> Shown {
    if history.considered.iter().sum::<u64>() == 0 {
        return Err("There were no observations.".to_owned());
    }
    let mut series = vec![bars("all items", Color::Blue, &history.considered, 1.0)];
    if 0 < history.taken.iter().sum::<u64>() {
        series.push(bars("those asked", Color::Orange, &history.taken, 1.0));
    }
    let y = from_zero("share of items", &series, true);
    let x = Axis { range: Some((0.0, 1.0)), ..Axis::new("query probability") };
    let caption = "The distribution of the query probabilities, for all items and for the queried items.";
    Ok(one_panel("Probabilities", caption, x, y, series))
}

/// Returns the histogram of U over the rows drawn from a pool. The draw probability U/ΣU is small in any large pool, so
/// the figure shows U itself.
pub(super) fn uncertainty(history: &History) -> Shown {
    let drawn: Vec<f64> = history.draws.iter().filter(|draw| !draw.is_cold).map(|draw| draw.uncertainty).collect();
    let cold = history.draws.len() - drawn.len();
    let largest = drawn.iter().copied().fold(0.0, f64::max);
    if largest <= 0.0 {
        return Err(match cold {
            0 => "There were no queries.".to_owned(),
            _ => "Every row was queried before there was a model.".to_owned(),
        });
    }
    let mut counts = [0; BINS];
    for u in &drawn {
        counts[((u / largest * BINS as f64) as usize).min(BINS - 1)] += 1;
    }
    let series = vec![bars("rows asked", Color::Orange, &counts, largest)];
    let mut caption = "The distribution of U over the queried rows, up to the maximum.".to_owned();
    if 0 < cold {
        caption.push_str(&format!(" {cold} rows queried before there was a model are not included."));
    }
    if history.draw() == Some("top") {
        caption.push_str(" Each was the most uncertain remaining row, and none has a probability.");
    }
    let y = from_zero("share of rows", &series, true);
    let x = Axis { range: Some((0.0, largest)), ..Axis::new("U when queried") };
    Ok(one_panel("Uncertainty", &caption, x, y, series))
}
