//! The result of random sampling: of its share of the answers, and extrapolated to as many labels as there are.

use super::RefitPool;
use super::assess::Evidence;
use crate::estimate::{Estimate, Judgement, RandomTwin, Range};
use crate::stop::{EXPONENTS, PARAMETRIC};

/// The estimated result of random sampling.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct TwinScores {
    /// The number of answers that random sampling would have requested, too.
    pub(super) labels: usize,
    /// The score of a model of those answers; `None` if they are too few.
    pub(super) score: Option<Estimate>,
    /// The score with as many random labels as there are answers; `None` if its curve cannot be judged yet.
    pub(super) at_equal_labels: Option<Estimate>,
}

/// The least number of answers for a model.
const FEWEST: usize = 10;

impl Evidence<'_> {
    /// Estimates the result of random sampling.
    pub(super) fn twin(&self) -> TwinScores {
        let answers = &self.pool.answers;
        let ids: Vec<u64> = answers.draws.iter().map(|drawn| drawn.row as u64).collect();
        let twin = RandomTwin::of(self.pool.sampler.askable, self.pool.sampler.seed, &self.draws, &ids);
        let members = twin.members();
        if members.len() < FEWEST {
            return TwinScores { labels: members.len(), ..TwinScores::default() };
        }
        let judged = self.pool.judgements_of_members(members);
        // Its first members are those of a shorter random run.
        let half = &members[..members.len() / 2];
        let at_equal_labels = (FEWEST <= half.len())
            .then(|| self.extrapolated(&judged, &self.pool.judgements_of_members(half), (half.len(), members.len())))
            .flatten();
        TwinScores { labels: members.len(), score: self.score(&judged, None).ok(), at_equal_labels }
    }

    /// Extrapolates the score to the number of all answers, from random runs of two numbers of labels. On a curve
    /// a + b/mᶜ, the change from the second number on is a multiple of the change between the two. The interval covers
    /// curves of several c.
    fn extrapolated(&self, now: &[Judgement], before: &[Judgement], (fewer, more): (usize, usize)) -> Option<Estimate> {
        // Errors have smaller weights than correct decisions, so they are less noisy.
        let error = |judged: &Judgement| {
            if self.is_accuracy() { f64::from(judged.predicted != judged.truth) } else { judged.loss }
        };
        let all = self.draws.len();
        let of_exponent = |exponent: f64| {
            let at = |labels: usize| (labels as f64).powf(-exponent);
            let multiple = (at(all) - at(more)) / (at(more) - at(fewer));
            let values: Vec<f64> = now
                .iter()
                .zip(before)
                .map(|(now, before)| error(now) + multiple * (error(now) - error(before)))
                .collect();
            let range = if self.is_accuracy() { Range::Within(-multiple, 1.0 + multiple) } else { Range::Unbounded };
            self.estimator.mean(&values, &self.draws, range).ok()
        };
        let of_curves: Vec<Estimate> = EXPONENTS.into_iter().map(of_exponent).collect::<Option<_>>()?;
        let low = of_curves.iter().map(|estimate| estimate.low).fold(f64::INFINITY, f64::min);
        let high = of_curves.iter().map(|estimate| estimate.high).fold(f64::NEG_INFINITY, f64::max);
        let errors = Estimate { low, high, anytime: None, warning: None, ..of_exponent(PARAMETRIC)? };
        Some(self.score_of_errors(errors))
    }

    /// Returns the score of a mean error: accuracy within its bounds, or the loss.
    fn score_of_errors(&self, errors: Estimate) -> Estimate {
        if self.is_accuracy() {
            let right = |error: f64| (1.0 - error).clamp(0.0, 1.0);
            return Estimate { value: right(errors.value), low: right(errors.high), high: right(errors.low), ..errors };
        }
        let [value, low, high] = [errors.value, errors.low, errors.high].map(|loss| loss.max(0.0));
        Estimate { value, low, high, ..errors }
    }
}

impl RefitPool {
    /// Returns the judgments of all draws by cross-fitted models of some of them, and of the seed labels.
    pub(super) fn judgements_of_members(&self, members: &[usize]) -> Vec<Judgement> {
        let mut only = vec![1.0; self.answers.seed_labels];
        only.resize(self.answers.weights.len(), 0.0);
        for member in members {
            only[self.answers.seed_labels + member] = 1.0;
        }
        self.judgements(&self.cross_fit(&only))
    }
}
