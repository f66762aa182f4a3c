//! Comparisons of rules on labeled data: learning curves over many seeds, and their summary.
//!
//! All entrants of a seed have the same split and, except for random sampling, the same cold start, so differences are
//! paired. Runs are independent, so they run in parallel, and their results do not depend on the schedule.

use rayon::prelude::{IntoParallelIterator, ParallelIterator};

use crate::coin::Coin;
use crate::fit::{self, NoFit, Refit};
use crate::learner::Learner;
use crate::narrow::Narrow;
use crate::optimizer::{Clock, Constraint, Momentum, Optimizer};
use crate::pool::{
    ColdDraws, Draw, Objective, PoolLearner, RefitPool, RefitSettings, Replacement, SgdPool, SgdSettings,
};
use crate::rows::Rows;
use crate::rule::Rule;
use crate::scorer::Scorer;
use crate::step::{StepSize, Steps};
use crate::stream::{Importance, Rules};
use crate::task::{Labels, Task};
use measure::{calibration, measure, measure_full};

mod entrant_error;
mod joint;
mod measure;
mod metric;
mod summary;
mod verdict;

pub use entrant_error::{EntrantError, EntrantFault};
pub use joint::{EntrantTest, JointTest};
pub use measure::{BINS, ClassCounts, TestScores};
pub use metric::{Criterion, DefaultMetric, Metric};
pub use summary::{Curve, SeedInterval, Stage, against, labels_saved, labels_to, summarize};
pub use verdict::{ComparisonVerdict, LabelsSaved, Undecided, verdict};

/// A competitor: a rule with a way of drawing and learning.
#[derive(Clone, Debug)]
pub struct Entrant {
    /// The name.
    pub name: String,
    /// The rule that determines U.
    pub rule: Rule,
    /// The method of drawing rows.
    pub draw: Draw,
    /// The method of learning.
    pub fit: Fit,
}

/// A method of learning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fit {
    /// A gradient step for each answer, as in the paper; the average of the parameters is measured.
    Sgd,
    /// A fit to all answers after each batch.
    Refit {
        /// The weights of the answers.
        objective: Objective,
        /// λ; `None` chooses it from the answers.
        strength: Option<f64>,
    },
}

/// The data of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct Contest<'a> {
    /// The pool.
    pub rows: &'a Rows,
    /// The label of every row; NaN where there is none.
    pub labels: &'a [f64],
    /// The kind of labels.
    pub kind: Labels,
    /// The rows that models are measured on.
    pub test: TestSet<'a>,
    /// The number of labels to ask for.
    pub budget: u64,
    /// The number of labels to ask for between two fits.
    pub batch: u64,
}

/// The rows that models are measured on.
#[derive(Clone, Copy, Debug)]
pub enum TestSet<'a> {
    /// This fraction of the pool, drawn separately for every seed.
    Share(f64),
    /// Separate test rows and their labels.
    Rows(&'a Rows, &'a [f64]),
}

/// A run of one entrant with one seed.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct EntrantRun {
    /// The number of labels and the scores on the test rows, at each point of the learning curve.
    pub points: Vec<(u64, TestScores)>,
    /// log₁₀ of n·q for each ask with a known probability q; 0 is the probability of a uniform draw.
    pub chances: Vec<f64>,
    /// Calibration of the last model. For each bin of the probability of its decision: rows, Σ probability, rows
    /// decided correctly.
    pub calibration: [(u64, f64, u64); BINS],
    /// The reason it ended before its budget was spent.
    pub stopped: Option<String>,
}

/// The results of a comparison, by entrant, then by seed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Comparison {
    /// Runs of each entrant, in the order of the seeds.
    pub runs: Vec<Vec<EntrantRun>>,
    /// The scores of a fit to all labels of the pool, for each seed; `None` if the loss cannot be fitted.
    pub full: Vec<Option<TestScores>>,
}

impl Comparison {
    /// Returns the value of a metric for the fit to all labels, for each seed; NaN if the loss cannot be fitted.
    pub fn full_values(&self, criterion: &Criterion) -> Vec<f64> {
        let value = |scores: &Option<TestScores>| scores.as_ref().map_or(f64::NAN, |scores| criterion.value(scores));
        self.full.iter().map(value).collect()
    }
}

/// A finished piece of a comparison.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct FinishedRun<'a> {
    /// The index of the entrant; `None` for the fit to all labels.
    pub entrant: Option<usize>,
    /// The index of the seed.
    pub seed: usize,
    /// The run; empty for the fit to all labels.
    pub run: &'a EntrantRun,
}

