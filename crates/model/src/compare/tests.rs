//! What a comparison says, what it keeps quiet about, and how it behaves when the surveys are exchanged.

use corewise_machine::counts::{Count, Counted};
use corewise_machine::facts::{CacheKind, CoreType};
use corewise_machine::generate;
use corewise_machine::machine::{Cache, Kind, Llc, Machine};
use corewise_machine::thread::ThreadUse;
use proptest::prelude::*;

use super::*;
use crate::Survey;
use crate::histogram::Histogram;
use crate::links::{Links, Pair};
use crate::simulate::{self, Noise, Truth};
use crate::survey::{CpuObservation, CpuRound, Frequency, FrequencySource, Tail};

/// What one round of one cpu shows.
#[derive(Clone, Copy, Debug)]
struct Shown {
    p50_ns: f64,
    p99_9_ns: f64,
    lost: f64,
    gigahertz: f64,
    interrupts: u64,
}

const USUAL: Shown = Shown { p50_ns: 260.0, p99_9_ns: 2000.0, lost: 0.01, gigahertz: 4.0, interrupts: 50 };

fn round(index: usize, shown: Shown) -> CpuRound {
    CpuRound {
        round: index as u32,
        place: 0,
        elapsed_s: 0.5,
        tail: Tail { count: 1000, p50_ns: shown.p50_ns, p99_9_ns: shown.p99_9_ns, lost: shown.lost, ..Tail::default() },
        frequency: Some(Frequency { gigahertz: shown.gigahertz, source: FrequencySource::Estimate }),
        interrupts: Some(Counted {
            elapsed_s: 0.5,
            sources: vec![Count { source: "LOC".into(), count: shown.interrupts }],
            time_s: None,
        }),
        softirqs: None,
        thread: ThreadUse::default(),
        stolen_s: None,
    }
}

fn machine(cpus: u32) -> Machine {
    generate::machine(cpus, false, &[(CpuSet::first(cpus), 32)])
}

/// A survey with these rounds for each cpu, and with one visit of 100 ns to each pair for each round of cpu 0.
fn survey(rounds: &[Vec<Shown>]) -> Survey {
    let cpus = rounds.len() as u32;
    let observation = |(cpu, rounds): (usize, &Vec<Shown>)| CpuObservation {
        cpu: cpu as u32,
        tail: Histogram::new(1.0),
        rounds: rounds.iter().enumerate().map(|(index, &shown)| round(index, shown)).collect(),
        stalls: None,
    };
    let visits_ns = vec![100.0; rounds.first().map_or(0, Vec::len)];
    let pairs = (0..cpus).flat_map(|a| (a + 1..cpus).map(move |b| (a, b)));
    let links = Links { pairs: pairs.map(|(a, b)| Pair::new(a, b, visits_ns.clone())).collect(), ..Links::default() };
    let cpus_seen = rounds.iter().enumerate().map(observation).collect();
    let truth = Truth { piece_ns: 260.0, interrupts_per_s: 0.0, lost: 0.0 };
    let frame = simulate::survey(machine(cpus), 0, 1, Noise::Quiet, |_| truth);
    Survey { cpus: cpus_seen, links, ..frame }
}

fn usual(cpus: usize, rounds: usize) -> Survey {
    survey(&vec![vec![USUAL; rounds]; cpus])
}

/// The quantity and subject of each change, and its ratio to two digits.
fn told(comparison: &Comparison) -> Vec<(Quantity, Subject, Option<f64>)> {
    let rounded = |ratio: f64| (ratio * 100.0).round() / 100.0;
    comparison.numbers.iter().map(|change| (change.quantity, change.subject, change.ratio.map(rounded))).collect()
}

fn one_cpu(shown: Shown) -> Survey {
    survey(&[vec![USUAL; 8], vec![shown; 8]])
}

