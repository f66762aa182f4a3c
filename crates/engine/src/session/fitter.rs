//! Training in the background: a worker takes a job, and the session adopts its model later.

use std::sync::Arc;

use super::ids::{LabelValue, RowId};
use super::labeling_pool::LabelingPool;
use crate::pool::{Assessment, Draw, Drawn, LabeledDraw, ModelChoice, PoolLearner, RefitPool};
use crate::rule::{Rule, Scale};
use crate::scorer::Scorer;
use crate::stop::Advice;

/// A training job: a snapshot of all labels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FitJob {
    /// Labels of items that were not drawn for them.
    pub seed_labels: Vec<(RowId, LabelValue)>,
    /// Labeled draws, in the order of their labels.
    pub draws: Vec<AnsweredDraw>,
    /// The number of items that could be drawn at the start, without drawn items that have no answer.
    pub askable: usize,
}

/// A draw and the label of its item.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AnsweredDraw {
    /// The draw, with its row.
    pub drawn: Drawn,
    /// The label.
    pub label: LabelValue,
    /// The loss of the model that asked: 1 for a wrong decision, 0 for a correct one, or the loss for numbers.
    pub loss: f64,
}

/// The result of a training job.
#[derive(Debug)]
#[non_exhaustive]
pub struct FittedModel {
    /// The model as a scorer.
    pub scorer: Scorer,
    /// The last choice among kinds of models, if there are several.
    pub choice: Option<ModelChoice>,
    /// U of every item.
    pub uncertainty: Vec<f64>,
    /// A lower bound on U.
    pub least: f64,
    /// `true` if items are still drawn uniformly.
    pub is_cold: bool,
    /// The number of labels it was trained on, including those not drawn for.
    pub labels: u64,
    /// Estimates for the whole pool; `None` if the labels do not allow any.
    pub assessment: Option<Assessment>,
    /// Advice on whether to stop.
    pub advice: Option<Advice>,
    /// The scale of a rule in units of the pool; `None` before the rule took it, and for other rules.
    pub scale: Option<Scale>,
}

/// A worker that trains job after job. If a job extends the last one, training continues from there, with the same
/// result.
///
/// ```
/// use std::sync::Arc;
///
/// use querist_engine::session::{BackgroundFitter, FitJob, LabelValue, RowId};
/// # use querist_engine::task::Labels;
/// # use querist_engine::fit::Refit;
/// # use querist_engine::learner::Learner;
/// # use querist_engine::optimizer::{Clock, Constraint, Momentum, Optimizer};
/// # use querist_engine::pool::{ColdDraws, Draw, Objective, RefitPool, RefitSettings, StartRows};
/// # use querist_engine::session::LabelingPool;
/// # use querist_engine::step::{StepSize, Steps};
/// # use querist_engine::stop::StopRule;
/// # use querist_engine::stream::Rules;
/// # use querist_engine::{rule, task};
/// # use querist_rows::{DenseRows, Rows};
///
/// # let values = vec![-1.0, -0.1, 0.2, 0.9];
/// # let rows = Rows::Dense(DenseRows::from_values(1, values).expect("whole rows"));
/// # let learner = || {
/// #     let task = || task::parse("logistic", Labels::Binary).unwrap();
/// #     let optimizer = Optimizer::new(Momentum::None, Clock::Query, Constraint::default());
/// #     let learner = Learner::new(task(), true, 1, optimizer, Steps::new(StepSize::Auto), None).unwrap();
/// #     let rules = Rules::only(rule::parse("entropy", "logistic", Labels::Binary).unwrap());
/// #     let refit = Refit::new(&*task(), true, Rows::Dense(DenseRows::new(1)), None, 1).unwrap();
/// #     let (objective, labels) = (Objective::AsAsked, Labels::Binary);
/// #     let settings = RefitSettings { draw: Draw::Scan, seed: 1, refit, objective, labels };
/// #     RefitPool::new(learner, rules, 4, settings).unwrap()
/// # };
/// # let pool = LabelingPool {
/// #     rows,
/// #     renumbered: None,
/// #     ids: vec!["a".into(), "b".into(), "c".into(), "d".into()],
/// #     content: Box::new(|row| row.0.to_string()),
/// #     fingerprints: vec![0; 4],
/// #     hidden: vec![],
/// #     imported: vec![],
/// #     changed_imports: vec![],
/// #     draw: Draw::Scan,
/// #     cold_draws: ColdDraws::Random,
/// #     start: StartRows::default(),
/// #     learner: Box::new(learner),
/// #     stop: StopRule::Budget(4),
/// # };
/// // `pool` is a `LabelingPool` of items with the features −1, −0.1, 0.2 and 0.9.
/// let mut fitter = BackgroundFitter::new(Arc::new(pool));
/// let seed_labels = vec![(RowId(0), LabelValue(-1.0)), (RowId(3), LabelValue(1.0))];
/// let model = fitter.fit(&FitJob { seed_labels, draws: vec![], askable: 2 });
/// assert_eq!((model.labels, model.is_cold), (2, true));
/// assert!(0.0 < model.scorer.numbers()[0], "the weight of the feature");
/// ```
pub struct BackgroundFitter {
    pool: Arc<LabelingPool>,
    learner: RefitPool,
    /// The seed labels that the learner has.
    seed_labels: Vec<(RowId, LabelValue)>,
    /// The draws that the learner has.
    draws: Vec<AnsweredDraw>,
}

