//! This machine as a source of answers: buffers on every node, threads on the visited cpus.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::scope;
use std::time::Duration;

use corewise_machine::suggested_command;
use corewise_machine::{CpuSet, Gap, Machine};
use corewise_model::artifact::ArtifactOrigin;
use corewise_model::clock::ClockRecord as ClockFacts;
use corewise_model::memory::plan::{MemoryPlan, MemoryReading, MemoryVisit};
use corewise_model::memory::{PageKind, StreamOperation};
use corewise_sys::clock::TickClock;
use corewise_sys::memory::{AvailableMemory, HUGE_PAGES_CURE, PageMemory, PageSize};

use super::{BUFFERS, MemoryVisitOutcome, MemoryVisitor, SHARE_OF_MEMORY};
use crate::probe::links::ClockWarmth;
use crate::probe::memory::{
    MemoryLoaders, PointerChain, StreamRequest, TimedLoads, measure_latency, measure_stream, run_on_cpu,
};
use crate::session::clock_facts;

/// Distance of elements in chains through memory: processors fetch lines in pairs.
const APART_BYTES: usize = 128;
/// Distance of elements in working sets: every line counts.
const LINE_BYTES: usize = 64;
/// Number of pages of a buffer that are looked up.
const PAGES_LOOKED_UP: usize = 1024;
/// Divisor of the initial free memory below which memory is short…
const LEAST_LEFT: u64 = 8;
/// …and swapped-out bytes since the start above which it is.
const SWAPPED_BYTES: u64 = 16 << 20;
/// Share in huge pages below which there is a gap.
const HUGE_ENOUGH: f64 = 0.9;

/// The machine that this process runs on.
#[derive(Debug)]
pub struct MeasuredMemory<'a> {
    clock: TickClock,
    warmth: ClockWarmth,
    seed: u64,
    stop: &'a AtomicBool,
    visit: Duration,
    before: Option<AvailableMemory>,
    nodes: BTreeMap<u32, NodeBuffers>,
    /// Gap for each node without buffers.
    missing: BTreeMap<u32, Gap>,
    /// Chain of working sets, and its cpu.
    working_set: Option<(u32, PointerChain)>,
    buffer_bytes: usize,
    /// Nearest node of each cpu with working sets; `None` if nodes cannot be chosen.
    nearest: BTreeMap<u32, Option<u32>>,
}

/// Buffers of a node.
#[derive(Debug)]
struct NodeBuffers {
    huge: PointerChain,
    small: PointerChain,
    stream: PageMemory,
}

impl<'a> MeasuredMemory<'a> {
    /// Returns the machine, with the seed of its chains.
    pub fn new(seed: u64, stop: &'a AtomicBool) -> Self {
        Self {
            clock: TickClock::calibrate_best(),
            warmth: ClockWarmth::default(),
            seed,
            stop,
            visit: Duration::ZERO,
            before: AvailableMemory::read_now(),
            nodes: BTreeMap::new(),
            missing: BTreeMap::new(),
            working_set: None,
            buffer_bytes: 0,
            nearest: BTreeMap::new(),
        }
    }

    fn measure_latency(&self, cpu: u32, chain: &mut PointerChain) -> io::Result<Option<TimedLoads>> {
        measure_latency(&self.clock, &self.warmth, cpu, chain, self.visit, self.stop)
    }

    fn measure_step(&mut self, cpu: u32, bytes: u64) -> io::Result<Option<MemoryReading>> {
        let (_, mut chain) = match self.working_set.take().filter(|(of, _)| *of == cpu) {
            Some(known) => known,
            None => {
                let node = self.nearest.get(&cpu).copied().flatten();
                (cpu, PointerChain::on_fresh_memory(self.buffer_bytes, node, PageSize::Huge, LINE_BYTES, self.seed)?)
            }
        };
        let stop = self.stop;
        let is_ready = run_on_cpu(cpu, || chain.resize_to(bytes as usize, stop))?;
        let loads = if is_ready { self.measure_latency(cpu, &mut chain)? } else { None };
        self.working_set = Some((cpu, chain));
        Ok(loads.map(|loads| MemoryReading { value: loads.ns, gigahertz: loads.gigahertz, load_gb_s: 0.0 }))
    }

