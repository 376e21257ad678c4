//! `corewise doctor`: lists facts that this machine, kernel or user hides from a survey, and how to change that.

pub mod document;
mod isolation;

pub mod screen;
#[cfg(test)]
mod tests;

use std::path::Path;

use clap::Parser;
use corewise_lab::kernel_events;
use corewise_machine::event::EventSource;
use corewise_machine::placement::notation::{self, Notation};
use corewise_machine::suggested_command;
use corewise_machine::{CpuSet, Gap, Level, Machine};
use corewise_model::keep::cgroup_owner;
use corewise_sys::Root;
use corewise_sys::cgroup::LimitingGroup;
use corewise_sys::change::{UndoForecast, left_in};
use corewise_sys::clock::{ClockSource, TickClock};
use corewise_sys::condition::{HIDES_ALL, SystemCondition, UNLOCK};
use corewise_sys::counters::CycleCounter;
use corewise_sys::counts::{CountKind, KernelCounts};
use corewise_sys::{cpuset, scheduling};

use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::machine::this_machine;
use crate::app::output::show_result;
use crate::app::run::{CommandDocument, RunnableCommand, command_document};
use crate::app::settings::{HistoryPlace, ProgramSettings};
use crate::app::user_store::{explain_store_error, open_store};
use crate::draw::suggestion;
use document::{CheckState, DoctorCheck, DoctorDocument};
use screen::draw_screen;

/// A load average above this share of the allowed cpus disturbs a survey.
const RESTLESS_LOAD: f64 = 0.25;

/// List what cannot be measured here, why, and how to change that
#[derive(Clone, Debug, Parser)]
pub struct DoctorArguments {
    /// Examine what disturbs isolated cpus, or these: kernel settings, interrupts, kernel threads, timers, idle states
    #[arg(long, value_name = "EXPR", num_args = 0..=1, default_missing_value = "isolated")]
    pub isolation: Option<String>,
}

