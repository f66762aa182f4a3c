//! Active versus passive learning with the same number of labels, on a problem where both have the same minimizer.
//!
//! The label probabilities make the best prediction linear. Then the loss and the equivalent loss are minimal at the
//! same θ*, and there is no approximation error. D and G are common to both, as the comparison assumes.

use querist_engine::coin::Coin;
use querist_engine::step::StepSize;
use querist_report::{Axis, AxisScale, Color, Figure, Panel, Series, SeriesMark};
use querist_theory::bound::{BoundInputs, feasible_budget_ratio, feasible_ratio, oracle_budget_ratio, oracle_ratio};
use querist_theory::equivalent::Queried;
use querist_theory::link::Link;
use rayon::prelude::{IntoParallelIterator, ParallelIterator};

use crate::finite::{Feature, Finite, FiniteRecipe, StreamTrial};
use crate::matrix::distance;
use crate::numbers::brief;
use crate::statistics::Mean;
use crate::{Basis, Findings, FindingsTable, PaperClaim, ReproductionSettings};

/// θ* of the problem; `RADIUS` is that of the ball that contains it.
const BEST: [f64; 2] = [4.0, 2.0];
const RADIUS: f64 = 4.6;

/// Margin rules from gentle to the sharpest convex one.
const RULES: [&str; 4] = ["margin:mu=0.1", "margin:mu=0.25", "margin:mu=0.5", "margin:mu=1"];

/// A horizon at which only leading terms remain.
const LONG: f64 = 1e18;

/// Returns features on a square grid, with label probabilities whose best prediction under the squared hinge is θ*·x,
/// or beyond 1.
fn features() -> Vec<Feature> {
    let side = 8_i16;
    let coordinate = |i: i16| (f32::from(i) + 0.5) / f32::from(side) * 1.25 - 0.625;
    let all = (0..side).flat_map(|i| (0..side).map(move |j| [coordinate(i), coordinate(j)]));
    let share = 1.0 / (f64::from(side) * f64::from(side));
    all.map(|x| {
        let lean = BEST[0] * f64::from(x[0]) + BEST[1] * f64::from(x[1]);
        Feature { share, x, odds: 0.5 * (1.0 + lean.clamp(-1.0, 1.0)) }
    })
    .collect()
}

/// Active and passive runs with the same number of labels.
struct Matched {
    rule: &'static str,
    setting: BoundInputs,
    /// ψ⁻¹ of the mean excess risk: the 0–1 risk that the active runs certify.
    active: f64,
    passive: f64,
}

pub(super) fn report(settings: &ReproductionSettings, findings: &mut Findings) {
    let features = features();
    let plain = Queried::parse("squared-hinge", "constant").expect("a registered pair");
    let passive = Finite::new(&plain, &features);
    let horizon = settings.pick(16_384, 1024);
    let runs = settings.pick(200, 40);
    let matched: Vec<Matched> =
        RULES.iter().map(|rule| compare(rule, &passive, horizon, runs, settings.seed)).collect();
    findings.claim(common_minimum(&passive, &features));
    for one in &matched {
        findings.claim(ratio(one));
        findings.claim(budget(one));
    }
    findings.claim(wins(&matched[RULES.len() - 1]));
    findings.plate("steps-matched", figure(&matched));
    let sharpest = &matched[RULES.len() - 1];
    findings.remarks.push(format!(
        "The ratios compare bounds and do not foretell runs: here runs of the sharpest rule certify {:.2} of the passive \
         risk where the bounds' ratio is {:.2}.",
        sharpest.active / sharpest.passive,
        feasible_ratio(sharpest.setting.rho())
    ));
    findings.tables.push(table(&matched, horizon));
}

