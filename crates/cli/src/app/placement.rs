//! Placements from a user's text to cpus; shared by every command that takes one.

use std::ops::Range;

use corewise_machine::machine::MemoryCost;
use corewise_machine::placement::{MachineKnowledge, PlacementError, PlacementExpression, parse};
use corewise_machine::suggested_command;
use corewise_machine::worth::WorthNow;
use corewise_machine::{CpuSet, Machine};
use corewise_model::links::{self, LinkMap, TalkWay};
use corewise_model::memory::MemoryMap;
use corewise_model::survey::conclude::{SurveyConclusions, conclude};
use corewise_model::{Artifact as _, Survey};

use super::failure::{CommandExit, CommandFailure};
use super::settings::ProgramSettings;
use super::user_store::latest_own;
use crate::draw::printable::{make_printable, text_width};
use crate::draw::suggestion;

/// Characters of a long expression that are shown around a mistake.
const SHOWN_CHARACTERS: usize = 60;
/// Maximum characters of a message.
const LONGEST_MESSAGE: usize = 400;

/// Parses the expression that was typed.
pub fn parse_expression(text: &str) -> Result<PlacementExpression, CommandFailure> {
    parse(text).map_err(|error| explain_placement_error(CommandExit::Usage, error))
}

/// Knowledge from the store.
impl MachineKnowledge for ProgramSettings {
    fn quiet_cpus(&self, machine: &Machine) -> Option<CpuSet> {
        Some(latest_conclusions(machine, self)?.quiet)
    }

    fn worth_now(&self, machine: &Machine) -> Option<WorthNow> {
        super::worth::read_worth(machine, self)
    }

    /// From a whole map of cache lines, not of sleeping threads, over all cpus that may be used.
    fn link_groups(&self, machine: &Machine) -> Option<Vec<CpuSet>> {
        let proves = |map: &LinkMap| {
            let what = map.series.first().map(|series| series.what);
            let is_of_lines = matches!(what, Some(TalkWay::Cas | TalkWay::Store));
            is_of_lines && !map.provenance.partial && machine.allowed.is_subset(&map.cpus)
        };
        let (_, map) = latest_own(machine, self, proves)?;
        Some(links::conclude::conclude_map(&map).groups?.of_several_cores().to_vec())
    }

    fn memory_costs(&self, machine: &Machine) -> Option<Vec<MemoryCost>> {
        Some(latest_memory(machine, self)?.1.draw_conclusions().memory_costs())
    }
}

/// Returns the latest whole memory map over all cpus that may be used, with its number. Maps of caches do not count.
pub fn latest_memory(machine: &Machine, settings: &ProgramSettings) -> Option<(i64, MemoryMap)> {
    let proves = |map: &MemoryMap| !map.provenance.partial && !map.is_cache() && machine.allowed.is_subset(&map.cpus);
    latest_own(machine, settings, proves)
}

/// Adds the memory costs of the latest memory map to this machine.
pub fn with_memory_costs(machine: Machine, settings: &ProgramSettings) -> Machine {
    let memory_costs = settings.memory_costs(&machine).unwrap_or_default();
    Machine { memory_costs, ..machine }
}

/// Conclusions of the latest survey of this machine that visited all allowed cpus, or the whole machine.
pub fn latest_conclusions(machine: &Machine, settings: &ProgramSettings) -> Option<SurveyConclusions> {
    let is_whole = |survey: &Survey| {
        let visited: CpuSet = survey.cpus.iter().map(|seen| seen.cpu).collect();
        survey.provenance.scope.is_machine() || survey.machine.allowed.is_subset(&visited)
    };
    latest_own(machine, settings, is_whole).map(|(_, survey)| conclude(&survey))
}

/// Failure that shows a mistake in a text and its place.
pub fn explain_placement_error(exit: CommandExit, error: PlacementError) -> CommandFailure {
    let failure = CommandFailure::new(exit, point_at(&error.what, &error.text, &error.at));
    match error.hint {
        Some(hint) => failure.with_hint(shorten_message(&hint)),
        None => failure.with_hint(format!(
            "{} explains the language; {} shows this machine.",
            suggestion::format_mention(&suggested_command::place_help()),
            suggestion::format_mention(&suggested_command::topology())
        )),
    }
}

/// Shortens a message: long quotations, long words and a long whole lose their middle.
pub fn shorten_message(message: &str) -> String {
    let words = |text: &str| text.split_inclusive(' ').map(|word| cut_middle(word, SHOWN_CHARACTERS)).collect();
    let parts: Vec<String> = message
        .split('"')
        .enumerate()
        .map(|(index, part)| if index % 2 == 1 { cut_middle(part, SHOWN_CHARACTERS) } else { words(part) })
        .collect();
    cut_middle(&parts.join("\""), LONGEST_MESSAGE)
}

