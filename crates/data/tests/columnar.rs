//! Parquet, Arrow IPC, npy and npz: every value is read, every broken file gives an error.

#[path = "columnar/support.rs"]
mod support;

#[path = "columnar/types.rs"]
mod types;

#[path = "columnar/reading.rs"]
mod reading;

#[path = "columnar/arrays.rs"]
mod arrays;

#[path = "columnar/hostile.rs"]
mod hostile;
