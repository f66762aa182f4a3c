//! The random twin is a uniform sample of items, of ordered pairs and of features, and models fitted to it are like
//! those fitted to random items.

use querist_engine::coin::{Coin, shuffled};
use querist_engine::estimate::{DrawProbability, RandomTwin};

use crate::world::{Chance, Drawing, TwoClassPool, learn};

/// Draws from a small pool with preferences that depend on earlier draws.
fn small_run(pool: usize, labels: usize, share: f64, seed: u64) -> (Vec<usize>, Vec<DrawProbability>) {
    let mut chance = Chance::new(seed, "small");
    let mut left: Vec<usize> = (0..pool).collect();
    let (mut items, mut draws) = (Vec::new(), Vec::new());
    for _ in 0..labels {
        // Low numbers are preferred, more so after an even one.
        let eager = if items.last().is_some_and(|i| i % 2 == 0) { 0.3 } else { 0.8 };
        let preference: Vec<f64> = left.iter().map(|&i| f64::powf(eager, i as f64)).collect();
        let total: f64 = preference.iter().sum();
        let count = left.len() as f64;
        let q = |index: usize| share / count + (1.0 - share) * preference[index] / total;
        let mut at = chance.unit();
        let mut index = 0;
        while index + 1 < left.len() && at >= q(index) {
            at -= q(index);
            index += 1;
        }
        draws.push(DrawProbability::exact(q(index), share / count));
        items.push(left.remove(index));
    }
    (items, draws)
}

/// Returns Σ (seen − expected)²/expected, and its mean plus six standard deviations.
fn chi_square(seen: &[f64]) -> (f64, f64) {
    let expected = seen.iter().sum::<f64>() / seen.len() as f64;
    let freedom = seen.len() as f64 - 1.0;
    (seen.iter().map(|s| (s - expected).powi(2) / expected).sum(), freedom + 6.0 * (2.0 * freedom).sqrt())
}

/// First members, ordered pairs of first and second, and all members are uniform, although the draws are not. Thinning
/// by floor/q alone, without the items passed over, is not uniform.
#[test]
fn the_twin_is_uniform() {
    let (pool, labels, runs) = (8, 6, 60_000);
    let mut first = vec![0.0; pool];
    let mut pairs = vec![0.0; pool * pool];
    let mut members = vec![0.0; pool];
    let mut thinned = vec![0.0; pool];
    let mut by_size = vec![vec![0.0; pool]; labels + 1];
    for seed in 0..runs {
        let (items, draws) = small_run(pool, labels, 0.4, seed);
        // Seeds differ between runs; otherwise one coin would be tossed 60,000 times.
        let ids: Vec<u64> = items.iter().map(|&i| i as u64).collect();
        let twin = RandomTwin::of(pool, seed, &draws, &ids);
        let taken: Vec<usize> = twin.members().iter().map(|&m| items[m]).collect();
        for (&item, draw) in items.iter().zip(&draws) {
            thinned[item] += f64::from(Coin::new(seed, "thin").unit(item as u64) < draw.floor / draw.probability);
        }
        for &item in &taken {
            members[item] += 1.0;
            by_size[taken.len()][item] += 1.0;
        }
        if let Some(&one) = taken.first() {
            first[one] += 1.0;
        }
        if let [one, two, ..] = taken[..] {
            pairs[one * pool + two] += 1.0;
        }
    }
    let pairs: Vec<f64> = (0..pool * pool).filter(|k| k / pool != k % pool).map(|k| pairs[k]).collect();
    let wrong = chi_square(&thinned);
    assert!(wrong.0 > wrong.1, "{wrong:?}");
    // Members of one run exclude each other, which only makes their counts more even.
    for (name, seen) in [("first", &first), ("pairs", &pairs), ("members", &members)] {
        let (found, most) = chi_square(seen);
        assert!(found < most, "{name}: {found} > {most}: {seen:?}");
    }
    // The size carries no information about the members.
    for (size, seen) in by_size.iter().enumerate().filter(|(_, seen)| seen.iter().sum::<f64>() > 5000.0) {
        let (found, most) = chi_square(seen);
        assert!(found < most, "of {size}: {found} > {most}: {seen:?}");
    }
}

