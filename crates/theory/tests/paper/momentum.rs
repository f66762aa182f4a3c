//! Momentum on the query clock (§6.2 and Appendix "Momentum Details"), with numerical solutions of the equations.

use differential_equations::prelude::{ExplicitRungeKutta, IVP};
use querist_theory::momentum::{
    Clock, Damping, Landscape, Mode, acceleration, changed_time_acceleration, critical_damping, energy, energy_slope,
    mode,
};

use crate::support::{
    FinitePopulation, RandomStream, Vector, WeightedFeature, dot, mean_and_error, near, norm, pair, plus,
};

const DAMPINGS: [Damping; 2] = [Damping::Constant(0.8), Damping::Nesterov];

/// The initial time; Nesterov's damping 3/s is singular at 0.
const START: f64 = 1.0;
const FROM: Vector = [1.4, 1.1];

/// Returns the state at time `to` of a system whose state at time `from` is given.
fn solve<const N: usize>(f: impl Fn(f64, &[f64; N], &mut [f64; N]), from: f64, to: f64, state: [f64; N]) -> [f64; N] {
    // The force has kinks where a margin is 0 or 1; the solver shrinks its steps there to meet the tolerance.
    let method = ExplicitRungeKutta::dop853().rtol(1e-12).atol(1e-13).max_steps(200_000);
    let solution = IVP::ode_from_fn(f, from, to, state).method(method).solve();
    *solution.expect("a solution").y.last().expect("an end")
}

/// Integrates (θ, θ̇) over time, together with one more variable z with derivative `extra`.
fn travel(
    problem: &FinitePopulation<'_>,
    (clock, damping): (Clock, Damping),
    (from, to): (f64, f64),
    state: [f64; 5],
    extra: impl Fn(f64, Vector, Vector) -> f64,
) -> [f64; 5] {
    let system = |time: f64, y: &[f64; 5], dy: &mut [f64; 5]| {
        let (theta, velocity) = ([y[0], y[1]], [y[2], y[3]]);
        dy[..2].copy_from_slice(&velocity);
        acceleration(problem, clock, damping, time, &theta, &velocity, &mut dy[2..4]);
        dy[4] = extra(time, theta, velocity);
    };
    solve(system, from, to, state)
}

fn at_rest(theta: Vector) -> [f64; 5] {
    [theta[0], theta[1], 0.0, 0.0, 0.0]
}

#[test]
fn prop_embedded_query_chain() {
    for (loss, rule) in [("squared-hinge", "margin:mu=1"), ("logistic", "entropy"), ("hinge", "threshold:gamma=0.5")] {
        let pair = pair(loss, rule);
        let problem = FinitePopulation::noisy(&pair);
        let theta = [0.7, -0.4];
        let rate = problem.rate(&theta);
        let mut law_total = 0.0;
        let mut mean = [0.0; 2];
        for &outcome in &problem.outcomes {
            // Queried at the first, second, third … try: rejections, then this outcome and a successful draw.
            let queried = outcome.mass * pair.rule().at(dot(theta, outcome.x));
            let law: f64 = (0..4000).map(|tries| (1.0 - rate).powi(tries) * queried).sum();
            near("U/r times its mass", law, queried / rate, 1e-13);
            law_total += law;
            mean = plus(mean, law, problem.loss_gradient(theta, outcome));
        }
        near("a law", law_total, 1.0, 1e-13);
        let gap = norm(plus(mean, -1.0 / rate, problem.difference_gradient(theta)));
        assert!(gap < 1e-8, "{loss} by {rule}: mean queried gradient off by {gap}");
        // The force on the query clock is the mean queried gradient; on the raw clock it is r times that.
        for (clock, scale) in [(Clock::Query, 1.0), (Clock::Raw, rate)] {
            let mut force = [0.0; 2];
            acceleration(&problem, clock, Damping::Constant(2.0), 1.0, &theta, &[0.0; 2], &mut force);
            assert!(norm(plus(force, scale, mean)) < 1e-12, "{loss} by {rule}: {clock:?}");
        }
    }
}

