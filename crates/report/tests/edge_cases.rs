//! Degenerate data still produces a valid picture in both outputs.

mod common;

use common::{everything, figure, series};
use querist_report::{AxisScale, Figure, SeriesMark, png, svg};
use roxmltree::Document;

fn draws(figure: &Figure) {
    let picture = svg(figure);
    Document::parse(&picture).expect("a picture is well-formed");
    assert!(!picture.contains("NaN") && !picture.contains("inf"));
    png(figure, 0.5).expect("a picture of a sensible size");
}

#[test]
fn odd_points_are_drawn_with_every_mark_and_scale() {
    let nan = f64::NAN;
    let odd: [&[(f64, f64)]; 9] = [
        &[],
        &[(3.0, 2.0)],
        &[(0.0, 5.0), (1.0, 5.0)],
        &[(2.0, 0.0), (2.0, 1.0)],
        &[(nan, nan), (1.0, nan), (nan, 1.0)],
        &[(0.0, -1.0), (-1.0, 0.0)],
        &[(1e-308, 1e-308), (1.0, 1.0), (f64::MAX, f64::MAX)],
        &[(-1e250, -1e250), (1e250, 1e250)],
        &[(1e-250, 1e-250), (1e250, 1e250)],
    ];
    for points in odd {
        for scale in [AxisScale::Linear, AxisScale::Log] {
            for mark in [SeriesMark::Line, SeriesMark::Points, SeriesMark::Band(vec![1.0])] {
                let mut figure = figure(vec![series("odd", mark, points)]);
                figure.panels[0].x.scale = scale;
                figure.panels[0].y.scale = scale;
                draws(&figure);
            }
        }
    }
}

#[test]
fn odd_ranges_are_drawn() {
    let nan = f64::NAN;
    let odd = [
        (1.0, 1.0),
        (0.0, 0.0),
        (5.0, -5.0),
        (nan, 1.0),
        (0.0, f64::INFINITY),
        (1.0, 1.0 + 1e-16),
        (-1.0, 1.0),
        (1e-200, 1e200),
    ];
    for range in odd {
        for scale in [AxisScale::Linear, AxisScale::Log] {
            let mut figure = everything(scale, scale);
            figure.panels[0].x.range = Some(range);
            figure.panels[0].y.range = Some(range);
            draws(&figure);
        }
    }
}

#[test]
fn nearly_empty_figures_are_drawn() {
    draws(&figure(Vec::new()));
    let mut empty = figure(Vec::new());
    empty.panels.clear();
    draws(&empty);
    empty.title.clear();
    draws(&empty);
}

#[test]
fn very_long_texts_are_drawn() {
    let long = "long ".repeat(100);
    let mut figure = figure(vec![series(&long, SeriesMark::Line, &[(0.0, 0.0), (1.0, 1.0)])]);
    figure.title.clone_from(&long);
    figure.panels[0].x.label.clone_from(&long);
    figure.panels[0].y.label = long;
    draws(&figure);
}