fn compare(rule: &'static str, passive: &Finite<'_>, horizon: u64, runs: u64, seed: u64) -> Matched {
    let pair = Queried::parse("squared-hinge", rule).expect("a registered pair");
    let active = Finite::new(&pair, &passive.features);
    let trials = |problem: &Finite<'_>, horizon: u64, purpose: &str| -> Vec<StreamTrial> {
        let step = problem.setting(RADIUS, horizon).step(1.0);
        let recipe = FiniteRecipe::new(problem.pair, StepSize::Fixed(step), Some(RADIUS));
        let seeds = Coin::new(seed, purpose);
        (0..runs).into_par_iter().map(|run| recipe.run(problem, horizon, seeds.bits(run))).collect()
    };
    let active_trials = trials(&active, horizon, &format!("matched {rule}"));
    let rate = Mean::of(active_trials.iter().map(|trial| trial.rate)).mean;
    let labels = (rate * horizon as f64).round() as u64;
    let passive_trials = trials(passive, labels, &format!("matched passive {rule}"));
    let certified = |problem: &Finite<'_>, trials: &[StreamTrial]| {
        let least = problem.risk(problem.minimizer());
        let excess = Mean::of(trials.iter().map(|trial| problem.risk(trial.average) - least)).mean;
        Link::new(problem.pair).map_or(f64::NAN, |link| link.inverse(excess))
    };
    Matched {
        rule,
        setting: BoundInputs { rate, ..active.setting(RADIUS, horizon) },
        active: certified(&active, &active_trials),
        passive: certified(passive, &passive_trials),
    }
}

/// Checks that both objectives are minimal at θ*.
fn common_minimum(passive: &Finite<'_>, features: &[Feature]) -> PaperClaim {
    let mut worst = distance(passive.minimizer(), BEST);
    for rule in RULES {
        let pair = Queried::parse("squared-hinge", rule).expect("a registered pair");
        let active = Finite::new(&pair, features);
        worst = worst.max(distance(active.minimizer(), BEST));
        worst = worst.max((active.risk(BEST) - active.bayes_risk()).abs());
    }
    PaperClaim::new(
        "prop:equiv_surrogate",
        "where the best prediction is linear, loss and equivalent loss are least at the same θ*",
    )
    .computed(format!("minimizers and Bayes risks of five objectives off by {}", brief(worst)))
    .expected("0 up to rounding, 1e-9", Basis::Run)
    .holds(worst < 1e-9)
}

/// Checks the ratio of bounds through both links, at a horizon where only leading terms remain.
fn ratio(one: &Matched) -> PaperClaim {
    let pair = Queried::parse("squared-hinge", one.rule).expect("a registered pair");
    let plain = Queried::parse("squared-hinge", "constant").expect("a registered pair");
    let long = BoundInputs { horizon: LONG, ..one.setting };
    let by_links = |c: f64| -> f64 {
        let (Some(active), Some(passive)) = (Link::new(&pair), Link::new(&plain)) else { return f64::NAN };
        let same_labels = BoundInputs { horizon: long.expected_labels(), rate: 1.0, u_max: 1.0, ..long };
        active.inverse(long.equivalent_risk(c).total()) / passive.inverse(same_labels.equivalent_risk(1.0).total())
    };
    let (feasible, oracle) = (by_links(long.feasible_c()), by_links(long.oracle_c()));
    let rho = one.setting.rho();
    let off = (feasible / feasible_ratio(rho) - 1.0).abs().max((oracle / oracle_ratio(rho) - 1.0).abs());
    PaperClaim::new(
        "eq:feasible-risk-ratio",
        format!("active over passive 0–1 bound with as many labels, {}", one.rule),
    )
    .computed(format!("through both links at T = 1e18: {feasible:.4}, oracle {oracle:.4}"))
    .expected(
        format!(
            "ρ^(1/4)√((1 + ρ)/2) = {:.4} and √ρ = {:.4} at the measured ρ = {rho:.4}, to 1e-3",
            feasible_ratio(rho),
            oracle_ratio(rho)
        ),
        Basis::Paper,
    )
    .holds(off < 1e-3)
}

