//! Fits of sparse text against scikit-learn's `LogisticRegression`, on the same rows, labels and penalty.
//!
//! `compare/fits.py` finds the minimum by another method. Our time counts only if our objective exceeds it by at most
//! 10⁻⁶ of it. scikit-learn has the tolerance that achieves the same, or its default for the problems of many classes.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use querist_data::{Input, LabelKind, ReadOptions, load};
use querist_engine::fit::{Refit, SPREAD};
use querist_engine::narrow::Narrow;
use querist_engine::task::{self, Labels};
use querist_rows::{Features, Rows};
use serde_json::json;

use crate::Bench;
use crate::line::{Figures, Measurement};
use crate::measure::cpu_ns;
use crate::yardstick::Printed;

mod texts;

/// The largest excess of an objective over its minimum, relative to the minimum.
const ENOUGH: f64 = 1e-6;
/// A third of scikit-learn's time.
const THIRD: f64 = 0.333;

/// Rows with labels.
pub(crate) struct LabeledRows {
    rows: Rows,
    labels: Vec<f64>,
    kind: Labels,
}

/// Series of fits to the first rows of one data set. Every class is among the first.
struct FitCase {
    set: LabeledRows,
    strength: f64,
    series: Vec<FitSeries>,
    /// The numbers of answers at which objectives are checked; fits of every series have the same minima.
    checked: Vec<usize>,
}

/// Fits to the first answers, as many as each of these counts.
#[derive(Clone)]
struct FitSeries {
    name: &'static str,
    /// The series of scikit-learn that it is compared with.
    counterpart: &'static str,
    counts: Vec<usize>,
    /// Whether each fit starts from the previous one.
    warm: bool,
    /// Whether the time to add answers counts.
    adds: bool,
    /// Whether λ is chosen from the answers.
    chooses: bool,
    bar: Option<f64>,
}

/// Measures fits of two classes as answers arrive, and a single fit of 98 classes.
pub(crate) fn fits(bench: &Bench) -> anyhow::Result<Vec<Measurement>> {
    let mut lines = vec![];
    if bench.wants("fits/growing") {
        let set = match &bench.data {
            Some(path) => read(path, bench.text.as_deref())?,
            None => texts::two_classes(bench.yardstick.folder())?,
        };
        lines.extend(FitCase::growing(set).measure(bench)?);
    }
    if bench.wants("fits/classes-words") {
        lines.extend(FitCase::single("fits/classes-words", texts::many_classes_of_words()).measure(bench)?);
    }
    if bench.wants("fits/classes-text") {
        let set = texts::many_classes(bench.yardstick.folder())?;
        lines.extend(FitCase::single("fits/classes-text", set).measure(bench)?);
    }
    Ok(lines)
}

/// Reads a labeled file, with the features of the rows in it.
fn read(path: &Path, text: Option<&str>) -> anyhow::Result<LabeledRows> {
    let text = text.map(str::to_owned).into_iter().collect();
    let options = ReadOptions { label: Some("label".to_owned()), text, ..ReadOptions::default() };
    let loaded = load(&Input::File(path.to_owned()), &options).with_context(|| format!("in {}", path.display()))?;
    let kind = match loaded.encoder.task() {
        Some(LabelKind::Binary) => Labels::Binary,
        Some(LabelKind::Classes(classes)) => Labels::Classes(classes),
        _ => anyhow::bail!("the labels of {} are not classes", path.display()),
    };
    let rows = match Narrow::of(&loaded.batch.rows) {
        Some(narrow) => narrow.rows(&loaded.batch.rows, narrow.dim()),
        None => loaded.batch.rows,
    };
    Ok(LabeledRows { rows, labels: loaded.batch.labels, kind })
}

impl FitCase {
    /// Fits after every answer up to 400, and cold fits after every 10.
    fn growing(set: LabeledRows) -> Self {
        let most = set.labels.len().min(400);
        let first = 10.max(set.kind.classes());
        let every: Vec<usize> = (first..=most).collect();
        let tenth: Vec<usize> = (first..=most).filter(|count| count % 10 == 0).collect();
        let (cold, warm) = ("fits/growing/cold", "fits/growing/warm");
        let cold_fit = FitSeries {
            name: cold,
            counterpart: cold,
            counts: tenth.clone(),
            warm: false,
            adds: false,
            chooses: false,
            bar: Some(THIRD),
        };
        let warm_fit =
            FitSeries { name: warm, counterpart: warm, counts: every, warm: true, adds: true, ..cold_fit.clone() };
        let series = vec![
            cold_fit.clone(),
            FitSeries { name: "fits/growing/add-and-fit", adds: true, bar: None, ..cold_fit },
            warm_fit.clone(),
            FitSeries { name: "fits/growing/chosen", chooses: true, bar: None, ..warm_fit },
        ];
        let checked = tenth.into_iter().filter(|count| count % 50 == 0).collect();
        Self::new(set, series, checked)
    }

    /// One cold fit to all rows.
    fn single(name: &'static str, set: LabeledRows) -> Self {
        let counts = vec![set.labels.len()];
        let series = FitSeries {
            name,
            counterpart: name,
            counts: counts.clone(),
            warm: false,
            adds: true,
            chooses: false,
            bar: Some(1.0),
        };
        Self::new(set, vec![series], counts)
    }

    fn new(set: LabeledRows, series: Vec<FitSeries>, checked: Vec<usize>) -> Self {
        let set = set.with_every_class_first();
        let norms: f64 = (0..set.rows.len()).map(|row| set.rows.row(row).norm_squared()).sum();
        let strength = norms / set.rows.len() as f64 / (SPREAD * SPREAD);
        Self { set, strength, series, checked }
    }

