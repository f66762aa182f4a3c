//! Plans of streams: step sizes, risk bounds and label budgets of a pair, each with its assumptions.

use std::fmt::{self, Display};

use querist_theory::bound::{self, BoundInputs};
use querist_theory::certificate::{Claim, Verdict, certify};
use querist_theory::coordinate::{Bias, Coordinate};
use querist_theory::equivalent::Queried;
use querist_theory::link::Link;
use querist_theory::uncertainty::assumption;
use serde_json::{Map, Value};

use crate::number::{json, show};
use crate::table::wrap;

/// The inputs of a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlanInputs {
    /// D: an upper bound on the distance from the start to the optimum.
    pub distance: f64,
    /// G: an upper bound on the root mean square of the loss's gradient at each feature.
    pub gradient: f64,
    /// T: the number of observations; `None` computes it from the target.
    pub horizon: Option<f64>,
    /// r: the mean query probability of the run.
    pub rate: f64,
    /// The step constant.
    pub c: StepConstant,
    /// An estimate of the rate, to see the cost of a wrong one.
    pub rate_estimate: Option<f64>,
    /// The excess risk of the best model in the class.
    pub approximation_error: f64,
    /// An excess error rate to guarantee.
    pub target_risk: Option<f64>,
}

/// The constant c of the step size cD/(G√T).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StepConstant {
    /// U_max^-1/2, which needs no knowledge of the rate.
    UMax,
    /// r^-1/2, the best constant if the rate is known.
    Oracle,
    /// A number above 0.
    Number(f64),
}

/// A plan: numbers with their assumptions.
///
/// ```
/// use querist_render::plan::{Plan, PlanInputs, StepConstant};
/// use querist_theory::equivalent::Queried;
///
/// let pair = Queried::parse("logistic", "entropy")?;
/// let inputs = PlanInputs {
///     distance: 1.0,
///     gradient: 1.0,
///     horizon: Some(1e6),
///     rate: 0.25,
///     c: StepConstant::Oracle,
///     rate_estimate: None,
///     approximation_error: 0.0,
///     target_risk: None,
/// };
/// let plan = Plan::new(&pair, &inputs)?;
/// assert_eq!(plan.to_json()["expected_labels"], 250_000.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Plan<'a> {
    pair: &'a Queried,
    setting: BoundInputs,
    c: f64,
    lines: Vec<PlanLine>,
    warning: Option<&'static str>,
}

/// The reason why there is no plan.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PlanError {
    /// An input is out of range.
    Range {
        /// The name of the input, with hyphens.
        input: &'static str,
        /// Its value.
        value: f64,
        /// The range.
        need: String,
    },
    /// There is neither a horizon nor a target.
    NoHorizon,
    /// The loss is for regression.
    Regression {
        /// The name of the loss.
        loss: String,
    },
    /// U exceeds 1, so it is not a probability.
    NotAProbability {
        /// The name of the rule.
        rule: String,
        /// The maximum of U.
        max: f64,
    },
    /// The approximation error alone exceeds the target.
    Unreachable {
        /// The target.
        target: f64,
        /// The approximation error.
        approximation_error: f64,
        /// The excess error rate that the approximation error allows.
        allows: f64,
    },
}

impl Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Range { input, value, need } => write!(f, "{input} = {value}, need {need}"),
            Self::NoHorizon => write!(f, "a plan needs a horizon, or a target risk to compute it from"),
            Self::Regression { loss } => {
                write!(f, "`{loss}` is a regression loss: these bounds are for two classes")
            }
            Self::NotAProbability { rule, max } => {
                write!(f, "`{rule}` reaches {max}, so it is not a probability, and streams cannot use it")
            }
            Self::Unreachable { target, approximation_error, allows } => write!(
                f,
                "target-risk = {target}: the approximation error {approximation_error} alone allows an excess error \
                 of {allows}"
            ),
        }
    }
}

impl std::error::Error for PlanError {}

