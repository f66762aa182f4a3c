//! What an answer moves in the plane: three numbers of θ and three sums, in registers.

use super::FARTHEST;

/// θ and θ̄ in the plane while answers come one after another. The sums are those of `descend`, to the last bit.
#[derive(Clone, Copy)]
pub(crate) struct Moving {
    pub(crate) theta: [f64; 3],
    /// The sums of `Average`, its weight, and the size of a step.
    pub(super) behind: [f64; 3],
    pub(super) weight: f64,
    pub(super) step: f64,
}

/// An observation in the plane times its label, which is −1 or +1: where labels are multiplied in changes no bit, and early
/// nothing waits for it.
#[derive(Clone, Copy)]
pub(crate) struct Sided {
    label: f64,
    x: f64,
    y: f64,
}

impl Sided {
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a part of dispatched loops")]
    pub(crate) fn new([x, y]: [f32; 2], label: f64) -> Self {
        Self { label, x: label * f64::from(x), y: label * f64::from(y) }
    }
}

#[allow(clippy::inline_always, reason = "parts of dispatched loops")]
impl Moving {
    /// y·(b + w·x).
    #[inline(always)]
    pub(crate) fn margin(&self, Sided { label, x, y }: Sided) -> f64 {
        let [b, v, w] = self.theta;
        label * b + (x * v + y * w)
    }

    /// Whether `descend` would surely take any step on rows no wider than this, with scores of at most this size: the
    /// slope is at most 1, and the sum of sizes at least the norm.
    pub(crate) fn is_safe(&self, [x, y]: [f64; 2], score: f64) -> bool {
        self.step * (1.0 + x + y) <= 0.5 * FARTHEST && score <= 0.5 * FARTHEST
    }

    /// By how much one answer can change a score, on rows no wider than this.
    pub(crate) fn longest(&self, [x, y]: [f64; 2]) -> f64 {
        self.step * (1.0 + x * x + y * y)
    }

    /// θ after an answer whose loss has this slope in the margin.
    #[inline(always)]
    pub(crate) fn step(&mut self, Sided { label, x, y }: Sided, slope: f64) {
        let change = -self.step * slope;
        let [b, v, w] = self.theta;
        self.theta = [b + change * label, change.mul_add(x, v), change.mul_add(y, w)];
    }

    /// θ̄ after the same answer, so many observations after the last. By itself: nothing waits for it.
    #[inline(always)]
    pub(crate) fn follow(&mut self, Sided { label, x, y }: Sided, slope: f64, observations: f64) {
        self.weight += observations * self.step;
        let late = -self.step * self.weight * slope;
        let [b, v, w] = self.behind;
        self.behind = [b + late * label, late.mul_add(x, v), late.mul_add(y, w)];
    }
}
