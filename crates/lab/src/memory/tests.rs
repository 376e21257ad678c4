use corewise_machine::machine_file;
use corewise_model::Artifact as _;
use corewise_model::finding::Finding;
use corewise_model::memory::StreamOperation;
use corewise_sys::affinity;

use super::*;

fn machine(name: &str) -> Machine {
    let found = machine_file::BUILT_IN.iter().find(|machine| machine.name == name).unwrap();
    found.read_machine().unwrap().machine
}

fn simulated(machine: Machine, seconds: u64) -> MemoryMap {
    let request = MemoryRequest {
        cpus: machine.allowed.clone(),
        budget: Duration::from_secs(seconds),
        buffer_bytes: None,
        seed: 1,
        corewise: "test",
    };
    let stop = AtomicBool::new(false);
    map_memory(&request, machine, &mut DescribedMemory::new("a test".into(), 1), &stop, &mut |_| {})
}

fn said<'a>(findings: &'a [Finding], words: &str) -> Option<&'a Finding> {
    findings.iter().find(|finding| finding.statement.contains(words))
}

#[test]
fn a_2990wx_says_what_its_dies_without_memory_cost() {
    let map = simulated(machine("threadripper-2990wx"), 60);
    assert_eq!((map.cells.len(), map.rounds, map.provenance.partial), (16, ROUNDS, false));
    map.check_loaded().unwrap();
    let shown = map.draw_conclusions();
    let poor = said(&shown.findings, "no memory of their own").unwrap();
    assert_eq!(poor.cpus.len(), 32);
    assert!(poor.effects[0].low > 1.3, "{poor:?}");
    assert!(said(&shown.findings, "Memory of another node").is_some());
    assert!(said(&shown.findings, "SMT siblings share").is_some());
    assert_eq!((shown.loads.len(), shown.levels[0].levels.len()), (2, 4));
    assert!(said(&shown.findings, "less bandwidth than the others").is_none());
}

#[test]
fn a_larger_cache_is_said_with_what_it_spares() {
    let shown = simulated(machine("ryzen-9-9950x3d"), 60).draw_conclusions();
    let larger = said(&shown.findings, "larger last-level cache").unwrap();
    assert_eq!(larger.cpus.to_string(), "0-7,16-23");
    assert!(said(&shown.findings, "another node").is_none());
    // In nanoseconds within both caches and in the first level, where the larger one's clock is lower, and in gigabytes a second from memory.
    let [within, first, bandwidth] = larger.effects.as_slice() else { panic!("{larger:?}") };
    assert!(within.low > 5.0 && first.low > 1.05 && first.high < 1.2, "{larger:?}");
    assert!(bandwidth.low < 1.0 && bandwidth.high > 1.0, "{larger:?}");
    for words in [
        "a load there costs 13 ns",
        "From the first level a load costs 1.09 ns there and 0.99 on cpus 8-15,24-31",
        "GB/s together",
    ] {
        assert!(larger.statement.contains(words), "{words} in {}", larger.statement);
    }
    assert_eq!(
        larger.command.as_ref().map(|command| command.shell_line()).as_deref(),
        Some("corewise try --on 0-7,16-23 --on 8-15,24-31 -- ./app")
    );
}

/// A machine of two packages, with last-level caches of eight cores and 32 MiB, and memory on each node.
fn sixteen_caches(nodes: u32) -> Machine {
    let distance = |from: u32, to: u32| match () {
        () if from == to => 10,
        () if from / (nodes / 2) == to / (nodes / 2) => 12,
        () => 32,
    };
    let distances: Vec<Vec<u32>> = (0..nodes).map(|from| (0..nodes).map(|to| distance(from, to)).collect()).collect();
    let text = format!(
        "name = \"x\"\ncpus = \"0-127\"\ncores = \"0 x128\"\npackages = \"0-63 x2\"\ndies = \"0-7 x16\"\n\
         caches = [{{ cache = \"L2\", size = \"1 MiB\", per = \"core\" }}, {{ cache = \"L3\", size = \"32 MiB\", per = \"die\" }}]\n\
         nodes = [{{ cpus = \"0-{} x{nodes}\", memory = \"64 GiB\" }}]\ndistances = {distances:?}\n",
        128 / nodes - 1
    );
    machine_file::parse(&text).unwrap().machine
}

