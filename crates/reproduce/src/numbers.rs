//! Self-contained numerical routines, and formatting of numbers.

/// Integrates by Simpson's rule on an even number of equal `pieces`.
pub(crate) fn simpson(f: &dyn Fn(f64) -> f64, low: f64, high: f64, pieces: u32) -> f64 {
    let width = (high - low) / f64::from(pieces);
    // The ends are evaluated just inside, because a kink there has two slopes.
    let inside = 1e-12 * (high - low);
    let at = |i: u32| f((low + f64::from(i) * width).clamp(low + inside, high - inside));
    let inner: f64 = (1..pieces).map(|i| if i % 2 == 1 { 4.0 * at(i) } else { 2.0 * at(i) }).sum();
    (at(0) + inner + at(pieces)) * width / 3.0
}

/// Integrates by the ten-point Gauss–Legendre rule. The function must be smooth between the ends.
pub(crate) fn gauss(f: &dyn Fn(f64) -> f64, low: f64, high: f64) -> f64 {
    const POINTS: [(f64, f64); 5] = [
        (0.148_874_338_981_631_22, 0.295_524_224_714_752_87),
        (0.433_395_394_129_247_2, 0.269_266_719_309_996_35),
        (0.679_409_568_299_024_4, 0.219_086_362_515_982_04),
        (0.865_063_366_688_984_5, 0.149_451_349_150_580_6),
        (0.973_906_528_517_171_7, 0.066_671_344_308_688_14),
    ];
    let (middle, half) = (0.5 * (low + high), 0.5 * (high - low));
    half * POINTS.iter().map(|(x, weight)| weight * (f(middle - half * x) + f(middle + half * x))).sum::<f64>()
}

/// Returns f′(x) by central differences of four values, exact for polynomials of degree four.
pub(crate) fn derivative(f: &dyn Fn(f64) -> f64, x: f64, step: f64) -> f64 {
    let across = |h: f64| f(x + h) - f(x - h);
    (8.0 * across(step) - across(2.0 * step)) / (12.0 * step)
}

/// Formats a number briefly: four digits, or an exponent if it is tiny or huge.
pub(crate) fn brief(x: f64) -> String {
    let text = match x.abs() {
        0.0 => "0".to_owned(),
        a if (1e-3..1e5).contains(&a) => {
            let digits = (3 - a.log10().floor() as i32).max(0) as usize;
            let fixed = format!("{x:.digits$}");
            if fixed.contains('.') { fixed.trim_end_matches('0').trim_end_matches('.').to_owned() } else { fixed }
        }
        _ => format!("{x:.1e}"),
    };
    text.replace('-', "−").replace("e−", "e-")
}

/// Formats a number with this many decimals, a true minus sign, and no minus before zero.
pub(crate) fn fixed(x: f64, decimals: usize) -> String {
    let text = format!("{x:.decimals$}");
    match text.strip_prefix('-') {
        Some(digits) if digits.chars().all(|c| matches!(c, '0' | '.')) => digits.to_owned(),
        Some(digits) => format!("−{digits}"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brief_numbers_have_four_digits_or_an_exponent() {
        let written: Vec<String> = [0.0, 1.0, -0.5, 0.123456, 1234.56, 3.2e-9, -1e7].map(brief).to_vec();
        assert_eq!(written, ["0", "1", "−0.5", "0.1235", "1235", "3.2e-9", "−1.0e7"]);
    }

    #[test]
    fn fixed_numbers_keep_their_decimals() {
        let written = [(0.5, 3), (-1.25, 1), (-1e-9, 4), (2.0, 0)].map(|(x, decimals)| fixed(x, decimals));
        assert_eq!(written, ["0.500", "−1.2", "0.0000", "2"]);
    }

    #[test]
    fn polynomials_are_integrated_and_differentiated_exactly() {
        assert!((simpson(&|x| x * x * x, 0.0, 2.0, 2) - 4.0).abs() < 1e-9);
        assert!((gauss(&|x| x.powi(19), 0.0, 2.0) / 52_428.8 - 1.0).abs() < 1e-14);
        assert!((derivative(&|x| x.powi(4), 2.0, 0.1) - 32.0).abs() < 1e-12);
    }
}
