//! A panel: axes, grid and labels around the series.

use crate::axis::{AxisSpan, Tick, spans};
use crate::figure::{Panel, SeriesMark};
use crate::font::Font;
use crate::geometry::{Point, Rect, at};
use crate::legend;
use crate::scene::{Anchor, Dash, FAINT, INK, Paint, PlacedText, Shape, Stroke};
use crate::series::{self, Plot};

const TICK_SIZE: f64 = 13.0;
const LABEL_SIZE: f64 = 15.0;
const TITLE_SIZE: f64 = 16.0;
const TICK: f64 = 5.0;
const MINOR_TICK: f64 = 3.0;
/// The height of a text's middle above its baseline, as a fraction of its size.
pub(crate) const HALF_HEIGHT: f64 = 0.36;
/// The minimum size to which a text is shrunk to fit.
const MIN_SIZE: f64 = 9.0;

/// The space of a panel; panels with equal spaces have aligned axes.
#[derive(Clone, Copy)]
pub(crate) struct PanelSpace {
    pub width: f64,
    pub height: f64,
    pub has_title: bool,
    pub has_x_label: bool,
    pub has_legend: bool,
}

/// A drawn panel with its top left corner at the origin.
pub(crate) struct DrawnPanel {
    pub shapes: Vec<Shape>,
    pub height: f64,
}

/// Draws a panel; it grows downward if its legend must be drawn below.
pub(crate) fn draw(panel: &Panel, space: PanelSpace, font: &Font) -> DrawnPanel {
    let (x, y) = spans(panel);
    let top = if space.has_title { 36.0 } else { 12.0 };
    let bottom = space.height - if space.has_x_label { 50.0 } else { 28.0 };
    let y_ticks = y.ticks(((bottom - top) / 45.0) as usize);
    let label_width = if panel.y.label.is_empty() { 0.0 } else { 24.0 };
    let left = label_width + widest(&y_ticks, font) + TICK + 10.0;
    // Half of the last label may extend beyond the plot.
    let overhang = widest(&x_ticks(&x, space.width - left, font), font) / 2.0;
    let right = space.width - (overhang + 6.0).max(20.0);
    let x_ticks = x_ticks(&x, right - left, font);
    let plot = Plot { area: Rect::new(left, top, right - left, bottom - top), x, y };
    let marks = marks(panel, &plot);
    let mut shapes = Vec::new();
    grid(&plot, &x_ticks, &y_ticks, &mut shapes);
    // Shapes are drawn back to front: the legend comes before the curves, so that it hides none.
    let more =
        if space.has_legend { legend::draw(panel, plot.area, space.height, &marks, font, &mut shapes) } else { 0.0 };
    shapes.extend(marks);
    axes(&plot, &x_ticks, &y_ticks, &mut shapes);
    labels(panel, &plot, space, font, &mut shapes);
    DrawnPanel { shapes, height: space.height + more }
}

/// Returns as many ticks as fit side by side.
fn x_ticks(span: &AxisSpan, width: f64, font: &Font) -> Vec<Tick> {
    let mut wanted = (width / 65.0).min(7.0) as usize;
    loop {
        let ticks = span.ticks(wanted);
        let needed = ticks.len() as f64 * (widest(&ticks, font) + 14.0);
        if needed <= width || wanted <= 2 {
            return ticks;
        }
        wanted -= 1;
    }
}

fn widest(ticks: &[Tick], font: &Font) -> f64 {
    let widths = ticks.iter().map(|tick| font.width(&tick.label, TICK_SIZE));
    widths.fold(0.0, f64::max)
}

/// Returns the shapes of all series, with bands behind the others.
fn marks(panel: &Panel, plot: &Plot) -> Vec<Shape> {
    let (bands, others): (Vec<_>, Vec<_>) =
        panel.series.iter().partition(|series| matches!(series.mark, SeriesMark::Band(_)));
    bands.into_iter().chain(others).flat_map(|series| series::shapes(series, plot)).collect()
}

fn across(plot: &Plot, value: f64) -> Option<f64> {
    let fraction = plot.x.fraction(value)?;
    Some(crisp(plot.area.left + fraction * plot.area.width()))
}

