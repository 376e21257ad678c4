//! `corewise tail --beside`: runs a command, watches its interruptions, and ends with its status.

pub mod document;

pub mod screen;

use std::ffi::OsString;
use std::io;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use corewise_lab::beside::{Accounting, Watched, Watcher, recorder};
use corewise_lab::causes::SETTLING;
use corewise_lab::placing::{Place, Spread, Wish};
use corewise_machine::placement::Expression;
use corewise_machine::{CpuSet, Gap};
use corewise_sys::events::Recorder;
use corewise_sys::open_files::OpenFiles;
use corewise_sys::signals::Held;
use corewise_sys::{affinity, ipc, spawn};

use crate::app::child::supervise::{End, Look, Started, Supervisor, UNWATCHED, leave, start};
use crate::app::failure::{Exit, Failure};
use crate::app::machine::this_machine;
use crate::app::output::{say, show_beside};
use crate::app::settings::Settings;
use document::{BesideDocument, ShownBeside};
use screen::screen;

/// Runs a command and watches it. Returns only if the command could not be started; otherwise ends corewise with the command's status.
pub fn run(
    on: Option<&Expression>,
    budget: Option<Duration>,
    words: &[OsString],
    settings: &Settings,
) -> Result<Exit, Failure> {
    let (program, arguments) = words.split_first().ok_or_else(|| Failure::usage("there is no command to run"))?;
    let mut command = Command::new(program);
    command.args(arguments);
    if settings.json {
        // Standard output is reserved for the document.
        command.stdout(ipc::error_as_output().unwrap_or_else(|_| Stdio::null()));
    }
    let wish = |on: &Expression| Wish { on: on.clone(), memory: None, spread: Spread::Together, in_group: false };
    let place = on.map(|on| Ok::<_, Failure>(wish(on).find(&this_machine()?, settings)?)).transpose()?;
    let cpus = cpus(place.as_ref())?;
    let held = Held::new().map_err(|error| Failure::new(Exit::Internal, error))?;
    if let Ok(before) = OpenFiles::raise() {
        before.give_back_to(&mut command);
    }
    let recorder = recorder();
    let mut eye = Eye::open(&recorder, &cpus);
    let child = match start(program, &mut command, place.as_ref(), &held, None)? {
        Started::Child(child) => child,
        Started::Ended(signal) => {
            drop(eye);
            drop(recorder);
            leave(&held, End::Killed(signal))
        }
    };
    eye.started(child, budget);
    let end = Supervisor { held: &held, child }.wait(Some(&mut eye));
    let (watched, to_its_end) = eye.finish();
    // Disables the tracepoints before anything is printed.
    drop(recorder);
    if let Err(failure) = shown(words, &watched, to_its_end, end, settings) {
        say(&failure);
    }
    leave(&held, end)
}

fn cpus(place: Option<&Place>) -> Result<CpuSet, Failure> {
    match place {
        Some(place) => Ok(place.resolution.cpus.clone()),
        None => affinity::current()
            .map_err(|error| Failure::new(Exit::Internal, format!("cannot read the affinity mask: {error}"))),
    }
}

fn shown(
    words: &[OsString],
    watched: &Watched,
    to_its_end: bool,
    end: End,
    settings: &Settings,
) -> Result<(), Failure> {
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
        End::Exited(status) => (Some(status), None),
        End::Killed(signal) => (None, Some(signal)),
    };
    show_beside(settings, || BesideDocument::new(&shown, exit_status, signal), || screen(&shown, settings.width))
}

enum Way<'a> {
    Events(Box<Watcher<'a>>),
    Accounts(Box<Accounting>, Gap),
}

/// Watches a command until it ends, or until the budget is spent.
struct Eye<'a> {
    way: Option<Way<'a>>,
    until: Option<Instant>,
    /// The result, if watching ended before the command.
    watched: Option<Watched>,
}

impl<'a> Eye<'a> {
    /// Begins to watch cpus; reads the kernel's accounts if its events are refused.
    fn open(recorder: &'a Result<Recorder, Gap>, cpus: &CpuSet) -> Self {
        let watcher = recorder.as_ref().map_err(Gap::clone).and_then(|recorder| {
            let refused = |error: io::Error| Gap::new("", error.to_string());
            Watcher::new(recorder, cpus).map_err(refused)
        });
        let way = match watcher {
            Ok(watcher) => {
                std::thread::sleep(SETTLING);
                Way::Events(Box::new(watcher))
            }
            Err(gap) => {
                // Orphans of the command become our children, and so can be found.
                spawn::adopt_orphans();
                Way::Accounts(
                    Box::new(Accounting::new(cpus)),
                    Gap { what: "what interrupted it, and for how long".into(), ..gap },
                )
            }
        };
        Self { way: Some(way), until: None, watched: None }
    }

    fn started(&mut self, child: u32, budget: Option<Duration>) {
        self.until = budget.map(|budget| Instant::now() + budget);
        if let Some(Way::Events(watcher)) = &mut self.way {
            watcher.started(child);
        }
    }

    fn end(&mut self) {
        match self.way.take() {
            Some(Way::Events(watcher)) => self.watched = Some(watcher.finish()),
            Some(Way::Accounts(accounting, gap)) => {
                let mut watched = accounting.finish();
                watched.gaps.insert(0, gap);
                self.watched = Some(watched);
            }
            None => {}
        }
    }

    /// Returns the result, and whether the command was still watched.
    fn finish(mut self) -> (Watched, bool) {
        let to_its_end = self.way.is_some();
        self.end();
        (self.watched.expect("it ends once"), to_its_end)
    }
}

impl Look for Eye<'_> {
    fn look(&mut self) -> Duration {
        if self.until.is_some_and(|until| until <= Instant::now()) {
            self.end();
        }
        let pause = match &mut self.way {
            Some(Way::Events(watcher)) => watcher.look(),
            Some(Way::Accounts(accounting, _)) => accounting.look(),
            None => return UNWATCHED,
        };
        let left = self.until.map(|until| until.saturating_duration_since(Instant::now()));
        left.map_or(pause, |left| left.min(pause))
    }

    fn before_end(&mut self) {
        if let Some(Way::Accounts(accounting, _)) = &mut self.way {
            accounting.look();
        }
    }
}
