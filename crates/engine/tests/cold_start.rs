//! Cold starts that cover the pool: replays, and the search for a rare class.

use querist_engine::coin::Coin;
use querist_engine::pool::{ColdDraws, Draw, Objective, PoolLearner, RefitPool, StartGroup, StartRows};
use querist_engine::task::Labels;
use querist_rows::{DenseRows, Rows};

mod common;

use common::fitted_by;

/// Returns a normal number, by the sum of twelve uniform ones.
fn normal(coin: Coin, at: u64) -> f64 {
    (0..12).map(|part| coin.unit(12 * at + part)).sum::<f64>() - 6.0
}

/// Returns rows of which one in a hundred is positive and lies in a cluster, five standard deviations from the others.
fn rare_cluster(seed: u64, rows: usize, dim: usize) -> (Rows, Vec<f64>) {
    let coin = Coin::new(seed, "rows");
    let shift = 5.0 / (dim as f64).sqrt();
    let label = |row: usize| if row % 100 == 57 { 1.0 } else { -1.0 };
    let value = |at: usize| {
        let center = if label(at / dim) > 0.0 { shift } else { 0.0 };
        (normal(coin, at as u64) + center) as f32
    };
    let values = (0..rows * dim).map(value).collect();
    (Rows::Dense(DenseRows::from_values(dim, values).unwrap()), (0..rows).map(label).collect())
}

fn pool(rows: &Rows, draw: Draw, seed: u64, cold: ColdDraws) -> RefitPool {
    fitted_by(rows, Labels::Binary, "boundary", draw, Objective::AsAsked, seed).with_cold_draws(cold)
}

/// Returns the number of labels until the first positive one, at most 51.
fn labels_until_found(rows: &Rows, labels: &[f64], seed: u64, cold: ColdDraws) -> usize {
    let mut pool = pool(rows, Draw::Scan, seed, cold);
    for count in 1..=50 {
        let drawn = pool.ask(rows).unwrap();
        if labels[drawn.row] > 0.0 {
            return count;
        }
        pool.answer(&[(rows.row(drawn.row), drawn, -1.0)]).unwrap();
    }
    51
}

#[test]
fn fifty_labels_find_a_rare_cluster() {
    let found = |cold: ColdDraws| -> Vec<usize> {
        let of_seed = |seed| {
            let (rows, labels) = rare_cluster(seed, 4000, 20);
            labels_until_found(&rows, &labels, seed, cold)
        };
        (0..50).map(of_seed).collect()
    };
    let (coverage, random) = (found(ColdDraws::Coverage), found(ColdDraws::Random));
    assert!(coverage.iter().all(|labels| *labels <= 50), "{coverage:?}");
    // Random draws miss it with probability 0.99^50 = 0.61, so 10 of 50 misses or fewer have a probability below 1e-8.
    assert!(10 < random.iter().filter(|labels| 50 < **labels).count(), "{random:?}");
}

/// Returns predicted classes of the rows: all positives have a positive prediction, and 60 % of these are right.
fn predictions(labels: &[f64], seed: u64) -> StartRows {
    let coin = Coin::new(seed, "predictions");
    let positives = labels.iter().filter(|label| **label > 0.0).count() as f64;
    let wrong = positives * (0.4 / 0.6) / (labels.len() as f64 - positives);
    let is_positive = |row: usize| labels[row] > 0.0 || coin.unit(row as u64) < wrong;
    let mut start = StartRows::default();
    for class in [true, false] {
        let rows = (0..labels.len()).filter(|row| is_positive(*row) == class).map(|row| (row, 1.0)).collect();
        start.add(StartGroup { rows, lasts: true });
    }
    start
}

#[test]
fn predictions_find_a_rare_class_at_once() {
    // Positives are 1 % of the rows and unlike the others in nothing that coverage could notice.
    let found = |seed: u64| -> usize {
        let coin = Coin::new(seed, "uniform");
        let values = (0..4000 * 5).map(|at| normal(coin, at) as f32).collect();
        let rows = Rows::Dense(DenseRows::from_values(5, values).unwrap());
        let labels: Vec<f64> = (0..4000).map(|row| if row % 100 == 57 { 1.0 } else { -1.0 }).collect();
        let mut pool = pool(&rows, Draw::Scan, seed, ColdDraws::Coverage).with_start_rows(predictions(&labels, seed));
        for count in 1..=20 {
            let drawn = pool.ask(&rows).unwrap();
            if labels[drawn.row] > 0.0 {
                return count;
            }
            pool.answer(&[(rows.row(drawn.row), drawn, -1.0)]).unwrap();
        }
        21
    };
    let found: Vec<usize> = (0..50).map(found).collect();
    // A draw is positive with probability 0.9·0.5·0.6 = 0.27, so 10 draws find one with probability 0.96.
    let within = |labels: usize| found.iter().filter(|count| **count <= labels).count();
    assert!(25 <= within(3) && 43 < within(10) && 48 <= within(20), "{found:?}");
}

#[test]
fn start_rows_come_first_also_in_a_random_start() {
    let (rows, labels) = rare_cluster(1, 800, 4);
    let mut start = StartRows::default();
    start.add(StartGroup { rows: (0..8).map(|row| (100 * row + 57, 1.0)).collect(), lasts: false });
    for cold in ColdDraws::ALL {
        let mut pool = pool(&rows, Draw::Scan, 3, cold).with_start_rows(start.clone());
        let mut positive = 0;
        for time in 0..9 {
            let drawn = pool.ask(&rows).unwrap();
            positive += u32::from(time < 5 && labels[drawn.row] > 0.0);
            assert!(drawn.probability.is_some_and(|p| 0.0 < p && p <= 1.0));
            pool.answer(&[(rows.row(drawn.row), drawn, labels[drawn.row])]).unwrap();
        }
        assert!(3 <= positive, "{cold}: {positive}");
        // All nine draws have exact probabilities, so the pool can be assessed from them and later ones.
        assert!(pool.assess(Some(&rows)).is_ok(), "{cold}");
    }
}

#[test]
fn many_classes_start_uniformly() {
    let (rows, _) = rare_cluster(1, 100, 4);
    for (classes, draws) in [(10, ColdDraws::Coverage), (11, ColdDraws::Random)] {
        let labels = Labels::Classes(classes);
        let pool = fitted_by(&rows, labels, "boundary", Draw::Scan, Objective::AsAsked, 1);
        assert_eq!(pool.with_cold_draws(ColdDraws::Coverage).cold_draws(), draws);
    }
}

#[test]
fn a_recorded_start_continues_with_the_same_draws() {
    let (rows, labels) = rare_cluster(1, 800, 4);
    let starts = [StartRows::default(), predictions(&labels, 7)];
    for (draw, start) in Draw::ALL.into_iter().flat_map(|draw| starts.clone().map(|start| (draw, start))) {
        let new = || pool(&rows, draw, 7, ColdDraws::Coverage).with_start_rows(start.clone());
        let (mut first, mut again) = (new(), new());
        for time in 0..20 {
            let drawn = first.ask(&rows).unwrap();
            if time < 6 {
                again.set_scale(drawn.scale.expect("a draw by coverage has a base"));
                assert_eq!(again.least(), drawn.least);
                again.record(&drawn, rows.row(drawn.row));
            } else {
                assert_eq!(again.ask(&rows).unwrap(), drawn, "{draw} {time}");
            }
            let answer = [(rows.row(drawn.row), drawn, labels[drawn.row])];
            first.answer(&answer).unwrap();
            again.answer(&answer).unwrap();
        }
    }
}
