//! corewise: on which CPUs should this program run, and does it matter at all?
#![forbid(unsafe_code)]
#![allow(dead_code)]
mod args;
mod error;
mod settings;
mod view;
fn main() {}
