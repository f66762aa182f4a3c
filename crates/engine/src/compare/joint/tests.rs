//! Simulations of the joint test: its level, its power, and the seeds that it asks for.

use super::super::summary::Stage;
use super::super::verdict::{ComparisonVerdict, Undecided, verdict};
use super::*;
use crate::coin::Coin;
use crate::stats::normal_quantile;
use crate::stop::Better;

/// The number of simulated comparisons.
const COMPARISONS: u64 = 4000;

/// Returns three standard deviations of the number of events among [`COMPARISONS`] that have this probability.
fn tolerance(probability: f64) -> f64 {
    3.0 * (COMPARISONS as f64 * probability * (1.0 - probability)).sqrt()
}

/// Returns curves of one point for entrants with these mean scores; the first is random. All share the noise of the
/// seed's split, which pairing removes. The standard deviation of a difference is 1.
fn curves(comparison: u64, means: &[f64], seeds: usize, better: Better) -> Vec<Curve> {
    let normal = |purpose: &str, at: u64| normal_quantile(Coin::new(comparison, purpose).unit(at).max(1e-12));
    let score = |entrant: usize, seed: usize| {
        let at = (entrant * seeds + seed) as u64;
        means[entrant] + 3.0 * normal("split", seed as u64) + 0.5_f64.sqrt() * normal("run", at)
    };
    let curve = |entrant: usize| {
        let areas: Vec<f64> = (0..seeds).map(|seed| score(entrant, seed)).collect();
        Curve { better, stages: vec![Stage { labels: 10, scores: areas.clone(), loss: entrant as f64 }], areas }
    };
    (0..means.len()).map(curve).collect()
}

/// Counts the simulated comparisons whose verdict satisfies a condition.
fn count(means: &[f64], seeds: usize, better: Better, is_counted: impl Fn(&ComparisonVerdict) -> bool) -> f64 {
    let full = vec![f64::NAN; seeds];
    let verdicts = (0..COMPARISONS).map(|comparison| verdict(&curves(comparison, means, seeds, better), 0, &full));
    verdicts.filter(is_counted).count() as f64
}

#[test]
fn without_a_difference_at_most_five_percent_are_decided() {
    let is_decided = |verdict: &ComparisonVerdict| !matches!(verdict, ComparisonVerdict::Undecided(_));
    for seeds in [2, 8, 20] {
        let decided = count(&[0.0; 5], seeds, Better::Higher, is_decided);
        let level = COMPARISONS as f64 * 0.05;
        assert!(decided <= level + tolerance(0.05), "{decided} of {COMPARISONS} with {seeds} seeds");
        // The test is not conservative to the point of never deciding. A better entrant is half of all false results.
        assert!(0.2 * level <= decided, "{decided} of {COMPARISONS} with {seeds} seeds");
    }
}

#[test]
fn at_most_five_percent_of_verdicts_name_an_entrant_that_is_not_better() {
    // One entrant is far worse, one better; two equal random.
    let means = [0.0, -3.0, 1.0, 0.0, 0.0];
    let is_false = |verdict: &ComparisonVerdict| match verdict {
        ComparisonVerdict::Better { entrant, .. } => *entrant != 2,
        ComparisonVerdict::Random { .. } => true,
        ComparisonVerdict::Undecided(_) => false,
    };
    let wrong = count(&means, 10, Better::Higher, is_false);
    assert!(wrong <= COMPARISONS as f64 * 0.05 + tolerance(0.05), "{wrong} of {COMPARISONS}");
}

#[test]
fn a_true_difference_is_found() {
    // At 16 seeds the first step has t = 4 against a critical value of 2.84, a power above 0.8.
    let limit = COMPARISONS as f64 * 0.8 - tolerance(0.8);
    let third = |verdict: &ComparisonVerdict| matches!(verdict, ComparisonVerdict::Better { entrant: 3, .. });
    let found = count(&[0.0, 0.0, 0.0, 1.0, -0.5], 16, Better::Higher, third);
    assert!(limit <= found, "{found} of {COMPARISONS}");
    // A lower log loss is better.
    let found = count(&[0.0, 0.0, 0.0, -1.0, 0.5], 16, Better::Lower, third);
    assert!(limit <= found, "{found} of {COMPARISONS}");
    let random = |verdict: &ComparisonVerdict| matches!(verdict, ComparisonVerdict::Random { .. });
    let found = count(&[0.0, -1.3, -1.4, -1.5, -3.0], 16, Better::Higher, random);
    assert!(limit <= found, "{found} of {COMPARISONS}");
}

/// Returns gains with exactly this mean and a standard deviation of 1.
fn gains(mean: f64, seeds: usize) -> Vec<f64> {
    let side = ((seeds - 1) as f64 / seeds as f64).sqrt();
    (0..seeds).map(|seed| mean + if seed % 2 == 0 { side } else { -side }).collect()
}

