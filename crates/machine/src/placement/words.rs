//! Words of the language, and other tools' words for the same things.

use super::expression::{BEST, CpuSetName, NEAR, PlacementPattern};
use super::likeness::measure_likeness;
use crate::Level;

/// A known word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LanguageWord {
    /// A level; an index follows.
    Level(Level),
    /// A name of cpus.
    Name(CpuSetName),
    /// A pattern; arguments follow.
    Pattern(PlacementPattern),
    /// `best`; arguments follow.
    Best,
    /// `near`; a device follows.
    Near,
}

/// Looks a word up, ignoring case.
pub fn find_word(word: &str) -> Option<LanguageWord> {
    let is = |known: &str| known.eq_ignore_ascii_case(word);
    let level = Level::ALL.into_iter().find(|level| is(level.word())).map(LanguageWord::Level);
    let name = || CpuSetName::ALL.into_iter().find(|name| is(name.word())).map(LanguageWord::Name);
    let pattern = || PlacementPattern::ALL.into_iter().find(|pattern| is(pattern.word())).map(LanguageWord::Pattern);
    level
        .or_else(name)
        .or_else(pattern)
        .or_else(|| is(BEST).then_some(LanguageWord::Best))
        .or_else(|| is(NEAR).then_some(LanguageWord::Near))
}

/// Finds the longest known word at the start of a text. A word ends at the text's end or before a hyphen (`all-core:0` is `all - core:0`).
pub fn longest_word(text: &str) -> Option<(usize, LanguageWord)> {
    let ends: Vec<usize> = text.match_indices('-').map(|(place, _)| place).chain([text.len()]).collect();
    ends.into_iter().rev().find_map(|end| Some((end, find_word(&text[..end])?)))
}

/// Other tools' names, and the names here.
const ELSEWHERE: &[(&str, &str)] = &[
    ("socket", "package:N"),
    ("sockets", "package:N"),
    ("pkg", "package:N"),
    ("numa", "node:N"),
    ("numanode", "node:N"),
    ("ldom", "node:N"),
    ("l3", "llc:N"),
    ("l3cache", "llc:N"),
    ("ccx", "llc:N"),
    ("ccd", "llc:N (die:N where a CCD has two)"),
    ("cache", "llc:N"),
    ("l2", "cluster:N"),
    ("l2cache", "cluster:N"),
    ("module", "cluster:N"),
    ("cu", "cluster:N"),
    ("pu", "cpu:N"),
    ("thread", "core:N.cpu:N"),
    ("hwthread", "core:N.cpu:N"),
    ("p-core", "performance"),
    ("p-cores", "performance"),
    ("pcore", "performance"),
    ("big", "performance"),
    ("e-core", "efficiency"),
    ("e-cores", "efficiency"),
    ("ecore", "efficiency"),
    ("little", "efficiency"),
    ("lp-e", "low-power"),
    ("x3d", "vcache"),
    ("v-cache", "vcache"),
    ("no-smt", "one-per-core"),
    ("nosmt", "one-per-core"),
    ("scatter", "spread(N, LEVEL)"),
    ("compact", "pack(N, LEVEL)"),
    ("machine", "all"),
    ("eth", "near(eth0)"),
    ("netdev", "near(eth0)"),
    ("nvme", "near(nvme0n1)"),
    ("gpu", "near(gpu:0)"),
    ("ssd", "near(nvme0n1)"),
    ("disk", "near(nvme0n1)"),
    ("nic", "near(eth0)"),
    ("net", "near(eth0)"),
    ("pci", "near(pci:0000:41:00.0)"),
    ("smt", "one-per-core (core:all.cpu:1 for the second threads)"),
    ("ht", "one-per-core (core:all.cpu:1 for the second threads)"),
    ("hyperthread", "one-per-core (core:all.cpu:1 for the second threads)"),
    ("hyperthreading", "one-per-core (core:all.cpu:1 for the second threads)"),
    ("sibling", "core:N, or core:all.cpu:1 for the second threads"),
    ("noht", "one-per-core"),
    ("physical", "one-per-core"),
    ("physicalcore", "one-per-core"),
    ("realcore", "one-per-core"),
    ("fullcore", "core:N"),
    ("logical", "all"),
    ("processor", "a number alone, such as 0-3"),
    ("vcpu", "a number alone, such as 0-3"),
    ("perf", "performance"),
    ("fast", "performance"),
    ("prime", "performance"),
    ("eff", "efficiency"),
    ("slow", "efficiency"),
    ("atom", "efficiency"),
    ("lpe", "low-power"),
    ("lpecore", "low-power"),
    ("lp", "low-power"),
    ("3d", "vcache"),
    ("3dvcache", "vcache"),
    ("freq", "frequency"),
    ("turbo", "frequency"),
    ("isol", "isolated"),
    ("isolcpu", "isolated"),
    ("nohz", "isolated"),
    ("housekeeping", "all - isolated"),
    ("park", "all - LIST, which leaves these cpus free"),
    ("reserve", "all - LIST, which leaves these cpus free"),
    ("exclude", "all - LIST"),
    ("without", "all - LIST"),
    ("not", "!LIST"),
    ("idle", "best(N, worth)"),
    ("free", "best(N, worth)"),
    ("unused", "best(N, worth)"),
    ("any", "all"),
    ("every", "all"),
    ("even", "core:even"),
    ("odd", "core:odd"),
    ("tile", "die:N"),
    ("chiplet", "die:N, or llc:N"),
    ("numanodes", "node:N"),
    ("balance", "spread(N, LEVEL)"),
    ("distribute", "spread(N, LEVEL)"),
    ("dense", "pack(N, LEVEL)"),
    ("fill", "pack(N, LEVEL)"),
];

