//! Sentences about links: groups and their benefit, hidden caches, memory nodes that matter, padding, two costs of one
//! pair.

use std::collections::BTreeSet;

use corewise_machine::{CpuSet, Level};

use super::tiers::{DEAR, INSIDE, SAME_CORE};
use super::{CostClass, CostGroups, FilledSeries, KernelAgreement, LinkConclusions, homes, padding};
use crate::artifact::ArtifactOrigin;
use crate::finding::{Finding, FindingEffect, FindingTopic};
use crate::links::groups::{CheaperPart, GroupLevel, lack_pattern};
use crate::links::map::LinkMap;
use crate::links::{LinkPair, format_cost};
use corewise_machine::suggested_command;

/// Smallest ratio of costs at which cores differ.
const MARGIN: f64 = 1.1;
/// Smallest ratio of the dearest to the cheapest twentieth at which pairs differ.
const SPREAD: f64 = 1.5;

/// Adds the findings of a map.
pub(super) fn conclude_findings(
    map: &LinkMap,
    filled: &[FilledSeries],
    classes: &[(usize, CostClass)],
    conclusions: &mut LinkConclusions,
) {
    let Some(first) = filled.first() else { return };
    if let Some(groups) = conclusions.groups.clone() {
        conclusions.findings.extend(hidden_groups_finding(&groups));
        step_finding(&groups, classes, map, conclusions);
        conclusions.no_difference.extend(describe_agreement(&groups));
    }
    conclusions.no_difference.extend(describe_readings(conclusions, first, classes, map));
    conclusions
        .findings
        .extend(unpinned_finding(classes, map).or_else(|| patternless_finding(first, classes, map, conclusions)));
    conclusions.findings.extend(conclusions.dear.as_ref().and_then(|dear| dear_among_themselves(dear, classes, map)));
    if !homes::conclude_homes(map, conclusions) {
        conclusions.findings.extend(two_ways(classes, map));
    }
    padding::conclude_padding(map, filled, conclusions);
    let hypervisor = map.machine.as_ref().and_then(|machine| machine.system.hypervisor.as_deref());
    for series in &map.series {
        // Each side is tested alone, as a difference between the sides is a separate finding. A single visit of a side
        // has one cost.
        let sides = series
            .links
            .pairs
            .iter()
            .flat_map(|pair| [pair.visits_ns(), pair.back_ns()].into_iter().map(|visits| (pair.a, pair.b, visits)));
        let sides = sides.filter(|(_, _, visits)| visits.len() > 1);
        let sides: Vec<LinkPair> = sides.map(|(a, b, visits)| LinkPair::new(a, b, visits.to_vec())).collect();
        conclusions.findings.extend(crate::links::modes_finding(&sides, hypervisor));
    }
}

/// Adds the sentence that the costs show no groups. It comes first of its kind, and knows what else was found.
pub(super) fn conclude_one_group(
    map: &LinkMap,
    filled: &[FilledSeries],
    classes: &[(usize, CostClass)],
    conclusions: &mut LinkConclusions,
) {
    let stands_out = !conclusions.findings.is_empty();
    let sentence = filled.first().and_then(|first| one_group(first, classes, map, stands_out));
    sentence.into_iter().for_each(|sentence| conclusions.no_difference.insert(0, sentence));
}

/// Finds a difference between the two ways of pairs that the memory's node does not explain.
fn two_ways(classes: &[(usize, CostClass)], map: &LinkMap) -> Option<Finding> {
    let mut twos = classes.chunk_by(|one, next| one.0 == next.0).filter_map(|of_tier| match of_tier {
        [(_, cheaper), (_, dearer)] => Some((cheaper, dearer)),
        _ => None,
    });
    let (cheaper, dearer) = twos.next()?;
    let words = cheaper.words.split(',').next().unwrap_or_default();
    let of_them = if words == "any two" { String::new() } else { format!(" ({words})") };
    let effect = class_ratio(dearer, cheaper, "the cheaper way");
    let ratio = effect
        .as_ref()
        .map_or_else(|| format!("{:.1}x", dearer.median_ns / cheaper.median_ns), FindingEffect::format_times);
    Some(Finding {
        topic: FindingTopic::Links,
        cpus: map.cpus.clone(),
        statement: format!(
            "It matters which cpu begins: pairs{of_them} talk in {} {unit} one way and in {} the other ({ratio}).",
            format_cost(cheaper.median_ns),
            format_cost(dearer.median_ns),
            unit = map.unit.word()
        ),
        advice: match map.provenance.origin {
            ArtifactOrigin::Imported { .. } => {
                format!(
                    "The file does not say why; memory near one of the two can cause this. Measure this machine ({}) before you \
                     place threads by it.",
                    suggested_command::links().quoted_line()
                )
            }
            _ => {
                "`--format matrix` shows which way is the cheaper one: a row's cpu begins, and owns the memory.".into()
            }
        },
        command: None,
        effects: effect.into_iter().collect(),
    })
}

