//! `corewise keep`: keeps placements in force for the programs that rules match, and restores everything.

pub mod arguments;
pub mod document;

mod daemon;
#[cfg(feature = "measuring")]
mod prove;
mod screen;
#[cfg(test)]
mod tests;
mod unit;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use corewise_keep::{ReleaseRequest, RuleFiles};
use corewise_machine::evidence::is_proof_name;
use corewise_machine::suggested_command;
use corewise_model::keep::{
    GlobPattern, KeptProcess, MaskAuthor, MatchFit, ObservedProcess, Rule, RuleKeeper, RuleMatch, RuleStrength,
    ThreadRule, UnprovenPolicy, WrittenValue, cgroup_owner, remove_rule, set_disabled,
};
use corewise_sys::change::{JournalStanding, left_in};
use corewise_sys::process::{self, ProcessIdentity, ProcessStat};
use corewise_sys::processes::{self, ProcessFacts};
use corewise_sys::{affinity, cpuset, installed};
use jiff::tz::TimeZone;

use crate::app::failure::{CommandExit, CommandFailure};
use crate::app::keeper::{self, KeeperState};
use crate::app::keeper_process::{self, RunningKeeper};
use crate::app::output::{print_message, print_text, show_result};
use crate::app::placement::parse_expression;
use crate::app::proof::{self, read_winner};
use crate::app::rules::find_rules;
use crate::app::run::{CommandDocument, RunnableCommand, command_document};
use crate::app::settings::ProgramSettings;
use crate::draw::suggestion;
use crate::draw::text::{StyledLine, TextScreen};
use crate::draw::wrap::wrap_line;
use arguments::{KeepAddArguments, KeepArguments, KeepCommand, StrengthName};
use document::{
    CpusetLimit, KeepChangeDocument, KeepDocument, KeepPlanDocument, KeepProveDocument, KeepWhyDocument, KeeperMention,
    MaskOrigin, PlannedActions,
};

impl RunnableCommand for KeepArguments {
    const DOCUMENTS: &'static [CommandDocument] = &[
        command_document::<KeepDocument<'_>>("keep", &["keep --rules rules.toml"]),
        command_document::<KeepPlanDocument<'_>>("keep-plan", &["keep plan --rules rules.toml"]),
        command_document::<KeepWhyDocument<'_>>("keep-why", &["keep why PID --rules rules.toml"]),
        command_document::<KeepChangeDocument<'_>>(
            "keep-change",
            &["keep add other --match exe=/usr/bin/other --on 0 --rules added.toml"],
        ),
        command_document::<KeepProveDocument<'_>>("keep-prove", &[]),
    ];

    fn carried_options(&self) -> Vec<String> {
        let flags = [("--user", self.user), ("--system", self.system)];
        let flags = flags.into_iter().filter(|(_, is_set)| *is_set).map(|(option, _)| option.to_owned());
        let rules = self.rules.iter().flat_map(|path| ["--rules".to_owned(), path.to_string_lossy().into_owned()]);
        flags.chain(rules).collect()
    }

    fn run(self, settings: &ProgramSettings) -> Result<CommandExit, CommandFailure> {
        let of_system = self.system || settings.is_root && !self.user;
        let rules = find_rules(self.rules.as_deref(), of_system, settings)?;
        if let (Some(named), true) = (&self.rules, matches!(self.command, Some(KeepCommand::Run(_)))) {
            refuse_missing(named)?;
        }
        match self.command {
            None => list_rules(&rules, settings),
            Some(KeepCommand::Add(typed)) => add_rule(typed, &rules, settings),
            Some(KeepCommand::Plan) => show_plan(&rules, settings),
            Some(KeepCommand::Run(typed)) => return daemon::run(&typed, rules, settings),
            #[cfg(feature = "measuring")]
            Some(KeepCommand::Prove(typed)) => return prove::prove_rule(&typed, &rules, settings),
            Some(KeepCommand::Why { process }) => explain_process(process, &rules, settings),
            Some(KeepCommand::Release { process, undo }) => release_process(process, undo, settings),
            Some(KeepCommand::Remove(typed)) => {
                let file = rules.edit_rule(&typed.name, |text| remove_rule(text, &typed.name))?;
                if is_proof_name(&typed.name) {
                    proof::remove_proof(&typed.name, of_system, settings)?;
                }
                report_change(&typed.name, "removed", (&rules, &file), settings)
            }
            Some(KeepCommand::Enable(typed)) => {
                let file = rules.edit_rule(&typed.name, |text| set_disabled(text, &typed.name, false))?;
                report_change(&typed.name, "enabled", (&rules, &file), settings)
            }
            Some(KeepCommand::Disable(typed)) => {
                let file = rules.edit_rule(&typed.name, |text| set_disabled(text, &typed.name, true))?;
                report_change(&typed.name, "disabled", (&rules, &file), settings)
            }
            Some(KeepCommand::Reload) => {
                rules.read_rules()?;
                keeper::find_running(settings)?.request_reload();
                Ok(())
            }
            Some(KeepCommand::Unit) => print_text(&unit::write_unit(of_system, &rules.read_rules()?)?),
        }
        .map(|()| CommandExit::Done)
    }
}

