//! Learners compared with a textbook implementation of Algorithm 1 (label alg:USGD), written number by number.
//!
//! It shares nothing with the engine but the slope of a task; rules and losses are those of `querist_theory`. U and θ
//! are compared after every observation, and θ̄ after some. The textbook then continues from the learner's θ, so that
//! rounding errors do not accumulate.

mod common;

use std::collections::VecDeque;

use common::{LearnerRecipe, TASKS, plain, without_zeros};
use querist_engine::optimizer::{Beta, Clock, Constraint, Momentum};
use querist_engine::step::StepSize;
use querist_engine::stream::{Importance, Rules, StreamLearner};
use querist_engine::task::{self, Labels, Task};
use querist_rows::Features;
use querist_rows::{DenseRows, Rows};
use querist_theory::registry::Named;
use querist_theory::uncertainty::{self, Uncertainty};
use querist_theory::vector::{self, VectorScore};

const DIM: usize = 5;
const OBSERVATIONS: usize = 90;
const WINDOW: u64 = 30;

/// The stored numbers of a row, with their indices.
type Numbers = Vec<(usize, f64)>;

/// The rule that computes U.
enum TextbookRule {
    Score(Named<dyn Uncertainty>),
    Classes(Named<dyn VectorScore>),
    ConditionalLoss,
}

impl TextbookRule {
    fn new(recipe: &LearnerRecipe) -> Self {
        match recipe.labels {
            _ if recipe.rule == "conditional-loss" => TextbookRule::ConditionalLoss,
            Labels::Classes(_) => TextbookRule::Classes(vector::parse(recipe.rule).unwrap()),
            Labels::Binary | Labels::Numbers => {
                let loss = querist_theory::loss::parse(recipe.loss).unwrap();
                TextbookRule::Score(uncertainty::parse(recipe.rule, &loss).unwrap())
            }
        }
    }
}

/// Counts of events, so that no test passes without any.
#[derive(Debug, Default)]
struct Counts {
    answers: u64,
    skips: u64,
    /// Moves that the constraint shortened.
    held: u64,
}

/// Algorithm 1. Parameters are in the learner's order: weights feature by feature, then the intercepts.
struct Textbook<'a> {
    recipe: &'a LearnerRecipe,
    task: &'a dyn Task,
    law: &'a TextbookRule,
    theta: Vec<f64>,
    start: Vec<f64>,
    velocity: Vec<f64>,
    ticks: f64,
    /// Σ‖g‖² and the largest ‖θ − θ₁‖ of automatic steps.
    gradients: f64,
    farthest: f64,
    /// Every U up to now.
    uncertainties: Vec<f64>,
    /// Σ weight·θ and Σ weight.
    sum: Vec<f64>,
    weights: f64,
    /// Answered items, and their losses after the last answer.
    answered: Vec<(Numbers, f64)>,
    losses: Vec<f64>,
    counts: Counts,
}

impl<'a> Textbook<'a> {
    fn new(recipe: &'a LearnerRecipe, task: &'a dyn Task, law: &'a TextbookRule) -> Self {
        let parameters = (DIM + 1) * task.outputs();
        let start = recipe.start.clone().unwrap_or_else(|| vec![0.0; parameters]);
        Self {
            recipe,
            task,
            law,
            theta: start.clone(),
            start,
            velocity: vec![0.0; parameters],
            ticks: 0.0,
            gradients: 0.0,
            farthest: 0.0,
            uncertainties: vec![],
            sum: vec![0.0; parameters],
            weights: 0.0,
            answered: vec![],
            losses: vec![],
            counts: Counts::default(),
        }
    }

    /// Returns β at the current tick of the clock.
    fn beta(&self) -> f64 {
        match self.recipe.momentum {
            Momentum::None => 0.0,
            Momentum::HeavyBall(Beta::Constant(beta)) | Momentum::Nesterov(Beta::Constant(beta)) => beta,
            Momentum::HeavyBall(Beta::Rising { .. }) | Momentum::Nesterov(Beta::Rising { .. }) => {
                1.0 - 3.0 / (self.ticks + 3.0)
            }
        }
    }

