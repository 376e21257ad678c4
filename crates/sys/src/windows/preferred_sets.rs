//! The cpus that a process prefers: its default cpu sets. Each process has its own; children do not inherit them.

use std::io;

use corewise_machine::CpuSet;
use windows_sys::Win32::System::Threading::{OpenProcess, PROCESS_SET_LIMITED_INFORMATION, SetProcessDefaultCpuSets};

use super::handle::{KernelHandle, check_result};
use super::processors::{self, NUMBERING};
use crate::logical_processors::cpu_sets::{CpuSetOf, cpu_sets};

/// The cpu sets of some cpus, of any groups.
#[derive(Debug)]
pub struct PreferredSets(Vec<u32>);

impl PreferredSets {
    pub fn new(cpus: &CpuSet) -> io::Result<Self> {
        let (sets, _) = cpu_sets(&processors::cpu_sets().unwrap_or_default());
        let is_wanted =
            |set: &&CpuSetOf| NUMBERING.cpu_number(set.group, set.index).is_some_and(|cpu| cpus.contains(cpu));
        let identifiers: Vec<u32> = sets.iter().filter(is_wanted).map(|set| set.identifier).collect();
        if identifiers.len() < cpus.len() {
            return Err(io::Error::other(format!("the system has no cpu set for each of cpus {cpus}")));
        }
        Ok(Self(identifiers))
    }

    /// Makes a process prefer them.
    pub fn set_preferred(&self, process: &KernelHandle) -> io::Result<()> {
        // SAFETY: the kernel reads `self.0.len()` numbers, which outlive the call.
        check_result(unsafe { SetProcessDefaultCpuSets(process.as_raw(), self.0.as_ptr(), self.0.len() as u32) })
    }

    /// As [`Self::set_preferred`], by the process's number.
    pub fn set_by_number(&self, process: u32) -> io::Result<()> {
        // SAFETY: a call without memory.
        self.set_preferred(&KernelHandle::new(unsafe { OpenProcess(PROCESS_SET_LIMITED_INFORMATION, 0, process) })?)
    }
}
