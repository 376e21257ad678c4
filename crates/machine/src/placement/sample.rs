//! Machines for the tests of the placement language, each with a difficulty.

use crate::assemble::assemble_machine;
use crate::facts::CoreType::{Efficiency, Performance};
use crate::facts::{CacheFacts, CacheKind, CpuFacts, MachineFacts, NamedKind, NodeFacts};
use crate::machine::ProcessorFacts;
use crate::placement::{PlacementError, ResolveContext, ResolvedExpression, parse};
use crate::{CpuSet, Machine};

pub fn parse_set(list: &str) -> CpuSet {
    CpuSet::parse_list(list).expect("a cpu list")
}

/// Builds a machine with its cores, clusters (by their L2) and last-level caches given as functions of the cpu.
fn build_machine(
    cpus: u32,
    core: impl Fn(u32) -> u32,
    l2: impl Fn(u32) -> u32,
    l3: impl Fn(u32) -> (u32, u64),
    with: impl Fn(&mut MachineFacts),
) -> Machine {
    let alike = |key: u32, of: &dyn Fn(u32) -> u32| (0..cpus).filter(|cpu| of(*cpu) == key).collect::<CpuSet>();
    let cache = |level, mebibytes: u64, shared_with| CacheFacts {
        level,
        kind: CacheKind::Unified,
        size_bytes: Some(mebibytes << 20),
        shared_with,
    };
    let cpu = |number| CpuFacts {
        number,
        package: Some(0),
        core: Some(i64::from(core(number))),
        thread_siblings: Some(alike(core(number), &core)),
        caches: vec![
            cache(2, 1, alike(l2(number), &l2)),
            cache(3, l3(number).1, alike(l3(number).0, &|cpu| l3(cpu).0)),
        ],
        ..CpuFacts::default()
    };
    let mut facts = MachineFacts { cpus: (0..cpus).map(cpu).collect(), ..MachineFacts::default() };
    with(&mut facts);
    assemble_machine(facts)
}

/// Four modules of two cores.
pub fn bulldozer() -> Machine {
    let processor =
        ProcessorFacts { vendor: Some("AuthenticAMD".into()), family: Some(0x15), ..ProcessorFacts::default() };
    build_machine(8, |cpu| cpu, |cpu| cpu / 2, |_| (0, 8), |facts| facts.processor = processor.clone())
}

/// Two dies of eight cores with siblings n + 16, the first with stacked cache.
pub fn stacked() -> Machine {
    build_machine(32, |cpu| cpu % 16, |cpu| cpu % 16, |cpu| (cpu % 16 / 8, if cpu % 16 < 8 { 96 } else { 32 }), |_| ())
}

/// Four nodes of eight cores with neighbouring siblings; nodes 1 and 3 have no memory.
pub fn without_memory() -> Machine {
    build_machine(
        64,
        |cpu| cpu / 2,
        |cpu| cpu / 2,
        |cpu| (cpu / 8, 8),
        |facts| {
            facts.nodes = (0..4)
                .map(|number| NodeFacts {
                    number,
                    cpus: (number * 16..number * 16 + 16).collect(),
                    memory_bytes: Some(if number % 2 == 0 { 32 << 30 } else { 0 }),
                    ..NodeFacts::default()
                })
                .collect();
        },
    )
}

/// Eight large cores with neighbouring siblings (0-15) and four clusters of four small ones (16-31).
pub fn hybrid() -> Machine {
    let own = |cpu: u32| if cpu < 16 { cpu / 2 } else { cpu };
    let cluster = |cpu: u32| if cpu < 16 { cpu / 2 } else { 100 + cpu / 4 };
    build_machine(
        32,
        own,
        cluster,
        |_| (0, 36),
        |facts| {
            let kind = |core_type, list: &str| NamedKind { core_type, cpus: parse_set(list), source: "test".into() };
            facts.named_kinds = vec![kind(Performance, "0-15"), kind(Efficiency, "16-31")];
        },
    )
}

/// Last-level caches of two, six and four cores.
pub fn lopsided() -> Machine {
    build_machine(12, |cpu| cpu, |cpu| cpu, |cpu| (u32::from(cpu >= 2) + u32::from(cpu >= 8), 16), |_| ())
}

pub fn resolve_text(machine: &Machine, text: &str) -> Result<ResolvedExpression, PlacementError> {
    parse(text)?.resolve_on(&ResolveContext { machine, reachable: &machine.online, quiet: None, worth: None })
}

/// Returns the cpus of an expression as a list.
pub fn resolve_cpus(machine: &Machine, text: &str) -> String {
    resolve_text(machine, text).unwrap_or_else(|error| panic!("{text}: {error}")).cpus.to_string()
}

/// Returns the cpus of an expression in their order.
pub fn resolve_order(machine: &Machine, text: &str) -> String {
    super::order::format_list(&resolve_text(machine, text).unwrap_or_else(|error| panic!("{text}: {error}")).order)
}

/// Formats the refusal of an expression: the text at the mistake, the message, and the hint.
pub fn resolve_refusal(machine: &Machine, text: &str) -> String {
    let error = match resolve_text(machine, text) {
        Ok(resolution) => panic!("{text} is {}", resolution.cpus),
        Err(error) => error,
    };
    let at: String = text.chars().skip(error.at.start).take(error.at.len()).collect();
    let hint = error.hint.map(|hint| format!(" | {hint}")).unwrap_or_default();
    format!("[{at}] {}{hint}", error.what)
}
