//! R² over a pool, of predictions that the draws favor where they are wrong.

use querist_engine::coin::Coin;
use querist_engine::estimate::{DrawProbability, Estimate, Estimator, NumberJudgement, Warning};

use crate::record::CoverageRecord;

const ITEMS: usize = 1200;

/// A pool of numbers around an offset, with the squared error of a prediction of each.
struct NumberPool {
    numbers: Vec<f64>,
    errors: Vec<f64>,
}

impl NumberPool {
    /// The errors grow with the distance from the offset; `tail` makes numbers of normal ones.
    fn new(offset: f64, tail: impl Fn(f64, f64) -> f64) -> Self {
        let coin = Coin::new(4, "numbers");
        let normal = |time: u64| (0..12).map(|part| coin.unit(12 * time + part)).sum::<f64>() - 6.0;
        let (mut numbers, mut errors) = (vec![], vec![]);
        for item in 0..ITEMS as u64 {
            let signal = normal(3 * item + 1);
            let noise = tail(normal(3 * item + 2), coin.unit(1_000_000 + item)) * (0.3 + 0.3 * signal.abs());
            numbers.push(offset + 2.0 * (signal + noise));
            errors.push(4.0 * noise * noise);
        }
        Self { numbers, errors }
    }

    fn truth(&self) -> f64 {
        let mean = self.numbers.iter().sum::<f64>() / ITEMS as f64;
        let variance: f64 = self.numbers.iter().map(|number| (number - mean).powi(2)).sum();
        1.0 - self.errors.iter().sum::<f64>() / variance
    }

    /// Draws without replacement, with probabilities that grow with the error.
    fn draw(&self, labels: usize, seed: u64) -> (Vec<NumberJudgement>, Vec<DrawProbability>) {
        let coin = Coin::new(seed, "draws");
        let mut weights: Vec<f64> = self.errors.iter().map(|error| 0.2 + error.min(2.0)).collect();
        let (mut judged, mut draws) = (vec![], vec![]);
        for time in 0..labels as u64 {
            let total: f64 = weights.iter().sum();
            let mut point = coin.unit(time + 1) * total;
            let is_it = |weight: &f64| {
                point -= weight;
                point < 0.0
            };
            let item = weights.iter().position(is_it).unwrap_or(0);
            draws.push(DrawProbability::exact(weights[item] / total, 0.2 / total));
            weights[item] = 0.0;
            let squared_error = self.errors[item];
            judged.push(NumberJudgement { truth: self.numbers[item], squared_error, fitted: squared_error });
        }
        (judged, draws)
    }

    fn estimate(&self, labels: usize, seed: u64) -> Estimate {
        let (judged, draws) = self.draw(labels, seed);
        Estimator::new(ITEMS).r_squared(&judged, &draws).unwrap().unwrap()
    }
}

#[test]
fn intervals_of_r_squared_cover() {
    // A far offset must not matter: weights do not add up to the number of draws.
    for offset in [0.0, 1e6] {
        let pool = NumberPool::new(offset, |normal, _| normal);
        for labels in [60, 200] {
            let mut record = CoverageRecord::default();
            let estimates: Vec<Estimate> = (0..400).map(|seed| pool.estimate(labels, seed)).collect();
            for estimate in &estimates {
                record.add(Some(*estimate), pool.truth());
            }
            let widths = estimates.iter().map(|estimate| estimate.high - estimate.low);
            let narrow = widths.filter(|width| *width < if labels == 60 { 0.7 } else { 0.25 }).count();
            assert!(record.bias().abs() < 3.5 && 0.925 <= record.coverage(), "{offset} {labels}: {record}");
            assert!(0.98 <= record.always / record.runs, "{record}");
            assert!(240 <= narrow, "{narrow} of 400 are narrow: {record}");
        }
    }
}

#[test]
fn heavy_tails_have_no_lower_end() {
    let pool = NumberPool::new(0.0, |normal, unit| normal / unit.max(1e-6));
    let bounded = (0..50).filter(|seed| pool.estimate(200, *seed).low.is_finite()).count();
    assert!(bounded <= 2, "{bounded} of 50 runs");
    let estimate = pool.estimate(200, 1);
    assert_eq!((estimate.low, estimate.warning), (f64::NEG_INFINITY, Some(Warning::HeavyTail)));
}

#[test]
fn a_pool_without_open_items_has_its_r_squared_exactly() {
    let pool = NumberPool::new(3.0, |normal, _| normal);
    let estimate = pool.estimate(ITEMS, 1);
    for value in [estimate.value, estimate.low, estimate.high] {
        assert!((value - pool.truth()).abs() < 1e-6, "{estimate:?} {}", pool.truth());
    }
}

/// The fitted model has learned the drawn numbers, which are a part of the pool.
#[test]
fn the_fitted_model_counts_where_it_has_learned() {
    let pool = NumberPool::new(0.0, |normal, _| normal);
    let (mut judged, draws) = pool.draw(300, 1);
    let estimator = Estimator::new(ITEMS);
    let before = estimator.r_squared(&judged, &draws).unwrap().unwrap();
    for judged in &mut judged {
        judged.fitted = 0.0;
    }
    let after = estimator.r_squared(&judged, &draws).unwrap().unwrap();
    let known: f64 = judged.iter().map(|judged| judged.squared_error).sum();
    let variance = known / ITEMS as f64 / (after.value - before.value);
    assert!((4.0..8.0).contains(&variance) && before.low < after.low && before.high < after.high, "{variance}");
}

#[test]
fn equal_numbers_have_no_r_squared() {
    let judged = [NumberJudgement { truth: 2.0, squared_error: 1.0, fitted: 1.0 }; 40];
    let draws: Vec<DrawProbability> = (0..40).map(|m| DrawProbability::uniform(400 - m)).collect();
    assert_eq!(Estimator::new(400).r_squared(&judged, &draws), Ok(None));
}
