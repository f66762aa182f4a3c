//! The step constant c, right and wrong: bounds by formula, excess risks by runs.

use querist_engine::coin::Coin;
use querist_engine::step::StepSize;
use querist_report::{Axis, AxisScale, Color, Figure, Panel, Series, SeriesMark};
use querist_theory::bound::{BoundInputs, inflation};
use querist_theory::equivalent::Queried;
use rayon::prelude::{IntoParallelIterator, ParallelIterator};

use crate::finite::{Finite, FiniteRecipe, NOISY, StreamTrial};
use crate::numbers::brief;
use crate::statistics::Mean;
use crate::{Basis, Findings, FindingsTable, PaperClaim, ReproductionSettings};

/// The radius of the ball that contains the iterates.
const RADIUS: f64 = 1.0;

/// The results of many runs with one kind of step.
struct Tried {
    excess: Mean,
    rate: Mean,
}

/// The problem, with the number of runs and the seed.
struct CalibrationRuns<'a> {
    problem: &'a Finite<'a>,
    runs: u64,
    seed: u64,
}

impl CalibrationRuns<'_> {
    fn setting(&self, horizon: u64) -> BoundInputs {
        self.problem.setting(RADIUS, horizon)
    }

    fn try_step(&self, step: StepSize, horizon: u64, purpose: &str) -> Tried {
        let recipe = FiniteRecipe::new(self.problem.pair, step, Some(RADIUS));
        let seeds = Coin::new(self.seed, purpose);
        let one = |run: u64| recipe.run(self.problem, horizon, seeds.bits(horizon << 20 | run));
        let trials: Vec<StreamTrial> = (0..self.runs).into_par_iter().map(one).collect();
        let least = self.problem.risk(self.problem.minimizer());
        Tried {
            excess: Mean::of(trials.iter().map(|trial| self.problem.risk(trial.average) - least)),
            rate: Mean::of(trials.iter().map(|trial| trial.rate)),
        }
    }

    fn try_constant(&self, c: f64, horizon: u64, purpose: &str) -> Tried {
        self.try_step(StepSize::Fixed(self.setting(horizon).step(c)), horizon, purpose)
    }
}

pub(super) fn report(settings: &ReproductionSettings, findings: &mut Findings) {
    let pair = Queried::parse("squared-hinge", "margin:mu=1").expect("a registered pair");
    let problem = Finite::new(&pair, &NOISY);
    let bench = CalibrationRuns { problem: &problem, runs: settings.pick(300, 150), seed: settings.seed };
    findings.claim(worst_case());
    let horizon = settings.pick(4096, 512);
    let wrong = wrong_estimates(&bench, horizon, findings);
    let horizons: &[u64] = settings.pick(&[64, 256, 1024, 4096, 16_384], &[64, 256, 1024]);
    let kinds = kinds_of_step(&bench, horizons, findings);
    findings.plate(
        "steps",
        Figure {
            title: String::new(),
            caption: format!(
                "Left: what a wrong estimate of the query rate costs at T = {horizon}: the bound over the oracle's, by \
                 formula and with the rate that runs at this step really have, and the measured excess risk over that \
                 of the oracle's step. Right: measured excess risk by kind of step, and the bound at c = 1/√U_max."
            ),
            panels: vec![wrong, kinds],
        },
    );
}

/// Checks that c = `U_max`^{−1/2} has the smallest bound among all constants at the worst rate.
fn worst_case() -> PaperClaim {
    let mut best_is_feasible = true;
    let mut found = vec![];
    for u_max in [0.25, 0.5, 1.0_f64] {
        let at = |rate: f64| BoundInputs { distance: 1.0, gradient: 1.0, horizon: 1.0, rate, u_max };
        let worst =
            |c: f64| (0..=100).map(|i| at(0.01 * f64::from(i) * u_max).equivalent_risk(c).total()).fold(0.0, f64::max);
        let constants = (-400..=400).map(|i| (0.005 * f64::from(i)).exp() * at(0.0).feasible_c());
        let best = constants.min_by(|a, b| worst(*a).total_cmp(&worst(*b))).unwrap_or(f64::NAN);
        best_is_feasible &= (best / at(0.0).feasible_c() - 1.0).abs() < 1e-9;
        found.push(format!("{} at U_max = {u_max}", brief(best)));
    }
    PaperClaim::new("rem:choosing-c", "c = 1/√U_max has the least worst-case bound over all rates up to U_max")
        .computed(format!("best of 801 constants and 101 rates: {}", found.join(", ")))
        .expected("2, 1.414 and 1", Basis::Paper)
        .holds(best_is_feasible)
}