/// Checks the labels needed for the same bound, by searching for the passive horizon.
fn budget(one: &Matched) -> PaperClaim {
    let plain = Queried::parse("squared-hinge", "constant").expect("a registered pair");
    let pair = Queried::parse("squared-hinge", one.rule).expect("a registered pair");
    let long = BoundInputs { horizon: LONG, ..one.setting };
    let needed = |c: f64| -> f64 {
        let (Some(active), Some(passive)) = (Link::new(&pair), Link::new(&plain)) else { return f64::NAN };
        let target = active.inverse(long.equivalent_risk(c).total());
        let at = |horizon: f64| {
            passive.inverse(BoundInputs { horizon, rate: 1.0, u_max: 1.0, ..long }.equivalent_risk(1.0).total())
        };
        let (mut low, mut high) = (1e10_f64, 1e26_f64);
        for _ in 0..200 {
            let middle = (low * high).sqrt();
            if target < at(middle) { low = middle } else { high = middle }
        }
        long.expected_labels() / high
    };
    let (feasible, oracle, rho) = (needed(long.feasible_c()), needed(long.oracle_c()), one.setting.rho());
    let off = (feasible / feasible_budget_ratio(rho) - 1.0).abs().max((oracle / oracle_budget_ratio(rho) - 1.0).abs());
    PaperClaim::new("apd:step-calibration", format!("labels for the same 0–1 bound, active over passive, {}", one.rule))
        .computed(format!("by search {feasible:.4}, oracle {oracle:.4}"))
        .expected(
            format!(
                "ρ(1 + ρ)²/4 = {:.4} and ρ² = {:.4}, to 1e-3",
                feasible_budget_ratio(rho),
                oracle_budget_ratio(rho)
            ),
            Basis::Paper,
        )
        .holds(off < 1e-3)
}

/// Compares the risks that runs certify, for the sharpest rule.
fn wins(one: &Matched) -> PaperClaim {
    let found = one.active / one.passive;
    PaperClaim::new(
        "coro:final_sample_complexity",
        format!("runs of active and passive learning with as many labels, {}", one.rule),
    )
    .computed(format!("ψ⁻¹ of the mean excess risk {} and {}, ratio {found:.3}", brief(one.active), brief(one.passive)))
    .expected(format!("below 1; the bounds' ratio is {:.3}", feasible_ratio(one.setting.rho())), Basis::Theory)
    .holds(found < 1.0)
}

fn figure(matched: &[Matched]) -> Figure {
    let curve = |name: &str, color, mark, of: &dyn Fn(f64) -> f64| Series {
        name: name.to_owned(),
        color,
        mark,
        points: (1..=200).map(|i| 0.005 * f64::from(i)).map(|rho| (rho, of(rho))).collect(),
    };
    let dots = |name: &str, color, of: &dyn Fn(&Matched) -> f64| Series {
        name: name.to_owned(),
        color,
        mark: SeriesMark::Points,
        points: matched.iter().map(|one| (one.setting.rho(), of(one))).collect(),
    };
    let axis = || Axis { range: Some((0.0, 1.0)), ..Axis::new("mean rate over largest, ρ = r/U_max") };
    Figure {
        title: String::new(),
        caption:
            "Active against passive learning, by how often the rule asks. Left: risks with as many labels; curves \
                  are the ratios of the leading bounds, dots what runs certify (ψ⁻¹ of their mean excess risk). Right: labels for the same bound."
                .to_owned(),
        panels: vec![
            Panel {
                title: "risk with as many labels".to_owned(),
                x: axis(),
                y: Axis { range: Some((0.0, 1.2)), ..Axis::new("active over passive") },
                series: vec![
                    curve("bound, c = 1/√U_max", Color::Blue, SeriesMark::Line, &feasible_ratio),
                    curve("bound, oracle c", Color::Green, SeriesMark::Dashed, &oracle_ratio),
                    dots("certified by runs", Color::Red, &|one| one.active / one.passive),
                ],
            },
            Panel {
                title: "labels for the same bound".to_owned(),
                x: axis(),
                y: Axis { scale: AxisScale::Linear, range: Some((0.0, 1.2)), ..Axis::new("active over passive") },
                series: vec![
                    curve("ρ(1 + ρ)²/4, c = 1/√U_max", Color::Blue, SeriesMark::Line, &feasible_budget_ratio),
                    curve("ρ², oracle c", Color::Green, SeriesMark::Dashed, &oracle_budget_ratio),
                ],
            },
        ],
    }
}

fn table(matched: &[Matched], horizon: u64) -> FindingsTable {
    let header = ["rule", "ρ", "labels", "bounds' ratio", "certified active", "passive", "ratio"];
    let rows = matched.iter().map(|one| {
        let numbers = [
            one.setting.rho(),
            one.setting.expected_labels(),
            feasible_ratio(one.setting.rho()),
            one.active,
            one.passive,
            one.active / one.passive,
        ];
        [vec![one.rule.to_owned()], numbers.map(brief).to_vec()].concat()
    });
    FindingsTable {
        name: "steps-matched".to_owned(),
        caption: format!("Active runs over {horizon} observations at c = 1, and passive runs with as many labels."),
        header: header.map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }
}
