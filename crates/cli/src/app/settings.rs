//! Settings of printing and storing: options, environment and terminal combined.

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use anstream::ColorChoice;
use corewise_sys::process;
use corewise_sys::user_folders::{self, SYSTEM_RUNTIME, absolute_folder, own_home, own_variable, usual_variable};

use super::arguments::{ColorWhen, CommonArguments};
use super::failure::CommandFailure;
use crate::draw::wrap::UNBOUNDED_WIDTH;

/// Values that corewise takes from its environment; read once, so that the rest is a function of them.
#[derive(Clone, Debug, Default)]
pub struct ProgramEnvironment {
    /// `XDG_DATA_HOME`, or the system's folder for it (Windows: `%LOCALAPPDATA%`).
    pub data_home: Option<OsString>,
    /// `XDG_STATE_HOME`, or the system's folder for it.
    pub state_home: Option<OsString>,
    /// `XDG_CONFIG_HOME`, or the system's folder for it.
    pub config_home: Option<OsString>,
    /// `HOME`.
    pub home: Option<OsString>,
    /// Home that is not used, because corewise runs as root and it belongs to another user.
    pub foreign_home: Option<PathBuf>,
    /// `XDG_RUNTIME_DIR`.
    pub runtime: Option<OsString>,
    /// `COREWISE_LOCK`.
    pub lock: Option<OsString>,
    /// `COLUMNS`.
    pub columns: Option<String>,
    /// Width of standard output, if it is a terminal.
    pub terminal_width: Option<usize>,
    /// Whether corewise has root's rights.
    pub is_root: bool,
    /// `TERM`.
    pub terminal: Option<String>,
    /// Locale of characters: `LC_ALL`, `LC_CTYPE` or `LANG`.
    pub locale: Option<String>,
    /// Whether standard output is a terminal.
    pub stdout_is_terminal: bool,
    /// Whether standard error is a terminal.
    pub stderr_is_terminal: bool,
}

impl ProgramEnvironment {
    /// Reads the environment of this process.
    pub fn from_process() -> Self {
        let stdout = std::io::stdout();
        let size = terminal_size::terminal_size_of(&stdout).filter(|_| stdout.is_terminal());
        let foreign_home = std::env::var_os("HOME").filter(|_| own_variable("HOME").is_none()).map(PathBuf::from);
        let mut locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(|name| std::env::var(name).ok());
        Self {
            data_home: usual_variable("XDG_DATA_HOME"),
            state_home: usual_variable("XDG_STATE_HOME"),
            config_home: usual_variable("XDG_CONFIG_HOME"),
            home: own_home(),
            foreign_home,
            runtime: own_variable("XDG_RUNTIME_DIR"),
            lock: std::env::var_os("COREWISE_LOCK"),
            columns: std::env::var("COLUMNS").ok(),
            terminal_width: size.map(|(width, _)| usize::from(width.0)).filter(|width| *width > 0),
            is_root: process::is_root(),
            terminal: std::env::var("TERM").ok(),
            locale: locale.find(|value| !value.is_empty()),
            stdout_is_terminal: stdout.is_terminal(),
            stderr_is_terminal: std::io::stderr().is_terminal(),
        }
    }
}

/// Place of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HistoryPlace {
    /// In this file.
    At(PathBuf),
    /// Off, as the user asked.
    Off,
    /// Unknown: neither `XDG_DATA_HOME` nor `HOME` is set.
    Homeless,
}

