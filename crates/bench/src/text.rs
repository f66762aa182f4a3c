//! Algorithm 1 over text files: reading, encoding and learning on one core.

use std::fs::File;
use std::path::Path;
use std::process::Command;

use querist_data::{Batch, DataError, Input, ReadOptions, RequiredLabels, RowStream};
use querist_engine::stream::Trace;

use crate::line::{Figures, Measurement};
use crate::measure::{cpu_ns, median};
use crate::yardstick::{Printed, sources};
use crate::{Bench, learner};

const FORMATS: [&str; 3] = ["csv", "svm", "vw"];
/// Features per row as the yardstick spells them, and rows; the same as in `vw.py`, whose lines are compared.
const CASES: [(&str, usize); 5] =
    [("2", 1_000_000), ("30", 200_000), ("100", 60_000), ("50/10000", 200_000), ("50/1000000", 1_000_000)];
const STEP: f64 = 0.01;
/// Rows per call, as on the command line.
pub(crate) const BLOCK: usize = 256;

/// One format of one case, with its measured times.
struct Case {
    format: &'static str,
    features: &'static str,
    rows: usize,
    c: Vec<f64>,
    ours: Vec<f64>,
}

/// Measures every format against the parser in C and against Vowpal Wabbit.
pub(crate) fn text(bench: &Bench) -> anyhow::Result<Vec<Measurement>> {
    let mut cases = vec![];
    for (features, rows) in CASES {
        for format in FORMATS {
            let sparse = features.contains('/');
            if !(sparse && format == "csv") && bench.wants(&format!("text/{format}/{features}")) {
                cases.push(Case { format, features, rows, c: vec![], ours: vec![] });
            }
        }
    }
    let mut wabbit: Vec<Result<Printed, String>> = vec![];
    for _ in 0..bench.repeat {
        wabbit.push(vowpal_wabbit(bench, &cases));
        for case in &mut cases {
            case.measure(bench)?;
        }
    }
    Ok(cases.iter().flat_map(|case| case.lines(&wabbit)).collect())
}

impl Case {
    fn measure(&mut self, bench: &Bench) -> anyhow::Result<()> {
        let path = bench.yardstick.folder().join(format!("rows.{}", self.format));
        let (name, rows, step) = (path.display().to_string(), self.rows.to_string(), STEP.to_string());
        bench.yardstick.run(&["generate", self.format, self.features, &rows, &name])?;
        // Otherwise the file is still being written while it is read.
        File::open(&path)?.sync_all()?;
        let dim = self.features.rsplit('/').next().unwrap_or(self.features);
        let words = ["parse", self.format, &name, "--repeat", "1", "--step", &step, "--dim", dim];
        self.c.push(bench.yardstick.run(&words)?.ns(&format!("parse/{}/best", self.format))?);
        let (ns, done) = cpu_ns(|| learn(&path));
        done?;
        self.ours.push(ns / self.rows as f64);
        std::fs::remove_file(&path)?;
        Ok(())
    }

    fn lines(&self, wabbit: &[Result<Printed, String>]) -> Vec<Measurement> {
        let name = format!("text/{}/{}", self.format, self.features);
        let ours = median(&self.ours);
        let line = |against: &str, found, bar| Measurement {
            name: name.clone(),
            against: against.to_owned(),
            unit: "ns a line",
            found,
            bar,
        };
        let times: Result<Vec<f64>, String> = wabbit
            .iter()
            .map(|printed| {
                let printed = printed.as_ref().map_err(Clone::clone)?;
                printed.ns(&format!("vw/{}", self.features)).map_err(|error| error.to_string())
            })
            .collect();
        let theirs = times.map(|times| Figures { theirs: median(&times), ours });
        vec![line("C best", Ok(Figures { theirs: median(&self.c), ours }), None), line("VW", theirs, Some(0.2))]
    }
}

/// Opens a file of numbers with labels of two classes.
pub(crate) fn open(path: &Path) -> Result<RowStream, DataError> {
    // Vowpal Wabbit gets the same number of bits for the largest case: a million numbered features.
    let options = ReadOptions {
        required_labels: RequiredLabels::Binary,
        standardize: false,
        hash_bits: 20,
        ..ReadOptions::default()
    };
    RowStream::open(&Input::File(path.to_owned()), &options)
}

/// Reads and learns like the command line.
fn learn(path: &Path) -> anyhow::Result<()> {
    let mut stream = open(path)?;
    let mut learner = learner::stream(stream.encoder().dim(), STEP)?;
    let (mut batch, mut trace) = (Batch::default(), Trace::default());
    while 0 < stream.next_with(BLOCK, &mut batch, &mut |features| learner.fetch(features))? {
        learner.learn_rows(&batch.rows, &batch.labels, &mut trace)?;
    }
    Ok(())
}

/// Runs one pass of Vowpal Wabbit over the rows of each case, or returns the reason for its absence.
fn vowpal_wabbit(bench: &Bench, cases: &[Case]) -> Result<Printed, String> {
    let mut features: Vec<&str> = cases.iter().map(|case| case.features).collect();
    features.dedup();
    let mut command = Command::new(&bench.python);
    command.arg(sources().join("vw.py")).arg("--yardstick").arg(bench.yardstick.program());
    command.args(["--repeat", "1", "--step", &STEP.to_string(), "--features"]).args(features);
    Printed::of(&mut command).map_err(|error| error.to_string())
}
