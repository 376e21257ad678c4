//! What the pages of these tests show: simulated results with fixed seeds, whose truth is known.

use std::path::{Path, PathBuf};

use corewise_lab::experiment::create_experiment;
use corewise_machine::random::RandomGenerator;
use corewise_machine::{CpuSet, Machine, generate, machine_file};
use corewise_model::Survey;
use corewise_model::artifact::ArtifactOrigin;
use corewise_model::experiment_record::ExperimentRecord;
use corewise_model::links::LinkMap;
use corewise_model::memory::MemoryMap;
use corewise_model::sample::{MetricKind, MetricSource};
use corewise_model::simulate::{self, CpuTruth, MachineNoise};
use corewise_model::trial::{
    ArmMemory, LiveSource, LiveWorkload, PlacementArm, RolePlace, ServiceParts, SuitePart, ThreadRole, Trial,
    TrialMetric, TrialObservations, TrialOutcome, TriedWorkload, WorkloadService, policy_of_slots,
};
use corewise_statistics::experiment::JudgingPolicy;
use corewise_store::ArtifactStore;

use crate::support::TestPlace;

/// A name that would do something on a page that does not escape, and that would turn what follows around.
pub const HOSTILE: &str = "</script><img src=x onerror=alert(1)>&<b>\"'\u{202e}\u{2066}";
/// The first of some days in a row, in milliseconds since 1970-01-01 UTC.
const FIRST_DAY: i64 = 1_760_000_000_000;
const DAY: i64 = 86_400_000;

/// A survey of a machine with this number of cpus.
pub fn survey(cpus: u32, seed: u64) -> Survey {
    let machine = generate::one_package_machine(cpus, false, &[(CpuSet::first_cpus(cpus), 32)]);
    survey_of(machine, if cpus > 32 { 6 } else { 24 }, seed, 120.0)
}

/// A survey of a machine whose first core is interrupted so often a second, and the others 40 times.
fn survey_of(machine: Machine, rounds: u32, seed: u64, of_first: f64) -> Survey {
    let first = machine.cores[0].cpus.clone();
    let truth = |cpu| {
        let (interrupts_per_s, lost) = if first.contains(cpu) { (of_first, 0.004) } else { (40.0, 0.001) };
        CpuTruth { piece_ns: 260.0, interrupts_per_s, lost }
    };
    let mut survey = simulate::simulate_survey(machine, rounds, seed, MachineNoise::Quiet, truth);
    for seen in &mut survey.cpus {
        (0..20_000_u64)
            .for_each(|piece| seen.tail.record_ticks(250 + (piece * 7 + seed) % 13 + (piece % 97).pow(2) * 2));
    }
    survey.links = simulate::simulate_links(&survey.machine, seed, cost);
    survey.provenance.origin = ArtifactOrigin::Measured;
    survey
}

/// What a line costs one way, by how near two cpus are.
fn cost(relation: corewise_model::links::CpuRelation) -> f64 {
    use corewise_model::links::CpuRelation::{SameCluster, SameCore, SameLlc};
    match relation {
        SameCore => 8.0,
        SameCluster | SameLlc => 24.0,
        _ => 92.0,
    }
}

/// An experiment of so many blocks in which the candidate is 8 % better.
pub fn experiment(blocks: u32, name: &str) -> ExperimentRecord {
    experiment_on(generate::one_package_machine(4, false, &[(CpuSet::first_cpus(4), 32)]), blocks, name)
}

/// The same on a machine.
pub fn experiment_on(machine: Machine, blocks: u32, name: &str) -> ExperimentRecord {
    let workload =
        TriedWorkload::new(vec!["./program".to_owned(), name.to_owned()], "/".into(), TrialMetric::wall_time());
    conducted(
        machine,
        workload,
        &[(default(), 1.0), (PlacementArm::new(name, Some(CpuSet::from_cpu(1)), "a test"), 0.92)],
        blocks,
    )
}

fn default() -> PlacementArm {
    PlacementArm::new("OS default", None, "the baseline")
}

