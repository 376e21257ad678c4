//! Stays the parent of a command: watches its threads, passes signals and stops on, and ends as it ends.

use std::process::Command;
use std::time::{Duration, Instant};

use corewise_model::placement::hold::Policy;
use corewise_sys::linux::signals::{self, Held, Sender, Signal};
use corewise_sys::linux::spawn::{self, Change};
use corewise_sys::linux::task;

use super::group::{self, Group};
use super::place::{self, Place};
use super::watch::{Tells, Watch};
use super::words;
use crate::error::{Exit, Failure};
use crate::output::say;
use crate::settings::Settings;
use crate::settings::run::RunTask;

/// How long to wait for signals where nothing is watched; the end of the command is a signal.
const UNWATCHED: Duration = Duration::from_secs(3600);

/// Runs a command and attends it until it ends; does not return then, but ends corewise in the same way.
pub fn run(task: &RunTask, command: &mut Command, settings: &Settings) -> Result<Exit, Failure> {
    if task.is_watched() && !task::is_available() {
        let what = "threads cannot be watched: there is no /proc here";
        return Err(
            Failure::unavailable(what).next("Mount it, or leave out the options that need it: --help has them.")
        );
    }
    let place = place::find(task, settings)?;
    let held = Held::new().map_err(|error| Failure::new(Exit::Internal, error))?;
    let group = task.cgroup.then(|| Group::prepare(&place, settings)).transpose()?;
    let child = start(task, command, &place, &held, group.as_ref())?;
    if task.verbose {
        say(&words::in_force(task, &place));
        group.iter().for_each(|group| say(&group.words()));
    }
    let watch = task.is_watched().then(|| watch(task, place));
    let mut supervisor = Supervisor { held, child, watch };
    let end = supervisor.wait();
    if let Some(watch) = supervisor.watch.as_ref().filter(|_| task.verbose) {
        watch.end();
    }
    if let Some(group) = group {
        group.finish(task.verbose);
    }
    supervisor.leave(end)
}

/// Starts the command where it is to be; its number.
fn start(
    task: &RunTask,
    command: &mut Command,
    place: &Place,
    held: &Held,
    group: Option<&Group>,
) -> Result<u32, Failure> {
    let entry = group.map(|group| group.hold(command)).transpose()?;
    let before = place.put_in_force()?;
    let started = spawn::start(command, held);
    before.give_back(&place.resolution.cpus);
    started.map_err(|error| match entry.and_then(|entry| entry.refusal()) {
        Some(refusal) => group::not_entered(&refusal),
        None => words::not_started(&task.program, &error),
    })
}

fn watch(task: &RunTask, place: Place) -> Watch {
    let tells = match (task.enforcement.is_some(), task.verbose) {
        (true, _) => Tells::AtOnce,
        (false, true) => Tells::AtTheEnd,
        (false, false) => Tells::Never,
    };
    let policy = Policy { boundary: place.resolution.cpus, threads: place.threads, enforcement: task.enforcement };
    Watch::new(policy, tells)
}

/// How the command ended.
#[derive(Clone, Copy)]
enum End {
    Exited(i32),
    Killed(i32),
}

struct Supervisor {
    held: Held,
    child: u32,
    watch: Option<Watch>,
}

impl Supervisor {
    /// Waits until the command ends; looks at its threads and takes signals meanwhile.
    fn wait(&mut self) -> End {
        let mut next_look = Instant::now();
        loop {
            if next_look <= Instant::now() {
                next_look = Instant::now() + self.watch.as_mut().map_or(UNWATCHED, Watch::look);
            }
            // After the look: a command that has ended is seen until it is waited for.
            if let Some(end) = self.take_changes() {
                return end;
            }
            let pause = next_look.saturating_duration_since(Instant::now());
            if let Some(signal) = self.held.next(pause.max(Duration::from_micros(1))) {
                self.pass_on(signal);
            }
        }
    }

    /// What became of the command since the last time; of other children nothing is to be known, they are only waited for.
    fn take_changes(&self) -> Option<End> {
        let mut stopped = None;
        while let Some((process, change)) = spawn::next_change() {
            match change {
                _ if process != self.child => {}
                Change::Exited(status) => return Some(End::Exited(status)),
                Change::Killed(signal) => return Some(End::Killed(signal)),
                Change::Stopped(signal) => stopped = Some(signal),
                Change::Continued => stopped = None,
            }
        }
        if let Some(signal) = stopped.filter(|_| !self.held.is_to_go_on()) {
            self.stop(signal);
        }
        None
    }

    /// Stops as the command was stopped, for the shell to see. A command that was stopped by itself where no shell looks is
    /// waited for as ever: nobody would continue corewise.
    fn stop(&self, signal: i32) {
        if signals::is_from_terminal(signal) || signals::has_job_control() {
            self.held.stop(signal);
        }
    }

    /// Passes a signal on, unless the command has it already: from the terminal, which sends to the whole group, or from
    /// itself.
    fn pass_on(&self, signal: Signal) {
        let is_for_us = match signal.sender {
            Sender::Kernel => signals::is_meant_for_one(signal.number),
            Sender::Process(process) => process != self.child,
        };
        if is_for_us && !signals::is_about_children(signal.number) {
            signals::send(self.child, signal.number);
        }
    }

    /// Ends corewise as the command ended.
    fn leave(self, end: End) -> ! {
        match end {
            End::Exited(status) => std::process::exit(status),
            End::Killed(signal) => {
                self.held.end(signal);
                // Where a signal does not end us, as it does not end the first process of a container.
                std::process::exit(128 + signal)
            }
        }
    }
}
