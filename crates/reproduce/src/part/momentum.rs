//! Momentum on the query clock and on the raw clock (label subsec:momentum): learners versus differential equations.

use querist_engine::optimizer::{Beta, Momentum};
use querist_theory::equivalent::Queried;
use querist_theory::momentum::{Clock, Damping, acceleration};
use rayon::prelude::*;

use crate::findings::FindingsTable;
use crate::numbers::{brief, fixed};
use crate::ode::integrate;
use crate::part::PaperPart;
use crate::{Basis, Findings, PaperClaim, ReproductionSettings};

mod chain;
mod drawn;
mod energy;
mod modes;

use crate::mixture::{Population, Theta};

pub(super) const PART: PaperPart = PaperPart {
    name: "momentum",
    title: "Momentum and the query clock",
    about: "heavy ball and Nesterov runs on both clocks against their differential equations, the energy identity, the change of time and the modes near stationary points",
    run,
};

/// The starting point of all runs, at rest.
const FROM: Theta = [1.0, -0.5, 0.25];
/// The start time, after 0 because Nesterov's damping is 3/s.
const START: f64 = 1.0;
/// The duration of a run.
const DURATION: f64 = 4.0;
/// The number of checkpoints along a run, after the start.
const LOOKS: usize = 40;
/// The error of each step of an integration.
const TOLERANCE: f64 = 1e-10;

/// A dynamics and its end in a table of reference values.
struct Dynamics {
    title: &'static str,
    clock: Clock,
    damping: Damping,
    reference: Option<Theta>,
}

const DYNAMICS: [Dynamics; 4] = [
    Dynamics {
        title: "heavy ball, query clock",
        clock: Clock::Query,
        damping: Damping::Constant(0.8),
        reference: Some([0.0682, 0.5589, 0.6333]),
    },
    Dynamics {
        title: "Nesterov, query clock",
        clock: Clock::Query,
        damping: Damping::Nesterov,
        reference: Some([0.0574, 0.5404, 0.4436]),
    },
    Dynamics {
        title: "heavy ball, raw clock",
        clock: Clock::Raw,
        damping: Damping::Constant(0.8),
        reference: Some([0.1317, 0.3958, 0.5466]),
    },
    Dynamics { title: "Nesterov, raw clock", clock: Clock::Raw, damping: Damping::Nesterov, reference: None },
];

impl Dynamics {
    /// Returns the momentum with which a learner follows this dynamics at ticks of length h.
    fn momentum(&self, h: f64) -> Momentum {
        match self.damping {
            Damping::Constant(gamma) => Momentum::HeavyBall(Beta::Constant(1.0 - gamma * h)),
            Damping::Nesterov => Momentum::Nesterov(Beta::Rising { first: START / h }),
        }
    }

    /// Returns θ at the checkpoints, by the differential equation.
    fn path(&self, population: &Population<'_>) -> Vec<Theta> {
        let slope = |time: f64, state: &[f64; 6]| {
            let mut out = [0.0; 6];
            out[..3].copy_from_slice(&state[3..]);
            acceleration(population, self.clock, self.damping, time, &state[..3], &state[3..], &mut out[3..]);
            out
        };
        let mut state = [FROM[0], FROM[1], FROM[2], 0.0, 0.0, 0.0];
        let mut path = vec![FROM];
        let leg = DURATION / LOOKS as f64;
        for look in 0..LOOKS {
            let from = START + leg * look as f64;
            state = integrate(slope, state, from..from + leg, TOLERANCE, |_, _| ());
            path.push([state[0], state[1], state[2]]);
        }
        path
    }
}

/// Runs of one dynamics, with their mean path and the spread around it.
struct Runs {
    mean: Vec<Theta>,
    deviation: Vec<Theta>,
    count: usize,
    /// The largest distance of each run from the path of the equation.
    farthest: Vec<f64>,
}

