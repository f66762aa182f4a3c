//! Energy on the query clock, and the change of time that moves the clock into the damping.

use querist_theory::momentum::{
    Clock, Damping, Landscape, acceleration, changed_time_acceleration, energy, energy_slope,
};

use super::{DURATION, DYNAMICS, FROM, START, TOLERANCE};
use crate::mixture::Population;
use crate::numbers::{brief, derivative, fixed};
use crate::ode::integrate;
use crate::{Basis, PaperClaim};

pub(super) fn claims(population: &Population<'_>) -> Vec<PaperClaim> {
    let mut claims: Vec<PaperClaim> = DYNAMICS.iter().map(|dynamics| identity(population, dynamics)).collect();
    claims.extend(DYNAMICS[..2].iter().map(|dynamics| changed_time(population, dynamics.damping, dynamics.title)));
    claims.push(falling_rate(population));
    claims
}

/// Returns (θ, θ̇) and the integral of the predicted energy change, after this time.
fn travel(population: &Population<'_>, clock: Clock, damping: Damping, time: f64) -> [f64; 7] {
    let slope = |now: f64, state: &[f64; 7]| {
        let mut out = [0.0; 7];
        out[..3].copy_from_slice(&state[3..6]);
        acceleration(population, clock, damping, now, &state[..3], &state[3..6], &mut out[3..6]);
        out[6] = energy_slope(population, damping, now, &state[..3], &state[3..6]);
        out
    };
    let start = [FROM[0], FROM[1], FROM[2], 0.0, 0.0, 0.0, 0.0];
    integrate(slope, start, START..START + time, TOLERANCE, |_, _| ())
}

/// Checks Ė = −(a r − ṙ/2)‖θ̇‖², which holds on the query clock only.
fn identity(population: &Population<'_>, dynamics: &super::Dynamics) -> PaperClaim {
    let end = travel(population, dynamics.clock, dynamics.damping, DURATION);
    let change = energy(population, &end[..3], &end[3..6]) - energy(population, &FROM, &[0.0; 3]);
    let off = (change - end[6]).abs();
    let claim = match dynamics.clock {
        Clock::Query => PaperClaim::new("eq:momentum-energy", format!("{}: the energy identity", dynamics.title)),
        Clock::Raw => PaperClaim::new(
            "eq:momentum-energy",
            format!("{}: the identity is one of the query clock, and fails here", dynamics.title),
        ),
    };
    let claim = claim.computed(format!(
        "energy changed by {}, the identity's integral is {}",
        fixed(change, 8),
        fixed(end[6], 8)
    ));
    match dynamics.clock {
        Clock::Query => claim.expected(format!("equal to 1e-7; off by {}", brief(off)), Basis::Run).holds(off < 1e-7),
        Clock::Raw => claim.expected(format!("apart by more than 1e-3; {}", brief(off)), Basis::Run).holds(1e-3 < off),
    }
}

/// Checks that x(t) = θ(s(t)) with ṡ = √r solves the equation with force ∇R̃ and a changed damping.
fn changed_time(population: &Population<'_>, damping: Damping, title: &str) -> PaperClaim {
    let slope = |_: f64, state: &[f64; 7]| {
        let mut out = [0.0; 7];
        out[..3].copy_from_slice(&state[3..6]);
        changed_time_acceleration(population, damping, state[6], &state[..3], &state[3..6], &mut out[3..6]);
        out[6] = Landscape::rate(population, &state[..3]).sqrt();
        out
    };
    let start = [FROM[0], FROM[1], FROM[2], 0.0, 0.0, 0.0, START];
    let changed = integrate(slope, start, 0.0..DURATION, TOLERANCE, |_, _| ());
    let query = travel(population, Clock::Query, damping, changed[6] - START);
    let speed = Landscape::rate(population, &changed[..3]).sqrt();
    let off = (0..3)
        .map(|j| (changed[j] - query[j]).abs().max((changed[3 + j] - speed * query[3 + j]).abs()))
        .fold(0.0, f64::max);
    PaperClaim::new("apd:momentum-details", format!("{title}: the change of time with ṡ = √r"))
        .computed(format!(
            "after t = 4, s = {:.6}; place and velocity of two integrations {} apart",
            changed[6] - START,
            brief(off)
        ))
        .expected("the same path, to 1e-8", Basis::Run)
        .holds(off < 1e-8 && changed[6] - START < DURATION)
}

/// Checks that a decreasing query rate adds dissipation.
fn falling_rate(population: &Population<'_>) -> PaperClaim {
    let theta = [0.3, -0.2, 0.4];
    let mut rise = [0.0; 3];
    population.rate_gradient(&theta, &mut rise);
    let squared: f64 = rise.iter().map(|x| x * x).sum();
    let at = |sign: f64| {
        let velocity = rise.map(|x| sign * x);
        // Ė by differences along a straight motion, with the acceleration of the equation.
        let damping = Damping::Constant(0.8);
        let mut pull = [0.0; 3];
        acceleration(population, Clock::Query, damping, 1.0, &theta, &velocity, &mut pull);
        let after = |t: f64| {
            let position = [0, 1, 2].map(|j| theta[j] + t * velocity[j]);
            let speed = [0, 1, 2].map(|j| velocity[j] + t * pull[j]);
            energy(population, &position, &speed)
        };
        derivative(&after, 0.0, 1e-3)
    };
    let without = -0.8 * population.rate(theta) * squared;
    let (rising, falling) = (at(1.0), at(-1.0));
    PaperClaim::new("subsec:momentum", "a falling query rate adds dissipation, a rising one takes some away")
        .computed(format!("Ė = {} moving to where less is asked, {} the other way", brief(falling), brief(rising)))
        .expected(format!("on either side of −a·r·‖θ̇‖² = {}", brief(without)), Basis::Run)
        .holds(falling < without && without < rising)
}