fn up(plot: &Plot, value: f64) -> Option<f64> {
    let fraction = plot.y.fraction(value)?;
    Some(crisp(plot.area.bottom - fraction * plot.area.height()))
}

/// Rounds to the center of a pixel, where a line one pixel wide is sharp.
fn crisp(length: f64) -> f64 {
    length.floor() + 0.5
}

fn thin(runs: Vec<Vec<Point>>, paint: Paint) -> Shape {
    let stroke = Stroke { paint, width: 1.0, dash: Dash::Solid };
    Shape::Lines { runs, stroke }
}

fn grid(plot: &Plot, x_ticks: &[Tick], y_ticks: &[Tick], shapes: &mut Vec<Shape>) {
    let area = plot.area;
    let upright =
        x_ticks.iter().filter_map(|tick| across(plot, tick.value)).map(|x| vec![at(x, area.top), at(x, area.bottom)]);
    let level =
        y_ticks.iter().filter_map(|tick| up(plot, tick.value)).map(|y| vec![at(area.left, y), at(area.right, y)]);
    shapes.push(thin(upright.chain(level).collect(), FAINT));
}

fn axes(plot: &Plot, x_ticks: &[Tick], y_ticks: &[Tick], shapes: &mut Vec<Shape>) {
    let (left, bottom) = (crisp(plot.area.left), crisp(plot.area.bottom));
    let mut runs = vec![vec![at(left, plot.area.top), at(left, bottom), at(plot.area.right, bottom)]];
    for x in plot.x.minor_ticks().iter().filter_map(|&v| across(plot, v)) {
        runs.push(vec![at(x, bottom), at(x, bottom + MINOR_TICK)]);
    }
    for y in plot.y.minor_ticks().iter().filter_map(|&v| up(plot, v)) {
        runs.push(vec![at(left - MINOR_TICK, y), at(left, y)]);
    }
    for tick in x_ticks {
        if let Some(x) = across(plot, tick.value) {
            runs.push(vec![at(x, bottom), at(x, bottom + TICK)]);
            let position = at(x, bottom + TICK + 2.0 + TICK_SIZE);
            shapes.push(Shape::text(&tick.label, position, TICK_SIZE, Anchor::Middle));
        }
    }
    for tick in y_ticks {
        if let Some(y) = up(plot, tick.value) {
            runs.push(vec![at(left - TICK, y), at(left, y)]);
            let position = at(left - TICK - 4.0, y + HALF_HEIGHT * TICK_SIZE);
            shapes.push(Shape::text(&tick.label, position, TICK_SIZE, Anchor::End));
        }
    }
    shapes.push(thin(runs, INK));
}

fn labels(panel: &Panel, plot: &Plot, space: PanelSpace, font: &Font, shapes: &mut Vec<Shape>) {
    let area = plot.area;
    let center = f64::midpoint(area.left, area.right);
    if !panel.title.is_empty() {
        let size = fitting(&panel.title, TITLE_SIZE, area.width(), font);
        let position = at(center, area.top - 14.0);
        shapes.push(Shape::text(&panel.title, position, size, Anchor::Middle));
    }
    if !panel.x.label.is_empty() {
        let size = fitting(&panel.x.label, LABEL_SIZE, area.width(), font);
        let position = at(center, space.height - 9.0);
        shapes.push(Shape::text(&panel.x.label, position, size, Anchor::Middle));
    }
    if !panel.y.label.is_empty() {
        shapes.push(Shape::Text(PlacedText {
            content: panel.y.label.clone(),
            at: at(19.0, f64::midpoint(area.top, area.bottom)),
            size: fitting(&panel.y.label, LABEL_SIZE, area.height(), font),
            anchor: Anchor::Middle,
            upward: true,
        }));
    }
}

/// Returns the size at which a text fits a length, but at least the smallest legible size.
pub(crate) fn fitting(text: &str, size: f64, length: f64, font: &Font) -> f64 {
    let width = font.width(text, size);
    if width <= length { size } else { (size * length / width).max(MIN_SIZE) }
}
