//! Speeds as ratios to the same algorithms in C.

fn main() {}
