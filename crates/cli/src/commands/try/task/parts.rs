//! The arguments about services, for which the command is the load.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use corewise_model::sample::QuantityFinder;
use corewise_model::trial::{LOAD, REST, ServiceParts, ThreadRole, WorkloadService};
use corewise_sys::file_place::FileOrigin;
use corewise_sys::input::{InputFile, InputKind};
use serde::Deserialize;

use super::super::arguments::TryArguments;
use crate::app::failure::CommandFailure;

/// Default limit of the time until a service is ready.
const READY_WITHIN: Duration = Duration::from_secs(30);

/// The parts of a new experiment, from arguments or a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PartsTask {
    /// The services; `None` if a command is run alone, or running processes are placed.
    pub parts: Option<ServiceParts>,
    /// Threads with a role of their own.
    pub thread_roles: Vec<ThreadRole>,
    /// The command in the file.
    pub load: Vec<String>,
    /// The placements in the file, in the syntax of --on.
    pub placements: Vec<String>,
    /// The file.
    pub file: Option<PartsSource>,
}

/// A file of --parts with its text.
#[derive(Clone, Debug, PartialEq)]
pub struct PartsSource {
    /// The path as typed.
    pub file: PathBuf,
    /// Its origin, which is checked because it contains commands.
    pub origin: FileOrigin,
    /// The text.
    pub text: String,
}

/// A file of --parts.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PartsFile {
    /// The command and its arguments.
    #[serde(default)]
    load: Vec<String>,
    #[serde(default)]
    keep_started: bool,
    ready_within_s: Option<f64>,
    #[serde(default, rename = "part")]
    parts: Vec<PartOfFile>,
    /// Expressions by role.
    #[serde(default, rename = "placement")]
    placements: Vec<BTreeMap<String, String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PartOfFile {
    name: String,
    start: String,
    ready: Option<String>,
    /// Patterns of thread names, by role.
    #[serde(default)]
    threads: BTreeMap<String, String>,
}

impl PartsTask {
    /// Interprets the arguments.
    pub fn new(typed: &TryArguments) -> Result<Self, CommandFailure> {
        let mut task = match &typed.parts {
            Some(file) => Self::from_file(file)?,
            None => Self::default(),
        };
        let mut services: Vec<WorkloadService> = task.parts.iter().flat_map(|parts| parts.services.clone()).collect();
        for text in &typed.start {
            let (name, start) = split_named("--start", text, "server='redis-server --port 7777'")?;
            services.push(WorkloadService { name, start, ready: None });
        }
        typed.ready.iter().try_for_each(|text| add_question(text, &mut services))?;
        for text in &typed.role {
            let (name, pattern) = split_named("--role", text, "io='^io-'")?;
            task.thread_roles.push(ThreadRole { name, pattern });
        }
        if typed.threads.len() > 1 && !task.thread_roles.is_empty() {
            return Err(CommandFailure::usage_error("--role does not go with several numbers of threads"));
        }
        check_names(&services, &task.thread_roles)?;
        if !services.is_empty() {
            let known = task.parts.take();
            let ready_within = typed.ready_within.map(|time| time.as_secs_f64());
            task.parts = Some(ServiceParts {
                services,
                keep_started: typed.keep_started || known.as_ref().is_some_and(|parts| parts.keep_started),
                ready_within_s: ready_within
                    .or(known.map(|parts| parts.ready_within_s))
                    .unwrap_or(READY_WITHIN.as_secs_f64()),
            });
        }
        Ok(task)
    }

    fn from_file(path: &Path) -> Result<Self, CommandFailure> {
        let help = "docs/trying.md shows such a file under \"Parts\".";
        let wrong = |error: &dyn std::fmt::Display| {
            CommandFailure::usage_error(format!("{}: {error}", path.display())).with_hint(help)
        };
        // The error contains the name of the file.
        let read = InputFile::open(path, InputKind::Services).and_then(InputFile::text_with_origin);
        let (text, origin) = read.map_err(|error| CommandFailure::usage_error(error).with_hint(help))?;
        let file: PartsFile = toml::from_str(&text).map_err(|error| wrong(&error))?;
        if file.parts.is_empty() {
            return Err(wrong(&"it has no [[part]]"));
        }
        let roles = |part: &PartOfFile| {
            let role =
                |(name, pattern): (&String, &String)| ThreadRole { name: name.clone(), pattern: pattern.clone() };
            part.threads.iter().map(role).collect::<Vec<_>>()
        };
        let placement = |of_roles: &BTreeMap<String, String>| {
            of_roles.iter().map(|(role, text)| format!("{role}={text}")).collect::<Vec<_>>().join(", ")
        };
        Ok(Self {
            thread_roles: file.parts.iter().flat_map(roles).collect(),
            load: file.load,
            placements: file.placements.iter().map(placement).collect(),
            parts: Some(ServiceParts {
                services: file
                    .parts
                    .into_iter()
                    .map(|part| WorkloadService { name: part.name, start: part.start, ready: part.ready })
                    .collect(),
                keep_started: file.keep_started,
                ready_within_s: file.ready_within_s.unwrap_or(READY_WITHIN.as_secs_f64()),
            }),
            file: Some(PartsSource { file: path.to_owned(), origin, text }),
        })
    }
}

/// Parses "NAME=WHAT", with a valid role name.
fn split_named(option: &str, text: &str, example: &str) -> Result<(String, String), CommandFailure> {
    let wrong = || {
        CommandFailure::usage_error(format!("{option}: expected NAME=…, found \"{text}\""))
            .with_hint(format!("For example: {option} {example}"))
    };
    let (name, what) = text.split_once('=').ok_or_else(wrong)?;
    if !is_name(name) || what.trim().is_empty() {
        return Err(wrong());
    }
    Ok((name.to_owned(), what.to_owned()))
}

