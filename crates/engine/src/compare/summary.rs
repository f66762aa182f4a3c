//! Learning curves, areas and intervals computed from runs.

use super::{Criterion, EntrantRun, TestScores};
use crate::coin::Coin;
use crate::stats::{deviation, mean, student_quantile};
use crate::stop::Better;

/// The learning curve of one entrant over all its runs.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Curve {
    /// The direction in which scores improve.
    pub better: Better,
    /// The points of the curve.
    pub stages: Vec<Stage>,
    /// The mean score over the labels of a run, for each seed: the area under its curve.
    pub areas: Vec<f64>,
}

/// The scores of all seeds at one number of labels.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Stage {
    /// The number of labels.
    pub labels: u64,
    /// The score of each seed, a value of the metric.
    pub scores: Vec<f64>,
    /// The mean loss over the seeds.
    pub loss: f64,
}

/// A number with its 95 % interval, whose ends are NaN for a single seed.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SeedInterval {
    /// The estimate.
    pub middle: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Stage {
    /// Returns the mean score.
    pub fn mean(&self) -> f64 {
        mean(&self.scores)
    }

    /// Returns the standard deviation of the score between seeds.
    pub fn deviation(&self) -> f64 {
        deviation(&self.scores)
    }

    /// Returns the mean score with its interval.
    pub fn band(&self) -> SeedInterval {
        interval(&self.scores, 0.05)
    }
}

/// Computes the learning curve of these runs in a metric, up to the number of labels that all of them reached.
pub fn summarize(runs: &[EntrantRun], criterion: &Criterion) -> Curve {
    fn at(run: &EntrantRun, labels: u64) -> Option<&TestScores> {
        run.points.iter().find(|point| point.0 == labels).map(|point| &point.1)
    }
    let first = runs.first().map(|run| run.points.as_slice()).unwrap_or_default();
    let stages: Vec<Stage> = first
        .iter()
        .filter_map(|(labels, ..)| {
            let points: Option<Vec<_>> = runs.iter().map(|run| at(run, *labels)).collect();
            let points = points?;
            let losses: Vec<f64> = points.iter().map(|scores| scores.loss).collect();
            let scores = points.iter().map(|scores| criterion.value(scores)).collect();
            Some(Stage { labels: *labels, scores, loss: mean(&losses) })
        })
        .collect();
    let areas = (0..runs.len()).map(|seed| area(&stages, seed)).collect();
    Curve { better: criterion.metric().better(), stages, areas }
}

/// Returns ∫ score over labels, divided by their range.
fn area(stages: &[Stage], seed: usize) -> f64 {
    let (Some(first), Some(last)) = (stages.first(), stages.last()) else { return f64::NAN };
    if first.labels == last.labels {
        return first.scores[seed];
    }
    let piece = |pair: &[Stage]| {
        (pair[1].labels - pair[0].labels) as f64 * f64::midpoint(pair[0].scores[seed], pair[1].scores[seed])
    };
    stages.windows(2).map(piece).sum::<f64>() / (last.labels - first.labels) as f64
}

impl Curve {
    /// Returns 1 if a higher score is better, and −1 if a lower one is.
    fn sign(&self) -> f64 {
        match self.better {
            Better::Higher => 1.0,
            Better::Lower => -1.0,
        }
    }

    /// Returns the score that counts as this share of the full score: for a loss, 1/share times it.
    pub fn goal(&self, full: f64, share: f64) -> f64 {
        match self.better {
            Better::Higher => share * full,
            Better::Lower => full / share,
        }
    }

    /// Returns the area for each seed, up to this number of labels.
    fn areas_to(&self, labels: u64) -> Vec<f64> {
        let stages = &self.stages[..self.stages.partition_point(|stage| stage.labels <= labels)];
        (0..self.areas.len()).map(|seed| area(stages, seed)).collect()
    }

    /// Returns the differences of the areas to those of another curve, for each seed, over the labels that both have.
    fn differences(&self, other: &Curve) -> Vec<f64> {
        let last = |curve: &Curve| curve.stages.last().map_or(0, |stage| stage.labels);
        let labels = last(self).min(last(other));
        self.areas_to(labels).iter().zip(other.areas_to(labels)).map(|(own, other)| own - other).collect()
    }

    /// Returns the gain over another curve for each seed: the difference of the areas, positive if this one is better.
    pub(super) fn gains(&self, other: &Curve) -> Vec<f64> {
        self.differences(other).iter().map(|difference| self.sign() * difference).collect()
    }

    /// Returns the mean curve over these seeds, which may repeat, made monotone, with losses negated.
    fn rising(&self, seeds: &[usize]) -> Vec<(f64, f64)> {
        let mean = |stage: &Stage| seeds.iter().map(|seed| stage.scores[*seed]).sum::<f64>() / seeds.len() as f64;
        let means: Vec<f64> = self.stages.iter().map(|stage| self.sign() * mean(stage)).collect();
        self.stages.iter().map(|stage| stage.labels as f64).zip(isotonic(&means)).collect()
    }

    /// Returns the indices of all seeds, once each.
    fn all_seeds(&self) -> Vec<usize> {
        (0..self.areas.len()).collect()
    }
}

/// Returns the number of labels at which the mean curve, made monotone, reaches this score. Returns `None` if it stays
/// below, and for scores of 0 or less, a fraction of which is not a meaningful goal.
pub fn labels_to(curve: &Curve, score: f64) -> Option<f64> {
    if !(0.0 < score) {
        return None;
    }
    reach(&curve.rising(&curve.all_seeds()), curve.sign() * score)
}

