//! Draws without replacement from an external pool.

mod common;

use common::{LearnerRecipe, plain};
use querist_engine::coin::Coin;
use querist_engine::pool::{
    BLOCK, Draw, Drawn, NoRow, PoolLearner, Replacement, RowWeights, SgdPool, SgdSettings, settle,
};
use querist_engine::rule;
use querist_engine::select::fill;
use querist_engine::stream::Importance;
use querist_engine::task::Labels;

fn weights(values: &[f64]) -> RowWeights {
    let mut made = RowWeights::default();
    let done: Result<(), ()> = made.extend(values.len(), |first, room| {
        room.copy_from_slice(&values[first..first + room.len()]);
        Ok(())
    });
    done.unwrap();
    made
}

fn some(n: usize, seed: u64) -> Vec<f64> {
    let coin = Coin::new(seed, "some");
    // A fifth of the rows cannot be drawn.
    (0..n as u64).map(|i| if coin.unit(2 * i) < 0.2 { 0.0 } else { coin.unit(2 * i + 1) }).collect()
}

#[test]
fn draws_agree_with_a_scan_of_the_pool() {
    let recipe = LearnerRecipe::new("logistic", "entropy", 6);
    let (rows, _) = plain(3 * BLOCK + 77, 6, 3, Labels::Binary);
    for seed in 0..40 {
        let settings = SgdSettings {
            draw: Draw::Scan,
            replacement: Replacement::Without,
            importance: Importance::Equivalent,
            seed,
        };
        let mut learner = SgdPool::new(recipe.learner(), recipe.rules(), rows.len(), settings).unwrap();
        let mut own = weights(&learner.uncertainties(&rows));
        for time in 0..5 {
            let theirs = learner.ask(&rows).unwrap();
            let ours = own.draw(Coin::new(seed, "accept").unit(time)).unwrap();
            assert_eq!((ours.row, Some(ours.probability)), (theirs.row, theirs.probability), "{seed} {time}");
            assert_eq!(ours.uncertainty, theirs.uncertainty);
        }
    }
}

#[test]
fn every_row_is_drawn_once_with_its_exact_probability() {
    let values = some(2 * BLOCK + 5, 1);
    let mut made = weights(&values);
    let coin = Coin::new(9, "draw");
    let mut left = values.clone();
    let possible = values.iter().filter(|value| 0.0 < **value).count();
    for time in 0..possible {
        let drawn = made.draw(coin.unit(time as u64)).unwrap();
        let total: f64 = left.iter().sum();
        assert!(0.0 < left[drawn.row], "{} was drawn before, or never could be", drawn.row);
        assert!((drawn.probability - left[drawn.row] / total).abs() < 1e-9 * drawn.probability + 1e-15);
        left[drawn.row] = 0.0;
    }
    let unseen = values.len() - possible;
    assert_eq!(made.draw(0.5), Err(NoRow::AllZero { left: unseen }));
}

/// Returns weights of every kind: 0, negligible, subnormal, tiny, ordinary and very large ones.
fn hostile(n: u64, seed: u64) -> Vec<f64> {
    const KINDS: [f64; 9] = [0.0, 5e-324, 1e-310, 1e-292, 1e-200, 1e-17, 0.3, 1.0, 1e99];
    let coin = Coin::new(seed, "hostile");
    let kinds = 1 + coin.below(0, KINDS.len());
    (1..=n).map(|row| KINDS[coin.below(row, kinds)] * (0.5 + 0.5 * coin.unit(1_000_000 + row))).collect()
}

#[test]
fn draws_of_any_weights_are_distinct_and_have_exact_probabilities() {
    for seed in 0..300 {
        let values = hostile(40, seed);
        let (mut made, coin) = (weights(&values), Coin::new(seed, "draw"));
        let mut left: Vec<usize> = (0..values.len()).collect();
        for time in 0..values.len() as u64 {
            let drawn = made.draw_or_uniform(coin.unit(time)).unwrap();
            let position = left.iter().position(|row| *row == drawn.row).expect("a row is drawn once");
            // Sums of sorted numbers in units of 2⁻¹⁰⁷⁴ lose nothing that matters.
            let mut others: Vec<f64> = left.iter().map(|row| values[*row]).collect();
            others.sort_by(f64::total_cmp);
            let total: f64 = others.iter().sum();
            let exact = if drawn.is_uniform { 1.0 / left.len() as f64 } else { values[drawn.row] / total };
            assert!((drawn.probability / exact - 1.0).abs() < 1e-12, "{seed} {time}: {drawn:?}, not {exact:e}");
            assert_eq!(drawn.is_uniform, total <= 1e-290, "{seed} {time}: {total:e}");
            left.remove(position);
        }
        assert_eq!(made.draw_or_uniform(0.5), Err(NoRow::Exhausted));
    }
}

