//! Surveys: how often equal cpus are called different, and how often a cpu that differs is found.

use std::time::Instant;

use corewise_machine::generate::one_package_machine;
use corewise_machine::{CpuSet, Machine};
use corewise_model::Survey;
use corewise_model::finding::{Finding, FindingTopic};
use corewise_model::simulate::{CpuTruth, MachineNoise, simulate_survey};
use corewise_model::survey::conclude::conclude;

use super::{ErrorBounds, count_repetitions, percent_of, repeat_simulation};

/// A machine of equal cpus in equal last-level caches, and the rounds of its survey.
#[derive(Clone, Copy)]
pub struct SurveyShape {
    pub cpus: u32,
    pub caches: u32,
    pub rounds: u32,
}

const SHAPES: [SurveyShape; 5] = [
    SurveyShape { cpus: 2, caches: 1, rounds: 8 },
    SurveyShape { cpus: 2, caches: 1, rounds: 24 },
    SurveyShape { cpus: 16, caches: 2, rounds: 24 },
    SurveyShape { cpus: 64, caches: 8, rounds: 24 },
    SurveyShape { cpus: 256, caches: 32, rounds: 24 },
];

pub const USUAL: CpuTruth = CpuTruth { piece_ns: 262.0, interrupts_per_s: 38.0, lost: 0.001 };

impl SurveyShape {
    pub fn simulate(self, seed: u64, noise: MachineNoise, truth: impl Fn(u32) -> CpuTruth) -> Survey {
        simulate_survey(self.build_machine(), self.rounds, seed, noise, truth)
    }

    fn build_machine(self) -> Machine {
        let size = self.cpus / self.caches;
        let cache = |index: u32| ((index * size..(index + 1) * size).collect::<CpuSet>(), 32);
        one_package_machine(self.cpus, false, &(0..self.caches).map(cache).collect::<Vec<_>>())
    }

    pub fn describe(self) -> String {
        format!("{} cpus, {} caches, {} rounds", self.cpus, self.caches, self.rounds)
    }
}

/// Prints how often equal cpus are called different, and how often a different one is found.
pub fn print_tables(share: f64, bounds: &mut ErrorBounds) {
    equal_cpus(share, bounds);
    moving_neighbour(share, bounds);
    different_cpu(share, bounds);
    print_cost();
}

/// Prints how long the conclusions from a large survey take, in which all steps of the test are made.
fn print_cost() {
    println!("\n## Time of the conclusions from a survey of 256 cpus on 32 caches, 24 rounds\n");
    println!("| cpus that differ | ms |");
    println!("|--:|--:|");
    for differing in [0, 1, 32] {
        let truth = |cpu| match cpu {
            _ if cpu % 8 == 0 && cpu / 8 < differing => CpuTruth { interrupts_per_s: 400.0, lost: 0.008, ..USUAL },
            _ => USUAL,
        };
        let survey = SHAPES[4].simulate(1, MachineNoise::Quiet, truth);
        let start = Instant::now();
        let found = conclude(&survey).findings.len();
        println!("| {differing} ({found} findings) | {:.0} |", start.elapsed().as_secs_f64() * 1000.0);
    }
}

fn equal_cpus(share: f64, bounds: &mut ErrorBounds) {
    println!("\n## Surveys of equal cpus: % with a finding about any cpu or cache\n");
    println!("| machine | surveys | {} |", MachineNoise::ALL.map(|noise| format!("{noise:?}")).join(" | "));
    println!("|---|--:|--:|--:|--:|--:|--:|");
    for shape in SHAPES {
        let count = count_repetitions(if shape.cpus > 64 { 500.0 } else { 2000.0 }, share);
        let shares = MachineNoise::ALL.map(|noise| {
            let findings = repeat_simulation(count, |seed| conclude(&shape.simulate(seed, noise, |_| USUAL)).findings);
            percent_of(&findings, |findings| !findings.is_empty())
        });
        println!("| {} | {count} | {} |", shape.describe(), shares.map(|share| format!("{share:.2}")).join(" | "));
        // Three standard deviations of a share of 1 % above it.
        let bound = 1.0 + 3.0 * (99.0 / count as f64).sqrt();
        for (noise, share) in MachineNoise::ALL.into_iter().zip(shares) {
            bounds.at_most(&format!("equal cpus called different: {}, {noise:?}", shape.describe()), share, bound);
        }
    }
}

