//! The lists of candidates on machines that people know, as they are read.

use insta::assert_snapshot;

use super::built::built_in;
use crate::placement::plan::{PlacementPlan, USUAL_MOST, plan_placements};

/// A line for each candidate: its expression, how many it stands for, and why.
fn shown(plan: &PlacementPlan) -> String {
    let mut text = format!("{} of {} classes of {} choices\n", plan.classes_here, plan.classes, plan.subsets);
    for candidate in &plan.candidates {
        let expression = candidate.expression.as_deref().unwrap_or("-");
        let (stands_for, of) = (candidate.stands_for, candidate.of);
        text += &format!("{expression:<30} {:>4} cpus: {}\n", candidate.cpus.len(), candidate.reason);
        text += &format!("    {} ({stands_for} of {of})\n", shortened(&candidate.cpus.to_string()));
    }
    // No number beyond 128 bits is worth reading.
    text.replace(&u128::MAX.to_string(), "2^128 - 1")
}

fn shortened(list: &str) -> String {
    if list.len() <= 40 { list.to_owned() } else { format!("{}…", list.chars().take(40).collect::<String>()) }
}

fn of(name: &str, threads: Option<u32>) -> String {
    let machine = built_in(name);
    shown(&plan_placements(&machine, &machine.online, threads, None, USUAL_MOST))
}

