//! The scale at which half of the probability falls on the rows nearest to the boundary.

/// A distance from the boundary, and the distance beyond it over which U falls by a factor of e.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct HalfMass {
    /// The smallest gap: U is 1 up to here.
    pub(super) from: f64,
    /// τ. It is infinite if all gaps are equal or more than half of the rows count as near.
    pub(super) reach: f64,
}

/// Gaps larger than the smallest by this many reaches have U below 1e-17 and are not added up.
pub(super) const NEGLIGIBLE: f64 = 40.0;
/// The relative accuracy of the reach.
const ACCURACY: f64 = 1e-6;

/// Solves for the reach τ at which the `share` of rows with the smallest gaps has half of Σ e^(−(gap − from)/τ).
///
/// `sorted` holds the finite gaps of a sample, in ascending order. If rows with the smallest gap are too many for the
/// nearest ones to get half of the sum, the reach is short enough to make U negligible everywhere else.
pub(super) fn solve(sorted: &[f64], share: f64) -> HalfMass {
    let [from, .., last] = sorted else {
        return HalfMass { from: sorted.first().copied().unwrap_or(0.0), reach: f64::INFINITY };
    };
    let (from, farthest) = (*from, last - from);
    let near = ((share * sorted.len() as f64).round() as usize).max(1);
    let Some(nearest) = sorted.iter().map(|gap| gap - from).find(|gap| 0.0 < *gap) else {
        return HalfMass { from, reach: f64::INFINITY };
    };
    let is_too_long = |reach: f64| near_mass(sorted, near, reach) < 0.5;
    // Between these reaches, U falls to nothing before the second gap, or hardly falls at all.
    let mut short = (nearest / NEGLIGIBLE).max(f64::MIN_POSITIVE);
    let mut long = (NEGLIGIBLE * farthest).min(f64::MAX);
    if !is_too_long(long) {
        return HalfMass { from, reach: f64::INFINITY };
    }
    if is_too_long(short) {
        return HalfMass { from, reach: short };
    }
    while short * (1.0 + ACCURACY) < long {
        let middle = short.sqrt() * long.sqrt();
        *(if is_too_long(middle) { &mut long } else { &mut short }) = middle;
    }
    HalfMass { from, reach: short }
}

/// Returns the fraction of Σ e^(−(gap − from)/τ) that belongs to the first `near` rows.
fn near_mass(sorted: &[f64], near: usize, reach: f64) -> f64 {
    let shifted = sorted.iter().map(|gap| (gap - sorted[0]) / reach);
    let (mut inside, mut total) = (0.0, 0.0);
    for (index, gap) in shifted.take_while(|gap| *gap < NEGLIGIBLE).enumerate() {
        total += (-gap).exp();
        if index + 1 == near {
            inside = total;
        }
    }
    if inside == 0.0 { 1.0 } else { inside / total }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_mass_is_on_the_nearest_rows() {
        let even: Vec<f64> = (0..1000).map(f64::from).collect();
        let one_sided: Vec<f64> = even.iter().map(|gap| 7.0 + 1e-3 * gap).collect();
        let skewed: Vec<f64> = even.iter().map(|gap| (gap / 1000.0).powi(4)).collect();
        for gaps in [even, one_sided, skewed] {
            for share in [0.005, 0.01, 0.1, 0.3] {
                let found = solve(&gaps, share);
                let weight = |gap: &f64| (-(gap - found.from) / found.reach).exp();
                let near: f64 = gaps[..(share * 1000.0) as usize].iter().map(weight).sum();
                let all: f64 = gaps.iter().map(weight).sum();
                assert!((near / all - 0.5).abs() < 1e-5, "{share}: {}", near / all);
            }
        }
    }

    /// For gaps spread evenly, the mass within a distance d is 1 − e^(−d/τ), so τ = d/ln 2.
    #[test]
    fn evenly_spread_gaps_have_the_reach_of_a_half_life() {
        let gaps: Vec<f64> = (0..100_000).map(|k| f64::from(k) * 1e-3).collect();
        let found = solve(&gaps, 0.01);
        assert!((found.reach * std::f64::consts::LN_2 - 1.0).abs() < 1e-3, "{found:?}");
    }

    #[test]
    fn degenerate_gaps_have_a_reach() {
        assert_eq!(solve(&[], 0.01), HalfMass { from: 0.0, reach: f64::INFINITY });
        assert_eq!(solve(&[2.0], 0.01), HalfMass { from: 2.0, reach: f64::INFINITY });
        assert_eq!(solve(&[2.0; 9], 0.01), HalfMass { from: 2.0, reach: f64::INFINITY });
        assert_eq!(solve(&[0.0, 1.0, 2.0], 0.9).reach, f64::INFINITY);
        // Half of the rows are on the boundary: the others get nothing.
        let tied: Vec<f64> = (0..100).map(|k| f64::from((k - 49).max(0))).collect();
        assert!((-1.0 / solve(&tied, 0.01).reach).exp() < 1e-17);
        // Differences beyond the largest number still have an order.
        assert!(0.0 < solve(&[0.0, 1e-300, 1.0, 1e300, f64::MAX], 0.2).reach);
        assert!(0.0 < solve(&[0.0, 5e-324, 1e-323], 0.2).reach);
    }
}
