//! Quantiles of the normal and of Student's t distribution.

/// Returns the normal quantile for `p` in (0, 1), by Acklam's rational approximation, with a relative error of 1e-9.
pub(crate) fn normal(p: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969683028665376e+01,
        2.209460984245205e+02,
        -2.759285104469687e+02,
        1.383577518672690e+02,
        -3.066479806614716e+01,
        2.506628277459239e+00,
    ];
    const B: [f64; 5] = [
        -5.447609879822406e+01,
        1.615858368580409e+02,
        -1.556989798598866e+02,
        6.680131188771972e+01,
        -1.328068155288572e+01,
    ];
    const C: [f64; 6] = [
        -7.784894002430293e-03,
        -3.223964580411365e-01,
        -2.400758277161838e+00,
        -2.549732539343734e+00,
        4.374664141464968e+00,
        2.938163982698783e+00,
    ];
    const D: [f64; 4] = [7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00, 3.754408661907416e+00];
    let polynomial = |c: &[f64], x: f64| c.iter().fold(0.0, |sum, c| sum * x + c);
    if p > 0.5 {
        return -normal(1.0 - p);
    }
    if p < 0.02425 {
        let t = (-2.0 * p.ln()).sqrt();
        return polynomial(&C, t) / (polynomial(&D, t) * t + 1.0);
    }
    let t = p - 0.5;
    let square = t * t;
    polynomial(&A, square) * t / (polynomial(&B, square) * square + 1.0)
}

/// Returns Student's quantile with at least 2 degrees of freedom, by Fisher's expansion around the normal quantile, to
/// 1 %.
pub(super) fn student(p: f64, freedom: f64) -> f64 {
    let z = normal(p);
    let n = freedom.max(2.0);
    let s = z * z;
    let terms = [
        (s + 1.0) / 4.0,
        ((5.0 * s + 16.0) * s + 3.0) / 96.0,
        (((3.0 * s + 19.0) * s + 17.0) * s - 15.0) / 384.0,
        ((((79.0 * s + 776.0) * s + 1482.0) * s - 1920.0) * s - 945.0) / 92160.0,
    ];
    z * (1.0 + terms.iter().rev().fold(0.0, |sum, term| (sum + term) / n))
}

#[cfg(test)]
mod tests {
    use super::{normal, student};

    #[test]
    fn quantiles_agree_with_tables() {
        for (p, z) in [(0.5, 0.0), (0.975, 1.959963984540054), (0.995, 2.5758293035489004), (0.001, -3.090232306167813)]
        {
            assert!((normal(p) - z).abs() < 1e-8, "{p}: {}", normal(p));
        }
        for (n, t) in [(2.0, 4.302653), (3.0, 3.182446), (5.0, 2.570582), (10.0, 2.228139), (30.0, 2.042272)] {
            assert!((student(0.975, n) / t - 1.0).abs() < 0.01, "{n}: {}", student(0.975, n));
        }
        assert!((student(0.975, 100.0) - 1.983972).abs() < 1e-6);
    }
}
