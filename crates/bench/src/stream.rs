//! Algorithm 1 over rows generated on the fly and over rows in memory.

use anyhow::ensure;
use querist_engine::stream::Trace;
use querist_engine::synthetic::Mixture;
use querist_rows::{DenseRows, Rows};

use crate::line::{Figures, Measurement};
use crate::measure::{cpu_ns, medians};
use crate::{Bench, data, learner};

/// Rows per call. The trace of each block is overwritten by the next.
const BLOCK: usize = 4096;
/// The largest accepted difference of query rates. Two correct runs differ only by randomness and by their rows.
const RATE_APART: f64 = 0.02;

/// Measures the paper's mixture of four Gaussians.
pub(crate) fn mixture(bench: &Bench) -> anyhow::Result<Vec<Measurement>> {
    const ROWS: u64 = 10_000_000;
    let mut rounds = vec![];
    for _ in 0..bench.repeat {
        let c = bench.yardstick.run(&["stream-mixture", "--repeat", "1"])?;
        let mut stream = learner::stream(2, 1e-4)?;
        let (ns, done) = cpu_ns(|| {
            let mixture = Mixture::new(1);
            let (mut rows, mut labels) = (Rows::Dense(DenseRows::new(2)), vec![0.0; BLOCK]);
            let (mut trace, mut first) = (Trace::default(), 1);
            while first <= ROWS {
                labels.truncate((ROWS + 1 - first) as usize);
                mixture.fill(first, &mut rows, &mut labels);
                stream.learn_rows(&rows, &labels, &mut trace)?;
                first += labels.len() as u64;
            }
            anyhow::Ok(())
        });
        done?;
        same_rate(&stream, c.check("stream-mixture/best", "query_rate"))?;
        rounds.push([c.ns("stream-mixture/plain")?, c.ns("stream-mixture/best")?, ns / ROWS as f64]);
    }
    let [plain, best, ours] = medians(&rounds);
    Ok(vec![
        line("stream-mixture", "C plain", plain, ours, None),
        line("stream-mixture", "C best", best, ours, Some(2.0)),
    ])
}

/// Features per row, features in all, the step, the yardstick's name, and the bar: the largest ratio to C that is wanted.
const CASES: [(usize, usize, f64, &str, f64); 6] = [
    (2, 2, 1e-4, "dense-2", 2.5),
    (30, 30, 3e-3, "dense-30", 1.5),
    (100, 100, 1e-3, "dense-100", 1.5),
    (784, 784, 1e-3, "dense-784", 1.5),
    (50, 10_000, 1e-1, "sparse-50-of-1e4", 1.5),
    (50, 1_000_000, 1e-1, "sparse-50-of-1e6", 1.5),
];

/// Measures rows of 200 MB, far more than a cache holds.
pub(crate) fn memory(bench: &Bench) -> anyhow::Result<Vec<Measurement>> {
    let mut lines = vec![];
    for (width, dim, step, case, bar) in CASES {
        let name = format!("stream-memory/{case}");
        if !bench.wants(&name) {
            continue;
        }
        let n = 200_000_000 / (width * if width < dim { 8 } else { 4 });
        let (rows, labels) = data::rows(n, width, dim);
        let (count, mut rounds) = (n.to_string(), vec![]);
        for _ in 0..bench.repeat {
            let c = bench.yardstick.run(&["stream-memory", case, "--repeat", "1", "--rows", &count])?;
            let mut stream = learner::stream(dim, step)?;
            let (ns, done) = cpu_ns(|| {
                let mut trace = Trace::default();
                for first in (0..n).step_by(BLOCK) {
                    let range = first..n.min(first + BLOCK);
                    stream.learn_range(&rows, range.clone(), &labels[range], &mut trace)?;
                }
                anyhow::Ok(())
            });
            done?;
            same_rate(&stream, c.check(&format!("{name}/best"), "query_rate"))?;
            rounds.push([c.ns(&format!("{name}/plain"))?, c.ns(&format!("{name}/best"))?, ns / n as f64]);
        }
        let [plain, best, ours] = medians(&rounds);
        lines.push(line(&name, "C plain", plain, ours, None));
        lines.push(line(&name, "C best", best, ours, Some(bar)));
    }
    Ok(lines)
}

/// Checks that both programs query at the same rate: otherwise they do not do the same work.
fn same_rate(stream: &querist_engine::stream::StreamLearner, theirs: Option<f64>) -> anyhow::Result<()> {
    let totals = stream.totals();
    let ours = totals.asked as f64 / totals.observed as f64;
    let theirs = theirs.unwrap_or(f64::NAN);
    ensure!((ours - theirs).abs() < RATE_APART, "a share of {ours} was asked, by the yardstick {theirs}");
    Ok(())
}

fn line(name: &str, against: &str, theirs: f64, ours: f64, bar: Option<f64>) -> Measurement {
    let found = Ok(Figures { theirs, ours });
    Measurement { name: name.to_owned(), against: against.to_owned(), unit: "ns a row", found, bar }
}
