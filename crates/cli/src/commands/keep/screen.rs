//! The screens of `keep`: the rules and their processes, the plan, and the reason for a process's cpus.

use std::collections::{BTreeMap, BTreeSet};

use corewise_machine::CpuSet;
use corewise_machine::suggested_command;
use corewise_model::keep::{
    ChargedUser, KeptProcess, LONGEST_PAUSE, MAX_HELD_THREADS, ObservedProcess, OriginalMask, ProcessStanding,
    ResolvedRule, RuleEvidence, RuleStrength, ThreadMask, UnprovenPolicy, WaitingProcess,
};
use jiff::tz::TimeZone;

use super::document::{
    CpusetLimit, EvidenceFate, KeepDocument, KeepProveDocument, KeepWhyDocument, KeeperMention, MaskOrigin,
    PlannedActions,
};
use crate::app::keeper::KeeperState;
use crate::draw::grid::{GridColumn, TextGrid};
use crate::draw::number::{format_count, format_exact_time};
use crate::draw::suggestion;
use crate::draw::text::{StyledLine, TextScreen, TextTone};
use crate::draw::wrap::wrap_line;

/// Returns the rules with the processes that each holds.
pub fn draw_list(document: &KeepDocument<'_>, width: usize) -> TextScreen {
    let KeepDocument { place, rules, running, others, .. } = document;
    let running = *running;
    let mut screen = TextScreen::new();
    let say = |screen: &mut TextScreen, line: StyledLine| screen.extend(wrap_line(&line, width, 2));
    if rules.is_empty() {
        say(&mut screen, StyledLine::new().plain(format!("No rules in {place}.")));
        let next = suggestion::format_typed(&suggested_command::keep_add());
        say(&mut screen, StyledLine::new().plain("Next:  ").strong(next));
        return screen;
    }
    match running {
        Some(state) => say(&mut screen, summarize_status(state)),
        None => absence_lines(others).into_iter().for_each(|line| say(&mut screen, line)),
    }
    let mut grid = TextGrid::new(vec![
        GridColumn::text("rule", 0),
        GridColumn::text("on", 1).shrinking_to(8),
        GridColumn::text("holds", 0).shrinking_to(12),
        GridColumn::text("evidence", 2).shrinking_to(12),
        GridColumn::number("corrected", "", 3),
        GridColumn::text("state", 0),
    ]);
    for rule in *rules {
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
            draw_standing(rule, running.is_some()),
        ]);
    }
    screen.add_block(grid.draw_lines(width));
    let mut remarks = Vec::new();
    for rule in *rules {
        let name = &rule.rule.name;
        remarks.extend(rule.problem.as_ref().map(|problem| format!("{name}: {problem}")));
        remarks.extend(describe_changes(rule).map(|changes| format!("{name} is unproven here: {changes}")));
        let unreadable = running.and_then(|state| state.status.unreadable.get(name));
        remarks.extend(unreadable.map(|number| describe_unreadable(name, *number)));
    }
    remarks.extend(running.iter().flat_map(|state| waiting_remarks(state)));
    remarks.extend(running.iter().flat_map(|state| refusal_remarks(state)));
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

/// Lists the rules with threads that could not be placed, each with one reason.
fn refusal_remarks(state: &KeeperState<'_>) -> Vec<String> {
    let mut rows: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
    for held in state.status.processes.values() {
        let Some((count, why)) = held.refusal() else { continue };
        rows.entry(&held.rule).or_insert((0, why)).0 += count;
    }
    let row = |(rule, (count, why)): (&str, (usize, &str))| format!("{rule}: {}", describe_refusal(count, why));
    rows.into_iter().map(row).collect()
}

/// Describes that threads could not be placed yet.
fn describe_refusal(count: usize, why: &str) -> String {
    let minutes = LONGEST_PAUSE.as_secs() / 60;
    let threads = format_count(count, "thread");
    format!("{threads} could not be placed yet, and will be tried again within {minutes} minutes: {why}")
}

