//! `corewise doctor`: lists facts that this machine, kernel or user hides from a survey, and how to change that.

pub mod document;

pub mod screen;
#[cfg(test)]
mod tests;

use std::path::Path;

use clap::Parser;
use corewise_lab::kernel_events;
use corewise_machine::event::EventSource;
use corewise_machine::placement::notation::{self, Notation};
use corewise_machine::suggested_command;
use corewise_machine::{Gap, Level, Machine};
use corewise_sys::Root;
use corewise_sys::change::{Meanwhile, left_in};
use corewise_sys::clock::{Clock, Source};
use corewise_sys::condition::Condition;
use corewise_sys::counters::CycleCounter;
use corewise_sys::counts::{KernelCounts, Kind};

use crate::app::failure::{Exit, Failure};
use crate::app::history::{broken, opened};
use crate::app::machine::this_machine;
use crate::app::output::show;
use crate::app::run::{Document, Run, document};
use crate::app::settings::{History, Settings};
use crate::draw::suggestion;
use document::{Check, DoctorDocument, State};
use screen::screen;

/// A load average above this share of the allowed cpus disturbs a survey.
const RESTLESS_LOAD: f64 = 0.25;

/// List what cannot be measured here, why, and how to change that
#[derive(Clone, Debug, Parser)]
#[command(name = "doctor")]
pub struct DoctorArguments {}

impl Run for DoctorArguments {
    const DOCUMENTS: &'static [Document] = &[document::<DoctorDocument<'_>>(&["doctor"])];

    fn run(self, settings: &Settings) -> Result<Exit, Failure> {
        let machine = this_machine()?;
        let (clock, counts) = (Clock::calibrated(), KernelCounts::now());
        let found = Found {
            uncounted: Kind::ALL.into_iter().filter_map(|kind| Some((kind, counts.gap(kind)?))).collect(),
            counters: CycleCounter::start().map(|counter| counter.counts_kernel),
            causes: kernel_events::recorder().map(|recorder| recorder.event_source()),
            clock: clock.name,
            is_system_clock: matches!(clock.source, Source::System(_)),
            moved_interrupts: settings.journals.as_deref().map_or(0, moved_interrupts),
            history: history(settings),
        };
        let checks = checks(&Root::live(), &machine, &found);
        show(settings, || DoctorDocument::new(&checks), || screen(&checks, settings.width))?;
        Ok(Exit::Done)
    }
}

/// Facts that can only be found by trying.
struct Found {
    /// Kinds of events that the kernel does not count for each cpu, and why.
    uncounted: Vec<(Kind, Gap)>,
    /// True if cycles in the kernel are counted too; an error if no cycles are counted.
    counters: Result<bool, Gap>,
    /// The source that names the causes of stalls, or why there is none.
    causes: Result<EventSource, Gap>,
    /// The name of the clock that a survey would use.
    clock: &'static str,
    /// True if that is the operating system's clock, because the processor has no usable counter.
    is_system_clock: bool,
    /// Number of interrupts that `corewise irq` moved and that were not moved back.
    moved_interrupts: usize,
    /// The check of the store; `None` without a store.
    history: Option<Check>,
}

fn checks(root: &Root, machine: &Machine, found: &Found) -> Vec<Check> {
    let condition = Condition::read(root);
    let mut checks = vec![
        counters(&condition, &found.counters),
        causes(&found.causes),
        clock(&condition, found),
        stolen_time(&condition, machine, found),
        allowed(machine),
        governors(machine),
        siblings(&condition, machine),
        load(&condition, machine),
    ];
    checks.extend(interrupts(&found.uncounted));
    checks.extend(moved(root, found.moved_interrupts));
    checks.extend(hypervisor(machine));
    checks.extend(found.history.clone());
    checks.extend(machine.gaps.iter().map(of_gap));
    checks
}

fn check(what: &str, state: State, why: impl Into<String>) -> Check {
    Check { what: what.to_owned(), state, why: why.into(), cure: None }
}

impl Check {
    fn cured_by(self, cure: impl Into<String>) -> Self {
        Self { cure: Some(cure.into()), ..self }
    }
}

fn of_gap(gap: &Gap) -> Check {
    Check { cure: gap.cure.clone(), ..check(&gap.what, State::Gap, gap.why.clone()) }
}

