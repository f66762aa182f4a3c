//! The share of draws that are spread evenly over the pool, for a wanted precision of estimates.
//!
//! Draws by uncertainty teach most and say little about the rest of the pool: intervals are as narrow as the number of
//! evenly spread draws allows. So the first draws follow the rule. Once a model has learned most, more draws are spread
//! evenly, until the interval is as narrow as wanted.

use crate::stats::normal_quantile;

/// The statistic whose interval is to be narrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrecisionGoal {
    /// Accuracy on the whole pool.
    Accuracy,
    /// F1 of a class on the whole pool.
    F1(usize),
}

/// A wanted precision of an estimate.
///
/// ```
/// use querist_engine::pool::{Precision, PrecisionGoal};
///
/// let precision = Precision { goal: PrecisionGoal::Accuracy, half_width: 0.05, labels: None };
/// let plan = precision.plan(0.9, 0.2, 10_000);
/// assert!((100..400).contains(&plan.labels) && plan.even < plan.labels);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Precision {
    /// The statistic.
    pub goal: PrecisionGoal,
    /// Half of the wanted width of its 95 % interval.
    pub half_width: f64,
    /// The number of labels within which it is to be reached; `None` for as many as it takes.
    pub labels: Option<u64>,
}

/// The expected cost of a precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrecisionPlan {
    /// The number of labels.
    pub labels: u64,
    /// The number of those that are spread evenly.
    pub even: u64,
}

/// The evidence about a share of the pool so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShareEvidence {
    /// The estimated share.
    pub(super) share: f64,
    /// The number of evenly spread draws with the same information.
    pub(super) even_draws: f64,
}

/// The number of labels that mainly teach, unless there are fewer than three times as many in all.
const TEACHING: u64 = 100;
/// The share of even draws after that, if the number of labels is not limited. A larger one would teach nothing.
const LATE_SHARE: f64 = 0.5;
/// The share of a class that plans for its F1 assume.
const CLASS_SHARE: f64 = 0.1;

impl Precision {
    /// Returns the expected cost, if the statistic will be `value`, for a rule with this floor and a pool of this many
    /// rows. For F1, the class is assumed to have a tenth of the pool.
    pub fn plan(&self, value: f64, floor: f64, pool: usize) -> PrecisionPlan {
        let (needed, teaching) = (self.even_draws_needed(value, pool), self.teaching_labels() as f64);
        let taught = information(floor) * teaching;
        let (labels, even) = if needed <= taught {
            let labels = needed / information(floor);
            (labels, floor * labels)
        } else {
            let late = self.late_share(needed - taught, teaching, floor);
            let more = (needed - taught) / information(late);
            (teaching + more, floor * teaching + late * more)
        };
        // Rounding must not add a label.
        let labels = ((labels - 1e-9).ceil() as u64).min(pool as u64);
        PrecisionPlan { labels, even: (even.ceil() as u64).min(labels) }
    }

    /// Returns the share of even draws after this many labels, if the information of `missing` even draws is missing.
    fn late_share(&self, missing: f64, answers: f64, floor: f64) -> f64 {
        let steady = LATE_SHARE.max(floor);
        match (self.goal, self.labels) {
            (PrecisionGoal::Accuracy, Some(labels)) => {
                let left = (labels as f64 - answers).max(1.0);
                share_of_information((missing / left).clamp(0.0, 1.0)).max(steady)
            }
            _ => steady,
        }
    }

    /// Returns whether the labels suffice if the statistic is `value`.
    pub fn is_possible(&self, value: f64, floor: f64, pool: usize) -> bool {
        self.labels.is_none_or(|labels| self.plan(value, floor, pool).labels <= labels)
    }

    /// Returns the share of even draws after this many answers.
    pub(super) fn even_share(&self, answers: u64, evidence: Option<ShareEvidence>, floor: f64, pool: usize) -> f64 {
        if answers < self.teaching_labels() {
            return floor;
        }
        let Some(evidence) = evidence else { return LATE_SHARE.max(floor) };
        let missing = self.even_draws_needed(evidence.share, pool) - evidence.even_draws;
        self.late_share(missing, answers as f64, floor)
    }

    fn teaching_labels(&self) -> u64 {
        self.labels.map_or(TEACHING, |labels| TEACHING.min(labels / 3))
    }

    /// Returns the number of evenly spread draws, without replacement, whose interval has the wanted width.
    fn even_draws_needed(&self, value: f64, pool: usize) -> f64 {
        let variance = match self.goal {
            PrecisionGoal::Accuracy => value * (1.0 - value),
            // To first order, for a class with this share of the pool and of the predictions.
            PrecisionGoal::F1(_) => value * (1.0 - value) * (2.0 - value) / (2.0 * CLASS_SHARE),
        };
        let needed = variance * (normal_quantile(0.975) / self.half_width).powi(2);
        needed / (1.0 + needed / pool as f64)
    }
}

