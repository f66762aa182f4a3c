//! A pool's learner that fits a model to all its answers.

use super::answer_error::check;
use super::answers::PoolAnswers;
use super::cold_start::ColdStart;
use super::model_fit::{ModelCandidate, ModelFit};
use super::precision::Precision;
use super::{AnswerError, ColdDraws, Draw, Drawn, NoRow, Objective, PoolLearner, PoolSampler, Replacement, StartRows};
use crate::fit::Refit;
use crate::learner::Learner;
use crate::rows::{Row, Rows};
use crate::rule::Rule;
use crate::scorer::Scorer;
use crate::settings::IllegalSettings;
use crate::stream::Rules;
use crate::task::Labels;

/// The settings of a pool's learner that fits.
#[derive(Debug)]
pub struct RefitSettings {
    /// The method of drawing rows.
    pub draw: Draw,
    /// The run's seed.
    pub seed: u64,
    /// The fit, without answers.
    pub refit: Refit,
    /// The weights of the answers in the fit.
    pub objective: Objective,
    /// The kind of labels.
    pub labels: Labels,
}

/// An answer to a draw, with the loss of a model that had not seen it.
#[derive(Clone, Copy, Debug)]
pub struct LabeledDraw<'a> {
    /// The features.
    pub x: Row<'a>,
    /// The draw.
    pub drawn: Drawn,
    /// The label.
    pub label: f64,
    /// 1 for a wrong decision and 0 for a correct one, or the loss for numbers.
    pub loss: f64,
}

/// A pool's learner that fits a model to all answers after each batch. It draws without replacement. Its random numbers
/// and probabilities are those of a learner that takes steps, except for the cold start, which draws uniformly or
/// by coverage of the pool.
///
/// ```
/// use querist_engine::fit::Refit;
/// use querist_engine::pool::{Draw, Objective, PoolLearner, RefitPool, RefitSettings};
/// use querist_rows::{DenseRows, Rows};
/// # use querist_engine::learner::Learner;
/// # use querist_engine::optimizer::{Clock, Constraint, Momentum, Optimizer};
/// # use querist_engine::step::{StepSize, Steps};
/// # use querist_engine::stream::Rules;
/// # use querist_engine::task::Labels;
/// # use querist_engine::{rule, task};
///
/// let rows = Rows::Dense(DenseRows::from_values(1, vec![-1.0, -0.1, 0.2, 0.9]).expect("whole rows"));
/// let task = task::parse("logistic", Labels::Binary)?;
/// let refit = Refit::new(&*task, true, rows.empty_like(), None, 1)?;
/// # let optimizer = Optimizer::new(Momentum::None, Clock::Query, Constraint::default());
/// # let learner = Learner::new(task, true, 1, optimizer, Steps::new(StepSize::Auto), None)?;
/// # let rules = Rules::only(rule::parse("entropy", "logistic", Labels::Binary)?);
/// let (objective, labels) = (Objective::AsAsked, Labels::Binary);
/// let settings = RefitSettings { draw: Draw::Scan, seed: 1, refit, objective, labels };
/// let mut pool = RefitPool::new(learner, rules, rows.len(), settings)?;
/// let drawn = pool.ask(&rows).expect("four rows are left");
/// pool.answer(&[(rows.row(drawn.row), drawn, 1.0)])?;
/// assert_eq!((pool.models().answers(), pool.left()), (1, 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RefitPool {
    pub(super) sampler: PoolSampler,
    pub(super) answers: PoolAnswers,
    precision: Option<Precision>,
}

impl RefitPool {
    /// Creates a learner for a pool of this many rows. Returns an error if the rules do not fit the model.
    pub fn new(learner: Learner, rules: Rules, rows: usize, settings: RefitSettings) -> Result<Self, IllegalSettings> {
        let RefitSettings { draw, seed, refit, objective, labels } = settings;
        let mut sampler = PoolSampler::new(learner, rules, rows, (draw, Replacement::Without), seed)?;
        sampler.cold = Some(ColdStart::new(labels));
        Ok(Self {
            sampler,
            answers: PoolAnswers::new(ModelFit::linear(refit, labels, seed), objective, labels),
            precision: None,
        })
    }

