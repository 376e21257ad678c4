//! Known stalls are found and named right: loads that log what they do to a cpu, while the tail probe runs there.
//!
//! Each load makes at least [`FEWEST`] stalls at a fixed rate. What it logged is held against what the probe says: at least 98 in 100
//! must be found and named right, and of what the probe names so at least 98 in 100 must have been logged.

mod judge;
mod load;
mod observe;

use std::process::ExitCode;
use std::sync::OnceLock;
use std::time::Duration;

use corewise_lab::probe::work::SpinWork;
use corewise_machine::Gap;
use corewise_machine::event::InterruptSource;
use corewise_model::attribution::StallCause;
use corewise_sys::scheduling;
use libtest_mimic::{Arguments, Completion, Failed, Trial};

use judge::Judge;
use load::{Faults, Logged, RunningLoad, Timers};
use observe::{ObserveRequest, ObservedPlace, ObservedStalls};

type TruthOutcome = Result<Completion, Failed>;

/// Least number of logged stalls of a kind.
const FEWEST: usize = 300;
/// Maximum number of observations until nothing is missing.
const TRIES: usize = 10;
/// The name of the other task, as the kernel cuts it off at 15 bytes.
const TASK: &str = "truth-task";
/// The name of the thread that calls the other cpu.
const CALLER: &str = "truth-caller";

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // They share the cpu.
    arguments.test_threads = Some(1);
    let trial = |name: &str, test: fn() -> TruthOutcome| Trial::ignorable_test(name, test);
    let trials = vec![
        trial("timers_of_the_cpu", timers),
        trial("another_task", another_task),
        trial("calls_from_another_cpu", calls),
        trial("page_faults", page_faults),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Runs a test where the kernel's events can be had.
fn at_place(test: impl FnOnce(&ObservedPlace) -> TruthOutcome) -> TruthOutcome {
    static PLACE: OnceLock<Result<ObservedPlace, Gap>> = OnceLock::new();
    match PLACE.get_or_init(ObservedPlace::find) {
        Ok(place) => test(place),
        Err(gap) => Ok(Completion::ignored_with(format!("{}: {}", gap.what, gap.why))),
    }
}

/// As [`at_place`], where a thread may run before all others and another cpu can watch it: whoever runs besides is not in the way.
fn alone_at_place(test: impl FnOnce(&ObservedPlace, u32) -> TruthOutcome) -> TruthOutcome {
    at_place(|place| {
        let Some(other) = place.other else { return Ok(Completion::ignored_with("one cpu is allowed")) };
        match std::thread::spawn(scheduling::run_first).join().map_err(|_| "a thread died")? {
            Ok(()) => test(place, other),
            Err(error) => Ok(Completion::ignored_with(format!("this user may not use SCHED_FIFO: {error}"))),
        }
    })
}

/// Observes until the load has logged so many stalls and the probe has missed nothing: a host that has no time for this machine lets a
/// load do less, and other programs fill the kernel's buffers.
fn observed(
    fewest: usize,
    observe: impl Fn() -> Result<(ObservedStalls, Vec<Logged>), Failed>,
) -> Result<(ObservedStalls, Vec<Logged>), Failed> {
    for _ in 1..TRIES {
        let (seen, logged) = observe()?;
        if seen.missing == [0, 0] && logged.len() >= fewest {
            return Ok((seen, logged));
        }
    }
    let (seen, logged) = observe()?;
    match seen.missing {
        [0, 0] => Ok((seen, logged)),
        [events, stalls] => {
            Err(format!("{TRIES} times some were missing; last {events} events, {stalls} stalls").into())
        }
    }
}

fn is_timer(cause: &StallCause) -> bool {
    matches!(cause, StallCause::Interrupt { source: InterruptSource::LocalTimer, .. })
}

/// 1,000 timers a second that nobody waits for, beside the kernel's own tick.
fn timers() -> TruthOutcome {
    alone_at_place(|place, other| {
        let asked = ObserveRequest { first_in_line: Some(other), ..ObserveRequest::of(Duration::from_millis(450)) };
        let (quiet, _) = observed(0, || place.observe(&asked, &mut SpinWork, |_| Ok(RunningLoad::None)))?;
        let (seen, logged) = observed(FEWEST, || {
            let mut piece = Timers::new(Duration::from_millis(1))?;
            let (seen, _) = place.observe(&asked, &mut piece, |_| Ok(RunningLoad::None))?;
            let logged = seen.within(piece.logged());
            Ok((seen, logged))
        })?;
        let judge = Judge { is_right: &is_timer, early_ns: 1_000, late_ns: 100_000 };
        judge.found(&seen, &logged)?;
        let unlogged: Vec<u64> = judge.unlogged(&seen, &logged).map(|one| one.begin_ns).collect();
        let tick = KernelTick::of(&unlogged);
        judge.precise(&seen, &logged, &|at_ns| tick.is_at(at_ns), strays(&quiet))
    })
}

/// How many of the timer's stalls are not the kernel's tick.
fn strays(quiet: &ObservedStalls) -> usize {
    let all: Vec<u64> = quiet.seen.iter().filter(|one| is_timer(&one.cause)).map(|one| one.begin_ns).collect();
    let tick = KernelTick::of(&all);
    all.iter().filter(|at_ns| !tick.is_at(**at_ns)).count()
}

/// The kernel's own tick: most of the timer's stalls that are nobody else's are on one phase of its period.
struct KernelTick {
    period_ns: u64,
    phase_ns: u64,
}

impl KernelTick {
    /// Two clocks differ a little in their rates, and the tick comes late now and then.
    const NEAR_NS: u64 = 100_000;
    /// The rates that Linux can be built with (kernel/Kconfig.hz).
    const HERTZ: [u64; 4] = [100, 250, 300, 1_000];

    /// The rate and the phase on which most are, beyond chance.
    fn of(times_ns: &[u64]) -> Self {
        let ticks = Self::HERTZ.iter().flat_map(|hertz| {
            let period_ns = 1_000_000_000 / hertz;
            times_ns.iter().map(move |at_ns| Self { period_ns, phase_ns: at_ns % period_ns })
        });
        let beyond_chance = |tick: &Self| {
            let on_phase = times_ns.iter().filter(|at_ns| tick.is_at(**at_ns)).count();
            on_phase as i64 - (times_ns.len() as u64 * 2 * Self::NEAR_NS / tick.period_ns) as i64
        };
        ticks.max_by_key(beyond_chance).unwrap_or(Self { period_ns: 1, phase_ns: 0 })
    }

    fn is_at(&self, at_ns: u64) -> bool {
        apart(at_ns % self.period_ns, self.phase_ns, self.period_ns) < Self::NEAR_NS
    }
}

/// How far two phases are from each other on their circle.
const fn apart(one: u64, other: u64, period: u64) -> u64 {
    let distance = one.abs_diff(other);
    if distance < period - distance { distance } else { period - distance }
}

/// A task that is woken 200 times a second, before all others, and computes for 20 to 200 us.
fn another_task() -> TruthOutcome {
    alone_at_place(|place, _| {
        let asked = ObserveRequest::of(Duration::from_millis(1_750));
        let task = || place.observe(&asked, &mut SpinWork, |cpu| load::task(cpu, Duration::from_millis(5)));
        let (seen, logged) = observed(FEWEST, task)?;
        let number = logged.first().map(|one| one.thread);
        let is_ours = |cause: &StallCause| match cause {
            // Numbers are the system's, which this process may not know.
            StallCause::Task { name, number: told, .. } => {
                name == TASK && (!seen.numbers_are_known || Some(*told) == number)
            }
            _ => false,
        };
        let judge = Judge { is_right: &is_ours, early_ns: 0, late_ns: 0 };
        judge.found(&seen, &logged)?;
        judge.precise(&seen, &logged, &|_| false, 0)?;
        judge.whole(&seen, &logged)
    })
}

/// 800 memory barriers a second on another cpu, which interrupt all cpus that run this process: a barrier does not interrupt a cpu
/// that runs something else.
fn calls() -> TruthOutcome {
    alone_at_place(|place, other| {
        if !place.names_functions {
            return Ok(Completion::ignored_with("the kernel's symbols are hidden (kernel.kptr_restrict)"));
        }
        let asked = ObserveRequest {
            threshold_ns: 1_000.0,
            first_in_line: Some(other),
            ..ObserveRequest::of(Duration::from_millis(450))
        };
        let calls = || place.observe(&asked, &mut SpinWork, |_| load::calls(other, Duration::from_micros(1_250)));
        let (seen, logged) = observed(FEWEST, calls)?;
        let is_barrier = |cause: &StallCause| match cause {
            StallCause::Interrupt { source: InterruptSource::FunctionCall, detail } => detail == "ipi_mb",
            _ => false,
        };
        let judge = Judge { is_right: &is_barrier, early_ns: 0, late_ns: 0 };
        judge.found(&seen, &logged)?;
        judge.precise(&seen, &logged, &|_| false, 0)?;
        judge.sent_by(&seen, &logged, other, "ipi_mb")
    })
}

/// 500 times a second 32 pages that nobody touched before.
fn page_faults() -> TruthOutcome {
    at_place(|place| {
        let huge = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
        if huge.contains("[always]") {
            return Ok(Completion::ignored_with("of 512 pages one faults (transparent huge pages are always on)"));
        }
        let (seen, logged) = observed(FEWEST, || {
            let mut piece = Faults::new(400, Duration::from_millis(2));
            let (seen, _) = place
                .observe(&ObserveRequest::of(Duration::from_millis(900)), &mut piece, |_| Ok(RunningLoad::None))?;
            let logged = seen.within(piece.logged());
            Ok((seen, logged))
        })?;
        let judge = Judge { is_right: &|cause| *cause == StallCause::PageFault, early_ns: 0, late_ns: 0 };
        judge.found(&seen, &logged)?;
        judge.precise(&seen, &logged, &|_| false, 0)
    })
}
