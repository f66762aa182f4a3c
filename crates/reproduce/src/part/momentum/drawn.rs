//! The figures: paths on both clocks, distances from them, and the decay of a mode.

use querist_report::{Axis, AxisScale, Color, Figure, Panel, Series, SeriesMark};

use super::modes::Settling;
use super::{DURATION, DYNAMICS, LOOKS, Runs};
use crate::mixture::Theta;

const COORDINATES: [(&str, Color); 3] = [("w₁", Color::Blue), ("w₂", Color::Orange), ("b", Color::Green)];

fn time(look: usize) -> f64 {
    DURATION * look as f64 / LOOKS as f64
}

pub(super) fn paths(paths: &[Vec<Theta>], runs: &[Runs]) -> Figure {
    let panels = [0, 2, 1].map(|index| Panel {
        title: DYNAMICS[index].title.to_owned(),
        x: Axis { range: Some((0.0, DURATION)), ..Axis::new("time h·ticks") },
        y: Axis { range: Some((-0.7, 1.2)), ..Axis::new("θ") },
        series: of_path(&paths[index], &runs[index], index == 0),
    });
    Figure {
        title: "Momentum on two clocks".to_owned(),
        caption: "Weights and intercept over time: lines solve the differential equation, discs are the mean of runs \
                  of the learner, bands two standard deviations of a single run. On the raw clock momentum decays \
                  with observations that are not asked, and the path is another."
            .to_owned(),
        panels: panels.to_vec(),
    }
}

/// Returns the series of one panel. Only one panel needs a legend, because all use the same colors.
fn of_path(path: &[Theta], runs: &Runs, named: bool) -> Vec<Series> {
    let mut series = vec![];
    for (j, (name, color)) in COORDINATES.into_iter().enumerate() {
        let make = |name: &str, mark, points| Series { name: name.to_owned(), color, mark, points };
        let edge = |look: usize, sign: f64| runs.mean[look][j] + 2.0 * sign * runs.deviation[look][j];
        let lower = (0..=LOOKS).map(|look| edge(look, -1.0)).collect();
        series.push(make("", SeriesMark::Band(lower), (0..=LOOKS).map(|look| (time(look), edge(look, 1.0))).collect()));
        let name = if named { name } else { "" };
        series.push(make(
            name,
            SeriesMark::Line,
            path.iter().enumerate().map(|(look, theta)| (time(look), theta[j])).collect(),
        ));
        let means = (0..=LOOKS).step_by(4).map(|look| (time(look), runs.mean[look][j])).collect();
        series.push(make("", SeriesMark::Points, means));
    }
    series
}

pub(super) fn limits(shrinking: Vec<(f64, f64)>, settling: Vec<Settling>) -> Figure {
    // Through the geometric mean of the observed distances.
    let n = shrinking.len() as f64;
    let height = (shrinking.iter().map(|(h, d)| (d / h.sqrt()).ln()).sum::<f64>() / n).exp();
    let ends = [shrinking[0].0, shrinking[shrinking.len() - 1].0];
    let line = ends.map(|h| (h, height * h.sqrt())).to_vec();
    let series = |name: &str, color, mark, points| Series { name: name.to_owned(), color, mark, points };
    let colors = [Color::Blue, Color::Orange, Color::Green];
    let mut settled = vec![];
    for (settling, color) in settling.into_iter().zip(colors) {
        let mut predicted = vec![(0.0, 1.0)];
        predicted.extend(settling.fine.iter().copied());
        settled.push(series(settling.name, color, SeriesMark::Line, predicted));
        settled.push(series("", color, SeriesMark::Points, settling.points.iter().map(|p| (p.0, p.1)).collect()));
    }
    Figure {
        title: "The limit, and what it does near a minimum".to_owned(),
        caption:
            "Left: the largest distance of a heavy-ball run on the query clock from the equation's path, root mean \
                  square over runs, against the step h; the line has slope 1/2. Right: a small push along the softest \
                  direction of the minimum; lines are the roots' motion, discs the whole equation integrated."
                .to_owned(),
        panels: vec![
            Panel {
                title: "distance from the path".to_owned(),
                x: Axis { scale: AxisScale::Log, ..Axis::new("step h") },
                y: Axis { scale: AxisScale::Log, ..Axis::new("largest distance of a run") },
                series: vec![
                    series("∝ √h", Color::Gray, SeriesMark::Dashed, line),
                    series("runs", Color::Blue, SeriesMark::Points, shrinking),
                ],
            },
            Panel {
                title: "settling".to_owned(),
                x: Axis::new("time on the query clock"),
                y: Axis::new("share of the push that is left"),
                series: settled,
            },
        ],
    }
}
