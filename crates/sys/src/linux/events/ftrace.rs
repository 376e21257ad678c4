//! Tracepoints through an ftrace instance of our own: a record costs less than perf's, and containers that refuse perf_event_open(2) may
//! allow it.
//!
//! The instance is a folder in tracefs with its own buffers and switches: the tracing of others is not touched. Its clock is the same as
//! perf's here, `mono_raw`, so that one arithmetic serves both.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use corewise_machine::event::KernelEvent;

use super::super::cpuset;
use super::super::process::{ProcessIdentity, number_space_id, sees_all_numbers};
use super::super::thread::own_number;
use super::decode::TracepointCatalogue;
use super::pages::PageRecords;
use super::tracefs::TraceFolder;
use crate::values::events::{DrainedEvents, EventInterest};

/// Prefix of the names of corewise's instances. The namespace of the process's number, that number, its start time and a counter follow.
/// All namespaces see the same instances.
const PREFIX: &str = "corewise-";
/// Maximum buffer of each cpu, in KiB.
const BUFFER_KIB: usize = 4096;
/// Maximum of all cpus' buffers together, in KiB…
const ALL_BUFFERS_KIB: usize = 256 * 1024;
/// …but at least this per cpu.
const LEAST_BUFFER_KIB: usize = 512;

/// An instance; removed when dropped.
#[derive(Debug)]
pub struct FtraceInstance {
    tracefs: Arc<TraceFolder>,
    name: String,
    page_bytes: usize,
    buffer_kib: usize,
    interests: Vec<EventInterest>,
    paths: Vec<&'static str>,
    recorded: Arc<RecordedCpus>,
    /// Open as long as the instance is wanted: the kernel does not remove an instance with an open file.
    held: Option<fs::File>,
}

impl FtraceInstance {
    /// Makes an instance, the `number`th of this process, for the tracepoints that serve some interests; it does not trace yet.
    pub fn new(
        tracefs: Arc<TraceFolder>,
        number: usize,
        catalogue: &TracepointCatalogue,
        interests: &[EventInterest],
    ) -> io::Result<Self> {
        let ProcessIdentity { id, start_ticks } = ProcessIdentity::this_process()?;
        let name = format!("instances/{PREFIX}{}-{id}-{start_ticks}-{number}", number_space_id());
        fs::create_dir(tracefs.inner_path(&name))?;
        let held = fs::File::open(tracefs.inner_path(&format!("{name}/tracing_on"))).ok();
        let kib =
            tracefs.read_file(&format!("{name}/buffer_subbuf_size_kb")).ok().and_then(|text| text.trim().parse().ok());
        // SAFETY: sysconf reads a constant of the system.
        let system_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(4096) as usize;
        let page_bytes = kib.map_or(system_bytes, |kib: usize| kib * 1024);
        // Sender events are few, but of all cpus at once.
        let most_kib = if interests == [EventInterest::Senders] { LEAST_BUFFER_KIB } else { BUFFER_KIB };
        let buffer_kib = (ALL_BUFFERS_KIB / cpuset::online_cpus().len().max(1)).clamp(LEAST_BUFFER_KIB, most_kib);
        let paths = catalogue.serving_tracepoints(interests).into_iter().map(|(_, path)| path).collect();
        let mask = tracefs.inner_path(&format!("{name}/tracing_cpumask"));
        let recorded = Arc::new(RecordedCpus { mask, streams: Mutex::default() });
        let instance =
            Self { tracefs, name, page_bytes, buffer_kib, interests: interests.to_vec(), paths, recorded, held };
        instance.write_file("tracing_on", "0")?;
        instance.write_file("trace_clock", "mono_raw")?;
        instance.write_file("buffer_size_kb", &buffer_kib.to_string())?;
        instance.recorded.write_mask(&BTreeMap::new())?;
        // A trial, so that refusals are reported before any measurement.
        instance.turn_tracing(true)?;
        instance.turn_tracing(false)?;
        Ok(instance)
    }

    /// Returns true if its tracepoints serve all of these interests.
    pub fn serves_interests(&self, interests: &[EventInterest]) -> bool {
        interests.iter().all(|interest| self.interests.contains(interest))
    }