/// Describes why a process has no room.
pub fn describe_waiting(waiting: &WaitingProcess) -> String {
    let (threads, most) = (format_count(waiting.threads, "thread"), format_count(MAX_HELD_THREADS, "thread"));
    format!(
        "no room for its {threads}: at most {most} are held, shared among users and rules; it is placed when others leave room"
    )
}

/// Describes what keeps other rules in force, or may keep these.
fn absence_lines(others: &[KeeperMention]) -> Vec<StyledLine> {
    let describe = |keeper: &KeeperMention| {
        let name = name_keeper(keeper);
        StyledLine::new().plain(match &keeper.rules {
            Some(rules) => format!("These rules are not in force: {name} keeps those in {rules}."),
            None => format!("{name} runs, and may keep these rules in force: this user cannot read its state."),
        })
    };
    let lines: Vec<StyledLine> = others.iter().map(describe).collect();
    let nothing = || {
        StyledLine::new()
            .plain("Nothing keeps these rules in force. Next:  ")
            .strong(suggestion::format_typed(&suggested_command::keep_run()))
    };
    if lines.is_empty() { vec![nothing()] } else { lines }
}

/// Names a keeper by its user and number.
fn name_keeper(keeper: &KeeperMention) -> String {
    let run = suggested_command::keep_run().quoted_line();
    let KeeperMention { process, user, .. } = keeper;
    match keeper.of_system {
        Some(true) => format!("{run} of the system ({process})"),
        _ => format!("{run} of {user} ({process})"),
    }
}

fn summarize_status(KeeperState { status, .. }: &KeeperState<'_>) -> StyledLine {
    let held = || status.processes.values().filter(|held| held.standing == ProcessStanding::Held);
    let threads: usize = held().map(KeptProcess::held_threads).sum();
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

fn draw_standing(rule: &ResolvedRule, is_kept: bool) -> StyledLine {
    match () {
        () if rule.rule.disabled => StyledLine::new().faint("disabled"),
        () if rule.cpus.is_empty() => StyledLine::new().with(TextTone::Warn, "no cpu here"),
        () if !rule.changes.is_empty() && rule.rule.unproven == UnprovenPolicy::Release => {
            StyledLine::new().with(TextTone::Warn, "unproven, released")
        }
        () if !rule.changes.is_empty() => StyledLine::new().with(TextTone::Warn, "unproven"),
        () if !is_kept => StyledLine::new().faint("not in force"),
        () => StyledLine::new().plain("in force"),
    }
}

/// Describes why a rule with evidence is unproven here; `None` if it is proven.
pub fn describe_changes(rule: &ResolvedRule) -> Option<String> {
    let changes: Vec<String> =
        rule.changes.iter().map(|change| format!("{} was {}, is {}", change.what, change.was, change.is)).collect();
    (!changes.is_empty()).then(|| changes.join("; "))
}

/// Formats evidence as "+6.1 % [4.2, 8.0], experiment 12", with a word if it was not measured here, and ", so far" if the
/// winner was not tried again.
fn format_evidence(evidence: &RuleEvidence) -> String {
    let [low, high] =
        evidence.interval.map(|end| if end.is_finite() { format!("{:.1}", 100.0 * end) } else { "–".to_owned() });
    let elsewhere = evidence.origin.origin_word().map_or_else(String::new, |word| format!(", {word}"));
    let so_far = if evidence.so_far { ", so far" } else { "" };
    format!("{:+.1} % [{low}, {high}], experiment {}{elsewhere}{so_far}", 100.0 * evidence.effect, evidence.experiment)
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
        say(StyledLine::new().plain(describe_unreadable(rule, *number)));
    }
    say(StyledLine::new()
        .plain("Nothing was changed. Next:  ")
        .strong(suggestion::format_typed(&suggested_command::keep_run())));
    screen
}