/// Runs steps for a rate that is estimated wrongly by a known factor.
fn wrong_estimates(bench: &CalibrationRuns<'_>, horizon: u64, findings: &mut Findings) -> Panel {
    let setting = bench.setting(horizon);
    let pilot = bench.try_constant(setting.feasible_c(), horizon, "steps pilot");
    let rate = pilot.rate.mean;
    let oracle = bench.try_constant(rate.powf(-0.5), horizon, "steps oracle");
    let oracle_bound = |rate: f64| BoundInputs { rate, ..setting }.equivalent_risk(rate.powf(-0.5)).total();
    let (mut bounds, mut measured, mut rows) = (vec![], vec![], vec![]);
    let (mut under, mut off) = (true, 0.0_f64);
    for i in -6..=6 {
        let estimate = rate * 4_f64.powi(i);
        let c = estimate.powf(-0.5);
        let tried = bench.try_constant(c, horizon, &format!("steps estimate {i}"));
        // The rate in every formula belongs to the run being analyzed.
        let own = tried.rate.mean;
        let bound = BoundInputs { rate: own, ..setting }.equivalent_risk(c).total();
        under &= tried.excess.high() <= BoundInputs { rate: tried.rate.low(), ..setting }.equivalent_risk(c).total();
        off = off.max((bound / oracle_bound(own) / inflation(estimate, own) - 1.0).abs());
        let factor = 4_f64.powi(i);
        bounds.push((factor, bound / oracle_bound(rate)));
        measured.push((factor, tried.excess.mean / oracle.excess.mean));
        let numbers = [factor, c, own, tried.excess.mean, tried.excess.error, bound, inflation(estimate, own)];
        rows.push(numbers.map(brief).to_vec());
    }
    findings.claim(
        PaperClaim::new(
            "apd:step-calibration",
            "a rate estimated as r̂ inflates the oracle's bound by (√(r̂/r) + √(r/r̂))/2",
        )
        .computed(format!("for r̂/r from 4⁻⁶ to 4⁶, at each step's own measured rate, off by {}", brief(off)))
        .expected("the ratio of the two bounds, to rounding 1e-12", Basis::Theory)
        .holds(off < 1e-12),
    );
    let best = measured.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((f64::NAN, f64::NAN));
    findings.claim(
        PaperClaim::new("eq:constant-c-bound", "runs at wrong estimates stay under the bound at their own rate")
            .computed(format!(
                "13 steps over seven decades; the least measured excess, {} of the oracle step's, is at r̂/r = {}",
                brief(best.1),
                brief(best.0)
            ))
            .expected("mean excess + 5 errors below the bound at each", Basis::Theory)
            .holds(under),
    );
    findings.tables.push(FindingsTable {
        name: "steps-estimates".to_owned(),
        caption: format!(
            "Steps for a rate estimated wrongly by a factor r̂/r, at T = {horizon} and r = {}.",
            brief(rate)
        ),
        header: ["r̂/r", "c", "own rate", "excess", "error", "bound", "inflation"].map(str::to_owned).to_vec(),
        rows,
    });
    estimates_panel(bounds, measured)
}

fn estimates_panel(bounds: Vec<(f64, f64)>, measured: Vec<(f64, f64)>) -> Panel {
    let factors = (-120..=120).map(|i| 4_f64.powf(0.05 * f64::from(i)));
    let curve = factors.map(|factor| (factor, inflation(factor, 1.0))).collect();
    Panel {
        title: "wrong estimates of the rate".to_owned(),
        x: Axis { scale: AxisScale::Log, ..Axis::new("estimated over true rate, r̂/r") },
        y: Axis { scale: AxisScale::Log, ..Axis::new("times the oracle's") },
        series: vec![
            Series { name: "bound, by formula".to_owned(), color: Color::Blue, mark: SeriesMark::Line, points: curve },
            Series {
                name: "bound, at the runs' rate".to_owned(),
                color: Color::Blue,
                mark: SeriesMark::Points,
                points: bounds,
            },
            Series {
                name: "measured excess".to_owned(),
                color: Color::Red,
                mark: SeriesMark::Points,
                points: measured,
            },
        ],
    }
}