fn is_name(name: &str) -> bool {
    name.chars().next().is_some_and(char::is_alphabetic)
        && name.chars().all(|character| character.is_alphanumeric() || matches!(character, '-' | '_'))
}

/// Adds the command that checks readiness to the service that it names, or to the last one.
fn add_question(text: &str, services: &mut [WorkloadService]) -> Result<(), CommandFailure> {
    let (name, rest) = text.split_once('=').unwrap_or(("", text));
    let at = services.iter().position(|service| service.name == name);
    let question = if at.is_some() { rest } else { text };
    let last = services.len().checked_sub(1);
    let Some(service) = at.or(last).and_then(|at| services.get_mut(at)) else {
        return Err(CommandFailure::usage_error("--ready needs --start, which names the service"));
    };
    if let Some(other) = service.ready.replace(question.to_owned()) {
        return Err(CommandFailure::usage_error(format!(
            "--ready: {} has two commands, `{other}` and `{question}`",
            service.name
        ))
        .with_hint("With several services write --ready NAME=COMMAND."));
    }
    Ok(())
}

/// Checks that role names are unique, and that patterns are regular expressions.
fn check_names(services: &[WorkloadService], threads: &[ThreadRole]) -> Result<(), CommandFailure> {
    let mut seen = vec![LOAD, REST];
    for name in services.iter().map(|service| &service.name).chain(threads.iter().map(|role| &role.name)) {
        if !is_name(name) {
            return Err(CommandFailure::usage_error(format!(
                "\"{name}\" is no name of a role: letters, digits, - and _"
            )));
        }
        if seen.contains(&name.as_str()) {
            let what =
                if [LOAD, REST].contains(&name.as_str()) { "is the name of another role" } else { "is named twice" };
            return Err(CommandFailure::usage_error(format!("the role \"{name}\" {what}")).with_hint(
                "Each service and each role of threads has a name of its own; `load` is the command behind `--`.",
            ));
        }
        seen.push(name);
    }
    for role in threads {
        QuantityFinder::new(&role.pattern).map_err(|error| {
            CommandFailure::usage_error(format!(
                "the threads of role {}: invalid regular expression: {error}",
                role.name
            ))
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::run::parse_typed;

    fn task(words: &[&str]) -> Result<PartsTask, String> {
        let typed: TryArguments = parse_typed(&[&["try"], words, &["--", "load"]].concat())?;
        PartsTask::new(&typed).map_err(|failure| failure.what)
    }

    fn roles(task: &PartsTask) -> Vec<String> {
        let services = task.parts.iter().flat_map(|parts| parts.services.iter().map(|service| service.name.clone()));
        services.chain(task.thread_roles.iter().map(|role| role.name.clone())).collect()
    }

    #[test]
    fn services_have_names_and_questions() {
        let one = task(&["--start", "server=redis-server --port=1", "--ready", "A=1 redis-cli ping"]).unwrap();
        let services = one.parts.clone().unwrap().services;
        assert_eq!(services[0].start, "redis-server --port=1");
        assert_eq!(services[0].ready.as_deref(), Some("A=1 redis-cli ping"));
        assert_eq!(roles(&one), ["server"]);
        let both = ["--start", "a=x", "--start", "b=y"];
        let two =
            task(&[&both[..], &["--ready", "a=ping a", "--ready", "ping b", "--role", "io=^io"]].concat()).unwrap();
        let questions: Vec<_> = two.parts.clone().unwrap().services.into_iter().map(|service| service.ready).collect();
        assert_eq!(questions, [Some("ping a".to_owned()), Some("ping b".to_owned())]);
        assert_eq!(roles(&two), ["a", "b", "io"]);
        for (words, part) in [
            (&["--start", "redis-server"][..], "expected NAME=…"),
            (&["--start", "a=", "--ready", "x"], "expected NAME=…"),
            (&["--start", "load=x"], "is the name of another role"),
            (&["--start", "a=x", "--start", "a=y"], "is named twice"),
            (&["--start", "a=x", "--ready", "p", "--ready", "q"], "has two commands"),
            (&["--start", "a=x", "--role", "io=("], "invalid regular expression"),
            (&["--start", "0=x"], "expected NAME=…"),
        ] {
            let said = task(words).unwrap_err();
            assert!(said.contains(part), "{words:?}: {said}");
        }
        assert!(task(&["--ready", "x"]).is_err() && task(&["--keep-started"]).is_err());
    }

    #[test]
    fn a_file_says_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("parts.toml");
        let text = "load = [\"bench\", \"-q\"]\nkeep_started = true\n[[part]]\nname = \"server\"\nstart = \"serve\"\nready = \"ping\"\n\
                    threads = { io = \"^io\" }\n[[placement]]\nserver = \"0@bind:0\"\nload = \"1\"\n";
        std::fs::write(&path, text).unwrap();
        let task = PartsTask::from_file(&path).unwrap();
        assert_eq!(
            (task.load, task.placements),
            (vec!["bench".into(), "-q".into()], vec!["load=1, server=0@bind:0".into()])
        );
        assert!(task.parts.unwrap().keep_started && task.thread_roles[0].name == "io");
        std::fs::write(&path, "[[part]]\nname = \"server\"\nstrat = \"serve\"\n").unwrap();
        assert!(PartsTask::from_file(&path).unwrap_err().what.contains("strat"));
        std::fs::write(&path, "load = [\"x\"]\n").unwrap();
        assert!(PartsTask::from_file(&path).unwrap_err().what.contains("no [[part]]"));
    }
}
