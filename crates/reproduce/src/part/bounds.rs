//! The fixed-step bounds (labels `prop:SGD_converge`, `thm:stream-based`), compared with runs on a problem whose risks
//! are finite sums.

use querist_engine::coin::Coin;
use querist_engine::step::StepSize;
use querist_report::{Axis, AxisScale, Color, Figure, Panel, Series, SeriesMark};
use querist_theory::bound::BoundInputs;
use querist_theory::equivalent::Queried;
use querist_theory::link::Link;
use rayon::prelude::{IntoParallelIterator, ParallelIterator};

use crate::finite::{Finite, FiniteRecipe, NOISY, StreamTrial, Weights};
use crate::numbers::brief;
use crate::part::PaperPart;
use crate::statistics::Mean;
use crate::{Basis, Findings, FindingsTable, PaperClaim, ReproductionSettings};

pub(super) const PART: PaperPart = PaperPart {
    name: "bounds",
    title: "The fixed-step bounds",
    about: "excess equivalent risk and excess 0–1 risk of Algorithm 1, averaged over runs, under their bounds for every \
            horizon and step constant",
    run,
};

/// The radius of the ball that contains the iterates; the minimizer is inside.
const RADIUS: f64 = 1.0;

/// Runs of one step constant at one horizon.
struct BoundCell {
    setting: BoundInputs,
    c: f64,
    excess: Mean,
    zero_one: Mean,
    rate: Mean,
}

impl BoundCell {
    /// Returns the bound at the mean rate of the runs.
    fn bound(&self) -> f64 {
        self.setting.equivalent_risk(self.c).total()
    }

    /// Returns the bound with the rate at the lower end of its interval.
    fn strict_bound(&self) -> f64 {
        BoundInputs { rate: self.rate.low(), ..self.setting }.equivalent_risk(self.c).total()
    }
}

/// A choice of the step constant, over all horizons.
struct Choice {
    name: &'static str,
    place: &'static str,
    cells: Vec<BoundCell>,
}

fn run(settings: &ReproductionSettings) -> Findings {
    let pair = Queried::parse("squared-hinge", "margin:mu=1").expect("a registered pair");
    let problem = Finite::new(&pair, &NOISY);
    let horizons: &[u64] = settings.pick(&[64, 256, 1024, 4096, 16_384], &[64, 256, 1024]);
    let runs = settings.pick(400, 150);
    let series = |name, place, c: &dyn Fn(BoundInputs) -> f64, purpose| Choice {
        name,
        place,
        cells: horizons.iter().map(|horizon| cell(&problem, *horizon, runs, c, settings.seed, purpose)).collect(),
    };
    let small = series("c = 1/4", "prop:SGD_converge", &|_| 0.25, "bounds small");
    let feasible = series("c = 1/√U_max = 1", "eq:umax-step-bound", &|s| s.feasible_c(), "bounds feasible");
    // The oracle needs the rate of its own run. A first set of runs estimates it before the measured runs.
    let rates: Vec<f64> = feasible.cells.iter().map(|cell| cell.rate.mean).collect();
    let known = |s: BoundInputs| {
        let index = horizons.iter().position(|h| *h as f64 == s.horizon).unwrap_or(0);
        BoundInputs { rate: rates[index], ..s }.oracle_c()
    };
    let oracle = series("c = 1/√r", "eq:oracle-step-bound", &known, "bounds oracle");
    let large = series("c = 4", "prop:SGD_converge", &|_| 4.0, "bounds large");
    let choices = [small, feasible, oracle, large];
    let mut findings = Findings::default();
    findings.claim(second_moment(&problem, settings));
    findings.claim(stay_inside(&problem, settings));
    for choice in &choices {
        findings.claim(under_bound(choice));
    }
    findings.claim(balance(&choices[2]));
    findings.claim(transfer(&problem, settings));
    for choice in &choices {
        findings.claim(zero_one(choice, &problem));
    }
    findings.plate("bounds", figure(&choices, &problem));
    findings.tables.push(table(&choices));
    findings.remarks.push(format!(
        "Margin rule with μ = 1 and squared hinge on seven features in the plane, iterates projected onto the unit ball: \
         D = {}, G = {}, U_max = 1. Each mean is over {runs} runs.",
        brief(choices[0].cells[0].setting.distance),
        brief(choices[0].cells[0].setting.gradient)
    ));
    findings
}

