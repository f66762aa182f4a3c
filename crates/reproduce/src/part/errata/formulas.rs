//! Severity A: formulas that would break a program that copied them. Functions named `printed` are wrong on purpose.

use std::f64::consts::LN_2;

use querist_theory::certificate::certify;
use querist_theory::coordinate::{Label, Probability};
use querist_theory::equivalent::Queried;
use querist_theory::link::Link;
use querist_theory::loss::Loss;
use querist_theory::risk::{Risk, conditional_risk};

use super::{CONVEXITY_PROOF, Erratum, ErratumOutcome, apart, close};
use crate::by_hand::{ByHand, xlogx};
use crate::numbers::{brief, derivative, fixed};

pub(super) fn all() -> Vec<Erratum> {
    vec![
        threshold_risk(),
        threshold_link(),
        threshold_hull(),
        exponential_signs(),
        exponential_rule(),
        exponential_branches(),
        squared_hinge_constant(),
        hinge_wrong_side(),
        hinge_indifference(),
        entropy_in_prediction(),
        squared_hinge_slope(),
    ]
}

fn pair(loss: &str, rule: &str) -> Queried {
    Queried::parse(loss, rule).expect("a registered pair")
}

fn six(x: f64) -> String {
    fixed(x, 6)
}

fn threshold_risk() -> Erratum {
    let gamma: f64 = 1.5;
    let printed = gamma.exp().ln_1p() - gamma * gamma.exp() / (1.0 + gamma.exp());
    let (pair, by_hand) = (pair("logistic", "threshold:gamma=1.5"), ByHand::of("logistic", "threshold:gamma=1.5"));
    let check = |p: f64| LN_2 + by_hand.bayes(p).1;
    let found = [0.85, 0.9, 0.95, 0.999].into_iter().all(|p| {
        close(Risk::new(&pair).bayes(p), check(p))
            && close(gamma.exp().ln_1p() - p * gamma, check(p))
            && apart(printed, check(p))
    });
    Erratum {
        number: 1,
        severity: 'A',
        place: "apd:surrogate",
        statement: "threshold: H(p) past p = σ(γ), at γ = 1.5, p = 0.95",
        printed: six(printed),
        right: six(Risk::new(&pair).bayes(0.95)),
        check: format!("{} by brute force over all predictions", six(check(0.95))),
        outcome: ErratumOutcome::Corrected(found),
    }
}

/// Returns the z at which the printed link departs from h(z).
fn printed_edge(gamma: f64) -> f64 {
    2.0 / ((gamma / (1.0 + gamma.exp())).exp() + (-gamma / (1.0 + (-gamma).exp())).exp()) - 1.0
}

fn threshold_link() -> Erratum {
    let printed = |gamma: f64, z: f64| {
        let from = printed_edge(gamma).min(z);
        0.5 * ((1.0 + z) * from.ln_1p() + (1.0 - z) * (-from).ln_1p())
    };
    let mut found = true;
    let (mut right, mut check) = (0.0, 0.0);
    for gamma in [0.25, 1.5, 5.0, 2.0] {
        let rule = format!("threshold:gamma={gamma}");
        let (pair, by_hand) = (pair("logistic", &rule), ByHand::of("logistic", &rule));
        let link = Link::new(&pair).expect("a link for two classes");
        for z in (0..=20).map(|i| f64::from(i) / 20.0) {
            // A smaller link promises less than is true, and is valid.
            found &= close(link.value(z), by_hand.link(z)) && printed(gamma, z) <= by_hand.link(z) + 1e-12;
        }
        (right, check) = (link.value(1.0), by_hand.link(1.0));
        found &= apart(printed(gamma, 1.0), check) && apart(printed_edge(gamma), (0.5 * gamma).tanh());
    }
    Erratum {
        number: 2,
        severity: 'A',
        place: "apd:surrogate",
        statement: "threshold: ψ(1), and where ψ leaves h(z), at γ = 2",
        printed: format!("{} from z₀ = {}", six(printed(2.0, 1.0)), six(printed_edge(2.0))),
        right: format!("{} from z₀ = {}", six(right), six(1_f64.tanh())),
        check: format!("{} by brute force; the printed link is lower, so valid", six(check)),
        outcome: ErratumOutcome::Corrected(found),
    }
}