#[test]
fn the_seeds_asked_for_give_the_promised_power() {
    for (effect, others) in [(0.4, 1), (0.3, 4), (0.6, 3)] {
        let now: Vec<(usize, Vec<f64>)> =
            (0..others).map(|entrant| (entrant, gains(if entrant == 0 { effect } else { 0.0 }, 6))).collect();
        let test = JointTest::of_gains(&now);
        let seeds = 6 + test.more_seeds().unwrap() as usize;
        // The promise is about one entrant at the first step of Holm's procedure, which tests at 5 % over all entrants.
        let found = (0..COMPARISONS)
            .filter(|comparison| {
                let coin = Coin::new(*comparison, "gain");
                let gains: Vec<f64> =
                    (0..seeds as u64).map(|seed| effect + normal_quantile(coin.unit(seed).max(1e-12))).collect();
                p_value(&gains) <= JointTest::LEVEL / others as f64
            })
            .count() as f64;
        let expected = COMPARISONS as f64 * JointTest::POWER;
        // The approximation of the noncentral distribution is off by less than 2 %.
        let tolerance = tolerance(JointTest::POWER) + 0.02 * COMPARISONS as f64;
        assert!((found - expected).abs() <= tolerance, "{found} of {COMPARISONS} with {seeds} seeds for {effect}");
    }
}

#[test]
fn holm_adjusts_as_in_his_example() {
    let test = |p| EntrantTest { entrant: 0, gain: interval(&[], 0.05), p, adjusted_p: 1.0, effect: 0.0 };
    let mut tests: Vec<EntrantTest> = [0.01, 0.04, 0.03, 0.005].map(test).to_vec();
    adjust(&mut tests);
    let adjusted: Vec<f64> = tests.iter().map(|test| test.adjusted_p).collect();
    assert_eq!(adjusted, [0.03, 0.06, 0.06, 0.02]);
}

#[test]
fn equal_gains_are_tested_by_their_signs() {
    assert_eq!(p_value(&[0.25, 0.25]), 0.5);
    assert_eq!(p_value(&[0.1; 20]), 0.5_f64.powi(19));
    assert_eq!([p_value(&[0.0; 3]), p_value(&[0.3]), p_value(&[f64::NAN, 0.1])], [1.0; 3]);
}

#[test]
fn an_undecided_comparison_asks_for_seeds_or_excludes_gains() {
    let curves = |gains: &[&[f64]]| -> Vec<Curve> {
        let zeros = vec![0.0; gains[0].len()];
        let curve = |areas: &[f64]| Curve {
            better: Better::Higher,
            stages: vec![Stage { labels: 10, scores: areas.to_vec(), loss: areas[0] }],
            areas: areas.to_vec(),
        };
        std::iter::once(curve(&zeros)).chain(gains.iter().map(|gains| curve(gains))).collect()
    };
    let undecided = |gains: &[&[f64]]| match verdict(&curves(gains), 0, &[]) {
        ComparisonVerdict::Undecided(reason) => reason,
        other => panic!("{other:?}"),
    };
    // The entrant ahead counts, even if another is significantly worse.
    let found = undecided(&[&gains(0.5, 8), &gains(-2.0, 8)]);
    let Undecided::SeedsNeeded { leader: 1, more_seeds, .. } = found else { panic!("{found:?}") };
    // 2 + 0.84 standard errors of 0.5 deviations are 34 seeds in all.
    assert!((25..=29).contains(&more_seeds), "{more_seeds}");
    // If all are behind, the one that needs the most seeds counts.
    let found = undecided(&[&gains(-0.3, 8), &gains(-0.5, 8)]);
    let Undecided::SeedsNeeded { leader: 1, more_seeds, .. } = found else { panic!("{found:?}") };
    assert!((75..=85).contains(&more_seeds), "{more_seeds}");
    let found = undecided(&[&gains(0.001, 8)]);
    let Undecided::TooClose { largest_gain } = found else { panic!("{found:?}") };
    assert!((largest_gain - (0.001 + student_quantile(0.975, 7.0) / 8.0_f64.sqrt())).abs() < 1e-12);
    assert_eq!(undecided(&[&[0.5], &[0.25]]), Undecided::OneSeed { leader: 1, gain: 0.5 });
    assert_eq!(undecided(&[&[0.1, 0.0], &[0.1, 0.0]]), Undecided::SameLabels);
    assert_eq!(undecided(&[&[0.0, 0.0]]), Undecided::SameScores);
    assert_eq!(undecided(&[&[f64::NAN, 0.0]]), Undecided::NoScores);
    assert_eq!(verdict(&curves(&[&[0.0]])[..1], 0, &[]), ComparisonVerdict::Undecided(Undecided::OnlyRandom));
}