#[test]
fn a_change_counts_from_the_least_ratio_of_its_quantity_on() {
    let changed = |shown| told(&compare(&usual(2, 8), &one_cpu(shown)));
    let cpu = Subject::Cpu(1);
    assert_eq!(changed(Shown { p50_ns: 260.0 * 1.04, ..USUAL }), []);
    assert_eq!(changed(Shown { p50_ns: 260.0 * 1.06, ..USUAL }), [(Quantity::P50, cpu, Some(1.06))]);
    assert_eq!(changed(Shown { p99_9_ns: 2400.0, ..USUAL }), []);
    assert_eq!(changed(Shown { p99_9_ns: 1500.0, ..USUAL }), [(Quantity::P99_9, cpu, Some(0.75))]);
    assert_eq!(changed(Shown { lost: 0.014, ..USUAL }), []);
    assert_eq!(changed(Shown { lost: 0.044, ..USUAL }), [(Quantity::Lost, cpu, Some(4.4))]);
    assert_eq!(changed(Shown { gigahertz: 3.9, ..USUAL }), []);
    assert_eq!(changed(Shown { gigahertz: 3.6, ..USUAL }), [(Quantity::Frequency, cpu, Some(0.9))]);
    assert_eq!(changed(Shown { interrupts: 90, ..USUAL }), []);
    assert_eq!(changed(Shown { interrupts: 105, ..USUAL }), [(Quantity::InterruptRate, cpu, Some(2.1))]);
    assert_eq!(changed(Shown { interrupts: 0, ..USUAL }), [(Quantity::InterruptRate, cpu, None)]);
}

#[test]
fn rare_interrupts_are_no_change_however_large_their_ratio() {
    let quiet = one_cpu(Shown { interrupts: 1, ..USUAL });
    let silent = one_cpu(Shown { interrupts: 5, ..USUAL });
    assert_eq!(told(&compare(&quiet, &silent)), []);
}

/// The floor is a ten-thousandth of the time: from nothing to half of it is no change, from nothing to all of it is.
#[test]
fn losses_near_nothing_are_no_change_however_large_their_ratio() {
    let losing = |lost| one_cpu(Shown { lost, ..USUAL });
    assert_eq!(told(&compare(&losing(1e-7), &losing(0.4e-4))), []);
    assert_eq!(told(&compare(&losing(0.0), &losing(1e-4))), [(Quantity::Lost, Subject::Cpu(1), None)]);
}

/// The medians are apart by more than is usual; the ranges overlap, touch when raised by the usual, and lie apart.
#[test]
fn a_change_within_the_uncertainty_is_none() {
    let spread = |centre: f64| {
        // In an order without drift.
        let places = [-3.5, 3.5, -2.5, 2.5, -1.5, 1.5, -0.5, 0.5];
        let rounds = places.map(|place| Shown { p50_ns: centre + 20.0 * place, ..USUAL }).to_vec();
        survey(&[vec![USUAL; 8], rounds])
    };
    assert_eq!(told(&compare(&spread(260.0), &spread(286.0))), []);
    assert_eq!(told(&compare(&spread(260.0), &spread(410.0))), [], "from [190, 330] to [340, 480]");
    assert_eq!(told(&compare(&spread(260.0), &spread(450.0))), [(Quantity::P50, Subject::Cpu(1), Some(1.73))]);
}

/// In both surveys the machine slowed down by a fifth; so much between them is no surprise.
#[test]
fn a_change_within_the_drift_is_none() {
    let drifting = |times: f64| {
        let shown = |round: u32| Shown { p50_ns: 260.0 * times * (1.0 + 0.2 * f64::from(round) / 23.0), ..USUAL };
        survey(&[vec![USUAL; 24], (0..24).map(shown).collect()])
    };
    let before = drifting(1.0);
    assert_eq!(told(&compare(&before, &drifting(1.25))), []);
    assert_eq!(told(&compare(&before, &drifting(1.6))), [(Quantity::P50, Subject::Cpu(1), Some(1.6))]);
    let steady = one_cpu(Shown { p50_ns: 325.0, ..USUAL });
    assert_eq!(told(&compare(&usual(2, 8), &steady)), [(Quantity::P50, Subject::Cpu(1), Some(1.25))]);
}

