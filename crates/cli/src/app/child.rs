//! Commands that corewise starts for its user: placed, watched, and ended in the same way.

mod group;
pub mod messages;
pub mod supervisor;
pub mod task;
mod watch;
