//! Draws from a pool in one pass: their distribution, and bit-identical results for any parts, orders and merges.

use querist_engine::coin::{Coin, shuffled};
use querist_engine::rule::{self, Rule};
use querist_engine::scorer::{ColumnScores, LinearScorer};
use querist_engine::select::{Chosen, Id, NoSelection, NotAnUncertainty, RowIds, ScaleSample, Selection};
use querist_engine::task::Labels;
use querist_rows::{DenseRows, Rows};

fn select(seed: u64, k: usize, uncertainties: &[f64]) -> Result<Chosen, NoSelection> {
    let mut selection = Selection::new(seed, k);
    selection.offer(&RowIds::Counted(0), uncertainties, 0).unwrap();
    selection.finish()
}

fn ids(chosen: &Chosen) -> Vec<i64> {
    let number = |id: &Id| match id {
        Id::Number(number) => *number,
        Id::Text(text) => panic!("{text} is no number"),
    };
    chosen.drawn.iter().map(|drawn| number(&drawn.id)).collect()
}

fn pool(rows: usize) -> Vec<f64> {
    let coin = Coin::new(3, "pool");
    (0..rows as u64).map(|at| if at % 7 == 0 { 0.0 } else { coin.unit(at).powi(3) }).collect()
}

/// Any division, order of reading and tree of merges yields the same bytes and the same draws.
#[test]
fn parts_orders_and_merges_change_no_bit() {
    let uncertainties = pool(5000);
    for (case, k) in [0_usize, 1, 10, 300, 4000, 6000].into_iter().enumerate() {
        let mut whole = Selection::new(11, k);
        whole.offer(&RowIds::Counted(0), &uncertainties, 0).unwrap();
        for trial in 0..20 {
            let coin = Coin::new(trial, "parts");
            let parts = 1 + coin.below(0, 30);
            let mut made = vec![Selection::new(11, k); parts];
            for row in shuffled(coin, uncertainties.len()) {
                let part = coin.below(u64::from(row) + 1, parts);
                let offered = made[part].offer(
                    &RowIds::Numbers(&[i64::from(row)]),
                    &uncertainties[row as usize..][..1],
                    row.into(),
                );
                offered.unwrap();
            }
            // Merge in a random tree.
            for step in 0..parts - 1 {
                let other = made.swap_remove(coin.below(1_000_000 + step as u64, made.len()));
                let onto = coin.below(2_000_000 + step as u64, made.len());
                // Through bytes, as between machines.
                made[onto].merge(Selection::from_bytes(&other.to_bytes()).unwrap());
            }
            let merged = made.remove(0);
            assert_eq!(merged.to_bytes(), whole.to_bytes(), "case {case}, trial {trial}");
            assert_eq!(merged.finish(), whole.clone().finish());
        }
    }
}

/// Every ordered draw of 2 of 4 rows has its probability under successive sampling, within 6 standard deviations.
#[test]
fn draws_are_successive_and_proportional_to_u() {
    let uncertainties = [0.1, 0.5, 0.05, 0.0, 0.35];
    let total: f64 = uncertainties.iter().sum();
    let trials = 200_000;
    let mut counts = [[0_u32; 5]; 5];
    for seed in 0..trials {
        let chosen = select(seed, 2, &uncertainties).unwrap();
        let [first, second] = ids(&chosen)[..] else { panic!("two rows are drawn") };
        counts[first as usize][second as usize] += 1;
        let of_first = uncertainties[first as usize] / total;
        let of_second = uncertainties[second as usize] / (total - uncertainties[first as usize]);
        assert!((chosen.drawn[0].probability / of_first - 1.0).abs() < 1e-12);
        assert!((chosen.drawn[1].probability / of_second - 1.0).abs() < 1e-12);
    }
    for (i, u) in uncertainties.iter().enumerate() {
        for (j, v) in uncertainties.iter().enumerate() {
            let p = if i == j { 0.0 } else { u / total * v / (total - u) };
            let n = trials as f64;
            let deviation = (n * p * (1.0 - p)).sqrt();
            assert!(
                (f64::from(counts[i][j]) - n * p).abs() <= 6.0 * deviation,
                "{i}, {j}: {} of {n}, {p}",
                counts[i][j]
            );
        }
    }
}

