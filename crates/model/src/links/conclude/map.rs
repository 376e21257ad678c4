//! All conclusions from a map: the hierarchy of groups first, then the classes of each way to talk by its tiers, then
//! the sentences.

use corewise_machine::{CpuSet, Machine};

use super::{
    CostClass, CostGroups, FilledSeries, KernelAgreement, KindConclusions, LinkConclusions, OtherReading, PairTiers,
    findings, summary,
};
use crate::artifact::{Artifact, ArtifactCircumstances, ArtifactOrigin, check_numbers, format_count};
use crate::links::groups::{CheaperPart, GroupHierarchy, GroupLevel, between_cores, dear_groups, uneven_part};
use crate::links::map::LinkMap;
use crate::links::structure::CpuStructure;
use crate::links::{check_pairs, check_width};
use crate::trend::TrendValue;

/// Draws all conclusions from a map.
pub fn conclude_map(map: &LinkMap) -> LinkConclusions {
    let filled: Vec<FilledSeries> = map.series.iter().map(|series| FilledSeries::from_series(series, map)).collect();
    let (mut conclusions, cheaper_part) = match filled.first() {
        // An unfinished search permits no conclusion: groups not seen yet may exist.
        Some(first) if !map.unfinished => divide_series(first, map),
        _ => (LinkConclusions::from_groups(None, None), None),
    };
    conclusions.unfinished = map.unfinished;
    let mut of_first = Vec::new();
    for (place, (series, filled)) in map.series.iter().zip(&filled).enumerate() {
        let classes = summary::cost_classes(filled, &PairTiers::from_series(filled, &conclusions, map));
        // Without predictions there is no error of predictions.
        let (predicted, held_out) = (filled.predicted, filled.held_out.filter(|_| filled.predicted > 0));
        let words = classes.iter().map(|(_, class)| class.clone()).collect();
        let doubts = filled.doubts.clone();
        conclusions.kinds.push(KindConclusions { what: series.what, classes: words, predicted, doubts, held_out });
        if place == 0 {
            of_first = classes;
        }
    }
    if !map.unfinished {
        findings::conclude_findings(map, &filled, &of_first, &mut conclusions);
        let is_one_step = |part: &CheaperPart| {
            let step = filled.first().and_then(|filled| filled.measured.clock_step());
            step.is_some_and(|step| part.rest_ns - part.inside_ns <= 1.5 * step)
        };
        let is_proved = |part: &CheaperPart| part.has_enough_pairs(map.cpus.len()) && !is_one_step(part);
        if let Some(part) = cheaper_part.filter(|part| is_imported(map) && is_proved(part)) {
            conclusions.findings.push(findings::cheaper_part_finding(&part, map));
        }
        if conclusions.groups.is_none() {
            findings::conclude_one_group(map, &filled, &of_first, &mut conclusions);
        }
    }
    conclusions
}

/// Returns true if it comes from a file, so that the location of its lines is unknown.
fn is_imported(map: &LinkMap) -> bool {
    map.provenance.origin.is_imported()
}

