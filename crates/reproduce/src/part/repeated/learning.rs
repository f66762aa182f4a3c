//! Learning from a small pool with label noise: a fresh label per visit, one permanent label, or new features instead.

use querist_engine::coin::Coin;
use querist_engine::pool::{Draw, PoolLearner, Replacement, SgdPool, SgdSettings};
use querist_engine::step::StepSize;
use querist_engine::stream::{Importance, StreamLearner};
use querist_report::{Axis, AxisScale, Color, Figure, Panel, Series, SeriesMark};
use querist_theory::equivalent::Queried;
use rayon::prelude::{IntoParallelIterator, ParallelIterator};

use crate::finite::{Feature, Finite, FiniteRecipe, Weights, rows};
use crate::matrix::norm;
use crate::numbers::brief;
use crate::statistics::Mean;
use crate::{Basis, Findings, FindingsTable, PaperClaim, ReproductionSettings};

/// The number of rows of a pool.
const ROWS: usize = 30;
/// The factor on the step D/(G√T). G is a worst case, and the comparison is about the end of runs, not their transient.
const C: f64 = 6.0;
/// The radius of the ball that contains the iterates.
const RADIUS: f64 = 1.5;

/// Returns a population of features on a square grid, with noisy labels whose best prediction is not linear.
fn population() -> Vec<Feature> {
    let side = 20_i16;
    let coordinate = |i: i16| (2.0 * f32::from(i) + 1.0) / f32::from(side) - 1.0;
    let all = (0..side).flat_map(|i| (0..side).map(move |j| [coordinate(i), coordinate(j)]));
    let share = 1.0 / (f64::from(side) * f64::from(side));
    all.map(|x| {
        let [a, b] = x.map(f64::from);
        let lean = (a + 0.5 * b + 2.0 * a * b - 1.5 * b * b * b).clamp(-1.0, 1.0);
        Feature { share, x, odds: 0.5 * (1.0 + 0.8 * lean) }
    })
    .collect()
}

/// The source of labels.
#[derive(Clone, Copy, PartialEq)]
enum LabelSource {
    /// One label for each row, the same at every visit.
    Single,
    /// A fresh label at every visit.
    Repeated,
    /// A new feature for every label.
    New,
}

/// A pool: features with label probabilities, and the same features with one label each.
struct FeaturePool {
    conditional: Vec<Feature>,
    labeled: Vec<Feature>,
}

impl FeaturePool {
    fn new(population: &Finite<'_>, seed: u64) -> Self {
        let (rows, labels) = (Coin::new(seed, "pool feature"), Coin::new(seed, "pool label"));
        let share = 1.0 / ROWS as f64;
        let conditional: Vec<Feature> =
            (0..ROWS as u64).map(|i| Feature { share, ..*population.draw(rows.unit(i)) }).collect();
        let label =
            |(i, f): (usize, &Feature)| Feature { odds: if labels.unit(i as u64) < f.odds { 1.0 } else { 0.0 }, ..*f };
        let labeled = conditional.iter().enumerate().map(label).collect();
        Self { conditional, labeled }
    }
}