/// On a pool with features, the twin's mean of each is that of a uniform sample, with its variance; the mean of all
/// drawn items is not. A model fitted to the twin is as good as one fitted to equally many random items.
#[test]
fn the_twin_is_indistinguishable_from_a_random_sample() {
    let pool = TwoClassPool::clouds(1000, 0.3, 2.0, 6);
    let how = Drawing { labels: 150, chance: 0.3, sharpness: 2 };
    let certainty: Vec<f64> = pool.rows.iter().map(|row| (row[1] + row[2]).abs()).collect();
    let distance: Vec<f64> = pool.rows.iter().map(|row| (row[1] - 0.4).abs()).collect();
    let truth: Vec<f64> = pool.truth.iter().map(|&t| t as f64).collect();
    let n = pool.len() as f64;
    let runs = 500;
    let (mut sums, mut squares, mut drawn) = ([0.0; 3], [0.0; 3], [0.0; 3]);
    let (mut difference, mut difference_square) = (0.0, 0.0);
    for seed in 0..runs {
        let run = learn(&pool, how, seed);
        let ids: Vec<u64> = run.items.iter().map(|&i| i as u64).collect();
        let twin: Vec<usize> =
            RandomTwin::of(pool.len(), seed, &run.draws, &ids).members().iter().map(|&m| run.items[m]).collect();
        for (k, values) in [&certainty, &distance, &truth].into_iter().enumerate() {
            let mean = values.iter().sum::<f64>() / n;
            let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
            let score = |items: &[usize]| {
                let m = items.len() as f64;
                let off = items.iter().map(|&i| values[i]).sum::<f64>() / m - mean;
                off / (variance / m * (1.0 - m / n)).sqrt()
            };
            sums[k] += score(&twin);
            squares[k] += score(&twin).powi(2);
            drawn[k] += score(&run.items);
        }
        let random: Vec<usize> =
            shuffled(Coin::new(seed, "rival"), pool.len())[..twin.len()].iter().map(|&i| i as usize).collect();
        let gap = pool.accuracy(&pool.fit(&twin)) - pool.accuracy(&pool.fit(&random));
        difference += gap;
        difference_square += gap * gap;
    }
    let count = runs as f64;
    for k in 0..3 {
        assert!(sums[k].abs() < 3.5 * count.sqrt(), "{k}: {}", sums[k] / count.sqrt());
        // The mean of 500 squares of nearly normal numbers has standard deviation √(2/500).
        assert!((squares[k] / count - 1.0).abs() < 4.0 * (2.0 / count).sqrt(), "{k}: {}", squares[k] / count);
    }
    assert!(drawn.iter().any(|sum| sum.abs() > 3.0 * count), "{drawn:?}");
    assert!(difference.abs() < 3.5 * difference_square.sqrt(), "{difference} {}", difference_square.sqrt());
}

/// Uniform draws are their own twin; a floor of 0 leaves it empty; adding draws one by one is the same as all at once.
#[test]
fn uniform_draws_are_their_own_twin_and_a_floor_of_0_leaves_it_empty() {
    let draws: Vec<DrawProbability> = (0..40).map(|m| DrawProbability::uniform(100 - m)).collect();
    let ids: Vec<u64> = (0..40).map(|m| m * 7 % 100).collect();
    assert_eq!(RandomTwin::of(100, 3, &draws, &ids).members(), (0..40).collect::<Vec<_>>());
    let none: Vec<DrawProbability> = draws.iter().map(|d| DrawProbability { floor: 0.0, ..*d }).collect();
    assert!(RandomTwin::of(100, 3, &none, &ids).members().is_empty());
    let half: Vec<DrawProbability> = draws.iter().map(|d| DrawProbability { floor: 0.5 * d.floor, ..*d }).collect();
    let mut one_by_one = RandomTwin::new(100, 3);
    let mut reported = Vec::new();
    for (&draw, &id) in half.iter().zip(&ids) {
        reported.extend(one_by_one.draw(draw, id));
    }
    assert_eq!(reported, RandomTwin::of(100, 3, &half, &ids).members());
    assert!((10..=30).contains(&reported.len()), "{reported:?}");
}