/// Settings of printing and storing.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramSettings {
    /// Whether to print JSON.
    pub json: bool,
    /// Columns that text is fitted to.
    pub width: usize,
    /// Whether to use colour.
    pub color: ColorChoice,
    /// Whether standard output is a terminal, which takes text only.
    pub stdout_is_terminal: bool,
    /// Whether the terminal can move its cursor: `TERM` is not `dumb`.
    pub terminal_draws: bool,
    /// Whether the terminal shows more than ASCII, by the locale.
    pub terminal_is_utf8: bool,
    /// Whether standard error is a terminal: progress is drawn there, and otherwise printed line by line.
    pub progress: bool,
    /// Place of the store.
    pub history: HistoryPlace,
    /// The store as it was named; suggested commands repeat it.
    pub named_store: Option<PathBuf>,
    /// Folder of the journals of changes; `None` if neither the user nor the environment determines it.
    pub journals: Option<PathBuf>,
    /// File that gets the result as JSON besides.
    pub document_copy: Option<PathBuf>,
    /// Folder of what this user's `keep run` publishes while it runs.
    pub runtime: Option<PathBuf>,
    /// Folder of the lock for measurements.
    pub locks: Option<PathBuf>,
    /// Whether the environment named that folder. Tests do: each has its own and ignores other measurements.
    pub has_own_locks: bool,
    /// Whether to measure although another corewise of this user does.
    pub anyway: bool,
    /// The user's data folder: for the store, unless another was named, and for the list of accepted content.
    pub data: Option<PathBuf>,
    /// The user's configuration folder, for rules.
    pub config: Option<PathBuf>,
    /// Whether corewise has root's rights.
    pub is_root: bool,
    /// File with commands that the user accepts.
    pub trust: Option<PathBuf>,
    /// Home that is not used, because corewise runs as root and it belongs to another user.
    pub foreign_home: Option<PathBuf>,
}

impl ProgramSettings {
    /// Returns the settings without any of the common options.
    #[cfg(test)]
    pub fn from_environment(environment: &ProgramEnvironment) -> Self {
        let none = CommonArguments {
            json: false,
            store: None,
            no_store: false,
            journal: None,
            document_copy: None,
            anyway: false,
            trust: None,
            color: ColorWhen::Auto,
            width: None,
        };
        Self::new(&none, environment)
    }

    /// Combines the common options with an environment.
    pub fn new(common: &CommonArguments, environment: &ProgramEnvironment) -> Self {
        Self {
            json: common.json,
            width: choose_width(common, environment),
            color: match common.color {
                ColorWhen::Auto => ColorChoice::Auto,
                ColorWhen::Always => ColorChoice::Always,
                ColorWhen::Never => ColorChoice::Never,
            },
            stdout_is_terminal: environment.stdout_is_terminal,
            terminal_draws: environment.terminal.as_ref().is_none_or(|name| name != "dumb"),
            terminal_is_utf8: environment.locale.as_ref().is_some_and(|locale| is_utf8(locale)),
            progress: environment.stderr_is_terminal,
            history: choose_history(common, environment),
            named_store: common.store.clone(),
            journals: journals_folder(common, environment),
            runtime: absolute_folder(&environment.runtime).map(|runtime| runtime.join("corewise")),
            document_copy: common.document_copy.clone(),
            has_own_locks: environment.lock.is_some(),
            locks: environment.lock.clone().map(PathBuf::from).or_else(|| state_folder(environment)),
            anyway: common.anyway,
            data: data_folder(environment),
            config: config_folder(environment),
            is_root: environment.is_root,
            trust: common.trust.clone(),
            foreign_home: environment.foreign_home.clone(),
        }
    }
}

impl ProgramSettings {
    /// Folders that may hold a worth map: of this user's `keep run`, then of the system's.
    pub fn worth_folders(&self) -> impl Iterator<Item = &Path> {
        self.runtime.as_deref().into_iter().chain([Self::system_runtime()])
    }

    /// Folder of what the system's `keep run` publishes while it runs.
    pub fn system_runtime() -> &'static Path {
        Path::new(SYSTEM_RUNTIME)
    }

    /// Folder of the journals.
    pub fn journal_folder(&self) -> Result<&Path, CommandFailure> {
        self.journals.as_deref().ok_or_else(no_journal)
    }
}

/// Failure of journalling changes.
pub fn no_journal() -> CommandFailure {
    let what = "there is no journal: neither XDG_STATE_HOME nor HOME is set";
    CommandFailure::unavailable_error(what)
        .with_hint("Set one of them, or name the journals' folder with --journal PATH.")
}