/// Refuses a missing file of rules that was named: it may be a mistake in its name.
fn refuse_missing(named: &Path) -> Result<(), CommandFailure> {
    if named.exists() {
        return Ok(());
    }
    let add = suggestion::format_mention(&suggested_command::keep_add());
    Err(CommandFailure::usage_error(format!("--rules {}: there is no such file or folder", named.display()))
        .with_hint(format!("{add} writes one.")))
}

fn list_rules(rules: &RuleFiles, settings: &ProgramSettings) -> Result<(), CommandFailure> {
    let resolved = rules.resolve_here(settings)?;
    let user = process::effective_user();
    let is_for = |keeper: &&ProcessKeeper| {
        let may_be_for = if rules.of_system { [user, 0] } else { [user; 2] };
        may_be_for.contains(&keeper.keeper.user) && keeper.of_system() != Some(!rules.of_system)
    };
    let keepers = find_keepers_over(user, settings);
    let running = keepers.iter().find(|keeper| keeper.state.as_ref().is_some_and(|state| state.keeps_rules(rules)));
    let others = keepers.iter().filter(is_for).filter(|_| running.is_none()).map(ProcessKeeper::mention).collect();
    let document = KeepDocument {
        schema: "corewise/keep/1",
        place: rules.place.display().to_string(),
        rules: &resolved,
        running: running.and_then(|keeper| keeper.state.as_ref()),
        others,
    };
    show_result(settings, || &document, || screen::draw_list(&document, settings.width))
}

/// A running `keep run`, with its state if this user may read it.
struct ProcessKeeper {
    keeper: RunningKeeper,
    state: Option<KeeperState<'static>>,
}

impl ProcessKeeper {
    /// Returns whether it keeps the system's rules, if that is known.
    fn of_system(&self) -> Option<bool> {
        self.state.as_ref().map(|state| state.of_system)
    }

    fn mention(&self) -> KeeperMention {
        let user = self.keeper.user;
        KeeperMention {
            process: self.keeper.process.id,
            user: processes::user_name(user).unwrap_or_else(|| user.to_string()),
            of_system: self.of_system(),
            rules: self.state.as_ref().map(|state| state.rules.clone()),
        }
    }

    fn holds_process(&self, process: &ObservedProcess) -> bool {
        let Some(status) = self.state.as_ref().map(|state| &state.status) else { return false };
        let is_held = status.processes.get(&process.id).is_some_and(|held| held.start_ticks == process.start_ticks);
        let waits = status.waiting.get(&process.id).is_some_and(|waiting| waiting.start_ticks == process.start_ticks);
        is_held || waits
    }
}

/// Returns each `keep run` that may place a user's processes: that user's and root's.
fn find_keepers_over(user: u32, settings: &ProgramSettings) -> Vec<ProcessKeeper> {
    let keepers = keeper_process::find_keepers(&[user, 0]).into_iter();
    let found = keepers.map(|keeper| ProcessKeeper { keeper, state: KeeperState::read_to_show(&keeper, settings) });
    found.filter(|found| found.keeper.is_certain || found.state.is_some()).collect()
}

