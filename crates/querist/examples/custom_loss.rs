//! Certifies a loss of your own, and learns with it.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

use std::sync::Arc;

use querist::engine::coin::Coin;
use querist::engine::learner::Learner;
use querist::engine::optimizer::{Clock, Constraint, Momentum, Optimizer};
use querist::engine::rule::{Rule, ScoreRule};
use querist::engine::step::{StepSize, Steps};
use querist::engine::stream::{Importance, Rules};
use querist::engine::task::MarginTask;
use querist::prelude::*;
use querist::theory::coordinate::Coordinate;
use querist::theory::loss::{Ground, LossFacts, LossTask};
use querist::theory::registry::Named;

/// The smoothed hinge: quadratic on [0, 1], linear to its left, 0 to its right.
#[derive(Debug)]
struct SmoothedHinge;

impl Loss for SmoothedHinge {
    fn value(&self, s: f64) -> f64 {
        if s < 0.0 { 0.5 - s } else { 0.5 * (1.0 - s).max(0.0).powi(2) }
    }

    fn slope(&self, s: f64) -> f64 {
        (s - 1.0).clamp(-1.0, 0.0)
    }

    fn curvature(&self, s: f64) -> f64 {
        if (0.0..1.0).contains(&s) { 1.0 } else { 0.0 }
    }

    /// States facts with their reasons. Proofs rest on these and name them; without a fact, some claims are unknown.
    fn facts(&self) -> LossFacts {
        LossFacts {
            task: LossTask::Classification,
            coordinate: Coordinate::Score,
            kinks: vec![0.0, 1.0],
            ground: Ground::Infinity,
            defined: Some("it has a slope at every s".into()),
            falls_at_zero: Some("ℓ′(0) = −1".into()),
            convex: Some("its slope never falls".into()),
            decreasing: Some("its slope lies in [−1, 0]".into()),
            lipschitz: Some((1.0, "its slope lies in [−1, 0]".into())),
            rate_left: None,
            rate_right: None,
        }
    }
}

/// Builds a learner of two features from its parts.
fn learner(loss: Named<dyn Loss>, rule: Named<dyn Uncertainty>) -> Result<StreamLearner> {
    let optimizer = Optimizer::new(Momentum::None, Clock::Query, Constraint::default());
    let task = Box::new(MarginTask::new(loss));
    let learner = Learner::new(task, true, 2, optimizer, Steps::new(StepSize::Auto), None)?;
    let rules = Rules::only(Rule::Score(ScoreRule::new(rule)));
    Ok(StreamLearner::new(learner, rules, 1, Importance::Equivalent)?)
}

fn main() -> Result<()> {
    let loss: Named<dyn Loss> = Named::own("smoothed-hinge", Arc::new(SmoothedHinge));
    let rule = querist::theory::uncertainty::parse("margin:mu=1", &loss)?;
    let pair = Queried::new(loss.clone(), rule.clone());
    print!("{}", certificate_text(&querist::theory::certificate::certify(&pair), true));

    let mut learner = learner(loss, rule)?;
    let coin = Coin::new(1, "observations");
    for time in 0..5000 {
        let x = [0, 1].map(|feature| 2.0 * coin.unit(2 * time + feature) as f32 - 1.0);
        let offer = learner.offer(&x[..]);
        if offer.asked {
            learner.answer(&x[..], offer.probability, if x[0] < x[1] { 1.0 } else { -1.0 })?;
        }
    }
    println!("{} of 5000 labels asked for; parameters {:.2?}", learner.totals().asked, learner.learner().theta());
    Ok(())
}