    /// Returns the point where uncertainty and gradient are evaluated: θ, or θ + βv with Nesterov.
    fn point(&self) -> Vec<f64> {
        let ahead = if matches!(self.recipe.momentum, Momentum::Nesterov(_)) { self.beta() } else { 0.0 };
        self.theta.iter().zip(&self.velocity).map(|(t, v)| t + ahead * v).collect()
    }

    fn scores(&self, x: &Numbers) -> Vec<f64> {
        let (point, outputs) = (self.point(), self.task.outputs());
        let weighted = |k: usize| x.iter().map(|(j, x)| x * point[j * outputs + k]).sum::<f64>();
        (0..outputs).map(|k| point[DIM * outputs + k] + weighted(k)).collect()
    }

    fn uncertainty(&self, x: &Numbers) -> f64 {
        match self.law {
            TextbookRule::Score(rule) => rule.at(self.scores(x)[0]),
            TextbookRule::Classes(rule) => rule.at(&vector::softmax(&self.scores(x))),
            TextbookRule::ConditionalLoss => self.conditional_loss(x),
        }
    }

    /// Returns the kernel estimate of the loss at x in units of twice the mean loss, at least 0.05; 1 at first. The
    /// bandwidth's dimension counts the features of x that are not 0.
    fn conditional_loss(&self, x: &Numbers) -> f64 {
        if self.answered.len() < 2 {
            return 1.0;
        }
        let (answers, dim) = (self.answered.len() as f64, x.iter().filter(|(_, x)| *x != 0.0).count().max(1) as f64);
        let pairs = self.answered.windows(2).map(|pair| squared_distance(&pair[0].0, &pair[1].0));
        let spread = pairs.sum::<f64>() / (answers - 1.0);
        let bandwidth = answers.powf(-1.0 / (dim + 4.0)) * (spread / dim).sqrt();
        let kernel = |item: &Numbers| (-squared_distance(x, item) / (2.0 * bandwidth * bandwidth)).exp();
        let kernels: Vec<f64> = self.answered.iter().map(|(item, _)| kernel(item)).collect();
        let weighted: f64 = kernels.iter().zip(&self.losses).map(|(kernel, loss)| kernel * loss).sum();
        let twice_mean = 2.0 * self.losses.iter().sum::<f64>() / answers;
        (weighted / kernels.iter().sum::<f64>() / twice_mean).clamp(0.05, 1.0)
    }

    /// Returns the weight of θ in θ̄: the step for the next label if it depends on no gradient, its numerator for
    /// automatic steps.
    fn weight(&self) -> f64 {
        match self.recipe.step {
            StepSize::Fixed(step) => step,
            StepSize::InverseSqrt(step) => step / (self.counts.answers as f64 + 1.0).sqrt(),
            StepSize::Auto => self.farthest,
            StepSize::Pilot { unit, u_max, window } => {
                let seen =
                    self.uncertainties.get(..window as usize).filter(|seen| seen.len() < self.uncertainties.len());
                unit / seen.map_or(u_max, |seen| seen.iter().sum::<f64>() / window as f64).sqrt()
            }
        }
    }

    /// Processes an observation that is queried or skipped.
    fn observe(&mut self, u: f64, asked: bool) {
        self.uncertainties.push(u);
        let weight = self.weight();
        self.sum.iter_mut().zip(&self.theta).for_each(|(sum, t)| *sum += weight * t);
        self.weights += weight;
        if !asked {
            self.counts.skips += 1;
            if self.recipe.clock == Clock::Raw && self.recipe.momentum != Momentum::None {
                self.tick(&vec![0.0; self.theta.len()]);
            }
        }
    }

