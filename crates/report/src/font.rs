//! The embedded font: text widths and glyph outlines.
//!
//! The font is part of the program, so a picture looks the same on every machine. The `font` folder
//! holds its license and the script that built the file. Combining marks are placed by their outlines
//! over the letter before them. The font has no anchor for "ℓ", and a tilde at its natural height would
//! run through that letter.

use crate::geometry::{Point, at};
use crate::scene::{Anchor, PlacedText};
use ttf_parser::{Face, GlyphId, OutlineBuilder, Rect};

const FILE: &[u8] = include_bytes!("../font/DejaVuSans-subset.ttf");
/// The space between a letter and the mark above it, as a fraction of the font size.
const MARK_GAP: f64 = 0.05;

/// The horizontal offset of the top of the slanted letter "ℓ" from its center, as a fraction of the font size.
const LEAN: f64 = 0.08;

/// Returns the characters of a text that the font lacks; figures show them as empty boxes.
pub fn missing_glyphs(text: &str) -> Vec<char> {
    let font = Font::new();
    text.chars().filter(|&character| font.face.glyph_index(character).is_none()).collect()
}

/// Returns whether a character is drawn over the one before it.
pub(crate) fn is_combining(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}' | '\u{20d0}'..='\u{20ff}')
}

/// A step of an outline.
pub(crate) enum OutlineStep {
    Move(Point),
    Line(Point),
    /// A quadratic curve: its control point and its end.
    Curve(Point, Point),
    Close,
}

/// The embedded font, ready to measure and draw with.
pub(crate) struct Font {
    face: Face<'static>,
}

/// A glyph and the position of its origin on the line, in font units (`y` upward).
struct Placed {
    glyph: GlyphId,
    x: f64,
    y: f64,
}

impl Font {
    pub(crate) fn new() -> Self {
        let face = Face::parse(FILE, 0).expect("the embedded font is part of the program and the tests parse it");
        Self { face }
    }

    /// Returns the width of a text, in the unit of its size.
    pub(crate) fn width(&self, text: &str, size: f64) -> f64 {
        self.layout(text).1 * size / f64::from(self.face.units_per_em())
    }

    /// Returns the outline of a text that starts at the origin.
    fn outline(&self, text: &str, size: f64) -> Vec<OutlineStep> {
        let scale = size / f64::from(self.face.units_per_em());
        let mut steps = Vec::new();
        for Placed { glyph, x, y } in self.layout(text).0 {
            let mut pen = Pen { steps: &mut steps, scale, x, y };
            self.face.outline_glyph(glyph, &mut pen);
        }
        steps
    }

    /// Returns the outline of a text of a scene, at its position.
    pub(crate) fn outline_in_place(&self, text: &PlacedText) -> Vec<OutlineStep> {
        let width = self.width(&text.content, text.size);
        let back = match text.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => width / 2.0,
            Anchor::End => width,
        };
        let transformed = |p: Point| {
            let x = p.x - back;
            if text.upward { at(text.at.x + p.y, text.at.y - x) } else { at(text.at.x + x, text.at.y + p.y) }
        };
        let move_step = |step| match step {
            OutlineStep::Move(p) => OutlineStep::Move(transformed(p)),
            OutlineStep::Line(p) => OutlineStep::Line(transformed(p)),
            OutlineStep::Curve(control, p) => OutlineStep::Curve(transformed(control), transformed(p)),
            OutlineStep::Close => OutlineStep::Close,
        };
        self.outline(&text.content, text.size).into_iter().map(move_step).collect()
    }

    /// Positions every glyph; also returns the total width.
    fn layout(&self, text: &str) -> (Vec<Placed>, f64) {
        let units = f64::from(self.face.units_per_em());
        let mut glyphs = Vec::new();
        let mut pen = 0.0;
        // The center and the top of the letter that a mark would sit on.
        let mut base: Option<(f64, f64)> = None;
        for character in text.chars() {
            // A line break or a tab inside a label counts as a space.
            let character = if character.is_whitespace() { ' ' } else { character };
            let glyph = self.face.glyph_index(character).unwrap_or(GlyphId(0));
            let bounds = self.face.glyph_bounding_box(glyph);
            if let (true, Some((middle, top)), Some(mark)) = (is_combining(character), base, bounds) {
                let is_above = mark.y_min > 0;
                let lift = (top + MARK_GAP * units - f64::from(mark.y_min)).max(0.0);
                let y = if is_above { lift } else { 0.0 };
                glyphs.push(Placed { glyph, x: middle - center(mark), y });
                if is_above {
                    base = Some((middle, y + f64::from(mark.y_max)));
                }
                continue;
            }
            let lean = if character == 'ℓ' { LEAN * units } else { 0.0 };
            base = bounds.map(|letter| (pen + center(letter) + lean, f64::from(letter.y_max)));
            glyphs.push(Placed { glyph, x: pen, y: 0.0 });
            pen += f64::from(self.face.glyph_hor_advance(glyph).unwrap_or(0));
        }
        (glyphs, pen)
    }
}

fn center(bounds: Rect) -> f64 {
    f64::midpoint(f64::from(bounds.x_min), f64::from(bounds.x_max))
}

/// Collects the outline of one glyph, scaled and flipped to the drawing plane.
struct Pen<'a> {
    steps: &'a mut Vec<OutlineStep>,
    scale: f64,
    x: f64,
    y: f64,
}

impl Pen<'_> {
    fn point(&self, x: f32, y: f32) -> Point {
        at((self.x + f64::from(x)) * self.scale, -(self.y + f64::from(y)) * self.scale)
    }
}

impl OutlineBuilder for Pen<'_> {
    fn move_to(&mut self, x: f32, y: f32) {
        self.steps.push(OutlineStep::Move(self.point(x, y)));
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.steps.push(OutlineStep::Line(self.point(x, y)));
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.steps.push(OutlineStep::Curve(self.point(x1, y1), self.point(x, y)));
    }

    /// Draws a straight line: this kind of font has no cubic curves, and a line keeps the outline closed.
    fn curve_to(&mut self, _x1: f32, _y1: f32, _x2: f32, _y2: f32, x: f32, y: f32) {
        self.line_to(x, y);
    }

    fn close(&mut self) {
        self.steps.push(OutlineStep::Close);
    }
}
