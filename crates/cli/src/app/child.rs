//! Commands that corewise starts for its user: placed, watched, and ended in the same way.

mod group;
pub mod supervise;
pub mod task;
mod watch;
pub mod words;
