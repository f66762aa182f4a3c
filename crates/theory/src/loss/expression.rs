//! A user-defined loss, written as an expression of s and differentiated automatically.

use std::sync::Arc;

use super::{Ground, Loss, LossFacts, LossTask};
use crate::coordinate::Coordinate;
use crate::expression::{Enclosure, Expression, Interval, holds_on};
use crate::numeric::search::probes;
use crate::registry::{Entry, Param, ParamError, ParamKind};

pub(super) const ENTRY: Entry<dyn Loss> = Entry {
    name: "expr",
    summary: "your own, for example expr:log(1+exp(-s))",
    params: &[Param { name: "expression", kind: ParamKind::Expression }],
    make: |arguments| Ok(Arc::new(ExpressionLoss::new(arguments.expression(0))?)),
    samples: &["expr:log(1+exp(-s))", "expr:max(0,1-s)^2", "expr:sigmoid(-s)"],
    source: "yours",
};

/// The largest |s| at which an expression must have finite value and slope.
const REACH: f64 = 50.0;

/// ℓ(s) as an expression.
#[derive(Debug)]
pub struct ExpressionLoss {
    expression: Expression,
    facts: LossFacts,
}

impl ExpressionLoss {
    /// Parses an expression and evaluates it at many points; value and slope must be finite for |s| ≤ 50.
    pub fn new(text: &str) -> Result<Self, ParamError> {
        let expression =
            Expression::parse(text).map_err(|error| ParamError { found: error.to_string(), need: String::new() })?;
        let kinks = expression.kinks();
        let mut falls = true;
        // Small integers come first, so that an error names a simple point.
        let plain = (-10..=10).map(f64::from).filter(|s| !kinks.contains(s));
        for s in plain.chain(probes(&kinks)).filter(|s| s.abs() <= REACH) {
            let jet = expression.jet(s);
            if !jet.value.is_finite() || !jet.slope.is_finite() {
                return Err(ParamError {
                    found: format!("the expression is {} with slope {} at s = {s}", jet.value, jet.slope),
                    need: format!("finite numbers for |s| <= {REACH}"),
                });
            }
            falls &= jet.slope <= 0.0;
        }
        // s·ℓ′(s) → 0 indicates that ℓ has a limit; where rounding hides the slope, no limit is assumed.
        let flat = (6..=15).all(|i| (10_f64.powi(i) * expression.jet(10_f64.powi(i)).slope).abs() < 1e-5);
        let ground = if falls && flat { Ground::Infinity } else { Ground::Point(0.0) };
        let facts = find_facts(&expression, kinks, ground);
        Ok(Self { expression, facts })
    }
}

impl Loss for ExpressionLoss {
    fn value(&self, s: f64) -> f64 {
        self.expression.value(s)
    }

    fn slope(&self, s: f64) -> f64 {
        self.expression.jet(s).slope
    }

    fn curvature(&self, s: f64) -> f64 {
        self.expression.jet(s).curvature
    }

    fn enclose(&self, over: Interval) -> Enclosure {
        self.expression.enclose(over)
    }

    fn facts(&self) -> LossFacts {
        self.facts.clone()
    }
}

fn find_facts(expression: &Expression, kinks: Vec<f64>, ground: Ground) -> LossFacts {
    let everywhere = |holds: &dyn Fn(Interval) -> bool| holds_on(Interval::EVERYTHING, holds);
    let convex = everywhere(&|panel| {
        let curvature = expression.curvature_range(panel);
        curvature.defined && 0.0 <= curvature.low
    });
    let decreasing = everywhere(&|panel| {
        let slope = expression.slope_range(panel);
        slope.defined && slope.high <= 0.0
    });
    let defined = everywhere(&|panel| expression.slope_range(panel).defined && expression.range(panel).defined);
    let at_zero = expression.slope_range(Interval::point(0.0));
    let falls_at_zero = at_zero.defined && at_zero.high < 0.0 && !kinks.contains(&0.0);
    let slopes = expression.slope_range(Interval::EVERYTHING);
    let steepest = slopes.high.max(-slopes.low);
    LossFacts {
        task: LossTask::Classification,
        coordinate: Coordinate::Score,
        kinks,
        ground,
        defined: defined.then(|| "enclosed by interval arithmetic on the whole line".into()),
        falls_at_zero: falls_at_zero.then(|| "ℓ′(0) < 0, enclosed by interval arithmetic".into()),
        convex: convex.then(|| "ℓ″ ≥ 0, enclosed by interval arithmetic on the whole line".into()),
        decreasing: decreasing.then(|| "ℓ′ ≤ 0, enclosed by interval arithmetic on the whole line".into()),
        lipschitz: Some(steepest)
            .filter(|steepest| slopes.defined && steepest.is_finite())
            .map(|steepest| (steepest, "|ℓ′| enclosed by interval arithmetic on the whole line".into())),
        rate_left: None,
        rate_right: None,
    }
}
