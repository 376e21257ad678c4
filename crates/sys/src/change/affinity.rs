//! A thread of another process that may run on other cpus.

use std::fmt;
use std::io;

use corewise_model::CpuSet;
use serde::{Deserialize, Serialize};

use super::look::Look;
use crate::os::affinity;
use crate::os::process::{Process, Stat};

/// Other cpus for a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AffinityChange {
    /// The thread.
    pub thread: Process,
    /// Its name when it was changed.
    pub name: String,
    /// The cpus that it might use before.
    pub old: CpuSet,
    /// The cpus that it may use.
    pub new: CpuSet,
}

impl AffinityChange {
    pub(super) fn new(thread: u32, new: CpuSet) -> io::Result<Self> {
        let gone = || io::Error::new(io::ErrorKind::NotFound, format!("there is no thread {thread}"));
        let stat = Stat::of(thread)?.filter(|stat| !stat.has_ended).ok_or_else(gone)?;
        let old = affinity::of(thread)?;
        Ok(Self { thread: Process { id: thread, start_ticks: stat.start_ticks }, name: stat.name, old, new })
    }

    pub(super) fn make(&self) -> io::Result<()> {
        let now = self.thread.restrict(&self.new)?;
        if now == self.new {
            return Ok(());
        }
        self.thread.restrict(&self.old)?;
        Err(cut(&now))
    }

    pub(super) fn look(&self) -> io::Result<Look> {
        if !self.thread.is_alive() {
            return Ok(Look::AsBefore("it has ended"));
        }
        let now = affinity::of(self.thread.id)?;
        Ok(if now == self.old {
            Look::AsBefore("it has the old value")
        } else if now == self.new {
            Look::InForce
        } else {
            Look::Changed(format!("someone else has changed it since: it may now use {now}"))
        })
    }

    /// The kernel keeps of the old cpus what is still online and in the cpuset.
    pub(super) fn revert(&self) -> io::Result<Option<String>> {
        let now = self.thread.restrict(&self.old)?;
        Ok((now != self.old).then(|| cut(&now).to_string()))
    }
}

fn cut(now: &CpuSet) -> io::Error {
    io::Error::other(format!("the kernel allows it only {now}: the rest is offline or not allowed"))
}

impl AffinityChange {
    /// What taking it back does.
    pub fn way_back(&self) -> String {
        format!("set cpus of {} ({}) from {} back to {}", self.name, self.thread.id, self.new, self.old)
    }
}

impl fmt::Display for AffinityChange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "cpus of {} ({}): {} to {}", self.name, self.thread.id, self.old, self.new)
    }
}