fn add_rule(typed: KeepAddArguments, rules: &RuleFiles, settings: &ProgramSettings) -> Result<(), CommandFailure> {
    let rule = build_rule(typed, settings)?;
    let file = rules.add_rule(&rule)?;
    let here = rules.resolve_here(settings)?.into_iter().find(|resolved| resolved.rule.name == rule.name);
    if let Some(changes) = here.as_ref().and_then(screen::describe_changes) {
        print_message(&format!(
            "note: rule {} is unproven here: {changes}. {} renews its evidence.",
            rule.name,
            suggestion::format_mention(&suggested_command::keep_prove(&rule.name))
        ));
    }
    if let Some(problem) = here.and_then(|resolved| resolved.problem) {
        print_message(&format!("warning: on this machine rule {} holds nothing: {problem}", rule.name));
    }
    if let Some(why) = rule.matches.explain_impossible() {
        print_message(&format!("warning: rule {} matches no process: {why}", rule.name));
    }
    if let Some(evidence) = rule.evidence.as_ref().filter(|evidence| evidence.so_far) {
        print_message(&format!(
            "note: experiment {} has a winner only so far. If it was tried again, take the later experiment; {} does that.",
            evidence.experiment,
            suggestion::format_mention(&suggested_command::try_resume(evidence.experiment))
        ));
    }
    if let Some(file) = keep_proof(&rule, rules.of_system, settings) {
        print_message(&format!("note: programs find it as {}: {}", rule.name, file.display()));
    }
    report_change(&rule.name, "added", (rules, &file), settings)
}

/// Writes the document by which the rule's program can place its own threads; returns its file. A rule without evidence has none.
fn keep_proof(rule: &Rule, of_system: bool, settings: &ProgramSettings) -> Option<PathBuf> {
    let evidence = rule.evidence.as_ref().filter(|_| is_proof_name(&rule.name))?;
    let memory = rule.memory.as_ref().map(|memory| &memory.0);
    let written = proof::write_proof(&rule.name, (&rule.on.0.to_string(), memory), evidence, (of_system, settings));
    written.inspect_err(|failure| print_message(&format!("note: programs do not find it: {}", failure.what))).ok()
}

