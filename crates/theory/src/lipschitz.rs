//! Bounds on the slope of an equivalent loss (Appendix "Lipschitzness", errata 9 and 12).

use crate::certificate::Proof;
use crate::coordinate::Coordinate;
use crate::equivalent::Queried;
use crate::loss::{LossFacts, LossTask};
use crate::numeric::search::{maximum, probes};
use crate::rate::{Bound, Growth, Rate};
use crate::uncertainty::UncertaintyFacts;

/// Proves that the equivalent loss has a Lipschitz constant in its own coordinate, if a rule applies.
pub fn prove(pair: &Queried) -> Option<Proof> {
    let (loss, rule) = (pair.loss_facts(), pair.rule_facts());
    let bounded = rule.bounded.clone()?;
    if let Some((_, because)) = &loss.lipschitz {
        return Some(Proof {
            rule: "|ℓ̃′| = U|ℓ′| is at most U_max times the loss's own constant",
            from: vec![because.clone(), bounded],
        });
    }
    if loss.task == LossTask::Regression {
        return None;
    }
    if let Some(edge) = rule.support {
        return Some(Proof {
            rule: "U is 0 outside a band, on which the slope of a convex loss is bounded, in s as in r",
            from: vec![format!("U = 0 beyond |s| = {edge}").into(), loss.convex.clone()?],
        });
    }
    let (convex, decreasing) = (loss.convex.clone()?, loss.decreasing.clone()?);
    let steepens = native_rate(loss)?;
    let fades = rule.decay_at_least.iter().find(|fades| is_bounded(&steepens.rate.minus(&fades.rate)))?;
    Some(Proof {
        rule: "for s > 0 |ℓ′| is at most |ℓ′(0)|, and for s < 0 the rule fades as fast as the loss steepens, up to a factor that stays bounded",
        from: vec![convex, decreasing, bounded, steepens.because.clone(), fades.because.clone()],
    })
}

/// Proves from the rates that no constant works, if a rule applies.
pub fn refute(loss: &LossFacts, rule: &UncertaintyFacts) -> Option<Proof> {
    let steepens = native_rate(loss)?;
    if 0.0 < rule.floor && steepens.rate.growth() == Growth::Unbounded {
        return Some(Proof {
            rule: "|ℓ′| exceeds every bound for s → −∞, and the rule never falls below its floor",
            from: vec![steepens.because, format!("U ≥ {}", rule.floor).into()],
        });
    }
    let fades =
        rule.decay_at_most.iter().find(|fades| steepens.rate.minus(&fades.rate).growth() == Growth::Unbounded)?;
    Some(Proof {
        rule: "for s → −∞ the loss steepens faster than the rule fades, so U|ℓ′| exceeds every bound",
        from: vec![steepens.because, fades.because.clone()],
    })
}

/// Returns the largest |ℓ̃′| in the pair's own coordinate, infinite if unbounded; `None` if neither is known.
///
/// Its existence is proved. Its value comes from a search, and from the limit at −∞ where the rates determine it.
pub fn greatest_slope(pair: &Queried) -> Option<f64> {
    let (loss, rule) = (pair.loss_facts(), pair.rule_facts());
    if loss.task == LossTask::Regression || refute(loss, rule).is_some() {
        return Some(f64::INFINITY);
    }
    prove(pair)?;
    let mut points = probes(&[]);
    points.extend(pair.kinks());
    if loss.coordinate == Coordinate::Score {
        points.extend([-1e15, -1e12, -1e9, -1e6]);
    } else {
        // Further out the probability of the label has underflowed.
        points.retain(|s| s.abs() < 600.0);
    }
    // A U close to underflow has lost its digits.
    points.retain(|s| {
        let u = pair.rule().at(*s);
        u == 0.0 || 1e-290 <= u
    });
    points.sort_by(f64::total_cmp);
    let (_, seen) = maximum(&|s| pair.steepness(s), &points)?;
    let limit = native_rate(loss).and_then(|steepens| {
        let is_exact = |least: &&Bound| rule.decay_at_most.iter().any(|most| most.rate == least.rate);
        let exact = rule.decay_at_least.iter().find(is_exact)?;
        match steepens.rate.minus(&exact.rate).growth() {
            Growth::Limit(limit) => Some(limit * pair.steepness(0.0)),
            Growth::Unbounded => None,
        }
    });
    Some(limit.map_or(seen, |limit| seen.max(limit)))
}

/// Returns ℓ″/|ℓ′| at s = −a for the slope in the loss's own coordinate.
fn native_rate(loss: &LossFacts) -> Option<Bound> {
    let rate = loss.rate_left.as_ref()?;
    Some(match loss.coordinate {
        Coordinate::Score => rate.clone(),
        // |dℓ/dr| = |ℓ′|/(r(1 − r)), and 1/(r(1 − r)) grows at the rate tanh(a/2) = 1 − 2σ(−a).
        Coordinate::Probability => {
            Bound::new(rate.rate.plus(&Rate::sigmoid(1.0, -2.0)), format!("{}; ds/dr adds tanh(a/2)", rate.because))
        }
    })
}

fn is_bounded(rate: &Rate) -> bool {
    matches!(rate.growth(), Growth::Limit(_))
}
