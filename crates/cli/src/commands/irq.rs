//! `corewise irq`: shows which cpus handle each device's interrupts, and moves them away from cpus, or near their device.

pub mod document;

pub mod arguments;
mod away;
pub mod screen;
pub mod task;

use std::time::{Duration, Instant};

use corewise_machine::Machine;
use corewise_machine::event::EventSource;
use corewise_machine::suggested_command;
use corewise_model::Survey;
use corewise_model::survey::devices::device_costs;
use corewise_sys::{Root, irq, topology};

use crate::app::failure::{Exit, Failure};
use crate::app::history::latest_survey;
use crate::app::machine::{self, MachineChoice, is_machine_file};
use crate::app::output::show;
use crate::app::run::{Document, Run, document};
use crate::app::settings::Settings;
use crate::draw::suggestion;
use arguments::IrqArguments;
use document::{IrqDocument, Listing};
use screen::screen;
use task::IrqTask;

impl Run for IrqArguments {
    const DOCUMENTS: &'static [Document] = &[document::<IrqDocument<'_>>(&[
        "irq --machine interrupts.txt",
        "irq --machine interrupts.txt --away-from 1 --dry-run",
        "irq --machine devices.txt --near eth0 --dry-run",
    ])];

    fn run(self, settings: &Settings) -> Result<Exit, Failure> {
        run(&IrqTask::new(self)?, settings)
    }
}

/// Returns the failure for a system that lists no interrupts.
fn nothing_listed(root: &Root) -> Failure {
    if topology::read(root).is_ok_and(|machine| !machine.processor_groups.is_empty()) {
        return Failure::unavailable("interrupts of devices cannot be listed or moved on Windows");
    }
    let what = "no device interrupts are listed here, in /proc/irq, /sys/kernel/irq or /proc/interrupts";
    Failure::unavailable(what).next("Many sandboxes hide them: run on a system with the kernel's own /proc and /sys.")
}

fn run(task: &IrqTask, settings: &Settings) -> Result<Exit, Failure> {
    let root = root(&task.machine)?;
    let mut listing =
        Listing { counted_s: None, costs: None, irqbalance: irq::irqbalance(&root), interrupts: irq::read(&root) };
    if listing.interrupts.is_empty() {
        return Err(nothing_listed(&root));
    }
    if let Some(moving) = &task.moving {
        let machine = topology::read(&root).map_err(|error| machine::unreadable(&error))?;
        return away::run(moving, task, &Here { root, machine, listing }, settings);
    }
    if root.is_live() {
        listing.counted_s = Some(count(&root, &mut listing, task.counting));
        // A machine that cannot be read has no history.
        let names =
            |survey: &Survey| survey.watch.as_ref().is_some_and(|watch| watch.event_source != EventSource::Thread);
        let named = topology::read(&root).ok().and_then(|machine| latest_survey(&machine, settings, names));
        listing.costs = named.map(|survey| device_costs(&survey));
    }
    show(settings, || IrqDocument::new(&listing, None), || screen(&listing, settings.width))?;
    Ok(Exit::Done)
}

struct Here {
    root: Root,
    machine: Machine,
    listing: Listing,
}

/// Returns the root of the machine's files. Described machines have no interrupts.
fn root(choice: &MachineChoice) -> Result<Root, Failure> {
    match choice {
        MachineChoice::Here => Ok(Root::live()),
        MachineChoice::File(path) if !is_machine_file(path) => {
            Root::open(path).map_err(|error| machine::unreadable(&error))
        }
        _ => Err(Failure::usage("a described machine has no interrupts")
            .next(format!("Use a recording made by {}.", suggestion::mention(&suggested_command::record())))),
    }
}

/// Counts the interrupts for a while, and returns the elapsed time in seconds.
fn count(root: &Root, listing: &mut Listing, counting: Duration) -> f64 {
    let (first, begun) = (irq::counts(root), Instant::now());
    std::thread::sleep(counting);
    let (last, elapsed_s) = (irq::counts(root), begun.elapsed().as_secs_f64());
    for interrupt in &mut listing.interrupts {
        let of = |counts: &irq::Counts| counts.get(&interrupt.number).cloned().unwrap_or_default();
        interrupt.counts = of(&first);
        interrupt.counted_again(&of(&last), elapsed_s);
    }
    elapsed_s
}
