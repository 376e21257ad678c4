//! Probes: each measures one aspect of a machine. Hot loops are free functions over primitive arguments and
//! preallocated buffers. They run on threads that were checked to be on their cpu.

pub mod frequency;
pub mod links;
pub mod memory;
pub mod overhead;
pub mod stalls;
pub mod tail;
mod watchdog;
pub mod work;
