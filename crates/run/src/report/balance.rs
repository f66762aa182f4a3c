//! The share of each class among the answers over time.

use crate::history::History;
use querist_report::{Axis, Color, SeriesMark};

use super::plot::{Shown, counting, line, one_panel};

const COLORS: [Color; 6] = [Color::Blue, Color::Orange, Color::Green, Color::Purple, Color::Red, Color::Gray];
/// The largest number of classes with a curve; more curves would be indistinguishable.
const MOST_CLASSES: usize = 2 * COLORS.len();

pub(super) fn class_balance(history: &History) -> Shown {
    let classes = &history.classes;
    match classes.len() {
        0 => return Err("The labels are numbers.".to_owned()),
        count if MOST_CLASSES < count => {
            return Err(format!("There are {count} classes, too many for one figure."));
        }
        _ if history.labels.len() < 2 => return Err("There are too few answers.".to_owned()),
        _ => {}
    }
    let every = history.labels.len().div_ceil(200);
    let mut counts = vec![0_u64; classes.len()];
    let mut shares = vec![vec![]; classes.len()];
    for (index, label) in history.labels.iter().enumerate() {
        if let Some(class) = history.codes.iter().position(|code| code == label) {
            counts[class] += 1;
        }
        if (index + 1) % every == 0 || index + 1 == history.labels.len() {
            for (share, count) in shares.iter_mut().zip(&counts) {
                share.push(((index + 1) as f64, *count as f64 / (index + 1) as f64));
            }
        }
    }
    let series = classes.iter().zip(shares).enumerate().map(|(index, (class, points))| {
        let mark = if index < COLORS.len() { SeriesMark::Line } else { SeriesMark::Dashed };
        line(class, COLORS[index % COLORS.len()], mark, points)
    });
    Ok(one_panel(
        "Class balance",
        "The share of each class among the answers so far.",
        counting("answers", history.labels.len() as f64),
        Axis { range: Some((0.0, 1.0)), ..Axis::new("share of answers") },
        series.collect(),
    ))
}