/// The exponent in [`information`].
const EXPONENT: f64 = 0.85;

/// Returns the information of a draw about a share of the pool, relative to that of an even draw, if this share of draws
/// is even. Measured for the boundary rule on two sets: 0.14 for a share of 0.1, 0.24 for 0.2, 0.45 for 0.3, 0.65 for 0.5.
fn information(share: f64) -> f64 {
    share.powf(EXPONENT)
}

/// Returns the share of even draws with this information, the inverse of [`information`].
fn share_of_information(information: f64) -> f64 {
    information.powf(1.0 / EXPONENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accuracy(half_width: f64, labels: Option<u64>) -> Precision {
        Precision { goal: PrecisionGoal::Accuracy, half_width, labels }
    }

    #[test]
    fn a_plan_of_even_draws_alone_is_the_textbook_sample_size() {
        // 1.96²·0.9·0.1/0.03² = 384, and with a correction for a finite pool 278.
        for (pool, expected) in [(1_000_000_000, 385), (1000, 278)] {
            let precision = Precision { labels: Some(3), ..accuracy(0.03, None) };
            let plan = precision.plan(0.9, 1.0 - 1e-12, pool);
            assert!(plan.labels.abs_diff(expected) <= 1, "{plan:?}");
        }
    }

    #[test]
    fn narrower_intervals_and_less_accurate_models_cost_more() {
        let labels = |half_width, value| accuracy(half_width, None).plan(value, 0.2, 100_000).labels;
        assert!(labels(0.05, 0.9) < labels(0.04, 0.9) && labels(0.04, 0.9) < labels(0.03, 0.9));
        assert!(labels(0.03, 0.95) < labels(0.03, 0.9) && labels(0.03, 0.9) < labels(0.03, 0.8));
        let plan = accuracy(0.03, None).plan(0.9, 0.2, 100_000);
        assert!(plan.even < plan.labels, "{plan:?}");
    }

    #[test]
    fn a_plan_never_needs_more_labels_than_the_pool_has_rows() {
        for rows in [1, 20, 50, 99, 150, 500_u64] {
            for labels in [None, Some(10), Some(rows), Some(5000)] {
                for half_width in [0.001, 0.05, 0.1, 0.3] {
                    for floor in [0.01, 0.2, 0.9] {
                        let plan = accuracy(half_width, labels).plan(0.9, floor, rows as usize);
                        assert!(plan.labels <= rows && plan.even <= plan.labels, "{plan:?} of {rows}, {half_width}");
                    }
                }
            }
            assert!(accuracy(0.001, Some(rows)).is_possible(0.5, 0.2, rows as usize));
        }
    }

    #[test]
    fn a_precision_of_accuracy_is_possible_if_even_draws_after_the_teaching_ones_suffice() {
        for budget in (20..1000).step_by(20) {
            let precision = accuracy(0.04, Some(budget));
            let teaching = precision.teaching_labels().min(budget);
            let most = information(0.2) * teaching as f64 + (budget - teaching) as f64;
            let is_enough = precision.even_draws_needed(0.8, 100_000) <= most;
            assert_eq!(precision.is_possible(0.8, 0.2, 100_000), is_enough, "within {budget}");
        }
    }

    #[test]
    fn a_precision_of_f1_is_possible_if_half_of_the_late_draws_suffice() {
        // Their share stays one half, although more would be even if it rose.
        let f1 = |labels| Precision { goal: PrecisionGoal::F1(1), half_width: 0.1, labels };
        let needed = f1(None).plan(0.8, 0.2, 100_000).labels;
        assert!(f1(Some(needed)).is_possible(0.8, 0.2, 100_000));
        assert!(!f1(Some(needed - 1)).is_possible(0.8, 0.2, 100_000));
    }

    #[test]
    fn a_precision_beyond_the_labels_is_impossible() {
        assert!(accuracy(0.04, Some(500)).is_possible(0.8, 0.2, 100_000));
        assert!(!accuracy(0.04, Some(300)).is_possible(0.8, 0.2, 100_000));
        assert!(accuracy(0.001, None).is_possible(0.5, 0.2, 100_000));
    }

    #[test]
    fn even_draws_start_late_and_increase_with_what_is_missing() {
        let share = |answers, even_draws| {
            let evidence = Some(ShareEvidence { share: 0.1, even_draws });
            accuracy(0.04, Some(300)).even_share(answers, evidence, 0.2, 100_000)
        };
        assert_eq!((share(50, 10.0), share(150, 200.0)), (0.2, 0.5));
        assert!(share(150, 90.0) < share(150, 70.0) && share(150, 70.0) < share(150, 60.0) + 1e-12);
        assert_eq!(share(299, 0.0), 1.0);
    }
}
