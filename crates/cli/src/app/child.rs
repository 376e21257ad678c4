//! A command that corewise starts for its user: placed, watched, and ended as it ends.

mod group;
pub mod supervise;
pub mod task;
mod watch;
pub mod words;
