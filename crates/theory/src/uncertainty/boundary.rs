//! The rule of pools that queries near the boundary between classes, at a given scale.
//!
//! In a pool, the user sets `half` and `floor`, and the pool determines the scale after every fit. `from` is the smallest
//! distance of a row from the boundary. The reach τ is such that half of Σ e^(−(|v| − from)/τ) falls on the nearest
//! rows, a fraction `half` of all. In the older form with `share`, `from` is 0 and this fraction of the rows lies within
//! τ. The base is b = m·floor/(1 − floor), where m is the mean of e^(−(|v| − from)/τ) over the rows. Between two fits
//! the scale is fixed, and U is a function of the score like any other rule.

use std::sync::Arc;

use super::{ExponentialDecay, Mix, Uncertainty, UncertaintyFacts, even_slope, require_size};
use crate::expression::{Enclosure, Function, Interval};
use crate::rate::{Bound, Rate};
use crate::registry::{ConstructorArguments, Entry, Named, Param, ParamError, ParamKind};

/// The name of the rule.
pub(crate) const NAME: &str = "boundary";

/// The parameters: `half` or `share`, and `floor` as in a pool, and the scale.
pub(crate) const PARAMS: &[Param] = &[
    Param { name: "half", kind: ParamKind::Derived },
    Param { name: "share", kind: ParamKind::Derived },
    Param { name: "floor", kind: ParamKind::Derived },
    Param { name: "reach", kind: ParamKind::Derived },
    Param { name: "base", kind: ParamKind::Derived },
    Param { name: "from", kind: ParamKind::Derived },
];

pub(super) const ENTRY: Entry<dyn Uncertainty> = Entry {
    name: NAME,
    summary: "(e^(-(|v| - from)/reach) + base)/(1 + base), at most 1; a pool finds from, reach and base from half and floor",
    params: PARAMS,
    make: |arguments| Ok(Arc::new(BoundaryScale::new(arguments)?.rule()?)),
    samples: &[
        "boundary:reach=1",
        "boundary:floor=0.5,reach=0.05,base=0.2",
        "boundary:share=0.5,floor=0.9,reach=20",
        "boundary:reach=0.1,base=0.003,from=1.5",
        "boundary:half=0.3,reach=3,from=0.01",
    ],
    source: "composition",
};

/// The scale of the rule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BoundaryScale {
    /// τ, the distance over which U falls by a factor of e.
    reach: f64,
    /// b, the constant that is added to U everywhere.
    base: f64,
    /// The distance from the boundary up to which U is 1.
    from: f64,
}

impl BoundaryScale {
    /// Reads the scale from the parameters.
    ///
    /// Without a reach the score is measured in units of the reach. Without a base the scores are assumed to be spread
    /// evenly around the boundary, so that m is the share, or half/ln 2.
    pub(crate) fn new(arguments: &ConstructorArguments<'_>) -> Result<Self, ParamError> {
        Self::of([0, 1, 2, 3, 4, 5].map(|index| arguments.number(index)))
    }

    fn of([half, share, floor, reach, base, from]: [f64; 6]) -> Result<Self, ParamError> {
        let or = |value: f64, default: f64| if value.is_nan() { default } else { value };
        if !half.is_nan() && !share.is_nan() {
            return Err(ParamError { found: "half and share exclude each other".to_owned(), need: String::new() });
        }
        let is_share = !share.is_nan();
        let (half, share) = (or(half, 0.01), or(share, 0.01));
        let floor = or(floor, if is_share { 0.1 } else { 0.2 });
        require_size("half", half, "0 < half < 0.5", 0.0 < half && half < 0.5)?;
        require_size("share", share, "0 < share < 1", 0.0 < share && share < 1.0)?;
        require_size("floor", floor, "0 < floor < 1", 0.0 < floor && floor < 1.0)?;
        let mean = if is_share { share } else { half / std::f64::consts::LN_2 };
        let scale = Self { reach: or(reach, 1.0), base: or(base, mean * floor / (1.0 - floor)), from: or(from, 0.0) };
        require_size("reach", scale.reach, "reach > 0", 0.0 < scale.reach)?;
        require_size("base", scale.base, "base > 0", 0.0 < scale.base)?;
        require_size("from", scale.from, "from >= 0", 0.0 <= scale.from)?;
        Ok(scale)
    }

