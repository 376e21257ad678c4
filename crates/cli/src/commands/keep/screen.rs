//! The screens of `keep`: the rules and their processes, the plan, and the reason for a process's cpus.

use std::collections::BTreeMap;

use corewise_machine::CpuSet;
use corewise_machine::suggested_command;
use corewise_model::keep::{
    ChargedUser, KeptProcess, MAX_HELD_THREADS, ObservedProcess, ProcessStanding, ResolvedRule, RuleEvidence,
    RuleStrength, UnprovenPolicy, WaitingProcess,
};
use jiff::tz::TimeZone;

use super::document::{EvidenceFate, KeepProveDocument, KeepWhyDocument, MaskOrigin, PlannedActions};
use crate::app::keeper::KeeperState;
use crate::draw::grid::{GridColumn, TextGrid};
use crate::draw::number::{format_count, format_exact_time};
use crate::draw::suggestion;
use crate::draw::text::{StyledLine, TextScreen, TextTone};
use crate::draw::wrap::wrap_line;

/// Returns the rules with the processes that each holds.
pub fn draw_list(place: &str, rules: &[ResolvedRule], running: Option<&KeeperState<'_>>, width: usize) -> TextScreen {
    let mut screen = TextScreen::new();
    let say = |screen: &mut TextScreen, line: StyledLine| screen.extend(wrap_line(&line, width, 2));
    if rules.is_empty() {
        say(&mut screen, StyledLine::new().plain(format!("No rules in {place}.")));
        let next = suggestion::format_typed(&suggested_command::keep_add());
        say(&mut screen, StyledLine::new().plain("Next:  ").strong(next));
        return screen;
    }
    say(&mut screen, draw_summary(running));
    let mut grid = TextGrid::new(vec![
        GridColumn::text("rule", 0),
        GridColumn::text("on", 1).shrinking_to(8),
        GridColumn::text("holds", 0).shrinking_to(12),
        GridColumn::text("evidence", 2).shrinking_to(12),
        GridColumn::number("corrected", "", 3),
        GridColumn::text("state", 0),
    ]);
    for rule in rules {
        let held = held_by_rule(rule, running);
        let corrected: u32 = held.iter().map(|(_, held)| held.corrections).sum();
        let (written, cpus) = (rule.rule.on.0.to_string(), rule.cpus.to_string());
        let on = match rule.cpus.is_empty() {
            true => format!("{written} (no cpu)"),
            false if written == cpus => written,
            false => format!("{written} ({cpus})"),
        };
        grid.add_row(vec![
            StyledLine::new().strong(&rule.rule.name),
            StyledLine::new().plain(on),
            StyledLine::new().plain(format_held(&held)),
            StyledLine::new().plain(rule.rule.evidence.as_ref().map_or_else(|| "none".to_owned(), format_evidence)),
            StyledLine::new().plain(if running.is_some() { corrected.to_string() } else { "–".to_owned() }),
            draw_standing(rule),
        ]);
    }
    screen.add_block(grid.draw_lines(width));
    let mut remarks = Vec::new();
    for rule in rules {
        let name = &rule.rule.name;
        remarks.extend(rule.problem.as_ref().map(|problem| format!("{name}: {problem}")));
        let changes: Vec<String> =
            rule.changes.iter().map(|c| format!("{} was {}, is {}", c.what, c.was, c.is)).collect();
        remarks.extend((!changes.is_empty()).then(|| format!("{name} is unproven here: {}", changes.join("; "))));
        let unreadable = running.and_then(|state| state.status.unreadable.get(name));
        remarks.extend(unreadable.map(|number| {
            format!(
                "{name} needs CAP_SYS_PTRACE: the files that {} execute cannot be read",
                format_processes(*number as usize)
            )
        }));
    }
    remarks.extend(running.iter().flat_map(|state| waiting_remarks(state)));
    let left = running
        .iter()
        .flat_map(|state| state.status.processes.iter())
        .filter(|(_, held)| held.standing != ProcessStanding::Held);
    remarks.extend(left.map(|(id, held)| format!("{} ({id}) is left alone: {}", held.name, last_note(held))));
    remarks.extend(
        running.and_then(|state| state.status.broken.clone()).map(|why| format!("The old rules are in force: {why}")),
    );
    screen.add_block(
        remarks.into_iter().flat_map(|remark| wrap_line(&StyledLine::new().plain(remark), width, 2)).collect(),
    );
    screen
}

