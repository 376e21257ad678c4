//! Screens of surveys whose stalls are known: their causes are computed by the same code as those of real ones.

use std::collections::BTreeMap;

use corewise_machine::CpuSet;
use corewise_machine::event::{EventKind, EventSource, InterruptSource, KernelEvent};
use corewise_model::Survey;
use corewise_model::attribution::{CauseSummary, RecordingPerturbation, StallCause, divide_stalls, settle_visits};
use corewise_model::stall::{CauseSurroundings, Stall, StallVisit};
use corewise_model::survey::{StallWatch, SurveyScope};
use insta::assert_snapshot;

use super::*;
use crate::draw::fixtures::fabricated::{ryzen_survey, small_guest_survey};
use crate::draw::fixtures::hostile;
use crate::draw::story::{Story, StoryPart, StoryRole, draw_parts};

const SECOND_NS: u64 = 1_000_000_000;
/// The kernel's timer strikes this often, in nanoseconds: 250 times a second.
const TICK_NS: u64 = 4_000_000;

/// A visit of two seconds: the timer, the host's tick, and on cpu 0 a device and another task.
fn visit(cpu: u32, round: u32) -> StallVisit {
    let begin_ns = u64::from(round) * 10 * SECOND_NS + u64::from(cpu) * 3 * SECOND_NS;
    let mut visit = StallVisit {
        cpu,
        round,
        armed: true,
        begin_ns,
        end_ns: begin_ns + 2 * SECOND_NS,
        own_task: 7,
        ..StallVisit::default()
    };
    for number in 0..500 {
        let at_ns = begin_ns + 1_000_000 + number * TICK_NS;
        let source = InterruptSource::LocalTimer;
        interrupted(&mut visit, at_ns, 17_000 + number % 7 * 100, source);
        if cpu == 0 && number % 5 == 0 {
            interrupted(&mut visit, at_ns + 2_000_000, 9_000 + number * 10, InterruptSource::Device(36));
        }
        if cpu == 0 && number % 250 == 99 {
            preempted(&mut visit, at_ns + 3_000_000, 180_000);
        }
    }
    // The host's, which this kernel knows nothing of.
    for number in 0..200 {
        let at_ns = begin_ns + 2_500_000 + number * 10_000_000;
        visit.stalls.push(stall(at_ns, 25_000));
    }
    visit.stalls.sort_by_key(|stall| stall.begin_ns);
    visit.events.sort_by_key(|event| event.at_ns);
    visit
}

fn stall(begin_ns: u64, length_ns: u64) -> Stall {
    Stall { begin_ns, end_ns: begin_ns + length_ns, off_cpu_ns: 0, involuntary_switches: 0 }
}

fn event(visit: &mut StallVisit, at_ns: u64, what: EventKind) {
    visit.events.push(KernelEvent { at_ns, cpu: visit.cpu, task: 7, what });
}

fn interrupted(visit: &mut StallVisit, at_ns: u64, length_ns: u64, source: InterruptSource) {
    visit.stalls.push(stall(at_ns, length_ns));
    event(visit, at_ns + length_ns * 4 / 10, EventKind::Enter { source });
    event(visit, at_ns + length_ns * 9 / 10, EventKind::Exit { source });
}

fn preempted(visit: &mut StallVisit, at_ns: u64, length_ns: u64) {
    visit.stalls.push(Stall { off_cpu_ns: length_ns - 2_000, involuntary_switches: 1, ..stall(at_ns, length_ns) });
    let away = EventKind::Switch { from: 7, preempted: true, to: 812, to_name: "backup".into() };
    event(visit, at_ns + 1_000, away);
    let back = EventKind::Switch { from: 812, preempted: false, to: 7, to_name: "tail 0".into() };
    event(visit, at_ns + length_ns - 1_000, back);
}

/// A survey whose cpus stall so.
pub fn with_stalls(mut survey: Survey, event_source: EventSource) -> Survey {
    let surroundings = CauseSurroundings {
        has_hypervisor: survey.machine.system.hypervisor.is_some(),
        devices: BTreeMap::from([(36, "nvme0q1".to_owned())]),
        tasks: BTreeMap::new(),
    };
    let visits = survey.cpus.iter().flat_map(|seen| (0..2).map(|round| visit(seen.cpu, round)));
    let watched = |visit: StallVisit| {
        let armed = event_source != EventSource::Thread;
        divide_stalls(
            &StallVisit { armed, events: if armed { visit.events } else { Vec::new() }, ..visit },
            &surroundings,
        )
    };
    let mut stalls = settle_visits(visits.map(watched).collect(), &surroundings, 10);
    survey.cpus.iter_mut().for_each(|seen| seen.stalls = stalls.remove(&seen.cpu));
    let perturbation = RecordingPerturbation {
        ratio: 1.034,
        interval: Some([1.01, 1.052]),
        watched_ns: 18_300.0,
        unwatched_ns: 17_700.0,
        pairs: 24,
    };
    survey.watch = Some(StallWatch {
        event_source,
        threshold_ns: 1_000.0,
        first_in_line: false,
        perturbation: (event_source != EventSource::Thread).then_some(perturbation),
    });
    survey.provenance.scope = SurveyScope::Tail;
    survey
}