fn cell(
    problem: &Finite<'_>,
    horizon: u64,
    runs: u64,
    choose: &dyn Fn(BoundInputs) -> f64,
    seed: u64,
    purpose: &str,
) -> BoundCell {
    let rough = problem.setting(RADIUS, horizon);
    let c = choose(rough);
    let recipe = FiniteRecipe::new(problem.pair, StepSize::Fixed(rough.step(c)), Some(RADIUS));
    let seeds = Coin::new(seed, purpose);
    let key = |run: u64| seeds.bits(horizon << 20 | run);
    let trials: Vec<StreamTrial> =
        (0..runs).into_par_iter().map(|run| recipe.run(problem, horizon, key(run))).collect();
    let least = problem.risk(problem.minimizer());
    let excess = Mean::of(trials.iter().map(|trial| problem.risk(trial.average) - least));
    let zero_one = Mean::of(trials.iter().map(|trial| problem.excess_zero_one(trial.average)));
    let rate = Mean::of(trials.iter().map(|trial| trial.rate));
    BoundCell { setting: BoundInputs { rate: rate.mean, ..rough }, c, excess, zero_one, rate }
}

/// Draws points uniformly in the ball.
fn random_points(seed: u64, count: u64, radius: f64) -> impl Iterator<Item = Weights> {
    let coin = Coin::new(seed, "places");
    (0..count).map(move |i| {
        let (angle, far) = (2.0 * std::f64::consts::PI * coin.unit(2 * i), radius * coin.unit(2 * i + 1).sqrt());
        [far * angle.cos(), far * angle.sin()]
    })
}

/// Checks E‖g‖² ≤ G²·E[U] exactly at many points. This is how the query rate enters the bound.
fn second_moment(problem: &Finite<'_>, settings: &ReproductionSettings) -> PaperClaim {
    let bound = problem.gradient_bound(RADIUS);
    let share = |theta| problem.second_moment(theta) / (bound * bound * problem.rate(theta));
    let most = random_points(settings.seed, 2000, RADIUS).map(share).fold(0.0, f64::max);
    PaperClaim::new("eq:feature-second-moment", "asked gradients have second moment at most G²·E[U]")
        .computed(format!("at 2000 places of the ball at most {} of it", brief(most)))
        .expected("at most 1", Basis::Theory)
        .holds(most <= 1.0 && 0.1 < most)
}

/// Checks that iterates leave the set on which G holds without a projection, and stay inside with it.
fn stay_inside(problem: &Finite<'_>, settings: &ReproductionSettings) -> PaperClaim {
    let step = problem.setting(RADIUS, 64).step(4.0);
    let seeds = Coin::new(settings.seed, "bounds inside");
    let farthest = |radius| {
        let recipe = FiniteRecipe::new(problem.pair, StepSize::Fixed(step), radius);
        (0..20).map(|run| recipe.run(problem, 64, seeds.bits(run)).farthest).fold(0.0, f64::max)
    };
    let (free, kept) = (farthest(None), farthest(Some(RADIUS)));
    PaperClaim::new("prop:SGD_converge", "iterates stay in Θ")
        .computed(format!("‖θ‖ up to {} without a projection, {} with one", brief(free), brief(kept)))
        .expected("at most 1, the radius of Θ", Basis::Paper)
        .holds_with_erratum(16, RADIUS < free && kept <= RADIUS * (1.0 + 1e-12))
}

fn under_bound(choice: &Choice) -> PaperClaim {
    let holds = choice.cells.iter().all(|cell| cell.excess.high() <= cell.strict_bound());
    let (first, last) = (&choice.cells[0], &choice.cells[choice.cells.len() - 1]);
    let shares = choice.cells.iter().map(|cell| cell.excess.mean / cell.bound());
    let closest = shares.fold(0.0, f64::max);
    PaperClaim::new(choice.place, format!("the mean excess equivalent risk is under its bound, {}", choice.name))
        .computed(format!(
            "T = {}: {} ± {} under {}; T = {}: {} ± {} under {}",
            brief(first.setting.horizon),
            brief(first.excess.mean),
            brief(first.excess.error),
            brief(first.bound()),
            brief(last.setting.horizon),
            brief(last.excess.mean),
            brief(last.excess.error),
            brief(last.bound())
        ))
        .expected(
            format!("mean + 5 errors below the bound at every T; at most {} of it", brief(closest)),
            Basis::Theory,
        )
        .holds(holds)
}

/// Checks that the oracle's bound is DG·E[r]/√E[Q].
fn balance(oracle: &Choice) -> PaperClaim {
    let mut worst = 0.0_f64;
    for cell in &oracle.cells {
        let BoundInputs { distance, gradient, rate, .. } = cell.setting;
        let printed = distance * gradient * rate / cell.setting.expected_labels().sqrt();
        worst = worst.max(cell.bound() / printed - 1.0);
    }
    PaperClaim::new("eq:oracle-step-bound", "with the rate of earlier runs the two terms balance")
        .computed(format!("the bound at the runs' own rate is at most {} above DG·E[r]/√E[Q]", brief(worst)))
        .expected("0 but for the change of the rate between the two sets of runs, squared: below 1e-3", Basis::Theory)
        .holds((-1e-12..1e-3).contains(&worst))
}

