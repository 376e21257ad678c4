//! What the operating system tells and does: topology, recordings, clock, affinity, interrupts, changes that can be undone. The only crate with
//! `unsafe` and with the operating system's name.

pub mod change;
pub mod clock;
pub mod error;
pub mod irq;
pub mod linux;
pub mod path;
pub mod record;
pub mod ring;
pub mod root;
pub mod topology;
pub mod work;

pub use error::SysError;
pub use root::Root;