/// Returns the sentence for maps without findings: pairs differ all the same, or they do not.
pub fn nothing_found(conclusions: &LinkConclusions, unit: &str) -> String {
    let all = conclusions.kinds.first().and_then(|kind| kind.classes.last());
    match all.filter(|class| class.high_ns >= SPREAD * class.low_ns) {
        Some(class) => format!(
            "No groups stand out, but pairs differ {}x ({} to {} {unit}), by distance or by chance: the map shows which are near.",
            format_cost(class.high_ns / class.low_ns),
            format_cost(class.low_ns),
            format_cost(class.high_ns)
        ),
        None => "Nothing stands out: leave placement to the scheduler.".into(),
    }
}

/// Builds the finding that a part of an imported map costs less than the rest, with possible explanations.
pub(super) fn cheaper_part_finding(part: &CheaperPart, map: &LinkMap) -> Finding {
    let rest = map.cpus.difference(&part.cpus);
    let unit = map.unit.word();
    let links = suggested_command::links().quoted_line();
    let (why, advice) = match CheaperReason::explain_part(part, &rest, map) {
        CheaperReason::Kind => {
            ("the kinds of core differ", "Threads that talk are better off on these cpus.".to_owned())
        }
        CheaperReason::Clock => (
            "by the clock, or by what else ran",
            format!("Measure this machine ({links}) before you place threads by it."),
        ),
        CheaperReason::HomeOrClock => ("by where the lines lived, or by the clock", format!("{HOME} ({links}).")),
        CheaperReason::Unknown => {
            ("by where the lines lived, the clock, or the kind of core", format!("{HOME} ({links})."))
        }
    };
    Finding {
        topic: FindingTopic::Links,
        cpus: part.cpus.clone(),
        statement: format!(
            "Talking among cpus {} costs {} {unit}, among {rest} {} ({:.1}x): {why}.",
            part.cpus,
            format_cost(part.inside_ns),
            format_cost(part.rest_ns),
            part.rest_ns / part.inside_ns
        ),
        advice,
        command: None,
        effects: Vec::new(),
    }
}

/// Advice about imported maps with lines of unknown location.
const HOME: &str = "The file does not say which. A tool that keeps its lines on one node shows this for two equal ones. Do not place threads by \
    it before you have measured this machine";

/// Possible causes of a cheaper part.
enum CheaperReason {
    Kind,
    Clock,
    HomeOrClock,
    Unknown,
}

impl CheaperReason {
    fn explain_part(part: &CheaperPart, rest: &CpuSet, map: &LinkMap) -> Self {
        let Some(machine) = &map.machine else { return Self::Unknown };
        let kinds = |cpus: &CpuSet| {
            let word = |cpu| machine.kind_of(cpu).map(|kind| kind.core_type.word());
            cpus.iter().filter_map(word).collect::<BTreeSet<_>>()
        };
        let nodes = |cpus: &CpuSet| {
            let place = |cpu| (machine.index_of(Level::Node, cpu), machine.index_of(Level::Package, cpu));
            cpus.iter().map(place).collect::<BTreeSet<_>>()
        };
        let (own, others) = (kinds(&part.cpus), kinds(rest));
        match () {
            () if !own.is_empty() && !others.is_empty() && own.is_disjoint(&others) => Self::Kind,
            () if nodes(&map.cpus).len() > 1 => Self::HomeOrClock,
            () => Self::Clock,
        }
    }
}

