//! Statistics of experiments: what blocks of runs prove, how often that is wrong, and simulations with known truths.
//!
//! Pure functions of numbers: no artifact, no machine. [`wakers`] and [`mapping`] are here because they compute for long: this crate is small,
//! and optimised more than others for tests, which wait for it.
#![forbid(unsafe_code)]

pub mod additive;
pub mod blocks;
pub mod discoveries;
pub mod experiment;
pub mod histogram;
pub mod mapping;
pub mod normal;
pub mod order;
pub mod peers;
pub mod period;
pub mod quantity;
pub mod runs;
pub mod session;
pub mod shrinkage;
pub mod signs;
pub mod simulate;
pub mod student;
pub mod wakers;
