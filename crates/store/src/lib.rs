//! The history of surveys, experiments and maps of links, in an SQLite database.
//!
//! The database holds what was observed and nothing that was concluded from it: findings are computed anew by whoever
//! reads a survey, so a better statistic works on old surveys. Everything is kept until its owner deletes it.
#![forbid(unsafe_code)]

mod error;
mod experiments;
mod history;
mod maps;
mod open;
mod schema;

#[cfg(test)]
mod sample;

pub use error::StoreError;
pub use experiments::ExperimentEntry;
pub use history::{Entry, Store};
pub use maps::MapEntry;

/// What the functions of this crate give.
pub type Result<T> = std::result::Result<T, StoreError>;
