//! Findings of a memory map: each rests on an interval that lies completely beyond its margin.

use corewise_machine::placement::CpuSetName;
use corewise_machine::{CpuSet, Level};

use super::super::estimate::VisitEstimate;
use super::super::plan::one_of_each_core;
use super::super::{LatencyStaircase, MemoryMap};
use super::{MemoryConclusions, MemoryNodeCost, StreamOperation, StreamRate};
use crate::finding::{Finding, FindingEffect, FindingTopic};
use corewise_machine::suggested_command::{SuggestedCommand, try_on, try_threads};
use corewise_statistics::order::median;

/// Smallest ratio of latencies or bandwidths that counts as a difference.
const MARGIN: f64 = 1.1;
/// Ratio to its peers' bandwidth below which a node is lopsided.
const LOPSIDED: f64 = 0.75;
/// Smallest ratio of small pages' to huge pages' latency that is reported.
const PAGES: f64 = 1.2;
/// Share of the full bandwidth from which more threads gain little.
const SATURATED: f64 = 0.95;

/// Adds the findings, most important first, and tests without one.
pub fn add_findings(map: &MemoryMap, conclusions: &mut MemoryConclusions) {
    let mut findings: Vec<Finding> = Vec::new();
    let mut no_difference = Vec::new();
    findings.extend(without_memory(&conclusions.costs));
    match remote_finding(&conclusions.costs) {
        Some(Ok(finding)) => findings.push(finding),
        Some(Err(sentence)) => no_difference.push(sentence),
        None => {}
    }
    findings.extend(lopsided_findings(&conclusions.costs));
    findings.extend(unequal_caches(map, conclusions));
    findings.extend(reported_cache_findings(map, conclusions));
    findings.extend(saturation_finding(map, &conclusions.costs));
    match siblings_finding(map, &conclusions.costs) {
        Some(Ok(finding)) => findings.push(finding),
        Some(Err(sentence)) => no_difference.push(sentence),
        None => {}
    }
    findings.extend(small_pages_finding(&conclusions.costs));
    findings.extend(under_load(conclusions));
    conclusions.findings = findings;
    conclusions.no_difference = no_difference;
}

fn build_finding(
    cpus: CpuSet,
    statement: String,
    advice: &str,
    command: Option<SuggestedCommand>,
    effects: Vec<FindingEffect>,
) -> Finding {
    Finding { topic: FindingTopic::Memory, cpus, statement, advice: advice.to_owned(), command, effects }
}

/// Returns the median of several estimates, end by end.
fn typical_cost<'a>(costs: impl Iterator<Item = &'a VisitEstimate>) -> Option<VisitEstimate> {
    let all: Vec<&VisitEstimate> = costs.collect();
    let of = |value: fn(&VisitEstimate) -> f64| median(&all.iter().map(|one| value(one)).collect::<Vec<_>>());
    let visits = all.iter().map(|one| one.visits).sum();
    (!all.is_empty()).then(|| VisitEstimate {
        median: of(|one| one.median),
        low: of(|one| one.low),
        high: of(|one| one.high),
        visits,
    })
}

fn measured_costs(costs: &[MemoryNodeCost]) -> impl Iterator<Item = (&MemoryNodeCost, &VisitEstimate)> {
    costs.iter().filter(|cost| !cost.predicted).filter_map(|cost| Some((cost, cost.huge_ns.as_ref()?)))
}

/// Compares cpus without memory on their node with cpus that have some.
fn without_memory(costs: &[MemoryNodeCost]) -> Option<Finding> {
    let has_own = |cost: &MemoryNodeCost| cost.own_node == Some(cost.node);
    let own = typical_cost(measured_costs(costs).filter(|(cost, _)| has_own(cost)).map(|(_, ns)| ns))?;
    let poor = |cost: &MemoryNodeCost| {
        cost.own_node.is_some() && !costs.iter().any(|other| other.own_node == cost.own_node && has_own(other))
    };
    let nearest =
        typical_cost(measured_costs(costs).filter(|(cost, _)| poor(cost) && cost.is_nearest).map(|(_, ns)| ns))?;
    let cpus = costs.iter().filter(|cost| poor(cost)).fold(CpuSet::new(), |all, cost| all.union(&cost.initiator));
    let effect = nearest.ratio_against(&own, "latency", "cpus with memory of their own");
    if effect.low <= MARGIN {
        return None;
    }
    let statement = format!(
        "cpus {cpus} have no memory of their own: a load from the nearest node takes {:.0} ns, {} the time on cpus with own memory.",
        nearest.median,
        effect.format_times()
    );
    let command = try_on(&[CpuSetName::WithMemory.word().to_owned()]);
    Some(build_finding(cpus, statement, "Try the program without them.", Some(command), vec![effect]))
}

