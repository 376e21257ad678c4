//! Moves interrupts away from cpus, or near their device: plans, moves through the journal, and checks the result.

use std::time::{Duration, Instant};

use corewise_machine::CpuSet;
use corewise_machine::device::{self, NearCpus};
use corewise_machine::facts::PciDevice;
use corewise_machine::interrupt::plan::{InterruptMove, InterruptPlan, NoCpuLeft, plan_moves_away};
use corewise_machine::interrupt::{near, spread};
use corewise_machine::placement::{ExcludedCpus, PlacementExpression, ResolvedExpression};
use corewise_machine::suggested_command;
use corewise_model::{device_findings, interrupt_findings};
use corewise_sys::change::ChangeJournal;
use corewise_sys::irq::{self, InterruptArrival, MoveRefusal};
use corewise_sys::process::is_root;
use corewise_sys::{Root, SysError};

use super::MachineInterrupts;
use super::document::IrqDocument;
use super::document::{AwayReport, MoveFate, MoveReport};
use super::screen::moves::draw_screen;
use super::task::{IrqTask, MoveAim, MoveRequest};
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::interruption::InterruptionWatch;
use crate::app::machine::MachineChoice;
use crate::app::output::show_result;
use crate::app::placement::{shorten_message, with_memory_costs};
use crate::app::placing::{resolve_elsewhere, resolve_for_all};
use crate::app::settings::ProgramSettings;
use crate::draw::printable::printable_name;
use crate::draw::suggestion;

/// Maximum time to wait for interrupts to move. Most move at once; the others move when they next occur.
const WAITING: Duration = Duration::from_millis(500);
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// Moves the interrupts, or shows what would be moved.
pub fn run(
    moving: &MoveRequest,
    task: &IrqTask,
    here: &MachineInterrupts,
    settings: &ProgramSettings,
) -> Result<CommandExit, CommandFailure> {
    require_known_cpus(here)?;
    let device = moving.aim.names_device().then_some(moving.text.as_str());
    let PlannedMoves { plan, cpus, left_out, near } = match &moving.aim {
        MoveAim::AwayFrom(expression) => plan_away(expression, moving, task, here, settings)?,
        MoveAim::Near => plan_near_device(&moving.text, task, here, settings)?,
        MoveAim::Spread(over) => plan_spread_device(&moving.text, over.as_ref(), task, here, settings)?,
        MoveAim::Named(named) => plan_named_interrupts(named, here)?,
    };
    let mut moves = match moving.dry_run {
        true => plan.moves.iter().map(|step| report_move(step, MoveFate::WouldMove)).collect(),
        false => move_planned(moving, &plan, settings)?,
    };
    moves.extend(plan.waiting.iter().map(|step| report_move(step, MoveFate::Waits)));
    moves.sort_by_key(|moved| moved.planned.number);
    follow_moves(&mut moves, &here.root);
    let spared = here.machine.isolated.union(&here.machine.nohz_full);
    let report = AwayReport {
        expression: moving.text.clone(),
        aim: moving.aim.kind(),
        device: device.map(str::to_owned),
        near,
        command: moving.suggest_command(),
        to_ban: cpus.union(&spared),
        cpus,
        left_out,
        dry_run: moving.dry_run,
        moves,
        staying: plan.staying,
    };
    let document = || IrqDocument::new(&here.listing, Some(&report));
    show_result(settings, document, || draw_screen(&here.listing, &report, settings.width))?;
    Ok(choose_exit(&report))
}

/// Refuses to plan if nothing says where interrupts may go, as the table of counts alone does not.
fn require_known_cpus(here: &MachineInterrupts) -> Result<(), CommandFailure> {
    let interrupts = &here.listing.interrupts;
    if interrupts.is_empty() || interrupts.iter().any(|interrupt| interrupt.allowed.is_some()) {
        return Ok(());
    }
    let record = suggestion::format_mention(&suggested_command::record());
    Err(CommandFailure::unavailable_error("it is not known to which cpus these interrupts may go")
        .with_hint(format!("/proc/interrupts only counts them; {record} writes a file that has both.")))
}

/// The planned moves, and the cpus concerned.
struct PlannedMoves {
    plan: InterruptPlan,
    cpus: CpuSet,
    left_out: Vec<ExcludedCpus>,
    /// Why these cpus are near a device; `None` for `--away-from`.
    near: Option<NearCpus>,
}

fn plan_away(
    expression: &PlacementExpression,
    moving: &MoveRequest,
    task: &IrqTask,
    here: &MachineInterrupts,
    settings: &ProgramSettings,
) -> Result<PlannedMoves, CommandFailure> {
    let resolution = resolve_for_interrupts(expression, task, here, settings)?;
    let plan = plan_moves_away(&here.listing.interrupts, &resolution.cpus, &here.machine)
        .map_err(|error| explain_refusal(moving, &resolution, error))?;
    Ok(PlannedMoves { plan, cpus: resolution.cpus, left_out: resolution.left_out, near: None })
}

