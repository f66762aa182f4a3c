//! Learners on the mixture: the next queried observation, and paths of runs.

use querist_engine::learner::Learner;
use querist_engine::optimizer::{Constraint, Momentum, Optimizer};
use querist_engine::rule;
use querist_engine::step::{StepSize, Steps};
use querist_engine::stream::{Importance, Rules, StreamLearner};
use querist_engine::synthetic::Mixture;
use querist_engine::task::{self, Labels};
use querist_rows::{DenseRows, Rows};
use querist_theory::momentum::Clock;

use super::{DURATION, Dynamics, FROM, LOOKS};
use crate::mixture::{Population, Theta};
use crate::numbers::brief;
use crate::{Basis, PaperClaim, ReproductionSettings};

fn learner(momentum: Momentum, clock: Clock, step: f64, seed: u64) -> StreamLearner {
    let task = task::parse("squared-hinge", Labels::Binary).expect("a registered loss");
    let rule = rule::parse("margin:mu=1", "squared-hinge", Labels::Binary).expect("a registered rule");
    let optimizer = Optimizer::new(momentum, clock, Constraint::default());
    let learner =
        Learner::new(task, true, 2, optimizer, Steps::new(StepSize::Fixed(step)), Some(&FROM)).expect("legal settings");
    StreamLearner::new(learner, Rules::only(rule), seed, Importance::Equivalent).expect("legal settings")
}

/// Rows of the mixture, in order.
struct MixtureRows {
    mixture: Mixture,
    rows: Rows,
    labels: Vec<f64>,
    next: usize,
    time: u64,
}

impl MixtureRows {
    fn new(seed: u64) -> Self {
        let labels = vec![0.0; 256];
        Self { mixture: Mixture::new(seed), rows: Rows::Dense(DenseRows::new(2)), next: labels.len(), labels, time: 1 }
    }

    /// Fills the next block if the current one is used up, so that the row at `next` is valid.
    fn fill(&mut self) {
        if self.next == self.labels.len() {
            self.mixture.fill(self.time, &mut self.rows, &mut self.labels);
            self.time += self.labels.len() as u64;
            self.next = 0;
        }
    }
}

/// Returns θ of one run at the checkpoints, with ticks of length h.
pub(super) fn follow(dynamics: &Dynamics, h: f64, seed: u64) -> Vec<Theta> {
    let mut learner = learner(dynamics.momentum(h), dynamics.clock, h * h, seed);
    let mut feed = MixtureRows::new(seed);
    let mut path = vec![FROM];
    let ticks_a_look = (DURATION / LOOKS as f64 / h).round() as u64;
    for look in 1..=LOOKS as u64 {
        let target = look * ticks_a_look;
        loop {
            let totals = learner.totals();
            let ticks = if dynamics.clock == Clock::Query { totals.answered } else { totals.observed };
            if target <= ticks {
                break;
            }
            feed.fill();
            let (x, label) = (feed.rows.row(feed.next), feed.labels[feed.next]);
            let offer = learner.offer(x);
            if offer.asked {
                learner.answer(x, offer.probability, label).expect("steps this small do not diverge");
            }
            feed.next += 1;
        }
        let theta = learner.learner().theta();
        path.push([theta[0], theta[1], theta[2]]);
    }
    path
}

/// Checks at fixed parameters that the mean queried gradient is ∇R̃/r and that waits are geometric with rate r.
pub(super) fn embedded(settings: &ReproductionSettings, population: &Population<'_>) -> Vec<PaperClaim> {
    let count = settings.pick(4_000_000_u64, 400_000);
    let mut learner = learner(Momentum::None, Clock::Query, 1e-4, settings.seed);
    let mut feed = MixtureRows::new(settings.seed.wrapping_add(17));
    let (mut sums, mut squares) = ([0.0; 3], [0.0; 3]);
    let (mut asked, mut last, mut waits, mut squared_waits, mut immediate) = (0.0, 0_u64, 0.0, 0.0, 0.0);
    for time in 1..=count {
        feed.fill();
        let (x, label) = (feed.rows.row(feed.next), feed.labels[feed.next]);
        // Without an answer the parameters do not change.
        if learner.offer(x).asked {
            let Rows::Dense(rows) = &feed.rows else { unreachable!("the mixture is dense") };
            let x = rows.row(feed.next);
            let extended = [f64::from(x[0]), f64::from(x[1]), 1.0];
            let score: f64 = extended.iter().zip(FROM).map(|(x, theta)| x * theta).sum();
            let slope = label * population.pair.loss().slope(label * score);
            for j in 0..3 {
                sums[j] += slope * extended[j];
                squares[j] += (slope * extended[j]).powi(2);
            }
            let wait = (time - last) as f64;
            last = time;
            asked += 1.0;
            waits += wait;
            squared_waits += wait * wait;
            immediate += f64::from(u8::from(wait == 1.0));
        }
        feed.next += 1;
    }
    let (rate, gradient) = (population.rate(FROM), population.gradient(FROM));
    let expected = gradient.map(|g| g / rate);
    let mean = sums.map(|sum| sum / asked);
    let off = |found: f64, expected: f64, mean_square: f64| {
        (found - expected).abs() / ((mean_square - found * found).max(1e-300) / asked).sqrt()
    };
    let worst = (0..3).map(|j| off(mean[j], expected[j], squares[j] / asked)).fold(0.0, f64::max);
    let (mean_wait, first) = (waits / asked, immediate / asked);
    let late = off(mean_wait, 1.0 / rate, squared_waits / asked).max(off(first, rate, first));
    vec![
        PaperClaim::new("prop:embedded-query-chain", "the mean gradient of the next asked observation is ∇R̃/r")
            .computed(format!("{} from {asked} asked", super::triple(mean)))
            .expected(
                format!("{} by integrals, within 6 standard errors; {worst:.1} off", super::triple(expected)),
                Basis::Run,
            )
            .holds(worst < 6.0),
        PaperClaim::new("apd:momentum-details", "the wait for an ask is geometric with rate r")
            .computed(format!("mean wait {}, asked at once {}", brief(mean_wait), brief(first)))
            .expected(
                format!("1/r = {} and r = {}, within 6 standard errors; {late:.1} off", brief(1.0 / rate), brief(rate)),
                Basis::Run,
            )
            .holds(late < 6.0),
    ]
}
