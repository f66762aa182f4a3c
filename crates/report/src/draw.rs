//! Lays out the panels of a figure in rows.

use crate::figure::{Figure, Panel};
use crate::font::Font;
use crate::geometry::{Rect, at};
use crate::legend;
use crate::panel::{self, DrawnPanel, PanelSpace, fitting};
use crate::scene::{Anchor, Scene, Shape};

const TITLE_SIZE: f64 = 18.0;
const TITLE_HEIGHT: f64 = 34.0;
const BETWEEN_ROWS: f64 = 14.0;

/// Lays out the whole figure.
pub(crate) fn scene(figure: &Figure, font: &Font) -> Scene {
    let columns = columns(figure);
    let space = space(figure);
    let width = space.width * columns as f64;
    let mut shapes = Vec::new();
    let mut top = 0.0;
    if !figure.title.is_empty() {
        let size = fitting(&figure.title, TITLE_SIZE, width - 20.0, font);
        let position = at(width / 2.0, 25.0);
        shapes.push(Shape::text(&figure.title, position, size, Anchor::Middle));
        top = TITLE_HEIGHT;
    }
    for (row, panels) in figure.panels.chunks(columns).enumerate() {
        let between = if row == 0 { 0.0 } else { BETWEEN_ROWS };
        top += between;
        let drawn = panels.iter().map(|panel| panel::draw(panel, space, font));
        let drawn: Vec<DrawnPanel> = drawn.collect();
        let height = drawn.iter().map(|one| one.height).fold(0.0, f64::max);
        for (column, mut one) in drawn.into_iter().enumerate() {
            let corner = at(column as f64 * space.width, top);
            one.shapes.iter_mut().for_each(|shape| shape.shift(corner));
            shapes.append(&mut one.shapes);
        }
        top += height;
    }
    if !space.has_legend {
        top += legend::draw_common(&figure.panels[0], Rect::new(0.0, 0.0, width, top), font, &mut shapes);
    }
    Scene {
        width,
        // A figure without panels still has a valid height.
        height: top.max(TITLE_HEIGHT),
        description: description(&[&figure.title, &figure.caption]),
        shapes,
    }
}

/// Lays out a single panel of a figure, small enough for a narrow screen.
pub(crate) fn panel_scene(figure: &Figure, panel: &Panel, font: &Font) -> Scene {
    let space = PanelSpace { width: 440.0, height: 340.0, has_legend: true, ..space(figure) };
    let drawn = panel::draw(panel, space, font);
    let titles = description(&[&figure.title, &panel.title]);
    Scene {
        width: space.width,
        height: drawn.height,
        description: if titles.is_empty() { figure.caption.clone() } else { titles },
        shapes: drawn.shapes,
    }
}

fn description(parts: &[&str]) -> String {
    let filled: Vec<&str> = parts.iter().copied().filter(|s| !s.is_empty()).collect();
    filled.join(". ")
}

/// Returns the number of panels in a row: four panels form a square, otherwise up to three share a row.
pub(crate) fn columns(figure: &Figure) -> usize {
    match figure.panels.len() {
        0 => 1,
        4 => 2,
        count => count.min(3),
    }
}

/// Returns the space of one panel.
///
/// Panels side by side are smaller while text keeps its size, because a wide figure is shown smaller.
///
/// With these widths the smallest text is about six points high if one panel fills half the
/// width of a page, or two panels all of it.
fn space(figure: &Figure) -> PanelSpace {
    let (width, height) = match columns(figure) {
        1 => (520.0, 350.0),
        2 => (480.0, 360.0),
        _ => (370.0, 310.0),
    };
    PanelSpace {
        width,
        height,
        has_title: figure.panels.iter().any(|panel| !panel.title.is_empty()),
        has_x_label: figure.panels.iter().any(|panel| !panel.x.label.is_empty()),
        // Panels with identical legends share one, drawn below them.
        has_legend: figure.panels.len() < 2 || figure.panels.windows(2).any(|two| !legend::agree(&two[0], &two[1])),
    }
}
