//! Records kernel events while cpus are visited: the events of the visited cpu, and the senders of its interrupts.

use std::collections::BTreeMap;
use std::io;

use corewise_machine::event::{EventKind, EventSource, KernelEvent};
use corewise_machine::{CpuSet, Gap};
use corewise_model::stall::{self, CauseSurroundings};
use corewise_sys::events::{DrainedEvents, EnabledEvents, EventInterest, EventRecorder, EventStream};
use corewise_sys::interrupts::InterruptRow;
use corewise_sys::open_files::{OpenFiles, are_too_many};
use corewise_sys::thread::own_number;
use corewise_sys::{Root, irq, task};

/// Events recorded on the visited cpu.
const OF_CPU: [EventInterest; 4] =
    [EventInterest::Interrupts, EventInterest::Switches, EventInterest::PageFaults, EventInterest::Functions];
/// Events recorded on all other cpus.
const OF_OTHERS: [EventInterest; 1] = [EventInterest::Senders];
/// Events collected together: the visited cpu's own, and interrupts sent by all other cpus.
pub const GROUPS: [&[EventInterest]; 2] = [&OF_CPU, &OF_OTHERS];
/// Buffer size for the events of a visit: some 80,000.
const BUFFER_BYTES: usize = 8 << 20;
/// Cure for a gap that is due to the limit of open files.
pub const MORE_FILES: &str = "raise the limit of open files (ulimit -Hn)";
/// Number of senders' streams closed to leave open files for a visit. Each stream has at least one; a visit needs some 35.
const ROOM_FOR_VISITS: usize = 64;
/// Buffer size for the interrupts that one other cpu sends during a visit.
const OTHERS_BUFFER_BYTES: usize = 1 << 18;

/// Opens a recorder of the kernel's events. Prefers ftrace, since perf lengthens the timer's stalls (`cargo xtask compare-watching`).
///
/// # Errors
/// A gap with the reason if events are not available.
pub fn open_recorder() -> Result<EventRecorder, Gap> {
    // Each tracepoint of each cpu is an open file. If the limit cannot be raised, fewer cpus are watched.
    let _ = OpenFiles::raise_limit();
    EventRecorder::open(EventSource::Ftrace, &GROUPS)
}

/// The kernel's enabled tracepoints.
#[derive(Debug)]
pub struct LiveTracepoints<'a> {
    enabled: EnabledEvents<'a>,
    senders: BTreeMap<u32, EventStream<'a>>,
    /// Names of the tasks that sent interrupts, by number.
    pub tasks: BTreeMap<u32, String>,
    /// Cpus with unwatched senders, and the reason; `None` if all are watched.
    pub unwatched: Option<Gap>,
}

impl<'a> LiveTracepoints<'a> {
    /// Enables the tracepoints, and begins to watch the interrupts that some cpus send.
    ///
    /// # Errors
    /// The kernel's error if the tracepoints cannot be enabled.
    pub fn new(recorder: &'a EventRecorder, cpus: &CpuSet) -> io::Result<Self> {
        let enabled = recorder.enable_events(&GROUPS.concat())?;
        let mut senders = BTreeMap::new();
        let mut unwatched = None;
        for cpu in cpus.iter() {
            match enabled.stream_events(cpu, &OF_OTHERS, OTHERS_BUFFER_BYTES) {
                Ok(stream) => _ = senders.insert(cpu, stream),
                // Too many cpus for this user's open files. Senders on the last cpus stay unnamed, so that visits can be watched at all.
                Err(error) if are_too_many(&error) => {
                    (0..ROOM_FOR_VISITS).for_each(|_| _ = senders.pop_last());
                    let watched: CpuSet = senders.keys().copied().collect();
                    let what = format!("what cpus {} send to others", cpus.difference(&watched));
                    unwatched = Some(Gap::new(what, error.to_string()).cured_by(MORE_FILES));
                    break;
                }
                // It went offline.
                Err(_) => {}
            }
        }
        Ok(Self { enabled, senders, tasks: BTreeMap::new(), unwatched })
    }

    /// Begins to watch a cpu. Must be called on that cpu.
    ///
    /// # Errors
    /// The kernel's error if the cpu's events cannot be opened.
    pub fn watch_cpu(&mut self, cpu: u32) -> io::Result<WatchedCpu<'_, 'a>> {
        let own = self.enabled.stream_events(cpu, &OF_CPU, BUFFER_BYTES)?;
        // Interrupts sent before the visit do not count.
        let mut before = Vec::new();
        self.senders.values_mut().for_each(|stream| {
            stream.drain_now(&mut before);
            before.clear();
        });
        Ok(WatchedCpu { cpu, own, senders: &mut self.senders, tasks: &mut self.tasks })
    }
}

/// A cpu that is watched.
#[derive(Debug)]
pub struct WatchedCpu<'w, 'a> {
    cpu: u32,
    own: EventStream<'a>,
    senders: &'w mut BTreeMap<u32, EventStream<'a>>,
    tasks: &'w mut BTreeMap<u32, String>,
}

impl WatchedCpu<'_, '_> {
    /// Stores the events recorded during `visit` in it.
    pub fn add_events(&mut self, visit: &mut stall::StallVisit) {
        let mut events = Vec::new();
        let DrainedEvents { mut lost, own_task, nothing_before_ns, nothing_after_ns } =
            self.own.drain_events(&mut events);
        let mut sent = Vec::new();
        let others = self.senders.iter_mut().filter(|(cpu, _)| **cpu != self.cpu);
        others.for_each(|(_, stream)| lost += stream.drain_now(&mut sent).lost);
        sent.retain(|event| matches!(&event.what, EventKind::Sent { to, .. } if to.contains(self.cpu)));
        // Task numbers in events are the system's. They are valid here only if this process sees the whole system.
        if own_task == own_number() {
            self.name_tasks(&sent);
        }
        events.append(&mut sent);
        events.retain(|event| (visit.begin_ns..=visit.end_ns).contains(&event.at_ns));
        events.sort_by_key(|event| event.at_ns);
        (visit.armed, visit.events, visit.events_lost, visit.own_task) = (true, events, lost, own_task);
        visit.cut_to(nothing_before_ns.unwrap_or(0), nothing_after_ns.unwrap_or(u64::MAX));
    }

    fn name_tasks(&mut self, sent: &[KernelEvent]) {
        for event in sent {
            let name = || task::thread_name(event.task, event.task).unwrap_or_default();
            self.tasks.entry(event.task).or_insert_with(|| if event.task == 0 { "idle".to_owned() } else { name() });
        }
    }
}

/// Reads the facts of this machine that are needed to name causes.
pub fn read_surroundings(hypervisor: Option<&str>) -> CauseSurroundings {
    let device = |source: &InterruptRow| {
        let number = source.name.parse().ok()?;
        (!source.device.is_empty()).then(|| (number, source.device.clone()))
    };
    CauseSurroundings {
        has_hypervisor: hypervisor.is_some(),
        devices: irq::read_table(&Root::this_machine()).sources.iter().filter_map(device).collect(),
        tasks: BTreeMap::new(),
    }
}
