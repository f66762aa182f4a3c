//! Active learning that knows what it is optimizing.
//!
//! Labels are costly, so an active learner asks only for those its model is unsure of. Asking with probability U turns
//! the training loss ℓ into another, the *equivalent loss* with slope U·ℓ′. This library derives that loss, proves or
//! refutes properties of it, and learns from streams, pools and labeling sessions.
//!
//! # Certify a pair of loss and rule
//!
//! ```
//! use querist::prelude::*;
//!
//! let certificate = querist::certify("logistic", "entropy")?;
//! assert!(matches!(certificate.verdict(Claim::Calibrated), Verdict::Proved(_)));
//! println!("{}", certificate_text(&certificate, false));
//! # Ok::<(), querist::Error>(())
//! ```
//!
//! # Learn from a stream
//!
//! ```
//! use querist::prelude::*;
//!
//! let mut stream = LearnerBuilder::new(Labels::Binary).rule("entropy").seed(7).stream(2)?;
//! for (x, y) in [([0.5_f32, 1.0], 1.0), ([-0.3, 0.2], -1.0), ([0.1, -0.9], -1.0)] {
//!     let offer = stream.offer(&x[..]);
//!     if offer.asked {
//!         stream.answer(&x[..], offer.probability, y)?;
//!     }
//! }
//! assert_eq!(stream.totals().observed, 3);
//! # Ok::<(), querist::Error>(())
//! ```
//!
//! # Examples
//!
//! `cargo run --example NAME`, from short to long: `certify`, `custom_loss`, `stream`, `pool`, `label_session`.
//!
//! # Modules
//!
//! The crates of the workspace are re-exported as modules. [`theory`] is the paper. [`rows`] and [`data`] hold and read
//! features. [`engine`] has the learners, which do no input or output. [`run`] adds files, ledgers and resuming.

mod builder;

pub use builder::{Item, LearnerBuilder};
pub use querist_data as data;
pub use querist_engine as engine;
pub use querist_ledger as ledger;
pub use querist_render as render;
pub use querist_rows as rows;
pub use querist_run as run;
pub use querist_run::{Error, Result};
pub use querist_theory as theory;

use querist_theory::certificate::Certificate;
use querist_theory::equivalent::Queried;

/// The names that most programs need.
pub mod prelude {
    pub use querist_engine::pool::{Draw, Drawn, NoRow, PoolLearner, RefitPool, SgdPool};
    pub use querist_engine::session::{BackgroundFitter, LabelValue, Response, Session, SessionEvent, SessionTime};
    pub use querist_engine::stream::{Offer, StreamLearner};
    pub use querist_engine::task::{Labels, Task};
    pub use querist_render::certificate::as_text as certificate_text;
    pub use querist_rows::{DenseRows, Row, Rows, SparseRows};
    pub use querist_theory::certificate::{Certificate, Claim, Verdict};
    pub use querist_theory::equivalent::Queried;
    pub use querist_theory::loss::Loss;
    pub use querist_theory::uncertainty::Uncertainty;

    pub use crate::{Error, Item, LearnerBuilder, Result};
}

/// Certifies a pair: derives the loss that querying `loss` by `rule` optimizes, and decides what holds of it.
///
/// Names are those of `querist list`, or `expr:` with a formula in the margin s.
///
/// ```
/// use querist::prelude::*;
///
/// let certificate = querist::certify("expr:log(1+exp(-s))", "margin:mu=0.5")?;
/// assert!(!matches!(certificate.verdict(Claim::Probability), Verdict::Refuted { .. }));
/// assert!(querist::certify("logistics", "entropy").unwrap_err().to_string().contains("logistic"));
/// # Ok::<(), querist::Error>(())
/// ```
///
/// # Errors
/// [`Error::Name`] if a name is unknown or a parameter is out of range.
pub fn certify(loss: &str, rule: &str) -> Result<Certificate> {
    Ok(querist_theory::certificate::certify(&Queried::parse(loss, rule)?))
}
