//! Simulated labeling runs: a learner asks, the data set answers.

use anyhow::Context;
use querist_engine::coin::Coin;
use querist_engine::estimate::{DrawProbability, Estimate, Estimator};
use querist_engine::fit::Refit;
use querist_engine::learner::Learner;
use querist_engine::model_kind::ModelKind;
use querist_engine::optimizer::{Clock, Constraint, Momentum, Optimizer};
use querist_engine::pool::{
    Assessment, ColdDraws, Draw, Drawn, Objective, PoolLearner, Precision, PrecisionGoal, RefitPool, RefitSettings,
};
use querist_engine::rule;
use querist_engine::scorer::Scorer;
use querist_engine::step::{StepSize, Steps};
use querist_engine::stream::Rules;
use querist_engine::task::{self, Labels, Task};

use crate::set::LabeledSet;

/// The fraction of rows that are held out for testing.
const TEST_SHARE: f64 = 0.3;

/// A way of choosing rows and a model, as `RULE@DRAW@COLD-START@MODEL` or a part of it; `random` and `top` are short for two of them.
#[derive(Clone, Debug)]
pub(crate) struct SamplingStrategy {
    pub(crate) name: String,
    rule: String,
    draw: Draw,
    cold: ColdDraws,
    model: ModelKind,
}

impl SamplingStrategy {
    pub(crate) fn parse(name: &str) -> anyhow::Result<Self> {
        let full = match name {
            "random" => "constant@scan@random".to_owned(),
            "top" => "boundary@top".to_owned(),
            model if ModelKind::is_named(model) => format!("boundary@scan@coverage@{model}"),
            other => other.to_owned(),
        };
        let mut parts = full.split('@');
        let rule = parts.next().unwrap_or_default().to_owned();
        let draw = parts.next().unwrap_or("scan").parse().with_context(|| format!("in `{name}`"))?;
        let cold = parts.next().unwrap_or("coverage").parse().with_context(|| format!("in `{name}`"))?;
        let model = parts.next().unwrap_or("linear").parse().with_context(|| format!("in `{name}`"))?;
        Ok(Self { name: name.to_owned(), rule, draw, cold, model })
    }
}

/// The plan of a run.
#[derive(Clone, Debug)]
pub(crate) struct RunPlan {
    /// The number of labels after which a run is measured, ascending.
    pub(crate) milestones: Vec<u64>,
    /// The number of labels between two fits.
    pub(crate) batch: u64,
    /// Whether the estimates of the learner are compared with the truth.
    pub(crate) estimates: bool,
    /// The wanted half-width of the interval of accuracy, if there is one.
    pub(crate) precision: Option<f64>,
}

/// The measurement of a run after some number of labels.
#[derive(Clone, Debug)]
pub(crate) struct Milestone {
    /// Accuracy on the held-out rows; R² for numbers.
    pub(crate) accuracy: f64,
    /// Mean log loss on the held-out rows.
    pub(crate) log_loss: f64,
    /// Recall of the rarest class on the held-out rows.
    pub(crate) recall: f64,
    /// Whether every class has been labeled.
    pub(crate) has_all_classes: bool,
    /// Each estimate of the learner, with the truth about the fitted model on the pool.
    pub(crate) estimates: Vec<CheckedEstimate>,
    /// The estimates as the learner makes them.
    pub(crate) assessment: Option<Assessment>,
}

/// An estimate and the truth.
#[derive(Clone, Debug)]
pub(crate) struct CheckedEstimate {
    pub(crate) statistic: &'static str,
    pub(crate) truth: f64,
    pub(crate) estimate: Estimate,
}

