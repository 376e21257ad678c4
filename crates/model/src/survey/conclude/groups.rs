//! Findings about groups of cpus: kinds of core and last-level caches that are faster or slower at the same work.

use std::collections::BTreeMap;

use corewise_machine::{CpuSet, Level};

use super::SurveyConclusions;
use super::formats;
use super::quantity::{self, CpuQuantity};
use crate::Survey;
use crate::finding::{Finding, FindingEffect, FindingTopic};
use crate::stats::order::median;

/// Adds findings about groups of cpus.
pub fn conclude_groups(survey: &Survey, conclusions: &mut SurveyConclusions) {
    let groups = named_groups(survey);
    if groups.len() < 2 {
        return;
    }
    let columns: Vec<Vec<u32>> = groups.values().cloned().collect();
    let names: Vec<&String> = groups.keys().collect();
    let name = |others: &[usize]| match others {
        [one] => names[*one].clone(),
        _ => "the others".to_owned(),
    };
    let Some(tested) = quantity::test_columns(CpuQuantity::Median, survey, &columns, &name) else { return };
    if tested.differing.is_empty() {
        let what = "p50 of last-level caches and kinds";
        let beyond = tested.excluded_beyond().map(|beyond| CpuQuantity::Median.ratio_words(beyond));
        let needs_s = tested.needs_s(survey);
        let sentence = match beyond {
            None => format!("{what}: {} comparable rounds are too few", tested.rounds),
            Some(beyond) if needs_s.is_some() => format!("{what}: differences up to {beyond} are not excluded"),
            Some(beyond) => format!("{what}: none differs; differences beyond {beyond} are excluded"),
        };
        conclusions.add_unfound(sentence, needs_s);
    }
    for (column, effect) in tested.differing {
        let cpus: CpuSet = columns[column].iter().copied().collect();
        conclusions.findings.push(group_finding(survey, names[column], cpus, effect));
    }
}

/// Returns the groups by name: "performance", "llc:1", or "llc:1 efficiency" if caches and kinds cut across each other.
fn named_groups(survey: &Survey) -> BTreeMap<String, Vec<u32>> {
    let machine = &survey.machine;
    let mut groups = BTreeMap::<String, Vec<u32>>::new();
    for seen in &survey.cpus {
        let llc = machine.index_of(Level::Llc, seen.cpu).filter(|_| machine.llcs.len() > 1);
        let kind = machine.kind_of(seen.cpu).map(|kind| kind.core_type.word());
        let name = match (llc, kind) {
            (Some(llc), Some(kind)) => format!("llc:{llc} {kind}"),
            (Some(llc), None) => format!("llc:{llc}"),
            (None, Some(kind)) => kind.to_owned(),
            (None, None) => continue,
        };
        groups.entry(name).or_default().push(seen.cpu);
    }
    groups
}

/// Describes the median clocks of the group and of all other cpus, if both are known: " (5.69 GHz against 5.54)".
fn describe_clocks(survey: &Survey, cpus: &CpuSet) -> String {
    let clock = |inside: bool| {
        let seen = survey.cpus.iter().filter(|seen| cpus.contains(seen.cpu) == inside);
        let clocks = seen.flat_map(|seen| &seen.rounds).filter_map(|round| Some(round.frequency.as_ref()?.gigahertz));
        median(&clocks.collect::<Vec<_>>())
    };
    let (own, others) = (clock(true), clock(false));
    if own.is_nan() || others.is_nan() { String::new() } else { format!(" ({own:.2} GHz against {others:.2})") }
}

fn group_finding(survey: &Survey, name: &str, cpus: CpuSet, effect: FindingEffect) -> Finding {
    let statement = format!(
        "{name} ({}) is {} at the same work than {}{}.",
        formats::format_cpus(&cpus),
        formats::format_slower(&effect),
        effect.against,
        describe_clocks(survey, &cpus)
    );
    let vcache = survey.machine.llcs.iter().any(|llc| llc.vcache);
    let advice = if vcache {
        "One die has the larger cache, the other the higher clock; which is better depends on the program. Try both:"
    } else if effect.ratio < 1.0 {
        "Latency-critical single threads belong here:"
    } else {
        "Latency-critical single threads belong elsewhere:"
    };
    let elsewhere = || survey.cpus.iter().map(|seen| seen.cpu).collect::<CpuSet>().difference(&cpus);
    let target = if effect.ratio < 1.0 { cpus.clone() } else { elsewhere() };
    let command = Some(formats::run_on(&target, survey));
    Finding { topic: FindingTopic::Speed, cpus, statement, advice: advice.into(), command, effects: vec![effect] }
}