pub(super) fn report(settings: &ReproductionSettings, findings: &mut Findings) {
    let pair = Queried::parse("squared-hinge", "margin:mu=1").expect("a registered pair");
    let population = Finite::new(&pair, &population());
    let least = population.risk(population.minimizer());
    let seeds = Coin::new(settings.seed, "repeated");
    let pools: Vec<FeaturePool> =
        (0..settings.pick(300, 200)).map(|i| FeaturePool::new(&population, seeds.bits(i))).collect();
    let excess = |theta: Weights| population.risk(theta) - least;
    let targets = |of: &dyn Fn(&FeaturePool) -> &[Feature]| -> Vec<f64> {
        pools.iter().map(|pool| excess(inside(Finite::new(&pair, of(pool)).minimizer()))).collect()
    };
    let (single, repeated) = (targets(&|pool| &pool.labeled), targets(&|pool| &pool.conditional));
    findings.claim(target(&single, &repeated));
    let horizons: &[u64] = settings.pick(&[30, 120, 480, 1920, 7680], &[120, 960]);
    let run = |labels: LabelSource, horizon: u64| -> Vec<f64> {
        let step = population.setting(RADIUS, horizon).step(C);
        let recipe = FiniteRecipe::new(&pair, StepSize::Fixed(step), Some(RADIUS));
        let one = |i: usize| {
            let seed = seeds.bits(1_000_000 + horizon * 1000 + i as u64);
            excess(learn(&population, &pools[i], &recipe, labels, horizon, seed))
        };
        (0..pools.len()).into_par_iter().map(one).collect()
    };
    let kinds = [LabelSource::Single, LabelSource::Repeated, LabelSource::New];
    let found: Vec<[Vec<f64>; 3]> = horizons.iter().map(|horizon| kinds.map(|labels| run(labels, *horizon))).collect();
    let last = &found[found.len() - 1];
    let labels = horizons[horizons.len() - 1];
    findings.claim(better("fresh labels", "one label for each row", labels, &last[1], &last[0]));
    findings.claim(better("new features", "fresh labels for the same rows", labels, &last[2], &last[1]));
    findings.plate("repeated", figure(horizons, &found, &single, &repeated));
    findings.tables.push(table(horizons, &found));
    findings.remarks.push(format!(
        "Pools of {ROWS} rows with label noise between 10 and 50 %. Fresh labels average the noise out. That new features \
         are better still is so because no line fits this population: the pool's own best line is not the population's. \
         Where the best prediction is linear both are the same, and new features were found to have no advantage."
    ));
}

/// Returns θ̄ after this many labels.
fn learn(
    population: &Finite<'_>,
    pool: &FeaturePool,
    recipe: &FiniteRecipe,
    labels: LabelSource,
    horizon: u64,
    seed: u64,
) -> Weights {
    let fresh = Coin::new(seed, "fresh label");
    let label = |odds: f64, time: u64| if fresh.unit(time) < odds { 1.0 } else { -1.0 };
    let average = match labels {
        // The proposals are new features: this is Algorithm 1.
        LabelSource::New => {
            let news = Coin::new(seed, "new feature");
            let mut learner = StreamLearner::new(recipe.learner(), recipe.rules(), seed, Importance::Equivalent)
                .expect("legal settings");
            while learner.totals().answered < horizon {
                let feature = population.draw(news.unit(learner.totals().observed));
                let offer = learner.offer(&feature.x[..]);
                if offer.asked {
                    let label = label(feature.odds, offer.time);
                    learner.answer(&feature.x[..], offer.probability, label).expect("steps this small do not diverge");
                }
            }
            learner.mean()
        }
        LabelSource::Single | LabelSource::Repeated => {
            let features = if labels == LabelSource::Single { &pool.labeled } else { &pool.conditional };
            let rows = rows(features);
            let settings = SgdSettings {
                draw: Draw::Reject,
                replacement: Replacement::With,
                importance: Importance::Equivalent,
                seed,
            };
            let mut learner =
                SgdPool::new(recipe.learner(), recipe.rules(), rows.len(), settings).expect("legal settings");
            for time in 0..horizon {
                let drawn = learner.ask(&rows).expect("the margin rule is positive");
                let label = label(features[drawn.row].odds, time);
                learner.answer(&[(rows.row(drawn.row), drawn, label)]).expect("steps this small do not diverge");
            }
            learner.learner().mean()
        }
    };
    [average[0], average[1]]
}

/// Projects a minimizer onto the ball, like the runs: for thirty nearly separable labels it is far away.
fn inside(theta: Weights) -> Weights {
    let shrink = (RADIUS / norm(theta)).min(1.0);
    theta.map(|t| shrink * t)
}

