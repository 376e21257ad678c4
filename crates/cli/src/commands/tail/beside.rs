//! `corewise tail --beside`: runs a command, watches its interruptions, and ends with its status.

pub mod document;

pub mod screen;

use std::ffi::OsString;
use std::io;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use corewise_lab::beside::{AccountsReader, EventWatcher, WatchedCommand, open_recorder};
use corewise_lab::causes::SETTLING;
use corewise_lab::placement::{PlacementRequest, ResolvedPlacement, ThreadSpread};
use corewise_machine::placement::PlacementExpression;
use corewise_machine::{CpuSet, Gap};
use corewise_sys::events::EventRecorder;
use corewise_sys::open_files::OpenFiles;
use corewise_sys::process::sees_all_numbers;
use corewise_sys::processes::{ProcessFacts, process_threads};
use corewise_sys::signals::HeldSignals;
use corewise_sys::{affinity, cpuset, ipc, spawn};

use crate::app::child::supervisor::{
    CommandEnd, CommandObserver, CommandSupervisor, StartedCommand, UNWATCHED, exit_like, start_command,
};
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::interruption::InterruptionWatch;
use crate::app::machine::this_machine;
use crate::app::output::{print_message, show_beside, show_result};
use crate::app::settings::ProgramSettings;
use document::{BesideDocument, ShownBeside};
use screen::draw_screen;

/// Runs a command and watches it. Returns only if the command could not be started; otherwise ends corewise with the command's status.
pub fn run(
    on: Option<&PlacementExpression>,
    budget: Option<Duration>,
    words: &[OsString],
    settings: &ProgramSettings,
) -> Result<CommandExit, CommandFailure> {
    let (program, arguments) =
        words.split_first().ok_or_else(|| CommandFailure::usage_error("there is no command to run"))?;
    let mut command = Command::new(program);
    command.args(arguments);
    if settings.json {
        // Standard output is reserved for the document.
        command.stdout(ipc::error_as_output().unwrap_or_else(|_| Stdio::null()));
    }
    let wish = |on: &PlacementExpression| PlacementRequest {
        on: on.clone(),
        memory: None,
        spread: ThreadSpread::Together,
        in_group: false,
    };
    let place =
        on.map(|on| Ok::<_, CommandFailure>(wish(on).resolve_placement(&this_machine()?, settings)?)).transpose()?;
    let cpus = allowed_cpus(place.as_ref())?;
    let held = HeldSignals::new().map_err(|error| CommandFailure::new(CommandExit::Internal, error))?;
    if let Ok(before) = OpenFiles::raise_limit() {
        before.give_back_to(&mut command);
    }
    let recorder = open_recorder();
    let mut eye = BesideObserver::open(&recorder, &cpus, None);
    let child = match start_command(program, &mut command, place.as_ref(), &held, None)? {
        StartedCommand::Child(child) => child,
        StartedCommand::Ended(signal) => {
            drop(eye);
            drop(recorder);
            exit_like(&held, CommandEnd::Killed(signal))
        }
    };
    eye.begin_watching(child, budget);
    let end = CommandSupervisor { held: &held, child }.wait_for_end(Some(&mut eye));
    let (watched, to_its_end) = eye.finish_watching();
    // Disables the tracepoints before anything is printed.
    drop(recorder);
    if let Err(failure) = show_watched(words, &watched, to_its_end, end, settings) {
        print_message(&failure);
    }
    exit_like(&held, end)
}

/// Watches a process that runs already, until it ends, the budget is spent, or Ctrl-C. The process is not touched.
pub fn watch_process(
    process: u32,
    budget: Option<Duration>,
    settings: &ProgramSettings,
) -> Result<CommandExit, CommandFailure> {
    let facts = ProcessFacts::read_facts(process).ok().flatten();
    let facts = facts.ok_or_else(|| CommandFailure::usage_error(format!("there is no process {process} to watch")))?;
    let masks = process_threads(process).into_iter().map(|thread| thread.cpus);
    let cpus = masks.fold(CpuSet::new(), |all, cpus| all.union(&cpus)).intersection(&cpuset::online_cpus());
    let (interruption, _) = (InterruptionWatch::watch_signals()?, OpenFiles::raise_limit());
    let recorder = if sees_all_numbers() {
        open_recorder()
    } else {
        Err(Gap::new("", "this process sees other process numbers than the kernel's events have"))
    };
    let mut eye = BesideObserver::open(&recorder, &cpus, Some(process));
    eye.begin_watching(process, budget);
    while eye.way.is_some() && facts.process.is_alive() && !interruption.was_seen() {
        let pause = eye.look_once();
        std::thread::sleep(pause.min(LONGEST_PAUSE));
    }
    let has_ended = !facts.process.is_alive();
    let (watched, _) = eye.finish_watching();
    drop(recorder);
    let command = [format!("{} ({process})", facts.name)];
    let shown = ShownBeside {
        command: &command,
        cpus: &watched.cpus,
        event_source: watched.event_source,
        seen: &watched.seen,
        gaps: &watched.gaps,
        to_its_end: has_ended,
    };
    show_result(settings, || BesideDocument::new(&shown, None, None), || draw_screen(&shown, settings.width))?;
    Ok(CommandExit::Done)
}

