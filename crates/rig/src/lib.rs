//! The test rig: boots machines of other topologies in an emulator, and runs corewise there as a user would.
//!
//! A [`RigMachine`] describes a machine: its packages, dies, cores and threads, the numbering of its cpus, its nodes and their memory.
//! From it come the emulator's command line ([`emulator`]), the kernel's table of cpus ([`acpi`]), and the facts that a program must find
//! there ([`ExpectedMachine`]). A [`Rig`] boots it with a distribution's kernel and a root file system that holds one program, its libraries and
//! busybox; a [`RigGuest`] is a booted machine that runs steps. The rig does not use corewise's own crates: expected facts are computed
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

pub use description::{CoreThreads, CpuNumbering, CpuSeat, DiskPlace, RigMachine, RigNode, RigProcessor};
pub use error::RigError;
pub use expected::{ExpectedMachine, ExpectedNode};
pub use guest::{RigGuest, StepOutcome};
pub use machines::{MACHINES, find_machine};
pub use rig::{Rig, RigUse};
