//! Findings about single cpus: interrupts, stalls and speed, each compared with the cpu's peers.

use std::collections::BTreeMap;

use corewise_machine::CpuSet;

use super::SurveyConclusions;
use super::family::{PeerTest, SurveyTests};
use super::first_cpu::{self, QuantityAnswer};
use super::formats;
use super::quantity::{self, CpuQuantity, ROUNDS_ENOUGH};
use crate::finding::{Finding, FindingEffect, FindingTopic};
use corewise_machine::suggested_command;
use corewise_statistics::order::median;

use crate::Survey;

/// Adds findings about single cpus.
pub fn conclude_cpus(survey: &Survey, tests: &SurveyTests, conclusions: &mut SurveyConclusions) {
    let mut by_cpu = BTreeMap::<u32, Vec<(CpuQuantity, FindingEffect)>>::new();
    let asked = first_cpu::asked_cpu(survey);
    let mut of_asked = Vec::new();
    for (quantity, tests) in &tests.of_peers {
        for PeerTest { group, tested } in tests {
            for (column, effect) in &tested.differing {
                by_cpu.entry(group[*column]).or_default().push((*quantity, effect.clone()));
            }
            for (column, episode) in &tested.episodes {
                conclusions.add_episode(&format!("cpu {}", group[*column]), *quantity, episode, survey);
            }
            let place = asked.and_then(|cpu| group.iter().position(|member| *member == cpu));
            of_asked.extend(place.map(|column| QuantityAnswer::new(survey, tested, column)));
        }
        without_finding(survey, *quantity, tests, conclusions);
    }
    for (&cpu, effects) in &by_cpu {
        if is_spoilt(effects) && others_ran(survey, cpu).is_none() {
            conclusions.quiet.remove(cpu);
        }
    }
    conclusions.first_cpu = asked.and_then(|cpu| first_cpu::first_cpu_answer(cpu, &of_asked));
    of_asked.iter().filter_map(|asked| asked.needs_s).for_each(|seconds| conclusions.need_seconds(seconds));
    let mut marked = Vec::new();
    for (cpu, effects) in by_cpu {
        let (speed, stalls): (Vec<_>, Vec<_>) =
            effects.into_iter().partition(|(quantity, _)| *quantity == CpuQuantity::Median);
        if !stalls.is_empty() {
            marked.push((is_spoilt(&stalls), stall_finding(survey, cpu, stalls, &conclusions.quiet)));
        }
        marked.extend(speed.into_iter().map(|(_, effect)| (effect.ratio > 1.0, speed_finding(survey, cpu, effect))));
    }
    conclusions.findings.extend(join_findings(marked, survey));
}

/// Maximum number of separate findings of one topic and direction; more are joined.
const APART: usize = 2;

/// Joins similar findings about many cpus; `true` marks cpus that are worse than their peers.
fn join_findings(mut marked: Vec<(bool, Finding)>, survey: &Survey) -> Vec<Finding> {
    marked.sort_by_key(|(worse, finding)| (finding.topic, !worse, finding.cpus.lowest()));
    marked
        .chunk_by(|a, b| (a.0, a.1.topic) == (b.0, b.1.topic))
        .flat_map(|alike| {
            if alike.len() > APART {
                vec![joined_finding(alike, survey)]
            } else {
                alike.iter().map(|(_, f)| f.clone()).collect()
            }
        })
        .collect()
}

