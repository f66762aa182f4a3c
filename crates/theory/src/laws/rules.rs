//! Laws of rules.

use super::{Broken, Law, agree, at_most, derivative, smooth_points, tries};
use crate::coordinate::Probability;
use crate::numeric::search::probes;
use crate::uncertainty::{Uncertainty, UncertaintyFacts};

/// Every law of rules.
pub static RULE_LAWS: &[Law<dyn Uncertainty>] = &[
    Law { name: "between_zero_and_its_maximum", check: between_zero_and_its_maximum },
    Law { name: "even", check: even },
    Law { name: "slope_is_the_derivative", check: slope_is_the_derivative },
    Law { name: "kinks_and_jumps_are_declared", check: kinks_and_jumps_are_declared },
    Law { name: "claimed_falling_falls", check: claimed_falling_falls },
    Law { name: "maximum_is_reached_at_zero", check: maximum_is_reached_at_zero },
    Law { name: "claimed_positive_is_positive", check: claimed_positive_is_positive },
    Law { name: "claimed_zero_is_zero", check: claimed_zero_is_zero },
    Law { name: "declared_decay_bounds_hold", check: declared_decay_bounds_hold },
    Law { name: "logarithm_is_the_logarithm", check: logarithm_is_the_logarithm },
    Law { name: "probability_is_seen_through_the_logit", check: probability_is_seen_through_the_logit },
];

fn between_zero_and_its_maximum(rule: &dyn Uncertainty) -> Result<(), Broken> {
    let UncertaintyFacts { max, floor, .. } = rule.facts();
    let far = [1e3, -1e3, 1e20, -1e20, f64::INFINITY, f64::NEG_INFINITY];
    tries().chain(far).try_for_each(|v| {
        let (u, slope) = (rule.at(v), rule.slope(v));
        if u.is_nan() || (v.is_finite() && slope.is_nan()) {
            return Err(Broken { what: "U or its slope", at: v, found: f64::NAN, expected: 0.0 });
        }
        at_most("the floor against U", v, floor, u, 4.0 * f64::EPSILON * floor)?;
        at_most("U", v, u, max, 4.0 * f64::EPSILON * max)
    })
}

fn even(rule: &dyn Uncertainty) -> Result<(), Broken> {
    tries().try_for_each(|v| {
        agree("U(v) against U(-v)", v, rule.at(v), rule.at(-v), 1e-12, 0.0)?;
        agree("U'(v) against -U'(-v)", v, rule.slope(v), -rule.slope(-v), 1e-12, 1e-300)
    })
}

fn slope_is_the_derivative(rule: &dyn Uncertainty) -> Result<(), Broken> {
    let kinks = rule.facts().kinks;
    smooth_points(&kinks).into_iter().try_for_each(|v| {
        let numeric = derivative(&|t| rule.at(t), v, &kinks);
        let noise = 1e-12 * rule.at(v) / v.abs().min(1.0);
        agree("slope", v, rule.slope(v), numeric, 1e-7, noise)
    })
}

fn kinks_and_jumps_are_declared(rule: &dyn Uncertainty) -> Result<(), Broken> {
    let facts = rule.facts();
    for jump in &facts.jumps {
        agree("jump among kinks", *jump, f64::from(u8::from(facts.kinks.contains(jump))), 1.0, 0.0, 0.0)?;
    }
    probes(&facts.jumps).into_iter().filter(|v| v.abs() < 500.0).try_for_each(|v| {
        let clear = facts.kinks.iter().map(|k| (v - k).abs()).filter(|gap| 0.0 < *gap).fold(1.0, f64::min);
        let h = 1e-8 * clear.min(v.abs().max(1e-3));
        let steepness = rule.slope(v).abs().max(rule.slope(v - h).abs()).max(rule.slope(v + h).abs());
        agree("U before and after", v, rule.at(v - h), rule.at(v + h), 1e-12, 4.0 * h * steepness)?;
        if facts.kinks.contains(&v) {
            return Ok(());
        }
        agree("one-sided slopes", v, rule.slope(v - h), rule.slope(v + h), 1e-5, 1e-6 * rule.at(v))
    })
}

