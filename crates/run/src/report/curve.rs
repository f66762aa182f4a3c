//! The learning curve of a run.

use crate::event::Sums;
use crate::history::History;
use crate::scored_pool;
use querist_report::{Axis, Color, SeriesMark};
use serde_json::Value;

use super::plot::{Points, Shown, counting, line, one_panel, positive};

const TITLE: &str = "Learning curve";

/// Returns the learning curve: progressive validation for a stream, test scores for a pool, estimates for a labeling
/// session.
pub(super) fn learning_curve(history: &History) -> Shown {
    match history.header["command"].as_str() {
        Some("label") => estimated(history),
        Some("pool") => tested(history),
        Some(scored_pool::COMMAND) => scored(history),
        _ => progressive(history),
    }
}

fn progressive(history: &History) -> Shown {
    let mut before = Sums::default();
    let (mut window, mut overall, mut labels) = (vec![], vec![], 0);
    // Predicted numbers are never exactly right, so their loss is shown instead.
    let numbers = history.classes.is_empty();
    let good = |sums: Sums| if numbers { sums.loss } else { sums.right as f64 };
    for piece in &history.pieces {
        labels += piece.asked;
        let new = piece.sums.labeled.saturating_sub(before.labeled);
        if 0 < new {
            window.push((labels as f64, (good(piece.sums) - good(before)) / new as f64));
            overall.push((labels as f64, good(piece.sums) / piece.sums.labeled as f64));
        }
        before = piece.sums;
    }
    if window.len() < 2 {
        return Err(if history.header["data"]["file"] == "-" && before.labeled == 0 {
            "A live stream has labels only for the queried items. The model was uncertain about them, so its score \
             on them is not its score on all items."
        } else {
            "There were too few observations with labels."
        }
        .to_owned());
    }
    let series = vec![
        line("each piece", Color::Blue, SeriesMark::Points, window),
        line("so far", Color::Orange, SeriesMark::Line, overall),
    ];
    let y = if numbers { positive("progressive loss", &series) } else { Axis::new("progressive accuracy") };
    let caption = "The score of predictions made before each label was used, per segment of the stream and cumulative.";
    Ok(one_panel(TITLE, caption, counting("labels", labels as f64), y, series))
}

fn tested(history: &History) -> Shown {
    let Some(end) = &history.finished else {
        return Err("The run has not ended; its scores on test rows are recorded at the end.".to_owned());
    };
    let Some(points) = end["curve"].as_array().filter(|points| 1 < points.len()) else {
        return Err("The run had no test rows. Use `--test-fraction` or `--test`.".to_owned());
    };
    let series = |index: usize| -> Points {
        points.iter().filter_map(|p: &Value| Some((p[0].as_f64()?, p[index].as_f64()?))).collect()
    };
    let labels = points[points.len() - 1][0].as_f64().unwrap_or(0.0);
    let score = if history.classes.is_empty() { "R²" } else { "accuracy" };
    let (of, series) = if history.is_fitted() {
        ("the model fitted to all answers so far", vec![line("fit", Color::Blue, SeriesMark::Line, series(1))])
    } else {
        let average = line("average", Color::Blue, SeriesMark::Line, series(1));
        let last = line("last", Color::Orange, SeriesMark::Dashed, series(3));
        ("the average of all parameters so far, and of the last ones", vec![average, last])
    };
    let caption = format!("The {score} on the test rows as labels come in, of {of}.");
    Ok(one_panel(TITLE, &caption, counting("labels", labels), Axis::new(format!("{score} on the test rows")), series))
}

/// Returns the curve of the estimates during a labeling session.
fn estimated(history: &History) -> Shown {
    if history.draw() == Some("top") {
        return Err("Draws of `--draw top` have no probabilities, so nothing can be estimated from them.".to_owned());
    }
    let score = if history.classes.is_empty() { "estimated mean squared error" } else { "estimated accuracy" };
    measured(history, "The score on the pool, estimated from the queried labels, with 95 % intervals.", score)
}

/// Returns the curve of a pool that a program scored.
fn scored(history: &History) -> Shown {
    if history.measured.is_empty() && !history.labels.is_empty() {
        return Err("Some rows were drawn without predictions, so there is no accuracy to show.".to_owned());
    }
    let caption = "The accuracy on the pool of the predictions that were passed with each draw, averaged over the draws \
                   so far, with 95 % intervals. For that of the last predictions, use `pool.estimate`.";
    measured(history, caption, "progressive accuracy")
}

/// Returns the curve of recorded estimates.
fn measured(history: &History, caption: &str, score: &str) -> Shown {
    if history.measured.len() < 2 {
        return Err("There are too few labels to estimate from.".to_owned());
    }
    let points = |of: fn(&(f64, f64, f64, f64)) -> f64| -> Points {
        history.measured.iter().map(|point| (point.0, of(point))).collect()
    };
    let lows = history.measured.iter().map(|point| point.2).collect();
    Ok(one_panel(
        TITLE,
        caption,
        Axis::new("labels"),
        Axis::new(score),
        vec![
            line("interval", Color::Blue, SeriesMark::Band(lows), points(|point| point.3)),
            line("estimate", Color::Blue, SeriesMark::Line, points(|point| point.1)),
        ],
    ))
}
