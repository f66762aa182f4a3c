//! Fits that use few labels fully: after each answer, the parameters that minimize the regularized loss of all answers.

use std::fmt::{self, Display};

use crate::coin::Coin;
use crate::linear::Linear;
use crate::rows::{Row, Rows};
use crate::task::Task;

mod compact;
mod dual;
mod factor;
mod gram;
mod newton;
mod postings;
mod problem;
mod span;
mod strength;

pub use newton::NewtonEnd;
pub use problem::{AnswerRows, INTERCEPT, Problem};
pub use strength::SPREAD;

pub(crate) use factor::dot;

use compact::CompactAnswers;
use factor::MOST_FACTORED;
use gram::{DualRows, Gram};
use newton::Newton;
use span::{MOST_SPANNED, SpanAnswers};
use strength::Strength;

/// A model fitted to all answers.
#[derive(Debug)]
pub struct Refit {
    task: Box<dyn Task>,
    model: Linear,
    rows: Rows,
    labels: Vec<f64>,
    items: Vec<u64>,
    state: FitState,
    /// The state saved at the last fit that took part in choosing λ.
    kept: FitState,
    strength: Strength,
    /// The answers by the features that occur in them, if the rows have many more.
    compact: Option<CompactAnswers>,
    /// The answers by their coordinates, if they are fewer than the features.
    span: Option<SpanAnswers>,
    /// The products of answers, if there are several scores and many parameters. Then parameters are dual.
    gram: Option<Gram>,
}

/// The state from which the next fit starts.
#[derive(Clone, Debug, Default)]
struct FitState {
    theta: Vec<f64>,
    newton: Newton,
    /// The dual parameters, if there are any.
    dual: Vec<f64>,
}

/// The error for a loss with kinks that a fit cannot smooth.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NoFit {
    /// The name of the loss.
    pub loss: String,
}

