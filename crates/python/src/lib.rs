//! The Python module `querist._querist`: conversions and names. All decisions are made in the engine.

use pyo3::pymodule;

mod ask;
mod certificate;
mod error;
mod estimate;
mod model;
mod pool;
mod query;
mod rows;
mod select;
mod stream;
mod theory;
mod threads;

#[pymodule]
mod _querist {
    #[pymodule_export]
    use crate::ask::ask;
    #[pymodule_export]
    use crate::certificate::{certify, listed};
    #[pymodule_export]
    use crate::error::QueristError;
    #[pymodule_export]
    use crate::estimate::{estimate, log_loss, pool_scores, recorded};
    #[pymodule_export]
    use crate::model::{fit, kept, model_bytes, probabilities, read_model, scores, write_model};
    #[pymodule_export]
    use crate::pool::PoolState;
    #[pymodule_export]
    use crate::query::{query, query_scores};
    #[pymodule_export]
    use crate::select::{Selector, width_of_files, width_of_table};
    #[pymodule_export]
    use crate::stream::{PyStream, StreamAsk, made_ask};
    #[pymodule_export]
    use crate::theory::{
        class_uncertainties, equivalent, tabulate_link, tabulate_margins, tabulate_probabilities, uncertainties,
    };

    use pyo3::prelude::*;

    #[pymodule_init]
    #[allow(clippy::unnecessary_wraps, reason = "PyO3 prescribes the signature")]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::error::silence_decoders();
        Ok(())
    }
}
