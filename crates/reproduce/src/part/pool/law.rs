//! One draw: the row has the distribution U/ΣU; the number of proposals is geometric and independent of the row.

use querist_engine::learner::Learner;
use querist_engine::optimizer::{Clock, Constraint, Momentum, Optimizer};
use querist_engine::pool::{Draw, Drawn, NoRow, PoolLearner, Replacement, SgdPool, SgdSettings};
use querist_engine::rule;
use querist_engine::stats::mean;
use querist_engine::step::{StepSize, Steps};
use querist_engine::stream::{Importance, Rules};
use querist_engine::task::{self, Labels};
use querist_report::{Axis, AxisScale, Color, Figure, Panel, Series, SeriesMark};
use querist_rows::Rows;
use querist_theory::equivalent::Queried;
use querist_theory::loss::Loss;

use crate::finite::{Feature, rows};
use crate::statistics::{Mean, chi_squared_limit};
use crate::{Basis, Findings, PaperClaim, ReproductionSettings};

/// The fixed parameters during the draws; scores are between −4 and 4.
const THETA: [f64; 2] = [4.0, 0.0];
/// The smallest proposal count of the tail class.
const TAIL: usize = 9;

/// Returns eight rows at scores 4·x₁, each with its label probability.
fn features() -> Vec<Feature> {
    let coordinates = [0.0, 0.06, -0.15, 0.3, -0.45, 0.6, 0.8, -1.0];
    coordinates
        .iter()
        .enumerate()
        .map(|(i, x)| Feature { share: 0.125, x: [*x, 0.3], odds: 0.1 * (i as f64 + 1.0) })
        .collect()
}

fn learner(rule: &str, rows: usize, draw: Draw, seed: u64) -> SgdPool {
    let task = task::parse("squared-hinge", Labels::Binary).expect("a registered loss");
    let optimizer = Optimizer::new(Momentum::None, Clock::Query, Constraint::default());
    let learner = Learner::new(task, false, 2, optimizer, Steps::new(StepSize::Fixed(1.0)), Some(&THETA))
        .expect("legal settings");
    let rules = Rules::only(rule::parse(rule, "squared-hinge", Labels::Binary).expect("a registered rule"));
    let settings = SgdSettings { draw, replacement: Replacement::With, importance: Importance::Equivalent, seed };
    SgdPool::new(learner, rules, rows, settings).expect("legal settings")
}

pub(super) fn report(settings: &ReproductionSettings, findings: &mut Findings) {
    let features = features();
    let pool = rows(&features);
    let draws = settings.pick(2_000_000, 200_000);
    let mut samples = vec![];
    for draw in [Draw::Reject, Draw::Scan] {
        let mut learner = learner("margin:mu=1", features.len(), draw, settings.seed);
        let drawn: Vec<Drawn> = (0..draws).map(|_| learner.ask(&pool).expect("every row can be drawn")).collect();
        samples.push(drawn);
    }
    let uncertainties: Vec<f64> = features.iter().map(|f| 1.0 / (1.0 + (THETA[0] * f64::from(f.x[0])).abs())).collect();
    let (proposals, passes) = (&samples[0], &samples[1]);
    findings.claim(rows_drawn("by proposals", proposals, &uncertainties));
    findings.claim(rows_drawn("by a pass", passes, &uncertainties));
    findings.claim(tries(proposals, &uncertainties));
    findings.claim(independent(proposals, &uncertainties));
    findings.claim(weights(proposals, &uncertainties));
    findings.claim(mean_gradient(proposals, &features, &uncertainties));
    findings.claim(nothing_to_draw(&pool));
    findings.plate("pool-law", figure(proposals, &uncertainties));
}

/// Returns S/`U_max`, the probability that a proposal is accepted.
fn success(uncertainties: &[f64]) -> f64 {
    mean(uncertainties)
}

fn rows_drawn(how: &str, drawn: &[Drawn], uncertainties: &[f64]) -> PaperClaim {
    let total: f64 = uncertainties.iter().sum();
    let mut chi = 0.0;
    for (row, u) in uncertainties.iter().enumerate() {
        let (count, right) = (drawn.iter().filter(|d| d.row == row).count() as f64, drawn.len() as f64 * u / total);
        chi += (count - right).powi(2) / right;
    }
    let limit = chi_squared_limit(7.0);
    PaperClaim::new("alg:USGD_pool-based", format!("rows drawn {how} have probabilities U/ΣU"))
        .computed(format!("χ² = {chi:.1} on 7 degrees over {} draws of 8 rows", drawn.len()))
        .expected(format!("below {limit:.1}, exceeded once in some millions"), Basis::Theory)
        .holds(chi < limit)
}

