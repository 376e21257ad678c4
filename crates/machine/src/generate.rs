//! Synthetic machines and expressions for tests and simulations.

mod expression;

use crate::CpuSet;
use crate::Machine;
use crate::assemble::assemble_machine;
use crate::facts::{CacheFacts, CacheKind, CpuFacts, MachineFacts, NodeFacts};
use crate::machine::{ProcessorFacts, SystemFacts};
pub use expression::random_expression;

/// Builds a machine of one package with the given last-level caches, in MiB. With `smt`, cpus `n` and `n` plus half of the cpus are
/// siblings.
pub fn one_package_machine(cpus: u32, smt: bool, llcs: &[(CpuSet, u64)]) -> Machine {
    let cores = if smt { cpus.div_ceil(2).max(1) } else { cpus.max(1) };
    let cache = |(cpus, mebibytes): &(CpuSet, u64)| CacheFacts {
        level: 3,
        kind: CacheKind::Unified,
        size_bytes: Some(mebibytes << 20),
        shared_with: cpus.clone(),
    };
    let cpu = |number| CpuFacts {
        number,
        package: Some(0),
        core: Some(i64::from(number % cores)),
        caches: llcs.iter().filter(|(cpus, _)| cpus.contains(number)).map(cache).collect(),
        ..CpuFacts::default()
    };
    assemble_machine(MachineFacts {
        processor: ProcessorFacts { model_name: Some("Simulated 9000".into()), ..ProcessorFacts::default() },
        system: SystemFacts { kernel: Some("6.18.2".into()), ..SystemFacts::default() },
        cpus: (0..cpus).map(cpu).collect(),
        nodes: vec![NodeFacts { cpus: CpuSet::first_cpus(cpus), ..NodeFacts::default() }],
        ..MachineFacts::default()
    })
}
