//! Nonconvex pairs: the minimum reached from a random start, and the effect of a warm start.

use std::f64::consts::PI;

use querist_engine::coin::Coin;
use querist_theory::equivalent::Queried;
use querist_theory::loss::Loss;
use rayon::prelude::{IntoParallelIterator, ParallelIterator};

use super::reference::{REACHED, Reached, flows};
use super::track::{MixtureRun, learn};
use super::vector;
use crate::mixture::{Population, Theta};
use crate::ode::integrate;
use crate::{Basis, Findings, FindingsTable, PaperClaim, ReproductionSettings};

/// The end time of flows, at which none is still between two minima.
const TIME: f64 = 1000.0;
/// The duration of the warm start under the rule `critical`. Its objective is convex, and its slowest mode has a
/// relaxation time of 10.
const WARM: f64 = 100.0;
/// An upper limit on the 0–1 risk of the good minimum; the next minimum has 0.2156.
const GOOD: f64 = 0.16;

/// Counts by minimum: 0–1 risks of about 0.120, 0.216, 0.313, 0.409, and none of them.
type Counts = [u32; 5];

pub(super) fn report(settings: &ReproductionSettings, findings: &mut Findings) {
    let starts = random_starts(settings.seed, settings.pick(60, 12));
    let mut rows = vec![];
    for reached in &REACHED {
        let pair = Queried::parse(reached.loss, reached.rule).expect("a registered pair");
        let critical = Queried::parse(reached.loss, "critical").expect("every convex loss has its critical rule");
        let cold = counts(&pair, &starts);
        let warmed: Vec<Theta> =
            starts.clone().into_par_iter().map(|start| flow(&Population::rough(&critical), start, WARM)).collect();
        let warm = counts(&pair, &warmed);
        findings.claim(random(reached, cold, starts.len()));
        findings.claim(warm_start(reached, &critical, warm, starts.len()));
        findings.claim(warm_run(reached, &pair, settings));
        for (name, counts) in [("from the start", cold), ("after the critical rule", warm)] {
            let mut row = vec![format!("{} × {}", reached.loss, reached.rule), name.to_owned()];
            row.extend(counts.map(|count| count.to_string()));
            rows.push(row);
        }
    }
    let header = ["pair", "flow", "0.120", "0.216", "0.313", "0.409", "other"];
    findings.tables.push(FindingsTable {
        name: "illustration-starts".to_owned(),
        caption: format!(
            "How many flows of the equivalent risk from {} starts drawn from N(0, I) end at the minimum with this 0–1 \
             risk: directly, and after time {WARM} under the loss's critical rule, the sharpest with a convex objective.",
            starts.len()
        ),
        header: header.map(str::to_owned).to_vec(),
        rows,
    });
}

fn random_starts(seed: u64, count: u64) -> Vec<Theta> {
    let (radius, angle) = (Coin::new(seed, "start radius"), Coin::new(seed, "start angle"));
    let normal = |at: u64| (-2.0 * (1.0 - radius.unit(at)).ln()).sqrt() * (2.0 * PI * angle.unit(at)).cos();
    (0..count).map(|i| std::array::from_fn(|j| normal(3 * i + j as u64))).collect()
}

fn flow(population: &Population<'_>, start: Theta, time: f64) -> Theta {
    let down = |_: f64, theta: &Theta| population.gradient(*theta).map(|g| -g);
    integrate(down, start, 0.0..time, 1e-5, |_, _| ())
}

fn counts(pair: &Queried, starts: &[Theta]) -> Counts {
    let population = Population::rough(pair);
    let end = |start: &Theta| population.zero_one(flow(&population, *start, TIME));
    let risks: Vec<f64> = starts.to_vec().into_par_iter().map(|start| end(&start)).collect();
    let mut counts = [0; 5];
    for risk in risks {
        let edges = [GOOD, 0.26, 0.36, 0.45];
        counts[edges.iter().position(|edge| risk < *edge).unwrap_or(4)] += 1;
    }
    counts
}

/// Compares the fraction found here with that of other random starts.
fn random(reached: &Reached, found: Counts, starts: usize) -> PaperClaim {
    let (n, m) = (starts as f64, 60.0);
    let (here, there) = (f64::from(found[0]) / n, f64::from(reached.good) / m);
    // Both are counts of random starts. Adding one keeps the deviation above 0.
    let share = (f64::from(found[0]) + f64::from(reached.good) + 1.0) / (n + m + 2.0);
    let deviation = (share * (1.0 - share) * (1.0 / n + 1.0 / m)).sqrt();
    PaperClaim::new(
        "fig:exp1-all",
        format!("{} × {} is not convex: where a run ends depends on its start", reached.loss, reached.rule),
    )
    .computed(format!("{} of {starts} flows from N(0, I) reach the good minimum", found[0]))
    .expected(
        format!("{} of 60 from other random starts; 5 deviations are {:.2} of all", reached.good, 5.0 * deviation),
        Basis::Reference,
    )
    .holds((here - there).abs() <= 5.0 * deviation)
}

fn warm_start(reached: &Reached, critical: &Queried, found: Counts, starts: usize) -> PaperClaim {
    // A convex loss has no second minimum along any line through the population.
    let convex = (-400..400).all(|i| {
        let s = 0.02 * f64::from(i);
        critical.slope(s) <= critical.slope(s + 0.02) + 1e-15
    });
    PaperClaim::new(
        "not in the paper",
        format!(
            "{} × {}, after a warm start by the critical rule ({})",
            reached.loss,
            reached.rule,
            critical.rule().name
        ),
    )
    .computed(format!("{} of the same {starts} starts reach the good minimum", found[0]))
    .expected("all: the critical rule's objective is convex, so every start is led to one place", Basis::Theory)
    .holds(found[0] as usize == starts && convex)
}

/// Runs Algorithm 1 itself from the worst of the fixed starts, with and without a warm start.
fn warm_run(reached: &Reached, pair: &Queried, settings: &ReproductionSettings) -> PaperClaim {
    let fixed = flows().into_iter().find(|flow| flow.loss == reached.loss && flow.start[1] < -1.0);
    let start = fixed.map_or([0.0, -4.0, 4.0], |flow| flow.start);
    let population = Population::rough(pair);
    let risk = |warm| {
        let plan = MixtureRun {
            loss: reached.loss,
            rule: reached.rule,
            warm,
            start,
            observations: 400_000,
            step: 1e-3,
            seed: Coin::new(settings.seed, "warm run").bits(0),
        };
        population.zero_one(learn(&plan).last)
    };
    // At least time 60 under the critical rule, which queries at least half of all observations.
    let (cold, warm) = (risk(None), risk(Some(("critical", 60_000))));
    PaperClaim::new("not in the paper", format!("a run of {} × {} from {}", reached.loss, reached.rule, vector(start)))
        .computed(format!("0–1 risk {cold:.3}; with 60,000 labels of a warm start (`--warm-rule critical`) {warm:.3}"))
        .expected("a bad minimum, above 0.16, and the good one, below", Basis::Run)
        .holds(GOOD < cold && warm < GOOD)
}