impl<'a> Plan<'a> {
    /// Computes the plan of a pair.
    ///
    /// # Errors
    /// If an input is out of range, or there are no bounds for this pair.
    pub fn new(pair: &'a Queried, inputs: &PlanInputs) -> Result<Self, PlanError> {
        let Some(link) = Link::new(pair) else {
            return Err(PlanError::Regression { loss: pair.loss().name.clone() });
        };
        let (setting, c) = setting(inputs, pair)?;
        let (setting, needed) = match inputs.target_risk {
            Some(target) => with_target(inputs, &link, setting, c, target)?,
            None if inputs.horizon.is_none() => return Err(PlanError::NoHorizon),
            None => (setting, vec![]),
        };
        let mut lines = lines(inputs, &link, &setting, c);
        lines.extend(needed);
        Ok(Self { pair, setting, c, lines, warning: warning(pair) })
    }

    /// Returns the inputs, numbers and assumptions as a JSON object.
    pub fn to_json(&self) -> Value {
        let Self { pair, setting, c, lines, warning } = self;
        let mut fields = Map::new();
        fields.insert("loss".to_owned(), pair.loss().name.clone().into());
        fields.insert("rule".to_owned(), pair.rule().name.clone().into());
        let inputs = [
            ("distance", setting.distance),
            ("gradient", setting.gradient),
            ("horizon", setting.horizon),
            ("rate", setting.rate),
            ("u_max", setting.u_max),
            ("u_at_zero", pair.rule().at(0.0)),
            ("c", *c),
        ];
        for (key, value) in inputs.into_iter().chain(lines.iter().map(|line| (line.key, line.value))) {
            fields.insert(key.to_owned(), json(value));
        }
        fields.insert("u_max_is".to_owned(), pair.rule().known_max().name().into());
        fields.insert("note".to_owned(), assumption(pair.rule()).into());
        fields.insert("guaranteed".to_owned(), warning.is_none().into());
        fields.insert("warning".to_owned(), (*warning).into());
        let assumptions: Map<String, Value> =
            lines.iter().map(|line| (line.key.to_owned(), line.assumes.into())).collect();
        fields.insert("assumes".to_owned(), assumptions.into());
        Value::Object(fields)
    }

    /// Returns the plan as text for a terminal.
    pub fn to_text(&self) -> String {
        let Self { pair, setting, c, lines, warning } = self;
        let mut text = format!(
            "{} queried by {}\nD = {}, G = {}, T = {}, r = {}, {}, c = {}\n\n",
            pair.loss().name,
            pair.rule().name,
            show(setting.distance, 6),
            show(setting.gradient, 6),
            show(setting.horizon, 9),
            show(setting.rate, 6),
            largest(pair, setting.u_max),
            show(*c, 6),
        );
        if let Some(note) = assumption(pair.rule()) {
            text += &wrap("Note: ", &note);
            text.push('\n');
        }
        if let Some(warning) = warning {
            text += &wrap("Beware: ", warning);
            text.push('\n');
        }
        let mut assumptions: Vec<&str> = vec![];
        for line in lines {
            let index = assumptions.iter().position(|known| *known == line.assumes).unwrap_or_else(|| {
                assumptions.push(line.assumes);
                assumptions.len() - 1
            });
            text += &wrap(&format!("  {:>14}  ", show(line.value, 7)), &format!("{} [{}]", line.what, index + 1));
        }
        text += "\nAssumes\n";
        for (i, assumption) in assumptions.iter().enumerate() {
            text += &wrap(&format!("  [{}] ", i + 1), assumption);
        }
        text
    }
}

/// One number of the plan.
#[derive(Clone, Copy, Debug)]
struct PlanLine {
    key: &'static str,
    what: &'static str,
    value: f64,
    assumes: &'static str,
}

const RATE: &str = "r is the mean query rate of the run itself";
const LEADING: &str = "as for the bound at c, T → ∞, no approximation error, quadratic link: ψ ~ U(0)·(−H″(1/2))/8·z²";
const MATCHED: &str = "leading bounds of both, with the same D and G, at the same number of labels";

