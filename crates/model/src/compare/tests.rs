//! What a comparison says, what it keeps quiet about, and how it behaves when the surveys are exchanged.

use corewise_machine::counts::{EventCounts, SourceCount};
use corewise_machine::facts::{CacheKind, CoreType};
use corewise_machine::generate;
use corewise_machine::machine::{Cache, CoreKind, Llc, Machine};
use corewise_machine::thread::ThreadUse;
use proptest::prelude::*;

use super::*;
use crate::Survey;
use crate::links::{LinkFindings, LinkPair};
use crate::simulate::{self, CpuTruth, MachineNoise};
use crate::survey::{CoreFrequency, CpuObservation, CpuRound, FrequencySource, TailSummary};
use corewise_statistics::histogram::TickHistogram;

/// What one round of one cpu shows.
#[derive(Clone, Copy, Debug)]
struct ShownComparison {
    p50_ns: f64,
    p99_9_ns: f64,
    lost: f64,
    gigahertz: f64,
    interrupts: u64,
}

const USUAL: ShownComparison =
    ShownComparison { p50_ns: 260.0, p99_9_ns: 2000.0, lost: 0.01, gigahertz: 4.0, interrupts: 50 };

fn round(index: usize, shown: ShownComparison) -> CpuRound {
    CpuRound {
        round: index as u32,
        place: 0,
        elapsed_s: 0.5,
        tail: TailSummary {
            count: 1000,
            p50_ns: shown.p50_ns,
            p99_9_ns: shown.p99_9_ns,
            lost: shown.lost,
            ..TailSummary::default()
        },
        frequency: Some(CoreFrequency { gigahertz: shown.gigahertz, source: FrequencySource::Estimate }),
        interrupts: Some(EventCounts {
            elapsed_s: 0.5,
            sources: vec![SourceCount { source: "LOC".into(), count: shown.interrupts }],
            time_s: None,
        }),
        softirqs: None,
        thread: ThreadUse::default(),
        stolen_s: None,
    }
}

fn machine(cpus: u32) -> Machine {
    generate::one_package_machine(cpus, false, &[(CpuSet::first_cpus(cpus), 32)])
}

/// A survey with these rounds for each cpu, and with one visit of 100 ns to each pair for each round of cpu 0.
fn survey(rounds: &[Vec<ShownComparison>]) -> Survey {
    let cpus = rounds.len() as u32;
    let observation = |(cpu, rounds): (usize, &Vec<ShownComparison>)| CpuObservation {
        cpu: cpu as u32,
        tail: TickHistogram::new_collecting(1.0),
        rounds: rounds.iter().enumerate().map(|(index, &shown)| round(index, shown)).collect(),
        stalls: None,
    };
    let visits_ns = vec![100.0; rounds.first().map_or(0, Vec::len)];
    let pairs = (0..cpus).flat_map(|a| (a + 1..cpus).map(move |b| (a, b)));
    let links = LinkFindings {
        pairs: pairs.map(|(a, b)| LinkPair::new(a, b, visits_ns.clone())).collect(),
        ..LinkFindings::default()
    };
    let cpus_seen = rounds.iter().enumerate().map(observation).collect();
    let truth = CpuTruth { piece_ns: 260.0, interrupts_per_s: 0.0, lost: 0.0 };
    let frame = simulate::simulate_survey(machine(cpus), 0, 1, MachineNoise::Quiet, |_| truth);
    Survey { cpus: cpus_seen, links, ..frame }
}

fn usual(cpus: usize, rounds: usize) -> Survey {
    survey(&vec![vec![USUAL; rounds]; cpus])
}

/// The quantity and subject of each change, and its ratio to two digits.
fn told(comparison: &SurveyComparison) -> Vec<(ComparedQuantity, ComparedSubject, Option<f64>)> {
    let rounded = |ratio: f64| (ratio * 100.0).round() / 100.0;
    comparison.numbers.iter().map(|change| (change.quantity, change.subject, change.ratio.map(rounded))).collect()
}

fn one_cpu(shown: ShownComparison) -> Survey {
    survey(&[vec![USUAL; 8], vec![shown; 8]])
}