/// Resolves an expression. Interrupts also go to cpus outside of our cpuset: a shell may be confined to keep these cpus free.
fn resolve_for_interrupts(
    expression: &PlacementExpression,
    task: &IrqTask,
    here: &MachineInterrupts,
    settings: &ProgramSettings,
) -> Result<ResolvedExpression, CommandFailure> {
    match task.machine {
        MachineChoice::Here => resolve_for_all(expression, &here.machine, settings),
        _ => resolve_elsewhere(expression, &here.machine),
    }
}

fn plan_near_device(
    name: &str,
    task: &IrqTask,
    here: &MachineInterrupts,
    settings: &ProgramSettings,
) -> Result<PlannedMoves, CommandFailure> {
    let unavailable = |what: &str| CommandFailure::unavailable_error(format!("near({}): {what}", printable_name(name)));
    let device = device::find_device(&here.machine, name)
        .map_err(|error| unavailable(&error.what).with_hint(shorten_message(&error.hint)))?;
    let near = find_near(device, task, here, settings);
    if !near.is_known {
        let doubt = near.doubt.unwrap_or(near.reason);
        return Err(unavailable(&format!("it is not known where it is: {doubt}"))
            .with_hint("Move its interrupts away from some cpus instead, with --away-from."));
    }
    let own = device_findings::interrupts_of(device, &here.listing.interrupts);
    if own.is_empty() {
        return Err(no_interrupts_failure(name));
    }
    let plan = near::plan_moves_near(&own, &near.cpus, &here.machine).map_err(|error| {
        unavailable(&format!("{error} ({})", near.cpus)).with_hint("Isolated cpus are given no interrupts.")
    })?;
    Ok(PlannedMoves { plan, cpus: near.cpus.clone(), left_out: Vec::new(), near: Some(near) })
}

fn find_near(device: &PciDevice, task: &IrqTask, here: &MachineInterrupts, settings: &ProgramSettings) -> NearCpus {
    match task.machine {
        MachineChoice::Here => device::cpus_near(device, &with_memory_costs(here.machine.clone(), settings)),
        _ => device::cpus_near(device, &here.machine),
    }
}

fn no_interrupts_failure(name: &str) -> CommandFailure {
    let what = format!("no interrupts of {} are known", printable_name(name));
    CommandFailure::unavailable_error(what).with_hint(format!(
        "{} lists the interrupts; older controllers do not report their devices.",
        suggestion::format_mention(&suggested_command::irq())
    ))
}

/// Plans a cpu for each interrupt of a device. Without its address, its interrupts are those whose handlers begin with its name.
fn plan_spread_device(
    name: &str,
    over: Option<&PlacementExpression>,
    task: &IrqTask,
    here: &MachineInterrupts,
    settings: &ProgramSettings,
) -> Result<PlannedMoves, CommandFailure> {
    let all = &here.listing.interrupts;
    let device = device::find_device(&here.machine, name).ok();
    let mut own = device.map_or_else(Vec::new, |device| device_findings::interrupts_of(device, all));
    if own.is_empty() {
        own = all.iter().filter(|interrupt| interrupt_findings::stem_of(interrupt) == name).collect();
    }
    if own.is_empty() {
        return Err(no_interrupts_failure(name));
    }
    let near = device.map(|device| find_near(device, task, here, settings)).filter(|near| near.is_known);
    let (wanted, left_out) = match over {
        Some(over) => {
            let resolution = resolve_for_interrupts(over, task, here, settings)?;
            (resolution.cpus, resolution.left_out)
        }
        None => (here.machine.online.clone(), Vec::new()),
    };
    let turn = spread::cpus_in_turn(&wanted, near.as_ref().map_or(&wanted, |near| &near.cpus), &here.machine);
    let plan = spread::plan_spread(&own, &turn).map_err(|_| {
        CommandFailure::usage_error(format!("no cpu of {wanted} is online and not isolated"))
            .with_hint("Isolated cpus are given no interrupts.")
    })?;
    let cpus = plan.moves.iter().fold(CpuSet::new(), |all, step| all.union(&step.to));
    Ok(PlannedMoves { plan, cpus, left_out, near })
}

fn plan_named_interrupts(named: &[(u32, CpuSet)], here: &MachineInterrupts) -> Result<PlannedMoves, CommandFailure> {
    let find = |(number, cpus): &(u32, CpuSet)| {
        let interrupt = here.listing.interrupts.iter().find(|interrupt| interrupt.number == *number);
        let interrupt = interrupt.ok_or_else(|| {
            CommandFailure::usage_error(format!("--set {number}={cpus}: no device has interrupt {number}"))
                .with_hint(format!("{} lists them.", suggestion::format_mention(&suggested_command::irq())))
        })?;
        if cpus.is_disjoint(&here.machine.online) {
            return Err(CommandFailure::usage_error(format!("--set {number}={cpus}: none of these cpus is online")));
        }
        Ok((interrupt, cpus.clone()))
    };
    let wanted = named.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    let cpus = wanted.iter().fold(CpuSet::new(), |all, (_, cpus)| all.union(cpus));
    Ok(PlannedMoves { plan: spread::plan_named(&wanted), cpus, left_out: Vec::new(), near: None })
}

