//! A pool larger than memory: files of the same columns, read in units by several threads.

mod columns;
mod files;
mod encoder;
mod unit;

pub use columns::{BatchRows, PlainColumns, PoolLayout, VectorColumn, numbers};
pub use encoder::PoolEncoder;
pub use files::PoolFiles;
pub use unit::{PoolVisitor, Unit};
