//! Draws sample figures for visual inspection after a change.
//!
//! usage: cargo run --example gallery -- FOLDER

#![allow(clippy::cast_precision_loss, reason = "counts are small numbers")]

use querist_report::html::{Page, PageBlock, Section, render};
use querist_report::{Axis, AxisScale, Color, Figure, Panel, Series, SeriesMark, png, svg};
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".into());
    let folder = Path::new(&folder);
    let figures = [losses(), rates(), boundaries(), edge_cases(), glyphs()];
    let mut sections = Vec::new();
    for (index, figure) in figures.into_iter().enumerate() {
        std::fs::write(folder.join(format!("{index}.svg")), svg(&figure))?;
        std::fs::write(folder.join(format!("{index}.png")), png(&figure, 2.0)?)?;
        sections.push(Section {
            heading: format!("Figure {index}"),
            id: format!("figure-{index}"),
            body: vec![
                PageBlock::Paragraph("Some text about < & > and \"quotes\".".into()),
                PageBlock::Figure(figure),
                PageBlock::Table {
                    header: vec!["Name".into(), "Value".into()],
                    rows: vec![vec!["γ".into(), "−0.25".into()]],
                    caption: "A table.".into(),
                },
            ],
        });
    }
    let page = Page { title: "Gallery".into(), sections };
    std::fs::write(folder.join("gallery.html"), render(&page))?;
    Ok(())
}

fn axis(label: &str, range: Option<(f64, f64)>, scale: AxisScale) -> Axis {
    Axis { label: label.into(), range, scale }
}

fn series(name: &str, color: Color, mark: SeriesMark, points: Vec<(f64, f64)>) -> Series {
    Series { name: name.into(), color, mark, points }
}

fn sample(low: f64, high: f64, function: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
    (0..=200).map(|i| low + (high - low) * f64::from(i) / 200.0).map(|x| (x, function(x))).collect()
}

fn softplus(x: f64) -> f64 {
    (1.0 + x.exp()).ln()
}

fn losses() -> Figure {
    let expected = |p: f64| move |x: f64| p * softplus(-x) + (1.0 - p) * softplus(x);
    let curve = |f: &dyn Fn(f64) -> f64| sample(-3.0, 3.0, f);
    let left = Panel {
        title: "Partial and expected losses".into(),
        x: axis("prediction ŷ", Some((-3.0, 3.0)), AxisScale::Linear),
        y: axis("loss ℓ̃(ŷ, y)", None, AxisScale::Linear),
        series: vec![
            series("ℓ̃(ŷ, +1)", Color::Blue, SeriesMark::Line, curve(&|x| softplus(-x))),
            series("ℓ̃(ŷ, −1)", Color::Red, SeriesMark::Line, curve(&softplus)),
            series("expected, p = 0.3", Color::Green, SeriesMark::Dashed, curve(&expected(0.3))),
            series("expected, p = 0.7", Color::Purple, SeriesMark::Dashed, curve(&expected(0.7))),
            series("minima ŷ*(p)", Color::Gray, SeriesMark::Points, vec![(-0.847, 0.611), (0.847, 0.611)]),
        ],
    };
    Figure {
        title: "Logistic loss".into(),
        caption: "Left: partial losses (solid) and expected losses (dashed).".into(),
        panels: vec![left, links()],
    }
}

fn links() -> Panel {
    let entropy = |p: f64| -p * p.log2() - (1.0 - p) * (1.0 - p).log2();
    Panel {
        title: "Entropy and link".into(),
        x: axis("probability p", Some((0.0, 1.0)), AxisScale::Linear),
        y: axis("value", None, AxisScale::Linear),
        series: vec![
            series("H(p)", Color::Blue, SeriesMark::Line, sample(0.0, 1.0, entropy)),
            series("ŷ*(p)", Color::Orange, SeriesMark::Line, sample(0.0, 1.0, |p| (p / (1.0 - p)).ln())),
            series("ψ(z)", Color::Green, SeriesMark::Dotted, sample(0.0, 1.0, |z| 0.05 * z * z)),
        ],
    }
}

