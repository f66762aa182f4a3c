//! Algorithm 2 on 200 labeled rows: its excess risk on the pool, compared with the bound D·G·`U_max`/√T.

use querist_engine::coin::Coin;
use querist_engine::pool::{Draw, PoolLearner, Replacement, SgdPool, SgdSettings};
use querist_engine::step::StepSize;
use querist_engine::stream::Importance;
use querist_report::{Axis, AxisScale, Color, Figure, Panel, Series, SeriesMark};
use querist_rows::Rows;
use querist_theory::equivalent::Queried;
use rayon::prelude::{IntoParallelIterator, ParallelIterator};

use crate::finite::{Feature, Finite, FiniteRecipe, Weights, rows};
use crate::numbers::brief;
use crate::statistics::Mean;
use crate::{Basis, Findings, FindingsTable, PaperClaim, ReproductionSettings};

/// The radius of the ball that contains the iterates.
const RADIUS: f64 = 1.5;
/// The number of rows of the pool.
const ROWS: u64 = 200;

/// Generates rows in the square with one label each. The label usually matches the row's side of a line, but not
/// always.
fn pool(seed: u64) -> Vec<Feature> {
    let coin = Coin::new(seed, "pool rows");
    (0..ROWS)
        .map(|i| {
            let x = [0, 1].map(|j| (2.0 * coin.unit(3 * i + j) - 1.0) as f32);
            let lean = f64::from(x[0]) - 0.5 * f64::from(x[1]) + 4.0 * coin.unit(3 * i + 2) - 2.0;
            Feature { share: 1.0 / ROWS as f64, x, odds: if lean < 0.0 { 0.0 } else { 1.0 } }
        })
        .collect()
}

/// The result of one run: θ̄, and the weight of its proposals relative to Σ 1/S.
struct DescentResult {
    average: Weights,
    proposals: f64,
    inverse_rates: f64,
}

/// Runs at one horizon with one way of drawing.
struct DescentCell {
    horizon: u64,
    bound: f64,
    excess: Mean,
    /// Σ N/`U_max` over Σ 1/S along the same run; always 1 for a pass.
    weight: Mean,
    /// Evaluations of U per draw.
    evaluations: f64,
}

pub(super) fn report(settings: &ReproductionSettings, findings: &mut Findings) {
    let pair = Queried::parse("squared-hinge", "margin:mu=1").expect("a registered pair");
    let problem = Finite::new(&pair, &pool(settings.seed));
    let rows = rows(&problem.features);
    let horizons: &[u64] = settings.pick(&[25, 100, 400, 1600], &[100, 400]);
    let runs = settings.pick(300, 80);
    let cells = |draw: Draw, purpose: &str| -> Vec<DescentCell> {
        horizons
            .iter()
            .map(|horizon| cell(&problem, &rows, draw, *horizon, runs, Coin::new(settings.seed, purpose)))
            .collect()
    };
    let by_pass = cells(Draw::Scan, "pool pass");
    let by_proposals = cells(Draw::Reject, "pool proposals");
    findings.claim(under_bound("exact weights 1/S", &by_pass));
    findings.claim(under_bound("N/U_max in their place", &by_proposals));
    findings.claim(same(&by_pass, &by_proposals));
    findings.claim(weight(&by_proposals));
    findings.plate("pool", figure(&by_pass, &by_proposals));
    findings.tables.push(table(&by_pass, &by_proposals));
    findings.remarks.push(format!(
        "A draw by proposals evaluates U {} times on average where a pass evaluates it {ROWS} times.",
        brief(by_proposals[by_proposals.len() - 1].evaluations)
    ));
}

fn cell(problem: &Finite<'_>, rows: &Rows, draw: Draw, horizon: u64, runs: u64, seeds: Coin) -> DescentCell {
    let setting = problem.setting(RADIUS, horizon);
    let recipe = FiniteRecipe::new(problem.pair, StepSize::Fixed(setting.step(1.0)), Some(RADIUS));
    let one = |run: u64| learn(problem, rows, &recipe, draw, horizon, seeds.bits(horizon << 20 | run));
    let results: Vec<DescentResult> = (0..runs).into_par_iter().map(one).collect();
    let least = problem.risk(problem.minimizer());
    let proposed: f64 = results.iter().map(|run| run.proposals).sum();
    DescentCell {
        horizon,
        bound: setting.pool_risk(),
        excess: Mean::of(results.iter().map(|run| problem.risk(run.average) - least)),
        weight: Mean::of(results.iter().map(|run| run.proposals / run.inverse_rates)),
        evaluations: if draw == Draw::Scan { ROWS as f64 } else { proposed / (runs * horizon) as f64 },
    }
}

fn learn(
    problem: &Finite<'_>,
    rows: &Rows,
    recipe: &FiniteRecipe,
    draw: Draw,
    horizon: u64,
    seed: u64,
) -> DescentResult {
    let settings = SgdSettings { draw, replacement: Replacement::With, importance: Importance::Equivalent, seed };
    let mut learner = SgdPool::new(recipe.learner(), recipe.rules(), rows.len(), settings).expect("legal settings");
    let (mut proposals, mut inverse_rates) = (0.0, 0.0);
    for _ in 0..horizon {
        let theta = learner.learner().theta();
        inverse_rates += 1.0 / problem.rate([theta[0], theta[1]]);
        let drawn = learner.ask(rows).expect("the margin rule is positive");
        proposals += drawn.inverse_rate;
        let label = if problem.features[drawn.row].odds == 1.0 { 1.0 } else { -1.0 };
        learner.answer(&[(rows.row(drawn.row), drawn, label)]).expect("steps this small do not diverge");
    }
    let average = learner.learner().mean();
    DescentResult { average: [average[0], average[1]], proposals, inverse_rates }
}

