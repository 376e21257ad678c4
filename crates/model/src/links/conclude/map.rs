//! All that is concluded from a map: groups and siblings first, then the classes of each way to talk, then the sentences.

use super::{Agreement, Filled, Groups, KindConclusions, LinkConclusions, classes, findings};
use crate::artifact::{self, Artifact, count};
use crate::links::groups::{self, GroupLevel, Unnamed};
use crate::links::map::{LinkMap, MOST_CPUS, Origin, Provenance};
use crate::links::structure::Structure;
use crate::{CpuSet, Machine};

/// Concludes from a map.
pub fn conclude(map: &LinkMap) -> LinkConclusions {
    let filled: Vec<Filled> = map.series.iter().map(|series| Filled::of(series, map)).collect();
    let (siblings, groups) = filled.first().map_or((None, None), |filled| groups_of(filled, map));
    let mut conclusions =
        LinkConclusions { kinds: Vec::new(), groups, siblings, findings: Vec::new(), no_difference: Vec::new() };
    let kinds = map.series.iter().zip(&filled).map(|(series, filled)| KindConclusions {
        what: series.what,
        classes: classes::of(filled, &conclusions, map.machine.as_ref()),
        predicted: filled.predicted,
        held_out: filled.held_out,
    });
    conclusions.kinds = kinds.collect();
    findings::conclude(map, &filled, &mut conclusions);
    if let (Origin::Imported { .. }, Some(first)) = (&map.provenance.origin, filled.first()) {
        let (cores, measured) = (first.between_cores(&first.all), first.between_cores(&first.measured));
        let half = groups::favoured_half(&cores, &measured).map(|cores| with_siblings(&cores, &first.structure));
        conclusions.findings.extend(half.map(|half| findings::favoured(&half, map)));
    }
    conclusions
}

/// The siblings and the groups that the costs of a series show.
fn groups_of(filled: &Filled, map: &LinkMap) -> (Option<GroupLevel>, Option<Groups>) {
    let (cores, measured) = (filled.between_cores(&filled.all), filled.between_cores(&filled.measured));
    let (siblings, levels) = match &map.machine {
        Some(_) => (None, groups::levels(&cores, &measured)),
        None => {
            let Unnamed { siblings, levels } = Unnamed::of(&cores, &measured, map.unit);
            (siblings, levels)
        }
    };
    let whole = |level: &GroupLevel| GroupLevel {
        groups: level.groups.iter().map(|group| with_siblings(group, &filled.structure)).collect(),
        ..level.clone()
    };
    let mut levels = levels.iter().map(whole);
    let Some(level) = levels.next() else { return (siblings, None) };
    // Siblings that the costs show have to be seen for all: of a machine of which a part was measured they are not.
    let is_whole = |siblings: &GroupLevel| siblings.groups.iter().all(|core| core.len() > 1);
    let siblings_of_all = siblings.as_ref().filter(|siblings| is_whole(siblings));
    let core_count = |group: &CpuSet| match siblings_of_all {
        Some(siblings) => siblings.groups.iter().filter(|core| !core.is_disjoint(group)).count(),
        None => filled.structure.cores.iter().filter(|core| group.contains(filled.structure.cpus[core[0]])).count(),
    };
    let counts_cores = map.machine.is_some() || siblings_of_all.is_some();
    let groups = Groups {
        counts_cores,
        cores: level.groups.iter().map(core_count).collect(),
        outer: levels.collect(),
        agreement: map.machine.as_ref().map(|machine: &Machine| Agreement::of(&level.groups, machine, &map.cpus)),
        level,
    };
    (siblings, Some(groups))
}

/// The cpus of some cores, each named by its first.
fn with_siblings(firsts: &CpuSet, structure: &Structure) -> CpuSet {
    let cores = structure.cores.iter().filter(|core| firsts.contains(structure.cpus[core[0]]));
    cores.flatten().map(|&place| structure.cpus[place]).collect()
}

impl Artifact for LinkMap {
    const KIND: &'static str = "links";
    const SCHEMA: &'static str = "corewise/links/2";
    type Conclusions = LinkConclusions;

    fn check(&self) -> Result<(), String> {
        self.machine.as_ref().map_or(Ok(()), Machine::check)?;
        if self.cpus.len() > MOST_CPUS {
            return Err(format!("it has {} cpus, and at most {MOST_CPUS} are supported", self.cpus.len()));
        }
        for pair in self.series.iter().flat_map(|series| series.links.pairs.iter().chain(&series.held_out)) {
            let (a, b) = (pair.a, pair.b);
            if a >= b || !self.cpus.contains(a) || !self.cpus.contains(b) {
                return Err(format!("{a} and {b} are not a pair of its cpus"));
            }
            if pair.all_visits_ns().iter().any(|cost| !(cost.is_finite() && *cost > 0.0 && *cost <= 1e12)) {
                return Err(format!("cpus {a} and {b} have an impossible cost"));
            }
        }
        Ok(())
    }

    fn origin(&self) -> artifact::Origin<'_> {
        let Provenance { corewise, started_unix_ms, seed, partial, .. } = &self.provenance;
        let (started_unix_ms, seed, partial) = (*started_unix_ms, *seed, *partial);
        artifact::Origin { machine: self.machine.as_ref(), started_unix_ms, corewise, seed, partial }
    }

    fn what(&self) -> String {
        let mut kinds: Vec<&str> = self.series.iter().map(|series| series.what.word()).collect();
        kinds.dedup();
        let pairs = self.series.first().map_or(0, |series| series.links.pairs.len());
        let from = match &self.provenance.origin {
            Origin::Measured => String::new(),
            Origin::Simulated { file } => format!(", simulated from {file}"),
            Origin::Imported { file, .. } => format!(", imported from {file}"),
        };
        format!("{} of {} ({}){from}", count(pairs, "pair"), count(self.cpus.len(), "cpu"), kinds.join(", "))
    }

    fn conclude(&self) -> LinkConclusions {
        conclude(self)
    }
}
