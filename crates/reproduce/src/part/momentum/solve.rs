//! The classical Runge–Kutta method of order 4.

/// Integrates a system from time `from` to time `to` in this many equal steps and returns the final state.
pub(super) fn solve<const N: usize>(
    slope: &dyn Fn(f64, &[f64; N]) -> [f64; N],
    from: f64,
    to: f64,
    steps: u32,
    mut state: [f64; N],
) -> [f64; N] {
    let h = (to - from) / f64::from(steps);
    let moved = |state: &[f64; N], by: f64, slope: &[f64; N]| {
        let mut moved = *state;
        for (x, slope) in moved.iter_mut().zip(slope) {
            *x += by * slope;
        }
        moved
    };
    for step in 0..steps {
        let time = from + h * f64::from(step);
        let first = slope(time, &state);
        let second = slope(time + 0.5 * h, &moved(&state, 0.5 * h, &first));
        let third = slope(time + 0.5 * h, &moved(&state, 0.5 * h, &second));
        let fourth = slope(time + h, &moved(&state, h, &third));
        for (i, x) in state.iter_mut().enumerate() {
            *x += h / 6.0 * (first[i] + 2.0 * (second[i] + third[i]) + fourth[i]);
        }
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_is_integrated_to_fourth_order() {
        let around = |steps| solve(&|_, x: &[f64; 2]| [-x[1], x[0]], 0.0, std::f64::consts::TAU, steps, [1.0, 0.0]);
        let (coarse, fine) = (around(100)[1].abs(), around(200)[1].abs());
        assert!(fine < 1e-7 && 15.0 < coarse / fine, "{coarse} {fine}");
    }
}
