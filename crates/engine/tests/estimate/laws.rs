//! Formulas, and expectations computed over every possible run of a small pool.

use querist_engine::coin::Coin;
use querist_engine::estimate::{
    DrawProbability, Estimate, Estimator, Invalid, Judgement, LossMatrix, Range, Warning, fold, leveled_weights,
};

use crate::world::{Drawing, TwoClassPool, learn};

/// Weights and means equal the formula of Farquhar, Gal and Rainforth, and the mean is the sum Σ c·a of readings.
#[test]
fn leveled_weights_agree_with_the_formula() {
    let pool = TwoClassPool::clouds(300, 0.3, 2.0, 1);
    for labels in [1, 2, 40, 299, 300] {
        let run = learn(&pool, Drawing { labels, chance: 0.1, sharpness: 2 }, 3);
        let losses: Vec<f64> = run.items.iter().map(|&i| pool.judge(&[0.2, 1.0, 0.3], i).loss).collect();
        let (n, count) = (300.0, labels as f64);
        let (mut plain, mut by_readings) = (0.0, 0.0);
        let estimator = Estimator::new(300);
        let readings = estimator.readings(&losses, &run.draws).unwrap();
        for m in 1..=labels {
            let (at, q) = (m as f64, run.draws[m - 1].probability);
            let v = if labels == 300 { 1.0 } else { 1.0 + (n - count) / (n - at) * (1.0 / ((n - at + 1.0) * q) - 1.0) };
            assert!((leveled_weights(300, &run.draws)[m - 1] - v).abs() <= 1e-12 * v.max(1.0));
            plain += v * losses[m - 1] / count;
            let share = n * (n - count) / (count * (n - at) * (n - at + 1.0));
            by_readings += if labels < 300 { share * readings[m - 1] } else { 0.0 };
        }
        let estimate = estimator.mean(&losses, &run.draws, Range::Unbounded).unwrap();
        assert!((estimate.value - plain).abs() <= 1e-12 * plain, "{} {plain}", estimate.value);
        assert!(labels == 300 || (by_readings - plain).abs() <= 1e-10 * plain, "{by_readings} {plain}");
    }
}

/// Visits every sequence of draws from a pool whose probabilities depend on all earlier draws.
fn every_run(pool: usize, labels: usize, visit: &mut impl FnMut(&[usize], &[DrawProbability], f64)) {
    fn walk(
        pool: usize,
        labels: usize,
        taken: &mut Vec<usize>,
        draws: &mut Vec<DrawProbability>,
        chance: f64,
        visit: &mut impl FnMut(&[usize], &[DrawProbability], f64),
    ) {
        if taken.len() == labels {
            visit(taken, draws, chance);
            return;
        }
        let history = taken.iter().fold(1, |history, item| history * 31 + *item as u64 + 1);
        let left: Vec<usize> = (0..pool).filter(|i| !taken.contains(i)).collect();
        let preference: Vec<f64> =
            left.iter().map(|&i| Coin::new(history, "taste").unit(i as u64).powi(3) + 0.02).collect();
        let total: f64 = preference.iter().sum();
        for (&item, preference) in left.iter().zip(&preference) {
            taken.push(item);
            draws.push(DrawProbability::exact(preference / total, 0.02 / total));
            walk(pool, labels, taken, draws, chance * preference / total, visit);
            taken.pop();
            draws.pop();
        }
    }
    walk(pool, labels, &mut Vec::new(), &mut Vec::new(), 1.0, visit);
}

