//! All that is concluded from a survey, topic by topic.

use super::{Conclusions, causes, cpus, groups, stolen, talk};
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
