//! K outputs: softmax, its cross entropy, and common query scores (§6.1).

use std::f64::consts::E;
use std::fmt::Debug;
use std::sync::Arc;

use crate::expression::{Function, Interval};
use crate::registry::{self, Entry, NameError, Named, Param, ParamError, ParamKind};
use crate::uncertainty::{Constant, Entropy, LeastConfidence, boundary, require_size};

/// All named K-class rules.
pub static SCORES: &[Entry<dyn VectorScore>] = &[
    Entry {
        name: "entropy",
        summary: "-sum p log p in nats, at most log K; base=K makes it at most 1",
        params: &[Param { name: "base", kind: ParamKind::Number(Some(E)) }],
        make: |arguments| {
            let base = arguments.number(0);
            Ok(Arc::new(ClassEntropy { of_two: Entropy::new(base)?, base }))
        },
        samples: &["entropy", "entropy:base=3"],
        source: "label sec:multi_dim",
    },
    Entry {
        name: "least-confidence",
        summary: "1 - max p",
        params: &[Param { name: "scale", kind: ParamKind::Number(Some(1.0)) }],
        make: |arguments| {
            Ok(Arc::new(ClassLeastConfidence { scale: LeastConfidence::new(arguments.number(0))?.scale() }))
        },
        samples: &["least-confidence"],
        source: "label sec:multi_dim",
    },
    Entry {
        name: "top-two-margin",
        summary: "1 - (largest p - second largest p)",
        params: &[],
        make: |_| Ok(Arc::new(TopTwoMargin)),
        samples: &["top-two-margin"],
        source: "label sec:multi_dim",
    },
    Entry {
        name: "top-two-ratio",
        summary: "floor + (1 - floor) (second largest p/largest p)^mu, e^-mu for every unit between their logits",
        params: &[
            Param { name: "mu", kind: ParamKind::Number(None) },
            Param { name: "floor", kind: ParamKind::Number(Some(0.0)) },
        ],
        make: |arguments| Ok(Arc::new(TopTwoRatio::new(arguments.number(0), arguments.number(1))?)),
        samples: &["top-two-ratio:mu=1", "top-two-ratio:mu=20,floor=0.1"],
        source: "label sec:multi_dim",
    },
    Entry {
        name: boundary::NAME,
        summary: "(e^(-(gap - from)/reach) + base)/(1 + base), at most 1, with the gap between the two largest logits; a \
                  pool finds from, reach and base from half and floor",
        params: boundary::PARAMS,
        make: |arguments| {
            let scale = boundary::BoundaryScale::new(arguments)?;
            Ok(Arc::new(TopTwoRatio { from: scale.from(), ..TopTwoRatio::new(scale.mu(), scale.least())? }))
        },
        samples: &["boundary:reach=0.5", "boundary:reach=0.2,from=0.7"],
        source: "label sec:multi_dim",
    },
    Entry {
        name: "constant",
        summary: "p: asks at random",
        params: &[Param { name: "p", kind: ParamKind::Number(Some(1.0)) }],
        make: |arguments| {
            let p = arguments.number(0);
            Constant::new(p).map(|_| Arc::new(ClassConstant { p }) as Arc<dyn VectorScore>)
        },
        samples: &["constant:p=0.5"],
        source: "passive learning",
    },
];

/// Parses the name of a K-class rule.
pub fn parse(text: &str) -> Result<Named<dyn VectorScore>, NameError> {
    registry::parse("rule for classes", SCORES, text, None, 0)
}

/// A label-free query score of K class probabilities.
pub trait VectorScore: Debug + Send + Sync {
    /// Returns U at these class probabilities.
    fn at(&self, probabilities: &[f64]) -> f64;

    /// Returns ∂U/∂z in the logits.
    fn gradient(&self, probabilities: &[f64]) -> Vec<f64>;

    /// Returns outward-rounded bounds for ∂U/∂z.
    fn enclose_gradient(&self, at: &EnclosedSoftmax) -> Vec<Interval>;

    /// Returns the largest U over K classes.
    fn max(&self, classes: usize) -> f64;

    /// Returns whether U is the same everywhere.
    fn is_constant(&self) -> bool {
        false
    }

    /// Returns a gap between the two largest logits at which U varies, if the rule is level at small gaps.
    fn varying_gap(&self) -> Option<f64> {
        None
    }
}

/// Returns p = softmax(z), shifted so that nothing overflows.
pub fn softmax(logits: &[f64]) -> Vec<f64> {
    let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let exponentials: Vec<f64> = logits.iter().map(|z| (z - largest).exp()).collect();
    let sum: f64 = exponentials.iter().sum();
    exponentials.iter().map(|e| e / sum).collect()
}

/// Returns −log `p_y`.
pub fn cross_entropy(logits: &[f64], label: usize) -> f64 {
    let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = logits.iter().map(|z| (z - largest).exp()).sum();
    sum.ln() + (largest - logits[label])
}

