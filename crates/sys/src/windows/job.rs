//! Job objects: they hold a command and all its descendants, until they are released.

use std::{io, ptr};

use corewise_machine::CpuSet;
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOBOBJECT_BASIC_ACCOUNTING_INFORMATION, JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JobObjectBasicAccountingInformation,
    JobObjectBasicProcessIdList, JobObjectExtendedLimitInformation, JobObjectGroupInformationEx,
    QueryInformationJobObject, SetInformationJobObject, TerminateJobObject,
};
use windows_sys::Win32::System::SystemInformation::GROUP_AFFINITY;
use windows_sys::Win32::System::Threading::SetProcessAffinityMask;

use super::affinity::one_mask;
use super::handle::{KernelHandle, check_result};
use super::processors::NUMBERING;
use crate::logical_processors::relations::GroupMask;

/// A job, which kills the processes in it when this program ends, however it ends.
#[derive(Debug)]
pub struct KernelJob(KernelHandle);

impl KernelJob {
    pub fn new() -> io::Result<Self> {
        // SAFETY: no memory is passed.
        let job = Self(KernelHandle::new(unsafe { CreateJobObjectW(std::ptr::null(), std::ptr::null()) })?);
        job.set_flags(JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE)?;
        Ok(job)
    }

    fn set_flags(&self, flags: u32) -> io::Result<()> {
        let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
        limits.BasicLimitInformation.LimitFlags = flags;
        // SAFETY: the kernel reads the structure, and is given its size.
        check_result(unsafe {
            SetInformationJobObject(
                self.0.as_raw(),
                JobObjectExtendedLimitInformation,
                (&raw const limits).cast(),
                size_of_val(&limits) as u32,
            )
        })
    }

    /// Takes a suspended process in, on cpus of one group if given: its descendants inherit the mask and are in the job.
    pub fn hold_process(&self, process: &KernelHandle, cpus: Option<&CpuSet>) -> io::Result<()> {
        let mask = cpus.map(one_mask).transpose()?;
        let has_groups = NUMBERING.groups.len() > 1;
        if let Some(mask) = mask.filter(|_| has_groups) {
            self.set_group(&GROUP_AFFINITY { Mask: mask.bits as usize, Group: mask.group, Reserved: [0; 3] })?;
        }
        // SAFETY: both are this program's own handles.
        check_result(unsafe { AssignProcessToJobObject(self.0.as_raw(), process.as_raw()) })?;
        // SAFETY: a call without memory.
        let set =
            |mask: GroupMask| check_result(unsafe { SetProcessAffinityMask(process.as_raw(), mask.bits as usize) });
        mask.filter(|_| !has_groups).map_or(Ok(()), set)
    }

    /// Keeps the job's processes on cpus of a group; a process's own mask could only be of the group in which it was started.
    fn set_group(&self, affinity: &GROUP_AFFINITY) -> io::Result<()> {
        // SAFETY: the kernel reads the structure, and is given its size.
        check_result(unsafe {
            SetInformationJobObject(
                self.0.as_raw(),
                JobObjectGroupInformationEx,
                std::ptr::from_ref(affinity).cast(),
                size_of::<GROUP_AFFINITY>() as u32,
            )
        })
    }

    /// Returns the number of processes in it now.
    pub fn process_count(&self) -> u32 {
        self.read_accounting().ActiveProcesses
    }

    /// Returns the numbers of the processes in it now, up to a maximum.
    pub fn process_numbers(&self) -> Vec<u32> {
        const MOST: usize = 1_022;
        // JOBOBJECT_BASIC_PROCESS_ID_LIST: two counts of 32 bits, and the numbers as words.
        let mut list = [0_usize; MOST + 1];
        self.query_structure(JobObjectBasicProcessIdList, &mut list);
        let listed = (list[0] >> 32).min(MOST);
        list[1..=listed].iter().map(|number| *number as u32).collect()
    }

    /// Returns the user and system time of all its present and past processes, as far as the system counts them, in seconds.
    pub fn times_s(&self) -> (f64, f64) {
        const HUNDREDS_OF_NS: f64 = 1e-7;
        let accounting = self.read_accounting();
        (accounting.TotalUserTime as f64 * HUNDREDS_OF_NS, accounting.TotalKernelTime as f64 * HUNDREDS_OF_NS)
    }

    /// Returns the number of pages that were mapped or read for all its present and past processes.
    pub fn page_faults(&self) -> u64 {
        self.read_accounting().TotalPageFaultCount.into()
    }

    /// Returns the peak memory committed by one of its processes, in bytes.
    pub fn peak_memory_bytes(&self) -> u64 {
        let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
        self.query_structure(JobObjectExtendedLimitInformation, &mut limits);
        limits.PeakProcessMemoryUsed as u64
    }

    fn read_accounting(&self) -> JOBOBJECT_BASIC_ACCOUNTING_INFORMATION {
        let mut accounting = JOBOBJECT_BASIC_ACCOUNTING_INFORMATION::default();
        self.query_structure(JobObjectBasicAccountingInformation, &mut accounting);
        accounting
    }

    /// Fills a structure of plain numbers; it stays unchanged if the kernel refuses.
    fn query_structure<T>(&self, class: i32, structure: &mut T) {
        // SAFETY: the kernel fills the structure of this class, and is given its size.
        unsafe {
            QueryInformationJobObject(
                self.0.as_raw(),
                class,
                ptr::from_mut(structure).cast(),
                size_of::<T>() as u32,
                ptr::null_mut(),
            );
        }
    }

    /// Kills all its processes.
    pub fn end_processes(&self) {
        // SAFETY: a call without memory.
        unsafe { TerminateJobObject(self.0.as_raw(), 1) };
    }

    /// Lets the job's processes outlive this program.
    pub fn let_go(&self) {
        let _ = self.set_flags(0);
    }
}