fn simulate(settings: &ReproductionSettings, dynamics: &Dynamics, path: &[Theta], h: f64, count: usize) -> Runs {
    let runs: Vec<Vec<Theta>> = (0..count as u64)
        .into_par_iter()
        .map(|run| chain::follow(dynamics, h, settings.seed.wrapping_mul(1_000_003).wrapping_add(run)))
        .collect();
    let n = count as f64;
    let over_runs = |look: usize, j: usize| runs.iter().map(move |run| run[look][j]);
    let mean: Vec<Theta> = (0..=LOOKS).map(|look| [0, 1, 2].map(|j| over_runs(look, j).sum::<f64>() / n)).collect();
    let deviation = (0..=LOOKS)
        .map(|look| {
            [0, 1, 2].map(|j| (over_runs(look, j).map(|x| (x - mean[look][j]).powi(2)).sum::<f64>() / (n - 1.0)).sqrt())
        })
        .collect();
    let distance = |a: &Theta, b: &Theta| a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
    let farthest =
        runs.iter().map(|run| run.iter().zip(path).map(|(a, b)| distance(a, b)).fold(0.0, f64::max)).collect();
    Runs { mean, deviation, count, farthest }
}

fn run(settings: &ReproductionSettings) -> Findings {
    let pair = Queried::parse("squared-hinge", "margin:mu=1").expect("a registered pair");
    let population = Population::new(&pair);
    let mut findings = Findings::default();
    findings.claims.extend(chain::embedded(settings, &population));
    let paths: Vec<Vec<Theta>> = DYNAMICS.iter().map(|dynamics| dynamics.path(&population)).collect();
    let (h, count) = (1e-4, settings.pick(100, 24));
    let runs: Vec<Runs> =
        DYNAMICS.iter().zip(&paths).map(|(dynamics, path)| simulate(settings, dynamics, path, h, count)).collect();
    let mut table = FindingsTable {
        name: "momentum-ends".to_owned(),
        caption: format!("θ = (w₁, w₂, b) after time {DURATION}: mean of {count} runs at h = {h}, and the equation"),
        header: ["dynamics", "mean of runs", "standard error", "equation", "reference"].map(str::to_owned).to_vec(),
        rows: vec![],
    };
    for ((dynamics, path), runs) in DYNAMICS.iter().zip(&paths).zip(&runs) {
        findings.claims.extend(end(dynamics, path[LOOKS], runs, h, &mut table));
    }
    findings.claim(clocks_differ(&paths, &runs));
    let (claim, shrinking) = shrinks(settings, &paths[0]);
    findings.claim(claim);
    findings.claims.extend(energy::claims(&population));
    let (claims, settling) = modes::claims(&population);
    findings.claims.extend(claims);
    findings.plate("momentum-paths", drawn::paths(&paths, &runs));
    findings.plate("momentum-limits", drawn::limits(shrinking, settling));
    findings.tables.push(table);
    findings.remarks.push(format!(
        "Learners ask the squared hinge by margin, μ = 1, about the paper's four Gaussians, from θ = (1, −0.5, 0.25) at \
         rest; a tick of the clock is h = {h} of time. The equations' forces are integrals over the four Gaussians."
    ));
    findings
}

fn triple(x: Theta) -> String {
    format!("({})", x.map(|x| fixed(x, 4)).join(", "))
}