/// An experiment whose arms truly have these values.
fn conducted(machine: Machine, workload: TriedWorkload, arms: &[(PlacementArm, f64)], blocks: u32) -> ExperimentRecord {
    let mut random = RandomGenerator::new(u64::from(blocks));
    let trials = (1..=blocks).flat_map(|block| (0..arms.len()).map(move |arm| (block, arm)));
    let trials = trials.map(|(block, arm)| {
        let value = arms[arm].1 * (0.008 * random.next_normal()).exp();
        let observed = TrialObservations {
            wall_s: value,
            user_s: value,
            peak_memory_bytes: 1 << 24,
            used: CpuSet::from_cpu(1),
            halves: workload.live.as_ref().map(|_| [value * 1.001, value * 0.999]),
            ..TrialObservations::default()
        };
        let started_unix_ms = FIRST_DAY + (i64::from(block) * arms.len() as i64 + arm as i64) * 1_000;
        Trial {
            started_unix_ms,
            boot: Some(1),
            observed,
            ..Trial::new(block, arm as u32, arm, TrialOutcome::Value(value))
        }
    });
    let trials = trials.collect();
    let policy =
        if workload.live.is_some() { policy_of_slots(&JudgingPolicy::default()) } else { JudgingPolicy::default() };
    let arms = arms.iter().map(|(arm, _)| arm.clone()).collect();
    let mut experiment = create_experiment("0.1.0", machine, workload, arms, policy, Some(7));
    experiment.started_unix_ms = FIRST_DAY;
    ExperimentRecord { experiment, trials }
}

