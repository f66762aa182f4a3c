//! The two-panel figures of the paper's pairs (labels fig:entropy to fig:exponential), and of the rule `critical`.

use querist_theory::coordinate::Coordinate;
use querist_theory::equivalent::Queried;
use querist_theory::link::Link;
use querist_theory::loss::Loss;
use querist_theory::risk::Risk;

use crate::numbers::{brief, simpson};
use crate::part::PaperPart;
use crate::{Basis, Findings, PaperClaim, ReproductionSettings};

pub(super) const PART: PaperPart = PaperPart {
    name: "figures",
    title: "The figures of the pairs",
    about: "equivalent losses with their mean losses and minima; H, y* and the link, for the paper's six pairs and `critical`",
    run,
};

/// A pair, its location in the paper and the erratum that affects its figure.
struct FigurePair {
    place: &'static str,
    loss: &'static str,
    rule: &'static str,
    erratum: Option<u8>,
}

const DRAWN: [FigurePair; 7] = [
    FigurePair { place: "fig:entropy", loss: "cross-entropy", rule: "entropy", erratum: None },
    FigurePair { place: "fig:leastconfidence", loss: "cross-entropy", rule: "least-confidence", erratum: None },
    FigurePair { place: "fig:raj", loss: "squared-hinge", rule: "margin:mu=0.5", erratum: None },
    FigurePair { place: "fig:tifrea", loss: "logistic", rule: "threshold:gamma=1.5", erratum: Some(2) },
    FigurePair { place: "fig:hinge", loss: "hinge", rule: "margin:mu=0.5", erratum: Some(27) },
    FigurePair { place: "fig:exponential", loss: "exponential", rule: "exponential:mu=0.5", erratum: None },
    FigurePair { place: "not in the paper", loss: "logistic", rule: "critical", erratum: None },
];

fn run(_: &ReproductionSettings) -> Findings {
    let mut findings = Findings::default();
    for drawn in &DRAWN {
        let pair = Queried::parse(drawn.loss, drawn.rule).expect("a registered pair");
        let name = format!("{}-by-{}", drawn.loss, drawn.rule.split(':').next().unwrap_or(drawn.rule));
        let mut figure = querist_render::pair_figure::of_pair(&pair);
        if drawn.erratum == Some(27) {
            figure.caption.push_str(" The paper's figure says μ = 0.5 and was drawn with μ = 1 (erratum 27).");
        }
        findings.plate(name, figure);
        findings.claim(losses(drawn, &pair));
        findings.claim(minima(drawn, &pair));
        findings.claim(link(drawn, &pair));
    }
    findings.remarks.push(
        "Left panels: the equivalent loss for either label, its mean where P(y = +1) is 0.3 and 0.7, and the minima. \
         Right panels: the least mean H(p), the prediction that reaches it, and the link ψ(z)."
            .to_owned(),
    );
    findings
}

fn name(pair: &Queried) -> String {
    format!("{} × {}", pair.loss().name, pair.rule().name)
}

/// Compares the closed form with an independent integration of U·ℓ′.
fn losses(drawn: &FigurePair, pair: &Queried) -> PaperClaim {
    let slope = |s: f64| pair.rule().at(s) * pair.loss().slope(s);
    let mut worst = 0.0_f64;
    for step in 1..=32 {
        let (low, high) = (-4.0 + 0.25 * f64::from(step - 1), -4.0 + 0.25 * f64::from(step));
        // The kinks of these rules and losses are at multiples of 1/4: no interval has one inside.
        let integral = simpson(&slope, low, high, 64);
        worst = worst.max((pair.value(high) - pair.value(low) - integral).abs());
    }
    PaperClaim::new(drawn.place, format!("the equivalent loss of {} has slope U·ℓ′", name(pair)))
        .computed(format!("increments on [−4, 4] off by at most {}", brief(worst)))
        .expected("0 up to rounding and quadrature, 1e-9", Basis::Run)
        .holds(worst < 1e-9)
}

/// Compares the minima of the mean loss at p = 0.3 and 0.7 with a search over a grid.
fn minima(drawn: &FigurePair, pair: &Queried) -> PaperClaim {
    let risk = Risk::new(pair);
    let mut worst = 0.0_f64;
    let mut found = vec![];
    for p in [0.3, 0.7] {
        let mean = |s: f64| p * pair.value(s) + (1.0 - p) * pair.value(-s);
        let least = (-8000..=8000).map(|i| mean(f64::from(i) / 1000.0)).fold(f64::INFINITY, f64::min);
        worst = worst.max((least - risk.bayes(p)).abs());
        found.push(format!("H({p}) = {:.6} at {}", risk.bayes(p), brief(shown(pair, risk.minimizer(p)))));
    }
    let claim = PaperClaim::new(drawn.place, format!("where the mean loss of {} is least", name(pair)))
        .computed(found.join(", "))
        .expected(format!("least on a grid, off by {}", brief(worst)), Basis::Run);
    claim.holds(worst < 1e-6)
}

fn shown(pair: &Queried, s: f64) -> f64 {
    match pair.loss_facts().coordinate {
        Coordinate::Score => s,
        Coordinate::Probability => (0.5 * s).tanh(),
    }
}

/// Compares ψ with H⁻ − H, the gap between the minimal mean losses with the wrong and the right sign, by brute force.
fn link(drawn: &FigurePair, pair: &Queried) -> PaperClaim {
    let claim = PaperClaim::new(drawn.place, format!("the link ψ of {}, positive for z > 0", name(pair)));
    let Some(link) = Link::new(pair) else {
        return claim.computed("no link").expected("a link", Basis::Theory).holds(false);
    };
    let mut worst = 0.0_f64;
    for z in [0.1, 0.3, 0.5, 0.7, 0.9] {
        let p = 0.5 * (1.0 + z);
        let mean = |s: f64| p * pair.value(s) + (1.0 - p) * pair.value(-s);
        let least = |signs: std::ops::RangeInclusive<i32>| {
            signs.map(|i| mean(f64::from(i) / 2000.0)).fold(f64::INFINITY, f64::min)
        };
        let gap = least(-12000..=0) - least(0..=12000);
        worst = worst.max((gap - link.value(z)).abs());
    }
    let claim = claim
        .computed(format!("ψ(0.5) = {:.6}, ψ(1) = {:.6}", link.value(0.5), link.value(1.0)))
        .expected(format!("H⁻ − H by brute force, off by {}", brief(worst)), Basis::Run);
    let found = worst < 1e-6 && 0.0 < link.value(0.01);
    match drawn.erratum {
        Some(2) => {
            // The printed link follows h only up to its z₀ and is too low beyond it.
            let gamma: f64 = 1.5;
            let printed = 2.0 / ((gamma / (1.0 + gamma.exp())).exp() + (-gamma / (1.0 + (-gamma).exp())).exp()) - 1.0;
            claim.holds_with_erratum(2, found && printed < (0.5 * gamma).tanh())
        }
        _ => claim.holds(found),
    }
}
