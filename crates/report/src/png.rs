//! PNG output, drawn with the embedded font.

use crate::draw;
use crate::figure::Figure;
use crate::font::{Font, OutlineStep};
use crate::geometry::Point;
use crate::scene::{Dash, HALO_WIDTH, INK, Paint as Ink, Scene, Shape, Stroke as Line, WHITE};
use std::fmt;
use tiny_skia::{Color, FillRule, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, Stroke, StrokeDash, Transform};

/// The maximum side of a picture, in pixels.
const LARGEST_SIDE: f64 = 20_000.0;

/// An error while drawing a figure as pixels.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum DrawError {
    /// The scale is not a positive number, or a side would have no pixels or too many.
    Size {
        /// The requested scale.
        scale: f64,
    },
    /// PNG encoding failed.
    Encoding(String),
}

impl fmt::Display for DrawError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size { scale } => write!(
                formatter,
                "a figure cannot be drawn at scale {scale}: each side needs between 1 and \
                 {LARGEST_SIDE} pixels"
            ),
            Self::Encoding(reason) => write!(formatter, "the PNG could not be written: {reason}"),
        }
    }
}

impl std::error::Error for DrawError {}

/// Draws a figure with `scale` pixels per unit of length and returns the bytes of a PNG file.
///
/// A single panel is 520 units wide; scale 2 suits screens and scale 4 suits print.
///
/// # Errors
///
/// Returns [`DrawError::Size`] if a side would have less than 1 pixel or too many.
pub fn png(figure: &Figure, scale: f64) -> Result<Vec<u8>, DrawError> {
    let font = Font::new();
    let scene = draw::scene(figure, &font);
    let mut canvas = Canvas {
        pixmap: blank(&scene, scale).ok_or(DrawError::Size { scale })?,
        transform: Transform::from_scale(scale as f32, scale as f32),
    };
    for shape in &scene.shapes {
        canvas.draw(shape, &font);
    }
    let encoded = canvas.pixmap.encode_png();
    encoded.map_err(|error| DrawError::Encoding(error.to_string()))
}

/// Creates a white picture of the scene's size.
fn blank(scene: &Scene, scale: f64) -> Option<Pixmap> {
    let width = (scene.width * scale).round();
    let height = (scene.height * scale).round();
    let is_valid = |side: &f64| (1.0..=LARGEST_SIDE).contains(side);
    if ![width, height].iter().all(is_valid) {
        return None;
    }
    let mut pixmap = Pixmap::new(width as u32, height as u32)?;
    pixmap.fill(Color::WHITE);
    Some(pixmap)
}

struct Canvas {
    pixmap: Pixmap,
    transform: Transform,
}

impl Canvas {
    fn draw(&mut self, shape: &Shape, font: &Font) {
        match shape {
            Shape::Lines { runs, stroke } => {
                let mut path = PathBuilder::new();
                for run in runs {
                    push_run(&mut path, run);
                }
                self.stroke(path.finish(), stroke);
            }
            Shape::Polygon { points, fill } => {
                let mut path = PathBuilder::new();
                push_run(&mut path, points);
                path.close();
                self.fill(path.finish(), *fill);
            }
            Shape::Dots { centers, radius, fill, halo } => self.dots(centers, *radius, *fill, *halo),
            Shape::Text(text) => {
                let mut path = PathBuilder::new();
                for step in font.outline_in_place(text) {
                    push_step(&mut path, &step);
                }
                self.fill(path.finish(), INK);
            }
        }
    }

    fn dots(&mut self, centers: &[Point], radius: f64, fill: Ink, halo: bool) {
        for center in centers {
            let disc = |r: f64| PathBuilder::from_circle(center.x as f32, center.y as f32, r as f32);
            self.fill(disc(radius), fill);
            if halo {
                let ring = Line { paint: WHITE, width: HALO_WIDTH, dash: Dash::Solid };
                self.stroke(disc(radius), &ring);
            }
        }
    }

    /// Fills a path; does nothing if it is `None`, as for a path without points.
    fn fill(&mut self, path: Option<Path>, ink: Ink) {
        if let Some(path) = path {
            self.pixmap.fill_path(&path, &paint(ink), FillRule::Winding, self.transform, None);
        }
    }

    fn stroke(&mut self, path: Option<Path>, line: &Line) {
        let Some(path) = path else { return };
        let pattern = line.dash.pattern().iter().map(|&length| length as f32);
        let stroke = Stroke {
            width: line.width as f32,
            line_cap: if line.dash == Dash::Dotted { LineCap::Round } else { LineCap::Butt },
            line_join: LineJoin::Round,
            dash: StrokeDash::new(pattern.collect(), 0.0),
            ..Stroke::default()
        };
        self.pixmap.stroke_path(&path, &paint(line.paint), &stroke, self.transform, None);
    }
}

fn paint(ink: Ink) -> Paint<'static> {
    let [red, green, blue] = ink.rgb;
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    paint.set_color_rgba8(red, green, blue, (ink.opacity * 255.0).round() as u8);
    paint
}

fn push_run(path: &mut PathBuilder, run: &[Point]) {
    if let Some((first, rest)) = run.split_first() {
        path.move_to(first.x as f32, first.y as f32);
        for point in rest {
            path.line_to(point.x as f32, point.y as f32);
        }
    }
}

fn push_step(path: &mut PathBuilder, step: &OutlineStep) {
    match step {
        OutlineStep::Move(p) => path.move_to(p.x as f32, p.y as f32),
        OutlineStep::Line(p) => path.line_to(p.x as f32, p.y as f32),
        OutlineStep::Curve(control, p) => {
            path.quad_to(control.x as f32, control.y as f32, p.x as f32, p.y as f32);
        }
        OutlineStep::Close => path.close(),
    }
}