/// The assumptions of the bounds of a pair.
struct Assumptions {
    /// The fixed-step bound.
    bound: &'static str,
    /// The same bound with a mean gradient moment.
    weak_moment: &'static str,
    /// Algorithm 2.
    pool: &'static str,
}

const ANYWHERE: Assumptions = Assumptions {
    bound: "ℓ̃ convex, start within D, gradient moment at each feature at most G², step fixed in advance",
    weak_moment: "ℓ̃ convex, start within D, mean gradient moment at most G²",
    pool: "ℓ̃ convex, T labels from the pool at step D/(G√T)",
};

/// The assumptions for losses of unbounded slope: no G bounds the gradient at all parameters.
const WITHIN: Assumptions = Assumptions {
    bound: "ℓ̃ convex, start within D, iterates stay in Θ, where the gradient moment at each feature is at most G² (the slope of \
            this loss is unbounded), step fixed in advance",
    weak_moment: "ℓ̃ convex, start within D, iterates stay in Θ, where the mean gradient moment is at most G²",
    pool: "ℓ̃ convex, iterates stay in Θ, where G holds, T labels from the pool at step D/(G√T)",
};

impl Assumptions {
    fn of(pair: &Queried) -> &'static Self {
        let facts = pair.loss_facts();
        // A loss of the probability has a bounded slope in the score, and G bounds it.
        let is_bounded = facts.lipschitz.is_some() || facts.coordinate == Coordinate::Probability;
        if is_bounded { &ANYWHERE } else { &WITHIN }
    }
}

fn setting(inputs: &PlanInputs, pair: &Queried) -> Result<(BoundInputs, f64), PlanError> {
    let PlanInputs { distance, gradient, rate, approximation_error, .. } = *inputs;
    let (least, u_max) = (pair.rule_facts().floor, pair.rule_facts().max);
    if 1.0 < u_max {
        return Err(PlanError::NotAProbability { rule: pair.rule().name.clone(), max: u_max });
    }
    let range = |input, value, need: String| PlanError::Range { input, value, need };
    let positive = [
        ("distance", Some(distance)),
        ("gradient", Some(gradient)),
        ("horizon", inputs.horizon),
        ("rate-estimate", inputs.rate_estimate),
    ];
    for (input, value) in positive.into_iter().filter_map(|(input, value)| Some((input, value?))) {
        if !(0.0 < value && value.is_finite()) {
            return Err(range(input, value, "a finite number > 0".to_owned()));
        }
    }
    if rate.is_nan() || rate <= 0.0 || rate < least || u_max < rate {
        let low = if 0.0 < least { format!("{least} <=") } else { "0 <".to_owned() };
        return Err(range("rate", rate, format!("{low} rate <= {u_max}, the range of `{}`", pair.rule().name)));
    }
    if approximation_error.is_nan() || approximation_error < 0.0 {
        return Err(range("approximation-error", approximation_error, ">= 0".to_owned()));
    }
    let setting = BoundInputs { distance, gradient, horizon: inputs.horizon.unwrap_or(1.0), rate, u_max };
    let c = match inputs.c {
        StepConstant::UMax => setting.feasible_c(),
        StepConstant::Oracle => setting.oracle_c(),
        StepConstant::Number(c) if 0.0 < c && c.is_finite() => c,
        StepConstant::Number(c) => return Err(range("c", c, "a finite number > 0".to_owned())),
    };
    Ok((setting, c))
}

