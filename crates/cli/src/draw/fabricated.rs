//! Machines and surveys made by hand for the tests of the views, from published facts where a real machine is meant.

use corewise_machine::counts::{Count, Counted};
use corewise_machine::facts::{CacheKind, CoreType};
use corewise_machine::machine::{Cache, Kind, Llc, Node, Object, Processor, System};
use corewise_machine::suggested_command;
use corewise_machine::thread::ThreadUse;
use corewise_machine::{CpuSet, Gap, Machine};
use corewise_model::Survey;
use corewise_model::clock::Clock;
use corewise_model::finding::{Effect, Finding, Topic};
use corewise_model::histogram::Histogram;
use corewise_model::links::map::{LinkMap, Origin, Provenance as MapProvenance, Series, Spoiled, Unit};
use corewise_model::links::{Links, Pair, Relation, What, classes};
use corewise_model::survey::conclude::{Answer, Conclusions, FirstCpu};
use corewise_model::survey::{
    CpuObservation, CpuRound, Frequency, FrequencySource, Provenance, Scope, Tail, Work, WorkKind,
};

/// The cpus of a kernel list.
pub fn list(text: &str) -> CpuSet {
    CpuSet::parse_list(text).expect("a list in a test is right")
}

/// How a fabricated machine is built: packages of last-level caches of cores, siblings numbered after all cores.
#[derive(Clone, Copy)]
pub struct Shape {
    pub name: &'static str,
    pub packages: u32,
    pub llcs_each: u32,
    pub cores_each: u32,
    pub threads: u32,
    pub llc_bytes: u64,
}

impl Shape {
    /// The machine of this shape: one node for each package, an L2 of 1 MB for each core.
    pub fn machine(self) -> Machine {
        let llcs = self.packages * self.llcs_each;
        let cores = llcs * self.cores_each;
        let core = |index: u32| (0..self.threads).map(move |thread| index + thread * cores).collect::<CpuSet>();
        let span =
            |from: u32, count: u32| (from..from + count).flat_map(|c| core(c).iter().collect::<Vec<_>>()).collect();
        let object = |cpus: CpuSet, number: u32| Object { os_number: Some(number.into()), cpus };
        let per_package = self.llcs_each * self.cores_each;
        let packages: Vec<Object> = (0..self.packages).map(|p| object(span(p * per_package, per_package), p)).collect();
        let all_cores: Vec<Object> = (0..cores).map(|c| object(core(c), c)).collect();
        let llc = |index: u32| Llc {
            level: Some(3),
            size_bytes: Some(self.llc_bytes),
            vcache: false,
            cpus: span(index * self.cores_each, self.cores_each),
        };
        let llcs: Vec<Llc> = (0..llcs).map(llc).collect();
        let node = |(number, package): (usize, &Object)| Node {
            number: number as u32,
            cpus: package.cpus.clone(),
            memory_bytes: Some(64 << 30),
            distances: (0..packages.len()).map(|other| if other == number { 10 } else { 32 }).collect(),
            ..Node::default()
        };
        let online = CpuSet::first(cores * self.threads);
        Machine {
            processor: Processor {
                model_name: Some(self.name.into()),
                vendor: Some("AuthenticAMD".into()),
                family: Some(0x1a),
                model: Some(0x44),
                stepping: Some(0),
                microcode: Some("0xb404032".into()),
            },
            system: System {
                architecture: Some("x86_64".into()),
                kernel: Some("6.18.2".into()),
                hypervisor: None,
                emulated: false,
                governors: vec!["performance".into()],
                ..System::default()
            },
            possible: online.clone(),
            present: online.clone(),
            allowed: online.clone(),
            online,
            nodes: packages.iter().enumerate().map(node).collect(),
            dies: packages.clone(),
            packages,
            caches: caches(&all_cores, &llcs),
            llcs,
            clusters: all_cores.clone(),
            cores: all_cores,
            ..Machine::default()
        }
    }
}

fn caches(cores: &[Object], llcs: &[Llc]) -> Vec<Cache> {
    let of = |level, kind, size: u64| {
        let cache = move |core: &Object| Cache { level, kind, size_bytes: Some(size), cpus: core.cpus.clone() };
        cores.iter().map(cache).collect::<Vec<_>>()
    };
    let last = llcs.iter().map(|llc| Cache {
        level: 3,
        kind: CacheKind::Unified,
        size_bytes: llc.size_bytes,
        cpus: llc.cpus.clone(),
    });
    let mut caches = of(1, CacheKind::Data, 48 << 10);
    caches.extend(of(1, CacheKind::Instruction, 32 << 10));
    caches.extend(of(2, CacheKind::Unified, 1 << 20));
    caches.extend(last);
    caches
}

