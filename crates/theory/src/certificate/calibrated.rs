//! Calibration: a proof from facts, or a bias at which an enclosure shows that a wrong decision costs nothing.

use super::scalar::{proved, unknown};
use super::{Verdict, Witness};
use crate::equivalent::Queried;
use crate::link::{Effort, EnclosedRisk};
use crate::loss::LossTask;

/// The label biases at which ψ is enclosed: nearly 0, nearly 1, exactly 1, and some between.
const BIASES: [f64; 6] = [1.0, 0.5, 0.25, 0.75, 1.0 / 64.0, 63.0 / 64.0];

pub(super) fn calibrated(pair: &Queried) -> Verdict {
    let (loss, rule) = (pair.loss_facts(), pair.rule_facts());
    if loss.task == LossTask::Regression {
        return calibrated_regression(pair);
    }
    if let (Some(convex), Some(falls), Some(bounded), Some(near)) =
        (&loss.convex, &loss.falls_at_zero, &rule.bounded, &rule.positive_near_zero)
    {
        return proved(
            "C̃′ = U·C′ keeps the sign of C′: the best wrong-side prediction is 0, and near 0 the right side is better",
            vec![convex.clone(), falls.clone(), bounded.clone(), near.clone()],
        );
    }
    let risk = EnclosedRisk::new(pair, Effort::QUICK);
    let enclosed = BIASES.map(|z| (z, risk.cost_of_wrong_side(z)));
    match enclosed.iter().find(|(_, cost)| cost.high == 0.0) {
        Some((z, cost)) => Verdict::Refuted(Witness {
            at: vec![*z],
            coordinates: "z",
            quantity: "ψ(z), what being wrong costs at label bias z",
            found: 0.0,
            relation: ">",
            needed: 0.0,
            enclosure: Some(*cost),
            because: vec!["no prediction of the right sign has a smaller conditional risk than the best other".into()],
        }),
        None if enclosed.iter().all(|(_, cost)| 0.0 < cost.low) => {
            unknown(format!("ψ > 0 is enclosed at {} biases; no theorem covers the others", BIASES.len()))
        }
        None => unknown("no theorem covers this pair, and no enclosure of ψ is exactly 0"),
    }
}

fn calibrated_regression(pair: &Queried) -> Verdict {
    let rule = pair.rule_facts();
    // U may be zero at a single point, but not on an interval.
    match (&rule.positive, rule.support) {
        (Some(positive), _) => proved(
            "the slope of the conditional risk is 2U(ŷ)(ŷ − E[y]), so the conditional mean stays its only minimizer",
            vec![positive.clone()],
        ),
        (None, Some(edge)) => Verdict::Refuted(Witness {
            at: vec![2.0 * edge],
            coordinates: "prediction",
            quantity: "slope of the conditional risk at a prediction that is 1 below the conditional mean",
            found: 0.0,
            relation: "<",
            needed: 0.0,
            enclosure: None,
            because: vec![
                format!("U = 0 beyond |s| = {edge}").into(),
                "nothing is asked there, so a wrong prediction is not corrected".into(),
            ],
        }),
        (None, None) => unknown("whether U > 0 everywhere is not known"),
    }
}