/// Describes processes that may match a rule by a file that cannot be read.
fn describe_unreadable(rule: &str, number: u32) -> String {
    let processes = format_processes(number as usize);
    format!("{rule}: the file of {processes} cannot be read; `keep run` needs CAP_SYS_PTRACE for those of another user")
}

/// Explains the cpus of a process.
pub fn draw_explanation(made: &KeepWhyDocument<'_>, zone: &TimeZone, width: usize) -> TextScreen {
    let KeepWhyDocument { process, rule, held, waiting, keeper, limited_by, masks, .. } = made;
    let mut screen = TextScreen::new();
    let mut say = |line: StyledLine| screen.extend(wrap_line(&line, width, 2));
    let all = process.threads.iter().fold(CpuSet::new(), |all, thread| all.union(&thread.cpus));
    let who = format!("{} ({})", process.name, process.id);
    let is_left = held.is_some_and(KeptProcess::is_left_alone);
    let is_placed = held.is_some_and(|held| !is_left && held.held_threads() > 0);
    let (run, of_keeper) =
        (suggestion::format_mention(&suggested_command::keep_run()), describe_holder(keeper.as_ref()));
    let because = match (held, waiting, rule) {
        (Some(held), ..) if is_left => format!(". Rule {}{of_keeper} matches, but leaves it alone.", held.rule),
        (Some(held), ..) if held.held_threads() == 0 => {
            format!(". Rule {}{of_keeper} matches, but could not place it yet.", held.rule)
        }
        (Some(held), _, Some(rule)) => {
            let (on, strength) = (&rule.rule.on.0, strength_word(rule));
            format!(" because of rule {}{of_keeper}: {on}, strength {strength}.", held.rule)
        }
        (Some(held), _, None) => format!(" because of rule {}{of_keeper}.", held.rule),
        (None, Some(waiting), _) => format!(". Rule {}{of_keeper} matches, but there is no room.", waiting.rule),
        (None, None, Some(rule)) => format!(". Rule {} matches, but no {run} holds it.", rule.rule.name),
        (None, None, None) => ". No rule in force matches.".to_owned(),
    };
    let threads = format_count(process.threads.len(), "thread");
    say(StyledLine::new().strong(who).plain(format!(" may run on cpus {all} ({threads}){because}")));
    draw_masks(masks).into_iter().for_each(&mut say);
    if process.is_exe_elsewhere {
        let what =
            "Rules of the system by `exe` do not match it: the file that it executes is not the one at that path here.";
        say(StyledLine::new().plain(what));
    }
    for keeper in &made.unknown {
        say(StyledLine::new().plain(format!("{} may hold it: this user cannot read its state.", name_keeper(keeper))));
    }
    if let Some((count, why)) = held.and_then(KeptProcess::refusal) {
        say(StyledLine::new().with(TextTone::Warn, "Not placed: ").plain(format!("{}.", describe_refusal(count, why))));
    }
    rule.iter().flat_map(|rule| draw_evidence(rule)).for_each(&mut say);
    if let Some(waiting) = waiting {
        let at = made.since_unix_ms.unwrap_or_default() + waiting.since.as_millis() as i64;
        say(StyledLine::new().faint(format!("{}  ", format_exact_time(at, zone))).plain(describe_waiting(waiting)));
    }
    for note in held.iter().flat_map(|held| &held.notes) {
        let at = made.since_unix_ms.unwrap_or_default() + note.at.as_millis() as i64;
        say(StyledLine::new().faint(format!("{}  ", format_exact_time(at, zone))).plain(&note.what));
    }
    let is_unrestricted = limited_by.is_none() && masks.len() == 1 && all == process.reachable;
    if let Some(command) = &made.placed_by {
        say(StyledLine::new()
            .plain("Its mask was set by ")
            .strong(command)
            .plain("; to take it back:  ")
            .strong(suggestion::format_typed(&suggested_command::undo())));
    } else if let Some(origin) = &made.origin {
        say(StyledLine::new().plain(describe_origin(process, origin)));
    } else if masks.len() > 1 && !is_placed {
        say(StyledLine::new().plain("Its threads were placed one by one: by the program itself, or by another since."));
    } else if !is_placed && is_unrestricted {
        say(StyledLine::new().plain("Nothing restricts it: these are all cpus that its control group lets it use."));
    }
    if let Some(held) = held.filter(|_| is_placed) {
        let own = held.threads.values().filter(|thread| thread.is_own).count();
        if own > 0 {
            say(StyledLine::new().plain(format!("{} set cpus of their own inside.", format_count(own, "thread"))));
        }
        draw_originals(held).into_iter().for_each(&mut say);
    }
    if let Some(CpusetLimit { owner, group, cpus }) = limited_by {
        say(StyledLine::new().plain(format!("{owner} lets {group} use cpus {cpus}; corewise stays inside.")));
    }
    screen
}

