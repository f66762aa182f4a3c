//! The objective of a session, for the page: the current pair of loss and rule, and its certificate.

use querist_engine::model_kind::ModelKind;
use querist_engine::pool::Draw;
use querist_engine::rule::{Relative, Scale};
use querist_engine::task::Labels;
use querist_render::certificate;
use querist_server::{CertificateReply, CertifiedPair, MakeCertificate};
use querist_theory::certificate::{Certificate, certify, certify_classes};
use querist_theory::equivalent::Queried;

/// Returns a function that makes the certificate for the page, given the scale of the current model.
pub(super) fn of(loss: String, rule: String, labels: Labels, draw: Draw, model: ModelKind) -> MakeCertificate {
    Box::new(move |scale| {
        let reply =
            if let ModelKind::Forest(_) = model { of_forest(&loss, &rule) } else { reply(&loss, &rule, labels, scale) };
        let of_model = if model == ModelKind::Auto { FORESTS } else { "" };
        let objective = format!("{}\n{}{of_model}", reply.objective, of_draws(draw));
        CertificateReply { objective, ..reply }
    })
}

/// What holds if the answers choose a forest.
const FORESTS: &str = "\nIf the answers choose a forest, the claims no longer hold: trees have no gradient, so there is no \
                       equivalent loss. The probabilities of draws and the estimates stay valid.";

/// Returns the reply for a forest, which optimizes no loss.
fn of_forest(loss: &str, rule: &str) -> CertificateReply {
    CertificateReply {
        loss: loss.to_owned(),
        rule: rule.to_owned(),
        objective: format!("A forest is fitted to the queried items, which {rule} chooses."),
        why_not: Some("a forest has no gradient, so uncertainty sampling with it has no equivalent loss".to_owned()),
        ..CertificateReply::default()
    }
}

/// Describes what the draws of a session allow.
fn of_draws(draw: Draw) -> &'static str {
    match draw {
        Draw::Top => {
            "With --draw top, the next item is always the most uncertain one. It has no probability, so there are no \
             estimates for the pool, and the claims about the equivalent loss do not hold."
        }
        Draw::Scan | Draw::Reject => {
            "Every draw is recorded with its probability, so the estimates are valid for all of the pool."
        }
    }
}

fn reply(loss: &str, rule: &str, labels: Labels, scale: Option<Scale>) -> CertificateReply {
    let pair = pair(loss, rule, labels, scale);
    let found = pair.as_ref().map_err(|why| (*why).to_owned()).and_then(Pair::certify);
    let reply = CertificateReply {
        loss: loss.to_owned(),
        rule: rule.to_owned(),
        objective: objective(loss, rule, scale, is_in_units_of_the_pool(rule)),
        certified: pair.as_ref().ok().filter(|_| found.is_ok()).map(Pair::certified),
        why_not: found.as_ref().err().cloned(),
        ..CertificateReply::default()
    };
    match found {
        Ok(found) => reply.with_certificate(certificate::as_json(&found)).expect("certificates have a fixed form"),
        Err(_) => reply,
    }
}

/// A pair as an argument of `querist certify`.
struct Pair {
    loss: String,
    rule: String,
    classes: Option<usize>,
}

impl Pair {
    fn certify(&self) -> Result<Certificate, String> {
        match self.classes {
            Some(classes) => certify_classes(&self.loss, &self.rule, classes).map_err(|error| error.to_string()),
            None => {
                Queried::parse(&self.loss, &self.rule).map(|pair| certify(&pair)).map_err(|error| error.to_string())
            }
        }
    }

    fn certified(&self) -> CertifiedPair {
        let classes = self.classes.map_or(String::new(), |classes| format!(" --classes {classes}"));
        let command = format!("querist certify '{}' '{}'{classes}", self.loss, self.rule);
        CertifiedPair { loss: self.loss.clone(), rule: self.rule.clone(), classes: self.classes, command }
    }
}

/// Returns whether this is the boundary rule at the scale of the pool.
fn is_in_units_of_the_pool(rule: &str) -> bool {
    Relative::parse(rule).is_some_and(|rule| rule.is_ok_and(|rule| rule.is_of_gaps()))
}

