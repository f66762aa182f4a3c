//! Intervals of mean log losses, given the loss matrix.

use querist_engine::estimate::{DrawProbability, Estimate, Estimator, Invalid, Judgement, LossMatrix, Range};

use crate::world::{Chance, Drawing, TwoClassPool, learn};

const THETA: [f64; 3] = [-1.0, 2.0, 0.5];

/// Returns a run on a pool: the loss matrix, answers, draws.
fn run(labels: usize) -> (Vec<f64>, Vec<(usize, usize)>, Vec<DrawProbability>) {
    let pool = TwoClassPool::clouds(300, 0.3, 2.0, 1);
    let run = learn(&pool, Drawing { labels, chance: 0.1, sharpness: 2 }, 3);
    (pool.possible(&THETA), run.items.iter().map(|&i| (i, pool.truth[i])).collect(), run.draws)
}

fn mean(possible: &[f64], of: impl Fn(&[f64]) -> f64) -> f64 {
    let items = possible.chunks(2);
    let count = items.len() as f64;
    items.map(of).sum::<f64>() / count
}

/// The estimate is the leveled mean and lies in its interval, which stays within what labels could produce.
#[test]
fn the_estimate_is_the_leveled_mean() {
    for labels in [1, 2, 5, 40, 299] {
        let (possible, answers, draws) = run(labels);
        let losses: Vec<f64> = answers.iter().map(|&(item, class)| possible[2 * item + class]).collect();
        let estimator = Estimator::new(300);
        let plain = estimator.mean(&losses, &draws, Range::Unbounded).unwrap();
        let estimate = estimator.log_loss(&possible, &answers, &draws).unwrap();
        assert_eq!((estimate.value, estimate.effective_n, estimate.anytime), (plain.value, plain.effective_n, None));
        assert!(estimate.low <= estimate.value && estimate.value <= estimate.high, "{estimate:?}");
        let least = mean(&possible, |losses| losses[0].min(losses[1]));
        let most = mean(&possible, |losses| losses[0].max(losses[1]));
        assert!(estimate.low >= least.min(estimate.value) - 1e-12, "{estimate:?} {least}");
        assert!(estimate.high <= most.max(estimate.value) + 1e-12, "{estimate:?} {most}");
        let surer = estimator.with_confidence(0.99).log_loss(&possible, &answers, &draws).unwrap();
        assert!(surer.low <= estimate.low && estimate.high <= surer.high && surer.value == estimate.value);
    }
}

/// The order of classes does not matter, and losses may have other units.
#[test]
fn estimates_do_not_depend_on_the_order_of_classes_and_scale_with_losses() {
    let (possible, answers, draws) = run(60);
    let estimator = Estimator::new(300);
    let of = |possible: &[f64], answers: &[(usize, usize)]| estimator.log_loss(possible, answers, &draws).unwrap();
    let expected = of(&possible, &answers);
    let is_same = |found: Estimate, unit: f64| {
        let pairs = [(found.value, expected.value), (found.low, expected.low), (found.high, expected.high)];
        assert!(pairs.iter().all(|(a, b)| (a - unit * b).abs() < 1e-9 * unit), "{found:?} {expected:?}");
    };
    let swapped: Vec<f64> = possible.chunks(2).flat_map(|losses| [losses[1], losses[0]]).collect();
    is_same(of(&swapped, &answers.iter().map(|&(item, class)| (item, 1 - class)).collect::<Vec<_>>()), 1.0);
    let scaled: Vec<f64> = possible.iter().map(|loss| 1000.0 * loss).collect();
    is_same(of(&scaled, &answers), 1000.0);
}