/// Maximum number of rows for users with processes without room.
const MAX_WAITING_ROWS: usize = 5;

/// Lists the processes that have no room, by rule and user.
fn waiting_remarks(state: &KeeperState<'_>) -> Vec<String> {
    let mut rows: BTreeMap<(&str, &ChargedUser), (usize, usize)> = BTreeMap::new();
    for waiting in state.status.waiting.values() {
        let (processes, threads) = rows.entry((&waiting.rule, &waiting.charged_to)).or_default();
        (*processes, *threads) = (*processes + 1, *threads + waiting.threads);
    }
    let more = rows.len().saturating_sub(MAX_WAITING_ROWS);
    let row = |((rule, user), (number, threads)): ((&str, &ChargedUser), (usize, usize))| {
        let (processes, threads, user) = (format_processes(number), format_count(threads, "thread"), &user.name);
        let most = format_count(MAX_HELD_THREADS, "thread");
        format!("{rule}: no room for {processes} of {user} with {threads}; at most {most} are held")
    };
    let listed = rows.into_iter().take(MAX_WAITING_ROWS).map(row);
    listed.chain((more > 0).then(|| format!("The same of {more} more users and rules."))).collect()
}

/// Describes why a process has no room.
pub fn describe_waiting(waiting: &WaitingProcess) -> String {
    let (threads, most) = (format_count(waiting.threads, "thread"), format_count(MAX_HELD_THREADS, "thread"));
    format!(
        "no room for its {threads}: at most {most} are held, shared among users and rules; it is placed when others leave room"
    )
}

fn draw_summary(running: Option<&KeeperState<'_>>) -> StyledLine {
    let Some(KeeperState { status, .. }) = running else {
        return StyledLine::new()
            .plain("Nothing keeps these rules in force. Next:  ")
            .strong(suggestion::format_typed(&suggested_command::keep_run()));
    };
    let held = || status.processes.values().filter(|held| held.standing == ProcessStanding::Held);
    let threads: usize = held().map(|held| held.threads.len()).sum();
    let (threads, held) = (format_count(threads, "thread"), format_processes(held().count()));
    let text = format!("{threads} of {held} held; processes are seen {}", status.sight);
    StyledLine::new().plain(text)
}

fn format_processes(number: usize) -> String {
    if number == 1 { "1 process".to_owned() } else { format!("{number} processes") }
}

fn held_by_rule<'a>(rule: &ResolvedRule, running: Option<&'a KeeperState<'a>>) -> Vec<(u32, &'a KeptProcess)> {
    let processes = running.iter().flat_map(|state| state.status.processes.iter());
    let own = processes.filter(|(_, held)| held.rule == rule.rule.name && held.standing == ProcessStanding::Held);
    own.map(|(id, held)| (*id, held)).collect()
}

fn format_held(held: &[(u32, &KeptProcess)]) -> String {
    match held {
        [] => "–".to_owned(),
        [(id, held)] => format!("{} {id}", held.name),
        [(_, first), ..] => format!("{} ×{}", first.name, held.len()),
    }
}

fn draw_standing(rule: &ResolvedRule) -> StyledLine {
    match () {
        () if rule.rule.disabled => StyledLine::new().faint("disabled"),
        () if rule.cpus.is_empty() => StyledLine::new().with(TextTone::Warn, "no cpu here"),
        () if !rule.changes.is_empty() && rule.rule.unproven == UnprovenPolicy::Release => {
            StyledLine::new().with(TextTone::Warn, "unproven, released")
        }
        () if !rule.changes.is_empty() => StyledLine::new().with(TextTone::Warn, "unproven"),
        () => StyledLine::new().plain("in force"),
    }
}

/// Formats evidence as "+6.1 % [4.2, 8.0], experiment 12"; ", so far" if the winner was not tried again.
fn format_evidence(evidence: &RuleEvidence) -> String {
    let [low, high] =
        evidence.interval.map(|end| if end.is_finite() { format!("{:.1}", 100.0 * end) } else { "–".to_owned() });
    let so_far = if evidence.so_far { ", so far" } else { "" };
    format!("{:+.1} % [{low}, {high}], experiment {}{so_far}", 100.0 * evidence.effect, evidence.experiment)
}

