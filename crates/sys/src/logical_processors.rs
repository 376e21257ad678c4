//! Windows' descriptions of its processors, and the numbering of its cpus: parsed from bytes, on any system.

pub mod bytes;
pub mod cpu_sets;
pub mod numbering;
pub mod relations;
