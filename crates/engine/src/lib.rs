//! Learners that are offered features and answer "skip" or "ask"; they never touch the world.

pub mod rows;
