//! The watched program: its present processes, and its end.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use corewise_keep::Scope;
use corewise_lab::watch::Pace;
use corewise_model::keep::Match;
use corewise_sys::open_files::OpenFiles;
use corewise_sys::process::{self, Process, effective_user, is_root};
use corewise_sys::signals::{self, Held};
use corewise_sys::spawn::{self, StateChange};
use corewise_sys::{ipc, task};

use crate::app::child::words::not_started;
use crate::app::failure::{Exit, Failure};
use crate::app::numbers::check_numbers;
use crate::draw::printable::named;

/// A watched program.
pub struct Program {
    /// Its selection, for the screen.
    pub name: String,
    way: Way,
    known: Vec<Process>,
    pace: Pace,
    newest: Option<u32>,
    /// The started command, with its end.
    child: Option<Child>,
    end: Option<String>,
}

enum Way {
    /// The known processes and their descendants.
    Descendants,
    /// All matching processes.
    Matching(Match),
}

struct Child {
    number: u32,
    end: Option<StateChange>,
}

/// The destination of a command's output.
pub enum Output {
    /// An open file.
    File(PathBuf, File),
    /// Standard error, because standard output is for documents.
    Error,
}

impl Program {
    /// Selects processes by their numbers.
    ///
    /// # Errors
    /// There is no process of a number.
    pub fn of_numbers(numbers: &[u32]) -> Result<Self, Failure> {
        check_numbers()?;
        let mut known = Vec::new();
        let mut names = Vec::new();
        for number in numbers {
            let stat = process::Stat::of(*number).ok().flatten().filter(|stat| !stat.has_ended);
            let stat = stat.ok_or_else(|| Failure::unavailable(format!("there is no process {number}")))?;
            known.push(Process { id: *number, start_ticks: stat.start_ticks });
            names.push(format!("{} {number}", named(&stat.name)));
        }
        Ok(Self::new(names.join(", "), Way::Descendants, known))
    }

    /// Selects all matching processes, now and later.
    ///
    /// # Errors
    /// The patterns are invalid.
    pub fn matching(texts: &[String]) -> Result<Self, Failure> {
        check_numbers()?;
        let matches = Match::of_texts(texts).map_err(Failure::usage)?;
        Ok(Self::new(matches.to_string(), Way::Matching(matches), Vec::new()))
    }

    /// Starts a command.
    ///
    /// # Errors
    /// The command cannot be started.
    pub fn started(
        words: &[OsString],
        output: &Output,
        limit: Option<OpenFiles>,
        held: &Held,
    ) -> Result<Self, Failure> {
        let (program, arguments) = words.split_first().ok_or_else(|| Failure::usage("there is no command to run"))?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null());
        let internal = |error: std::io::Error| Failure::new(Exit::Internal, error);
        match output {
            Output::File(_, file) => {
                command.stdout(file.try_clone().map_err(internal)?).stderr(file.try_clone().map_err(internal)?);
            }
            Output::Error => {
                command.stdout(ipc::error_as_output().unwrap_or_else(|_| Stdio::null()));
            }
        }
        if let Some(limit) = limit {
            limit.give_back_to(&mut command);
        }
        // Orphans of the command become our children, and so can be found.
        spawn::adopt_orphans();
        let number = spawn::start(&mut command, held).map_err(|error| not_started(program, &error))?;
        let start_ticks = process::Stat::of(number).ok().flatten().map_or(0, |stat| stat.start_ticks);
        let name = Path::new(program).file_name().unwrap_or(program).to_string_lossy();
        let mut found = Self::new(
            format!("{} {number}", named(&name)),
            Way::Descendants,
            vec![Process { id: number, start_ticks }],
        );
        found.child = Some(Child { number, end: None });
        Ok(found)
    }

    fn new(name: String, way: Way, known: Vec<Process>) -> Self {
        Self { name, way, known, pace: Pace::default(), newest: None, child: None, end: None }
    }

    /// Returns its present processes.
    pub fn processes(&mut self) -> Vec<u32> {
        self.take_changes();
        self.known.retain(Process::is_alive);
        let newest = task::newest();
        if (newest.is_none() || newest != self.newest)
            && let Some(begun) = self.pace.begin()
        {
            self.search();
            self.newest = newest;
            self.pace.end(begun);
        }
        if self.known.is_empty() && self.end.is_none() && matches!(self.way, Way::Descendants) {
            self.take_changes();
            self.end = Some(self.end_in_words());
        }
        self.known.iter().map(|process| process.id).collect()
    }

    fn search(&mut self) {
        match &self.way {
            Way::Descendants => {
                let children = |process: &Process| task::descendants(process.id);
                let born: Vec<Process> =
                    self.known.iter().flat_map(children).map(|process| process.identity()).collect();
                self.add(born);
            }
            Way::Matching(matches) => {
                let scope = if is_root() { Scope::System } else { Scope::User(effective_user()) };
                let found = corewise_keep::fitting(scope, matches);
                self.known.clear();
                self.add(found.iter().map(|found| Process { id: found.id, start_ticks: found.start_ticks }).collect());
            }
        }
    }

    fn add(&mut self, processes: Vec<Process>) {
        for process in processes {
            if !self.known.contains(&process) {
                self.known.push(process);
            }
        }
    }

    fn take_changes(&mut self) {
        let Some(child) = &mut self.child else { return };
        while let Some(change) = spawn::change_of(child.number) {
            if matches!(change, StateChange::Exited(_) | StateChange::Killed(_)) {
                child.end = Some(change);
            }
        }
        spawn::reap_all_but(child.number);
    }

    fn end_in_words(&self) -> String {
        let how = match self.child.as_ref().and_then(|child| child.end) {
            Some(StateChange::Exited(status)) => format!(" with status {status}"),
            Some(StateChange::Killed(signal)) => format!(" by signal {signal}"),
            _ => String::new(),
        };
        format!("{} has ended{how}", self.name)
    }

    /// Describes its end as a sentence; `None` while it runs, or may begin again.
    pub fn end(&self) -> Option<String> {
        self.end.clone()
    }

    /// Returns true if it is a command started here that still runs.
    pub fn is_ours_and_runs(&self) -> bool {
        self.child.is_some() && self.end.is_none()
    }

    /// Asks the command and its descendants to end, if it was started here.
    pub fn ask_to_end(&mut self) {
        if self.is_ours_and_runs() {
            self.search();
            self.known.iter().for_each(|process| signals::send_to(process, signals::TERMINATE));
        }
    }
}
