//! Small computations that trust nothing else, and how numbers are written.

/// Simpson's rule on `pieces` equal pieces, an even number of them.
pub(crate) fn simpson(f: &dyn Fn(f64) -> f64, low: f64, high: f64, pieces: u32) -> f64 {
    let width = (high - low) / f64::from(pieces);
    // The ends are approached from inside: a kink there has two slopes.
    let inside = 1e-12 * (high - low);
    let at = |i: u32| f((low + f64::from(i) * width).clamp(low + inside, high - inside));
    let inner: f64 = (1..pieces).map(|i| if i % 2 == 1 { 4.0 * at(i) } else { 2.0 * at(i) }).sum();
    (at(0) + inner + at(pieces)) * width / 3.0
}

/// A number in few characters: four digits, an exponent where it is tiny or huge.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_brief() {
        let written: Vec<String> = [0.0, 1.0, -0.5, 0.123456, 1234.56, 3.2e-9, -1e7].map(brief).to_vec();
        assert_eq!(written, ["0", "1", "−0.5", "0.1235", "1235", "3.2e-9", "−1.0e7"]);
    }

    #[test]
    fn cubics_are_integrated_exactly() {
        assert!((simpson(&|x| x * x * x, 0.0, 2.0, 2) - 4.0).abs() < 1e-9);
    }
}
