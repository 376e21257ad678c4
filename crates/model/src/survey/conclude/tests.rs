//! What is concluded from surveys whose truth is known.

use corewise_machine::generate;
use corewise_machine::machine::Machine;

use super::*;
use crate::finding::FindingTopic;
use crate::links::{CpuRelation, LinkPair};
use crate::simulate::{self, CpuTruth, MachineNoise};
use corewise_machine::SuggestedCommand;

use crate::Survey;

/// A machine of last-level caches over sets of cpus, in MiB.
fn machine(llcs: &[(&str, u64)], cpus: u32, smt: bool) -> Machine {
    let llcs: Vec<(CpuSet, u64)> = llcs.iter().map(|&(cpus, size)| (CpuSet::parse_list(cpus).unwrap(), size)).collect();
    generate::one_package_machine(cpus, smt, &llcs)
}

const QUIET: CpuTruth = CpuTruth { piece_ns: 262.0, interrupts_per_s: 38.0, lost: 0.001 };

fn survey(machine: Machine, rounds: u32, seed: u64, truth: impl Fn(u32) -> CpuTruth) -> Survey {
    simulate::simulate_survey(machine, rounds, seed, MachineNoise::Quiet, truth)
}

fn ryzen_9_9950x3d() -> Machine {
    machine(&[("0-7,16-23", 96), ("8-15,24-31", 32)], 32, true)
}

/// The figures of the 9950X3D article: cpu 0 with 111 interrupts where others have 38, mean 272 against 262 ns, and the
/// second die 2.7 % faster.
fn article(cpu: u32) -> CpuTruth {
    let piece_ns = if matches!(cpu, 8..=15 | 24..=31) { 255.0 } else { 262.0 };
    match cpu {
        0 => CpuTruth { piece_ns, interrupts_per_s: 111.0, lost: 0.008 },
        _ => CpuTruth { piece_ns, ..QUIET },
    }
}