#[test]
fn a_change_counts_from_the_least_ratio_of_its_quantity_on() {
    let changed = |shown| told(&compare_surveys(&usual(2, 8), &one_cpu(shown)));
    let cpu = ComparedSubject::Cpu(1);
    assert_eq!(changed(ShownComparison { p50_ns: 260.0 * 1.015, ..USUAL }), []);
    assert_eq!(changed(ShownComparison { p50_ns: 260.0 * 1.06, ..USUAL }), [(ComparedQuantity::P50, cpu, Some(1.06))]);
    assert_eq!(changed(ShownComparison { p99_9_ns: 2400.0, ..USUAL }), []);
    assert_eq!(changed(ShownComparison { p99_9_ns: 1500.0, ..USUAL }), [(ComparedQuantity::P99_9, cpu, Some(0.75))]);
    assert_eq!(changed(ShownComparison { lost: 0.014, ..USUAL }), []);
    assert_eq!(changed(ShownComparison { lost: 0.044, ..USUAL }), [(ComparedQuantity::Lost, cpu, Some(4.4))]);
    assert_eq!(changed(ShownComparison { gigahertz: 3.95, ..USUAL }), []);
    assert_eq!(changed(ShownComparison { gigahertz: 3.6, ..USUAL }), [(ComparedQuantity::Frequency, cpu, Some(0.9))]);
    assert_eq!(changed(ShownComparison { interrupts: 90, ..USUAL }), []);
    assert_eq!(
        changed(ShownComparison { interrupts: 105, ..USUAL }),
        [(ComparedQuantity::InterruptRate, cpu, Some(2.1))]
    );
    assert_eq!(changed(ShownComparison { interrupts: 0, ..USUAL }), [(ComparedQuantity::InterruptRate, cpu, None)]);
}

#[test]
fn rare_interrupts_are_no_change_however_large_their_ratio() {
    let quiet = one_cpu(ShownComparison { interrupts: 1, ..USUAL });
    let silent = one_cpu(ShownComparison { interrupts: 5, ..USUAL });
    assert_eq!(told(&compare_surveys(&quiet, &silent)), []);
}

/// The floor is a ten-thousandth of the time: from nothing to half of it is no change, from nothing to all of it is.
#[test]
fn losses_near_nothing_are_no_change_however_large_their_ratio() {
    let losing = |lost| one_cpu(ShownComparison { lost, ..USUAL });
    assert_eq!(told(&compare_surveys(&losing(1e-7), &losing(0.4e-4))), []);
    assert_eq!(
        told(&compare_surveys(&losing(0.0), &losing(1e-4))),
        [(ComparedQuantity::Lost, ComparedSubject::Cpu(1), None)]
    );
}

/// The medians are apart by more than is usual; the ranges overlap, touch when raised by the usual, and lie apart.
#[test]
fn a_change_within_the_uncertainty_is_none() {
    let spread = |centre: f64| {
        // In an order without drift.
        let places = [-3.5, 3.5, -2.5, 2.5, -1.5, 1.5, -0.5, 0.5];
        let rounds = places.map(|place| ShownComparison { p50_ns: centre + 20.0 * place, ..USUAL }).to_vec();
        survey(&[vec![USUAL; 8], rounds])
    };
    assert_eq!(told(&compare_surveys(&spread(260.0), &spread(286.0))), []);
    assert_eq!(told(&compare_surveys(&spread(260.0), &spread(410.0))), [], "from [190, 330] to [340, 480]");
    assert_eq!(
        told(&compare_surveys(&spread(260.0), &spread(450.0))),
        [(ComparedQuantity::P50, ComparedSubject::Cpu(1), Some(1.73))]
    );
}

