//! Draws of rows from a pool in proportion to U, by a pass or by proposals.
//!
//! Rows proposed at random are accepted in proportion to U: the cost does not grow with the pool.

use super::cold_start::ColdStart;
use super::current_model::CurrentModel;
use super::diversity::Diversity;
use super::row_weights::settle_on;
use super::{Draw, Drawn, NoRow, Replacement, Retired, Scan};
use crate::coin::Coin;
use crate::features::Features;
use crate::learner::Learner;
use crate::rows::{Row, Rows};
use crate::rule::{Rule, Scale};
use crate::scorer::Scorer;
use crate::settings::IllegalSettings;
use crate::stream::Rules;

/// The number of proposals by which rows are prefetched, to cover the memory latency of a large pool.
const AHEAD: u64 = 8;

/// The offset of random numbers for proposals, numbered by proposal; passes use the number of their draw.
const PROPOSALS: u64 = 1 << 63;

/// The number of rows from which a mean over a pool is estimated: less than half a millisecond for 100 features.
const SAMPLED_ROWS: usize = 1024;

/// Returns the number of rows, drawn with replacement, from which a mean over `left` rows is estimated.
pub(super) fn rows_to_sample(left: usize) -> usize {
    left.min(SAMPLED_ROWS)
}

/// The model and the rules of a pool's learner, the rows that are left, and the state of the draws.
#[derive(Debug)]
pub struct PoolSampler {
    pub(super) learner: Learner,
    /// The model, if it is not linear. Otherwise it is the learner's.
    pub(super) nonlinear: Option<Scorer>,
    pub(super) rules: Rules,
    draw: Draw,
    replacement: Replacement,
    pub(super) retired: Retired,
    propose: Coin,
    accept: Coin,
    look: Coin,
    pub(super) seed: u64,
    /// The number of proposals, including those of retired rows: one sequence through all draws, so that the next ones
    /// are known.
    proposed: u64,
    pub(super) time: u64,
    pub(super) answered: u64,
    /// The number of proposals of rows that were left.
    pub(super) tries: u64,
    /// The number of draws that fell back to a scan.
    pub(super) fallbacks: u64,
    pub(super) scores: Vec<f64>,
    /// The number of rows that could be asked at the start.
    pub(super) askable: usize,
    diversity: Option<Diversity>,
    /// The cold start, while it lasts.
    pub(super) cold: Option<ColdStart>,
    /// The class with the fewest answers, the first of equals.
    pub(super) rarest: usize,
    /// `true` if the parameters have changed since the rule took its scale from the pool.
    moved: bool,
}

impl PoolSampler {
    /// Creates a sampler for a pool of this many rows. Returns an error if the rules do not fit the model.
    pub(super) fn new(
        learner: Learner,
        rules: Rules,
        rows: usize,
        (draw, replacement): (Draw, Replacement),
        seed: u64,
    ) -> Result<Self, IllegalSettings> {
        rules.check_outputs(learner.model.outputs)?;
        let scores = vec![0.0; learner.model.outputs];
        Ok(Self {
            learner,
            nonlinear: None,
            rules,
            draw,
            replacement,
            retired: Retired::new(rows),
            propose: Coin::new(seed, "propose"),
            accept: Coin::new(seed, "accept"),
            look: Coin::new(seed, "look"),
            seed,
            proposed: 0,
            time: 0,
            answered: 0,
            tries: 0,
            fallbacks: 0,
            scores,
            askable: rows,
            diversity: None,
            cold: None,
            rarest: 0,
            moved: true,
        })
    }

    pub(super) fn diversify(&mut self, within: f64) -> Result<(), IllegalSettings> {
        IllegalSettings::unless(0.0 < within && within < 1.0, "apart", within, "0 < apart < 1")?;
        self.diversity = Some(Diversity::new(within, self.learner.dim()));
        Ok(())
    }

    pub(super) fn is_cold(&self) -> bool {
        self.cold.is_some()
    }

    pub(super) fn rule(&self) -> &Rule {
        self.cold.as_ref().map_or_else(|| self.rules.now(), ColdStart::rule)
    }

    pub(super) fn retire(&mut self, row: usize) {
        self.retired.retire(row);
        self.askable = self.retired.left();
    }

    pub(super) fn uncertainty(&self, x: Row<'_>) -> f64 {
        self.rule().probability(&self.scores_at(x), x)
    }

    /// Returns U of these features by the rule that follows the cold start.
    pub(super) fn warm_uncertainty(&self, x: Row<'_>) -> f64 {
        self.rules.now().probability(&self.scores_at(x), x)
    }

