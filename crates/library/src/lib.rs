//! Places a program's own threads, and does nothing unless it was proven.
//!
//! ```
//! # fn main() -> Result<(), corewise::PlaceError> {
//! let machine = corewise::Machine::this()?;
//! let placement = machine.place("all")?;
//! let pin = placement.pin_by_index();
//! std::thread::scope(|scope| {
//!     for index in 0..placement.len() {
//!         let pin = &pin;
//!         scope.spawn(move || pin(index));
//!     }
//! });
//! assert!(placement.report().is_whole());
//! # Ok(())
//! # }
//! ```
//!
//! An expression of the [placement language](https://docs.rs/corewise-machine) selects cpus on any machine: `llc:0`, `all - core:0`,
//! `spread(8, llc)`. A [`Placement`] has these cpus in order. Its threads get its whole mask unless [`Placement::one_cpu_each`] or
//! [`Placement::within`] narrows it, since a thread that may use several cpus can leave a busy one.
//!
//! Limits of the program's user come first: the cpuset, the inherited affinity mask, and two variables. `COREWISE=off` leaves
//! every thread alone; `COREWISE_PLACE=EXPR` replaces the program's expressions. Each mask is read back after it was set.
//!
//! Placing threads by hand is often useless, and sometimes harmful: [`proven`] places only where an experiment showed that it helps.
//!
//! The library starts no thread, has no global state, prints nothing and does not panic. Read the machine before the first thread is
//! pinned: the main thread's mask counts as inherited.
#![forbid(unsafe_code)]
#![deny(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unreachable, clippy::unwrap_used)]
#![cfg_attr(test, allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used))]

mod error;
mod limits;
mod machine;
mod parallelism;
mod pinning;
mod placed_machine;
mod placement;
mod proven;
mod threads;
mod user_wish;
mod worth;

pub use corewise_machine::{CpuSet, Level};
pub use error::{PlaceError, WhyUnproven};
pub use machine::Machine;
pub use parallelism::{Parallelism, Role};
pub use pinning::{PinReport, ThreadPin};
pub use placement::Placement;
pub use proven::proven;
pub use threads::{ThreadPlace, threads};
pub use worth::Worth;
