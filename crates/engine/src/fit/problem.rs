//! The objective of a fit: F(θ) = Σ wᵢ·ℓ(θ; xᵢ, yᵢ) + λ/2·‖W‖² + [`INTERCEPT`]·λ/2·‖b‖².

use super::dual;
use super::gram::DualRows;
use super::span::SpanAnswers;
use crate::features::Features;
use crate::linear::Linear;
use crate::rows::Rows;
use crate::task::Task;

/// The penalty of intercepts relative to that of weights, enough to keep them finite while only one class has answers.
pub const INTERCEPT: f64 = 1e-2;

/// Answers, their weights, and the strength of the penalty.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    /// The task; its slope must be continuous.
    pub task: &'a dyn Task,
    /// The model.
    pub model: Linear,
    /// The features of each answer.
    pub rows: AnswerRows<'a>,
    /// The labels.
    pub labels: &'a [f64],
    /// The weight of each answer; answers with weight 0 are skipped.
    pub weights: &'a [f64],
    /// λ, above 0.
    pub strength: f64,
}

/// The features of answers, as rows or as coordinates in their span; dual answers are rows with dual parameters.
#[derive(Clone, Copy, Debug)]
pub struct AnswerRows<'a>(RowSource<'a>);

#[derive(Clone, Copy, Debug)]
enum RowSource<'a> {
    Rows(&'a Rows),
    Span(&'a SpanAnswers),
    Dual(DualRows<'a>),
}

impl<'a> From<&'a Rows> for AnswerRows<'a> {
    fn from(rows: &'a Rows) -> Self {
        Self(RowSource::Rows(rows))
    }
}

impl<'a> AnswerRows<'a> {
    /// Returns the coordinates of answers in their span.
    pub(super) fn spanned(span: &'a SpanAnswers) -> Self {
        Self(RowSource::Span(span))
    }

    /// Returns answers whose parameters are dual.
    pub(super) fn dual(rows: DualRows<'a>) -> Self {
        Self(RowSource::Dual(rows))
    }

    /// Returns the answers if their parameters are dual.
    pub(super) fn as_dual(self) -> Option<DualRows<'a>> {
        match self.0 {
            RowSource::Dual(rows) => Some(rows),
            RowSource::Rows(_) | RowSource::Span(_) => None,
        }
    }

    /// Returns the number of features, coordinates or dual rows of parameters.
    fn dim(self) -> usize {
        match self.0 {
            RowSource::Rows(rows) => rows.dim(),
            RowSource::Span(span) => span.dim(),
            RowSource::Dual(dual) => dual.len(),
        }
    }

    /// Returns whether rows are coordinates in their span.
    pub(super) fn is_span(self) -> bool {
        matches!(self.0, RowSource::Span(_))
    }

    /// Returns whether the values of a row are those of the first features, without gaps.
    pub(super) fn is_dense(self) -> bool {
        !matches!(self.0, RowSource::Rows(Rows::Sparse(_)))
    }

    /// Calls `take` with every stored feature of an answer.
    pub(super) fn each(self, answer: usize, take: impl FnMut(usize, f64)) {
        match self.0 {
            RowSource::Rows(rows) => rows.row(answer).each(take),
            RowSource::Span(span) => span.row(answer).each(take),
            RowSource::Dual(dual) => dual.row(answer).each(take),
        }
    }

    /// Returns ‖x‖² of an answer.
    pub(super) fn norm_squared(self, answer: usize) -> f64 {
        match self.0 {
            RowSource::Rows(rows) => rows.row(answer).norm_squared(),
            RowSource::Span(span) => span.row(answer).norm_squared(),
            RowSource::Dual(dual) => dual.row(answer).norm_squared(),
        }
    }
}

/// The second derivatives of the losses at one point.
#[derive(Clone, Debug, Default)]
pub(super) struct Curvature {
    scores: Vec<f64>,
    /// The scores prepared for [`Task::curve_prepared`].
    prepared: Vec<f64>,
}

/// F and its gradient at one point.
#[derive(Clone, Debug, Default)]
pub(super) struct EvaluatedPoint {
    pub(super) value: f64,
    pub(super) gradient: Vec<f64>,
    pub(super) curvature: Curvature,
}

impl Curvature {
    /// Applies w·∇²ℓ of one answer to a direction in its scores.
    pub(super) fn apply(&self, problem: &Problem<'_>, answer: usize, direction: &[f64], out: &mut [f64]) {
        let outputs = problem.model.outputs;
        let prepared = &self.prepared[answer * outputs..][..outputs];
        problem.task.curve_prepared(prepared, problem.labels[answer], direction, out);
        for value in out {
            *value *= problem.weights[answer];
        }
    }

    /// Writes the diagonal of w·∇²ℓ of one answer.
    pub(super) fn diagonal(&self, problem: &Problem<'_>, answer: usize, out: &mut [f64]) {
        let outputs = problem.model.outputs;
        let scores = &self.scores[answer * outputs..][..outputs];
        problem.task.curvatures(scores, problem.labels[answer], out);
        for value in out {
            *value *= problem.weights[answer];
        }
    }
}

