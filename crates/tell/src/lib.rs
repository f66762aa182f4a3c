//! Certificates, lists and numbers as text and JSON: what the command line prints and Python returns is made here, once.

pub mod certificate;
pub mod list;
pub mod number;
pub mod table;
