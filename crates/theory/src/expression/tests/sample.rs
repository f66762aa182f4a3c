//! Reproducible pseudo-random numbers and the expressions that most tests share.

/// A stream of numbers from hashing a counter.
pub(super) struct HashedNumbers {
    counter: u64,
}

impl HashedNumbers {
    pub(super) fn new(seed: u64) -> Self {
        Self { counter: seed.wrapping_mul(0xD134_2543_DE82_EF95) }
    }

    pub(super) fn bits(&mut self) -> u64 {
        self.counter = self.counter.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.counter;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number from zero (inclusive) to one (exclusive).
    pub(super) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(super) fn between(&mut self, low: f64, high: f64) -> f64 {
        (low + (high - low) * self.unit()).clamp(low, high)
    }

    pub(super) fn below(&mut self, count: usize) -> usize {
        (self.bits() % count as u64) as usize
    }

    /// Returns a number of either sign whose magnitude ranges over many orders.
    pub(super) fn wild(&mut self) -> f64 {
        let size = self.between(-8.0, 8.0).exp();
        if self.bits().is_multiple_of(2) { size } else { -size }
    }
}

/// Expressions that together use every rule.
pub(super) const EXPRESSIONS: [&str; 48] = [
    "1/(1+s^2)",
    "log(1+exp(-s))",
    "exp(-abs(s))",
    "max(0, 1-s)^2",
    "0.5+0.5*exp(-abs(s))",
    "s",
    "-s^2",
    "s^3-2*s+1",
    "s^2-2*s+1",
    "s*s*s",
    "s^-1",
    "s^-2",
    "s^0",
    "s^100",
    "s^0.5",
    "s^1.5",
    "abs(s)^0.3",
    "(1+s^2)^(1/3)",
    "2^s",
    "0.1^s",
    "e^(-s^2/2)/sqrt(2*pi)",
    "s^s",
    "(1+abs(s))^sin(s)",
    "exp(s)-1",
    "expm1(-s)/s",
    "log(s)",
    "log1p(s^2)",
    "log(1-s)",
    "sqrt(1-s^2)",
    "sqrt(s^2)",
    "tanh(2*s)",
    "sinh(s)/cosh(s)",
    "sigmoid(s)*sigmoid(-s)",
    "1/(1+exp(-3*s))",
    "min(s, 1-s)",
    "max(s^2, 1)",
    "min(abs(s), 2)*3",
    "sign(s)*s",
    "sign(s^2-1)",
    "atan(s)",
    "atan(1/s)",
    "sin(s)",
    "cos(3*s)+sin(s/2)",
    "sin(s)/s",
    "abs(sin(s))",
    "max(0, abs(s)-0.1)",
    "(s-1)/(s^2+s+1)",
    "tanh(exp(-s^2))-atan(sinh(s))",
];

/// Returns the text of a random expression, nested at most `depth` levels.
pub(super) fn grown(sample: &mut HashedNumbers, depth: usize) -> String {
    let leaf = depth == 0 || sample.below(6) == 0;
    if leaf {
        return ["s", "s", "0", "1", "2", "0.1", "-3", "pi", "e"][sample.below(9)].to_string();
    }
    let first = grown(sample, depth - 1);
    match sample.below(3) {
        0 => {
            let names = [
                "abs", "exp", "log", "log1p", "expm1", "sqrt", "tanh", "sinh", "cosh", "sigmoid", "sign", "atan",
                "sin", "cos", "-",
            ];
            format!("{}({first})", names[sample.below(names.len())])
        }
        1 => {
            let second = grown(sample, depth - 1);
            let name = ["min", "max"][sample.below(2)];
            format!("{name}({first},{second})")
        }
        _ => {
            let second = grown(sample, depth - 1);
            let symbol = ["+", "-", "*", "/", "^"][sample.below(5)];
            format!("({first}){symbol}({second})")
        }
    }
}
