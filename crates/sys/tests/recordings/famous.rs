//! Machines that are known for something: what is special about each must come out.

use std::fmt::Write;
use std::path::Path;

use corewise_machine::{CpuSet, Level, Machine, device};
use corewise_model::device_findings;
use corewise_sys::{Root, topology};
use libtest_mimic::{Failed, Trial};

use super::data;

/// What a machine is known for, and the test of it.
type Famous = (&'static str, &'static str, fn(&Machine));

const FAMOUS: [Famous; 19] = [
    ("two cores to a Bulldozer module, old kernel", "hwloc/linux/64amd64-4s2n4ca2co.tar.bz2", opteron_6276),
    ("two cores to a Bulldozer module, newer kernel", "hwloc/x86+linux/64amd64-4p2n4ca2co.tar.bz2", opteron_6272),
    ("six cores to a Piledriver node", "hwloc/x86/AMD-15h-Piledriver-4xOpteron-6348.tar.bz2", opteron_6348),
    ("kinds by CPPC", "hwloc/linux/20em64t-hybrid-1p6c2t+2ca4co1t.tar.bz2", i7_1370p),
    ("kinds by capacity, unequal L3", "hwloc/linux/nvidia-dgx-gb10.tar.bz2", gb10),
    ("three kinds by name", "pepc/arl-h-1.tar.xz", arrow_lake_h),
    ("efficiency cores outside the last-level cache", "pepc/lnl0.tar.xz", lunar_lake),
    ("kinds that cpuid names", "hwloc/x86+linux/5intel64-hybrid-lakefield.tar.bz2", lakefield),
    ("kinds without V-Cache", "hwloc/x86/AMD-1Ah-Zen5StrixPoint-RyzenAI9HX370.tar.bz2", strix_point),
    ("disagreeing measures", "hwloc/linux/fakeheterocpunuma.tar.bz2", fake_kinds),
    ("V-Cache", "synthetic/SYNTH-ryzen-9950X3D.tar.xz", ryzen_9950x3d),
    ("nodes without memory", "synthetic/SYNTH-threadripper-3960X-nps4-memoryless.tar.xz", threadripper_3960x),
    ("an L3 over three nodes", "pepc/cwf0.tar.xz", clearwater_forest),
    ("cpu 0 and node 0 offline", "hwloc/linux/offline-cpu0-node0.tar.bz2", offline),
    ("1536 cpus", "synthetic/SYNTH-1536cpu-32socket.tar.xz", many),
    ("a cpuset of six", "hwloc/linux/32amd64-4s2n4c-cgroup2.tar.bz2", confined),
    ("clusters without a shared L2", "hwloc/linux/128arm-2pa2n8cluster4co.tar.bz2", kunpeng),
    ("GPUs of two packages, without nodes", "hwloc/linux/nvidiagpunumanodes.tar.bz2", gpus),
    ("nodes of memory only, isolated cpus", "nri-plugins/test-data-sample2.tar.xz", persistent_memory),
];

/// One test for each.
pub fn trials(folder: &Path) -> Vec<Trial> {
    let trial = |(what, name, test): Famous| {
        let folder = folder.to_owned();
        let run = move || -> Result<(), Failed> {
            test(&data::machine(&folder, name)?);
            Ok(())
        };
        Trial::test(format!("famous::{what}"), run).with_kind("recording")
    };
    FAMOUS.into_iter().map(trial).collect()
}

/// The archives that hold a dump of cpuid beside sysfs: both must tell the same machine.
const BOTH: [&str; 2] =
    ["hwloc/x86+linux/5intel64-hybrid-lakefield.tar.bz2", "hwloc/x86+linux/64amd64-4p2n4ca2co.tar.bz2"];

/// One test for each archive with two sources.
pub fn agreements(folder: &Path) -> Vec<Trial> {
    let trial = |name: &'static str| {
        let folder = folder.to_owned();
        Trial::test(format!("cpuid agrees with sysfs::{name}"), move || agree(&folder, name)).with_kind("recording")
    };
    BOTH.into_iter().map(trial).collect()
}

