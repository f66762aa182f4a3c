//! Rendering of certificates, lists and numbers as text and JSON, shared by the command line and the Python package.

pub mod certificate;
pub mod list;
pub mod number;
pub mod table;