    /// Calls a function with the buffers of a node.
    fn with_buffers<R>(
        &mut self,
        node: u32,
        work: impl FnOnce(&Self, &mut NodeBuffers) -> io::Result<R>,
    ) -> io::Result<R> {
        let mut buffers = self.nodes.remove(&node).ok_or_else(|| io::Error::other("it has no buffer"))?;
        let result = work(self, &mut buffers);
        self.nodes.insert(node, buffers);
        result
    }

    fn measure_visit(&mut self, visit: &MemoryVisit) -> io::Result<Option<MemoryReading>> {
        let plain = |value| MemoryReading { value, ..MemoryReading::default() };
        match visit {
            MemoryVisit::Step { cpu, bytes } => self.measure_step(*cpu, *bytes),
            MemoryVisit::Latency { cpu, node, pages } => self.with_buffers(*node, |this, buffers| {
                let chain = match pages {
                    PageKind::Huge => &mut buffers.huge,
                    PageKind::Small => &mut buffers.small,
                };
                Ok(this.measure_latency(*cpu, chain)?.map(|loads| plain(loads.ns)))
            }),
            MemoryVisit::Bandwidth { cpus, node, operation } => self.with_buffers(*node, |this, buffers| {
                let streams = StreamRequest { cpus, operation: *operation, length: this.visit };
                Ok(measure_stream(&this.clock, streams, buffers.stream.words_mut(), this.stop)?.map(plain))
            }),
            MemoryVisit::Loaded { cpu, node, pause_ns: None, .. } => self.with_buffers(*node, |this, buffers| {
                Ok(this.measure_latency(*cpu, &mut buffers.huge)?.map(|loads| plain(loads.ns)))
            }),
            MemoryVisit::Loaded { cpu, node, loaders, pause_ns: Some(pause_ns) } => {
                self.with_buffers(*node, |this, buffers| {
                    let loaders = MemoryLoaders { cpus: loaders, pause: Duration::from_nanos(*pause_ns) };
                    let (chain, words) = (&mut buffers.huge, &*buffers.stream.words_mut());
                    let load =
                        loaders.run_under_load(&this.clock, words, this.stop, || this.measure_latency(*cpu, chain))?;
                    Ok(load.result.map(|loads| MemoryReading { load_gb_s: load.gb_s, ..plain(loads.ns) }))
                })
            }
        }
    }

    /// Returns the maximum size in bytes of a node's buffer: a quarter of its free memory, and of its part of all free
    /// memory.
    fn buffer_limit(&self, node: u32, nodes: usize) -> u64 {
        let Some(free) = &self.before else { return u64::MAX };
        let part = |bytes: u64| (bytes as f64 / SHARE_OF_MEMORY as f64 / BUFFERS) as u64;
        // With a single node, more is available than is free: file caches are dropped for it.
        let own = free.nodes.get(&node).filter(|_| nodes > 1).map_or(u64::MAX, |bytes| part(*bytes));
        own.min(part(free.all_bytes / nodes.max(1) as u64))
    }
}

