//! The algorithms themselves, on a problem so small that every risk is a finite sum (§4.1, §5.1).
//!
//! With the margin rule at μ = 1, the squared hinge and a projection onto a ball, all assumptions hold.

use querist_theory::bound::BoundInputs;
use querist_theory::equivalent::Queried;
use querist_theory::link::Link;
use querist_theory::momentum::Landscape;

use crate::support::{
    FinitePopulation, RandomStream, Vector, WeightedFeature, dot, mean_and_error, near, norm, pair, plus,
};

/// The radius of the ball onto which iterates are projected; the minimizers of both problems are inside.
const RADIUS: f64 = 1.0;

/// The number of runs averaged for one expectation.
const RUNS: u64 = 300;

fn projected(theta: Vector) -> Vector {
    let size = norm(theta);
    if size <= RADIUS { theta } else { plus([0.0; 2], RADIUS / size, theta) }
}

/// Returns G, the root of the maximum of E[‖∇ℓ‖² | x] on the ball; it is convex in the score, so maximal at an end.
fn gradient_bound(problem: &FinitePopulation<'_>) -> f64 {
    let loss = problem.pair.loss();
    let moment = |f: &WeightedFeature, score: f64| {
        let squared = |s: f64| loss.slope(s).powi(2);
        dot(f.x, f.x) * (f.odds * squared(score) + (1.0 - f.odds) * squared(-score))
    };
    let at_ends = |f: &WeightedFeature| {
        let end = RADIUS * norm(f.x);
        moment(f, end).max(moment(f, -end))
    };
    problem.features.iter().map(at_ends).fold(0.0, f64::max).sqrt()
}

struct StreamResult {
    average: Vector,
    /// The mean query probability along the run.
    rate: f64,
}

/// Runs Algorithm 1 with a fixed step: draws a feature, decides at random whether to query, and updates θ.
fn stream_run(problem: &FinitePopulation<'_>, step: f64, horizon: u32, key: u64) -> StreamResult {
    let mut stream = RandomStream::new(key);
    let (mut theta, mut sum, mut queried) = ([0.0; 2], [0.0; 2], 0.0);
    for _ in 0..horizon {
        sum = plus(sum, 1.0, theta);
        let outcome = problem.outcomes[stream.place(problem.outcomes.iter().map(|o| o.mass), 1.0)];
        let u = problem.pair.rule().at(dot(theta, outcome.x));
        queried += u;
        if stream.unit() < u {
            theta = projected(plus(theta, -step, problem.loss_gradient(theta, outcome)));
        }
    }
    let share = 1.0 / f64::from(horizon);
    StreamResult { average: plus([0.0; 2], share, sum), rate: share * queried }
}

/// Runs Algorithm 2: draws features with probability proportional to U and weights the output by 1/S.
fn pool_run(problem: &FinitePopulation<'_>, step: f64, horizon: u32, key: u64) -> Vector {
    let mut stream = RandomStream::new(key);
    let (mut theta, mut sum, mut total) = ([0.0; 2], [0.0; 2], 0.0);
    for _ in 0..horizon {
        let mean_rate = problem.rate(&theta);
        sum = plus(sum, 1.0 / mean_rate, theta);
        total += 1.0 / mean_rate;
        let weights = problem.outcomes.iter().map(|o| o.mass * problem.pair.rule().at(dot(theta, o.x)));
        let outcome = problem.outcomes[stream.place(weights, mean_rate)];
        theta = projected(plus(theta, -step, problem.loss_gradient(theta, outcome)));
    }
    plus([0.0; 2], 1.0 / total, sum)
}

fn convex_pair() -> Queried {
    pair("squared-hinge", "margin:mu=1")
}

#[test]
fn eq_feature_second_moment() {
    // Exactly, at many θ: E‖g‖² ≤ G²·E[U], through which the query rate enters the bound.
    let pair = convex_pair();
    let problem = FinitePopulation::noisy(&pair);
    let bound = gradient_bound(&problem);
    let mut stream = RandomStream::new(2);
    let mut closest: f64 = 0.0;
    for _ in 0..2000 {
        let theta = projected([stream.between(-1.0, 1.0), stream.between(-1.0, 1.0)]);
        let second_moment: f64 = problem
            .outcomes
            .iter()
            .map(|&o| {
                let gradient = problem.loss_gradient(theta, o);
                o.mass * pair.rule().at(dot(theta, o.x)) * dot(gradient, gradient)
            })
            .sum();
        let allowed = bound * bound * problem.rate(&theta);
        assert!(second_moment <= allowed, "{second_moment} > {allowed} at {theta:?}");
        closest = closest.max(second_moment / allowed);
    }
    assert!(0.1 < closest, "the bound is never near: {closest}");
}

