//! Short constructors of facts for tests.

use crate::CpuSet;
use crate::facts::{CacheFacts, CacheKind, CpuFacts, MachineFacts};
use crate::machine::ProcessorFacts;

/// Parses a cpu list.
pub fn parse_set(list: &str) -> CpuSet {
    CpuSet::parse_list(list).expect("a cpu list")
}

/// A cpu with nothing known.
pub fn unknown_cpu(number: u32) -> CpuFacts {
    CpuFacts { number, ..CpuFacts::default() }
}

/// A unified cache of one MiB a level.
pub fn unified_cache(level: u8, list: &str) -> CacheFacts {
    CacheFacts {
        level,
        kind: CacheKind::Unified,
        size_bytes: Some(u64::from(level) << 20),
        shared_with: parse_set(list),
    }
}

/// Facts of cpus 0 to `count - 1`, each changed by `with`.
pub fn cpu_facts(count: u32, with: impl Fn(&mut CpuFacts)) -> MachineFacts {
    let of = |number| {
        let mut cpu = unknown_cpu(number);
        with(&mut cpu);
        cpu
    };
    MachineFacts { cpus: (0..count).map(of).collect(), ..MachineFacts::default() }
}

/// An AMD processor of family 0x15 (Bulldozer and its successors).
pub fn bulldozer_facts() -> ProcessorFacts {
    ProcessorFacts { vendor: Some("AuthenticAMD".into()), family: Some(0x15), ..ProcessorFacts::default() }
}

/// Formats sets as cpu lists, for comparison with literals.
pub fn format_lists<'a>(sets: impl IntoIterator<Item = &'a CpuSet>) -> Vec<String> {
    sets.into_iter().map(CpuSet::to_string).collect()
}
