//! Ordinary differential equations, by the Dormand–Prince pair of orders 5 and 4 with adaptive steps.

use std::ops::Range;

/// The times of the stages, in steps.
const TIMES: [f64; 6] = [1.0 / 5.0, 3.0 / 10.0, 4.0 / 5.0, 8.0 / 9.0, 1.0, 1.0];
/// The rows of the Butcher tableau.
const STAGES: [&[f64]; 6] = [
    &[1.0 / 5.0],
    &[3.0 / 40.0, 9.0 / 40.0],
    &[44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0],
    &[19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0],
    &[9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0],
    &[35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0],
];
/// The weights of the fifth order minus those of the fourth.
const DIFFERENCE: [f64; 7] =
    [71.0 / 57600.0, 0.0, -71.0 / 16695.0, 71.0 / 1920.0, -17253.0 / 339_200.0, 22.0 / 525.0, -1.0 / 40.0];

/// Integrates y′ = field(t, y) over these times and returns y at the end. Calls `see` with every step's length and end.
///
/// The error of each step is at most `tolerance`·(1 + |y|) in every coordinate.
pub(crate) fn integrate<const N: usize>(
    field: impl Fn(f64, &[f64; N]) -> [f64; N],
    start: [f64; N],
    Range { start: from, end: until }: Range<f64>,
    tolerance: f64,
    mut see: impl FnMut(f64, &[f64; N]),
) -> [f64; N] {
    let (mut y, mut time) = (start, from);
    let mut first = field(time, &y);
    let mut step = 1e-2_f64.min(until - from);
    while time < until {
        step = step.min(until - time);
        let mut slopes = [first; 7];
        let mut end = y;
        for (stage, row) in STAGES.iter().enumerate() {
            end = std::array::from_fn(|i| {
                y[i] + step * row.iter().zip(&slopes).map(|(weight, slope)| weight * slope[i]).sum::<f64>()
            });
            slopes[stage + 1] = field(time + TIMES[stage] * step, &end);
        }
        let error = (0..N)
            .map(|i| {
                let error: f64 = DIFFERENCE.iter().zip(&slopes).map(|(weight, slope)| weight * slope[i]).sum();
                (step * error).abs() / (tolerance * (1.0 + y[i].abs().max(end[i].abs())))
            })
            .fold(0.0, f64::max);
        if error <= 1.0 {
            // The remainder may be too small to change the time: then the end is reached.
            time = if time + step == time { until } else { time + step };
            y = end;
            first = slopes[6];
            see(step, &y);
        }
        step *= (0.9 * error.max(1e-10).powf(-0.2)).clamp(0.2, 5.0);
    }
    y
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rotation_returns_to_its_start() {
        let mut time = 0.0;
        let turn = 2.0 * std::f64::consts::PI;
        let end = integrate(|_, y| [-y[1], y[0]], [1.0, 0.0], 0.0..turn, 1e-10, |step, _| time += step);
        assert!((end[0] - 1.0).abs() < 1e-8 && end[1].abs() < 1e-8, "{end:?}");
        assert!((time - turn).abs() < 1e-12);
    }

    #[test]
    fn a_field_may_depend_on_time() {
        let end = integrate(|t, y: &[f64; 1]| [-y[0] / t], [2.0], 1.0..8.0, 1e-10, |_, _| ());
        assert!((end[0] - 0.25).abs() < 1e-8, "{end:?}");
    }

    #[test]
    fn a_stiff_decay_stays_stable() {
        let end = integrate(|_, y: &[f64; 1]| [-100.0 * (y[0] - 2.0)], [0.0], 0.0..50.0, 1e-6, |_, _| ());
        assert!((end[0] - 2.0).abs() < 1e-5, "{end:?}");
    }
}