/// Reads the whole store. No other command does so for the user's own store.
fn history(settings: &Settings) -> Option<Check> {
    const WHAT: &str = "history";
    let store = if let History::At(_) = &settings.history { opened(settings) } else { return None };
    let checked = store.map(|store| store.map(|store| store.check().map(|()| store).map_err(broken)));
    match checked.and_then(Option::transpose) {
        Ok(store) => store.map(|store| check(WHAT, State::Good, format!("{} is sound", store.path().display()))),
        Err(failure) => Some(Check { cure: failure.next, ..check(WHAT, State::Gap, failure.what) }),
    }
}

fn counters(condition: &Condition, counters: &Result<bool, Gap>) -> Check {
    const WHAT: &str = "hardware counters";
    let level = |level| format!(" (perf_event_paranoid is {level})");
    let paranoid = condition.paranoid.as_ref().map(level).unwrap_or_default();
    match counters {
        Ok(true) => check(WHAT, State::Good, format!("cycles are counted, also in the kernel{paranoid}")),
        Ok(false) => {
            let why = format!("cycles are counted only in user mode{paranoid}; clock rates exclude interrupts");
            check(WHAT, State::Note, why).cured_by("sudo sysctl kernel.perf_event_paranoid=1")
        }
        Err(gap) => Check { cure: gap.cure.clone(), ..check(WHAT, State::Gap, format!("{}{paranoid}", gap.why)) },
    }
}

fn causes(causes: &Result<EventSource, Gap>) -> Check {
    const WHAT: &str = "causes of stalls";
    match causes {
        Ok(EventSource::Ftrace) => check(WHAT, State::Good, "the kernel's tracepoints name them, through ftrace"),
        Ok(_) => check(WHAT, State::Good, "the kernel's tracepoints name them, through perf"),
        Err(gap) => of_gap(gap),
    }
}

fn clock(condition: &Condition, found: &Found) -> Check {
    let source = condition.clock_source.as_deref();
    let kernel = source.map(|source| format!("; the kernel's clock source is {source}")).unwrap_or_default();
    let stepped = matches!(source, Some("hpet" | "acpi_pm" | "jiffies" | "refined-jiffies"));
    let why = format!("pieces are timed with the {}{kernel}", found.clock);
    if found.is_system_clock || stepped {
        let why = format!("{why}: timing short pieces costs more, and the clock is coarser");
        let cure = source.map(|_| "dmesg | grep -i tsc shows why the kernel does not use it".to_owned());
        return Check { cure, ..check("clock", State::Note, why) };
    }
    check("clock", State::Good, why)
}

fn interrupts(uncounted: &[(Kind, Gap)]) -> Vec<Check> {
    let gaps = uncounted.iter().filter(|(kind, _)| *kind != Kind::StolenTime);
    let missing: Vec<Check> = gaps.map(|(_, gap)| of_gap(gap)).collect();
    if missing.is_empty() {
        return vec![check(
            "interrupt counts",
            State::Good,
            "the kernel counts interrupts and soft interrupts for each cpu",
        )];
    }
    missing
}

/// Returns the number of changes of `corewise irq` that are still in force, by the journals in a folder.
fn moved_interrupts(folder: &Path) -> usize {
    let found = left_in(folder).unwrap_or_default();
    let kept = found.iter().flatten().filter(|left| left.kept_by() == Some(&suggested_command::irq().line()));
    // The preview shows the present state: if an interrupt was moved twice, only the later move is in force.
    kept.flat_map(|left| left.preview(&mut Meanwhile::default())).filter(|undone| undone.outcome.is_reverted()).count()
}

/// Returns the check of moved interrupts; `None` if none was moved and irqbalance does not run.
fn moved(root: &Root, moved: usize) -> Option<Check> {
    const WHAT: &str = "moved interrupts";
    let balancer = corewise_sys::irq::irqbalance(root);
    let balanced = balancer.map_or("", |_| "; irqbalance is running and may move interrupts");
    let given = match moved {
        0 if balancer.is_none() => return None,
        0 => {
            return Some(check(
                WHAT,
                State::Good,
                format!("{} has moved none{balanced}", suggestion::mention(&suggested_command::irq())),
            ));
        }
        1 => "1 interrupt was moved".to_owned(),
        _ => format!("{moved} interrupts were moved"),
    };
    let why = format!("{given} to other cpus by {}{balanced}", suggestion::mention(&suggested_command::irq()));
    Some(check(WHAT, State::Note, why).cured_by(suggestion::typed(&suggested_command::undo())))
}

