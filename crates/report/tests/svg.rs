//! The content and layout of the SVG of a figure.

#![allow(clippy::float_cmp, reason = "the values must match exactly")]

mod common;

use common::{everything, figure, panel, series};
use querist_report::{AxisScale, Figure, Series, SeriesMark, svg};
use roxmltree::{Document, Node};

/// The color of the series in these tests, as written in the picture.
const BLUE: &str = "#0072b2";

fn elements<'a>(document: &'a Document, tag: &'a str) -> impl Iterator<Item = Node<'a, 'a>> {
    document.descendants().filter(move |node| node.has_tag_name(tag))
}

/// Returns every text of a picture, whether written as text or drawn as an outline.
fn texts(picture: &str) -> Vec<String> {
    let document = Document::parse(picture).expect("a picture is well-formed");
    document
        .descendants()
        .filter_map(|node| match node.tag_name().name() {
            "text" => node.text(),
            "path" => node.attribute("aria-label"),
            _ => None,
        })
        .map(str::to_owned)
        .collect()
}

/// Returns the paths stroked in the color of the series, in drawing order.
fn curves(picture: &str) -> Vec<Vec<Vec<(f64, f64)>>> {
    let document = Document::parse(picture).expect("a picture is well-formed");
    elements(&document, "path")
        .filter(|node| node.attribute("stroke") == Some(BLUE))
        .filter_map(|node| node.attribute("d"))
        .map(|path| path.split('M').skip(1).map(run).collect())
        .collect()
}

fn run(path: &str) -> Vec<(f64, f64)> {
    let pair = |text: &str| {
        let (x, y) = text.split_once(' ').expect("a place is a pair");
        (x.parse().expect("a number"), y.parse().expect("a number"))
    };
    path.split('L').map(pair).collect()
}

fn unnamed(points: &[(f64, f64)]) -> Figure {
    figure(vec![series("", SeriesMark::Line, points)])
}

#[test]
fn every_figure_is_well_formed_and_reproducible() {
    for x in [AxisScale::Linear, AxisScale::Log] {
        for y in [AxisScale::Linear, AxisScale::Log] {
            let figure = everything(x, y);
            let picture = svg(&figure);
            assert_eq!(picture, svg(&figure));
            let document = Document::parse(&picture).expect("a picture is well-formed");
            assert!(document.root_element().has_tag_name("svg"));
            assert!(!picture.contains("NaN") && !picture.contains("inf"));
        }
    }
}

#[test]
fn every_name_and_label_is_shown() {
    let found = texts(&svg(&everything(AxisScale::Linear, AxisScale::Linear)));
    let names = (0..5).map(|index| format!("mark {index}"));
    let labels = ["figure", "panel", "across", "up"].map(str::to_owned);
    for text in names.chain(labels) {
        assert!(found.contains(&text), "{text} is missing in {found:?}");
    }
}

#[test]
fn unnamed_series_are_not_in_the_legend() {
    let named = svg(&figure(vec![series("name", SeriesMark::Line, &[(0.0, 0.0), (1.0, 1.0)])]));
    let nameless = svg(&unnamed(&[(0.0, 0.0), (1.0, 1.0)]));
    assert_eq!(curves(&named).len(), 2);
    assert_eq!(curves(&nameless).len(), 1);
}

#[test]
fn a_combining_mark_is_drawn_and_named() {
    let name = "ℓ\u{303}(ŷ, −1)";
    let picture = svg(&figure(vec![series(name, SeriesMark::Line, &[(0.0, 0.0)])]));
    assert!(texts(&picture).iter().any(|text| text == name));
    assert!(!picture.contains(&format!(">{name}</text>")));
}

