//! Models of a pool that are not linear: a fit of 400 answers, and the next ask in a pool of a million rows.

use anyhow::{Context, anyhow};
use querist_engine::coin::Coin;
use querist_engine::fit::Refit;
use querist_engine::model_kind::ModelKind;
use querist_engine::pool::{Draw, LabeledDraw, Objective, PoolLearner, RefitPool, RefitSettings};
use querist_engine::rule;
use querist_engine::stream::Rules;
use querist_engine::task::Labels;
use querist_rows::{DenseRows, Features as _, Row, Rows};

use crate::line::{Figures, Measurement};
use crate::measure::{median, wall_ms};
use crate::{Bench, learner};

const ROWS: usize = 1_000_000;
const DIM: usize = 20;
const ANSWERS: usize = 400;
/// The kinds, with the settings for which the bars are stated.
const KINDS: [&str; 3] = ["linear", "kernel:landmarks=500", "forest:trees=200"];

/// Returns the label of a row: whether it is in a ball that holds about half of the rows.
fn label(x: Row<'_>) -> f64 {
    if x.norm_squared() < DIM as f64 { 1.0 } else { -1.0 }
}

/// Makes a pool without answers.
fn pool(rows: &Rows, kind: ModelKind, draw: Draw) -> anyhow::Result<RefitPool> {
    let learner = learner::learner(DIM, 1.0, None)?;
    let refit = Refit::new(learner.task(), true, rows.empty_like(), None, 1)?;
    let rule = rule::parse(&rule::in_pool("boundary", Labels::Binary), "logistic", Labels::Binary)?;
    let settings = RefitSettings { draw, seed: 1, refit, objective: Objective::AsAsked, labels: Labels::Binary };
    let models = kind.candidates(rows).context("the rows are dense")?;
    Ok(RefitPool::new(learner, Rules::only(rule), rows.len(), settings)?.with_models(models))
}

/// Returns evenly spread draws with their labels.
fn answers(rows: &Rows) -> anyhow::Result<Vec<LabeledDraw<'_>>> {
    let mut pool = pool(rows, ModelKind::Linear, Draw::Scan)?;
    let draw = |_| {
        let drawn = pool.ask(rows)?;
        let x = rows.row(drawn.row);
        Ok(LabeledDraw { x, drawn, label: label(x), loss: 0.0 })
    };
    (0..ANSWERS).map(draw).collect()
}

/// Measures fits and asks in milliseconds, on all cores.
pub(crate) fn measure(bench: &Bench) -> anyhow::Result<Vec<Measurement>> {
    let coin = Coin::new(1, "models");
    // Uniform numbers of variance 1.
    let value = |at: usize| ((2.0 * coin.unit(at as u64) - 1.0) * 3.0_f64.sqrt()) as f32;
    let values = (0..ROWS * DIM).map(value).collect();
    let rows = Rows::Dense(DenseRows::from_values(DIM, values).context("whole rows")?);
    let answers = answers(&rows)?;
    let mut lines = vec![];
    for name in KINDS {
        let kind: ModelKind = name.parse()?;
        let [mut scanned, mut rejected] = [pool(&rows, kind, Draw::Scan)?, pool(&rows, kind, Draw::Reject)?];
        scanned.add_answers(&answers, rows.len());
        rejected.add_answers(&answers, rows.len());
        let mut times = [vec![], vec![], vec![]];
        for _ in 0..bench.repeat {
            let mut drawn = Err(anyhow!("nothing was drawn"));
            times[0].push(wall_ms(|| drawn = scanned.ask(&rows).map_err(Into::into)));
            let drawn = drawn?;
            let x = rows.row(drawn.row);
            times[2].push(wall_ms(|| scanned.answer(&[(x, drawn, 1.0)])));
            times[1].push(wall_ms(|| rejected.ask(&rows).map(|drawn| drawn.row)));
        }
        for ((what, bar), times) in [("scan", 1500.0), ("accept–reject", 5.0), ("fit", 30.0)].into_iter().zip(times) {
            lines.push(Measurement {
                name: format!("models/{name}, {what}"),
                against: format!("{bar} ms"),
                unit: "ms",
                found: Ok(Figures { theirs: bar, ours: median(&times) }),
                bar: Some(1.0),
            });
        }
    }
    Ok(lines)
}
