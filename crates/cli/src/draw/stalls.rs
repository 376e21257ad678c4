//! Who stalls the cpus: causes with their shares, the longest stalls from beginning to end, and what watching cost.

mod causes;
mod longest;
mod remarks;
#[cfg(test)]
pub mod tests;

pub use causes::causes;
pub use longest::longest;
pub use remarks::{periods, senders, unexplained, watching};
