//! Changes to the machine that outlive the process that makes them: each says what it is, and knows the way back.
//!
//! Nothing is changed but through a [`Journal`], which writes down what is about to be changed, with the old value, before
//! it is. What a process that crashed left behind is found by [`left_in`].

mod affinity;
mod controller;
mod file;
mod folder;
mod heirs;
mod journal;
mod left;
mod lines;
mod log;
mod look;
mod place;
mod target;
#[cfg(all(test, unix))]
mod tests;
mod undo;

pub use affinity::AffinityChange;
pub use controller::ControllerChange;
pub use file::{FileChange, Format};
pub use folder::FolderChange;
pub use journal::Journal;
pub use left::{Left, Standing, left_in};
pub use lines::Header;
pub use log::{Entry, State};
#[cfg(test)]
pub(crate) use target::ground;
pub use undo::{Change, Meanwhile, Outcome, Undone};
