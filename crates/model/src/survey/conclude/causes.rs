//! Findings about causes of stalls: a device that takes much of a cpu's lost time, calls from other cpus, a source
//! outside the system.
//!
//! The time taken is observed, not inferred: every stall was divided. Periodic causes have a test of their own
//! ([`crate::period`]).

use std::collections::BTreeMap;

use corewise_machine::CpuSet;
use corewise_machine::event::{EventSource, InterruptSource};

use super::SurveyConclusions;
use super::formats::format_cpus;
use crate::Survey;
use crate::attribution::{CauseSummary, CpuStalls, InterruptSender, StallCause};
use crate::finding::{Finding, FindingTopic};
use corewise_machine::suggested_command::{self, SuggestedCommand};

/// Minimum share of a cpu's lost time for a finding; smaller ones are only in the table.
const SHARE: f64 = 0.05;
/// Minimum share of a cpu's time for a finding.
const OF_ALL: f64 = 0.0005;

/// Adds actionable findings about causes.
pub fn conclude_causes(survey: &Survey, conclusions: &mut SurveyConclusions) {
    // A thread alone cannot identify the timer: its periodic ticks are the system's own.
    let is_named = survey.watch.as_ref().is_some_and(|watch| watch.event_source != EventSource::Thread);
    let surroundings = survey.period_surroundings();
    let seen = || survey.cpus.iter().filter_map(|seen| Some((seen.cpu, seen.stalls.as_ref()?)));
    let mut devices: BTreeMap<(u32, String), CauseShare> = BTreeMap::new();
    let mut calls: BTreeMap<(InterruptSource, String), CauseShare> = BTreeMap::new();
    let mut periods: Vec<(f64, f64, CauseShare)> = Vec::new();
    for (cpu, stalls) in seen() {
        for cause in stalls.causes.iter().filter(|cause| is_much(cause, stalls)) {
            match &cause.cause {
                StallCause::Interrupt { source: InterruptSource::Device(number), detail } => {
                    devices.entry((*number, detail.clone())).or_default().add_cause(cpu, cause, stalls);
                }
                StallCause::Interrupt { source, detail } if source.is_sent() => {
                    calls.entry((*source, detail.clone())).or_default().add_cause(cpu, cause, stalls);
                }
                StallCause::Periodic { rank } if is_named => {
                    let Some(period) = stalls.periods.get(usize::from(*rank)) else { continue };
                    // Ticks of this system with lost events.
                    if !surroundings.under_hypervisor && surroundings.is_own_tick(period.hertz) {
                        continue;
                    }
                    let same = periods.iter_mut().find(|(hertz, _, _)| (hertz / period.hertz - 1.0).abs() < 0.005);
                    match same {
                        Some((_, _, taken)) => taken.add_cause(cpu, cause, stalls),
                        None => {
                            let mut taken = CauseShare::default();
                            taken.add_cause(cpu, cause, stalls);
                            periods.push((period.hertz, period.vector_strength, taken));
                        }
                    }
                }
                _ => {}
            }
        }
    }
    conclusions
        .findings
        .extend(devices.into_iter().map(|((number, name), taken)| device_finding(number, &name, &taken, survey)));
    conclusions
        .findings
        .extend(calls.into_iter().map(|((source, detail), taken)| call_finding(source, &detail, &taken, survey)));
    let has_host = surroundings.under_hypervisor;
    conclusions.findings.extend(
        periods.into_iter().map(|(hertz, strength, taken)| periodic_finding(hertz, strength, &taken, has_host)),
    );
}

fn is_much(cause: &CauseSummary, stalls: &CpuStalls) -> bool {
    cause.share >= SHARE && cause.time_s >= OF_ALL * stalls.watched_s
}

/// Time of a cause on the cpus on which it was substantial.
#[derive(Default)]
struct CauseShare {
    cpus: CpuSet,
    count: u64,
    time_s: f64,
    lost_s: f64,
    watched_s: f64,
    /// The cpu with the largest share of this cause, and the share.
    most: (u32, f64),
}

impl CauseShare {
    fn add_cause(&mut self, cpu: u32, cause: &CauseSummary, stalls: &CpuStalls) {
        // Two sources may have the same period.
        if !self.cpus.contains(cpu) {
            self.lost_s += stalls.lost_s;
            self.watched_s += stalls.watched_s;
        }
        self.cpus.insert(cpu);
        self.count += cause.took_part;
        self.time_s += cause.time_s;
        if cause.share > self.most.1 {
            self.most = (cpu, cause.share);
        }
    }

    /// Describes the share: "23 % of the time that cpu 1 loses to stalls (part of 120 stalls/s, 0.31 % of all)".
    fn describe_share(&self) -> String {
        let lose = if self.cpus.len() == 1 { "loses" } else { "lose" };
        format!(
            "{:.0} % of the time that {} {lose} to stalls (part of {:.0} stalls/s, {:.2} % of all)",
            self.time_s / self.lost_s * 100.0,
            format_cpus(&self.cpus),
            self.count as f64 / self.watched_s,
            self.time_s / self.watched_s * 100.0
        )
    }

