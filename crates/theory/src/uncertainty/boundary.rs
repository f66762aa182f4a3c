//! The rule of pools that queries near the boundary between classes, at a given scale.
//!
//! In a pool, the user sets `share` and `floor`, and the pool determines the scale after every fit. The reach τ is the
//! distance from the boundary within which `share` of the rows lie. The base is b = m·floor/(1 − floor), where m is the
//! mean of e^(−|v|/τ) over the rows. Between two fits the scale is fixed, and U is a function of the score like any
//! other rule.

use std::sync::Arc;

use super::{ExponentialDecay, Mix, Uncertainty, require_size};
use crate::registry::{ConstructorArguments, Entry, Named, Param, ParamError, ParamKind};

/// The name of the rule.
pub(crate) const NAME: &str = "boundary";

/// The parameters: `share` and `floor` as in a pool, and the scale.
pub(crate) const PARAMS: &[Param] = &[
    Param { name: "share", kind: ParamKind::Number(Some(0.01)) },
    Param { name: "floor", kind: ParamKind::Number(Some(0.1)) },
    Param { name: "reach", kind: ParamKind::Derived },
    Param { name: "base", kind: ParamKind::Derived },
];

pub(super) const ENTRY: Entry<dyn Uncertainty> = Entry {
    name: NAME,
    summary: "(e^(-|v|/reach) + base)/(1 + base); a pool finds reach and base from share and floor",
    params: PARAMS,
    make: |arguments| Ok(Arc::new(BoundaryScale::new(arguments)?.rule()?)),
    samples: &["boundary:reach=1", "boundary:floor=0.5,reach=0.05,base=0.2", "boundary:share=0.5,floor=0.9,reach=20"],
    source: "composition",
};

/// The scale of the rule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BoundaryScale {
    /// τ, the distance over which U falls by a factor of e.
    reach: f64,
    /// b, the constant that is added to U everywhere.
    base: f64,
}

impl BoundaryScale {
    /// Reads the scale from the parameters.
    ///
    /// Without a reach the score is measured in units of the reach. Without a base the scores are assumed to be spread
    /// evenly around the boundary, so that m is the share.
    pub(crate) fn new(arguments: &ConstructorArguments<'_>) -> Result<Self, ParamError> {
        Self::of([arguments.number(0), arguments.number(1), arguments.number(2), arguments.number(3)])
    }

    fn of([share, floor, reach, base]: [f64; 4]) -> Result<Self, ParamError> {
        require_size("share", share, "0 < share < 1", 0.0 < share && share < 1.0)?;
        require_size("floor", floor, "0 < floor < 1", 0.0 < floor && floor < 1.0)?;
        let reach = if reach.is_nan() { 1.0 } else { reach };
        let base = if base.is_nan() { share * floor / (1.0 - floor) } else { base };
        require_size("reach", reach, "reach > 0", 0.0 < reach)?;
        require_size("base", base, "base > 0", 0.0 < base)?;
        Ok(Self { reach, base })
    }

    /// Returns μ = 1/τ.
    pub(crate) fn mu(self) -> f64 {
        1.0 / self.reach
    }

    /// Returns b/(1 + b), the infimum of U.
    pub(crate) fn least(self) -> f64 {
        self.base / (1.0 + self.base)
    }

    /// Returns the rule U = b/(1 + b) + e^(−|v|/τ)/(1 + b).
    fn rule(self) -> Result<Mix, ParamError> {
        let bare = ExponentialDecay::new(self.mu())?;
        Mix::new(Named::own(&format!("exponential:mu={}", self.mu()), Arc::new(bare)), self.least())
    }
}

/// Returns the assumption behind a statement about the rule; `None` for other rules.
pub fn assumption<T: ?Sized>(rule: &Named<T>) -> Option<String> {
    let numbers = <[f64; 4]>::try_from(rule.numbers.as_slice()).ok().filter(|_| rule.entry == NAME)?;
    let BoundaryScale { reach, base } = BoundaryScale::of(numbers).ok()?;
    let reach_from = if numbers[2].is_nan() { " (the score is taken in units of it)" } else { "" };
    let base_from = if numbers[3].is_nan() { " (as for scores spread evenly around the boundary)" } else { "" };
    Some(format!(
        "these claims are about U at one scale: reach = {reach}{reach_from} and base = {base:.4}{base_from}. A pool finds its \
         own scale after every fit; certify it as `boundary:reach=NUMBER,base=NUMBER`"
    ))
}
