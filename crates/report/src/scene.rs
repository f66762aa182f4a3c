//! The intermediate picture between a figure and its two outputs: a list of simple shapes.

use crate::geometry::{Point, Rect};

/// A picture: all shapes, back to front, on a white background.
pub(crate) struct Scene {
    pub width: f64,
    pub height: f64,
    /// A description for readers who cannot see the picture.
    pub description: String,
    pub shapes: Vec<Shape>,
}

/// A shape to draw.
pub(crate) enum Shape {
    /// Open lines with one stroke.
    Lines { runs: Vec<Vec<Point>>, stroke: Stroke },
    /// A filled outline.
    Polygon { points: Vec<Point>, fill: Paint },
    /// Discs of one size; a halo separates each from the background.
    Dots { centers: Vec<Point>, radius: f64, fill: Paint, halo: bool },
    /// One line of text.
    Text(PlacedText),
}

/// A color with an opacity between 0 and 1.
#[derive(Clone, Copy)]
pub(crate) struct Paint {
    pub rgb: [u8; 3],
    pub opacity: f64,
}

/// The style of a line.
#[derive(Clone, Copy)]
pub(crate) struct Stroke {
    pub paint: Paint,
    pub width: f64,
    pub dash: Dash,
}

/// The dash pattern of a line.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Dash {
    Solid,
    Dashed,
    Dotted,
}

/// A line of text; `at` is the point on the baseline that the anchor names.
pub(crate) struct PlacedText {
    pub content: String,
    pub at: Point,
    pub size: f64,
    pub anchor: Anchor,
    /// `true` if the text reads upward instead of rightward.
    pub upward: bool,
}

/// The part of a text that is at its position.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// The paint of axes and text.
pub(crate) const INK: Paint = solid([0x22, 0x22, 0x22]);
/// The background of every picture.
pub(crate) const WHITE: Paint = solid([0xff, 0xff, 0xff]);
/// The paint of grid lines, faint so that they do not distract.
pub(crate) const FAINT: Paint = solid([0xe4, 0xe4, 0xe4]);
/// The width of a halo's ring.
pub(crate) const HALO_WIDTH: f64 = 1.2;

/// Creates an opaque paint.
pub(crate) const fn solid(rgb: [u8; 3]) -> Paint {
    Paint { rgb, opacity: 1.0 }
}

impl Dash {
    /// Returns the alternating lengths of dashes and gaps; empty for a solid line.
    pub(crate) fn pattern(self) -> &'static [f64] {
        match self {
            Self::Solid => &[],
            Self::Dashed => &[8.0, 4.0],
            // The caps are round and add the line's width to each end.
            Self::Dotted => &[0.1, 4.5],
        }
    }
}

impl Shape {
    /// Creates a text that reads rightward.
    pub(crate) fn text(content: impl Into<String>, at: Point, size: f64, anchor: Anchor) -> Self {
        Self::Text(PlacedText { content: content.into(), at, size, anchor, upward: false })
    }

    /// Creates a filled rectangle.
    pub(crate) fn rectangle(area: Rect, fill: Paint) -> Self {
        Self::Polygon { points: area.corners(), fill }
    }

    /// Moves the shape by an offset.
    pub(crate) fn shift(&mut self, by: Point) {
        let step = |point: &mut Point| {
            point.x += by.x;
            point.y += by.y;
        };
        match self {
            Self::Lines { runs, .. } => runs.iter_mut().flatten().for_each(step),
            Self::Polygon { points, .. } => points.iter_mut().for_each(step),
            Self::Dots { centers, .. } => centers.iter_mut().for_each(step),
            Self::Text(text) => step(&mut text.at),
        }
    }
}
