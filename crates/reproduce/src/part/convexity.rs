//! Convexity of pairs: curvatures, verdicts with witnesses that plain formulas re-evaluate, and thresholds of verdicts.

use querist_theory::certificate::{Claim, Verdict, Witness, certify};
use querist_theory::coordinate::{Label, Probability};
use querist_theory::equivalent::Queried;
use querist_theory::loss::Loss;

use crate::by_hand::{self, ByHand, sigmoid};
use crate::findings::FindingsTable;
use crate::numbers::{brief, derivative};
use crate::part::PaperPart;
use crate::{Basis, Findings, PaperClaim, ReproductionSettings};

mod drawn;
mod limits;

pub(super) const PART: PaperPart = PaperPart {
    name: "convexity",
    title: "Which equivalent losses are convex",
    about: "curvatures on a grid, the verdicts of certificates with their witnesses re-evaluated by plain formulas, and the sharpest rules that keep a loss convex",
    run,
};

/// A pair, its location in the paper and whether it is convex.
struct ConvexityRow {
    place: &'static str,
    loss: &'static str,
    rule: &'static str,
    convex: bool,
}

const ROWS: [ConvexityRow; 10] = [
    ConvexityRow { place: "eg:probabilistic", loss: "logistic", rule: "entropy", convex: false },
    ConvexityRow { place: "eg:probabilistic", loss: "logistic", rule: "least-confidence", convex: false },
    ConvexityRow { place: "eg:raj&bach", loss: "squared-hinge", rule: "margin:mu=0.5", convex: true },
    ConvexityRow { place: "eg:raj&bach", loss: "squared-hinge", rule: "margin:mu=1", convex: true },
    ConvexityRow { place: "eg:raj&bach", loss: "squared-hinge", rule: "margin:mu=3", convex: false },
    ConvexityRow { place: "eg:tifrea", loss: "logistic", rule: "threshold:gamma=1.5", convex: false },
    ConvexityRow { place: "eg:Hinge", loss: "hinge", rule: "margin:mu=0.5", convex: false },
    ConvexityRow { place: "eg:exponential", loss: "exponential", rule: "exponential:mu=0.5", convex: true },
    ConvexityRow { place: "eg:exponential", loss: "exponential", rule: "exponential:mu=2", convex: false },
    ConvexityRow { place: "not in the paper", loss: "logistic", rule: "critical", convex: true },
];

/// The tolerance for a convex loss above its chord, relative to the size of the loss.
pub(super) const ROUNDING: f64 = 1e-12;

fn run(settings: &ReproductionSettings) -> Findings {
    let mut findings = Findings::default();
    let mut table = FindingsTable {
        name: "convexity".to_owned(),
        caption: "Verdicts on convexity in the score, and the same from plain formulas".to_owned(),
        header: ["pair", "certificate", "witness", "re-evaluated", "above its chord by", "chord"]
            .map(str::to_owned)
            .to_vec(),
        rows: vec![],
    };
    for row in &ROWS {
        let pair = Queried::parse(row.loss, row.rule).expect("a registered pair");
        let by_hand = ByHand::of(row.loss, row.rule);
        findings.claim(curvature(row, &pair, &by_hand));
        findings.claim(verdict(row, &pair, &by_hand, &mut table));
    }
    findings.claim(printed_least_confidence());
    findings.claim(printed_squared_margin());
    findings.claim(jump_of_the_threshold());
    findings.claims.extend(in_probability());
    limits::run(settings, &mut findings);
    drawn::run(&mut findings);
    findings.tables.push(table);
    findings
}

pub(super) fn name(loss: &str, rule: &str) -> String {
    format!("{loss} × {rule}")
}

/// Returns points on [−6, 6] that are at least 0.02 from every kink.
fn smooth_points(loss: &str, rule: &str) -> Vec<f64> {
    let kinks = by_hand::kinks(loss, rule);
    (-120..=120)
        .map(|i| 0.05 * f64::from(i) + 0.0125)
        .filter(|s| kinks.iter().all(|kink| 0.02 < (s - kink).abs()))
        .collect()
}