/// Finds caches that are divided although the kernel does not report it.
fn hidden_groups_finding(groups: &CostGroups) -> Option<Finding> {
    let (level, cut) = match groups.agreement.as_ref()? {
        KernelAgreement::Finer { level, cut } => (*level, cut),
        _ => return None,
    };
    let (object, parts) = cut.first()?;
    // A single core is not a group.
    let parts: Vec<&CpuSet> = parts.iter().filter(|part| groups.of_several_cores().contains(part)).collect();
    if parts.len() < 2 {
        return None;
    }
    let named: Vec<String> = parts.iter().take(4).map(ToString::to_string).collect();
    let more = if parts.len() > 4 { " …" } else { "" };
    let others = if cut.len() > 1 { format!(" ({} more like it)", cut.len() - 1) } else { String::new() };
    let one = if level == Level::Llc { "one last-level cache".to_owned() } else { format!("one {level}") };
    Some(Finding {
        topic: FindingTopic::Links,
        cpus: object.clone(),
        statement: format!(
            "The kernel reports {one} for cpus {object}{others}, but the costs show {} groups: {}{more}.",
            parts.len(),
            named.join(" | ")
        ),
        advice: "Firmware that hides caches or nodes can cause this; use `group:0` and the others for the groups in \
            the costs."
            .into(),
        command: None,
        effects: Vec::new(),
    })
}

/// Adds the sentence "8 groups of 3 cores: inside 23 ns, across 95 ns (4.1x [4.0, 4.2])", with the cost of each further
/// level if there are several.
fn step_finding(groups: &CostGroups, classes: &[(usize, CostClass)], map: &LinkMap, conclusions: &mut LinkConclusions) {
    let Some(series) = map.series.first() else { return };
    let ways: Vec<&CostClass> = classes.iter().filter(|(tier, _)| *tier == INSIDE).map(|(_, class)| class).collect();
    let Some(&inside) = ways.first() else { return };
    // With two ways, the cheaper one is not the pairs' cost, so no ratio is given.
    let has_one_cost = ways.len() == 1;
    let ratio = |class: &CostClass| class_ratio(class, inside, "inside a group").filter(|_| has_one_cost);
    let across: Vec<&CostClass> = classes.iter().filter(|(tier, _)| *tier > INSIDE).map(|(_, class)| class).collect();
    let effects: Vec<FindingEffect> = across.iter().filter_map(|class| ratio(class)).collect();
    let (unit, of) = (map.unit.word(), series.what.unit_of_time());
    let ratio_words = |class: &CostClass| match ratio(class) {
        Some(effect) => format!(" ({})", effect.format_times()),
        None if has_one_cost => {
            format!(" ({:.1}x, too few pairs for an interval)", class.median_ns / inside.median_ns)
        }
        None => String::new(),
    };
    let (words, inside_ns) = (groups.describe_groups(), of_both_ways(&ways));
    let statement = match across[..] {
        [class] => {
            format!(
                "{words}: inside {inside_ns} {unit}, across {} {unit} {of}{}.",
                format_cost(class.median_ns),
                ratio_words(class)
            )
        }
        _ => {
            let farther = |class: &&CostClass| {
                format!("{} {} {unit}{}", class.words, format_cost(class.median_ns), ratio_words(class))
            };
            let farther: Vec<String> = across.iter().map(farther).collect();
            format!("{words}: inside {inside_ns} {unit} {of}; {}.", farther.join("; "))
        }
    };
    let is_here = map.provenance.origin == ArtifactOrigin::Measured;
    // By the other reading these groups are single cores.
    let is_guess = conclusions.other_reading.as_ref().is_some_and(|other| other.siblings.is_some());
    let most = groups.cores.iter().max().copied().unwrap_or(1);
    conclusions.findings.push(Finding {
        topic: FindingTopic::Links,
        cpus: groups.of_several_cores().iter().fold(CpuSet::default(), |all, group| all.union(group)),
        statement,
        advice: if is_guess {
            "The groups may be the SMT siblings of a core: name the machine (--machine) before you place threads by them."
                .into()
        } else if is_here {
            "Keep threads that talk inside one group; try whether your program gains:".into()
        } else {
            let links = suggested_command::links().quoted_line();
            format!(
                "Keep threads that talk inside one group. On the machine itself {links} names them group:0, group:1, …"
            )
        },
        command: (is_here && !is_guess).then(|| suggested_command::try_on(&[format!("pack({most}, group)")])),
        effects,
    });
}

