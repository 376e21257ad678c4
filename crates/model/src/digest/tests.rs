//! Digests of simulated machines: small, true, and without what names a person or a host.

use corewise_machine::generate::one_package_machine;
use corewise_machine::{CpuSet, Level, Machine};

use super::*;
use crate::Survey;
use crate::compare::ComparedQuantity;
use crate::links::CpuRelation;
use crate::simulate::{CpuTruth, MachineNoise, simulate_link_map, simulate_links, simulate_survey};

/// A machine whose last-level caches have `llc` cpus each.
fn machine_of(cpus: u32, smt: bool, llc: u32) -> Machine {
    let cache = |first: u32| (CpuSet::from_iter(first..first + llc), 32);
    one_package_machine(cpus, smt, &(0..cpus).step_by(llc as usize).map(cache).collect::<Vec<_>>())
}

fn survey_of(machine: Machine, noise: MachineNoise) -> Survey {
    let truth = |cpu: u32| CpuTruth {
        piece_ns: 250.0 + f64::from(cpu % 7),
        interrupts_per_s: if cpu == 0 { 2000.0 } else { 250.0 },
        lost: if cpu == 3 { 0.05 } else { 0.0005 },
    };
    simulate_survey(machine, 12, 7, noise, truth)
}

fn size_of(digest: &SurveyDigest) -> usize {
    serde_json::to_vec(digest).unwrap().len()
}

#[test]
fn a_digest_of_a_large_machine_is_small_and_names_its_level() {
    let level_of = |cpus: u32, noise| {
        let digest = SurveyDigest::from_survey(&survey_of(machine_of(cpus, true, 16), noise));
        assert!(size_of(&digest) <= MOST_DIGEST_BYTES, "{cpus} cpus take {} bytes", size_of(&digest));
        let values = digest.quantities.iter().map(|quantity| quantity.steps.len()).max();
        assert_eq!(
            values,
            Some(if digest.level == Level::Cpu {
                cpus as usize
            } else {
                digest.objects[&digest.level.to_string()] as usize
            })
        );
        digest.level
    };
    assert_eq!([2, 64].map(|cpus| level_of(cpus, MachineNoise::Quiet)), [Level::Cpu; 2]);
    assert!(level_of(256, MachineNoise::Outliers) >= Level::Core);
    assert!(level_of(512, MachineNoise::Walk) < Level::Cpu);
    level_of(1536, MachineNoise::Outliers);
}

/// Each cpu's value is found again within half a step, whichever cpu it is.
#[test]
fn values_are_those_of_the_survey() {
    let mut survey = survey_of(machine_of(16, false, 8), MachineNoise::Quiet);
    survey.links = simulate_links(&survey.machine, 1, |relation| 20.0 * f64::from(relation as u8 + 1));
    let digest = SurveyDigest::from_survey(&survey);
    let speed = &digest.quantities[0];
    assert_eq!((speed.quantity, digest.level), (ComparedQuantity::P50, Level::Cpu));
    for (seen, value) in survey.cpus.iter().zip(speed.values()) {
        let rounds: Vec<f64> = seen.rounds.iter().map(|round| round.tail.p50_ns).collect();
        let ratio = value.unwrap() / corewise_statistics::order::median(&rounds);
        assert!((ratio - 1.0).abs() < 0.003, "cpu {}: {ratio}", seen.cpu);
    }
    let highest = |quantity| digest.quantities.iter().find(|one| one.quantity == quantity).unwrap().highest;
    assert_eq!(highest(ComparedQuantity::Lost).cpu, 3);
    assert_eq!(highest(ComparedQuantity::InterruptRate).cpu, 0);
    assert!((1500.0..2500.0).contains(&highest(ComparedQuantity::InterruptRate).value));
    let relations: Vec<CpuRelation> = digest.links.iter().map(|class| class.relation).collect();
    assert_eq!(relations, [CpuRelation::SameLlc, CpuRelation::OtherLlc]);
}

/// A thousand odd cpus have a list that is longer than the whole digest.
#[test]
fn a_machine_without_any_order_has_a_digest() {
    let mut survey = survey_of(machine_of(2048, false, 1), MachineNoise::Quiet);
    survey.cpus.retain(|seen| seen.cpu % 2 == 1);
    let digest = SurveyDigest::from_survey(&survey);
    assert!(size_of(&digest) <= MOST_DIGEST_BYTES, "{}", size_of(&digest));
    assert_eq!(digest.quantities.len(), 4);
    assert!(digest.cpus.is_empty() || digest.cpus.len() == 1024);
}

#[test]
fn settings_are_named_and_short() {
    let mut machine = machine_of(2, false, 2);
    let long = format!("\"{}", "x".repeat(500));
    machine.system.scheduling = [("smt".to_owned(), "on".to_owned()), ("sched_ext_ops".to_owned(), long)].into();
    let states = [("mds", "Not affected"), ("spectre_v2", "Mitigation: Retpolines")];
    machine.system.vulnerabilities = states.map(|(name, state)| (name.to_owned(), state.to_owned())).into();
    let settings = SurveyDigest::from_survey(&survey_of(machine, MachineNoise::Quiet)).settings;
    let named = |name: &str| settings.get(name).map(String::as_str);
    assert_eq!([named("kernel"), named("smt"), named("mds")], [Some("6.18.2"), Some("on"), None]);
    assert_eq!(named("spectre_v2"), Some("Mitigation: Retpolines"));
    assert_eq!(named("sched_ext_ops"), Some("x".repeat(48).as_str()));
}

#[test]
fn a_link_map_becomes_its_classes_and_groups() {
    let cost = |a: u32, b: u32, _: CpuRelation| if a / 8 == b / 8 { 30.0 } else { 120.0 };
    let digest = LinkMapDigest::from_map(&simulate_link_map(&machine_of(32, false, 32), 1, 0.0, cost));
    assert_eq!(digest.groups.as_deref(), Some("4 groups of 8 cores"));
    assert_eq!(digest.group_cpus.iter().map(CpuSet::to_string).collect::<Vec<_>>(), ["0-7", "8-15", "16-23", "24-31"]);
    let medians: Vec<f64> = digest.ways[0].classes.iter().map(|class| class.median.round()).collect();
    assert_eq!(medians, [30.0, 120.0]);
    // Costs below 0.1 % of each other are one number.
    assert_eq!(round_value(29.9678, 3), 30.0);
    assert_eq!((round_value(0.0, 3), round_value(123_456.0, 2)), (0.0, 120_000.0));
}

/// The cpus of 512 groups of two do not fit, and their number does.
#[test]
fn many_groups_are_counted() {
    let cost = |a: u32, b: u32, _: CpuRelation| if a / 2 == b / 2 { 30.0 } else { 120.0 };
    let digest = LinkMapDigest::from_map(&simulate_link_map(&machine_of(512, false, 512), 1, 0.0, cost));
    assert!(serde_json::to_vec(&digest).unwrap().len() <= MOST_DIGEST_BYTES);
    assert_eq!((digest.groups.as_deref(), digest.group_cpus.len()), (Some("256 groups of 2 cores"), 256));
}