/// Returns a word without case, hyphens, a number and the plural.
fn plain_word(word: &str) -> String {
    let plain: String = word.to_ascii_lowercase().chars().filter(|c| !matches!(c, '-' | '_')).collect();
    let plain = plain.trim_end_matches(|c: char| c.is_ascii_digit());
    let singular = plain.strip_suffix('s').filter(|singular| singular.len() > 1);
    singular.unwrap_or(plain).to_owned()
}

/// Suggests a correction of an unknown word; `None` for a known word in the wrong place.
pub fn suggest_word(word: &str) -> Option<String> {
    if word.is_empty() || find_word(word).is_some() {
        return None;
    }
    let lower = word.to_ascii_lowercase();
    let plain = plain_word(&lower);
    let is_it = |elsewhere: &str| elsewhere == lower || plain_word(elsewhere) == plain && plain.len() > 1;
    if let Some((_, here)) = ELSEWHERE.iter().find(|(elsewhere, _)| is_it(elsewhere)) {
        return Some(format!("the name here is {here}"));
    }
    let number = lower.trim_start_matches(|c: char| !c.is_ascii_digit());
    if !number.is_empty() && Level::ALL.iter().any(|level| level.word() == plain) {
        return Some(format!("a number of a level follows a colon: {plain}:{number}"));
    }
    if lower.chars().all(|c| c.is_ascii_hexdigit()) {
        return Some(format!("a mask has 0x: 0x{lower}"));
    }
    let all = all_words();
    let near = all.iter().map(|known| (measure_likeness(known, &lower), known));
    let (likeness, known) = near.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (likeness > 0.78).then(|| format!("did you mean {known}?"))
}

/// Returns every word of the language.
pub fn all_words() -> Vec<&'static str> {
    let levels = Level::ALL.map(Level::word);
    let patterns = PlacementPattern::ALL.map(PlacementPattern::word);
    levels.into_iter().chain(CpuSetName::ALL.map(CpuSetName::word)).chain(patterns).chain([BEST, NEAR]).collect()
}
