//! Learns from a stream and asks for few of its labels.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

use querist::engine::coin::Coin;
use querist::prelude::*;

/// Returns an observation and its label: two features, one class right of a line, 5 % of labels flipped.
fn observation(coin: &Coin, time: u64) -> ([f32; 2], f64) {
    let [a, b] = [0, 1].map(|feature| 2.0 * coin.unit(3 * time + feature) as f32 - 1.0);
    let side = if 0.0 < a + 0.5 * b { 1.0 } else { -1.0 };
    ([a, b], if coin.unit(3 * time + 2) < 0.05 { -side } else { side })
}

fn main() -> Result<()> {
    let mut learner = LearnerBuilder::new(Labels::Binary).loss("logistic").rule("entropy").seed(1).stream(2)?;
    let coin = Coin::new(1, "observations");
    let mut correct = 0;
    for time in 0..20_000 {
        let (x, label) = observation(&coin, time);
        let mut score = [0.0];
        learner.learner().scores(&x[..], &mut score);
        correct += u32::from(0.0 < score[0] * label);
        let offer = learner.offer(&x[..]);
        if offer.asked {
            // A driver would ask a person here. The probability stays with the label.
            learner.answer(&x[..], offer.probability, label)?;
        }
    }
    let totals = learner.totals();
    println!("{} of {} labels asked for", totals.asked, totals.observed);
    println!("{:.1} % of predictions correct before their label was known", f64::from(correct) / 200.0);
    Ok(())
}
