//! A small survey for tests.

use corewise_machine::{CpuSet, Gap, generate};
use corewise_model::Survey;
use corewise_model::artifact::ArtifactOrigin;
use corewise_model::simulate::{self, CpuTruth, MachineNoise};

/// A survey of a machine with one core for each cpu; surveys with different seeds differ.
pub fn sample_survey(cpus: u32, seed: u64) -> Survey {
    let mut machine = generate::one_package_machine(cpus, false, &[(CpuSet::first_cpus(cpus), 32)]);
    machine.processor.microcode = Some("0x1".into());
    let truth = CpuTruth { piece_ns: 260.0, interrupts_per_s: 120.0, lost: 0.001 };
    let mut survey = simulate::simulate_survey(machine, 2, seed, MachineNoise::Quiet, |_| truth);
    for seen in &mut survey.cpus {
        (0..1000).for_each(|piece| seen.tail.record_ticks(250 + (piece * 7 + seed) % 13));
    }
    survey.provenance.origin = ArtifactOrigin::Measured;
    survey.provenance.started_unix_ms = 1_760_000_000_000 + seed as i64;
    survey.provenance.others_busy = Some(0.1);
    survey.links = simulate::simulate_links(&survey.machine, seed, |_| 57.0);
    survey.gaps =
        vec![Gap::new("hardware counters", "perf_event_paranoid is 3").cured_by("sysctl kernel.perf_event_paranoid=1")];
    survey
}