/// Finds cores with higher communication costs among themselves than with any others.
fn dear_among_themselves(dear: &GroupLevel, classes: &[(usize, CostClass)], map: &LinkMap) -> Option<Finding> {
    let of = |wanted| classes.iter().find(|(tier, _)| *tier == wanted).map(|(_, class)| class);
    let (own, others) = (of(DEAR)?, of(INSIDE)?);
    let effect = class_ratio(own, others, "other cores")?;
    let several: Vec<&CpuSet> = dear.groups.iter().filter(|group| group.len() > 1).collect();
    let named: Vec<String> = several.iter().take(4).map(ToString::to_string).collect();
    let more = if several.len() > 4 { " …" } else { "" };
    (effect.low >= MARGIN).then(|| Finding {
        topic: FindingTopic::Links,
        cpus: several.iter().flat_map(|group| group.iter()).collect(),
        statement: format!(
            "Cpus {}{more} talk more slowly among themselves than with any others: {} {}, other cores {} ({}).",
            named.join(" | "),
            format_cost(own.median_ns),
            map.unit.word(),
            format_cost(others.median_ns),
            effect.format_times()
        ),
        advice: "Efficiency cores of one cluster do that. Put threads that talk on other cores, or on different ones of these groups.".into(),
        command: None,
        effects: vec![effect],
    })
}

/// Finds siblings of a named machine that cost as much as other cores, which means that threads were not pinned. In
/// published matrices siblings cost at most half, so no interval is needed for machines with few of them.
fn unpinned_finding(classes: &[(usize, CostClass)], map: &LinkMap) -> Option<Finding> {
    let of = |wanted| classes.iter().find(|(tier, _)| *tier == wanted).map(|(_, class)| class);
    let (siblings, others) = (of(SAME_CORE)?, of(INSIDE)?);
    let is_imported = matches!(map.provenance.origin, ArtifactOrigin::Imported { .. }) && map.machine.is_some();
    let is_alike = siblings.pairs > 1 && siblings.median_ns >= others.median_ns / MARGIN;
    (is_imported && is_alike).then(|| Finding {
        topic: FindingTopic::Links,
        cpus: map.cpus.clone(),
        statement: format!(
            "SMT siblings cost no less than other cores: {} and {} {}.",
            format_cost(siblings.median_ns),
            format_cost(others.median_ns),
            map.unit.word()
        ),
        advice:
            "The threads were probably not pinned when the file was made, or it is of another machine, or its cpus \
            are in another order. Measure again."
                .into(),
        command: None,
        effects: Vec::new(),
    })
}

/// Finds costs of a file that differ by far and have no pattern, which means that threads were not pinned.
fn patternless_finding(
    filled: &FilledSeries,
    classes: &[(usize, CostClass)],
    map: &LinkMap,
    conclusions: &LinkConclusions,
) -> Option<Finding> {
    let is_divided = conclusions.groups.is_some() || conclusions.siblings.is_some() || conclusions.dear.is_some();
    let (low, high) = match classes {
        [.., (_, last)] => (last.low_ns, last.high_ns),
        [] => return None,
    };
    let is_meant = map.provenance.origin.is_imported() && !is_divided && high >= SPREAD * low;
    (is_meant && lack_pattern(&filled.measured)).then(|| Finding {
        topic: FindingTopic::Links,
        cpus: map.cpus.clone(),
        statement: format!(
            "The costs have no pattern: they differ {}x ({} to {} {}), but two cpus that talk cheaply do not cost the \
             others alike.",
            format_cost(high / low),
            format_cost(low),
            format_cost(high),
            map.unit.word()
        ),
        advice: "The threads were probably not pinned when the file was made, or other programs ran. Measure again."
            .into(),
        command: None,
        effects: Vec::new(),
    })
}

/// Describes the two readings of an unknown machine's costs, and what would decide.
fn describe_readings(
    conclusions: &LinkConclusions,
    filled: &FilledSeries,
    classes: &[(usize, CostClass)],
    map: &LinkMap,
) -> Option<String> {
    let decides = "the costs cannot tell, --machine decides";
    let other = conclusions.other_reading.as_ref()?;
    match (&conclusions.siblings, &other.siblings) {
        (Some(siblings), _) => {
            let twos = siblings.groups.iter().filter(|group| group.len() > 1).count();
            let ways: Vec<&CostClass> =
                classes.iter().filter(|(tier, _)| *tier == SAME_CORE).map(|(_, of)| of).collect();
            let (cost, unit) = (of_both_ways(&ways), map.unit.word());
            // Of the others nothing is known if not all pairs were measured.
            let measured = if filled.predicted > 0 { " that were measured" } else { "" };
            Some(format!(
                "{twos} pairs of cpus{measured} talk in {cost} {unit}: the SMT siblings of a core, or groups of two cores; {decides}"
            ))
        }
        (None, Some(siblings)) => {
            let otherwise = other.groups.as_ref().map_or_else(
                || "there are no groups".to_owned(),
                |groups| format!("the groups are {}", groups.describe_level("cpu")),
            );
            let inner = siblings.describe_level("cpu");
            Some(format!(
                "the innermost groups ({inner}) are several cores each, or the SMT siblings of a core, and then {otherwise}; {decides}"
            ))
        }
        (None, None) => other
            .groups
            .as_ref()
            .map(|groups| format!("all cpus are one group, or there are {}; {decides}", groups.describe_level("cpu"))),
    }
}