impl MemoryVisitor for MeasuredMemory<'_> {
    fn most_bytes(&self, machine: &Machine) -> u64 {
        let nodes: Vec<u32> =
            machine.nodes.iter().filter(|node| machine.has_memory(node)).map(|node| node.number).collect();
        let most = nodes.iter().map(|node| self.buffer_limit(*node, nodes.len())).max();
        // Whole pages of any size.
        most.unwrap_or_else(|| self.buffer_limit(0, 1)) >> 21 << 21
    }

    fn prepare_visits(&mut self, plan: &MemoryPlan, machine: &Machine, visit: Duration) -> Vec<Gap> {
        self.visit = visit;
        self.buffer_bytes = plan.buffer_bytes as usize;
        let can_name = machine.nodes.len() > 1;
        let near = |initiator| plan.nearest_node(machine, initiator);
        self.nearest = plan
            .initiators
            .iter()
            .flat_map(|initiator| initiator.cpus.iter().map(move |cpu| (cpu, can_name.then(|| near(initiator)))))
            .collect();
        let wanted: Vec<(u32, u32)> = plan
            .nodes
            .iter()
            .filter(|node| {
                let most = self.buffer_limit(**node, plan.nodes.len());
                let is_short = most < plan.buffer_bytes;
                if is_short {
                    let why =
                        format!("a quarter of its free memory holds no buffer of {} MiB", plan.buffer_bytes >> 20);
                    self.missing.insert(**node, Gap::new(format!("the memory of node {node}"), why));
                }
                !is_short
            })
            .filter_map(|node| {
                let by = plan.initiators.iter().find(|initiator| near(initiator) == *node);
                Some((*node, by.or_else(|| plan.initiators.first())?.cpu))
            })
            .collect();
        let (bytes, seed, stop) = (self.buffer_bytes, self.seed, self.stop);
        let made: Vec<(u32, io::Result<Option<NodeBuffers>>)> = scope(|scope| {
            let make = |&(node, cpu): &(u32, u32)| {
                let named = can_name.then_some(node);
                (node, scope.spawn(move || run_on_cpu(cpu, || NodeBuffers::new(bytes, named, seed, stop))?))
            };
            let threads: Vec<_> = wanted.iter().map(make).collect();
            let failed = || Err(io::Error::other("its thread ended too early"));
            threads.into_iter().map(|(node, thread)| (node, thread.join().unwrap_or_else(|_| failed()))).collect()
        });
        let mut gaps = Vec::new();
        for (node, buffers) in made {
            match buffers {
                Ok(Some(buffers)) => {
                    gaps.extend(buffers.list_gaps(node, can_name));
                    self.nodes.insert(node, buffers);
                }
                Ok(None) => {}
                Err(error) => {
                    self.missing.insert(node, Gap::new(format!("the memory of node {node}"), error.to_string()));
                }
            }
        }
        gaps.extend(self.missing.values().cloned());
        gaps
    }

    fn visit_memory(&mut self, visit: &MemoryVisit) -> MemoryVisitOutcome {
        if let Some(gap) = visit.needed_node().and_then(|node| self.missing.get(&node)) {
            return MemoryVisitOutcome::Failed(gap.clone());
        }
        match self.measure_visit(visit) {
            Ok(Some(seen)) => MemoryVisitOutcome::Seen(seen),
            Ok(None) if self.stop.load(Ordering::Relaxed) => MemoryVisitOutcome::Stopped,
            Ok(None) => MemoryVisitOutcome::Failed(Gap::new(describe_visit(visit), "another program kept the cpu")),
            Err(error) => MemoryVisitOutcome::Failed(Gap::new(describe_visit(visit), error.to_string())),
        }
    }

    fn reason_to_end(&mut self) -> Option<Gap> {
        let why = memory_shortage(self.before.as_ref()?, &AvailableMemory::read_now()?)?;
        let gap = Gap::new("the rest of the map", format!("{why}, so it was ended"));
        Some(gap.cured_by(format!("{}, when more memory is free", suggested_command::memory().shell_line())))
    }

    /// Pages may have been moved meanwhile, for instance by automatic balancing.
    fn finish_visits(&mut self) -> Vec<Gap> {
        let can_name = self.nodes.len() > 1 || self.nearest.values().any(Option::is_some);
        self.nodes.iter().flat_map(|(node, buffers)| buffers.find_misplaced(*node, can_name)).collect()
    }

    fn timing_clock(&self) -> Option<ClockFacts> {
        Some(clock_facts(&self.clock))
    }

    fn map_origin(&self) -> ArtifactOrigin {
        ArtifactOrigin::Measured
    }
}

impl NodeBuffers {
    /// Allocates the buffers of a node, filled by the calling thread; `None` if it was stopped.
    fn new(bytes: usize, node: Option<u32>, seed: u64, stop: &AtomicBool) -> io::Result<Option<Self>> {
        let mut huge = PointerChain::on_fresh_memory(bytes, node, PageSize::Huge, APART_BYTES, seed)?;
        let mut small = PointerChain::on_fresh_memory(bytes, node, PageSize::Small, APART_BYTES, !seed)?;
        let stream = PageMemory::map_untouched(bytes / 2, node, PageSize::Huge)?;
        const PIECE: usize = 16 << 20;
        for from in (0..stream.bytes()).step_by(PIECE) {
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            stream.touch_pages(from..from + PIECE);
        }
        let is_whole = huge.resize_to(bytes, stop) && small.resize_to(bytes, stop);
        Ok(is_whole.then_some(Self { huge, small, stream }))
    }

