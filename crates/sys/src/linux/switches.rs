//! Switches of one's own threads, which the kernel records for any user: PERF_RECORD_SWITCH of perf_event_open(2).
//!
//! Each cpu has one ring, and each followed thread an event on each cpu that writes into it. Threads and processes that a followed thread
//! makes afterwards inherit its events.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsRawFd as _;

use corewise_machine::Gap;
use perf_event::events::Software;
use perf_event::{Builder, Clock, Counter, SampleFlag, Sampler};

use super::cpuset::online_cpus;
pub use crate::values::switches::{OwnSwitch, SwitchBatch, SwitchChange};

/// Kinds of records, and the bits of a switch (include/uapi/linux/perf_event.h).
const RECORD_LOST: u32 = 2;
const RECORD_NAME: u32 = 3;
const RECORD_EXIT: u32 = 4;
const RECORD_SWITCH: u32 = 14;
const SWITCH_OUT: u16 = 1 << 13;
const SWITCH_OUT_PREEMPTED: u16 = 1 << 14;
/// `PERF_EVENT_IOC_SET_OUTPUT`, `_IO('$', 5)`.
const SET_OUTPUT: libc::c_ulong = 0x2405;
/// Largest and smallest ring of a cpu, in bytes. An ordinary user may lock 512 KiB for each (perf_event_mlock_kb).
const LARGEST_RING_BYTES: usize = 1 << 19;
const SMALLEST_RING_BYTES: usize = 1 << 13;

/// Follows threads of this user.
pub struct SwitchFollower {
    cpus: Vec<u32>,
    rings: BTreeMap<u32, Sampler>,
    others: Vec<Counter>,
}

impl std::fmt::Debug for SwitchFollower {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("SwitchFollower").field("cpus", &self.cpus).finish_non_exhaustive()
    }
}

impl SwitchFollower {
    /// Follows no thread yet, on the cpus that are online now.
    pub fn new() -> Self {
        Self { cpus: online_cpus().iter().collect(), rings: BTreeMap::new(), others: Vec::new() }
    }

    /// Follows a thread, and the threads that it makes from now on; an ended one has no switches. The number 0 is the calling thread.
    ///
    /// # Errors
    /// The gap that says why the kernel refuses, and what would change that.
    pub fn follow_thread(&mut self, thread: u32) -> Result<(), Gap> {
        let cpus = std::mem::take(&mut self.cpus);
        let result = cpus.iter().try_for_each(|cpu| self.follow_on(*cpu, thread));
        self.cpus = cpus;
        match result {
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
            other => other.map_err(|error| switches_gap(&error)),
        }
    }

    fn follow_on(&mut self, cpu: u32, thread: u32) -> io::Result<()> {
        let open = || switch_builder(thread).one_cpu(cpu as usize).build();
        let Some(ring) = self.rings.get(&cpu) else {
            let mut ring = map_ring(open)?;
            ring.as_counter_mut().enable()?;
            self.rings.insert(cpu, ring);
            return Ok(());
        };
        let mut counter = open()?;
        // SAFETY: both descriptors are open, and this request takes a descriptor as its argument.
        if unsafe { libc::ioctl(counter.as_raw_fd(), SET_OUTPUT as _, ring.as_raw_fd()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        counter.enable()?;
        self.others.push(counter);
        Ok(())
    }

    /// Takes the records out of the rings.
    pub fn drain_switches(&mut self) -> SwitchBatch {
        let mut batch = SwitchBatch::default();
        for (cpu, ring) in &mut self.rings {
            let mut read_bytes = 0;
            // No more than the ring holds: if another cpu fills it as fast as it is read, reading would never end.
            while read_bytes < LARGEST_RING_BYTES
                && let Some(record) = ring.next_record()
            {
                let bytes = record.to_contiguous();
                read_bytes += bytes.len() + 8;
                take_record(&mut batch, *cpu, record.ty(), record.misc(), &bytes);
            }
        }
        batch
    }
}

impl Default for SwitchFollower {
    fn default() -> Self {
        Self::new()
    }
}

fn switch_builder(thread: u32) -> Builder<'static> {
    let mut builder = Builder::new(Software::DUMMY);
    builder
        .observe_pid(thread.cast_signed())
        .exclude_kernel(true)
        .exclude_hv(true)
        .inherit(true)
        .context_switch(true)
        .comm(true)
        .sample_id_all(true)
        .sample(SampleFlag::TID | SampleFlag::TIME)
        .clockid(Clock::MONOTONIC)
        // Never: the ring is read now and then.
        .wakeup_watermark(1 << 30);
    builder
}

/// Maps the largest ring that this user may lock.
fn map_ring(open: impl Fn() -> io::Result<Counter>) -> io::Result<Sampler> {
    let mut bytes = LARGEST_RING_BYTES;
    loop {
        match open()?.sampled(bytes) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && bytes > SMALLEST_RING_BYTES => bytes /= 2,
            other => return other,
        }
    }
}

