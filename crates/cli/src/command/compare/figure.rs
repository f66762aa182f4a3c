//! The figure of a comparison: learning curves with bands, draw probabilities, calibration.

use std::path::Path;

use anyhow::{Result, bail};
use querist_engine::pool::Draw;
use querist_report::{Axis, Color, Figure, Panel, Series, SeriesMark};
use querist_run::overwrite::check_output;

use super::results::ComparisonResults;

/// Returns an error for a file that a figure cannot be written to.
pub(super) fn check(path: &Path) -> Result<()> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("svg" | "png") => Ok(check_output("--figure", path)?),
        _ => bail!("--figure {}: need a name that ends in .svg or .png", path.display()),
    }
}

/// Draws the figure and writes it to a file.
pub(super) fn write(path: &Path, results: &ComparisonResults<'_>) -> Result<()> {
    let figure = figure(results);
    let is_png = path.extension().is_some_and(|extension| extension == "png");
    let bytes = if is_png { querist_report::png(&figure, 2.0)? } else { querist_report::svg(&figure).into_bytes() };
    if let Err(error) = std::fs::write(path, bytes) {
        bail!("--figure {}: {error}", path.display());
    }
    Ok(())
}

const COLORS: [Color; 6] = [Color::Gray, Color::Blue, Color::Orange, Color::Green, Color::Purple, Color::Red];

/// Returns the figure of a comparison.
pub(super) fn figure(results: &ComparisonResults<'_>) -> Figure {
    let mut panels = vec![curves(results)];
    panels.extend(probabilities(results));
    panels.extend(calibration(results));
    Figure {
        title: results.title(),
        caption: format!(
            "{} Bands are 95 % intervals of the mean over {} seeds; the dashed line is 95 % of the score with all \
             labels. n·q is the probability of a query relative to a random draw.",
            results.sentence(),
            results.seeds
        ),
        panels,
    }
}

fn color(entrant: usize) -> Color {
    COLORS[entrant % COLORS.len()]
}

fn curves(results: &ComparisonResults<'_>) -> Panel {
    let mut series = vec![];
    for (index, entrant) in results.entrants.iter().enumerate() {
        let stages = &results.curves[index].stages;
        if 1 < results.seeds {
            let low = stages.iter().map(|stage| stage.band().low).collect();
            let points = stages.iter().map(|stage| (stage.labels as f64, stage.band().high)).collect();
            series.push(Series { name: String::new(), color: color(index), mark: SeriesMark::Band(low), points });
        }
        let points = stages.iter().map(|stage| (stage.labels as f64, stage.mean())).collect();
        series.push(Series { name: entrant.name.clone(), color: color(index), mark: SeriesMark::Line, points });
    }
    if let (Some(first), Some(last)) = (results.curves[0].stages.first(), results.curves[0].stages.last()) {
        let goal = results.goal(0.95);
        let points = vec![(first.labels as f64, goal), (last.labels as f64, goal)];
        series.push(Series { name: String::new(), color: Color::Gray, mark: SeriesMark::Dashed, points });
    }
    Panel {
        title: "learning curves".to_owned(),
        x: Axis::new("labels"),
        y: Axis::new(results.metric().title()),
        series,
    }
}

/// Returns the panel with the distribution of draw probabilities: the share of asks in each bin of log₁₀ n·q.
fn probabilities(results: &ComparisonResults<'_>) -> Option<Panel> {
    const STEP: f64 = 0.25;
    let mut series = vec![];
    for (index, entrant) in results.entrants.iter().enumerate() {
        let all: Vec<f64> = results.runs[index].iter().flat_map(|run| run.chances.iter().copied()).collect();
        // Random draws all have the same probability; `top` has probabilities only in its cold start.
        if all.is_empty() || index == 0 || entrant.draw == Draw::Top {
            continue;
        }
        let bin = |value: f64| (value / STEP).floor() as i64;
        let (low, high) = all.iter().fold((i64::MAX, i64::MIN), |(l, h), v| (l.min(bin(*v)), h.max(bin(*v))));
        let share = |at: i64| all.iter().filter(|value| bin(**value) == at).count() as f64 / all.len() as f64;
        let points = (low..=high).flat_map(|at| {
            let share = share(at);
            [(at as f64 * STEP, share), ((at + 1) as f64 * STEP, share)]
        });
        let points = points.collect();
        series.push(Series { name: entrant.name.clone(), color: color(index), mark: SeriesMark::Line, points });
    }
    (!series.is_empty()).then(|| Panel {
        title: "probabilities of the queries".to_owned(),
        x: Axis::new("log₁₀ n·q"),
        y: Axis::new("share of queries"),
        series,
    })
}

fn calibration(results: &ComparisonResults<'_>) -> Option<Panel> {
    let mut series: Vec<Series> = vec![];
    for (index, entrant) in results.entrants.iter().enumerate() {
        let points: Vec<(f64, f64)> = results.calibration(index).into_iter().map(|bin| (bin.1, bin.2)).collect();
        if !points.is_empty() {
            series.push(Series { name: entrant.name.clone(), color: color(index), mark: SeriesMark::Line, points });
        }
    }
    if series.is_empty() {
        return None;
    }
    let points = vec![(0.0, 0.0), (1.0, 1.0)];
    series.push(Series { name: String::new(), color: Color::Gray, mark: SeriesMark::Dashed, points });
    Some(Panel {
        title: "calibration at the end".to_owned(),
        x: Axis { range: Some((0.0, 1.0)), ..Axis::new("probability of the decision") },
        y: Axis { range: Some((0.0, 1.0)), ..Axis::new("share correct") },
        series,
    })
}
