//! A certificate as text and JSON.

use querist_theory::certificate::{Certificate, Certified, Constants, Verdict, Witness};
use querist_theory::expression::Interval;
use querist_theory::uncertainty::KnownMax;
use serde_json::{Map, Value, json};

use crate::number::{json, json_option, show};
use crate::table::wrap;

/// Renders a certificate for people: the consequences, then the claims. Each claim lists its facts unless `brief`.
///
/// ```
/// use querist_render::certificate::as_text;
/// use querist_theory::{certificate::certify, equivalent::Queried};
///
/// let text = as_text(&certify(&Queried::parse("logistic", "entropy")?), true);
/// assert!(text.starts_with("logistic queried by entropy\n"));
/// assert!(text.contains("convex-in-score"));
/// # Ok::<(), querist_theory::registry::NameError>(())
/// ```
pub fn as_text(certificate: &Certificate, brief: bool) -> String {
    let mut text = format!("{} queried by {}\n\nWhat follows\n", certificate.loss, certificate.rule);
    for advice in &certificate.advice {
        text += &wrap("  - ", advice);
    }
    text += "\nClaims\n";
    for certified in &certificate.claims {
        let lead = format!("  {:<22} {:<8} ", certified.claim.name(), verdict_name(&certified.verdict));
        text += &wrap(&lead, &headline(&certified.verdict));
        for fact in facts(&certified.verdict).into_iter().filter(|_| !brief) {
            text += &wrap(&format!("{:34}· ", ""), &fact);
        }
    }
    text += "\nConstants\n";
    for (name, value) in constant_rows(&certificate.constants) {
        text += &format!("  {name:<26} {value}\n");
    }
    text
}

/// Renders a certificate for programs.
pub fn as_json(certificate: &Certificate) -> Value {
    let claims: Vec<Value> = certificate.claims.iter().map(claim_json).collect();
    let constants = &certificate.constants;
    let constants = json!({
            "u_max": json(constants.u_max),
            "u_max_is": constants.u_max_is.name(),
            "psi_coefficient": json_option(constants.psi_coefficient),
            "psi_power": constants.psi_power,
            "psi_at_1": json_option(constants.psi_at_1),
            "psi_at_1_enclosure": bounds_json(constants.psi_at_1_enclosure),
            "neg_h2_half": json_option(constants.neg_h2_half),
            "lipschitz": json_option(constants.lipschitz),
            "loss_lipschitz": json_option(constants.loss_lipschitz),
    });
    json!({
        "loss": certificate.loss,
        "rule": certificate.rule,
        "claims": claims,
        "constants": constants,
        "advice": certificate.advice,
    })
}

/// Returns `proved`, `refuted` or `unknown`.
pub fn verdict_name(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Proved(_) => "proved",
        Verdict::Refuted(_) => "refuted",
        Verdict::Unknown { .. } => "unknown",
    }
}

/// Returns the verdict's reason in one sentence.
pub fn headline(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Proved(proof) => proof.rule.to_owned(),
        Verdict::Refuted(witness) => format!(
            "{} is {} at {}, need {} {}",
            witness.quantity,
            show(witness.found, 6),
            witness_point(witness),
            witness.relation.replace(">=", "≥").replace("<=", "≤"),
            show(witness.needed, 6)
        ),
        Verdict::Unknown { tried } => tried.to_string(),
    }
}

/// Formats the point of a witness, for example `s = −2` or `logits = (1, 0, −0.5)`.
fn witness_point(witness: &Witness) -> String {
    let mut numbers: Vec<String> = witness.at.iter().take(6).map(|x| show(*x, 6)).collect();
    if numbers.len() < witness.at.len() {
        numbers.push("…".to_owned());
    }
    match numbers.as_slice() {
        [one] => format!("{} = {one}", witness.coordinates),
        many => format!("{} = ({})", witness.coordinates, many.join(", ")),
    }
}

