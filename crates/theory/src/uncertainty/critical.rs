//! The sharpest rule that keeps the equivalent loss of a convex decreasing loss convex.
//!
//! For an even rule the equivalent loss is convex exactly if U(a)·|ℓ′(−a)| does not fall as a ≥ 0 grows. The rule that
//! queries least keeps it constant. It is 1/(1 + a) for the squared hinge, e⁻ᵃ for the exponential loss,
//! 1 for the hinge, and (1 + e⁻ᵃ)/2 for the logistic loss.

use std::sync::Arc;

use super::{Uncertainty, UncertaintyFacts, even_slope};
use crate::expression::{Enclosure, Interval};
use crate::loss::{Loss, LossTask};
use crate::numeric::search::probes;
use crate::rate::{Bound, Growth};
use crate::registry::{Entry, Named, ParamError};

pub(super) const ENTRY: Entry<dyn Uncertainty> = Entry {
    name: "critical",
    summary: "l'(0)/l'(-|v|), the sharpest rule that keeps this loss's equivalent convex",
    params: &[],
    make: |arguments| Ok(Arc::new(Critical::new(arguments.loss())?)),
    samples: &["critical"],
    source: "extremal case of label eq:curvature-decomposition",
};

/// U = ℓ′(0)/ℓ′(−|v|).
#[derive(Clone, Debug)]
pub struct Critical {
    loss: Named<dyn Loss>,
    slope_at_zero: f64,
}

impl Critical {
    /// Creates the critical rule of a loss that falls at 0 and steepens to the left.
    pub fn new(loss: &Named<dyn Loss>) -> Result<Self, ParamError> {
        let slope_at_zero = loss.slope(0.0);
        let facts = loss.facts();
        let need = || "a convex decreasing loss of the margin".to_owned();
        if facts.task == LossTask::Regression || 0.0 <= slope_at_zero {
            return Err(ParamError { found: format!("`{}` does not fall at 0", loss.name), need: need() });
        }
        let flatter = |s: &f64| *s < 0.0 && slope_at_zero < loss.slope(*s);
        if let Some(s) = probes(&facts.kinks).into_iter().find(flatter) {
            let found = format!("`{}` is flatter at {s} than at 0, so not convex", loss.name);
            return Err(ParamError { found, need: need() });
        }
        Ok(Self { loss: loss.clone(), slope_at_zero })
    }
}

impl Uncertainty for Critical {
    fn at(&self, v: f64) -> f64 {
        self.slope_at_zero / self.loss.slope(-v.abs())
    }

    fn slope(&self, v: f64) -> f64 {
        let a = v.abs();
        let steepness = self.loss.slope(-a);
        if steepness.is_infinite() {
            return 0.0;
        }
        let rate = self.loss.curvature(-a) / steepness.abs();
        even_slope(v, -self.at(v) * rate)
    }

    fn log_at(&self, v: f64) -> f64 {
        (-self.slope_at_zero).ln() - self.loss.log_steepness(-v.abs())
    }

    fn enclose(&self, over: Interval) -> Enclosure {
        // Follows from U(v)·ℓ′(−|v|) = ℓ′(0), differentiated once.
        let zero = Interval::point(0.0);
        let away = Enclosure::variable(over).absolute();
        let loss = self.loss.enclose(zero - away.value);
        let value = self.loss.enclose(zero).slope / loss.slope;
        Enclosure { value, slope: value * loss.curvature / loss.slope * away.slope, curvature: Interval::UNKNOWN }
    }

    fn facts(&self) -> UncertaintyFacts {
        let loss = self.loss.facts();
        let mut kinks = vec![0.0];
        kinks.extend(loss.kinks.iter().filter(|k| **k < 0.0).flat_map(|k| [-k, *k]));
        let shown = loss.convex.is_some() && loss.decreasing.is_some();
        let because = |text: &'static str| shown.then(|| text.into());
        let rates: Vec<Bound> = loss
            .rate_left
            .iter()
            .map(|bound| {
                Bound::new(bound.rate.clone(), format!("made to fade as the loss steepens; {}", bound.because))
            })
            .collect();
        UncertaintyFacts {
            kinks,
            jumps: vec![],
            max: 1.0,
            at_most: 1.0,
            nonnegative: because("ℓ′ ≤ 0 for a decreasing loss; even by its formula"),
            bounded: because("|ℓ′(0)| ≤ |ℓ′(−a)| for a convex decreasing loss, so 0 ≤ U ≤ 1; even by its formula"),
            positive: because("ℓ′(0) < 0 and ℓ′(−a) is finite"),
            positive_near_zero: because("ℓ′(0) < 0 and ℓ′(−a) is finite"),
            falling: because("|ℓ′(−a)| rises in a for a convex decreasing loss"),
            levels: shown.then(|| self.loss.name.clone()),
            floor: least_rate(&*self.loss.object).filter(|_| shown).unwrap_or(0.0),
            support: None,
            zero_at: None,
            decay_at_most: rates.clone(),
            decay_at_least: rates,
        }
    }
}

/// Returns inf U, the lowest query rate of the critical rule of a loss, if its rate is known.
pub(crate) fn least_rate(loss: &dyn Loss) -> Option<f64> {
    match loss.facts().rate_left?.rate.negated().growth() {
        Growth::Limit(limit) => Some(limit),
        Growth::Unbounded => None,
    }
}