/// Over all runs the mean error is 0, every weight has mean 1, every reading is unbiased, and the variance is the sum
/// of squared terms. The plain mean of drawn values is biased.
#[test]
fn expectations_are_exact() {
    let values = [0.3, 2.0, -1.0, 0.0, 5.0, 0.7];
    let truth = values.iter().sum::<f64>() / 6.0;
    for labels in 1..=6 {
        let (mut sure, mut mean, mut naive, mut variance, mut squares) = (0.0, 0.0, 0.0, 0.0, 0.0);
        let (mut weights, mut readings) = (vec![0.0; labels], vec![0.0; labels]);
        every_run(6, labels, &mut |items, draws, chance| {
            let drawn: Vec<f64> = items.iter().map(|&i| values[i]).collect();
            let estimator = Estimator::new(6);
            let estimate = estimator.mean(&drawn, draws, Range::Unbounded).unwrap();
            sure += chance;
            mean += chance * estimate.value;
            naive += chance * drawn.iter().sum::<f64>() / labels as f64;
            variance += chance * (estimate.value - truth).powi(2);
            for (m, reading) in estimator.readings(&drawn, draws).unwrap().into_iter().enumerate() {
                readings[m] += chance * reading;
                weights[m] += chance * leveled_weights(6, draws)[m];
                let left = 6.0 - m as f64;
                if labels < 6 {
                    let share = 6.0 * (6.0 - labels as f64) / (labels as f64 * (left - 1.0) * left);
                    squares += chance * (share * (reading - truth)).powi(2);
                }
            }
        });
        assert!((sure - 1.0).abs() < 1e-12 && (mean - truth).abs() < 1e-12, "{labels}: {mean} for {truth}");
        assert!(labels == 6 || (naive - truth).abs() > 0.05, "{labels}: {naive} for {truth}");
        assert!((variance - squares).abs() < 1e-11, "{labels}: {variance} {squares}");
        for m in 0..labels {
            assert!((weights[m] - 1.0).abs() < 1e-12 && (readings[m] - truth).abs() < 1e-12);
        }
    }
}

/// Over all runs of a small pool, the exact probability that the anytime-valid interval ever misses is at most 5 %.
/// This holds without a floor, with a true floor, and for every share of ones.
#[test]
fn the_anytime_valid_interval_covers_exactly() {
    for ones in 0..=7 {
        for floored in [true, false] {
            let mut missed = 0.0;
            every_run(7, 5, &mut |items, draws, chance| {
                let holds: Vec<bool> = items.iter().map(|&i| i < ones).collect();
                let draws: Vec<DrawProbability> = draws
                    .iter()
                    .map(|d| DrawProbability { floor: if floored { d.floor } else { 0.0 }, ..*d })
                    .collect();
                let (low, high) = Estimator::new(7).share(&holds, &draws).unwrap().anytime.unwrap();
                let truth = ones as f64 / 7.0;
                missed += chance * f64::from(truth < low - 1e-9 || truth > high + 1e-9);
            });
            assert!(missed <= 0.05, "{ones} {floored}: {missed}");
        }
    }
}

/// The same with a model's predictions as a control variate, be they right or wrong.
#[test]
fn the_anytime_valid_interval_with_predictions_covers_exactly() {
    for seed in 0..6 {
        let coin = Coin::new(seed, "predictions");
        let positive = |item: usize| 0.02 + 0.96 * coin.unit(2 * item as u64);
        let probabilities: Vec<f64> = (0..7).flat_map(|item| [1.0 - positive(item), positive(item)]).collect();
        let class = |item: usize| usize::from(coin.unit(2 * item as u64 + 1) < 0.1 * (2 * seed) as f64);
        let right = (0..7).filter(|&item| usize::from(0.5 < positive(item)) == class(item)).count();
        let (truth, mut missed) = (right as f64 / 7.0, 0.0);
        every_run(7, 4, &mut |items, draws, chance| {
            let answers: Vec<(usize, usize)> = items.iter().map(|&item| (item, class(item))).collect();
            let accuracy = Estimator::new(7).scores(&probabilities, &answers, draws).unwrap().accuracy;
            let (low, high) = accuracy.anytime.unwrap();
            assert!(low <= accuracy.low && accuracy.high <= high, "{accuracy:?}");
            missed += chance * f64::from(truth < low - 1e-9 || truth > high + 1e-9);
        });
        assert!(missed <= 0.05, "{seed}: {missed}");
    }
}

