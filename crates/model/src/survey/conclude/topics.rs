//! All that is concluded from a survey, topic by topic.

use super::{Conclusions, causes, cpus, groups, stolen, talk};
use crate::artifact::{Artifact, Origin, count};
use crate::survey::Provenance;
use crate::{Survey, links};

/// Concludes from what a survey observed: each finding has a test on rounds behind it, and what was tested and did not
/// differ is said too.
pub fn conclude(survey: &Survey) -> Conclusions {
    let mut conclusions = Conclusions {
        findings: Vec::new(),
        no_difference: Vec::new(),
        link_classes: links::classes(&survey.machine, &survey.links),
        quiet: survey.cpus.iter().map(|seen| seen.cpu).collect(),
        first_cpu: None,
    };
    cpus::conclude(survey, &mut conclusions);
    groups::conclude(survey, &mut conclusions);
    talk::conclude(survey, &mut conclusions);
    stolen::conclude(survey, &mut conclusions);
    causes::conclude(survey, &mut conclusions);
    conclusions
}

impl Artifact for Survey {
    const KIND: &'static str = "survey";
    const SCHEMA: &'static str = "corewise/survey/2";
    type Conclusions = Conclusions;

    fn origin(&self) -> Origin<'_> {
        let Provenance { corewise, started_unix_ms, seed, partial, .. } = &self.provenance;
        let (started_unix_ms, seed, partial) = (*started_unix_ms, *seed, *partial);
        Origin { machine: Some(&self.machine), started_unix_ms, corewise, seed, partial }
    }

    fn what(&self) -> String {
        let Provenance { scope, rounds, elapsed_s, .. } = &self.provenance;
        let scope = if scope.is_machine() { "" } else { "tail: " };
        let (cpus, rounds) = (count(self.cpus.len(), "cpu"), count(*rounds as usize, "round"));
        format!("{scope}{cpus}, {rounds} in {elapsed_s:.0} s")
    }

    fn conclude(&self) -> Conclusions {
        conclude(self)
    }
}
