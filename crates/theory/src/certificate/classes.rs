//! Verdicts for K classes: softmax cross entropy queried by a label-free score (§6.1).

use super::{Certificate, Certified, Claim, Constants, Proof, Verdict, Witness, certify};
use crate::equivalent::Queried;
use crate::integrability::find_curl;
use crate::registry::{NameError, Named, unknown};
use crate::uncertainty::{KnownMax, assumption};
use crate::vector::{SCORES, VectorScore, parse};

/// The name of the rule that has an objective for K classes: query in proportion to the conditional loss.
pub const CONDITIONAL_LOSS: &str = "conditional-loss";

/// The maximum number of classes: more than any real problem has, few enough to fit in memory.
const MAX_CLASSES: usize = 1_000_000;

/// The name of the only K-class loss.
const LOSS: &str = "softmax-cross-entropy";

/// Certifies softmax cross entropy with K classes queried by a named score.
///
/// # Errors
///
/// Returns a [`NameError`] if the loss or rule is unknown, or the number of classes is out of range.
pub fn certify_classes(loss: &str, rule: &str, classes: usize) -> Result<Certificate, NameError> {
    if loss != LOSS {
        return Err(NameError {
            name: loss.to_owned(),
            message: unknown("loss for classes", loss, [LOSS].into_iter()),
        });
    }
    if !(2..=MAX_CLASSES).contains(&classes) {
        let message = format!("classes = {classes}, need 2 <= classes <= {MAX_CLASSES}");
        return Err(NameError { name: loss.to_owned(), message });
    }
    if rule == CONDITIONAL_LOSS {
        return Ok(conditional_loss());
    }
    let score = parse(rule).map_err(|error| {
        if SCORES.iter().any(|entry| rule.starts_with(entry.name)) {
            return error;
        }
        let names = SCORES.iter().map(|entry| entry.name).chain([CONDITIONAL_LOSS]);
        NameError { message: unknown("rule for classes", rule, names), ..error }
    })?;
    if classes == 2 {
        return Ok(two_classes(&score));
    }
    let claims = Claim::ALL
        .into_iter()
        .map(|claim| Certified { claim, verdict: verdict(&*score.object, classes, claim) })
        .collect();
    let constants = only_u_max(score.max(classes), KnownMax::Attained);
    let mut certificate =
        Certificate { loss: loss.to_owned(), rule: score.name.clone(), claims, constants, advice: vec![] };
    certificate.advice = advise(&certificate, classes);
    certificate.advice.extend(assumption(&score));
    Ok(certificate)
}

/// Certifies two classes as the logistic loss queried by the same rule; the score is the difference of the logits.
fn two_classes(score: &Named<dyn VectorScore>) -> Certificate {
    // 1 − |p₁ − p₂| = 2 min(p₁, p₂), and the smaller probability is e^−|v| times the larger.
    let of_score = match (score.entry, &score.numbers[..]) {
        ("top-two-margin", _) => "least-confidence:scale=2".to_owned(),
        ("top-two-ratio", [mu, floor]) if *floor == 0.0 => format!("exponential:mu={mu}"),
        ("top-two-ratio", [mu, floor]) => format!("mix:rule=exponential:mu={mu},floor={floor}"),
        _ => score.name.clone(),
    };
    let rule = &score.name;
    let pair = Queried::parse("logistic", &of_score)
        .unwrap_or_else(|error| unreachable!("every rule for classes is one for two: {error}"));
    let certificate = certify(&pair);
    let mut advice = vec![format!("two classes are one score: this is `querist certify logistic {of_score}`")];
    advice.extend(certificate.advice);
    Certificate { loss: LOSS.to_owned(), rule: rule.to_owned(), advice, ..certificate }
}

/// Returns constants with only the largest query probability: the bounds for two classes do not extend to K.
fn only_u_max(u_max: f64, u_max_is: KnownMax) -> Constants {
    Constants {
        u_max,
        u_max_is,
        psi_coefficient: None,
        psi_power: None,
        psi_at_1: None,
        psi_at_1_enclosure: None,
        neg_h2_half: None,
        lipschitz: None,
        loss_lipschitz: None,
    }
}

fn verdict(score: &dyn VectorScore, classes: usize, claim: Claim) -> Verdict {
    match claim {
        Claim::Integrable => integrable(score, classes),
        Claim::Probability => probability(score, classes),
        Claim::Positive => Verdict::Proved(Proof {
            rule: "U > 0 at every finite logit",
            from: vec!["softmax gives every class a positive probability".into()],
        }),
        _ if score.is_constant() => of_constant(claim),
        _ => Verdict::Unknown { tried: "there is no equivalent loss of which it could be said".into() },
    }
}

