//! The legend: inside the plot where there is free space, otherwise below it.

use crate::figure::{Panel, Series, SeriesMark};
use crate::font::Font;
use crate::geometry::{Point, Rect, at};
use crate::panel::{HALF_HEIGHT, fitting};
use crate::scene::{Anchor, FAINT, Paint, Shape, Stroke, WHITE, solid};
use crate::series::{BAND_OPACITY, LARGE_DOT, LINE_WIDTH, dash};

const SIZE: f64 = 14.0;
const ROW: f64 = 21.0;
const SWATCH: f64 = 30.0;
const GAP: f64 = 8.0;
const PADDING: f64 = 6.0;
/// The distance a legend keeps from curves and from the sides of the plot.
const CLEARANCE: f64 = 6.0;
/// The distance between neighboring entries in a row below the plot.
const BETWEEN: f64 = 22.0;
/// The fraction of the plot's width or height above which a legend is drawn below.
const MAX_FRACTION: f64 = 0.6;

/// The entries of a legend and the space they need.
struct Legend<'a> {
    named: Vec<&'a Series>,
    widths: Vec<f64>,
    widest: f64,
    size: f64,
}

/// Adds the legend to a panel's shapes and returns the height it needs below the panel.
///
/// `marks` are the shapes of the series, `below` the panel's bottom.
pub(crate) fn draw(
    panel: &Panel,
    area: Rect,
    below: f64,
    marks: &[Shape],
    font: &Font,
    shapes: &mut Vec<Shape>,
) -> f64 {
    let legend = Legend::new(panel, area.width(), font);
    if legend.named.is_empty() {
        return 0.0;
    }
    let width = legend.widest + 2.0 * PADDING;
    let height = legend.named.len() as f64 * ROW + 2.0 * PADDING;
    if let Some(bounds) = free_rectangle(area, width, height, marks) {
        legend.draw_inside(bounds, shapes);
        0.0
    } else {
        legend.draw_below(area, below, shapes)
    }
}

/// Returns whether two panels have the same legend.
pub(crate) fn agree(one: &Panel, other: &Panel) -> bool {
    let named = |panel: &Panel| -> Vec<_> {
        let all = panel.series.iter().filter(|series| !series.name.is_empty());
        all.map(|series| (series.name.clone(), series.color, std::mem::discriminant(&series.mark))).collect()
    };
    named(one) == named(other)
}

/// Adds one legend for all panels, below them, and returns its height.
pub(crate) fn draw_common(panel: &Panel, area: Rect, font: &Font, shapes: &mut Vec<Shape>) -> f64 {
    let legend = Legend::new(panel, area.width(), font);
    if legend.named.is_empty() { 0.0 } else { legend.draw_below(area, area.bottom, shapes) }
}

impl<'a> Legend<'a> {
    fn new(panel: &'a Panel, available: f64, font: &Font) -> Self {
        let all = panel.series.iter();
        let named: Vec<&Series> = all.filter(|series| !series.name.is_empty()).collect();
        let room = available - SWATCH - GAP;
        let sizes = named.iter().map(|series| fitting(&series.name, SIZE, room, font));
        let size = sizes.fold(SIZE, f64::min);
        let widths: Vec<f64> = named.iter().map(|series| SWATCH + GAP + font.width(&series.name, size)).collect();
        let widest = widths.iter().copied().fold(0.0, f64::max);
        Self { named, widths, widest, size }
    }

    fn draw_inside(&self, bounds: Rect, shapes: &mut Vec<Shape>) {
        shapes.push(Shape::rectangle(bounds, FAINT));
        shapes.push(Shape::rectangle(bounds.grown(-1.0), WHITE));
        for (row, series) in self.named.iter().enumerate() {
            let middle = bounds.top + PADDING + (row as f64 + 0.5) * ROW;
            entry(series, at(bounds.left + PADDING, middle), self.size, shapes);
        }
    }

