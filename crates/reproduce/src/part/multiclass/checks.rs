//! Independent checks of the rule and its draws.

use querist_engine::pool::{PoolLearner, Replacement, SgdPool};
use querist_engine::rule::Rule;
use querist_engine::step::StepSize;
use querist_engine::task::Labels;
use querist_rows::Rows;

use crate::contest::Contestant;
use crate::course;
use crate::datasets::{DataSplit, Dataset};
use crate::numbers::brief;
use crate::statistics::Mean;
use crate::{Basis, PaperClaim, ReproductionSettings};

const CLASSES: usize = 3;
/// The number of answers that the rule keeps.
const KEPT: usize = 1000;

/// A learner in the middle of a run on the waves, and its drawn rows.
struct Halted {
    split: DataSplit,
    pool: SgdPool,
    drawn: Vec<usize>,
}

/// Checks the estimate, the sum of probabilities, and the distribution of draws.
pub(super) fn claims(settings: &ReproductionSettings) -> Vec<PaperClaim> {
    let contestant = Contestant {
        loss: "cross-entropy",
        labels: Labels::Classes(CLASSES),
        rule: "conditional-loss",
        step: StepSize::Fixed(0.5),
        batch: 32,
        replacement: Replacement::With,
    };
    let split = course::splits(&Dataset::waveform(), settings.seed, 1, usize::MAX).remove(0);
    let mut pool = contestant.learner(&split, settings.seed);
    // More answers than the rule keeps, so that forgetting is checked as well.
    let drawn = (0..50).flat_map(|_| contestant.round(&mut pool, &split)).collect();
    let halted = Halted { split, pool, drawn };
    let mut claims = vec![estimate(&halted)];
    claims.extend(draws(halted, settings.pick(40_000, 10_000)));
    claims
}

/// Returns L̂ by its formula: distances by coordinates, losses by softmax, one item at a time.
fn by_formula(halted: &Halted, x: &[f32]) -> f64 {
    let Rows::Dense(rows) = &halted.split.train.rows else { unreachable!("splits are dense") };
    let apart =
        |a: &[f32], b: &[f32]| -> f64 { a.iter().zip(b).map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2)).sum() };
    let n = halted.drawn.len() as f64;
    let steps = halted.drawn.windows(2).map(|pair| apart(rows.row(pair[0]), rows.row(pair[1])));
    let spread = steps.sum::<f64>() / (n - 1.0);
    let dim = rows.dim() as f64;
    let bandwidth = n.powf(-1.0 / (dim + 4.0)) * (spread / dim).sqrt();
    let theta = halted.pool.learner().theta();
    let (mut weights, mut losses) = (0.0, 0.0);
    for index in halted.drawn.iter().rev().take(KEPT) {
        let row = rows.row(*index);
        let score = |k: usize| {
            let weighted = row.iter().enumerate().map(|(j, x)| f64::from(*x) * theta[j * CLASSES + k]);
            weighted.sum::<f64>() + theta[rows.dim() * CLASSES + k]
        };
        let all: f64 = (0..CLASSES).map(|k| score(k).exp()).sum();
        let loss = all.ln() - score(halted.split.train.labels[*index] as usize);
        let weight = (-apart(row, x) / (2.0 * bandwidth * bandwidth)).exp();
        weights += weight;
        losses += weight * loss;
    }
    losses / weights
}

fn estimate(halted: &Halted) -> PaperClaim {
    let Rows::Dense(test) = &halted.split.test.rows else { unreachable!("splits are dense") };
    let Rule::ConditionalLoss(rule) = &halted.pool.rules().rule else { unreachable!("the rule that was named") };
    let mut worst = 0.0_f64;
    for row in 0..200 {
        let expected = by_formula(halted, test.row(row));
        let found = rule.estimate(test.row(row)).unwrap_or(f64::NAN);
        worst = worst.max((found / expected - 1.0).abs());
    }
    PaperClaim::new("sec:multi_dim", "L(θ; X) = E[ℓ | X] estimated by a kernel from the answered items")
        .computed(format!(
            "at 200 features, after {} answers, relatively off by at most {}",
            halted.drawn.len(),
            brief(worst)
        ))
        .expected("Nadaraya and Watson's formula, one item after the other; 0 up to rounding, 1e-9", Basis::Run)
        .holds(worst < 1e-9)
}

/// Checks draws without answers: the model does not change, so their distribution is known.
fn draws(mut halted: Halted, count: usize) -> Vec<PaperClaim> {
    let rows = &halted.split.train.rows;
    let uncertainties: Vec<f64> = (0..rows.len()).map(|row| halted.pool.uncertainty(rows.row(row))).collect();
    let sum: f64 = uncertainties.iter().sum();
    let rate = halted.pool.scan(rows).mean();
    let off = (rate * rows.len() as f64 / sum - 1.0).abs();
    let within = uncertainties.iter().all(|u| 0.0 < *u && *u <= 1.0);
    let probabilities =
        PaperClaim::new("eq:pool-mean", "rows are drawn with probability U/nS, where S is the mean of U")
            .computed(format!("U within (0, 1], S = {rate:.4}, the sum of U/nS off 1 by {}", brief(off)))
            .expected("1 up to rounding, 1e-12, by adding row after row", Basis::Run)
            .holds(within && off < 1e-12);

    // Twenty groups of rows by their U: equal counts of rows, unequal shares.
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by(|a, b| uncertainties[*a].total_cmp(&uncertainties[*b]));
    let mut group = vec![0; rows.len()];
    order.iter().enumerate().for_each(|(rank, row)| group[*row] = rank * 20 / rows.len());
    let mut expected = [0.0; 20];
    group.iter().zip(&uncertainties).for_each(|(group, u)| expected[*group] += count as f64 * u / sum);
    let mut found = [0.0; 20];
    let mut inverse_rates = vec![];
    for _ in 0..count {
        let drawn = halted.pool.ask(rows).expect("U is positive everywhere");
        found[group[drawn.row]] += 1.0;
        inverse_rates.push(drawn.inverse_rate);
    }
    let chi: f64 = found.iter().zip(&expected).map(|(found, expected)| (found - expected).powi(2) / expected).sum();
    // χ² with 19 degrees of freedom: mean 19, standard deviation 6.2; beyond 60 with probability 4e-6.
    let law = PaperClaim::new("alg:USGD_pool-based", "proposals that are taken with U/U_max draw in proportion to U")
        .computed(format!("χ² = {chi:.1} over {count} draws in 20 groups of rows by their U"))
        .expected("19 ± 6.2, at most 60", Basis::Theory)
        .holds(chi < 60.0);
    let mean = Mean::of(&inverse_rates);
    let weight =
        PaperClaim::new("alg:USGD_pool-based", "N/U_max has mean 1/S, the weight of an iterate in the average")
            .computed(format!("mean {:.4}, standard error {:.4}", mean.mean, mean.error))
            .expected(format!("1/S = {:.4} by a pass over the pool, within 5 standard errors", 1.0 / rate), Basis::Run)
            .holds(mean.off(1.0 / rate) < 5.0);
    vec![probabilities, law, weight]
}
