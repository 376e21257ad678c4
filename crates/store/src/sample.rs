//! A small survey for tests.

use corewise_model::histogram::Histogram;
use corewise_model::links::{Links, Pair};
use corewise_model::machine::{Llc, Machine, Object, Processor, System};
use corewise_model::survey::{Clock, Count, CpuObservation, CpuRound, Frequency, FrequencySource};
use corewise_model::survey::{Provenance, Tail, ThreadUse, Work};
use corewise_model::{CpuSet, Gap, Survey};

/// A survey of a machine with one core for each cpu; surveys with different seeds differ.
pub fn survey(cpus: u32, seed: u64) -> Survey {
    Survey {
        provenance: Provenance {
            corewise: "0.1.0".into(),
            started_unix_ms: 1_760_000_000_000 + seed as i64,
            elapsed_s: 29.7,
            budget_s: 30.0,
            seed,
            rounds: 2,
            partial: false,
            others_busy: Some(0.1),
        },
        machine: machine(cpus),
        clock: Clock {
            source: "invariant TSC".into(),
            nanoseconds_per_tick: 1.0 / 3.0,
            reading_ns: 21.3,
            step_ns: 0.7,
        },
        work: Work { additions: 1000, overhead_ns: 30.1 },
        cpus: (0..cpus).map(|cpu| observation(cpu, seed)).collect(),
        links: Links {
            pairs: vec![Pair { a: 0, b: 1, visits_ns: vec![57.1, 58.0 + 0.1 * seed as f64] }],
            possible_pairs: u64::from(cpus) * u64::from(cpus - 1) / 2,
            gaps: Vec::new(),
        },
        gaps: vec![
            Gap::new("hardware counters", "perf_event_paranoid is 3").cured_by("sysctl kernel.perf_event_paranoid=1"),
        ],
    }
}

fn machine(cpus: u32) -> Machine {
    let all = CpuSet::first(cpus);
    let whole = || Object { os_number: Some(0), cpus: all.clone() };
    let single = |cpu| Object { os_number: Some(i64::from(cpu)), cpus: CpuSet::of(cpu) };
    Machine {
        processor: Processor {
            model_name: Some("Example 9000".into()),
            microcode: Some("0x1".into()),
            ..Processor::default()
        },
        system: System { kernel: Some("6.18.2".into()), ..System::default() },
        possible: all.clone(),
        present: all.clone(),
        online: all.clone(),
        allowed: all.clone(),
        isolated: CpuSet::new(),
        nohz_full: CpuSet::new(),
        packages: vec![whole()],
        nodes: Vec::new(),
        dies: vec![whole()],
        llcs: vec![Llc { level: Some(3), size_bytes: Some(32 << 20), vcache: false, cpus: all.clone() }],
        clusters: (0..cpus).map(single).collect(),
        cores: (0..cpus).map(single).collect(),
        caches: Vec::new(),
        kinds: Vec::new(),
        gaps: Vec::new(),
    }
}

fn observation(cpu: u32, seed: u64) -> CpuObservation {
    let mut tail = Histogram::new(1.0 / 3.0);
    for piece in 0..1000 {
        tail.record(750 + (piece * 7 + seed) % 13);
    }
    let round = |round| CpuRound {
        round,
        place: cpu,
        elapsed_s: 0.5,
        tail: Tail::of(&tail, 0.7),
        frequency: Some(Frequency { gigahertz: 4.1, source: FrequencySource::Estimate }),
        interrupts: vec![Count { source: "LOC".into(), count: 51 }],
        softirqs: Vec::new(),
        thread: ThreadUse { user_s: 0.5, ..ThreadUse::default() },
        stolen_s: None,
    };
    CpuObservation { cpu, rounds: vec![round(0), round(1)], tail }
}
