//! Algorithm 2: labels drawn by accept–reject, and a pass over a pool.

use anyhow::ensure;
use querist_engine::pool::{Draw, PoolLearner, Replacement, SgdPool, SgdSettings};
use querist_engine::stream::Importance;
use querist_rows::Rows;

use crate::line::{Figures, Measurement};
use crate::measure::{cpu_ns, median, medians, wall_ms};
use crate::{Bench, data, learner};

const DIM: usize = 100;
/// The factor on the generating model at which `U/U_max` is one half on average.
const SHARE: f64 = 0.76;

fn pool(rows: usize, draw: Draw) -> anyhow::Result<SgdPool> {
    let start: Vec<f64> = (0..DIM).map(|j| SHARE * data::model_at(j, DIM)).chain([0.0]).collect();
    let settings = SgdSettings { draw, replacement: Replacement::With, importance: Importance::Equivalent, seed: 1 };
    Ok(SgdPool::new(learner::learner(DIM, 1e-6, Some(&start))?, learner::entropy()?, rows, settings)?)
}

/// Measures the cost per label for pools of increasing size.
pub(crate) fn reject(bench: &Bench) -> anyhow::Result<Vec<Measurement>> {
    const LABELS: usize = 300_000;
    let (mut lines, mut all) = (vec![], vec![]);
    for n in [10_000, 1_000_000, 10_000_000_usize] {
        let name = format!("pool-reject/{n}");
        if !bench.wants(&name) {
            continue;
        }
        let count = n.to_string();
        let words = ["pool-reject", "--rows", &count, "--labels", &LABELS.to_string(), "--repeat", "1"];
        let mut rounds = vec![];
        // The yardstick and the engine each need the pool. Two of the largest might not fit: run one after the other.
        let first = bench.yardstick.run(&words)?;
        if let Some(why) = first.skipped(&name) {
            lines.push(line(&name, "C best", Err(why), None));
            continue;
        }
        let (rows, labels) = data::rows(n, DIM, DIM);
        let labels = PackedLabels::new(&labels);
        for _ in 0..bench.repeat {
            let best = format!("{name}/best");
            let c = bench.yardstick.run(&words)?;
            let theirs = if c.skipped(&name).is_none() { c.ns(&best)? } else { first.ns(&best)? };
            // The yardstick has just generated its pool and drawn once by the plain loop. Our pages were idle
            // meanwhile, and a shared machine takes time to page them back in: an unmeasured run comes first.
            buy(&rows, &labels, LABELS)?;
            rounds.push([theirs, buy(&rows, &labels, LABELS)?]);
        }
        let [theirs, ours] = medians(&rounds);
        lines.push(line(&name, "C best", Ok(Figures { theirs, ours }), None));
        lines.push(line(&name, "1 µs", Ok(Figures { theirs: 1e3, ours }), Some(1.0)));
        all.push(ours);
    }
    if 1 < all.len() {
        let least = all.iter().copied().fold(f64::INFINITY, f64::min);
        let most = all.iter().copied().fold(0.0, f64::max);
        lines.push(line("pool-reject, any size", "the quickest", Ok(Figures { theirs: least, ours: most }), Some(3.0)));
    }
    Ok(lines)
}

/// Labels of one bit each. They belong to the driver, so their cache misses should not be measured. The yardstick uses
/// a byte each and prefetches them.
struct PackedLabels(Vec<u64>);

impl PackedLabels {
    fn new(labels: &[f64]) -> Self {
        let word = |labels: &[f64]| labels.iter().rev().fold(0, |word, label| word << 1 | u64::from(0.0 < *label));
        Self(labels.chunks(64).map(word).collect())
    }

    fn of(&self, row: usize) -> f64 {
        if self.0[row / 64] >> (row % 64) & 1 == 1 { 1.0 } else { -1.0 }
    }
}

/// Returns the CPU nanoseconds per label.
fn buy(rows: &Rows, labels: &PackedLabels, wanted: usize) -> anyhow::Result<f64> {
    let mut pool = pool(rows.len(), Draw::Reject)?;
    let (ns, done) = cpu_ns(|| {
        for _ in 0..wanted {
            let drawn = pool.ask(rows).map_err(|none| anyhow::anyhow!("{none}"))?;
            pool.answer(&[(rows.row(drawn.row), drawn, labels.of(drawn.row))])?;
        }
        anyhow::Ok(())
    });
    done?;
    let acceptance = wanted as f64 / pool.tries() as f64;
    ensure!((acceptance - 0.5).abs() < 0.05, "{acceptance} of the proposals were taken, expected one half");
    Ok(ns / wanted as f64)
}

/// Measures one pass over a million rows, on all cores.
pub(crate) fn scan(bench: &Bench) -> anyhow::Result<Vec<Measurement>> {
    const ROWS: usize = 1_000_000;
    let (rows, _) = data::rows(ROWS, DIM, DIM);
    let pool = pool(ROWS, Draw::Scan)?;
    let (mut rounds, mut walls) = (vec![], vec![]);
    for _ in 0..bench.repeat {
        let c = bench.yardstick.run(&["pool-scan", "--repeat", "9"])?;
        let pass = || pool.scan(&rows).mean();
        let times: Vec<f64> = (0..9).map(|_| cpu_ns(pass).0 / ROWS as f64).collect();
        rounds.push([c.ns("pool-scan/best")?, c.ns("pool-scan/read")?, median(&times)]);
        // Wall-clock time needs both cores free at once: the minimum is the least disturbed pass.
        let least = (0..9).map(|_| wall_ms(pass)).fold(f64::INFINITY, f64::min);
        let wall = |name: &str| c.figure(name, "least_ms");
        walls.push([wall("pool-scan/best")?, wall("pool-scan/read")?, least]);
    }
    let scan = |against: &str, unit, theirs, ours, bar| Measurement {
        name: "pool-scan/1000000".to_owned(),
        against: against.to_owned(),
        unit,
        found: Ok(Figures { theirs, ours }),
        bar,
    };
    let ([best, read, ours], [best_wall, read_wall, our_wall]) = (medians(&rounds), medians(&walls));
    Ok(vec![
        scan("C best", "ns a row", best, ours, None),
        scan("reading", "ns a row", read, ours, Some(1.3)),
        scan("C best", "ms a pass", best_wall, our_wall, None),
        scan("reading", "ms a pass", read_wall, our_wall, Some(1.3)),
    ])
}

fn line(name: &str, against: &str, found: Result<Figures, String>, bar: Option<f64>) -> Measurement {
    Measurement { name: name.to_owned(), against: against.to_owned(), unit: "ns a label", found, bar }
}