/// Accepts "de_DE.UTF-8", "C.utf8".
fn is_utf8(locale: &str) -> bool {
    let locale = locale.to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

fn choose_width(common: &CommonArguments, environment: &ProgramEnvironment) -> usize {
    let columns = || environment.columns.as_ref()?.parse().ok().filter(|columns| (20..=1000).contains(columns));
    common.width.map(usize::from).or(environment.terminal_width).or_else(columns).unwrap_or(UNBOUNDED_WIDTH)
}

/// A relative XDG_DATA_HOME is ignored, as the XDG base directory specification requires.
fn choose_history(common: &CommonArguments, environment: &ProgramEnvironment) -> HistoryPlace {
    if common.no_store {
        return HistoryPlace::Off;
    }
    if let Some(path) = &common.store {
        // Absolute, since suites and stored experiments run in folders of their own.
        return HistoryPlace::At(std::path::absolute(path).unwrap_or_else(|_| path.clone()));
    }
    data_folder(environment).map_or(HistoryPlace::Homeless, |data| HistoryPlace::At(data.join("history.db")))
}

fn data_folder(environment: &ProgramEnvironment) -> Option<PathBuf> {
    user_folders::data_folder(&environment.data_home, &environment.home)
}

fn config_folder(environment: &ProgramEnvironment) -> Option<PathBuf> {
    let config = absolute_folder(&environment.config_home)
        .or_else(|| Some(absolute_folder(&environment.home)?.join(".config")))?;
    Some(config.join("corewise"))
}

/// Root's journals go with the boot, as the changes do. On every machine, only root may write to their folder.
fn journals_folder(common: &CommonArguments, environment: &ProgramEnvironment) -> Option<PathBuf> {
    common.journal.clone().or_else(|| state_folder(environment))
}

fn state_folder(environment: &ProgramEnvironment) -> Option<PathBuf> {
    if environment.is_root {
        return Some(PathBuf::from(SYSTEM_RUNTIME));
    }
    let state = absolute_folder(&environment.state_home)
        .or_else(|| Some(absolute_folder(&environment.home)?.join(".local/state")))?;
    Some(state.join("corewise"))
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, FromArgMatches as _};

    use super::*;

    fn settings(line: &str, environment: &ProgramEnvironment) -> ProgramSettings {
        let matches = CommonArguments::augment_args(clap::Command::new("")).get_matches_from(line.split(' '));
        ProgramSettings::new(&CommonArguments::from_arg_matches(&matches).unwrap(), environment)
    }

    #[test]
    fn the_option_is_stronger_than_the_terminal_and_the_terminal_than_columns() {
        let width = |line, terminal_width, columns: Option<&str>| {
            let columns = columns.map(str::to_owned);
            settings(line, &ProgramEnvironment { terminal_width, columns, ..ProgramEnvironment::default() }).width
        };
        assert_eq!(width("corewise --width 40", Some(120), Some("100")), 40);
        assert_eq!(width("corewise", Some(120), Some("100")), 120);
        assert_eq!(width("corewise", None, Some("100")), 100);
        assert_eq!(width("corewise", None, Some("wide")), UNBOUNDED_WIDTH);
    }

    #[test]
    fn the_history_lies_in_the_data_folder() {
        let at = |line, data_home: Option<&str>, home: Option<&str>| {
            let [data_home, home] = [data_home, home].map(|text| text.map(OsString::from));
            settings(line, &ProgramEnvironment { data_home, home, ..ProgramEnvironment::default() }).history
        };
        let file = |path: &str| HistoryPlace::At(PathBuf::from(path));
        assert_eq!(at("corewise", Some("/data"), Some("/home/me")), file("/data/corewise/history.db"));
        assert_eq!(at("corewise", Some("data"), Some("/home/me")), file("/home/me/.local/share/corewise/history.db"));
        assert_eq!(at("corewise", None, None), HistoryPlace::Homeless);
        assert_eq!(at("corewise --no-store", Some("/data"), None), HistoryPlace::Off);
        assert_eq!(
            at("corewise --store x.db", Some("/data"), None),
            HistoryPlace::At(std::path::absolute("x.db").unwrap())
        );
    }

    #[test]
    fn the_journals_of_root_go_with_the_boot() {
        let at = |line, is_root, state_home: Option<&str>, home: Option<&str>| {
            let [state_home, home] = [state_home, home].map(|text| text.map(OsString::from));
            settings(line, &ProgramEnvironment { is_root, state_home, home, ..ProgramEnvironment::default() }).journals
        };
        let folder = |path: &str| Some(PathBuf::from(path));
        assert_eq!(at("corewise", true, Some("/state"), Some("/root")), folder("/run/corewise"));
        assert_eq!(at("corewise", false, Some("/state"), Some("/home/me")), folder("/state/corewise"));
        assert_eq!(at("corewise", false, None, Some("/home/me")), folder("/home/me/.local/state/corewise"));
        assert_eq!(at("corewise", false, Some("state"), None), None);
        assert_eq!(at("corewise --journal here", true, None, None), folder("here"));
    }
}