    fn measure(&self, bench: &Bench) -> anyhow::Result<Vec<Measurement>> {
        let folder = bench.yardstick.folder().join("fits");
        fs::create_dir_all(&folder)?;
        let mut thetas = vec![];
        let times: Vec<f64> = self
            .series
            .iter()
            .map(|series| {
                let all = (0..bench.repeat).map(|_| self.fit(series, &mut thetas)).collect::<anyhow::Result<Vec<_>>>();
                Ok(all?.into_iter().fold(f64::INFINITY, f64::min))
            })
            .collect::<anyhow::Result<_>>()?;
        self.write(&folder, &thetas, bench.repeat)?;
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("compare/fits.py");
        let printed = Printed::of(Command::new(&bench.python).arg(script).arg(&folder));
        fs::remove_dir_all(&folder)?;
        let printed = printed.map_err(|error| format!("{error:#}"));
        Ok(self.series.iter().zip(times).map(|(series, ours)| Self::line(series, ours, &printed)).collect())
    }

    fn line(series: &FitSeries, ours: f64, printed: &Result<Printed, String>) -> Measurement {
        let found = printed.as_ref().map_err(Clone::clone).and_then(|printed| {
            let theirs = printed.ns(series.counterpart).map_err(|error| error.to_string())?;
            let excess = printed.figure("ours", "excess").map_err(|error| error.to_string())?;
            if ENOUGH < excess {
                return Err(format!("our objective exceeds its minimum by {excess:e} of it"));
            }
            Ok(Figures { theirs: theirs / 1e3, ours: ours / 1e3 })
        });
        let name = series.name.to_owned();
        Measurement { name, against: "scikit-learn".to_owned(), unit: "µs a fit", found, bar: series.bar }
    }

    /// Returns the CPU nanoseconds per fit. The first series that does not choose λ notes θ at the checked counts.
    fn fit(&self, series: &FitSeries, thetas: &mut Vec<Vec<f64>>) -> anyhow::Result<f64> {
        let task = task::parse(self.set.kind.default_loss(), self.set.kind)?;
        let strength = (!series.chooses).then_some(self.strength);
        let empty = || Refit::new(&*task, true, self.set.rows.empty_like(), strength, 1);
        let (mut refit, mut spent) = (empty()?, 0.0);
        for count in &series.counts {
            if !series.warm {
                refit = empty()?;
            }
            let weights = vec![1.0; *count];
            let (adding, ()) = cpu_ns(|| {
                for answer in refit.answers()..*count {
                    refit.add(answer as u64, self.set.rows.row(answer), self.set.labels[answer]);
                }
            });
            let (fitting, _) = cpu_ns(|| refit.fit(&weights));
            spent += fitting + if series.adds { adding } else { 0.0 };
            if thetas.len() < self.checked.len() && self.checked[thetas.len()] == *count && !series.chooses {
                thetas.push(refit.theta().to_vec());
            }
        }
        ensure!(!series.counts.is_empty(), "{} needs more rows", series.name);
        Ok(spent / series.counts.len() as f64)
    }

    /// Writes everything that the script needs.
    fn write(&self, folder: &Path, thetas: &[Vec<f64>], repeat: usize) -> anyhow::Result<()> {
        let (mut starts, mut indices, mut values) = (vec![0_u32], vec![], vec![]);
        for row in 0..self.set.rows.len() {
            self.set.rows.row(row).each(|j, x| {
                indices.extend((j as u32).to_le_bytes());
                values.extend((x as f32).to_le_bytes());
            });
            starts.push((values.len() / 4) as u32);
        }
        let bytes = |numbers: &[f64]| -> Vec<u8> { numbers.iter().flat_map(|number| number.to_le_bytes()).collect() };
        let classes: Vec<f64> = self.set.labels.iter().map(|label| self.set.kind.class(*label) as f64).collect();
        fs::write(folder.join("starts"), starts.iter().flat_map(|start| start.to_le_bytes()).collect::<Vec<u8>>())?;
        fs::write(folder.join("indices"), indices)?;
        fs::write(folder.join("values"), values)?;
        fs::write(folder.join("labels"), bytes(&classes))?;
        fs::write(folder.join("theta"), bytes(&thetas.concat()))?;
        let compared = self.series.iter().filter(|series| series.name == series.counterpart);
        let series: Vec<_> =
            compared.map(|series| json!({"name": series.name, "counts": series.counts, "warm": series.warm})).collect();
        let problem = json!({
            "dim": self.set.rows.dim(), "classes": self.set.kind.classes(), "dense": matches!(self.set.rows, Rows::Dense(_)),
            "strength": self.strength, "series": series, "checked": self.checked, "repeat": repeat,
            "tolerances": if self.checked.len() == 1 { vec![1e-4] } else { vec![1e-4, 1e-5, 1e-6] },
        });
        Ok(fs::write(folder.join("problem.json"), problem.to_string())?)
    }
}

impl LabeledRows {
    /// Moves the first row of each class to the front: scikit-learn needs every class from the first fit on.
    fn with_every_class_first(self) -> Self {
        let first = |class: usize| self.labels.iter().position(|label| self.kind.class(*label) == class);
        let front: Vec<usize> = (0..self.kind.classes()).filter_map(first).collect();
        let order = front.iter().copied().chain((0..self.labels.len()).filter(|row| !front.contains(row)));
        let (mut rows, mut labels) = (self.rows.empty_like(), vec![]);
        for row in order {
            rows.push(self.rows.row(row));
            labels.push(self.labels[row]);
        }
        Self { rows, labels, kind: self.kind }
    }
}