/// Runs a strategy on a set with a seed. Returns a measurement for each milestone that was reached.
pub(crate) fn simulate(
    set: &LabeledSet,
    strategy: &SamplingStrategy,
    plan: &RunPlan,
    seed: u64,
) -> anyhow::Result<Vec<Milestone>> {
    let split = Coin::new(seed, "test");
    let is_test: Vec<bool> = (0..set.rows.len()).map(|row| split.unit(row as u64 + 1) < TEST_SHARE).collect();
    let mut pool = learner(set, strategy, seed)?;
    if let Some(half_width) = plan.precision {
        pool = pool.with_precision(Precision { goal: PrecisionGoal::Accuracy, half_width, labels: None })?;
    }
    (0..set.rows.len()).filter(|row| is_test[*row]).for_each(|row| pool.retire(row));
    let mut milestones = vec![];
    let mut draws = RecordedDraws::default();
    let mut seen = vec![false; set.kind.classes()];
    for milestone in &plan.milestones {
        while pool.time() < *milestone && 0 < pool.left() {
            let mut answers = vec![];
            for _ in 0..plan.batch.min(milestone - pool.time()).min(pool.left() as u64) {
                let left = pool.left();
                let drawn = pool.ask(&set.rows)?;
                draws.add(&drawn, left);
                let label = set.labels[drawn.row];
                if let Some(seen) = seen.get_mut(set.kind.class(label)) {
                    *seen = true;
                }
                answers.push((set.rows.row(drawn.row), drawn, label));
            }
            pool.answer(&answers)?;
        }
        if pool.time() < *milestone {
            break;
        }
        let has_all_classes = seen.iter().all(|seen| *seen);
        let mut measured = measure(set, &pool, &is_test, has_all_classes, plan.estimates);
        if let Some(predicted) = set.foreign.as_ref().filter(|_| plan.estimates) {
            (measured.assessment, measured.estimates) = (None, draws.check_foreign(set, predicted, &is_test));
        }
        milestones.push(measured);
    }
    Ok(milestones)
}

fn learner(set: &LabeledSet, strategy: &SamplingStrategy, seed: u64) -> anyhow::Result<RefitPool> {
    let task = task::parse(set.kind.default_loss(), set.kind)?;
    let name = match strategy.rule.as_str() {
        // The default for numbers.
        "boundary" if set.kind == Labels::Numbers => "conditional-loss",
        name => name,
    };
    let rule = rule::parse(&rule::in_pool(name, set.kind), task.name(), set.kind)?;
    let refit = Refit::new(&*task, true, set.rows.empty_like(), None, seed)?;
    let optimizer = Optimizer::new(Momentum::None, Clock::Query, Constraint::default());
    let learner = Learner::new(task, true, set.rows.dim(), optimizer, Steps::new(StepSize::Auto), None)?;
    let (objective, labels) = (Objective::AsAsked, set.kind);
    let settings = RefitSettings { draw: strategy.draw, seed, refit, objective, labels };
    let pool = RefitPool::new(learner, Rules::only(rule), set.rows.len(), settings)?.with_cold_draws(strategy.cold);
    let models = strategy.model.candidates(&set.rows);
    Ok(pool.with_models(models.context("the model needs dense rows")?))
}

/// The decisions and losses of a model on some rows.
#[derive(Default)]
struct DecisionCounts {
    rows: f64,
    right: f64,
    losses: Vec<f64>,
    labels: Vec<f64>,
    /// Of the rarest class: predicted and true, predicted, true.
    rarest: [f64; 3],
}

impl DecisionCounts {
    fn of(set: &LabeledSet, task: &dyn Task, model: &Scorer, rows: impl Iterator<Item = usize>) -> Self {
        let (mut scores, mut counts) = (vec![0.0; model.outputs()], Self::default());
        let rarest = set.kind.label(set.rarest_class());
        for row in rows {
            let label = set.labels[row];
            model.scores(set.rows.row(row), &mut scores);
            let predicted = task.decide(&scores);
            counts.rows += 1.0;
            counts.losses.push(task.loss(&scores, label));
            counts.labels.push(label);
            counts.right += f64::from(predicted == label);
            counts.rarest[0] += f64::from(predicted == rarest && label == rarest);
            counts.rarest[1] += f64::from(predicted == rarest);
            counts.rarest[2] += f64::from(label == rarest);
        }
        counts
    }
}

impl DecisionCounts {
    /// Returns the mean of the losses, clipped at a limit.
    fn mean_loss(&self, limit: f64) -> f64 {
        self.losses.iter().map(|loss| loss.min(limit)).sum::<f64>() / self.rows
    }

    /// Returns R² of a model for numbers.
    fn r_squared(&self) -> f64 {
        let mean = self.labels.iter().sum::<f64>() / self.rows;
        let variance = self.labels.iter().map(|label| (label - mean).powi(2)).sum::<f64>() / self.rows;
        1.0 - self.mean_loss(f64::INFINITY) / variance
    }
}

fn measure(
    set: &LabeledSet,
    pool: &RefitPool,
    is_test: &[bool],
    has_all_classes: bool,
    with_estimates: bool,
) -> Milestone {
    let (task, model) = (pool.learner().task(), pool.scorer());
    let chosen = |test: bool| (0..set.rows.len()).filter(move |row| is_test[*row] == test);
    let test = DecisionCounts::of(set, task, &model, chosen(true));
    let assessment = if with_estimates { pool.assess(Some(&set.rows)).ok() } else { None };
    let estimates = assessment.as_ref().map_or(vec![], |assessment| {
        check_estimates(set, assessment, &DecisionCounts::of(set, task, &model, chosen(false)))
    });
    Milestone {
        accuracy: if task.is_classification() { test.right / test.rows } else { test.r_squared() },
        log_loss: test.mean_loss(f64::INFINITY),
        recall: test.rarest[0] / test.rarest[2],
        has_all_classes,
        estimates,
        assessment,
    }
}