impl Problem<'_> {
    /// Returns the number of parameters.
    pub fn parameters(&self) -> usize {
        self.model.parameters(self.rows.dim())
    }

    /// Returns F at θ, intercepts first.
    pub fn value(&self, theta: &[f64]) -> f64 {
        self.point(theta).value
    }

    /// Returns the gradient of F at θ.
    pub fn gradient(&self, theta: &[f64]) -> Vec<f64> {
        self.point(theta).gradient
    }

    /// Returns the indices of answers with nonzero weight.
    pub(super) fn used(&self) -> impl Iterator<Item = usize> {
        (0..self.labels.len()).filter(|answer| self.weights[*answer] != 0.0)
    }

    /// Returns the penalty of each parameter.
    pub(super) fn penalties(&self) -> impl Iterator<Item = f64> {
        let (outputs, strength) = (self.model.outputs, self.strength);
        (0..self.parameters()).map(move |p| if p < outputs { INTERCEPT * strength } else { strength })
    }

    pub(super) fn point(&self, theta: &[f64]) -> EvaluatedPoint {
        match self.rows.0 {
            RowSource::Rows(Rows::Dense(rows)) => self.point_of(theta, rows.by_place()),
            RowSource::Rows(Rows::Sparse(rows)) => self.point_of(theta, |answer| rows.row(answer)),
            RowSource::Span(span) => self.point_of(theta, |answer| span.row(answer)),
            RowSource::Dual(_) => unreachable!("dual parameters are evaluated in `dual.rs`"),
        }
    }

    fn point_of<X: Features>(&self, theta: &[f64], row: impl Fn(usize) -> X) -> EvaluatedPoint {
        let outputs = self.model.outputs;
        let mut scores = vec![0.0; outputs * self.labels.len()];
        let mut gradient = vec![0.0; theta.len()];
        let mut slope = vec![0.0; outputs];
        let mut value = 0.0;
        for answer in self.used() {
            let (x, scores) = (row(answer), &mut scores[answer * outputs..][..outputs]);
            self.model.scores(theta, x, scores);
            value += self.weights[answer] * self.task.loss(scores, self.labels[answer]);
            self.task.slope(scores, self.labels[answer], &mut slope);
            self.model.add_gradient(x, &slope, self.weights[answer], &mut gradient);
        }
        for ((g, t), penalty) in gradient.iter_mut().zip(theta).zip(self.penalties()) {
            value += 0.5 * penalty * t * t;
            *g += penalty * t;
        }
        let prepared = self.prepared(&scores);
        EvaluatedPoint { value, gradient, curvature: Curvature { scores, prepared } }
    }

    /// Returns the scores of all answers, prepared for [`Task::curve_prepared`].
    pub(super) fn prepared(&self, scores: &[f64]) -> Vec<f64> {
        let mut prepared = scores.to_vec();
        for (answer, scores) in prepared.chunks_exact_mut(self.model.outputs).enumerate() {
            self.task.prepare_curve(scores, self.labels[answer]);
        }
        prepared
    }

    /// Applies the Hessian to a direction.
    pub(super) fn curve(&self, curvature: &Curvature, direction: &[f64], out: &mut [f64]) {
        match self.rows.0 {
            RowSource::Rows(Rows::Dense(rows)) => self.curve_of(curvature, direction, out, rows.by_place()),
            RowSource::Rows(Rows::Sparse(rows)) => self.curve_of(curvature, direction, out, |answer| rows.row(answer)),
            RowSource::Span(span) => self.curve_of(curvature, direction, out, |answer| span.row(answer)),
            RowSource::Dual(_) => unreachable!("dual parameters are evaluated in `dual.rs`"),
        }
    }

    fn curve_of<X: Features>(
        &self,
        curvature: &Curvature,
        direction: &[f64],
        out: &mut [f64],
        row: impl Fn(usize) -> X,
    ) {
        let outputs = self.model.outputs;
        let (mut along, mut curved) = (vec![0.0; outputs], vec![0.0; outputs]);
        for ((out, d), penalty) in out.iter_mut().zip(direction).zip(self.penalties()) {
            *out = penalty * d;
        }
        for answer in self.used() {
            let x = row(answer);
            self.model.scores(direction, x, &mut along);
            curvature.apply(self, answer, &along, &mut curved);
            self.model.add_gradient(x, &curved, 1.0, out);
        }
    }

    /// Appends weight·loss of each answer with nonzero weight; these weights may differ from those of the fit.
    pub(super) fn add_losses(&self, theta: &[f64], weights: &[f64], losses: &mut Vec<f64>) {
        let outputs = self.model.outputs;
        let scores = match self.rows.0 {
            RowSource::Rows(rows) => self.scores_of(theta, weights, |answer| rows.row(answer)),
            RowSource::Span(span) => self.scores_of(theta, weights, |answer| span.row(answer)),
            RowSource::Dual(dual) => dual::scores(dual, theta, outputs),
        };
        for (answer, weight) in weights.iter().enumerate().filter(|(_, weight)| **weight != 0.0) {
            losses.push(weight * self.task.loss(&scores[answer * outputs..][..outputs], self.labels[answer]));
        }
    }

    /// Returns the scores of answers; those with weight 0 are left at 0.
    fn scores_of<X: Features>(&self, theta: &[f64], weights: &[f64], row: impl Fn(usize) -> X) -> Vec<f64> {
        let outputs = self.model.outputs;
        let mut scores = vec![0.0; outputs * weights.len()];
        for (answer, scores) in scores.chunks_exact_mut(outputs).enumerate() {
            if weights[answer] != 0.0 {
                self.model.scores(theta, row(answer), scores);
            }
        }
        scores
    }
}