/// Runs every entrant with every seed and calls `done` after each run, from any thread.
///
/// # Errors
/// If an entrant's rule does not fit the labels, or its loss cannot be fitted. Then nothing is run.
pub fn run(
    contest: &Contest<'_>,
    task: &(dyn Fn() -> Box<dyn Task> + Sync),
    entrants: &[Entrant],
    seeds: &[u64],
    done: &(dyn Fn(FinishedRun<'_>) + Sync),
) -> Result<Comparison, EntrantError> {
    entrants.iter().try_for_each(|entrant| check(&*task(), entrant))?;
    let narrow = NarrowContest::new(contest);
    let contest = &narrow.as_ref().map_or(*contest, |narrow| narrow.contest(contest));
    let jobs: Vec<(usize, usize)> =
        (0..seeds.len()).flat_map(|seed| (0..=entrants.len()).map(move |entrant| (entrant, seed))).collect();
    // The last job of a seed is the fit to all labels.
    let results: Result<Vec<(EntrantRun, Option<TestScores>)>, EntrantError> = jobs
        .into_par_iter()
        .map(|(index, seed)| {
            let split = ContestSplit::new(contest, seeds[seed]);
            let result = match entrants.get(index) {
                Some(entrant) => (run_entrant(contest, &*task(), task(), entrant, &split, seeds[seed])?, None),
                None => (EntrantRun::default(), measure_full(contest, &*task(), &split, seeds[seed])),
            };
            done(FinishedRun { entrant: (index < entrants.len()).then_some(index), seed, run: &result.0 });
            Ok(result)
        })
        .collect();
    let mut outcome = Comparison { runs: vec![vec![]; entrants.len()], full: vec![] };
    for (job, (run, full)) in results?.into_iter().enumerate() {
        match job % (entrants.len() + 1) {
            entrant if entrant < entrants.len() => outcome.runs[entrant].push(run),
            _ => outcome.full.push(full),
        }
    }
    Ok(outcome)
}

/// The rows of a contest, reduced to the features of its pool, so that each of its many models has weights for these
/// alone.
struct NarrowContest {
    pool: Rows,
    test: Option<Rows>,
}

impl NarrowContest {
    /// Reduces the rows of a contest; returns `None` if they are dense or have few features.
    fn new(contest: &Contest<'_>) -> Option<Self> {
        let narrow = Narrow::of(contest.rows)?;
        // Above this limit fits use only the features of answers, as they would without the reduction.
        let dim = narrow.dim().max(fit::MANY + 1);
        let test = match contest.test {
            TestSet::Rows(rows, _) => Some(narrow.rows(rows, dim)),
            TestSet::Share(_) => None,
        };
        (dim < contest.rows.dim()).then(|| Self { pool: narrow.rows(contest.rows, dim), test })
    }

    /// Returns the same contest on the reduced rows.
    fn contest<'a>(&'a self, contest: &Contest<'a>) -> Contest<'a> {
        let test = match (contest.test, &self.test) {
            (TestSet::Rows(_, labels), Some(rows)) => TestSet::Rows(rows, labels),
            (test, _) => test,
        };
        Contest { rows: &self.pool, test, ..*contest }
    }
}

/// Checks that an entrant can learn a task: its loss can be fitted if the entrant fits, and the rule takes its scores.
pub fn check(task: &dyn Task, entrant: &Entrant) -> Result<(), EntrantError> {
    if matches!(entrant.fit, Fit::Refit { .. }) && task.smooth().is_none() {
        return Err(entrant.error(NoFit { loss: task.name().to_owned() }));
    }
    let rules = Rules::only(entrant.rule.clone());
    rules.check_outputs(task.outputs()).map_err(|reason| entrant.error(reason))
}

impl Entrant {
    fn error(&self, reason: impl Into<EntrantFault>) -> EntrantError {
        EntrantError { entrant: self.name.clone(), reason: reason.into() }
    }
}

/// The division of the pool into training and test rows.
struct ContestSplit {
    held: Vec<usize>,
    is_held: Vec<bool>,
}

impl ContestSplit {
    fn new(contest: &Contest<'_>, seed: u64) -> Self {
        let n = contest.rows.len();
        let unlabeled = |row: usize| contest.labels[row].is_nan();
        let is_test = |row: usize| match contest.test {
            TestSet::Share(share) => Coin::new(seed, "test").unit(row as u64 + 1) < share,
            TestSet::Rows(..) => false,
        };
        let held = (0..n).filter(|row| is_test(*row) && !unlabeled(*row)).collect();
        Self { held, is_held: (0..n).map(|row| is_test(row) || unlabeled(row)).collect() }
    }

    /// Returns the test rows and their labels.
    fn test<'a>(&'a self, contest: &Contest<'a>) -> Box<dyn Iterator<Item = (crate::rows::Row<'a>, f64)> + 'a> {
        match contest.test {
            TestSet::Share(_) => {
                let (rows, labels) = (contest.rows, contest.labels);
                Box::new(self.held.iter().map(move |row| (rows.row(*row), labels[*row])))
            }
            TestSet::Rows(rows, labels) => {
                let labeled = labels.iter().enumerate().filter(|(_, label)| !label.is_nan());
                Box::new(labeled.map(move |(row, label)| (rows.row(row), *label)))
            }
        }
    }
}