fn threshold_hull() -> Erratum {
    let by_hand = ByHand::of("logistic", "threshold:gamma=2");
    let values: Vec<f64> = (0..=200).map(|i| by_hand.link(f64::from(i) / 200.0)).collect();
    let sag = values.windows(3).map(|three| three[1] - 0.5 * (three[0] + three[2])).fold(f64::MIN, f64::max);
    Erratum {
        number: 2,
        severity: 'A',
        place: "apd:surrogate",
        statement: "threshold: H⁻ − H is not convex, and a hull has to be taken",
        printed: "a corner at tanh(γ/2)".to_owned(),
        right: "convex as it stands: value and slope γ/2 match there".to_owned(),
        check: format!("at most {} above chords of a grid of 200, by brute force", brief(sag.max(0.0))),
        outcome: ErratumOutcome::Refuted(sag < 1e-13),
    }
}

fn exponential_signs() -> Erratum {
    let printed = |mu: f64, s: f64| {
        if 0.0 <= s {
            -(-(1.0 + mu) * s).exp() / (1.0 + mu) + mu / (1.0 + mu)
        } else {
            -(-(1.0 - mu) * s).exp() / (1.0 - mu) - mu / (1.0 - mu)
        }
    };
    let (mu, p) = (0.5, 0.8_f64);
    let (pair, by_hand) = (pair("exponential", "exponential:mu=0.5"), ByHand::of("exponential", "exponential:mu=0.5"));
    let values = [-4.0, -1.0, -0.1, 0.0, 0.3, 2.0]
        .into_iter()
        .all(|s| close(pair.value(s), 1.0 + by_hand.rise(s)) && apart(printed(mu, s), 1.0 + by_hand.rise(s)));
    let best = 0.5 * (p / (1.0 - p)).ln();
    let printed_risk = p * printed(mu, best) + (1.0 - p) * printed(mu, -best);
    let (right, check) = (Risk::new(&pair).bayes(p), 1.0 + by_hand.bayes(p).1);
    Erratum {
        number: 3,
        severity: 'A',
        place: "apd:surrogate",
        statement: "exponential: H(p) from its first line, at μ = 0.5, p = 0.8",
        printed: six(printed_risk),
        right: six(right),
        check: format!("{} by brute force; the printed loss rises with the margin", six(check)),
        outcome: ErratumOutcome::Corrected(values && close(right, check) && apart(printed_risk, check)),
    }
}

fn exponential_rule() -> Erratum {
    // The paper's own equivalent loss, from the main text.
    let example = |mu: f64, s: f64| {
        let (side, sign) = if 0.0 <= s { (1.0 + mu, 1.0) } else { (1.0 - mu, -1.0) };
        (-side * s).exp() / side + sign * mu / side
    };
    let asked = |mu: f64, s: f64| derivative(&|t| example(mu, t), s, 1e-3) / -(-s).exp();
    let mut found = true;
    for (mu, rule) in [(0.25, "exponential:mu=0.25"), (0.5, "exponential:mu=0.5"), (0.9, "exponential:mu=0.9")] {
        let pair = pair("exponential", rule);
        for s in [-3.0, -1.0, 0.5, 2.0_f64] {
            found &= (pair.rule().at(s) - asked(mu, s)).abs() < 1e-9 && apart((-s.abs()).exp(), asked(mu, s));
        }
    }
    Erratum {
        number: 4,
        severity: 'A',
        place: "apd:surrogate",
        statement: "exponential: the rule U, at μ = 0.5, s = 2",
        printed: six((-2_f64).exp()),
        right: six(pair("exponential", "exponential:mu=0.5").rule().at(2.0)),
        check: format!("{}, the slope of the main text's ℓ̃ over that of ℓ, by differences", six(asked(0.5, 2.0))),
        outcome: ErratumOutcome::Corrected(found),
    }
}

