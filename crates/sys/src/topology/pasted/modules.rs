//! Modules of two cores in pasted text (AMD family 0x15). Kernels number the cores of a package, of a die or of a module, and lscpu calls a
//! module a core with two threads; all number the two cpus of a module one after the other.

use std::collections::BTreeMap;

use corewise_machine::CpuSet;
use corewise_machine::facts::CpuFacts;

/// Sets the modules as thread siblings, as the kernel lists them, and numbers each cpu as a core.
pub fn list_modules(cpus: &mut [CpuFacts]) {
    let mut packages: BTreeMap<Option<i64>, Vec<(u32, i64)>> = BTreeMap::new();
    for cpu in cpus.iter() {
        let Some(core) = cpu.core else { return };
        packages.entry(cpu.package).or_default().push((cpu.number, core));
    }
    let mut modules: BTreeMap<u32, CpuSet> = BTreeMap::new();
    for numbered in packages.values_mut() {
        numbered.sort_unstable();
        let mut rest = numbered.as_slice();
        while let [(cpu, core), others @ ..] = rest {
            let next = others.first().filter(|(_, next)| next == core || core % 2 == 0 && *next == core + 1);
            let module: CpuSet = std::iter::once(*cpu).chain(next.map(|(cpu, _)| *cpu)).collect();
            module.iter().for_each(|cpu| _ = modules.insert(cpu, module.clone()));
            rest = &others[usize::from(next.is_some())..];
        }
    }
    for cpu in cpus {
        cpu.thread_siblings = modules.remove(&cpu.number);
        cpu.core = Some(i64::from(cpu.number));
    }
}
