//! Bytes become rows of features: files of many formats, with the place of what cannot be read.
//!
//! A format is a [`source::Source`] of records, known by one line in [`format::FORMATS`]. The first records say what
//! each column is for; an [`Encoder`] is fitted, and makes rows of whatever comes later in the same way.

pub mod error;
pub mod source;
mod lines;
mod marks;
mod input;
pub mod format;
mod header;
mod csv;
mod json;
mod jsonl;
mod features;
mod svmlight;
mod vw;
pub mod columnar;
mod options;
mod plain;
mod sample;
mod roles;
mod number;
mod hash;
mod dictionary;
mod category;
mod label;
mod text;
mod scaling;
mod record;
mod encoder;
mod describe;
mod remarks;
mod encode;
mod batch;
mod cells;
mod stream;
mod model;
pub mod pool;

pub use batch::{Batch, Ids};
pub use cells::{Cells, Hidden};
pub use encoder::Encoder;
pub use error::{DataError, Fault, Place, shown};
pub use format::Format;
pub use input::Input;
pub use label::Task;
pub use model::Model;
pub use options::{Missing, Options, TablePlace, Wanted};
pub use source::BadRows;
pub use stream::{Loaded, Stream, load, load_cells, load_shown, load_shown_and_hidden, load_with};
