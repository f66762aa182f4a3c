//! Learning curves of contestants over many splits: running, comparing, drawing.

use querist_engine::coin::Coin;
use querist_report::{Color, Series, SeriesMark};
use rayon::prelude::{IndexedParallelIterator, IntoParallelIterator, IntoParallelRefIterator, ParallelIterator};

use crate::contest::{Checkpoint, Contestant};
use crate::datasets::{DataSplit, Dataset};
use crate::statistics::Mean;

/// A learning curve for every split, all at the same numbers of draws.
pub(crate) struct Courses {
    courses: Vec<Vec<Checkpoint>>,
    /// The metric: accuracy or loss.
    of: fn(&Checkpoint) -> f64,
}

/// Draws random splits of a data set, in parallel.
pub(crate) fn splits(data: &Dataset, seed: u64, count: usize, most: usize) -> Vec<DataSplit> {
    (0..count as u64).into_par_iter().map(|k| data.split(split_coin(seed, k), most)).collect()
}

fn split_coin(seed: u64, k: u64) -> Coin {
    Coin::new(Coin::new(seed, "splits").bits(k), "split")
}

impl Courses {
    /// Runs the contestant once per split. All contestants share the seeds, so that differences are between rules, not
    /// between random draws.
    pub(crate) fn run(
        contestant: &Contestant,
        splits: &[DataSplit],
        seed: u64,
        moments: &[usize],
        of: fn(&Checkpoint) -> f64,
    ) -> Self {
        let coin = Coin::new(seed, "contest");
        let course = |(k, split): (usize, &DataSplit)| contestant.run(split, coin.bits(k as u64), moments);
        Self { courses: splits.par_iter().enumerate().map(course).collect(), of }
    }

    /// Returns the same runs under another metric.
    pub(crate) fn seen_by(&self, of: fn(&Checkpoint) -> f64) -> Self {
        Self { courses: self.courses.clone(), of }
    }

    /// Returns the mean over the splits at this number of draws.
    pub(crate) fn at(&self, drawn: usize) -> Mean {
        let index = self.index(drawn);
        Mean::of(self.courses.iter().map(|course| (self.of)(&course[index])).collect::<Vec<f64>>())
    }

    /// Returns the mean number of labels paid for at this number of draws.
    pub(crate) fn labeled(&self, drawn: usize) -> f64 {
        let index = self.index(drawn);
        self.courses.iter().map(|course| course[index].labeled as f64).sum::<f64>() / self.courses.len() as f64
    }

    /// Returns the mean paired difference, this minus the other, at this number of draws.
    pub(crate) fn less(&self, other: &Self, drawn: usize) -> Mean {
        let index = self.index(drawn);
        let difference = |(a, b): (&Vec<Checkpoint>, &Vec<Checkpoint>)| (self.of)(&a[index]) - (self.of)(&b[index]);
        Mean::of(self.courses.iter().zip(&other.courses).map(difference).collect::<Vec<f64>>())
    }

    fn index(&self, drawn: usize) -> usize {
        let index = self.courses[0].iter().position(|moment| drawn <= moment.drawn);
        index.expect("a moment of the run")
    }

    fn moments(&self) -> impl Iterator<Item = usize> {
        self.courses[0].iter().map(|moment| moment.drawn)
    }

    /// Returns the mean and its 95 % interval against the number of draws.
    pub(crate) fn series(&self, name: &str, color: Color, mark: SeriesMark) -> Vec<Series> {
        let means: Vec<(f64, Mean)> = self.moments().map(|drawn| (drawn as f64, self.at(drawn))).collect();
        with_band(name, color, mark, &means)
    }

    /// Returns the mean difference to the other and its 95 % interval.
    pub(crate) fn difference(&self, other: &Self, name: &str, color: Color, mark: SeriesMark) -> Vec<Series> {
        let means: Vec<(f64, Mean)> = self.moments().map(|drawn| (drawn as f64, self.less(other, drawn))).collect();
        with_band(name, color, mark, &means)
    }
}

fn with_band(name: &str, color: Color, mark: SeriesMark, means: &[(f64, Mean)]) -> Vec<Series> {
    let lower = means.iter().map(|(_, mean)| mean.mean - mean.half_width()).collect();
    let upper = means.iter().map(|(x, mean)| (*x, mean.mean + mean.half_width())).collect();
    let points = means.iter().map(|(x, mean)| (*x, mean.mean)).collect();
    vec![
        Series { name: String::new(), color, mark: SeriesMark::Band(lower), points: upper },
        Series { name: name.to_owned(), color, mark, points },
    ]
}

/// Returns a horizontal line from one number of draws to another.
pub(crate) fn level(name: &str, at: f64, (from, to): (usize, usize)) -> Series {
    let points = vec![(from as f64, at), (to as f64, at)];
    Series { name: name.to_owned(), color: Color::Gray, mark: SeriesMark::Dotted, points }
}