/// A neighbour that stays on a cpu for some rounds and moves on is no property of a cpu.
fn moving_neighbour(share: f64, bounds: &mut ErrorBounds) {
    println!("\n## Surveys beside a neighbour that moves before one round in six\n");
    println!("| machine | surveys | a finding % | an episode % |");
    println!("|---|--:|--:|--:|");
    for shape in SHAPES.into_iter().filter(|shape| shape.rounds == 24) {
        let count = count_repetitions(if shape.cpus > 64 { 200.0 } else { 1000.0 }, share);
        let conclusions =
            repeat_simulation(count, |seed| conclude(&shape.simulate(seed, MachineNoise::Neighbour, |_| USUAL)));
        let found = percent_of(&conclusions, |conclusions| !conclusions.findings.is_empty());
        let episode = percent_of(&conclusions, |conclusions| {
            conclusions.undecided.iter().any(|sentence| sentence.contains("an episode"))
        });
        println!("| {} | {count} | {found:.1} | {episode:.1} |", shape.describe());
        // Of two cpus one has it in most rounds of many surveys: a few rounds without it prove nothing.
        let bound = if shape.cpus == 2 { 12.0 } else { 6.0 };
        bounds.at_most(&format!("a moving neighbour is a finding: {}", shape.describe()), found, bound);
    }
}

/// Cpu 1 differs in one quantity: the share of surveys that find it, and of the printed intervals that hold the truth.
fn different_cpu(share: f64, bounds: &mut ErrorBounds) {
    println!("\n## Surveys in which cpu 1 differs: found %, and intervals that hold the truth %\n");
    println!("| machine | noise | surveys | 5 % slower | holds | 10 % slower | holds | 3x interrupts | holds |");
    println!("|---|---|--:|--:|--:|--:|--:|--:|--:|");
    let worlds = [
        (FindingTopic::Speed, 1.05, CpuTruth { piece_ns: 1.05 * USUAL.piece_ns, ..USUAL }),
        (FindingTopic::Speed, 1.1, CpuTruth { piece_ns: 1.1 * USUAL.piece_ns, ..USUAL }),
        (FindingTopic::Interrupts, 3.0, CpuTruth { interrupts_per_s: 3.0 * USUAL.interrupts_per_s, ..USUAL }),
    ];
    for shape in SHAPES.into_iter().filter(|shape| shape.rounds == 24) {
        for noise in MachineNoise::ALL {
            let count = count_repetitions(if shape.cpus > 64 { 200.0 } else { 1000.0 }, share);
            let mut row = format!("| {} | {noise:?} | {count} |", shape.describe());
            for (topic, ratio, truth) in worlds {
                let of = |cpu| if cpu == 1 { truth } else { USUAL };
                let found = repeat_simulation(count, |seed| {
                    let findings = conclude(&shape.simulate(seed, noise, of)).findings;
                    findings.into_iter().find(|finding| finding.topic == topic && finding.cpus.contains(1))
                });
                let share = percent_of(&found, Option::is_some);
                let intervals: Vec<&Finding> = found.iter().flatten().collect();
                let holds = percent_of(&intervals, |finding| {
                    finding.effects.first().is_some_and(|effect| effect.low <= ratio && ratio <= effect.high)
                });
                row += &format!(" {share:.1} | {holds:.1} |");
                let what = |what: &str| format!("{what}, {topic:?} {ratio}: {}, {noise:?}", shape.describe());
                if ratio > 1.05 && noise != MachineNoise::Walk {
                    bounds.at_least(&what("cpu found"), share, 90.0);
                }
                if share > 50.0 {
                    bounds.at_least(&what("interval holds the truth"), holds, lowest_share(94.0, intervals.len()));
                }
            }
            println!("{row}");
        }
    }
}

/// Returns a percentage less three standard deviations of that number of trials.
pub fn lowest_share(percent: f64, trials: usize) -> f64 {
    percent - 3.0 * (percent * (100.0 - percent) / trials.max(1) as f64).sqrt()
}