#[test]
fn prop_sgd_converge() {
    // The mean of 300 independent runs is within 5 standard errors of the expectation except for one seed in a million.
    // So mean + 5 errors must be below the bound at the mean rate − 5 of its errors.
    let pair = convex_pair();
    let problem = FinitePopulation::noisy(&pair);
    let best = problem.minimizer(0.3);
    assert!(norm(best) < RADIUS, "{best:?}");
    let least = problem.risk(&best);
    for horizon in [64, 256, 1024] {
        let rough = BoundInputs {
            distance: norm(best),
            gradient: gradient_bound(&problem),
            horizon: f64::from(horizon),
            rate: 1.0,
            u_max: 1.0,
        };
        for c in [0.5, rough.feasible_c(), 2.5] {
            let runs: Vec<StreamResult> =
                (0..RUNS).map(|key| stream_run(&problem, rough.step(c), horizon, 1000 + key)).collect();
            let excesses: Vec<f64> = runs.iter().map(|run| problem.risk(&run.average) - least).collect();
            let rates: Vec<f64> = runs.iter().map(|run| run.rate).collect();
            let ((excess, error), (rate, rate_error)) = (mean_and_error(&excesses), mean_and_error(&rates));
            assert!(excesses.iter().all(|excess| -1e-14 < *excess), "below the minimum");
            assert!(rate < 1.0, "the rate should matter");
            let bound = BoundInputs { rate: rate - 5.0 * rate_error, ..rough }.equivalent_risk(c).total();
            assert!(excess + 5.0 * error <= bound, "T = {horizon}, c = {c}: {excess} ± {error} above {bound}");
        }
    }
}

#[test]
fn thm_stream_based() {
    let pair = convex_pair();
    let problem = FinitePopulation::noisy(&pair);
    let link = Link::new(&pair).unwrap();
    let bayes = problem.bayes_risk();
    // For every θ, the 0–1 excess is at most the inverse link of the equivalent excess over all predictors.
    let mut stream = RandomStream::new(3);
    for _ in 0..5000 {
        let theta = [stream.between(-3.0, 3.0), stream.between(-3.0, 3.0)];
        let (zero_one, excess) = (problem.excess_zero_one(theta), problem.risk(&theta) - bayes);
        assert!(zero_one <= link.inverse(excess) + 1e-12, "{theta:?}: {zero_one} for {excess}");
    }
    // In the mean over runs, optimization error and approximation error are under one inverse link.
    let best = problem.minimizer(0.3);
    let approximation = problem.risk(&best) - bayes;
    assert!(1e-3 < approximation, "a line should not be enough");
    let gradient = gradient_bound(&problem);
    for horizon in [64, 1024] {
        let rough = BoundInputs { distance: norm(best), gradient, horizon: f64::from(horizon), rate: 1.0, u_max: 1.0 };
        let runs: Vec<StreamResult> =
            (0..RUNS).map(|key| stream_run(&problem, rough.step(1.0), horizon, 5000 + key)).collect();
        let zero_ones: Vec<f64> = runs.iter().map(|run| problem.excess_zero_one(run.average)).collect();
        let rates: Vec<f64> = runs.iter().map(|run| run.rate).collect();
        let ((zero_one, error), (rate, rate_error)) = (mean_and_error(&zero_ones), mean_and_error(&rates));
        let bound = BoundInputs { rate: rate - 5.0 * rate_error, ..rough }.equivalent_risk(1.0).total();
        let allowed = link.inverse(bound + approximation);
        assert!(zero_one + 5.0 * error <= allowed, "T = {horizon}: {zero_one} ± {error} above {allowed}");
    }
}

#[test]
fn prop_sgd_converge_pool() {
    // Forty features with one label each, most but not all on the correct side of a line.
    let pair = convex_pair();
    let mut stream = RandomStream::new(4);
    let features = (0..40)
        .map(|_| {
            let x = [stream.between(-1.0, 1.0), stream.between(-1.0, 1.0)];
            let odds = if x[0] - 0.5 * x[1] + stream.between(-1.0, 1.0) < 0.0 { 0.0 } else { 1.0 };
            WeightedFeature { weight: 1.0 / 40.0, x, odds }
        })
        .collect();
    let problem = FinitePopulation::new(&pair, features);
    let best = problem.minimizer(0.3);
    assert!(norm(best) < RADIUS, "{best:?}");
    let least = problem.risk(&best);
    for horizon in [50, 200, 800] {
        let setting = BoundInputs {
            distance: norm(best),
            gradient: gradient_bound(&problem),
            horizon: f64::from(horizon),
            rate: 1.0,
            u_max: pair.rule_facts().max,
        };
        let excesses: Vec<f64> = (0..RUNS)
            .map(|key| problem.risk(&pool_run(&problem, setting.step(1.0), horizon, 9000 + key)) - least)
            .collect();
        let (excess, error) = mean_and_error(&excesses);
        let bound = setting.pool_risk();
        // Every draw is queried, so it is the bound of a stream that queries everything, times the largest U.
        near("pool bound", bound, setting.u_max * setting.equivalent_risk(1.0).total(), 1e-14);
        assert!(0.0 < excess && excess + 5.0 * error <= bound, "T = {horizon}: {excess} ± {error} above {bound}");
    }
}
