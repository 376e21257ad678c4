//! Builds a machine from a reader's facts: the rules by which cpus form cores, clusters, caches, dies and kinds.

pub mod agreement;
mod caches;
mod clusters;
mod cores;
mod devices;
mod kinds;
mod nesting;
mod outer_levels;
mod partition;
mod ranking;
#[cfg(test)]
mod sample;
mod tidy;

use crate::facts::MachineFacts;
use crate::{CpuSet, Machine};
pub use cores::has_modules;

/// Builds a machine from facts.
///
/// Facts may be incomplete. Sets that name offline cpus are cut to the online ones, "shares with" is taken as mutual, and the threads of a
/// core share all its caches. A level that the source does not report takes the objects of the next level outwards. So every online cpu is
/// in exactly one package, die, llc, cluster and core, whatever the facts are. Facts without any cpu give a machine without objects. If
/// files contradict each other, [`agreement`] decides before the facts are made. Levels that cut across each other are a gap.
pub fn assemble_machine(facts: MachineFacts) -> Machine {
    let mut facts = tidy::tidy_facts(facts);
    let online: CpuSet = facts.cpus.iter().map(|cpu| cpu.number).collect();
    let cores = cores::build_cores(&facts);
    caches::share_in_cores(&mut facts, &cores);
    let packages = outer_levels::build_packages(&facts, &cores);
    let books = outer_levels::build_outer_objects(&facts, &packages, |cpu| cpu.book_cpus.as_ref());
    let drawers = outer_levels::build_outer_objects(&facts, if books.is_empty() { &packages } else { &books }, |cpu| {
        cpu.drawer_cpus.as_ref()
    });
    let caches = caches::list_caches(&facts);
    let llcs = caches::list_llcs(&facts, &packages, &cores);
    let clusters = clusters::build_clusters(&facts, &cores, &llcs);
    let dies = outer_levels::build_dies(&facts, &packages);
    let nodes = outer_levels::build_nodes(&facts, &online);
    let kinds = kinds::find_kinds(&facts, &cores);
    let ranking = ranking::rank_cpus(&facts);
    let mut gaps = std::mem::take(&mut facts.gaps);
    gaps.extend(outer_levels::node_gaps(&facts, &nodes, &online));
    gaps.extend(caches::missing_llc_gap(&llcs));
    let present = facts.present.unwrap_or_default().union(&online);
    let unlisted = facts.unlisted.unwrap_or_default().intersection(&present).difference(&online);
    let allowed_memory = outer_levels::allowed_memory(facts.allowed_memory, &nodes, &mut gaps);
    let mut machine = Machine {
        possible: facts.possible.unwrap_or_default().union(&present),
        allowed: tidy::allowed_cpus(facts.allowed, &online, &mut gaps),
        allowed_memory,
        unlisted,
        isolated: facts.isolated.unwrap_or_default().intersection(&online),
        nohz_full: facts.nohz_full.unwrap_or_default().intersection(&online),
        processor: facts.processor,
        system: facts.system,
        present,
        online,
        drawers,
        books,
        processor_groups: facts.processor_groups,
        packages,
        nodes,
        dies,
        llcs,
        clusters,
        cores,
        groups: Vec::new(),
        memory_costs: Vec::new(),
        caches,
        kinds,
        ranking,
        devices: devices::order_devices(facts.devices),
        gaps,
    };
    machine.gaps.extend(nesting::crossing_gap(&machine, &facts.level_files));
    machine
}

#[cfg(test)]
mod tests;