fn text(parts: Vec<StoryPart>, width: usize) -> String {
    draw_parts(&parts, width).iter().map(|line| line.to_plain().trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

fn all(survey: &Survey, width: usize) -> String {
    let parts = [compose_causes(survey), compose_watching(survey), compose_periods(survey), compose_longest(survey)];
    let told = parts.into_iter().map(|parts| text(parts, width)).filter(|text| !text.is_empty());
    told.collect::<Vec<_>>().join("\n\n")
}

fn two_cpus() -> Survey {
    let mut survey = small_guest_survey();
    let one = ryzen_survey().cpus.remove(0);
    survey.cpus = (0..2).map(|cpu| corewise_model::survey::CpuObservation { cpu, ..one.clone() }).collect();
    survey
}

#[test]
fn sources_of_one_period_have_names_of_their_own() {
    let mut survey = with_stalls(two_cpus(), EventSource::Perf);
    let stalls = survey.cpus[0].stalls.as_mut().unwrap();
    stalls.periods.push(stalls.periods[0]);
    let first = stalls.causes.iter().find(|cause| cause.cause == StallCause::Periodic { rank: 0 }).unwrap().clone();
    stalls.causes.push(CauseSummary { cause: StallCause::Periodic { rank: 1 }, ..first });
    let drawn = text(compose_causes(&survey), 100);
    assert!(drawn.contains("every 10.00 ms  ") && drawn.contains("every 10.00 ms (2) "), "{drawn}");
}

#[test]
fn what_nobody_is_known_for_is_described() {
    let mut survey = with_stalls(two_cpus(), EventSource::Perf);
    let mut visits: Vec<StallVisit> = (0..2).map(|round| visit(0, round)).collect();
    let mut random = corewise_machine::random::RandomGenerator::new(5);
    for visit in &mut visits {
        for _ in 0..300 {
            let at_ns = visit.begin_ns + (random.next_unit() * 2e9) as u64;
            let length_ns = 10_000 + (random.next_unit() * 60_000.0) as u64;
            let is_free = visit.stalls.iter().all(|one| at_ns + 80_000 < one.begin_ns || at_ns > one.end_ns + 1_000);
            visit.stalls.extend(is_free.then(|| stall(at_ns, length_ns)));
            visit.stalls.sort_by_key(|stall| stall.begin_ns);
        }
    }
    let surroundings = CauseSurroundings { has_hypervisor: true, ..CauseSurroundings::default() };
    let divided = visits.iter().map(|visit| divide_stalls(visit, &surroundings)).collect();
    survey.cpus[0].stalls = settle_visits(divided, &surroundings, 10).remove(&0);
    assert_snapshot!(text(compose_unexplained(&survey), 80), @r"
    cpu 0: 43 % of the lost time is unexplained: 570 stalls without a period, half
      of them 25 µs to 57 µs. This system's kernel reports no event for them, so the
      cause is the host, or its hardware
    ");
    survey.machine.system.hypervisor = None;
    assert!(text(compose_unexplained(&survey), 200).ends_with("so the cause is firmware or hardware"));
    assert!(compose_unexplained(&with_stalls(survey, EventSource::Thread)).is_empty());
}

#[test]
fn few_cpus_have_their_causes_one_by_one() {
    assert_snapshot!(all(&with_stalls(two_cpus(), EventSource::Perf), 80), @r"
    Causes  of stalls of 1.0 µs and more, named by the kernel's tracepoints: 0.72 %
      of the cpus' time
    cpu  cause                   stalls  share  p50  p99  max  running
                                     /s      %   µs   µs   µs        %
    0    timer                      250   57.1   17   18   18       50
         every 10.00 ms             100   33.0   25   25   25
         nvme0q1 (interrupt 36)      50    7.6   11   14   14       50
         task backup (812)          1.0    2.4  180  180  180       99
    1    timer                      250   63.4   17   18   18       50
         every 10.00 ms             100   36.6   25   25   25

    100.0 % of 3,004 stalls have a cause; 73.4 % by name · the host took 0.25 % of
      the time · watching makes the timer's stalls 1.03x [1.01, 1.05] as long

    cpus 0,1: 100.0 Hz, R 1.00: this system's own timer, or the host's tick at the
      same rate

    Longest  each with its parts in µs
      180 µs  cpu 0 at 0.40 s  task backup (812) 178
      180 µs  cpu 0 at 1.40 s  task backup (812) 178
      180 µs  cpu 0 at 10.40 s  task backup (812) 178
      180 µs  cpu 0 at 11.40 s  task backup (812) 178
       25 µs  cpu 0 at 0.00 s  periodic 25
    ");
}

#[test]
fn a_narrow_terminal_loses_no_share() {
    assert_snapshot!(all(&with_stalls(two_cpus(), EventSource::Perf), 40), @r"
    Causes  of stalls of 1.0 µs and more,
      named by the kernel's tracepoints:
      0.72 % of the cpus' time
    cpu  cause               share  p50  max
                                 %   µs   µs
    0    timer                57.1   17   18
         every 10.00 ms       33.0   25   25
         nvme0q1 (interrup…    7.6   11   14
         task backup (812)     2.4  180  180
    1    timer                63.4   17   18
         every 10.00 ms       36.6   25   25
    Hidden at this width: stalls, p99, share
      in handlers

    100.0 % of 3,004 stalls have a cause;
      73.4 % by name · the host took 0.25 %
      of the time · watching makes the
      timer's stalls 1.03x [1.01, 1.05] as
      long

    cpus 0,1: 100.0 Hz, R 1.00: this
      system's own timer, or the host's tick
      at the same rate

    Longest  each with its parts in µs
      180 µs  cpu 0 at 0.40 s  task backup
              (812) 178
      180 µs  cpu 0 at 1.40 s  task backup
              (812) 178
      180 µs  cpu 0 at 10.40 s  task backup
              (812) 178
      180 µs  cpu 0 at 11.40 s  task backup
              (812) 178
       25 µs  cpu 0 at 0.00 s  periodic 25
    ");
}

#[test]
fn without_events_the_threads_own_accounts_tell_what_they_can() {
    assert_snapshot!(all(&with_stalls(two_cpus(), EventSource::Thread), 80), @r"
    Causes  of stalls of 1.0 µs and more, by the thread's own accounting (corewise
      tail --explain names them): 0.72 % of the cpus' time
    cpu  cause         stalls  share  p50  p99  max
                           /s      %   µs   µs   µs
    0    interrupted      400   97.7   17   25   25
         another task     1.0    2.3  180  180  180
    1    interrupted      350  100.0   17   25   25

    0.1 % of 3,004 stalls have a cause

    Longest  each with its parts in µs
      180 µs  cpu 0 at 0.40 s  another task 178
      180 µs  cpu 0 at 1.40 s  another task 178
      180 µs  cpu 0 at 10.40 s  another task 178
      180 µs  cpu 0 at 11.40 s  another task 178
       25 µs  cpu 0 at 0.00 s  interrupted 25
    ");
}

#[test]
fn many_cpus_are_told_together() {
    assert_snapshot!(text(compose_causes(&with_stalls(ryzen_survey(), EventSource::Perf)), 80), @r"
    Causes  of stalls of 1.0 µs and more, named by the kernel's tracepoints: 0.68 %
      of the cpus' time
    cpu      cause                   stalls  share  p50  p99  max  running
                                         /s      %   µs   µs   µs        %
    32 cpus  timer                      250   63.2   17   18   18       50
             periodic                   100   36.5   25   25   25
    0        nvme0q1 (interrupt 36)     1.6    0.3   11   14   14       50
             task backup                0.0    0.1  180  180  180       99
    ");
}

#[test]
fn findings_say_who_and_what_can_be_done() {
    let survey = with_stalls(two_cpus(), EventSource::Perf);
    let conclusions = corewise_model::survey::conclude::conclude(&survey);
    let told: Vec<String> = conclusions
        .findings
        .iter()
        .filter(|finding| finding.topic == corewise_model::finding::FindingTopic::Causes)
        .map(|finding| {
            format!(
                "{} {} {}",
                finding.statement,
                finding.advice,
                finding.command.as_ref().map(corewise_machine::SuggestedCommand::shell_line).unwrap_or_default()
            )
        })
        .collect();
    assert_snapshot!(told.join("\n"), @r"
    nvme0q1 (interrupt 36) takes 8 % of the time that cpu 0 loses to stalls (part of 50 stalls/s, 0.06 % of all). If it can be moved, move it and measure again: corewise irq --away-from 0
    Every 10.00 ms (R 1.00) a source that this kernel does not report takes 35 % of the time that cpus 0,1 lose to stalls (part of 100 stalls/s, 0.25 % of all). It is outside this virtual machine, probably the host's timer. No placement avoids it, but the host's owner can (nohz_full, isolated cpus).
    ");
    let cpus: Vec<CpuSet> = conclusions.findings.iter().map(|finding| finding.cpus.clone()).collect();
    assert!(!cpus.is_empty());
}

#[test]
fn no_task_is_named_so_that_it_steers_or_hides() {
    let survey = with_stalls(two_cpus(), EventSource::Perf);
    for (place, survey) in hostile::copies(&survey).into_iter().enumerate() {
        let told = Story::default()
            .with(
                StoryRole::Evidence,
                [compose_causes(&survey), compose_senders(&survey), compose_longest(&survey)].concat(),
            )
            .with(
                StoryRole::Notes,
                [compose_watching(&survey), compose_periods(&survey), compose_unexplained(&survey)].concat(),
            );
        // Concluding takes its time; names are the same ones in each.
        let conclusions = (place < 4).then(|| corewise_model::survey::conclude::conclude(&survey));
        let means = conclusions.map(|conclusions| crate::draw::findings::compose_findings(&survey, &conclusions));
        hostile::check_story(&told.with(StoryRole::Answer, means.unwrap_or_default()));
        hostile::check_json(&survey);
    }
}