fn tries(drawn: &[Drawn], uncertainties: &[f64]) -> PaperClaim {
    let accepted = success(uncertainties);
    let (mean, variance) = (1.0 / accepted, (1.0 - accepted) / (accepted * accepted));
    let n = drawn.len() as f64;
    let found = Mean::of(drawn.iter().map(|d| d.tries as f64));
    let spread = found.error * found.error * n;
    // The fourth central moment of a geometric distribution is (1 − A)(A² − 9A + 9)/A⁴.
    let fourth = (1.0 - accepted) * (accepted * accepted - 9.0 * accepted + 9.0) / accepted.powi(4);
    let error = ((fourth - variance * variance) / n).sqrt();
    let off = (spread - variance).abs() / error;
    PaperClaim::new(
        "alg:USGD_pool-based",
        "the number N of proposals has mean U_max/S and variance (1 − A)/A², A = S/U_max",
    )
    .computed(format!(
        "mean {:.5} ({:.1} errors off), variance {spread:.4} ({off:.1} errors off)",
        found.mean,
        found.off(mean)
    ))
    .expected(format!("{mean:.5} and {variance:.4}, within 5 errors"), Basis::Theory)
    .holds(found.off(mean) <= 5.0 && off <= 5.0)
}

/// Compares counts of (row, N) with the product of both distributions.
fn independent(drawn: &[Drawn], uncertainties: &[f64]) -> PaperClaim {
    let (accepted, total) = (success(uncertainties), uncertainties.iter().sum::<f64>());
    let mut counts = vec![[0.0; TAIL]; uncertainties.len()];
    for d in drawn {
        counts[d.row][(d.tries as usize).min(TAIL) - 1] += 1.0;
    }
    let mut chi = 0.0;
    for (counts, u) in counts.iter().zip(uncertainties) {
        let mut before = 1.0;
        for (k, count) in counts.iter().enumerate() {
            let tried = if k + 1 == TAIL { before } else { before * accepted };
            let right = drawn.len() as f64 * u / total * tried;
            chi += (count - right).powi(2) / right;
            before *= 1.0 - accepted;
        }
    }
    let degrees = (uncertainties.len() * TAIL - 1) as f64;
    let limit = chi_squared_limit(degrees);
    PaperClaim::new(
        "alg:USGD_pool-based",
        "row and number of proposals are independent: P(row, N = k) = U/ΣU · A(1 − A)^(k−1)",
    )
    .computed(format!("χ² = {chi:.1} on {degrees} degrees"))
    .expected(format!("below {limit:.1}"), Basis::Theory)
    .holds(chi < limit)
}

fn weights(drawn: &[Drawn], uncertainties: &[f64]) -> PaperClaim {
    let found = Mean::of(drawn.iter().map(|d| d.inverse_rate));
    let right = 1.0 / success(uncertainties);
    PaperClaim::new("alg:USGD_pool-based", "N/U_max estimates the output weight 1/S without bias")
        .computed(format!("mean {:.5}, {:.1} errors off", found.mean, found.off(right)))
        .expected(format!("1/S = {right:.5}, within 5 errors"), Basis::Theory)
        .holds(found.off(right) <= 5.0)
}

/// Checks E[g | θ] = ∇R̃/S, with the mean over labels at each row.
fn mean_gradient(drawn: &[Drawn], features: &[Feature], uncertainties: &[f64]) -> PaperClaim {
    let pair = Queried::parse("squared-hinge", "margin:mu=1").expect("a registered pair");
    let slope = |f: &Feature, of: &dyn Fn(f64) -> f64| {
        let score = THETA[0] * f64::from(f.x[0]);
        f.odds * of(score) - (1.0 - f.odds) * of(-score)
    };
    // On one side are gradients of the loss itself at the drawn rows, on the other the slope of the equivalent loss.
    let gradients: Vec<f64> =
        features.iter().map(|f| slope(f, &|s| pair.loss().slope(s)) * f64::from(f.x[0])).collect();
    let found = Mean::of(drawn.iter().map(|d| gradients[d.row]));
    let equivalent: f64 = features.iter().map(|f| f.share * slope(f, &|s| pair.slope(s)) * f64::from(f.x[0])).sum();
    let right = equivalent / success(uncertainties);
    PaperClaim::new("eq:pool-mean", "the mean gradient of the rows drawn is ∇R̃/S")
        .computed(format!("first coordinate {:.5}, {:.1} errors off", found.mean, found.off(right)))
        .expected(format!("{right:.5}, within 5 errors"), Basis::Theory)
        .holds(found.off(right) <= 5.0)
}

