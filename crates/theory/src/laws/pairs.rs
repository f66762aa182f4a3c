//! Laws of pairs: the equivalent loss, its link and its certificate.

use std::sync::Arc;

use super::certificates::{proved_claims_survive, witnesses_refute};
use super::{Broken, Law, agree, at_most, derivative, smooth_points, tries};
use crate::coordinate::{Bias, Probability};
use crate::equivalent::Queried;
use crate::link::Link;
use crate::lipschitz;
use crate::loss::{Loss, LossTask};
use crate::registry::Named;
use crate::risk::keeps_minimizer;
use crate::uncertainty::{Constant, Product, Uncertainty};

/// Every law of pairs.
pub static PAIR_LAWS: &[Law<Queried>] = &[
    Law { name: "a_number_everywhere", check: a_number_everywhere },
    Law { name: "slope_is_the_rule_times_the_slope", check: slope_is_the_product },
    Law { name: "slope_is_the_derivative", check: slope_is_the_derivative },
    Law { name: "curvature_is_the_derivative_of_the_slope", check: curvature_is_the_derivative },
    Law { name: "closed_form_is_the_quadrature", check: closed_form_is_the_quadrature },
    Law { name: "value_is_above_its_infimum", check: value_is_above_its_infimum },
    Law { name: "scaling_the_rule_scales_the_loss", check: scaling_the_rule_scales_the_loss },
    Law { name: "asking_twice_is_asking_by_the_product", check: asking_twice_is_asking_by_the_product },
    Law { name: "querying_commutes_with_the_logit", check: querying_commutes_with_the_logit },
    Law { name: "calibration_keeps_the_sign", check: calibration_keeps_the_sign },
    Law { name: "slope_is_within_its_lipschitz_constant", check: slope_is_within_its_lipschitz_constant },
    Law { name: "closed_link_is_the_integrated_link", check: closed_link_is_the_integrated_link },
    Law { name: "link_slope_is_the_derivative", check: link_slope_is_the_derivative },
    Law { name: "inverse_link_inverts", check: inverse_link_inverts },
    Law { name: "link_starts_as_the_rule_at_zero", check: link_starts_as_the_rule_at_zero },
    Law { name: "witnesses_refute", check: witnesses_refute },
    Law { name: "proved_claims_survive", check: proved_claims_survive },
];

/// Margins on either side of 0.
const MARGINS: [f64; 13] = [-700.0, -90.0, -12.0, -3.3, -1.2, -0.4, -1e-3, 1e-3, 0.3, 0.95, 1.7, 6.0, 33.0];

fn a_number_everywhere(pair: &Queried) -> Result<(), Broken> {
    for s in [0.0, 1.0, -1.0, 40.0, -40.0, 800.0, -800.0, 1e3, -1e3, 1e20, -1e20] {
        for (what, found) in [("value", pair.value(s)), ("slope", pair.slope(s))] {
            if found.is_nan() {
                return Err(Broken { what, at: s, found, expected: 0.0 });
            }
        }
    }
    Ok(())
}

fn slope_is_the_product(pair: &Queried) -> Result<(), Broken> {
    tries()
        .filter(|s| s.abs() < 60.0)
        .try_for_each(|s| agree("slope", s, pair.slope(s), pair.rule().at(s) * pair.loss().slope(s), 1e-14, 1e-300))
}

fn slope_is_the_derivative(pair: &Queried) -> Result<(), Broken> {
    let points: Vec<f64> = smooth_points(pair.kinks());
    points.into_iter().step_by(29).try_for_each(|s| {
        let numeric = derivative(&|t| pair.value(t), s, pair.kinks());
        // A difference of values is at most as accurate as their rounding error over its step.
        let noise = 1e-10 * pair.value(s).abs() / s.abs().min(1.0);
        agree("derivative of the value", s, numeric, pair.slope(s), 1e-7, noise)
    })
}

fn curvature_is_the_derivative(pair: &Queried) -> Result<(), Broken> {
    smooth_points(pair.kinks()).into_iter().try_for_each(|s| {
        let numeric = derivative(&|t| pair.slope(t), s, pair.kinks());
        let terms =
            (pair.rule().slope(s) * pair.loss().slope(s)).abs() + (pair.rule().at(s) * pair.loss().curvature(s)).abs();
        let noise = 1e-12 * pair.slope(s).abs() / s.abs().min(1.0) + 1e-7 * terms;
        agree("curvature", s, pair.curvature(s), numeric, 0.0, noise)
    })
}