/// Maximum masks, and threads of a mask, that are shown.
const MOST_MASKS: usize = 8;
const MOST_NAMED_THREADS: usize = 3;

/// Lists the masks of a process's threads; empty if all have the same.
fn draw_masks(masks: &[ThreadMask]) -> Vec<StyledLine> {
    let draw = |mask: &ThreadMask| {
        let named = mask.threads.iter().take(MOST_NAMED_THREADS).map(|(id, name)| format!("{name} ({id})"));
        let mut named: Vec<String> = named.collect();
        let more = mask.threads.len().saturating_sub(MOST_NAMED_THREADS);
        named.extend((more > 0).then(|| format!("{more} more")));
        StyledLine::new().plain(format!("  cpus {}: {}", mask.cpus, named.join(", ")))
    };
    let shown = masks.iter().take(MOST_MASKS).map(draw);
    let more = masks.len().saturating_sub(MOST_MASKS);
    let rest = (more > 0).then(|| StyledLine::new().plain(format!("  {more} more masks")));
    if masks.len() > 1 { shown.chain(rest).collect() } else { Vec::new() }
}

/// Returns the evidence of a rule, and what changed since.
fn draw_evidence(rule: &ResolvedRule) -> Vec<StyledLine> {
    let evidence = match &rule.rule.evidence {
        None => format!(
            "Evidence: none. It was never measured whether this helps; {} would.",
            suggestion::format_mention(&suggested_command::try_placement(&rule.rule.on.0.to_string()))
        ),
        Some(found) => {
            let proven = match () {
                () if !found.origin.is_measured() => "Not proven here",
                () if found.so_far => "Won",
                () => "Proven",
            };
            let (effect, rate) = (format_evidence(found), 100.0 * found.error_rate);
            format!("{proven}: {effect}, error rate {rate} %, on machine {}.", found.fingerprint)
        }
    };
    let changes = rule.changes.iter().map(|change| {
        StyledLine::new()
            .with(TextTone::Warn, "Unproven since: ")
            .plain(format!("{} was {}, is {}.", change.what, change.was, change.is))
    });
    std::iter::once(StyledLine::new().plain(evidence)).chain(changes).collect()
}

/// Returns the masks that the threads of a process had before they were placed.
fn draw_originals(held: &KeptProcess) -> Option<StyledLine> {
    let given = held.threads.values().filter(|thread| thread.given.is_some());
    let originals: BTreeSet<String> = given
        .map(|thread| match &thread.original {
            OriginalMask::All => "all of its control group".to_owned(),
            OriginalMask::Only(cpus) => cpus.to_string(),
        })
        .collect();
    let before = originals.into_iter().collect::<Vec<_>>().join("; ");
    (!before.is_empty()).then(|| StyledLine::new().plain(format!("Before: {before}.")))
}

/// Names the keeper of a process behind the name of its rule.
fn describe_holder(keeper: Option<&KeeperMention>) -> String {
    keeper.map_or_else(String::new, |keeper| format!(" of {}", name_keeper(keeper)))
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