fn agree(folder: &Path, name: &str) -> Result<(), Failed> {
    let root = Root::open(folder.join(name))?;
    let paths = root.list_folder("cpuid").into_iter().map(|name| format!("cpuid/{name}"));
    let dump =
        Root::from_files(paths.filter_map(|path| root.read_text(&path).map(|text| (path.clone(), text.into_owned()))));
    let (by_kernel, by_cpuid) = (topology::read_machine(&root)?, topology::read_machine(&dump)?);
    for level in [Level::Package, Level::Die, Level::Llc, Level::Cluster, Level::Core, Level::Cpu] {
        assert_eq!(by_cpuid.objects_of(level), by_kernel.objects_of(level), "{level}");
    }
    assert_eq!(by_cpuid.caches, by_kernel.caches);
    assert_eq!(by_cpuid.kinds, by_kernel.kinds);
    Ok(())
}

/// What is shown of every machine.
fn shown(machine: &Machine) -> String {
    let mut text = format!("{}\n", machine.processor.model_name.as_deref().unwrap_or("unnamed"));
    let count = |level: Level| format!("{} {level}", machine.objects_of(level).len());
    writeln!(text, "{}", Level::EVERYWHERE.map(count).join(", ")).unwrap();
    for (name, set) in [("offline", machine.offline_cpus()), ("isolated", machine.isolated.clone())] {
        if !set.is_empty() {
            writeln!(text, "{name} {set}").unwrap();
        }
    }
    if machine.allowed != machine.online {
        writeln!(text, "allowed {}", machine.allowed).unwrap();
    }
    for llc in machine.llcs.iter().filter(|llc| llc.vcache) {
        writeln!(text, "V-Cache {}", llc.cpus).unwrap();
    }
    for kind in &machine.kinds {
        writeln!(text, "{} {} ({})", kind.core_type.word(), kind.cpus, kind.reason).unwrap();
    }
    for gap in &machine.gaps {
        writeln!(text, "gap: {}: {}", gap.what, gap.why).unwrap();
    }
    text
}

/// The first three objects of a level.
fn first(machine: &Machine, level: Level) -> String {
    machine.objects_of(level).iter().take(3).map(CpuSet::to_string).collect::<Vec<_>>().join(" | ")
}

fn lists(sets: &[CpuSet]) -> Vec<String> {
    sets.iter().map(CpuSet::to_string).collect()
}

fn mebibytes(machine: &Machine) -> Vec<u64> {
    machine.llcs.iter().map(|llc| llc.size_bytes.unwrap_or_default() >> 20).collect()
}

