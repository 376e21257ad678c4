//! Moves interrupts away from cpus, or near their device: plans, moves through the journal, and checks the result.

use std::time::{Duration, Instant};

use corewise_machine::CpuSet;
use corewise_machine::device::{self, Near};
use corewise_machine::interrupt::away::{Move, NoCpuLeft, Plan, plan};
use corewise_machine::interrupt::near;
use corewise_machine::placement::{Expression, LeftOut, Resolution};
use corewise_machine::suggested_command;
use corewise_model::device_findings;
use corewise_sys::change::Journal;
use corewise_sys::irq::{self, Arrival, Refusal};
use corewise_sys::process::is_root;
use corewise_sys::{Root, SysError};

use super::Here;
use super::document::IrqDocument;
use super::document::{AwayReport, Fate, MoveReport};
use super::screen::away::screen;
use super::task::{Aim, IrqTask, Moving};
use crate::app::failure::{Exit, Failure};
use crate::app::interruption::Interruption;
use crate::app::machine::MachineChoice;
use crate::app::output::show;
use crate::app::placing::{resolve_elsewhere, resolve_for_all, shortened, with_memory_costs};
use crate::app::settings::Settings;
use crate::draw::printable::named;
use crate::draw::suggestion;

/// Maximum time to wait for interrupts to move. Most move at once; the others move when they next occur.
const WAITING: Duration = Duration::from_millis(500);
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// Moves the interrupts, or shows what would be moved.
pub fn run(moving: &Moving, task: &IrqTask, here: &Here, settings: &Settings) -> Result<Exit, Failure> {
    let Aimed { plan, cpus, left_out, near } = match &moving.aim {
        Aim::AwayFrom(expression) => away(expression, moving, task, here, settings)?,
        Aim::Near => near_device(&moving.text, task, here, settings)?,
    };
    let mut moves = match moving.dry_run {
        true => plan.moves.iter().map(|step| report(step, Fate::WouldMove)).collect(),
        false => moved(moving, &plan, settings)?,
    };
    moves.extend(plan.waiting.iter().map(|step| report(step, Fate::Waits)));
    moves.sort_by_key(|moved| moved.planned.number);
    follow(&mut moves, &here.root);
    let spared = here.machine.isolated.union(&here.machine.nohz_full);
    let report = AwayReport {
        expression: moving.text.clone(),
        device: near.is_some().then(|| moving.text.clone()),
        near,
        command: moving.command(),
        to_ban: cpus.union(&spared),
        cpus,
        left_out,
        dry_run: moving.dry_run,
        moves,
        staying: plan.staying,
    };
    let document = || IrqDocument::new(&here.listing, Some(&report));
    show(settings, document, || screen(&here.listing, &report, settings.width))?;
    Ok(exit(&report))
}

/// The planned moves, and the cpus concerned.
struct Aimed {
    plan: Plan,
    cpus: CpuSet,
    left_out: Vec<LeftOut>,
    /// Why these cpus are near a device; `None` for `--away-from`.
    near: Option<Near>,
}

fn away(
    expression: &Expression,
    moving: &Moving,
    task: &IrqTask,
    here: &Here,
    settings: &Settings,
) -> Result<Aimed, Failure> {
    let resolution = match task.machine {
        // Interrupts also go to cpus outside of our cpuset: a shell may be confined to keep these cpus free.
        MachineChoice::Here => resolve_for_all(expression, &here.machine, settings)?,
        _ => resolve_elsewhere(expression, &here.machine)?,
    };
    let plan = plan(&here.listing.interrupts, &resolution.cpus, &here.machine)
        .map_err(|error| refused(moving, &resolution, error))?;
    Ok(Aimed { plan, cpus: resolution.cpus, left_out: resolution.left_out, near: None })
}

fn near_device(name: &str, task: &IrqTask, here: &Here, settings: &Settings) -> Result<Aimed, Failure> {
    let unavailable = |what: &str| Failure::unavailable(format!("near({}): {what}", named(name)));
    let device =
        device::find(&here.machine, name).map_err(|error| unavailable(&error.what).next(shortened(&error.hint)))?;
    let near = match task.machine {
        MachineChoice::Here => device::near(device, &with_memory_costs(here.machine.clone(), settings)),
        _ => device::near(device, &here.machine),
    };
    if !near.is_known {
        let doubt = near.doubt.unwrap_or(near.reason);
        return Err(unavailable(&format!("it is not known where it is: {doubt}"))
            .next("Move its interrupts away from some cpus instead, with --away-from."));
    }
    let own = device_findings::interrupts_of(device, &here.listing.interrupts);
    if own.is_empty() {
        return Err(unavailable("no interrupts of it are known").next(format!(
            "{} lists the interrupts; older controllers do not report their devices.",
            suggestion::mention(&suggested_command::irq())
        )));
    }
    let plan = near::plan(&own, &near.cpus, &here.machine).map_err(|error| {
        unavailable(&format!("{error} ({})", near.cpus)).next("Isolated cpus are given no interrupts.")
    })?;
    Ok(Aimed { plan, cpus: near.cpus.clone(), left_out: Vec::new(), near: Some(near) })
}

