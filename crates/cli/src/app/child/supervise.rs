//! Parent of a command: watches its threads, passes signals and stops on, and ends in the same way.

use std::ffi::OsStr;
use std::process::Command;
use std::time::{Duration, Instant};

use corewise_lab::placing::Place;
use corewise_machine::placement::hold::Policy;
use corewise_sys::signals::{self, Held, Sender, Signal};
use corewise_sys::spawn::{self, StateChange};
use corewise_sys::task;

use super::group::{self, Group};
use super::watch::{Tells, Watch};
use super::words;
use crate::app::child::task::RunTask;
use crate::app::failure::{Exit, Failure};
use crate::app::machine::this_machine;
use crate::app::output::say;
use crate::app::settings::Settings;

/// Longest wait for signals if no threads are watched; the end of the command is a signal, too.
pub const UNWATCHED: Duration = Duration::from_secs(3600);

/// Runs a command and attends it until it ends. Then corewise exits in the same way, so this returns only on failure.
pub fn run(task: &RunTask, command: &mut Command, settings: &Settings) -> Result<Exit, Failure> {
    if task.is_watched() && !task::is_available() {
        let what = "threads cannot be watched: there is no /proc here";
        return Err(Failure::unavailable(what).next("Mount it, or leave out the options that need it (see --help)."));
    }
    let place = task.wish.find(&this_machine()?, settings)?;
    let held = Held::new().map_err(|error| Failure::new(Exit::Internal, error))?;
    let group = task.wish.in_group.then(|| Group::prepare(&place, settings)).transpose()?;
    let mut watch = task.is_watched().then(|| watch(task, &place));
    if watch.is_some() {
        spawn::adopt_orphans();
    }
    let child = match start(&task.program, command, Some(&place), &held, group.as_ref())? {
        Started::Child(child) => child,
        Started::Ended(signal) => {
            drop(group);
            leave(&held, End::Killed(signal))
        }
    };
    if task.verbose {
        say(&words::in_force(task, &place));
        group.iter().for_each(|group| say(&group.words()));
    }
    let end = Supervisor { held: &held, child }.wait(watch.as_mut().map(|watch| watch as &mut dyn Look));
    if let Some(watch) = watch.as_ref().filter(|_| task.verbose) {
        watch.end();
    }
    if let Some(group) = group {
        group.finish(task.verbose);
    }
    leave(&held, end)
}

/// Handles signals that came before the command was started. Returns the first that would have ended corewise; stops
/// for a stop signal.
pub fn came_early(held: &Held) -> Option<i32> {
    while let Some(Signal { number, .. }) = held.next(Duration::ZERO) {
        if signals::is_ignored(number) {
            continue;
        }
        if signals::is_from_terminal(number) {
            held.stop(number);
        } else if signals::ends(number) {
            return Some(number);
        }
    }
    None
}

/// Observer of a running command.
pub trait Look {
    /// Looks at the command and returns the time until the next look.
    fn look(&mut self) -> Duration;

    /// Called when a child may have ended, just before it is waited for.
    fn before_end(&mut self) {}

    /// Called when a signal came that ends a process by default; the command gets it, too.
    fn told_to_end(&mut self) {}
}

impl Look for Watch {
    fn look(&mut self) -> Duration {
        Self::look(self)
    }
}

/// Result of starting the command.
pub enum Started {
    /// It runs, with this process number.
    Child(u32),
    /// This signal came first.
    Ended(i32),
}

/// Starts a command, on `place` if given.
pub fn start(
    program: &OsStr,
    command: &mut Command,
    place: Option<&Place>,
    held: &Held,
    group: Option<&Group>,
) -> Result<Started, Failure> {
    let entry = group.map(|group| group.hold(command)).transpose()?;
    let before = place.map(Place::put_in_force).transpose()?;
    if let Some(signal) = came_early(held) {
        return Ok(Started::Ended(signal));
    }
    let started = spawn::start(command, held);
    if let (Some(before), Some(place)) = (before, place) {
        before.give_back(&place.resolution.cpus);
    }
    started.map(Started::Child).map_err(|error| match entry.and_then(|entry| entry.refusal()) {
        Some(refusal) => group::not_entered(&refusal),
        None => words::not_started(program, &error),
    })
}

