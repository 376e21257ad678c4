//! Parent of a command: watches its threads, passes signals and stops on, and ends in the same way.

use std::ffi::OsStr;
use std::process::Command;
use std::time::{Duration, Instant};

use corewise_lab::placement::ResolvedPlacement;
use corewise_machine::placement::hold::HoldPolicy;
use corewise_sys::signals::{self, HeldSignals, ReceivedSignal, SignalSender};
use corewise_sys::spawn::{self, StateChange};
use corewise_sys::task;

use super::group::{self, CommandGroup};
use super::messages;
use super::watch::{NoticePolicy, ThreadWatch};
use crate::app::child::task::RunTask;
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::machine::this_machine;
use crate::app::output::print_message;
use crate::app::settings::ProgramSettings;

/// Longest wait for signals if no threads are watched; the end of the command is a signal, too.
pub const UNWATCHED: Duration = Duration::from_secs(3600);

/// Runs a command and attends it until it ends. Then corewise exits in the same way, so this returns only on failure.
pub fn run(task: &RunTask, command: &mut Command, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
    if task.is_watched() && !task::is_available() {
        let what = "threads cannot be watched: there is no /proc here";
        return Err(CommandFailure::unavailable_error(what)
            .with_hint("Mount it, or leave out the options that need it (see --help)."));
    }
    let place = task.wish.resolve_placement(&this_machine()?, settings)?;
    let held = HeldSignals::new().map_err(|error| CommandFailure::new(CommandExit::Internal, error))?;
    let group = task.wish.in_group.then(|| CommandGroup::make_group(&place, settings)).transpose()?;
    let mut watch = task.is_watched().then(|| watch_threads(task, &place));
    if watch.is_some() {
        spawn::adopt_orphans();
    }
    let child = match start_command(&task.program, command, Some(&place), &held, group.as_ref())? {
        StartedCommand::Child(child) => child,
        StartedCommand::Ended(signal) => {
            drop(group);
            exit_like(&held, CommandEnd::Killed(signal))
        }
    };
    if task.verbose {
        print_message(&messages::describe_in_force(task, &place));
        group.iter().for_each(|group| print_message(&group.describe_group()));
    }
    let end = CommandSupervisor { held: &held, child }
        .wait_for_end(watch.as_mut().map(|watch| watch as &mut dyn CommandObserver));
    if let Some(watch) = watch.as_ref().filter(|_| task.verbose) {
        watch.report_notices();
    }
    if let Some(group) = group {
        group.remove_group(task.verbose);
    }
    exit_like(&held, end)
}

/// Handles signals that came before the command was started. Returns the first that would have ended corewise; stops
/// for a stop signal.
pub fn take_early_signals(held: &HeldSignals) -> Option<i32> {
    while let Some(ReceivedSignal { number, .. }) = held.next(Duration::ZERO) {
        if signals::is_ignored(number) {
            continue;
        }
        if signals::is_from_terminal(number) {
            held.stop_self(number);
        } else if signals::ends_process(number) {
            return Some(number);
        }
    }
    None
}

/// Observer of a running command.
pub trait CommandObserver {
    /// Looks at the command and returns the time until the next look.
    fn look_once(&mut self) -> Duration;

    /// Called when a child may have ended, just before it is waited for.
    fn before_end(&mut self) {}

    /// Called when a signal came that ends a process by default; the command gets it, too.
    fn note_end_request(&mut self) {}
}

impl CommandObserver for ThreadWatch {
    fn look_once(&mut self) -> Duration {
        Self::look_at_threads(self)
    }
}

/// Result of starting the command.
pub enum StartedCommand {
    /// It runs, with this process number.
    Child(u32),
    /// This signal came first.
    Ended(i32),
}

/// Starts a command, on `place` if given.
pub fn start_command(
    program: &OsStr,
    command: &mut Command,
    place: Option<&ResolvedPlacement>,
    held: &HeldSignals,
    group: Option<&CommandGroup>,
) -> Result<StartedCommand, CommandFailure> {
    let entry = group.map(|group| group.enter_command(command)).transpose()?;
    let before = place.map(ResolvedPlacement::apply_to_thread).transpose()?;
    if let Some(signal) = take_early_signals(held) {
        return Ok(StartedCommand::Ended(signal));
    }
    let started = spawn::start_command(command, held);
    if let (Some(before), Some(place)) = (before, place) {
        before.restore_outside(&place.resolution.cpus);
    }
    started.map(StartedCommand::Child).map_err(|error| match entry.and_then(|entry| entry.entry_refusal()) {
        Some(refusal) => group::explain_not_entered(&refusal),
        None => messages::explain_not_started(program, &error),
    })
}

