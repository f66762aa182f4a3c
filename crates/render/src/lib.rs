//! Rendering of certificates, plans, lists and numbers as text, JSON, figures and pages, for the program and the Python package.

pub mod certificate;
pub mod certificate_page;
pub mod list;
pub mod number;
pub mod pair_figure;
pub mod plan;
pub mod table;