/// Returns the horizon and labels that guarantee the target; they also set the horizon if there is no argument for it.
fn with_target(
    inputs: &PlanInputs,
    link: &Link,
    setting: BoundInputs,
    c: f64,
    target: f64,
) -> Result<(BoundInputs, Vec<PlanLine>), PlanError> {
    if target.is_nan() || target <= 0.0 || 1.0 < target {
        let need = "0 < target <= 1".to_owned();
        return Err(PlanError::Range { input: "target-risk", value: target, need });
    }
    let allowed = link.value(target) - inputs.approximation_error;
    if allowed <= 0.0 {
        let approximation_error = inputs.approximation_error;
        let allows = link.inverse(approximation_error);
        return Err(PlanError::Unreachable { target, approximation_error, allows });
    }
    let horizon = setting.horizon_for(c, allowed).ceil();
    let needed = BoundInputs { horizon, ..setting };
    let mut lines = vec![
        PlanLine {
            key: "target_excess_equivalent_risk",
            what: "excess equivalent risk that suffices, ψ(target)",
            value: allowed,
            assumes: "ψ is the link of ℓ̃; minus the approximation error",
        },
        PlanLine {
            key: "needed_horizon",
            what: "observations that suffice",
            value: horizon,
            assumes: Assumptions::of(link.pair()).bound,
        },
        PlanLine {
            key: "needed_labels",
            what: "expected number of labels, T·r",
            value: needed.expected_labels(),
            assumes: RATE,
        },
    ];
    lines.extend(passive_labels(link, &setting, target));
    Ok((if inputs.horizon.is_some() { setting } else { needed }, lines))
}

/// Returns the labels that suffice if every observation is labeled and the loss itself is minimized.
fn passive_labels(link: &Link, setting: &BoundInputs, target: f64) -> Option<PlanLine> {
    let own = link.pair().loss().link(Bias::new(target))?;
    let root = setting.distance * setting.gradient / own.value;
    Some(PlanLine {
        key: "needed_passive_labels",
        what: "labels that suffice for passive learning, (DG/ψ₀(target))²",
        value: (root * root).ceil(),
        assumes: "the same D and G for the loss itself, no approximation error",
    })
}

fn lines(inputs: &PlanInputs, link: &Link, setting: &BoundInputs, c: f64) -> Vec<PlanLine> {
    let line = |key, what, value, assumes| PlanLine { key, what, value, assumes };
    let assumptions = Assumptions::of(link.pair());
    let terms = setting.equivalent_risk(c);
    let with_error = |risk: f64| link.inverse(risk + inputs.approximation_error);
    let feasible = setting.equivalent_risk(setting.feasible_c()).total();
    let oracle = setting.equivalent_risk(setting.oracle_c()).total();
    let mut lines = vec![
        line("step", "step size, cD/(G√T)", setting.step(c), "D and G as specified, T fixed in advance"),
        line("expected_labels", "expected number of labels, T·r", setting.expected_labels(), RATE),
        line("bound_start", "bound, part from the start, DG/(2c√T)", terms.start, assumptions.bound),
        line("bound_noise", "bound, part from the noise, cDGr/(2√T)", terms.noise, assumptions.bound),
        line("equiv_risk_bound", "excess equivalent risk, at most", terms.total(), assumptions.bound),
        line(
            "bound_feasible",
            "the same at c = U_max^-1/2",
            feasible,
            "as for the bound at c; this c needs only U_max",
        ),
        line(
            "bound_oracle",
            "the same at c = r^-1/2",
            oracle,
            "as for the bound at c; this c needs the rate of the run in advance",
        ),
        line(
            "bound_weak_moment",
            "the same if the gradient's moment is bounded only on average",
            setting.weak_moment_risk(c).total(),
            assumptions.weak_moment,
        ),
        line(
            "excess_error_bound",
            "excess error rate through the link, at most",
            with_error(terms.total()),
            "as for the bound at c, and the approximation error as specified",
        ),
        line(
            "pool_bound",
            "Algorithm 2: excess equivalent risk on the pool, at most",
            setting.pool_risk(),
            assumptions.pool,
        ),
    ];
    lines.extend(leading(link, setting, c));
    if let Some(estimate) = inputs.rate_estimate {
        lines.push(line(
            "inflation",
            "inflation of the oracle's bound by the estimated rate",
            bound::inflation(estimate, setting.rate),
            "c = estimate^-1/2, fixed before the run",
        ));
    }
    lines
}

