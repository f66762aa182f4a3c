//! Cold starts that cover the pool: replays, and the search for a rare class.

use querist_engine::coin::Coin;
use querist_engine::pool::{ColdDraws, Draw, Objective, PoolLearner, RefitPool};
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
    for draw in Draw::ALL {
        let mut first = pool(&rows, draw, 7, ColdDraws::Coverage);
        let mut again = pool(&rows, draw, 7, ColdDraws::Coverage);
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