#[test]
fn a_bulldozer_of_four_modules() {
    assert_snapshot!(of("fx-8150", None), @r"
    5 of 14 classes of 255 choices
    -                                 8 cpus: The OS default: everything else must beat it.
        0-7 (1 of 1)
    all - core:0                      7 cpus: Without the first core, which often gets the most interrupts.
        1-7 (8 of 8)
    spread(4, cluster)                4 cpus: One cpu in each cluster, which it shares with no other.
        0,2,4,6 (16 of 70)
    cluster:0                         2 cpus: One cluster: the nearest neighbours among cores.
        0,1 (4 of 28)
    1                                 1 cpus: One cpu: no migration, and no talk across cores.
        1 (8 of 8)
    ");
    assert_snapshot!(of("fx-8150", Some(4)), @r"
    3 of 3 classes of 70 choices
    -                                 8 cpus: The OS default: everything else must beat it.
        0-7 (1 of 1)
    all - core:0                      7 cpus: Without the first core, which often gets the most interrupts.
        1-7 (8 of 8)
    spread(4, cluster)                4 cpus: Far apart: one cpu in each of 4 clusters.
        0,2,4,6 (16 of 70)
    2-4,6                             4 cpus: Also different: 4 cores in 3 clusters (2 + 1 + 1).
        2-4,6 (48 of 70)
    pack(4, cluster)                  4 cpus: Close together: in 2 clusters, the fewest possible.
        0-3 (6 of 70)
    ");
}

#[test]
fn a_threadripper_with_nodes_without_memory() {
    assert_snapshot!(of("threadripper-2990wx", None), @r"
    11 of 52707599 classes of 18446744073709551615 choices
    -                                64 cpus: The OS default: everything else must beat it.
        0-63 (1 of 1)
    all - core:0                     62 cpus: Without the first core, which often gets the most interrupts.
        2-63 (16 of 2016)
    with-memory                      32 cpus: Only nodes that have memory of their own.
        0-15,32-47 (1 of 1832624140942590534)
    one-per-core                     32 cpus: One cpu of each core: no two threads share one.
        0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,… (4294967296 of 1832624140942590534)
    node:0                           16 cpus: One NUMA node: its memory is the nearest.
        0-15 (2 of 488526937079580)
    spread(8, llc)                    8 cpus: One cpu in each last-level cache, which it shares with no other.
        0,8,16,24,32,40,48,56 (16777216 of 4426165368)
    llc:0                             8 cpus: One last-level cache: data that threads share stays in it.
        0-7 (4 of 4426165368)
    spread(4, node)                   4 cpus: One cpu in each NUMA node, which it shares with no other.
        0,16,32,48 (65536 of 635376)
    core:1                            2 cpus: One core: its siblings share even the nearest cache.
        2,3 (16 of 2016)
    2                                 1 cpus: One cpu: no migration, and no talk across cores.
        2 (32 of 64)
    16                                1 cpus: One cpu (no memory on its node): no migration, and no talk across cores.
        16 (32 of 64)
    ");
    assert_snapshot!(of("threadripper-2990wx", Some(2)), @r"
    9 of 9 classes of 2016 choices
    -                                64 cpus: The OS default: everything else must beat it.
        0-63 (1 of 1)
    all - core:0                     62 cpus: Without the first core, which often gets the most interrupts.
        2-63 (16 of 2016)
    spread(2, node, with-memory)      2 cpus: Far apart: one cpu in each of 2 NUMA nodes, where there is memory.
        0,32 (256 of 2016)
    16,32                             2 cpus: Also different: 2 cores in 2 last-level caches in 2 NUMA nodes, 1 cpu without memory near.
        16,32 (1024 of 2016)
    32,40                             2 cpus: Also different: 2 cores in 2 last-level caches in 1 NUMA node.
        32,40 (128 of 2016)
    16,48                             2 cpus: Also different: 2 cores in 2 last-level caches in 2 NUMA nodes, 2 cpus without memory near.
        16,48 (256 of 2016)
    16,24                             2 cpus: Also different: 2 cores in 2 last-level caches in 1 NUMA node, 2 cpus without memory near.
        16,24 (128 of 2016)
    16,18                             2 cpus: Also different: 2 cores in 1 last-level cache in 1 NUMA node, 2 cpus without memory near.
        16,18 (96 of 2016)
    16,17                             2 cpus: Also different: 1 core in 1 last-level cache in 1 NUMA node, 2 cpus without memory near.
        16,17 (16 of 2016)
    pack(2, llc)                      2 cpus: Close together: in 1 last-level cache.
        0,2 (96 of 2016)
    pack(2, core)                     2 cpus: Siblings together: on 1 core.
        0,1 (16 of 2016)
    ");
    assert_snapshot!(of("threadripper-2990wx", Some(8)), @r"
    4 of 1628 classes of 4426165368 choices
    -                                64 cpus: The OS default: everything else must beat it.
        0-63 (1 of 1)
    all - core:0                     62 cpus: Without the first core, which often gets the most interrupts.
        2-63 (16 of 2016)
    spread(8, node, with-memory)      8 cpus: Far apart: evenly over 2 NUMA nodes, where there is memory.
        0,2,8,10,32,34,40,42 (331776 of 4426165368)
    spread(8, node)                   8 cpus: Far apart: evenly over 4 NUMA nodes.
        0,8,16,24,32,40,48,56 (16777216 of 4426165368)
    pack(8, node)                     8 cpus: Close together: in 1 NUMA node.
        0,2,4,6,8,10,12,14 (512 of 4426165368)
    pack(8, core)                     8 cpus: Siblings together: on 4 cores.
        0-7 (4 of 4426165368)
    ");
}

#[test]
fn a_threadripper_of_complexes_of_three_cores() {
    assert_snapshot!(of("threadripper-3960x", None), @r"
    9 of 424269 classes of 281474976710655 choices
    -                                48 cpus: The OS default: everything else must beat it.
        0-47 (1 of 1)
    all - core:0                     46 cpus: Without the first core, which often gets the most interrupts.
        1-23,25-47 (24 of 1128)
    one-per-core                     24 cpus: One cpu of each core: no two threads share one.
        0-23 (16777216 of 32247603683100)
    die:0                            12 cpus: One die: only memory accesses leave it.
        0-5,24-29 (4 of 69668534468)
    spread(8, llc)                    8 cpus: One cpu in each last-level cache, which it shares with no other.
        0,3,6,9,12,15,18,21 (1679616 of 377348994)
    llc:0                             6 cpus: One last-level cache: data that threads share stays in it.
        0-2,24-26 (8 of 12271512)
    spread(4, die)                    4 cpus: One cpu in each die, which it shares with no other.
        0,6,12,18 (20736 of 194580)
    core:1                            2 cpus: One core: its siblings share even the nearest cache.
        1,25 (24 of 1128)
    1                                 1 cpus: One cpu: no migration, and no talk across cores.
        1 (48 of 48)
    ");
    assert_snapshot!(of("threadripper-3960x", Some(8)), @r"
    3 of 304 classes of 377348994 choices
    -                                48 cpus: The OS default: everything else must beat it.
        0-47 (1 of 1)
    all - core:0                     46 cpus: Without the first core, which often gets the most interrupts.
        1-23,25-47 (24 of 1128)
    spread(8, die)                    8 cpus: Far apart: evenly over 4 dies.
        0,3,6,9,12,15,18,21 (1679616 of 377348994)
    pack(8, llc)                      8 cpus: Close together: in 2 last-level caches, the fewest possible.
        0-5,24,25 (384 of 377348994)
    pack(8, core)                     8 cpus: Siblings together: on 4 cores.
        0-3,24-27 (24 of 377348994)
    ");
}

#[test]
fn a_ryzen_with_stacked_cache_on_one_die() {
    assert_snapshot!(of("ryzen-9-9950x3d", None), @r"
    12 of 2024 classes of 4294967295 choices
    -                                32 cpus: The OS default: everything else must beat it.
        0-31 (1 of 1)
    all - core:0                     30 cpus: Without the first core, which often gets the most interrupts.
        1-15,17-31 (8 of 496)
    vcache                           16 cpus: The stacked cache: for programs whose data fits only there.
        0-7,16-23 (1 of 601080390)
    frequency                        16 cpus: Without the stacked cache: these cores usually clock higher.
        8-15,24-31 (1 of 601080390)
    one-per-core                     16 cpus: One cpu of each core: no two threads share one.
        0-15 (65536 of 601080390)
    vcache - core:0                  14 cpus: The stacked cache without the first core, which often gets the most interrupts.
        1-7,17-23 (8 of 471435600)
    vcache & one-per-core             8 cpus: The stacked cache, and no two threads share a core.
        0-7 (256 of 10518300)
    spread(2, llc)                    2 cpus: One cpu in each last-level cache, which it shares with no other.
        0,8 (256 of 496)
    core:1                            2 cpus: One core (stacked cache): its siblings share even the nearest cache.
        1,17 (8 of 496)
    core:8                            2 cpus: One core (no stacked cache): its siblings share even the nearest cache.
        8,24 (8 of 496)
    1                                 1 cpus: One cpu (stacked cache): no migration, and no talk across cores.
        1 (16 of 32)
    8                                 1 cpus: One cpu (no stacked cache): no migration, and no talk across cores.
        8 (16 of 32)
    ");
    assert_snapshot!(of("ryzen-9-9950x3d", Some(1)), @r"
    2 of 2 classes of 32 choices
    -                                32 cpus: The OS default: everything else must beat it.
        0-31 (1 of 1)
    all - core:0                     30 cpus: Without the first core, which often gets the most interrupts.
        1-15,17-31 (8 of 496)
    vcache                           16 cpus: The stacked cache: for programs whose data fits only there.
        0-7,16-23 (1 of 601080390)
    frequency                        16 cpus: Without the stacked cache: these cores usually clock higher.
        8-15,24-31 (1 of 601080390)
    vcache - core:0                  14 cpus: The stacked cache without the first core, which often gets the most interrupts.
        1-7,17-23 (8 of 471435600)
    vcache & one-per-core             8 cpus: The stacked cache, and no two threads share a core.
        0-7 (256 of 10518300)
    core:1                            2 cpus: One core (stacked cache): its siblings share even the nearest cache.
        1,17 (8 of 496)
    core:8                            2 cpus: One core (no stacked cache): its siblings share even the nearest cache.
        8,24 (8 of 496)
    1                                 1 cpus: One cpu (stacked cache): no migration, and no talk across cores.
        1 (16 of 32)
    8                                 1 cpus: One cpu (no stacked cache): no migration, and no talk across cores.
        8 (16 of 32)
    ");
    assert_snapshot!(of("ryzen-9-9950x3d", Some(4)), @r"
    5 of 14 classes of 35960 choices
    -                                32 cpus: The OS default: everything else must beat it.
        0-31 (1 of 1)
    all - core:0                     30 cpus: Without the first core, which often gets the most interrupts.
        1-15,17-31 (8 of 496)
    spread(4, llc)                    4 cpus: Far apart: evenly over 2 last-level caches.
        0,1,8,9 (12544 of 35960)
    spread(4, core, vcache)           4 cpus: On 4 cores, one cpu of each, where the stacked cache is.
        0-3 (1120 of 35960)
    spread(4, core, frequency)        4 cpus: On 4 cores, one cpu of each, where no cache is stacked.
        8-11 (1120 of 35960)
    pack(4, core, vcache)             4 cpus: Siblings together: on 2 cores, where the stacked cache is.
        0,1,16,17 (28 of 35960)
    pack(4, core, frequency)          4 cpus: Siblings together: on 2 cores, where no cache is stacked.
        8,9,24,25 (28 of 35960)
    ");
}

#[test]
fn a_hybrid_processor() {
    assert_snapshot!(of("simulated-hybrid", None), @r"
    10 of 3149 classes of 4294967295 choices
    -                                32 cpus: The OS default: everything else must beat it.
        0-31 (1 of 1)
    all - core:0                     30 cpus: Without the first core, which often gets the most interrupts.
        2-31 (8 of 496)
    one-per-core                     24 cpus: One cpu of each core: no two threads share one.
        0,2,4,6,8,10,12,14,16-31 (256 of 10518300)
    performance                      16 cpus: Only the performance cores.
        0-15 (1 of 601080390)
    efficiency                       16 cpus: Only the efficiency cores.
        16-31 (1 of 601080390)
    spread(12, cluster)              12 cpus: One cpu in each cluster, which it shares with no other.
        0,2,4,6,8,10,12,14,16,20,24,28 (65536 of 225792840)
    cluster:8                         4 cpus: One cluster (efficiency): the nearest neighbours among cores.
        16-19 (4 of 35960)
    core:1                            2 cpus: One core (performance): its siblings share even the nearest cache.
        2,3 (8 of 496)
    2                                 1 cpus: One cpu (performance): no migration, and no talk across cores.
        2 (16 of 32)
    16                                1 cpus: One cpu (efficiency): no migration, and no talk across cores.
        16 (16 of 32)
    ");
    assert_snapshot!(of("simulated-hybrid", Some(4)), @r"
    4 of 17 classes of 35960 choices
    -                                32 cpus: The OS default: everything else must beat it.
        0-31 (1 of 1)
    all - core:0                     30 cpus: Without the first core, which often gets the most interrupts.
        2-31 (8 of 496)
    spread(4, cluster, efficiency)    4 cpus: Far apart: one cpu in each of 4 clusters, efficiency cores only.
        16,20,24,28 (256 of 35960)
    spread(4, core, performance)      4 cpus: On 4 cores, one cpu of each, performance cores only.
        0,2,4,6 (1120 of 35960)
    pack(4, cluster, efficiency)      4 cpus: Close together: in 1 cluster, efficiency cores only.
        16-19 (4 of 35960)
    pack(4, core, performance)        4 cpus: Siblings together: on 2 cores, performance cores only.
        0-3 (28 of 35960)
    ");
}

#[test]
fn two_packages() {
    assert_snapshot!(of("simulated-2-packages", None), @r"
    7 of 119 classes of 65535 choices
    -                                16 cpus: The OS default: everything else must beat it.
        0-15 (1 of 1)
    all - core:0                     14 cpus: Without the first core, which often gets the most interrupts.
        1-7,9-15 (8 of 120)
    one-per-core                      8 cpus: One cpu of each core: no two threads share one.
        0-7 (256 of 12870)
    package:0                         8 cpus: One package: nothing crosses to another socket.
        0-3,8-11 (2 of 12870)
    spread(2, package)                2 cpus: One cpu in each package, which it shares with no other.
        0,4 (64 of 120)
    core:1                            2 cpus: One core: its siblings share even the nearest cache.
        1,9 (8 of 120)
    1                                 1 cpus: One cpu: no migration, and no talk across cores.
        1 (16 of 16)
    ");
    assert_snapshot!(of("simulated-2-packages", Some(4)), @r"
    8 of 8 classes of 1820 choices
    -                                16 cpus: The OS default: everything else must beat it.
        0-15 (1 of 1)
    all - core:0                     14 cpus: Without the first core, which often gets the most interrupts.
        1-7,9-15 (8 of 120)
    package:0                         8 cpus: One package: nothing crosses to another socket.
        0-3,8-11 (2 of 12870)
    spread(4, package)                4 cpus: Far apart: evenly over 2 packages.
        0,1,4,5 (576 of 1820)
    1,4-6                             4 cpus: Also different: 4 cores in 2 packages (3 + 1).
        1,4-6 (512 of 1820)
    1,4,5,12                          4 cpus: Also different: 3 cores in 2 packages (3 + 1).
        1,4,5,12 (384 of 1820)
    1,4,5,9                           4 cpus: Also different: 3 cores in 2 packages.
        1,4,5,9 (192 of 1820)
    1,2,8,9                           4 cpus: Also different: 3 cores in 1 package.
        1,2,8,9 (96 of 1820)
    1,4,9,12                          4 cpus: Also different: 2 cores in 2 packages.
        1,4,9,12 (16 of 1820)
    pack(4, package)                  4 cpus: Close together: in 1 package.
        0-3 (32 of 1820)
    pack(4, core)                     4 cpus: Siblings together: on 2 cores.
        0,1,8,9 (12 of 1820)
    ");
}

#[test]
fn two_dies_on_a_front_side_bus() {
    assert_snapshot!(of("core2-quad-q6600", None), @r"
    5 of 5 classes of 15 choices
    -                                 4 cpus: The OS default: everything else must beat it.
        0-3 (1 of 1)
    all - core:0                      3 cpus: Without the first core, which often gets the most interrupts.
        1-3 (4 of 4)
    spread(2, llc)                    2 cpus: One cpu in each last-level cache, which it shares with no other.
        0,2 (4 of 6)
    llc:0                             2 cpus: One last-level cache: data that threads share stays in it.
        0,1 (2 of 6)
    1                                 1 cpus: One cpu: no migration, and no talk across cores.
        1 (4 of 4)
    ");
    assert_snapshot!(of("core2-quad-q6600", Some(2)), @r"
    2 of 2 classes of 6 choices
    -                                 4 cpus: The OS default: everything else must beat it.
        0-3 (1 of 1)
    all - core:0                      3 cpus: Without the first core, which often gets the most interrupts.
        1-3 (4 of 4)
    spread(2, llc)                    2 cpus: Far apart: one cpu in each of 2 last-level caches.
        0,2 (4 of 6)
    pack(2, llc)                      2 cpus: Close together: in 1 last-level cache.
        0,1 (2 of 6)
    ");
}

#[test]
fn a_machine_with_holes() {
    assert_snapshot!(of("simulated-sparse", None), @r"
    11 of 89 classes of 1023 choices
    -                                10 cpus: The OS default: everything else must beat it.
        1,2,4,6,16,17,19-21,23 (1 of 1)
    all - core:0                      9 cpus: Without the first core, which often gets the most interrupts.
        2,4,6,16,17,19-21,23 (2 of 10)
    one-per-core                      6 cpus: One cpu of each core: no two threads share one.
        1,2,4,16,17,19 (16 of 210)
    package:1                         6 cpus: One package: nothing crosses to another socket.
        16,17,19-21,23 (1 of 210)
    package:0                         4 cpus: One package: nothing crosses to another socket.
        1,2,4,6 (1 of 210)
    spread(2, package)                2 cpus: One cpu in each package, which it shares with no other.
        1,16 (12 of 45)
    core:1                            2 cpus: One core: its siblings share even the nearest cache.
        2,6 (1 of 45)
    core:4                            2 cpus: One core: its siblings share even the nearest cache.
        16,20 (3 of 45)
    2                                 1 cpus: One cpu: no migration, and no talk across cores.
        2 (2 of 10)
    4                                 1 cpus: One cpu: no migration, and no talk across cores.
        4 (2 of 10)
    16                                1 cpus: One cpu: no migration, and no talk across cores.
        16 (6 of 10)
    ");
    assert_snapshot!(of("simulated-sparse", Some(4)), @r"
    3 of 15 classes of 210 choices
    -                                10 cpus: The OS default: everything else must beat it.
        1,2,4,6,16,17,19-21,23 (1 of 1)
    all - core:0                      9 cpus: Without the first core, which often gets the most interrupts.
        2,4,6,16,17,19-21,23 (2 of 10)
    package:1                         6 cpus: One package: nothing crosses to another socket.
        16,17,19-21,23 (1 of 210)
    spread(4, package)                4 cpus: Far apart: evenly over 2 packages.
        1,2,16,17 (48 of 210)
    package:0                         4 cpus: One package: nothing crosses to another socket.
        1,2,4,6 (1 of 210)
    pack(4, core)                     4 cpus: Siblings together: on 2 cores.
        16,17,20,21 (3 of 210)
    ");
}

#[test]
fn a_server_of_more_cpus_than_anyone_lists() {
    assert_snapshot!(of("simulated-1536-cpus", None), @r"
    10 of more than 2^128 - 1 classes of more than 2^128 - 1 choices
    -                              1536 cpus: The OS default: everything else must beat it.
        0-1535 (1 of 1)
    all - core:0                   1534 cpus: Without the first core, which often gets the most interrupts.
        1-767,769-1535 (768 of 1178880)
    one-per-core                    768 cpus: One cpu of each core: no two threads share one.
        0-767 (more than 2^128 - 1 of more than 2^128 - 1)
    package:0                       192 cpus: One package: nothing crosses to another socket.
        0-95,768-863 (8 of more than 2^128 - 1)
    spread(96, llc)                  96 cpus: One cpu in each last-level cache, which it shares with no other.
        0,8,16,24,32,40,48,56,64,72,80,88,96,104… (more than 2^128 - 1 of more than 2^128 - 1)
    llc:0                            16 cpus: One last-level cache: data that threads share stays in it.
        0-7,768-775 (96 of 42422464395838284729586025009112876960)
    spread(12, llc, package:0)       12 cpus: Far apart in one package: one cpu in each of 12 last-level caches.
        0,8,16,24,32,40,48,56,64,72,80,88 (2251799813685248 of 344865529032826438283332067200)
    spread(8, package)                8 cpus: One cpu in each package, which it shares with no other.
        0,96,192,288,384,480,576,672 (1846757322198614016 of 754535119740924075840)
    core:1                            2 cpus: One core: its siblings share even the nearest cache.
        1,769 (768 of 1178880)
    1                                 1 cpus: One cpu: no migration, and no talk across cores.
        1 (1536 of 1536)
    ");
    assert_snapshot!(of("simulated-1536-cpus", Some(16)), @r"
    4 of 3609499 classes of 42422464395838284729586025009112876960 choices
    -                              1536 cpus: The OS default: everything else must beat it.
        0-1535 (1 of 1)
    all - core:0                   1534 cpus: Without the first core, which often gets the most interrupts.
        1-767,769-1535 (768 of 1178880)
    package:0                       192 cpus: One package: nothing crosses to another socket.
        0-95,768-863 (8 of more than 2^128 - 1)
    spread(16, package)              16 cpus: Far apart: evenly over 8 packages.
        0,8,96,104,192,200,288,296,384,392,480,4… (6641576920000308721516090528628736 of 42422464395838284729586025009112876960)
    spread(16, llc, package:0)       16 cpus: Far apart in one package: evenly over 12 last-level caches.
        0,1,8,9,16,17,24,25,32,40,48,56,64,72,80… (2676252819565848821760 of 42422464395838284729586025009112876960)
    pack(16, package)                16 cpus: Close together: in 1 package.
        0-15 (34603008 of 42422464395838284729586025009112876960)
    pack(16, core)                   16 cpus: Siblings together: on 8 cores.
        0-7,768-775 (96 of 42422464395838284729586025009112876960)
    ");
}
