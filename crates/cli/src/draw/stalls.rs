//! Stalls of the cpus: causes with their shares, the longest stalls in detail, and the cost of watching.

mod causes;
mod longest;
mod remarks;
#[cfg(test)]
pub mod tests;

pub use causes::compose_causes;
pub use longest::compose_longest;
pub use remarks::{compose_periods, compose_senders, compose_unexplained, compose_watching};
