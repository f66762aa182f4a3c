//! Laws of losses.

use super::{Broken, Law, agree, at_most, derivative, smooth_points, tries};
use crate::coordinate::{Bias, Coordinate, Probability};
use crate::loss::{Loss, LossTask};
use crate::numeric::search::probes;

/// Every law of losses.
pub static LOSS_LAWS: &[Law<dyn Loss>] = &[
    Law { name: "a_number_everywhere", check: a_number_everywhere },
    Law { name: "slope_is_the_derivative", check: slope_is_the_derivative },
    Law { name: "curvature_is_the_derivative_of_the_slope", check: curvature_is_the_derivative },
    Law { name: "kinks_are_declared", check: kinks_are_declared },
    Law { name: "value_is_continuous", check: value_is_continuous },
    Law { name: "drop_is_the_difference", check: drop_is_the_difference },
    Law { name: "claimed_convex_is_convex", check: claimed_convex_is_convex },
    Law { name: "claimed_decreasing_is_decreasing", check: claimed_decreasing_is_decreasing },
    Law { name: "claimed_lipschitz_constant_holds", check: claimed_lipschitz_constant_holds },
    Law { name: "declared_rates_are_the_rates", check: declared_rates_are_the_rates },
    Law { name: "minimizer_minimizes", check: minimizer_minimizes },
    Law { name: "link_is_the_cost_of_the_wrong_side", check: link_is_the_cost_of_the_wrong_side },
    Law { name: "probability_is_seen_through_the_logit", check: probability_is_seen_through_the_logit },
];

fn a_number_everywhere(loss: &dyn Loss) -> Result<(), Broken> {
    let far = [1e3, -1e3, 1e20, -1e20];
    for s in probes(&loss.facts().kinks).into_iter().chain(far) {
        for (what, found) in [("value", loss.value(s)), ("slope", loss.slope(s)), ("curvature", loss.curvature(s))] {
            if found.is_nan() || (s.abs() <= 700.0 && found.is_infinite()) {
                return Err(Broken { what, at: s, found, expected: 0.0 });
            }
        }
    }
    Ok(())
}

fn slope_is_the_derivative(loss: &dyn Loss) -> Result<(), Broken> {
    let kinks = loss.facts().kinks;
    smooth_points(&kinks).into_iter().try_for_each(|s| {
        let numeric = derivative(&|t| loss.value(t), s, &kinks);
        let noise = 1e-12 * loss.value(s).abs() / s.abs().min(1.0);
        agree("slope", s, loss.slope(s), numeric, 1e-8, noise)
    })
}

fn curvature_is_the_derivative(loss: &dyn Loss) -> Result<(), Broken> {
    let kinks = loss.facts().kinks;
    smooth_points(&kinks).into_iter().try_for_each(|s| {
        let numeric = derivative(&|t| loss.slope(t), s, &kinks);
        let noise = 1e-12 * loss.slope(s).abs() / s.abs().min(1.0);
        agree("curvature", s, loss.curvature(s), numeric, 1e-8, noise)
    })
}

fn kinks_are_declared(loss: &dyn Loss) -> Result<(), Broken> {
    let kinks = loss.facts().kinks;
    probes(&kinks).into_iter().filter(|s| s.abs() < 700.0 && !kinks.contains(s)).try_for_each(|s| {
        let clear = kinks.iter().map(|k| (s - k).abs()).fold(1.0, f64::min);
        let h = 1e-7 * s.abs().max(1e-3).min(clear);
        let (before, after) = (loss.slope(s - h), loss.slope(s + h));
        let smooth = 4.0 * h * loss.curvature(s).abs();
        agree("one-sided slopes", s, before, after, 1e-6, smooth + 1e-300)
    })
}

fn value_is_continuous(loss: &dyn Loss) -> Result<(), Broken> {
    loss.facts().kinks.into_iter().try_for_each(|kink| {
        let scale = 1e-9 * (1.0 + loss.value(kink).abs());
        agree("value before", kink, loss.value(kink - 1e-10), loss.value(kink), 0.0, scale)?;
        agree("value after", kink, loss.value(kink + 1e-10), loss.value(kink), 0.0, scale)
    })
}

fn drop_is_the_difference(loss: &dyn Loss) -> Result<(), Broken> {
    tries().take(2000).try_for_each(|s| {
        let t = s + s.abs().min(3.0);
        let (high, low) = (loss.value(s), loss.value(t));
        if !high.is_finite() {
            return Ok(());
        }
        agree("drop", s, loss.drop_between(s, t), high - low, 1e-13, 1e-15 * (high.abs() + low.abs()))
    })
}

