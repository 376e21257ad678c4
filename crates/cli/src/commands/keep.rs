//! `corewise keep`: keeps placements in force for the programs that rules match, and restores everything.

pub mod arguments;
pub mod document;

mod daemon;
mod prove;
mod screen;
#[cfg(test)]
mod tests;
mod unit;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use corewise_keep::{ReleaseRequest, RuleFiles};
use corewise_machine::placement::Name;
use corewise_machine::placement::memory::MemoryPolicy;
use corewise_machine::suggested_command;
use corewise_model::conducted::Conducted;
use corewise_model::keep::{
    Author, Evidence, Fit, Glob, Held, Keeper, Match, Process, Rule, Strength, ThreadRule, Unproven, Written, owner,
    removed, set_disabled,
};
use corewise_sys::files::path_of;
use corewise_sys::process::Stat;
use corewise_sys::{affinity, cpuset, installed};
use jiff::tz::TimeZone;

use crate::app::failure::{Exit, Failure};
use crate::app::history::{broken, existing};
use crate::app::keeper::{self, State};
use crate::app::output::{print_text, say, show};
use crate::app::placing::expression;
use crate::app::rules::find_rules;
use crate::app::run::{Document, Run, document};
use crate::app::settings::Settings;
use crate::draw::suggestion;
use crate::draw::text::{Line, Screen};
use crate::draw::wrap::wrap;
use arguments::{AddArguments, KeepArguments, KeepCommand, StrengthName};
use document::{ChangeDocument, KeepDocument, Origin, PlanDocument, Planned, ProveDocument, WhyDocument};

impl Run for KeepArguments {
    const DOCUMENTS: &'static [Document] = &[
        document::<KeepDocument<'_>>(&["keep --rules rules.toml"]),
        document::<PlanDocument<'_>>(&["keep plan --rules rules.toml"]),
        document::<WhyDocument<'_>>(&["keep why PID --rules rules.toml"]),
        document::<ChangeDocument<'_>>(&["keep add other --match exe=/usr/bin/other --on 0 --rules added.toml"]),
        document::<ProveDocument<'_>>(&[]),
    ];

    fn carried_options(&self) -> Vec<String> {
        let flags = [("--user", self.user), ("--system", self.system)];
        let flags = flags.into_iter().filter(|(_, is_set)| *is_set).map(|(option, _)| option.to_owned());
        let rules = self.rules.iter().flat_map(|path| ["--rules".to_owned(), path.to_string_lossy().into_owned()]);
        flags.chain(rules).collect()
    }

    fn run(self, settings: &Settings) -> Result<Exit, Failure> {
        let of_system = self.system || settings.is_root && !self.user;
        let rules = find_rules(self.rules.as_deref(), of_system, settings)?;
        match self.command {
            None => list(&rules, settings),
            Some(KeepCommand::Add(typed)) => add(typed, &rules, settings),
            Some(KeepCommand::Plan) => plan(&rules, settings),
            Some(KeepCommand::Run(typed)) => return daemon::run(&typed, rules, settings),
            Some(KeepCommand::Prove(typed)) => return prove::prove(&typed, &rules, settings),
            Some(KeepCommand::Why { process }) => why(process, &rules, settings),
            Some(KeepCommand::Release { process, undo }) => release(process, undo, settings),
            Some(KeepCommand::Remove(typed)) => {
                let file = rules.edit(&typed.name, |text| removed(text, &typed.name))?;
                changed(&typed.name, "removed", &file, settings)
            }
            Some(KeepCommand::Enable(typed)) => {
                let file = rules.edit(&typed.name, |text| set_disabled(text, &typed.name, false))?;
                changed(&typed.name, "enabled", &file, settings)
            }
            Some(KeepCommand::Disable(typed)) => {
                let file = rules.edit(&typed.name, |text| set_disabled(text, &typed.name, true))?;
                changed(&typed.name, "disabled", &file, settings)
            }
            Some(KeepCommand::Reload) => {
                rules.read()?;
                keeper::running(settings)?.reload();
                Ok(())
            }
            Some(KeepCommand::Unit) => unit::unit(of_system).and_then(|unit| print_text(&unit)),
        }
        .map(|()| Exit::Done)
    }
}