#[test]
fn the_article_about_core_0_is_reproduced() {
    let mut survey = survey(ryzen_9_9950x3d(), 24, 1, article);
    survey.links = simulate::simulate_links(&survey.machine, 9, |relation| match relation {
        CpuRelation::SameCore => 7.0,
        CpuRelation::SameLlc => 19.0,
        _ => 80.0,
    });
    let conclusions = conclude(&survey);
    let lines: Vec<String> = conclusions
        .findings
        .iter()
        .map(|f| {
            format!(
                "{:?}: {} {} {}",
                f.topic,
                f.statement,
                f.advice,
                f.command.as_ref().map(SuggestedCommand::shell_line).unwrap_or_default()
            )
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    Interrupts: cpu 0 is interrupted 2.8x [2.6, 3.2] as often as the median of cpus 1-7,16-23: 108/s (nvme0q1 59 %, timer 41 %); it loses 0.91 % of its time to stalls, 8.0x [7.3, 9.5]; its p99.9 is 531 ns, 1.8x [1.5, 1.9]. Latency-sensitive work belongs elsewhere: corewise run --on 1-31 -- ./app
    Speed: llc:0 (cpus 0-7,16-23) is 2.8 % [2.7, 2.8] slower at the same work than llc:1 (5.22 GHz against 5.36). One die has the larger cache, the other the higher clock; which is better depends on the program. Try both: corewise run --on llc:1 -- ./app
    Links: Talking across last-level caches costs 4.2x [4.2, 4.2] as much as within one last-level cache: 80 ns against 19 ns, one way. Place threads that talk much together: corewise run --on llc:0 -- ./app
    "#);
    assert_eq!(conclusions.quiet.to_string(), "1-31");
    let first = conclusions.first_cpu.unwrap();
    assert_eq!(first.is_worse, PendingAnswer::Yes);
    insta::assert_snapshot!(first.answer, @"Yes: interrupt rate 2.8x [2.6, 3.2], time lost to stalls 8.0x [7.3, 9.5], p99.9 1.8x [1.5, 1.9].");
    insta::assert_snapshot!(conclusions.no_difference.join("\n"), @"p50: no cpu differs from the others of its last-level cache or kind; differences beyond 0.4 % are excluded");
}

#[test]
fn bounds_are_rounded_up_and_never_one() {
    let bound = |ratio| CpuQuantity::Tail.format_bound(ratio);
    assert_eq!(
        [1.0, 1.002, 1.04, 1.041, 1.3, 1.31, 9.94, 12.0].map(bound),
        ["1.01x", "1.01x", "1.04x", "1.05x", "1.3x", "1.4x", "10x", "12x"]
    );
    assert_eq!([1.0, 1.002, 1.0021].map(|ratio| CpuQuantity::Median.format_bound(ratio)), ["0.1 %", "0.2 %", "0.3 %"]);
}

#[test]
fn the_first_cpu_of_equal_ones_is_not_worse() {
    let first = |cpus: u32, rounds, lost| {
        let truth = |cpu| CpuTruth { lost: if cpu == 0 { lost } else { QUIET.lost }, ..QUIET };
        conclude(&survey(machine(&[(&format!("0-{}", cpus - 1), 32)], cpus, false), rounds, 7, truth)).first_cpu
    };
    insta::assert_snapshot!(first(2, 24, QUIET.lost).unwrap().answer, @"No. If it is worse at all, then by less than 1.19x in interrupt rate, 1.4x in time lost to stalls, 1.05x in p99.9, 0.2 % in p50.");
    insta::assert_snapshot!(first(4, 24, QUIET.lost / 8.0).unwrap().answer, @"No, it is better: time lost to stalls 0.20x [0.19, 0.22].");
    insta::assert_snapshot!(first(2, 24, QUIET.lost * 8.0).unwrap().answer, @"Yes: time lost to stalls 9.2x [6.4, 10.0], p99.9 1.5x [1.2, 1.7].");
    insta::assert_snapshot!(first(2, 24, QUIET.lost / 8.0).unwrap().answer, @"No, it is better: time lost to stalls 0.24x [0.19, 0.26].");
    let early = first(2, 7, QUIET.lost).unwrap();
    assert_eq!(early.is_worse, PendingAnswer::CannotTellYet, "too few rounds");
    insta::assert_snapshot!(early.answer, @"Cannot tell yet: too few rounds for interrupt rate, time lost to stalls, p99.9, p50 (about 40 s would be enough).");
    let alone = survey(machine(&[("0", 32)], 1, false), 24, 7, |_| QUIET);
    assert_eq!(conclude(&alone).first_cpu, None, "no peers");
}

/// That no test found a difference is no answer where the rounds scatter so much that a large one would have looked the same.
#[test]
fn what_is_not_excluded_is_not_denied() {
    let mut scattered = survey(machine(&[("0-1", 32)], 2, false), 8, 7, |_| QUIET);
    for (index, round) in scattered.cpus[0].rounds.iter_mut().enumerate() {
        round.tail.lost *= [0.2, 5.0][index % 2];
    }
    let found = conclude(&scattered);
    assert!(found.findings.is_empty(), "{found:?}");
    let first = found.first_cpu.unwrap();
    assert_eq!(first.is_worse, PendingAnswer::CannotTellYet, "{}", first.answer);
    assert!(first.answer.contains("time lost to stalls up to 6"), "{}", first.answer);
    assert!(found.undecided.iter().any(|line| line.starts_with("time lost to stalls: no difference was found, but")));
    assert!(found.no_difference.iter().all(|line| !line.starts_with("time lost")), "{:?}", found.no_difference);
    assert!(found.longer_s.is_some_and(|seconds| seconds >= 60), "{:?}", found.longer_s);
}

/// A cpu that loses three times as much is called worse, or cannot be judged yet; "no" is as rare as its interval promises.
#[test]
fn no_is_not_said_of_a_cpu_that_is_worse() {
    let truth = |cpu| if cpu == 0 { CpuTruth { lost: 3.0 * QUIET.lost, ..QUIET } } else { QUIET };
    for noise in MachineNoise::ALL {
        let answer = |seed| {
            let survey = simulate::simulate_survey(machine(&[("0-3", 32)], 4, false), 8, seed, noise, truth);
            conclude(&survey).first_cpu.unwrap().is_worse
        };
        let denied = (0..100).filter(|&seed| answer(seed) == PendingAnswer::No).count();
        assert!(denied <= 5, "{noise:?}: {denied} of 100");
    }
}

/// The column and the finding speak of the same statistic: one burst is in neither.
#[test]
fn the_rate_that_is_shown_is_the_one_that_was_tested() {
    let noisy = |cpu| if cpu == 0 { CpuTruth { interrupts_per_s: 400.0, ..QUIET } } else { QUIET };
    let mut survey = survey(machine(&[("0-1", 32)], 2, false), 24, 6, noisy);
    for counted in survey.cpus[0].rounds[3].interrupts.iter_mut() {
        counted.sources[0].count += 100_000;
    }
    let conclusions = conclude(&survey);
    let shown = interrupts_per_second(&survey.cpus[0].rounds);
    let statement = &conclusions.findings[0].statement;
    assert!(statement.contains(&format!(": {shown:.0}/s")), "{shown} is shown: {statement}");
}

#[test]
fn durations_are_rounded_up_to_what_people_say() {
    let about = [4.0, 61.0, 110.0, 3000.0, 40_000.0, 90_000.0].map(forecast::format_about);
    assert_eq!(about, ["about 4 s", "about 2 min", "about 2 min", "about 50 min", "about 12 h", "more than a day"]);
    assert_eq!([forecast::enough_s(33.0), forecast::enough_s(100_000.0)], [Some(40), None]);
}

/// What docs/measurements.md says of false calls, in small: of 300 surveys of two equal cpus, how many call one
/// different. A true rate of 4 % (four tests at 1 %) gives more than 7 % in one of a hundred such tests; seeds are fixed.
#[test]
fn a_quiet_pair_of_cpus_is_seldom_called_different() {
    for (noise, rounds) in MachineNoise::ALL.into_iter().flat_map(|noise| [(noise, 8), (noise, 24)]) {
        let pair = || machine(&[("0-1", 32)], 2, false);
        let survey = |seed| simulate::simulate_survey(pair(), rounds, seed, noise, |_| QUIET);
        let called = (0..300).filter(|&seed| !conclude(&survey(seed)).findings.is_empty()).count();
        assert!(called <= 20, "{noise:?}, {rounds} rounds: {called} of 300");
    }
}

#[test]
fn a_cpu_that_is_slower_or_more_interrupted_is_found() {
    let slower = |cpu| if cpu == 1 { CpuTruth { piece_ns: 280.0, ..QUIET } } else { QUIET };
    let conclusions = conclude(&survey(machine(&[("0-3", 32)], 4, false), 24, 5, slower));
    assert_eq!(conclusions.findings.len(), 1, "{:?}", conclusions.findings);
    assert_eq!(
        (conclusions.findings[0].topic, conclusions.findings[0].cpus.to_string()),
        (FindingTopic::Speed, "1".into())
    );
    assert_eq!(conclusions.quiet.to_string(), "0-3", "slow is not noisy");
    assert_eq!(
        conclusions.findings[0].command.as_ref().map(SuggestedCommand::shell_line).as_deref(),
        Some("corewise"),
        "a command that can be typed as it stands"
    );

    let noisy = |cpu| if cpu == 0 { CpuTruth { interrupts_per_s: 400.0, ..QUIET } } else { QUIET };
    let conclusions = conclude(&survey(machine(&[("0-1", 32)], 2, false), 24, 6, noisy));
    assert_eq!(conclusions.findings[0].topic, FindingTopic::Interrupts);
    assert_eq!(conclusions.quiet.to_string(), "1");
}

#[test]
fn many_cpus_of_one_finding_share_a_sentence() {
    let noisy = |cpu| if cpu < 4 { CpuTruth { interrupts_per_s: 400.0, ..QUIET } } else { QUIET };
    let conclusions = conclude(&survey(machine(&[("0-15", 32)], 16, false), 24, 6, noisy));
    let [finding] = &conclusions.findings[..] else { panic!("{:?}", conclusions.findings) };
    assert_eq!(finding.cpus.to_string(), "0-3");
    assert_eq!(
        finding.command.as_ref().map(SuggestedCommand::shell_line).as_deref(),
        Some("corewise run --on 4-15 -- ./app")
    );
}

#[test]
fn one_cpu_and_too_few_rounds_are_said() {
    let conclusions = conclude(&survey(machine(&[("0", 32)], 1, false), 24, 1, |_| QUIET));
    assert!(conclusions.findings.is_empty());
    let conclusions = conclude(&survey(machine(&[("0-1", 32)], 2, false), 3, 1, |_| QUIET));
    assert!(conclusions.findings.is_empty());
    assert!(conclusions.undecided[0].contains("3 comparable rounds are too few"), "{:?}", conclusions.undecided);
    assert!(conclusions.no_difference.is_empty() && conclusions.longer_s.is_some(), "{conclusions:?}");
}

#[test]
fn time_that_the_host_takes_is_a_finding() {
    let mut stolen = survey(machine(&[("0-1", 32)], 2, false), 24, 1, |_| QUIET);
    stolen.machine.system.hypervisor = Some("KVM".into());
    assert!(conclude(&stolen).findings.is_empty());
    for round in stolen.cpus.iter_mut().flat_map(|seen| &mut seen.rounds) {
        round.stolen_s = Some(0.02);
    }
    let conclusions = conclude(&stolen);
    assert_eq!(conclusions.findings[0].topic, FindingTopic::Stolen);
    assert_eq!(
        conclusions.findings[0].statement,
        "The host takes 5.0 % [5.0, 5.0] of the measured cpus' time for others."
    );
}

#[test]
fn links_of_one_class_are_no_finding() {
    let mut flat = survey(machine(&[("0-3", 32)], 4, false), 24, 1, |_| QUIET);
    flat.links = simulate::simulate_links(&flat.machine, 9, |_| 28.0);
    let conclusions = conclude(&flat);
    assert!(conclusions.findings.is_empty());
    assert!(conclusions.no_difference.iter().any(|line| line.starts_with("links: one class (same llc), 6 pairs")));
}

#[test]
fn a_pair_with_two_costs_is_a_finding_and_noise_is_not() {
    let mut guest = survey(machine(&[("0-1", 32)], 2, false), 24, 1, |_| QUIET);
    guest.machine.system.hypervisor = Some("KVM".into());
    let mut visits: Vec<f64> = (0..60).map(|n| 28.0 + f64::from(n) * 0.08).collect();
    guest.links.pairs = vec![LinkPair::new(0, 1, visits.clone())];
    assert!(conclude(&guest).findings.is_empty(), "a spread is not two modes");
    visits[..12].fill(110.0);
    guest.links.pairs = vec![LinkPair::new(0, 1, visits.clone())];
    let conclusions = conclude(&guest);
    assert_eq!(
        conclusions.findings[0].statement,
        "Talking between cpus 0 and 1 costs 31 ns in some visits and 110 ns in others (20 % of 60)."
    );
    visits[3..12].fill(28.0);
    guest.links.pairs = vec![LinkPair::new(0, 1, visits)];
    assert!(conclude(&guest).findings.is_empty(), "three visits are not a mode");
}

/// Visits that a busy neighbour struck cost anything up to ten times as much; that is contention, not a second cost.
#[test]
fn contention_is_seldom_called_a_second_cost() {
    let mut guest = survey(machine(&[("0-1", 32)], 2, false), 24, 1, |_| QUIET);
    let mut random = corewise_machine::random::RandomGenerator::new(8);
    let mut called = 0;
    for survey in 0..500 {
        let struck = 0.1 + 0.4 * f64::from(survey) / 500.0;
        let mut visit = || {
            let contention = if random.next_unit() < struck { 1.0 + 9.0 * random.next_unit() } else { 1.0 };
            28.0 * contention * (0.03 * random.next_normal()).exp()
        };
        guest.links.pairs = vec![LinkPair::new(0, 1, (0..60).map(|_| visit()).collect())];
        called += usize::from(conclude(&guest).findings.iter().any(|finding| finding.topic == FindingTopic::Links));
    }
    assert!(called <= 10, "{called} of 500");
}

#[test]
fn a_sure_difference_that_is_too_small_is_told_as_such() {
    let slower = |cpu| if cpu == 1 { CpuTruth { piece_ns: 263.5, ..QUIET } } else { QUIET };
    let conclusions = conclude(&survey(machine(&[("0-1", 32)], 2, false), 24, 3, slower));
    assert!(conclusions.findings.is_empty());
    let told = conclusions.no_difference.iter().find(|line| line.starts_with("p50")).unwrap();
    assert!(told.starts_with("p50: cpu 1 differs from cpu 0 (0.4 % ["), "{told}");
    assert!(told.ends_with("slower), but by less than 2 %"), "{told}");
}

#[test]
fn a_program_that_has_a_cpu_is_not_the_cpus_fault() {
    let truth = |cpu| if cpu == 0 { CpuTruth { lost: 0.5, ..QUIET } } else { QUIET };
    let mut shared = survey(machine(&[("0-3", 32)], 4, false), 24, 3, truth);
    for round in &mut shared.cpus[0].rounds {
        round.thread.off_cpu_s = 0.5 * round.elapsed_s;
    }
    let conclusions = conclude(&shared);
    let statement = &conclusions.findings[0].statement;
    assert!(statement.ends_with("other programs used it for 50 % of the time."), "{statement}");
    assert_eq!(conclusions.quiet.to_string(), "0-3", "nothing speaks against the cpu itself");
}

/// Without peers there is nothing to compare, and nothing is claimed.
#[test]
fn a_cpu_without_peers_is_not_called_equal_to_them() {
    let alone = conclude(&survey(machine(&[("0", 32)], 1, false), 24, 1, |_| QUIET));
    assert_eq!((alone.findings.len(), alone.no_difference.len()), (0, 0), "{:?}", alone.no_difference);
    let mut uncounted = survey(machine(&[("0-1", 32)], 2, false), 24, 1, |_| QUIET);
    uncounted.cpus.iter_mut().flat_map(|seen| &mut seen.rounds).for_each(|round| round.interrupts = None);
    let told = conclude(&uncounted).no_difference;
    assert!(told.iter().all(|line| !line.starts_with("interrupt rate: no cpu")), "{told:?}");
}

#[test]
fn a_cpu_that_went_offline_takes_no_test_from_its_peers() {
    let noisy = |cpu| if cpu == 0 { CpuTruth { interrupts_per_s: 400.0, ..QUIET } } else { QUIET };
    let mut survey = survey(machine(&[("0-3", 32)], 4, false), 24, 6, noisy);
    survey.cpus[3].rounds.truncate(2);
    assert_eq!(conclude(&survey).findings[0].cpus.to_string(), "0");
}

/// A machine of equal cpus in caches of eight.
fn caches_of_eight(cpus: u32) -> Machine {
    let caches: Vec<String> = (0..cpus / 8).map(|cache| format!("{}-{}", 8 * cache, 8 * cache + 7)).collect();
    machine(&caches.iter().map(|cpus| (cpus.as_str(), 32)).collect::<Vec<_>>(), cpus, false)
}

/// Of 60 surveys of 16 caches one may have a finding: at 1 % for all of them together, three have one in 2 of 100 such
/// tests; at 1 % for each quantity of each cache, 28 would.
#[test]
fn all_caches_are_one_family() {
    for noise in [MachineNoise::Quiet, MachineNoise::Outliers] {
        let survey = |seed| simulate::simulate_survey(caches_of_eight(128), 16, seed, noise, |_| QUIET);
        let called = (0..60).filter(|&seed| !conclude(&survey(seed)).findings.is_empty()).count();
        assert!(called <= 2, "{noise:?}: {called} of 60");
    }
}

/// A neighbour that stays on one cpu for some rounds and moves on makes an episode, seldom a finding.
#[test]
fn a_neighbour_that_moves_on_is_an_episode() {
    let survey = |seed| {
        simulate::simulate_survey(machine(&[("0-7", 32)], 8, false), 24, seed, MachineNoise::Neighbour, |_| QUIET)
    };
    let all: Vec<SurveyConclusions> = (0..60).map(|seed| conclude(&survey(seed))).collect();
    let found = all.iter().filter(|conclusions| !conclusions.findings.is_empty()).count();
    let is_episode = |sentence: &String| sentence.contains("only: an episode, no property of the cpu");
    let episodes: Vec<&String> = all
        .iter()
        .filter_map(|conclusions| conclusions.undecided.iter().find(|sentence| is_episode(sentence)))
        .collect();
    assert!(found <= 5 && episodes.len() >= 20, "{found} found and {} episodes of 60", episodes.len());
    insta::assert_snapshot!(
        episodes[0],
        @"time lost to stalls: cpu 1 differed from the median of cpus 0,2-7 (20x) in rounds 3-5,10-20 of 24 only: an episode, no property of the cpu; about 60 s should tell"
    );
}

/// The difference of a cpu that is different beside a neighbour that moves is no episode.
#[test]
fn a_cpu_that_differs_is_found_beside_a_neighbour() {
    let noisy = |cpu| if cpu == 3 { CpuTruth { interrupts_per_s: 400.0, ..QUIET } } else { QUIET };
    let survey =
        |seed| simulate::simulate_survey(machine(&[("0-7", 32)], 8, false), 24, seed, MachineNoise::Neighbour, noisy);
    let is_found = |finding: &Finding| finding.topic == FindingTopic::Interrupts && finding.cpus.contains(3);
    let found = (0..30).filter(|&seed| conclude(&survey(seed)).findings.iter().any(is_found)).count();
    assert!(found >= 28, "{found} of 30");
}
