//! How often equal cpus are called different, and how often a real difference is found, by simulation.
//!
//! `cargo run --release -p corewise-model --example false_calls [SURVEYS]` prints the tables of docs/measurements.md.

use corewise_machine::{CpuSet, Machine, generate};
use corewise_model::finding::FindingTopic;
use corewise_model::simulate::{CpuTruth, MachineNoise, simulate_survey};
use corewise_model::survey::conclude::conclude;

const QUIET: CpuTruth = CpuTruth { piece_ns: 262.0, interrupts_per_s: 38.0, lost: 0.001 };

fn main() {
    let surveys: u64 = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(2000);
    println!("Equal cpus: share of {surveys} surveys with a cpu called different (in p50; in anything)");
    println!("{:<10} {:>6} {:>7} {:>8} {:>9}", "noise", "cpus", "rounds", "p50", "anything");
    for (cpus, rounds) in [(2, 8), (2, 24), (8, 24), (32, 24)] {
        for noise in MachineNoise::ALL {
            let (speed, any) = shares(cpus, rounds, noise, surveys, |_| QUIET);
            println!("{:<10} {cpus:>6} {rounds:>7} {speed:>7.2}% {any:>8.2}%", format!("{noise:?}"));
        }
    }
    println!("\nOne cpu that is slower by 2.5 %, 5 %, 10 %: share of surveys (24 rounds, 8 cpus) that find it");
    for noise in MachineNoise::ALL {
        let found = [1.025, 1.05, 1.1].map(|slower| {
            let truth = |cpu| if cpu == 3 { CpuTruth { piece_ns: 262.0 * slower, ..QUIET } } else { QUIET };
            shares(8, 24, noise, surveys / 4, truth).0
        });
        println!("{:<10} {:>7.1}% {:>7.1}% {:>7.1}%", format!("{noise:?}"), found[0], found[1], found[2]);
    }
}

/// The percentage of surveys with a finding about speed, and with any finding.
fn shares(
    cpus: u32,
    rounds: u32,
    noise: MachineNoise,
    surveys: u64,
    truth: impl Fn(u32) -> CpuTruth + Copy,
) -> (f64, f64) {
    let (mut speed, mut any) = (0, 0);
    for seed in 0..surveys {
        let findings = conclude(&simulate_survey(machine(cpus), rounds, seed, noise, truth)).findings;
        speed += u64::from(findings.iter().any(|finding| finding.topic == FindingTopic::Speed));
        any += u64::from(!findings.is_empty());
    }
    let percent = |count: u64| count as f64 * 100.0 / surveys as f64;
    (percent(speed), percent(any))
}

fn machine(cpus: u32) -> Machine {
    generate::one_package_machine(cpus, false, &[(CpuSet::first_cpus(cpus), 32)])
}