/// The machine that `crates/machine/machines` describes by this name.
pub fn described(name: &str) -> Machine {
    let text = std::fs::read_to_string(root().join(format!("crates/machine/machines/{name}.toml"))).unwrap();
    let mut machine = machine_file::parse(&text).unwrap().machine;
    machine.system.kernel = Some("7.1.0".to_owned());
    machine
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn cpus(text: &str) -> CpuSet {
    text.parse().unwrap()
}

/// A program that wants memory of its own on a Threadripper 2990WX, where half of the cpus have none.
pub fn of_threadripper(blocks: u32, with_memory_s: f64) -> ExperimentRecord {
    let arm = |name: &str, on: &str| PlacementArm::new(name, Some(cpus(on)), "a test");
    let arms = [
        (default(), 10.4),
        (arm("all - core:0", "2-63"), 10.38),
        (arm("node:0,2", "0-15,32-47"), with_memory_s),
        (arm("node:1,3", "16-31,48-63"), 13.1),
        (
            arm(
                "spread(32,core)",
                "0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34,36,38,40,42,44,46,48,50,52,54,56,58,60,62",
            ),
            10.9,
        ),
    ];
    let command = ["./solver", "--grid", "512"].map(str::to_owned);
    conducted(
        described("threadripper-2990wx"),
        TriedWorkload::new(command.into(), "/".into(), TrialMetric::wall_time()),
        &arms,
        blocks,
    )
}

/// The benchmarks of one session of a suite.
pub fn suite() -> Vec<ExperimentRecord> {
    let benchmarks = [
        ("compress", "archive", 0.97),
        ("unpack", "archive", 1.002),
        ("encode", "video", 0.81),
        ("decode", "video", 1.06),
    ];
    let made = benchmarks.map(|(benchmark, category, with)| {
        let arms = [
            (default(), 2.0),
            (PlacementArm::new("all - core:0", Some(cpus("2-31")), "a test"), 2.0),
            (PlacementArm::new("llc:0", Some(cpus("0-15")), "a test"), 2.0 * with),
        ];
        let command = vec![format!("./{benchmark}"), "sample".to_owned()];
        let workload = TriedWorkload::new(command, "/".into(), TrialMetric::wall_time());
        let mut made = conducted(described("ryzen-9-9950x3d"), workload, &arms, 12);
        made.experiment.suite = Some(SuitePart {
            suite: "review".to_owned(),
            begun_unix_ms: FIRST_DAY,
            benchmark: benchmark.to_owned(),
            category: category.to_owned(),
            setup: None,
            policy: JudgingPolicy::default(),
        });
        made
    });
    made.into()
}

/// A trial of running processes, whose threads have roles.
pub fn live() -> ExperimentRecord {
    let reading = Some(MetricSource { kind: MetricKind::Rate, series: Some("queries_total".to_owned()) });
    let metric = TrialMetric { name: "queries_total".to_owned(), pattern: None, higher_is_better: true, reading };
    let live = LiveWorkload {
        processes: Vec::new(),
        matches: vec!["exe=*/redis-server".to_owned()],
        source: LiveSource::Page("http://localhost:9121/metrics".to_owned()),
        slot_s: 0.3,
        limits: Vec::new(),
    };
    let io = ThreadRole { name: "io".to_owned(), pattern: "^io_thd".to_owned() };
    let workload = TriedWorkload {
        live: Some(live),
        thread_roles: vec![io],
        ..TriedWorkload::new(vec!["/usr/bin/redis-server".to_owned()], "/".into(), metric)
    };
    let role = |role: &str, on: &str| RolePlace {
        role: role.to_owned(),
        expression: on.to_owned(),
        cpus: cpus(on),
        memory: None,
    };
    let roles = vec![role("io", "8-9"), role("rest", "0-7")];
    let arm = PlacementArm { roles, ..PlacementArm::new("io=8-9, rest=0-7", Some(cpus("0-9")), "a test") };
    conducted(described("ryzen-9-9950x3d"), workload, &[(default(), 90_000.0), (arm, 97_000.0)], 40)
}

/// A server and its load, with roles and memory policies.
pub fn parts(name: &str) -> ExperimentRecord {
    let mut made = experiment(20, "server=0@bind:0, load=1");
    let service = WorkloadService {
        name: "server".to_owned(),
        start: format!("./server {name}"),
        ready: Some("./ask".to_owned()),
    };
    made.experiment.workload.parts =
        Some(ServiceParts { services: vec![service], keep_started: false, ready_within_s: 30.0 });
    let memory = Some(ArmMemory { policy: "bind:0".to_owned(), nodes: CpuSet::from_cpu(0) });
    let place = |role: &str, cpu: u32, memory| RolePlace {
        role: role.to_owned(),
        expression: cpu.to_string(),
        cpus: CpuSet::from_cpu(cpu),
        memory,
    };
    made.experiment.arms[1].roles = vec![place("server", 0, memory), place("load", 1, None)];
    made
}

/// One to eight threads, pinned and not, of a program that a sixteenth of keeps from scaling.
pub fn threads() -> ExperimentRecord {
    let machine = generate::one_package_machine(8, false, &[(CpuSet::first_cpus(8), 32)]);
    let seconds = |threads: u32, pinned: bool| {
        let shared = 1.0 / 16.0;
        (shared + (1.0 - shared) / f64::from(threads)) * if pinned { 0.96 } else { 1.0 }
    };
    let arm = |threads: u32, pinned: bool| {
        let on = pinned.then(|| CpuSet::first_cpus(threads));
        let name = if pinned { format!("{threads} threads, pinned") } else { format!("{threads} threads") };
        (PlacementArm { threads: Some(threads), ..PlacementArm::new(name, on, "a test") }, seconds(threads, pinned))
    };
    let order = [(8, false), (1, false), (2, false), (4, false), (1, true), (2, true), (4, true), (8, true)];
    let workload = TriedWorkload {
        threads_as: vec!["OMP_NUM_THREADS".to_owned()],
        ..TriedWorkload::new(vec!["./app".to_owned()], "/".into(), TrialMetric::wall_time())
    };
    conducted(machine, workload, &order.map(|(threads, pinned)| arm(threads, pinned)), 12)
}

/// A map of links and one of memory, as the program simulates them of the Threadripper 2990WX.
fn maps(place: &TestPlace) -> (LinkMap, MemoryMap) {
    let store = place.path().join("simulated.db");
    let machine = described("threadripper-2990wx");
    let relations = corewise_model::links::CpuRelationTable::new(&machine);
    let cell = |a: u32, b: u32| {
        let relation = relations.relation_between(a, b).unwrap();
        format!("{:.0}", cost(relation) + f64::from((a * 7 + b * 3) % 5))
    };
    let row = |a: u32| (0..a).map(|b| cell(a, b)).collect::<Vec<_>>().join(",") + ",\n";
    std::fs::write(place.path().join("2990wx.csv"), (0..64).map(row).collect::<String>()).unwrap();
    let links = ["links", "--simulate", "2990wx.csv", "--machine", "threadripper-2990wx", "--seed", "1"];
    crate::printed(place, &store, &links);
    crate::printed(place, &store, &["memory", "--simulate", "2990wx", "--seed", "1"]);
    let store = ArtifactStore::open(&store).unwrap();
    let (mut links, mut memory): (LinkMap, MemoryMap) =
        (store.get_artifact(1).unwrap(), store.get_artifact(2).unwrap());
    // Pages are the same whenever they are made.
    for provenance in [&mut links.provenance, &mut memory.provenance] {
        provenance.started_unix_ms = FIRST_DAY;
    }
    (links, memory)
}

/// A history with a survey, an experiment, and a second survey.
pub fn history(place: &TestPlace) -> PathBuf {
    let path = place.path().join("history.db");
    let mut store = ArtifactStore::open(&path).unwrap();
    assert_eq!(store.add_artifact(&survey(4, 1)).unwrap(), 1);
    assert_eq!(store.add_artifact(&experiment(20, "1")).unwrap(), 2);
    assert_eq!(store.add_artifact(&survey(4, 2)).unwrap(), 3);
    path
}

/// A history with something of every kind, and the numbers that a page of everything is made of.
pub struct Everything {
    pub store: PathBuf,
    /// Surveys of one machine on days in a row.
    pub surveys: Vec<i64>,
    /// Experiments on one command on days in a row.
    pub experiments: Vec<i64>,
    pub suite: Vec<i64>,
    pub live: i64,
    pub parts: i64,
    pub threads: i64,
    pub tail: i64,
    pub links: i64,
    pub memory: i64,
}

impl Everything {
    pub fn new(place: &TestPlace) -> Self {
        let path = place.path().join("everything.db");
        let mut store = ArtifactStore::open(&path).unwrap();
        let machine = |day: i64| {
            let mut machine = described("threadripper-2990wx");
            machine.system.kernel = Some(if day < 3 { "7.1.0" } else { "7.2.0" }.to_owned());
            machine
        };
        let survey = |day: i64| {
            let mut survey = survey_of(machine(day), 8, day as u64 + 1, 300.0 + 40.0 * day as f64);
            survey.provenance.started_unix_ms = FIRST_DAY + day * DAY;
            survey.links.pairs.truncate(if day == 4 { usize::MAX } else { 0 });
            survey
        };
        let experiment = |day: i64| {
            let mut made = of_threadripper(10, if day < 3 { 8.1 } else { 9.6 });
            made.experiment.machine = machine(day);
            made.experiment.started_unix_ms = FIRST_DAY + day * DAY;
            made
        };
        let surveys = (0..5).map(|day| store.add_artifact(&survey(day)).unwrap()).collect();
        let experiments = (0..5).map(|day| store.add_artifact(&experiment(day)).unwrap()).collect();
        let (links, memory) = maps(place);
        let mut tail = self::survey(2, 9);
        tail.provenance.scope = corewise_model::survey::SurveyScope::Tail;
        Self {
            surveys,
            experiments,
            suite: suite().iter().map(|made| store.add_artifact(made).unwrap()).collect(),
            live: store.add_artifact(&live()).unwrap(),
            parts: store.add_artifact(&parts("<1>")).unwrap(),
            threads: store.add_artifact(&threads()).unwrap(),
            tail: store.add_artifact(&tail).unwrap(),
            links: store.add_artifact(&links).unwrap(),
            memory: store.add_artifact(&memory).unwrap(),
            store: path,
        }
    }
}