/// In both surveys the machine slowed down by a fifth; so much between them is no surprise, and is not excluded.
#[test]
fn a_change_within_the_drift_is_none() {
    let drifting = |times: f64| {
        let shown =
            |round: u32| ShownComparison { p50_ns: 260.0 * times * (1.0 + 0.2 * f64::from(round) / 23.0), ..USUAL };
        survey(&[vec![USUAL; 24], (0..24).map(shown).collect()])
    };
    let before = drifting(1.0);
    let comparison = compare_surveys(&before, &drifting(1.25));
    assert_eq!(told(&comparison), []);
    assert!(comparison.excluded[0].quantity == ComparedQuantity::P50 && comparison.excluded[0].beyond > 1.4);
    assert_eq!(
        told(&compare_surveys(&before, &drifting(2.0))),
        [(ComparedQuantity::P50, ComparedSubject::Cpu(1), Some(2.0))]
    );
    let steady = one_cpu(ShownComparison { p50_ns: 325.0, ..USUAL });
    assert_eq!(
        told(&compare_surveys(&usual(2, 8), &steady)),
        [(ComparedQuantity::P50, ComparedSubject::Cpu(1), Some(1.25))]
    );
}

#[test]
fn too_few_rounds_are_a_gap_and_not_an_equality() {
    let slow = ShownComparison { p50_ns: 2600.0, ..USUAL };
    let comparison = compare_surveys(&usual(3, 7), &survey(&vec![vec![slow; 8]; 3]));
    assert_eq!(comparison.compared, 1, "the links have 21 and 24 visits");
    assert!(comparison.is_empty());
    let gaps: Vec<&str> = comparison.gaps.iter().map(|gap| gap.what.as_str()).collect();
    assert_eq!(gaps, ["p50, p99.9, time lost to stalls, frequency, interrupt rate of cpus 0-2"], "{comparison:?}");
    assert!(comparison.gaps[0].why.contains("too few rounds") && comparison.gaps[0].cure.is_some());
}

#[test]
fn numbers_had_in_different_ways_are_a_gap() {
    let mut after = one_cpu(ShownComparison { p50_ns: 520.0, gigahertz: 2.0, ..USUAL });
    after.work.additions = 2000;
    for round in after.cpus.iter_mut().flat_map(|cpu| &mut cpu.rounds) {
        round.frequency.as_mut().unwrap().source = FrequencySource::Cycles;
        round.interrupts = None;
    }
    let comparison = compare_surveys(&usual(2, 8), &after);
    assert_eq!(told(&comparison), []);
    let mut gaps: Vec<&str> = comparison.gaps.iter().map(|gap| gap.what.as_str()).collect();
    gaps.sort_unstable();
    assert_eq!(
        gaps,
        ["frequency of cpus 0,1", "interrupt rate of cpus 0,1", "p50, p99.9, time lost to stalls of cpus 0,1"]
    );
}

#[test]
fn surveys_of_different_cpus_are_compared_where_they_meet() {
    let slow = ShownComparison { p50_ns: 390.0, ..USUAL };
    let mut after = survey(&vec![vec![slow; 8]; 4]);
    after.cpus.remove(0);
    let comparison = compare_surveys(&usual(2, 8), &after);
    assert_eq!(told(&comparison), [(ComparedQuantity::P50, ComparedSubject::Cpu(1), Some(1.5))]);
    assert!(!comparison.same_machine);
    assert_eq!((comparison.appeared.to_string(), comparison.gone.to_string()), ("2,3".into(), String::new()));
    let facts: Vec<_> = comparison.facts.iter().map(|fact| fact.what.as_str()).collect();
    assert_eq!(facts, ["clusters", "cores", "online cpus", "allowed cpus"]);
}

#[test]
fn surveys_without_cpus_or_links_are_compared() {
    let comparison = compare_surveys(&survey(&[]), &survey(&[]));
    assert!(comparison.is_empty() && comparison.gaps.is_empty() && comparison.compared == 0, "{comparison:?}");
}