    /// Takes a step at the current parameters, on the answer to a query with probability u.
    fn answer(&mut self, x: &Numbers, u: f64, label: f64) {
        let outputs = self.task.outputs();
        let importance = if self.recipe.importance == Importance::Original { 1.0 / u } else { 1.0 };
        let mut slope = vec![0.0; outputs];
        self.task.slope(&self.scores(x), label, &mut slope);
        let mut gradient = vec![0.0; self.theta.len()];
        for k in 0..outputs {
            for (j, x) in x {
                gradient[j * outputs + k] = importance * slope[k] * x;
            }
            gradient[DIM * outputs + k] = importance * slope[k];
        }
        let size = self.size(x, &gradient);
        for (g, w) in gradient.iter_mut().zip(self.point()).take(DIM * outputs) {
            *g += importance * self.recipe.constraint.l2 * w;
        }
        self.tick(&gradient.iter().map(|g| -size * g).collect::<Vec<_>>());
        self.farthest = self.farthest.max(distance(&self.theta, &self.start));
        self.counts.answers += 1;
        self.answered.push((x.clone(), label));
        self.losses = self.answered.iter().map(|(x, label)| self.loss(x, *label)).collect();
    }

    /// Returns the step for this gradient of the loss.
    fn size(&mut self, x: &Numbers, gradient: &[f64]) -> f64 {
        if self.recipe.step != StepSize::Auto {
            return self.weight();
        }
        if self.counts.answers == 0 {
            self.farthest = 0.1 / (1.0 + x.iter().map(|(_, x)| x * x).sum::<f64>()).sqrt();
        }
        self.gradients += gradient.iter().map(|g| g * g).sum::<f64>();
        if self.gradients == 0.0 { 0.0 } else { self.farthest * (1.0 - self.beta()) / self.gradients.sqrt() }
    }

    /// Advances the clock by one tick with this force.
    fn tick(&mut self, force: &[f64]) {
        let beta = self.beta();
        for ((v, t), force) in self.velocity.iter_mut().zip(&mut self.theta).zip(force) {
            *v = beta * *v + force;
            *t += *v;
        }
        self.ticks += 1.0;
        let norm = distance(&self.theta, &vec![0.0; self.theta.len()]);
        if let Some(radius) = self.recipe.constraint.radius.filter(|radius| *radius < norm) {
            self.theta.iter_mut().for_each(|t| *t *= radius / norm);
            self.counts.held += 1;
        }
    }

    fn loss(&self, x: &Numbers, label: f64) -> f64 {
        let scores = self.scores(x);
        match self.recipe.labels {
            Labels::Classes(_) => vector::cross_entropy(&scores, label as usize),
            Labels::Binary | Labels::Numbers => (scores[0] - label).powi(2),
        }
    }
}

