//! The finding about a virtual machine's host: time that it took away while cpus were measured.

use std::collections::BTreeMap;

use corewise_machine::CpuSet;

use super::SurveyConclusions;
use crate::Survey;
use crate::finding::{CONFIDENCE, Finding, FindingEffect, FindingTopic};
use corewise_statistics::order::{median, median_interval};

/// Minimum share of time for a finding; /proc/stat counts in hundredths of a second.
const MARGIN: f64 = 0.005;

/// Adds the time that the hypervisor took, in rounds over all cpus.
pub fn conclude_stolen(survey: &Survey, conclusions: &mut SurveyConclusions) {
    if survey.machine.system.hypervisor.is_none() {
        return;
    }
    let mut rounds = BTreeMap::<u32, (f64, f64)>::new();
    for round in survey.cpus.iter().flat_map(|seen| &seen.rounds) {
        let Some(stolen_s) = round.stolen_s else { continue };
        let sum = rounds.entry(round.round).or_default();
        *sum = (sum.0 + stolen_s, sum.1 + round.elapsed_s);
    }
    let shares: Vec<f64> = rounds.values().map(|(stolen, elapsed)| stolen / elapsed).collect();
    let Some((low, high)) = median_interval(&shares, CONFIDENCE) else { return };
    let share = median(&shares);
    if low < MARGIN {
        conclusions.no_difference.push(match high {
            0.0 => "stolen time: the kernel counted none in a typical round (its unit is 10 ms)".to_owned(),
            _ => format!("stolen time: the host took less than {:.1} % in a typical round", high * 100.0 + 0.05),
        });
        return;
    }
    conclusions.findings.push(Finding {
        topic: FindingTopic::Stolen,
        cpus: survey.cpus.iter().map(|seen| seen.cpu).collect::<CpuSet>(),
        statement: format!(
            "The host takes {:.1} % [{:.1}, {:.1}] of the measured cpus' time for others.",
            share * 100.0,
            low * 100.0,
            high * 100.0
        ),
        advice: "No placement inside this virtual machine can change that; ask for dedicated cpus.".into(),
        command: None,
        effects: vec![FindingEffect {
            quantity: "share of time stolen".into(),
            against: "all time".into(),
            ratio: share,
            low,
            high,
            p_value: None,
        }],
    });
}