    /// Returns μ = 1/τ.
    pub(crate) fn mu(self) -> f64 {
        1.0 / self.reach
    }

    /// Returns the distance up to which U is 1.
    pub(crate) fn from(self) -> f64 {
        self.from
    }

    /// Returns b/(1 + b), the infimum of U.
    pub(crate) fn least(self) -> f64 {
        self.base / (1.0 + self.base)
    }

    /// Returns the rule U = b/(1 + b) + e^(−(|v| − from)/τ)/(1 + b).
    fn rule(self) -> Result<Mix, ParamError> {
        let mu = self.mu();
        let bare = if self.from == 0.0 {
            Named::own(&format!("exponential:mu={mu}"), Arc::new(ExponentialDecay::new(mu)?) as Arc<dyn Uncertainty>)
        } else {
            Named::own("", Arc::new(Plateau { mu, from: self.from }) as Arc<dyn Uncertainty>)
        };
        Mix::new(bare, self.least())
    }
}

/// U = e^(−μ·max(0, |v| − from)), with from > 0.
#[derive(Clone, Copy, Debug)]
struct Plateau {
    mu: f64,
    from: f64,
}

impl Uncertainty for Plateau {
    fn at(&self, v: f64) -> f64 {
        self.log_at(v).exp()
    }

    fn slope(&self, v: f64) -> f64 {
        let is_falling = if v < 0.0 { self.from < -v } else { self.from <= v };
        if is_falling { even_slope(v, -self.mu * self.at(v)) } else { 0.0 }
    }

    fn log_at(&self, v: f64) -> f64 {
        -self.mu * (v.abs() - self.from).max(0.0)
    }

    fn enclose(&self, over: Interval) -> Enclosure {
        let beyond = Enclosure::variable(over).absolute().minus(&Enclosure::number(self.from));
        let beyond = beyond.larger(&Enclosure::number(0.0));
        Enclosure::number(self.mu).multiplied(&beyond).negated().apply(Function::Exponential)
    }

    fn facts(&self) -> UncertaintyFacts {
        let fastest = Bound::new(Rate::constant(self.mu), "−U′/U is 0 or μ");
        let because = "1 up to a distance, then e^(−μ·distance): even, in (0, 1], and never rises in |v|";
        UncertaintyFacts {
            kinks: vec![-self.from, self.from],
            decay_at_least: vec![Bound::new(Rate::zero(), "U never rises in |v|")],
            ..UncertaintyFacts::fading(1.0, fastest, because)
        }
    }
}

/// Returns the assumption behind a statement about the rule; `None` for other rules.
pub fn assumption<T: ?Sized>(rule: &Named<T>) -> Option<String> {
    let numbers = <[f64; 6]>::try_from(rule.numbers.as_slice()).ok().filter(|_| rule.entry == NAME)?;
    let BoundaryScale { reach, base, from } = BoundaryScale::of(numbers).ok()?;
    let reach_from = if numbers[3].is_nan() { " (the score is taken in units of it)" } else { "" };
    let base_from = if numbers[4].is_nan() { " (as for scores spread evenly around the boundary)" } else { "" };
    let and_from = if from == 0.0 { String::new() } else { format!(", from = {from}") };
    Some(format!(
        "these claims are about U at one scale: reach = {reach}{reach_from}{and_from} and base = {base:.4}{base_from}. A \
         pool finds its own scale after every fit; certify it as `boundary:reach=NUMBER,base=NUMBER,from=NUMBER`"
    ))
}