    /// Returns the number of entries per row: as many as fit, evenly spread over rows.
    fn column_count(&self, available: f64) -> usize {
        let fitting = ((available + BETWEEN) / (self.widest + BETWEEN)).floor();
        let rows = self.named.len().div_ceil(fitting.max(1.0) as usize);
        self.named.len().div_ceil(rows)
    }

    fn draw_below(&self, area: Rect, below: f64, shapes: &mut Vec<Shape>) -> f64 {
        let columns = self.column_count(area.width());
        // Columns are as wide as their widest entry, so that entries line up in every row.
        let column_widths: Vec<f64> = (0..columns)
            .map(|column| {
                let members = self.widths.iter().skip(column).step_by(columns);
                members.copied().fold(0.0, f64::max)
            })
            .collect();
        let total = column_widths.iter().sum::<f64>() + BETWEEN * (columns as f64 - 1.0);
        let left = f64::midpoint(area.left, area.right) - total / 2.0;
        for (index, series) in self.named.iter().enumerate() {
            let (row, column) = (index / columns, index % columns);
            let before: f64 = column_widths[..column].iter().map(|w| w + BETWEEN).sum();
            let middle = below + PADDING + (row as f64 + 0.5) * ROW;
            let start = at(left.max(PADDING) + before, middle);
            entry(series, start, self.size, shapes);
        }
        self.named.len().div_ceil(columns) as f64 * ROW + 2.0 * PADDING
    }
}

/// Returns the first free rectangle among corners and sides, if any.
fn free_rectangle(area: Rect, width: f64, height: f64, marks: &[Shape]) -> Option<Rect> {
    if width > MAX_FRACTION * area.width() || height > MAX_FRACTION * area.height() {
        return None;
    }
    let inner = area.grown(-CLEARANCE);
    let (left, right) = (inner.left, inner.right - width);
    let (top, bottom) = (inner.top, inner.bottom - height);
    let center = f64::midpoint(left, right);
    [(right, top), (left, top), (right, bottom), (left, bottom), (center, top), (center, bottom)]
        .into_iter()
        .map(|(x, y)| Rect::new(x, y, width, height))
        .find(|bounds| marks.iter().all(|mark| !touches(mark, bounds.grown(CLEARANCE))))
}

fn touches(mark: &Shape, bounds: Rect) -> bool {
    match mark {
        Shape::Lines { runs, .. } => {
            runs.iter().any(|run| run.windows(2).any(|pair| bounds.clip_segment(pair[0], pair[1]).is_some()))
        }
        Shape::Polygon { points, .. } => !bounds.clip_polygon(points).is_empty(),
        Shape::Dots { centers, .. } => centers.iter().any(|&center| bounds.contains(center)),
        Shape::Text(_) => false,
    }
}

/// Adds a sample of the mark and the series name; `start` is the middle of the left side.
fn entry(series: &Series, start: Point, size: f64, shapes: &mut Vec<Shape>) {
    let paint = solid(series.color.rgb());
    let sample = match (dash(&series.mark), &series.mark) {
        (Some(dash), _) => Shape::Lines {
            runs: vec![vec![start, at(start.x + SWATCH, start.y)]],
            stroke: Stroke { paint, width: LINE_WIDTH, dash },
        },
        (None, SeriesMark::Band(_)) => {
            Shape::rectangle(Rect::new(start.x, start.y - 6.0, SWATCH, 12.0), Paint { opacity: BAND_OPACITY, ..paint })
        }
        (None, _) => Shape::Dots {
            centers: vec![at(start.x + SWATCH / 2.0, start.y)],
            radius: LARGE_DOT,
            fill: paint,
            halo: false,
        },
    };
    shapes.push(sample);
    let baseline = at(start.x + SWATCH + GAP, start.y + HALF_HEIGHT * size);
    shapes.push(Shape::text(&series.name, baseline, size, Anchor::Start));
}