/// Runs the chain v ← v − h a v − h g, θ ← θ + h v.
///
/// g is a queried gradient or, on the raw clock, 0 if the observation was rejected.
fn chain(problem: &FinitePopulation<'_>, (clock, damping): (Clock, Damping), steps: u32, h: f64, key: u64) -> Vector {
    let mut stream = RandomStream::new(key);
    let (mut theta, mut velocity, mut time) = (FROM, [0.0; 2], START);
    let mut moved = 0;
    while moved < steps {
        let outcome = problem.outcomes[stream.place(problem.outcomes.iter().map(|o| o.mass), 1.0)];
        let queried = stream.unit() < problem.pair.rule().at(dot(theta, outcome.x));
        if !queried && clock == Clock::Query {
            continue;
        }
        velocity = plus(velocity, -h * damping.at(time), velocity);
        if queried {
            velocity = plus(velocity, -h, problem.loss_gradient(theta, outcome));
        }
        theta = plus(theta, h, velocity);
        time += h;
        moved += 1;
    }
    theta
}

#[test]
fn prop_momentum_ode() {
    // The mean of 200 chains against the equation, with 5 standard errors allowed. The chain is also an Euler method,
    // with an error proportional to its step h. That error halves at h/2, so twice the mean at h/2 minus the mean at h
    // is free of it, with a standard error of √(4e₂² + e₁²).
    let pair = pair("squared-hinge", "margin:mu=1");
    let problem = FinitePopulation::noisy(&pair);
    let (steps, time) = (256, 3.0);
    for damping in DAMPINGS {
        let mut ends = Vec::new();
        for clock in [Clock::Query, Clock::Raw] {
            let end = travel(&problem, (clock, damping), (START, START + time), at_rest(FROM), |_, _, _| 0.0);
            ends.push([end[0], end[1]]);
            let runs = |refinement: u32| -> Vec<Vector> {
                let (steps, h) = (steps * refinement, time / f64::from(steps * refinement));
                (0..200)
                    .map(|key| chain(&problem, (clock, damping), steps, h, key * 7 + u64::from(refinement)))
                    .collect()
            };
            let (coarse, fine) = (runs(1), runs(2));
            for j in 0..2 {
                let of = |runs: &[Vector]| mean_and_error(&runs.iter().map(|theta| theta[j]).collect::<Vec<f64>>());
                let ((rough, rough_error), (better, better_error)) = (of(&coarse), of(&fine));
                let error = (2.0 * better_error).hypot(rough_error);
                let gap = (2.0 * better - rough - end[j]).abs();
                assert!(gap <= 5.0 * error, "{clock:?}, {damping:?}: coordinate {j} off by {gap}, error {error}");
                assert!(error < 0.02, "too few runs to tell: {error}");
            }
        }
        // The two clocks are different dynamics, not two descriptions of one: they differ by more than the errors.
        let apart = norm(plus(ends[0], -1.0, ends[1]));
        assert!(0.2 < apart, "{damping:?}: {ends:?}");
    }
}

#[test]
fn prop_momentum_ode_stationary() {
    // Constant solutions are exactly the points without a gradient, on both clocks.
    let pair = pair("squared-hinge", "margin:mu=1");
    let problem = FinitePopulation::noisy(&pair);
    let best = problem.minimizer(0.3);
    for clock in [Clock::Query, Clock::Raw] {
        let end = travel(&problem, (clock, Damping::Constant(0.8)), (0.0, 20.0), at_rest(best), |_, _, _| 0.0);
        assert!(norm(plus([end[0], end[1]], -1.0, best)) < 1e-10, "{clock:?} moved");
        let end = travel(&problem, (clock, Damping::Constant(0.8)), (0.0, 60.0), at_rest(FROM), |_, _, _| 0.0);
        assert!(norm(plus([end[0], end[1]], -1.0, best)) < 1e-8, "{clock:?} did not settle");
    }
}

