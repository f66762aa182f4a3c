//! Adaptive Gauss–Kronrod quadrature, on an interval or to infinity.
//!
//! The integrands of this crate keep one sign between their kinks, so a small relative error on every panel
//! is a small relative error of the whole.

/// Half of the 21 Kronrod nodes on [−1, 1], from the outside in; odd places are the ten Gauss nodes.
const NODES: [f64; 11] = [
    0.995657163025808080735527280689003,
    0.973906528517171720077964012084452,
    0.930157491355708226001207180059508,
    0.865063366688984510732096688423493,
    0.780817726586416897063717578345042,
    0.679409568299024406234327365114874,
    0.562757134668604683339000099272694,
    0.433395394129247190799265943165784,
    0.294392862701460198131126603103866,
    0.148874338981631210884826001129720,
    0.0,
];

const KRONROD: [f64; 11] = [
    0.011694638867371874278064396062192,
    0.032558162307964727478818972459390,
    0.054755896574351996031381300244580,
    0.075039674810919952767043140916190,
    0.093125454583697605535065465083366,
    0.109387158802297641899210590325805,
    0.123491976262065851077958109585166,
    0.134709217311473325928054001771707,
    0.142775938577060080797094273138717,
    0.147739104901338491374841515972068,
    0.149445554002916905664936468389821,
];

/// Weights of the Gauss nodes, which are the Kronrod nodes at odd places.
const GAUSS: [f64; 5] = [
    0.066671344308688137593568809893332,
    0.149451349150580593145863396957698,
    0.219086362515982043995534934228163,
    0.269266719309996355091226921569469,
    0.295524224714752870173815619188769,
];

/// Where a panel's two rules agree this well, its Kronrod value is good to a few units in the last place.
const AGREEMENT: f64 = 1e-13;
/// A panel this small against the whole needs no more halving.
const NEGLIGIBLE: f64 = 1e-18;
/// Below this an integrand has lost digits to underflow, and no halving brings them back.
const UNDERFLOWING: f64 = 1e-290;
/// Where an integrand is all noise, halving would go on for ever.
const MOST_PANELS: u32 = 1000;
/// A smooth panel, or a rough answer, needs no more than this.
const FEW_PANELS: u32 = 40;
/// Disagreement on a panel, or a whole panel of a tail, that does not show in the result.
const UNSEEN: f64 = 1e-16;
/// An integrand that is 0 up to here is 0.
const EMPTY: f64 = 1e5;

/// ∫ f over [low, high], split at those `breaks` that lie inside.
pub fn integrate(f: &dyn Fn(f64) -> f64, low: f64, high: f64, breaks: &[f64]) -> f64 {
    integrate_within(f, low, high, breaks, AGREEMENT)
}

/// The same for an f that is itself known only to a relative error, on which no digits are to be wasted.
pub fn integrate_within(f: &dyn Fn(f64) -> f64, low: f64, high: f64, breaks: &[f64], error: f64) -> f64 {
    integrate_over(f, &edges_between(low, high, breaks), error)
}

/// ∫ f over the panels between these sorted edges.
fn integrate_over(f: &dyn Fn(f64) -> f64, edges: &[f64], error: f64) -> f64 {
    let coarse: f64 = edges.windows(2).map(|e| kronrod(f, e[0], e[1]).0.abs()).sum();
    let mut sum = Sum::default();
    let panels = if AGREEMENT < error { FEW_PANELS } else { MOST_PANELS };
    let mut refinement = Refinement { whole: coarse, error, panels };
    for edge in edges.windows(2) {
        refine(f, edge[0], edge[1], &mut refinement, &mut sum);
    }
    sum.total()
}

/// ∫ f over one panel of a tail whose integral is `known` so far.
fn tail_panel(f: &dyn Fn(f64) -> f64, low: f64, high: f64, known: f64) -> f64 {
    let mut sum = Sum::default();
    let whole = known.abs().max(kronrod(f, low, high).0.abs());
    refine(f, low, high, &mut Refinement { whole, error: AGREEMENT, panels: FEW_PANELS }, &mut sum);
    sum.total()
}

/// ∫ f over [low, ∞), for an f whose integral there converges.
pub fn integrate_to_infinity(f: &dyn Fn(f64) -> f64, low: f64, breaks: &[f64]) -> f64 {
    let last_break = breaks.iter().copied().filter(|b| low < *b).fold(low, f64::max);
    let mut sum = Sum::default();
    if low < last_break {
        sum.add(integrate(f, low, last_break, breaks));
    }
    // Doubling panels: an exponential tail ends after a few, an algebraic one after some dozens.
    sum.add(integrate(f, last_break, last_break + 1.0, &[last_break]));
    let (mut from, mut width, mut quiet) = (last_break + 1.0, 2.0_f64, 0);
    while quiet < 3 && width.is_finite() && from + width > from {
        let panel = tail_panel(f, from, from + width, sum.total());
        sum.add(panel);
        // Nothing yet is no sign that nothing comes.
        let begun = sum.total() != 0.0 || EMPTY < from;
        quiet = if begun && panel.abs() <= UNSEEN * sum.total().abs() { quiet + 1 } else { 0 };
        from += width;
        width *= 2.0;
    }
    sum.total()
}