    fn build_finding(&self, statement: String, advice: &str, command: Option<SuggestedCommand>) -> Finding {
        Finding {
            topic: FindingTopic::Causes,
            cpus: self.cpus.clone(),
            statement,
            advice: advice.to_owned(),
            command,
            effects: Vec::new(),
        }
    }
}

fn device_finding(number: u32, name: &str, taken: &CauseShare, survey: &Survey) -> Finding {
    let name = if name.is_empty() { format!("Interrupt {number}") } else { format!("{name} (interrupt {number})") };
    let statement = format!("{name} takes {}.", taken.describe_share());
    let machine = &survey.machine;
    let usable = machine.online.difference(&machine.isolated).difference(&machine.nohz_full);
    // Interrupts need some cpu: if they take time from all, only the cpu with the largest loss is spared.
    let spared = [taken.cpus.clone(), CpuSet::from_cpu(taken.most.0)];
    match spared.into_iter().find(|spared| !usable.difference(spared).is_empty()) {
        Some(spared) => {
            let command = suggested_command::irq_away_from(&spared.to_string());
            taken.build_finding(statement, "If it can be moved, move it and measure again:", Some(command))
        }
        None => taken.build_finding(statement, "There is no other cpu for it.", None),
    }
}

fn call_finding(source: InterruptSource, detail: &str, taken: &CauseShare, survey: &Survey) -> Finding {
    let mut by_name: BTreeMap<&str, (u64, CpuSet)> = BTreeMap::new();
    let seen = survey.cpus.iter().filter(|seen| taken.cpus.contains(seen.cpu)).filter_map(|seen| seen.stalls.as_ref());
    let of_this =
        |sender: &&InterruptSender| sender.source == source && (detail.is_empty() || sender.function == detail);
    for sender in seen.flat_map(|stalls| &stalls.senders).filter(of_this) {
        // Interrupts sent while a cpu is idle come from an interrupt there.
        let is_somebody = sender.task.is_some_and(|task| task != 0) && !sender.name.is_empty();
        let (count, cpus) = by_name.entry(if is_somebody { &sender.name } else { "" }).or_default();
        *count += sender.count;
        cpus.extend(sender.cpu);
    }
    let all: u64 = by_name.values().map(|(count, _)| count).sum();
    let most = by_name.iter().find(|(name, (count, _))| !name.is_empty() && 2 * count > all);
    let by =
        most.map_or_else(String::new, |(name, (_, on))| format!("; most are sent by {name} on {}", format_cpus(on)));
    let name = StallCause::Interrupt { source, detail: detail.to_owned() }.plain_name();
    let statement = format!("Interrupts from other cpus ({name}) take {}{by}.", taken.describe_share());
    taken.build_finding(statement, "Stop the sender, or run it elsewhere.", None)
}

fn periodic_finding(hertz: f64, strength: f64, taken: &CauseShare, has_host: bool) -> Finding {
    let statement = format!(
        "Every {:.2} ms (R {strength:.2}) a source that this kernel does not report takes {}.",
        1e3 / hertz,
        taken.describe_share()
    );
    let advice = if has_host {
        "It is outside this virtual machine, probably the host's timer. No placement avoids it, but the host's owner \
            can (nohz_full, isolated cpus)."
    } else {
        "It is below the kernel: firmware (SMI) or a device without an event. Check the firmware's settings."
    };
    taken.build_finding(statement, advice, None)
}