fn stolen_time(condition: &Condition, machine: &Machine, found: &Found) -> Check {
    const WHAT: &str = "stolen time";
    if let Some((_, gap)) = found.uncounted.iter().find(|(kind, _)| *kind == Kind::StolenTime) {
        return of_gap(gap);
    }
    match (&machine.system.hypervisor, condition.stolen_ticks) {
        (None, _) => check(WHAT, State::Good, "there is no hypervisor that could take time"),
        (Some(_), Some(0) | None) => {
            let why = "the kernel has counted none since boot: the hypervisor takes none, or does not report it";
            check(WHAT, State::Note, why).cured_by("look at off-cpu time in the survey, which always includes it")
        }
        (Some(_), Some(_)) => {
            check(WHAT, State::Good, "the kernel reports the time that the hypervisor takes, in steps of 10 ms")
        }
    }
}

fn allowed(machine: &Machine) -> Check {
    const WHAT: &str = "allowed cpus";
    let denied = machine.online.difference(&machine.allowed);
    if machine.allowed.len() < 2 && machine.online.len() > 1 {
        let why = format!("this process may use only cpu {}: no link between cpus can be measured", machine.allowed);
        return check(WHAT, State::Gap, why).cured_by(widen(machine));
    }
    if denied.is_empty() {
        return check(WHAT, State::Good, format!("all online cpus ({})", machine.online));
    }
    let why = format!("this process may not use {denied} (cpuset or affinity); it may use {}", machine.allowed);
    check(WHAT, State::Note, why).cured_by(widen(machine))
}

fn widen(machine: &Machine) -> String {
    let (notation, cpus) = (Notation::of_shell(machine), &machine.online);
    let printed = notation::print(notation, cpus, &cpus.iter().collect::<Vec<_>>(), machine);
    let starts: Vec<String> = printed.into_iter().filter(|line| !line.secondary).filter_map(|line| line.text).collect();
    match starts.as_slice() {
        [start] => format!("{start} corewise    (or widen its limit: a container's cpuset, a job)"),
        _ => format!("start corewise where it may use {cpus}"),
    }
}

fn governors(machine: &Machine) -> Check {
    const WHAT: &str = "frequency governor";
    let governors = &machine.system.governors;
    if governors.is_empty() {
        let why = "the kernel reports none; it is unknown what sets the clock rate";
        return check(WHAT, State::Note, why);
    }
    let names = governors.join(", ");
    if governors.iter().all(|name| name == "performance") {
        return check(WHAT, State::Good, names);
    }
    check(WHAT, State::Note, format!("{names}: clock rates follow the load, which increases the uncertainty"))
        .cured_by("sudo cpupower frequency-set -g performance")
}

fn siblings(condition: &Condition, machine: &Machine) -> Check {
    const WHAT: &str = "SMT siblings";
    let threads = machine.objects(Level::Core).iter().map(|core| core.len()).max().unwrap_or(1);
    let control = condition.siblings.as_ref().map(|state| format!(" (smt/control: {state})")).unwrap_or_default();
    if threads < 2 {
        return check(WHAT, State::Good, format!("a core has one cpu{control}"));
    }
    check(WHAT, State::Note, format!("a core has {threads} cpus{control}: work on one slows the other")).cured_by(
        format!(
            "{} with one cpu of each core keeps siblings idle",
            suggestion::typed(&suggested_command::survey_of_cpus("LIST"))
        ),
    )
}

fn hypervisor(machine: &Machine) -> Option<Check> {
    let name = machine.system.hypervisor.as_ref()?;
    if machine.system.emulated {
        let why = format!("{name} emulates every instruction: measured times mean nothing");
        return Some(
            check("emulated machine", State::Gap, why).cured_by("measure on a real machine, or in a KVM guest"),
        );
    }
    let why = format!(
        "this is a {name} guest: {name} reports its levels and caches, and its cpus may move between real cores"
    );
    Some(check("virtual machine", State::Note, why).cured_by("survey the host, or pin the guest's cpus on it"))
}

fn load(condition: &Condition, machine: &Machine) -> Check {
    const WHAT: &str = "other programs";
    match condition.load {
        None => check(
            WHAT,
            State::Note,
            "the load average is unknown here; the survey itself reports how busy other programs are",
        ),
        Some(load) if load > RESTLESS_LOAD * machine.allowed.len() as f64 => {
            let why = format!("the load of the last minute is {load}: it affects every number");
            check(WHAT, State::Note, why).cured_by("wait or stop them, to survey the machine alone")
        }
        Some(load) => check(WHAT, State::Good, format!("the load of the last minute is {load}")),
    }
}