fn closed_form_is_the_quadrature(pair: &Queried) -> Result<(), Broken> {
    if pair.closed_form().is_none() {
        return Ok(());
    }
    let plain = Queried::by_quadrature(pair.loss().clone(), pair.rule().clone());
    MARGINS.into_iter().filter(|s| pair.value(*s).is_finite()).try_for_each(|s| {
        let (Some(found), Some(expected)) = (pair.above_infimum(s), plain.above_infimum(s)) else {
            let rise = |pair: &Queried| pair.value(s) - pair.value(0.0);
            return agree("rise from 0", s, rise(pair), rise(&plain), 1e-11, 1e-13);
        };
        agree("value", s, found, expected, 1e-11, 1e-300)
    })
}

fn value_is_above_its_infimum(pair: &Queried) -> Result<(), Broken> {
    MARGINS.into_iter().try_for_each(|s| match pair.above_infimum(s) {
        Some(above) => at_most("0 against the value above its infimum", s, 0.0, above, 0.0),
        None => Ok(()),
    })
}

fn scaling_the_rule_scales_the_loss(pair: &Queried) -> Result<(), Broken> {
    let quarter: Arc<dyn Uncertainty> =
        Arc::new(Constant::new(0.25).unwrap_or_else(|_| unreachable!("1/4 is a probability")));
    let quarter = Named::own("quarter", quarter);
    let scaled = queried_by_product(pair, &quarter);
    MARGINS.into_iter().filter(|s| pair.value(*s).is_finite()).try_for_each(|s| {
        agree("slope", s, scaled.slope(s), 0.25 * pair.slope(s), 1e-12, 1e-300)?;
        let (Some(found), Some(whole)) = (scaled.above_infimum(s), pair.above_infimum(s)) else { return Ok(()) };
        agree("value", s, found, 0.25 * whole, 1e-11, 1e-300)
    })
}

fn asking_twice_is_asking_by_the_product(pair: &Queried) -> Result<(), Broken> {
    let again = pair.rule().clone();
    let once: Arc<dyn Loss> = Arc::new(Queried::new(pair.loss().clone(), pair.rule().clone()));
    let twice = Queried::new(Named::own("queried once", once), again.clone());
    let product = queried_by_product(pair, &again);
    MARGINS.into_iter().filter(|s| s.abs() < 100.0).try_for_each(|s| {
        agree("slope", s, twice.slope(s), product.slope(s), 1e-12, 1e-300)?;
        let rise = |pair: &Queried| pair.value(s) - pair.value(0.5);
        agree("rise from 1/2", s, rise(&twice), rise(&product), 1e-9, 1e-12)
    })
}

fn queried_by_product(pair: &Queried, by: &Named<dyn Uncertainty>) -> Queried {
    let product: Arc<dyn Uncertainty> = Arc::new(Product::new(pair.rule().clone(), by.clone()));
    Queried::new(pair.loss().clone(), Named::own("product", product))
}

fn querying_commutes_with_the_logit(pair: &Queried) -> Result<(), Broken> {
    if pair.loss_facts().task == LossTask::Regression {
        return Ok(());
    }
    let clear = |s: &f64| pair.kinks().iter().all(|k| 1e-6 < (s - k).abs());
    tries().filter(|s| 1e-3 < s.abs() && s.abs() < 15.0).filter(clear).take(1500).try_for_each(|s| {
        let at = Probability::of_margin(s);
        let stretch = 1.0 / (at.right * at.wrong);
        agree("slope in r", s, pair.slope_in_probability(at), pair.slope(s) * stretch, 1e-10, 0.0)?;
        let terms = (pair.curvature(s).abs() + pair.slope(s).abs()) * stretch * stretch;
        let curvature = (pair.curvature(s) + pair.slope(s) * (at.right - at.wrong)) * stretch * stretch;
        agree("curvature in r", s, pair.curvature_in_probability(at), curvature, 0.0, 1e-9 * terms)
    })
}

