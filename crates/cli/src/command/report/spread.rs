//! The distribution of query probabilities and of uncertainty.

use querist_report::{Axis, Color};
use querist_run::history::{BINS, History};

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
    let x = Axis { range: Some((0.0, 1.0)), ..Axis::new("probability of asking") };
    let caption =
        "How the probabilities that were used spread over [0, 1], for all items and for those that were asked.";
    Ok(one_panel("Probabilities", caption, x, y, series))
}

/// Returns the histogram of U over the rows drawn from a pool. The draw probability U/ΣU is small in any large pool, so
/// the figure shows U itself.
pub(super) fn uncertainty(history: &History) -> Shown {
    let drawn: Vec<f64> = history.draws.iter().filter(|draw| !draw.at_random).map(|draw| draw.uncertainty).collect();
    let at_random = history.draws.len() - drawn.len();
    let largest = drawn.iter().copied().fold(0.0, f64::max);
    if largest <= 0.0 {
        return Err(match at_random {
            0 => "There were no asks.".to_owned(),
            _ => "Every row was asked at random.".to_owned(),
        });
    }
    let mut counts = [0; BINS];
    for u in &drawn {
        counts[((u / largest * BINS as f64) as usize).min(BINS - 1)] += 1;
    }
    let series = vec![bars("rows asked", Color::Orange, &counts, largest)];
    let mut caption = "How U of the rows that were asked spreads, up to the largest.".to_owned();
    if 0 < at_random {
        caption.push_str(&format!(" {at_random} rows asked at random, for want of a model, are left out."));
    }
    if history.draw() == Some("top") {
        caption.push_str(" Each was the most uncertain one left, and none has a probability.");
    }
    let y = from_zero("share of rows", &series, true);
    let x = Axis { range: Some((0.0, largest)), ..Axis::new("U when asked") };
    Ok(one_panel("Uncertainty", &caption, x, y, series))
}
