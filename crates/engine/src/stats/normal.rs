//! The normal quantile.

/// Returns the normal quantile for `p` in (0, 1), by Acklam's rational approximation, with a relative error of 1e-9.
pub fn normal_quantile(p: f64) -> f64 {
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
        return -normal_quantile(1.0 - p);
    }
    if p < 0.02425 {
        let t = (-2.0 * p.ln()).sqrt();
        return polynomial(&C, t) / (polynomial(&D, t) * t + 1.0);
    }
    let t = p - 0.5;
    let square = t * t;
    polynomial(&A, square) * t / (polynomial(&B, square) * square + 1.0)
}

#[cfg(test)]
mod tests {
    use super::normal_quantile;

    #[test]
    fn normal_quantiles_agree_with_tables() {
        for (p, z) in [(0.5, 0.0), (0.975, 1.959963984540054), (0.995, 2.5758293035489004), (0.001, -3.090232306167813)]
        {
            assert!((normal_quantile(p) - z).abs() < 1e-8, "{p}: {}", normal_quantile(p));
        }
    }
}