fn reach(curve: &[(f64, f64)], score: f64) -> Option<f64> {
    let index = curve.iter().position(|(_, mean)| score <= *mean)?;
    let (labels, mean) = curve[index];
    let Some((before, lower)) = index.checked_sub(1).map(|before| curve[before]) else { return Some(labels) };
    Some(before + (labels - before) * (score - lower) / (mean - lower))
}

/// Returns the mean difference of two areas, paired by seed, over the labels that both curves have.
pub fn against(curve: &Curve, other: &Curve) -> SeedInterval {
    interval(&curve.differences(other), 0.05)
}

/// Returns the fraction of labels that `curve` saves over `other` on the way to a fraction of the full score. A curve
/// that does not reach it counts as reaching it with its last label; returns `None` if neither does.
pub fn labels_saved(curve: &Curve, other: &Curve, full: &[f64], share: f64) -> Option<SeedInterval> {
    let goal = curve.goal(mean(full), share);
    labels_to(curve, goal).or(labels_to(other, goal))?;
    saving(curve, other, full, share, 0.05)
}

/// Returns the fraction of labels that `curve` saves over `other` on the way to a fraction of the full score, with a
/// bootstrap interval over seeds. A curve that does not reach it counts as reaching it with its last label; then the
/// true saving is more extreme.
pub(super) fn saving(curve: &Curve, other: &Curve, full: &[f64], share: f64, level: f64) -> Option<SeedInterval> {
    const RESAMPLES: u64 = 2000;
    let budget = curve.stages.last()?.labels as f64;
    let saved = |seeds: &[usize]| {
        let full = seeds.iter().map(|seed| full[*seed]).sum::<f64>() / seeds.len() as f64;
        let goal = curve.sign() * curve.goal(full, share);
        let need = |curve: &Curve| reach(&curve.rising(seeds), goal);
        1.0 - need(curve).unwrap_or(budget) / need(other).unwrap_or(budget)
    };
    let all_seeds = curve.all_seeds();
    let middle = saved(&all_seeds);
    let coin = Coin::new(0, "again");
    let n = all_seeds.len();
    let mut all: Vec<f64> = (0..RESAMPLES)
        .map(|time| {
            let seeds: Vec<usize> = (0..n as u64).map(|index| coin.below(time * n as u64 + index, n)).collect();
            saved(&seeds)
        })
        .collect();
    all.sort_by(f64::total_cmp);
    let at = |share: f64| all[((share * RESAMPLES as f64) as usize).min(all.len() - 1)];
    Some(SeedInterval { middle, low: at(0.5 * level), high: at(1.0 - 0.5 * level) })
}

/// Returns Student's interval of a mean, which misses it with probability `level`.
pub(super) fn interval(values: &[f64], level: f64) -> SeedInterval {
    let middle = mean(values);
    let half = if values.len() < 2 {
        f64::NAN
    } else {
        student_quantile(1.0 - 0.5 * level, values.len() as f64 - 1.0) * deviation(values)
            / (values.len() as f64).sqrt()
    };
    SeedInterval { middle, low: middle - half, high: middle + half }
}

/// Returns the nearest nondecreasing list (isotonic regression), by pooling adjacent violators.
fn isotonic(values: &[f64]) -> Vec<f64> {
    let mut pools: Vec<(f64, usize)> = vec![];
    for value in values {
        let mut pool = (*value, 1);
        while let Some((before, count)) = pools.pop_if(|last| pool.0 < last.0) {
            let together = count + pool.1;
            pool = ((before * count as f64 + pool.0 * pool.1 as f64) / together as f64, together);
        }
        pools.push(pool);
    }
    pools.into_iter().flat_map(|(value, count)| std::iter::repeat_n(value, count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn isotonic_returns_a_nondecreasing_list() {
        assert_eq!(isotonic(&[1.0, 3.0, 2.0, 2.0, 5.0]), [1.0, 7.0 / 3.0, 7.0 / 3.0, 7.0 / 3.0, 5.0]);
        assert_eq!(isotonic(&[3.0, 2.0, 1.0]), [2.0; 3]);
    }

    fn curve(better: Better, points: &[(u64, f64)]) -> Curve {
        let stages: Vec<Stage> =
            points.iter().map(|(labels, score)| Stage { labels: *labels, scores: vec![*score], loss: 0.0 }).collect();
        Curve { better, areas: vec![area(&stages, 0)], stages }
    }

    #[test]
    fn labels_to_interpolates_between_stages() {
        let curve = curve(Better::Higher, &[(10, 0.5), (20, 0.7), (40, 0.9)]);
        assert!((labels_to(&curve, 0.8).unwrap() - 30.0).abs() < 1e-9);
        assert_eq!(labels_to(&curve, 0.4), Some(10.0));
        assert_eq!(labels_to(&curve, 0.95), None);
        assert!((curve.areas[0] - (0.6 * 10.0 + 0.8 * 20.0) / 30.0).abs() < 1e-15);
    }

    #[test]
    fn a_loss_falls_to_its_goal() {
        let curve = curve(Better::Lower, &[(10, 0.9), (20, 0.7), (40, 0.5)]);
        assert_eq!(curve.goal(0.57, 0.95), 0.6);
        assert!((labels_to(&curve, 0.6).unwrap() - 30.0).abs() < 1e-9);
        assert_eq!(labels_to(&curve, 0.4), None);
    }

    #[test]
    fn gains_are_those_over_the_labels_that_both_curves_have() {
        let stopped = curve(Better::Lower, &[(10, 0.9), (20, 0.7)]);
        let random = curve(Better::Lower, &[(10, 0.9), (20, 0.8), (40, 0.1)]);
        assert!((stopped.gains(&random)[0] - 0.05).abs() < 1e-12);
        assert!((against(&stopped, &random).middle + 0.05).abs() < 1e-12);
    }
}
