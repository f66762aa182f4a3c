//! A pool larger than memory: files of the same columns, read in units, which several threads can read side by side.

mod columns;
mod files;
mod encoder;
mod unit;

pub use columns::{BatchRows, PlainColumns, PoolLayout, VectorColumn, numbers};
pub use encoder::PoolEncoder;
pub use files::PoolFiles;
pub use unit::{PoolVisitor, Unit};