#[test]
fn a_combining_mark_does_not_touch_its_letter() {
    for title in ["ℓ\u{303}", "θ\u{303}", "H\u{303}", "H\u{302}\u{303}"] {
        let mut figure = unnamed(&[]);
        figure.title = title.into();
        let picture = svg(&figure);
        let document = Document::parse(&picture).expect("a picture is well-formed");
        let path = elements(&document, "path")
            .find(|node| node.attribute("aria-label") == Some(title))
            .and_then(|node| node.attribute("d"))
            .expect("the title is an outline");
        let contours: Vec<(f64, f64)> = path.split('M').skip(1).map(heights).collect();
        let (mark, letter) = contours.split_last().expect("a letter and a mark");
        let letter_top = letter.iter().map(|ends| ends.0).fold(f64::INFINITY, f64::min);
        assert!(mark.1 < letter_top, "{title}");
    }
}

/// Returns the highest and the lowest position of a contour.
fn heights(contour: &str) -> (f64, f64) {
    let numbers = contour.split(['L', 'Q', 'Z', ' ']).filter_map(|text| text.parse::<f64>().ok());
    let vertical: Vec<f64> = numbers.skip(1).step_by(2).collect();
    let top = vertical.iter().copied().fold(f64::INFINITY, f64::min);
    (top, vertical.into_iter().fold(0.0, f64::max))
}

#[test]
fn special_characters_are_escaped() {
    let name = "<b>&\"quoted\"' \u{1}";
    let mut figure = figure(vec![series(name, SeriesMark::Line, &[(0.0, 0.0)])]);
    figure.caption = name.into();
    let picture = svg(&figure);
    let shown = name.replace('\u{1}', "\u{fffd}");
    assert!(texts(&picture).contains(&shown));
    assert!(!picture.contains("<b>"));
}

#[test]
fn values_that_are_not_finite_break_a_line() {
    for gap in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let points = [(0.0, 0.0), (1.0, 1.0), (2.0, gap), (3.0, 1.0), (4.0, 0.0)];
        let found = curves(&svg(&unnamed(&points)));
        assert_eq!(found.len(), 1);
        let lengths: Vec<usize> = found[0].iter().map(Vec::len).collect();
        assert_eq!(lengths, [2, 2]);
    }
}

#[test]
fn values_without_a_logarithm_break_a_line() {
    let mut figure = unnamed(&[(1.0, 1.0), (2.0, 3.0), (3.0, 0.0), (4.0, 5.0), (5.0, 9.0)]);
    figure.panels[0].y.scale = AxisScale::Log;
    assert_eq!(curves(&svg(&figure))[0].len(), 2);
}

#[test]
fn larger_values_are_drawn_higher_and_further_right() {
    let found = curves(&svg(&unnamed(&[(0.0, 0.0), (1.0, 5.0)])));
    let [from, to] = found[0][0][..] else {
        panic!("one line has two ends");
    };
    assert!(from.0 < to.0 && from.1 > to.1);
}

#[test]
fn curves_end_at_the_sides_of_an_explicit_range() {
    let mut figure = unnamed(&[(-10.0, -10.0), (10.0, 10.0)]);
    figure.panels[0].x.range = Some((-1.0, 1.0));
    figure.panels[0].y.range = Some((-2.0, 2.0));
    let whole = curves(&svg(&figure));
    figure.panels[0].series[0].points = vec![(-1.0, -1.0), (1.0, 1.0)];
    assert_eq!(whole, curves(&svg(&figure)));
}

#[test]
fn points_and_bands_stay_inside_an_explicit_range() {
    let mut figure = figure(vec![
        series("", SeriesMark::Points, &[(0.0, 0.0), (0.0, 9.0), (9.0, 0.0)]),
        series("", SeriesMark::Band(vec![-50.0, -50.0]), &[(-50.0, 50.0), (50.0, 50.0)]),
    ]);
    figure.panels[0].x.range = Some((-1.0, 1.0));
    figure.panels[0].y.range = Some((-1.0, 1.0));
    let picture = svg(&figure);
    let document = Document::parse(&picture).expect("a picture is well-formed");
    assert_eq!(elements(&document, "circle").count(), 1);
    let band = elements(&document, "path")
        .find(|node| node.attribute("fill") == Some(BLUE))
        .and_then(|node| node.attribute("d"))
        .expect("the band is drawn");
    for (x, y) in run(band.trim_matches(['M', 'Z'])) {
        assert!((0.0..=520.0).contains(&x) && (0.0..=384.0).contains(&y));
    }
}