fn list(rules: &RuleFiles, settings: &Settings) -> Result<(), Failure> {
    let resolved = rules.resolve_here(settings)?;
    let running = State::read(settings).filter(|state| state.of_system == rules.of_system);
    let place = rules.place.display().to_string();
    show(
        settings,
        || KeepDocument {
            schema: "corewise/keep/1",
            place: place.clone(),
            rules: &resolved,
            running: running.as_ref(),
        },
        || screen::list(&place, &resolved, running.as_ref(), settings.width),
    )
}

fn add(typed: AddArguments, rules: &RuleFiles, settings: &Settings) -> Result<(), Failure> {
    let rule = rule(typed, settings)?;
    let file = rules.add(&rule)?;
    let here = rules.resolve_here(settings)?.into_iter().find(|resolved| resolved.rule.name == rule.name);
    if let Some(problem) = here.and_then(|resolved| resolved.problem) {
        say(&format!("warning: on this machine rule {} holds nothing: {problem}", rule.name));
    }
    changed(&rule.name, "added", &file, settings)
}

/// Returns the rule that was typed, or that an experiment proves.
fn rule(typed: AddArguments, settings: &Settings) -> Result<Rule, Failure> {
    let mut matches = Match::of_texts(&typed.matches).map_err(Failure::usage)?;
    let ((on, memory), evidence, program) = match (typed.from, &typed.on) {
        (Some(number), _) => {
            let (place, evidence, program) = winner(number, settings)?;
            (place, Some(evidence), Some(program))
        }
        (None, Some(on)) => ((on.clone(), None), None, None),
        (None, None) => return Err(Failure::usage("a rule needs --on or --from")),
    };
    if let (None, Some((program, folder))) = (typed.matches.first(), &program) {
        matches = match_of(program, folder)?;
    }
    let name = typed.name.or_else(|| Some(Path::new(&program?.0).file_name()?.to_string_lossy().into_owned()));
    let name = name.ok_or_else(|| Failure::usage("a rule needs a name"))?;
    let mut rule = Rule::new(name, matches, expression(&on)?);
    rule.memory = memory.map(Written);
    for text in &typed.threads {
        let (name, on) =
            text.split_once('=').ok_or_else(|| Failure::usage(format!("--threads {text}: expected PATTERN=EXPR")))?;
        rule.threads.push(ThreadRule { name: Glob::new(name), on: Written(expression(on)?) });
    }
    rule.strength = match typed.strength {
        StrengthName::Once => Strength::Once,
        StrengthName::Boundary => Strength::Boundary,
        StrengthName::Exact => Strength::Exact,
    };
    if typed.release_unproven {
        rule.unproven = Unproven::Release;
    }
    (rule.widen, rule.evidence) = (typed.widen, evidence);
    Ok(rule)
}

/// Programs that run others: a rule by their file would match far more than the tried program.
const INTERPRETERS: [&str; 23] = [
    "bash",
    "busybox",
    "cmd",
    "dash",
    "dotnet",
    "env",
    "java",
    "javaw",
    "ksh",
    "lua",
    "node",
    "perl",
    "php",
    "powershell",
    "pwsh",
    "py",
    "python",
    "pythonw",
    "ruby",
    "sh",
    "wine",
    "wine64-preloader",
    "zsh",
];

/// Returns the pattern for processes of a program that was run in a folder. It matches the executed file, or, for a
/// script, an argument of its interpreter.
fn match_of(program: &str, folder: &Path) -> Result<Match, Failure> {
    let typed = if program.contains(std::path::is_separator) { folder.join(program) } else { program.into() };
    let found = installed::find(&typed.to_string_lossy(), std::env::var_os("PATH").as_deref());
    let file = found.and_then(|file| installed::as_executed(&file));
    let name_of = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (typed_name, name) = (name_of(&typed), file.as_deref().map_or_else(|| name_of(&typed), name_of));
    let is_end = |end: char| end.is_ascii_digit() || end == '.';
    let is_interpreter =
        |name: &str| INTERPRETERS.contains(&name.strip_suffix(".exe").unwrap_or(name).trim_end_matches(is_end));
    if is_interpreter(&typed_name) || is_interpreter(&name) {
        return Err(Failure::usage(format!("the experiment ran {typed_name}, which runs many programs"))
            .next("Name the one that is meant, such as --match 'argv=*/script.py'."));
    }
    Ok(match file {
        Some(file) if installed::is_script(&file) => {
            Match { argv: Some(Glob::ending("*/", &typed_name)), ..Match::default() }
        }
        Some(file) if program.contains(std::path::is_separator) => {
            Match { exe: Some(Glob::ending("", &file.to_string_lossy())), ..Match::default() }
        }
        _ => Match { exe: Some(Glob::ending("*/", &name)), ..Match::default() },
    })
}

