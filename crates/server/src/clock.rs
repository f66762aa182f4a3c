//! The one place that reads clocks.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use querist_engine::session::Moment;

/// Time since the server began, and the time of day.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "people's leases end by the clock")]
    pub(crate) fn new() -> Self {
        Self { start: Instant::now() }
    }

    #[expect(clippy::disallowed_methods, reason = "answers are written down with their time")]
    pub(crate) fn now(&self) -> Moment {
        let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
        Moment { tick: self.start.elapsed().as_millis() as u64, clock }
    }
}