fn integrable(score: &dyn VectorScore, classes: usize) -> Verdict {
    if score.is_constant() {
        return Verdict::Proved(Proof {
            rule: "a constant multiple of a gradient is a gradient",
            from: vec!["U is constant".into()],
        });
    }
    match find_curl(score, classes) {
        Some(curl) => Verdict::Refuted(Witness {
            because: vec![
                format!(
                    "curl in the logits {} and {} for label {}, counted from 1",
                    curl.plane.0 + 1,
                    curl.plane.1 + 1,
                    curl.label + 1
                )
                .into(),
                "the gradients p − e_y of two labels are linearly independent for K ≥ 3, so ∇U must be parallel to \
                 both, which only ∇U = 0 is: a label-free rule with an equivalent loss is locally constant"
                    .into(),
            ],
            at: curl.logits,
            coordinates: "logits",
            quantity: "curl of U∇ℓ, ∂ᵢU ∂ⱼℓ − ∂ⱼU ∂ᵢℓ",
            found: curl.curl,
            relation: "=",
            needed: 0.0,
            enclosure: Some(curl.enclosure),
        }),
        None => Verdict::Unknown { tried: "no enclosure of the curl excludes 0 at the points tried".into() },
    }
}

fn probability(score: &dyn VectorScore, classes: usize) -> Verdict {
    let max = score.max(classes);
    if max <= 1.0 {
        return Verdict::Proved(Proof { rule: "0 ≤ U ≤ U_max ≤ 1", from: vec![format!("U_max = {max}").into()] });
    }
    Verdict::Refuted(Witness {
        at: vec![0.0; classes],
        coordinates: "logits",
        quantity: "U",
        found: max,
        relation: "<=",
        needed: 1.0,
        enclosure: None,
        because: vec![format!("divide by its maximum: base={classes} makes the entropy at most 1").into()],
    })
}

fn of_constant(claim: Claim) -> Verdict {
    let proof =
        |rule| Verdict::Proved(Proof { rule, from: vec!["U is constant, so ℓ̃ is a multiple of ℓ".into()] });
    match claim {
        Claim::Calibrated => proof("cross entropy is minimized by the true class probabilities"),
        Claim::ConvexInScore => proof("log-sum-exp less a linear function is convex in the logits"),
        Claim::ConvexInProbability => proof("−log p is convex in the probability of the label that occurred"),
        Claim::Lipschitz => proof("‖p − e_y‖ ≤ √2 in the logits"),
        Claim::Integrable | Claim::Probability | Claim::Positive => {
            unreachable!("decided before for every score")
        }
    }
}

fn conditional_loss() -> Certificate {
    let verdict = |claim| match claim {
        Claim::Integrable => Verdict::Proved(Proof {
            rule: "averaged over the label, U∇L = L∇L/M = ∇(L²/(2M))",
            from: vec!["U = L/M with L(θ; x) = E[ℓ | x] and M a bound of L".into()],
        }),
        Claim::Probability => Verdict::Proved(Proof {
            rule: "0 ≤ L/M ≤ 1",
            from: vec!["L ≥ 0, and M bounds L on the logits in use; cross entropy needs them clipped".into()],
        }),
        Claim::Positive => {
            Verdict::Proved(Proof { rule: "L > 0 at every finite logit", from: vec!["−log p > 0 for p < 1".into()] })
        }
        Claim::Calibrated => Verdict::Proved(Proof {
            rule: "L²/(2M) rises with L ≥ 0, so both have the same minimizer at each feature",
            from: vec!["cross entropy is minimized by the true class probabilities".into()],
        }),
        Claim::ConvexInScore => Verdict::Proved(Proof {
            rule: "the square of a non-negative convex function is convex",
            from: vec!["L is a mean of functions convex in the logits".into()],
        }),
        Claim::ConvexInProbability => Verdict::Proved(Proof {
            rule: "the square of a non-negative convex function is convex",
            from: vec!["−log p is convex in p".into()],
        }),
        Claim::Lipschitz => Verdict::Proved(Proof {
            rule: "‖∇(L²/(2M))‖ = (L/M)‖∇L‖ ≤ √2",
            from: vec!["L ≤ M, ‖p − e_y‖ ≤ √2".into()],
        }),
    };
    Certificate {
        loss: LOSS.to_owned(),
        rule: CONDITIONAL_LOSS.to_owned(),
        claims: Claim::ALL.into_iter().map(|claim| Certified { claim, verdict: verdict(claim) }).collect(),
        constants: only_u_max(1.0, KnownMax::UpperBound),
        advice: vec![
            "the objective is E[L²]/(2M): features with a large expected loss count more".to_owned(),
            "L(θ; x) = E[ℓ | x] must be estimated at each feature from the answers so far; the guarantee is as good as \
             that estimate"
                .to_owned(),
        ],
    }
}

fn advise(certificate: &Certificate, classes: usize) -> Vec<String> {
    match certificate.verdict(Claim::Integrable) {
        Verdict::Refuted(_) => vec![
            format!(
                "with {classes} classes this rule optimizes nothing: no loss has its mean update as a gradient, and \
                 averaging over labels does not repair it"
            ),
            format!(
                "`{CONDITIONAL_LOSS}` does have an objective: ask in proportion to an estimate of E[ℓ | x]; it \
                 optimizes E[L²]/(2M)"
            ),
        ],
        Verdict::Proved(_) => vec!["asking at random changes the pace, not the goal".to_owned()],
        Verdict::Unknown { .. } => vec![format!(
            "it is unknown whether this rule has an objective with {classes} classes; `{CONDITIONAL_LOSS}` has one"
        )],
    }
}