fn opteron_6276(machine: &Machine) {
    insta::assert_snapshot!(shown(machine), @r"
    AMD Opteron(TM) Processor 6276
    4 package, 8 node, 4 die, 8 llc, 32 cluster, 64 core, 64 cpu
    gap: who shares the L1i: files contradict each other: sys/devices/system/cpu/cpu0/cache/index1/shared_cpu_list says 0, but sys/devices/system/cpu/cpu1/cache/index1/shared_cpu_map says 0,1; sys/devices/system/cpu/cpu1/cache/index1/shared_cpu_list says 1, but sys/devices/system/cpu/cpu0/cache/index1/shared_cpu_map says 0,1; sys/devices/system/cpu/cpu2/cache/index1/shared_cpu_list says 2, but sys/devices/system/cpu/cpu3/cache/index1/shared_cpu_map says 2,3; sys/devices/system/cpu/cpu3/cache/index1/shared_cpu_list says 3, but sys/devices/system/cpu/cpu2/cache/index1/shared_cpu_map says 2,3; sys/devices/system/cpu/cpu4/cache/index1/shared_cpu_list says 4, but sys/devices/system/cpu/cpu5/cache/index1/shared_cpu_map says 4,5; sys/devices/system/cpu/cpu5/cache/index1/shared_cpu_list says 5, but sys/devices/system/cpu/cpu4/cache/index1/shared_cpu_map says 4,5; sys/devices/system/cpu/cpu6/cache/index1/shared_cpu_list says 6, but sys/devices/system/cpu/cpu7/cache/index1/shared_cpu_map says 6,7; sys/devices/system/cpu/cpu7/cache/index1/shared_cpu_list says 7, but sys/devices/system/cpu/cpu6/cache/index1/shared_cpu_map says 6,7; 56 more files
    gap: who shares the L2: files contradict each other: sys/devices/system/cpu/cpu0/cache/index2/shared_cpu_list says 0, but sys/devices/system/cpu/cpu1/cache/index2/shared_cpu_map says 0,1; sys/devices/system/cpu/cpu1/cache/index2/shared_cpu_list says 1, but sys/devices/system/cpu/cpu0/cache/index2/shared_cpu_map says 0,1; sys/devices/system/cpu/cpu2/cache/index2/shared_cpu_list says 2, but sys/devices/system/cpu/cpu3/cache/index2/shared_cpu_map says 2,3; sys/devices/system/cpu/cpu3/cache/index2/shared_cpu_list says 3, but sys/devices/system/cpu/cpu2/cache/index2/shared_cpu_map says 2,3; sys/devices/system/cpu/cpu4/cache/index2/shared_cpu_list says 4, but sys/devices/system/cpu/cpu5/cache/index2/shared_cpu_map says 4,5; sys/devices/system/cpu/cpu5/cache/index2/shared_cpu_list says 5, but sys/devices/system/cpu/cpu4/cache/index2/shared_cpu_map says 4,5; sys/devices/system/cpu/cpu6/cache/index2/shared_cpu_list says 6, but sys/devices/system/cpu/cpu7/cache/index2/shared_cpu_map says 6,7; sys/devices/system/cpu/cpu7/cache/index2/shared_cpu_list says 7, but sys/devices/system/cpu/cpu6/cache/index2/shared_cpu_map says 6,7; 56 more files
    ");
    assert_eq!(first(machine, Level::Cluster), "0,1 | 2,3 | 4,5");
    assert_eq!(first(machine, Level::Core), "0 | 1 | 2");
    assert_eq!(machine.nodes[0].distances, [10, 16, 16, 22, 16, 22, 16, 22]);
}

fn opteron_6272(machine: &Machine) {
    insta::assert_snapshot!(shown(machine), @r"
    AMD Opteron(TM) Processor 6272
    4 package, 8 node, 4 die, 8 llc, 32 cluster, 64 core, 64 cpu
    ");
    assert_eq!(first(machine, Level::Cluster), "0,1 | 2,3 | 4,5");
}

fn opteron_6348(machine: &Machine) {
    insta::assert_snapshot!(shown(machine), @r"
    AMD Opteron(tm) Processor 6348
    4 package, 1 node, 4 die, 8 llc, 24 cluster, 48 core, 48 cpu
    gap: NUMA nodes: they are not reported; all cpus are treated as one node
    ");
    assert_eq!(first(machine, Level::Cluster), "0,1 | 2,3 | 4,5");
    assert_eq!(mebibytes(machine), [6; 8]);
}

fn i7_1370p(machine: &Machine) {
    insta::assert_snapshot!(shown(machine), @r"
    13th Gen Intel(R) Core(TM) i7-1370P
    1 package, 1 node, 1 die, 1 llc, 8 cluster, 14 core, 20 cpu
    performance 0-11 (acpi_cppc 64-67)
    efficiency 12-19 (acpi_cppc 39)
    ");
    assert_eq!(
        machine.objects_of(Level::Cluster)[6..].iter().map(CpuSet::to_string).collect::<Vec<_>>(),
        ["12-15", "16-19"]
    );
}

fn gb10(machine: &Machine) {
    insta::assert_snapshot!(shown(machine), @r"
    10x Cortex-X925 + 10x Cortex-A725
    1 package, 1 node, 1 die, 2 llc, 2 cluster, 20 core, 20 cpu
    performance 5-9,15-19 (cpu_capacity 997-1024)
    efficiency 0-4,10-14 (cpu_capacity 718-731)
    ");
    assert_eq!(mebibytes(machine), [8, 16], "unequal, and yet no V-Cache");
}

fn arrow_lake_h(machine: &Machine) {
    insta::assert_snapshot!(shown(machine), @r"
    Genuine Intel(R) 0000
    1 package, 1 node, 1 die, 2 llc, 7 cluster, 14 core, 14 cpu
    performance 0-3 (cpu_core)
    efficiency 4-11 (cpu_atom)
    low-power 12,13 (cpu_lowpower)
    ");
    assert_eq!(first(machine, Level::Llc), "0-11 | 12,13");
    assert_eq!(lists(&machine.objects_of(Level::Cluster)[4..]), ["4-7", "8-11", "12,13"]);
}

fn lunar_lake(machine: &Machine) {
    let kinds: Vec<String> =
        machine.kinds.iter().map(|kind| format!("{} {}", kind.core_type.word(), kind.cpus)).collect();
    assert_eq!(kinds, ["performance 0-3", "efficiency 4-7"]);
    assert_eq!(lists(&machine.objects_of(Level::Cluster)), ["0", "1", "2", "3", "4-7"]);
    assert_eq!(first(machine, Level::Llc), "0-3 | 4-7");
}

fn lakefield(machine: &Machine) {
    insta::assert_snapshot!(shown(machine), @r"
    Intel(R) Core(TM) i5-L16G7 CPU @ 1.40GHz
    1 package, 1 node, 1 die, 1 llc, 2 cluster, 5 core, 5 cpu
    performance 4 (cpuid leaf 0x1a)
    efficiency 0-3 (cpuid leaf 0x1a)
    ");
}

fn strix_point(machine: &Machine) {
    insta::assert_snapshot!(shown(machine), @r"
    AMD Ryzen AI 9 HX 370 w/ Radeon 890M
    1 package, 1 node, 1 die, 2 llc, 12 cluster, 12 core, 24 cpu
    performance 0-3,12-15 (cpuid leaf 0x80000026)
    efficiency 4-11,16-23 (cpuid leaf 0x80000026)
    gap: NUMA nodes: they are not reported; all cpus are treated as one node
    ");
    assert_eq!(mebibytes(machine), [16, 8]);
}

fn fake_kinds(machine: &Machine) {
    insta::assert_snapshot!(shown(machine), @r"
    unnamed
    2 package, 6 node, 2 die, 2 llc, 12 cluster, 12 core, 24 cpu
    performance 12-23 (cpu_capacity 1025)
    efficiency 0-11 (cpu_capacity 234)
    gap: the processor: proc/cpuinfo does not name it; whether siblings are threads or the cores of a module follows from their core numbers
    gap: cpus of NUMA nodes: files contradict each other: sys/devices/system/node/node4/cpumap says 16-23; sys/devices/system/node/node5/cpumap says 12-23
    gap: NUMA nodes: the online cpus 4-7 are in no node (sys/devices/system/node/node0/cpulist, sys/devices/system/node/node1/cpulist, sys/devices/system/node/node2/cpulist, sys/devices/system/node/node3/cpulist, sys/devices/system/node/node4/cpulist, sys/devices/system/node/node5/cpulist)
    gap: shared caches: no L2 or L3 that cores share is reported for cpus 0-23; their package is used as llc
    ");
}

fn ryzen_9950x3d(machine: &Machine) {
    insta::assert_snapshot!(shown(machine), @r"
    AMD Ryzen 9 9950X3D 16-Core Processor
    1 package, 1 node, 1 die, 2 llc, 16 cluster, 16 core, 32 cpu
    V-Cache 0-7,16-23
    ");
    assert_eq!(mebibytes(machine), [96, 32]);
}

fn threadripper_3960x(machine: &Machine) {
    insta::assert_snapshot!(shown(machine), @r"
    AMD Ryzen Threadripper 3960X 24-Core Processor
    1 package, 4 node, 1 die, 8 llc, 24 cluster, 24 core, 48 cpu
    ");
    let empty: Vec<u32> =
        machine.nodes.iter().filter(|node| node.memory_bytes == Some(0)).map(|node| node.number).collect();
    assert_eq!(empty, [0, 3]);
}

fn clearwater_forest(machine: &Machine) {
    insta::assert_snapshot!(shown(machine), @r"
    Intel(R) Xeon(R) 6990E+
    2 package, 6 node, 2 die, 2 llc, 144 cluster, 576 core, 576 cpu
    ");
    assert_eq!(first(machine, Level::Cluster), "0-3 | 4-7 | 8-11");
    let nodes = machine.nodes.iter().filter(|node| node.cpus.is_subset(&machine.llcs[0].cpus)).count();
    assert_eq!(nodes, 3);
}

fn offline(machine: &Machine) {
    insta::assert_snapshot!(shown(machine), @r"
    Intel(R) Xeon(R) CPU E5-2680 v3 @ 2.50GHz
    2 package, 1 node, 2 die, 2 llc, 17 cluster, 17 core, 17 cpu
    offline 0-3,21-23
    gap: online cpus: sources contradict each other, 4-20 is used; sys/devices/system/cpu/online: 4-20; proc/cpuinfo: 0-23; the topology folders in sys/devices/system/cpu/cpu*/: 4-20; sys/devices/system/cpu/cpu0/online: 0; sys/devices/system/cpu/cpu1/online: 0; sys/devices/system/cpu/cpu2/online: 0; sys/devices/system/cpu/cpu3/online: 0
    gap: NUMA nodes: the online cpus 4,6,8,10,12,14,16,18,20 are in no node (sys/devices/system/node/node1/cpulist)
    ");
    assert_eq!(machine.nodes[0].number, 1);
}

fn many(machine: &Machine) {
    insta::assert_snapshot!(shown(machine), @r"
    SYNTHETIC 32-socket 24-core
    32 package, 32 node, 32 die, 32 llc, 768 cluster, 768 core, 1536 cpu
    ");
    assert_eq!(machine.online.highest(), Some(1535));
}

fn confined(machine: &Machine) {
    insta::assert_snapshot!(shown(machine), @r"
    AMD Opteron(tm) Processor 6134
    4 package, 8 node, 4 die, 8 llc, 32 cluster, 32 core, 32 cpu
    allowed 0-5
    ");
}

fn kunpeng(machine: &Machine) {
    insta::assert_snapshot!(shown(machine), @r"
    TaiShan v110
    2 package, 4 node, 2 die, 4 llc, 32 cluster, 128 core, 128 cpu
    ");
    assert_eq!(first(machine, Level::Cluster), "0-3 | 4-7 | 8-11");
}

fn persistent_memory(machine: &Machine) {
    insta::assert_snapshot!(shown(machine), @r"
    unnamed
    2 package, 8 node, 2 die, 2 llc, 56 cluster, 56 core, 112 cpu
    isolated 4-7,60-63
    ");
    assert!(machine.nodes[4..].iter().all(|node| node.cpus.is_empty()));
}

/// The recording has masks of local cpus and no nodes of devices; the second package is not allowed.
fn gpus(machine: &Machine) {
    let near = |name: &str| device::cpus_near(device::find_device(machine, name).unwrap(), machine);
    let told: Vec<String> = (0..6).map(|number| near(&format!("gpu:{number}")).cpus.to_string()).collect();
    assert_eq!(told, ["0-15", "0-15", "0-15", "88-103", "88-103", "88-103"]);
    assert_eq!(near("pci:0035:04:00.0").cpus.to_string(), "88-103");
    assert!(device::find_device(machine, "gpu:6").is_err());
    assert_eq!(
        device_findings::list_device_findings(machine, &[]).len(),
        3,
        "three are at a package that may not be used"
    );
}