/// Returns ∂(−log `p_y)/∂z` = p − `e_y`.
pub fn cross_entropy_gradient(probabilities: &[f64], label: usize) -> Vec<f64> {
    (0..probabilities.len())
        .map(|j| if j == label { -others(probabilities, label) } else { probabilities[j] })
        .collect()
}

/// Outward-rounded class probabilities at given logits.
#[derive(Debug)]
pub struct EnclosedSoftmax {
    probabilities: Vec<Interval>,
    /// The logit of the second largest class less that of the largest.
    gap: Interval,
    /// The indices of the two largest logits.
    top_two: (usize, usize),
}

impl EnclosedSoftmax {
    /// Computes the class probabilities at exactly known logits.
    pub fn new(logits: &[f64]) -> Self {
        let (first, second) = top_two(logits);
        let below = |k: usize| Interval::point(logits[k]) - Interval::point(logits[first]);
        let odds: Vec<Interval> = (0..logits.len()).map(|k| below(k).image(Function::Exponential)).collect();
        let total = odds.iter().fold(Interval::point(0.0), |sum, odds| sum + *odds);
        let probabilities = odds.iter().map(|odds| *odds / total).collect();
        Self { probabilities, gap: below(second), top_two: (first, second) }
    }

    /// Returns bounds for p − `e_y`, the gradient of the cross entropy.
    pub fn cross_entropy_gradient(&self, label: usize) -> Vec<Interval> {
        let target = |k: usize| Interval::point(if k == label { 1.0 } else { 0.0 });
        self.probabilities.iter().enumerate().map(|(k, p)| *p - target(k)).collect()
    }

    /// Returns bounds for ∂`p_i/∂z` = `p_i` (`e_i` − p).
    fn probability_gradient(&self, i: usize) -> Vec<Interval> {
        self.cross_entropy_gradient(i).iter().map(|gradient| -(self.probabilities[i] * *gradient)).collect()
    }
}

#[derive(Debug)]
struct ClassEntropy {
    of_two: Entropy,
    base: f64,
}

impl VectorScore for ClassEntropy {
    fn at(&self, probabilities: &[f64]) -> f64 {
        self.of_two.scale() * probabilities.iter().map(|&p| crate::numeric::stable::entropy_term(p)).sum::<f64>()
    }

    fn gradient(&self, probabilities: &[f64]) -> Vec<f64> {
        let scale = self.of_two.scale();
        let entropy = self.at(probabilities) / scale;
        let term = |p: f64| if p == 0.0 { 0.0 } else { -scale * p * (p.ln() + entropy) };
        probabilities.iter().map(|&p| term(p)).collect()
    }

    fn enclose_gradient(&self, at: &EnclosedSoftmax) -> Vec<Interval> {
        let scale = self.of_two.enclosed_scale();
        let term = |p: &Interval| *p * p.natural_logarithm();
        let entropy = at.probabilities.iter().fold(Interval::point(0.0), |sum, p| sum - term(p));
        at.probabilities.iter().map(|p| -(scale * (term(p) + *p * entropy))).collect()
    }

    fn max(&self, classes: usize) -> f64 {
        let max = self.of_two.scale() * (classes as f64).ln();
        // If log K/log base rounds to 1, the base determines on which side of 1 it is.
        if classes as f64 <= self.base { max.min(1.0) } else { max.max(1.0_f64.next_up()) }
    }
}

#[derive(Debug)]
struct ClassLeastConfidence {
    scale: f64,
}

impl VectorScore for ClassLeastConfidence {
    fn at(&self, probabilities: &[f64]) -> f64 {
        self.scale * others(probabilities, top_two(probabilities).0)
    }

    fn gradient(&self, probabilities: &[f64]) -> Vec<f64> {
        let (first, _) = top_two(probabilities);
        probability_gradient(probabilities, first).iter().map(|d| -self.scale * d).collect()
    }

    fn enclose_gradient(&self, at: &EnclosedSoftmax) -> Vec<Interval> {
        let scale = Interval::point(self.scale);
        at.probability_gradient(at.top_two.0).iter().map(|rise| -(scale * *rise)).collect()
    }

    fn max(&self, classes: usize) -> f64 {
        let classes = classes as f64;
        let max = self.scale * (1.0 - 1.0 / classes);
        // A fused multiply-add has the sign of scale·(K − 1) − K, also where the maximum rounds to 1.
        if self.scale.mul_add(classes - 1.0, -classes) <= 0.0 { max.min(1.0) } else { max.max(1.0_f64.next_up()) }
    }
}

#[derive(Debug)]
struct TopTwoMargin;

impl VectorScore for TopTwoMargin {
    fn at(&self, probabilities: &[f64]) -> f64 {
        let (first, second) = top_two(probabilities);
        others(probabilities, first) + probabilities[second]
    }

