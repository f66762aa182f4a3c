//! The equivalent loss: querying a loss by a rule gives a loss (label `eq:key_ODE`).
//!
//! Querying with probability U turns the mean gradient of ℓ into U·∇ℓ, which is the gradient of ℓ̃. The slope is
//! therefore known exactly. The value is a closed form where one is known, and quadrature of the slope elsewhere.

use crate::convexity;
use crate::coordinate::{Bias, Coordinate, Jet, Label, Probability};
use crate::expression::{Enclosure, Interval};
use crate::lipschitz;
use crate::loss::{Ground, Loss, LossFacts, LossTask};
use crate::numeric::quadrature::{integrate, integrate_outwards, integrate_to_infinity};
use crate::pair::{self, ClosedForm};
use crate::rate::Bound;
use crate::registry::{NameError, Named};
use crate::uncertainty::{self, Uncertainty, UncertaintyFacts};

/// The equivalent loss of `loss` queried by `rule`: slope U·ℓ′.
///
/// ```
/// use querist_theory::{equivalent::Queried, loss::Loss};
///
/// let pair = Queried::parse("squared-hinge", "margin:mu=1")?;
/// assert_eq!((pair.rule().at(-3.0), pair.loss().slope(-3.0)), (0.25, -8.0));
/// assert_eq!(pair.slope(-3.0), -2.0);
/// # Ok::<(), querist_theory::registry::NameError>(())
/// ```
#[derive(Debug)]
pub struct Queried {
    loss: Named<dyn Loss>,
    rule: Named<dyn Uncertainty>,
    closed: Option<Box<dyn ClosedForm>>,
    kinks: Vec<f64>,
    /// The kinks and 0, around which a rule may be very narrow.
    breaks: Vec<f64>,
    loss_facts: LossFacts,
    rule_facts: UncertaintyFacts,
}

impl Queried {
    /// Pairs a loss with the rule that queries it.
    pub fn new(loss: Named<dyn Loss>, rule: Named<dyn Uncertainty>) -> Self {
        let closed = pair::find(&loss, &rule);
        Self::with(loss, rule, closed)
    }

    /// Pairs them without closed forms: values by quadrature, links by the general identity.
    pub fn by_quadrature(loss: Named<dyn Loss>, rule: Named<dyn Uncertainty>) -> Self {
        Self::with(loss, rule, None)
    }

    /// Parses the names of a loss and a rule.
    ///
    /// ```
    /// use querist_theory::{equivalent::Queried, loss::Loss};
    /// let pair = Queried::parse("squared-hinge", "margin:mu=1")?;
    /// assert_eq!(pair.slope(-3.0), -2.0); // the convexity limit: linear on the wrong side
    /// # Ok::<(), querist_theory::registry::NameError>(())
    /// ```
    pub fn parse(loss: &str, rule: &str) -> Result<Self, NameError> {
        let loss = crate::loss::parse(loss)?;
        let rule = uncertainty::parse(rule, &loss)?;
        Ok(Self::new(loss, rule))
    }

    fn with(loss: Named<dyn Loss>, rule: Named<dyn Uncertainty>, closed: Option<Box<dyn ClosedForm>>) -> Self {
        let (loss_facts, rule_facts) = (loss.facts(), rule.facts());
        let mut kinks = [&loss_facts.kinks[..], &rule_facts.kinks[..]].concat();
        kinks.sort_by(f64::total_cmp);
        kinks.dedup();
        let breaks = [&kinks[..], &[0.0]].concat();
        Self { loss, rule, closed, kinks, breaks, loss_facts, rule_facts }
    }

    /// Returns the queried loss.
    pub fn loss(&self) -> &Named<dyn Loss> {
        &self.loss
    }

    /// Returns the query rule.
    pub fn rule(&self) -> &Named<dyn Uncertainty> {
        &self.rule
    }

    /// Returns the claimed facts about the loss.
    pub fn loss_facts(&self) -> &LossFacts {
        &self.loss_facts
    }

    /// Returns the claimed facts about the rule.
    pub fn rule_facts(&self) -> &UncertaintyFacts {
        &self.rule_facts
    }

    /// Returns the closed form in use, if any.
    pub fn closed_form(&self) -> Option<&dyn ClosedForm> {
        self.closed.as_deref()
    }

    /// Returns the points where slope or curvature jumps.
    pub fn kinks(&self) -> &[f64] {
        &self.kinks
    }

