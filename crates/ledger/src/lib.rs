//! The durable record of a run, and the model file.
//!
//! A [`Ledger`] is one `SQLite` file to which events are appended: items considered, labels asked for, answers. An append
//! is one transaction and on disk when it returns. Nothing is changed or erased; the state of a learner is the fold of
//! its events, so whatever else a run writes can be deleted and made again. `SQLite` was taken because it is the most
//! tested store there is, and because anybody can look into the file.
//!
//! A [`ModelFile`] is what a run leaves to be used: a JSON header and named arrays, with a checksum.
//!
//! ```
//! use querist_ledger::{Event, Ledger};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("run.ledger");
//! let mut ledger = Ledger::create(&path, r#"{"seed": 7}"#)?;
//! ledger.append(&[
//!     Event::Considered { first: 1, probabilities: vec![0.1, 0.9], totals: vec![1.0] },
//!     Event::Asked {
//!         time: 2, id: "mail-2".into(), probability: Some(0.9), tries: None, features: vec![1, 2], extra: vec![],
//!     },
//!     Event::Answered { ask: 2, label: 1.0, at: 2, by: Some("Ada".into()) },
//! ])?;
//! drop(ledger);
//!
//! let ledger = Ledger::read(&path)?;
//! assert_eq!(ledger.counts().considered, 2);
//! let last = ledger.events().last().transpose()?;
//! assert_eq!(last, Some(Event::Answered { ask: 2, label: 1.0, at: 2, by: Some("Ada".into()) }));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod event;
mod error;
mod ledger;
mod replay;
mod row;
mod schema;
mod checksum;
mod lock;
mod place;
mod model;
mod atomic;
mod writer;

pub use atomic::{WriteError, write_atomic};
pub use error::{Fault, LedgerError, Refusal};
pub use event::{Counts, Event, Kind};
pub use ledger::Ledger;
pub use model::{ModelError, ModelFault, ModelFile};
pub use replay::Events;
pub use writer::Writer;