/// The mean of Σ y/inclusion is Σ y, whatever y is, including the number of rows.
#[test]
fn totals_estimated_by_inclusion_are_unbiased() {
    let uncertainties: Vec<f64> = pool(60).iter().map(|u| u + 0.02).collect();
    let coin = Coin::new(5, "values");
    let values: Vec<f64> = (0..60).map(|at| coin.unit(at) - 0.3).collect();
    for (what, value) in [("values", &values), ("count", &vec![1.0; 60]), ("U", &uncertainties)] {
        let (mut sum, mut squares, trials) = (0.0, 0.0, 40_000);
        for seed in 0..trials {
            let chosen = select(seed, 8, &uncertainties).unwrap();
            let estimate: f64 =
                ids(&chosen).iter().zip(&chosen.drawn).map(|(id, drawn)| value[*id as usize] / drawn.inclusion).sum();
            sum += estimate;
            squares += estimate * estimate;
        }
        let n = trials as f64;
        let (mean, truth) = (sum / n, value.iter().sum::<f64>());
        let error = ((squares / n - mean * mean) / n).sqrt();
        assert!((mean - truth).abs() < 6.0 * error, "{what}: {mean} instead of {truth}, standard error {error}");
    }
}

#[test]
fn a_selection_larger_than_the_pool_draws_every_row_with_positive_u() {
    let uncertainties = pool(100);
    let chosen = select(1, 1000, &uncertainties).unwrap();
    let positive = uncertainties.iter().filter(|u| 0.0 < **u).count();
    assert_eq!((chosen.drawn.len(), chosen.threshold, chosen.rows), (positive, None, 100));
    assert!(chosen.drawn.iter().all(|drawn| drawn.inclusion == 1.0 && 0.0 < drawn.uncertainty));
    // The last row is all that is left: exactly 1, because the sums are exact.
    assert_eq!(chosen.drawn.last().unwrap().probability, 1.0);
    let none = select(1, 0, &uncertainties).unwrap();
    assert_eq!((none.drawn.len(), none.sum), (0, chosen.sum));
    assert_eq!(none.threshold, Some(chosen.drawn[0].key));
    assert_eq!(select(1, usize::MAX, &uncertainties).unwrap(), chosen);
}

#[test]
fn invalid_pools_and_bytes_are_errors() {
    assert_eq!(select(1, 3, &[]), Err(NoSelection::Empty));
    assert_eq!(select(1, 3, &[0.0; 5]), Err(NoSelection::AllZero { rows: 5 }));
    let mut selection = Selection::new(1, 3);
    for odd in [f64::NAN, -0.1, f64::INFINITY, 1e101] {
        assert_eq!(selection.offer(&RowIds::Counted(1), &[0.5, odd], 0), Err(NotAnUncertainty(1)));
    }
    let mut selection = Selection::new(1, 3);
    selection.offer(&RowIds::Texts(vec!["a", "7", "b"]), &[0.5; 3], 10).unwrap();
    selection.offer(&RowIds::Numbers(&[7]), &[0.9], 20).unwrap();
    let twice = NoSelection::Twice { id: Id::Number(7), positions: [11, 20] };
    assert_eq!(selection.finish(), Err(twice));
    assert!(Selection::from_bytes(b"qselect1").is_err() && Selection::from_bytes(b"").is_err());
    let bytes = Selection::new(1, 3).to_bytes();
    assert!(Selection::from_bytes(&[&bytes[..], &[0]].concat()).is_err());
}

/// For any U, rows are drawn once, with positive probabilities.
#[test]
fn draws_of_any_weights_are_distinct_with_valid_probabilities() {
    const KINDS: [f64; 9] = [0.0, 5e-324, 1e-310, 2e-290, 1e-200, 1e-17, 0.3, 1.0, 1e99];
    for seed in 0..300 {
        let coin = Coin::new(seed, "hostile");
        let kinds = 1 + coin.below(0, KINDS.len());
        let uncertainties: Vec<f64> =
            (1..=60).map(|row| KINDS[coin.below(row, kinds)] * (0.5 + 0.5 * coin.unit(1_000_000 + row))).collect();
        let possible = uncertainties.iter().filter(|u| 1e-290 <= **u).count();
        let k = coin.below(1, 60) + 1;
        let chosen = match select(seed, k, &uncertainties) {
            Err(NoSelection::AllZero { rows: 60 }) if possible == 0 => continue,
            chosen => chosen.unwrap(),
        };
        assert_eq!(chosen.drawn.len(), k.min(possible));
        assert_eq!(chosen.threshold.is_some(), k < possible, "{seed}");
        let mut rows = ids(&chosen);
        rows.sort_unstable();
        rows.dedup();
        assert_eq!(rows.len(), chosen.drawn.len());
        for drawn in &chosen.drawn {
            for probability in [drawn.probability, drawn.inclusion] {
                assert!(0.0 < probability && probability <= 1.0, "{seed}: {drawn:?}");
            }
            assert!(0.0 < drawn.key && drawn.key.is_finite(), "{seed}: {drawn:?}");
        }
    }
}