/// A virtual machine with one core of two cpus.
pub fn small_guest() -> Machine {
    let shape = Shape {
        name: "Intel(R) Xeon(R) Processor @ 2.60GHz",
        packages: 1,
        llcs_each: 1,
        cores_each: 1,
        threads: 2,
        llc_bytes: 32 << 20,
    };
    let mut machine = shape.machine();
    machine.system.hypervisor = Some("KVM".into());
    machine.gaps = vec![Gap::new("cpu frequency limits", "the kernel has no cpufreq here")];
    machine
}

/// The 9950X3D of "Is Core 0 Sabotaging Your Performance?": 16 cores, stacked cache on the first die.
pub fn ryzen_9950x3d() -> Machine {
    let shape = Shape {
        name: "AMD Ryzen 9 9950X3D 16-Core Processor",
        packages: 1,
        llcs_each: 2,
        cores_each: 8,
        threads: 2,
        llc_bytes: 32 << 20,
    };
    let mut machine = shape.machine();
    machine.llcs[0].vcache = true;
    machine.llcs[0].size_bytes = Some(96 << 20);
    machine
}

/// Two packages of 16 dies of 8 cores with 2 threads: 512 cpus.
pub fn large() -> Machine {
    let shape = Shape {
        name: "AMD EPYC 9755 128-Core Processor",
        packages: 2,
        llcs_each: 16,
        cores_each: 8,
        threads: 2,
        llc_bytes: 32 << 20,
    };
    shape.machine()
}

/// How a fabricated cpu behaves.
#[derive(Clone, Copy)]
pub struct Habit {
    pub p50_ns: f64,
    pub gigahertz: f64,
    pub interrupts: u64,
    /// Long pieces of a visit: one of `stall_ns`, the next of twice that, and so on.
    pub stalls: u64,
    pub stall_ns: f64,
    /// Timed pieces of a visit.
    pub pieces: u64,
}

/// Timed pieces of a visit of most fabricated cpus.
const PIECES: u64 = 5000;
const ROUNDS: u32 = 8;
/// How long a visit takes; a million pieces of 261 ns take as long, the article's counts are for that.
const VISIT_S: f64 = 0.27;
const TICK_NS: f64 = 0.25;

fn observation(cpu: u32, habit: Habit, source: FrequencySource) -> CpuObservation {
    let mut tail = Histogram::new(TICK_NS);
    let ticks = |ns: f64| (ns / TICK_NS) as u64;
    let mut rounds = Vec::new();
    for round in 0..ROUNDS {
        // A round is a little faster or slower than the next, so that spreads are not zero.
        let drift = 1.0 + 0.001 * f64::from(round % 3);
        let mut visit = Histogram::new(TICK_NS);
        for piece in 0..habit.pieces - habit.stalls {
            visit.record(ticks(habit.p50_ns * drift) + if piece % 50 == 0 { 40 } else { 0 });
        }
        for stall in 0..habit.stalls {
            visit.record(ticks(habit.stall_ns * (1.0 + stall as f64)));
        }
        tail.merge(&visit);
        let count = |source: &str, count| Count { source: source.into(), count };
        let counted = |sources| Some(Counted { elapsed_s: VISIT_S, sources, time_s: None });
        let device = habit.interrupts.saturating_sub(27);
        rounds.push(CpuRound {
            round,
            place: cpu % 7,
            elapsed_s: VISIT_S,
            tail: Tail::of(&visit, TICK_NS),
            frequency: Some(Frequency { gigahertz: habit.gigahertz * drift, source }),
            interrupts: counted(
                [count("LOC", habit.interrupts - device), count("77 nvme0q1", device)]
                    .into_iter()
                    .filter(|count| count.count > 0)
                    .collect(),
            ),
            softirqs: counted(vec![count("TIMER", 12), count("SCHED", 3)]),
            thread: ThreadUse {
                user_s: VISIT_S * 0.985,
                system_s: VISIT_S * 0.01,
                off_cpu_s: VISIT_S * 0.005,
                voluntary_switches: 0,
                involuntary_switches: u64::from(round == 0),
            },
            stolen_s: None,
        });
    }
    CpuObservation { cpu, tail, rounds, stalls: None }
}

