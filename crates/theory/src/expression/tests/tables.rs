//! Tables of parities and of kinks.

use super::super::Parity;
use super::parsed;

#[test]
fn parities() {
    let cases = [
        ("s", Parity::Odd),
        ("3", Parity::Even),
        ("-s", Parity::Odd),
        ("s^2", Parity::Even),
        ("s^3", Parity::Odd),
        ("s^-2", Parity::Even),
        ("s^-1", Parity::Odd),
        ("s^0", Parity::Even),
        ("s*s", Parity::Even),
        ("s*s^2", Parity::Odd),
        ("s/abs(s)", Parity::Odd),
        ("1/(1+s^2)", Parity::Even),
        ("s/(1+s^2)", Parity::Odd),
        ("s+s^3", Parity::Odd),
        ("s+s^2", Parity::Unknown),
        ("s-1", Parity::Unknown),
        ("abs(s)", Parity::Even),
        ("abs(s+1)", Parity::Unknown),
        ("exp(-abs(s))", Parity::Even),
        ("exp(s)", Parity::Unknown),
        ("exp(-s^2)", Parity::Even),
        ("cosh(s)", Parity::Even),
        ("cos(s^3)", Parity::Even),
        ("sinh(s)", Parity::Odd),
        ("tanh(2*s)", Parity::Odd),
        ("atan(s)", Parity::Odd),
        ("sin(s)", Parity::Odd),
        ("sign(s)", Parity::Odd),
        ("sin(s)*tanh(s)", Parity::Even),
        ("sin(s^2)", Parity::Even),
        ("log(1+exp(-s))", Parity::Unknown),
        ("log(1+s^2)", Parity::Even),
        ("sigmoid(s)", Parity::Unknown),
        ("max(0, 1-s)", Parity::Unknown),
        ("max(0, 1-s^2)", Parity::Even),
        ("min(s, s)", Parity::Unknown),
        ("abs(s)^0.3", Parity::Even),
        ("s^0.3", Parity::Unknown),
        ("2^abs(s)", Parity::Even),
        ("2^s", Parity::Unknown),
        ("sqrt(s^2)", Parity::Even),
        ("sqrt(1+s^2)", Parity::Even),
        ("expm1(s)", Parity::Unknown),
        ("e^(-s^2/2)/sqrt(2*pi)", Parity::Even),
    ];
    for (text, parity) in cases {
        assert_eq!(parsed(text).parity(), parity, "{text}");
    }
}

#[test]
fn exact_kinks() {
    let cases: [(&str, &[f64]); 22] = [
        ("s^2", &[]),
        ("abs(s)", &[0.0]),
        ("abs(-3*s)", &[0.0]),
        ("exp(-abs(s))", &[0.0]),
        ("max(0,1-s)", &[1.0]),
        ("max(0, 1-s)^2", &[1.0]),
        ("abs(s-1)+abs(s+1)+abs(1-s)", &[-1.0, 1.0]),
        ("max(s, 1-s)", &[0.5]),
        ("max(s, s+1)", &[]),
        ("min(2, 5)*s", &[]),
        ("abs((s-3)/2)", &[3.0]),
        ("sign(2*(s+1)-s)", &[-2.0]),
        ("sqrt(s^2)", &[0.0]),
        ("max(s^2, 1)", &[-1.0, 1.0]),
        ("max(s^2, 0)", &[]),
        ("abs(s^2-2*s+1)", &[]),
        ("abs(s^3)", &[0.0]),
        ("max(s, s^3)", &[-1.0, 0.0, 1.0]),
        ("abs(abs(s)-0.3)", &[-0.3, 0.0, 0.3]),
        ("max(0, log(s))", &[1.0]),
        ("sign(1/s)", &[0.0]),
        ("max(s^2, 1e10)", &[-1e5, 1e5]),
    ];
    for (text, kinks) in cases {
        let found = parsed(text).kinks();
        assert_eq!(found, kinks, "{text}");
        assert!(found.iter().all(|kink| kink.is_sign_positive() || *kink != 0.0));
    }
}

#[test]
fn searched_kinks() {
    let root = parsed("max(exp(s), 2)").kinks();
    assert_eq!(root.len(), 1);
    assert!((root[0] - std::f64::consts::LN_2).abs() < 1e-15);
    let roots = parsed("abs(sin(s))").kinks();
    assert!(roots.len() > 50);
    let middle = roots.iter().position(|&kink| kink == 0.0);
    let middle = middle.unwrap_or(usize::MAX);
    for (offset, multiple) in (1..20).zip(1..20) {
        let expected = std::f64::consts::PI * f64::from(multiple);
        assert!((roots[middle + offset] - expected).abs() < 1e-12);
        assert!((roots[middle - offset] + expected).abs() < 1e-12);
    }
}