    /// Sets the kinds of models among which the answers decide; the first is used until then.
    ///
    /// # Panics
    /// If there are answers already, no candidates, or a kernel for rows that are not dense.
    pub fn with_models(mut self, candidates: Vec<ModelCandidate>) -> Self {
        self.answers.models.set_candidates(candidates, self.sampler.seed);
        self
    }

    /// Sets the draws of the cold start, which are uniform otherwise. By coverage, U of a row depends on the pool and on
    /// the rows that were drawn. With more than 10 classes, draws stay uniform.
    pub fn with_cold_draws(mut self, draws: ColdDraws) -> Self {
        if let Some(cold) = &mut self.sampler.cold {
            cold.set_draws(draws);
        }
        self
    }

    /// Sets rows that the cold start draws first, whatever its draws are.
    pub fn with_start_rows(mut self, start: StartRows) -> Self {
        self.set_start_rows(start);
        self
    }

    /// Sets rows that the cold start draws first; must be called before the first draw.
    pub fn set_start_rows(&mut self, start: StartRows) {
        if let Some(cold) = &mut self.sampler.cold {
            cold.set_start(start);
        }
    }

    /// Returns the draws of the cold start; `Random` once it is over.
    pub fn cold_draws(&self) -> ColdDraws {
        self.sampler.cold.as_ref().map_or(ColdDraws::Random, |cold| cold.draws)
    }

    /// Spreads more draws evenly over the pool, as a wanted precision of estimates needs.
    ///
    /// # Errors
    /// If the rule has no floor, or the precision is not between 0 and 0.5.
    pub fn with_precision(mut self, precision: Precision) -> Result<Self, IllegalSettings> {
        let half_width = precision.half_width;
        IllegalSettings::unless(0.0 < half_width && half_width < 0.5, "precision", half_width, "0 < precision < 0.5")?;
        if !matches!(self.sampler.rules.rule, Rule::Relative(_)) {
            return Err(IllegalSettings::NeedsFloor { rule: self.sampler.rules.rule.name() });
        }
        self.precision = Some(precision);
        Ok(self)
    }

    /// Returns the wanted precision, if there is one.
    pub fn precision(&self) -> Option<Precision> {
        self.precision
    }

    /// Returns the models that are fitted to the answers.
    pub fn models(&self) -> &ModelFit {
        &self.answers.models
    }

    /// Returns the current model.
    pub fn scorer(&self) -> Scorer {
        self.answers.models.scorer()
    }

    /// Adds a seed label: its row is never asked, it is learned from, and estimates exclude it.
    pub fn add_seed_label(&mut self, row: usize, x: Row<'_>, label: f64) {
        self.answers.add_seed_label(row as u64, x, label);
        self.see(label);
        self.answers.fit(self.sampler.askable, &*self.sampler.learner.task, |_| 1.0);
        self.adopt();
        self.sampler.note_label(row);
        self.sampler.retire(row);
    }

