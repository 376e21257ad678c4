//! Findings about groups of cpus: kinds of core and last-level caches that are faster or slower at the same work.

use corewise_machine::CpuSet;

use super::SurveyConclusions;
use super::family::SurveyTests;
use super::formats;
use super::quantity::CpuQuantity;
use crate::Survey;
use crate::finding::{Finding, FindingEffect, FindingTopic};
use corewise_statistics::order::median;

/// Adds findings about groups of cpus.
pub fn conclude_groups(survey: &Survey, tests: &SurveyTests, conclusions: &mut SurveyConclusions) {
    let Some(tested) = &tests.of_groups else { return };
    let groups: Vec<(&String, &Vec<u32>)> = tests.groups.iter().collect();
    for (column, episode) in &tested.episodes {
        let who =
            format!("{} ({})", groups[*column].0, formats::format_cpus(&groups[*column].1.iter().copied().collect()));
        conclusions.add_episode(&who, CpuQuantity::Median, episode, survey);
    }
    if tested.differing.is_empty() {
        let what = "p50 of last-level caches and kinds";
        let beyond = tested.excluded_beyond().map(|beyond| CpuQuantity::Median.format_bound(beyond));
        let needs_s = tested.needs_s(survey);
        let sentence = match beyond {
            None => format!("{what}: {} comparable rounds are too few", tested.rounds),
            Some(beyond) if needs_s.is_some() => format!("{what}: differences up to {beyond} are not excluded"),
            Some(beyond) => format!("{what}: none differs; differences beyond {beyond} are excluded"),
        };
        conclusions.add_unfound(sentence, needs_s);
    }
    for (column, effect) in &tested.differing {
        let cpus: CpuSet = groups[*column].1.iter().copied().collect();
        conclusions.findings.push(group_finding(survey, groups[*column].0, cpus, effect.clone()));
    }
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