/// Probabilities from an independent estimate of ΣU, which is too large or too small by 40 %.
#[test]
fn intervals_cover_with_estimated_probabilities() {
    const NOISE: f64 = 0.4;
    let pool = TwoClassPool::clouds(1000, 0.5, 2.0, 1);
    let theta = [0.0, 1.0, 0.0];
    let truth = pool.accuracy(&theta);
    let (mut covered, mut always) = (0, 0);
    for seed in 0..500 {
        let run = learn(&pool, Drawing { labels: 200, chance: 0.2, sharpness: 1 }, seed);
        let coin = Coin::new(seed, "noise");
        let estimated = |(draw, exact): (usize, &DrawProbability)| {
            let factor = if coin.unit(draw as u64) < 0.5 { 1.0 + NOISE } else { 1.0 - NOISE };
            let (probability, floor) = (exact.probability / factor, exact.floor / factor);
            DrawProbability { probability, floor, noise: NOISE * NOISE }
        };
        let draws: Vec<DrawProbability> = run.draws.iter().enumerate().map(estimated).collect();
        let right: Vec<bool> = run.items.iter().map(|&item| !pool.is_wrong(&theta, item)).collect();
        let estimate = Estimator::new(1000).share(&right, &draws).unwrap();
        let (low, high) = estimate.anytime.unwrap();
        covered += usize::from(estimate.low <= truth && truth <= estimate.high);
        always += usize::from(low <= truth && truth <= high);
    }
    // Of 500 runs, three standard deviations below 95 %.
    assert!(460 <= covered && 475 <= always, "{covered} {always}");
}

/// A share and that of the opposite add up to 1, with mirrored intervals.
#[test]
fn a_share_and_its_complement_agree() {
    let pool = TwoClassPool::clouds(400, 0.5, 2.0, 2);
    let run = learn(&pool, Drawing { labels: 100, chance: 0.3, sharpness: 1 }, 1);
    let right: Vec<bool> = run.wrong.iter().map(|wrong| !wrong).collect();
    let of = |holds: &[bool]| Estimator::new(400).share(holds, &run.draws).unwrap();
    let (some, other) = (of(&right), of(&run.wrong));
    for (x, y) in [(some.value, other.value), (some.low, other.high), (some.high, other.low)] {
        assert!((x + y - 1.0).abs() < 1e-12, "{some:?} {other:?}");
    }
    assert!(of(&[true; 100]).value == 1.0);
}

/// A completely drawn pool leaves nothing to estimate.
#[test]
fn a_completely_drawn_pool_has_exact_scores() {
    let pool = TwoClassPool::clouds(120, 0.4, 2.0, 9);
    let run = learn(&pool, Drawing { labels: 120, chance: 0.2, sharpness: 1 }, 1);
    let theta = [0.1, 0.7, 0.5];
    let judged: Vec<Judgement> = run.items.iter().map(|&i| pool.judge(&theta, i)).collect();
    let estimator = Estimator::new(120);
    let accuracy = estimator.accuracy(&judged, &run.draws, None).unwrap();
    let scores = estimator.class_scores(&judged, &run.draws, 1, None).unwrap();
    let count = |f: &dyn Fn(&Judgement) -> bool| judged.iter().filter(|j| f(j)).count() as f64;
    let found = count(&|j| j.predicted == 1 && j.truth == 1);
    let (predicted, actual) = (count(&|j| j.predicted == 1), count(&|j| j.truth == 1));
    let expected = [pool.accuracy(&theta), found / predicted, found / actual, 2.0 * found / (predicted + actual)];
    let possible = pool.possible(&theta);
    let drawn: Vec<f64> = run.items.iter().flat_map(|item| &possible[2 * item..][..2]).copied().collect();
    let visit_all = |visit: &mut dyn FnMut(&[f64])| possible.chunks_exact(2).for_each(visit);
    let matrix = LossMatrix { drawn: &drawn, classes: 2, pool: &visit_all, is_sample: false };
    let tests = estimator.score_tests(&matrix, &judged, &run.draws).unwrap();
    let tested = estimator.accuracy(&judged, &run.draws, tests.as_ref()).unwrap();
    let all = [Some(accuracy), scores.precision, scores.recall, scores.f1, Some(tested)];
    for (estimate, truth) in all.into_iter().zip(expected.into_iter().chain([expected[0]])) {
        let estimate = estimate.unwrap();
        let (low, high) = estimate.anytime.unwrap();
        for value in [estimate.value, estimate.low, estimate.high] {
            assert!((value - truth).abs() < 1e-9, "{estimate:?} {truth}");
        }
        assert!(low <= truth + 1e-9 && truth <= high + 1e-9 && high - low < 0.02, "{estimate:?} {truth}");
        assert_eq!(estimate.warning, None);
    }
}