/// An expression, and the memory policy if there is one.
type WinningPlace = (String, Option<MemoryPolicy>);

/// Returns the placement that an experiment proves, its evidence, and the program with the folder in which it was run.
fn winner(number: i64, settings: &Settings) -> Result<(WinningPlace, Evidence, (String, PathBuf)), Failure> {
    let conducted = existing(settings, &suggested_command::try_command())?.get::<Conducted>(number).map_err(broken)?;
    let (arm, evidence) = Evidence::of_winner(number, &conducted).ok_or_else(|| {
        Failure::unavailable(format!("experiment {number} has no winner: there is nothing to keep")).next(format!(
            "{} shows its result.",
            suggestion::mention(&suggested_command::history_show(&number.to_string()))
        ))
    })?;
    if !arm.roles.is_empty() {
        let what = format!("experiment {number} places several roles, and a rule places one program");
        return Err(Failure::usage(what).next(format!(
            "{} shows a placement for each; make a rule for each with --on and --match.",
            suggestion::mention(&suggested_command::history_show(&number.to_string()))
        )));
    }
    let memory = arm.memory.as_ref().and_then(|memory| memory.policy.parse().ok());
    // A rule needs cpus, even if only the memory policy has won.
    let on = if arm.cpus.is_some() { arm.placement() } else { Name::All.word() };
    let place = (on.to_owned(), memory);
    let workload = &conducted.experiment.workload;
    let folder = path_of(workload.folder.bytes());
    Ok((place, evidence, (workload.command.first().cloned().unwrap_or_default(), folder)))
}

fn changed(rule: &str, what: &str, file: &Path, settings: &Settings) -> Result<(), Failure> {
    let reloaded = keeper::reload(settings);
    let file = file.display().to_string();
    let screen = || {
        let mut screen = Screen::new();
        let line = Line::new().plain("Rule ").strong(rule).plain(format!(" {what}: {file}"));
        screen.extend(wrap(&line, settings.width, 2));
        let next = match reloaded {
            true => Line::new()
                .plain(format!("The running {} reads it.", suggestion::mention(&suggested_command::keep_run()))),
            false => Line::new().plain("Next:  ").strong(suggestion::typed(&suggested_command::keep_plan())),
        };
        screen.extend(wrap(&next, settings.width, 2));
        screen
    };
    show(
        settings,
        || ChangeDocument { schema: "corewise/keep-change/1", rule, what, file: file.clone(), reloaded },
        screen,
    )
}

fn plan(rules: &RuleFiles, settings: &Settings) -> Result<(), Failure> {
    let resolved = rules.resolve_here(settings)?;
    for (rule, problem) in resolved.iter().filter_map(|rule| Some((&rule.rule.name, rule.problem.as_ref()?))) {
        say(&format!("warning: rule {rule}: {problem}"));
    }
    let (planned, unreadable) = planned(Keeper::new(resolved), &corewise_keep::processes(rules.scope()));
    show(
        settings,
        || PlanDocument { schema: "corewise/keep-plan/1", processes: &planned, unreadable: &unreadable },
        || screen::plan(&planned, &unreadable, settings.width),
    )
}

