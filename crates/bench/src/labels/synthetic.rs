//! Synthetic pools, each with a difficulty of its own for estimates.

use querist_engine::coin::Coin;
use querist_engine::task::Labels;
use querist_rows::{DenseRows, Rows};

use crate::set::LabeledSet;

/// The number of features of a row.
const DIM: usize = 5;

/// A sequence of random numbers.
struct NoiseSource {
    coin: Coin,
    at: u64,
}

impl NoiseSource {
    fn unit(&mut self) -> f64 {
        self.at += 1;
        self.coin.unit(self.at)
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.unit()).ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Returns a number of Student's t with two degrees of freedom.
    fn student_2(&mut self) -> f64 {
        self.normal() / (-(1.0 - self.unit()).ln()).sqrt()
    }
}

/// Returns all synthetic pools.
pub(crate) fn all() -> Vec<LabeledSet> {
    vec![
        clouds("two equal classes", 1500, &[0.5, 0.5], 2.0),
        clouds("1 % positive", 4000, &[0.99, 0.01], 3.5),
        clouds("7 classes", 1500, &[0.25, 0.2, 0.15, 0.13, 0.12, 0.1, 0.05], 3.0),
        wrong_labels(),
        foreign_model(),
        heavy_tails(),
    ]
}

/// Generates a normal cloud for each class, with these shares; class k > 0 has its center at this distance from the
/// origin.
fn clouds(name: &str, rows: usize, shares: &[f64], distance: f64) -> LabeledSet {
    let mut draws = NoiseSource { coin: Coin::new(17, name), at: 0 };
    let kind = if shares.len() == 2 { Labels::Binary } else { Labels::Classes(shares.len()) };
    let (mut values, mut labels) = (vec![], vec![]);
    for _ in 0..rows {
        let mut u = draws.unit();
        let is_it = |share: &f64| {
            u -= share;
            u < 0.0
        };
        let class = shares.iter().position(is_it).unwrap_or(0);
        for feature in 0..DIM {
            // Beyond the last feature, centers lie on the other side.
            let is_its_own = 0 < class && (class - 1) % DIM == feature;
            let sign = if class <= DIM { 1.0 } else { -1.0 };
            let center = if is_its_own { sign * distance } else { 0.0 };
            values.push((center + draws.normal()) as f32);
        }
        labels.push(kind.label(class));
    }
    dense(name, values, labels, kind)
}

fn dense(name: &str, values: Vec<f32>, labels: Vec<f64>, kind: Labels) -> LabeledSet {
    let rows = DenseRows::from_values(DIM, values).map_or_else(|| Rows::Dense(DenseRows::new(DIM)), Rows::Dense);
    LabeledSet { name: name.to_owned(), rows, labels, kind, foreign: None }
}

/// Separates two classes well; then 3 % of the labels are wrong, far from the boundary, too.
fn wrong_labels() -> LabeledSet {
    let mut set = clouds("3 % wrong labels", 2000, &[0.5, 0.5], 4.0);
    let coin = Coin::new(18, "wrong labels");
    for (row, label) in set.labels.iter_mut().enumerate() {
        if coin.unit(row as u64 + 1) < 0.03 {
            *label = -*label;
        }
    }
    set
}

/// Judges a model that is not the learner's: it ignores half of what the features say, and its scores are four times too
/// large.
fn foreign_model() -> LabeledSet {
    let set = clouds("a foreign, overconfident model", 2000, &[0.5, 0.5], 2.0);
    let mut draws = NoiseSource { coin: Coin::new(19, "foreign"), at: 0 };
    let probability = |score: f64| 1.0 / (1.0 + (-score).exp());
    let predicted = set.labels.iter().flat_map(|label| {
        let score = 4.0 * 2.0 * (label + draws.normal());
        let positive = probability(score).clamp(1e-9, 1.0 - 1e-9);
        [1.0 - positive, positive]
    });
    LabeledSet { foreign: Some(predicted.collect()), ..set }
}

/// Adds noise without a variance to a linear function.
fn heavy_tails() -> LabeledSet {
    let mut draws = NoiseSource { coin: Coin::new(20, "heavy tails"), at: 0 };
    let (mut values, mut labels) = (vec![], vec![]);
    for _ in 0..1500 {
        let x: [f64; DIM] = std::array::from_fn(|_| draws.normal());
        labels.push(x.iter().sum::<f64>() + 0.5 * draws.student_2());
        values.extend(x.map(|x| x as f32));
    }
    dense("regression, heavy tails", values, labels, Labels::Numbers)
}
