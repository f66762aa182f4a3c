//! The clock of the server. Nothing else in the crate reads the time.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use querist_engine::session::SessionTime;

/// A source of the time since the start of the server and of the time of day.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServerClock {
    start: Instant,
}

impl ServerClock {
    #[expect(clippy::disallowed_methods, reason = "leases expire by the clock")]
    pub(crate) fn new() -> Self {
        Self { start: Instant::now() }
    }

    #[expect(clippy::disallowed_methods, reason = "answers are recorded with their time")]
    pub(crate) fn now(&self) -> SessionTime {
        let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
        SessionTime { tick: self.start.elapsed().as_millis() as u64, clock }
    }
}