/// An id gets the same random number whatever the type of its column; other seeds give others.
#[test]
fn keys_depend_on_seed_and_id_only() {
    let uncertainties = pool(500);
    let texts: Vec<String> = (0..500).map(|row| row.to_string()).collect();
    let mut selection = Selection::new(1, 20);
    selection.offer(&RowIds::Texts(texts.iter().map(String::as_str).collect()), &uncertainties, 0).unwrap();
    let chosen = select(1, 20, &uncertainties).unwrap();
    assert_eq!(selection.finish().unwrap(), chosen);
    assert_ne!(ids(&select(2, 20, &uncertainties).unwrap()), ids(&chosen));
    assert!((chosen.sum / uncertainties.iter().sum::<f64>() - 1.0).abs() < 1e-13);
    // Fewer draws are a prefix of more.
    assert_eq!(ids(&select(1, 5, &uncertainties).unwrap()), ids(&chosen)[..5]);
}

/// Columns, blocks of dense rows and single rows yield the same scores, bit for bit.
#[test]
fn columns_and_rows_have_the_same_scores() {
    let coin = Coin::new(9, "scores");
    for (dim, outputs) in [(1, 1), (2, 1), (5, 1), (8, 1), (50, 1), (3, 4), (17, 3)] {
        let unit = |at: u64| coin.unit(at) - 0.5;
        let parameters: Vec<f64> = (0..((dim + 1) * outputs) as u64).map(unit).collect();
        let scale = |j: usize| (unit(900 + j as u64), 1.0 + coin.unit(j as u64));
        let mut scorer = LinearScorer::new(outputs, &parameters);
        let raw: Vec<Vec<f32>> =
            (0..dim).map(|j| (0..333).map(|row| unit(10_000 * (j as u64 + 1) + row) as f32).collect()).collect();
        let mut values = vec![];
        for row in 0..333 {
            values.extend((0..dim).map(|j| ((f64::from(raw[j][row]) - scale(j).0) * scale(j).1) as f32));
        }
        let rows = Rows::Dense(DenseRows::from_values(dim, values).unwrap());
        let (mut columns, mut by_column, mut by_row) = (ColumnScores::default(), vec![], vec![]);
        columns.begin(&scorer, 333);
        for (j, column) in raw.iter().enumerate() {
            assert!(columns.add(&scorer, j, column, scale(j)));
        }
        columns.finish(&scorer, &mut by_column);
        scorer.scores_of_rows(&rows, &mut by_row);
        assert_eq!(by_column, by_row, "{dim} features, {outputs} outputs");
        let mut one = vec![0.0; outputs];
        for (row, scores) in by_row.chunks_exact(outputs).enumerate() {
            scorer.scores(rows.row(row), &mut one);
            assert_eq!(one, scores);
        }
        for odd in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut column = raw[0].clone();
            column[332] = odd;
            assert!(!columns.add(&scorer, 0, &column, (0.0, 1.0)));
        }
        assert!(columns.add(&scorer, 0, &[f32::MAX, f32::MIN, -0.0, 1e-44], (0.0, 1.0)));
    }
}

/// The scale of a pool does not depend on the order of its rows or on its division into parts.
#[test]
fn the_scale_does_not_depend_on_order_or_parts() {
    let coin = Coin::new(4, "scale of pool");
    let scores: Vec<f64> = (0..60_000).map(|at| 8.0 * (coin.unit(at) - 0.5)).collect();
    let relative = || match rule::parse("margin:share=0.05,floor=0.1", "logistic", Labels::Binary).unwrap() {
        Rule::Relative(rule) => rule,
        _ => panic!("the margin of a share is relative"),
    };
    let mut whole = ScaleSample::default();
    whole.offer(&RowIds::Counted(0), &scores, 1);
    let (mut first, mut second) = (ScaleSample::default(), ScaleSample::default());
    second.offer(&RowIds::Counted(0), &scores[..17_001], 1);
    first.offer(&RowIds::Counted(17_001), &scores[17_001..], 1);
    first.merge(ScaleSample::from_bytes(&second.to_bytes()).unwrap());
    let (mut a, mut b) = (relative(), relative());
    assert!(whole.settle(&mut a) && first.settle(&mut b));
    assert_eq!(a.scale(), b.scale());
    // |v| is uniform on [0, 4], so τ is near 0.05·4.
    assert!((a.scale().reach - 0.2).abs() < 0.02, "{:?}", a.scale());
    assert!(!ScaleSample::default().settle(&mut b) && ScaleSample::from_bytes(&[1]).is_none());
}
