//! Predictions for a sample of the pool in place of every item.

use querist_engine::coin::Coin;
use querist_engine::estimate::{DrawProbability, Estimate, Estimator, Judgement, LossMatrix};

const POOL: usize = 1000;

/// Returns the loss of each class of an item: a third of the items are uncertain.
fn losses(item: usize) -> [f64; 2] {
    if item.is_multiple_of(3) { [0.4, 1.1] } else { [0.05, 3.0] }
}

/// Returns the accuracy by 200 uniform draws, with the predictions for these items of the pool.
fn accuracy(visited: &[usize], is_sample: bool) -> Estimate {
    let draws: Vec<DrawProbability> = (0..200).map(|m| DrawProbability::uniform(POOL - m)).collect();
    let truth = |item: usize| usize::from(item.is_multiple_of(12));
    let judged: Vec<Judgement> =
        (0..200).map(|m| Judgement { loss: losses(m)[truth(m)], predicted: 0, truth: truth(m) }).collect();
    let drawn: Vec<f64> = (0..200).flat_map(losses).collect();
    let visit_all = |visit: &mut dyn FnMut(&[f64])| visited.iter().for_each(|item| visit(&losses(*item)));
    let matrix = LossMatrix { drawn: &drawn, classes: 2, pool: &visit_all, is_sample };
    let estimator = Estimator::new(POOL);
    let tests = estimator.score_tests(&matrix, &judged, &draws).unwrap();
    estimator.accuracy(&judged, &draws, tests.as_ref()).unwrap()
}

/// As many items as the pool has may still be a sample with replacement, whose noise widens both intervals.
#[test]
fn a_sample_as_large_as_the_pool_is_noisy() {
    let all: Vec<usize> = (0..POOL).collect();
    let (exact, sampled) = (accuracy(&all, false), accuracy(&all, true));
    assert_eq!(exact.value, sampled.value);
    assert!(sampled.low < exact.low && exact.high < sampled.high, "{exact:?} {sampled:?}");
    let (exact, sampled) = (exact.anytime.unwrap(), sampled.anytime.unwrap());
    assert!(sampled.0 < exact.0 && exact.1 < sampled.1, "{exact:?} {sampled:?}");
}

/// Over many samples, the anytime-valid interval hardly ever lacks a point of the interval without sampling: its
/// confidence includes the noise of the sample.
#[test]
fn anytime_valid_intervals_include_the_noise_of_a_sample() {
    let all: Vec<usize> = (0..POOL).collect();
    let (low, high) = accuracy(&all, false).anytime.unwrap();
    let mut narrower = 0;
    for seed in 0..400 {
        let coin = Coin::new(seed, "sample");
        let sample: Vec<usize> = (0..300).map(|at| coin.below(at, POOL)).collect();
        let sampled = accuracy(&sample, true).anytime.unwrap();
        narrower += usize::from(low < sampled.0) + usize::from(sampled.1 < high);
    }
    // 0.25 % of 400 runs, of which both ends are checked.
    assert!(narrower <= 4, "{narrower}");
}