/// Runs one entrant from its first ask to its last.
fn run_entrant(
    contest: &Contest<'_>,
    task: &dyn Task,
    own: Box<dyn Task>,
    entrant: &Entrant,
    split: &ContestSplit,
    seed: u64,
) -> Result<EntrantRun, EntrantError> {
    Ok(match entrant.fit {
        Fit::Sgd => {
            let pool = sgd_pool(contest, own, entrant, seed).map_err(|reason| entrant.error(reason))?;
            run_pool(contest, task, split, pool, mean_model)
        }
        Fit::Refit { objective, strength } => {
            let pool = refit_pool(contest, own, entrant, (objective, strength), seed);
            let pool = pool.map_err(|reason| entrant.error(reason))?;
            run_pool(contest, task, split, pool, RefitPool::scorer)
        }
    })
}

/// Asks and answers until the budget is spent, and measures the model that `model` returns.
fn run_pool<P: PoolLearner>(
    contest: &Contest<'_>,
    task: &dyn Task,
    split: &ContestSplit,
    mut learner: P,
    model: impl Fn(&P) -> Scorer,
) -> EntrantRun {
    for row in (0..contest.rows.len()).filter(|row| split.is_held[*row]) {
        learner.retire(row);
    }
    let mut run = EntrantRun::default();
    while learner.time() < contest.budget {
        let before = learner.answered();
        let mut answers = vec![];
        for _ in 0..contest.batch.min(contest.budget - learner.time()) {
            let left = learner.left() as f64;
            match learner.ask(contest.rows) {
                Ok(drawn) => {
                    if let Some(rate) = drawn.rate {
                        run.chances.push((left * drawn.uncertainty / (left * rate)).log10());
                    }
                    answers.push((contest.rows.row(drawn.row), drawn, contest.labels[drawn.row]));
                }
                Err(reason) => {
                    run.stopped = Some(reason.to_string());
                    break;
                }
            }
        }
        if answers.is_empty() {
            break;
        }
        if let Err(diverged) = learner.answer(&answers) {
            run.stopped = Some(diverged.to_string());
            break;
        }
        if is_milestone(before, learner.answered()) || learner.answered() == contest.budget || run.stopped.is_some() {
            run.points.push((learner.answered(), measure(contest, task, split, &model(&learner))));
        }
        if run.stopped.is_some() {
            break;
        }
    }
    run.calibration = calibration(contest, task, split, &model(&learner));
    run
}

fn sgd_pool(contest: &Contest<'_>, task: Box<dyn Task>, entrant: &Entrant, seed: u64) -> Result<SgdPool, EntrantFault> {
    let settings =
        SgdSettings { draw: entrant.draw, replacement: Replacement::Without, importance: Importance::Equivalent, seed };
    let rules = Rules::only(entrant.rule.clone());
    Ok(SgdPool::new(learner(contest, task)?, rules, contest.rows.len(), settings)?)
}

fn refit_pool(
    contest: &Contest<'_>,
    task: Box<dyn Task>,
    entrant: &Entrant,
    (objective, strength): (Objective, Option<f64>),
    seed: u64,
) -> Result<RefitPool, EntrantFault> {
    let refit = Refit::new(&*task, true, contest.rows.empty_like(), strength, seed)?;
    let settings = RefitSettings { draw: entrant.draw, seed, refit, objective, labels: contest.kind };
    let cold = ColdDraws::of_rule(&entrant.rule);
    let rules = Rules::only(entrant.rule.clone());
    Ok(RefitPool::new(learner(contest, task)?, rules, contest.rows.len(), settings)?.with_cold_draws(cold))
}

fn learner(contest: &Contest<'_>, task: Box<dyn Task>) -> Result<Learner, EntrantFault> {
    let optimizer = Optimizer::new(Momentum::None, Clock::Query, Constraint::default());
    Ok(Learner::new(task, true, contest.rows.dim(), optimizer, Steps::new(StepSize::Auto), None)?)
}

/// Returns θ̄, intercepts first.
fn mean_model(pool: &SgdPool) -> Scorer {
    Scorer::new(pool.learner().task().outputs(), &pool.learner().mean())
}

/// Returns whether the curve has a point here: at every label up to 20, then about 20 per decade, and at 25, 50, 100,
/// 200 …
fn is_milestone(before: u64, now: u64) -> bool {
    let step = |labels: u64| ((labels.max(1) as f64).log10() * 20.0).floor();
    let round = |labels: u64| (0..40).filter(|power| (25_u64 << power) <= labels).count();
    now <= 20 || step(before) < step(now) || round(before) < round(now)
}