/// Returns ‖x − y‖² of two rows.
fn squared_distance(x: &Numbers, y: &Numbers) -> f64 {
    let mut difference = [0.0; DIM];
    for (j, x) in x {
        difference[*j] += x;
    }
    for (j, y) in y {
        difference[*j] -= y;
    }
    difference.iter().map(|d| d * d).sum()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

/// Returns labels, and rows in which about a third of the numbers are 0.
fn rows(labels: Labels) -> (Rows, Vec<f64>) {
    let (Rows::Dense(dense), answers) = plain(OBSERVATIONS, DIM, 21, labels) else { panic!("dense") };
    let values = dense.into_values().into_iter().map(|x| if x.abs() < 0.33 { 0.0 } else { x }).collect();
    (Rows::Dense(DenseRows::from_values(DIM, values).unwrap()), answers)
}

/// Runs both implementations side by side, with each answer `late` queries late.
fn follow(what: &str, book: &mut Textbook<'_>, learner: &mut StreamLearner, rows: &Rows, labels: &[f64], late: usize) {
    let mut open = VecDeque::new();
    for (place, label) in labels.iter().enumerate() {
        let mut x = vec![];
        rows.row(place).each(|j, value| x.push((j, value)));
        let u = book.uncertainty(&x);
        let offer = learner.offer(rows.row(place));
        assert!((offer.probability - u).abs() <= 1e-12, "{what}, row {place}: U = {} for {u}", offer.probability);
        book.observe(u, offer.asked);
        if offer.asked {
            open.push_back((place, x, offer.probability, *label));
        }
        while late < open.len() || place + 1 == labels.len() {
            let Some((asked, x, u, label)) = open.pop_front() else { break };
            book.answer(&x, u, label);
            learner.answer(rows.row(asked), u, label).unwrap();
        }
        let theta = learner.learner().theta();
        for (j, (found, expected)) in theta.iter().zip(&book.theta).enumerate() {
            assert!((found - expected).abs() <= 1e-11, "{what}, row {place}: θ{j} = {found} for {expected}");
        }
        // Only sometimes: reading the average also updates it, and it must not depend on that.
        if place % 11 == 0 || place + 1 == labels.len() {
            for (j, mean) in learner.mean().iter().enumerate() {
                let expected = if book.weights == 0.0 { book.theta[j] } else { book.sum[j] / book.weights };
                assert!((mean - expected).abs() <= 1e-10, "{what}, row {place}: θ̄{j} = {mean} for {expected}");
            }
        }
        book.theta = theta;
    }
}

/// Returns every momentum, clock, step and constraint for one task.
fn settings(base: &LearnerRecipe) -> Vec<LearnerRecipe> {
    let (constant, rising) = (Beta::Constant(0.6), Beta::Rising { first: 0.0 });
    let momenta = [
        Momentum::None,
        Momentum::HeavyBall(constant),
        Momentum::HeavyBall(rising),
        Momentum::Nesterov(constant),
        Momentum::Nesterov(rising),
    ];
    let pilot = StepSize::Pilot { unit: 0.02, u_max: 1.2, window: WINDOW };
    let steps = [StepSize::Fixed(0.02), StepSize::InverseSqrt(0.1), pilot, StepSize::Auto];
    let decay = Constraint { l2: 0.1, radius: None };
    let ball = Constraint { l2: 0.1, radius: Some(1.1) };
    let constraints = [
        (Constraint::default(), Importance::Equivalent),
        (decay, Importance::Equivalent),
        (ball, Importance::Original),
    ];
    let mut all = vec![];
    for momentum in momenta {
        for clock in [Clock::Query, Clock::Raw] {
            for step in steps {
                for (constraint, importance) in constraints {
                    all.push(LearnerRecipe { step, momentum, clock, constraint, importance, ..base.clone() });
                }
            }
        }
    }
    all
}

/// Checks every task with every setting, dense from a start and sparse from 0, with each answer `late` queries late.
fn every_setting(late: usize) {
    let mut runs = 0;
    for (loss, rule, labels) in TASKS {
        let base = LearnerRecipe { labels: *labels, ..LearnerRecipe::new(loss, rule, DIM) };
        let (task, law) = (task::parse(loss, *labels).unwrap(), TextbookRule::new(&base));
        let (rules, (dense, answers)): (Rules, _) = (base.rules(), rows(*labels));
        let sparse = without_zeros(&dense);
        let from: Vec<f64> = (0..(DIM + 1) * task.outputs()).map(|i| 0.1 * ((3 * i % 7) as f64 - 3.0)).collect();
        let mut counts = Counts::default();
        for setting in settings(&base) {
            for (rows, start) in [(&dense, Some(from.clone())), (&sparse, None)] {
                // Every run has its own seed, so that each moment is a skip in some of them.
                let recipe = LearnerRecipe { start, seed: runs as u64, ..setting.clone() };
                let mut learner =
                    StreamLearner::new(recipe.learner(), rules.clone(), recipe.seed, recipe.importance).unwrap();
                let mut book = Textbook::new(&recipe, &*task, &law);
                follow(&format!("{recipe:?}, {late} late"), &mut book, &mut learner, rows, &answers, late);
                assert!(10 < book.counts.answers, "{recipe:?}: {:?}", book.counts);
                counts.answers += book.counts.answers;
                counts.skips += book.counts.skips;
                counts.held += book.counts.held;
                runs += 1;
            }
        }
        let enough = 5000 < counts.answers && 1000 < counts.skips && 200 < counts.held;
        assert!(enough, "{loss} by {rule}: {counts:?}");
    }
    assert_eq!(runs, TASKS.len() * 5 * 2 * 4 * 3 * 2);
}

#[test]
fn learners_match_algorithm_1() {
    every_setting(0);
}

#[test]
fn late_answers_are_steps_at_the_current_parameters() {
    every_setting(3);
}