fn provenance(rounds: u32, elapsed_s: f64) -> Provenance {
    Provenance {
        scope: Scope::Machine,
        corewise: "0.1.0".into(),
        started_unix_ms: 1_763_700_000_000,
        elapsed_s,
        budget_s: 30.0,
        seed: 42,
        rounds,
        partial: false,
        others_busy: Some(0.01),
    }
}

fn survey(machine: Machine, cpus: Vec<CpuObservation>, links: Links) -> Survey {
    Survey {
        provenance: provenance(ROUNDS, 30.0),
        machine,
        clock: Clock {
            source: "invariant TSC".into(),
            nanoseconds_per_tick: TICK_NS,
            reading_ns: 9.0,
            step_ns: TICK_NS,
        },
        work: Work { kind: WorkKind::Compute, additions: 1400, overhead_ns: 21.0 },
        cpus,
        links,
        ..Survey::default()
    }
}

/// Every pair of the cpus, at the cost that its relation has.
pub fn links(machine: &Machine, cpus: &[u32], cost_ns: fn(Relation) -> f64) -> Links {
    let mut pairs = Vec::new();
    for (place, &a) in cpus.iter().enumerate() {
        for &b in &cpus[place + 1..] {
            let cost = Relation::of(machine, a, b).map_or(f64::NAN, cost_ns) + f64::from((a * 7 + b * 3) % 5) * 0.4;
            pairs.push(Pair::new(a, b, vec![cost, cost + 0.5, cost - 0.5]));
        }
    }
    Links { possible_pairs: pairs.len() as u64, pairs, gaps: Vec::new() }
}

fn cost(relation: Relation) -> f64 {
    match relation {
        Relation::SameCore => 7.0,
        Relation::SameCluster => 15.0,
        Relation::SameLlc | Relation::SameLlcOtherNode => 18.0,
        Relation::OtherLlc | Relation::OtherDie | Relation::OtherNode => 80.0,
        Relation::OtherPackage => 190.0,
    }
}

/// The survey of the 2-cpu guest: nothing differs, and the hypervisor takes some time.
pub fn small_guest_survey() -> Survey {
    let machine = small_guest();
    let habit = Habit { p50_ns: 271.0, gigahertz: 2.6, interrupts: 25, stalls: 4, stall_ns: 6400.0, pieces: PIECES };
    let mut cpus: Vec<_> = (0..2).map(|cpu| observation(cpu, habit, FrequencySource::Estimate)).collect();
    for round in cpus.iter_mut().flat_map(|cpu| &mut cpu.rounds) {
        round.stolen_s = Some(0.02 * VISIT_S);
    }
    let links = links(&machine, &[0, 1], cost);
    let mut survey = survey(machine, cpus, links);
    survey.gaps = vec![Gap::new("hardware counters", "this machine shows no PMU")];
    survey
}

/// The survey of the article's 9950X3D: figures of its tables, tails of about the shape it tells of.
pub fn ryzen_survey() -> Survey {
    let machine = ryzen_9950x3d();
    let habit = |cpu: u32| match cpu {
        0 => Habit { p50_ns: 261.0, gigahertz: 5.33, interrupts: 111, stalls: 4, stall_ns: 5600.0, pieces: PIECES },
        1..=7 | 16..=23 => Habit {
            p50_ns: 261.0,
            gigahertz: 5.54,
            interrupts: 40 + u64::from(cpu % 5),
            stalls: 1,
            stall_ns: 900.0,
            pieces: PIECES,
        },
        _ => Habit {
            p50_ns: 251.0,
            gigahertz: 5.69,
            interrupts: 33 + u64::from(cpu % 4),
            stalls: 1,
            stall_ns: 850.0,
            pieces: PIECES,
        },
    };
    let cpus = machine.online.iter().map(|cpu| observation(cpu, habit(cpu), FrequencySource::Cycles)).collect();
    let all: Vec<u32> = machine.online.iter().collect();
    let links = links(&machine, &all, cost);
    survey(machine, cpus, links)
}