#[test]
fn facts_are_told_in_words() {
    let before = usual(2, 8);
    let mut after = before.clone();
    after.machine.system.kernel = Some("6.19.0".into());
    after.machine.system.governors = vec!["performance".into(), "powersave".into()];
    after.machine.system.hypervisor = Some("KVM".into());
    after.machine.processor.microcode = Some("0x2".into());
    after.machine.kinds =
        vec![CoreKind { core_type: CoreType::Performance, cpus: CpuSet::from_cpu(0), reason: "cpu_core".into() }];
    let data = |size_bytes, cpu| Cache { level: 1, kind: CacheKind::Data, size_bytes, cpus: CpuSet::from_cpu(cpu) };
    after.machine.caches[0].size_bytes = Some(96 << 20);
    after.machine.caches.extend([data(Some(48 << 10), 0), data(Some(32 << 10), 1), data(None, 2), data(Some(512), 3)]);
    after.provenance.corewise = "0.2.0".into();
    let facts = compare_surveys(&before, &after).facts;
    let told: Vec<&String> = facts.iter().map(|fact| &fact.what).collect();
    let lines: Vec<String> = facts
        .iter()
        .map(|fact| format!("{}: {:?} -> {:?}", fact.what, fact.before, fact.after).replace("Some", ""))
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    kernel: ("6.18.2") -> ("6.19.0")
    microcode: None -> ("0x2")
    governor: None -> ("performance, powersave")
    hypervisor: None -> ("KVM")
    corewise: ("simulated") -> ("0.2.0")
    performance cpus: None -> ("0")
    L1 data caches: None -> ("1 x 48 KB, 1 x 32 KB, 1 x 512 bytes, 1 x unknown size")
    L3 caches: ("1 x 32 MB") -> ("1 x 96 MB")
    "#);
    let back = compare_surveys(&after, &before);
    assert_eq!(back.facts.iter().map(|fact| &fact.what).collect::<Vec<_>>(), told);
}

#[test]
fn the_load_is_told_when_it_changed_by_more_than_a_tenth() {
    let busy = |others_busy| {
        let mut survey = usual(2, 8);
        survey.provenance.others_busy = others_busy;
        survey
    };
    let told = |before, after| {
        let facts = compare_surveys(&busy(before), &busy(after)).facts;
        facts.into_iter().map(|fact| (fact.what, fact.before.unwrap(), fact.after.unwrap())).collect::<Vec<_>>()
    };
    let fact = |before: &str, after: &str| [("other programs used".to_owned(), before.to_owned(), after.to_owned())];
    assert_eq!(told(Some(0.012), Some(0.771)), fact("1 %", "77 %"));
    assert_eq!(told(Some(0.771), Some(0.012)), fact("77 %", "1 %"));
    assert_eq!(told(Some(0.01), Some(0.105)), []);
    assert_eq!(told(None, Some(0.77)), []);
}

#[test]
fn the_quantities_that_were_compared_are_named() {
    let mut after = usual(2, 8);
    after.work.additions = 2000;
    let excluded = compare_surveys(&usual(2, 8), &after).excluded;
    let compared: Vec<ComparedQuantity> = excluded.iter().map(|excluded| excluded.quantity).collect();
    assert_eq!(compared, [ComparedQuantity::Frequency, ComparedQuantity::InterruptRate, ComparedQuantity::LinkCost]);
}

#[test]
fn links_are_compared_pair_by_pair() {
    let with = |cost: &dyn Fn(u32, u32, usize) -> f64| {
        let mut survey = usual(4, 0);
        for pair in &mut survey.links.pairs {
            *pair = LinkPair::new(pair.a, pair.b, (0..3).map(|visit| cost(pair.a, pair.b, visit)).collect());
        }
        survey
    };
    // Each pair is far from the others, and its visits are near each other.
    let geography = |a: u32, b: u32, visit: usize| 50.0 * f64::from(1 + a + 3 * b) * (1.0 + 0.01 * visit as f64);
    let before = with(&geography);
    let a_fifth_more = with(&|a, b, visit| 1.2 * geography(a, b, visit));
    let comparison = compare_surveys(&before, &a_fifth_more);
    assert_eq!(
        told(&comparison),
        [(ComparedQuantity::LinkCost, ComparedSubject::Links(CpuRelation::SameLlc), Some(1.2))]
    );
    assert_eq!(comparison.numbers[0].before.count, 6);
    assert_eq!(told(&compare_surveys(&before, &with(&|a, b, visit| 1.1 * geography(a, b, visit)))), []);
    let mut split = a_fifth_more;
    split.machine.llcs[0].cpus = CpuSet::first_cpus(2);
    split.machine.llcs.push(Llc { level: Some(3), size_bytes: None, vcache: false, cpus: CpuSet::from_iter([2, 3]) });
    let comparison = compare_surveys(&before, &split);
    assert_eq!(told(&comparison), [], "two pairs keep their relation: six visits are too few");
    assert_eq!(comparison.gaps.last().unwrap().what, "link cost, same llc");
}