/// Checks the threshold rule on a pool outside the band: every U is 0, so no row can be drawn.
fn nothing_to_draw(pool: &Rows) -> PaperClaim {
    let far: Vec<Feature> = features().into_iter().filter(|f| 0.2 < f.x[0].abs()).collect();
    let answers = [Draw::Reject, Draw::Scan].map(|draw| {
        let mut learner = learner("threshold:gamma=0.5", far.len(), draw, 1);
        learner.ask(&rows(&far)).err()
    });
    let is_reported = answers.iter().all(|answer| *answer == Some(NoRow::AllZero { left: far.len() }));
    let near = learner("threshold:gamma=0.5", pool.len(), Draw::Scan, 1).ask(pool).is_ok();
    PaperClaim::new("prop:SGD_converge_pool", "0 < S_t throughout")
        .computed("threshold 0.5 on rows with scores beyond 1: every U is 0; both draws end and say so")
        .expected("a positive S, from U in (0, 1] as printed", Basis::Paper)
        .holds_with_erratum(13, is_reported && near)
}

fn figure(drawn: &[Drawn], uncertainties: &[f64]) -> Figure {
    let (accepted, n, total) = (success(uncertainties), drawn.len() as f64, uncertainties.iter().sum::<f64>());
    let share = |k: u64| drawn.iter().filter(|d| d.tries == k).count() as f64 / n;
    let last = 16;
    let of_row = |row: usize| drawn.iter().filter(|d| d.row == row).count() as f64 / n;
    let mean_tries = |row: usize| {
        let of: Vec<f64> = drawn.iter().filter(|d| d.row == row).map(|d| d.tries as f64).collect();
        mean(&of)
    };
    let series = |name: &str, color, mark, points| Series { name: name.to_owned(), color, mark, points };
    Figure {
        title: String::new(),
        caption: "Draws by proposals from a pool of eight rows. Left: how often a draw needs N proposals, against the \
                  geometric law. Middle: how often each row is drawn, against U/ΣU. Right: the mean number of proposals \
                  that came before each row, which is the same for all."
            .to_owned(),
        panels: vec![
            Panel {
                title: "proposals for a draw".to_owned(),
                x: Axis::new("N"),
                y: Axis { scale: AxisScale::Log, ..Axis::new("frequency") },
                series: vec![
                    series("A(1 − A)^(N−1)", Color::Blue, SeriesMark::Line, (1..=last).map(|k| (k as f64, accepted * (1.0 - accepted).powi(k as i32 - 1))).collect()),
                    series("drawn", Color::Red, SeriesMark::Points, (1..=last).map(|k| (k as f64, share(k))).collect()),
                ],
            },
            Panel {
                title: "rows drawn".to_owned(),
                x: Axis::new("U of the row"),
                y: Axis::new("frequency"),
                series: vec![
                    series("U/ΣU", Color::Blue, SeriesMark::Line, vec![(0.0, 0.0), (1.0, 1.0 / total)]),
                    series("drawn", Color::Red, SeriesMark::Points, (0..uncertainties.len()).map(|i| (uncertainties[i], of_row(i))).collect()),
                ],
            },
            Panel {
                title: "proposals by row".to_owned(),
                x: Axis::new("U of the row"),
                y: Axis { range: Some((0.0, 1.5 / accepted)), ..Axis::new("mean N") },
                series: vec![
                    series("U_max/S", Color::Blue, SeriesMark::Line, vec![(0.0, 1.0 / accepted), (1.0, 1.0 / accepted)]),
                    series("drawn", Color::Red, SeriesMark::Points, (0..uncertainties.len()).map(|i| (uncertainties[i], mean_tries(i))).collect()),
                ],
            },
        ],
    }
}
