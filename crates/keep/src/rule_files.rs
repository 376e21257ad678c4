//! Rule files: their locations, reading them if no other user can have written them, and the rules' cpus on this machine.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use corewise_machine::placement::{KnownMachine, MachineKnowledge};
use corewise_machine::{Machine, SuggestedCommand, suggested_command};
use corewise_model::keep::{self, EditError, ResolvedRule, Rule, RulesError};
use corewise_sys::input::{self, InputFile, InputKind};
use corewise_sys::lock::{self, FileLock};
use corewise_sys::processes::HAVE_CONTROL_GROUPS;
use corewise_sys::{Root, SysError, files, output, process, topology};

use crate::process_watcher::ProcessScope;

/// Folder of the system's rules, within the folder of the system's settings.
const SYSTEM_FOLDER: &str = "corewise/rules.d";
/// File of the user's rules, within the user's folder for corewise.
const USER_FILE: &str = "rules.toml";
/// The file of the system's rules that [`RuleFiles::add_rule`] writes.
const WRITTEN_FILE: &str = "corewise.toml";
/// The lock of all rules files in a folder: one process at a time reads, changes and writes them.
const LOCK: &str = ".corewise-rules.lock";
/// Pause between two looks at whether files have changed.
const PAUSE_BETWEEN_LOOKS: Duration = Duration::from_secs(1);

/// The files with the rules of a user, or of the system.
///
/// # Examples
/// ```
/// use corewise_keep::RuleFiles;
/// use corewise_model::keep::{Rule, RuleMatch};
///
/// let folder = tempfile::tempdir()?;
/// let files = RuleFiles::find_files(Some(&folder.path().join("rules.toml")), false, None)?;
/// assert_eq!(files.read_rules()?, []);
/// let matches = RuleMatch::of_texts(&["exe=*/game".to_owned()])?;
/// files.add_rule(&Rule::new("game".to_owned(), matches, "llc:0".parse()?))?;
/// assert_eq!(files.read_rule("game")?.on.0.to_string(), "llc:0");
/// assert!(files.read_rule("other").unwrap_err().is_usage());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleFiles {
    /// A file, or a folder of files that end in `.toml` and are read in the order of their names.
    pub place: PathBuf,
    /// True if they apply to the processes of every user.
    pub of_system: bool,
}

