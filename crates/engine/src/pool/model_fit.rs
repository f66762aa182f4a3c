//! The fit of a pool's model: linear, with kernel features, or a forest. If there are several candidates, the answers decide.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::fit::Refit;
use crate::forest::{Forest, ForestSettings};
use crate::rows::kernel::{KernelFeatures, KernelMap};
use crate::rows::{DenseRows, Row, Rows};
use crate::scorer::{KernelScorer, Scorer};
use crate::task::{Labels, Task};

mod choice;

pub use choice::{CandidateLoss, ModelChoice};

use choice::ChoiceSchedule;

/// A kind of model that a pool can fit.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelCandidate {
    /// Linear in the features.
    Linear,
    /// Linear in the features and in kernel features with these landmarks.
    Kernel(KernelMap),
    /// A forest.
    Forest(ForestSettings),
}

/// The state of a candidate. That of the linear model is in [`ModelFit::linear`].
#[derive(Debug)]
enum CandidateFit {
    Linear,
    Kernel(Box<KernelFit>),
    Forest(ForestFit),
}

/// A linear model of features and kernel features.
#[derive(Debug)]
struct KernelFit {
    map: Arc<KernelMap>,
    features: KernelFeatures,
    refit: Refit,
    /// The origin of numbers, the first one: similarities are nearly constant far from all landmarks, so kernel weights would
    /// follow a large offset. Without an intercept, and for classes, it is 0.
    origin: Option<f64>,
}

/// A forest and its settings.
#[derive(Debug)]
struct ForestFit {
    settings: ForestSettings,
    seed: u64,
    labels: Labels,
    forest: Option<Arc<Forest>>,
}

/// The answers of a pool, and the models fitted to them.
#[derive(Debug)]
pub struct ModelFit {
    /// The answers, and the linear model of them.
    linear: Refit,
    label_kind: Labels,
    candidates: Vec<CandidateFit>,
    /// The index of the candidate in use.
    current: usize,
    schedule: ChoiceSchedule,
    choice: Option<ModelChoice>,
}

impl ModelFit {
    /// Starts with a linear model.
    pub(super) fn linear(refit: Refit, label_kind: Labels, seed: u64) -> Self {
        let schedule = ChoiceSchedule::new(seed);
        Self { linear: refit, label_kind, candidates: vec![CandidateFit::Linear], current: 0, schedule, choice: None }
    }

    /// Sets the candidates; the first is used until the answers decide.
    ///
    /// # Panics
    /// If there are answers already, no candidates, or a kernel for rows that are not dense.
    pub(super) fn set_candidates(&mut self, candidates: Vec<ModelCandidate>, seed: u64) {
        assert!(self.answers() == 0, "candidates are set before the first answer");
        assert!(!candidates.is_empty(), "a pool fits some model");
        let (linear, labels) = (&self.linear, self.label_kind);
        let start = |candidate| match candidate {
            ModelCandidate::Linear => CandidateFit::Linear,
            ModelCandidate::Kernel(map) => CandidateFit::Kernel(Box::new(KernelFit::new(map, linear, labels))),
            ModelCandidate::Forest(settings) => {
                CandidateFit::Forest(ForestFit { settings, seed, labels, forest: None })
            }
        };
        self.candidates = candidates.into_iter().map(start).collect();
    }

    /// Adds an answer. `item` is its index in the pool.
    pub(super) fn add(&mut self, item: u64, x: Row<'_>, label: f64) {
        self.linear.add(item, x, label);
        for candidate in &mut self.candidates {
            if let CandidateFit::Kernel(kernel) = candidate {
                kernel.add(item, x, label);
            }
        }
    }

    /// Fits the current candidate to all answers with these weights. If a choice is due, fits and compares all first.
    pub(super) fn fit(&mut self, weights: &[f64], task: &dyn Task) {
        if self.has_alternatives() && self.schedule.begin(self.answers()) {
            self.choose(weights, task);
        } else {
            self.fit_candidate(self.current, weights);
        }
    }

    fn fit_candidate(&mut self, index: usize, weights: &[f64]) {
        match &mut self.candidates[index] {
            CandidateFit::Linear => {
                self.linear.fit(weights);
            }
            CandidateFit::Kernel(kernel) => {
                kernel.refit.fit(weights);
            }
            CandidateFit::Forest(forest) => forest.forest = forest.fit(&self.linear, weights).map(Arc::new),
        }
    }

    /// Returns a model of a candidate, fitted with other weights; the state stays. Answers of weight 0 are not learned from.
    fn candidate_fitted_to(&self, index: usize, weights: &[f64]) -> Scorer {
        match &self.candidates[index] {
            CandidateFit::Linear => linear_scorer(&self.linear, &self.linear.fitted_to(weights)),
            CandidateFit::Kernel(kernel) => kernel.scorer(&kernel.refit.fitted_to(weights)),
            CandidateFit::Forest(forest) => match forest.fit(&self.linear, weights) {
                Some(forest) => Scorer::Forest(Arc::new(forest)),
                None => untrained(&self.linear),
            },
        }
    }

    /// Returns the current model, fitted with other weights; the state stays.
    pub(super) fn fitted_to(&self, weights: &[f64]) -> Scorer {
        self.candidate_fitted_to(self.current, weights)
    }

