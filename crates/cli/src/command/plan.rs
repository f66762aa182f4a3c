//! `querist plan`: steps, bounds and label budgets, each with its assumptions; from a pilot, the gain of more labels.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use querist_render::table::wrap;
use querist_theory::bound::{self, BoundInputs};
use querist_theory::certificate::{Claim, Verdict, certify};
use querist_theory::coordinate::{Bias, Coordinate};
use querist_theory::equivalent::Queried;
use querist_theory::link::Link;
use querist_theory::uncertainty::assumption;
use serde_json::{Map, Value};

use crate::Output;
use crate::number::{json, show};
use crate::run::moved::MovedArgs;
use crate::run::output::count;

mod pilot;

/// Compute step sizes, risk bounds and label budgets of a pair, with their assumptions
#[derive(Args)]
pub(crate) struct PlanArgs {
    /// The ledger of a run so far; prints the expected gain of its next labels, and its query rate
    #[arg(long, value_name = "RUN", conflicts_with_all = BOUND_ARGUMENTS)]
    pilot: Option<PathBuf>,
    /// Number of labels to plan for
    #[arg(long, value_name = "N", value_parser = count, default_value = "100", requires = "pilot")]
    next: u64,
    /// A score to reach: accuracy, or the mean loss for numbers; prints the expected number of labels to get there
    #[arg(long, value_name = "SCORE", allow_negative_numbers = true, requires = "pilot")]
    target: Option<f64>,
    /// The loss (`querist list`)
    #[arg(long, required_unless_present = "pilot")]
    loss: Option<String>,
    /// The rule
    #[arg(long, required_unless_present = "pilot")]
    rule: Option<String>,
    /// D: upper bound on the distance from the start to the optimum
    #[arg(long, value_name = "D", allow_negative_numbers = true, required_unless_present = "pilot")]
    distance: Option<f64>,
    /// G: upper bound on the root mean square of the loss's gradient at each feature
    #[arg(long, value_name = "G", allow_negative_numbers = true, required_unless_present = "pilot")]
    gradient: Option<f64>,
    /// T: number of observations
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    horizon: Option<f64>,
    /// r: mean query probability of the run
    #[arg(long, value_name = "R", allow_negative_numbers = true, required_unless_present = "pilot")]
    rate: Option<f64>,
    /// The step constant: a number, `umax` for U_max^-1/2, or `oracle` for r^-1/2
    #[arg(long, value_name = "C", default_value = "umax")]
    c: String,
    /// An estimate of the rate, to see the cost of a wrong one
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    rate_estimate: Option<f64>,
    /// Excess risk of the best model in the class
    #[arg(long, value_name = "A", default_value_t = 0.0, allow_negative_numbers = true)]
    approximation_error: f64,
    /// An excess error rate to guarantee; prints the observations and labels that suffice
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    target_risk: Option<f64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    moved: MovedArgs,
}

/// One number of the plan.
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

/// The arguments that only bounds need; a pilot does without them.
const BOUND_ARGUMENTS: [&str; 7] = ["loss", "rule", "rate", "c", "rate_estimate", "approximation_error", "target_risk"];

