//! The files of rules: where they are, who may have written them, and what the rules are on this machine.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use corewise_lab::placing::Known as _;
use corewise_machine::placement::Context;
use corewise_machine::suggested_command;
use corewise_machine::{CpuSet, Machine};
use corewise_model::keep::{EditError, ResolvedRule, Rule, resolve, rules};
use corewise_sys::input::{self, Input, InputKind};
use corewise_sys::processes::HAVE_CONTROL_GROUPS;
use corewise_sys::{files, output};

use super::failure::Failure;
use super::machine::this_machine;
use super::settings::Settings;
use crate::draw::suggestion;

/// Where the system's rules are in the folder of its settings.
const OF_SYSTEM: &str = "corewise/rules.d";
/// The file of the system's rules that `corewise keep add` writes.
const WRITTEN: &str = "corewise.toml";

/// A file of rules as it was at a moment: when it was written, and its size in bytes.
pub type Stamp = (PathBuf, Option<SystemTime>, Option<u64>);

/// The rules of a user, or of the system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// A file, or a folder of files that end in `.toml` and are read in the order of their names.
    pub place: PathBuf,
    /// Whether they are about the processes of every user.
    pub of_system: bool,
}

impl Rules {
    /// The rules that are meant: those that were named, the system's where that was said or root asks, the user's otherwise.
    ///
    /// # Errors
    /// Where neither `XDG_CONFIG_HOME` nor `HOME` says where the user's are, and where this system has no folder for its own.
    pub fn of(named: Option<&Path>, of_system: bool, settings: &Settings) -> Result<Self, Failure> {
        let place = match (named, of_system) {
            (Some(path), _) => path.to_owned(),
            (None, true) => {
                let what = "this system has no folder for rules about the processes of all users";
                let settings = files::system_settings()
                    .ok_or_else(|| Failure::unavailable(what).next("Name a file or folder with --rules PATH."))?;
                settings.join(OF_SYSTEM)
            }
            (None, false) => {
                let what = "there are no rules: neither XDG_CONFIG_HOME nor HOME is set";
                let config = settings.config.as_ref().ok_or_else(|| Failure::unavailable(what))?;
                config.join("rules.toml")
            }
        };
        Ok(Self { place, of_system })
    }

    /// All of them, in their order; none where there is no file.
    ///
    /// # Errors
    /// Where a file is none of rules, or somebody else can have written it; where two rules have one name.
    pub fn read(&self) -> Result<Vec<Rule>, Failure> {
        let mut all: Vec<Rule> = Vec::new();
        for file in self.files()? {
            for rule in self.parsed(&file, &text(&file)?)? {
                if all.iter().any(|known| known.name == rule.name) {
                    let what = format!("{}: another file has a rule {} too", file.display(), rule.name);
                    return Err(Failure::unavailable(what).next("Give one of them another name."));
                }
                all.push(rule);
            }
        }
        Ok(all)
    }

    /// One of them by its name.
    ///
    /// # Errors
    /// As [`Self::read`], and where there is none of that name.
    pub fn one(&self, name: &str) -> Result<Rule, Failure> {
        self.read()?.into_iter().find(|rule| rule.name == name).ok_or_else(|| self.missing(name))
    }

    fn missing(&self, name: &str) -> Failure {
        Failure::usage(format!("there is no rule {name} in {}", self.place.display()))
            .next(format!("{} lists the rules.", suggestion::mention(&suggested_command::keep())))
    }

    fn files(&self) -> Result<Vec<PathBuf>, Failure> {
        if !self.place.is_dir() {
            return Ok(self.place.symlink_metadata().is_ok().then(|| self.place.clone()).into_iter().collect());
        }
        let refused = |error| Failure::unavailable(format!("cannot read {}: {error}", self.place.display()));
        let mut files = input::list_folder(&self.place).map_err(refused)?;
        files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
        files.sort();
        Ok(files)
    }

    /// The files as they are now, to be compared with those that were read: their paths, when they were written, and their sizes.
    pub fn stamps(&self) -> Vec<Stamp> {
        let stamp = |file: PathBuf| {
            let metadata = file.metadata().ok();
            let (written, bytes) =
                (metadata.as_ref().and_then(|file| file.modified().ok()), metadata.map(|file| file.len()));
            (file, written, bytes)
        };
        self.files().unwrap_or_default().into_iter().map(stamp).collect()
    }

    fn parsed(&self, file: &Path, text: &str) -> Result<Vec<Rule>, Failure> {
        let found = rules(text).map_err(|error| Failure::unavailable(format!("{}, {error}", file.display())))?;
        match found.iter().find(|rule| self.of_system && !rule.matches.is_trustworthy()) {
            Some(rule) => {
                let what = format!(
                    "{}: rule {} matches by names and words alone, which anybody can choose",
                    file.display(),
                    rule.name
                );
                Err(Failure::unavailable(what).next("A rule of the system needs exe, user, unit or cgroup too."))
            }
            None => Ok(found),
        }
    }

