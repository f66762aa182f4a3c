//! A pool larger than memory: files of the same columns, read in units, which several threads can read side by side.

mod columns;
mod files;
mod recipe;
mod unit;

pub use columns::{BatchRows, Layout, PlainColumns, VectorColumn, numbers};
pub use files::Pool;
pub use recipe::Recipe;
pub use unit::{Reader, Unit};
