//! The test rig: boots machines of other topologies in an emulator, and runs corewise there as a user would.
//!
//! A [`Description`] says what a machine is: its packages, dies, cores and threads, how the kernel numbers its cpus, its
//! nodes and their memory. From it come the emulator's command line ([`emulator`]), the table that tells the kernel about the
//! cpus ([`acpi`]), and what a program that looks at the machine has to find ([`Expected`]). A [`Rig`] boots it with the
//! kernel of a distribution and a root file system that holds one program, its libraries and busybox; a [`Guest`] is a
//! booted machine that runs steps. Nothing here uses corewise's own crates: what is expected is worked out a second time.
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