/// Compares the end of the runs with the equation, and the equation with the reference.
fn end(dynamics: &Dynamics, path: Theta, runs: &Runs, h: f64, table: &mut FindingsTable) -> Vec<PaperClaim> {
    let (mean, deviation) = (runs.mean[LOOKS], runs.deviation[LOOKS]);
    let errors = deviation.map(|deviation| deviation / (runs.count as f64).sqrt());
    let spread: f64 = deviation.iter().map(|deviation| deviation * deviation).sum();
    // The mean of a nonlinear motion deviates by the variance of a run, and steps of length h add as much.
    let bias = spread + 10.0 * h;
    let close = (0..3).all(|j| (mean[j] - path[j]).abs() <= 6.0 * errors[j] + bias);
    let reference = dynamics.reference.map_or("—".to_owned(), triple);
    table.rows.push(vec![dynamics.title.to_owned(), triple(mean), triple(errors), triple(path), reference]);
    let mut claims = vec![
        PaperClaim::new("prop:momentum-ode", format!("{}: learners follow the equation", dynamics.title))
            .computed(format!("after time 4: {} ± {}", triple(mean), triple(errors)))
            .expected(
                format!("{}, within 6 standard errors and {} for variance and step", triple(path), brief(bias)),
                Basis::Run,
            )
            .holds(close),
    ];
    if let Some(expected) = dynamics.reference {
        let off = path.iter().zip(expected).map(|(p, e)| (p - e).abs()).fold(0.0, f64::max);
        claims.push(
            PaperClaim::new("eq:momentum-ode", format!("{}: where the equation ends", dynamics.title))
                .computed(triple(path))
                .expected(format!("{}, to its last digit", triple(expected)), Basis::Reference)
                .holds(off <= 0.6e-4),
        );
    }
    claims
}

/// Checks that the two clocks are different dynamics.
fn clocks_differ(paths: &[Vec<Theta>], runs: &[Runs]) -> PaperClaim {
    let gap = |a: Theta, b: Theta| a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
    let equations = gap(paths[0][LOOKS], paths[2][LOOKS]);
    let simulated = gap(runs[0].mean[LOOKS], runs[2].mean[LOOKS]);
    let error = runs[0].deviation[LOOKS].iter().chain(&runs[2].deviation[LOOKS]).map(|d| d * d).sum::<f64>().sqrt()
        / (runs[0].count as f64).sqrt();
    PaperClaim::new("subsec:momentum", "the two clocks are different dynamics, not two descriptions of one")
        .computed(format!("heavy ball: ends {} apart, runs {}", brief(equations), brief(simulated)))
        .expected(format!("farther than 6 standard errors, {}", brief(6.0 * error)), Basis::Run)
        .holds(6.0 * error < simulated && 6.0 * error < equations)
}

/// Checks that distances from the path shrink as √h: the quadratic variation of the noise is O(h).
fn shrinks(settings: &ReproductionSettings, path: &[Theta]) -> (PaperClaim, Vec<(f64, f64)>) {
    let steps = settings.pick(vec![1e-2, 4e-3, 1e-3, 4e-4, 1e-4], vec![1e-2, 4e-3, 1e-3, 4e-4]);
    let count = settings.pick(100, 64);
    let seen: Vec<(f64, f64)> = steps
        .into_iter()
        .map(|h| {
            let runs = simulate(settings, &DYNAMICS[0], path, h, count);
            (h, (runs.farthest.iter().map(|d| d * d).sum::<f64>() / count as f64).sqrt())
        })
        .collect();
    let n = seen.len() as f64;
    let (x, y) = (seen.iter().map(|s| s.0.ln()).sum::<f64>() / n, seen.iter().map(|s| s.1.ln()).sum::<f64>() / n);
    let power = seen.iter().map(|s| (s.0.ln() - x) * (s.1.ln() - y)).sum::<f64>()
        / seen.iter().map(|s| (s.0.ln() - x).powi(2)).sum::<f64>();
    let shown: Vec<String> = seen.iter().map(|(h, d)| format!("{} at h = {h}", brief(*d))).collect();
    let claim = PaperClaim::new(
        "apd:momentum-details",
        "the whole path converges: its largest distance from the equation's shrinks as √h",
    )
    .computed(format!("power {power:.3}; root mean square {}", shown.join(", ")))
    .expected("power 1/2, to 0.12", Basis::Theory)
    .holds((power - 0.5).abs() < 0.12);
    (claim, seen)
}