fn exponential_branches() -> Erratum {
    let printed = |mu: f64, s: f64| {
        let side = if s < 0.0 { 1.0 + mu } else { 1.0 - mu };
        side * (-side * s).exp()
    };
    let mut found = true;
    let mut check = 0.0;
    for (mu, rule) in [(0.9, "exponential:mu=0.9"), (3.0, "exponential:mu=3"), (0.5, "exponential:mu=0.5")] {
        let (pair, by_hand) = (pair("exponential", rule), ByHand::of("exponential", rule));
        for s in [2.0, 0.25, -0.25, -1.0] {
            check = derivative(&|t| by_hand.slope(t), s, 1e-3);
            found &= (pair.curvature(s) - check).abs() < 1e-9 * check.abs().max(1.0) && apart(printed(mu, s), check);
        }
    }
    Erratum {
        number: 5,
        severity: 'A',
        place: CONVEXITY_PROOF,
        statement: "exponential: ℓ̃″ left and right of 0, at μ = 0.5, s = −1",
        printed: six(printed(0.5, -1.0)),
        right: six(pair("exponential", "exponential:mu=0.5").curvature(-1.0)),
        check: format!("{} by differences of U·ℓ′", six(check)),
        outcome: ErratumOutcome::Corrected(found),
    }
}

fn squared_hinge_constant() -> Erratum {
    let constant = |mu: f64| 2.0 / mu - 2.0 / mu * (1.0 / mu + 1.0) * mu.ln_1p();
    let printed = |mu: f64, s: f64| 2.0 / mu * s - 2.0 / mu * (1.0 / mu + 1.0) * (mu * s).ln_1p() + constant(mu);
    let mut found = true;
    for (mu, rule) in [(0.25, "margin:mu=0.25"), (0.5, "margin:mu=0.5"), (3.0, "margin:mu=3")] {
        let (pair, by_hand) = (pair("squared-hinge", rule), ByHand::of("squared-hinge", rule));
        for s in [0.0, 0.25, 0.75, 1.0] {
            let check = by_hand.rise(s) - by_hand.rise(1.0);
            found &= close(pair.value(s), check) && apart(printed(mu, s), check);
        }
    }
    let right = pair("squared-hinge", "margin:mu=0.5").value(1.0);
    Erratum {
        number: 6,
        severity: 'A',
        place: "apd:equiv_loss",
        statement: "margin × squared hinge: ℓ̃(1), where the loss is to end at 0, at μ = 0.5",
        printed: six(printed(0.5, 1.0)),
        right: brief(right),
        check: "0, and increments from 1 by integration at four margins and three μ".to_owned(),
        outcome: ErratumOutcome::Corrected(found && right == 0.0),
    }
}

fn hinge_wrong_side() -> Erratum {
    let printed = |mu: f64| 2.0 / mu * mu.ln_1p();
    let mut found = true;
    let (mut right, mut check) = (0.0, 0.0);
    for (mu, rule) in [(10.0, "margin:mu=10"), (1.0, "margin:mu=1"), (0.5, "margin:mu=0.5")] {
        let (pair, by_hand) = (pair("hinge", rule), ByHand::of("hinge", rule));
        for p in [0.6, 0.95, 0.75] {
            let (at, beyond) = by_hand.wrong_side(p);
            (right, check) = (Risk::by_search(&pair).wrong_side(p), beyond - by_hand.rise(1.0));
            found &= at == 0.0 && close(right, check) && apart(printed(mu), check);
            // The printed link, which is right, does not follow from the printed H⁻.
            found &= close(mu.ln_1p() / mu * (2.0 * p - 1.0), by_hand.link(2.0 * p - 1.0));
        }
    }
    Erratum {
        number: 7,
        severity: 'A',
        place: "apd:surrogate",
        statement: "margin × hinge: H⁻, at μ = 0.5",
        printed: six(printed(0.5)),
        right: six(right),
        check: format!("{} by brute force, at the prediction 0", six(check)),
        outcome: ErratumOutcome::Corrected(found),
    }
}

