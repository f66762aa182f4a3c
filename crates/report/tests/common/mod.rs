//! Small figures that the tests share.

use querist_report::{Axis, AxisScale, Color, Figure, Panel, Series, SeriesMark};

/// Returns a series with a given name and mark.
pub(crate) fn series(name: &str, mark: SeriesMark, points: &[(f64, f64)]) -> Series {
    Series { name: name.into(), color: Color::Blue, mark, points: points.to_vec() }
}

/// Returns one panel with fitted linear axes.
pub(crate) fn panel(all: Vec<Series>) -> Panel {
    Panel { title: "panel".into(), x: Axis::new("across"), y: Axis::new("up"), series: all }
}

/// Returns a figure of one panel.
pub(crate) fn figure(all: Vec<Series>) -> Figure {
    Figure { title: "figure".into(), caption: "caption".into(), panels: vec![panel(all)] }
}

/// Returns a figure with every kind of mark over a gap, a negative value, and points of unequal count.
#[allow(dead_code, reason = "some test files do not draw it")]
pub(crate) fn everything(x_scale: AxisScale, y_scale: AxisScale) -> Figure {
    let points = [(1.0, 2.0), (2.0, f64::NAN), (3.0, -1.0), (4.0, 8.0), (f64::INFINITY, 3.0), (6.0, 0.5), (7.0, 4.0)];
    let marks = [
        SeriesMark::Line,
        SeriesMark::Dashed,
        SeriesMark::Dotted,
        SeriesMark::Points,
        SeriesMark::Band(vec![0.5, 0.5, -2.0, 0.1]),
    ];
    let all =
        marks.into_iter().enumerate().map(|(index, mark)| series(&format!("mark {index}"), mark, &points)).collect();
    let mut figure = figure(all);
    figure.panels[0].x.scale = x_scale;
    figure.panels[0].y.scale = y_scale;
    figure
}
