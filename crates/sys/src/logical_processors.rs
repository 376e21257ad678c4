//! What Windows writes of its processors, and how its cpus are numbered: read from bytes, on any system.

pub mod bytes;
pub mod cpu_sets;
pub mod numbering;
pub mod relations;