/// The kinds of step under comparison, with their colors.
const KINDS: [(&str, Color); 4] = [
    ("c = 1/√U_max", Color::Blue),
    ("oracle, 1/√r", Color::Green),
    ("pilot over T/8", Color::Orange),
    ("auto", Color::Red),
];

/// Compares `U_max`, oracle, pilot and automatic steps, by horizon.
fn kinds_of_step(bench: &CalibrationRuns<'_>, horizons: &[u64], findings: &mut Findings) -> Panel {
    let mut curves = vec![vec![]; KINDS.len()];
    let (mut bounds, mut rows, mut under) = (vec![], vec![], true);
    let mut most_auto = 0.0_f64;
    for &horizon in horizons {
        let setting = bench.setting(horizon);
        let feasible = bench.try_constant(setting.feasible_c(), horizon, "steps kind feasible");
        let rate = feasible.rate.mean;
        let pilot = StepSize::Pilot { unit: setting.step(1.0), u_max: setting.u_max, window: horizon / 8 };
        let tried = [
            feasible,
            bench.try_constant(rate.powf(-0.5), horizon, "steps kind oracle"),
            bench.try_step(pilot, horizon, "steps kind pilot"),
            bench.try_step(StepSize::Auto, horizon, "steps kind auto"),
        ];
        let bound = BoundInputs { rate, ..setting }.equivalent_risk(setting.feasible_c()).total();
        bounds.push((setting.horizon, bound));
        under &= tried.iter().all(|tried| tried.excess.high() <= bound);
        most_auto = most_auto.max(tried[3].excess.mean / tried[0].excess.mean);
        for ((curve, tried), (name, _)) in curves.iter_mut().zip(&tried).zip(KINDS) {
            curve.push((setting.horizon, tried.excess.mean));
            let numbers = [setting.horizon, tried.excess.mean, tried.excess.error, tried.rate.mean];
            rows.push([vec![name.to_owned()], numbers.map(brief).to_vec()].concat());
        }
    }
    findings.claim(
        PaperClaim::new("rem:choosing-c", "fixed, oracle, pilot and automatic steps on the same problem")
            .computed(format!("mean excess + 5 errors of all four below the bound at c = 1/√U_max: {under}"))
            .expected(
                "below it for the fixed steps by theory; the pilot and auto have no such bound of their own",
                Basis::Run,
            )
            .holds(under),
    );
    findings.remarks.push(format!(
        "The automatic step is told neither D nor G nor T. Its excess is at most {} times that of c = 1/√U_max, which \
         is told all three; G is a worst case, and all fixed steps here are therefore shorter than would be best.",
        brief(most_auto)
    ));
    findings.tables.push(FindingsTable {
        name: "steps-kinds".to_owned(),
        caption: "Mean excess equivalent risk by kind of step and horizon.".to_owned(),
        header: ["step", "T", "excess", "error", "mean rate"].map(str::to_owned).to_vec(),
        rows,
    });
    kinds_panel(curves, bounds)
}

fn kinds_panel(curves: Vec<Vec<(f64, f64)>>, bounds: Vec<(f64, f64)>) -> Panel {
    let mut series: Vec<Series> = KINDS
        .iter()
        .zip(curves)
        .map(|((name, color), points)| Series {
            name: (*name).to_owned(),
            color: *color,
            mark: SeriesMark::Points,
            points,
        })
        .collect();
    series.push(Series { name: "bound".to_owned(), color: Color::Blue, mark: SeriesMark::Line, points: bounds });
    Panel {
        title: "kinds of step".to_owned(),
        x: Axis { scale: AxisScale::Log, ..Axis::new("observations T") },
        y: Axis { scale: AxisScale::Log, ..Axis::new("mean excess equivalent risk") },
        series,
    }
}