/// Names the causes of a cpu's lost time: "of the lost time, timer 60 %, virtio1-req.0 (interrupt 36) 20 %; 3 % is
/// unexplained"; `None` if causes were not named.
pub fn by_whom(survey: &Survey, cpu: u32) -> Option<String> {
    let stalls = survey.cpus.iter().find(|seen| seen.cpu == cpu)?.stalls.as_ref()?;
    let is_told = |cause: &&CauseSummary| cause.cause.is_named() || cause.cause == StallCause::Stolen;
    let told: Vec<String> = stalls
        .causes
        .iter()
        .filter(is_told)
        .take(2)
        .map(|cause| format!("{} {:.0} %", cause.cause.plain_name(), cause.share * 100.0))
        .collect();
    let open = |cause: &&CauseSummary| matches!(cause.cause, StallCause::Unknown | StallCause::Interrupted);
    let open: f64 = stalls.causes.iter().filter(open).map(|cause| cause.share).sum();
    let is_named = stalls.causes.iter().any(|cause| cause.cause.is_named());
    is_named.then(|| format!("of the lost time, {}; {:.0} % is unexplained", told.join(", "), open * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribution::InterruptSender;
    use crate::simulate::{self, CpuTruth, MachineNoise};
    use crate::survey::StallWatch;
    use corewise_machine::generate;
    use corewise_statistics::histogram::TickHistogram;
    use corewise_statistics::period;

    fn cause(cause: StallCause, share: f64, took_part: u64) -> CauseSummary {
        let (count, time_s) = (took_part / 2, share * 0.1);
        let lengths = TickHistogram::new_collecting(1.0);
        CauseSummary { cause, count, took_part, time_s, running_s: 0.0, share, lengths, worst: Vec::new() }
    }

    /// Cpus that were watched for 10 s each, and lost a tenth of a second.
    fn concluded(cpus: u32, event_source: EventSource, stalls: impl Fn(u32) -> CpuStalls) -> Vec<Finding> {
        let machine = generate::one_package_machine(
            cpus,
            false,
            &[(CpuSet::parse_list(&format!("0-{}", cpus - 1)).unwrap(), 32)],
        );
        let truth = |_| CpuTruth { piece_ns: 262.0, interrupts_per_s: 38.0, lost: 0.001 };
        let mut survey = simulate::simulate_survey(machine, 8, 1, MachineNoise::Quiet, truth);
        survey.cpus.iter_mut().for_each(|seen| seen.stalls = Some(stalls(seen.cpu)));
        survey.watch =
            Some(StallWatch { event_source, threshold_ns: 1_000.0, first_in_line: false, perturbation: None });
        let findings = super::super::conclude(&survey).findings;
        findings.into_iter().filter(|finding| finding.topic == FindingTopic::Causes).collect()
    }

    fn stalls(causes: Vec<CauseSummary>) -> CpuStalls {
        CpuStalls {
            watched_s: 10.0,
            count: 1000,
            lost_s: 0.1,
            named: 0,
            explained: 0,
            causes,
            periods: Vec::new(),
            senders: Vec::new(),
            not_kept: 0,
            events_lost: 0,
        }
    }

    fn disk() -> StallCause {
        StallCause::Interrupt { source: InterruptSource::Device(36), detail: "nvme0q1".into() }
    }

    #[test]
    fn a_device_is_kept_away_from_cpus_only_where_another_is_left_for_it() {
        let command = |cpus, on: fn(u32) -> bool| {
            let of = |cpu| if on(cpu) { vec![cause(disk(), 0.2 + 0.1 * f64::from(cpu), 200)] } else { Vec::new() };
            let findings = concluded(cpus, EventSource::Perf, |cpu| stalls(of(cpu)));
            (findings[0].statement.clone(), findings[0].command.as_ref().map(SuggestedCommand::shell_line))
        };
        let (statement, some) = command(4, |cpu| cpu < 2);
        assert_eq!(
            statement,
            "nvme0q1 (interrupt 36) takes 25 % of the time that cpus 0,1 lose to stalls (part of 20 stalls/s, 0.25 % of all)."
        );
        assert_eq!(some.as_deref(), Some("corewise irq --away-from 0,1"));
        assert_eq!(command(4, |_| true).1.as_deref(), Some("corewise irq --away-from 3"), "the one that loses most");
        assert_eq!(command(1, |_| true).1, None);
    }

    #[test]
    fn who_sends_most_of_one_kind_is_told_and_idle_cpus_are_nobody() {
        let calls = || StallCause::Interrupt { source: InterruptSource::FunctionCall, detail: "do_sync_core".into() };
        let sender = |task: u32, name: &str, function: &str, count| InterruptSender {
            source: InterruptSource::FunctionCall,
            cpu: Some(1),
            task: Some(task),
            name: name.into(),
            function: function.into(),
            count,
        };
        let told = |senders: Vec<InterruptSender>| {
            let of = |_| CpuStalls { senders: senders.clone(), ..stalls(vec![cause(calls(), 0.3, 400)]) };
            concluded(1, EventSource::Perf, of)[0].statement.clone()
        };
        let of_another_function = sender(7, "loud", "ipi_mb", 9000);
        let is_told = |senders: Vec<InterruptSender>| told(senders).contains("most are sent by patcher on cpu 1");
        let (one, two) = (sender(8, "patcher", "do_sync_core", 30), sender(9, "patcher", "do_sync_core", 30));
        assert!(is_told(vec![of_another_function.clone(), one.clone(), two.clone()]));
        assert!(!is_told(vec![one.clone(), two.clone(), sender(10, "other", "do_sync_core", 60)]), "half is not most");
        let idle = told(vec![one, sender(0, "idle", "do_sync_core", 500)]);
        assert!(!idle.contains("sent by"), "{idle}");
    }

    #[test]
    fn a_period_is_told_once_and_only_where_the_kernels_events_were_seen() {
        let source = period::PeriodicSource {
            hertz: 100.0,
            vector_strength: 0.9,
            tested: 1500,
            on_phase: 1500,
            by_chance: 1.0,
            window: 0.1,
            false_alarm: 0.0,
            coherent: false,
        };
        let of = |_| CpuStalls {
            periods: vec![source, source],
            ..stalls(vec![
                cause(StallCause::Periodic { rank: 0 }, 0.3, 1000),
                cause(StallCause::Periodic { rank: 1 }, 0.2, 500),
            ])
        };
        let findings = concluded(1, EventSource::Perf, of);
        assert_eq!(findings.len(), 1);
        let statement = &findings[0].statement;
        assert!(
            statement
                .contains("takes 50 % of the time that cpu 0 loses to stalls (part of 150 stalls/s, 0.50 % of all)"),
            "{statement}"
        );
        assert_eq!(concluded(1, EventSource::Thread, of), [], "there the timer's own stalls have no name");
    }
}