fn claimed_falling_falls(rule: &dyn Uncertainty) -> Result<(), Broken> {
    if rule.facts().falling.is_none() {
        return Ok(());
    }
    let mut sizes: Vec<f64> = tries().map(f64::abs).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.windows(2).try_for_each(|pair| {
        let (near, far) = (rule.at(pair[0]), rule.at(pair[1]));
        at_most("U further out", pair[1], far, near, 4.0 * f64::EPSILON * near)
    })
}

fn maximum_is_reached_at_zero(rule: &dyn Uncertainty) -> Result<(), Broken> {
    let facts = rule.facts();
    if facts.falling.is_none() {
        return Ok(());
    }
    agree("U(0) against the maximum", 0.0, rule.at(0.0), facts.max, 4.0 * f64::EPSILON, 0.0)
}

fn claimed_positive_is_positive(rule: &dyn Uncertainty) -> Result<(), Broken> {
    let facts = rule.facts();
    tries().filter(|v| facts.positive.is_some() || (facts.positive_near_zero.is_some() && v.abs() < 1e-4)).try_for_each(
        // The logarithm distinguishes a small U from zero.
        |v| {
            if f64::NEG_INFINITY < rule.log_at(v) || rule.at(v) == 0.0 && 26.0 < v.abs() {
                Ok(())
            } else {
                Err(Broken { what: "U", at: v, found: rule.at(v), expected: f64::MIN_POSITIVE })
            }
        },
    )
}

fn claimed_zero_is_zero(rule: &dyn Uncertainty) -> Result<(), Broken> {
    let facts = rule.facts();
    if let Some(zero) = facts.zero_at {
        agree("U at its zero", zero, rule.at(zero), 0.0, 0.0, 0.0)?;
    }
    let Some(edge) = facts.support else { return Ok(()) };
    tries().filter(|v| edge < v.abs()).try_for_each(|v| agree("U beyond its support", v, rule.at(v), 0.0, 0.0, 0.0))
}

fn declared_decay_bounds_hold(rule: &dyn Uncertainty) -> Result<(), Broken> {
    let facts = rule.facts();
    tries().map(f64::abs).filter(|a| *a < 600.0 && 1e-290 < rule.at(*a)).try_for_each(|a| {
        let rate = -rule.slope(a) / rule.at(a);
        for bound in &facts.decay_at_most {
            at_most("decay against its upper bound", a, rate, bound.rate.at(a), 1e-10 * (1.0 + rate.abs()))?;
        }
        for bound in &facts.decay_at_least {
            at_most("lower bound of the decay", a, bound.rate.at(a), rate, 1e-10 * (1.0 + rate.abs()))?;
        }
        Ok(())
    })
}

fn logarithm_is_the_logarithm(rule: &dyn Uncertainty) -> Result<(), Broken> {
    tries()
        .filter(|v| 1e-300 < rule.at(*v))
        .try_for_each(|v| agree("log U", v, rule.log_at(v), rule.at(v).ln(), 1e-12, 1e-12))
}

fn probability_is_seen_through_the_logit(rule: &dyn Uncertainty) -> Result<(), Broken> {
    let kinks = rule.facts().kinks;
    let clear = |s: &f64| kinks.iter().all(|k| 1e-6 < (s - k).abs());
    tries().filter(|s| 1e-3 < s.abs() && s.abs() < 20.0).filter(clear).try_for_each(|s| {
        let at = Probability::of_margin(s);
        let (u, slope) = rule.in_probability(at);
        let stretch = 1.0 / (at.right * at.wrong);
        agree("U in r", s, u, rule.at(s), 1e-11, 0.0)?;
        agree("slope in r", s, slope, rule.slope(s) * stretch, 1e-10, 0.0)
    })
}