/// Builds one finding for many cpus: it names them all, and quotes the sentence of the cpu with the largest difference.
fn joined_finding(alike: &[(bool, Finding)], survey: &Survey) -> Finding {
    let size = |finding: &Finding| finding.effects.first().map_or(1.0, FindingEffect::effect_size);
    let farthest = alike.iter().map(|(_, finding)| finding).max_by(|a, b| size(a).total_cmp(&size(b)));
    let cpus = alike.iter().flat_map(|(_, finding)| finding.cpus.iter()).collect::<CpuSet>();
    let quantity = farthest.and_then(|finding| finding.effects.first()).map_or("", |effect| &effect.quantity);
    let direction = if alike[0].0 { "above" } else { "below" };
    let (advice, example) = farthest.map_or(("", ""), |finding| (finding.advice.as_str(), finding.statement.as_str()));
    let statement = format!(
        "{} have a {quantity} {direction} their peers'; the largest difference: {example}",
        formats::format_cpus(&cpus)
    );
    let command = match alike[0] {
        (false, ref finding) if finding.topic != FindingTopic::Speed => Some(formats::run_on(&cpus, survey)),
        (_, ref finding) => finding.command.clone(),
    };
    let effects = alike.iter().flat_map(|(_, finding)| finding.effects.iter().take(1).cloned()).collect();
    Finding { topic: alike[0].1.topic, cpus, statement, advice: advice.to_owned(), command, effects }
}

/// Returns true if the cpu is worse than its peers for work that must not be interrupted.
fn is_spoilt(effects: &[(CpuQuantity, FindingEffect)]) -> bool {
    effects.iter().any(|(quantity, effect)| *quantity != CpuQuantity::Median && effect.ratio > 1.0)
}

/// Adds a sentence for a quantity in which no cpu of any group differs by the margin, unless there were no peers. If
/// differences are not excluded, it says so, with the length of a decisive survey.
fn without_finding(survey: &Survey, quantity: CpuQuantity, tests: &[PeerTest], conclusions: &mut SurveyConclusions) {
    let Some(rounds) = tests.iter().map(|test| test.tested.rounds).min() else { return };
    if tests.iter().any(|test| !test.tested.differing.is_empty() || !test.tested.episodes.is_empty()) {
        return;
    }
    let words = quantity.quantity_name();
    let needs_s = tests.iter().filter_map(|test| test.tested.needs_s(survey)).max_by(f64::total_cmp);
    let immaterial = tests.iter().filter_map(|PeerTest { group, tested }| {
        let (column, effect) = tested.largest_immaterial()?;
        Some((group[*column], effect))
    });
    let immaterial = immaterial.max_by(|(_, a), (_, b)| a.effect_size().total_cmp(&b.effect_size()));
    let beyond = tests.iter().filter_map(|test| test.tested.excluded_beyond()).fold(f64::NAN, f64::max);
    let beyond_words = quantity.format_bound(beyond);
    let peers = if tests.len() > 1 { "the others of its last-level cache or kind" } else { "its peers" };
    let sentence = match immaterial {
        _ if rounds < ROUNDS_ENOUGH => {
            let are = if rounds == 1 { "round is" } else { "rounds are" };
            format!("{words}: {rounds} comparable {are} too few to compare cpus ({ROUNDS_ENOUGH} needed)")
        }
        Some((cpu, effect)) => format!("{words}: {}", no_finding(quantity, cpu, effect)),
        None if beyond.is_nan() => format!("{words}: no cpu differs from {peers}"),
        None if needs_s.is_some() => {
            format!("{words}: no difference was found, but differences up to {beyond_words} are not excluded")
        }
        None => format!("{words}: no cpu differs from {peers}; differences beyond {beyond_words} are excluded"),
    };
    conclusions.add_unfound(sentence, needs_s);
}

/// Explains why a certain difference is no finding.
fn no_finding(quantity: CpuQuantity, cpu: u32, effect: &FindingEffect) -> String {
    let (against, margin) = (&effect.against, least_difference(quantity));
    let differs = match quantity {
        CpuQuantity::Median => formats::format_slower(effect),
        _ => effect.format_times(),
    };
    if effect.farthest_end() < quantity.material_margin() {
        format!("cpu {cpu} differs from {against} ({differs}), but by less than {margin}")
    } else if effect.low <= 1.0 && effect.high >= 1.0 {
        format!("cpu {cpu} differs from {against} ({differs}), in some rounds one way and in others the other")
    } else {
        let most = quantity.format_bound(effect.farthest_end());
        format!("cpu {cpu} may differ from {against} by up to {most}; {margin} would matter")
    }
}

