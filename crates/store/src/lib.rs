//! What was measured, in an SQLite database: artifacts of every kind, under one series of numbers.
//!
//! The database holds what was observed and nothing that was concluded from it: conclusions are computed anew by whoever
//! reads an artifact, so a better statistic works on old ones. Everything is kept until its owner deletes it.
#![forbid(unsafe_code)]

mod artifacts;
mod error;
mod open;
mod schema;

#[cfg(test)]
mod sample;

pub use artifacts::{Entry, Store};
pub use error::StoreError;

/// What the functions of this crate give.
pub type Result<T> = std::result::Result<T, StoreError>;