    /// Adds seed labels before any answer: they are learned from, but excluded from estimates.
    ///
    /// # Panics
    /// If the learner already has answers.
    pub fn add_seed_labels(&mut self, labels: &[(usize, Row<'_>, f64)]) {
        assert!(self.answers.draws.is_empty(), "seed labels are added before the first answer");
        self.add_in_order(labels.len(), |pool, index| {
            let (row, x, label) = labels[index];
            pool.answers.add_seed_label(row as u64, x, label);
            pool.see(label);
            pool.sampler.note_label(row);
            pool.sampler.retired.retire(row);
        });
        self.sampler.askable = self.sampler.retired.left();
    }

    /// Learns from answers in order of arrival. The fit depends only on the answers, not on their division into calls.
    /// `askable` is the number of rows that could be asked at the start.
    pub fn add_answers(&mut self, answers: &[LabeledDraw<'_>], askable: usize) {
        self.sampler.askable = askable;
        self.add_in_order(answers.len(), |pool, index| {
            let LabeledDraw { x, drawn, label, loss } = answers[index];
            pool.answers.add(x, drawn, label, loss);
            pool.see(label);
            pool.sampler.retired.retire(drawn.row);
            pool.sampler.answered += 1;
            pool.sampler.time += 1;
        });
        self.update_rules(answers.iter().map(|answer| (answer.x, answer.label)));
    }

    /// Updates the class counts and the cold start after the answer with this label.
    fn see(&mut self, label: f64) {
        let answered = self.answers.models.answers() as u64;
        self.sampler.cold.take_if(|cold| cold.see(label, answered));
        self.sampler.rarest = self.answers.rarest();
    }

    fn update_rules<'a>(&mut self, labeled: impl Iterator<Item = (Row<'a>, f64)> + Clone) {
        self.sampler.rules.learned(labeled, &self.sampler.learner);
        self.sampler.rules.switch(self.sampler.answered);
    }

    /// Adds answers one by one and fits whenever that takes part in choosing λ, so that λ evolves as in a run that fits
    /// after each answer. Then fits once more to all. Every fit starts from the last one that took part in choosing λ,
    /// which does not depend on the division into calls.
    fn add_in_order(&mut self, count: usize, mut add: impl FnMut(&mut Self, usize)) {
        for index in 0..count {
            add(self, index);
            let is_due = self.answers.models.due() <= self.answers.models.answers();
            if is_due || index + 1 == count {
                self.fit_again(is_due);
            }
        }
    }

    fn fit_again(&mut self, keep: bool) {
        self.answers.models.go_back();
        self.adopt();
        self.fit();
        if keep {
            self.answers.models.keep();
        }
        self.sampler.note_change();
    }

    fn fit(&mut self) {
        let sampler = &self.sampler;
        self.answers.fit(sampler.askable, &*sampler.learner.task, |x| sampler.warm_uncertainty(x));
        self.adopt();
        self.spread_draws();
    }

    /// Lets the sampler use the current model.
    fn adopt(&mut self) {
        self.sampler.nonlinear = match self.answers.models.theta() {
            Some(theta) => {
                self.sampler.learner.set_parameters(theta);
                None
            }
            None => Some(self.scorer()),
        };
    }

    /// Sets the share of the next draws that is spread evenly.
    fn spread_draws(&mut self) {
        let Rule::Relative(rule) = &mut self.sampler.rules.rule else { return };
        let (labels, pool) = (self.answers.draws.len(), self.sampler.askable);
        let mut share = rule.floor_after(labels, self.answers.labels.classes());
        if let Some(precision) = self.precision {
            let evidence = self.answers.evidence_of_errors(pool);
            share = share.max(precision.even_share(labels as u64, evidence, rule.floor(), pool));
        }
        rule.set_even_share(share);
    }

    /// Returns the losses of the current model on answers it has not seen (progressive losses).
    fn progressive_losses(&mut self, answers: &[(Row<'_>, Drawn, f64)]) -> Vec<f64> {
        let sampler = &self.sampler;
        let (task, mut scores) = (&*sampler.learner.task, vec![0.0; sampler.learner.model.outputs]);
        let loss = |(x, _, label): &(Row<'_>, Drawn, f64)| {
            sampler.model().scores(*x, &mut scores);
            if task.is_classification() {
                f64::from(u8::from(task.decide(&scores) != *label))
            } else {
                task.loss(&scores, *label)
            }
        };
        answers.iter().map(loss).collect()
    }
}

impl PoolLearner for RefitPool {
    fn sampler(&self) -> &PoolSampler {
        &self.sampler
    }

    fn sampler_mut(&mut self) -> &mut PoolSampler {
        &mut self.sampler
    }

    fn ask(&mut self, rows: &Rows) -> Result<Drawn, NoRow> {
        let mut drawn = self.sampler.find(rows)?;
        if drawn.rate.is_none() && drawn.probability.is_some() {
            drawn.rate = Some(self.sampler.sampled_rate(rows));
        }
        self.sampler.note(&drawn, rows.row(drawn.row));
        Ok(drawn)
    }

    /// Adds the answers and fits all of them.
    fn answer(&mut self, answers: &[(Row<'_>, Drawn, f64)]) -> Result<(), AnswerError> {
        answers.iter().try_for_each(|(x, drawn, label)| check(&self.sampler.learner, drawn.row, *x, *label))?;
        self.sampler.end_batch();
        let losses = self.progressive_losses(answers);
        for ((x, drawn, label), loss) in answers.iter().zip(losses) {
            self.answers.add(*x, *drawn, *label, loss);
            self.see(*label);
        }
        self.fit();
        self.sampler.answered += answers.len() as u64;
        self.update_rules(answers.iter().map(|(x, _, label)| (*x, *label)));
        Ok(())
    }
}
