//! The population construction: querying in proportion to L = E[ℓ | x] has the mean field of L²/(2M).

use querist_engine::coin::Coin;
use querist_theory::integrability::{conditional_loss_field, loop_work};

use super::plain::{Logits, loss, loss_gradient};
use super::{POINT, corners};
use crate::numbers::{brief, derivative};
use crate::{Basis, PaperClaim, ReproductionSettings};

/// The label probabilities at the feature.
const ODDS: Logits = [0.5, 0.3, 0.2];
/// M, an upper bound on every L that occurs here.
const BOUND: f64 = 7.0;

fn mean_loss(z: &Logits) -> f64 {
    (0..3).map(|label| ODDS[label] * loss(z, label)).sum()
}

/// Returns Σ `η_y`·(L/M)·(p − `e_y`), summed over labels.
pub(super) fn field(z: &[f64]) -> Logits {
    let z = [z[0], z[1], z[2]];
    let gradients = [0, 1, 2].map(|label| loss_gradient(&z, label));
    [0, 1, 2].map(|j| mean_loss(&z) / BOUND * (0..3).map(|label| ODDS[label] * gradients[label][j]).sum::<f64>())
}

pub(super) fn claims(settings: &ReproductionSettings) -> Vec<PaperClaim> {
    vec![has_potential(), asked_mean(settings), regression()]
}

/// Compares the field with differences of L²/(2M), and checks its work around the square.
fn has_potential() -> PaperClaim {
    let mut worst = 0.0_f64;
    for z in [POINT, [-2.0, 1.0, 0.3], [0.0, 0.0, 3.0]] {
        for (j, found) in conditional_loss_field(&ODDS, BOUND, &z).into_iter().enumerate() {
            let potential = |shift: f64| {
                let mut z = z;
                z[j] += shift;
                mean_loss(&z).powi(2) / (2.0 * BOUND)
            };
            worst = worst.max((found - derivative(&potential, 0.0, 1e-3)).abs()).max((found - field(&z)[j]).abs());
        }
    }
    let work = loop_work(&|z| conditional_loss_field(&ODDS, BOUND, z), &corners(1.0));
    PaperClaim::new("sec:multi_dim", "asking with U = L/M, L = E[ℓ | x], follows the gradient of E[L²]/(2M)")
        .computed(format!("work around the square {}; gradient off by {}", brief(work), brief(worst)))
        .expected("0 to 1e-15; differences of L²/(2M), to 1e-10", Basis::Run)
        .holds(work.abs() < 1e-15 && worst < 1e-10)
}

/// Checks the mean queried gradient by simulation with random labels and queries.
fn asked_mean(settings: &ReproductionSettings) -> PaperClaim {
    let count = settings.pick(4_000_000_u64, 400_000);
    let (labels, asks) = (Coin::new(settings.seed, "existence labels"), Coin::new(settings.seed, "existence asks"));
    let probability = mean_loss(&POINT) / BOUND;
    let gradients = [0, 1, 2].map(|label| loss_gradient(&POINT, label));
    let mut asked = [0_u64; 3];
    for time in 0..count {
        if asks.unit(time) < probability {
            let u = labels.unit(time);
            let label = if u < ODDS[0] { 0 } else { usize::from(ODDS[0] + ODDS[1] <= u) + 1 };
            asked[label] += 1;
        }
    }
    let n = count as f64;
    let mut worst = 0.0_f64;
    let mut means = vec![];
    for (j, expected) in field(&POINT).into_iter().enumerate() {
        let mean = (0..3).map(|label| asked[label] as f64 * gradients[label][j]).sum::<f64>() / n;
        let square = (0..3).map(|label| asked[label] as f64 * gradients[label][j].powi(2)).sum::<f64>() / n;
        worst = worst.max((mean - expected).abs() / ((square - mean * mean) / n).sqrt());
        means.push(brief(mean));
    }
    PaperClaim::new("sec:multi_dim", "the same construction, asked: the mean asked gradient")
        .computed(format!("({}) over {count} observations", means.join(", ")))
        .expected(
            format!("∇L²/(2M) = ({}) within 6 standard errors; {worst:.1} off", field(&POINT).map(brief).join(", ")),
            Basis::Run,
        )
        .holds(worst < 6.0)
}

/// Checks for squared error that L is squared bias plus variance, and compares its field with differences.
fn regression() -> PaperClaim {
    // A target with three values.
    let targets = [(-1.0, 0.2), (0.5, 0.5), (2.0, 0.3)];
    let mean: f64 = targets.iter().map(|(y, p)| p * y).sum();
    let variance: f64 = targets.iter().map(|(y, p)| p * (y - mean).powi(2)).sum();
    let loss = |prediction: f64| targets.iter().map(|(y, p)| p * (prediction - y).powi(2)).sum::<f64>();
    let mut worst = (loss(mean) - variance).abs();
    for prediction in [-2.0, 0.0, mean, 1.7] {
        let u = loss(prediction) / BOUND;
        let asked: f64 = targets.iter().map(|(y, p)| p * u * 2.0 * (prediction - y)).sum();
        let objective = |t: f64| loss(t).powi(2) / (2.0 * BOUND);
        worst = worst
            .max((loss(prediction) - (prediction - mean).powi(2) - variance).abs())
            .max((asked - derivative(&objective, prediction, 1e-3)).abs());
    }
    PaperClaim::new(
        "sec:multi_dim",
        "for squared error L is squared bias plus variance, and the variance at the conditional mean",
    )
    .computed(format!("L at the mean {mean:.2} is {:.4}; all off by at most {}", loss(mean), brief(worst)))
    .expected(format!("variance {variance:.4}; field and differences of L²/(2M), to 1e-9"), Basis::Run)
    .holds(worst < 1e-9)
}
