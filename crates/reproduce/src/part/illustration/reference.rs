//! External reference values for the mixture: minimizers at 30 digits, flows by LSODA at relative tolerance 1e-9, and
//! deviations of single runs estimated from 24 runs.

use crate::mixture::Theta;

/// A local minimum of the mean equivalent loss. The rule `constant` denotes the loss itself.
pub(super) struct Minimum {
    pub loss: &'static str,
    pub rule: &'static str,
    pub theta: Theta,
    pub risk: f64,
    pub zero_one: f64,
}

/// Returns the minima; the global minimum of each pair comes first.
pub(super) fn minima() -> Vec<Minimum> {
    let minimum = |(loss, rule, n): (&'static str, &'static str, [f64; 5])| Minimum {
        loss,
        rule,
        theta: [n[0], n[1], n[2]],
        risk: n[3],
        zero_one: n[4],
    };
    table(include_str!("minima.csv")).map(minimum).collect()
}

/// Algorithm 1 from one start: its flow at time 1000, and the deviations of single runs of 10⁷ observations at step
/// 1e-4.
pub(super) struct Flow {
    pub loss: &'static str,
    pub rule: &'static str,
    pub start: Theta,
    pub last: Theta,
    pub average: Theta,
    pub rate: f64,
    pub last_sd: Theta,
    pub average_sd: Theta,
}

pub(super) fn flows() -> Vec<Flow> {
    let flow = |(loss, rule, n): (&'static str, &'static str, [f64; 16])| {
        let theta = |at: usize| [n[at], n[at + 1], n[at + 2]];
        let (start, last, average, rate) = (theta(0), theta(3), theta(6), n[9]);
        Flow { loss, rule, start, last, average, rate, last_sd: theta(10), average_sd: theta(13) }
    };
    table(include_str!("flows.csv")).map(flow).collect()
}

/// Parses the loss, the rule and the numbers of each line after the header. Panics on malformed lines.
fn table<const N: usize>(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str, [f64; N])> {
    text.lines().skip(1).map(|line| {
        let mut cells = line.split(',');
        let mut name = || cells.next().expect("a name in every line");
        let (loss, rule) = (name(), name());
        let numbers: Vec<f64> = cells.map(|cell| cell.parse().expect("a number")).collect();
        (loss, rule, numbers.try_into().expect("as many numbers as columns"))
    })
}

/// The number of flows, out of 60 from N(0, I), that reach the good minimum.
pub(super) struct Reached {
    pub loss: &'static str,
    pub rule: &'static str,
    pub good: u32,
}

pub(super) const REACHED: [Reached; 4] = [
    Reached { loss: "logistic", rule: "entropy", good: 57 },
    Reached { loss: "logistic", rule: "least-confidence", good: 44 },
    Reached { loss: "logistic", rule: "threshold:gamma=2", good: 34 },
    Reached { loss: "hinge", rule: "margin:mu=10", good: 16 },
];

/// Minimizers of L(min(s, 1)), the objective of gradients that are set to 0 from s = 1 on.
pub(super) const MASKED: [(&str, Theta); 3] = [
    ("entropy", [0.0518, 0.9891, 0.9386]),
    ("least-confidence", [0.0881, 3.9820, 4.0810]),
    ("threshold:gamma=2", [0.0818, 3.6977, 3.7900]),
];
