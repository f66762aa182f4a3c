//! Momentum on two clocks (§6.2, label subsec:momentum).
//!
//! On the query clock a rejected observation changes nothing, so the force is the gradient of the next *queried*
//! observation: ∇R̃/r, with R̃ the mean equivalent loss and r(θ) the mean of U, the query rate. On the raw clock a
//! rejected observation counts as a zero gradient: the force is ∇R̃ itself. These are different dynamics.

/// The objective on which a momentum method moves.
pub trait Landscape {
    /// Returns R̃(θ), the mean equivalent loss.
    fn risk(&self, theta: &[f64]) -> f64;

    /// Writes ∇R̃(θ) to `out`.
    fn gradient(&self, theta: &[f64], out: &mut [f64]);

    /// Returns r(θ), the mean of U: the query rate.
    fn rate(&self, theta: &[f64]) -> f64;

    /// Writes ∇r(θ) to `out`.
    fn rate_gradient(&self, theta: &[f64], out: &mut [f64]);
}

/// The damping a(s) in θ̈ + a(s)θ̇ + force = 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Damping {
    /// a = γ: heavy ball.
    Constant(f64),
    /// a = 3/s: Nesterov's limit.
    Nesterov,
}

impl Damping {
    /// Returns a(s).
    pub fn at(self, time: f64) -> f64 {
        match self {
            Damping::Constant(gamma) => gamma,
            Damping::Nesterov => 3.0 / time,
        }
    }
}

/// The event that advances the optimizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// A queried observation.
    Query,
    /// Every observation.
    Raw,
}

/// Writes θ̈ at a time, position and velocity to `out` (label eq:momentum-ode).
pub fn acceleration(
    landscape: &dyn Landscape,
    clock: Clock,
    damping: Damping,
    time: f64,
    theta: &[f64],
    velocity: &[f64],
    out: &mut [f64],
) {
    landscape.gradient(theta, out);
    let scale = match clock {
        Clock::Query => 1.0 / landscape.rate(theta),
        Clock::Raw => 1.0,
    };
    let damped = damping.at(time);
    for (acceleration, v) in out.iter_mut().zip(velocity) {
        *acceleration = -damped * v - scale * *acceleration;
    }
}

/// Returns the energy E = R̃ + r‖θ̇‖²/2 on the query clock.
pub fn energy(landscape: &dyn Landscape, theta: &[f64], velocity: &[f64]) -> f64 {
    landscape.risk(theta) + 0.5 * landscape.rate(theta) * dot(velocity, velocity)
}

/// Returns Ė = −(a r − ṙ/2)‖θ̇‖² (label eq:momentum-energy).
pub fn energy_slope(landscape: &dyn Landscape, damping: Damping, time: f64, theta: &[f64], velocity: &[f64]) -> f64 {
    let rate_change = rate_change(landscape, theta, velocity);
    let squared_speed = dot(velocity, velocity);
    -(damping.at(time) * landscape.rate(theta) - 0.5 * rate_change) * squared_speed
}

/// Writes ẍ in the changed time t with ṡ = √r to `out`: the force is ∇R̃, and the clock enters the damping.
///
/// `query_time` is s(t); `velocity` is dx/dt.
pub fn changed_time_acceleration(
    landscape: &dyn Landscape,
    damping: Damping,
    query_time: f64,
    x: &[f64],
    velocity: &[f64],
    out: &mut [f64],
) {
    let rate = landscape.rate(x);
    let damped = damping.at(query_time) * rate.sqrt() - 0.5 * rate_change(landscape, x, velocity) / rate;
    landscape.gradient(x, out);
    for (acceleration, v) in out.iter_mut().zip(velocity) {
        *acceleration = -damped * v - *acceleration;
    }
}

/// A mode z̈ + γż + (λ/r)z = 0 near a stationary point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    /// Two real roots, fast and slow, both negative: converges without oscillation.
    Overdamped {
        /// The more negative root.
        fast: f64,
        /// The less negative root.
        slow: f64,
    },
    /// A double root: converges fastest.
    Critical {
        /// The root −γ/2.
        root: f64,
    },
    /// A complex pair: oscillates and converges.
    Oscillating {
        /// The real part −γ/2.
        decay: f64,
        /// The imaginary part.
        frequency: f64,
    },
    /// λ = 0: higher orders determine the behavior.
    Degenerate,
    /// A positive root: diverges.
    Unstable {
        /// The positive root.
        growth: f64,
    },
}

/// Returns the mode of Hessian eigenvalue λ at query rate r under constant damping γ > 0.
pub fn mode(eigenvalue: f64, rate: f64, gamma: f64) -> Mode {
    let stiffness = eigenvalue / rate;
    let discriminant = gamma * gamma - 4.0 * stiffness;
    if eigenvalue == 0.0 {
        Mode::Degenerate
    } else if discriminant.abs() <= 8.0 * f64::EPSILON * gamma * gamma {
        // Critical up to the rounding of the inputs.
        Mode::Critical { root: -0.5 * gamma }
    } else if discriminant < 0.0 {
        Mode::Oscillating { decay: -0.5 * gamma, frequency: 0.5 * (-discriminant).sqrt() }
    } else {
        let fast = -0.5 * (gamma + discriminant.sqrt());
        // The product of the roots is the stiffness; dividing keeps the slow root's digits.
        let slow = stiffness / fast;
        if eigenvalue < 0.0 { Mode::Unstable { growth: slow } } else { Mode::Overdamped { fast, slow } }
    }
}

/// Returns the damping 2√(λ/r) at which a mode converges fastest; `None` for λ ≤ 0.
pub fn critical_damping(eigenvalue: f64, rate: f64) -> Option<f64> {
    (0.0 < eigenvalue).then(|| 2.0 * (eigenvalue / rate).sqrt())
}

/// Returns ṙ = ∇r·θ̇.
fn rate_change(landscape: &dyn Landscape, theta: &[f64], velocity: &[f64]) -> f64 {
    let mut gradient = vec![0.0; theta.len()];
    landscape.rate_gradient(theta, &mut gradient);
    dot(&gradient, velocity)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}