/// Returns the current pair, or the reason why there is none to certify.
fn pair(loss: &str, rule: &str, labels: Labels, scale: Option<Scale>) -> Result<Pair, &'static str> {
    if rule.starts_with("rare") {
        return Err("the rule searches for one class, so it is not an even function of the score and has no \
             certificate");
    }
    let rule = if is_in_units_of_the_pool(rule) { settled(scale) } else { rule.to_owned() };
    match labels {
        Labels::Numbers => Err("certificates exist only for classes, not for numbers"),
        Labels::Binary => Ok(Pair { loss: loss.to_owned(), rule, classes: None }),
        Labels::Classes(_) if loss != "cross-entropy" => Err("for more than two classes, only the cross entropy has \
             certificates"),
        Labels::Classes(classes) => Ok(Pair { loss: "softmax-cross-entropy".to_owned(), rule, classes: Some(classes) }),
    }
}

/// Returns the name of the boundary rule at the scale of the current model. Without a model, all items are equally
/// likely.
fn settled(scale: Option<Scale>) -> String {
    scale.unwrap_or_default().name()
}

fn objective(loss: &str, rule: &str, scale: Option<Scale>, is_relative: bool) -> String {
    let mut text = format!(
        "All answers have equal weight in the fit: it minimizes {loss} on the queried items, which {rule} chooses."
    );
    text += &match scale.filter(|scale| is_relative && scale.reach.is_finite()) {
        Some(Scale { reach, from, base, .. }) => {
            let (mu, floor) = (1.0 / reach, base / (1.0 + base));
            let beyond = if from == 0.0 { "g".to_owned() } else { format!("max(0, g − {from:.3})") };
            format!(
                "\nIts scale comes from the pool: with the current model, items are drawn in proportion to U = \
                 {floor:.3} + {:.3} e^(−{mu:.3} {beyond}), where g is the distance of the score from a tie. The \
                 numbers change with every fit; the claims are about this U.",
                1.0 - floor
            )
        }
        None if is_relative => {
            "\nThere is no model yet: the first items are drawn to cover the pool or at random, and the claims are \
             about random draws."
                .to_owned()
        }
        None => String::new(),
    };
    text + "\nThe claims hold for a learner that takes one step for each item asked in this way; fitting all answers \
         at once is another use of the same labels."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_have_exactly_the_fields_of_rendered_certificates() {
        let pairs = [
            ("logistic", "margin:mu=1", Labels::Binary),
            ("hinge", "margin:mu=1", Labels::Binary),
            ("squared-hinge", "margin:mu=1", Labels::Binary),
            ("exponential", "constant:p=1", Labels::Binary),
            ("cross-entropy", "constant:p=1", Labels::Classes(3)),
        ];
        for (loss, rule, labels) in pairs {
            let found = pair(loss, rule, labels, None).unwrap().certify().unwrap();
            let rendered = certificate::as_json(&found);
            let reply = serde_json::to_string(&reply(loss, rule, labels, None)).unwrap();
            for name in ["claims", "constants", "advice"] {
                assert!(reply.contains(&format!("\"{name}\":{}", rendered[name])), "{loss}, {rule}: {name} in {reply}");
            }
        }
    }

    #[test]
    fn a_forest_has_no_certificate() {
        let of = |model: &str| {
            let model = model.parse().unwrap();
            of("logistic".to_owned(), "margin:mu=1".to_owned(), Labels::Binary, Draw::Scan, model)(None)
        };
        let (forest, auto, linear) = (of("forest"), of("auto"), of("linear"));
        assert!(forest.why_not.unwrap().contains("no equivalent loss") && forest.claims.is_empty());
        assert!(auto.objective.contains("If the answers choose a forest") && !auto.claims.is_empty());
        assert!(!linear.objective.contains("forest") && !linear.claims.is_empty());
    }

    #[test]
    fn a_pair_without_a_certificate_has_a_reason() {
        let reply = reply("squared", "constant:p=1", Labels::Numbers, None);
        assert!(reply.why_not.is_some() && reply.certified.is_none() && reply.constants.is_none());
        assert!(reply.claims.is_empty() && reply.advice.is_empty());
    }
}
