//! The figures: curvatures, U·|ℓ′|, and the zero crossing of the smallest curvature.

use querist_report::{Axis, Color, Figure, Panel, Series, SeriesMark};

use crate::Findings;
use crate::by_hand::{self, ByHand};
use crate::numbers::derivative;

pub(super) fn run(findings: &mut Findings) {
    findings.plate("curvature", curvatures());
    findings.plate(
        "convex-up-to-one",
        Figure {
            title: "What keeps a loss convex".to_owned(),
            caption:
                "Left: U·|ℓ′| of the logistic loss under several rules, each with U(0) = 1. The equivalent loss is \
                  convex just when this never rises; `critical` is the lowest curve that does not. Right: the least \
                  curvature on [−6, 0) as μ grows, which crosses 0 at μ = 1 for both pairs."
                    .to_owned(),
            panels: vec![steepness(), scan()],
        },
    );
}

/// Returns ℓ̃″ on a grid, with gaps at the kinks, where it jumps.
fn curve(name: &str, loss: &str, rule: &str, color: Color, mark: SeriesMark) -> Series {
    let by_hand = ByHand::of(loss, rule);
    let kinks = by_hand::kinks(loss, rule);
    let mut points = vec![];
    for i in 0..=800 {
        let s = -4.0 + 0.01 * f64::from(i);
        if kinks.iter().any(|kink| (s - kink).abs() < 5e-3) {
            points.push((s, f64::NAN));
        } else {
            points.push((s, derivative(&|t| by_hand.slope(t), s, 1e-3)));
        }
    }
    Series { name: name.to_owned(), color, mark, points }
}

fn zero(low: f64, high: f64) -> Series {
    Series { name: String::new(), color: Color::Gray, mark: SeriesMark::Dotted, points: vec![(low, 0.0), (high, 0.0)] }
}

fn curvatures() -> Figure {
    use SeriesMark::{Dashed, Line};
    let panel = |title: &str, range, series: Vec<Series>| Panel {
        title: title.to_owned(),
        x: Axis { range: Some((-4.0, 4.0)), ..Axis::new("margin s") },
        y: Axis { range: Some(range), ..Axis::new("curvature ℓ̃″(s)") },
        series,
    };
    Figure {
        title: "Curvature of equivalent losses".to_owned(),
        caption: "Left: pairs that are convex in the score. Right: pairs that are not; their curvature is negative on \
                  the wrong side. The threshold's is not below 0 inside its band, but its slope jumps down at −γ."
            .to_owned(),
        panels: vec![
            panel(
                "convex",
                (-0.25, 3.2),
                vec![
                    zero(-4.0, 4.0),
                    curve("squared hinge, margin μ = 0.5", "squared-hinge", "margin:mu=0.5", Color::Blue, Line),
                    curve("squared hinge, margin μ = 1", "squared-hinge", "margin:mu=1", Color::Blue, Dashed),
                    curve("exponential, μ = 0.5", "exponential", "exponential:mu=0.5", Color::Orange, Line),
                    curve("logistic, critical", "logistic", "critical", Color::Green, Line),
                ],
            ),
            panel(
                "not convex",
                (-0.55, 0.55),
                vec![
                    zero(-4.0, 4.0),
                    curve("logistic, entropy", "logistic", "entropy", Color::Blue, Line),
                    curve("logistic, least confidence", "logistic", "least-confidence", Color::Orange, Line),
                    curve("logistic, threshold γ = 1.5", "logistic", "threshold:gamma=1.5", Color::Green, Line),
                    curve("hinge, margin μ = 0.5", "hinge", "margin:mu=0.5", Color::Red, Line),
                    curve("squared hinge, margin μ = 3", "squared-hinge", "margin:mu=3", Color::Purple, Dashed),
                ],
            ),
        ],
    }
}

fn steepness() -> Panel {
    let rules = [
        ("always", "constant:p=1", Color::Gray, SeriesMark::Dashed),
        ("critical", "critical", Color::Green, SeriesMark::Line),
        ("entropy", "entropy", Color::Blue, SeriesMark::Line),
        ("least confidence", "least-confidence", Color::Orange, SeriesMark::Line),
        ("threshold γ = 1.5", "threshold:gamma=1.5", Color::Red, SeriesMark::Line),
    ];
    let series = rules
        .into_iter()
        .map(|(name, rule, color, mark)| {
            let (u, slope) = (by_hand::rule(rule, "logistic"), by_hand::loss_slope("logistic"));
            let points = (0..=1000).map(|i| -5.0 + 0.01 * f64::from(i));
            let points = points.map(|s| (s, u(s) / u(0.0) * slope(s).abs())).collect();
            Series { name: name.to_owned(), color, mark, points }
        })
        .collect();
    Panel {
        title: "logistic loss".to_owned(),
        x: Axis { range: Some((-5.0, 5.0)), ..Axis::new("margin s") },
        y: Axis { range: Some((0.0, 1.05)), ..Axis::new("U(s)·|ℓ′(s)| / U(0)") },
        series,
    }
}

/// Draws the smallest curvature on the wrong side as μ grows.
fn scan() -> Panel {
    let least = |loss: &str, rule: &str, mu: f64| {
        let (u, slope) = (by_hand::rule(&format!("{rule}:mu={mu}"), loss), by_hand::loss_slope(loss));
        (1..=120).map(|i| derivative(&|t| u(t) * slope(t), -0.05 * f64::from(i), 1e-3)).fold(f64::INFINITY, f64::min)
    };
    let series = |name: &str, loss: &str, rule: &str, color| Series {
        name: name.to_owned(),
        color,
        mark: SeriesMark::Line,
        points: (0..=100).map(|i| 0.02 * f64::from(i)).map(|mu| (mu, least(loss, rule, mu))).collect(),
    };
    Panel {
        title: "convex up to μ = 1".to_owned(),
        x: Axis { range: Some((0.0, 2.0)), ..Axis::new("μ") },
        y: Axis { range: Some((-2.0, 2.0)), ..Axis::new("least ℓ̃″ on [−6, 0)") },
        series: vec![
            zero(0.0, 2.0),
            series("squared hinge, margin", "squared-hinge", "margin", Color::Blue),
            series("exponential, exponential", "exponential", "exponential", Color::Orange),
        ],
    }
}