/// Returns the result of `keep prove`.
pub fn draw_proof(made: &KeepProveDocument<'_>, width: usize) -> TextScreen {
    let KeepProveDocument { rule, experiment, .. } = made;
    let mut screen = TextScreen::new();
    let mut say = |line: StyledLine| screen.extend(wrap_line(&line, width, 2));
    let named = StyledLine::new().plain("Rule ").strong(*rule);
    match (made.fate, made.evidence) {
        (EvidenceFate::Renewed, Some(found)) => {
            say(named.plain(format!(" is proven again: {}.", format_evidence(found))))
        }
        (EvidenceFate::Withdrawn, _) => {
            say(named.plain(format!(
                " does not beat the OS default here by the margin: its evidence is withdrawn (experiment {experiment})."
            )));
            let next = StyledLine::new().plain(match made.disabled {
                true => "It is disabled, as `unproven = \"release\"` asks for. Next:  ",
                false => "It stays in force. Next:  ",
            });
            let command = if made.disabled { suggested_command::keep_remove } else { suggested_command::keep_disable };
            say(next.strong(suggestion::format_typed(&command(rule))));
        }
        _ => {
            say(named.plain(format!(": nothing was decided (experiment {experiment}), and its evidence is as it was.")));
            say(StyledLine::new()
                .plain("Next:  ")
                .strong(suggestion::format_typed(&suggested_command::try_resume(*experiment))));
        }
    }
    screen
}

fn last_note(held: &KeptProcess) -> &str {
    held.notes.last().map_or("", |note| &note.what)
}

/// Returns the plan.
pub fn draw_plan(planned: &[PlannedActions], unreadable: &BTreeMap<String, u32>, width: usize) -> TextScreen {
    let mut screen = TextScreen::new();
    let mut say = |line: StyledLine| screen.extend(wrap_line(&line, width, 4));
    for process in planned {
        let rule = format!("  rule {}", process.rule);
        say(StyledLine::new().strong(format!("{} ({})", process.name, process.process)).faint(rule));
        let placed: Vec<&CpuSet> = process.actions.iter().filter_map(|action| action.cpus.as_ref()).collect();
        let mut kinds: Vec<&CpuSet> = placed.clone();
        kinds.sort_by_key(|cpus| cpus.to_string());
        kinds.dedup();
        for cpus in kinds {
            let number = placed.iter().filter(|own| **own == cpus).count();
            say(StyledLine::new().plain(format!("  {} to cpus {cpus}", format_count(number, "thread"))));
        }
        if placed.is_empty() && process.notes.is_empty() {
            say(StyledLine::new().faint("  nothing to do: each thread is inside"));
        }
        process.notes.iter().for_each(|note| say(StyledLine::new().plain(format!("  {note}"))));
    }
    if planned.is_empty() {
        say(StyledLine::new().plain("No process matches a rule in force."));
    }
    for (rule, number) in unreadable {
        let what = format!(
            "{rule} needs CAP_SYS_PTRACE: the files that {} execute cannot be read",
            format_processes(*number as usize)
        );
        say(StyledLine::new().plain(what));
    }
    say(StyledLine::new()
        .plain("Nothing was changed. Next:  ")
        .strong(suggestion::format_typed(&suggested_command::keep_run())));
    screen
}