/// Formats the margin for people.
fn least_difference(quantity: CpuQuantity) -> String {
    match quantity {
        CpuQuantity::Median => format!("{:.0} %", (quantity.material_margin() - 1.0) * 100.0),
        _ => format!("{}x", quantity.material_margin()),
    }
}

fn stall_finding(survey: &Survey, cpu: u32, effects: Vec<(CpuQuantity, FindingEffect)>, quiet: &CpuSet) -> Finding {
    let interrupts = effects.iter().find(|(quantity, _)| *quantity == CpuQuantity::InterruptRate);
    let stalls: Vec<String> = effects
        .iter()
        .filter(|(quantity, _)| *quantity != CpuQuantity::InterruptRate)
        .map(|(quantity, effect)| stall_words(survey, cpu, *quantity, effect))
        .collect();
    let against = effects.first().map(|(_, effect)| effect.against.clone()).unwrap_or_default();
    let statement = match interrupts {
        Some((_, effect)) => {
            let visits = survey.cpus.iter().filter(|seen| seen.cpu == cpu).flat_map(|seen| &seen.rounds);
            let rate = quantity::interrupts_per_second(visits);
            let sources = formats::main_sources(survey, cpu);
            let lead = format!(
                "cpu {cpu} is interrupted {} as often as {against}: {rate:.0}/s{sources}",
                effect.format_times()
            );
            if stalls.is_empty() { lead } else { format!("{lead}; {}", stalls.join("; ")) }
        }
        None => format!("cpu {cpu} against {against}: {}; its number of interrupts is not unusual", stalls.join("; ")),
    };
    let spoilt = is_spoilt(&effects);
    let others = others_ran(survey, cpu).filter(|_| spoilt);
    let statement = match others {
        Some(share) => format!("{statement}; other programs used it for {:.0} % of the time", share * 100.0),
        None => statement,
    };
    let statement = match super::causes::by_whom(survey, cpu).filter(|_| spoilt) {
        Some(whom) => format!("{statement}; {whom}"),
        None => statement,
    };
    let topic = if interrupts.is_some() { FindingTopic::Interrupts } else { FindingTopic::Tail };
    let (advice, command) = match (spoilt, quiet.is_empty()) {
        _ if others.is_some() => (
            "Those programs cause this, and it may pass; check with a second survey:",
            Some(suggested_command::first_survey()),
        ),
        (true, false) => ("Latency-sensitive work belongs elsewhere:", Some(formats::run_on(quiet, survey))),
        (true, true) => ("No cpu is better: move interrupts or work away from here first.", None),
        (false, _) => (
            "It is quieter than its peers; latency-sensitive work fits here:",
            Some(formats::run_on(&CpuSet::from_cpu(cpu), survey)),
        ),
    };
    let effects = effects.into_iter().map(|(_, effect)| effect).collect();
    Finding {
        topic,
        cpus: CpuSet::from_cpu(cpu),
        statement: format!("{statement}."),
        advice: advice.into(),
        command,
        effects,
    }
}

/// Returns the share of the time that other programs had a cpu, if that explains at least half of the cpu's lost time.
fn others_ran(survey: &Survey, cpu: u32) -> Option<f64> {
    const WORTH_A_WORD: f64 = 0.005;
    let off_cpu = median(&rounds_of(survey, cpu, |round| round.thread.off_cpu_s / round.elapsed_s));
    let stolen = median(&rounds_of(survey, cpu, |round| round.stolen_s.unwrap_or(0.0) / round.elapsed_s));
    let lost = median(&rounds_of(survey, cpu, |round| round.tail.lost));
    Some(off_cpu - stolen).filter(|&share| share >= WORTH_A_WORD && share >= lost / 2.0)
}