/// Returns the actions of a keeper for the processes, and the number of processes that each rule could not read.
fn planned(mut keeper: Keeper, processes: &[Process]) -> (Vec<Planned>, BTreeMap<String, u32>) {
    let (mut planned, mut unreadable) = (Vec::new(), BTreeMap::new());
    for process in processes {
        for rule in keeper.rules() {
            if rule.is_in_force() && rule.rule.matches.fit(process) == Fit::Unreadable {
                *unreadable.entry(rule.rule.name.clone()).or_default() += 1;
            }
        }
        let Some((rule, cpus)) = keeper.rule_of(process).map(|rule| (rule.rule.name.clone(), rule.cpus.clone())) else {
            continue;
        };
        let mut actions = keeper.look(process, Duration::ZERO, &|_| Author::Unknown);
        actions.retain(|action| action.process == process.id);
        let notes = keeper.processes().get(&process.id).map(|held| held.notes.iter().skip(1)).into_iter().flatten();
        planned.push(Planned {
            process: process.id,
            name: process.name.clone(),
            rule,
            cpus,
            threads: process.threads.len(),
            actions,
            notes: notes.map(|note| note.what.clone()).collect(),
        });
    }
    for (process, waiting) in keeper.waiting() {
        let mut own = planned.iter_mut().filter(|planned| planned.process == *process);
        if let Some(planned) = own.next() {
            (planned.actions, planned.notes) = (Vec::new(), vec![screen::describe_waiting(waiting)]);
        }
    }
    (planned, unreadable)
}

fn why(id: u32, rules: &RuleFiles, settings: &Settings) -> Result<(), Failure> {
    let process = corewise_keep::process(id)
        .ok_or_else(|| Failure::unavailable(format!("there is no process {id} that can be placed")))?;
    let running = State::read(settings);
    let held = running.as_ref().and_then(|state| state.status.processes.get(&id));
    let held = held.filter(|held| held.start_ticks == process.start_ticks);
    let waiting = running.as_ref().and_then(|state| state.status.waiting.get(&id));
    let waiting = waiting.filter(|waiting| waiting.start_ticks == process.start_ticks);
    let keeper = Keeper::new(rules.resolve_here(settings)?);
    let document = WhyDocument {
        schema: "corewise/keep-why/1",
        process: &process,
        rule: keeper.rule_of(&process),
        held,
        waiting,
        since_unix_ms: running
            .as_ref()
            .filter(|_| held.is_some() || waiting.is_some())
            .map(|state| state.started_unix_ms),
        limited_by: (process.reachable != cpuset::online()).then(|| owner(&process.cgroup)),
        origin: if held.is_some_and(|held| !held.is_left_alone()) { None } else { origin(&process) },
    };
    show(settings, || &document, || screen::why(&document, &TimeZone::system(), settings.width))
}

/// Finds the ancestor at which the mask of a process begins; `None` if the process is not restricted. Descendants
/// inherit a mask until another is set.
fn origin(process: &Process) -> Option<Origin> {
    let mask = affinity::of(process.id).ok()?;
    if process.reachable.is_subset(&mask) {
        return None;
    }
    let mut at = (process.id, process.name.clone());
    let mut parent = process.parent;
    loop {
        let seen = Stat::of(parent).ok().flatten().zip(affinity::of(parent).ok());
        let Some((stat, cpus)) = seen else { return Some(Origin { process: at, parent: None }) };
        if cpus != mask {
            return Some(Origin { process: at, parent: Some((parent, stat.name, cpus)) });
        }
        at = (parent, stat.name);
        parent = stat.parent;
    }
}

fn release(id: u32, is_undone: bool, settings: &Settings) -> Result<(), Failure> {
    let state = keeper::running(settings)?;
    let held = state.status.processes.get(&id);
    let what = match (held.map(Held::is_left_alone), is_undone) {
        (Some(false), false) | (Some(true), true) => None,
        (None, _) if state.status.waiting.contains_key(&id) => {
            Some(format!("process {id} is not held: there is no room for it"))
        }
        (None, _) => Some(format!("no rule matches process {id}")),
        (Some(true), false) => Some(format!("process {id} is left alone already")),
        (Some(false), true) => Some(format!("process {id} is not left alone: its rule holds it")),
    };
    if let Some(what) = what {
        return Err(Failure::unavailable(what)
            .next(format!("{} shows its state.", suggestion::mention(&suggested_command::keep_why(&id.to_string())))));
    }
    keeper::ask(id, if is_undone { ReleaseRequest::Hold } else { ReleaseRequest::Release }, settings)
}
