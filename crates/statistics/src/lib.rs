//! Statistics of experiments: what blocks of runs prove, how often that is wrong, and simulations with known truths.
//!
//! Pure functions of numbers: no artifact, no machine. Two more that compute for long are here: who woke whom, and where threads should be.
//! Small, and optimised more than other crates for tests, which wait for it.
#![forbid(unsafe_code)]

pub mod blocks;
pub mod discoveries;
pub mod experiment;
pub mod mapping;
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
pub mod wakers;