fn stall_words(survey: &Survey, cpu: u32, quantity: CpuQuantity, effect: &FindingEffect) -> String {
    let mean_lost = || median(&rounds_of(survey, cpu, |round| round.tail.lost)) * 100.0;
    match quantity {
        CpuQuantity::Lost => format!("it loses {:.2} % of its time to stalls, {}", mean_lost(), effect.format_times()),
        _ => {
            let nanoseconds = median(&rounds_of(survey, cpu, |round| round.tail.p99_9_ns));
            format!("its p99.9 is {nanoseconds:.0} ns, {}", effect.format_times())
        }
    }
}

fn speed_finding(survey: &Survey, cpu: u32, effect: FindingEffect) -> Finding {
    let gigahertz = median(&rounds_of(survey, cpu, |round| round.frequency.as_ref().map_or(f64::NAN, |f| f.gigahertz)));
    let clock = if gigahertz.is_nan() { String::new() } else { format!(" ({gigahertz:.2} GHz)") };
    let statement =
        format!("cpu {cpu} is {} at the same work than {}{clock}.", formats::format_slower(&effect), effect.against);
    let advice = match survey.machine.system.hypervisor {
        Some(_) => "In a virtual machine a temporary neighbour can cause this; check with a second survey:",
        None => "Check with a second survey before you rely on it:",
    };
    let (advice, command) = (advice.into(), Some(suggested_command::first_survey()));
    Finding {
        topic: FindingTopic::Speed,
        cpus: CpuSet::from_cpu(cpu),
        statement,
        advice,
        command,
        effects: vec![effect],
    }
}

fn rounds_of(survey: &Survey, cpu: u32, value: impl Fn(&crate::survey::CpuRound) -> f64) -> Vec<f64> {
    let seen = survey.cpus.iter().filter(|seen| seen.cpu == cpu);
    seen.flat_map(|seen| &seen.rounds).map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_of_zeros_is_none() {
        let sure = |ratio: f64| {
            let (quantity, against) = ("p50".to_owned(), "cpu 0".to_owned());
            let effect = FindingEffect { quantity, against, ratio, low: ratio, high: ratio, p_value: Some(0.001) };
            let immaterial = vec![(1, effect)];
            let (differing, episodes, alike) = (Vec::new(), Vec::new(), Vec::new());
            quantity::QuantityTest { quantity: CpuQuantity::Median, differing, immaterial, episodes, alike, rounds: 24 }
        };
        assert!(sure(1.0002).largest_immaterial().is_none() && sure(0.9998).largest_immaterial().is_none());
        assert!(sure(1.002).largest_immaterial().is_some());
    }

    #[test]
    fn a_difference_that_is_no_finding_says_why() {
        let effect = |quantity: CpuQuantity, ratio, low, high| FindingEffect {
            quantity: quantity.quantity_name().to_owned(),
            against: "cpu 1".to_owned(),
            ratio,
            low,
            high,
            p_value: Some(0.004),
        };
        let small = effect(CpuQuantity::InterruptRate, 1.08, 1.01, 1.20);
        assert_eq!(
            no_finding(CpuQuantity::InterruptRate, 0, &small),
            "cpu 0 differs from cpu 1 (1.08x [1.01, 1.20]), but by less than 1.25x"
        );
        let straddling = effect(CpuQuantity::InterruptRate, 1.16, 1.10, 1.26);
        assert_eq!(
            no_finding(CpuQuantity::InterruptRate, 0, &straddling),
            "cpu 0 may differ from cpu 1 by up to 1.3x; 1.25x would matter"
        );
        let unsure = effect(CpuQuantity::Tail, 1.29, 0.83, 1.69);
        assert_eq!(
            no_finding(CpuQuantity::Tail, 0, &unsure),
            "cpu 0 differs from cpu 1 (1.29x [0.83, 1.69]), in some rounds one way and in others the other"
        );
    }
}