/// Returns the siblings and the groups that the costs of a series show, and the part of the machine that looks better
/// than the rest.
fn divide_series(filled: &FilledSeries, map: &LinkMap) -> (LinkConclusions, Option<CheaperPart>) {
    let [cores, measured] = [&filled.all, &filled.measured].map(|costs| between_cores(&filled.structure, costs));
    let mut hierarchy = GroupHierarchy::from_matrix(&cores, &measured);
    let siblings = if map.machine.is_none() { hierarchy.take_siblings(&measured) } else { None };
    // The costs inside a group are one summary among others; without groups there is only one summary.
    let has_groups = !hierarchy.levels.is_empty();
    let dear = if has_groups { None } else { dear_groups(&measured) };
    let uneven = || if has_groups || dear.is_some() { None } else { uneven_part(&measured) };
    let cheaper_part = hierarchy
        .cheaper_part
        .take()
        .or_else(uneven)
        .map(|part| CheaperPart { cpus: with_siblings(&part.cpus, &filled.structure), ..part });
    let whole = |level: &GroupLevel| GroupLevel {
        groups: level.groups.iter().map(|group| with_siblings(group, &filled.structure)).collect(),
        ..level.clone()
    };
    let of_whole_cores: Vec<GroupLevel> = hierarchy.levels.iter().map(whole).collect();
    let is_unknown = map.machine.is_none();
    let other_reading = if is_unknown { OtherReading::from_levels(siblings.as_ref(), &of_whole_cores) } else { None };
    let mut levels = of_whole_cores.into_iter();
    let dear = dear.as_ref().map(whole);
    let with =
        |groups| LinkConclusions { dear, other_reading, ..LinkConclusions::from_groups(siblings.clone(), groups) };
    let Some(mut level) = levels.next() else { return (with(None), cheaper_part) };
    // A part that is cheap because the line lived there is not a group; if the machine is unknown, it and the rest may be.
    if let Some(part) = cheaper_part.as_ref().filter(|part| is_imported(map) && part.is_only_group) {
        let mut conclusions = with(None);
        if is_unknown && siblings.is_none() {
            let halves = GroupLevel { groups: vec![part.cpus.clone(), map.cpus.difference(&part.cpus)], ..level };
            conclusions.other_reading = Some(OtherReading { siblings: None, groups: Some(halves) });
        }
        return (conclusions, cheaper_part);
    }
    // Cores according to the costs: a cpu without a sibling is a core, too.
    let core_count = |group: &CpuSet| match &siblings {
        Some(siblings) => siblings.groups.iter().filter(|core| !core.is_disjoint(group)).count(),
        None => filled.structure.cores.iter().filter(|core| group.contains(filled.structure.cpus[core[0]])).count(),
    };
    // If not all pairs were measured, siblings are unknown.
    let knows_cores = map.machine.is_some() || siblings.is_some() && filled.predicted == 0;
    let size = |group: &CpuSet| match core_count(group) {
        count if knows_cores || count < 2 => count,
        _ => group.len(),
    };
    // A stable sort: groups of several cores first, otherwise in the order of their lowest cpus.
    level.groups.sort_by_key(|group| core_count(group) < 2);
    let groups = CostGroups {
        counts_cores: knows_cores,
        cores: level.groups.iter().map(size).collect(),
        outer: levels.collect(),
        agreement: map
            .machine
            .as_ref()
            .map(|machine| KernelAgreement::compare_groups(&level.groups, machine, &map.cpus)),
        level,
    };
    (with(Some(groups)), cheaper_part)
}

/// Returns the cpus of some cores, each named by its first.
fn with_siblings(firsts: &CpuSet, structure: &CpuStructure) -> CpuSet {
    let cores = structure.cores.iter().filter(|core| firsts.contains(structure.cpus[core[0]]));
    cores.flatten().map(|&place| structure.cpus[place]).collect()
}

impl Artifact for LinkMap {
    const KIND: &'static str = "links";
    const SCHEMA: &'static str = "corewise/links/3";
    type Conclusions = LinkConclusions;

    fn check_loaded(&self) -> Result<(), String> {
        self.machine.as_ref().map_or(Ok(()), Machine::check_consistency)?;
        check_width(self.cpus.len(), self.series.len())?;
        if self.series.is_empty() {
            return Err("it has no way to talk".to_owned());
        }
        let most = self.cpus.len().max(1);
        if self.searched.len() > most || self.clocks.len() > most {
            return Err("it has more groups or clock rates than cpus".to_owned());
        }
        check_numbers(self)?;
        check_pairs(self.series.iter().flat_map(|series| series.links.pairs.iter().chain(&series.held_out)), &self.cpus)
    }

    fn circumstances(&self) -> ArtifactCircumstances<'_> {
        self.provenance.circumstances_on(self.machine.as_ref())
    }

    fn origin(&self) -> &ArtifactOrigin {
        &self.provenance.origin
    }

    fn origin_mut(&mut self) -> &mut ArtifactOrigin {
        &mut self.provenance.origin
    }

    /// Returns the median of each cost class of each way to talk.
    fn trend_values(&self) -> Vec<TrendValue> {
        let of = |kind: &KindConclusions| {
            let quantity = format!("{}, {} {}", kind.what.describe_way(), self.unit.word(), kind.what.unit_of_time());
            let value =
                |class: &CostClass| TrendValue::new(&quantity, &class.words, class.median_ns, class.interval_ns);
            kind.classes.iter().map(value).collect::<Vec<_>>()
        };
        self.draw_conclusions().kinds.iter().flat_map(of).collect()
    }

    fn describe_contents(&self) -> String {
        let mut kinds: Vec<&str> = self.series.iter().map(|series| series.what.word()).collect();
        kinds.dedup();
        let pairs = self.series.first().map_or(0, |series| series.links.pairs.len());
        format!("{} of {} ({})", format_count(pairs, "pair"), format_count(self.cpus.len(), "cpu"), kinds.join(", "))
    }

    fn draw_conclusions(&self) -> LinkConclusions {
        conclude_map(self)
    }
}