/// Returns the facts on which a verdict rests.
pub fn facts(verdict: &Verdict) -> Vec<String> {
    match verdict {
        Verdict::Proved(proof) => proof.from.iter().map(ToString::to_string).collect(),
        Verdict::Refuted(witness) => {
            let enclosed = witness.enclosure.map(|bounds| format!("enclosed by [{}]", shown_bounds(bounds)));
            enclosed.into_iter().chain(witness.because.iter().map(ToString::to_string)).collect()
        }
        Verdict::Unknown { .. } => vec![],
    }
}

/// Formats both bounds with all digits, so that rounding for display does not move them inward.
fn shown_bounds(bounds: Interval) -> String {
    format!("{}, {}", show(bounds.low, 17), show(bounds.high, 17))
}

fn bounds_json(bounds: Option<Interval>) -> Value {
    bounds.map_or(Value::Null, |bounds| json!([json(bounds.low), json(bounds.high)]))
}

/// Returns the names and values of the constants, for people.
pub fn constant_rows(constants: &Constants) -> Vec<(&'static str, String)> {
    let enclosed = |x: Option<f64>, bounds: Option<Interval>| match (x, bounds) {
        (Some(x), Some(bounds)) => format!("{}, enclosed by [{}]", show(x, 12), shown_bounds(bounds)),
        _ => "not known".to_owned(),
    };
    let searched = |x: f64| format!("{} (found by search)", show(x, 12));
    let times = |c: f64| if c == 1.0 { String::new() } else { format!("{} ", show(c, 12)) };
    let start = match (constants.psi_coefficient, constants.psi_power) {
        (Some(c), Some(1)) => format!("{}z", times(c)),
        (Some(c), Some(2)) => format!("{}z²", times(c)),
        _ => "not known".to_owned(),
    };
    let steepest = constants
        .lipschitz
        .map_or("not known".to_owned(), |x| if x.is_infinite() { "unbounded".to_owned() } else { searched(x) });
    let u_max = match constants.u_max_is {
        KnownMax::Attained => show(constants.u_max, 12),
        known => {
            let (relation, remark) = known.relation();
            format!("{relation} {}{remark}", show(constants.u_max, 12))
        }
    };
    let mut rows = vec![("U_max", u_max)];
    if constants.psi_at_1.or(constants.psi_coefficient).is_some() {
        let curvature =
            constants.neg_h2_half.map_or("H has a kink at 1/2, or is not known".to_owned(), |x| show(x, 12));
        rows.extend([
            ("ψ(z) for small z", start),
            ("ψ(1)", enclosed(constants.psi_at_1, constants.psi_at_1_enclosure)),
            ("−H″(1/2) of the loss", curvature),
        ]);
    }
    if constants.psi_at_1.is_some() || constants.lipschitz.is_some() {
        rows.push(("largest slope", steepest));
    }
    rows
}

fn claim_json(certified: &Certified) -> Value {
    let mut fields = Map::new();
    let mut put = |key: &str, value: Value| fields.insert(key.to_owned(), value);
    put("claim", certified.claim.name().into());
    put("verdict", verdict_name(&certified.verdict).into());
    let mut because = vec![headline(&certified.verdict)];
    because.extend(facts(&certified.verdict));
    put("because", because.into());
    let (at, found, needed) = match &certified.verdict {
        Verdict::Refuted(witness) => {
            put("quantity", witness.quantity.into());
            put("coordinates", witness.coordinates.into());
            put("relation", witness.relation.into());
            let at = match witness.at.as_slice() {
                [one] => json(*one),
                many => many.iter().map(|x| json(*x)).collect(),
            };
            put("enclosure", bounds_json(witness.enclosure));
            (at, json(witness.found), json(witness.needed))
        }
        Verdict::Proved(_) | Verdict::Unknown { .. } => (Value::Null, Value::Null, Value::Null),
    };
    put("at", at);
    put("found", found);
    put("needed", needed);
    put("label", certified.claim.label().into());
    Value::Object(fields)
}