/// Returns the white box behind the legend, as left, top, right and bottom.
fn legend_box(picture: &str) -> Option<[f64; 4]> {
    let document = Document::parse(picture).expect("a picture is well-formed");
    elements(&document, "path")
        .find(|node| node.attribute("fill") == Some("#ffffff"))
        .and_then(|node| node.attribute("d"))
        .map(|path| {
            let corners = run(path.trim_matches(['M', 'Z']));
            [corners[0].0, corners[0].1, corners[2].0, corners[2].1]
        })
}

fn is_covered(curve: &[Vec<(f64, f64)>], area: [f64; 4]) -> bool {
    let [left, top, right, bottom] = area;
    curve.iter().flatten().any(|&(x, y)| (left..=right).contains(&x) && (top..=bottom).contains(&y))
}

fn wave(phase: f64, name: &str) -> Series {
    let points: Vec<(f64, f64)> =
        (0..400).map(|index| f64::from(index) / 40.0).map(|x| (x, (x + phase).sin() * x)).collect();
    series(name, SeriesMark::Line, &points)
}

#[test]
fn the_legend_covers_no_curve() {
    let mut inside = 0;
    for phase in 0..12 {
        let picture = svg(&figure(vec![wave(f64::from(phase) / 2.0, "wave")]));
        let all = curves(&picture);
        let drawn = all.iter().find(|curve| curve[0].len() > 2);
        if let (Some(area), Some(curve)) = (legend_box(&picture), drawn) {
            assert!(!is_covered(curve, area));
            inside += 1;
        }
    }
    assert!(inside > 6);
}

#[test]
fn the_legend_of_a_crowded_panel_is_drawn_below() {
    let crowd: Vec<(f64, f64)> = (0..900).map(|index| (f64::from(index % 30), f64::from(index / 30))).collect();
    let height = |all: Vec<Series>| -> f64 {
        let picture = svg(&figure(all));
        let document = Document::parse(&picture).expect("a picture is well-formed");
        let height = document.root_element().attribute("height");
        height.and_then(|text| text.parse().ok()).expect("a height")
    };
    let named = series("crowd", SeriesMark::Points, &crowd);
    let nameless = series("", SeriesMark::Points, &crowd);
    assert!(height(vec![named.clone()]) > height(vec![nameless]));
    assert!(legend_box(&svg(&figure(vec![named]))).is_none());
}

#[test]
fn panels_are_placed_side_by_side_and_wrap() {
    let width = |count: usize| -> f64 {
        let figure = Figure { title: String::new(), caption: String::new(), panels: vec![panel(Vec::new()); count] };
        let picture = svg(&figure);
        let document = Document::parse(&picture).expect("a picture is well-formed");
        let width = document.root_element().attribute("width");
        width.and_then(|text| text.parse().ok()).expect("a width")
    };
    assert!(width(1) < width(2) && width(2) < width(3));
    assert_eq!(width(2), width(4));
    assert_eq!(width(3), width(7));
}

#[test]
fn panels_with_the_same_legend_share_it() {
    let two = |one: &str, other: &str| {
        let panels = [one, other].map(|name| panel(vec![series(name, SeriesMark::Line, &[(0.0, 0.0), (1.0, 1.0)])]));
        let all = texts(&svg(&Figure { panels: panels.to_vec(), ..figure(vec![]) }));
        all.iter().filter(|text| text.starts_with("curve")).count()
    };
    assert_eq!(two("curve", "curve"), 1);
    assert_eq!(two("curve", "curve of its own"), 2);
}