/// Compares theory's ℓ̃″, and U′ℓ′ + Uℓ″ from its parts, with differences of the plain U·ℓ′.
fn curvature(row: &ConvexityRow, pair: &Queried, by_hand: &ByHand) -> PaperClaim {
    let (mut worst, mut least) = (0.0_f64, (f64::INFINITY, 0.0));
    for s in smooth_points(row.loss, row.rule) {
        let right = derivative(&|t| by_hand.slope(t), s, 1e-3);
        let parts = pair.rule().slope(s) * pair.loss().slope(s) + pair.rule().at(s) * pair.loss().curvature(s);
        let scale = right.abs().max(1.0);
        worst = worst.max((pair.curvature(s) - right).abs() / scale).max((parts - right).abs() / scale);
        if right < least.0 {
            least = (right, s);
        }
    }
    PaperClaim::new("eq:curvature-decomposition", format!("ℓ̃″ = U′ℓ′ + Uℓ″ for {}", name(row.loss, row.rule)))
        .computed(format!("least ℓ̃″ on [−6, 6]: {} at s = {}", brief(least.0), brief(least.1)))
        .expected(format!("differences of U·ℓ′, to 1e-9 of its size; off by {}", brief(worst)), Basis::Run)
        .holds(worst < 1e-9)
}

/// Re-evaluates the quantity of a witness from the plain slope alone.
pub(super) fn again(witness: &Witness, slope: &dyn Fn(f64) -> f64, kinks: &[f64]) -> f64 {
    let at = witness.at[0];
    if witness.quantity.contains("next to it") {
        return slope(at + 1e-12) - slope(at - 1e-12);
    }
    let room = kinks.iter().map(|kink| (at - kink).abs()).fold(f64::INFINITY, f64::min);
    derivative(slope, at, (0.2 * room).min(1e-3))
}

/// Compares the certificate with all chords between multiples of 1/4 on [−12, 12].
fn verdict(row: &ConvexityRow, pair: &Queried, by_hand: &ByHand, table: &mut FindingsTable) -> PaperClaim {
    let certificate = certify(pair);
    let found = certificate.verdict(Claim::ConvexInScore);
    let (height, low, high) = by_hand.worst_chord();
    let limit = ROUNDING * (1.0 + by_hand.rise(-12.0).abs());
    let (shown, good, cells) = match found {
        Verdict::Proved(_) => {
            ("proved convex".to_owned(), row.convex && height <= limit, ["—".to_owned(), "—".to_owned()])
        }
        Verdict::Refuted(witness) => {
            let value = again(witness, &|s| by_hand.slope(s), &by_hand::kinks(row.loss, row.rule));
            let close = (value - witness.found).abs() <= 1e-8 * value.abs().max(1.0);
            let text = format!("{} {} at s = {}", witness.quantity, brief(witness.found), brief(witness.at[0]));
            let good = !row.convex && close && value < 0.0 && limit < height;
            (format!("refuted: {text}"), good, [text, brief(value)])
        }
        Verdict::Unknown { .. } => ("unknown".to_owned(), false, [String::new(), String::new()]),
    };
    let [witness, value] = cells;
    let name = name(row.loss, row.rule);
    let word = match found {
        Verdict::Proved(_) => "proved",
        Verdict::Refuted(_) => "refuted",
        Verdict::Unknown { .. } => "unknown",
    };
    let chord = if row.convex { "—".to_owned() } else { format!("[{}, {}]", brief(low), brief(high)) };
    let above = if row.convex { "—".to_owned() } else { brief(height) };
    table.rows.push(vec![name.clone(), word.to_owned(), witness, value.clone(), above, chord]);
    let claim =
        PaperClaim::new(row.place, format!("{name} is {}convex in the score", if row.convex { "" } else { "not " }))
            .computed(shown);
    let expected = if row.convex {
        format!("no chord below the loss: at most {} above", brief(height.max(0.0)))
    } else {
        format!("{value} by the plain formula; {} above its chord on [{}, {}]", brief(height), brief(low), brief(high))
    };
    claim.expected(expected, Basis::Run).holds(good)
}

/// Checks −q(1 − q)(1 − 2q) for z < 0, as in the main text.
fn printed_least_confidence() -> PaperClaim {
    let by_hand = ByHand::of("logistic", "least-confidence");
    let printed = |z: f64| -sigmoid(z) * sigmoid(-z) * (1.0 - 2.0 * sigmoid(z));
    let worst = (1..=60)
        .map(|i| -0.1 * f64::from(i))
        .map(|z| (printed(z) - derivative(&|s| by_hand.slope(s), z, 1e-3)).abs())
        .fold(0.0, f64::max);
    PaperClaim::new("subsec:convexity", "least confidence has the curvature −q(1 − q)(1 − 2q) < 0 for z < 0")
        .computed(format!("{} at z = −1; all of (−6, 0) negative", brief(printed(-1.0))))
        .expected(format!("differences, to 1e-10; off by {}", brief(worst)), Basis::Run)
        .holds(worst < 1e-10 && (1..=60).all(|i| printed(-0.1 * f64::from(i)) < 0.0))
}

