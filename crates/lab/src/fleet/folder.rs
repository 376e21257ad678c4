//! The folder of a fleet's run: a file for each result and each problem. It is all the state that a run has.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use corewise_model::fleet::{NodeProblem, ProblemKind};
use corewise_sys::input::{self, InputFile, InputKind};
use corewise_sys::{SysError, output};

use super::error::FleetError;
use super::job::{FleetJob, JobName, NodeOutcome};
use super::node_problem;

/// Folder of results: `visits/NODE.VISIT.json`.
const VISITS: &str = "visits";
/// Folder of problems: `problems/NODE.VISIT`.
const PROBLEMS: &str = "problems";
/// Folder of what jobs print besides their results.
const LOGS: &str = "logs";
/// Ending of a result's name.
const RESULT: &str = ".json";

/// The folder of a fleet's run.
#[derive(Clone, Debug)]
pub struct FleetFolder {
    path: PathBuf,
}

impl FleetFolder {
    /// Opens a folder, and makes it and the folders in it if they are missing.
    ///
    /// # Errors
    /// [`FleetError::Folder`] if they cannot be made.
    pub fn open(path: &Path) -> Result<Self, FleetError> {
        let folder = Self::at(path)?;
        folder.make_folders()?;
        Ok(folder)
    }

    /// Names a folder that may not exist yet.
    ///
    /// # Errors
    /// [`FleetError::Folder`] if the path is empty.
    pub fn at(path: &Path) -> Result<Self, FleetError> {
        let path = std::path::absolute(path).map_err(|source| failed(path, source))?;
        Ok(Self { path })
    }

    /// Makes it and the folders in it if they are missing.
    ///
    /// # Errors
    /// [`FleetError::Folder`] if they cannot be made.
    pub fn make_folders(&self) -> Result<(), FleetError> {
        [VISITS, PROBLEMS, LOGS].into_iter().try_for_each(|name| {
            let folder = self.path.join(name);
            output::make_folder(&folder).map_err(|source| failed(&folder, source))
        })
    }

    /// Returns true if no job of the folder has a result; also if there is no folder.
    pub fn is_without_results(&self) -> bool {
        !self.path.join(VISITS).exists() || self.list_results().is_ok_and(|results| results.is_empty())
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of a job's result.
    pub fn result_path(&self, name: &JobName) -> PathBuf {
        self.path.join(VISITS).join(format!("{name}{RESULT}"))
    }

    /// Returns the path of a file beside the results that no reader takes for one.
    pub(super) fn draft_path(&self, name: &JobName, ending: &str) -> PathBuf {
        self.path.join(VISITS).join(format!(".{name}.{ending}"))
    }

    pub(super) fn log_path(&self, name: &JobName) -> PathBuf {
        self.path.join(LOGS).join(format!("{name}.log"))
    }

    fn problem_path(&self, name: &JobName) -> PathBuf {
        self.path.join(PROBLEMS).join(name.to_string())
    }

    /// Lists the jobs that have a result.
    ///
    /// # Errors
    /// [`FleetError::Folder`] if the folder cannot be read.
    pub fn list_results(&self) -> Result<BTreeSet<JobName>, FleetError> {
        let folder = self.path.join(VISITS);
        let files = input::list_folder(&folder).map_err(|source| failed(&folder, source))?;
        let name = |file: &PathBuf| JobName::parse(file.file_name()?.to_str()?.strip_suffix(RESULT)?);
        Ok(files.iter().filter_map(name).collect())
    }

    /// Reads a job's result; `None` if there is none.
    pub fn read_result(&self, job: &FleetJob) -> Option<NodeOutcome> {
        match read_file(&self.result_path(&job.name)) {
            Ok(bytes) if bytes.len() as u64 > job.most_bytes => Some(Err(describe_too_large(job.most_bytes))),
            Ok(bytes) => Some(Ok(bytes)),
            Err(SysError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => None,
            Err(error) => Some(Err(node_problem(ProblemKind::Unreadable, error.to_string()))),
        }
    }

    /// Stores a job's result, unless the job has done so itself, and removes its problem.
    ///
    /// # Errors
    /// [`FleetError::Folder`] if it cannot be written.
    pub fn keep_result(&self, name: &JobName, bytes: &[u8]) -> Result<(), FleetError> {
        let (path, problem) = (self.result_path(name), self.problem_path(name));
        if !path.exists() {
            output::replace_file(&path, bytes).map_err(|source| failed(&path, source))?;
        }
        input::remove_stale(&problem).map_err(FleetError::from)
    }

    /// Removes a result that its reader refused, so that the job is run again.
    ///
    /// # Errors
    /// [`FleetError::Unreadable`] if it cannot be removed.
    pub fn discard_result(&self, name: &JobName) -> Result<(), FleetError> {
        input::remove_stale(&self.result_path(name)).map_err(FleetError::from)
    }

    /// Stores a job's problem.
    ///
    /// # Errors
    /// [`FleetError::Folder`] if it cannot be written.
    pub fn keep_problem(&self, name: &JobName, problem: &NodeProblem) -> Result<(), FleetError> {
        let (path, text) = (self.problem_path(name), format!("{}: {}\n", problem.kind, problem.reason));
        output::replace_file(&path, text.as_bytes()).map_err(|source| failed(&path, source))
    }

    /// Returns the last line that a job printed besides its result; empty if there is none.
    pub(super) fn read_log_end(&self, name: &JobName) -> String {
        read_file(&self.log_path(name)).map(|bytes| last_line(&bytes)).unwrap_or_default()
    }

    /// Removes the drafts and the log of a job that has a result.
    pub(super) fn remove_remains(&self, name: &JobName, ending: &str) {
        let _ = input::remove_stale(&self.draft_path(name, ending));
        let _ = input::remove_stale(&self.log_path(name));
    }
}

pub(super) fn describe_too_large(most_bytes: u64) -> NodeProblem {
    node_problem(ProblemKind::Unreadable, format!("its result has more than {most_bytes} bytes"))
}

/// Returns the last line of a text that is not empty, of at most 300 characters; of what corewise says the error, without the advice
/// behind it.
pub(super) fn last_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let error = text.lines().rev().find_map(|line| line.strip_prefix("error: "));
    let line = error.or_else(|| text.lines().rfind(|line| !line.trim().is_empty())).unwrap_or_default();
    line.trim().chars().take(300).collect()
}

pub(super) fn read_file(path: &Path) -> Result<Vec<u8>, SysError> {
    InputFile::open(path, InputKind::FleetResult).and_then(InputFile::read_bytes)
}

fn failed(path: &Path, source: io::Error) -> FleetError {
    FleetError::Folder { path: path.to_owned(), source }
}