    fn scores_at(&self, x: Row<'_>) -> Vec<f64> {
        let mut scores = vec![0.0; self.learner.model.outputs];
        self.model().scores(x, &mut scores);
        scores
    }

    /// Returns the current model.
    pub(super) fn model(&self) -> CurrentModel<'_> {
        CurrentModel { learner: &self.learner, nonlinear: self.nonlinear.as_ref() }
    }

    pub(super) fn draw_weight(&self, x: Row<'_>) -> f64 {
        self.uncertainty(x) * self.diversity.as_ref().map_or(1.0, |diversity| diversity.factor(x))
    }

    pub(super) fn least(&self) -> f64 {
        if let Some(cold) = self.cold.as_ref().filter(|_| self.is_by_coverage()) {
            return cold.least();
        }
        self.rule().least() * self.diversity.as_ref().map_or(1.0, Diversity::least_factor)
    }

    /// Finds the next row to label; [`Self::note`] then records it.
    pub(super) fn find(&mut self, rows: &Rows) -> Result<Drawn, NoRow> {
        let (expected, found) = ((self.retired.rows(), self.learner.dim()), (rows.len(), rows.dim()));
        if expected != found {
            return Err(NoRow::OtherRows { expected, found });
        }
        if self.retired.left() == 0 {
            return Err(NoRow::Exhausted);
        }
        if let Some(drawn) = self.find_by_coverage(rows) {
            return Ok(drawn);
        }
        self.take_scale(rows);
        if let Some(diversity) = self.diversity.as_mut().filter(|_| self.draw != Draw::Reject) {
            diversity.find_near(rows);
        }
        let mut drawn = match self.draw {
            Draw::Reject => match rows {
                Rows::Dense(dense) => self.reject(rows, dense.by_place()),
                Rows::Sparse(sparse) => self.reject(rows, sparse.by_place()),
            },
            Draw::Top if !self.is_cold() => self.scan(rows).top(),
            Draw::Scan | Draw::Top => self.scan(rows).draw(self.accept.unit(self.time)),
        }?;
        drawn.scale = match self.rule() {
            Rule::Relative(rule) => Some(rule.scale()),
            _ => None,
        };
        drawn.least = self.least();
        Ok(drawn)
    }

    /// Draws a row of a cold start by coverage; `None` if draws are uniform or the start is over.
    fn find_by_coverage(&mut self, rows: &Rows) -> Option<Drawn> {
        let drawn = self.cold.as_mut()?.draw(rows, &self.retired, self.seed, self.accept.unit(self.time))?;
        let rate = drawn.total / self.retired.left() as f64;
        Some(Drawn {
            row: drawn.row,
            uncertainty: drawn.uncertainty,
            probability: Some(drawn.uncertainty / drawn.total),
            tries: 0,
            inverse_rate: 1.0 / rate,
            fallback: false,
            rate: Some(rate),
            scale: Some(Scale { base: drawn.base, ..Scale::default() }),
            least: drawn.least(),
        })
    }

    /// Returns whether rows are drawn by coverage, so that U of a row depends on the pool.
    pub(super) fn is_by_coverage(&self) -> bool {
        self.cold.as_ref().is_some_and(ColdStart::is_by_coverage)
    }

    /// Lets a rule in units of the pool take its scale from a sample, if the parameters have changed.
    pub(super) fn take_scale(&mut self, rows: &Rows) {
        if self.is_cold() || !std::mem::take(&mut self.moved) || !matches!(self.rules.now(), Rule::Relative(_)) {
            return;
        }
        let outputs = self.learner.model.outputs;
        let model = CurrentModel { learner: &self.learner, nonlinear: self.nonlinear.as_ref() };
        let score = |sampled: &[usize], scores: &mut [f64]| {
            model.scores_of(rows, sampled, scores);
            Ok::<_, std::convert::Infallible>(())
        };
        let Ok(()) = settle_on(self.rules.now_mut(), &self.retired, outputs, self.rarest, score);
        if self.draw == Draw::Top {
            self.rules.now_mut().prepare_for_top();
        }
    }

    pub(super) fn set_scale(&mut self, scale: Scale) {
        if let Some(cold) = self.cold.as_mut() {
            return cold.set_base(scale.base);
        }
        self.moved = false;
        if let Rule::Relative(rule) = self.rules.now_mut() {
            rule.set_scale(scale);
        }
    }

    /// Records that the parameters have changed.
    pub(super) fn note_change(&mut self) {
        self.moved = true;
    }

    /// Ends a batch of draws: all rows regain their full weight.
    pub(super) fn end_batch(&mut self) {
        self.moved = true;
        if let Some(diversity) = &mut self.diversity {
            diversity.forget();
        }
    }

    /// Records a draw of an earlier run, with the proposals that it took.
    pub(super) fn replay(&mut self, drawn: &Drawn, x: Row<'_>) {
        self.skip_proposals(drawn.tries);
        self.note(drawn, x);
    }

    /// Records a draw.
    pub(super) fn note(&mut self, drawn: &Drawn, x: Row<'_>) {
        self.time += 1;
        self.tries += drawn.tries;
        self.fallbacks += u64::from(drawn.fallback);
        if let Some(diversity) = &mut self.diversity {
            diversity.add(x);
        }
        if let Some(cold) = &mut self.cold {
            cold.note(drawn.row);
        }
        if self.replacement == Replacement::Without {
            self.retired.retire(drawn.row);
        }
    }

    /// Records a row with a seed label.
    pub(super) fn note_label(&mut self, row: usize) {
        if let Some(cold) = &mut self.cold {
            cold.note(row);
        }
    }

    /// Returns a pass over the rows that are left.
    pub(super) fn scan<'a>(&'a self, rows: &'a Rows) -> Scan<'a> {
        Scan::new(rows, self.model(), self.rule(), &self.retired, self.diversity.as_ref())
    }

    /// Estimates the mean of U over the remaining rows from separate rows. They are independent of the draw, so that a
    /// weight proportional to the estimate keeps its mean.
    pub(super) fn sampled_rate(&self, rows: &Rows) -> f64 {
        let wanted = rows_to_sample(self.retired.left());
        let indices = (self.time << 32..).map(|at| self.look.below(at, rows.len()));
        let sampled: Vec<usize> = indices.filter(|row| !self.retired.contains(*row)).take(wanted).collect();
        let outputs = self.learner.model.outputs;
        let mut scores = vec![0.0; wanted * outputs];
        self.model().scores_of(rows, &sampled, &mut scores);
        let weight = |(row, scores): (&usize, &[f64])| {
            let x = rows.row(*row);
            self.rule().probability(scores, x) * self.diversity.as_ref().map_or(1.0, |diversity| diversity.factor(x))
        };
        sampled.iter().zip(scores.chunks_exact(outputs)).map(weight).sum::<f64>() / wanted as f64
    }

    /// Skips the proposals of a draw that took this number of tries.
    fn skip_proposals(&mut self, mut tries: u64) {
        let n = self.retired.rows();
        while 0 < tries {
            self.proposed += 1;
            tries -= u64::from(!self.retired.contains(self.propose.below(self.proposed, n)));
        }
    }

    /// Proposes rows until one is accepted; scans after as many tries as a scan would cost.
    fn reject<X: Features>(&mut self, rows: &Rows, row: impl Fn(usize) -> X) -> Result<Drawn, NoRow> {
        // Uses the fields, not `rule()` and `model()`, because the scores are written while these are borrowed.
        let model = CurrentModel { learner: &self.learner, nonlinear: self.nonlinear.as_ref() };
        let rule = self.cold.as_ref().map_or_else(|| self.rules.now(), ColdStart::rule);
        let u_max = rule.max();
        let (n, cap) = (rows.len(), (self.retired.left() as u64).max(1000));
        let mut tries = 0;
        // While no row is retired, skip the bit set: reading it in a large pool is a cache miss.
        let some_retired = self.retired.left() < n;
        while tries < cap {
            self.proposed += 1;
            let (proposal, coming) = (self.proposed, self.propose.below(self.proposed + AHEAD, n));
            row(coming).fetch();
            if some_retired {
                self.retired.fetch(coming);
            }
            let index = self.propose.below(proposal, n);
            if some_retired && self.retired.contains(index) {
                continue;
            }
            tries += 1;
            let x = row(index);
            model.scores(x, &mut self.scores);
            let factor = self.diversity.as_ref().map_or(1.0, |diversity| diversity.factor(x));
            let uncertainty = factor * rule.probability(&self.scores, x);
            let probability = uncertainty / u_max;
            if self.accept.unit(PROPOSALS | proposal) < probability {
                let inverse_rate = tries as f64 / u_max;
                return Ok(Drawn {
                    row: index,
                    uncertainty,
                    probability: Some(probability),
                    tries,
                    inverse_rate,
                    fallback: false,
                    rate: None,
                    scale: None,
                    least: 0.0,
                });
            }
        }
        if let Some(diversity) = &mut self.diversity {
            diversity.find_near(rows);
        }
        let drawn = self.scan(rows).draw(self.accept.unit(self.time))?;
        // Given that `cap` tries failed, E[N] is `cap` more than before: the weight stays unbiased.
        Ok(Drawn { tries: cap, inverse_rate: cap as f64 / u_max + drawn.inverse_rate, fallback: true, ..drawn })
    }
}