/// Returns the accuracy estimated with score tests, for two classes and a pool of 2,000 items, a share of which the
/// model is unsure of.
fn tested_accuracy(
    judged: &[Judgement],
    draws: &[DrawProbability],
    is_doubtful: &dyn Fn(usize) -> bool,
    share: f64,
) -> Estimate {
    let losses = |is_doubtful: bool| if is_doubtful { [0.5, 0.9] } else { [0.001, 6.9] };
    let drawn: Vec<f64> = (0..draws.len()).flat_map(|m| losses(is_doubtful(m))).collect();
    let visit_all =
        |visit: &mut dyn FnMut(&[f64])| (0..2000).for_each(|i| visit(&losses(f64::from(i) < share * 2000.0)));
    let estimator = Estimator::new(2000);
    let matrix = LossMatrix { drawn: &drawn, classes: 2, pool: &visit_all, is_sample: false };
    let tests = estimator.score_tests(&matrix, judged, draws).unwrap();
    estimator.accuracy(judged, draws, tests.as_ref()).unwrap()
}

/// For identical items the interval is Wilson's at n/(1 − n/N) draws, however unsure the model is, up to the
/// interpolation of its end.
#[test]
fn score_tests_of_identical_items_yield_wilsons_interval() {
    let draws: Vec<DrawProbability> = (0..80).map(|m| DrawProbability::uniform(2000 - m)).collect();
    let judged = vec![Judgement { loss: 0.0, predicted: 0, truth: 0 }; 80];
    let wilson = 1.0 - 3.8415 / (80.0 / 0.96 + 3.8415);
    for share in [0.0, 1.0] {
        let estimate = tested_accuracy(&judged, &draws, &|_| share == 1.0, share);
        assert!(estimate.value == 1.0 && estimate.high == 1.0, "{estimate:?}");
        assert!((estimate.low - wilson).abs() < 2e-3, "{estimate:?}, {wilson}");
    }
}

/// Half of the draws weigh sixteen times as much as the others, and none is wrong. If the model is unsure of the heavy
/// ones, unseen errors would weigh more, so the interval is longer; the estimate is the same.
#[test]
fn unsure_heavy_draws_widen_the_interval() {
    const HEAVY_SHARE: f64 = 16.0 / 17.0;
    let heavy = |m: usize| m < 40;
    let draw = |m: usize| {
        let share = if heavy(m) { HEAVY_SHARE } else { 1.0 - HEAVY_SHARE };
        DrawProbability::exact(0.5 / share / (2000 - m) as f64, 0.2 / 2000.0)
    };
    let draws: Vec<DrawProbability> = (0..80).map(draw).collect();
    let judged = vec![Judgement { loss: 0.0, predicted: 0, truth: 0 }; 80];
    let doubtful = tested_accuracy(&judged, &draws, &|m| heavy(m), HEAVY_SHARE);
    let sure = tested_accuracy(&judged, &draws, &|m| !heavy(m), 1.0 - HEAVY_SHARE);
    assert_eq!((doubtful.value, doubtful.high, sure.value, sure.high), (1.0, 1.0, 1.0, 1.0));
    assert!(doubtful.low < sure.low - 0.04, "{doubtful:?} {sure:?}");
}

#[test]
fn score_tests_need_a_loss_for_each_class_of_each_draw() {
    let draws = [DrawProbability::uniform(10), DrawProbability::uniform(9)];
    let judged = [Judgement { loss: 0.0, predicted: 0, truth: 1 }; 2];
    let of = |drawn: &[f64], classes: usize| {
        let matrix = LossMatrix { drawn, classes, pool: &|visit| visit(&[0.1, 2.0]), is_sample: false };
        Estimator::new(10).score_tests(&matrix, &judged, &draws).err()
    };
    assert_eq!(of(&[0.1, 2.0, 0.2, 1.0], 2), None);
    assert_eq!(of(&[0.1, 2.0, 0.2], 2), Some(Invalid::LossMatrix { losses: 3, pool: 2 }));
    assert_eq!(of(&[0.1, 2.0], 1), Some(Invalid::Answer { draw: 0 }));
}