/// Adds a record: its fields, then the process, the thread and the time of each (`sample_id_all`).
fn take_record(batch: &mut SwitchBatch, cpu: u32, kind: u32, misc: u16, bytes: &[u8]) {
    let word = |at: usize| bytes.get(at..at + 4).and_then(|word| word.try_into().ok()).map_or(0, u32::from_ne_bytes);
    let long = |at: usize| bytes.get(at..at + 8).and_then(|long| long.try_into().ok()).map_or(0, u64::from_ne_bytes);
    match kind {
        RECORD_SWITCH => {
            let change = match (misc & SWITCH_OUT != 0, misc & SWITCH_OUT_PREEMPTED != 0) {
                (false, _) => SwitchChange::Runs,
                (true, true) => SwitchChange::Preempted,
                (true, false) => SwitchChange::Waits,
            };
            batch.switches.push(OwnSwitch { at_ns: long(8), process: word(0), thread: word(4), cpu, change });
        }
        // Its last switch is not recorded: the kernel takes its events away before.
        RECORD_EXIT => {
            let (process, thread, at_ns) = (word(0), word(8), long(16));
            batch.switches.push(OwnSwitch { at_ns, process, thread, cpu, change: SwitchChange::Ends });
        }
        RECORD_NAME => {
            let name = bytes.get(8..).unwrap_or_default().split(|byte| *byte == 0).next().unwrap_or_default();
            batch.names.push((word(0), word(4), String::from_utf8_lossy(name).into_owned()));
        }
        RECORD_LOST => batch.lost += long(8),
        _ => {}
    }
}

fn switches_gap(error: &io::Error) -> Gap {
    let gap = Gap::new("switches of one's own threads", format!("perf refuses them: {error}"));
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => {
            gap.cured_by("sudo sysctl kernel.perf_event_paranoid=2, or run as the user of the program")
        }
        Some(libc::EMFILE | libc::ENFILE) => gap.cured_by("raise the limit of open files (ulimit -Hn)"),
        _ => gap,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_switches_names_and_losses() {
        let mut batch = SwitchBatch::default();
        let identity = [&7_u32.to_ne_bytes()[..], &9_u32.to_ne_bytes(), &1_234_u64.to_ne_bytes()].concat();
        take_record(&mut batch, 3, RECORD_SWITCH, 0, &identity);
        take_record(&mut batch, 3, RECORD_SWITCH, SWITCH_OUT, &identity);
        take_record(&mut batch, 3, RECORD_SWITCH, SWITCH_OUT | SWITCH_OUT_PREEMPTED, &identity);
        let exit = [7_u32, 1, 9, 1].map(u32::to_ne_bytes).concat();
        take_record(&mut batch, 3, RECORD_EXIT, 0, &[&exit[..], &1_234_u64.to_ne_bytes(), &identity].concat());
        take_record(&mut batch, 3, RECORD_NAME, 0, &[&identity[..8], b"worker\0\0", &identity].concat());
        take_record(&mut batch, 3, RECORD_LOST, 0, &[5_u64, 17].map(u64::to_ne_bytes).concat());
        let changes: Vec<SwitchChange> = batch.switches.iter().map(|switch| switch.change).collect();
        assert_eq!(changes, [SwitchChange::Runs, SwitchChange::Waits, SwitchChange::Preempted, SwitchChange::Ends]);
        for OwnSwitch { at_ns, process, thread, cpu, .. } in batch.switches {
            assert_eq!((at_ns, process, thread, cpu), (1_234, 7, 9, 3));
        }
        assert_eq!((batch.names, batch.lost), (vec![(7, 9, "worker".to_owned())], 17));
    }

    #[test]
    fn a_thread_that_a_followed_one_makes_is_followed_or_it_is_said_why_not() {
        let mut follower = SwitchFollower::new();
        if let Err(gap) = follower.follow_thread(0) {
            assert!(!gap.why.is_empty());
            println!("skipped: {}", gap.why);
            return;
        }
        let sleeper = || {
            (0..10).for_each(|_| std::thread::sleep(std::time::Duration::from_millis(1)));
            super::super::thread::own_number()
        };
        let thread = std::thread::Builder::new().name("sleeper".into()).spawn(sleeper).unwrap().join().unwrap();
        let (mut changes, mut names) = (Vec::new(), Vec::new());
        // A thread can be joined shortly before its end is recorded.
        let begun = std::time::Instant::now();
        while !changes.contains(&SwitchChange::Ends) {
            assert!(begun.elapsed().as_secs() < 60, "{changes:?}");
            let SwitchBatch { switches, names: new_names, .. } = follower.drain_switches();
            let own = switches.iter().filter(|switch| switch.thread == thread);
            changes.extend(own.map(|switch| switch.change));
            names.extend(new_names);
        }
        assert!(changes.iter().filter(|change| **change == SwitchChange::Waits).count() >= 10);
        assert!(names.iter().any(|(_, named, name)| *named == thread && name == "sleeper"));
    }
}
