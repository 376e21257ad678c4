//! 512 cpus on a screen.

use insta::assert_snapshot;

use super::{draw_quiet, find_parts, without_counts};
use crate::draw::fixtures::fabricated::*;

#[test]
fn cpus_512_at_80_columns() {
    assert_snapshot!(draw_quiet(&large_survey(), 80), @r"
    AMD EPYC 9755 · 2 packages, 256 cores, 512 cpus · Linux 6.18.2 · 30 s, 8 rounds

    package:0 · node:0 · 64 GB
      llc:0-15   32 MB L3 each  8 cores, 16 cpus each  0-7,256-263 8-15,264-271 …
    package:1 · node:1 · 64 GB
      llc:16-31  32 MB L3 each  8 cores, 16 cpus each  128-135, 384-391 136-143,
                                392-399 …
    caches  L1d 48 KB · L1i 32 KB · L2 1 MB

    Latency  of a fixed piece of work, timed 4,000 times per cpu; timing adds 21 ns
      to each; rows of several cpus: median; p99.99 and max of the worst; tail from
      270 ns to 900 ns
    cpu          mean  p50    ±  p90  p99  p99.9   ±  p99.99  max  lost  tail
                   ns   ns   ns   ns   ns     ns  ns      ns   µs     %
    0-16,18-511   272  270  0.2  270  280    900   0     900  0.9  0.26  █       ▅
    17            272  270  0.2  270  280    900   0     900  0.9  0.26  █       ▃

    Activity  of each cpu while it was measured
    cpu          clock    irq  softirq  yields  preempted  user  system  off-cpu
                   GHz     /s       /s      /s         /s     %       %        %
    0-16,18-511   4.10     96       56       0        0.5  98.5     1.0      0.5
    17            4.10  1,481       56       0        0.5  98.5     1.0      0.5
    Hidden at this width: ± of clock

    Interrupts  by source, per second; then soft interrupts
    0-16,18-511  timer 96 · soft TIMER 44, SCHED 11
    17           nvme0q1 1,381, timer 100 · soft TIMER 44, SCHED 11

    Links  one way, ns:  same llc 19 (19 to 19)  ·  other llc 81 (80 to 82)  ·
      other package 191 (190 to 192)  (2,016 of 130,816 pairs)
           0   2   4   6   8   10  12  14  16  18  20  22  24  26  28  30
     llc:0 ··▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓████████████████████████████████
     llc:1 ▓▓··▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓████████████████████████████████
     llc:2 ▓▓▓▓··▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓████████████████████████████████
     llc:3 ▓▓▓▓▓▓··▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓████████████████████████████████
     llc:4 ▓▓▓▓▓▓▓▓··▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓████████████████████████████████
     llc:5 ▓▓▓▓▓▓▓▓▓▓··▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓████████████████████████████████
     llc:6 ▓▓▓▓▓▓▓▓▓▓▓▓··▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓████████████████████████████████
     llc:7 ▓▓▓▓▓▓▓▓▓▓▓▓▓▓··▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓████████████████████████████████
     llc:8 ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓··▓▓▓▓▓▓▓▓▓▓▓▓▓▓████████████████████████████████
     llc:9 ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓··▓▓▓▓▓▓▓▓▓▓▓▓████████████████████████████████
    llc:10 ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓··▓▓▓▓▓▓▓▓▓▓████████████████████████████████
    llc:11 ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓··▓▓▓▓▓▓▓▓████████████████████████████████
    llc:12 ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓··▓▓▓▓▓▓████████████████████████████████
    llc:13 ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓··▓▓▓▓████████████████████████████████
    llc:14 ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓··▓▓████████████████████████████████
    llc:15 ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓··████████████████████████████████
    llc:16 ████████████████████████████████··▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓
    llc:17 ████████████████████████████████▓▓··▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓
    llc:18 ████████████████████████████████▓▓▓▓··▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓
    llc:19 ████████████████████████████████▓▓▓▓▓▓··▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓
    llc:20 ████████████████████████████████▓▓▓▓▓▓▓▓··▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓
    llc:21 ████████████████████████████████▓▓▓▓▓▓▓▓▓▓··▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓
    llc:22 ████████████████████████████████▓▓▓▓▓▓▓▓▓▓▓▓··▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓
    llc:23 ████████████████████████████████▓▓▓▓▓▓▓▓▓▓▓▓▓▓··▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓
    llc:24 ████████████████████████████████▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓··▓▓▓▓▓▓▓▓▓▓▓▓▓▓
    llc:25 ████████████████████████████████▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓··▓▓▓▓▓▓▓▓▓▓▓▓
    llc:26 ████████████████████████████████▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓··▓▓▓▓▓▓▓▓▓▓
    llc:27 ████████████████████████████████▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓··▓▓▓▓▓▓▓▓
    llc:28 ████████████████████████████████▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓··▓▓▓▓▓▓
    llc:29 ████████████████████████████████▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓··▓▓▓▓
    llc:30 ████████████████████████████████▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓··▓▓
    llc:31 ████████████████████████████████▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓··
    ns  ·· 19 to 30  ░░ 30 to 48  ▒▒ 48 to 76  ▓▓ 76 to 121  ██ 121 to 191  a row is
    one llc; a cell is the median of its pairs of cores

    What this means
     Nothing stands out: leave placement to the scheduler. Tested:
     =  No cpu is interrupted more often than its peers.
     =  No cpu's p50 differs from its peers' by more than its uncertainty.

    seed 42, clock invariant TSC · stored as survey 12
    ");
}

#[test]
fn cpus_512_at_40_columns() {
    assert_snapshot!(draw_quiet(&large_survey(), 40), @r"
    AMD EPYC 9755 ·
      2 packages, 256 cores, 512 cpus ·
      Linux 6.18.2 · 30 s, 8 rounds

    package:0 · node:0 · 64 GB
      llc:0-15 · 32 MB L3 each
        8 cores, 16 cpus each  0-7, 256-263
        8-15, 264-271 …
    package:1 · node:1 · 64 GB
      llc:16-31 · 32 MB L3 each
        8 cores, 16 cpus each  128-135,
        384-391 136-143, 392-399 …
    caches  L1d 48 KB · L1i 32 KB · L2 1 MB

    Latency  of a fixed piece of work, timed
      4,000 times per cpu; timing adds 21 ns
      to each; rows of several cpus: median;
      p99.99 and max of the worst; tail from
      270 ns to 900 ns
    cpu          p50  p99  p99.9  max
                  ns   ns     ns   µs
    0-16,18-511  270  280    900  0.9
    17           270  280    900  0.9
    Hidden at this width: mean, ± of p50,
      p90, ± of p99.9, p99.99, lost, tail

    Activity  of each cpu while it was
      measured
    cpu          clock    irq  off-cpu
                   GHz     /s        %
    0-16,18-511   4.10     96      0.5
    17            4.10  1,481      0.5
    Hidden at this width: ± of clock,
      softirq, yields, preempted, user,
      system

    Interrupts  by source, per second; then
      soft interrupts
    0-16,18-511  timer 96 · soft TIMER 44,
                 SCHED 11
    17           nvme0q1 1,381, timer 100 ·
                 soft TIMER 44, SCHED 11

    Links  one way, ns:
      same llc 19 (19 to 19)  ·
      other llc 81 (80 to 82)  ·
      other package 191 (190 to 192)
      (2,016 of 130,816 pairs)
               package:0  package:1
    package:0         81        191
    package:1        191         81
    a row is one package; a cell is the
    median of its pairs of cores

    What this means
     Nothing stands out: leave placement to
     the scheduler. Tested:
     =  No cpu is interrupted more often
        than its peers.
     =  No cpu's p50 differs from its peers'
        by more than its uncertainty.

    seed 42, clock invariant TSC · stored as
      survey 12
    ");
}

/// Even without counts, equal cpus share a row.
#[test]
fn cpus_512_without_counts_of_interrupts() {
    let survey = without_counts(large_survey(), |_| true);
    assert_snapshot!(find_parts(&draw_quiet(&survey, 80), &["Activity", "Interrupts"]), @r"
    Activity  of each cpu while it was measured
    cpu    clock     ±  irq  softirq  yields  preempted  user  system  off-cpu
             GHz   GHz   /s       /s      /s         /s     %       %        %
    0-511   4.10  0.00    –        –       0        0.5  98.5     1.0      0.5
    ");
}