/// Checks the three branches of the main text.
fn printed_squared_margin() -> PaperClaim {
    let printed = |mu: f64, s: f64| match s {
        s if s < 0.0 => 2.0 * (1.0 - mu) / (1.0 - mu * s).powi(2),
        s if s < 1.0 => 2.0 * (1.0 + mu) / (1.0 + mu * s).powi(2),
        _ => 0.0,
    };
    let mut worst = 0.0_f64;
    for (mu, rule) in [(0.5, "margin:mu=0.5"), (1.0, "margin:mu=1"), (3.0, "margin:mu=3")] {
        let by_hand = ByHand::of("squared-hinge", rule);
        for s in smooth_points("squared-hinge", rule) {
            worst = worst.max((printed(mu, s) - derivative(&|t| by_hand.slope(t), s, 1e-3)).abs());
        }
    }
    PaperClaim::new(
        "subsec:convexity",
        "squared hinge by margin: 2(1 − μ)/(1 − μs)² left of 0, 2(1 + μ)/(1 + μs)² up to 1",
    )
    .computed(format!("off by at most {} for μ = 0.5, 1, 3", brief(worst)))
    .expected("differences of U·ℓ′, to 1e-8", Basis::Run)
    .holds(worst < 1e-8)
}

/// Checks that the slope falls from 0 to −σ(γ) at the left edge of the band.
fn jump_of_the_threshold() -> PaperClaim {
    let gamma = 1.5;
    let by_hand = ByHand::of("logistic", "threshold:gamma=1.5");
    let (before, after) = (by_hand.slope(-gamma - 1e-12), by_hand.slope(-gamma));
    PaperClaim::new("subsec:convexity", "threshold: at the left edge of the band the slope jumps down from 0")
        .computed(format!("from {} to {}", brief(before), brief(after)))
        .expected(format!("0 and −σ(γ) = {}", brief(-sigmoid(gamma))), Basis::Theory)
        .holds(before == 0.0 && (after + sigmoid(gamma)).abs() < 1e-12)
}

/// A formula of the curvature as a function of r.
type Curvature = fn(f64) -> f64;

/// Checks Example 1 in the coordinate q, where both rules stay convex.
fn in_probability() -> Vec<PaperClaim> {
    let formulas: [(&str, Curvature); 2] =
        [("entropy", |r| -(-r).ln_1p() / (r * r)), ("least-confidence", |r| if 0.5 < r { 1.0 / (r * r) } else { 0.0 })];
    formulas
        .into_iter()
        .map(|(rule, formula)| {
            let pair = Queried::parse("cross-entropy", rule).expect("a registered pair");
            let u = by_hand::rule(rule, "logistic");
            // dℓ̃/dr = −U/r.
            let slope = |r: f64| -u((r / (1.0 - r)).ln()) / r;
            let mut worst = 0.0_f64;
            let mut least = f64::INFINITY;
            for r in (1..40).map(|i| f64::from(i) / 40.0).filter(|r| *r != 0.5) {
                let right = derivative(&slope, r, 1e-4);
                let found = pair.curvature_in_probability(Probability::of_label(r, Label::Plus));
                let scale = right.abs().max(1.0);
                worst = worst.max((found - right).abs() / scale).max((formula(r) - right).abs() / scale);
                least = least.min(right);
            }
            let proved = matches!(certify(&pair).verdict(Claim::ConvexInProbability), Verdict::Proved(_));
            PaperClaim::new("subsec:convexity", format!("{rule} stays convex in the probability q"))
                .computed(format!(
                    "{}; least curvature on a grid {}",
                    if proved { "proved" } else { "not proved" },
                    brief(least.max(0.0))
                ))
                .expected(format!("differences of U/r, to 1e-8; off by {}", brief(worst)), Basis::Run)
                .holds(proved && worst < 1e-8 && -1e-9 < least)
        })
        .collect()
}
