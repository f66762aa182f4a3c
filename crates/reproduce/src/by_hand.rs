//! An independent check of `theory`: losses and rules in plain formulas, integrated and minimized by brute force.
//!
//! Nothing here uses a closed form of an equivalent loss, a minimizer or a link; only U and ℓ′, written out.

use crate::numbers::gauss;

/// A function of one number.
pub(crate) type Formula = Box<dyn Fn(f64) -> f64 + Send + Sync>;

/// The largest margin considered: e⁻⁴⁰ is below rounding.
const REACH: f64 = 40.0;

/// Returns ℓ′ of the named loss.
pub(crate) fn loss_slope(name: &str) -> fn(f64) -> f64 {
    match name {
        "logistic" | "cross-entropy" => |s| -sigmoid(-s),
        "squared-hinge" => |s| if s < 1.0 { -2.0 * (1.0 - s) } else { 0.0 },
        "hinge" => |s| if s < 1.0 { -1.0 } else { 0.0 },
        "exponential" => |s: f64| -(-s).exp(),
        "modified-huber" => |s| if s < -1.0 { -4.0 } else { -2.0 * (1.0 - s).max(0.0) },
        _ => unreachable!("no formula of the loss {name}"),
    }
}

/// Returns U of the named rule. `critical` is that of the named loss.
pub(crate) fn rule(name: &str, loss: &str) -> Formula {
    let (entry, parameter) = name.split_once(':').unwrap_or((name, ""));
    let number = || {
        let text = parameter.split_once('=').map_or("", |(_, number)| number);
        text.parse::<f64>().unwrap_or_else(|_| unreachable!("no number in {name}"))
    };
    match entry {
        "entropy" => Box::new(|v| -xlogx(sigmoid(v)) - xlogx(sigmoid(-v))),
        "least-confidence" => Box::new(|v| sigmoid(v).min(sigmoid(-v))),
        "margin" => {
            let mu = number();
            Box::new(move |v: f64| 1.0 / (1.0 + mu * v.abs()))
        }
        "threshold" => {
            let gamma = number();
            Box::new(move |v: f64| if v.abs() <= gamma { 1.0 } else { 0.0 })
        }
        "exponential" => {
            let mu = number();
            Box::new(move |v: f64| (-mu * v.abs()).exp())
        }
        "constant" => {
            let p = number();
            Box::new(move |_| p)
        }
        "critical" => {
            let slope = loss_slope(loss);
            Box::new(move |v: f64| slope(0.0) / slope(-v.abs()))
        }
        _ => unreachable!("no formula of the rule {name}"),
    }
}

/// Returns the points where U·ℓ′ of a pair is not smooth.
pub(crate) fn kinks(loss: &str, rule: &str) -> Vec<f64> {
    let mut kinks = vec![0.0];
    if loss.ends_with("hinge") {
        kinks.push(1.0);
    }
    if loss == "modified-huber" {
        kinks.extend([-1.0, 1.0]);
    }
    if let Some(gamma) = rule.strip_prefix("threshold:gamma=").and_then(|text| text.parse::<f64>().ok()) {
        kinks.extend([-gamma, gamma]);
    }
    kinks
}

/// Returns σ(s) = 1/(1 + e⁻ˢ).
pub(crate) fn sigmoid(s: f64) -> f64 {
    1.0 / (1.0 + (-s).exp())
}

/// Returns x log x, which is 0 at 0.
pub(crate) fn xlogx(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x * x.ln() }
}

/// An equivalent loss defined by its slope U·ℓ′ alone. Values are relative to the one at s = 0.
pub(crate) struct ByHand {
    slope: Formula,
    edges: Vec<f64>,
    /// ℓ̃ − ℓ̃(0) at the edges.
    rises: Vec<f64>,
}

impl ByHand {
    /// Creates the equivalent loss of the named pair.
    pub(crate) fn of(loss: &str, rule_name: &str) -> Self {
        let (loss_slope, rule) = (loss_slope(loss), rule(rule_name, loss));
        Self::new(Box::new(move |s| rule(s) * loss_slope(s)), &kinks(loss, rule_name))
    }

    /// Creates a loss with this slope, smooth except at the kinks.
    pub(crate) fn new(slope: Formula, kinks: &[f64]) -> Self {
        let count = (8.0 * REACH) as i32;
        let mut edges: Vec<f64> = (-count..=count).map(|i| f64::from(i) / 8.0).collect();
        edges.extend(kinks.iter().filter(|k| k.abs() < REACH));
        edges.sort_by(f64::total_cmp);
        edges.dedup();
        let zero = edges.partition_point(|e| *e < 0.0);
        let mut rises = vec![0.0; edges.len()];
        for i in zero + 1..edges.len() {
            rises[i] = rises[i - 1] + gauss(&slope, edges[i - 1], edges[i]);
        }
        for i in (0..zero).rev() {
            rises[i] = rises[i + 1] - gauss(&slope, edges[i], edges[i + 1]);
        }
        Self { slope, edges, rises }
    }