/// For identical items, a mean loss is a share of mistakes; if none was seen, the upper end is Wilson's.
#[test]
fn identical_items_have_wilsons_interval() {
    let draws: Vec<DrawProbability> = (0..100).map(|m| DrawProbability::uniform(10_000 - m)).collect();
    let estimator = Estimator::new(10_000);
    for mistakes in [0, 1, 7] {
        let possible = [0.1, 5.1].repeat(10_000);
        let answers: Vec<(usize, usize)> = (0..100).map(|m| (m, usize::from(m < mistakes))).collect();
        let found = estimator.log_loss(&possible, &answers, &draws).unwrap();
        assert!((found.value - (0.1 + 0.05 * mistakes as f64)).abs() < 1e-12);
        // Drawn items are known, so 100 draws of 10,000 are worth 100/(1 − 0.01).
        let (p, n) = (mistakes as f64 / 100.0, 100.0 / 0.99);
        let wilson = |t: f64| {
            let half = t * (p * (1.0 - p) / n + t * t / (4.0 * n * n)).sqrt();
            (p + t * t / (2.0 * n) + half) / (1.0 + t * t / n)
        };
        let share = (found.high - 0.1) / 5.0;
        // Few mistakes have few degrees of freedom, but at least 2.
        assert!(wilson(1.96) - 1e-4 < share && share < wilson(4.35), "{mistakes}: {share} {}", wilson(1.96));
        assert!(mistakes > 0 || ((share - wilson(1.96)).abs() < 1e-4 && found.low == found.value), "{found:?}");
    }
}

/// A completely drawn pool leaves nothing to estimate.
#[test]
fn a_completely_drawn_pool_has_an_exact_loss() {
    let (possible, answers, draws) = run(300);
    let estimate = Estimator::new(300).log_loss(&possible, &answers, &draws).unwrap();
    assert!((estimate.high - estimate.low).abs() < 1e-9 && estimate.warning.is_none(), "{estimate:?}");
}

/// A constant matrix has a certain mean loss, whatever its rounding errors.
#[test]
fn a_constant_loss_matrix_has_no_tail() {
    for pool in [300, 1000, 3000] {
        for loss in [0.1, 0.7, 1.1, 2.3] {
            let draws: Vec<DrawProbability> = (0..100).map(|m| DrawProbability::uniform(pool - m)).collect();
            let answers: Vec<(usize, usize)> = (0..100).map(|m| (m, m % 2)).collect();
            let found = Estimator::new(pool).log_loss(&[loss].repeat(2 * pool), &answers, &draws).unwrap();
            assert!((found.low - loss).abs() < 1e-9 && (found.high - loss).abs() < 1e-9, "{pool} {found:?}");
            assert_eq!(found.warning, None);
        }
    }
}

/// Three classes, and a model that is overconfident by a third: over many different pools, intervals cover.
#[test]
fn intervals_cover_for_three_classes() {
    let (pool, labels, runs) = (600, 120, 1000);
    let (mut covered, mut error, mut square) = (0.0, 0.0, 0.0);
    for seed in 0..runs {
        let mut chance = Chance::new(seed, "three");
        let (mut possible, mut truth) = (Vec::new(), Vec::new());
        for _ in 0..pool {
            let scores = [(); 3].map(|()| 2.0 * chance.normal());
            let total = |b: f64| scores.iter().map(|s| (b * s).exp()).sum::<f64>();
            possible.extend(scores.iter().map(|s| total(1.0).ln() - s));
            let (mut at, mut class) = (chance.unit() * total(0.75), 0);
            while class < 2 && at >= (0.75 * scores[class]).exp() {
                at -= (0.75 * scores[class]).exp();
                class += 1;
            }
            truth.push(class);
        }
        // Draw by the least possible loss, that is by uncertainty.
        let preference = |item: usize| 0.1 + possible[3 * item..][..3].iter().copied().fold(f64::INFINITY, f64::min);
        let mut left: Vec<usize> = (0..pool).collect();
        let (mut answers, mut draws) = (Vec::new(), Vec::new());
        for _ in 0..labels {
            let total: f64 = left.iter().map(|&item| preference(item)).sum();
            let (mut at, mut index) = (chance.unit() * total, 0);
            while index + 1 < left.len() && at >= preference(left[index]) {
                at -= preference(left[index]);
                index += 1;
            }
            let item = left.swap_remove(index);
            draws.push(DrawProbability::exact(preference(item) / total, 0.1 / total));
            answers.push((item, truth[item]));
        }
        let mean = truth.iter().enumerate().map(|(item, class)| possible[3 * item + class]).sum::<f64>() / pool as f64;
        let estimate = Estimator::new(pool).log_loss(&possible, &answers, &draws).unwrap();
        covered += f64::from(estimate.low <= mean && mean <= estimate.high);
        error += estimate.value - mean;
        square += (estimate.value - mean).powi(2);
    }
    let covered = covered / runs as f64;
    assert!(error.abs() < 3.5 * square.sqrt(), "{error} {}", square.sqrt());
    assert!((0.93..=0.99).contains(&covered), "{covered}");
}