/// Reason why rules cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum RuleFilesError {
    /// This system has no folder of settings.
    #[error("this system has no folder for rules about the processes of all users")]
    NoSystemFolder,
    /// The user has no folder of settings.
    #[error("there are no rules: neither XDG_CONFIG_HOME nor HOME is set")]
    NoUserFolder,
    /// A folder cannot be listed.
    #[error("cannot read {}: {source}", .folder.display())]
    Unlisted {
        /// The folder.
        folder: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file cannot be read.
    #[error(transparent)]
    Unread(SysError),
    /// Another user can have written a file.
    #[error("the rules in {} do not count: {why}, so another user may have written them", .file.display())]
    Shared {
        /// The file.
        file: PathBuf,
        /// The other users, and the right that each has.
        why: String,
    },
    /// A file has no valid rules.
    #[error("{}, {source}", .file.display())]
    Invalid {
        /// The file.
        file: PathBuf,
        /// The mistake.
        source: RulesError,
    },
    /// A rule of the system matches processes only by properties that their users choose.
    #[error("{}: rule {rule} matches by nothing but what every user can choose", .file.display())]
    Untrustworthy {
        /// The file.
        file: PathBuf,
        /// The rule's name.
        rule: String,
    },
    /// Two files have a rule of the same name.
    #[error("{}: another file has a rule {rule} too", .file.display())]
    Repeated {
        /// The later file.
        file: PathBuf,
        /// The rule's name.
        rule: String,
    },
    /// There is no rule of that name.
    #[error("there is no rule {rule} in {}", .place.display())]
    Missing {
        /// The name.
        rule: String,
        /// The file or folder.
        place: PathBuf,
    },
    /// A rule to be added has a name that is in use.
    #[error("there is a rule {rule} already")]
    Exists {
        /// The name.
        rule: String,
    },
    /// A rule to be added is invalid.
    #[error("{0}")]
    WrongRule(String),
    /// A file cannot be edited.
    #[error("{}: {source}", .file.display())]
    Unedited {
        /// The file.
        file: PathBuf,
        /// The reason.
        source: EditError,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {source}", .file.display())]
    Unwritten {
        /// The file.
        file: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// This machine cannot be read.
    #[error(transparent)]
    UnreadMachine(SysError),
}

impl RuleFilesError {
    /// Returns what to do next, or `None` without advice; `mention` writes a command in a sentence.
    pub fn suggest_hint(&self, mention: impl Fn(&SuggestedCommand) -> String) -> Option<String> {
        Some(match self {
            Self::NoSystemFolder => "Name a file or folder with --rules PATH.".to_owned(),
            Self::Shared { file, .. } => {
                format!("Make file and folder yours alone: {}", files::how_to_make_private(file))
            }
            Self::Untrustworthy { .. } => {
                "A rule of the system needs exe, user, unit or cgroup too, with more than wildcards.".to_owned()
            }
            Self::Repeated { .. } => "Give one of them another name.".to_owned(),
            Self::Missing { .. } => format!("{} lists the rules.", mention(&suggested_command::keep())),
            Self::Exists { rule } => {
                format!("Remove it with {}, or choose another name.", mention(&suggested_command::keep_remove(rule)))
            }
            _ => return None,
        })
    }

    /// Returns true if the request is impossible although the files are intact.
    pub const fn is_usage(&self) -> bool {
        matches!(self, Self::Missing { .. } | Self::Exists { .. } | Self::WrongRule(_))
    }
}

impl RuleFiles {
    /// Finds the rules: at `named` if given, otherwise the system's, or the user's in `user_settings`, the user's folder for corewise.
    ///
    /// # Errors
    /// If the user has no such folder, or this system has none for its settings.
    pub fn find_files(
        named: Option<&Path>,
        of_system: bool,
        user_settings: Option<&Path>,
    ) -> Result<Self, RuleFilesError> {
        let place = match (named, of_system) {
            (Some(path), _) => path.to_owned(),
            (None, true) => files::system_settings().ok_or(RuleFilesError::NoSystemFolder)?.join(SYSTEM_FOLDER),
            (None, false) => user_settings.ok_or(RuleFilesError::NoUserFolder)?.join(USER_FILE),
        };
        Ok(Self { place, of_system })
    }

    /// Returns the scope of the rules: this user or all users.
    pub fn process_scope(&self) -> ProcessScope {
        if self.of_system { ProcessScope::System } else { ProcessScope::User(process::effective_user()) }
    }

    /// Reads all rules, in their order; none if there is no file.
    ///
    /// # Errors
    /// If a file has no valid rules, or another user can have written it; if two rules have the same name.
    pub fn read_rules(&self) -> Result<Vec<Rule>, RuleFilesError> {
        let mut all: Vec<Rule> = Vec::new();
        for file in self.list_files()? {
            for rule in self.parse(&file, &read_private_text(&file)?)? {
                if all.iter().any(|known| known.name == rule.name) {
                    return Err(RuleFilesError::Repeated { file, rule: rule.name });
                }
                all.push(rule);
            }
        }
        Ok(all)
    }

    /// Reads the rule of a name.
    ///
    /// # Errors
    /// As [`Self::read_rules`], and if there is no such rule.
    pub fn read_rule(&self, name: &str) -> Result<Rule, RuleFilesError> {
        self.read_rules()?.into_iter().find(|rule| rule.name == name).ok_or_else(|| self.missing_rule(name))
    }

    fn missing_rule(&self, name: &str) -> RuleFilesError {
        RuleFilesError::Missing { rule: name.to_owned(), place: self.place.clone() }
    }

    fn list_files(&self) -> Result<Vec<PathBuf>, RuleFilesError> {
        if !self.place.is_dir() {
            return Ok(self.place.symlink_metadata().is_ok().then(|| self.place.clone()).into_iter().collect());
        }
        let unlisted = |source| RuleFilesError::Unlisted { folder: self.place.clone(), source };
        let mut files = input::list_folder(&self.place).map_err(unlisted)?;
        files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
        files.sort();
        Ok(files)
    }

    fn parse(&self, file: &Path, text: &str) -> Result<Vec<Rule>, RuleFilesError> {
        let found =
            keep::parse_rules(text).map_err(|source| RuleFilesError::Invalid { file: file.to_owned(), source })?;
        match found.iter().find(|rule| self.of_system && !rule.matches.is_trustworthy()) {
            Some(rule) => Err(RuleFilesError::Untrustworthy { file: file.to_owned(), rule: rule.name.clone() }),
            None => Ok(found),
        }
    }

    /// Adds a rule; returns the file that it is in now.
    ///
    /// # Errors
    /// As [`Self::read_rules`]; if the rule is invalid or its name in use; if the file cannot be written.
    pub fn add_rule(&self, rule: &Rule) -> Result<PathBuf, RuleFilesError> {
        if let Some(what) = rule.find_error() {
            return Err(RuleFilesError::WrongRule(what));
        }
        let file = self.file_for_new_rules();
        let unedited = |source| RuleFilesError::Unedited { file: file.clone(), source };
        let unwritten = |source| RuleFilesError::Unwritten { file: file.clone(), source };
        self.parse(&file, &keep::add_rule("", rule).map_err(unedited)?)?;
        self.read_rules()?;
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        folder.map_or(Ok(()), output::make_folder).map_err(unwritten)?;
        let _lock = hold_rules(&file)?;
        if self.read_rules()?.iter().any(|known| known.name == rule.name) {
            return Err(RuleFilesError::Exists { rule: rule.name.clone() });
        }
        let before = if file.symlink_metadata().is_ok() { read_private_text(&file)? } else { String::new() };
        let after = keep::add_rule(&before, rule).map_err(unedited)?;
        self.parse(&file, &after)?;
        output::replace_file(&file, after.as_bytes()).map_err(unwritten)?;
        Ok(file)
    }

    fn file_for_new_rules(&self) -> PathBuf {
        let is_file = self.place.exists() || self.place.extension().is_some_and(|extension| extension == "toml");
        let is_folder = self.place.is_dir() || self.of_system && !is_file;
        if is_folder { self.place.join(WRITTEN_FILE) } else { self.place.clone() }
    }

    /// Changes the text of the file that has a rule; returns that file.
    ///
    /// # Errors
    /// As [`Self::read_rules`]; if there is no such rule; if the file cannot be written.
    pub fn edit_rule(
        &self,
        name: &str,
        change: impl Fn(&str) -> Result<String, EditError>,
    ) -> Result<PathBuf, RuleFilesError> {
        for file in self.list_files()? {
            let has_rule = |text: &str| Ok(self.parse(&file, text)?.iter().any(|rule| rule.name == name));
            if !has_rule(&read_private_text(&file)?)? {
                continue;
            }
            let _lock = hold_rules(&file)?;
            let before = read_private_text(&file)?;
            if has_rule(&before)? {
                let after =
                    change(&before).map_err(|source| RuleFilesError::Unedited { file: file.clone(), source })?;
                output::replace_file(&file, after.as_bytes())
                    .map_err(|source| RuleFilesError::Unwritten { file: file.clone(), source })?;
                return Ok(file);
            }
        }
        Err(self.missing_rule(name))
    }

    /// Reads the rules and this machine, and resolves them on it, whatever cpus this process may use itself.
    ///
    /// # Errors
    /// As [`Self::read_rules`], and if the machine cannot be read.
    pub fn resolve_here(&self, knowledge: &dyn MachineKnowledge) -> Result<Vec<ResolvedRule>, RuleFilesError> {
        let rules = self.read_rules()?;
        let machine = topology::read_machine(&Root::this_machine()).map_err(RuleFilesError::UnreadMachine)?;
        Ok(resolve_on(&machine, &rules, knowledge))
    }

    fn file_stamps(&self) -> Vec<FileStamp> {
        self.list_files().unwrap_or_default().into_iter().map(FileStamp::read_stamp).collect()
    }
}

/// Resolves rules on a machine; they may use all of its online cpus.
pub fn resolve_on(machine: &Machine, rules: &[Rule], knowledge: &dyn MachineKnowledge) -> Vec<ResolvedRule> {
    let known = KnownMachine::load_knowledge(machine, rules.iter().flat_map(Rule::placement_expressions), knowledge)
        .with_allowed_cpus(machine.online.clone());
    let mut resolved = keep::resolve_rules(rules, &known.resolve_context(&machine.online));
    for rule in resolved.iter_mut().filter(|rule| !HAVE_CONTROL_GROUPS && needs_control_groups(&rule.rule)) {
        let what = "it matches nothing, since processes have neither units nor control groups on this system";
        rule.problem.get_or_insert_with(|| what.to_owned());
    }
    resolved
}

fn needs_control_groups(rule: &Rule) -> bool {
    rule.matches.unit.is_some() || rule.matches.cgroup.is_some()
}

/// Waits until no other process changes the rules in the folder of a file, and keeps others from it.
fn hold_rules(file: &Path) -> Result<FileLock, RuleFilesError> {
    lock::wait_for_lock(file, LOCK).map_err(|source| RuleFilesError::Unwritten { file: file.to_owned(), source })
}

/// Reads the text of a file that no other user can have written.
fn read_private_text(file: &Path) -> Result<String, RuleFilesError> {
    let input = InputFile::open(file, InputKind::Rules).map_err(RuleFilesError::Unread)?;
    match input.origin().writers() {
        Some(why) => Err(RuleFilesError::Shared { file: file.to_owned(), why: why.to_owned() }),
        None => input.read_text().map_err(RuleFilesError::Unread),
    }
}

/// State of a file at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FileStamp {
    path: PathBuf,
    written: Option<SystemTime>,
    bytes: Option<u64>,
}

impl FileStamp {
    fn read_stamp(path: PathBuf) -> Self {
        let metadata = path.metadata().ok();
        let written = metadata.as_ref().and_then(|file| file.modified().ok());
        Self { path, written, bytes: metadata.map(|file| file.len()) }
    }
}

/// Rules that are read again after their files have changed.
#[derive(Debug)]
pub(crate) struct RuleReader {
    files: RuleFiles,
    /// The files as they were read last.
    stamps: Vec<FileStamp>,
    looked: Instant,
}

impl RuleReader {
    pub(crate) fn new(files: RuleFiles) -> Self {
        Self { files, stamps: Vec::new(), looked: Instant::now() }
    }

    pub(crate) fn read_resolved(
        &mut self,
        knowledge: &dyn MachineKnowledge,
    ) -> Result<Vec<ResolvedRule>, RuleFilesError> {
        // Before they are read: a file that is written meanwhile is read again.
        self.stamps = self.files.file_stamps();
        self.files.resolve_here(knowledge)
    }

    /// Returns true if files have changed since they were read; looks at most once per [`PAUSE_BETWEEN_LOOKS`].
    pub(crate) fn is_due(&mut self) -> bool {
        if self.looked.elapsed() < PAUSE_BETWEEN_LOOKS {
            return false;
        }
        self.looked = Instant::now();
        self.have_changed()
    }

    fn have_changed(&self) -> bool {
        self.files.file_stamps() != self.stamps
    }
}

#[cfg(test)]
mod tests;
