//! The courses of contestants over many splits: run, compared, drawn.

use querist_engine::coin::Coin;
use querist_report::{Color, Mark, Series};
use rayon::prelude::{IndexedParallelIterator, IntoParallelIterator, IntoParallelRefIterator, ParallelIterator};

use crate::contest::{Contestant, Moment};
use crate::datasets::{Dataset, Split};
use crate::paired::Mean;

/// A course for every split, all at the same moments.
pub(crate) struct Courses {
    courses: Vec<Vec<Moment>>,
    /// What is looked at: accuracy, or the loss.
    of: fn(&Moment) -> f64,
}

/// Random splits of a data set.
pub(crate) fn splits(data: &Dataset, seed: u64, count: usize, most: usize) -> Vec<Split> {
    (0..count as u64).into_par_iter().map(|k| data.split(split_coin(seed, k), most)).collect()
}

fn split_coin(seed: u64, k: u64) -> Coin {
    Coin::new(Coin::new(seed, "splits").bits(k), "split")
}

impl Courses {
    /// One run a split. The same seeds for every contestant: differences are between rules, not between coins.
    pub(crate) fn run(
        contestant: &Contestant,
        splits: &[Split],
        seed: u64,
        moments: &[usize],
        of: fn(&Moment) -> f64,
    ) -> Self {
        let coin = Coin::new(seed, "contest");
        let course = |(k, split): (usize, &Split)| contestant.run(split, coin.bits(k as u64), moments);
        Self { courses: splits.par_iter().enumerate().map(course).collect(), of }
    }

    /// The same runs, looked at in another way.
    pub(crate) fn seen_by(&self, of: fn(&Moment) -> f64) -> Self {
        Self { courses: self.courses.clone(), of }
    }

    /// Over the splits, at the moment of this number of draws.
    pub(crate) fn at(&self, drawn: usize) -> Mean {
        let place = self.place(drawn);
        Mean::of(&self.courses.iter().map(|course| (self.of)(&course[place])).collect::<Vec<f64>>())
    }

    /// The mean number of labels paid for at this number of draws.
    pub(crate) fn labeled(&self, drawn: usize) -> f64 {
        let place = self.place(drawn);
        self.courses.iter().map(|course| course[place].labeled as f64).sum::<f64>() / self.courses.len() as f64
    }

    /// This less the other on the same splits, at this number of draws.
    pub(crate) fn less(&self, other: &Self, drawn: usize) -> Mean {
        let place = self.place(drawn);
        let difference = |(a, b): (&Vec<Moment>, &Vec<Moment>)| (self.of)(&a[place]) - (self.of)(&b[place]);
        Mean::of(&self.courses.iter().zip(&other.courses).map(difference).collect::<Vec<f64>>())
    }

    fn place(&self, drawn: usize) -> usize {
        let place = self.courses[0].iter().position(|moment| drawn <= moment.drawn);
        place.expect("a moment of the run")
    }

    fn moments(&self) -> impl Iterator<Item = usize> {
        self.courses[0].iter().map(|moment| moment.drawn)
    }

    /// The mean and its 95 % interval against the number of draws.
    pub(crate) fn series(&self, name: &str, color: Color, mark: Mark) -> Vec<Series> {
        let means: Vec<(f64, Mean)> = self.moments().map(|drawn| (drawn as f64, self.at(drawn))).collect();
        with_band(name, color, mark, &means)
    }

    /// The mean difference to the other and its 95 % interval.
    pub(crate) fn difference(&self, other: &Self, name: &str, color: Color, mark: Mark) -> Vec<Series> {
        let means: Vec<(f64, Mean)> = self.moments().map(|drawn| (drawn as f64, self.less(other, drawn))).collect();
        with_band(name, color, mark, &means)
    }
}

fn with_band(name: &str, color: Color, mark: Mark, means: &[(f64, Mean)]) -> Vec<Series> {
    let lower = means.iter().map(|(_, mean)| mean.mean - mean.half_width()).collect();
    let upper = means.iter().map(|(x, mean)| (*x, mean.mean + mean.half_width())).collect();
    let points = means.iter().map(|(x, mean)| (*x, mean.mean)).collect();
    vec![
        Series { name: String::new(), color, mark: Mark::Band(lower), points: upper },
        Series { name: name.to_owned(), color, mark, points },
    ]
}

/// A level line from one number of draws to another.
pub(crate) fn level(name: &str, at: f64, (from, to): (usize, usize)) -> Series {
    let points = vec![(from as f64, at), (to as f64, at)];
    Series { name: name.to_owned(), color: Color::Gray, mark: Mark::Dotted, points }
}