#[test]
fn too_few_rounds_are_a_gap_and_not_an_equality() {
    let slow = Shown { p50_ns: 2600.0, ..USUAL };
    let comparison = compare(&usual(3, 7), &survey(&vec![vec![slow; 8]; 3]));
    assert_eq!(comparison.compared, 1, "the links have 21 and 24 visits");
    assert!(comparison.is_empty());
    let gaps: Vec<&str> = comparison.gaps.iter().map(|gap| gap.what.as_str()).collect();
    assert_eq!(gaps, ["p50, p99.9, time lost to stalls, frequency, interrupt rate of cpus 0-2"], "{comparison:?}");
    assert!(comparison.gaps[0].why.contains("too few rounds") && comparison.gaps[0].cure.is_some());
}

#[test]
fn numbers_had_in_different_ways_are_a_gap() {
    let mut after = one_cpu(Shown { p50_ns: 520.0, gigahertz: 2.0, ..USUAL });
    after.work.additions = 2000;
    for round in after.cpus.iter_mut().flat_map(|cpu| &mut cpu.rounds) {
        round.frequency.as_mut().unwrap().source = FrequencySource::Cycles;
        round.interrupts = None;
    }
    let comparison = compare(&usual(2, 8), &after);
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
    let slow = Shown { p50_ns: 390.0, ..USUAL };
    let mut after = survey(&vec![vec![slow; 8]; 4]);
    after.cpus.remove(0);
    let comparison = compare(&usual(2, 8), &after);
    assert_eq!(told(&comparison), [(Quantity::P50, Subject::Cpu(1), Some(1.5))]);
    assert!(!comparison.same_machine);
    assert_eq!((comparison.appeared.to_string(), comparison.gone.to_string()), ("2,3".into(), String::new()));
    let facts: Vec<_> = comparison.facts.iter().map(|fact| fact.what.as_str()).collect();
    assert_eq!(facts, ["clusters", "cores", "online cpus", "allowed cpus"]);
}

#[test]
fn surveys_without_cpus_or_links_are_compared() {
    let comparison = compare(&survey(&[]), &survey(&[]));
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
        vec![Kind { core_type: CoreType::Performance, cpus: CpuSet::of(0), reason: "cpu_core".into() }];
    let data = |size_bytes, cpu| Cache { level: 1, kind: CacheKind::Data, size_bytes, cpus: CpuSet::of(cpu) };
    after.machine.caches[0].size_bytes = Some(96 << 20);
    after.machine.caches.extend([data(Some(48 << 10), 0), data(Some(32 << 10), 1), data(None, 2), data(Some(512), 3)]);
    after.provenance.corewise = "0.2.0".into();
    let facts = compare(&before, &after).facts;
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
    let back = compare(&after, &before);
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
        let facts = compare(&busy(before), &busy(after)).facts;
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
    let compared = compare(&usual(2, 8), &after).quantities;
    assert_eq!(compared, [Quantity::Frequency, Quantity::InterruptRate, Quantity::LinkCost]);
}

#[test]
fn links_are_compared_pair_by_pair() {
    let with = |cost: &dyn Fn(u32, u32, usize) -> f64| {
        let mut survey = usual(4, 0);
        for pair in &mut survey.links.pairs {
            *pair = Pair::new(pair.a, pair.b, (0..3).map(|visit| cost(pair.a, pair.b, visit)).collect());
        }
        survey
    };
    // Each pair is far from the others, and its visits are near each other.
    let geography = |a: u32, b: u32, visit: usize| 50.0 * f64::from(1 + a + 3 * b) * (1.0 + 0.01 * visit as f64);
    let before = with(&geography);
    let a_fifth_more = with(&|a, b, visit| 1.2 * geography(a, b, visit));
    let comparison = compare(&before, &a_fifth_more);
    assert_eq!(told(&comparison), [(Quantity::LinkCost, Subject::Links(Relation::SameLlc), Some(1.2))]);
    assert_eq!(comparison.numbers[0].before.count, 18);
    assert_eq!(told(&compare(&before, &with(&|a, b, visit| 1.1 * geography(a, b, visit)))), []);
    let mut split = a_fifth_more;
    split.machine.llcs[0].cpus = CpuSet::first(2);
    split.machine.llcs.push(Llc { level: Some(3), size_bytes: None, vcache: false, cpus: CpuSet::from_iter([2, 3]) });
    let comparison = compare(&before, &split);
    assert_eq!(told(&comparison), [], "two pairs keep their relation: six visits are too few");
    assert_eq!(comparison.gaps.last().unwrap().what, "link cost, same llc");
}

