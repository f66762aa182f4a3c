//! Proofs that an equivalent loss is convex (§4.2, label subsec:convexity).
//!
//! ℓ̃″ = U′ℓ′ + Uℓ″. On the right side of the boundary both factors of U·|ℓ′| fall. On the wrong side the loss
//! steepens at the rate c(a) and the rule decays at the rate d(a). There ℓ̃ is convex exactly if d ≤ c.

use crate::certificate::Proof;
use crate::equivalent::Queried;
use crate::rate::Rate;

/// Proves that the equivalent loss is convex in the score, if a rule applies.
pub fn prove_in_score(pair: &Queried) -> Option<Proof> {
    let (loss, rule) = (pair.loss_facts(), pair.rule_facts());
    let convex = loss.convex.clone()?;
    // A falling rule that decays at most at the rate 0 is constant.
    let still = rule.decay_at_most.iter().find(|bound| bound.rate == Rate::zero() && rule.falling.is_some());
    if let Some(still) = still {
        return Some(Proof { rule: "a constant multiple of a convex loss", from: vec![convex, still.because.clone()] });
    }
    let decreasing = loss.decreasing.clone()?;
    let (bounded, falling) = (rule.bounded.clone()?, rule.falling.clone()?);
    // At a jump of a falling rule, the slope jumps down on the wrong side.
    if !rule.jumps.is_empty() {
        return None;
    }
    if rule.levels.as_ref() == Some(&pair.loss().name) {
        return Some(Proof {
            rule: "U|ℓ′| never rises in s: both factors fall for s > 0, and the rule was made to keep it level for s < 0",
            from: vec![convex, decreasing, bounded, falling],
        });
    }
    let steepens = loss.rate_left.as_ref()?;
    let fades = rule.decay_at_most.iter().find(|fades| steepens.rate.minus(&fades.rate).is_nonnegative())?;
    Some(Proof {
        rule: "U|ℓ′| never rises in s: both factors fall for s > 0, and for s < 0 the loss steepens at least as fast as the rule fades",
        from: vec![convex, decreasing, bounded, falling, steepens.because.clone(), fades.because.clone()],
    })
}

/// Proves convexity in the modeled probability of the label that occurred, if a rule applies.
pub fn prove_in_probability(pair: &Queried) -> Option<Proof> {
    let (loss, rule) = (pair.loss_facts(), pair.rule_facts());
    let (convex, decreasing) = (loss.convex.clone()?, loss.decreasing.clone()?);
    let (bounded, falling) = (rule.bounded.clone()?, rule.falling.clone()?);
    // At a jump of a falling rule, the slope jumps down on the wrong side.
    if !rule.jumps.is_empty() {
        return None;
    }
    // ds/dr = 1/(r(1 − r)) has the logarithmic slope r − (1 − r) = ±tanh(a/2) in s, and tanh(a/2) = 1 − 2σ(−a).
    let stretch = Rate::sigmoid(1.0, -2.0);
    let (left, right) = (loss.rate_left.as_ref()?, loss.rate_right.as_ref()?);
    let flattens = right.rate.minus(&stretch).is_nonnegative();
    let fades = rule
        .decay_at_most
        .iter()
        .find(|fades| left.rate.plus(&stretch).minus(&fades.rate).is_nonnegative())
        .filter(|_| flattens)?;
    Some(Proof {
        rule: "U|dℓ/dr| never rises in r: the logit's stretch tanh(a/2) helps where s < 0 and is outweighed by the loss where s > 0",
        from: vec![
            convex,
            decreasing,
            bounded,
            falling,
            left.because.clone(),
            right.because.clone(),
            fades.because.clone(),
        ],
    })
}