    /// Returns ℓ̃(s) − inf ℓ̃; `None` where the infimum is unknown.
    pub fn above_infimum(&self, s: f64) -> Option<f64> {
        match (&self.closed, self.loss_facts.ground, self.loss_facts.task) {
            (Some(closed), Ground::Infinity, _) | (Some(closed), _, LossTask::Regression) => {
                Some(closed.above_infimum(s))
            }
            (None, Ground::Infinity, _) | (None, _, LossTask::Regression) => Some(self.integral(s)),
            (_, Ground::Point(_), LossTask::Classification) => None,
        }
    }

    /// Returns ℓ̃″(s); `None` at a kink.
    pub fn curvature_at(&self, s: f64) -> Option<f64> {
        if self.kinks.contains(&s) { None } else { Some(self.curvature(s)) }
    }

    /// Evaluates the pair at modeled probability q of y = +1: values and derivatives in q.
    pub fn at_probability(&self, q: f64, label: Label) -> AtProbability {
        let at = Probability::of_label(q, label);
        let loss = self.loss.in_probability(at);
        let (uncertainty, _) = self.rule.in_probability(at);
        let equivalent = self.in_probability(at);
        let kink = self.kinks.iter().any(|&k| if k == 0.0 { q == 0.5 } else { at.margin() == k });
        AtProbability {
            uncertainty,
            loss: loss.value,
            loss_slope: label.sign() * loss.slope,
            equivalent: equivalent.value,
            equivalent_slope: label.sign() * equivalent.slope,
            equivalent_curvature: (!kink).then_some(equivalent.curvature),
        }
    }

    /// Returns dℓ̃/dr.
    pub fn slope_in_probability(&self, at: Probability) -> f64 {
        self.rule.in_probability(at).0 * self.loss.in_probability(at).slope
    }

    /// Returns d²ℓ̃/dr² away from kinks.
    pub fn curvature_in_probability(&self, at: Probability) -> f64 {
        if let Some(form) = self.closed.as_ref().and_then(|closed| closed.in_probability(at)) {
            return form.curvature;
        }
        let loss = self.loss.in_probability(at);
        let (u, du) = self.rule.in_probability(at);
        du * loss.slope + u * loss.curvature
    }

    /// Returns |dℓ̃/ds| or |dℓ̃/dr| at margin s, in the coordinate of the loss.
    pub fn steepness(&self, s: f64) -> f64 {
        match self.loss_facts.coordinate {
            Coordinate::Score => self.slope(s).abs(),
            Coordinate::Probability => self.slope_in_probability(Probability::of_margin(s)).abs(),
        }
    }

    /// Returns ℓ̃″ = |ℓ̃′|·(c − d) where its factors overflow; c and d are the rates of loss and rule, NaN if unknown.
    fn far_curvature(&self, s: f64) -> f64 {
        let is_exact = |most: &&Bound| self.rule_facts.decay_at_least.iter().any(|least| least.rate == most.rate);
        let exact = self.rule_facts.decay_at_most.iter().find(is_exact).map(|bound| bound.rate.at(s.abs()));
        match (&self.loss_facts.rate_left, exact) {
            (Some(steepens), Some(fades)) if s < 0.0 => self.slope(s).abs() * (steepens.rate.at(-s) - fades),
            _ => f64::NAN,
        }
    }

    /// Returns ∫ U·|ℓ′| from s to the point where ℓ̃ is grounded.
    fn integral(&self, s: f64) -> f64 {
        let slope = |t: f64| self.slope(t);
        // Just before a kink, where a hinge ends, the nodes of a quadrature rule would round onto it. By parts,
        // ∫ U|ℓ′| = U(s)(ℓ(s) − ℓ(k)) + ∫ U′(t)(ℓ(t) − ℓ(k)) dt, whose second term is small.
        let close = self.kinks.iter().copied().find(|k| s < *k && *k - s < 1e-3);
        if let (Some(kink), Ground::Infinity) = (close, self.loss_facts.ground) {
            let correction = |t: f64| self.rule.slope(t) * self.loss.drop_between(t, kink);
            let head = self.rule.at(s) * self.loss.drop_between(s, kink) + integrate(&correction, s, kink, &[]);
            return head + self.integral(kink);
        }
        match self.loss_facts.ground {
            Ground::Infinity if 0.0 <= s => -integrate_to_infinity(&slope, s, &self.breaks),
            Ground::Infinity => {
                let mirrored: Vec<f64> = self.breaks.iter().map(|k| -k).collect();
                -integrate_outwards(&|a| slope(-a), 0.0, -s, &mirrored)
                    - integrate_to_infinity(&slope, 0.0, &self.breaks)
            }
            Ground::Point(ground) if s < ground => -integrate(&slope, s, ground, &self.breaks),
            Ground::Point(ground) => integrate(&slope, ground, s, &self.breaks),
        }
    }
}