/// Surveys of a machine that did not change, on which noise runs on from round to round: the rule must hold although its
/// intervals assume independent rounds. 4,200 numbers of each kind of noise, at most one in 400.
#[test]
fn nothing_is_made_of_noise() {
    let truth = |_| Truth { piece_ns: 260.0, interrupts_per_s: 120.0, lost: 0.01 };
    for noise in Noise::ALL {
        let mut changes = Vec::new();
        for seed in 0..200 {
            let survey = |seed| {
                let mut survey = simulate::survey(machine(4), 24, seed, noise, truth);
                survey.links = simulate::links(&survey.machine, seed, |_| 57.0);
                survey
            };
            let comparison = compare(&survey(2 * seed), &survey(2 * seed + 1));
            assert_eq!((comparison.compared, comparison.gaps.len()), (21, 0));
            changes.extend(told(&comparison));
        }
        assert!(changes.len() <= 10, "{noise:?}: {changes:?}");
    }
}

/// On the same noise, changes of twice what is usual are seen.
#[test]
fn a_change_is_seen_through_noise() {
    let truth = |_| Truth { piece_ns: 260.0, interrupts_per_s: 120.0, lost: 0.01 };
    let changed = |cpu| match cpu {
        2 => Truth { piece_ns: 260.0 * 1.12, interrupts_per_s: 500.0, lost: 0.04 },
        _ => truth(cpu),
    };
    let before = simulate::survey(machine(4), 24, 1, Noise::Quiet, truth);
    let after = simulate::survey(machine(4), 24, 2, Noise::Quiet, changed);
    let cpu = Subject::Cpu(2);
    let told = told(&compare(&before, &after)).into_iter().map(|(quantity, subject, _)| (quantity, subject));
    assert_eq!(
        told.collect::<Vec<_>>(),
        [Quantity::P50, Quantity::P99_9, Quantity::Lost, Quantity::Frequency, Quantity::InterruptRate]
            .map(|quantity| (quantity, cpu))
    );
}

fn shown() -> impl Strategy<Value = Shown> {
    (1.0..1000.0_f64, 1.0..100_000.0_f64, 0.0..0.5_f64, 0.1..6.0_f64, 0_u64..1000).prop_map(
        |(p50_ns, p99_9_ns, lost, gigahertz, interrupts)| Shown { p50_ns, p99_9_ns, lost, gigahertz, interrupts },
    )
}

/// Surveys of up to three cpus with rounds around a level of their own, so that some numbers change and some do not.
fn any_survey() -> impl Strategy<Value = Survey> {
    let cpu = (shown(), proptest::collection::vec(0.9..1.1_f64, 0..12)).prop_map(|(level, factors)| {
        let scaled = |factor: &f64| Shown {
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
        let comparison = compare(&survey, &survey);
        prop_assert!(comparison.is_empty() && comparison.same_machine, "{comparison:?}");
    }

    #[test]
    fn exchanging_the_surveys_exchanges_what_is_said(before in any_survey(), after in any_survey()) {
        let (there, back) = (compare(&before, &after), compare(&after, &before));
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
        for change in compare(&before, &after).numbers {
            let (a, b) = (change.before, change.after);
            prop_assert!(a.high < b.low || b.high < a.low);
            prop_assert!(a.low <= a.median && a.median <= a.high && a.count >= 8 && b.count >= 8);
            let ratio = change.ratio.unwrap_or(f64::INFINITY);
            prop_assert!(ratio.max(1.0 / ratio) > change.quantity.least_ratio());
        }
    }

    #[test]
    fn json_and_back_is_the_same(before in any_survey(), after in any_survey()) {
        let comparison = compare(&before, &after);
        let text = serde_json::to_string(&comparison).unwrap();
        prop_assert_eq!(serde_json::from_str::<Comparison>(&text).unwrap(), comparison);
    }
}