/// Compares the memory of other nodes with that of the own, for cpus that have both.
fn remote_finding(costs: &[MemoryNodeCost]) -> Option<Result<Finding, String>> {
    let own =
        typical_cost(measured_costs(costs).filter(|(cost, _)| cost.own_node == Some(cost.node)).map(|(_, ns)| ns))?;
    let is_remote = |cost: &MemoryNodeCost| {
        cost.own_node.is_some_and(|own| own != cost.node && costs.iter().any(|other| other.node == own))
    };
    let far: Vec<(&MemoryNodeCost, &VisitEstimate)> =
        measured_costs(costs).filter(|(cost, _)| is_remote(cost)).collect();
    let others = typical_cost(far.iter().map(|(_, ns)| *ns))?;
    let effect = others.ratio_against(&own, "latency", "the own node's memory");
    if effect.low <= MARGIN {
        let words = format!("memory of other nodes costs no more than that of the own node: {}", effect.format_times());
        return Some(Err(words));
    }
    let dearest = far.iter().max_by(|one, other| one.1.median.total_cmp(&other.1.median))?;
    let statement = format!(
        "Memory of another node takes {:.0} ns instead of {:.0} ({}); at most {:.0} ns, from node {} by cpus {}.",
        others.median,
        own.median,
        effect.format_times(),
        dearest.1.median,
        dearest.0.node,
        dearest.0.initiator
    );
    let cpus = far.iter().fold(CpuSet::new(), |all, (cost, _)| all.union(&cost.initiator));
    let advice = "Try the program on one node: its memory comes from there then.";
    let command = try_on(&["node:0".to_owned()]);
    Some(Ok(build_finding(cpus, statement, advice, Some(command), vec![effect])))
}

/// Finds nodes with less bandwidth to their own cpus than other nodes have to theirs.
fn lopsided_findings(costs: &[MemoryNodeCost]) -> Vec<Finding> {
    let mut nodes: Vec<(u32, &StreamRate)> = Vec::new();
    for cost in costs.iter().filter(|cost| cost.own_node == Some(cost.node)) {
        let Some(stream) = cost.largest_stream(StreamOperation::Read) else { continue };
        match nodes.iter_mut().find(|(node, _)| *node == cost.node) {
            Some((_, known)) if known.cpus.len() >= stream.cpus.len() => {}
            Some((_, known)) => *known = stream,
            None => nodes.push((cost.node, stream)),
        }
    }
    let against =
        |node: u32| typical_cost(nodes.iter().filter(|(other, _)| *other != node).map(|(_, stream)| &stream.gb_s));
    let one = |(node, stream): &(u32, &StreamRate)| {
        let effect = stream.gb_s.ratio_against(&against(*node)?, "bandwidth", "the median of the other nodes");
        let statement = format!(
            "Node {node} has less bandwidth than the others: {:.0} GB/s, {} their median.",
            stream.gb_s.median,
            effect.format_times()
        );
        let advice = "Look whether it has fewer memory modules, or slower ones: `dmidecode -t memory` lists them.";
        (effect.high < LOPSIDED).then(|| build_finding(stream.cpus.clone(), statement, advice, None, vec![effect]))
    };
    nodes.iter().filter_map(one).collect()
}