/// A model that hardly separates ten classes predicts little, but its accuracy still has an interval.
#[test]
fn a_model_that_hardly_separates_classes_has_an_interval() {
    let draws: Vec<DrawProbability> = (0..200).map(|m| DrawProbability::uniform(2000 - m)).collect();
    let judge = |m: usize| Judgement {
        loss: 2.3,
        predicted: m % 10,
        truth: if m.is_multiple_of(8) { m % 10 } else { (m + 1) % 10 },
    };
    let judged: Vec<Judgement> = (0..200).map(judge).collect();
    let losses = |item: usize| (0..10).map(move |class| if class == item % 10 { 2.302 } else { 2.303 });
    let drawn: Vec<f64> = (0..200).flat_map(losses).collect();
    let visit_all =
        |visit: &mut dyn FnMut(&[f64])| (0..2000).for_each(|item| visit(&losses(item).collect::<Vec<f64>>()));
    let estimator = Estimator::new(2000);
    let matrix = LossMatrix { drawn: &drawn, classes: 10, pool: &visit_all, is_sample: false };
    let tests = estimator.score_tests(&matrix, &judged, &draws).unwrap();
    let (tested, plain) = (
        estimator.accuracy(&judged, &draws, tests.as_ref()).unwrap(),
        estimator.accuracy(&judged, &draws, None).unwrap(),
    );
    // Items are nearly identical, so score tests add nothing to Wilson's interval but the term for undrawn items.
    assert!((tested.low - plain.low).abs() < 0.01 && (tested.high - plain.high).abs() < 0.01, "{tested:?} {plain:?}");
}

/// An event that was never seen gets an upper bound, but is not excluded.
#[test]
fn an_unseen_event_is_bounded_but_not_excluded() {
    let draws: Vec<DrawProbability> = (0..100).map(|m| DrawProbability::uniform(10_000 - m)).collect();
    let estimate = Estimator::new(10_000).share(&[false; 100], &draws).unwrap();
    // Wilson's upper end z²/(n + z²), with one percent less uncertainty for the one percent that was drawn.
    assert!(estimate.value == 0.0 && estimate.low == 0.0 && (estimate.high - 0.0366).abs() < 5e-4, "{estimate:?}");
    let (low, high) = estimate.anytime.unwrap();
    assert!(low == 0.0 && high > estimate.high && high < 0.1, "{estimate:?}");
    let none = vec![Judgement { loss: 0.0, predicted: 0, truth: 0 }; 100];
    let scores = Estimator::new(10_000).class_scores(&none, &draws, 1, None).unwrap();
    assert!(scores.precision.is_none() && scores.recall.is_none() && scores.f1.is_none());
}

/// Unbounded values have no anytime-valid interval; clipped ones do, and all numbers are then of the clipped values.
#[test]
fn a_range_clips_values() {
    let draws: Vec<DrawProbability> = (0..50).map(|m| DrawProbability::uniform(500 - m)).collect();
    let losses: Vec<f64> = (0..50).map(|m| f64::from(m) / 10.0).collect();
    let estimator = Estimator::new(500);
    assert_eq!(estimator.mean(&losses, &draws, Range::Unbounded).unwrap().anytime, None);
    let clipped: Vec<f64> = losses.iter().map(|x| x.min(2.0)).collect();
    let (by_range, preclipped) = (
        estimator.mean(&losses, &draws, Range::Within(0.0, 2.0)),
        estimator.mean(&clipped, &draws, Range::Within(0.0, 2.0)),
    );
    assert_eq!(by_range, preclipped);
    // Shifting and scaling the values does the same to every number.
    let transformed: Vec<f64> = clipped.iter().map(|x| 3.0 * x - 1.0).collect();
    let (a, b) = (preclipped.unwrap(), estimator.mean(&transformed, &draws, Range::Within(-1.0, 5.0)).unwrap());
    let (some, other) = (a.anytime.unwrap(), b.anytime.unwrap());
    for (x, y) in [(a.value, b.value), (a.low, b.low), (a.high, b.high), (some.0, other.0), (some.1, other.1)] {
        assert!((3.0 * x - 1.0 - y).abs() < 1e-9, "{a:?} {b:?}");
    }
}