fn calibration_keeps_the_sign(pair: &Queried) -> Result<(), Broken> {
    if pair.loss_facts().task == LossTask::Regression {
        return Ok(());
    }
    for p in [0.02, 0.3, 0.5, 0.7, 0.999] {
        for s in tries().take(800).filter(|s| s.abs() < 30.0) {
            let risk_slope = |loss: &dyn Loss| p * loss.slope(s) - (1.0 - p) * loss.slope(-s);
            let (own, queried) = (risk_slope(&*pair.loss().object), risk_slope(pair));
            // Where the two sides of the loss nearly balance, rounding determines the sign.
            if own.abs() < 1e-12 * pair.loss().slope(-s.abs()).abs() {
                continue;
            }
            agree("sign of the risk's slope", s, queried.signum(), own.signum(), 0.0, 0.0)?;
            agree("slope of the risk", s, queried, own * pair.rule().at(s), 1e-9, 1e-300)?;
            if queried == 0.0 {
                return Err(Broken { what: "slope of the risk", at: s, found: queried, expected: own });
            }
        }
    }
    Ok(())
}

fn slope_is_within_its_lipschitz_constant(pair: &Queried) -> Result<(), Broken> {
    let Some(constant) = lipschitz::greatest_slope(pair) else { return Ok(()) };
    // Further out, the value of a user-defined rule may have underflowed to a few bits.
    tries()
        .filter(|s| s.abs() < 600.0)
        .try_for_each(|s| at_most("|slope|", s, pair.steepness(s), constant, 1e-9 * constant))?;
    let (Some((own, _)), Some(_)) = (&pair.loss_facts().lipschitz, &pair.rule_facts().bounded) else { return Ok(()) };
    at_most("the constant against U_max times the loss's", 0.0, constant, pair.rule_facts().max * own, 1e-12)
}

/// Biases from small to 1.
const BIASES: [f64; 8] = [1e-30, 1e-6, 0.01, 0.2, 0.5, 0.8, 0.99, 0.999999];

fn closed_link_is_the_integrated_link(pair: &Queried) -> Result<(), Broken> {
    let (Some(link), Some(integrated)) = (Link::new(pair), Link::by_identity(pair)) else { return Ok(()) };
    BIASES.into_iter().chain([1.0]).try_for_each(|z| {
        agree("link", z, link.value(z), integrated.value(z), 1e-11, 0.0)?;
        if z == 1.0 { Ok(()) } else { agree("link slope", z, link.slope(z), integrated.slope(z), 1e-11, 0.0) }
    })
}

fn link_slope_is_the_derivative(pair: &Queried) -> Result<(), Broken> {
    if !keeps_minimizer(pair) {
        return Ok(());
    }
    let Some(link) = Link::by_identity(pair) else { return Ok(()) };
    [0.05, 0.3, 0.61, 0.9].into_iter().try_for_each(|z| {
        let kinks: Vec<f64> = pair.kinks().iter().filter_map(|k| pair.loss().bias_of(k.abs())).map(|b| b.z).collect();
        let numeric = derivative(&|t| link.value(t), z, &[&kinks[..], &[0.0, 1.0]].concat());
        agree("derivative of the link", z, numeric, link.slope(z), 1e-6, 0.0)
    })
}

fn inverse_link_inverts(pair: &Queried) -> Result<(), Broken> {
    let Some(link) = Link::by_identity(pair).and(Link::new(pair)) else { return Ok(()) };
    BIASES.into_iter().filter(|z| 1e-300 < link.value(*z)).try_for_each(|z| {
        // Near 1 a link can be so flat relative to its value that z is determined only to the error of ψ over ψ′.
        let conditioning = 64.0 * f64::EPSILON * link.value(z) / link.slope(z);
        agree("inverse of the link", z, link.inverse(link.value(z)), z, 1e-13, conditioning)
    })?;
    agree("inverse beyond the end", 1.0, link.inverse(2.0 * link.value(1.0)), 1.0, 0.0, 0.0)
}

fn link_starts_as_the_rule_at_zero(pair: &Queried) -> Result<(), Broken> {
    let (Some(link), true) = (Link::new(pair), keeps_minimizer(pair)) else { return Ok(()) };
    let z = 1e-9;
    let Some(own) = pair.loss().link(Bias::new(z)) else { return Ok(()) };
    // The next term of ψ̃/ψ is of the order of the rule's rate times z.
    agree("ψ̃/ψ at 1e-9", z, link.value(z) / own.value, pair.rule().at(0.0), 2e-6, 0.0)
}
