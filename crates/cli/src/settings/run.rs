//! What `run` is to do.

use std::ffi::OsString;

use corewise_model::placement::Expression;
use corewise_model::placement::hold::Enforcement;
use corewise_model::placement::memory::MemoryPolicy;
use corewise_model::placement::roles::{TypedRole, roles};

use crate::args::{EnforcementName, RunArguments};
use crate::error::{Exit, Failure};
use crate::placing;

/// How threads are spread over the placement.
#[derive(Clone, Debug, PartialEq)]
pub enum Spread {
    /// Each may use all of it.
    Together,
    /// Each on a cpu of its own.
    OnePerThread,
    /// By their names.
    Roles(Vec<TypedRole>),
}

/// A command, and where it is to run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunTask {
    /// Where.
    pub on: Expression,
    /// Where its memory comes from; as it is, where nothing is said.
    pub memory: Option<MemoryPolicy>,
    /// How its threads are spread.
    pub spread: Spread,
    /// What is done about threads that set their own cpus.
    pub enforcement: Option<Enforcement>,
    /// Whether a control group holds it too.
    pub cgroup: bool,
    /// Whether to say what is in force, and what was noticed.
    pub verbose: bool,
    /// The command.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

impl RunTask {
    /// What was typed, understood.
    ///
    /// # Errors
    /// Where an expression or a role cannot be read.
    pub fn new(typed: RunArguments) -> Result<Self, Failure> {
        let on = placing::expression(&typed.on)?;
        let spread = match (typed.one_per_thread, typed.roles) {
            (true, _) => Spread::OnePerThread,
            (false, Some(text)) => Spread::Roles(roles(&text).map_err(|error| placing::refused(Exit::Usage, error))?),
            (false, None) => Spread::Together,
        };
        let mut command = typed.command.into_iter();
        let program = command.next().ok_or_else(|| Failure::usage("there is no command to run"))?;
        Ok(Self {
            on,
            memory: typed.memory,
            spread,
            enforcement: typed.enforce.map(|name| match name {
                EnforcementName::Boundary => Enforcement::Boundary,
                EnforcementName::Exact => Enforcement::Exact,
            }),
            cgroup: typed.cgroup,
            verbose: typed.verbose,
            program,
            arguments: command.collect(),
        })
    }

    /// Whether corewise stays while the command runs: to watch it, or to put something back when it has ended.
    pub fn is_attended(&self) -> bool {
        self.is_watched() || self.cgroup
    }

    /// Whether something is to be watched while the command runs.
    pub fn is_watched(&self) -> bool {
        self.verbose || self.enforcement.is_some() || !matches!(self.spread, Spread::Together)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::{Arguments, Command};

    fn task(words: &[&str]) -> Result<RunTask, String> {
        let words = ["corewise", "run"].iter().chain(words);
        match Arguments::try_parse_from(words).map_err(|error| error.to_string())?.command {
            Some(Command::Run(typed)) => RunTask::new(typed).map_err(|failure| failure.what),
            other => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn what_stands_behind_the_command_belongs_to_it() {
        for words in
            [&["--on", "0", "--", "ls", "-v", "--json", "--", "x"][..], &["--on", "0", "ls", "-v", "--json", "--", "x"]]
        {
            let task = task(words).unwrap();
            assert_eq!((task.program, task.verbose), ("ls".into(), false));
            assert_eq!(task.arguments, ["-v", "--json", "--", "x"]);
        }
        assert!(task(&["--on", "0", "--enforcee", "boundary", "--", "ls"]).unwrap_err().contains("--enforcee"));
    }

    #[test]
    fn nothing_is_watched_that_need_not_be() {
        let watched = |options: &[&str]| task(&[&["--on", "0"], options, &["ls"]].concat()).unwrap().is_watched();
        assert!(!watched(&[]) && !watched(&["--memory", "bind:0"]));
        for options in
            [&["-v"][..], &["--threads"], &["--one-per-thread"], &["--roles", "a=b:0"], &["--enforce", "exact"]]
        {
            assert!(watched(options), "{options:?}");
        }
        let grouped = task(&["--on", "0", "--cgroup", "ls"]).unwrap();
        assert!(grouped.is_attended() && !grouped.is_watched());
    }

    #[test]
    fn mistakes_are_found_before_anything_starts() {
        assert!(task(&["--on", "lcc:0", "ls"]).unwrap_err().contains("lcc:0\n"));
        assert!(task(&["--on", "0", "--roles", "a=b", "ls"]).unwrap_err().contains("a=b\n"));
        assert!(task(&["--on", "0", "--memory", "near:0", "ls"]).unwrap_err().contains("expected local, bind:NODES"));
        assert!(task(&["--on", "0", "--roles", "a=b:0", "--threads", "ls"]).unwrap_err().contains("cannot be used"));
        assert!(task(&["--on", "0"]).unwrap_err().contains("<COMMAND>..."));
        assert!(task(&["ls"]).unwrap_err().contains("--on <EXPR>"));
    }
}
