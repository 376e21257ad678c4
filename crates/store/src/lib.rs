//! Measured results in an SQLite database: artifacts of every kind, under one series of numbers.
//!
//! The database holds observations and no conclusions. Conclusions are computed from an artifact when it is read, so better statistics work
//! on old ones. Everything is kept until its owner deletes it.
#![forbid(unsafe_code)]

mod artifacts;
mod error;
mod open;
mod schema;

#[cfg(test)]
mod sample;

pub use artifacts::{ArtifactStore, StoredEntry};
pub use error::StoreError;

/// Result of this crate's functions.
pub type StoreResult<T> = std::result::Result<T, StoreError>;
