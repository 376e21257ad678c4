//! Stalls of the cpus: causes with their shares, the longest stalls in detail, and the cost of watching.

mod causes;
mod longest;
mod remarks;
#[cfg(test)]
pub mod tests;

pub use causes::causes;
pub use longest::longest;
pub use remarks::{periods, senders, unexplained, watching};