/// Finds a working set that one size of last-level cache holds and another does not.
fn unequal_caches(map: &MemoryMap, conclusions: &MemoryConclusions) -> Option<Finding> {
    let size = |cpu: u32| map.machine.llcs.iter().find(|llc| llc.cpus.contains(cpu)).and_then(|llc| llc.size_bytes);
    let by_size = |staircase: &&LatencyStaircase| size(staircase.cpu);
    let (small, large) = (map.staircases.iter().min_by_key(by_size)?, map.staircases.iter().max_by_key(by_size)?);
    let (less, more) = (size(small.cpu)?, size(large.cpu)?);
    if less >= more {
        return None;
    }
    // Half way between the two, on the scale of the sizes.
    let wanted = ((less as f64) * (more as f64)).sqrt() as u64;
    let step = large.steps.iter().min_by_key(|step| step.bytes.abs_diff(wanted))?;
    let other = small.steps.iter().find(|other| other.bytes == step.bytes)?;
    let effect = VisitEstimate::from_visits(&other.visits_ns)?.ratio_against(
        &VisitEstimate::from_visits(&step.visits_ns)?,
        "latency",
        "the larger cache",
    );
    if effect.low <= MARGIN {
        return None;
    }
    let cpus = |cpu: u32| {
        let of = |levels: &&super::CpuLevels| levels.cpu == cpu;
        conclusions.levels.iter().find(of).map_or_else(|| CpuSet::from_cpu(cpu), |levels| levels.alike.clone())
    };
    let (larger, smaller) = (cpus(large.cpu), cpus(small.cpu));
    let mut statement = format!(
        "A working set of {} MiB lies in the larger last-level cache of cpus {larger}: a load there costs {:.0} ns, and {} as much on cpus \
         {smaller}.",
        step.bytes >> 20,
        median(&step.visits_ns),
        effect.format_times(),
    );
    let mut effects = vec![effect];
    // The price of a larger cache: a lower clock, and thereby dearer loads from the nearest cache.
    if let Some((words, effect)) = nearest_level(large, small, &smaller) {
        statement.push_str(&words);
        effects.push(effect);
    }
    if let Some((words, effect)) = from_memory(&conclusions.costs, &larger, &smaller) {
        statement.push_str(&words);
        effects.push(effect);
    }
    let command = try_on(&[larger.to_string(), smaller.to_string()]);
    Some(build_finding(larger, statement, "Try a program with much data on both.", Some(command), effects))
}

/// Compares loads of the smallest working set on the cpus with the larger cache and with the smaller one.
fn nearest_level(
    large: &LatencyStaircase,
    small: &LatencyStaircase,
    smaller: &CpuSet,
) -> Option<(String, FindingEffect)> {
    let (own, other) = (large.steps.first()?, small.steps.first()?);
    let (own, other) = (VisitEstimate::from_visits(&own.visits_ns)?, VisitEstimate::from_visits(&other.visits_ns)?);
    let effect = own.ratio_against(&other, "latency of the first level", "the smaller cache");
    let words = format!(
        " From the first level a load costs {:.2} ns there and {:.2} on cpus {smaller}: {}.",
        own.median,
        other.median,
        effect.format_times()
    );
    Some((words, effect))
}

/// Compares bandwidth from the nearest memory to all cores of a larger cache and of a smaller one.
fn from_memory(costs: &[MemoryNodeCost], larger: &CpuSet, smaller: &CpuSet) -> Option<(String, FindingEffect)> {
    let of = |cpus: &CpuSet| {
        let cost = costs.iter().find(|cost| cost.is_nearest && cost.initiator.is_subset(cpus))?;
        let own = cost.streams.iter().filter(|stream| stream.cpus.is_subset(&cost.initiator));
        let read = own.filter(|stream| stream.operation == StreamOperation::Read);
        Some(read.max_by(|one, other| one.gb_s.median.total_cmp(&other.gb_s.median))?.gb_s)
    };
    let (own, other) = (of(larger)?, of(smaller)?);
    let effect = own.ratio_against(&other, "bandwidth of all cores from memory", "the smaller cache");
    let words = format!(
        " From memory all cores of one such cache read {:.0} GB/s together, those of the smaller one {:.0}: {}.",
        own.median,
        other.median,
        effect.format_times()
    );
    Some((words, effect))
}

/// Finds a last-level cache that is reported larger than this machine has it: the level of memory begins at half of it,
/// or before.
fn reported_cache_findings(map: &MemoryMap, conclusions: &MemoryConclusions) -> Vec<Finding> {
    let one = |levels: &super::CpuLevels| {
        let reported = map.machine.llcs.iter().find(|llc| llc.cpus.contains(levels.cpu))?.size_bytes?;
        let (memory, before) = levels.levels.split_last()?;
        if memory.until_bytes <= reported || 2 * memory.from_bytes > reported {
            return None;
        }
        let effect = memory.ns.ratio_against(&before.last()?.ns, "latency", "the level before");
        let statement = format!(
            "The system reports a last-level cache of {} MiB, but from {} MiB on a load takes as long as from memory: {:.0} ns, {} the \
             time on the level before.",
            reported >> 20,
            memory.from_bytes >> 20,
            memory.ns.median,
            effect.format_times()
        );
        let advice =
            "Do not count on it: the whole cache of the host is reported to a guest, which has only a share of it.";
        Some(build_finding(levels.alike.clone(), statement, advice, None, vec![effect]))
    };
    conclusions.levels.iter().filter_map(one).collect()
}

