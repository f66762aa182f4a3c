//! Adaptive Gauss–Kronrod quadrature, on an interval or to infinity.
//!
//! The integrands of this crate keep one sign between their kinks, so a small relative error on every panel
//! implies a small relative error of the sum.

/// Half of the 21 Kronrod nodes on [−1, 1], from the outside in; the odd indices are the ten Gauss nodes.
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

/// Weights of the Gauss nodes, which are the Kronrod nodes at odd indices.
const GAUSS: [f64; 5] = [
    0.066671344308688137593568809893332,
    0.149451349150580593145863396957698,
    0.219086362515982043995534934228163,
    0.269266719309996355091226921569469,
    0.295524224714752870173815619188769,
];

/// The relative agreement of a panel's two rules at which its Kronrod value is accurate to a few units of rounding.
const AGREEMENT: f64 = 1e-13;
/// The size of a panel relative to the whole integral below which it is not halved.
const NEGLIGIBLE: f64 = 1e-18;
/// The magnitude below which an integrand has lost digits to underflow that no halving can recover.
const UNDERFLOWING: f64 = 1e-290;
/// The maximum number of halvings; a noisy integrand would otherwise be halved forever.
const MAX_PANELS: u32 = 1000;
/// The maximum number of halvings for a smooth panel or a rough result.
const FEW_PANELS: u32 = 40;
/// The relative size of a disagreement, or of a panel of a tail, that does not change the result.
const UNSEEN: f64 = 1e-16;
/// The point up to which an integrand must be 0 to count as 0 beyond it.
const EMPTY: f64 = 1e5;

/// Integrates f over [low, high], split at the `breaks` inside.
pub fn integrate(f: &dyn Fn(f64) -> f64, low: f64, high: f64, breaks: &[f64]) -> f64 {
    integrate_within(f, low, high, breaks, AGREEMENT)
}

/// Integrates an f that has a relative error itself, without refining beyond that error.
pub fn integrate_within(f: &dyn Fn(f64) -> f64, low: f64, high: f64, breaks: &[f64], error: f64) -> f64 {
    integrate_over(f, &edges_between(low, high, breaks), error)
}

/// Integrates f over the panels between sorted edges.
fn integrate_over(f: &dyn Fn(f64) -> f64, edges: &[f64], error: f64) -> f64 {
    let coarse: f64 = edges.windows(2).map(|e| kronrod(f, e[0], e[1]).0.abs()).sum();
    let mut sum = Sum::default();
    let panels = if AGREEMENT < error { FEW_PANELS } else { MAX_PANELS };
    let mut refinement = Refinement { whole: coarse, error, panels };
    for edge in edges.windows(2) {
        refine(f, edge[0], edge[1], &mut refinement, &mut sum);
    }
    sum.total()
}

/// Integrates f over one panel of a tail; `known` is the integral up to it.
fn tail_panel(f: &dyn Fn(f64) -> f64, low: f64, high: f64, known: f64) -> f64 {
    let mut sum = Sum::default();
    let whole = known.abs().max(kronrod(f, low, high).0.abs());
    refine(f, low, high, &mut Refinement { whole, error: AGREEMENT, panels: FEW_PANELS }, &mut sum);
    sum.total()
}

/// Integrates f over [low, ∞); the integral must converge.
pub fn integrate_to_infinity(f: &dyn Fn(f64) -> f64, low: f64, breaks: &[f64]) -> f64 {
    let last_break = breaks.iter().copied().filter(|b| low < *b).fold(low, f64::max);
    let mut sum = Sum::default();
    if low < last_break {
        sum.add(integrate(f, low, last_break, breaks));
    }
    // Panels double in width: an exponential tail ends after a few, an algebraic one after some dozens.
    sum.add(integrate(f, last_break, last_break + 1.0, &[last_break]));
    let (mut from, mut width, mut quiet) = (last_break + 1.0, 2.0_f64, 0);
    while quiet < 3 && width.is_finite() && from + width > from {
        let panel = tail_panel(f, from, from + width, sum.total());
        sum.add(panel);
        // An integrand that has been 0 up to here may still become nonzero.
        let begun = sum.total() != 0.0 || EMPTY < from;
        quiet = if begun && panel.abs() <= UNSEEN * sum.total().abs() { quiet + 1 } else { 0 };
        from += width;
        width *= 2.0;
    }
    sum.total()
}

/// Integrates f over [low, high] on panels that double in width away from `low`, for integrands that flatten there.
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

/// Integrates f over [0, high] on panels that shrink toward 0, for integrands with a layer or a root singularity there.
pub fn integrate_towards_zero(f: &dyn Fn(f64) -> f64, high: f64, breaks: &[f64]) -> f64 {
    // The integrand may vanish above the last break and be nonzero below it.
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

/// The stopping criteria of the refinement.
struct Refinement {
    /// The size of the whole integral.
    whole: f64,
    /// The required relative agreement of the two rules on a panel.
    error: f64,
    /// The number of halvings left.
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

/// Returns the Kronrod and the Gauss estimate on one panel.
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

/// Returns the edges of panels on [low, high] that shrink toward each break, where features may be very narrow.
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

/// A compensated sum (Neumaier), so that thousands of panels lose no digits.
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
        // Infinite terms make the compensation NaN although the sum itself is valid.
        if total.is_nan() { self.sum } else { total }
    }
}
