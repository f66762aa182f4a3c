//! Readers of many file formats, which produce rows of features and errors with their location.
//!
//! A format is a [`source::Source`] of records, registered by one line in [`format::FORMATS`]. The role of each column
//! is guessed from the first records. An [`Encoder`] is fitted on them and encodes all later records in the same way.

pub mod error;
pub mod source;
mod lines;
mod byte_positions;
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
mod decimals;
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
mod anomalies;
mod encode;
mod batch;
mod cells;
mod stored_cells;
mod stream;
pub mod pool;

pub use batch::{Batch, BatchIds};
pub use cells::{Cells, Hidden};
pub use encoder::Encoder;
pub use error::{DataError, DataFault, DataPosition, EncoderError, escape_control};
pub use format::{Format, UnknownFormat};
pub use input::Input;
pub use label::LabelKind;
pub use options::{Missing, ReadOptions, RequiredLabels, TableLocation};
pub use source::BadRows;
pub use stored_cells::{StoredCells, StoredColumns};
pub use stream::{Loaded, RowStream, load, load_cells, load_shown, load_with, load_with_cells};
