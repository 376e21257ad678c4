//! Facts about the machine, its system and the measurement that differ between two surveys.

use std::collections::{BTreeMap, BTreeSet};

use corewise_machine::facts::{CacheKind, CoreType};
use corewise_machine::{CpuSet, Level, Machine};

use super::FactChange;
use crate::Survey;

/// Smallest change of the machine's load to report, as a share of its time.
const LOAD_CHANGE: f64 = 0.1;

/// Returns every fact that differs, most important first.
pub(super) fn list_changes(before: &Survey, after: &Survey) -> Vec<FactChange> {
    let mut changes: Vec<FactChange> = list_facts(before)
        .into_iter()
        .zip(list_facts(after))
        .map(|((what, before), (_, after))| FactChange { what, before, after })
        .collect();
    let (mut earlier, mut later) = (count_caches(&before.machine), count_caches(&after.machine));
    let keys: BTreeSet<(u8, CacheKind)> = earlier.keys().chain(later.keys()).copied().collect();
    changes.extend(keys.into_iter().map(|key| FactChange {
        what: cache_words(key),
        before: earlier.remove(&key).map(sizes_words),
        after: later.remove(&key).map(sizes_words),
    }));
    changes.retain(|change| change.before != change.after);
    changes.extend(load_change(before, after));
    changes
}

/// Returns the share of the machine that other programs used, if it changed by more than [`LOAD_CHANGE`].
fn load_change(before: &Survey, after: &Survey) -> Option<FactChange> {
    let (before, after) = (before.provenance.others_busy?, after.provenance.others_busy?);
    let words = |share: f64| Some(format!("{:.0} %", share * 100.0));
    let change = FactChange { what: "other programs used".into(), before: words(before), after: words(after) };
    ((after - before).abs() > LOAD_CHANGE).then_some(change)
}

/// A fact's name and its value in a survey. Every survey has the same names in the same order.
type NamedFact = (String, Option<String>);

fn list_facts(survey: &Survey) -> Vec<NamedFact> {
    let mut facts = system_facts(survey);
    facts.extend(topology_facts(&survey.machine));
    facts
}

fn system_facts(survey: &Survey) -> Vec<NamedFact> {
    let machine = &survey.machine;
    let governors = machine.system.governors.join(", ");
    let facts = [
        ("processor", machine.processor.model_name.clone()),
        ("architecture", machine.system.architecture.clone()),
        ("kernel", machine.system.kernel.clone()),
        ("microcode", machine.processor.microcode.clone()),
        ("governor", (!governors.is_empty()).then_some(governors)),
        ("hypervisor", machine.system.hypervisor.clone()),
        ("corewise", Some(survey.provenance.corewise.clone())),
        ("clock", Some(survey.clock.source.clone())),
        ("work", Some(format!("{} additions", survey.work.additions))),
    ];
    facts.map(|(name, value)| (name.to_owned(), value)).into()
}

fn topology_facts(machine: &Machine) -> Vec<NamedFact> {
    let counts = machine.levels_present().filter(|&level| level != Level::Cpu).map(|level| {
        let name = match level {
            Level::Llc => "llcs".to_owned(),
            level => format!("{level}s"),
        };
        (name, Some(machine.objects_of(level).len().to_string()))
    });
    let words = |cpus: &CpuSet| (!cpus.is_empty()).then(|| cpus.to_string());
    let sets = [
        ("online cpus", &machine.online),
        ("allowed cpus", &machine.allowed),
        ("isolated cpus", &machine.isolated),
        ("nohz_full cpus", &machine.nohz_full),
    ];
    let sets = sets.map(|(name, cpus)| (name.to_owned(), words(cpus)));
    let kinds = [CoreType::Performance, CoreType::Efficiency, CoreType::LowPower].map(|core_type| {
        let cpus = machine.kinds.iter().filter(|kind| kind.core_type == core_type).flat_map(|kind| kind.cpus.iter());
        (format!("{} cpus", core_type.word()), words(&cpus.collect()))
    });
    counts.chain(sets).chain(kinds).collect()
}

/// Number of caches of each size.
type CacheSizes = BTreeMap<Option<u64>, u64>;

fn count_caches(machine: &Machine) -> BTreeMap<(u8, CacheKind), CacheSizes> {
    let mut caches = BTreeMap::<_, CacheSizes>::new();
    for cache in &machine.caches {
        *caches.entry((cache.level, cache.kind)).or_default().entry(cache.size_bytes).or_default() += 1;
    }
    caches
}

fn cache_words((level, kind): (u8, CacheKind)) -> String {
    match kind {
        CacheKind::Data => format!("L{level} data caches"),
        CacheKind::Instruction => format!("L{level} instruction caches"),
        CacheKind::Unified => format!("L{level} caches"),
    }
}

/// Formats sizes, largest first: "1 x 96 MB, 1 x 32 MB".
fn sizes_words(sizes: CacheSizes) -> String {
    let words: Vec<String> =
        sizes.iter().rev().map(|(&size, count)| format!("{count} x {}", size_words(size))).collect();
    words.join(", ")
}

fn size_words(bytes: Option<u64>) -> String {
    match bytes {
        None => "unknown size".into(),
        Some(bytes) if bytes > 0 && bytes.is_multiple_of(1 << 20) => format!("{} MB", bytes >> 20),
        Some(bytes) if bytes > 0 && bytes.is_multiple_of(1 << 10) => format!("{} KB", bytes >> 10),
        Some(bytes) => format!("{bytes} bytes"),
    }
}