fn allowed_cpus(place: Option<&ResolvedPlacement>) -> Result<CpuSet, CommandFailure> {
    match place {
        Some(place) => Ok(place.resolution.cpus.clone()),
        None => affinity::current_affinity().map_err(|error| {
            CommandFailure::new(CommandExit::Internal, format!("cannot read the affinity mask: {error}"))
        }),
    }
}

fn show_watched(
    words: &[OsString],
    watched: &WatchedCommand,
    to_its_end: bool,
    end: CommandEnd,
    settings: &ProgramSettings,
) -> Result<(), CommandFailure> {
    let command: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let shown = ShownBeside {
        command: &command,
        cpus: &watched.cpus,
        event_source: watched.event_source,
        seen: &watched.seen,
        gaps: &watched.gaps,
        to_its_end,
    };
    let (exit_status, signal) = match end {
        CommandEnd::Exited(status) => (Some(status), None),
        CommandEnd::Killed(signal) => (None, Some(signal)),
    };
    show_beside(settings, || BesideDocument::new(&shown, exit_status, signal), || draw_screen(&shown, settings.width))
}

/// Longest pause between two looks at a process that runs already: its end and Ctrl-C are noticed then.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

enum WatchMethod<'a> {
    Events(Box<EventWatcher<'a>>),
    Accounts(Box<AccountsReader>, Gap),
}

/// Watches a command until it ends, or until the budget is spent.
struct BesideObserver<'a> {
    way: Option<WatchMethod<'a>>,
    /// True if this process did not start it.
    runs_already: bool,
    until: Option<Instant>,
    /// The result, if watching ended before the command.
    watched: Option<WatchedCommand>,
}

impl<'a> BesideObserver<'a> {
    /// Begins to watch cpus; reads the kernel's accounts if its events are refused.
    /// With a `process`, it runs already.
    fn open(recorder: &'a Result<EventRecorder, Gap>, cpus: &CpuSet, process: Option<u32>) -> Self {
        let watcher = recorder.as_ref().map_err(Gap::clone).and_then(|recorder| {
            let refused = |error: io::Error| Gap::new("", error.to_string());
            EventWatcher::new(recorder, cpus).map_err(refused)
        });
        let way = match watcher {
            Ok(watcher) => {
                std::thread::sleep(SETTLING);
                WatchMethod::Events(Box::new(watcher))
            }
            Err(gap) => {
                let reader = process.map_or_else(
                    || {
                        // Orphans of the command become our children, and so can be found.
                        spawn::adopt_orphans();
                        AccountsReader::new(cpus)
                    },
                    |process| AccountsReader::of_process(cpus, process),
                );
                WatchMethod::Accounts(
                    Box::new(reader),
                    Gap { what: "what interrupted it, and for how long".into(), ..gap },
                )
            }
        };
        Self { way: Some(way), runs_already: process.is_some(), until: None, watched: None }
    }

    fn begin_watching(&mut self, process: u32, budget: Option<Duration>) {
        self.until = budget.map(|budget| Instant::now() + budget);
        match &mut self.way {
            Some(WatchMethod::Events(watcher)) if self.runs_already => watcher.follow_process(process),
            Some(WatchMethod::Events(watcher)) => watcher.begin_program(process),
            _ => {}
        }
    }

    fn end_watching(&mut self) {
        match self.way.take() {
            Some(WatchMethod::Events(watcher)) => self.watched = Some(watcher.finish_watching()),
            Some(WatchMethod::Accounts(accounting, gap)) => {
                let mut watched = accounting.finish_reading();
                watched.gaps.insert(0, gap);
                self.watched = Some(watched);
            }
            None => {}
        }
    }

    /// Returns the result, and whether the command was still watched.
    fn finish_watching(mut self) -> (WatchedCommand, bool) {
        let to_its_end = self.way.is_some();
        self.end_watching();
        (self.watched.expect("it ends once"), to_its_end)
    }
}

impl CommandObserver for BesideObserver<'_> {
    fn look_once(&mut self) -> Duration {
        if self.until.is_some_and(|until| until <= Instant::now()) {
            self.end_watching();
        }
        let pause = match &mut self.way {
            Some(WatchMethod::Events(watcher)) => watcher.drain_events(),
            Some(WatchMethod::Accounts(accounting, _)) => accounting.read_accounts(),
            None => return UNWATCHED,
        };
        let left = self.until.map(|until| until.saturating_duration_since(Instant::now()));
        left.map_or(pause, |left| left.min(pause))
    }

    fn before_end(&mut self) {
        if let Some(WatchMethod::Accounts(accounting, _)) = &mut self.way {
            accounting.read_accounts();
        }
    }
}