/// ∫ f over [low, high] on panels that double in width away from `low`, for integrands that flatten there.
pub fn integrate_outwards(f: &dyn Fn(f64) -> f64, low: f64, high: f64, breaks: &[f64]) -> f64 {
    let mut edges = edges_between(low, high, breaks);
    let mut width = 1.0;
    while low + width < high {
        edges.push(low + width);
        width *= 2.0;
    }
    edges.sort_by(f64::total_cmp);
    edges.dedup();
    integrate_over(f, &edges, AGREEMENT)
}

/// ∫ f over [0, high] on panels that halve towards 0, for integrands with a layer or a root singularity there.
pub fn integrate_towards_zero(f: &dyn Fn(f64) -> f64, high: f64, breaks: &[f64]) -> f64 {
    // Before the last break there may be nothing, and then something again.
    let last_break = breaks.iter().copied().filter(|b| 0.0 < *b && *b < high).fold(high, f64::min);
    let mut sum = Sum::default();
    let (mut to, mut quiet) = (high, 0);
    for _ in 0..400 {
        let from = 0.25 * to;
        let panel = integrate(f, from, to, breaks);
        sum.add(panel);
        let negligible = to <= last_break && panel.abs() <= NEGLIGIBLE * sum.total().abs();
        quiet = if negligible { quiet + 1 } else { 0 };
        to = from;
        if quiet == 3 || to == 0.0 {
            break;
        }
    }
    sum.total()
}

/// When to stop halving.
struct Refinement {
    /// The size of the whole integral.
    whole: f64,
    /// How well the two rules must agree on a panel.
    error: f64,
    /// Halvings left.
    panels: u32,
}

fn refine(f: &dyn Fn(f64) -> f64, low: f64, high: f64, until: &mut Refinement, sum: &mut Sum) {
    let (fine, coarse) = kronrod(f, low, high);
    let middle = low + 0.5 * (high - low);
    let agreed = (fine - coarse).abs() <= (until.error * fine.abs()).max(UNSEEN * until.whole);
    let negligible = fine.abs() <= (NEGLIGIBLE * until.whole).max(UNDERFLOWING * (high - low));
    let finest = until.panels == 0 || middle <= low || high <= middle || !fine.is_finite();
    if agreed || negligible || finest {
        sum.add(fine);
    } else {
        until.panels -= 1;
        refine(f, low, middle, until, sum);
        refine(f, middle, high, until, sum);
    }
}

/// The Kronrod and the Gauss estimate on one panel.
fn kronrod(f: &dyn Fn(f64) -> f64, low: f64, high: f64) -> (f64, f64) {
    let half = 0.5 * (high - low);
    let center = low + half;
    let middle = f(center);
    let (mut fine, mut coarse) = (KRONROD[10] * middle, 0.0);
    for (i, node) in NODES[..10].iter().enumerate() {
        let both = f(center - half * node) + f(center + half * node);
        fine += KRONROD[i] * both;
        if i % 2 == 1 {
            coarse += GAUSS[i / 2] * both;
        }
    }
    (fine * half, coarse * half)
}

/// The breaks within [low, high], with panels that shrink towards each: what happens there may be very narrow.
fn edges_between(low: f64, high: f64, breaks: &[f64]) -> Vec<f64> {
    let mut edges = vec![low, high];
    for &at in breaks.iter().filter(|b| low <= **b && **b <= high) {
        let graded = (0..=8).map(|k| 16_f64.powi(-k)).flat_map(|step| [at - step, at + step]);
        edges.extend(graded.chain([at]).filter(|edge| low < *edge && *edge < high));
    }
    edges.sort_by(f64::total_cmp);
    edges.dedup();
    edges
}

/// A compensated sum (Neumaier): thousands of panels cost no digits.
#[derive(Default)]
struct Sum {
    sum: f64,
    lost: f64,
}

impl Sum {
    fn add(&mut self, term: f64) {
        let next = self.sum + term;
        self.lost += if term.abs() <= self.sum.abs() { (self.sum - next) + term } else { (term - next) + self.sum };
        self.sum = next;
    }

    fn total(&self) -> f64 {
        let total = self.sum + self.lost;
        // Infinite terms make the compensation NaN although the sum is plain.
        if total.is_nan() { self.sum } else { total }
    }
}
