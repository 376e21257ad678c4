//! The views: pure functions from values to styled lines. Nothing in here prints, reads or asks the time.

pub mod activity;
pub mod article;
pub mod beside;
pub mod candidates;
pub mod compare;
pub mod doctor;
pub mod experiment;
pub mod findings;
pub mod grid;
pub mod heatmap;
pub mod history;
pub mod irq;
pub mod links;
pub mod machine;
pub mod machines;
pub mod number;

pub mod percentiles;
pub mod picture;
pub mod place;
pub mod rows;
pub mod stalls;
pub mod survey;
pub mod svg;
pub mod tail;
pub mod text;
pub mod topology;
pub mod tree;
pub mod undo;
pub mod workload;
pub mod wrap;

#[cfg(test)]
pub mod fabricated;
#[cfg(test)]
mod screens;