/// Returns `Done` if an interrupt was moved or there was none to move, otherwise `Unavailable`.
fn choose_exit(report: &AwayReport) -> CommandExit {
    let is_done = report.moves.iter().any(|moved| !matches!(moved.fate, MoveFate::Refused | MoveFate::Elsewhere));
    let is_nothing_to_do = report.moves.is_empty() && report.staying.is_empty();
    if is_done || is_nothing_to_do { CommandExit::Done } else { CommandExit::Unavailable }
}

fn explain_refusal(moving: &MoveRequest, resolution: &ResolvedExpression, error: NoCpuLeft) -> CommandFailure {
    let cpus = resolution.cpus.to_string();
    let what = if moving.text == cpus { cpus } else { format!("{} ({cpus})", moving.text) };
    CommandFailure::usage_error(format!("{what} {error}"))
        .with_hint("Interrupts must go somewhere: leave out a cpu, as in 'all - 0'.")
}

fn report_move(planned: &InterruptMove, fate: MoveFate) -> MoveReport {
    MoveReport { planned: planned.clone(), fate, effective: None, why: None }
}

/// Makes the planned moves, which stay after this process ends. On failure or interruption, reverts all of them.
fn move_planned(
    moving: &MoveRequest,
    plan: &InterruptPlan,
    settings: &ProgramSettings,
) -> Result<Vec<MoveReport>, CommandFailure> {
    let Some(first) = plan.moves.first() else { return Ok(Vec::new()) };
    // Checked before the journal exists: without permission to move interrupts, problems of the journal do not matter.
    if let Err(error) = irq::may_move(first) {
        report_refused_move(first, &error, moving)?;
    }
    let interruption = InterruptionWatch::watch_signals()?;
    let mut journal = ChangeJournal::in_folder(settings.journal_folder()?);
    let mut reports = Vec::new();
    for step in &plan.moves {
        if interruption.was_seen() {
            return Err(CommandFailure::new(CommandExit::Interrupted, "interrupted: all moves were reverted"));
        }
        reports.push(match irq::move_away(&mut journal, step) {
            Ok(()) => report_move(step, MoveFate::Untold),
            Err(error) => report_refused_move(step, &error, moving)?,
        });
    }
    journal.keep_changes(&suggested_command::irq().shell_line());
    Ok(reports)
}

/// Returns the report of a refused move. Fails if the kernel refuses all moves, or if the journal cannot be written.
fn report_refused_move(
    step: &InterruptMove,
    error: &SysError,
    moving: &MoveRequest,
) -> Result<MoveReport, CommandFailure> {
    let command = moving.suggest_command();
    let next = match (MoveRefusal::from_error(error), is_root()) {
        (None, _) => "Changes need a journal, so that they can be undone.".to_owned(),
        (Some(MoveRefusal::NotPermitted), true) => {
            format!("This root user may not. On the host, outside the container:  {command}")
        }
        (Some(MoveRefusal::NotPermitted), _) => format!("Only root may:  sudo {command}"),
        (Some(MoveRefusal::ReadOnly), _) => format!("Outside the container:  {command}"),
        (Some(refusal), _) => {
            return Ok(MoveReport { why: Some(refusal.describe_refusal()), ..report_move(step, MoveFate::Refused) });
        }
    };
    let what = MoveRefusal::from_error(error).map_or_else(|| error.to_string(), |refusal| refusal.describe_refusal());
    Err(CommandFailure::unavailable_error(what).with_hint(next))
}

/// Waits for a while until the moved interrupts go to their new cpus. The moves stay even if the process is ended meanwhile.
fn follow_moves(reports: &mut [MoveReport], root: &Root) {
    if !reports.iter().any(|report| report.fate.is_in_force()) {
        return;
    }
    let (then, begun) = (irq::read_counts(root), Instant::now());
    loop {
        let now = irq::read_counts(root);
        for report in reports.iter_mut().filter(|report| report.fate.is_in_force()) {
            (report.fate, report.effective) = match irq::check_arrival(root, &report.planned, &then, &now) {
                InterruptArrival::There(cpus) => (MoveFate::Moved, Some(cpus)),
                InterruptArrival::Waits(cpus) => (MoveFate::Waits, Some(cpus)),
                InterruptArrival::Elsewhere(cpus) => (MoveFate::Elsewhere, Some(cpus)),
                InterruptArrival::Untold => (MoveFate::Untold, None),
            };
        }
        let is_open = reports.iter().any(|report| matches!(report.fate, MoveFate::Waits | MoveFate::Elsewhere));
        if !is_open || begun.elapsed() >= WAITING {
            return;
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
}