/// Returns the rule that was typed, or that an experiment proves.
fn build_rule(typed: KeepAddArguments, settings: &ProgramSettings) -> Result<Rule, CommandFailure> {
    let mut matches = RuleMatch::of_texts(&typed.matches).map_err(CommandFailure::usage_error)?;
    let ((on, memory), evidence, program) = match (typed.from, &typed.on) {
        (Some(number), _) => {
            let winner = read_winner(number, settings)?;
            ((winner.on, winner.memory), Some(winner.evidence), Some((winner.program, winner.folder)))
        }
        (None, Some(on)) => ((on.clone(), None), None, None),
        (None, None) => return Err(CommandFailure::usage_error("a rule needs --on or --from")),
    };
    if let (None, Some((program, folder))) = (typed.matches.first(), &program) {
        matches = build_match(program, folder)?;
    }
    let name = typed.name.or_else(|| Some(Path::new(&program?.0).file_name()?.to_string_lossy().into_owned()));
    let name = name.ok_or_else(|| CommandFailure::usage_error("a rule needs a name"))?;
    let mut rule = Rule::new(name, matches, parse_expression(&on)?);
    rule.memory = memory.map(WrittenValue);
    for text in &typed.threads {
        let (name, on) = text
            .split_once('=')
            .ok_or_else(|| CommandFailure::usage_error(format!("--threads {text}: expected PATTERN=EXPR")))?;
        rule.threads.push(ThreadRule { name: GlobPattern::new(name), on: WrittenValue(parse_expression(on)?) });
    }
    rule.strength = match typed.strength {
        StrengthName::Once => RuleStrength::Once,
        StrengthName::Boundary => RuleStrength::Boundary,
        StrengthName::Exact => RuleStrength::Exact,
    };
    if typed.release_unproven {
        rule.unproven = UnprovenPolicy::Release;
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
fn build_match(program: &str, folder: &Path) -> Result<RuleMatch, CommandFailure> {
    let typed = if program.contains(std::path::is_separator) { folder.join(program) } else { program.into() };
    let found = installed::find_program(&typed.to_string_lossy(), std::env::var_os("PATH").as_deref());
    let file = found.and_then(|file| installed::as_executed(&file));
    let name_of = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (typed_name, name) = (name_of(&typed), file.as_deref().map_or_else(|| name_of(&typed), name_of));
    let is_end = |end: char| end.is_ascii_digit() || end == '.';
    let is_interpreter =
        |name: &str| INTERPRETERS.contains(&name.strip_suffix(".exe").unwrap_or(name).trim_end_matches(is_end));
    if is_interpreter(&typed_name) || is_interpreter(&name) {
        return Err(CommandFailure::usage_error(format!("the experiment ran {typed_name}, which runs many programs"))
            .with_hint("Name the one that is meant, such as --match 'argv=*/script.py'."));
    }
    Ok(match file {
        Some(file) if installed::is_script(&file) => {
            RuleMatch { argv: Some(GlobPattern::ending_with("*/", &typed_name)), ..RuleMatch::default() }
        }
        Some(file) if program.contains(std::path::is_separator) => {
            RuleMatch { exe: Some(GlobPattern::ending_with("", &file.to_string_lossy())), ..RuleMatch::default() }
        }
        _ => RuleMatch { exe: Some(GlobPattern::ending_with("*/", &name)), ..RuleMatch::default() },
    })
}

fn report_change(
    rule: &str,
    what: &str,
    (rules, file): (&RuleFiles, &Path),
    settings: &ProgramSettings,
) -> Result<(), CommandFailure> {
    let reloaded = keeper::reload_running(rules, settings);
    let file = file.display().to_string();
    let screen = || {
        let mut screen = TextScreen::new();
        let line = StyledLine::new().plain("Rule ").strong(rule).plain(format!(" {what}: {file}"));
        screen.extend(wrap_line(&line, settings.width, 2));
        let next = match reloaded {
            true => StyledLine::new()
                .plain(format!("The running {} reads it.", suggestion::format_mention(&suggested_command::keep_run()))),
            false => {
                StyledLine::new().plain("Next:  ").strong(suggestion::format_typed(&suggested_command::keep_plan()))
            }
        };
        screen.extend(wrap_line(&next, settings.width, 2));
        screen
    };
    show_result(
        settings,
        || KeepChangeDocument { schema: "corewise/keep-change/1", rule, what, file: file.clone(), reloaded },
        screen,
    )
}

fn show_plan(rules: &RuleFiles, settings: &ProgramSettings) -> Result<(), CommandFailure> {
    let resolved = rules.resolve_here(settings)?;
    for (rule, problem) in resolved.iter().filter_map(|rule| Some((&rule.rule.name, rule.problem.as_ref()?))) {
        print_message(&format!("warning: rule {rule}: {problem}"));
    }
    let (planned, unreadable) =
        plan_processes(RuleKeeper::new(resolved), &corewise_keep::list_processes(rules.process_scope()));
    show_result(
        settings,
        || KeepPlanDocument { schema: "corewise/keep-plan/1", processes: &planned, unreadable: &unreadable },
        || screen::draw_plan(&planned, &unreadable, settings.width),
    )
}

/// Returns the actions of a keeper for the processes, and the number of processes that each rule could not read.
fn plan_processes(
    mut keeper: RuleKeeper,
    processes: &[ObservedProcess],
) -> (Vec<PlannedActions>, BTreeMap<String, u32>) {
    let (mut planned, mut unreadable) = (Vec::new(), BTreeMap::new());
    for process in processes {
        for rule in keeper.rules() {
            if rule.is_in_force() && rule.rule.matches.fit_process(process) == MatchFit::Unreadable {
                *unreadable.entry(rule.rule.name.clone()).or_default() += 1;
            }
        }
        let Some((rule, cpus)) = keeper.rule_of(process).map(|rule| (rule.rule.name.clone(), rule.cpus.clone())) else {
            continue;
        };
        let mut actions = keeper.plan_actions(process, Duration::ZERO, &|_| MaskAuthor::Unknown);
        actions.retain(|action| action.process == process.id);
        let notes = keeper.processes().get(&process.id).map(|held| held.notes.iter().skip(1)).into_iter().flatten();
        planned.push(PlannedActions {
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

fn explain_process(id: u32, rules: &RuleFiles, settings: &ProgramSettings) -> Result<(), CommandFailure> {
    let missing = || CommandFailure::unavailable_error(format!("there is no process {id} that can be placed"));
    let process = corewise_keep::read_process_by_id(id, rules.of_system).ok_or_else(missing)?;
    let user = ProcessFacts::read_facts(id).ok().flatten().ok_or_else(missing)?.user;
    let keepers = find_keepers_over(user, settings);
    let holder = keepers.iter().find(|keeper| keeper.holds_process(&process));
    let state = holder.and_then(|holder| holder.state.as_ref());
    let held = state.and_then(|state| state.status.processes.get(&id));
    let waiting = state.and_then(|state| state.status.waiting.get(&id));
    let named = held.map(|held| &held.rule).or(waiting.map(|waiting| &waiting.rule));
    // The rules of its holder explain its cpus, whatever rules were asked about.
    let others = state.filter(|state| !state.keeps_rules(rules));
    let other_rules = others.map(|state| RuleFiles { place: state.rules.clone().into(), of_system: state.of_system });
    let resolved = other_rules
        .map_or_else(|| rules.resolve_here(settings).map(Some), |others| Ok(others.resolve_here(settings).ok()))?;
    let keeper = RuleKeeper::new(resolved.unwrap_or_default());
    let is_in_scope = rules.of_system || user == process::effective_user();
    let rule = match named {
        Some(named) => keeper.rules().iter().find(|rule| rule.rule.name == *named),
        None => keeper.rule_of(&process).filter(|_| is_in_scope),
    };
    let unknown = keepers.iter().filter(|keeper| holder.is_none() && keeper.state.is_none());
    let is_held = held.is_some_and(|held| !held.is_left_alone());
    let placed_by = if is_held { None } else { find_placing_command(id, settings) };
    let document = KeepWhyDocument {
        schema: "corewise/keep-why/1",
        process: &process,
        rule,
        held,
        waiting,
        keeper: holder.map(ProcessKeeper::mention),
        unknown: unknown.map(ProcessKeeper::mention).collect(),
        since_unix_ms: state.map(|state| state.started_unix_ms),
        masks: process.thread_masks(),
        limited_by: cpuset::limiting_group(id).map(|limit| CpusetLimit {
            owner: cgroup_owner(&limit.group),
            group: limit.group,
            cpus: limit.cpus,
        }),
        origin: if is_held || placed_by.is_some() { None } else { find_origin(&process) },
        placed_by,
    };
    show_result(settings, || &document, || screen::draw_explanation(&document, &TimeZone::system(), settings.width))
}

/// Names the corewise that set the mask of a process and has ended, by this user's journals: its command if it meant the mask to stay.
fn find_placing_command(process: u32, settings: &ProgramSettings) -> Option<String> {
    let journals = left_in(settings.journal_folder().ok()?).ok()?.into_iter().filter_map(Result::ok);
    let mut own = journals.filter(|journal| journal.has_mask_in_force(process));
    own.find_map(|journal| match (journal.standing(), journal.kept_by(), journal.header()) {
        (_, Some(command), _) => Some(command.to_owned()),
        (JournalStanding::Left, None, Some(header)) => {
            Some(format!("a corewise that was killed (process {})", header.process.id))
        }
        _ => None,
    })
}

/// Finds the ancestor at which the mask of a process begins; `None` if the process is not restricted. Descendants
/// inherit a mask until another is set.
fn find_origin(process: &ObservedProcess) -> Option<MaskOrigin> {
    let mask = affinity::affinity_of(process.id).ok()?;
    if process.reachable.is_subset(&mask) {
        return None;
    }
    let mut at = (process.id, process.name.clone());
    let mut parent = process.parent;
    loop {
        let seen = ProcessStat::read_stat(parent).ok().flatten().zip(affinity::affinity_of(parent).ok());
        let Some((stat, cpus)) = seen else { return Some(MaskOrigin { process: at, parent: None }) };
        if cpus != mask {
            return Some(MaskOrigin { process: at, parent: Some((parent, stat.name, cpus)) });
        }
        at = (parent, stat.name);
        parent = stat.parent;
    }
}

fn release_process(id: u32, is_undone: bool, settings: &ProgramSettings) -> Result<(), CommandFailure> {
    let state = keeper::find_running(settings)?;
    let held = state.status.processes.get(&id);
    let what = match (held.map(KeptProcess::is_left_alone), is_undone) {
        (Some(false), false) | (Some(true), true) => None,
        (None, _) if state.status.waiting.contains_key(&id) => {
            Some(format!("process {id} is not held: there is no room for it"))
        }
        (None, _) => Some(format!("no rule matches process {id}")),
        (Some(true), false) => Some(format!("process {id} is left alone already")),
        (Some(false), true) => Some(format!("process {id} is not left alone: its rule holds it")),
    };
    if let Some(what) = what {
        return Err(CommandFailure::unavailable_error(what).with_hint(format!(
            "{} shows its state.",
            suggestion::format_mention(&suggested_command::keep_why(&id.to_string()))
        )));
    }
    let Some(KeptProcess { start_ticks, .. }) = held else { return Ok(()) };
    let process = ProcessIdentity { id, start_ticks: *start_ticks };
    let request = if is_undone { ReleaseRequest::Hold } else { ReleaseRequest::Release };
    keeper::ask_running(process, request, settings)
}