/// Compares the minimizers of the two kinds of labels.
fn target(single: &[f64], repeated: &[f64]) -> PaperClaim {
    let n = single.len() as f64;
    let lower = single.iter().zip(repeated).filter(|(single, repeated)| repeated < single).count();
    // A fair coin for every pool has standard deviation √n/2.
    let limit = 0.5 * n + 2.5 * n.sqrt();
    PaperClaim::new(
        "apd:pool-details",
        "the minimizer of the pool's conditional risk is better than that of one label a row",
    )
    .computed(format!(
        "in {lower} of {n} pools; mean population excess {} against {}",
        brief(Mean::of(repeated.iter().copied()).mean),
        brief(Mean::of(single.iter().copied()).mean)
    ))
    .expected(format!("more than {limit:.0}, 5 sd above half"), Basis::Run)
    .holds(limit < lower as f64)
}

fn better(one: &str, other: &str, labels: u64, low: &[f64], high: &[f64]) -> PaperClaim {
    let difference = Mean::of(high.iter().zip(low).map(|(a, b)| a - b));
    PaperClaim::new("apd:pool-details", format!("{labels} labels: {one} end lower than {other}"))
        .computed(format!(
            "mean population excess {} against {}, difference {} ± {}",
            brief(Mean::of(low.iter().copied()).mean),
            brief(Mean::of(high.iter().copied()).mean),
            brief(difference.mean),
            brief(difference.error)
        ))
        .expected("a difference of more than 5 errors above 0", Basis::Run)
        .holds(0.0 < difference.low())
}

const NAMES: [(&str, Color); 3] =
    [("one label a row", Color::Red), ("fresh labels", Color::Blue), ("new features", Color::Green)];

fn figure(horizons: &[u64], found: &[[Vec<f64>; 3]], single: &[f64], repeated: &[f64]) -> Figure {
    let mut series = vec![];
    for (kind, (name, color)) in NAMES.into_iter().enumerate() {
        let means: Vec<Mean> = found.iter().map(|cell| Mean::of(cell[kind].iter().copied())).collect();
        let points: Vec<(f64, f64)> = horizons.iter().zip(&means).map(|(t, e)| (*t as f64, e.mean)).collect();
        let (upper, lower) = horizons
            .iter()
            .zip(&means)
            .map(|(t, e)| ((*t as f64, e.mean + 2.0 * e.error), e.mean - 2.0 * e.error))
            .unzip();
        series.push(Series { name: String::new(), color, mark: SeriesMark::Band(lower), points: upper });
        series.push(Series { name: name.to_owned(), color, mark: SeriesMark::Line, points });
    }
    let ends = [horizons[0] as f64, horizons[horizons.len() - 1] as f64];
    for (values, color, name) in
        [(single, Color::Red, "minimizer, one label"), (repeated, Color::Blue, "minimizer, all labels")]
    {
        let mean = Mean::of(values.iter().copied()).mean;
        series.push(Series {
            name: name.to_owned(),
            color,
            mark: SeriesMark::Dotted,
            points: ends.map(|t| (t, mean)).to_vec(),
        });
    }
    Figure {
        title: String::new(),
        caption: "Excess equivalent risk on the population, mean over pools of 30 rows with a band of two standard errors: \
                  Algorithm 2 with one label for each row, with a fresh label at every visit, and with a new feature for \
                  every label. Dotted: the minimizers of the two pool objectives, \
                  kept in the same ball, to which runs go in the long run."
            .to_owned(),
        panels: vec![Panel {
            title: String::new(),
            x: Axis { scale: AxisScale::Log, ..Axis::new("labels") },
            y: Axis { scale: AxisScale::Log, ..Axis::new("excess equivalent risk") },
            series,
        }],
    }
}

fn table(horizons: &[u64], found: &[[Vec<f64>; 3]]) -> FindingsTable {
    let rows = horizons.iter().zip(found).map(|(horizon, cell)| {
        let mut row = vec![horizon.to_string()];
        for values in cell {
            let mean = Mean::of(values.iter().copied());
            row.extend([brief(mean.mean), brief(mean.error)]);
        }
        row
    });
    let mut header = vec!["labels".to_owned()];
    header.extend(NAMES.iter().flat_map(|(name, _)| [(*name).to_owned(), "error".to_owned()]));
    FindingsTable {
        name: "repeated".to_owned(),
        caption: "Mean excess equivalent risk on the population by the number of labels.".to_owned(),
        header,
        rows: rows.collect(),
    }
}