/// Returns the number of cores that saturate a node, if it is at most half of them: with more, the cores share the bandwidth nearly evenly,
/// and how many suffice was not measured.
fn saturation_finding(map: &MemoryMap, costs: &[MemoryNodeCost]) -> Option<Finding> {
    let mut best: Option<(usize, Finding)> = None;
    for cost in costs.iter().filter(|cost| cost.is_nearest) {
        let (Some(one), Some(all)) = (
            cost.find_stream(StreamOperation::Read, |cpus| cpus.len() == 1),
            cost.largest_stream(StreamOperation::Read),
        ) else {
            continue;
        };
        let cores = one_of_each_core(&map.machine, &all.cpus).len();
        let effect = one.gb_s.ratio_against(&all.gb_s, "bandwidth", "all cores together");
        let enough = (SATURATED / effect.low).ceil() as usize;
        if cores < 2 || 2 * enough > cores || best.as_ref().is_some_and(|(known, _)| *known <= enough) {
            continue;
        }
        let threads = if enough == 1 { "1 thread".to_owned() } else { format!("{enough} threads") };
        let statement = format!(
            "One core streams {:.0} GB/s from node {}, {} the bandwidth of its {cores} cores together. More than {threads} of a \
             streaming program may gain little there.",
            one.gb_s.median,
            cost.node,
            effect.format_times()
        );
        let command = try_threads([enough, cores]);
        let advice = "Try it with fewer threads.";
        best = Some((enough, build_finding(all.cpus.clone(), statement, advice, Some(command), vec![effect])));
    }
    best.map(|(_, finding)| finding)
}

/// Tests whether both siblings of a core get more bandwidth than one.
fn siblings_finding(map: &MemoryMap, costs: &[MemoryNodeCost]) -> Option<Result<Finding, String>> {
    let cores = map.machine.objects_of(Level::Core);
    let (cost, both) = costs.iter().find_map(|cost| {
        let is_core = |cpus: &CpuSet| cpus.len() > 1 && cores.iter().any(|core| cpus.is_subset(core));
        Some((cost, cost.find_stream(StreamOperation::Read, is_core)?))
    })?;
    let one = cost.find_stream(StreamOperation::Read, |cpus| cpus.len() == 1)?;
    let effect = both.gb_s.ratio_against(&one.gb_s, "bandwidth", "one of them alone");
    let (cpus, times) = (&both.cpus, effect.format_times());
    if effect.low > MARGIN {
        return Some(Err(format!(
            "SMT siblings do not share their core's bandwidth: cpus {cpus} read {times} as much as one of them"
        )));
    }
    if effect.high > MARGIN {
        return None;
    }
    let statement =
        format!("SMT siblings share their core's bandwidth: cpus {cpus} read {times} as much as one of them.");
    let command = try_on(&[CpuSetName::OnePerCore.word().to_owned()]);
    Some(Ok(build_finding(cpus.clone(), statement, "Try one thread on each core.", Some(command), vec![effect])))
}

/// Reports the cost of small pages.
fn small_pages_finding(costs: &[MemoryNodeCost]) -> Option<Finding> {
    let near = |cost: &&MemoryNodeCost| cost.is_nearest && !cost.predicted;
    let huge = typical_cost(costs.iter().filter(near).filter_map(|cost| cost.huge_ns.as_ref()))?;
    let small = typical_cost(costs.iter().filter(near).filter_map(|cost| cost.small_ns.as_ref()))?;
    let effect = small.ratio_against(&huge, "latency", "huge pages");
    let statement = format!(
        "With small pages, loads that are spread over much memory take {:.0} ns instead of {:.0} with huge pages ({}).",
        small.median,
        huge.median,
        effect.format_times()
    );
    let cpus = costs.iter().fold(CpuSet::new(), |all, cost| all.union(&cost.initiator));
    let advice = "Let programs with much data use huge pages (madvise, or transparent_hugepage=always), and compare.";
    (effect.low > PAGES).then(|| build_finding(cpus, statement, advice, None, vec![effect]))
}

/// Reports the load at which the latency of a node rises.
fn under_load(conclusions: &MemoryConclusions) -> Option<Finding> {
    let load = conclusions.loads.iter().find(|load| load.knee.is_some())?;
    let (idle, knee) = (load.points.first()?, load.points.get(load.knee?)?);
    let effect = knee.ns.ratio_against(&idle.ns, "latency", "no load");
    let statement = format!(
        "While cpus {} read {:.0} GB/s from node {}, a load of cpu {} takes {:.0} ns instead of {:.0} ({}).",
        load.loaders,
        knee.gb_s,
        load.node,
        load.cpu,
        knee.ns.median,
        idle.ns.median,
        effect.format_times()
    );
    let advice = "Keep programs that stream away from the nodes of programs that wait for single loads.";
    Some(build_finding(load.loaders.clone(), statement, advice, None, vec![effect]))
}
