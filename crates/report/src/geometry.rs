//! Points and rectangles in the drawing plane, and clipping of shapes to a rectangle.
//!
//! Shapes are clipped here rather than by the viewer. A picture then needs no identifiers, so a page
//! can hold many pictures, and both outputs clip at the same points.

/// A point in the drawing plane; `y` grows downward.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    pub x: f64,
    pub y: f64,
}

/// Creates a [`Point`].
pub(crate) fn at(x: f64, y: f64) -> Point {
    Point { x, y }
}

/// A rectangle with sides along the axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rect {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl Rect {
    pub(crate) fn new(left: f64, top: f64, width: f64, height: f64) -> Self {
        Self { left, top, right: left + width, bottom: top + height }
    }

    pub(crate) fn width(&self) -> f64 {
        self.right - self.left
    }

    pub(crate) fn height(&self) -> f64 {
        self.bottom - self.top
    }

    /// Returns the rectangle with every side moved outward (inward if `by` is negative).
    pub(crate) fn grown(&self, by: f64) -> Self {
        Self { left: self.left - by, top: self.top - by, right: self.right + by, bottom: self.bottom + by }
    }

    pub(crate) fn corners(&self) -> Vec<Point> {
        vec![at(self.left, self.top), at(self.right, self.top), at(self.right, self.bottom), at(self.left, self.bottom)]
    }

    pub(crate) fn contains(&self, point: Point) -> bool {
        (self.left..=self.right).contains(&point.x) && (self.top..=self.bottom).contains(&point.y)
    }

    /// Returns the part of a segment inside the rectangle (Liang–Barsky algorithm).
    pub(crate) fn clip_segment(&self, from: Point, to: Point) -> Option<(Point, Point)> {
        let (dx, dy) = (to.x - from.x, to.y - from.y);
        let sides = [
            (-dx, from.x - self.left),
            (dx, self.right - from.x),
            (-dy, from.y - self.top),
            (dy, self.bottom - from.y),
        ];
        let (mut enter, mut leave) = (0.0_f64, 1.0_f64);
        for (direction, distance) in sides {
            if direction == 0.0 && distance < 0.0 {
                return None;
            } else if direction < 0.0 {
                enter = enter.max(distance / direction);
            } else if direction > 0.0 {
                leave = leave.min(distance / direction);
            }
        }
        // An end that is not clipped is returned unchanged, so that neighboring segments join exactly.
        let along = |t: f64| at(from.x + t * dx, from.y + t * dy);
        let start = if enter <= 0.0 { from } else { along(enter) };
        let end = if leave >= 1.0 { to } else { along(leave) };
        (enter <= leave).then_some((start, end))
    }

    /// Returns the part of a polygon inside the rectangle (Sutherland–Hodgman algorithm).
    pub(crate) fn clip_polygon(&self, polygon: &[Point]) -> Vec<Point> {
        let left = clip_side(polygon, |p| p.x - self.left);
        let right = clip_side(&left, |p| self.right - p.x);
        let top = clip_side(&right, |p| p.y - self.top);
        clip_side(&top, |p| self.bottom - p.y)
    }
}

/// Clips a polygon to the half-plane where `inside`, an affine function, is not negative.
fn clip_side(polygon: &[Point], inside: impl Fn(Point) -> f64) -> Vec<Point> {
    let mut kept = Vec::with_capacity(polygon.len() + 2);
    for (index, &end) in polygon.iter().enumerate() {
        let start = polygon[(index + polygon.len() - 1) % polygon.len()];
        let (from, to) = (inside(start), inside(end));
        if (from < 0.0) != (to < 0.0) {
            let t = from / (from - to);
            kept.push(at(start.x + t * (end.x - start.x), start.y + t * (end.y - start.y)));
        }
        if to >= 0.0 {
            kept.push(end);
        }
    }
    kept
}
