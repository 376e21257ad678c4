//! `corewise irq`: shows which cpus handle each device's interrupts, and moves them away from cpus, or near their device.

pub mod document;

pub mod arguments;
mod moves;
pub mod screen;
pub mod task;

use std::time::{Duration, Instant};

use corewise_machine::Machine;
use corewise_machine::event::EventSource;
use corewise_model::Survey;
use corewise_model::interrupt_findings::list_interrupt_findings;
use corewise_model::survey::devices::device_costs;
use corewise_sys::{Root, irq, topology};

use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::machine::{self, open_recording};
use crate::app::output::show_result;
use crate::app::run::{CommandDocument, RunnableCommand, command_document};
use crate::app::settings::ProgramSettings;
use crate::app::user_store::latest_own;
use arguments::IrqArguments;
use document::{InterruptListing, IrqDocument, SurveyedCosts};
use screen::draw_screen;
use task::IrqTask;

impl RunnableCommand for IrqArguments {
    const DOCUMENTS: &'static [CommandDocument] = &[command_document::<IrqDocument<'_>>(
        "irq",
        &[
            "irq --machine interrupts.txt",
            "irq --machine interrupts.txt --away-from 1 --dry-run",
            "irq --machine devices.txt --near eth0 --dry-run",
        ],
    )];

    fn run(self, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
        run(&IrqTask::new(self)?, settings)
    }
}

/// Returns the failure for a system that lists no interrupts.
fn explain_nothing_listed(root: &Root) -> CommandFailure {
    if topology::read_machine(root).is_ok_and(|machine| !machine.processor_groups.is_empty()) {
        return CommandFailure::unavailable_error("interrupts of devices cannot be listed or moved on Windows");
    }
    let what = "no device interrupts are listed here, in /proc/irq, /sys/kernel/irq or /proc/interrupts";
    CommandFailure::unavailable_error(what)
        .with_hint("Many sandboxes hide them: run on a system with the kernel's own /proc and /sys.")
}

fn run(task: &IrqTask, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
    let root = open_recording(&task.machine)?;
    let mut listing = InterruptListing {
        counted_s: None,
        costs: None,
        irqbalance: irq::find_irqbalance(&root),
        interrupts: irq::read_interrupts(&root),
        findings: Vec::new(),
    };
    if listing.interrupts.is_empty() {
        return Err(explain_nothing_listed(&root));
    }
    if let Some(moving) = &task.moving {
        let machine = topology::read_machine(&root).map_err(|error| machine::explain_unreadable(&error))?;
        return moves::run(moving, task, &MachineInterrupts { root, machine, listing }, settings);
    }
    if root.is_live() {
        listing.counted_s = Some(count_interrupts(&root, &mut listing, task.counting));
    }
    // A machine that cannot be read has no findings and no history.
    if let Ok(machine) = topology::read_machine(&root) {
        listing.findings = list_interrupt_findings(&machine, &listing.interrupts);
        let names =
            |survey: &Survey| survey.watch.as_ref().is_some_and(|watch| watch.event_source != EventSource::Thread);
        let named = root.is_live().then(|| latest_own(&machine, settings, names)).flatten();
        listing.costs =
            named.map(|(number, survey)| SurveyedCosts { survey: number, by_number: device_costs(&survey) });
    }
    show_result(settings, || IrqDocument::new(&listing, None), || draw_screen(&listing, settings.width))?;
    Ok(CommandExit::Done)
}

struct MachineInterrupts {
    root: Root,
    machine: Machine,
    listing: InterruptListing,
}

/// Counts the interrupts for a while, and returns the elapsed time in seconds.
fn count_interrupts(root: &Root, listing: &mut InterruptListing, counting: Duration) -> f64 {
    let (first, begun) = (irq::read_counts(root), Instant::now());
    std::thread::sleep(counting);
    let (last, elapsed_s) = (irq::read_counts(root), begun.elapsed().as_secs_f64());
    for interrupt in &mut listing.interrupts {
        let of = |counts: &irq::Counts| counts.get(&interrupt.number).cloned().unwrap_or_default();
        interrupt.counts = of(&first);
        interrupt.counted_again(&of(&last), elapsed_s);
    }
    elapsed_s
}