/// Checks the bound on the excess 0–1 risk through the inverse link for every θ, not only in the mean.
fn transfer(problem: &Finite<'_>, settings: &ReproductionSettings) -> PaperClaim {
    let link = Link::new(problem.pair).expect("a classification pair");
    let bayes = problem.bayes_risk();
    let slack = |theta| link.inverse(problem.risk(theta) - bayes) - problem.excess_zero_one(theta);
    let least = random_points(settings.seed, 5000, 3.0).map(slack).fold(f64::INFINITY, f64::min);
    PaperClaim::new("eq:surrogate", "excess 0–1 risk is at most ψ⁻¹ of the excess equivalent risk, at every θ")
        .computed(format!("at 5000 places the bound is above by at least {}", brief(least)))
        .expected("0 or more", Basis::Theory)
        .holds(-1e-12 <= least)
}

fn approximation(problem: &Finite<'_>) -> f64 {
    problem.risk(problem.minimizer()) - problem.bayes_risk()
}

fn zero_one(choice: &Choice, problem: &Finite<'_>) -> PaperClaim {
    let link = Link::new(problem.pair).expect("a classification pair");
    let gap = approximation(problem);
    let allowed = |cell: &BoundCell| link.inverse(cell.strict_bound() + gap);
    let holds = choice.cells.iter().all(|cell| cell.zero_one.high() <= allowed(cell));
    let last = &choice.cells[choice.cells.len() - 1];
    PaperClaim::new("thm:stream-based", format!("the mean excess 0–1 risk is under its bound, {}", choice.name))
        .computed(format!(
            "T = {}: {} ± {} under {}",
            brief(last.setting.horizon),
            brief(last.zero_one.mean),
            brief(last.zero_one.error),
            brief(allowed(last))
        ))
        .expected(
            format!("mean + 5 errors below ψ⁻¹(bound + approximation error {}) at every T", brief(gap)),
            Basis::Theory,
        )
        .holds(holds)
}

const COLORS: [Color; 4] = [Color::Orange, Color::Blue, Color::Green, Color::Red];

fn figure(choices: &[Choice], problem: &Finite<'_>) -> Figure {
    let link = Link::new(problem.pair).expect("a classification pair");
    let gap = approximation(problem);
    let panel = |title: &str, label: &str, bound: &dyn Fn(&BoundCell) -> f64, found: &dyn Fn(&BoundCell) -> f64| {
        let lines = choices.iter().zip(COLORS).flat_map(|(choice, color)| {
            let points =
                |of: &dyn Fn(&BoundCell) -> f64| choice.cells.iter().map(|c| (c.setting.horizon, of(c))).collect();
            [
                Series { name: choice.name.to_owned(), color, mark: SeriesMark::Points, points: points(found) },
                Series { name: String::new(), color, mark: SeriesMark::Line, points: points(bound) },
            ]
        });
        let axis = |label: &str| Axis { scale: AxisScale::Log, ..Axis::new(label) };
        Panel { title: title.to_owned(), x: axis("observations T"), y: axis(label), series: lines.collect() }
    };
    Figure {
        title: String::new(),
        caption: "Mean excess risk of Algorithm 1 (dots) and its bound (lines of the same color), for four step \
                  constants. Left: equivalent risk. Right: 0–1 risk above the best predictor's, with the bound carried \
                  through the link; it cannot fall below what lines can do."
            .to_owned(),
        panels: vec![
            panel("equivalent risk", "mean excess", &BoundCell::bound, &|cell| cell.excess.mean),
            panel("0–1 risk", "mean excess", &|cell| link.inverse(cell.bound() + gap), &|cell| cell.zero_one.mean),
        ],
    }
}

fn table(choices: &[Choice]) -> FindingsTable {
    let header = ["constant", "T", "excess", "error", "bound", "0–1 excess", "error", "mean rate"];
    let rows = choices.iter().flat_map(|choice| {
        choice.cells.iter().map(move |cell| {
            let numbers = [
                cell.setting.horizon,
                cell.excess.mean,
                cell.excess.error,
                cell.bound(),
                cell.zero_one.mean,
                cell.zero_one.error,
                cell.rate.mean,
            ];
            [vec![choice.name.to_owned()], numbers.map(brief).to_vec()].concat()
        })
    });
    FindingsTable {
        name: "bounds".to_owned(),
        caption: "Mean excess risks over runs, their standard errors, and the fixed-step bound at the runs' own rate."
            .to_owned(),
        header: header.map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::norm;

    #[test]
    fn the_minimizer_is_inside_the_ball() {
        let pair = Queried::parse("squared-hinge", "margin:mu=1").unwrap();
        assert!(norm(Finite::new(&pair, &NOISY).minimizer()) < 0.9 * RADIUS);
    }
}