#[test]
fn eq_momentum_energy() {
    let pair = pair("squared-hinge", "margin:mu=1");
    let problem = FinitePopulation::noisy(&pair);
    for damping in DAMPINGS {
        let loss =
            |time: f64, theta: Vector, velocity: Vector| energy_slope(&problem, damping, time, &theta, &velocity);
        for (clock, holds) in [(Clock::Query, true), (Clock::Raw, false)] {
            let mut state = at_rest(FROM);
            let start = energy(&problem, &FROM, &[0.0; 2]);
            for leg in 0..6 {
                let from = START + 0.5 * f64::from(leg);
                state = travel(&problem, (clock, damping), (from, from + 0.5), state, loss);
                let change = energy(&problem, &state[..2], &state[2..4]) - start;
                // The integral of Ė is the fifth component of the state.
                if holds {
                    near(&format!("{damping:?} at {from}"), state[4], change, 1e-10);
                } else {
                    assert!(1e-3 < (state[4] - change).abs(), "the identity is of the query clock");
                }
            }
        }
    }
    // Moving toward a lower query rate increases the loss of energy: ṙ < 0.
    let (theta, mut towards) = ([0.5, 0.2], [0.0; 2]);
    problem.rate_gradient(&theta, &mut towards);
    let away = plus([0.0; 2], -1.0, towards);
    let at = |velocity: Vector| energy_slope(&problem, Damping::Constant(0.8), 1.0, &theta, &velocity);
    let without = -0.8 * problem.rate(&theta) * dot(away, away);
    assert!(at(away) < without && without < at(towards));
}

#[test]
fn apd_momentum_details_time_change() {
    // x(t) = θ(s(t)) with ṡ = √r: two integrations must give the same path.
    let pair = pair("squared-hinge", "margin:mu=1");
    let problem = FinitePopulation::noisy(&pair);
    for damping in DAMPINGS {
        for time in [0.7, 2.0, 4.0] {
            let system = |_: f64, y: &[f64; 5], dy: &mut [f64; 5]| {
                let (x, velocity) = ([y[0], y[1]], [y[2], y[3]]);
                dy[..2].copy_from_slice(&velocity);
                changed_time_acceleration(&problem, damping, y[4], &x, &velocity, &mut dy[2..4]);
                dy[4] = problem.rate(&x).sqrt();
            };
            let changed = solve(system, 0.0, time, [FROM[0], FROM[1], 0.0, 0.0, START]);
            let query = travel(&problem, (Clock::Query, damping), (START, changed[4]), at_rest(FROM), |_, _, _| 0.0);
            let speed = problem.rate(&changed[..2]).sqrt();
            for j in 0..2 {
                near(&format!("{damping:?}, place at {time}"), changed[j], query[j], 1e-10);
                near(&format!("{damping:?}, velocity at {time}"), changed[2 + j], speed * query[2 + j], 1e-10);
            }
            assert!(changed[4] - START < time, "the query clock is the slower one for U ≤ 1");
        }
    }
}

/// Returns z(t) from z(0) = 1, ż(0) = 0, computed from the roots of a mode.
fn predicted(mode: Mode, gamma: f64, t: f64) -> f64 {
    let two_roots = |one: f64, other: f64| (one * (other * t).exp() - other * (one * t).exp()) / (one - other);
    match mode {
        Mode::Overdamped { fast, slow } => two_roots(fast, slow),
        Mode::Unstable { growth } => two_roots(-gamma - growth, growth),
        Mode::Critical { root } => (1.0 - root * t) * (root * t).exp(),
        Mode::Oscillating { decay, frequency } => {
            (decay * t).exp() * ((frequency * t).cos() - decay / frequency * (frequency * t).sin())
        }
        Mode::Degenerate => 1.0,
    }
}

/// Returns the eigenvalues and unit eigenvectors of the Hessian of R̃, by differences of its gradient.
fn hessian_modes(problem: &FinitePopulation<'_>, theta: Vector) -> [(f64, Vector); 2] {
    let h = 1e-5;
    let column = |e: Vector| {
        let (up, down) = (problem.mean_gradient(plus(theta, h, e)), problem.mean_gradient(plus(theta, -h, e)));
        plus([0.0; 2], 0.5 / h, plus(up, -1.0, down))
    };
    let ([a, b], [_, d]) = (column([1.0, 0.0]), column([0.0, 1.0]));
    let angle = 0.5 * (2.0 * b).atan2(a - d);
    [angle, angle + 0.5 * std::f64::consts::PI].map(|angle| {
        let e = [angle.cos(), angle.sin()];
        (a * e[0] * e[0] + 2.0 * b * e[0] * e[1] + d * e[1] * e[1], e)
    })
}

