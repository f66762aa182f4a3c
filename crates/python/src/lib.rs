//! The Python module `querist._querist`: conversions and names; whatever is decided is decided in the engine.

use pyo3::prelude::*;

mod certificate;
mod error;

#[pymodule]
mod _querist {
    #[pymodule_export]
    use crate::certificate::{certify, listed};
    #[pymodule_export]
    use crate::error::QueristError;
}