/// Returns `Done` if an interrupt was moved or there was none to move, otherwise `Unavailable`.
fn exit(report: &AwayReport) -> Exit {
    let is_done = report.moves.iter().any(|moved| !matches!(moved.fate, Fate::Refused | Fate::Elsewhere));
    let is_nothing_to_do = report.moves.is_empty() && report.staying.is_empty();
    if is_done || is_nothing_to_do { Exit::Done } else { Exit::Unavailable }
}

fn refused(moving: &Moving, resolution: &Resolution, error: NoCpuLeft) -> Failure {
    let cpus = resolution.cpus.to_string();
    let what = if moving.text == cpus { cpus } else { format!("{} ({cpus})", moving.text) };
    Failure::usage(format!("{what} {error}")).next("Interrupts must go somewhere: leave out a cpu, as in 'all - 0'.")
}

fn report(planned: &Move, fate: Fate) -> MoveReport {
    MoveReport { planned: planned.clone(), fate, effective: None, why: None }
}

/// Makes the planned moves, which stay after this process ends. On failure or interruption, reverts all of them.
fn moved(moving: &Moving, plan: &Plan, settings: &Settings) -> Result<Vec<MoveReport>, Failure> {
    let Some(first) = plan.moves.first() else { return Ok(Vec::new()) };
    // Checked before the journal exists: without permission to move interrupts, problems of the journal do not matter.
    if let Err(error) = irq::may_move(first) {
        not_moved(first, &error, moving)?;
    }
    let interruption = Interruption::watch()?;
    let mut journal = Journal::in_folder(settings.journal_folder()?);
    let mut reports = Vec::new();
    for step in &plan.moves {
        if interruption.was_seen() {
            return Err(Failure::new(Exit::Interrupted, "interrupted: all moves were reverted"));
        }
        reports.push(match irq::move_away(&mut journal, step) {
            Ok(()) => report(step, Fate::Untold),
            Err(error) => not_moved(step, &error, moving)?,
        });
    }
    journal.keep(&suggested_command::irq().line());
    Ok(reports)
}

/// Returns the report of a refused move. Fails if the kernel refuses all moves, or if the journal cannot be written.
fn not_moved(step: &Move, error: &SysError, moving: &Moving) -> Result<MoveReport, Failure> {
    let command = moving.command();
    let next = match (Refusal::of(error), is_root()) {
        (None, _) => "Changes need a journal, so that they can be undone.".to_owned(),
        (Some(Refusal::NotPermitted), true) => {
            format!("This root user may not. On the host, outside the container:  {command}")
        }
        (Some(Refusal::NotPermitted), _) => format!("Only root may:  sudo {command}"),
        (Some(Refusal::ReadOnly), _) => format!("Outside the container:  {command}"),
        (Some(refusal), _) => return Ok(MoveReport { why: Some(refusal.words()), ..report(step, Fate::Refused) }),
    };
    let what = Refusal::of(error).map_or_else(|| error.to_string(), |refusal| refusal.words());
    Err(Failure::unavailable(what).next(next))
}

/// Waits for a while until the moved interrupts go to their new cpus. The moves stay even if the process is ended meanwhile.
fn follow(reports: &mut [MoveReport], root: &Root) {
    if !reports.iter().any(|report| report.fate.is_in_force()) {
        return;
    }
    let (then, begun) = (irq::counts(root), Instant::now());
    loop {
        let now = irq::counts(root);
        for report in reports.iter_mut().filter(|report| report.fate.is_in_force()) {
            (report.fate, report.effective) = match irq::arrival(root, &report.planned, &then, &now) {
                Arrival::There(cpus) => (Fate::Moved, Some(cpus)),
                Arrival::Waits(cpus) => (Fate::Waits, Some(cpus)),
                Arrival::Elsewhere(cpus) => (Fate::Elsewhere, Some(cpus)),
                Arrival::Untold => (Fate::Untold, None),
            };
        }
        let is_open = reports.iter().any(|report| matches!(report.fate, Fate::Waits | Fate::Elsewhere));
        if !is_open || begun.elapsed() >= WAITING {
            return;
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
}