impl Display for NoFit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` for more than two classes has kinks everywhere: it can be learned by steps, not by a fit",
            self.loss
        )
    }
}

impl std::error::Error for NoFit {}

/// The tolerance of fits: they end when ‖∇F‖ is below this times (1 + Σw).
const TOLERANCE: f64 = 1e-9;
/// The same for dual parameters, which converge more slowly near the end. F exceeds its minimum by a share below 10⁻¹⁰.
const DUAL_TOLERANCE: f64 = 1e-8;

/// Sparse rows with more features than this are fitted by the features that occur in answers.
pub(crate) const MANY: usize = 4096;

/// The tolerance of fits of which only decisions are used.
const COARSE: f64 = 1e-6;

impl Refit {
    /// Creates a fit without answers, θ = 0. If `strength` is `None`, λ is chosen from the answers.
    pub fn new(task: &dyn Task, intercept: bool, empty: Rows, strength: Option<f64>, seed: u64) -> Result<Self, NoFit> {
        let task = task.smooth().ok_or_else(|| NoFit { loss: task.name().to_owned() })?;
        let model = Linear { outputs: task.outputs(), intercept };
        let theta = vec![0.0; model.parameters(empty.dim())];
        let strength = Strength::new(strength, model.outputs, seed);
        let compact = (matches!(empty, Rows::Sparse(_)) && MANY < empty.dim()).then(CompactAnswers::new);
        let span = (model.outputs == 1 && MOST_FACTORED < empty.dim()).then(SpanAnswers::default);
        let size = if matches!(empty, Rows::Sparse(_)) { empty.dim() } else { theta.len() };
        let gram = (1 < model.outputs && MOST_FACTORED < size).then(Gram::default);
        let state = FitState { theta, newton: Newton::default(), dual: vec![0.0; model.outputs] };
        let kept = state.clone();
        let (labels, items) = (vec![], vec![]);
        Ok(Self { task, model, rows: empty, labels, items, state, kept, strength, compact, span, gram })
    }

    /// Returns a fit without answers, of other features but with the same settings.
    pub(crate) fn like(&self, empty: Rows) -> Self {
        let (fixed, seed) = self.strength.settings();
        Self::new(&*self.task, self.model.intercept, empty, fixed, seed).expect("a smooth loss stays smooth")
    }

    /// Returns whether scores have an intercept.
    pub(crate) fn has_intercept(&self) -> bool {
        self.model.intercept
    }

    /// Returns the number of scores.
    pub(crate) fn outputs(&self) -> usize {
        self.model.outputs
    }

    /// Fits in the features themselves, never by coordinates or dual parameters. The minimum is the same, but not its
    /// last digits.
    pub fn by_features(self) -> Self {
        Self { span: None, gram: None, ..self }
    }

    /// Fits as version 0.1 did, for its runs: in the features themselves, and with its choice of λ.
    pub fn like_version_0_1(self) -> Self {
        Self { strength: self.strength.like_version_0_1(), ..self }.by_features()
    }

    /// Adds an answer. `item` is its index in the pool.
    pub fn add(&mut self, item: u64, x: Row<'_>, label: f64) {
        self.rows.push(x);
        if let (Some(compact), Row::Sparse(x)) = (&mut self.compact, x) {
            compact.push(x);
        }
        self.labels.push(label);
        self.items.push(item);
        self.extend_span();
        self.extend_gram();
    }

    /// Adds the products of the last answer with all others.
    fn extend_gram(&mut self) {
        let Some(mut gram) = self.gram.take() else { return };
        gram.push(self.fitted_rows());
        self.gram = Some(gram);
    }

    /// Adds the coordinates of the last answer. From some number of answers on, features are cheaper than coordinates.
    fn extend_span(&mut self) {
        let Some(mut span) = self.span.take() else { return };
        if self.labels.len() <= MOST_SPANNED {
            span.push(self.fitted_rows());
            self.span = Some(span);
        } else {
            (self.state.newton, self.kept.newton) = (Newton::default(), Newton::default());
        }
    }

    /// Returns the answers by the features that are fitted.
    fn fitted_rows(&self) -> &Rows {
        self.compact.as_ref().map_or(&self.rows, CompactAnswers::rows)
    }

    /// Minimizes the loss of all answers with these weights, scaled to a mean of 1, so that λ keeps its meaning.
    ///
    /// # Panics
    /// If there is not exactly one weight for every answer.
    pub fn fit(&mut self, weights: &[f64]) -> NewtonEnd {
        assert_eq!(weights.len(), self.labels.len(), "a weight for every answer");
        let total: f64 = weights.iter().sum();
        let share = if 0.0 < total { weights.len() as f64 / total } else { 0.0 };
        let weights: Vec<f64> = weights.iter().map(|weight| share * weight).collect();
        let mut theta = self.gathered();
        let mut newton = std::mem::take(&mut self.state.newton);
        let mut strength = std::mem::take(&mut self.strength);
        let problem = self.problem(&weights);
        strength.choose(&problem, &self.items, &theta, &newton);
        let problem = Problem { strength: strength.now(), ..problem };
        let tolerance = if self.gram.is_some() { DUAL_TOLERANCE } else { TOLERANCE };
        let mut ended = newton.minimize(&problem, &mut theta, tolerance);
        if let Some(span) = &self.span {
            // The coordinates of nearly dependent answers are inexact. Usually this only checks the gradient.
            let rows = self.fitted_rows();
            theta = span.scatter(&theta, rows);
            ended = Newton::default().minimize(&Problem { rows: rows.into(), ..problem }, &mut theta, TOLERANCE);
        }
        (self.state.newton, self.strength) = (newton, strength);
        let mut of_features = std::mem::take(&mut self.state.theta);
        self.scatter(&theta, &mut of_features);
        self.state.theta = of_features;
        if self.gram.is_some() {
            self.state.dual = theta;
        }
        ended
    }

    /// Returns the minimization problem of the answers with these weights, in the fitted features.
    fn problem<'a>(&'a self, weights: &'a [f64]) -> Problem<'a> {
        let rows = match (&self.span, &self.gram, self.fitted_rows()) {
            (Some(span), ..) => AnswerRows::spanned(span),
            (None, Some(gram), rows) => AnswerRows::dual(DualRows::new(rows, gram)),
            (None, _, rows) => rows.into(),
        };
        Problem {
            task: &*self.task,
            model: self.model,
            rows,
            labels: &self.labels,
            weights,
            strength: self.strength.now(),
        }
    }

    /// Saves the state from which fits after [`Self::go_back`] start.
    pub(crate) fn keep(&mut self) {
        self.kept = self.state.clone();
    }

    /// Restores the saved state, as if there had been no fit since; the answers stay.
    pub(crate) fn go_back(&mut self) {
        self.state.clone_from(&self.kept);
    }

    /// Returns the parameters from which a fit starts, in the fitted features, in coordinates, or dual.
    fn gathered(&self) -> Vec<f64> {
        if self.gram.is_some() {
            let mut dual = self.state.dual.clone();
            dual.resize((self.labels.len() + 1) * self.model.outputs, 0.0);
            return dual;
        }
        let theta = match &self.compact {
            Some(compact) => compact.gather(&self.state.theta, self.model.outputs),
            None => self.state.theta.clone(),
        };
        match &self.span {
            Some(span) => span.gather(&theta, self.fitted_rows()),
            None => theta,
        }
    }

    /// Writes the parameters of the features that occur in answers; all others are 0 already.
    fn scatter(&self, fitted: &[f64], theta: &mut [f64]) {
        let outputs = self.model.outputs;
        match (&self.gram, &self.compact) {
            (Some(gram), _) => {
                theta[..outputs].copy_from_slice(&fitted[..outputs]);
                DualRows::new(&self.rows, gram).write_weights(&fitted[outputs..], outputs, &mut theta[outputs..]);
            }
            (None, Some(compact)) => compact.scatter(fitted, theta, outputs),
            (None, None) => theta.copy_from_slice(fitted),
        }
    }

    /// Returns the parameters fitted with other weights and the current λ, without changing the state.
    ///
    /// # Panics
    /// If there is not exactly one weight for every answer.
    pub fn fitted_to(&self, weights: &[f64]) -> Vec<f64> {
        assert_eq!(weights.len(), self.labels.len(), "a weight for every answer");
        let counted = weights.iter().filter(|weight| **weight != 0.0).count() as f64;
        let total: f64 = weights.iter().sum();
        let share = if 0.0 < total { counted / total } else { 0.0 };
        let weights: Vec<f64> = weights.iter().map(|weight| share * weight).collect();
        let mut theta = self.gathered();
        self.state.newton.clone().minimize(&self.problem(&weights), &mut theta, COARSE);
        if let Some(span) = &self.span {
            theta = span.scatter(&theta, self.fitted_rows());
        }
        let mut of_features = vec![0.0; self.state.theta.len()];
        self.scatter(&theta, &mut of_features);
        of_features
    }

    /// Returns the index of each answer in the pool.
    pub fn items(&self) -> &[u64] {
        &self.items
    }

    /// Returns the number of answers.
    pub fn answers(&self) -> usize {
        self.labels.len()
    }

    /// Returns the features of the answers, in order of arrival.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Returns the labels.
    pub fn labels(&self) -> &[f64] {
        &self.labels
    }

    /// Returns θ, intercepts first.
    pub fn theta(&self) -> &[f64] {
        &self.state.theta
    }

    /// Returns the number of answers from which on a fit takes part in choosing λ.
    pub(crate) fn due(&self) -> usize {
        self.strength.due()
    }

    /// Returns λ.
    pub fn strength(&self) -> f64 {
        self.strength.now()
    }
}

/// Fits these answers from θ = 0 and returns the parameters, intercepts first.
pub fn minimize(problem: &Problem<'_>) -> (Vec<f64>, NewtonEnd) {
    let mut theta = vec![0.0; problem.parameters()];
    let ended = Newton::default().minimize(problem, &mut theta, TOLERANCE);
    (theta, ended)
}

/// Chooses λ from these answers. Of many answers, about 2,000 are used: the best λ hardly depends on their number.
pub fn strength(problem: &Problem<'_>, seed: u64) -> f64 {
    const ENOUGH: f64 = 2000.0;
    let items: Vec<u64> = (0..problem.labels.len() as u64).collect();
    let used = problem.weights.iter().filter(|weight| **weight != 0.0).count() as f64;
    let coin = Coin::new(seed, "some");
    let keep = |(weight, item): (&f64, &u64)| if coin.unit(*item) * used < ENOUGH { *weight } else { 0.0 };
    let weights: Vec<f64> = problem.weights.iter().zip(&items).map(keep).collect();
    let mut strength = Strength::new(None, problem.model.outputs, seed);
    strength.settle(&Problem { weights: &weights, ..*problem }, &items);
    strength.now()
}
