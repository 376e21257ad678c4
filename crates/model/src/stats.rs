//! Statistics of experiments: order statistics and tests on randomised blocks.

pub mod blocks;
pub mod discoveries;
pub mod normal;
pub mod order;
pub mod runs;
pub mod session;
pub mod signs;
pub mod student;
