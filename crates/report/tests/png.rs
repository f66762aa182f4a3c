//! The PNG of a figure: its size, its pixels and its font.

#![allow(clippy::float_cmp, reason = "the values must match exactly")]

mod common;

use common::{everything, figure, series};
use querist_report::{AxisScale, DrawError, Figure, SeriesMark, missing_glyphs, png, svg};
use roxmltree::Document;
use tiny_skia::Pixmap;

fn pixels(figure: &Figure, scale: f64) -> Pixmap {
    let bytes = png(figure, scale).expect("a picture of a sensible size");
    Pixmap::decode_png(&bytes).expect("the bytes are a picture")
}

fn count(picture: &Pixmap, [red, green, blue]: [u8; 3]) -> usize {
    let pixels = picture.pixels().iter();
    pixels.filter(|pixel| (pixel.red(), pixel.green(), pixel.blue()) == (red, green, blue)).count()
}

#[test]
fn the_picture_has_the_size_of_the_svg_times_the_scale() {
    let figure = everything(AxisScale::Linear, AxisScale::Log);
    let text = svg(&figure);
    let document = Document::parse(&text).expect("a picture is well-formed");
    let side = |name: &str| -> f64 {
        let value = document.root_element().attribute(name);
        value.and_then(|text| text.parse().ok()).expect("a length")
    };
    for scale in [0.5, 1.0, 2.0] {
        let picture = pixels(&figure, scale);
        assert_eq!(f64::from(picture.width()), (side("width") * scale).round());
        assert_eq!(f64::from(picture.height()), (side("height") * scale).round());
    }
}

#[test]
fn the_picture_is_white_with_ink_and_color_in_it() {
    let picture = pixels(&everything(AxisScale::Linear, AxisScale::Linear), 2.0);
    assert!(count(&picture, [0xff, 0xff, 0xff]) > picture.pixels().len() / 2);
    assert!(count(&picture, [0x00, 0x72, 0xb2]) > 100);
    assert!(count(&picture, [0x22, 0x22, 0x22]) > 100);
    assert!(picture.pixels().iter().all(|pixel| pixel.alpha() == 255));
}

#[test]
fn dashes_leave_gaps() {
    let blue = |mark| {
        let line = series("", mark, &[(0.0, 0.0), (1.0, 1.0)]);
        count(&pixels(&figure(vec![line]), 2.0), [0x00, 0x72, 0xb2])
    };
    let (solid, dashed, dotted) = (blue(SeriesMark::Line), blue(SeriesMark::Dashed), blue(SeriesMark::Dotted));
    assert!(solid > dashed && dashed > dotted && dotted > 0);
}

#[test]
fn the_same_figure_gives_the_same_bytes() {
    let figure = everything(AxisScale::Log, AxisScale::Linear);
    assert_eq!(png(&figure, 1.0), png(&figure, 1.0));
}

#[test]
fn an_invalid_scale_is_rejected() {
    let figure = figure(Vec::new());
    for scale in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e9] {
        let result = png(&figure, scale);
        assert!(matches!(result, Err(DrawError::Size { .. })), "{scale}");
    }
}

#[test]
fn the_font_has_all_glyphs_that_formulas_need() {
    let needed = "ℓ\u{303}ψŷθγμ²′−×≥≤→⇒∞∈∂∇Σ√≈≠±·…–—‖⟨⟩⌊⌋ℝ𝔼⁻⁰¹³⁴⁵⁶⁷⁸⁹₀₁₂ᵀ⋆∗\u{302}αβδελπρσφω∀∃∧∨∪∩⊂∫∏∝½";
    assert_eq!(missing_glyphs(needed), []);
}

#[test]
fn different_texts_are_different_pictures() {
    let title = |text: &str| {
        let mut figure = figure(Vec::new());
        figure.title = text.into();
        png(&figure, 1.0)
    };
    assert_ne!(title("ℓ"), title("ℓ\u{303}"));
    assert_ne!(title("ψ"), title("θ"));
}
