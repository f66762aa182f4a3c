//! Rules of one score, fast enough to evaluate on every observation.
//!
//! Rules with a short formula have a branch-free version here, for blocks of scores; the others are evaluated one by
//! one. Learners use the same version everywhere, so the block size changes no bit. A test compares the formulas with
//! those of `querist_theory`.

use std::sync::{Arc, OnceLock};

use querist_theory::registry::Named;
use querist_theory::uncertainty::Uncertainty;

use super::guide::Guide;
use crate::elementary::{exp_neg, ln_1p_and_share};
use crate::simd::dispatch;

/// A query rule of `querist_theory`, as a function of a = |v|.
#[derive(Clone, Debug)]
pub struct ScoreRule {
    rule: Named<dyn Uncertainty>,
    formula: Formula,
    max: f64,
    falls: bool,
    /// Built on first use: building it takes longer than a pass over many a pool.
    guide: Arc<OnceLock<Guide>>,
}

#[derive(Clone, Copy, Debug)]
enum Formula {
    Entropy {
        scale: f64,
    },
    LeastConfidence {
        scale: f64,
    },
    Margin {
        mu: f64,
    },
    Exponential {
        mu: f64,
    },
    Threshold {
        gamma: f64,
    },
    Constant {
        p: f64,
    },
    /// The function of `querist_theory`.
    Own,
}

impl ScoreRule {
    /// Makes a rule ready for use.
    pub fn new(rule: Named<dyn Uncertainty>) -> Self {
        let formula = match (rule.entry, rule.numbers.as_slice()) {
            ("entropy", [base]) => Formula::Entropy { scale: 1.0 / base.ln() },
            ("least-confidence", [scale]) => Formula::LeastConfidence { scale: *scale },
            ("margin", [mu]) => Formula::Margin { mu: *mu },
            ("exponential", [mu]) => Formula::Exponential { mu: *mu },
            ("threshold", [gamma]) => Formula::Threshold { gamma: *gamma },
            ("constant", [p]) => Formula::Constant { p: *p },
            _ => Formula::Own,
        };
        let facts = rule.facts();
        let (max, falls) = (facts.max, facts.falling.is_some());
        Self { rule, formula, max, falls, guide: Arc::default() }
    }

    /// Returns the name of the rule.
    pub fn name(&self) -> &str {
        &self.rule.name
    }

    /// Returns `U_max`.
    pub fn max(&self) -> f64 {
        self.max
    }

    /// Returns whether U is the same everywhere.
    pub fn is_constant(&self) -> bool {
        matches!(self.formula, Formula::Constant { .. })
    }

    /// Returns a lower bound on U.
    pub fn least(&self) -> f64 {
        match self.formula {
            Formula::Constant { p } => p,
            _ => 0.0,
        }
    }

    /// Returns a table that decides most flips without evaluating the rule, if U decreases in |v|.
    pub fn guide(&self) -> Option<&Guide> {
        self.falls.then(|| self.guide.get_or_init(|| Guide::new(|a| self.at(a))))
    }

    /// Returns U at |v| = a.
    #[inline]
    pub fn at(&self, a: f64) -> f64 {
        match self.formula {
            Formula::Entropy { scale } => one(a, move |a| entropy_from(a, exp_neg(a), scale)),
            Formula::LeastConfidence { scale } => one(a, move |a| least_confidence(a, scale)),
            Formula::Margin { mu } => 1.0 / (1.0 + mu * a),
            Formula::Exponential { mu } => one(a, move |a| exp_neg(mu * a)),
            Formula::Threshold { gamma } => threshold(a, gamma),
            Formula::Constant { p } => p,
            Formula::Own => self.rule.at(a),
        }
    }

    /// Computes U at each of these scores.
    pub fn fill(&self, scores: &[f64], out: &mut [f64]) {
        match self.formula {
            Formula::Entropy { scale } => entropies(scores, out, scale),
            Formula::LeastConfidence { scale } => each(scores, out, move |a| least_confidence(a, scale)),
            Formula::Margin { mu } => each(scores, out, move |a| 1.0 / (1.0 + mu * a)),
            Formula::Exponential { mu } => each(scores, out, move |a| exp_neg(mu * a)),
            Formula::Threshold { gamma } => each(scores, out, move |a| threshold(a, gamma)),
            Formula::Constant { p } => out.fill(p),
            Formula::Own => {
                for (u, v) in out.iter_mut().zip(scores) {
                    *u = self.rule.at(v.abs());
                }
            }
        }
    }
}

/// Evaluates a rule at one |v|, with the instructions that a block uses.
#[inline(always)]
#[allow(clippy::inline_always, reason = "what is dispatched")]
fn one(a: f64, rule: impl Fn(f64) -> f64) -> f64 {
    dispatch(
        #[inline(always)]
        move || rule(a),
    )
}

#[inline(always)]
#[allow(clippy::inline_always, reason = "the body of a dispatched loop")]
fn each(scores: &[f64], out: &mut [f64], rule: impl Fn(f64) -> f64) {
    dispatch(
        #[inline(always)]
        move || {
            for (u, v) in out.iter_mut().zip(scores) {
                *u = rule(v.abs());
            }
        },
    );
}

/// Computes the entropy at each score in two short loops. In one long loop the processor would wait for its chain of
/// dependent operations.
fn entropies(scores: &[f64], out: &mut [f64], scale: f64) {
    dispatch(
        #[inline(always)]
        move || {
            for (scores, out) in scores.chunks(256).zip(out.chunks_mut(256)) {
                for (x, v) in out.iter_mut().zip(scores) {
                    *x = exp_neg(v.abs());
                }
                for (u, v) in out.iter_mut().zip(scores) {
                    *u = entropy_from(v.abs(), *u, scale);
                }
            }
        },
    );
}

/// Returns (log(1 + x) + a·x/(1 + x))·scale with x = e⁻ᵃ. Both terms have the same sign.
#[inline(always)]
#[allow(clippy::inline_always, reason = "the body of a dispatched loop")]
fn entropy_from(a: f64, x: f64, scale: f64) -> f64 {
    // At infinity the limit of a·x is 0. Capping a avoids NaN.
    let a = if a < 1e3 { a } else { 1e3 };
    let (log, share) = ln_1p_and_share(x);
    scale * (log + a * share)
}

#[inline(always)]
#[allow(clippy::inline_always, reason = "the body of a dispatched loop")]
fn least_confidence(a: f64, scale: f64) -> f64 {
    let x = exp_neg(a);
    scale * x / (1.0 + x)
}

#[inline(always)]
#[allow(clippy::inline_always, reason = "the body of a dispatched loop")]
fn threshold(a: f64, gamma: f64) -> f64 {
    if a <= gamma { 1.0 } else { 0.0 }
}
