//! Draws figures and writes pages from plain data.
//!
//! A [`Figure`] holds only numbers and labels. [`svg`] and [`png`] draw the same picture with the same
//! font. Both are deterministic: the same figure gives the same bytes on every run. [`html`] puts text,
//! tables and figures on one self-contained page. This crate reads and writes no files, and uses no
//! system fonts or libraries.
//!
//! ```
//! use querist_report::{Axis, Color, Figure, Panel, Series, SeriesMark};
//!
//! let parabola = Series {
//!     name: "x²".into(),
//!     color: Color::Blue,
//!     mark: SeriesMark::Line,
//!     points: (-10..=10).map(|i| (f64::from(i), f64::from(i * i))).collect(),
//! };
//! let figure = Figure {
//!     title: String::new(),
//!     caption: "A parabola.".into(),
//!     panels: vec![Panel {
//!         title: String::new(),
//!         x: Axis::new("x"),
//!         y: Axis::new("y"),
//!         series: vec![parabola],
//!     }],
//! };
//! assert!(querist_report::svg(&figure).starts_with("<svg"));
//! ```

mod axis;
mod draw;
mod escape;
mod figure;
mod font;
mod geometry;
pub mod html;
mod legend;
mod panel;
mod png;
mod scene;
mod series;
mod svg;

pub use axis::{Tick, ticks};
pub use figure::{Axis, AxisScale, Color, Figure, Panel, Series, SeriesMark};
pub use font::missing_glyphs;
pub use png::{DrawError, png};
pub use svg::svg;