#[test]
fn weights_of_0_are_drawn_uniformly() {
    let (runs, coin) = (60_000, Coin::new(3, "draw"));
    let mut seen = [0.0_f64; 6];
    for run in 0..runs {
        let mut made = weights(&[0.0; 6]);
        made.retire([2]);
        let drawn = made.draw_or_uniform(coin.unit(run)).unwrap();
        assert_eq!((drawn.probability, drawn.uncertainty, drawn.is_uniform), (0.2, 0.0, true));
        seen[drawn.row] += 1.0;
    }
    let expected = runs as f64 / 5.0;
    for (row, count) in seen.into_iter().enumerate() {
        let slack = if row == 2 { 0.0 } else { 5.0 * (0.8 * expected).sqrt() };
        let expected = if row == 2 { 0.0 } else { expected };
        assert!((count - expected).abs() <= slack, "row {row}: {count}, expected {expected}");
    }
}

#[test]
fn sums_that_are_not_finite_are_errors() {
    for value in [f64::NAN, f64::INFINITY, f64::MAX] {
        let mut made = weights(&[0.5, value, value]);
        assert!(matches!(made.draw_or_uniform(0.5), Err(NoRow::NotFinite { .. })), "{value}");
    }
}

/// Scores of estimators whose probabilities are exactly 0 or 1 are infinite.
#[test]
fn every_rule_draws_from_saturated_scores() {
    let infinite = f64::INFINITY;
    let pools: [(Labels, Vec<f64>); 5] = [
        (Labels::Binary, vec![infinite, -infinite, infinite, -infinite]),
        (Labels::Binary, vec![infinite, -infinite, 0.0, infinite]),
        (Labels::Binary, vec![infinite, -infinite, 1.5, -0.2]),
        (Labels::Classes(3), [[0.0, -infinite, -infinite], [-infinite, 0.0, -infinite]].concat().repeat(2)),
        (Labels::Classes(3), [[0.0, -infinite, -infinite], [-0.7, -infinite, -0.7]].concat().repeat(2)),
    ];
    for (labels, scores) in pools {
        let outputs = scores.len() / 4;
        let of_scores = ["entropy", "least-confidence", "margin:mu=1", "threshold:gamma=1", "exponential:mu=1"];
        let of_classes = ["entropy", "least-confidence", "top-two-margin", "top-two-ratio:mu=1,floor=0.1"];
        let names = if outputs == 1 { &of_scores[..] } else { &of_classes[..] };
        for name in names.iter().chain(&["margin", "rare", "constant:p=0.5"]) {
            let mut own = rule::parse(&rule::in_pool(name, labels), "logistic", labels).unwrap();
            let score = |row: usize, out: &mut [f64]| {
                out.copy_from_slice(&scores[row * outputs..][..outputs]);
                Ok::<(), ()>(())
            };
            settle(&mut own, (4, &[]), outputs, outputs.max(2) - 1, score).unwrap();
            let mut values = [f64::NAN; 4];
            fill(&own, outputs, &scores, &mut values).unwrap();
            assert!(values.iter().all(|u| (0.0..=own.max()).contains(u)), "{name}: {values:?} at {scores:?}");
            let (mut made, mut rows) = (weights(&values), vec![]);
            for time in 0..4 {
                let drawn = made.draw_or_uniform(Coin::new(1, "draw").unit(time)).unwrap();
                assert!(0.0 < drawn.probability && drawn.probability <= 1.0, "{name}: {drawn:?}");
                rows.push(drawn.row);
            }
            rows.sort_unstable();
            assert_eq!(rows, [0, 1, 2, 3], "{name} at {scores:?}");
        }
    }
}

/// A mean of U estimated from separate rows may be 0 although a row was drawn.
#[test]
fn probabilities_from_a_sampled_rate_are_valid() {
    let drawn = Drawn {
        row: 0,
        uncertainty: 0.3,
        probability: Some(0.3),
        tries: 1,
        inverse_rate: 1.0,
        fallback: false,
        rate: Some(0.0),
        scale: None,
        least: 0.0,
    };
    for (left, rate, least, probability, floor) in [
        (10, 0.0, 0.0, 1.0, 0.0),
        (10, 0.0, 0.1, 1.0, 1.0),
        (10, 1e-320, 0.0, 1.0, 0.0),
        (10, 0.06, 0.03, 0.5, 0.05),
        (40, 0.06, 0.03, 0.125, 0.0125),
        (4000, 0.06, 0.03, 0.00125, 0.000125),
    ] {
        let found = Drawn { rate: Some(rate), least, ..drawn }.draw_probability(left).unwrap();
        assert!((found.probability - probability).abs() < 1e-15 && (found.floor - floor).abs() < 1e-15, "{found:?}");
        // U is at most 1, so its relative variance is at most 1/S − 1; as many rows are sampled as are left, at most 1,024.
        let noise = if 0.0 < rate { ((1.0 / rate - 1.0) / left.min(1024) as f64).min(1.0) } else { 0.0 };
        assert!(found.noise == noise || (found.noise / noise - 1.0).abs() < 1e-12, "{found:?}");
    }
    let exact = Drawn { rate: Some(0.06), tries: 0, ..drawn }.draw_probability(10).unwrap();
    assert_eq!(exact.noise, 0.0);
}