impl RunnableCommand for DoctorArguments {
    const DOCUMENTS: &'static [CommandDocument] =
        &[command_document::<DoctorDocument<'_>>("doctor", &["doctor", "doctor --isolation all"])];

    fn run(self, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
        let machine = this_machine()?;
        if let Some(expression) = &self.isolation {
            return isolation::run(expression, &machine, settings);
        }
        let (clock, counts) = (TickClock::calibrate_best(), KernelCounts::read_now());
        let found = DoctorFindings {
            uncounted: CountKind::ALL.into_iter().filter_map(|kind| Some((kind, counts.counting_gap(kind)?))).collect(),
            counters: CycleCounter::start_counting().map(|counter| counter.counts_kernel),
            causes: kernel_events::open_recorder().map(|recorder| recorder.event_source()),
            clock: clock.name,
            is_system_clock: matches!(clock.source, ClockSource::System(_)),
            moved_interrupts: settings.journals.as_deref().map_or(0, moved_interrupts),
            history: check_history(settings),
            reachable: cpuset::reachable_cpus().unwrap_or_else(|_| machine.online.clone()),
            limit: cpuset::limiting_group(std::process::id()),
            first_class: scheduling::may_run_first().map_err(|error| error.to_string()),
            may_lower_nice: scheduling::may_lower_nice(),
        };
        let checks = make_checks(&Root::this_machine(), &machine, &found);
        show_result(settings, || DoctorDocument::new(&checks), || draw_screen(&checks, settings.width))?;
        Ok(CommandExit::Done)
    }
}

/// Facts that can only be found by trying.
struct DoctorFindings {
    /// Kinds of events that the kernel does not count for each cpu, and why.
    uncounted: Vec<(CountKind, Gap)>,
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
    history: Option<DoctorCheck>,
    /// The cpus that the cpuset lets this process use.
    reachable: CpuSet,
    /// The control group that limits them; `None` if there is none, or if it is not visible.
    limit: Option<LimitingGroup>,
    /// The system's refusal to let a thread run before all others, if it refuses.
    first_class: Result<(), String>,
    /// True if this user may lower nice values, which takes the same right.
    may_lower_nice: bool,
}

fn make_checks(root: &Root, machine: &Machine, found: &DoctorFindings) -> Vec<DoctorCheck> {
    let condition = SystemCondition::read_condition(root);
    let mut checks = vec![
        check_counters(&condition, &found.counters),
        check_causes(&found.causes),
        check_clock(&condition, found),
        stolen_time(&condition, machine, found),
        check_allowed_cpus(machine, found),
        check_governors(machine),
        check_siblings(&condition, machine),
        check_load(&condition, machine),
    ];
    checks.push(check_first_class(found));
    checks.extend(check_interrupts(&found.uncounted));
    checks.extend(check_moved_interrupts(root, found.moved_interrupts));
    checks.extend(check_hypervisor(machine));
    checks.extend(check_lockdown(&condition));
    checks.extend(found.history.clone());
    checks.extend(machine.gaps.iter().map(check_from_gap));
    checks
}

fn new_check(what: &str, state: CheckState, why: impl Into<String>) -> DoctorCheck {
    DoctorCheck { what: what.to_owned(), state, why: why.into(), cure: None }
}

impl DoctorCheck {
    fn with_cure(self, cure: impl Into<String>) -> Self {
        Self { cure: Some(cure.into()), ..self }
    }
}

fn check_from_gap(gap: &Gap) -> DoctorCheck {
    DoctorCheck { cure: gap.cure.clone(), ..new_check(&gap.what, CheckState::Gap, gap.why.clone()) }
}

/// Reads the whole store. No other command does so for the user's own store.
fn check_history(settings: &ProgramSettings) -> Option<DoctorCheck> {
    const WHAT: &str = "history";
    let store = if let HistoryPlace::At(_) = &settings.history { open_store(settings) } else { return None };
    let checked =
        store.map(|store| store.map(|store| store.check_database().map(|()| store).map_err(explain_store_error)));
    match checked.and_then(Option::transpose) {
        Ok(store) => {
            store.map(|store| new_check(WHAT, CheckState::Good, format!("{} is sound", store.path().display())))
        }
        Err(failure) => Some(DoctorCheck { cure: failure.next, ..new_check(WHAT, CheckState::Gap, failure.what) }),
    }
}

fn check_counters(condition: &SystemCondition, counters: &Result<bool, Gap>) -> DoctorCheck {
    const WHAT: &str = "hardware counters";
    let level = |level| format!(" (perf_event_paranoid is {level})");
    let paranoid = condition.paranoid.as_ref().map(level).unwrap_or_default();
    match counters {
        Ok(true) => new_check(WHAT, CheckState::Good, format!("cycles are counted, also in the kernel{paranoid}")),
        Ok(false) => {
            let why = format!("cycles are counted only in user mode{paranoid}; clock rates exclude interrupts");
            new_check(WHAT, CheckState::Note, why).with_cure("sudo sysctl kernel.perf_event_paranoid=1")
        }
        Err(gap) => {
            DoctorCheck { cure: gap.cure.clone(), ..new_check(WHAT, CheckState::Gap, format!("{}{paranoid}", gap.why)) }
        }
    }
}

fn check_causes(causes: &Result<EventSource, Gap>) -> DoctorCheck {
    const WHAT: &str = "causes of stalls";
    match causes {
        Ok(EventSource::Ftrace) => {
            new_check(WHAT, CheckState::Good, "the kernel's tracepoints name them, through ftrace")
        }
        Ok(_) => new_check(WHAT, CheckState::Good, "the kernel's tracepoints name them, through perf"),
        Err(gap) => check_from_gap(gap),
    }
}

fn check_clock(condition: &SystemCondition, found: &DoctorFindings) -> DoctorCheck {
    let source = condition.clock_source.as_deref();
    let kernel = source.map(|source| format!("; the kernel's clock source is {source}")).unwrap_or_default();
    let stepped = matches!(source, Some("hpet" | "acpi_pm" | "jiffies" | "refined-jiffies"));
    let why = format!("pieces are timed with the {}{kernel}", found.clock);
    if found.is_system_clock || stepped {
        let why = format!("{why}: timing short pieces costs more, and the clock is coarser");
        let cure = source.map(|_| "dmesg | grep -i tsc shows why the kernel does not use it".to_owned());
        return DoctorCheck { cure, ..new_check("clock", CheckState::Note, why) };
    }
    new_check("clock", CheckState::Good, why)
}

fn check_interrupts(uncounted: &[(CountKind, Gap)]) -> Vec<DoctorCheck> {
    let gaps = uncounted.iter().filter(|(kind, _)| *kind != CountKind::StolenTime);
    let missing: Vec<DoctorCheck> = gaps.map(|(_, gap)| check_from_gap(gap)).collect();
    if missing.is_empty() {
        return vec![new_check(
            "interrupt counts",
            CheckState::Good,
            "the kernel counts interrupts and soft interrupts for each cpu",
        )];
    }
    missing
}

/// Returns the number of changes of `corewise irq` that are still in force, by the journals in a folder.
fn moved_interrupts(folder: &Path) -> usize {
    let found = left_in(folder).unwrap_or_default();
    let kept = found.iter().flatten().filter(|left| left.kept_by() == Some(&suggested_command::irq().shell_line()));
    // The preview shows the present state: if an interrupt was moved twice, only the later move is in force.
    kept.flat_map(|left| left.preview_undo(&mut UndoForecast::default()))
        .filter(|undone| undone.outcome.is_reverted())
        .count()
}

/// Returns the check of moved interrupts; `None` if none was moved and irqbalance does not run.
fn check_moved_interrupts(root: &Root, moved: usize) -> Option<DoctorCheck> {
    const WHAT: &str = "moved interrupts";
    let balancer = corewise_sys::irq::find_irqbalance(root);
    let balanced = balancer.map_or("", |_| "; irqbalance is running and may move interrupts");
    let given = match moved {
        0 if balancer.is_none() => return None,
        0 => {
            return Some(new_check(
                WHAT,
                CheckState::Good,
                format!("{} has moved none{balanced}", suggestion::format_mention(&suggested_command::irq())),
            ));
        }
        1 => "1 interrupt was moved".to_owned(),
        _ => format!("{moved} interrupts were moved"),
    };
    let why = format!("{given} to other cpus by {}{balanced}", suggestion::format_mention(&suggested_command::irq()));
    Some(new_check(WHAT, CheckState::Note, why).with_cure(suggestion::format_typed(&suggested_command::undo())))
}

fn stolen_time(condition: &SystemCondition, machine: &Machine, found: &DoctorFindings) -> DoctorCheck {
    const WHAT: &str = "stolen time";
    if let Some((_, gap)) = found.uncounted.iter().find(|(kind, _)| *kind == CountKind::StolenTime) {
        return check_from_gap(gap);
    }
    match (&machine.system.hypervisor, condition.stolen_ticks) {
        (None, _) => new_check(WHAT, CheckState::Good, "there is no hypervisor that could take time"),
        (Some(_), Some(0) | None) => {
            let why = "the kernel has counted none since boot: the hypervisor takes none, or does not report it";
            new_check(WHAT, CheckState::Note, why)
                .with_cure("look at off-cpu time in the survey, which always includes it")
        }
        (Some(_), Some(_)) => new_check(
            WHAT,
            CheckState::Good,
            "the kernel reports the time that the hypervisor takes, in steps of 10 ms",
        ),
    }
}

/// Checks whether `tail --fifo` works.
fn check_first_class(found: &DoctorFindings) -> DoctorCheck {
    const WHAT: &str = "tail --fifo";
    match &found.first_class {
        Ok(()) => new_check(WHAT, CheckState::Good, "this user may run before all other tasks (SCHED_FIFO)"),
        Err(why) if found.may_lower_nice => {
            let group = "the control group of this process has no time for real-time tasks (CONFIG_RT_GROUP_SCHED)";
            let why = format!("{group}, so it may not run before all others (SCHED_FIFO): {why}");
            let cure = "start it in the root control group, give its group time (cpu.rt_runtime_us of cgroup v1), or boot with \
                        rt_group_sched=0";
            new_check(WHAT, CheckState::Note, why).with_cure(cure)
        }
        Err(why) => new_check(
            WHAT,
            CheckState::Note,
            format!("this user may not run before all other tasks (SCHED_FIFO): {why}"),
        )
        .with_cure("run it as root, or allow a priority of 1: CAP_SYS_NICE, `ulimit -r 1`, LimitRTPRIO=1"),
    }
}

fn check_allowed_cpus(machine: &Machine, found: &DoctorFindings) -> DoctorCheck {
    const WHAT: &str = "allowed cpus";
    let denied = machine.online.difference(&machine.allowed);
    if machine.allowed.len() < 2 && machine.online.len() > 1 {
        let why = format!("this process may use only cpu {}: no link between cpus can be measured", machine.allowed);
        return new_check(WHAT, CheckState::Gap, why).with_cure(suggest_widening(machine, found));
    }
    if denied.is_empty() {
        return new_check(WHAT, CheckState::Good, format!("all online cpus ({})", machine.online));
    }
    let why = format!("this process may not use {denied} (cpuset or affinity); it may use {}", machine.allowed);
    new_check(WHAT, CheckState::Note, why).with_cure(suggest_widening(machine, found))
}

/// Suggests how to start corewise with more cpus. A mask reaches no further than the cpuset.
fn suggest_widening(machine: &Machine, found: &DoctorFindings) -> String {
    let cpus = &found.reachable;
    let wider = match &found.limit {
        Some(LimitingGroup { group, cpus }) => format!(
            "{} lets {group} use cpus {cpus}; widen it there (cpuset.cpus, AllowedCPUs=, a container's or job's limit)",
            cgroup_owner(group)
        ),
        None => "widen its limit (a container's cpuset, a job)".to_owned(),
    };
    if cpus.is_subset(&machine.allowed) {
        return wider;
    }
    let notation = Notation::of_shell(machine);
    let printed = notation::print_notation(notation, cpus, &cpus.iter().collect::<Vec<_>>(), machine);
    let starts: Vec<String> = printed.into_iter().filter(|line| !line.secondary).filter_map(|line| line.text).collect();
    match starts.as_slice() {
        [start] if *cpus == machine.online => format!("{start} corewise"),
        [start] => format!("{start} corewise    (for more: {wider})"),
        _ => format!("start corewise where it may use {cpus}"),
    }
}

fn check_governors(machine: &Machine) -> DoctorCheck {
    const WHAT: &str = "frequency governor";
    let governors = &machine.system.governors;
    if governors.is_empty() {
        let why = "the kernel reports none; it is unknown what sets the clock rate";
        return new_check(WHAT, CheckState::Note, why);
    }
    let names = governors.join(", ");
    if governors.iter().all(|name| name == "performance") {
        return new_check(WHAT, CheckState::Good, names);
    }
    new_check(WHAT, CheckState::Note, format!("{names}: clock rates follow the load, which increases the uncertainty"))
        .with_cure("sudo cpupower frequency-set -g performance")
}

fn check_siblings(condition: &SystemCondition, machine: &Machine) -> DoctorCheck {
    const WHAT: &str = "SMT siblings";
    let threads = machine.objects_of(Level::Core).iter().map(|core| core.len()).max().unwrap_or(1);
    let control = condition.siblings.as_ref().map(|state| format!(" (smt/control: {state})")).unwrap_or_default();
    if threads < 2 {
        return new_check(WHAT, CheckState::Good, format!("a core has one cpu{control}"));
    }
    new_check(WHAT, CheckState::Note, format!("a core has {threads} cpus{control}: work on one slows the other"))
        .with_cure(format!(
            "{} with one cpu of each core keeps siblings idle",
            suggestion::format_typed(&suggested_command::survey_of_cpus("LIST"))
        ))
}

fn check_hypervisor(machine: &Machine) -> Option<DoctorCheck> {
    let name = machine.system.hypervisor.as_ref()?;
    if machine.system.emulated {
        let why = format!("{name} emulates every instruction: measured times mean nothing");
        return Some(
            new_check("emulated machine", CheckState::Gap, why)
                .with_cure("measure on a real machine, or in a KVM guest"),
        );
    }
    let why = format!(
        "this is a {name} guest: {name} reports its levels and caches, and its cpus may move between real cores"
    );
    Some(
        new_check("virtual machine", CheckState::Note, why).with_cure("survey the host, or pin the guest's cpus on it"),
    )
}

/// Returns the check of the kernel's lockdown; `None` if it is not locked down, or if that is unknown.
fn check_lockdown(condition: &SystemCondition) -> Option<DoctorCheck> {
    const WHAT: &str = "kernel lockdown";
    let mode = condition.lockdown.as_deref()?;
    if mode == HIDES_ALL {
        let why = format!("this kernel is locked down ({mode}): its tracepoints are closed, also for root");
        return Some(new_check(WHAT, CheckState::Gap, why).with_cure(UNLOCK));
    }
    let why = format!(
        "this kernel is locked down ({mode}): debugfs is closed, so only a move shows which interrupts can be moved"
    );
    Some(new_check(WHAT, CheckState::Note, why))
}

fn check_load(condition: &SystemCondition, machine: &Machine) -> DoctorCheck {
    const WHAT: &str = "other programs";
    match condition.load {
        None => new_check(
            WHAT,
            CheckState::Note,
            "the load average is unknown here; the survey itself reports how busy other programs are",
        ),
        Some(load) if load > RESTLESS_LOAD * machine.allowed.len() as f64 => {
            let why = format!("the load of the last minute is {load}: it affects every number");
            new_check(WHAT, CheckState::Note, why).with_cure("wait or stop them, to survey the machine alone")
        }
        Some(load) => new_check(WHAT, CheckState::Good, format!("the load of the last minute is {load}")),
    }
}
