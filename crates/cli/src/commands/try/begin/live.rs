//! Which running processes are tried, and whether they can be.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use corewise_keep::Scope;
use corewise_lab::experiment::Ended;
use corewise_lab::experiment::live::LiveRunner;
use corewise_lab::session::Progress;
use corewise_machine::suggested_command;
use corewise_model::keep::{Fit, Match, Process};
use corewise_model::trial::{Arm, Experiment, Live, LiveProcess, SlotLength, Workload, wash_out_s};
use corewise_sys::change::Journal;
use corewise_sys::process::{self, effective_user, is_root};
use corewise_sys::processes::Facts;

use super::super::task::LiveTask;
use crate::app::failure::{Exit, Failure};
use crate::app::numbers::check_numbers;
use crate::app::progress::Bar;
use crate::app::settings::Settings;
use crate::draw::number::duration;
use crate::draw::printable::named;
use crate::draw::suggestion;

/// Of a session with a budget the length of slots may take this share.
const SHARE: u32 = 5;
/// Where there is no budget it takes no longer.
const MOST: Duration = Duration::from_secs(160);
/// Before its length is known.
const UNKNOWN_S: f64 = 1.0;

impl LiveTask {
    /// The processes and how they are measured, with the first of the processes as it is executed.
    ///
    /// # Errors
    /// Where there is no such process, or it may not be placed.
    pub fn live(&self) -> Result<(Live, Vec<Process>), Failure> {
        let live = Live {
            processes: identities(&self.processes)?,
            matches: self.matches.clone(),
            source: self.source.clone(),
            slot_s: self.slot.map_or(UNKNOWN_S, |slot| slot.as_secs_f64()),
            limits: self.limits.clone(),
        };
        let processes = chosen(&live)?;
        Ok((live, processes))
    }
}

/// Processes by their numbers now.
pub fn identities(numbers: &[u32]) -> Result<Vec<LiveProcess>, Failure> {
    check_numbers()?;
    let each = |id: &u32| {
        let found = corewise_keep::process(*id).ok_or_else(|| nothing(&format!("process {id}")))?;
        Ok(LiveProcess { id: *id, start_ticks: found.start_ticks })
    };
    numbers.iter().map(each).collect()
}

fn nothing(what: &str) -> Failure {
    Failure::unavailable(format!("there is no {what} that can be placed")).next(format!(
        "{} shows what a process has, and what limits it.",
        suggestion::mention(&suggested_command::keep_why("PID"))
    ))
}

/// The processes of an experiment as they are now; those that descend from others among them come with these.
///
/// # Errors
/// Where one is gone, where none matches, or where this user may not place them.
pub fn chosen(live: &Live) -> Result<Vec<Process>, Failure> {
    check_numbers()?;
    let mut found = Vec::new();
    for named in &live.processes {
        let process = corewise_keep::process(named.id).filter(|process| process.start_ticks == named.start_ticks);
        found.push(process.ok_or_else(|| {
            Failure::unavailable(format!("process {} has ended", named.id))
                .next("Begin a new experiment with the process that runs now.")
        })?);
    }
    if !live.matches.is_empty() {
        let matches = Match::of_texts(&live.matches).map_err(Failure::usage)?;
        let scope = if is_root() { Scope::System } else { Scope::User(effective_user()) };
        let matching = corewise_keep::processes(scope).into_iter().filter(|process| matches.fit(process) == Fit::Yes);
        let before = found.len();
        found.extend(
            matching.filter(|process| !live.processes.iter().any(|named| named.id == process.id)).collect::<Vec<_>>(),
        );
        if found.len() == before {
            return Err(nothing(&format!("process with {matches}")));
        }
    }
    let numbers: Vec<u32> = found.iter().map(|process| process.id).collect();
    found.retain(|process| !numbers.contains(&process.parent));
    found.iter().try_for_each(may_be_placed)?;
    Ok(found)
}

/// sched_setaffinity(2): one's own processes, or with the right to place all (CAP_SYS_NICE).
fn may_be_placed(process: &Process) -> Result<(), Failure> {
    let user = Facts::of(process.id).ok().flatten().map(|facts| facts.user);
    if is_root() || user == Some(effective_user()) {
        return Ok(());
    }
    let what = format!(
        "process {} ({}) belongs to {}: you may not place it",
        process.id,
        named(&process.name),
        named(&process.user)
    );
    Err(Failure::new(Exit::Unavailable, what).next("Run corewise as that user, or as root."))
}

