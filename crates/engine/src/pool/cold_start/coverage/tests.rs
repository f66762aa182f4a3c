//! Draws that cover a pool: their probabilities, and the rows that come first.

use super::*;
use crate::pool::retired::Retired;
use crate::rows::{DenseRows, Sparse, SparseRows};

/// Returns rows in three groups, on a line, and one row far from all.
fn groups() -> Rows {
    let coin = Coin::new(3, "groups");
    let mut values: Vec<f32> = (0..60).map(|row| (10 * (row % 3)) as f32 + coin.unit(row) as f32).collect();
    values.push(100.0);
    Rows::Dense(DenseRows::from_values(1, values).unwrap())
}

fn phase(goal: DrawGoal) -> ColdPhase {
    ColdPhase { goal, is_early: true }
}

#[test]
fn rows_are_drawn_in_proportion_to_u() {
    let rows = groups();
    let mut retired = Retired::new(rows.len());
    let mut coverage = Coverage::new(&rows, 1, &StartRows::default());
    for row in [4, 17] {
        coverage.cover(&rows, row);
        retired.retire(row);
    }
    for goal in [DrawGoal::Typical, DrawGoal::Far] {
        const COINS: usize = 100_000;
        let mut counts = vec![0.0; rows.len()];
        let mut us = vec![0.0; rows.len()];
        for coin in 0..COINS {
            let drawn = coverage.draw(phase(goal), &retired, (coin as f64 + 0.5) / COINS as f64).unwrap();
            counts[drawn.row] += 1.0 / COINS as f64;
            us[drawn.row] = drawn.uncertainty / drawn.total;
            assert!(drawn.least() <= drawn.uncertainty && drawn.uncertainty <= 1.0);
            assert!((drawn.least() / drawn.total * 59.0 / FLOOR - 1.0).abs() < 1e-9);
        }
        // A row has at most two parts of the unit interval, so its count is off by at most two.
        for row in 0..rows.len() {
            assert!((counts[row] - us[row]).abs() <= 2.0 / COINS as f64, "{goal:?} {row}");
        }
        assert_eq!((counts[4], counts[17]), (0.0, 0.0), "retired");
        assert!((us.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
}

/// Returns a start group of these rows with a weight of 1 for the first, 2 for the second, and so on.
fn start_group(rows: &[usize], lasts: bool) -> StartGroup {
    StartGroup { rows: rows.iter().zip(1..).map(|(row, weight)| (*row, f64::from(weight))).collect(), lasts }
}

#[test]
fn rows_of_start_groups_are_drawn_in_proportion_to_u() {
    const COINS: usize = 100_000;
    let rows = groups();
    let mut start = StartRows::default();
    start.add(start_group(&[0, 3, 4, 6, 7, 10], false));
    start.add(start_group(&[7, 60], true));
    let mut coverage = Coverage::new(&rows, 1, &start);
    let mut retired = Retired::new(rows.len());
    for row in [4, 17] {
        coverage.cover(&rows, row);
        retired.retire(row);
    }
    let (mut counts, mut us) = (vec![0.0; rows.len()], vec![f64::NAN; rows.len()]);
    for coin in 0..COINS {
        let at = (coin as f64 + 0.5) / COINS as f64;
        let drawn = coverage.draw(phase(DrawGoal::Typical), &retired, at).unwrap();
        counts[drawn.row] += 1.0;
        let u = drawn.uncertainty / drawn.total;
        assert!(us[drawn.row].is_nan() || (us[drawn.row] - u).abs() < 1e-15, "U of a row is one number");
        us[drawn.row] = u;
        assert!(drawn.least() <= drawn.uncertainty && drawn.uncertainty <= 1.0);
        assert!((drawn.least() / drawn.total * 59.0 / FLOOR - 1.0).abs() < 1e-9);
    }
    // A row has at most four parts of the unit interval.
    for row in (0..rows.len()).filter(|row| ![4, 17].contains(row)) {
        assert!((counts[row] - us[row] * COINS as f64).abs() <= 4.0, "{row}");
    }
    let of_rows = |rows: &[usize]| rows.iter().map(|row| us[*row] - FLOOR / 59.0).sum::<f64>();
    let (first, both, second) = (of_rows(&[0, 3, 6, 10]), of_rows(&[7]), of_rows(&[60]));
    assert!(
        (first + both + second - 0.9).abs() < 1e-9 && first < 0.45 + 1e-9 && second < 0.45 + 1e-9,
        "{first} {both} {second}"
    );
    let elsewhere = us.iter().enumerate().filter(|(row, _)| ![0, 3, 4, 6, 7, 10, 17, 60].contains(row));
    assert!(elsewhere.clone().count() == 53 && elsewhere.into_iter().all(|(_, u)| (u - FLOOR / 59.0).abs() < 1e-12));
}

#[test]
fn start_groups_come_first_until_their_end() {
    let rows = groups();
    let mut start = StartRows::default();
    start.add(start_group(&[1, 4], false));
    start.add(start_group(&[60], true));
    let mut coverage = Coverage::new(&rows, 1, &start);
    let mut retired = Retired::new(rows.len());
    let is_first = |coverage: &Coverage, retired: &Retired, goal: DrawGoal, is_early: bool, row: usize| {
        let least = |at: f64| coverage.draw(ColdPhase { goal, is_early }, retired, at).unwrap();
        (0..100).map(|coin| least(f64::from(coin) / 100.0)).filter(|drawn| drawn.row == row).count() > 20
    };
    for goal in [DrawGoal::Typical, DrawGoal::Uniform] {
        assert!(is_first(&coverage, &retired, goal, true, 4) && is_first(&coverage, &retired, goal, true, 60));
        assert!(!is_first(&coverage, &retired, goal, false, 4), "not later");
        assert!(is_first(&coverage, &retired, goal, false, 60), "until the end");
    }
    coverage.cover(&rows, 30);
    // Row 60 is the only one of its group, and also the one far from all drawn rows.
    assert!(is_first(&coverage, &retired, DrawGoal::Far, false, 60), "together with rows far away");
    coverage.cover(&rows, 60);
    retired.retire(60);
    for row in [1, 4] {
        assert!(is_first(&coverage, &retired, DrawGoal::Typical, true, 4) || row == 4);
        coverage.cover(&rows, row);
        retired.retire(row);
    }
    // No row of a group is left: draws are those of the usual cold start.
    let usual = {
        let mut usual = Coverage::new(&rows, 1, &StartRows::default());
        for row in [30, 60, 1, 4] {
            usual.cover(&rows, row);
        }
        usual
    };
    for goal in [DrawGoal::Typical, DrawGoal::Far, DrawGoal::Uniform] {
        for coin in [0.05, 0.3, 0.6, 0.9] {
            assert_eq!(coverage.draw(phase(goal), &retired, coin), usual.draw(phase(goal), &retired, coin));
        }
    }
}

#[test]
fn copies_of_drawn_rows_still_come_first() {
    let rows = Rows::Dense(DenseRows::from_values(1, vec![0.0; 50]).unwrap());
    let mut start = StartRows::default();
    start.add(start_group(&[3, 9, 20], false));
    let mut coverage = Coverage::new(&rows, 1, &start);
    let mut retired = Retired::new(50);
    coverage.cover(&rows, 3);
    retired.retire(3);
    let drawn = coverage.draw(phase(DrawGoal::Typical), &retired, 0.9).unwrap();
    assert!([9, 20].contains(&drawn.row), "{drawn:?}");
}

#[test]
fn all_rows_of_a_small_group_in_a_large_pool_can_be_drawn() {
    const ROWS: usize = 1_000_000;
    let coin = Coin::new(5, "large");
    let values = (0..ROWS as u64).map(|row| coin.unit(row) as f32).collect();
    let rows = Rows::Dense(DenseRows::from_values(1, values).unwrap());
    let few: Vec<usize> = (0..40).map(|row| 25_000 * row + 13).collect();
    let mut start = StartRows::default();
    start.add(start_group(&few, false));
    let coverage = Coverage::new(&rows, 1, &start);
    let retired = Retired::new(ROWS);
    let mut total = 0.0;
    for coin in 0..1000 {
        let drawn = coverage.draw(phase(DrawGoal::Typical), &retired, f64::from(coin) / 1000.0).unwrap();
        total += f64::from(u8::from(few.contains(&drawn.row)));
        assert!((drawn.least() / drawn.total * ROWS as f64 / FLOOR - 1.0).abs() < 1e-9);
    }
    assert!((total / 1000.0 - 0.9).abs() < 0.01, "{total}");
}

#[test]
fn draws_cover_all_groups_and_then_rows_far_away() {
    let rows = groups();
    let mut retired = Retired::new(rows.len());
    let mut coverage = Coverage::new(&rows, 1, &StartRows::default());
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..3 {
        let drawn = coverage.draw(phase(DrawGoal::Typical), &retired, 0.7).unwrap();
        coverage.cover(&rows, drawn.row);
        retired.retire(drawn.row);
        seen.insert(drawn.row % 3);
    }
    assert_eq!(seen.len(), 3);
    assert_eq!(coverage.draw(phase(DrawGoal::Far), &retired, 0.7).unwrap().row, 60);
}

#[test]
fn the_order_of_covered_rows_does_not_matter() {
    let rows = groups();
    let retired = Retired::new(rows.len());
    let draws = [[5, 30, 41], [41, 5, 30]].map(|order| {
        let mut coverage = Coverage::new(&rows, 1, &StartRows::default());
        for row in order {
            coverage.cover(&rows, row);
        }
        [DrawGoal::Typical, DrawGoal::Far].map(|goal| coverage.draw(phase(goal), &retired, 0.6))
    });
    assert_eq!(draws[0], draws[1]);
}

#[test]
fn texts_of_one_topic_are_similar_without_a_common_word() {
    // Each text has two of the ten words of its topic.
    let mut texts = SparseRows::new(400);
    for text in 0..120_u32 {
        let first = 200 * (text % 2) + text / 2 % 10;
        let second = 200 * (text % 2) + (text / 2 % 10 + 1 + text / 20 % 8) % 10;
        let index = [first.min(second), first.max(second)];
        texts.push(Sparse { index: &index, value: &[0.7, 0.7] });
    }
    let rows = Rows::Sparse(texts);
    let mut retired = Retired::new(rows.len());
    let mut coverage = Coverage::new(&rows, 1, &StartRows::default());
    coverage.cover(&rows, 0);
    retired.retire(0);
    let drawn = coverage.draw(phase(DrawGoal::Typical), &retired, 0.8).unwrap();
    assert_eq!(drawn.row % 2, 1, "the other topic");
}

#[test]
fn equal_rows_and_a_single_row_are_drawn_uniformly() {
    for count in [1, 2, 700] {
        let rows = Rows::Dense(DenseRows::from_values(2, vec![0.0; 2 * count]).unwrap());
        let mut retired = Retired::new(count);
        let mut coverage = Coverage::new(&rows, 1, &StartRows::default());
        coverage.cover(&rows, 0);
        retired.retire(0);
        for goal in [DrawGoal::Typical, DrawGoal::Far] {
            let drawn = coverage.draw(phase(goal), &retired, 0.4);
            assert_eq!(drawn.is_none(), count == 1);
            if let Some(drawn) = drawn {
                assert!((drawn.total / drawn.uncertainty - (count - 1) as f64).abs() < 1e-9);
            }
        }
    }
}