fn under_bound(how: &str, cells: &[DescentCell]) -> PaperClaim {
    let found: Vec<String> = cells
        .iter()
        .map(|cell| format!("T = {}: {} under {}", cell.horizon, brief(cell.excess.mean), brief(cell.bound)))
        .collect();
    PaperClaim::new("prop:SGD_converge_pool", format!("the mean excess risk on the pool is under DG·U_max/√T, {how}"))
        .computed(found.join("; "))
        .expected("mean + 5 errors below the bound at every T", Basis::Theory)
        .holds(cells.iter().all(|cell| 0.0 < cell.excess.mean && cell.excess.high() <= cell.bound))
}

fn same(by_pass: &[DescentCell], by_proposals: &[DescentCell]) -> PaperClaim {
    let off = by_pass
        .iter()
        .zip(by_proposals)
        .map(|(a, b)| (a.excess.mean - b.excess.mean).abs() / a.excess.error.hypot(b.excess.error));
    let worst = off.fold(0.0, f64::max);
    PaperClaim::new("alg:USGD_pool-based", "proposals and passes reach the same excess risk")
        .computed(format!("means differ by at most {worst:.1} errors"))
        .expected("at most 5", Basis::Theory)
        .holds(worst <= 5.0)
}

fn weight(by_proposals: &[DescentCell]) -> PaperClaim {
    let worst = by_proposals.iter().map(|cell| cell.weight.off(1.0)).fold(0.0, f64::max);
    let last = &by_proposals[by_proposals.len() - 1];
    PaperClaim::new("alg:USGD_pool-based", "along runs the weights N/U_max add up to those of the exact 1/S")
        .computed(format!(
            "Σ N/U_max over Σ 1/S = {:.4} ± {:.4} at T = {}",
            last.weight.mean, last.weight.error, last.horizon
        ))
        .expected(format!("1 within 5 errors plus 0.01 at every T; at most {worst:.1} errors off"), Basis::Theory)
        // A ratio of two dependent sums has a bias of order 1/T.
        .holds(by_proposals.iter().all(|cell| (cell.weight.mean - 1.0).abs() <= 5.0 * cell.weight.error + 0.01))
}

fn figure(by_pass: &[DescentCell], by_proposals: &[DescentCell]) -> Figure {
    let points = |cells: &[DescentCell], of: &dyn Fn(&DescentCell) -> f64| {
        cells.iter().map(|c| (c.horizon as f64, of(c))).collect()
    };
    let series = |name: &str, color, mark, points| Series { name: name.to_owned(), color, mark, points };
    Figure {
        title: String::new(),
        caption:
            "Mean excess equivalent risk of Algorithm 2 on a pool of 200 labeled rows, drawn by a pass with exact \
                  weights and by proposals with their number as weight, under the bound."
                .to_owned(),
        panels: vec![Panel {
            title: String::new(),
            x: Axis { scale: AxisScale::Log, ..Axis::new("labels T") },
            y: Axis { scale: AxisScale::Log, ..Axis::new("mean excess equivalent risk") },
            series: vec![
                series("bound DG·U_max/√T", Color::Blue, SeriesMark::Line, points(by_pass, &|cell| cell.bound)),
                series("pass, weights 1/S", Color::Orange, SeriesMark::Line, points(by_pass, &|cell| cell.excess.mean)),
                series(
                    "proposals, weights N/U_max",
                    Color::Red,
                    SeriesMark::Points,
                    points(by_proposals, &|cell| cell.excess.mean),
                ),
            ],
        }],
    }
}

fn table(by_pass: &[DescentCell], by_proposals: &[DescentCell]) -> FindingsTable {
    let rows = by_pass.iter().zip(by_proposals).map(|(pass, proposals)| {
        let numbers = [
            pass.horizon as f64,
            pass.excess.mean,
            pass.excess.error,
            proposals.excess.mean,
            proposals.excess.error,
            pass.bound,
            proposals.weight.mean,
            proposals.evaluations,
        ];
        numbers.map(brief).to_vec()
    });
    let header = ["T", "pass", "error", "proposals", "error", "bound", "ΣN/U_max over Σ1/S", "evaluations of U a draw"];
    FindingsTable {
        name: "pool".to_owned(),
        caption: "Mean excess equivalent risk on the pool by the number of labels.".to_owned(),
        header: header.map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::norm;

    #[test]
    fn minimizers_are_inside_the_ball() {
        let pair = Queried::parse("squared-hinge", "margin:mu=1").unwrap();
        for seed in 0..20 {
            let best = norm(Finite::new(&pair, &pool(seed)).minimizer());
            assert!(best < RADIUS, "seed {seed}: {best}");
        }
    }
}
