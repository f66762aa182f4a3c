//! Comparisons of rules on labeled data: learning curves over many seeds, and their summary.
//!
//! All entrants of a seed have the same split and the same cold start, so differences are paired. Runs are independent,
//! so they run in parallel, and their results do not depend on the schedule.

use rayon::prelude::{IntoParallelIterator, ParallelIterator};

use crate::coin::Coin;
use crate::fit::{self, NoFit, Problem, Refit, minimize};
use crate::learner::Learner;
use crate::linear::Linear;
use crate::narrow::Narrow;
use crate::optimizer::{Clock, Constraint, Momentum, Optimizer};
use crate::pool::{Draw, Objective, PoolLearner, RefitPool, RefitSettings, Replacement, SgdPool, SgdSettings};
use crate::rows::Rows;
use crate::rule::Rule;
use crate::step::{StepSize, Steps};
use crate::stream::{Importance, Rules};
use crate::task::{Labels, Task};

mod entrant_error;
mod summary;
mod verdict;

pub use entrant_error::{EntrantError, EntrantFault};
pub use summary::{Curve, SeedInterval, Stage, against, labels_saved, labels_to, summarize};
pub use verdict::{ComparisonVerdict, Winner, verdict};

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

/// The number of equal bins of [0, 1].
pub const BINS: usize = 10;

/// A run of one entrant with one seed.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct EntrantRun {
    /// (labels, accuracy or R², mean loss) on the test rows.
    pub points: Vec<(u64, f64, f64)>,
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
    /// The score of a fit to all labels of the pool, for each seed.
    pub full: Vec<f64>,
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
    done: &(dyn Fn() + Sync),
) -> Result<Comparison, EntrantError> {
    entrants.iter().try_for_each(|entrant| check(&*task(), entrant))?;
    let narrow = NarrowContest::new(contest);
    let contest = &narrow.as_ref().map_or(*contest, |narrow| narrow.contest(contest));
    let jobs: Vec<(usize, usize)> =
        (0..seeds.len()).flat_map(|seed| (0..=entrants.len()).map(move |entrant| (entrant, seed))).collect();
    // The last job of a seed is the fit to all labels.
    let results: Result<Vec<(EntrantRun, f64)>, EntrantError> = jobs
        .into_par_iter()
        .map(|(entrant, seed)| {
            let split = ContestSplit::new(contest, seeds[seed]);
            let result = match entrants.get(entrant) {
                Some(entrant) => (run_entrant(contest, &*task(), task(), entrant, &split, seeds[seed])?, f64::NAN),
                None => (EntrantRun::default(), full_score(contest, &*task(), &split, seeds[seed])),
            };
            done();
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
            run_pool(contest, task, split, pool, mean_parameters)
        }
        Fit::Refit { objective, strength } => {
            let pool = refit_pool(contest, own, entrant, (objective, strength), seed);
            let pool = pool.map_err(|reason| entrant.error(reason))?;
            run_pool(contest, task, split, pool, |pool| pool.refit().theta().to_vec())
        }
    })
}

/// Asks and answers until the budget is spent, and measures the parameters that `parameters` returns, intercepts first.
fn run_pool<P: PoolLearner>(
    contest: &Contest<'_>,
    task: &dyn Task,
    split: &ContestSplit,
    mut learner: P,
    parameters: impl Fn(&P) -> Vec<f64>,
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
            let theta = parameters(&learner);
            let (accuracy, loss) = score(contest, task, split, &theta);
            run.points.push((learner.answered(), accuracy, loss));
        }
        if run.stopped.is_some() {
            break;
        }
    }
    run.calibration = calibration(contest, task, split, &parameters(&learner));
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
    let rules = Rules::only(entrant.rule.clone());
    Ok(RefitPool::new(learner(contest, task)?, rules, contest.rows.len(), settings)?)
}

fn learner(contest: &Contest<'_>, task: Box<dyn Task>) -> Result<Learner, EntrantFault> {
    let optimizer = Optimizer::new(Momentum::None, Clock::Query, Constraint::default());
    Ok(Learner::new(task, true, contest.rows.dim(), optimizer, Steps::new(StepSize::Auto), None)?)
}

/// Returns θ̄, intercepts first.
fn mean_parameters(pool: &SgdPool) -> Vec<f64> {
    let (mean, outputs) = (pool.learner().mean(), pool.learner().task().outputs());
    let (weights, intercept) = mean.split_at(mean.len() - outputs);
    [intercept, weights].concat()
}

/// Returns whether the curve has a point here: at every label up to 20, then about 20 per decade, and at 25, 50, 100,
/// 200 …
fn is_milestone(before: u64, now: u64) -> bool {
    let step = |labels: u64| ((labels.max(1) as f64).log10() * 20.0).floor();
    let round = |labels: u64| (0..40).filter(|power| (25_u64 << power) <= labels).count();
    now <= 20 || step(before) < step(now) || round(before) < round(now)
}

/// Returns the accuracy, or R² for numbers, and the mean loss.
fn score(contest: &Contest<'_>, task: &dyn Task, split: &ContestSplit, theta: &[f64]) -> (f64, f64) {
    let model = Linear { outputs: task.outputs(), intercept: true };
    let mut scores = vec![0.0; model.outputs];
    let (mut n, mut loss, mut right) = (0.0, 0.0, 0.0);
    let (mut sum, mut squares, mut errors) = (0.0, 0.0, 0.0);
    for (x, label) in split.test(contest) {
        model.scores(theta, x, &mut scores);
        n += 1.0;
        loss += task.loss(&scores, label);
        right += f64::from(u8::from(task.decide(&scores) == label));
        sum += label;
        squares += label * label;
        errors += (scores[0] - label) * (scores[0] - label);
    }
    if n == 0.0 {
        return (f64::NAN, f64::NAN);
    }
    let variance = squares / n - (sum / n) * (sum / n);
    let accuracy = if task.is_classification() { right / n } else { 1.0 - errors / n / variance };
    (accuracy, loss / n)
}

/// Counts decisions by their probability and correctness; all counts are 0 if the loss defines no probability.
fn calibration(contest: &Contest<'_>, task: &dyn Task, split: &ContestSplit, theta: &[f64]) -> [(u64, f64, u64); BINS] {
    let mut bins = [(0, 0.0, 0); BINS];
    let model = Linear { outputs: task.outputs(), intercept: true };
    let mut scores = vec![0.0; model.outputs];
    for (x, label) in split.test(contest) {
        model.scores(theta, x, &mut scores);
        let Some(probabilities) = task.probabilities(&scores) else { return bins };
        let confidence = probabilities.iter().copied().fold(0.0, f64::max);
        let bin = &mut bins[((confidence * BINS as f64) as usize).min(BINS - 1)];
        bin.0 += 1;
        bin.1 += confidence;
        bin.2 += u64::from(task.decide(&scores) == label);
    }
    bins
}

/// Returns the score of a fit to every label of the pool.
fn full_score(contest: &Contest<'_>, task: &dyn Task, split: &ContestSplit, seed: u64) -> f64 {
    let Some(smooth) = task.smooth() else { return f64::NAN };
    let weights: Vec<f64> = split.is_held.iter().map(|held| if *held { 0.0 } else { 1.0 }).collect();
    let model = Linear { outputs: task.outputs(), intercept: true };
    let problem =
        Problem { task: &*smooth, model, rows: contest.rows, labels: contest.labels, weights: &weights, strength: 1.0 };
    let problem = Problem { strength: fit::strength(&problem, seed), ..problem };
    score(contest, task, split, &minimize(&problem).0).0
}
