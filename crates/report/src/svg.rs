//! SVG output: text stays text, and no identifiers are used.

use crate::draw;
use crate::escape::escape;
use crate::figure::{Figure, Panel};
use crate::font::{Font, OutlineStep, is_combining};
use crate::geometry::Point;
use crate::scene::{Anchor, Dash, HALO_WIDTH, INK, Paint, PlacedText, Scene, Shape, Stroke};
use std::fmt::Write;

/// Draws a figure as an SVG element, usable as a file or within a page.
pub fn svg(figure: &Figure) -> String {
    let font = Font::new();
    write_scene(&draw::scene(figure, &font), &font)
}

/// Draws one panel alone, so that panels of a page can wrap on narrow screens.
pub(crate) fn panel_svg(figure: &Figure, panel: &Panel) -> String {
    let font = Font::new();
    write_scene(&draw::panel_scene(figure, panel, &font), &font)
}

fn write_scene(scene: &Scene, font: &Font) -> String {
    let (width, height) = (number(scene.width), number(scene.height));
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\" fill=\"{}\" \
         font-family=\"DejaVu Sans, Verdana, sans-serif\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n",
        escape(&scene.description),
        hex(INK),
    );
    for shape in &scene.shapes {
        let element = match shape {
            Shape::Lines { runs, stroke } => lines(runs, stroke),
            Shape::Polygon { points, fill } => polygon(points, *fill),
            Shape::Dots { centers, radius, fill, halo } => dots(centers, *radius, *fill, *halo),
            Shape::Text(text) => write_text(text, font),
        };
        if !element.is_empty() {
            out.push_str(&element);
            out.push('\n');
        }
    }
    out.push_str("</svg>\n");
    out
}

fn lines(runs: &[Vec<Point>], stroke: &Stroke) -> String {
    let path: String = runs.iter().map(|run| run_path(run)).collect();
    if path.is_empty() {
        return path;
    }
    let dash = match stroke.dash {
        Dash::Solid => String::new(),
        Dash::Dashed => format!(" stroke-dasharray=\"{}\"", pattern(stroke.dash)),
        Dash::Dotted => format!(" stroke-dasharray=\"{}\" stroke-linecap=\"round\"", pattern(stroke.dash)),
    };
    format!(
        "<path d=\"{path}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" \
         stroke-linejoin=\"round\"{dash}/>",
        hex(stroke.paint),
        number(stroke.width),
    )
}

fn pattern(dash: Dash) -> String {
    let lengths: Vec<String> = dash.pattern().iter().map(|&length| number(length)).collect();
    lengths.join(" ")
}

/// Writes a run as path data; consecutive points that round to the same position are written once.
fn run_path(run: &[Point]) -> String {
    let mut positions: Vec<String> = run.iter().map(|&point| pair(point)).collect();
    positions.dedup();
    format!("M{}", positions.join("L"))
}

fn polygon(points: &[Point], fill: Paint) -> String {
    if points.is_empty() {
        return String::new();
    }
    format!("<path d=\"{}Z\"{}/>", run_path(points), filled(fill))
}

fn dots(centers: &[Point], radius: f64, fill: Paint, halo: bool) -> String {
    if centers.is_empty() {
        return String::new();
    }
    let ring =
        if halo { format!(" stroke=\"#ffffff\" stroke-width=\"{}\"", number(HALO_WIDTH)) } else { String::new() };
    let mut out = format!("<g{}{ring}>", filled(fill));
    for center in centers {
        let (x, y, r) = (number(center.x), number(center.y), number(radius));
        // Writing to a string cannot fail.
        let _ = write!(out, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{r}\"/>");
    }
    out.push_str("</g>");
    out
}

/// Writes a text, as an outline with a label if it has a combining mark.
///
/// The position of a combining mark would otherwise depend on the font of the viewer.
fn write_text(text: &PlacedText, font: &Font) -> String {
    let content = escape(&text.content);
    if text.content.chars().any(is_combining) {
        let path: String = font.outline_in_place(text).iter().map(step).collect();
        return format!("<path role=\"img\" aria-label=\"{content}\" d=\"{path}\"/>");
    }
    let (x, y) = (number(text.at.x), number(text.at.y));
    let anchor = match text.anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    let turn = if text.upward { format!(" transform=\"rotate(-90 {x} {y})\"") } else { String::new() };
    let size = number(text.size);
    format!("<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\"{anchor}{turn}>{content}</text>")
}

fn step(step: &OutlineStep) -> String {
    match step {
        OutlineStep::Move(p) => format!("M{}", pair(*p)),
        OutlineStep::Line(p) => format!("L{}", pair(*p)),
        OutlineStep::Curve(control, p) => format!("Q{} {}", pair(*control), pair(*p)),
        OutlineStep::Close => "Z".into(),
    }
}

fn filled(paint: Paint) -> String {
    if paint.opacity < 1.0 {
        let opacity = number(paint.opacity);
        format!(" fill=\"{}\" fill-opacity=\"{opacity}\"", hex(paint))
    } else {
        format!(" fill=\"{}\"", hex(paint))
    }
}

fn hex(paint: Paint) -> String {
    let [red, green, blue] = paint.rgb;
    format!("#{red:02x}{green:02x}{blue:02x}")
}

fn pair(point: Point) -> String {
    format!("{} {}", number(point.x), number(point.y))
}

/// Formats a number with at most two decimals: finer than visible, and the same on every machine.
fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    let short = text.trim_end_matches('0').trim_end_matches('.');
    if short == "-0" { "0".into() } else { short.into() }
}