fn hinge_indifference() -> Erratum {
    let (pair, by_hand) = (pair("hinge", "margin:mu=0.5"), ByHand::of("hinge", "margin:mu=0.5"));
    let base = -by_hand.rise(1.0);
    let costs = [0.0, -0.5, -1.0].map(|s| conditional_risk(&pair, 0.75, s));
    let same = [0.0, -0.5, -1.0].iter().zip(costs).all(|(s, cost)| close(cost, base + by_hand.cost(0.75, *s)));
    Erratum {
        number: 7,
        severity: 'A',
        place: "apd:surrogate",
        statement: "margin × hinge: every prediction in [−1, 0] reaches H⁻, at μ = 0.5, p = 0.75",
        printed: "one cost for all".to_owned(),
        right: format!("{} at 0, −1/2, −1", costs.map(six).join(", ")),
        check: "by integration, the same three; equal only for p = 1/2".to_owned(),
        outcome: ErratumOutcome::Refuted(
            same && apart(costs[1], costs[0]) && apart(costs[2], costs[1]) && close(by_hand.cost(0.5, -0.5), 0.0),
        ),
    }
}

fn entropy_in_prediction() -> Erratum {
    let u = |y: f64| -xlogx(0.5 * (1.0 + y)) - xlogx(0.5 * (1.0 - y));
    let loss_slope = |y: f64| -1.0 / (1.0 + y);
    let printed = |y: f64| derivative(&u, y, 1e-3) * loss_slope(y);
    let check = |y: f64| derivative(&|t| u(t) * loss_slope(t), y, 1e-4);
    let pair = pair("cross-entropy", "entropy");
    // The crate differentiates in q = (1 + Ŷ)/2.
    let right = |y: f64| 0.25 * pair.curvature_in_probability(Probability::of_label(0.5 * (1.0 + y), Label::Plus));
    let found = [-0.9, -0.5, -0.1, 0.3, 0.8].into_iter().all(|y| {
        (right(y) - check(y)).abs() < 1e-8 * check(y).max(1.0) && 0.0 < check(y) && apart(printed(y), check(y))
    });
    Erratum {
        number: 8,
        severity: 'A',
        place: CONVEXITY_PROOF,
        statement: "entropy: d²ℓ̃/dŶ² at Ŷ = −0.5, which is to be positive",
        printed: six(printed(-0.5)),
        right: six(right(-0.5)),
        check: format!("{} by differences of U·ℓ′", six(check(-0.5))),
        outcome: ErratumOutcome::Corrected(found && printed(-0.5) < 0.0),
    }
}

fn squared_hinge_slope() -> Erratum {
    let mut found = true;
    let (mut right, mut check) = (0.0, 0.0);
    for mu in [0.25, 0.5, 1.0, 2.0, 10.0] {
        let steepness = |s: f64| 2.0 * (1.0 - s).max(0.0) / (1.0 + mu * s.abs());
        // The supremum is attained at 0 or approached far to the left.
        check = (0..=300).map(|i| steepness(-10_f64.powf(15.0 - f64::from(i) / 10.0))).fold(steepness(0.0), f64::max);
        right = certify(&pair("squared-hinge", &format!("margin:mu={mu}"))).constants.lipschitz.unwrap_or(f64::NAN);
        found &= close(right, check) && close(2_f64.max(2.0 / mu), check) && (mu <= 1.0 || 2.0 / mu < steepness(0.0));
    }
    Erratum {
        number: 9,
        severity: 'A',
        place: "apd:Lipschitz",
        statement: "margin × squared hinge: a bound of |ℓ̃′|, at μ = 10",
        printed: brief(0.2),
        right: brief(right),
        check: format!("{} is reached at s = 0", brief(check)),
        outcome: ErratumOutcome::Corrected(found),
    }
}