/// Explains the cpus of a process.
pub fn draw_explanation(made: &KeepWhyDocument<'_>, zone: &TimeZone, width: usize) -> TextScreen {
    let KeepWhyDocument { process, rule, held, waiting, limited_by, .. } = made;
    let mut screen = TextScreen::new();
    let mut say = |line: StyledLine| screen.extend(wrap_line(&line, width, 2));
    let all = process.threads.iter().fold(CpuSet::new(), |all, thread| all.union(&thread.cpus));
    let who = format!("{} ({})", process.name, process.id);
    let is_left = held.is_some_and(KeptProcess::is_left_alone);
    let is_placed = held.is_some() && !is_left;
    let because = match (rule, held) {
        (Some(rule), Some(_)) if !is_left => {
            format!(" because of rule {}: {}, strength {}.", rule.rule.name, rule.rule.on.0, strength_word(rule))
        }
        (Some(rule), Some(_)) => format!(". Rule {} matches, but leaves it alone.", rule.rule.name),
        (Some(rule), None) if waiting.is_some() => format!(". Rule {} matches, but there is no room.", rule.rule.name),
        (Some(rule), None) => {
            format!(
                ". Rule {} matches, but no {} of this user holds it.",
                rule.rule.name,
                suggestion::format_mention(&suggested_command::keep_run())
            )
        }
        (None, _) => ". No rule in force matches.".to_owned(),
    };
    let threads = format_count(process.threads.len(), "thread");
    say(StyledLine::new().strong(who).plain(format!(" may run on cpus {all} ({threads}){because}")));
    if let Some(rule) = rule {
        say(StyledLine::new().plain(match &rule.rule.evidence {
            None => format!(
                "Evidence: none. It was never measured whether this helps; {} would.",
                suggestion::format_mention(&suggested_command::try_placement(&rule.rule.on.0.to_string()))
            ),
            Some(found) => {
                format!(
                    "{}: {}, error rate {} %, on machine {}.",
                    if found.so_far { "Won" } else { "Proven" },
                    format_evidence(found),
                    100.0 * found.error_rate,
                    found.fingerprint
                )
            }
        }));
        for change in &rule.changes {
            say(StyledLine::new()
                .with(TextTone::Warn, "Unproven since: ")
                .plain(format!("{} was {}, is {}.", change.what, change.was, change.is)));
        }
    }
    if let Some(waiting) = waiting {
        let at = made.since_unix_ms.unwrap_or_default() + waiting.since.as_millis() as i64;
        say(StyledLine::new().faint(format!("{}  ", format_exact_time(at, zone))).plain(describe_waiting(waiting)));
    }
    for note in held.iter().flat_map(|held| &held.notes) {
        let at = made.since_unix_ms.unwrap_or_default() + note.at.as_millis() as i64;
        say(StyledLine::new().faint(format!("{}  ", format_exact_time(at, zone))).plain(&note.what));
    }
    if let Some(origin) = &made.origin {
        say(StyledLine::new().plain(describe_origin(process, origin)));
    } else if !is_placed && all == process.reachable {
        say(StyledLine::new().plain("Nothing restricts it: these are all cpus that its control group lets it use."));
    }
    if let Some(held) = held.filter(|_| is_placed) {
        let own = held.threads.values().filter(|thread| thread.is_own).count();
        if own > 0 {
            say(StyledLine::new().plain(format!("{} set cpus of their own inside.", format_count(own, "thread"))));
        }
        let originals: std::collections::BTreeSet<String> = held
            .threads
            .values()
            .filter(|thread| thread.given.is_some())
            .map(|thread| match &thread.original {
                corewise_model::keep::OriginalMask::All => "all of its control group".to_owned(),
                corewise_model::keep::OriginalMask::Only(cpus) => cpus.to_string(),
            })
            .collect();
        if !originals.is_empty() {
            say(StyledLine::new().plain(format!("Before: {}.", originals.into_iter().collect::<Vec<_>>().join("; "))));
        }
    }
    if let Some(owner) = limited_by {
        say(StyledLine::new()
            .plain(format!("{owner} lets {} use cpus {}; corewise stays inside.", process.cgroup, process.reachable)));
    }
    screen
}

/// Describes the origin of a mask that no rule set.
fn describe_origin(process: &ObservedProcess, origin: &MaskOrigin) -> String {
    let (id, name) = &origin.process;
    let set = format!("set by {name} itself, by what started it, or by another program since");
    let before = match &origin.parent {
        Some((parent, name, cpus)) => format!("; its parent, {name} ({parent}), may use {cpus}"),
        None => String::new(),
    };
    match *id == process.id {
        true => format!("Its mask was {set}{before}."),
        false => format!("It inherited its mask from {name} ({id}). That mask was {set}{before}."),
    }
}

fn strength_word(rule: &ResolvedRule) -> &'static str {
    match rule.rule.strength {
        RuleStrength::Once => "once",
        RuleStrength::Boundary => "boundary",
        RuleStrength::Exact => "exact",
    }
}