fn describe_agreement(groups: &CostGroups) -> Option<String> {
    let words = groups.describe_groups();
    match groups.agreement.as_ref()? {
        KernelAgreement::Same { level: Level::Llc } => {
            Some(format!("{words}: the same as the last-level caches that the kernel reports"))
        }
        KernelAgreement::Same { level } => Some(format!("{words}: the same as the {level}s that the kernel reports")),
        KernelAgreement::Coarser { level } => Some(format!(
            "{words}: each contains several of the kernel's {level}s, and talking between them costs no more than \
                inside"
        )),
        KernelAgreement::Across => Some(format!("{words}: they cut across the levels that the kernel reports")),
        KernelAgreement::Finer { .. } => None,
    }
}

fn one_group(filled: &FilledSeries, classes: &[(usize, CostClass)], map: &LinkMap, stands_out: bool) -> Option<String> {
    let unit = map.unit.word();
    let ways: Vec<&CostClass> = classes.iter().filter(|(tier, _)| *tier == INSIDE).map(|(_, class)| class).collect();
    let (between, dearest) = (ways.first()?, ways.last()?);
    let median = of_both_ways(&ways);
    if between.pairs + between.predicted == 1 {
        return Some(format!("one pair of cores, {median} {unit}"));
    }
    let caches = filled.structure.cache_count();
    let is_reported = map.machine.is_some() && map.searched.is_empty() && caches > 1;
    let reported =
        if is_reported { format!(", although the kernel reports {caches} last-level caches") } else { String::new() };
    let (places, known) = (filled.all.len(), filled.all.known_pairs().count());
    let unknown = match places * places.saturating_sub(1) / 2 - known {
        0 => String::new(),
        unknown => format!(" ({} no cost)", counted_pairs(unknown, known + unknown)),
    };
    let others = if classes.iter().any(|(tier, _)| *tier == DEAR) { " other" } else { "" };
    let range = format!("90 % of the pairs: {} to {}", format_cost(between.low_ns), format_cost(dearest.high_ns));
    Some(match stands_out {
        true => format!(
            "groups: none besides what stands out{reported}{unknown}; the median of two{others} cores is {median} {unit} ({range})"
        ),
        false => {
            format!(
                "groups: the costs show none{reported}{unknown}; any two{others} cores talk in {median} {unit} ({range})"
            )
        }
    })
}

/// Formats a number of pairs with a verb: "1 of 6 pairs has", "3 of 6 pairs have".
fn counted_pairs(count: usize, all: usize) -> String {
    format!("{count} of {all} pairs {}", if count == 1 { "has" } else { "have" })
}

/// Formats a cost: "20", or "20 and, the other way, 200" if pairs have two costs.
fn of_both_ways(ways: &[&CostClass]) -> String {
    match ways {
        [cheaper, dearer] => {
            format!("{} and, the other way, {}", format_cost(cheaper.median_ns), format_cost(dearer.median_ns))
        }
        _ => ways.first().map_or_else(String::new, |class| format_cost(class.median_ns)),
    }
}

/// Returns the ratio of the medians of two classes; `None` if one of them has no interval.
fn class_ratio(of: &CostClass, against: &CostClass, words: &str) -> Option<FindingEffect> {
    let ((low, high), (low_against, high_against)) = (of.interval_ns?, against.interval_ns?);
    let ratio = of.median_ns / against.median_ns;
    // Both have independent errors.
    let below = (of.median_ns / low).ln().hypot((high_against / against.median_ns).ln());
    let above = (high / of.median_ns).ln().hypot((against.median_ns / low_against).ln());
    let (low, high) = (ratio * (-below).exp(), ratio * above.exp());
    Some(FindingEffect { quantity: "cost".into(), against: words.into(), ratio, low, high, p_value: None })
}