#[test]
fn pairs_are_drawn_with_their_probabilities() {
    let values = [0.9, 0.0, 0.3, 0.6, 0.2];
    let total: f64 = values.iter().sum();
    let runs = 200_000_u64;
    let mut seen = [[0.0_f64; 5]; 5];
    let coin = Coin::new(4, "draw");
    for run in 0..runs {
        let mut made = weights(&values);
        let first = made.draw(coin.unit(2 * run)).unwrap().row;
        let second = made.draw(coin.unit(2 * run + 1)).unwrap().row;
        seen[first][second] += 1.0;
    }
    for (i, row) in seen.iter().enumerate() {
        for (j, count) in row.iter().enumerate() {
            let p = if i == j { 0.0 } else { values[i] / total * values[j] / (total - values[i]) };
            // Five standard deviations: all 25 hold in all but one of 70,000 seeds.
            let slack = 5.0 * (p * (1.0 - p) * runs as f64).sqrt();
            assert!((count - p * runs as f64).abs() <= slack, "{i} then {j}: {count}, expected {}", p * runs as f64);
        }
    }
}

#[test]
fn blocks_can_be_added_in_several_parts() {
    let values = some(5 * BLOCK + 3, 2);
    let whole = weights(&values);
    let mut parts = RowWeights::default();
    for range in [0..BLOCK, BLOCK..4 * BLOCK, 4 * BLOCK..values.len()] {
        let done: Result<(), ()> = parts.extend(range.len(), |first, room| {
            room.copy_from_slice(&values[first..first + room.len()]);
            Ok(())
        });
        done.unwrap();
    }
    assert_eq!(whole.total().to_bits(), parts.total().to_bits());
    let (mut whole, mut parts) = (whole, parts);
    for time in 0..50 {
        let coin = Coin::new(1, "draw").unit(time);
        assert_eq!(whole.draw(coin), parts.draw(coin));
    }
}

#[test]
fn extend_returns_the_first_error_and_adds_no_rows() {
    let mut made = RowWeights::default();
    let found = made.extend(10 * BLOCK, |first, _| if first < 3 * BLOCK { Ok(()) } else { Err(first) });
    assert_eq!(found, Err(3 * BLOCK));
    assert_eq!(made.values().len(), 0);
    assert_eq!(made.draw(0.5), Err(NoRow::Exhausted));
}

#[test]
fn the_most_uncertain_rows_come_first_and_retired_rows_never() {
    let values = some(70 * BLOCK, 8);
    let mut made = weights(&values);
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*b].total_cmp(&values[*a]).then(a.cmp(b)));
    for count in [1, 2, 1000, values.len()] {
        assert_eq!(made.top(count), order[..count]);
    }
    let retired: Vec<usize> = order[..3000].to_vec();
    made.retire(retired.iter().copied());
    assert_eq!(made.top(10), order[3000..3010]);
    let coin = Coin::new(6, "draw");
    for time in 0..2000 {
        assert!(!retired.contains(&made.draw(coin.unit(time)).unwrap().row));
    }
}

#[test]
fn settle_and_a_pool_learner_take_the_same_scale() {
    let name = "margin:share=0.05,floor=0.2";
    let recipe = LearnerRecipe { rule: name, ..LearnerRecipe::new("logistic", name, 4) };
    let recipe = LearnerRecipe { start: Some(vec![1.0, -2.0, 0.5, 0.0, 0.1]), ..recipe };
    let (rows, _) = plain(5000, 4, 11, Labels::Binary);
    let settings = SgdSettings {
        draw: Draw::Scan,
        replacement: Replacement::Without,
        importance: Importance::Equivalent,
        seed: 1,
    };
    let mut learner = SgdPool::new(recipe.learner(), recipe.rules(), rows.len(), settings).unwrap();
    let theirs = learner.uncertainties(&rows);
    let mut own = rule::parse(name, "logistic", Labels::Binary).unwrap();
    let model = recipe.learner();
    let score = |row: usize, out: &mut [f64]| {
        model.scores(rows.row(row), out);
        Ok::<(), ()>(())
    };
    settle(&mut own, (rows.len(), &[]), 1, 0, score).unwrap();
    for (row, u) in theirs.iter().enumerate().step_by(97) {
        let mut scores = [0.0];
        model.scores(rows.row(row), &mut scores);
        assert_eq!(own.probability(&scores, rows.row(row)).to_bits(), u.to_bits());
    }
}
