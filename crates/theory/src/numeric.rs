//! Numerical methods: exact sums, stable elementary functions, special functions, quadrature, roots, maxima.

pub mod dilogarithm;
pub mod exact;
pub mod exponential_integral;
pub mod quadrature;
pub mod search;
pub mod stable;
