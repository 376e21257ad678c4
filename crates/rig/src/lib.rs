//! The test rig: boots machines of other topologies in an emulator, and runs corewise there as a user would.
//!
//! A [`Description`] describes a machine: its packages, dies, cores and threads, the numbering of its cpus, its nodes and their memory.
//! From it come the emulator's command line ([`emulator`]), the kernel's table of cpus ([`acpi`]), and the facts that a program must find
//! there ([`Expected`]). A [`Rig`] boots it with a distribution's kernel and a root file system that holds one program, its libraries and
//! busybox; a [`Guest`] is a booted machine that runs steps. The rig does not use corewise's own crates: expected facts are computed
//! independently.
#![forbid(unsafe_code)]

pub mod acpi;
pub mod archive;
pub mod cpus;
mod description;
pub mod emulator;
mod error;
mod expected;
mod guest;
mod kernel;
mod libraries;
mod machines;
mod rig;
mod root_files;

pub use description::{Description, Disk, Memory, Numbering, Place, Processor, Threads};
pub use error::RigError;
pub use expected::{Expected, ExpectedNode};
pub use guest::{Guest, Outcome};
pub use machines::{MACHINES, machine};
pub use rig::{Rig, Use};