    /// Starts or stops tracing. Tracepoints that are live but not recorded would still cost most of their time.
    pub fn turn_tracing(&self, on: bool) -> io::Result<()> {
        let value = if on { "1" } else { "0" };
        let enabled = |path: &&str| self.write_file(&format!("events/{path}/enable"), value);
        if !on {
            // Turns all of them off, whatever is refused.
            let failed = self.paths.iter().filter_map(|path| enabled(path).err()).next_back();
            return self.write_file("tracing_on", value).and(failed.map_or(Ok(()), Err));
        }
        let outcome = self.paths.iter().try_for_each(enabled).and_then(|()| self.write_file("tracing_on", value));
        if outcome.is_err() {
            let _ = self.turn_tracing(false);
        }
        outcome
    }

    /// Opens the pages of a cpu from now on. All streams share the records; only records that serve some interests are read.
    pub fn pages_of(
        &self,
        cpu: u32,
        catalogue: &TracepointCatalogue,
        interests: &[EventInterest],
    ) -> io::Result<CpuPages> {
        let path = self.inner_path(&format!("per_cpu/cpu{cpu}/trace_pipe_raw"));
        let file = fs::OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
        let overruns = self.inner_path(&format!("per_cpu/cpu{cpu}/stats"));
        let wanted = catalogue.serving_tracepoints(interests).into_iter().map(|(id, _)| id).collect();
        // In a namespace of process numbers, this process's own number means another task in the events.
        let own = sees_all_numbers().then(own_number);
        let most_pages = (self.buffer_kib * 1024).div_ceil(self.page_bytes) + 1;
        let page = vec![0; self.page_bytes];
        let recorded = Arc::clone(&self.recorded);
        let mut pages = CpuPages { cpu, own, wanted, file, overruns, lost: 0, most_pages, page, recorded };
        pages.recorded.change_count(cpu, |streams| streams + 1)?;
        pages.skip_recorded();
        Ok(pages)
    }

    fn inner_path(&self, inside: &str) -> PathBuf {
        self.tracefs.inner_path(&format!("{}/{inside}", self.name))
    }

    fn write_file(&self, inside: &str, value: &str) -> io::Result<()> {
        let path = self.inner_path(inside);
        fs::write(&path, value).map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
    }
}

impl Drop for FtraceInstance {
    fn drop(&mut self) {
        drop(self.held.take());
        // The next corewise removes an instance that is left.
        let _ = fs::remove_dir(self.tracefs.inner_path(&self.name));
    }
}

/// Cpus that an instance records: only those being read. Events on others would fill their buffers, and cost them time.
#[derive(Debug)]
struct RecordedCpus {
    mask: PathBuf,
    /// Number of streams that read each cpu.
    streams: Mutex<BTreeMap<u32, usize>>,
}

impl RecordedCpus {
    /// Changes the number of streams that read a cpu.
    fn change_count(&self, cpu: u32, change: impl Fn(usize) -> usize) -> io::Result<()> {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let before = streams.remove(&cpu).unwrap_or(0);
        let now = change(before);
        if now > 0 {
            streams.insert(cpu, now);
        }
        if (before == 0) == (now == 0) { Ok(()) } else { self.write_mask(&streams) }
    }

    /// Writes the mask: groups of 32 bits, the highest cpus first.
    fn write_mask(&self, streams: &BTreeMap<u32, usize>) -> io::Result<()> {
        let words = streams.last_key_value().map_or(1, |(highest, _)| highest / 32 + 1);
        let word =
            |index| streams.keys().filter(|cpu| *cpu / 32 == index).fold(0_u32, |word, cpu| word | 1 << (cpu % 32));
        let groups: Vec<String> = (0..words).rev().map(|index| format!("{:x}", word(index))).collect();
        fs::write(&self.mask, groups.join(","))
    }
}

impl Drop for CpuPages {
    fn drop(&mut self) {
        // The buffers go with the instance at the latest.
        let _ = self.recorded.change_count(self.cpu, |streams| streams.saturating_sub(1));
    }
}

/// Removes the instances of corewise processes that no longer run; returns their number. For another namespace this is unknown, but the
/// kernel removes none that is held.
pub fn remove_left(tracefs: &TraceFolder) -> usize {
    let is_left = |owner: &InstanceOwner| !owner.is_of_this_space() || !owner.process.is_alive();
    own_instances(tracefs).filter(|(name, owner)| is_left(owner) && remove_instance(tracefs, name).is_ok()).count()
}

