//! Findings about links: communication costs across the levels of the machine.

use corewise_machine::{CpuSet, Level};

use super::SurveyConclusions;
use super::formats;
use crate::Survey;
use crate::finding::{CONFIDENCE, Finding, FindingEffect, FindingTopic};
use crate::links::{self, CpuRelation, CpuRelationTable, LinkClass, LinkPair};
use corewise_statistics::order::{median, median_interval};

/// Smallest ratio of classes' costs for a finding.
const MARGIN: f64 = 1.25;

/// Adds communication costs across objects, compared with those within a last-level cache (or the nearest existing
/// class).
pub fn conclude_talk(survey: &Survey, conclusions: &mut SurveyConclusions) {
    let classes: Vec<LinkClass> =
        conclusions.link_classes.iter().filter(|class| class.relation != CpuRelation::SameCore).cloned().collect();
    let Some((base, farther)) = classes.split_first() else { return };
    let hypervisor = survey.machine.system.hypervisor.as_deref();
    conclusions.findings.extend(links::modes_finding(&survey.links.pairs, hypervisor));
    if farther.is_empty() {
        let (words, low, high) = (base.relation.relation_name(), base.lowest_ns, base.highest_ns);
        conclusions.no_difference.push(match base.pairs {
            1 => format!("links: one pair of cores, {:.0} ns one way ({words})", base.median_ns),
            pairs => format!("links: one class ({words}), {pairs} pairs between {low:.0} and {high:.0} ns one way"),
        });
    }
    for class in farther {
        let words = [class, base].map(|class| class.relation.relation_name());
        match talk_effect(survey, base, class) {
            Some(effect) if effect.low >= MARGIN => {
                conclusions.findings.push(talk_finding(survey, base, class, effect))
            }
            Some(effect) if effect.high < MARGIN => {
                conclusions.no_difference.push(format!(
                    "links: {} costs {} {}",
                    words[0],
                    effect.format_times(),
                    words[1]
                ));
            }
            Some(effect) => conclusions.undecided.push(format!(
                "links: {} costs {} {}; from {MARGIN}x on it would matter",
                words[0],
                effect.format_times(),
                words[1]
            )),
            None => conclusions.undecided.push(format!(
                "links: {} costs {:.0} ns and {} {:.0} ns, of too few visits for an interval",
                words[0], class.median_ns, words[1], base.median_ns
            )),
        }
    }
}

/// Returns the ratio of two classes: over sweeps if there are enough of them, else from the intervals of both medians
/// over pairs (each with half of the error, so that the ratio keeps its confidence).
fn talk_effect(survey: &Survey, base: &LinkClass, class: &LinkClass) -> Option<FindingEffect> {
    let relations = CpuRelationTable::new(&survey.machine);
    let of = |class: &LinkClass| {
        let pairs = survey.links.pairs.iter();
        pairs
            .filter(|pair| relations.relation_between(pair.a, pair.b) == Some(class.relation))
            .collect::<Vec<&LinkPair>>()
    };
    let (near, far) = (of(base), of(class));
    let ratios = sweep_ratios(&near, &far);
    let (ratio, (low, high)) = match median_interval(&ratios, CONFIDENCE) {
        Some(interval) => (median(&ratios), interval),
        None => (class.median_ns / base.median_ns, pairs_interval(&near, &far)?),
    };
    let (quantity, against) = ("one-way cost".to_owned(), base.relation.relation_name().to_owned());
    Some(FindingEffect { quantity, against, ratio, low, high, p_value: None })
}

/// Returns the ratio of the two classes' medians in each sweep that all pairs have.
fn sweep_ratios(near: &[&LinkPair], far: &[&LinkPair]) -> Vec<f64> {
    let sweeps = near.iter().chain(far).map(|pair| pair.in_turn_ns().len()).min().unwrap_or(0);
    let cost =
        |pairs: &[&LinkPair], sweep| median(&pairs.iter().map(|pair| pair.in_turn_ns()[sweep]).collect::<Vec<_>>());
    (0..sweeps).map(|sweep| cost(far, sweep) / cost(near, sweep)).collect()
}

fn pairs_interval(near: &[&LinkPair], far: &[&LinkPair]) -> Option<(f64, f64)> {
    let half = 1.0 - (1.0 - CONFIDENCE) / 2.0;
    let costs = |pairs: &[&LinkPair]| pairs.iter().flat_map(|pair| pair.costs_ns()).collect::<Vec<_>>();
    let (near_low, near_high) = median_interval(&costs(near), half)?;
    let (far_low, far_high) = median_interval(&costs(far), half)?;
    Some((far_low / near_high, far_high / near_low))
}

fn talk_finding(survey: &Survey, base: &LinkClass, class: &LinkClass, effect: FindingEffect) -> Finding {
    let across = match class.relation {
        CpuRelation::OtherPackage => "packages",
        CpuRelation::OtherNode | CpuRelation::SameLlcOtherNode => "nodes",
        CpuRelation::OtherDie => "dies",
        CpuRelation::OtherLlc => "last-level caches",
        CpuRelation::SameLlc => "clusters",
        CpuRelation::SameCluster | CpuRelation::SameCore => "cores",
    };
    let (level, within) = match base.relation {
        CpuRelation::SameCluster => (Level::Cluster, "one cluster"),
        CpuRelation::SameLlc if class.relation == CpuRelation::SameLlcOtherNode => (Level::Node, "one node"),
        CpuRelation::SameLlc => (Level::Llc, "one last-level cache"),
        CpuRelation::OtherLlc if survey.machine.dies.len() > survey.machine.packages.len() => (Level::Die, "one die"),
        CpuRelation::OtherDie => (Level::Node, "one node"),
        _ => (Level::Package, "one package"),
    };
    let statement = format!(
        "Talking across {across} costs {} as much as within {within}: {:.0} ns against {:.0} ns, one way.",
        effect.format_times(),
        class.median_ns,
        base.median_ns
    );
    let surveyed: CpuSet = survey.cpus.iter().map(|seen| seen.cpu).collect();
    // Of places of one size the first is named.
    let places = survey.machine.objects_of(level).into_iter();
    let place = places.rev().map(|cpus| cpus.intersection(&surveyed)).max_by_key(CpuSet::len);
    Finding {
        topic: FindingTopic::Links,
        cpus: surveyed,
        statement,
        advice: "Place threads that talk much together:".into(),
        command: place.map(|cpus| formats::run_on(&cpus, survey)),
        effects: vec![effect],
    }
}