#[test]
fn invalid_losses_and_answers_are_errors() {
    let draws: Vec<DrawProbability> = (0..2).map(|m| DrawProbability::uniform(3 - m)).collect();
    let losses = [0.1, 2.0, 0.2, 3.0, 0.3, 4.0];
    let of = |possible: &[f64], answers: &[(usize, usize)]| Estimator::new(3).log_loss(possible, answers, &draws);
    assert!(of(&losses, &[(0, 1), (2, 0)]).is_ok());
    assert_eq!(of(&losses, &[(0, 1)]), Err(Invalid::Lengths { values: 1, draws: 2 }));
    for answers in [[(0, 1), (3, 0)], [(0, 1), (1, 2)], [(1, 1), (1, 1)]] {
        assert_eq!(of(&losses, &answers), Err(Invalid::Answer { draw: 1 }));
    }
    let answers = [(0, 0), (1, 0)];
    for wrong in [&[][..], &losses[..5], &[0.1, f64::INFINITY, 0.2, 3.0, 0.3, 4.0], &[f64::NAN; 6], &[1e200; 6]] {
        assert_eq!(of(wrong, &answers), Err(Invalid::LossMatrix { losses: wrong.len(), pool: 3 }));
    }
}

/// All scores computed together equal those computed one by one.
#[test]
fn all_scores_equal_those_computed_one_by_one() {
    let (possible, answers, draws) = run(60);
    let estimator = Estimator::new(300);
    let probabilities: Vec<f64> = possible.iter().map(|loss| (-loss).exp()).collect();
    let possible: Vec<f64> = probabilities.iter().map(|p| -p.ln()).collect();
    let found = estimator.scores(&probabilities, &answers, &draws).unwrap();
    assert_eq!(found.log_loss, estimator.log_loss(&possible, &answers, &draws).unwrap());
    let judge = |&(item, truth): &(usize, usize)| Judgement {
        loss: possible[2 * item + truth],
        predicted: usize::from(probabilities[2 * item + 1] > probabilities[2 * item]),
        truth,
    };
    let judged: Vec<Judgement> = answers.iter().map(judge).collect();
    let drawn: Vec<f64> = answers.iter().flat_map(|(item, _)| &possible[2 * item..][..2]).copied().collect();
    let visit_all = |visit: &mut dyn FnMut(&[f64])| possible.chunks_exact(2).for_each(visit);
    let matrix = LossMatrix { drawn: &drawn, classes: 2, pool: &visit_all, is_sample: false };
    let tests = estimator.score_tests(&matrix, &judged, &draws).unwrap();
    assert_eq!(found.accuracy, estimator.accuracy(&judged, &draws, tests.as_ref()).unwrap());
    for (class, scores) in found.classes.iter().enumerate() {
        assert_eq!(*scores, estimator.class_scores(&judged, &draws, class, tests.as_ref()).unwrap());
    }
    let impossible = vec![0.0; 600];
    let rejected = estimator.scores(&impossible, &answers, &draws);
    assert_eq!(rejected, Err(Invalid::LossMatrix { losses: 600, pool: 300 }));
}
