//! Simulated pools with known answers, and active learners that draw from them.

use querist_engine::coin::{Coin, shuffled};
use querist_engine::estimate::{DrawProbability, Judgement};

/// A sequence of random numbers for a run.
pub(crate) struct Chance {
    coin: Coin,
    at: u64,
}

impl Chance {
    pub(crate) fn new(seed: u64, purpose: &str) -> Self {
        Self { coin: Coin::new(seed, purpose), at: 0 }
    }

    pub(crate) fn unit(&mut self) -> f64 {
        self.at += 1;
        self.coin.unit(self.at)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.at += 1;
        self.coin.below(self.at, n)
    }

    pub(crate) fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.unit()).ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }
}

/// A pool of two classes; every row starts with a 1.
pub(crate) struct TwoClassPool {
    pub(crate) rows: Vec<Vec<f64>>,
    pub(crate) truth: Vec<usize>,
}

impl TwoClassPool {
    /// Generates two clouds at a distance; `share` is the fraction of items in class 1.
    pub(crate) fn clouds(size: usize, share: f64, distance: f64, seed: u64) -> Self {
        let mut chance = Chance::new(seed, "pool");
        let ones = (share * size as f64).round() as usize;
        let truth: Vec<usize> = (0..size).map(|i| usize::from(i < ones)).collect();
        let row = |&class: &usize| {
            let center = distance * (class as f64 - 0.5);
            vec![1.0, center + chance.normal(), chance.normal()]
        };
        let rows = truth.iter().map(row).collect();
        Self { rows, truth }
    }

    /// Loads a thousand rows of the waveform data; class 1 is the original class 2.
    pub(crate) fn waveform() -> Self {
        let text = include_str!("../../../../data/waveform.csv");
        let lines: Vec<&str> = text.lines().skip(1).collect();
        let (mut rows, mut truth) = (Vec::new(), Vec::new());
        for &at in &shuffled(Coin::new(5, "waveform"), lines.len())[..1000] {
            let cells: Vec<f64> = lines[at as usize].split(',').map(|cell| cell.parse().unwrap()).collect();
            rows.push(std::iter::once(1.0).chain(cells[1..22].iter().map(|x| (x - 2.0) / 2.0)).collect());
            truth.push(usize::from(cells[22] == 2.0));
        }
        Self { rows, truth }
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns the probability of class 1 under a linear model.
    pub(crate) fn probability(&self, theta: &[f64], item: usize) -> f64 {
        let score: f64 = theta.iter().zip(&self.rows[item]).map(|(t, x)| t * x).sum();
        1.0 / (1.0 + (-score).exp())
    }

    /// Returns the judgment of an item by a linear model.
    pub(crate) fn judge(&self, theta: &[f64], item: usize) -> Judgement {
        let (p, truth) = (self.probability(theta, item), self.truth[item]);
        let loss = -(if truth == 1 { p } else { 1.0 - p }).max(1e-300).ln();
        Judgement { loss, predicted: usize::from(p > 0.5), truth }
    }

    /// Returns the loss matrix: the log loss of each class, item by item.
    pub(crate) fn possible(&self, theta: &[f64]) -> Vec<f64> {
        let losses = |item: usize| {
            let p = self.probability(theta, item);
            [1.0 - p, p].map(|p| -p.max(1e-300).ln())
        };
        (0..self.len()).flat_map(losses).collect()
    }

    pub(crate) fn is_wrong(&self, theta: &[f64], item: usize) -> bool {
        self.judge(theta, item).predicted != self.truth[item]
    }

    /// Returns the accuracy of a model on the whole pool.
    pub(crate) fn accuracy(&self, theta: &[f64]) -> f64 {
        let wrong = (0..self.len()).filter(|&i| self.is_wrong(theta, i)).count();
        1.0 - wrong as f64 / self.len() as f64
    }

    /// Fits logistic regression to some items, by gradient descent on a ridge-penalized loss.
    pub(crate) fn fit(&self, items: &[usize]) -> Vec<f64> {
        let mut theta = vec![0.0; self.rows[0].len()];
        for _ in 0..30 {
            let mut slope: Vec<f64> = theta.iter().map(|t| 0.1 * t).collect();
            for &item in items {
                let error = self.probability(&theta, item) - self.truth[item] as f64;
                slope.iter_mut().zip(&self.rows[item]).for_each(|(s, x)| *s += error * x);
            }
            let step = 2.0 / (items.len() as f64 + 1.0);
            theta.iter_mut().zip(&slope).for_each(|(t, s)| *t -= step * s);
        }
        theta
    }
}

/// The method of drawing items: a fraction uniformly, the rest in proportion to a power of uncertainty.
#[derive(Clone, Copy)]
pub(crate) struct Drawing {
    pub(crate) labels: usize,
    pub(crate) chance: f64,
    pub(crate) sharpness: i32,
}

/// The draws of a run.
#[derive(Default)]
pub(crate) struct RunDraws {
    pub(crate) items: Vec<usize>,
    pub(crate) draws: Vec<DrawProbability>,
    /// `true` if the model just before the answer was wrong on the item.
    pub(crate) wrong: Vec<bool>,
    /// Before each draw, the number of remaining items the model is wrong on.
    pub(crate) left_wrong: Vec<f64>,
}

/// The number of answers after which the learner scores the pool again.
const BATCH: usize = 10;

/// Runs logistic regression by steps, on a pool without replacement: probabilities change with every batch of answers.
pub(crate) fn learn(pool: &TwoClassPool, how: Drawing, seed: u64) -> RunDraws {
    let mut chance = Chance::new(seed, "run");
    let mut left: Vec<usize> = (0..pool.len()).collect();
    let mut run = RunDraws::default();
    let mut theta = vec![0.0; pool.rows[0].len()];
    let mut uncertainty = vec![0.0; pool.len()];
    let (mut total, mut wrong) = (0.0, 0.0);
    for m in 0..how.labels {
        if m % BATCH == 0 {
            (total, wrong) = (0.0, 0.0);
            for &item in &left {
                let p = pool.probability(&theta, item);
                uncertainty[item] = (4.0 * p * (1.0 - p)).powi(how.sharpness).max(1e-9);
                total += uncertainty[item];
                wrong += f64::from((p > 0.5) != (pool.truth[item] == 1));
            }
        }
        run.left_wrong.push(wrong);
        let count = left.len() as f64;
        let is_uniform = chance.unit() < how.chance;
        let index = loop {
            let index = chance.below(left.len());
            if is_uniform || chance.unit() < uncertainty[left[index]] {
                break index;
            }
        };
        let item = left.swap_remove(index);
        let probability = how.chance / count + (1.0 - how.chance) * uncertainty[item] / total;
        total -= uncertainty[item];
        run.draws.push(DrawProbability::exact(probability, how.chance / count));
        run.items.push(item);
        run.wrong.push(pool.is_wrong(&theta, item));
        wrong -= f64::from(run.wrong[m]);
        if m % BATCH == BATCH - 1 {
            let step = 2.0 / (1.0 + m as f64 / 10.0).sqrt() / BATCH as f64;
            let before = theta.clone();
            for &asked in &run.items[m + 1 - BATCH..] {
                let error = pool.probability(&before, asked) - pool.truth[asked] as f64;
                theta.iter_mut().zip(&pool.rows[asked]).for_each(|(t, x)| *t -= step * error * x);
            }
        }
    }
    run
}
