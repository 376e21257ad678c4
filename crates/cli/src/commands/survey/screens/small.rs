//! A guest of two cpus, and the desktop of the article about core 0.

use insta::assert_snapshot;

use super::{draw_article, draw_quiet, find_parts};
use crate::commands::survey::story::compose_story;
use crate::draw::fixtures::fabricated::*;
use crate::draw::survey::StorageStatus;

#[test]
fn a_small_guest_at_80_columns() {
    assert_snapshot!(draw_quiet(&small_guest_survey(), 80), @r"
    Intel Xeon · 1 core, 2 cpus · Linux 6.18.2 · KVM guest · 30 s, 8 rounds

    package:0 · node:0 · llc:0  64 GB · 32 MB L3  0-1
    caches  L1d 48 KB · L1i 32 KB · L2 1 MB

    Latency  of a fixed piece of work, timed 40,000 times per cpu; timing adds 21 ns
      to each; tail from 271 ns to 26 µs
    cpu  mean  p50    ±  p90  p99  p99.9    ±  p99.99   max  lost  tail
           ns   ns   ns   ns   ns     ns   ns      ns    µs     %
    0     284  271  0.2  271  281    281  0.2  25,616  25.6  4.36  █     ▂▂▃
    1     284  271  0.2  271  281    281  0.2  25,616  25.6  4.36  █     ▂▂▃

    Activity  of each cpu while it was measured; ~ is estimated from a chain of
      additions, not counted
    cpu  clock     ±  irq  softirq  yields  preempted  user  system  off-cpu  stolen
           GHz   GHz   /s       /s      /s         /s     %       %        %       %
    0    ~2.60  0.00   93       56       0        0.5  98.5     1.0      0.5     2.0
    1    ~2.60  0.00   93       56       0        0.5  98.5     1.0      0.5     2.0

    Interrupts  by source, per second; then soft interrupts
    0  timer 93 · soft TIMER 44, SCHED 11
    1  timer 93 · soft TIMER 44, SCHED 11

    Links  one way, ns:  same core 8.2  (1 pair)
         0    1
    0    -  8.2
    1  8.2    -

    What this means
     Nothing stands out: leave placement to the scheduler. Tested:
     =  No cpu is interrupted more often than its peers.
     =  No cpu's p50 differs from its peers' by more than its uncertainty.

    Not measured: cpu frequency limits (the kernel has no cpufreq here); hardware
      counters (this machine shows no PMU). Next:  corewise doctor
    seed 42, clock invariant TSC · stored as survey 12
    ");
}

#[test]
fn a_small_guest_at_40_columns() {
    assert_snapshot!(draw_quiet(&small_guest_survey(), 40), @r"
    Intel Xeon · 1 core, 2 cpus ·
      Linux 6.18.2 · KVM guest ·
      30 s, 8 rounds

    package:0 · node:0 · llc:0 · 64 GB ·
      32 MB L3
      0-1
    caches  L1d 48 KB · L1i 32 KB · L2 1 MB

    Latency  of a fixed piece of work, timed
      40,000 times per cpu; timing adds 21
      ns to each; tail from 271 ns to 26 µs
    cpu  p50  p99  p99.9   max  tail
          ns   ns     ns    µs
    0    271  281    281  25.6  █     ▂▂▃
    1    271  281    281  25.6  █     ▂▂▃
    Hidden at this width: mean, ± of p50,
      p90, ± of p99.9, p99.99, lost

    Activity  of each cpu while it was
      measured; ~ is estimated from a chain
      of additions, not counted
    cpu  clock  irq  off-cpu  stolen
           GHz   /s        %       %
    0    ~2.60   93      0.5     2.0
    1    ~2.60   93      0.5     2.0
    Hidden at this width: ± of clock,
      softirq, yields, preempted, user,
      system

    Interrupts  by source, per second; then
      soft interrupts
    0  timer 93 · soft TIMER 44, SCHED 11
    1  timer 93 · soft TIMER 44, SCHED 11

    Links  one way, ns:  same core 8.2
      (1 pair)
         0    1
    0    -  8.2
    1  8.2    -

    What this means
     Nothing stands out: leave placement to
     the scheduler. Tested:
     =  No cpu is interrupted more often
        than its peers.
     =  No cpu's p50 differs from its peers'
        by more than its uncertainty.

    Not measured: cpu frequency limits (the
      kernel has no cpufreq here); hardware
      counters (this machine shows no PMU).
      Next:  corewise doctor
    seed 42, clock invariant TSC · stored as
      survey 12
    ");
}

#[test]
fn the_article_s_9950x3d_at_80_columns() {
    assert_snapshot!(draw_article(80), @r"
    AMD Ryzen 9 9950X3D · 16 cores, 32 cpus · Linux 6.18.2 · 30 s, 8 rounds

    package:0 · node:0 · 64 GB
      llc:0  96 MB L3 V-Cache   0  1  2  3  4  5  6  7  with 16-23
      llc:1  32 MB L3           8  9 10 11 12 13 14 15  with 24-31
    caches  L1d 48 KB · L1i 32 KB · L2 1 MB

    Latency  of a fixed piece of work, timed 40,000 times per cpu; timing adds 21 ns
      to each; rows of several cpus: median; p99.99 and max of the worst; tail from
      251 ns to 22 µs
    cpu         mean  p50    ±  p90  p99  p99.9    ±  p99.99   max  lost  tail
                  ns   ns   ns   ns   ns     ns   ns      ns    µs     %
    0            272  261  0.2  261  271    271  0.2  22,416  22.4  3.96  █     ▂▂▃
    1-7,16-23    262  261  0.2  261  271    271  0.2     900   0.9  0.03  █ ▄
    8-15,24-31   252  251  0.2  251  261    261  0.2     850   0.9  0.03  █ ▄

    Activity  of each cpu while it was measured
    cpu         clock     ±  irq  softirq  yields  preempted  user  system  off-cpu
                  GHz   GHz   /s       /s      /s         /s     %       %        %
    0            5.34  0.00  411       56       0        0.5  98.5     1.0      0.5
    1-7,16-23    5.55  0.00  156       56       0        0.5  98.5     1.0      0.5
    8-15,24-31   5.70  0.00  128       56       0        0.5  98.5     1.0      0.5

    Interrupts  by source, per second; then soft interrupts
    0           nvme0q1 311, timer 100 · soft TIMER 44, SCHED 11
    1-7,16-23   timer 100, nvme0q1 55 · soft TIMER 44, SCHED 11
    8-15,24-31  timer 100, nvme0q1 28 · soft TIMER 44, SCHED 11

    Links  one way, ns:  same core 8.2 (8.2 to 8.2)  ·  same llc 19 (18 to 20)  ·
      other llc 81 (80 to 82)  (496 pairs)
       0   2   4   6   8   10  12  14
     0 ··░░░░░░░░░░░░░░████████████████
     1 ░░··░░░░░░░░░░░░████████████████
     2 ░░░░··░░░░░░░░░░████████████████
     3 ░░░░░░··░░░░░░░░████████████████
     4 ░░░░░░░░··░░░░░░████████████████
     5 ░░░░░░░░░░··░░░░████████████████
     6 ░░░░░░░░░░░░··░░████████████████
     7 ░░░░░░░░░░░░░░··████████████████
     8 ████████████████··░░░░░░░░░░░░░░
     9 ████████████████░░··░░░░░░░░░░░░
    10 ████████████████░░░░··░░░░░░░░░░
    11 ████████████████░░░░░░··░░░░░░░░
    12 ████████████████░░░░░░░░··░░░░░░
    13 ████████████████░░░░░░░░░░··░░░░
    14 ████████████████░░░░░░░░░░░░··░░
    15 ████████████████░░░░░░░░░░░░░░··
    ns  ·· 8.2 to 13  ░░ 13 to 21  ▒▒ 21 to 33  ▓▓ 33 to 52  ██ 52 to 82  a row is a
    core, named by its first cpu; a cell is the median of its pairs

    What this means
     ?  Is cpu 0 worse than its peers? Yes: interrupt rate 2.9x [2.6, 3.1].
     1  cpu 0 is interrupted 2.9x [2.6, 3.1] as often as the median cpu (nvme0q1
        77 %, timer 23 %).
        Latency-sensitive work belongs elsewhere:  corewise run --on 1-31 -- ./app
     2  llc:1 clocks 2.7 % [2.6, 2.8] higher than llc:0, which has three times the
        cache.
        Which one wins depends on your program.
        for latency-sensitive work: 1-31
     =  No cpu is stolen from by a hypervisor.

    seed 42, clock invariant TSC · stored as survey 12
    ");
}

/// The parts that are wider on a wider screen.
#[test]
fn the_article_s_9950x3d_at_140_columns() {
    assert_snapshot!(find_parts(&draw_article(140), &["Latency", "Links", "What this means"]), @r"
    Latency  of a fixed piece of work, timed 40,000 times per cpu; timing adds 21 ns to each; rows of several cpus: median; p99.99 and max of
      the worst; tail from 251 ns to 22 µs
    cpu         mean  p50    ±  p90  p99  p99.9    ±  p99.99   max  lost  tail
                  ns   ns   ns   ns   ns     ns   ns      ns    µs     %
    0            272  261  0.2  261  271    271  0.2  22,416  22.4  3.96  █     ▂▂▃
    1-7,16-23    262  261  0.2  261  271    271  0.2     900   0.9  0.03  █ ▄
    8-15,24-31   252  251  0.2  251  261    261  0.2     850   0.9  0.03  █ ▄

    Links  one way, ns:  same core 8.2 (8.2 to 8.2)  ·  same llc 19 (18 to 20)  ·  other llc 81 (80 to 82)  (496 pairs)
          0    1    2    3    4    5    6    7    8    9   10   11   12   13   14   15
     0  8.2   19   19   20   19   19   19   19   82   81   81   81   81   82   81   81
     1   19  8.2   19   19   20   19   19   19   81   82   81   81   81   81   82   81
     2   19   19  8.2   19   19   20   19   19   81   81   82   81   81   81   81   82
     3   20   19   19  8.2   19   19   20   19   81   81   81   82   81   81   81   81
     4   19   20   19   19  8.2   19   19   20   81   81   81   81   82   81   81   81
     5   19   19   20   19   19  8.2   19   19   82   81   81   81   81   82   81   81
     6   19   19   19   20   19   19  8.2   19   81   82   81   81   81   81   82   81
     7   19   19   19   19   20   19   19  8.2   81   81   82   81   81   81   81   82
     8   82   81   81   81   81   82   81   81  8.2   19   19   20   19   19   19   19
     9   81   82   81   81   81   81   82   81   19  8.2   19   19   20   19   19   19
    10   81   81   82   81   81   81   81   82   19   19  8.2   19   19   20   19   19
    11   81   81   81   82   81   81   81   81   20   19   19  8.2   19   19   20   19
    12   81   81   81   81   82   81   81   81   19   20   19   19  8.2   19   19   20
    13   82   81   81   81   81   82   81   81   19   19   20   19   19  8.2   19   19
    14   81   82   81   81   81   81   82   81   19   19   19   20   19   19  8.2   19
    15   81   81   82   81   81   81   81   82   19   19   19   19   20   19   19  8.2
    a row is a core, named by its first cpu; a cell is the median of its pairs

    What this means
     ?  Is cpu 0 worse than its peers? Yes: interrupt rate 2.9x [2.6, 3.1].
     1  cpu 0 is interrupted 2.9x [2.6, 3.1] as often as the median cpu (nvme0q1 77 %, timer 23 %).
        Latency-sensitive work belongs elsewhere:  corewise run --on 1-31 -- ./app
     2  llc:1 clocks 2.7 % [2.6, 2.8] higher than llc:0, which has three times the cache.
        Which one wins depends on your program.
        for latency-sensitive work: 1-31
     =  No cpu is stolen from by a hypervisor.
    ");
}

/// Escape sequences made visible: the cpus that findings name stand out.
#[test]
fn a_small_guest_in_colour() {
    let mut survey = small_guest_survey();
    survey.links.pairs.truncate(1);
    let mut conclusions = nothing(&survey);
    let finding = ryzen_conclusions(&survey).findings.remove(0);
    conclusions.findings = vec![finding];
    let styled = compose_story(&survey, &conclusions, &StorageStatus::No, Vec::new()).screen_at_width(80).to_styled();
    assert_snapshot!(styled.replace('\u{1b}', "␛"), @r"
    ␛[1mIntel Xeon␛[0m␛[2m · ␛[0m1 core, 2 cpus␛[2m · ␛[0mLinux 6.18.2␛[2m · ␛[0mKVM guest␛[2m · ␛[0m30 s, 8 rounds

    ␛[1mpackage:0 · node:0 · llc:0␛[0m  64 GB · 32 MB L3  0-1
    ␛[2mcaches  ␛[0mL1d 48 KB · L1i 32 KB · L2 1 MB

    ␛[1mLatency␛[0m  ␛[2mof a fixed piece of work, timed 40,000 times per cpu; timing adds 21 ns␛[0m
      ␛[2mto each; tail from 271 ns to 26 µs␛[0m
    ␛[2mcpu␛[0m  ␛[2mmean␛[0m  ␛[2mp50␛[0m    ␛[2m±␛[0m  ␛[2mp90␛[0m  ␛[2mp99␛[0m  ␛[2mp99.9␛[0m    ␛[2m±␛[0m  ␛[2mp99.99␛[0m   ␛[2mmax␛[0m  ␛[2mlost␛[0m  ␛[2mtail␛[0m
           ␛[2mns␛[0m   ␛[2mns␛[0m   ␛[2mns␛[0m   ␛[2mns␛[0m   ␛[2mns␛[0m     ␛[2mns␛[0m   ␛[2mns␛[0m      ␛[2mns␛[0m    ␛[2mµs␛[0m     ␛[2m%␛[0m
    ␛[1m0␛[0m     284  271  ␛[2m0.2␛[0m  271  281    281  ␛[2m0.2␛[0m  25,616  25.6  4.36  ␛[2m█     ▂▂▃␛[0m
    ␛[1m1␛[0m     284  271  ␛[2m0.2␛[0m  271  281    281  ␛[2m0.2␛[0m  25,616  25.6  4.36  ␛[2m█     ▂▂▃␛[0m

    ␛[1mActivity␛[0m  ␛[2mof each cpu while it was measured; ~ is estimated from a chain of␛[0m
      ␛[2madditions, not counted␛[0m
    ␛[2mcpu␛[0m  ␛[2mclock␛[0m     ␛[2m±␛[0m  ␛[2mirq␛[0m  ␛[2msoftirq␛[0m  ␛[2myields␛[0m  ␛[2mpreempted␛[0m  ␛[2muser␛[0m  ␛[2msystem␛[0m  ␛[2moff-cpu␛[0m  ␛[2mstolen␛[0m
           ␛[2mGHz␛[0m   ␛[2mGHz␛[0m   ␛[2m/s␛[0m       ␛[2m/s␛[0m      ␛[2m/s␛[0m         ␛[2m/s␛[0m     ␛[2m%␛[0m       ␛[2m%␛[0m        ␛[2m%␛[0m       ␛[2m%␛[0m
    ␛[1m0␛[0m    ~2.60  ␛[2m0.00␛[0m   ␛[1m␛[33m93␛[0m       56       ␛[2m0␛[0m        0.5  98.5     1.0      0.5     2.0
    ␛[1m1␛[0m    ~2.60  ␛[2m0.00␛[0m   93       56       ␛[2m0␛[0m        0.5  98.5     1.0      0.5     2.0

    ␛[1mInterrupts␛[0m  ␛[2mby source, per second; then soft interrupts␛[0m
    ␛[1m0␛[0m  timer 93␛[2m · soft TIMER 44, SCHED 11␛[0m
    ␛[1m1␛[0m  timer 93␛[2m · soft TIMER 44, SCHED 11␛[0m

    ␛[1mLinks␛[0m  ␛[2mone way, ns:  ␛[0msame core ␛[1m8.2␛[0m  ␛[2m(1 pair)␛[0m
    ␛[2m     0    1␛[0m
    ␛[2m0    - ␛[0m␛[38;5;255m␛[48;5;54m 8.2 ␛[0m
    ␛[2m1 ␛[0m␛[38;5;255m␛[48;5;54m 8.2 ␛[0m␛[2m   -␛[0m

    ␛[1mWhat this means␛[0m
     ␛[1m1  ␛[0mcpu 0 is interrupted 2.9x [2.6, 3.1] as often as the median cpu (nvme0q1
        77 %, timer 23 %).
        Latency-sensitive work belongs elsewhere:  ␛[1mcorewise run --on 1-31 -- ./app␛[0m
    ␛[2m =  No cpu is interrupted more often than its peers.␛[0m
    ␛[2m =  No cpu's p50 differs from its peers' by more than its uncertainty.␛[0m

    Not measured: cpu frequency limits (the kernel has no cpufreq here); hardware
      counters (this machine shows no PMU). ␛[2mNext:␛[0m  ␛[1mcorewise doctor␛[0m
    ␛[2mseed 42, clock invariant TSC␛[0m
    ");
}
