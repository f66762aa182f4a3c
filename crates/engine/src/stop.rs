//! Advice on when to stop.
