//! Searches for roots, maxima and counterexamples on the real line.

/// Returns test points for functions of a score: both signs, from 10⁻⁸ to 10⁴, denser in the middle.
///
/// A search over them can refute a claim. It never proves one.
pub fn probes(kinks: &[f64]) -> Vec<f64> {
    let mut points = vec![0.0];
    for i in 0..=480 {
        let a = 10_f64.powf(-8.0 + f64::from(i) / 40.0);
        points.extend([a, -a]);
    }
    for i in 1..=800 {
        let a = f64::from(i) / 40.0;
        points.extend([a, -a]);
    }
    for kink in kinks {
        for step in [1e-9, 1e-6, 1e-3, 1e-2, 0.1] {
            let width = step * kink.abs().max(1.0);
            points.extend([kink - width, kink + width]);
        }
    }
    points.retain(|s| !kinks.contains(s));
    points.sort_by(f64::total_cmp);
    points.dedup();
    points
}

/// Returns the point and value of the maximum of f near the best of `points`, which must be sorted.
///
/// Returns `None` if f is NaN at every point.
pub fn maximum(f: &dyn Fn(f64) -> f64, points: &[f64]) -> Option<(f64, f64)> {
    let values: Vec<f64> = points.iter().map(|s| f(*s)).collect();
    let best = (0..points.len()).filter(|i| !values[*i].is_nan()).max_by(|i, j| values[*i].total_cmp(&values[*j]))?;
    let (low, high) = (points[best.saturating_sub(1)], points[(best + 1).min(points.len() - 1)]);
    let polished = maximum_between(f, low, high);
    Some(if values[best] < polished.1 { polished } else { (points[best], values[best]) })
}

/// Returns the point and value of the maximum of a unimodal function on [low, high], by golden-section search.
pub fn maximum_between(f: &dyn Fn(f64) -> f64, mut low: f64, mut high: f64) -> (f64, f64) {
    let inverse_golden = 0.5 * (5_f64.sqrt() - 1.0);
    let inside = |low: f64, high: f64| (high - inverse_golden * (high - low), low + inverse_golden * (high - low));
    let (mut left, mut right) = inside(low, high);
    let (mut f_left, mut f_right) = (f(left), f(right));
    // 45 steps shrink a unit interval to 4e-10, where the value is exact to rounding.
    for _ in 0..45 {
        if f_left < f_right {
            low = left;
            (left, f_left) = (right, f_right);
            right = inside(low, high).1;
            f_right = f(right);
        } else {
            high = right;
            (right, f_right) = (left, f_left);
            left = inside(low, high).0;
            f_left = f(left);
        }
    }
    if f_left < f_right { (right, f_right) } else { (left, f_left) }
}

/// Returns a zero of f in [low, high], where it changes sign, by bisection to the last bit.
pub fn bisect(f: &dyn Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    let rising = f(low) < 0.0;
    loop {
        let middle = low + 0.5 * (high - low);
        if middle <= low || high <= middle {
            return middle;
        }
        if (f(middle) < 0.0) == rising { low = middle } else { high = middle }
    }
}