/// A limit that depends on the drawn values was not fixed before the first draw, so no interval is valid at all times.
#[test]
fn a_mean_clipped_by_its_median_has_no_anytime_valid_interval() {
    let draws: Vec<DrawProbability> = (0..50).map(|m| DrawProbability::uniform(500 - m)).collect();
    let losses: Vec<f64> = (0..50).map(|m| f64::from(m * m) / 10.0).collect();
    let clipped = Estimator::new(500).clipped_mean(&losses, &draws).unwrap().unwrap();
    assert_eq!(clipped.mean.anytime, None);
    let fixed = Estimator::new(500).mean(&losses, &draws, Range::Within(0.0, clipped.limit)).unwrap();
    assert_eq!((clipped.mean.low, clipped.mean.value, clipped.mean.high), (fixed.low, fixed.value, fixed.high));
}

/// More confidence widens both intervals.
#[test]
fn more_confidence_widens_intervals() {
    let pool = TwoClassPool::clouds(400, 0.5, 2.0, 2);
    let run = learn(&pool, Drawing { labels: 100, chance: 0.3, sharpness: 1 }, 1);
    let of = |confidence| Estimator::new(400).with_confidence(confidence).share(&run.wrong, &run.draws).unwrap();
    let (some, more) = (of(0.8), of(0.99));
    assert!(more.low < some.low && more.high > some.high);
    let (some, more) = (some.anytime.unwrap(), more.anytime.unwrap());
    assert!(more.0 < some.0 && more.1 > some.1);
}

#[test]
fn unreliable_estimates_warn_and_invalid_draws_are_errors() {
    let draws: Vec<DrawProbability> = (0..60).map(|m| DrawProbability::uniform(600 - m)).collect();
    let estimator = Estimator::new(600);
    let few = estimator.share(&[true; 10], &draws[..10]).unwrap();
    assert_eq!(few.warning, Some(Warning::FewDraws { draws: 10 }));
    let mut uneven = draws.clone();
    uneven[3] = DrawProbability::exact(1e-5, 1e-6);
    let estimate = estimator.share(&[true; 60], &uneven).unwrap();
    assert!(matches!(estimate.warning, Some(Warning::UnevenWeights { draws: 60, .. })), "{estimate:?}");
    let judged: Vec<Judgement> =
        (0..60).map(|m| Judgement { loss: 0.0, predicted: usize::from(m < 4), truth: usize::from(m < 3) }).collect();
    let scores = estimator.class_scores(&judged, &draws, 1, None).unwrap();
    assert_eq!(scores.recall.unwrap().warning, Some(Warning::FewCases { cases: 3 }));
    assert_eq!(estimator.accuracy(&judged, &draws, None).unwrap().warning, None);

    let mean = |values: &[f64], draws: &[DrawProbability], range| estimator.mean(values, draws, range).unwrap_err();
    assert_eq!(mean(&[], &[], Range::Unbounded), Invalid::NoDraws);
    assert_eq!(mean(&[1.0], &draws, Range::Unbounded), Invalid::Lengths { values: 1, draws: 60 });
    assert_eq!(mean(&[f64::NAN; 60], &draws, Range::Unbounded), Invalid::Value { draw: 0 });
    assert_eq!(mean(&[1.0; 60], &draws, Range::Within(1.0, 1.0)), Invalid::Range);
    for (probability, floor) in [(0.0, 0.0), (1.5, 0.0), (f64::NAN, 0.0), (0.1, 0.2), (0.1, -1.0)] {
        let wrong = mean(&[1.0], &[DrawProbability::exact(probability, floor)], Range::Unbounded);
        assert!(matches!(wrong, Invalid::Probability { draw: 0, .. }), "{probability} {floor}");
    }
    let rejected = Estimator::new(59).share(&[true; 60], &draws).unwrap_err();
    assert_eq!(rejected, Invalid::TooMany { draws: 60, pool: 59 });
}

/// Folds are a function of (seed, id), of equal size up to noise, and independent for different seeds.
#[test]
fn folds_are_even_and_independent_between_seeds() {
    let mut counts = [[0_u32; 5]; 5];
    for id in 0..50_000 {
        counts[fold(1, id, 5)][fold(2, id, 5)] += 1;
    }
    // 2,000 expected in each cell; six standard deviations.
    let deviation = (50_000.0_f64 * 0.04 * 0.96).sqrt();
    assert!(counts.iter().flatten().all(|&c| (f64::from(c) - 2000.0).abs() < 6.0 * deviation), "{counts:?}");
}