/// Every placement has to be possible for every process, before anything is touched.
pub fn check_reachable(arms: &[Arm], processes: &[Process]) -> Result<(), Failure> {
    for process in processes {
        for cpus in arms.iter().filter_map(|arm| arm.cpus.as_ref()) {
            if !cpus.is_subset(&process.reachable) {
                let what = format!(
                    "process {} ({}) may use only cpus {}, not {cpus}",
                    process.id,
                    named(&process.name),
                    process.reachable
                );
                return Err(Failure::unavailable(what).next("Name placements inside these with --on EXPR."));
            }
        }
    }
    Ok(())
}

/// What a process executes: the file, and its words.
pub fn command_of(process: &Process) -> Vec<String> {
    let program = process.exe.clone().or_else(|| process.argv.first().cloned()).unwrap_or_else(|| process.name.clone());
    std::iter::once(program).chain(process.argv.iter().skip(1).cloned()).collect()
}

/// A runner for the processes as they are now.
pub fn runner<'a>(
    workload: &Workload,
    arms: &[Arm],
    processes: &[Process],
    stop: &'a AtomicBool,
    settings: &Settings,
) -> Result<LiveRunner<'a>, Failure> {
    let journals: PathBuf = settings.journal_folder()?.to_owned();
    let identities =
        processes.iter().map(|process| process::Process { id: process.id, start_ticks: process.start_ticks });
    LiveRunner::new(workload, arms, identities.collect(), Journal::in_folder(journals), stop)
        .map_err(Failure::unavailable)
}

/// Looks whether the metrics can be read and hold their limits now, before anything is changed.
pub fn check(runner: &mut LiveRunner<'_>) -> Result<(), Failure> {
    runner.check().map_err(not_begun)
}

/// How long slots have to be, found while nothing is changed.
pub fn find_slot(
    runner: &mut LiveRunner<'_>,
    budget: Option<Duration>,
    settings: &Settings,
) -> Result<SlotLength, Failure> {
    let bar = Bar::new(settings.progress);
    let most = budget.map_or(MOST, |budget| budget / SHARE);
    let step = "finding how long slots should be; nothing is changed".to_owned();
    let mut show = |elapsed: Duration| {
        let done = (elapsed.as_secs_f64() / most.as_secs_f64()).min(1.0);
        bar.show(&Progress { step: step.clone(), done, left: most.saturating_sub(elapsed) });
    };
    let found = runner.find_slot(most, &mut show);
    bar.clear();
    found.map_err(not_begun)
}

/// "slots of 0.3 s, each after 0.1 s that do not count; …".
pub fn found_in_words(found: &SlotLength) -> String {
    let seconds = |seconds: f64| duration(seconds * 1e9);
    let noise = match found.noise {
        Some(noise) => format!("with nothing changed two slots in a row differ by {:.1} %", 100.0 * noise),
        None => "too little was read to tell by how much two of them differ".to_owned(),
    };
    format!(
        "note: slots of {}, each after {} that do not count; {noise}",
        seconds(found.slot_s),
        seconds(wash_out_s(found.slot_s)),
    )
}

fn not_begun(ended: Ended) -> Failure {
    match ended {
        Ended::Stopped => Failure::new(Exit::Interrupted, "nothing was tried: it was ended before the first slot"),
        Ended::OutOfTime => Failure::unavailable("nothing was tried: the budget ended before the first slot"),
        Ended::Gone(why) => Failure::unavailable(why).next("Nothing was changed."),
    }
}

/// A stored experiment goes on with the processes that run now.
pub fn of_stored<'a>(
    experiment: &Experiment,
    live: &Live,
    stop: &'a AtomicBool,
    settings: &Settings,
) -> Result<LiveRunner<'a>, Failure> {
    let processes = chosen(live)?;
    check_reachable(&experiment.arms, &processes)?;
    runner(&experiment.workload, &experiment.arms, &processes, stop, settings)
}