/// Surveys of a machine that did not change, on which noise runs on from round to round: the rule must hold although its
/// intervals assume independent rounds. 4,200 numbers of each kind of noise, at most one in 400.
#[test]
fn nothing_is_made_of_noise() {
    let truth = |_| CpuTruth { piece_ns: 260.0, interrupts_per_s: 120.0, lost: 0.01 };
    for noise in MachineNoise::ALL {
        let mut changes = Vec::new();
        for seed in 0..200 {
            let survey = |seed| {
                let mut survey = simulate::simulate_survey(machine(4), 24, seed, noise, truth);
                survey.links = simulate::simulate_links(&survey.machine, seed, |_| 57.0);
                survey
            };
            let comparison = compare_surveys(&survey(2 * seed), &survey(2 * seed + 1));
            assert_eq!((comparison.compared, comparison.gaps.len()), (21, 0));
            changes.extend(told(&comparison));
        }
        assert!(changes.len() <= 10, "{noise:?}: {changes:?}");
    }
}

/// On the same noise, changes of twice what is usual are seen.
#[test]
fn a_change_is_seen_through_noise() {
    let truth = |_| CpuTruth { piece_ns: 260.0, interrupts_per_s: 120.0, lost: 0.01 };
    let changed = |cpu| match cpu {
        2 => CpuTruth { piece_ns: 260.0 * 1.12, interrupts_per_s: 500.0, lost: 0.04 },
        _ => truth(cpu),
    };
    let before = simulate::simulate_survey(machine(4), 24, 1, MachineNoise::Quiet, truth);
    let after = simulate::simulate_survey(machine(4), 24, 2, MachineNoise::Quiet, changed);
    let cpu = ComparedSubject::Cpu(2);
    let told = told(&compare_surveys(&before, &after)).into_iter().map(|(quantity, subject, _)| (quantity, subject));
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            ComparedQuantity::P50,
            ComparedQuantity::P99_9,
            ComparedQuantity::Lost,
            ComparedQuantity::Frequency,
            ComparedQuantity::InterruptRate
        ]
        .map(|quantity| (quantity, cpu))
    );
}

/// All cpus of a machine slowed down by 4.5 %: it is said, or that it cannot be excluded.
#[test]
fn a_small_change_of_all_cpus_is_named_or_not_excluded() {
    let truth = |piece_ns| move |_| CpuTruth { piece_ns, interrupts_per_s: 120.0, lost: 0.01 };
    for noise in MachineNoise::ALL {
        let (mut named, mut said) = (0, 0);
        for seed in 0..40 {
            let survey = |seed, piece_ns| simulate::simulate_survey(machine(4), 24, seed, noise, truth(piece_ns));
            let comparison = compare_surveys(&survey(2 * seed, 260.0), &survey(2 * seed + 1, 1.045 * 260.0));
            let is_speed = |quantity| quantity == ComparedQuantity::P50;
            let changed = comparison.numbers.iter().filter(|change| is_speed(change.quantity)).count();
            let possible = comparison.excluded.iter().find(|excluded| is_speed(excluded.quantity));
            named += usize::from(changed == 4);
            said += usize::from(possible.is_none_or(|possible| possible.beyond >= 1.045));
        }
        assert!(said >= 38, "{noise:?}: {said} of 40");
        assert!(noise != MachineNoise::Quiet || named >= 15, "{named} of 40");
    }
}