    /// Returns the current model.
    pub fn scorer(&self) -> Scorer {
        match &self.candidates[self.current] {
            CandidateFit::Linear => linear_scorer(&self.linear, self.linear.theta()),
            CandidateFit::Kernel(kernel) => kernel.scorer(kernel.refit.theta()),
            CandidateFit::Forest(ForestFit { forest, .. }) => match forest {
                Some(forest) => Scorer::Forest(Arc::clone(forest)),
                None => untrained(&self.linear),
            },
        }
    }

    /// Returns the parameters of the current model, intercepts first, if it is linear.
    pub fn theta(&self) -> Option<&[f64]> {
        matches!(self.candidates[self.current], CandidateFit::Linear).then(|| self.linear.theta())
    }

    /// Returns the kind of the current model: `linear`, `kernel` or `forest`.
    pub fn kind(&self) -> &'static str {
        self.candidates[self.current].name()
    }

    /// Returns λ of the current model; forests have none.
    pub fn strength(&self) -> Option<f64> {
        self.refit().map(Refit::strength)
    }

    /// Returns whether there are several candidates.
    pub fn has_alternatives(&self) -> bool {
        1 < self.candidates.len()
    }

    /// Returns the last choice among candidates.
    pub fn choice(&self) -> Option<&ModelChoice> {
        self.choice.as_ref()
    }

    /// Returns the fit of the current candidate; forests have none.
    fn refit(&self) -> Option<&Refit> {
        match &self.candidates[self.current] {
            CandidateFit::Linear => Some(&self.linear),
            CandidateFit::Kernel(kernel) => Some(&kernel.refit),
            CandidateFit::Forest(_) => None,
        }
    }

    fn refits(&mut self) -> impl Iterator<Item = &mut Refit> {
        let kernels = self.candidates.iter_mut().filter_map(|candidate| match candidate {
            CandidateFit::Kernel(kernel) => Some(&mut kernel.refit),
            CandidateFit::Linear | CandidateFit::Forest(_) => None,
        });
        std::iter::once(&mut self.linear).chain(kernels)
    }

    /// Returns the number of answers from which on a fit changes more than the current model.
    pub(super) fn due(&self) -> usize {
        let strength = self.refit().map_or(usize::MAX, Refit::due);
        let choice = if self.has_alternatives() { self.schedule.due() } else { usize::MAX };
        strength.min(choice)
    }

    /// Saves the state from which fits after [`Self::go_back`] start.
    pub(super) fn keep(&mut self) {
        self.refits().for_each(Refit::keep);
    }

    /// Restores the saved state, as if there had been no fit since; the answers stay.
    pub(super) fn go_back(&mut self) {
        self.refits().for_each(Refit::go_back);
    }

    /// Returns the index of each answer in the pool.
    pub fn items(&self) -> &[u64] {
        self.linear.items()
    }

    /// Returns the number of answers.
    pub fn answers(&self) -> usize {
        self.linear.answers()
    }

    /// Returns the features of the answers, in order of arrival.
    pub fn rows(&self) -> &Rows {
        self.linear.rows()
    }

    /// Returns the labels.
    pub fn labels(&self) -> &[f64] {
        self.linear.labels()
    }
}

impl CandidateFit {
    fn name(&self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Kernel(_) => "kernel",
            Self::Forest(_) => "forest",
        }
    }
}

impl KernelFit {
    fn new(map: KernelMap, linear: &Refit, labels: Labels) -> Self {
        let features = map.prepare();
        let wide = features.dim() + features.landmarks();
        let origin = (labels != Labels::Numbers || !linear.has_intercept()).then_some(0.0);
        Self { map: Arc::new(map), features, refit: linear.like(Rows::Dense(DenseRows::new(wide))), origin }
    }

    fn add(&mut self, item: u64, x: Row<'_>, label: f64) {
        let Row::Dense(x) = x else { panic!("kernel features need dense rows") };
        let mut wide = vec![0.0; x.len() + self.features.landmarks()];
        self.features.extend_rows(x, &mut wide);
        let origin = *self.origin.get_or_insert(label);
        self.refit.add(item, Row::Dense(&wide), label - origin);
    }

    fn scorer(&self, theta: &[f64]) -> Scorer {
        let mut theta = theta.to_vec();
        theta[0] += self.origin.unwrap_or_default();
        Scorer::Kernel(Arc::new(KernelScorer::new(&self.map, &self.features, self.refit.outputs(), &theta)))
    }
}

impl ForestFit {
    /// Fits a forest; returns `None` without answers.
    fn fit(&self, answers: &Refit, weights: &[f64]) -> Option<Forest> {
        Forest::fit(answers.rows(), answers.labels(), weights, self.labels, &self.settings, self.seed).ok()
    }
}

fn linear_scorer(linear: &Refit, theta: &[f64]) -> Scorer {
    Scorer::of_inward(linear.outputs(), theta)
}

/// Returns a model whose scores are 0.
fn untrained(linear: &Refit) -> Scorer {
    Scorer::new(linear.outputs(), &vec![0.0; linear.theta().len()])
}