    /// Adds a rule; the file that it is in now.
    ///
    /// # Errors
    /// As [`Self::read`], and where the file cannot be written.
    pub fn add(&self, rule: &Rule) -> Result<PathBuf, Failure> {
        if let Some(what) = rule.wrong() {
            return Err(Failure::usage(what));
        }
        if self.read()?.iter().any(|known| known.name == rule.name) {
            return Err(Failure::usage(format!("there is a rule {} already", rule.name)).next(format!(
                "Remove it with {}, or choose another name.",
                suggestion::mention(&suggested_command::keep_remove(&rule.name))
            )));
        }
        let is_file = self.place.exists() || self.place.extension().is_some_and(|extension| extension == "toml");
        let is_folder = self.place.is_dir() || self.of_system && !is_file;
        let file = if is_folder { self.place.join(WRITTEN) } else { self.place.clone() };
        let before = if file.symlink_metadata().is_ok() { text(&file)? } else { String::new() };
        let after = corewise_model::keep::added(&before, rule).map_err(|error| unedited(&file, &error))?;
        self.parsed(&file, &after)?;
        if let Some(folder) = file.parent() {
            output::make_folder(folder).map_err(|error| unwritten(&file, &error))?;
        }
        output::replace(&file, after.as_bytes()).map_err(|error| unwritten(&file, &error))?;
        Ok(file)
    }

    /// Changes the file that has a rule; that file.
    ///
    /// # Errors
    /// As [`Self::read`], where there is no such rule, and where the file cannot be written.
    pub fn edit(&self, name: &str, change: impl Fn(&str) -> Result<String, EditError>) -> Result<PathBuf, Failure> {
        for file in self.files()? {
            let before = text(&file)?;
            if self.parsed(&file, &before)?.iter().any(|rule| rule.name == name) {
                let after = change(&before).map_err(|error| unedited(&file, &error))?;
                output::replace(&file, after.as_bytes()).map_err(|error| unwritten(&file, &error))?;
                return Ok(file);
            }
        }
        Err(self.missing(name))
    }

    /// What they are on this machine, whatever cpus this process may use itself.
    ///
    /// # Errors
    /// As [`Self::read`], and where the machine cannot be read.
    pub fn resolved(&self, settings: &Settings) -> Result<Vec<ResolvedRule>, Failure> {
        let all = self.read()?;
        let machine = this_machine()?;
        let expressions =
            || all.iter().flat_map(|rule| rule.threads.iter().map(|threads| &threads.on).chain([&rule.on]));
        let quiet: Option<CpuSet> =
            if expressions().any(|on| on.0.needs_survey()) { settings.quiet(&machine) } else { None };
        let needs_worth = expressions().any(|on| on.0.needs_worth());
        let worth = if needs_worth { settings.worth(&machine) } else { None };
        let needs_groups = expressions().any(|on| on.0.needs_groups());
        let groups = if needs_groups { settings.groups(&machine) } else { None };
        let groups = groups.unwrap_or_else(|| machine.groups.clone());
        let needs_costs = expressions().any(|on| on.0.needs_memory_costs());
        let memory_costs = if needs_costs { settings.memory_costs(&machine) } else { None }.unwrap_or_default();
        let machine = Machine { allowed: machine.online.clone(), groups, memory_costs, ..machine };
        let context =
            Context { machine: &machine, reachable: &machine.online, quiet: quiet.as_ref(), worth: worth.as_ref() };
        let mut resolved = resolve(&all, &context);
        for rule in resolved.iter_mut().filter(|rule| !HAVE_CONTROL_GROUPS && needs_control_groups(&rule.rule)) {
            let what = "it matches nothing, since processes have neither units nor control groups on this system";
            rule.problem.get_or_insert_with(|| what.to_owned());
        }
        Ok(resolved)
    }
}

fn needs_control_groups(rule: &Rule) -> bool {
    rule.matches.unit.is_some() || rule.matches.cgroup.is_some()
}

/// The text of a file of rules that nobody else can have written.
fn text(file: &Path) -> Result<String, Failure> {
    let input = Input::open(file, InputKind::Rules).map_err(Failure::unavailable)?;
    if let Some(why) = input.origin().writers() {
        return Err(Failure::unavailable(format!(
            "the rules in {} do not count: {why}, so somebody else can have written them",
            file.display()
        ))
        .next(format!("Make file and folder yours alone: {}", files::how_to_make_private(file))));
    }
    input.text().map_err(Failure::unavailable)
}

fn unedited(file: &Path, error: &EditError) -> Failure {
    Failure::unavailable(format!("{}: {error}", file.display()))
}

fn unwritten(file: &Path, error: &std::io::Error) -> Failure {
    Failure::unavailable(format!("cannot write {}: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rule_of_the_system_makes_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let all = Rules { place: folder.path().join("corewise/rules.d"), of_system: true };
        let text = "[[rule]]\nname = \"web\"\nmatch = { exe = \"/usr/bin/web\" }\non = \"0\"\n";
        let rule = corewise_model::keep::rules(text).unwrap().remove(0);
        assert_eq!(all.add(&rule).unwrap(), all.place.join(WRITTEN));
        assert_eq!(all.read().unwrap(), [rule]);
    }
}
