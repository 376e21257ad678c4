//! The watched program: its present processes, and its end.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use corewise_keep::ProcessScope;
use corewise_lab::watch::WatchPace;
use corewise_model::keep::RuleMatch;
use corewise_sys::open_files::OpenFiles;
use corewise_sys::process::{self, ProcessIdentity, effective_user, is_root};
use corewise_sys::signals::{self, HeldSignals};
use corewise_sys::spawn::{self, StateChange};
use corewise_sys::{ipc, task};

use crate::app::child::messages::explain_not_started;
use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::numbers::check_numbers;
use crate::draw::printable::printable_name;

/// A watched program.
pub struct WatchedProgram {
    /// Its selection, for the screen.
    pub name: String,
    way: ProcessSearch,
    known: Vec<ProcessIdentity>,
    pace: WatchPace,
    newest: Option<u32>,
    /// The started command, with its end.
    child: Option<StartedChild>,
    end: Option<String>,
}

enum ProcessSearch {
    /// The known processes and their descendants.
    Descendants,
    /// All matching processes.
    Matching(RuleMatch),
}

struct StartedChild {
    number: u32,
    end: Option<StateChange>,
}

/// The destination of a command's output.
pub enum ProgramOutput {
    /// An open file.
    File(PathBuf, File),
    /// Standard error, because standard output is for documents.
    Error,
}

impl WatchedProgram {
    /// Selects processes by their numbers.
    ///
    /// # Errors
    /// There is no process of a number.
    pub fn from_numbers(numbers: &[u32]) -> Result<Self, CommandFailure> {
        check_numbers()?;
        let mut known = Vec::new();
        let mut names = Vec::new();
        for number in numbers {
            let stat = process::ProcessStat::read_stat(*number).ok().flatten().filter(|stat| !stat.has_ended);
            let stat =
                stat.ok_or_else(|| CommandFailure::unavailable_error(format!("there is no process {number}")))?;
            known.push(ProcessIdentity { id: *number, start_ticks: stat.start_ticks });
            names.push(format!("{} {number}", printable_name(&stat.name)));
        }
        Ok(Self::new(names.join(", "), ProcessSearch::Descendants, known))
    }

    /// Selects all matching processes, now and later.
    ///
    /// # Errors
    /// The patterns are invalid.
    pub fn match_processes(texts: &[String]) -> Result<Self, CommandFailure> {
        check_numbers()?;
        let matches = RuleMatch::of_texts(texts).map_err(CommandFailure::usage_error)?;
        Ok(Self::new(matches.to_string(), ProcessSearch::Matching(matches), Vec::new()))
    }

    /// Starts a command.
    ///
    /// # Errors
    /// The command cannot be started.
    pub fn start_command(
        words: &[OsString],
        output: &ProgramOutput,
        limit: Option<OpenFiles>,
        held: &HeldSignals,
    ) -> Result<Self, CommandFailure> {
        let (program, arguments) =
            words.split_first().ok_or_else(|| CommandFailure::usage_error("there is no command to run"))?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null());
        let internal = |error: std::io::Error| CommandFailure::new(CommandExit::Internal, error);
        match output {
            ProgramOutput::File(_, file) => {
                command.stdout(file.try_clone().map_err(internal)?).stderr(file.try_clone().map_err(internal)?);
            }
            ProgramOutput::Error => {
                command.stdout(ipc::error_as_output().unwrap_or_else(|_| Stdio::null()));
            }
        }
        if let Some(limit) = limit {
            limit.give_back_to(&mut command);
        }
        // Orphans of the command become our children, and so can be found.
        spawn::adopt_orphans();
        let number = spawn::start_command(&mut command, held).map_err(|error| explain_not_started(program, &error))?;
        let start_ticks = process::ProcessStat::read_stat(number).ok().flatten().map_or(0, |stat| stat.start_ticks);
        let name = Path::new(program).file_name().unwrap_or(program).to_string_lossy();
        let mut found = Self::new(
            format!("{} {number}", printable_name(&name)),
            ProcessSearch::Descendants,
            vec![ProcessIdentity { id: number, start_ticks }],
        );
        found.child = Some(StartedChild { number, end: None });
        Ok(found)
    }

    fn new(name: String, way: ProcessSearch, known: Vec<ProcessIdentity>) -> Self {
        Self { name, way, known, pace: WatchPace::default(), newest: None, child: None, end: None }
    }

    /// Returns its present processes.
    pub fn update_processes(&mut self) -> Vec<u32> {
        self.take_changes();
        self.known.retain(ProcessIdentity::is_alive);
        let newest = task::newest_number();
        if (newest.is_none() || newest != self.newest)
            && let Some(begun) = self.pace.begin_if_due()
        {
            self.search_processes();
            self.newest = newest;
            self.pace.end_turn(begun);
        }
        if self.known.is_empty() && self.end.is_none() && matches!(self.way, ProcessSearch::Descendants) {
            self.take_changes();
            self.end = Some(self.end_in_words());
        }
        self.known.iter().map(|process| process.id).collect()
    }

    fn search_processes(&mut self) {
        match &self.way {
            ProcessSearch::Descendants => {
                let children = |process: &ProcessIdentity| task::descendant_processes(process.id);
                let born: Vec<ProcessIdentity> =
                    self.known.iter().flat_map(children).map(|process| process.identity()).collect();
                self.add_processes(born);
            }
            ProcessSearch::Matching(matches) => {
                let scope = if is_root() { ProcessScope::System } else { ProcessScope::User(effective_user()) };
                let found = corewise_keep::matching_processes(scope, matches);
                self.known.clear();
                self.add_processes(
                    found
                        .iter()
                        .map(|found| ProcessIdentity { id: found.id, start_ticks: found.start_ticks })
                        .collect(),
                );
            }
        }
    }

    fn add_processes(&mut self, processes: Vec<ProcessIdentity>) {
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
    pub fn describe_end(&self) -> Option<String> {
        self.end.clone()
    }

    /// Returns true if it is a command started here that still runs.
    pub fn is_ours_and_runs(&self) -> bool {
        self.child.is_some() && self.end.is_none()
    }

    /// Asks the command and its descendants to end, if it was started here.
    pub fn ask_to_end(&mut self) {
        if self.is_ours_and_runs() {
            self.search_processes();
            self.known.iter().for_each(|process| signals::send_to(process, signals::TERMINATE));
        }
    }
}