fn rates() -> Figure {
    let grid: Vec<f64> = (0..=40).map(|i| 10_f64.powf(1.0 + f64::from(i) / 10.0)).collect();
    let line = |factor: f64| -> Vec<(f64, f64)> { grid.iter().map(|&n| (n, factor * n.powf(-0.5))).collect() };
    let lower = grid.iter().map(|n| 0.5 * n.powf(-0.5)).collect();
    let wobble = |i: usize| 1.0 + 0.4 * (i as f64 * 2.3).sin();
    let points = line(1.0).into_iter().enumerate().step_by(4).map(|(i, (n, y))| (n, y * wobble(i))).collect();
    Figure {
        title: String::new(),
        caption: "Excess risk against sample size.".into(),
        panels: vec![Panel {
            title: "Excess risk".into(),
            x: axis("sample size n", None, AxisScale::Log),
            y: axis("excess risk", None, AxisScale::Log),
            series: vec![
                series("95 % band", Color::Blue, SeriesMark::Band(lower), line(2.0)),
                series("bound n^(−1/2)", Color::Blue, SeriesMark::Line, line(1.0)),
                series("measured", Color::Red, SeriesMark::Points, points),
            ],
        }],
    }
}

fn boundaries() -> Figure {
    let mut state = 7_u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as f64 / f64::from(1_u32 << 31)
    };
    let mut cloud = |x: f64, y: f64| -> Vec<(f64, f64)> {
        let mut normal = || (0..6).map(|_| random() - 0.5).sum::<f64>() * 1.4;
        (0..150).map(|_| (x + normal(), y + normal())).collect()
    };
    let (first, second) = (cloud(-1.0, -0.6), cloud(1.0, 0.8));
    let straight = |a: f64, b: f64| vec![(-10.0, b - 10.0 * a), (10.0, b + 10.0 * a)];
    Figure {
        title: String::new(),
        caption: "Two classes and three decision boundaries.".into(),
        panels: vec![Panel {
            title: String::new(),
            x: axis("feature x₁", Some((-4.0, 4.0)), AxisScale::Linear),
            y: axis("feature x₂", Some((-3.0, 3.0)), AxisScale::Linear),
            series: vec![
                series("class −1", Color::Orange, SeriesMark::Points, first),
                series("class +1", Color::Blue, SeriesMark::Points, second),
                series("logistic", Color::Red, SeriesMark::Line, straight(-1.4, 0.1)),
                series("hinge", Color::Green, SeriesMark::Dashed, straight(-1.0, 0.2)),
                series("squared", Color::Gray, SeriesMark::Dotted, straight(-2.2, 0.0)),
            ],
        }],
    }
}

fn edge_cases() -> Figure {
    let nan = f64::NAN;
    let broken = sample(0.0, 10.0, |x| if (4.0..5.0).contains(&x) { nan } else { x.sin() });
    let panel =
        |title: &str, y: Axis, all: Vec<Series>| Panel { title: title.into(), x: Axis::new("x"), y, series: all };
    let one = |title: &str, points: Vec<(f64, f64)>| {
        panel(title, Axis::new("y"), vec![series(title, Color::Blue, SeriesMark::Line, points)])
    };
    let tangent = series("tan x", Color::Purple, SeriesMark::Line, sample(0.0, 10.0, f64::tan));
    Figure {
        title: "Edge cases".into(),
        caption: String::new(),
        panels: vec![
            one("empty", Vec::new()),
            one("one point", vec![(3.0, 2.0)]),
            one("constant", vec![(0.0, 5.0), (1.0, 5.0)]),
            one("all NaN", vec![(nan, nan); 5]),
            one("gap", broken),
            one("large", sample(0.0, 1e7, |x| x * 1.5e3 - 3e9)),
            one("small", sample(0.0, 1e-6, |x| x * x)),
            panel("clipped", axis("y", Some((-2.0, 2.0)), AxisScale::Linear), vec![tangent]),
            panel(
                "narrow log",
                axis("y", Some((2.0, 30.0)), AxisScale::Log),
                vec![series("y", Color::Red, SeriesMark::Line, sample(1.0, 50.0, |x| x))],
            ),
        ],
    }
}

fn glyphs() -> Figure {
    let text = "ℓ̃ ψ ŷ θ γ μ ² ′ − × ≥ ≤ → ∞ ∈ ∂ ∇ Σ √ ≈ ± θ̂ α̃ ŵ H̃ ‖w‖ ⟨x, y⟩ ℝ x₁ 10⁻³";
    Figure {
        title: text.into(),
        caption: String::new(),
        panels: vec![Panel {
            title: text.into(),
            x: Axis::new(text),
            y: Axis::new("ℓ̃(ŷ) ≥ γ²·μ′ × θ − ψ"),
            series: vec![
                series("ℓ̃(ŷ, +1) f̃ d̂", Color::Red, SeriesMark::Dotted, sample(0.0, 1.0, |x| x)),
                series("ψ′(θ) ≥ γ² × μ − 1", Color::Gray, SeriesMark::Dashed, sample(0.0, 1.0, |x| x * x)),
            ],
        }],
    }
}
