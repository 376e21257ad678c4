//! What the tail probe says of a cpu while a load runs there.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use corewise_lab::causes::SETTLING;
use corewise_lab::kernel_events::{self, LiveTracepoints};
use corewise_lab::probe::tail::{TailScratch, TailVisit, visit_with};
use corewise_lab::probe::work::WorkPiece;
use corewise_machine::event::KernelEvent;
use corewise_machine::{CpuSet, Gap};
use corewise_model::attribution::{InterruptSender, StallCause, StallPart, divide_stalls, settle_visits};
use corewise_model::stall::CauseSurroundings;
use corewise_model::survey::WorkKind;
use corewise_sys::affinity;
use corewise_sys::clock::TickClock;
use corewise_sys::cpuset;
use corewise_sys::events::EventRecorder;
use corewise_sys::process::sees_all_numbers;
use libtest_mimic::Failed;

use crate::load::{Logged, RunningLoad};

/// The cpus, and the way to the kernel's events.
pub struct ObservedPlace {
    recorder: EventRecorder,
    clock: TickClock,
    surroundings: CauseSurroundings,
    /// The cpu that is looked at.
    pub cpu: u32,
    /// Another one, where there is one.
    pub other: Option<u32>,
    /// Whether functions have names here.
    pub names_functions: bool,
    /// Whether this process sees the system's numbers of tasks.
    sees_all_tasks: bool,
}

/// How to look.
pub struct ObserveRequest {
    /// For how long.
    pub duration: Duration,
    /// What takes so much longer is a stall, in nanoseconds.
    pub threshold_ns: f64,
    /// Where to run before all others: the other cpu.
    pub first_in_line: Option<u32>,
}

impl ObserveRequest {
    /// For stalls from 5 us on, as a task like others.
    pub fn of(duration: Duration) -> Self {
        Self { duration, threshold_ns: 5_000.0, first_in_line: None }
    }
}

/// A stall with the cause that it is counted with.
pub struct SeenStall {
    /// When it began, in nanoseconds of CLOCK_MONOTONIC_RAW.
    pub begin_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// What it is counted with.
    pub cause: StallCause,
    /// Its parts.
    pub parts: Vec<StallPart>,
}

/// What was observed.
pub struct ObservedStalls {
    /// When timing began, in nanoseconds of CLOCK_MONOTONIC_RAW.
    pub begin_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// The stalls, in order of time.
    pub seen: Vec<SeenStall>,
    /// Who sent interrupts.
    pub senders: Vec<InterruptSender>,
    /// The kernel's events.
    pub events: Vec<KernelEvent>,
    /// Whether the system's numbers of tasks are the ones of this process.
    pub numbers_are_known: bool,
    /// What the probe says that it did not keep, which is judged by nobody: events and stalls.
    pub missing: [u64; 2],
}

impl ObservedPlace {
    /// The last allowed cpu, and the first.
    pub fn find() -> Result<Self, Gap> {
        let recorder = kernel_events::open_recorder()?;
        let gap = |error: std::io::Error| Gap::new("cpus", error.to_string());
        let allowed = affinity::current_affinity().map_err(gap)?.difference(&kept_free_of_timers());
        let cpu = allowed.iter().last().ok_or_else(|| Gap::new("cpus", "none is allowed that has timers"))?;
        Ok(Self {
            recorder,
            clock: TickClock::calibrate_best(),
            // A virtual machine's host may steal time; on others nobody does, and the accounts say so.
            surroundings: kernel_events::read_surroundings(Some("unknown")),
            cpu,
            other: allowed.lowest().filter(|other| *other != cpu),
            sees_all_tasks: sees_all_numbers(),
            names_functions: std::fs::read_to_string("/proc/kallsyms").is_ok_and(|text| {
                text.lines().any(|line| line.ends_with(" ipi_mb") && !line.starts_with("0000000000000000"))
            }),
        })
    }

    /// Looks at the cpu while a load runs: what was seen, and what the load logged within that time.
    pub fn observe(
        &self,
        asked: &ObserveRequest,
        piece: &mut (impl WorkPiece + Send),
        load: impl FnOnce(u32) -> Result<RunningLoad, Failed>,
    ) -> Result<(ObservedStalls, Vec<Logged>), Failed> {
        let mut watching = LiveTracepoints::new(&self.recorder, &cpuset::online_cpus())?;
        std::thread::sleep(SETTLING);
        let mut scratch = TailScratch::new(self.clock.nanoseconds_per_tick, WorkKind::Spin);
        let visit = TailVisit {
            cpu: self.cpu,
            round: 0,
            place: 0,
            duration: asked.duration,
            warm_up: Duration::from_millis(5),
            counting: false,
            work: WorkKind::Spin,
            threshold_ns: asked.threshold_ns,
            first_in_line: asked.first_in_line,
        };
        let stop = AtomicBool::new(false);
        let load = load(self.cpu)?;
        let visited = visit_with(&self.clock, visit, Some(&mut watching), &stop, &mut scratch, piece)
            .map_err(|gap| format!("{}: {}", gap.what, gap.why))?;
        let logged = load.finish()?;
        let mut surroundings = self.surroundings.clone();
        surroundings.tasks.extend(watching.tasks.clone());
        let observed = observed(visited.stalls, &surroundings, self.sees_all_tasks);
        let logged = observed.within(logged);
        Ok((observed, logged))
    }
}

impl ObservedStalls {
    /// What was logged while the probe timed.
    pub fn within(&self, mut logged: Vec<Logged>) -> Vec<Logged> {
        logged.retain(|one| self.begin_ns <= one.begin_ns && one.end_ns <= self.end_ns);
        logged
    }
}

/// The stalls as a survey counts them: every one of them has its time-line.
fn observed(
    visit: corewise_model::stall::StallVisit,
    surroundings: &CauseSurroundings,
    numbers_are_known: bool,
) -> ObservedStalls {
    let divided = divide_stalls(&visit, surroundings);
    let senders = divided.senders.clone();
    let missing = [visit.events_lost, visit.not_kept];
    let causes = settle_visits(vec![divided], surroundings, usize::MAX).remove(&visit.cpu).map(|cpu| cpu.causes);
    let mut seen: Vec<SeenStall> = Vec::new();
    for cause in causes.unwrap_or_default() {
        seen.extend(cause.worst.into_iter().map(|line| SeenStall {
            begin_ns: visit.begin_ns + line.begin_ns,
            end_ns: visit.begin_ns + line.begin_ns + line.length_ns,
            cause: cause.cause.clone(),
            parts: line.parts,
        }));
    }
    seen.sort_by_key(|one| one.begin_ns);
    let (begin_ns, end_ns, events) = (visit.begin_ns, visit.end_ns, visit.events);
    ObservedStalls { begin_ns, end_ns, seen, senders, events, numbers_are_known, missing }
}

/// Cpus whose timers the kernel moves away (nohz_full).
fn kept_free_of_timers() -> CpuSet {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/nohz_full").unwrap_or_default();
    CpuSet::parse_list(text.trim()).unwrap_or_default()
}
