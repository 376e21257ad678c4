//! Statistics of experiments: what blocks of runs prove, how often that is wrong, and simulations with known truths.
//!
//! Pure functions of numbers: no artifact, no machine. Small, and optimised more than other crates for tests, whose simulations wait for it.
#![forbid(unsafe_code)]

pub mod blocks;
pub mod discoveries;
pub mod experiment;
pub mod normal;
pub mod order;
pub mod peers;
pub mod period;
pub mod quantity;
pub mod runs;
pub mod session;
pub mod signs;
pub mod simulate;
pub mod student;
