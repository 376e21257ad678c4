//! Starting a command: in this program's place, or as a child that is waited for.

use std::io;
use std::process::Command;

use super::missing::{answers, missing, unavailable};
use super::signals::Held;
pub use crate::values::signals::StateChange;

answers! {
    fn replace(&mut Command) -> io::Error = unavailable();
    fn start(&mut Command, &Held) -> io::Result<u32> = missing();
    fn adopt_orphans() -> () = ();
    fn change_of(u32) -> Option<StateChange> = None;
    fn reap_all_but(u32) -> () = ();
}