fn watch(task: &RunTask, place: &Place) -> Watch {
    let tells = match (task.enforcement.is_some(), task.verbose) {
        (true, _) => Tells::AtOnce,
        (false, true) => Tells::AtTheEnd,
        (false, false) => Tells::Never,
    };
    let (boundary, threads) = (place.resolution.cpus.clone(), place.threads.clone());
    Watch::new(Policy { boundary, threads, enforcement: task.enforcement }, tells)
}

/// End of the command.
#[derive(Clone, Copy)]
pub enum End {
    /// It exited with this status.
    Exited(i32),
    /// It was killed by this signal.
    Killed(i32),
}

/// Parent of a command.
pub struct Supervisor<'a> {
    /// Signals that are held back.
    pub held: &'a Held,
    /// Process number of the command.
    pub child: u32,
}

impl Supervisor<'_> {
    /// Waits until the command ends. Meanwhile it calls `look` and handles signals.
    pub fn wait(&self, mut look: Option<&mut dyn Look>) -> End {
        let mut next_look = Instant::now();
        loop {
            if next_look <= Instant::now() {
                next_look = Instant::now() + look.as_mut().map_or(UNWATCHED, |look| look.look());
            }
            // After the look: a command that has ended stays visible until it is waited for.
            if let Some(end) = self.take_changes() {
                return end;
            }
            let pause = next_look.saturating_duration_since(Instant::now());
            if let Some(signal) = self.held.next(pause.max(Duration::from_micros(1))) {
                self.pass_on(signal);
                match look.as_mut() {
                    Some(look) if signals::is_about_children(signal.number) => {
                        look.before_end();
                        spawn::reap_all_but(self.child);
                    }
                    Some(look) if signals::ends(signal.number) => look.told_to_end(),
                    _ => {}
                }
            }
        }
    }

    /// Takes the command's changes of state since the last call; returns its end, if it ended.
    fn take_changes(&self) -> Option<End> {
        let mut stopped = None;
        while let Some(change) = spawn::change_of(self.child) {
            match change {
                StateChange::Exited(status) => return Some(End::Exited(status)),
                StateChange::Killed(signal) => return Some(End::Killed(signal)),
                StateChange::Stopped(signal) => stopped = Some(signal),
                StateChange::Continued => stopped = None,
            }
        }
        if let Some(signal) = stopped.filter(|_| !self.held.is_to_go_on()) {
            self.stop(signal);
        }
        None
    }

    /// Stops corewise as the command was stopped, so that the shell sees it. Without job control and a signal from the
    /// terminal, corewise keeps waiting: no shell would continue it.
    fn stop(&self, signal: i32) {
        if signals::is_from_terminal(signal) || signals::has_job_control() {
            self.held.stop(signal);
        }
    }

    /// Passes a signal on, unless the command already has it. The terminal sends to the whole group, and the command
    /// may have sent it itself.
    fn pass_on(&self, signal: Signal) {
        let is_for_us = match signal.sender {
            Sender::Kernel => signals::is_meant_for_one(signal.number),
            Sender::Process(process) => process != self.child,
        };
        if is_for_us && !signals::is_about_children(signal.number) {
            signals::send(self.child, signal.number);
        }
    }
}

/// Ends corewise as the command ended.
pub fn leave(held: &Held, end: End) -> ! {
    match end {
        End::Exited(status) => std::process::exit(status),
        End::Killed(signal) => {
            held.end(signal);
            // The signal may not end us: the first process of a container is immune.
            std::process::exit(128 + signal)
        }
    }
}