/// Cuts a text to about `longest` characters, with "…" in place of its middle.
fn cut_middle(text: &str, longest: usize) -> String {
    let length = text.chars().count();
    if length <= longest {
        return text.to_owned();
    }
    let part = longest / 2;
    text.chars().take(part).chain(['…']).chain(text.chars().skip(length - part)).collect()
}

/// Returns what is wrong, and below it the text with the place marked.
pub fn point_at(what: &str, text: &str, at: &Range<usize>) -> String {
    let characters: Vec<char> = text.chars().collect();
    let from = at.start.saturating_sub(SHOWN_CHARACTERS / 2);
    let to = characters.len().min(from + SHOWN_CHARACTERS);
    let cut = |more: bool| if more { "…" } else { "" };
    // Each part is made printable by itself, so that the marks stand below the right characters.
    let part = |range: Range<usize>| {
        let [start, end] = [range.start, range.end].map(|place| place.clamp(from.min(to), to));
        make_printable(&characters[start..end].iter().collect::<String>())
    };
    let [head, marked, rest] = [from..at.start, at.start..at.end, at.end.max(at.start)..to].map(part);
    let head = format!("{}{head}", cut(from > 0));
    let (before, marks) = (" ".repeat(text_width(&head)), "^".repeat(text_width(&marked).max(1)));
    let what = shorten_message(what);
    format!("{what}\n    {head}{marked}{rest}{}\n    {before}{marks}", cut(to < characters.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::placing::resolve_for_all;
    use crate::app::settings::ProgramEnvironment;

    /// A map of links in the store is what `group` means, for the machine that it was measured on.
    #[test]
    fn groups_are_those_of_the_latest_map() {
        let machine = crate::draw::fixtures::fabricated::ryzen_9950x3d();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history.db");
        let history = crate::app::settings::HistoryPlace::At(path.clone());
        let settings = ProgramSettings { history, ..ProgramSettings::from_environment(&ProgramEnvironment::default()) };
        let typed = parse_expression("pack(3, group) + group:1").unwrap();
        let none = resolve_for_all(&typed, &machine, &settings).unwrap_err();
        assert!(none.what.starts_with("group: no link map of this machine shows groups"), "{none}");
        let cost = |relation: links::CpuRelation| if relation <= links::CpuRelation::SameLlc { 20.0 } else { 80.0 };
        let map = crate::draw::fixtures::fabricated::link_map(&machine, cost);
        corewise_store::ArtifactStore::open(&path).unwrap().add_artifact(&map).unwrap();
        let found = resolve_for_all(&typed, &machine, &settings).unwrap();
        assert_eq!(found.cpus.to_string(), "0-2,8-15,24-31");
        let other = Machine { present: machine.present.union(&CpuSet::from_cpu(99)), ..machine };
        assert!(resolve_for_all(&typed, &other, &settings).is_err(), "another machine's map says nothing");
    }

    #[test]
    fn what_was_typed_is_repeated_only_in_part() {
        assert_eq!(shorten_message("expected 0 or 1, found \"x\""), "expected 0 or 1, found \"x\"");
        let token = format!("found \"{} {}\", and more", "a".repeat(1000), "b".repeat(1000));
        assert_eq!(shorten_message(&token), format!("found \"{}…{}\", and more", "a".repeat(30), "b".repeat(30)));
        assert_eq!(shorten_message(&format!("cpus {}", "1,".repeat(1000))).chars().count(), 66);
        let far = format!("expected \")\", {} found \"x\"", "the end ".repeat(10));
        assert_eq!(shorten_message(&far), far);
        assert_eq!(shorten_message("a \" b"), "a \" b");
        assert!(shorten_message(&"a \" b ".repeat(1000)).chars().count() <= LONGEST_MESSAGE + 1);
    }

    #[test]
    fn the_mistake_is_marked_where_it_is() {
        assert_eq!(point_at("no such llc", "all - llc:2", &(6..11)), "no such llc\n    all - llc:2\n          ^^^^^");
        assert_eq!(point_at("it ends", "all -", &(5..5)), "it ends\n    all -\n         ^");
        assert_eq!(
            point_at("é", "é\u{1b}日x", &(2..3)),
            "é\n    é\\u{1b}日x\n           ^^",
            "no text can steer the terminal"
        );
        let long = point_at("here", &format!("{}x{}", "a".repeat(100), "b".repeat(100)), &(100..101));
        let lines: Vec<&str> = long.lines().collect();
        let place = lines[2].chars().position(|c| c == '^').unwrap();
        assert_eq!(lines[1].chars().nth(place), Some('x'), "{long}");
        assert!(lines[1].starts_with("    …a") && lines[1].ends_with("b…"), "{long}");
    }
}