/// By the time model every cell of sixteen caches on eight nodes is measured in ninety seconds, with an interval.
#[test]
fn sixteen_caches_on_eight_nodes_fit_into_ninety_seconds() {
    let map = simulated(sixteen_caches(8), 90);
    assert_eq!((map.cells.len(), map.curves.len()), (128, 8));
    // The visit that was being made when the time was over is made to its end.
    let most_s = 90.0 + VISIT.as_secs_f64();
    assert!(map.provenance.elapsed_s <= most_s && !map.provenance.partial, "{} s", map.provenance.elapsed_s);
    assert!(map.rounds >= ROUNDS_WITH_INTERVALS, "{} rounds", map.rounds);
    let shown = map.draw_conclusions();
    assert!(shown.costs.iter().all(|cost| cost.huge_ns.is_some() && !cost.predicted));
    assert!(shown.held_out.is_none(), "nothing is predicted");
}

/// More cells are predicted, and what is predicted is near what was measured.
#[test]
fn large_machines_fit_into_their_time_and_what_is_predicted_is_near() {
    for large in [sixteen_caches(16), machine("simulated-1536-cpus")] {
        let map = simulated(large, 90);
        let (elapsed_s, rounds) = (map.provenance.elapsed_s, map.rounds);
        assert!(elapsed_s <= 90.5 && rounds >= 1, "{elapsed_s} s, {rounds} rounds");
        let shown = map.draw_conclusions();
        assert!(shown.costs.iter().any(|cost| cost.predicted) && shown.costs.iter().all(|cost| cost.huge_ns.is_some()));
        let held_out = shown.held_out.unwrap();
        assert!(held_out.median <= 0.03, "{held_out:?}");
        assert!(said(&shown.findings, "Memory of another node").is_some(), "{:?}", shown.findings);
    }
}

/// A guest to which a cache is reported that it does not have.
#[test]
fn a_cache_that_is_reported_and_not_there_is_said() {
    let mut machine = machine("fx-8150");
    let real = machine.llcs[0].size_bytes.unwrap();
    assert!(said(&simulated(machine.clone(), 60).draw_conclusions().findings, "The system reports").is_none());
    machine.llcs[0].size_bytes = Some(8 * real);
    let shown = simulated(machine, 60).draw_conclusions();
    let larger = said(&shown.findings, "The system reports a last-level cache of 64 MiB, but from 12 MiB on").unwrap();
    assert!(larger.effects[0].low > 2.0, "{larger:?}");
}

/// A swapped matrix would call the own node far.
#[test]
fn what_is_near_costs_less_on_every_simulated_machine() {
    for name in ["simulated-2-packages", "simulated-sparse", "threadripper-2990wx"] {
        let shown = simulated(machine(name), 60).draw_conclusions();
        for cost in shown.costs.iter().filter(|cost| cost.own_node == Some(cost.node)) {
            let far = shown.costs.iter().filter(|far| far.initiator == cost.initiator && far.node != cost.node);
            assert!(far.into_iter().all(|far| far.huge_ns.unwrap().median > cost.huge_ns.unwrap().median), "{name}");
        }
    }
}

#[test]
fn a_map_that_is_stopped_at_once_is_partial_and_empty() {
    let machine = machine("fx-8150");
    let request = MemoryRequest {
        cpus: machine.allowed.clone(),
        budget: Duration::from_secs(60),
        buffer_bytes: Some(1 << 20),
        seed: 1,
        corewise: "test",
    };
    let stop = AtomicBool::new(true);
    let map = map_memory(&request, machine, &mut DescribedMemory::new("a test".into(), 1), &stop, &mut |_| {});
    assert!(map.provenance.partial && map.is_empty());
}

/// A buffer that fits into a cache is no memory, and this is said; every part is measured all the same.
#[test]
fn this_machine_is_measured_with_a_small_buffer() {
    let root = corewise_sys::Root::this_machine();
    let machine = corewise_sys::topology::read_machine(&root).unwrap();
    let cpus = affinity::current_affinity().unwrap();
    let request =
        MemoryRequest { cpus, budget: Duration::from_secs(1), buffer_bytes: Some(4 << 20), seed: 1, corewise: "test" };
    let stop = AtomicBool::new(false);
    let map = map_memory(&request, machine, &mut MeasuredMemory::new(1, &stop), &stop, &mut |_| {});
    assert_eq!(map.buffer_bytes, 4 << 20);
    map.check_loaded().unwrap();
    let failed: Vec<&Gap> = map.gaps.iter().filter(|gap| gap.what.contains("the memory of node")).collect();
    assert!(failed.is_empty(), "{failed:?}");
    assert!(map.staircases.iter().flat_map(|staircase| &staircase.steps).any(|step| !step.visits_ns.is_empty()));
    if map.rounds > 0 {
        let streams: Vec<StreamOperation> = map.cells[0].bandwidth.iter().map(|stream| stream.operation).collect();
        assert!(StreamOperation::ALL.iter().all(|operation| streams.contains(operation)));
    }
}