/// Perturbs θ by 10⁻⁵ along each mode and asserts that it evolves as predicted, up to the square of the perturbation.
fn follow_modes(problem: &FinitePopulation<'_>, theta: Vector, dampings: &[f64]) -> Vec<Mode> {
    let (rate, push) = (problem.rate(&theta), 1e-5);
    let mut seen = Vec::new();
    for (eigenvalue, e) in hessian_modes(problem, theta) {
        let natural = critical_damping(eigenvalue.abs(), rate).unwrap();
        for factor in dampings {
            let gamma = factor * natural;
            let mode = mode(eigenvalue, rate, gamma);
            for t in [1.0, 3.0, 6.0].map(|t| t / natural) {
                let start = at_rest(plus(theta, push, e));
                let end = travel(problem, (Clock::Query, Damping::Constant(gamma)), (0.0, t), start, |_, _, _| 0.0);
                let found = dot(plus([end[0], end[1]], -1.0, theta), e) / push;
                near(&format!("{mode:?} after {t}"), found, predicted(mode, gamma, t), 1e-3);
            }
            seen.push(mode);
        }
    }
    seen
}

#[test]
fn apd_momentum_details_modes() {
    let pair = pair("squared-hinge", "margin:mu=1");
    let problem = FinitePopulation::noisy(&pair);
    let best = problem.minimizer(0.3);
    let modes = follow_modes(&problem, best, &[0.2, 0.9, 1.5, 4.0]);
    for four in modes.chunks(4) {
        assert!(matches!(
            four,
            [Mode::Oscillating { .. }, Mode::Oscillating { .. }, Mode::Overdamped { .. }, Mode::Overdamped { .. }]
        ));
    }
    // At the critical damping 2√(λ/r), here exactly representable, the two roots coincide.
    assert_eq!(critical_damping(0.25, 0.0625), Some(4.0));
    assert_eq!(mode(0.25, 0.0625, 4.0), Mode::Critical { root: -2.0 });
    assert_eq!(critical_damping(-0.25, 0.0625), None);
    assert_eq!(mode(0.0, 0.5, 1.0), Mode::Degenerate);
    // No other damping converges faster: the slower root is never further left than that of the critical one.
    for gamma in (1..200).map(|i| 0.05 * f64::from(i)) {
        let slowest = match mode(0.25, 0.0625, gamma) {
            Mode::Overdamped { fast, slow } => fast.max(slow),
            Mode::Critical { root } => root,
            Mode::Oscillating { decay, .. } => decay,
            other => panic!("{other:?} at a minimum"),
        };
        assert!((-2.0..0.0).contains(&slowest), "{slowest} at {gamma}");
    }
}

#[test]
fn apd_momentum_details_unstable_mode() {
    // Entropy stops querying a point that is confidently wrong, so there is a maximum between fitting the near point
    // and the far one. Labels with probability 1/2 hold the second coordinate at 0.
    let pair = pair("logistic", "entropy");
    let features = [(0.6, [1.0, 0.0], 1.0), (0.2, [6.0, 0.0], 0.0), (0.2, [0.0, 1.0], 0.5)];
    let problem =
        FinitePopulation::new(&pair, features.map(|(weight, x, odds)| WeightedFeature { weight, x, odds }).to_vec());
    let (mut low, mut high) = (0.0, 2.0);
    assert!(0.0 < problem.mean_gradient([low, 0.0])[0] && problem.mean_gradient([high, 0.0])[0] < 0.0);
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if 0.0 < problem.mean_gradient([middle, 0.0])[0] { low = middle } else { high = middle }
    }
    // One direction diverges at either damping, the other does not.
    let modes = follow_modes(&problem, [low, 0.0], &[0.3, 1.5]);
    let diverges = |mode: &Mode| matches!(mode, Mode::Unstable { growth } if 0.0 < *growth);
    assert_eq!(modes.iter().filter(|mode| diverges(mode)).count(), 2, "{modes:?}");
    assert!(modes.chunks(2).all(|two| diverges(&two[0]) == diverges(&two[1])), "{modes:?}");
    for (eigenvalue, gamma) in [(-0.3, 0.1), (-1e-9, 2.0), (-50.0, 3.0)] {
        let Mode::Unstable { growth } = mode(eigenvalue, 0.4, gamma) else { panic!("{eigenvalue} is unstable") };
        near("root", growth * growth + gamma * growth, -eigenvalue / 0.4, 1e-14);
    }
}