    fn gradient(&self, probabilities: &[f64]) -> Vec<f64> {
        let (first, second) = top_two(probabilities);
        let (down, up) = (probability_gradient(probabilities, first), probability_gradient(probabilities, second));
        up.iter().zip(down).map(|(up, down)| up - down).collect()
    }

    fn enclose_gradient(&self, at: &EnclosedSoftmax) -> Vec<Interval> {
        let (down, up) = (at.probability_gradient(at.top_two.0), at.probability_gradient(at.top_two.1));
        up.iter().zip(down).map(|(up, down)| *up - down).collect()
    }

    fn max(&self, _classes: usize) -> f64 {
        1.0
    }
}

#[derive(Debug)]
struct TopTwoRatio {
    mu: f64,
    floor: f64,
    /// The gap between the logits up to which U is 1.
    from: f64,
}

impl TopTwoRatio {
    /// Creates the rule; requires μ > 0 and 0 ≤ floor < 1.
    fn new(mu: f64, floor: f64) -> Result<Self, ParamError> {
        require_size("mu", mu, "mu > 0", 0.0 < mu)?;
        require_size("floor", floor, "0 <= floor < 1", (0.0..1.0).contains(&floor))?;
        Ok(Self { mu, floor, from: 0.0 })
    }

    fn ratio(&self, largest: f64, second: f64) -> f64 {
        let ratio = second / largest;
        let beyond = if self.from == 0.0 { ratio } else { (ratio.ln() + self.from).min(0.0).exp() };
        (1.0 - self.floor) * beyond.powf(self.mu)
    }

    /// Returns whether U is 1 at this gap between the logits.
    fn is_level(&self, largest: f64, second: f64) -> bool {
        0.0 < (second / largest).ln() + self.from
    }
}

impl VectorScore for TopTwoRatio {
    fn at(&self, probabilities: &[f64]) -> f64 {
        let (first, second) = top_two(probabilities);
        self.floor + self.ratio(probabilities[first], probabilities[second])
    }

    fn gradient(&self, probabilities: &[f64]) -> Vec<f64> {
        // log(p₂/p₁) is the difference of the two logits.
        let (first, second) = top_two(probabilities);
        let (largest, next) = (probabilities[first], probabilities[second]);
        let slope = if self.is_level(largest, next) { 0.0 } else { self.mu * self.ratio(largest, next) };
        let mut gradient = vec![0.0; probabilities.len()];
        (gradient[first], gradient[second]) = (-slope, slope);
        gradient
    }

    fn enclose_gradient(&self, at: &EnclosedSoftmax) -> Vec<Interval> {
        let mu = Interval::point(self.mu);
        let most = Interval::point(1.0) - Interval::point(self.floor);
        // The gap is the smaller logit less the larger one, so it is negative.
        let beyond = at.gap + Interval::point(self.from);
        let falling = mu * most * (mu * beyond).image(Function::Exponential);
        let slope = if 0.0 < self.from && 0.0 < beyond.high {
            if 0.0 < beyond.low { Interval::point(0.0) } else { Interval::new(0.0, falling.high) }
        } else {
            falling
        };
        let mut gradient = vec![Interval::point(0.0); at.probabilities.len()];
        (gradient[at.top_two.0], gradient[at.top_two.1]) = (-slope, slope);
        gradient
    }

    fn max(&self, _classes: usize) -> f64 {
        1.0
    }

    fn varying_gap(&self) -> Option<f64> {
        (0.0 < self.from).then(|| self.from + 0.5 / self.mu)
    }
}

#[derive(Debug)]
struct ClassConstant {
    p: f64,
}

impl VectorScore for ClassConstant {
    fn at(&self, _probabilities: &[f64]) -> f64 {
        self.p
    }

    fn gradient(&self, probabilities: &[f64]) -> Vec<f64> {
        vec![0.0; probabilities.len()]
    }

    fn enclose_gradient(&self, at: &EnclosedSoftmax) -> Vec<Interval> {
        vec![Interval::point(0.0); at.probabilities.len()]
    }

    fn max(&self, _classes: usize) -> f64 {
        self.p
    }

    fn is_constant(&self) -> bool {
        true
    }
}

/// Returns 1 − `p_i`, as the sum of the others.
fn others(probabilities: &[f64], i: usize) -> f64 {
    probabilities.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, p)| p).sum()
}

/// Returns ∂`p_i/∂z` = `p_i` (`e_i` − p).
fn probability_gradient(probabilities: &[f64], i: usize) -> Vec<f64> {
    (0..probabilities.len())
        .map(
            |j| if j == i { probabilities[i] * others(probabilities, i) } else { -probabilities[i] * probabilities[j] },
        )
        .collect()
}

/// Returns the indices of the largest and the second largest.
fn top_two(probabilities: &[f64]) -> (usize, usize) {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|i, j| probabilities[*j].total_cmp(&probabilities[*i]));
    (order[0], order[1])
}