fn claimed_convex_is_convex(loss: &dyn Loss) -> Result<(), Broken> {
    if loss.facts().convex.is_none() {
        return Ok(());
    }
    let mut points: Vec<f64> = tries().collect();
    points.sort_by(f64::total_cmp);
    points.windows(2).try_for_each(|pair| {
        at_most("slope before a later one", pair[0], loss.slope(pair[0]), loss.slope(pair[1]), 1e-15)
    })
}

fn claimed_decreasing_is_decreasing(loss: &dyn Loss) -> Result<(), Broken> {
    if loss.facts().decreasing.is_none() {
        return Ok(());
    }
    tries().try_for_each(|s| at_most("slope", s, loss.slope(s), 0.0, 0.0))
}

fn claimed_lipschitz_constant_holds(loss: &dyn Loss) -> Result<(), Broken> {
    let facts = loss.facts();
    let Some((constant, _)) = facts.lipschitz else { return Ok(()) };
    tries().try_for_each(|s| {
        let steepness = match facts.coordinate {
            Coordinate::Score => loss.slope(s),
            Coordinate::Probability => loss.in_probability(Probability::of_margin(s)).slope,
        };
        at_most("|slope|", s, steepness.abs(), constant, 1e-12 * constant)
    })
}

fn declared_rates_are_the_rates(loss: &dyn Loss) -> Result<(), Broken> {
    let facts = loss.facts();
    let rate = |s: f64| loss.curvature(s) / loss.slope(s).abs();
    tries().filter(|s| s.abs() < 600.0).try_for_each(|s| {
        if let (Some(left), true) = (&facts.rate_left, s < 0.0) {
            agree("rate on the left", s, rate(s), left.rate.at(-s), 1e-12, 1e-280)?;
        }
        if let (Some(right), true) = (&facts.rate_right, 0.0 < s && loss.slope(s) != 0.0) {
            at_most("bound on the right", s, right.rate.at(s), rate(s), 1e-12)?;
        }
        Ok(())
    })
}

fn minimizer_minimizes(loss: &dyn Loss) -> Result<(), Broken> {
    for i in 1..100 {
        let bias = Bias::new(f64::from(i) / 100.0);
        let Some(best) = loss.minimizer(bias) else { return Ok(()) };
        let risk = |s: f64| 0.5 * (1.0 + bias.z) * loss.value(s) + 0.5 * bias.gap * loss.value(-s);
        for other in [best - 0.1, best + 0.1, best - 1e-3, best + 1e-3, 0.0, -best] {
            at_most("risk at s* against a neighbor", bias.z, risk(best), risk(other), 1e-15)?;
        }
        if let Some(back) = loss.bias_of(best) {
            agree("bias of the minimizer", bias.z, back.z, bias.z, 1e-13, 0.0)?;
            agree("gap of the minimizer", bias.z, back.gap, bias.gap, 1e-13, 1e-15)?;
        }
    }
    Ok(())
}

fn link_is_the_cost_of_the_wrong_side(loss: &dyn Loss) -> Result<(), Broken> {
    for i in 1..95 {
        let bias = Bias::new(f64::from(i) / 100.0);
        let (Some(link), Some(best)) = (loss.link(bias), loss.minimizer(bias)) else { return Ok(()) };
        let risk = 0.5 * (1.0 + bias.z) * loss.value(best) + 0.5 * bias.gap * loss.value(-best);
        agree("link", bias.z, link.value, loss.value(0.0) - risk, 1e-12, 1e-14)?;
        let of = |pick: fn(crate::coordinate::Jet) -> f64| {
            derivative(&|z| loss.link(Bias::new(z)).map_or(f64::NAN, pick), bias.z, &[0.0, 1.0])
        };
        agree("link slope", bias.z, link.slope, of(|jet| jet.value), 1e-6, 0.0)?;
        agree("link curvature", bias.z, link.curvature, of(|jet| jet.slope), 1e-5, 1e-9)?;
    }
    Ok(())
}

fn probability_is_seen_through_the_logit(loss: &dyn Loss) -> Result<(), Broken> {
    if loss.facts().task == LossTask::Regression {
        return Ok(());
    }
    tries().filter(|s| s.abs() < 20.0 && 1e-3 < s.abs()).try_for_each(|s| {
        let at = Probability::of_margin(s);
        let jet = loss.in_probability(at);
        let stretch = 1.0 / (at.right * at.wrong);
        agree("value in r", s, jet.value, loss.value(s), 1e-12, 0.0)?;
        agree("slope in r", s, jet.slope, loss.slope(s) * stretch, 1e-12, 0.0)?;
        let terms = (loss.curvature(s).abs() + loss.slope(s).abs()) * stretch * stretch;
        let curvature = (loss.curvature(s) + loss.slope(s) * (at.right - at.wrong)) * stretch * stretch;
        agree("curvature in r", s, jet.curvature, curvature, 0.0, 1e-12 * terms)
    })
}