    /// Returns ℓ̃′(s).
    pub(crate) fn slope(&self, s: f64) -> f64 {
        (self.slope)(s)
    }

    /// Returns ℓ̃(s) − ℓ̃(0).
    pub(crate) fn rise(&self, s: f64) -> f64 {
        let right = self.edges.partition_point(|edge| *edge < s).clamp(1, self.edges.len() - 1);
        if self.edges[right] == s {
            return self.rises[right];
        }
        self.rises[right - 1] + gauss(&self.slope, self.edges[right - 1], s)
    }

    /// Returns the mean loss of the prediction s minus that of the prediction 0, where y = +1 has probability p.
    pub(crate) fn cost(&self, p: f64, s: f64) -> f64 {
        p * self.rise(s) + (1.0 - p) * self.rise(-s)
    }

    /// Returns the prediction that reaches H(p), and H(p) − ℓ̃(0).
    pub(crate) fn bayes(&self, p: f64) -> (f64, f64) {
        least(&|s| self.cost(p, s), &self.edges)
    }

    /// Returns the prediction that reaches H⁻(p), and H⁻(p) − ℓ̃(0), for p ≥ 1/2.
    pub(crate) fn wrong_side(&self, p: f64) -> (f64, f64) {
        let zero = self.edges.partition_point(|e| *e < 0.0);
        least(&|s| self.cost(p, s), &self.edges[..=zero])
    }

    /// Returns H⁻ − H at p = (1 + z)/2.
    pub(crate) fn link(&self, z: f64) -> f64 {
        let p = 0.5 * (1.0 + z);
        self.wrong_side(p).1 - self.bayes(p).1
    }

    /// Returns the height of the loss above the midpoint of its chord from low to high. It is positive if the loss is
    /// not convex there.
    pub(crate) fn above_chord(&self, low: f64, high: f64) -> f64 {
        self.rise(0.5 * (low + high)) - 0.5 * (self.rise(low) + self.rise(high))
    }

    /// Returns the chord on [−12, 12] above whose midpoint the loss is highest: (height, low, high).
    pub(crate) fn worst_chord(&self) -> (f64, f64, f64) {
        let points: Vec<f64> = (-48..=48).map(|i| 0.25 * f64::from(i)).collect();
        let mut worst = (f64::NEG_INFINITY, 0.0, 0.0);
        for (i, low) in points.iter().enumerate() {
            for high in &points[i + 1..] {
                let height = self.above_chord(*low, *high);
                if worst.0 < height {
                    worst = (height, *low, *high);
                }
            }
        }
        worst
    }
}

/// Returns the minimum of f on a grid, refined between the neighbors of the best point: (argument, value).
pub(crate) fn least(f: &dyn Fn(f64) -> f64, grid: &[f64]) -> (f64, f64) {
    let values: Vec<f64> = grid.iter().map(|s| f(*s)).collect();
    let best = (0..grid.len()).min_by(|i, j| values[*i].total_cmp(&values[*j])).unwrap_or(0);
    let (mut low, mut high) = (grid[best.saturating_sub(1)], grid[(best + 1).min(grid.len() - 1)]);
    let golden = 0.5 * (5_f64.sqrt() - 1.0);
    for _ in 0..80 {
        let (left, right) = (high - golden * (high - low), low + golden * (high - low));
        if f(left) < f(right) { high = right } else { low = left }
    }
    let refined = 0.5 * (low + high);
    if f(refined) < values[best] { (refined, f(refined)) } else { (grid[best], values[best]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_is_the_integral_of_its_slope() {
        let plain = ByHand::of("logistic", "constant:p=1");
        for s in [-30.0, -3.3, -0.1, 0.0, 0.7, 12.0] {
            let loss = |s: f64| if s < 0.0 { (s.exp()).ln_1p() - s } else { (-s).exp().ln_1p() };
            assert!((plain.rise(s) - loss(s) + loss(0.0)).abs() < 1e-13, "{s}");
        }
        // ψ of the logistic loss is the divergence of a biased coin from a fair one.
        let z: f64 = 0.6;
        let link = 0.5 * ((1.0 + z) * z.ln_1p() + (1.0 - z) * (-z).ln_1p());
        assert!((plain.link(z) - link).abs() < 1e-14);
    }

    #[test]
    fn a_nonconvex_loss_has_a_chord_below_it() {
        assert!(ByHand::of("squared-hinge", "margin:mu=1").worst_chord().0 < 1e-13);
        assert!(0.29 < ByHand::of("squared-hinge", "margin:mu=3").above_chord(-4.0, 0.0));
    }
}
