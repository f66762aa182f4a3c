//! A side note: the published code sets logistic gradients to 0 from s = 1 on, a remnant of its hinge loss.
//!
//! It minimizes L(min(s, 1)), and the published entropy line is the minimizer of that objective.

use querist_report::{Color, Figure, SeriesMark};
use querist_theory::equivalent::Queried;

use super::drawing::{lines, points, square};
use super::reference::MASKED;
use super::{minima, vector};
use crate::matrix::distance;
use crate::mixture::{Population, Theta};
use crate::numbers::brief;
use crate::{Basis, Findings, PaperClaim};

/// The entropy line read from the published figure: x₂ at x₁ = −5 and 5, to about 0.03.
const PUBLISHED: [f64; 2] = [-0.67, -1.2];

pub(super) fn report(entropy_minima: &[Theta], findings: &mut Findings) {
    let original = minima("logistic", "constant")[0];
    let mut masked = vec![];
    for (rule, right) in MASKED {
        let pair = Queried::parse("logistic", rule).expect("a registered pair");
        let capped = Population::capped(&pair, 1.0);
        // The published runs started around 0, except for the threshold, which started at its cut.
        let start = if rule.starts_with("threshold") { right.map(f64::round) } else { original };
        let found = capped.minimum(start);
        let off = found.map_or(f64::INFINITY, |found| distance(found, right));
        findings.claim(
            PaperClaim::new("not in the paper", format!("the masked objective of logistic × {rule}"))
                .computed(found.map_or("no minimum".to_owned(), |found| format!("least at {}", vector(found))))
                .expected(
                    format!("{} to the four digits given; off by {}", vector(right), brief(off)),
                    Basis::Reference,
                )
                .holds(off < 2e-4),
        );
        masked.extend(found);
    }
    let Some(&entropy) = masked.first() else { return };
    findings.claim(published(entropy, entropy_minima[0]));
    let mut series = points(1);
    series.push(lines("loss itself", Color::Gray, SeriesMark::Dotted, [original]));
    series.push(lines("equivalent loss", Color::Green, SeriesMark::Line, [entropy_minima[0]]));
    series.push(lines("masked, as published", Color::Red, SeriesMark::Dashed, [entropy]));
    findings.plate(
        "illustration-mask",
        Figure {
            title: String::new(),
            caption: "An aside on the published entropy panel. Its code sets gradients to 0 where the margin is 1 or \
                      more, so it minimizes L(min(s, 1)); the line it shows is that objective's, not the equivalent \
                      loss's."
                .to_owned(),
            panels: vec![square("entropy × logistic, with and without the mask", series)],
        },
    );
}

/// Returns x₂ on the boundary at x₁ = −5 and 5.
fn heights([w1, w2, b]: Theta) -> [f64; 2] {
    [-5.0, 5.0].map(|x| -(b + w1 * x) / w2)
}

fn published(masked: Theta, equivalent: Theta) -> PaperClaim {
    let (of_masked, of_equivalent) = (heights(masked), heights(equivalent));
    let (near, far) = (distance(of_masked, PUBLISHED), distance(of_equivalent, PUBLISHED));
    let pair = |values: [f64; 2]| format!("{:.3} and {:.3}", values[0], values[1]).replace('-', "−");
    PaperClaim::new("fig:equivalent_loss", "the entropy panel's line, at x₁ = ∓5, is that of the equivalent loss")
        .computed(format!(
            "equivalent loss {}; with the mask of the published code {}",
            pair(of_equivalent),
            pair(of_masked)
        ))
        .expected(format!("{} in the published figure, read to about 0.03", pair(PUBLISHED)), Basis::Paper)
        .refuted(near < 0.05 && 0.15 < far)
}
