//! Bytes become rows of features.

pub mod error;
pub mod source;
pub mod columnar;