/// The pages of a pair differ between surveys: luck of 5 % is no change, and a change of 30 % is one.
#[test]
fn luck_of_pairs_is_no_change_of_links() {
    let survey = |seed, times: f64| {
        let mut survey = usual(8, 0);
        survey.links = simulate::simulate_lucky_links(&survey.machine, seed, 0.05, |_, _, _| 60.0 * times);
        survey
    };
    let changes = |times| {
        let compare = |seed: u64| compare_surveys(&survey(2 * seed, 1.0), &survey(2 * seed + 1, times));
        (0..50).filter(|seed| !compare(*seed).numbers.is_empty()).count()
    };
    assert_eq!([changes(1.0), changes(1.3)], [0, 50]);
}

fn shown() -> impl Strategy<Value = ShownComparison> {
    (1.0..1000.0_f64, 1.0..100_000.0_f64, 0.0..0.5_f64, 0.1..6.0_f64, 0_u64..1000).prop_map(
        |(p50_ns, p99_9_ns, lost, gigahertz, interrupts)| ShownComparison {
            p50_ns,
            p99_9_ns,
            lost,
            gigahertz,
            interrupts,
        },
    )
}

/// Surveys of up to three cpus with rounds around a level of their own, so that some numbers change and some do not.
fn any_survey() -> impl Strategy<Value = Survey> {
    let cpu = (shown(), proptest::collection::vec(0.9..1.1_f64, 0..12)).prop_map(|(level, factors)| {
        let scaled = |factor: &f64| ShownComparison {
            p50_ns: level.p50_ns * factor,
            p99_9_ns: level.p99_9_ns * factor,
            lost: level.lost * factor,
            gigahertz: level.gigahertz * factor,
            interrupts: (level.interrupts as f64 * factor) as u64,
        };
        factors.iter().map(scaled).collect::<Vec<_>>()
    });
    proptest::collection::vec(cpu, 0..4).prop_map(|rounds| survey(&rounds))
}

proptest! {
    #[test]
    fn a_survey_does_not_differ_from_itself(survey in any_survey()) {
        let comparison = compare_surveys(&survey, &survey);
        prop_assert!(comparison.is_empty() && comparison.same_machine, "{comparison:?}");
    }

    #[test]
    fn exchanging_the_surveys_exchanges_what_is_said(before in any_survey(), after in any_survey()) {
        let (there, back) = (compare_surveys(&before, &after), compare_surveys(&after, &before));
        prop_assert_eq!((&there.appeared, &there.gone), (&back.gone, &back.appeared));
        prop_assert_eq!((&there.gaps, there.compared), (&back.gaps, back.compared));
        let mut turned = back.clone();
        for fact in &mut turned.facts {
            std::mem::swap(&mut fact.before, &mut fact.after);
        }
        prop_assert_eq!(&there.facts, &turned.facts);
        prop_assert_eq!(there.numbers.len(), back.numbers.len());
        for (one, other) in there.numbers.iter().zip(&back.numbers) {
            prop_assert_eq!((one.quantity, one.subject), (other.quantity, other.subject));
            prop_assert_eq!((one.before, one.after), (other.after, other.before));
            let product = one.ratio.zip(other.ratio).map(|(a, b)| a * b);
            prop_assert!(product.is_none_or(|product| (product - 1.0).abs() < 1e-9) && one.ratio.is_some() == other.ratio.is_some());
        }
    }

    #[test]
    fn what_is_told_obeys_the_rule(before in any_survey(), after in any_survey()) {
        for change in compare_surveys(&before, &after).numbers {
            let (a, b) = (change.before, change.after);
            prop_assert!(change.interval.is_none_or(|[low, high]| low > 1.0 || high < 1.0), "{change:?}");
            prop_assert!(a.low <= a.median && a.median <= a.high);
            prop_assert!(change.quantity == ComparedQuantity::LinkCost || a.count >= 8 && b.count >= 8);
            let ratio = change.ratio.unwrap_or(f64::INFINITY);
            prop_assert!(ratio.max(1.0 / ratio) > change.quantity.least_ratio());
        }
    }

    #[test]
    fn json_and_back_is_the_same(before in any_survey(), after in any_survey()) {
        let comparison = compare_surveys(&before, &after);
        let text = serde_json::to_string(&comparison).unwrap();
        prop_assert_eq!(serde_json::from_str::<SurveyComparison>(&text).unwrap(), comparison);
    }
}