/// What is to be concluded from [`ryzen_survey`], in words like those that corewise uses.
pub fn ryzen_conclusions(survey: &Survey) -> Conclusions {
    let effect = |quantity: &str, ratio: f64, low: f64, high: f64| Effect {
        quantity: quantity.into(),
        against: "median cpu".into(),
        ratio,
        low,
        high,
        p_value: Some(0.0004),
    };
    let finding = |topic, cpus: &str, statement: &str, advice: &str, command, effect| Finding {
        topic,
        cpus: list(cpus),
        statement: statement.into(),
        advice: advice.into(),
        command,
        effects: vec![effect],
    };
    Conclusions {
        findings: vec![
            finding(
                Topic::Interrupts,
                "0",
                "cpu 0 is interrupted 2.9x [2.6, 3.1] as often as the median cpu (nvme0q1 77 %, timer 23 %).",
                "Latency-sensitive work belongs elsewhere:",
                Some(suggested_command::run_on("1-31")),
                effect("interrupt rate", 2.9, 2.6, 3.1),
            ),
            finding(
                Topic::Speed,
                "8-15,24-31",
                "llc:1 clocks 2.7 % [2.6, 2.8] higher than llc:0, which has three times the cache.",
                "Which one wins depends on your program.",
                None,
                effect("frequency", 1.027, 1.026, 1.028),
            ),
        ],
        no_difference: vec!["No cpu is stolen from by a hypervisor.".into()],
        undecided: Vec::new(),
        longer_s: None,
        link_classes: classes(&survey.machine, &survey.links),
        quiet: list("1-31"),
        first_cpu: Some(FirstCpu {
            cpu: 0,
            is_worse: Answer::Yes,
            answer: "Yes: interrupt rate 2.9x [2.6, 3.1].".into(),
        }),
    }
}

/// A survey of 512 cpus; only the first core of each last-level cache was paired.
pub fn large_survey() -> Survey {
    let machine = large();
    let habit = |cpu: u32| Habit {
        p50_ns: 270.0,
        gigahertz: 4.1,
        interrupts: if cpu == 17 { 400 } else { 26 },
        stalls: 1,
        stall_ns: 900.0,
        pieces: 500,
    };
    let cpus = machine.online.iter().map(|cpu| observation(cpu, habit(cpu), FrequencySource::Cycles)).collect();
    let firsts: Vec<u32> = machine.llcs.iter().flat_map(|llc| llc.cpus.iter().take(2)).collect();
    let mut links = links(&machine, &firsts, cost);
    links.possible_pairs = 512 * 511 / 2;
    survey(machine, cpus, links)
}

/// Conclusions of a survey that was too short, or of too few cpus, for any test.
pub fn untested(survey: &Survey) -> Conclusions {
    Conclusions { no_difference: Vec::new(), ..nothing(survey) }
}

/// Conclusions of which nothing stands out.
pub fn nothing(survey: &Survey) -> Conclusions {
    Conclusions {
        findings: Vec::new(),
        no_difference: vec![
            "No cpu is interrupted more often than its peers.".into(),
            "No cpu's p50 differs from its peers' by more than its uncertainty.".into(),
        ],
        undecided: Vec::new(),
        longer_s: None,
        link_classes: classes(&survey.machine, &survey.links),
        quiet: survey.machine.allowed.clone(),
        first_cpu: None,
    }
}

/// Conclusions of a survey that was too short to decide what it tested.
pub fn undecided(survey: &Survey) -> Conclusions {
    let answer = "Cannot tell yet: time lost to stalls up to 7.5x is not excluded (about 4 min should tell).".into();
    Conclusions {
        undecided: vec![
            "time lost to stalls: no difference was found, but differences up to 7.5x are not excluded; about 4 min should tell"
                .into(),
        ],
        longer_s: Some(240),
        first_cpu: Some(FirstCpu { cpu: 0, is_worse: Answer::CannotTellYet, answer }),
        ..nothing(survey)
    }
}

/// The same guest, ended by Ctrl-C after two rounds, in the middle of the third.
pub fn partial_survey() -> Survey {
    let mut survey = small_guest_survey();
    survey.provenance.partial = true;
    survey.provenance.rounds = 2;
    survey.provenance.elapsed_s = 7.4;
    for cpu in &mut survey.cpus {
        cpu.rounds.truncate(2);
    }
    survey.links.pairs.clear();
    survey
}

/// The 9950X3D, when this process may use cpu 3 only: no link can be measured.
pub fn single_cpu_survey() -> Survey {
    let mut survey = ryzen_survey();
    survey.machine.allowed = list("3");
    survey.cpus.retain(|cpu| cpu.cpu == 3);
    let gap = Gap::new("links between cpus", "links need two cpus; 1 was surveyed");
    survey.links = Links { pairs: Vec::new(), possible_pairs: 0, gaps: vec![gap] };
    survey.provenance.others_busy = Some(0.31);
    survey
}