    /// Returns the deficiencies of fresh buffers.
    fn list_gaps(&self, node: u32, can_name: bool) -> Vec<Gap> {
        let mut gaps = self.find_misplaced(node, can_name);
        if let Some(share) = self.huge.huge_share().filter(|share| *share < HUGE_ENOUGH) {
            let why = format!("the system gave only {:.0} % of the buffer in them", 100.0 * share);
            gaps.push(Gap { cure: HUGE_PAGES_CURE.map(str::to_owned), ..Gap::new("latency in huge pages", why) });
        }
        gaps
    }

    /// Returns a gap if pages are on other nodes.
    fn find_misplaced(&self, node: u32, can_name: bool) -> Vec<Gap> {
        if !can_name {
            return Vec::new();
        }
        let look = |found: io::Result<BTreeMap<u32, usize>>| {
            let gap = |why: String| Some(Gap::new(format!("where the pages of node {node}'s buffer are"), why));
            match found {
                Err(error) => gap(format!("the system does not report it: {error}")),
                Ok(nodes) => {
                    let all: usize = nodes.values().sum();
                    let own = nodes.get(&node).copied().unwrap_or(0);
                    if own == all { None } else { gap(format!("{} of {all} pages are on other nodes", all - own)) }
                }
            }
        };
        let all = [
            self.huge.page_nodes(PAGES_LOOKED_UP),
            self.small.page_nodes(PAGES_LOOKED_UP),
            self.stream.page_nodes(PAGES_LOOKED_UP),
        ];
        all.into_iter().filter_map(look).take(1).collect()
    }
}

/// Compares the memory at the start and now; returns the reason if it is short.
fn memory_shortage(before: &AvailableMemory, now: &AvailableMemory) -> Option<&'static str> {
    match () {
        () if now.swapped_bytes > before.swapped_bytes + SWAPPED_BYTES => Some("the machine began to swap"),
        () if now.all_bytes < before.all_bytes / LEAST_LEFT => Some("free memory became short"),
        () => None,
    }
}

/// Describes the purpose of a visit.
fn describe_visit(visit: &MemoryVisit) -> String {
    let whose = |cpus: &CpuSet| format!("cpu{} {cpus}", if cpus.len() == 1 { "" } else { "s" });
    match visit {
        MemoryVisit::Step { cpu, .. } => format!("working sets of cpu {cpu}"),
        MemoryVisit::Latency { cpu, node, .. } => format!("latency of node {node} for cpu {cpu}"),
        MemoryVisit::Bandwidth { cpus, node, operation: StreamOperation::WritePast } => {
            format!("stores past the caches to node {node} by {}", whose(cpus))
        }
        MemoryVisit::Bandwidth { cpus, node, .. } => format!("bandwidth of node {node} for {}", whose(cpus)),
        MemoryVisit::Loaded { cpu, node, .. } => format!("node {node} under load, for cpu {cpu}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_before_the_machine_swaps() {
        let of = |free_mib: u64, swapped_mib: u64| AvailableMemory {
            all_bytes: free_mib << 20,
            swapped_bytes: swapped_mib << 20,
            ..AvailableMemory::default()
        };
        let before = of(8_000, 100);
        // Its own buffers take a quarter.
        assert_eq!(memory_shortage(&before, &of(6_000, 100)), None);
        assert_eq!(memory_shortage(&before, &of(1_001, 110)), None);
        assert_eq!(memory_shortage(&before, &of(999, 100)), Some("free memory became short"));
        assert_eq!(memory_shortage(&before, &of(6_000, 117)), Some("the machine began to swap"));
        assert_eq!(memory_shortage(&before, &of(8_000, 0)), None, "what comes back from swap is no trouble");
    }
}