/// Returns the leading risks, active against passive, at matched labels, and the labels at matched risk. Returns no
/// lines if ψ is not quadratic.
fn leading(link: &Link, setting: &BoundInputs, c: f64) -> Vec<PlanLine> {
    let u_at_zero = link.pair().rule().at(0.0);
    let Some(curvature) = quadratic(link).filter(|_| 0.0 < u_at_zero) else { return vec![] };
    let line = |key, what, value, assumes| PlanLine { key, what, value, assumes };
    let (rho, off_peak) = (setting.rho(), bound::off_peak(setting.u_max, u_at_zero));
    // Risks fall as the fourth root of the labels.
    let more_labels = off_peak.powi(4);
    vec![
        line(
            "leading_excess_risk",
            "leading excess error rate",
            off_peak * setting.leading_risk(c, curvature),
            LEADING,
        ),
        line(
            "passive_leading_excess_risk",
            "leading excess error rate of passive learning with as many labels",
            setting.passive_leading_risk(curvature),
            LEADING,
        ),
        line("ratio", "risk, active over passive, at this c", off_peak * setting.matched_ratio(c), MATCHED),
        line("ratio_feasible", "risk ratio at c = U_max^-1/2", off_peak * bound::feasible_ratio(rho), MATCHED),
        line("ratio_oracle", "risk ratio at c = r^-1/2", off_peak * bound::oracle_ratio(rho), MATCHED),
        line(
            "ratio_weak_feasible",
            "risk ratio at c = U_max^-1/2, moment on average",
            off_peak * bound::weak_feasible_ratio(rho),
            MATCHED,
        ),
        line(
            "budget_ratio_feasible",
            "labels for the same risk, active over passive, at c = U_max^-1/2",
            more_labels * bound::feasible_budget_ratio(rho),
            "leading bounds, r/U_max the same at every horizon",
        ),
        line(
            "budget_ratio_oracle",
            "the same at c = r^-1/2",
            more_labels * bound::oracle_budget_ratio(rho),
            "leading bounds, r/U_max the same at every horizon",
        ),
    ]
}

/// Returns −H″(1/2) of the loss if the link is quadratic at 0.
fn quadratic(link: &Link) -> Option<f64> {
    link.start().filter(|start| start.power == 2)?;
    link.neg_h2_half()
}

/// Returns the reason why the bounds are not guaranteed; `None` if they are.
fn warning(pair: &Queried) -> Option<&'static str> {
    let is_convex = |pair: &Queried| certify(pair).verdict(Claim::ConvexInScore).clone();
    match is_convex(pair) {
        Verdict::Proved(_) => None,
        Verdict::Refuted(_) => {
            // Recommend a rule only if it exists for this loss and its equivalent loss is proved to be convex.
            let critical = Queried::parse(&pair.loss().name, "critical").ok().map(|critical| is_convex(&critical));
            Some(if let Some(Verdict::Proved(_)) = critical {
                "ℓ̃ is not convex in the score for this pair, so none of these bounds is a guarantee; the sharpest \
                 rule with guarantees is `--rule critical`"
            } else {
                "ℓ̃ is not convex in the score for this pair, so none of these bounds is a guarantee; choose a convex loss, \
                 such as logistic or squared-hinge"
            })
        }
        Verdict::Unknown { .. } => {
            Some("it is unknown whether ℓ̃ is convex in the score for this pair, so these bounds are not guaranteed")
        }
    }
}

/// Returns `U_max = 1`, or the same as a bound, and U(0) if the maximum is elsewhere.
fn largest(pair: &Queried, u_max: f64) -> String {
    let (relation, how) = pair.rule().known_max().relation();
    let u_at_zero = show(pair.rule().at(0.0), 6);
    let u_max = show(u_max, 6);
    let elsewhere = if u_at_zero == u_max { String::new() } else { format!(", U(0) = {u_at_zero}") };
    format!("U_max {relation} {u_max}{how}{elsewhere}")
}
