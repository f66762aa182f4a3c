//! Conversion of a series into shapes inside the plot area.

use crate::axis::AxisSpan;
use crate::figure::{Series, SeriesMark};
use crate::geometry::{Point, Rect, at};
use crate::scene::{Dash, Paint, Shape, Stroke, solid};

/// The width of curves.
pub(crate) const LINE_WIDTH: f64 = 2.0;
/// The opacity of bands, which leaves grid and neighbors visible.
pub(crate) const BAND_OPACITY: f64 = 0.22;
/// The radius of the discs of a sparse series.
pub(crate) const LARGE_DOT: f64 = 4.5;
/// The radius of the discs of a point cloud.
const SMALL_DOT: f64 = 2.6;
/// The number of points above which a series is a cloud.
const CLOUD: usize = 30;
/// The limit of coordinates, far outside every picture, so that clipping never sees an infinity.
const FAR: f64 = 1e9;

/// The mapping from values to positions in the picture.
pub(crate) struct Plot {
    pub area: Rect,
    pub x: AxisSpan,
    pub y: AxisSpan,
}

impl Plot {
    /// Returns the position of a pair of values; `None` if either cannot be shown.
    pub(crate) fn place(&self, x: f64, y: f64) -> Option<Point> {
        let across = self.x.fraction(x)?;
        let up = self.y.fraction(y)?;
        Some(at(
            (self.area.left + across * self.area.width()).clamp(-FAR, FAR),
            (self.area.bottom - up * self.area.height()).clamp(-FAR, FAR),
        ))
    }
}

/// Iterates over the points as `x`, `y` and the lower edge, which is `y` itself except for a band.
pub(crate) fn triples(series: &Series) -> impl Iterator<Item = (f64, f64, f64)> {
    series.points.iter().enumerate().map(|(index, &(x, y))| {
        let lower = match &series.mark {
            SeriesMark::Band(lower) => lower.get(index).copied().unwrap_or(f64::NAN),
            _ => y,
        };
        (x, y, lower)
    })
}

/// Returns the dash pattern of a mark; `None` for marks that are not lines.
pub(crate) fn dash(mark: &SeriesMark) -> Option<Dash> {
    match mark {
        SeriesMark::Line => Some(Dash::Solid),
        SeriesMark::Dashed => Some(Dash::Dashed),
        SeriesMark::Dotted => Some(Dash::Dotted),
        SeriesMark::Points | SeriesMark::Band(_) => None,
    }
}

/// Returns the shapes of a series, clipped to the plot area.
pub(crate) fn shapes(series: &Series, plot: &Plot) -> Vec<Shape> {
    match (dash(&series.mark), &series.mark) {
        (Some(dash), _) => lines(series, plot, dash),
        (None, SeriesMark::Band(_)) => bands(series, plot),
        (None, _) => dots(series, plot),
    }
}

fn lines(series: &Series, plot: &Plot, dash: Dash) -> Vec<Shape> {
    let paint = solid(series.color.rgb());
    let mut runs: Vec<Vec<Point>> = Vec::new();
    let mut isolated = Vec::new();
    for piece in pieces(series.points.iter().map(|&(x, y)| plot.place(x, y))) {
        if let [only] = piece[..] {
            isolated.push(only);
        }
        for pair in piece.windows(2) {
            let Some((start, end)) = plot.area.clip_segment(pair[0], pair[1]) else {
                continue;
            };
            match runs.last_mut() {
                // A segment that was clipped at its start begins a new run.
                Some(run) if start == pair[0] && run.last() == Some(&start) => run.push(end),
                _ => runs.push(vec![start, end]),
            }
        }
    }
    isolated.retain(|&point| plot.area.contains(point));
    let stroke = Stroke { paint, width: LINE_WIDTH, dash };
    let alone = Shape::Dots { centers: isolated, radius: SMALL_DOT, fill: paint, halo: false };
    vec![Shape::Lines { runs, stroke }, alone]
}

fn bands(series: &Series, plot: &Plot) -> Vec<Shape> {
    let fill = Paint { rgb: series.color.rgb(), opacity: BAND_OPACITY };
    let edges = triples(series).map(|(x, upper, lower)| plot.place(x, upper).zip(plot.place(x, lower)));
    pieces(edges)
        .into_iter()
        .map(|piece| {
            let upper = piece.iter().map(|edge| edge.0);
            let lower = piece.iter().rev().map(|edge| edge.1);
            let outline: Vec<Point> = upper.chain(lower).collect();
            Shape::Polygon { points: plot.area.clip_polygon(&outline), fill }
        })
        .collect()
}

fn dots(series: &Series, plot: &Plot) -> Vec<Shape> {
    let is_cloud = series.points.len() > CLOUD;
    let centers = series
        .points
        .iter()
        .filter_map(|&(x, y)| plot.place(x, y))
        .filter(|&point| plot.area.contains(point))
        .collect();
    vec![Shape::Dots {
        centers,
        radius: if is_cloud { SMALL_DOT } else { LARGE_DOT },
        fill: Paint { rgb: series.color.rgb(), opacity: if is_cloud { 0.65 } else { 1.0 } },
        halo: !is_cloud,
    }]
}

/// Splits a sequence at its gaps.
fn pieces<T>(items: impl Iterator<Item = Option<T>>) -> Vec<Vec<T>> {
    let mut pieces = vec![Vec::new()];
    for item in items {
        match (item, pieces.last_mut()) {
            (Some(item), Some(piece)) => piece.push(item),
            _ => pieces.push(Vec::new()),
        }
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}