fn watch_threads(task: &RunTask, place: &ResolvedPlacement) -> ThreadWatch {
    let tells = match (task.enforcement.is_some(), task.verbose) {
        (true, _) => NoticePolicy::AtOnce,
        (false, true) => NoticePolicy::AtTheEnd,
        (false, false) => NoticePolicy::Never,
    };
    let (boundary, threads) = (place.resolution.cpus.clone(), place.threads.clone());
    ThreadWatch::new(HoldPolicy { boundary, threads, enforcement: task.enforcement }, tells)
}

/// End of the command.
#[derive(Clone, Copy)]
pub enum CommandEnd {
    /// It exited with this status.
    Exited(i32),
    /// It was killed by this signal.
    Killed(i32),
}

/// Parent of a command.
pub struct CommandSupervisor<'a> {
    /// Signals that are held back.
    pub held: &'a HeldSignals,
    /// Process number of the command.
    pub child: u32,
}

impl CommandSupervisor<'_> {
    /// Waits until the command ends. Meanwhile it calls `look` and handles signals.
    pub fn wait_for_end(&self, mut look: Option<&mut dyn CommandObserver>) -> CommandEnd {
        let mut next_look = Instant::now();
        loop {
            if next_look <= Instant::now() {
                next_look = Instant::now() + look.as_mut().map_or(UNWATCHED, |look| look.look_once());
            }
            // After the look: a command that has ended stays visible until it is waited for.
            if let Some(end) = self.take_changes() {
                return end;
            }
            let pause = next_look.saturating_duration_since(Instant::now());
            if let Some(signal) = self.held.next(pause.max(Duration::from_micros(1))) {
                self.pass_signal_on(signal);
                match look.as_mut() {
                    Some(look) if signals::is_about_children(signal.number) => {
                        look.before_end();
                        spawn::reap_all_but(self.child);
                    }
                    Some(look) if signals::ends_process(signal.number) => look.note_end_request(),
                    _ => {}
                }
            }
        }
    }

    /// Takes the command's changes of state since the last call; returns its end, if it ended.
    fn take_changes(&self) -> Option<CommandEnd> {
        let mut stopped = None;
        while let Some(change) = spawn::change_of(self.child) {
            match change {
                StateChange::Exited(status) => return Some(CommandEnd::Exited(status)),
                StateChange::Killed(signal) => return Some(CommandEnd::Killed(signal)),
                StateChange::Stopped(signal) => stopped = Some(signal),
                StateChange::Continued => stopped = None,
            }
        }
        if let Some(signal) = stopped.filter(|_| !self.held.is_to_go_on()) {
            self.stop_self(signal);
        }
        None
    }

    /// Stops corewise as the command was stopped, so that the shell sees it. Without job control and a signal from the
    /// terminal, corewise keeps waiting: no shell would continue it.
    fn stop_self(&self, signal: i32) {
        if signals::is_from_terminal(signal) || signals::has_job_control() {
            self.held.stop_self(signal);
        }
    }

    /// Passes a signal on, unless the command already has it. The terminal sends to the whole group, and the command
    /// may have sent it itself.
    fn pass_signal_on(&self, signal: ReceivedSignal) {
        let is_for_us = match signal.sender {
            SignalSender::Kernel => signals::is_meant_for_one(signal.number),
            SignalSender::Process(process) => process != self.child,
        };
        if is_for_us && !signals::is_about_children(signal.number) {
            signals::send_signal(self.child, signal.number);
        }
    }
}

/// Ends corewise as the command ended.
pub fn exit_like(held: &HeldSignals, end: CommandEnd) -> ! {
    match end {
        CommandEnd::Exited(status) => std::process::exit(status),
        CommandEnd::Killed(signal) => {
            held.end_self(signal);
            // The signal may not end us: the first process of a container is immune.
            std::process::exit(128 + signal)
        }
    }
}
