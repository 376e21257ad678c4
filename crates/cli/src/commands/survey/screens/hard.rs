//! Edge cases: ended early, one cpu, nothing measured at all.

use insta::assert_snapshot;

use super::{draw_quiet, draw_survey, draw_too_short, find_parts, without_counts};
use crate::draw::fixtures::fabricated::*;

#[test]
fn a_partial_survey_says_so_first() {
    assert_snapshot!(find_parts(&draw_too_short(&partial_survey()), &["PARTIAL", "What this means", "Not measured"]), @r"
    PARTIAL: ended early, after 2 whole rounds; partial results follow.
    Intel Xeon · 1 core, 2 cpus · Linux 6.18.2 · KVM guest · 7 s, 2 rounds

    What this means
     Nothing could be tested: tests need two cpus and several whole rounds.

    Not measured: cpu frequency limits (the kernel has no cpufreq here); hardware
      counters (this machine shows no PMU). Next:  corewise doctor
    seed 42, clock invariant TSC · stored as survey 12
    ");
}

/// A survey that is too short must not advise to change nothing.
#[test]
fn what_is_not_decided_is_said_with_what_it_would_take() {
    let survey = small_guest_survey();
    assert_snapshot!(find_parts(&draw_survey(&survey, &undecided(&survey), 80), &["What this means"]), @r"
    What this means
     ?  Is cpu 0 worse than its peers? Cannot tell yet: time lost to stalls up to
        7.5x is not excluded (about 4 min should tell).
     Cannot tell yet whether anything stands out:
     ?  time lost to stalls: no difference was found, but differences up to 7.5x are
        not excluded; about 4 min should tell
     =  No cpu is interrupted more often than its peers.
     =  No cpu's p50 differs from its peers' by more than its uncertainty.
        To decide all that is open:  corewise survey --budget 4m
    ");
}

#[test]
fn one_allowed_cpu_has_no_links_and_says_why() {
    assert_snapshot!(draw_too_short(&single_cpu_survey()), @r"
    BUSY: other programs used 31 % of the machine meanwhile; this affects every
      number below.
    AMD Ryzen 9 9950X3D · 16 cores, 32 cpus · Linux 6.18.2 · 30 s, 8 rounds

    package:0 · node:0 · 64 GB
      llc:0  96 MB L3 V-Cache   0  1  2  3  4  5  6  7  with 16-23
      llc:1  32 MB L3           8  9 10 11 12 13 14 15  with 24-31
    caches  L1d 48 KB · L1i 32 KB · L2 1 MB
    not allowed here  0-2,4-31  (cpuset or affinity of this process)

    Latency  of a fixed piece of work, timed 40,000 times per cpu; timing adds 21 ns
      to each; tail from 261 ns to 900 ns
    cpu  mean  p50    ±  p90  p99  p99.9    ±  p99.99  max  lost  tail
           ns   ns   ns   ns   ns     ns   ns      ns   µs     %
    3     262  261  0.2  261  271    271  0.2     900  0.9  0.03  █       ▂

    Activity  of each cpu while it was measured
    cpu  clock     ±  irq  softirq  yields  preempted  user  system  off-cpu
           GHz   GHz   /s       /s      /s         /s     %       %        %
    3     5.55  0.00  159       56       0        0.5  98.5     1.0      0.5

    Interrupts  by source, per second; then soft interrupts
    3  timer 100, nvme0q1 59 · soft TIMER 44, SCHED 11

    What this means
     Nothing could be tested: tests need two cpus and several whole rounds.

    Not measured: links between cpus (links need two cpus; 1 was surveyed). Next:
      corewise doctor
    seed 42, clock invariant TSC · stored as survey 12
    ");
}

#[test]
fn an_emulated_machine_is_told_before_its_times() {
    let mut survey = small_guest_survey();
    survey.machine.system.emulated = true;
    survey.machine.system.hypervisor = Some("QEMU".into());
    let text = draw_too_short(&survey);
    let lines: Vec<&str> = text.lines().take(3).collect();
    assert_snapshot!(lines.join("\n"), @r"
    EMULATED: every instruction of this machine is emulated; the times below mean
      nothing.
    Intel Xeon · 1 core, 2 cpus · Linux 6.18.2 · emulated by QEMU · 30 s, 8 rounds
    ");
}

#[test]
fn a_survey_that_was_ended_before_its_first_visit_shows_the_machine() {
    let mut survey = partial_survey();
    survey.cpus.clear();
    survey.provenance.rounds = 0;
    survey.provenance.elapsed_s = 0.1;
    assert_snapshot!(draw_too_short(&survey), @r"
    PARTIAL: ended early, after 0 whole rounds; partial results follow.
    Intel Xeon · 1 core, 2 cpus · Linux 6.18.2 · KVM guest · 0 s, 0 rounds

    package:0 · node:0 · llc:0  64 GB · 32 MB L3  0-1
    caches  L1d 48 KB · L1i 32 KB · L2 1 MB

    What this means
     Nothing was measured.

    Not measured: cpu frequency limits (the kernel has no cpufreq here); hardware
      counters (this machine shows no PMU). Next:  corewise doctor
    seed 42, clock invariant TSC · stored as survey 12
    ");
}

/// Without /proc/interrupts the rates are unknown, not zero.
#[test]
fn what_was_not_counted_is_absent() {
    let survey = without_counts(small_guest_survey(), |_| true);
    assert_snapshot!(find_parts(&draw_quiet(&survey, 80), &["Activity", "Interrupts"]), @r"
    Activity  of each cpu while it was measured; ~ is estimated from a chain of
      additions, not counted
    cpu  clock     ±  irq  softirq  yields  preempted  user  system  off-cpu  stolen
           GHz   GHz   /s       /s      /s         /s     %       %        %       %
    0    ~2.60  0.00    –        –       0        0.5  98.5     1.0      0.5     2.0
    1    ~2.60  0.00    –        –       0        0.5  98.5     1.0      0.5     2.0
    ");
}

/// A rate is over the visits in which it was counted.
#[test]
fn counting_in_some_rounds_only_changes_no_rate() {
    let whole = small_guest_survey();
    let some = without_counts(whole.clone(), |round| round % 4 != 0);
    assert_ne!(some, whole);
    assert_eq!(draw_quiet(&some, 80), draw_quiet(&whole, 80));
}
