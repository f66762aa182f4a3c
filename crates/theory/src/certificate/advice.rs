//! The practical consequences of a certificate, in plain words for the user.

use super::{Certificate, Claim, Verdict};
use crate::coordinate::Coordinate;
use crate::equivalent::Queried;
use crate::loss::LossTask;
use crate::uncertainty::{self, least_critical_rate};

pub(super) fn advise(pair: &Queried, certificate: &Certificate) -> Vec<String> {
    let mut advice = vec![on_convexity(pair, certificate)];
    advice.extend(on_calibration(pair, certificate));
    advice.extend(on_positivity(pair, certificate));
    advice.extend(on_probability(pair, certificate));
    advice.extend(on_slope(pair, certificate));
    advice.extend(uncertainty::assumption(pair.rule()));
    advice
}

fn on_convexity(pair: &Queried, certificate: &Certificate) -> String {
    if pair.loss_facts().task == LossTask::Regression {
        return match certificate.verdict(Claim::ConvexInScore) {
            Verdict::Proved(_) => "convex for every target: asking at random changes the pace, not the goal".to_owned(),
            _ => "not convex for every target: a rule that looks at the prediction alone favors some targets over \
                  others; ask in proportion to the estimated squared error instead"
                .to_owned(),
        };
    }
    match certificate.verdict(Claim::ConvexInScore) {
        Verdict::Proved(_) => "convex in the score: a linear model reaches the same objective from every start, and \
                               the bounds of `querist plan` apply"
            .to_owned(),
        Verdict::Refuted(_) => {
            format!("not convex in the score: what you get depends on where you start; {}", on_critical(pair))
        }
        Verdict::Unknown { .. } => {
            "convexity in the score is open: no theorem shows it and no counterexample was found; \
                                    do not rely on the bounds of `querist plan`"
                .to_owned()
        }
    }
}

fn on_critical(pair: &Queried) -> String {
    if uncertainty::parse("critical", pair.loss()).is_err() {
        return "no rule that asks less where the model is sure makes this loss convex; choose a convex loss, such as \
                logistic or squared-hinge"
            .to_owned();
    }
    match least_critical_rate(&*pair.loss().object) {
        Some(1.0) => {
            "no rule that asks less where the model is sure keeps this loss convex; choose another loss, such \
                      as squared-hinge"
                .to_owned()
        }
        Some(0.5) => "`critical` is the sharpest rule that avoids this, and asks at least half the time".to_owned(),
        Some(rate) if 0.0 < rate => {
            format!("`critical` is the sharpest rule that avoids this, and asks with probability at least {rate}")
        }
        _ => "`critical` is the sharpest rule that avoids this".to_owned(),
    }
}

fn on_calibration(pair: &Queried, certificate: &Certificate) -> Option<String> {
    let regression = pair.loss_facts().task == LossTask::Regression;
    match certificate.verdict(Claim::Calibrated) {
        Verdict::Proved(_) if regression => {
            Some("at one feature the best prediction is still the mean of the label".to_owned())
        }
        Verdict::Proved(_) => {
            let constants = &certificate.constants;
            let start = match (constants.psi_coefficient, constants.psi_power) {
                (Some(c), Some(1)) => format!("excess risk ε costs at most {} in error rate", excess_over(c).0),
                (Some(c), _) => format!("a small excess risk ε costs about {} in error rate", excess_over(c).1),
                _ => "excess risk bounds excess error".to_owned(),
            };
            Some(format!("calibrated: at one feature it still decides for the likelier label; {start}"))
        }
        Verdict::Refuted(_) => Some("not calibrated: its minimizer can decide for the less likely label".to_owned()),
        Verdict::Unknown { .. } => None,
    }
}

fn on_positivity(pair: &Queried, certificate: &Certificate) -> Option<String> {
    let Verdict::Refuted(_) = certificate.verdict(Claim::Positive) else { return None };
    Some(format!(
        "some items are never asked for: a model that is sure of everything stops learning, right or wrong; \
         `mix:rule={},floor=0.05` keeps every item a chance",
        pair.rule().name
    ))
}

fn on_probability(pair: &Queried, certificate: &Certificate) -> Option<String> {
    let Verdict::Refuted(witness) = certificate.verdict(Claim::Probability) else { return None };
    Some(format!(
        "`{}` reaches {:.4}, so it is not a probability; it can rank or weight, but not flip a coin",
        pair.rule().name,
        witness.found
    ))
}

fn on_slope(pair: &Queried, certificate: &Certificate) -> Option<String> {
    let Verdict::Refuted(_) = certificate.verdict(Claim::Lipschitz) else { return None };
    let facts = pair.loss_facts();
    let coordinate = match (facts.task, facts.coordinate) {
        (LossTask::Regression, _) => "target",
        (LossTask::Classification, Coordinate::Score) => "score",
        (LossTask::Classification, Coordinate::Probability) => "probability",
    };
    Some(format!(
        "its slope is unbounded in the {coordinate}: bounds that need a gradient bound G hold only on a bounded set \
         of parameters"
    ))
}

/// Formats ε/c and its root, as `ε/0.3466` and `√(ε/0.3466)`, or just `ε` and `√ε`.
fn excess_over(coefficient: f64) -> (String, String) {
    let rounded = (coefficient * 1e4).round() / 1e4;
    if rounded == 1.0 {
        return ("ε".to_owned(), "√ε".to_owned());
    }
    (format!("ε/{rounded}"), format!("√(ε/{rounded})"))
}
