//! Numbers: exact sums, stable elementary forms, special functions, quadrature, roots, maxima.

pub mod dilogarithm;
pub mod exact;
pub mod exponential_integral;
pub mod quadrature;
pub mod search;
pub mod stable;
