//! The weighted average θ̄ of Algorithms 1 and 2, touched only where θ is.
//!
//! With W the weight so far, Σ wₜθₜ = W·θ − Σ (weight before a change)·(change). So it is enough to add up the second sum
//! when θ changes, only in the parameters that do.

use crate::features::Features;
use crate::linear::Linear;
use crate::parameters::Parameters;
use crate::state::{Reader, Words};

/// θ̄, up to the θ of now.
#[derive(Clone, Debug)]
pub struct Average {
    weight: f64,
    /// Σ (weight before a change)·(change).
    behind: Parameters,
}

impl Average {
    /// Nothing yet, for this many parameters, so many of them intercepts.
    pub fn new(parameters: usize, intercepts: usize) -> Self {
        Self { weight: 0.0, behind: Parameters::zeros(parameters, intercepts) }
    }

    /// θ has stood where it is for this much more weight.
    #[inline]
    pub fn pass(&mut self, weight: f64) {
        self.weight += weight;
    }

    /// The weight so far.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// Back to a weight it had since θ last changed.
    pub fn go_back(&mut self, weight: f64) {
        self.weight = weight;
    }

    /// Changes θ by scale·(slope ⊗ x̃).
    #[inline]
    pub fn change<X: Features>(&mut self, model: Linear, x: X, slope: &[f64], scale: f64, theta: &mut [f64]) {
        model.add_gradient_to_two(x, slope, (scale, theta), (scale * self.weight, &mut self.behind));
    }

    /// θ changes by this.
    pub fn add(&mut self, change: &[f64]) {
        for (behind, change) in self.behind.iter_mut().zip(change) {
            *behind += self.weight * change;
        }
    }

    /// The weight so far and the sums, to be moved on.
    pub(crate) fn parts_mut(&mut self) -> (&mut f64, &mut Parameters) {
        (&mut self.weight, &mut self.behind)
    }

    /// The sums.
    pub(crate) fn sums(&self) -> &[f64] {
        &self.behind
    }

    /// From here on somebody else keeps the sums.
    pub(crate) fn drop_sums(&mut self) {
        self.behind = Parameters::default();
    }

    /// The same with the sums that somebody else kept.
    pub(crate) fn with_sums(&self, sums: Parameters) -> Self {
        Self { weight: self.weight, behind: sums }
    }

    /// What is kept, where there are three parameters.
    pub(crate) fn in_plane(&self) -> Option<([f64; 3], f64)> {
        Some(((*self.behind).try_into().ok()?, self.weight))
    }

    /// What `in_plane` gave, moved on.
    pub(crate) fn set_in_plane(&mut self, behind: [f64; 3], weight: f64) {
        self.behind.copy_from_slice(&behind);
        self.weight = weight;
    }

    /// More parameters than before; they were 0 till now.
    pub fn widen(&mut self, parameters: usize) {
        self.behind.widen(parameters);
    }

    /// Forgets the past: θ̄ starts from here.
    pub fn restart(&mut self) {
        self.weight = 0.0;
        self.behind.fill(0.0);
    }

    pub(crate) fn write(&self, words: &mut Words) {
        words.number(self.weight);
        words.numbers(&self.behind);
    }

    /// What was written by one with so many intercepts.
    pub(crate) fn read(words: &mut Reader<'_>, intercepts: usize) -> Option<Self> {
        Some(Self { weight: words.number()?, behind: Parameters::new(&words.numbers()?, intercepts) })
    }

    /// As many parameters as it is of.
    pub(crate) fn parameters(&self) -> usize {
        self.behind.len()
    }

    /// θ̄; θ itself while nothing has weight.
    pub fn mean(&self, theta: &[f64]) -> Vec<f64> {
        if self.weight == 0.0 {
            return theta.to_vec();
        }
        theta.iter().zip(&*self.behind).map(|(t, behind)| t - behind / self.weight).collect()
    }
}
