//! Screens and pictures: pure functions from values to styled lines. They do not print, read or ask for the time.

#[cfg(feature = "measuring")]
pub mod artifact_list;
pub mod csv;
pub mod findings;
#[cfg(test)]
pub mod fixtures;
#[cfg(feature = "measuring")]
pub mod gain;
pub mod grid;
pub mod heat;
pub mod json;
pub mod latency;
pub mod machine;
pub mod markdown;
pub mod number;
#[cfg(feature = "measuring")]
pub mod page;
pub mod picture;
pub mod plot;
pub mod printable;
pub mod repeat_survey;
pub mod shades;
pub mod stalls;
pub mod story;
pub mod suggestion;
pub mod survey;
pub mod survey_row;
pub mod svg;
pub mod text;
pub mod tree;
pub mod trends;
pub mod wrap;