impl BackgroundFitter {
    /// Creates a worker without training data.
    pub fn new(pool: Arc<LabelingPool>) -> Self {
        let learner = (pool.learner)();
        Self { pool, learner, seed_labels: vec![], draws: vec![] }
    }

    /// Trains on a job. The result does not depend on earlier jobs.
    pub fn fit(&mut self, job: &FitJob) -> FittedModel {
        if job.seed_labels != self.seed_labels || !job.draws.starts_with(&self.draws) {
            self.restart(&job.seed_labels);
        }
        let rows = &self.pool.rows;
        let labeled = |draw: &AnsweredDraw| LabeledDraw {
            x: rows.row(draw.drawn.row),
            drawn: draw.drawn,
            label: draw.label.0,
            loss: draw.loss,
        };
        let new: Vec<LabeledDraw<'_>> = job.draws[self.draws.len()..].iter().map(labeled).collect();
        self.learner.add_answers(&new, job.askable);
        self.draws.clone_from(&job.draws);
        let uncertainty = self.learner.uncertainties(rows);
        let is_cold = self.learner.is_cold();
        let is_assessed = !is_cold && self.pool.draw != Draw::Top;
        let assessment = if is_assessed { self.learner.assess(Some(rows)).ok() } else { None };
        let advice = assessment.as_ref().map(|assessment| self.pool.stop.advise(&assessment.progress()));
        FittedModel {
            scorer: self.learner.scorer(),
            choice: self.learner.models().choice().cloned(),
            uncertainty,
            least: self.learner.rule().least(),
            is_cold,
            labels: (job.seed_labels.len() + job.draws.len()) as u64,
            assessment,
            advice,
            scale: match self.learner.rule() {
                Rule::Relative(rule) if !is_cold => Some(rule.scale()),
                _ => None,
            },
        }
    }

    /// Restarts training with these seed labels.
    fn restart(&mut self, seed_labels: &[(RowId, LabelValue)]) {
        self.learner = (self.pool.learner)();
        self.draws.clear();
        self.seed_labels = seed_labels.to_vec();
        let rows = &self.pool.rows;
        let labels: Vec<_> = seed_labels.iter().map(|(row, label)| (row.0, rows.row(row.0), label.0)).collect();
        self.learner.add_seed_labels(&labels);
    }
}