/// The draws of a run, with their probabilities.
#[derive(Default)]
struct RecordedDraws {
    rows: Vec<usize>,
    draws: Vec<DrawProbability>,
}

impl RecordedDraws {
    fn add(&mut self, drawn: &Drawn, left: usize) {
        if let Some(draw) = drawn.draw_probability(left) {
            self.rows.push(drawn.row);
            self.draws.push(draw);
        }
    }

    /// Pairs the estimates of a model that is not the learner's with the truth on the whole pool.
    fn check_foreign(&self, set: &LabeledSet, predicted: &[f64], is_test: &[bool]) -> Vec<CheckedEstimate> {
        let (k, rarest) = (set.kind.classes(), set.rarest_class());
        let pool: Vec<usize> = (0..set.rows.len()).filter(|row| !is_test[*row]).collect();
        let of_pool: Vec<f64> = pool.iter().flat_map(|row| &predicted[row * k..][..k]).copied().collect();
        let class = |row: usize| set.kind.class(set.labels[row]);
        let index = |row: &usize| pool.binary_search(row).unwrap_or(0);
        let answers: Vec<(usize, usize)> = self.rows.iter().map(|row| (index(row), class(*row))).collect();
        let Ok(scores) = Estimator::new(pool.len()).scores(&of_pool, &answers, &self.draws) else { return vec![] };
        let (mut right, mut loss, mut counts) = (0.0, 0.0, [0.0; 3]);
        for row in &pool {
            let of_row = &predicted[row * k..][..k];
            let guess = (1..k).fold(0, |best, class| if of_row[best] < of_row[class] { class } else { best });
            right += f64::from(guess == class(*row));
            loss -= of_row[class(*row)].ln();
            let (is_guess, is_it) = (guess == rarest, class(*row) == rarest);
            let hits = [is_guess && is_it, is_guess, is_it].map(f64::from);
            counts.iter_mut().zip(hits).for_each(|(count, hit)| *count += hit);
        }
        let (n, [found, guessed, actual], of_class) = (pool.len() as f64, counts, &scores.classes[rarest]);
        [
            ("accuracy", right / n, Some(scores.accuracy)),
            ("log loss", loss / n, Some(scores.log_loss)),
            ("precision", found / guessed, of_class.precision),
            ("recall", found / actual, of_class.recall),
            ("F1", 2.0 * found / (guessed + actual), of_class.f1),
        ]
        .into_iter()
        .filter_map(|(statistic, truth, estimate)| Some(CheckedEstimate { statistic, truth, estimate: estimate? }))
        .collect()
    }
}

/// Pairs each estimate with the truth on the whole pool.
fn check_estimates(set: &LabeledSet, assessment: &Assessment, truth: &DecisionCounts) -> Vec<CheckedEstimate> {
    let [found, predicted, actual] = truth.rarest;
    let class = assessment.classes.get(set.rarest_class());
    let of_class = |estimate: fn(&querist_engine::estimate::ClassScores) -> Option<Estimate>| class.and_then(estimate);
    let clipped = assessment.clipped_loss;
    let r_squared = assessment.regression.map(|regression| regression.r_squared);
    let score = if assessment.is_accuracy { truth.right / truth.rows } else { truth.mean_loss(f64::INFINITY) };
    [
        (if assessment.is_accuracy { "accuracy" } else { "loss" }, score, Some(assessment.score)),
        ("R²", truth.r_squared(), r_squared),
        ("log loss", truth.mean_loss(f64::INFINITY), assessment.loss),
        ("clipped", clipped.map_or(0.0, |clipped| truth.mean_loss(clipped.limit)), clipped.map(|clipped| clipped.mean)),
        ("precision", found / predicted, of_class(|class| class.precision)),
        ("recall", found / actual, of_class(|class| class.recall)),
        ("F1", 2.0 * found / (predicted + actual), of_class(|class| class.f1)),
    ]
    .into_iter()
    .filter(|(_, truth, _)| truth.is_finite())
    .filter_map(|(statistic, truth, estimate)| Some(CheckedEstimate { statistic, truth, estimate: estimate? }))
    .collect()
}
