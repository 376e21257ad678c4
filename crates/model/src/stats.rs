//! Statistics of experiments: order statistics, our own random numbers, and tests on randomised blocks.

pub mod blocks;
pub mod normal;
pub mod order;
pub mod random;
pub mod student;