pub(super) fn run(arguments: &PlanArgs) -> Result<Output> {
    if arguments.pilot.is_none() && (arguments.moved.data.is_some() || arguments.moved.images.is_some()) {
        bail!("--data and --images need --pilot");
    }
    if let Some(ledger) = &arguments.pilot {
        return pilot::run(arguments, ledger);
    }
    let pair = Queried::parse(required(arguments.loss.as_deref())?, required(arguments.rule.as_deref())?)?;
    let Some(link) = Link::new(&pair) else {
        bail!("`{}` is a regression loss: these bounds are for two classes", pair.loss().name);
    };
    let (setting, c) = setting(arguments, &pair)?;
    let (setting, needed) = match arguments.target_risk {
        Some(target) => with_target(arguments, &link, setting, c, target)?,
        None if arguments.horizon.is_none() => bail!("use --horizon T, or --target-risk E to compute it"),
        None => (setting, vec![]),
    };
    let mut lines = lines(arguments, &link, &setting, c);
    lines.extend(needed);
    let warning = warning(&pair);
    let text = if arguments.json {
        as_json(&pair, &setting, c, &lines, warning).to_string()
    } else {
        as_text(&pair, &setting, c, &lines, warning)
    };
    Ok(Output::done(text))
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

/// Returns an argument that is required without a pilot.
fn required<T>(value: Option<T>) -> Result<T> {
    value.context("without --pilot a plan needs --loss, --rule, --distance, --gradient and --rate")
}

fn setting(arguments: &PlanArgs, pair: &Queried) -> Result<(BoundInputs, f64)> {
    let (distance, gradient, rate) =
        (required(arguments.distance)?, required(arguments.gradient)?, required(arguments.rate)?);
    let (least, u_max) = (pair.rule_facts().floor, pair.rule_facts().max);
    if 1.0 < u_max {
        bail!("`{}` reaches {u_max}, so it is not a probability, and streams cannot use it", pair.rule().name);
    }
    for (flag, value) in [("--distance", distance), ("--gradient", gradient)] {
        require_positive(flag, value)?;
    }
    for (flag, value) in [("--horizon", arguments.horizon), ("--rate-estimate", arguments.rate_estimate)] {
        value.map_or(Ok(()), |value| require_positive(flag, value))?;
    }
    if rate.is_nan() || rate <= 0.0 || rate < least || u_max < rate {
        let low = if 0.0 < least { format!("{least} <=") } else { "0 <".to_owned() };
        bail!("--rate = {rate}, need {low} rate <= {u_max}, the range of `{}`", pair.rule().name);
    }
    if arguments.approximation_error.is_nan() || arguments.approximation_error < 0.0 {
        bail!("--approximation-error = {}, need >= 0", arguments.approximation_error);
    }
    let setting = BoundInputs { distance, gradient, horizon: arguments.horizon.unwrap_or(1.0), rate, u_max };
    let c = match arguments.c.as_str() {
        "umax" => setting.feasible_c(),
        "oracle" => setting.oracle_c(),
        text => match text.parse::<f64>() {
            Ok(c) if 0.0 < c && c.is_finite() => c,
            _ => bail!("--c = {text}, need a number > 0, `umax` or `oracle`"),
        },
    };
    Ok((setting, c))
}

fn require_positive(flag: &str, value: f64) -> Result<()> {
    if 0.0 < value && value.is_finite() { Ok(()) } else { bail!("{flag} = {value}, need a finite number > 0") }
}

/// Returns the horizon and labels that guarantee the target; they also set the horizon if there is no argument for it.
fn with_target(
    arguments: &PlanArgs,
    link: &Link,
    setting: BoundInputs,
    c: f64,
    target: f64,
) -> Result<(BoundInputs, Vec<PlanLine>)> {
    if target.is_nan() || target <= 0.0 || 1.0 < target {
        bail!("--target-risk = {target}, need 0 < target <= 1");
    }
    let allowed = link.value(target) - arguments.approximation_error;
    if allowed <= 0.0 {
        bail!(
            "--target-risk = {target}: the approximation error {} alone allows an excess error of {}",
            arguments.approximation_error,
            link.inverse(arguments.approximation_error)
        );
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
    Ok((if arguments.horizon.is_some() { setting } else { needed }, lines))
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

fn lines(arguments: &PlanArgs, link: &Link, setting: &BoundInputs, c: f64) -> Vec<PlanLine> {
    let line = |key, what, value, assumes| PlanLine { key, what, value, assumes };
    let assumptions = Assumptions::of(link.pair());
    let terms = setting.equivalent_risk(c);
    let with_error = |risk: f64| link.inverse(risk + arguments.approximation_error);
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
    if let Some(estimate) = arguments.rate_estimate {
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

fn as_json(pair: &Queried, setting: &BoundInputs, c: f64, lines: &[PlanLine], warning: Option<&str>) -> Value {
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
        ("c", c),
    ];
    for (key, value) in inputs.into_iter().chain(lines.iter().map(|line| (line.key, line.value))) {
        fields.insert(key.to_owned(), json(value));
    }
    fields.insert("u_max_is".to_owned(), pair.rule().known_max().name().into());
    fields.insert("note".to_owned(), assumption(pair.rule()).into());
    fields.insert("guaranteed".to_owned(), warning.is_none().into());
    fields.insert("warning".to_owned(), warning.into());
    let assumptions: Map<String, Value> = lines.iter().map(|line| (line.key.to_owned(), line.assumes.into())).collect();
    fields.insert("assumes".to_owned(), assumptions.into());
    Value::Object(fields)
}

/// Returns `U_max = 1`, or the same as a bound, and U(0) if the maximum is elsewhere.
fn largest(pair: &Queried, u_max: f64) -> String {
    let (relation, how) = pair.rule().known_max().relation();
    let u_at_zero = show(pair.rule().at(0.0), 6);
    let u_max = show(u_max, 6);
    let elsewhere = if u_at_zero == u_max { String::new() } else { format!(", U(0) = {u_at_zero}") };
    format!("U_max {relation} {u_max}{how}{elsewhere}")
}

fn as_text(pair: &Queried, setting: &BoundInputs, c: f64, lines: &[PlanLine], warning: Option<&str>) -> String {
    let mut text = format!(
        "{} queried by {}\nD = {}, G = {}, T = {}, r = {}, {}, c = {}\n\n",
        pair.loss().name,
        pair.rule().name,
        show(setting.distance, 6),
        show(setting.gradient, 6),
        show(setting.horizon, 9),
        show(setting.rate, 6),
        largest(pair, setting.u_max),
        show(c, 6),
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
