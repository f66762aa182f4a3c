//! The durable record of a run, and the model file.
//!
//! A [`Ledger`] is one `SQLite` file to which events are appended: items considered, labels requested, answers. Each
//! append is one transaction and is on disk when the call returns. Events are never changed or erased. A hash chain
//! links them, so every reader can verify that it sees all of them in order. The state of a learner is the fold of its
//! events: everything else that a run writes can be deleted and rebuilt. The ledger stores and chains bytes; the crate
//! that defines an event interprets it. `SQLite` was chosen because it is thoroughly tested, and because common tools
//! can inspect the file.
//!
//! A [`ModelFile`] is the result of a run: a JSON header and named arrays, with a checksum.
//!
//! ```
//! use querist_ledger::{Ledger, Record};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Debug, Deserialize, PartialEq, Serialize)]
//! #[serde(rename_all = "kebab-case")]
//! enum Event {
//!     Asked { ask: u64, id: String },
//!     Answered { ask: u64, label: f64 },
//! }
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("run.ledger");
//! let mut ledger = Ledger::create(&path, r#"{"seed": 7}"#)?;
//! ledger.append(&[
//!     Record::encode(&Event::Asked { ask: 1, id: "mail-2".into() })?,
//!     Record::encode(&Event::Answered { ask: 1, label: 1.0 })?,
//! ])?;
//! drop(ledger);
//!
//! let ledger = Ledger::read(&path)?;
//! assert_eq!(ledger.count("answered"), 1);
//! let last = ledger.records().last().transpose()?.expect("two events");
//! assert_eq!(last.decode::<Event>()?, Event::Answered { ask: 1, label: 1.0 });
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod record;
mod chain;
mod schema;
mod legacy;
mod reader;
mod wal;
mod watermark;
mod loss;
mod salvage;
mod error;
mod ledger;
mod identity;
mod lock;
mod paths;
mod model;
mod atomic;
mod writer;

pub use atomic::{WriteError, write_atomic};
pub use error::{LedgerError, LedgerFault};
pub use ledger::Ledger;
pub use loss::{EventLoss, LossCause};
pub use model::{ModelError, ModelFault, ModelFile, ModelVersion};
pub use paths::owning_ledger;
pub use reader::{Counts, Records};
pub use record::{Record, RecordError};
pub use salvage::{Inspection, Salvaged, salvage};
pub use writer::Writer;