/// The values and derivatives of a pair in the probability coordinate.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct AtProbability {
    /// U.
    pub uncertainty: f64,
    /// ℓ.
    pub loss: f64,
    /// dℓ/dq.
    pub loss_slope: f64,
    /// ℓ̃.
    pub equivalent: f64,
    /// dℓ̃/dq.
    pub equivalent_slope: f64,
    /// d²ℓ̃/dq², `None` at a kink.
    pub equivalent_curvature: Option<f64>,
}

impl Loss for Queried {
    fn value(&self, s: f64) -> f64 {
        match &self.closed {
            Some(closed) => closed.value(s),
            None => self.integral(s),
        }
    }

    fn slope(&self, s: f64) -> f64 {
        let (u, slope) = (self.rule.at(s), self.loss.slope(s));
        // The product may be representable where a factor is not: e⁻⁵⁰⁰·e¹⁰⁰⁰.
        let lost = slope.is_infinite() || (u < f64::MIN_POSITIVE && slope < -1.0);
        if lost && self.rule_facts.levels.as_ref() == Some(&self.loss.name) {
            return self.loss.slope(0.0);
        }
        if lost { slope.signum() * self.log_steepness(s).exp() } else { u * slope }
    }

    fn log_steepness(&self, s: f64) -> f64 {
        self.rule.log_at(s) + self.loss.log_steepness(s)
    }

    fn curvature(&self, s: f64) -> f64 {
        if let Some(curvature) = self.closed.as_ref().and_then(|closed| closed.curvature(s)) {
            return curvature;
        }
        let (slope, bend) = (self.loss.slope(s), self.loss.curvature(s));
        if slope.is_infinite() || bend.is_infinite() {
            return if self.rule_facts.support.is_some_and(|edge| edge < s.abs()) {
                0.0
            } else {
                self.far_curvature(s)
            };
        }
        self.rule.slope(s) * slope + self.rule.at(s) * bend
    }

    fn in_probability(&self, at: Probability) -> Jet {
        let form = self.closed.as_ref().and_then(|closed| closed.in_probability(at));
        Jet {
            value: form.map_or_else(|| self.value(at.margin()), |form| form.value),
            slope: self.slope_in_probability(at),
            curvature: self.curvature_in_probability(at),
        }
    }

    fn enclose(&self, over: Interval) -> Enclosure {
        let (loss, rule) = (self.loss.enclose(over), self.rule.enclose(over));
        Enclosure {
            value: Interval::UNKNOWN,
            slope: rule.value * loss.slope,
            curvature: rule.slope * loss.slope + rule.value * loss.curvature,
        }
    }

    fn minimizer(&self, bias: Bias) -> Option<f64> {
        self.loss.minimizer(bias)
    }

    fn facts(&self) -> LossFacts {
        let (loss, rule) = (&self.loss_facts, &self.rule_facts);
        let decreasing = match (&loss.decreasing, &rule.bounded) {
            (Some(falls), Some(_)) => Some(format!("U ≥ 0, and {falls}").into()),
            _ => None,
        };
        LossFacts {
            kinks: self.kinks.clone(),
            falls_at_zero: None,
            convex: convexity::prove_in_score(self).map(|proof| proof.rule.into()),
            decreasing,
            lipschitz: lipschitz::prove(self)
                .and_then(|proof| Some((lipschitz::greatest_slope(self)?, proof.rule.into()))),
            rate_left: match (&loss.rate_left, rule.decay_at_most.first(), rule.decay_at_least.first()) {
                (Some(rate), Some(most), Some(least)) if most.rate == least.rate => {
                    Some(Bound::new(rate.rate.minus(&most.rate), "the loss's rate less the rule's"))
                }
                _ => None,
            },
            rate_right: None,
            ..loss.clone()
        }
    }
}