/// A 3960X as its firmware shows it with four nodes in a socket when only two have memory, with some cpus set apart.
pub fn memoryless_nodes() -> Machine {
    let shape = Shape {
        name: "AMD Ryzen Threadripper 3960X 24-Core Processor",
        packages: 1,
        llcs_each: 8,
        cores_each: 3,
        threads: 2,
        llc_bytes: 16 << 20,
    };
    let mut machine = shape.machine();
    let half = |index: usize| machine.llcs[2 * index].cpus.union(&machine.llcs[2 * index + 1].cpus);
    let memory = [0, 64 << 30, 64 << 30, 0];
    let nodes = (0..4).map(|number| Node {
        number: number as u32,
        cpus: half(number),
        memory_bytes: Some(memory[number]),
        distances: (0..4).map(|other| if other == number { 10 } else { 12 }).collect(),
        ..Node::default()
    });
    let expander = Node { number: 8, memory_bytes: Some(128 << 30), distances: vec![20; 5], ..Node::default() };
    machine.nodes = nodes.chain([expander]).collect();
    machine.present = CpuSet::first(50);
    machine.possible = CpuSet::first(64);
    machine.isolated = list("2,26");
    machine.nohz_full = list("2,26");
    machine.allowed = list("0-23");
    machine
}

/// An i7-1370P: six performance cores of two cpus each, eight efficiency cores in two clusters.
pub fn hybrid() -> Machine {
    let shape = Shape {
        name: "13th Gen Intel(R) Core(TM) i7-1370P",
        packages: 1,
        llcs_each: 1,
        cores_each: 20,
        threads: 1,
        llc_bytes: 24 << 20,
    };
    let mut machine = shape.machine();
    let object = |cpus: &str| Object { os_number: None, cpus: list(cpus) };
    let performance = ["0-1", "2-3", "4-5", "6-7", "8-9", "10-11"].map(object);
    let efficiency: Vec<Object> = (12..20_u32).map(|cpu| object(&cpu.to_string())).collect();
    machine.cores = performance.iter().cloned().chain(efficiency).collect();
    let clusters = [object("12-15"), object("16-19")];
    machine.clusters = performance.iter().cloned().chain(clusters.clone()).collect();
    let cache =
        |level, kind, size: u64, cpus: &CpuSet| Cache { level, kind, size_bytes: Some(size), cpus: cpus.clone() };
    machine.caches = Vec::new();
    for core in &machine.cores {
        let size = if core.cpus.len() > 1 { 48 << 10 } else { 32 << 10 };
        machine.caches.push(cache(1, CacheKind::Data, size, &core.cpus));
    }
    machine.caches.extend(performance.iter().map(|core| cache(2, CacheKind::Unified, 1280 << 10, &core.cpus)));
    machine.caches.extend(clusters.iter().map(|cluster| cache(2, CacheKind::Unified, 2 << 20, &cluster.cpus)));
    machine.caches.push(cache(3, CacheKind::Unified, 24 << 20, &CpuSet::first(20)));
    let kind = |core_type, cpus: &str, reason: &str| Kind { core_type, cpus: list(cpus), reason: reason.into() };
    machine.kinds =
        vec![kind(CoreType::Performance, "0-11", "cpu_core"), kind(CoreType::Efficiency, "12-19", "cpu_atom")];
    machine
}

/// A map of links between all cpus of a machine, measured by compare-and-swap.
pub fn link_map(machine: &Machine, cost_ns: fn(Relation) -> f64) -> LinkMap {
    let cpus: Vec<u32> = machine.allowed.iter().collect();
    LinkMap {
        provenance: MapProvenance {
            origin: Origin::Measured,
            corewise: "0.1.0".into(),
            started_unix_ms: 1_795_000_000_000,
            elapsed_s: 4.2,
            budget_s: 60.0,
            seed: 7,
            partial: false,
        },
        machine: Some(machine.clone()),
        clock: None,
        unit: Unit::Nanoseconds,
        cpus: machine.allowed.clone(),
        searched: Vec::new(),
        unfinished: false,
        series: vec![Series { what: What::Cas, links: links(machine, &cpus, cost_ns), held_out: Vec::new() }],
        clocks: Vec::new(),
        spoiled: Spoiled::default(),
        parallel: None,
        gaps: Vec::new(),
    }
}
