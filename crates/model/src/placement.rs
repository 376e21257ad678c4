//! Placements: which cpus, said in words and in the notations of other tools.

pub mod notation;