/// Returns the names of the instances of corewise processes of this process namespace that no longer run.
pub fn abandoned_instances(tracefs: &TraceFolder) -> impl Iterator<Item = String> {
    own_instances(tracefs)
        .filter(|(_, owner)| owner.is_of_this_space() && !owner.process.is_alive())
        .map(|(name, _)| name)
}

/// Iterates over the instances of corewise processes.
fn own_instances(tracefs: &TraceFolder) -> impl Iterator<Item = (String, InstanceOwner)> {
    let entries = fs::read_dir(tracefs.inner_path("instances")).into_iter().flatten();
    entries.filter_map(|entry| {
        let name = entry.ok()?.file_name().into_string().ok()?;
        let owner = InstanceOwner::from_name(&name)?;
        Some((name, owner))
    })
}

/// The process that an instance belongs to.
#[derive(Clone, Copy, Debug)]
pub struct InstanceOwner {
    space: u64,
    /// The process, by its number in its namespace.
    pub process: ProcessIdentity,
}

impl InstanceOwner {
    /// Parses an instance's name; `None` if it is not one of corewise's.
    pub fn from_name(name: &str) -> Option<Self> {
        let mut numbers = name.strip_prefix(PREFIX)?.split('-').map(|number| number.parse::<u64>().ok());
        let (space, id, start_ticks) = (numbers.next()??, numbers.next()??, numbers.next()??);
        Some(Self { space, process: ProcessIdentity { id: u32::try_from(id).ok()?, start_ticks } })
    }

    fn is_of_this_space(&self) -> bool {
        self.space == number_space_id()
    }
}

/// Removes an instance by its name. An instance removed by another process meanwhile is no error.
pub fn remove_instance(tracefs: &TraceFolder, name: &str) -> io::Result<()> {
    match fs::remove_dir(tracefs.inner_path(&format!("instances/{name}"))) {
        Err(error) if error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ENODEV) => Ok(()),
        done => done,
    }
}

/// The pages of one cpu.
#[derive(Debug)]
pub struct CpuPages {
    cpu: u32,
    own: Option<u32>,
    wanted: Vec<u16>,
    file: fs::File,
    overruns: PathBuf,
    lost: u64,
    /// Maximum pages per read, as many as a buffer holds: if another cpu fills it as fast as it is read, reading would never end.
    most_pages: usize,
    page: Vec<u8>,
    recorded: Arc<RecordedCpus>,
}

impl CpuPages {
    /// Discards the collected records.
    fn skip_recorded(&mut self) {
        let _ = (0..self.most_pages).find(|_| !self.file.read(&mut self.page).is_ok_and(|length| length > 0));
        self.lost = self.overrun_count();
    }

    /// Returns the number of lost records since the buffer was made.
    fn overrun_count(&self) -> u64 {
        let text = fs::read_to_string(&self.overruns).unwrap_or_default();
        let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
        line("overrun:").unwrap_or(0) + line("dropped events:").unwrap_or(0)
    }

    /// Reads the available records.
    pub fn drain_events(&mut self, catalogue: &TracepointCatalogue, into: &mut Vec<KernelEvent>) -> DrainedEvents {
        let (mut drained, before) = (DrainedEvents::default(), into.len());
        for _ in 0..self.most_pages {
            let Ok(length @ 1..) = self.file.read(&mut self.page) else { break };
            for (at_ns, record) in PageRecords::new(&self.page[..length]) {
                let is_wanted = record.first_chunk().is_some_and(|id| self.wanted.contains(&u16::from_le_bytes(*id)));
                let Some((task, what)) = is_wanted.then(|| catalogue.decode_record(record)).flatten() else { continue };
                if Some(task) == self.own {
                    drained.own_task = task;
                }
                into.push(KernelEvent { at_ns, cpu: self.cpu, task, what });
            }
        }
        let overrun = self.overrun_count();
        drained.lost = overrun.saturating_sub(std::mem::replace(&mut self.lost, overrun));
        if drained.lost > 0 {
            drained.nothing_before_ns = Some(into.get(before).map_or(u64::MAX, |event| event.at_ns));
        }
        drained
    }
}
