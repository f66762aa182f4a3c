//! The paper's experiment without sampling: a mixture of four normal distributions and a linear model.
//!
//! Only the distribution of the score matters. It is normal in each component, so risk, rate and gradient are integrals
//! over one standard normal variable t, the component of the feature along the weights.

use std::f64::consts::PI;

use querist_theory::equivalent::Queried;
use querist_theory::loss::Loss;
use querist_theory::numeric::quadrature::integrate;

use crate::support::{near, pair};

/// Center, label and weight of each component; all have standard deviation 1/2 in both directions.
const COMPONENTS: [([f64; 2], f64, f64); 4] =
    [([-2.0, 0.0], 1.0, 0.2), ([2.0, 0.0], 1.0, 0.3), ([0.0, -2.0], -1.0, 0.4), ([0.0, 2.0], -1.0, 0.1)];
const DEVIATION: f64 = 0.5;

struct Summary {
    risk: f64,
    rate: f64,
    gradient: [f64; 3],
}

/// Returns the mean equivalent loss, query rate and gradient at (w₁, w₂, b).
fn summarize(pair: &Queried, [w1, w2, b]: [f64; 3]) -> Summary {
    let length = w1.hypot(w2);
    let mut summary = Summary { risk: 0.0, rate: 0.0, gradient: [0.0; 3] };
    for (center, label, weight) in COMPONENTS {
        let middle = w1 * center[0] + w2 * center[1] + b;
        let score = |t: f64| middle + DEVIATION * length * t;
        let mut breaks: Vec<f64> =
            pair.kinks().iter().map(|kink| (label * kink - middle) / (DEVIATION * length)).collect();
        breaks.extend((-8..=8).map(f64::from));
        let mean = |g: &dyn Fn(f64) -> f64| {
            weight * integrate(&|t| g(t) * (-0.5 * t * t).exp() / (2.0 * PI).sqrt(), -9.0, 9.0, &breaks)
        };
        summary.risk += mean(&|t| pair.value(label * score(t)));
        summary.rate += mean(&|t| pair.rule().at(score(t)));
        let slope = |t: f64| label * pair.slope(label * score(t));
        let (flat, tilted) = (mean(&slope), mean(&|t| t * slope(t)));
        summary.gradient[0] += center[0] * flat + DEVIATION * w1 / length * tilted;
        summary.gradient[1] += center[1] * flat + DEVIATION * w2 / length * tilted;
        summary.gradient[2] += flat;
    }
    summary
}

/// The global minimizer (w₁, w₂, b) of one pair's mean equivalent loss.
struct GlobalMinimum {
    loss: &'static str,
    rule: &'static str,
    theta: [f64; 3],
    risk: f64,
    rate: f64,
}

const MINIMA: [GlobalMinimum; 6] = [
    GlobalMinimum {
        loss: "logistic",
        rule: "entropy",
        theta: [0.17682077861521892, 7.9995182472658835, 8.199128411916794],
        risk: 0.18770308271097008,
        rate: 0.05346531008238882,
    },
    GlobalMinimum {
        loss: "logistic",
        rule: "least-confidence",
        theta: [0.17667349787356673, 7.999891284259966, 8.19936662685508],
        risk: 0.08042733773433355,
        rate: 0.02011302118124389,
    },
    GlobalMinimum {
        loss: "squared-hinge",
        rule: "margin:mu=1",
        theta: [0.04373331044922786, 0.4217754717814103, 0.3507874184173443],
        risk: 0.5505899637842226,
        rate: 0.6903141898455359,
    },
    GlobalMinimum {
        loss: "logistic",
        rule: "threshold:gamma=2",
        theta: [0.17664067591955457, 7.999970369996042, 8.199416116698218],
        risk: 0.36082325295083634,
        rate: 0.053541307942403166,
    },
    GlobalMinimum {
        loss: "hinge",
        rule: "margin:mu=10",
        theta: [0.050382670461360995, 1.8700240931691654, 1.8935196578449027],
        risk: 0.07882664426693944,
        rate: 0.06948275679269242,
    },
    GlobalMinimum {
        loss: "exponential",
        rule: "exponential:mu=0.9",
        theta: [0.05449450789826709, 0.44721091785527334, 0.34877740489375425],
        risk: 0.8856182250024976,
        rate: 0.643185566508609,
    },
];

#[test]
fn fig_exp1_all() {
    for GlobalMinimum { loss, rule, theta, risk, rate } in MINIMA {
        let found = summarize(&pair(loss, rule), theta);
        near(&format!("{loss} by {rule}: risk"), found.risk, risk, 1e-12);
        near(&format!("{loss} by {rule}: rate"), found.rate, rate, 1e-12);
        for slope in found.gradient {
            near(&format!("{loss} by {rule}: gradient"), slope, 0.0, 1e-10);
        }
        // Querying every label has a different objective: its gradient is not 0 here.
        let plain = summarize(&pair(loss, "constant"), theta);
        assert!(plain.gradient.iter().any(|slope| 1e-2 < slope.abs()), "{loss} by {rule}: {:?}", plain.gradient);
    }
}
