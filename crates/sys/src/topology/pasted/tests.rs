//! Outputs as the tools print them, of machines of several kinds.

use corewise_machine::{Level, Machine};

use crate::Root;
use crate::topology::read_machine;

fn machine(text: &str) -> Machine {
    read_machine(&Root::from_archive_bytes(text.as_bytes()).unwrap()).unwrap()
}

/// The objects of a level as lists of cpus.
fn objects(machine: &Machine, level: Level) -> String {
    machine.objects_of(level).iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

fn gaps(machine: &Machine) -> Vec<&str> {
    machine.gaps.iter().map(|gap| gap.what.as_str()).collect()
}

/// What no pasted text has.
const NEVER: &str = "devices, isolated cpus, cpusets and the kernel's settings";

const HYBRID_EXTENDED: &str = "\
CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE    MAXMHZ   MINMHZ       MHZ
  0    0      0    0 0:0:0:0          yes 5100.0000 800.0000  800.0000
  1    0      0    0 0:0:0:0          yes 5100.0000 800.0000 1101.1230
  2    0      0    1 4:4:1:0          yes 5100.0000 800.0000  800.0000
  3    0      0    1 4:4:1:0          yes 5100.0000 800.0000  800.0000
  4    0      0    2 8:8:2:0          yes 3900.0000 800.0000  800.0000
  5    0      0    3 9:9:2:0          yes 3900.0000 800.0000  800.0000
  6    0      0    4 10:10:2:0        yes 3900.0000 800.0000  800.0000
  7    0      0    5 11:11:2:0        yes 3900.0000 800.0000  800.0000
";

#[test]
fn a_hybrid_processor_is_in_the_extended_table() {
    let found = machine(HYBRID_EXTENDED);
    assert_eq!(objects(&found, Level::Core), "0,1 2,3 4 5 6 7");
    assert_eq!(objects(&found, Level::Cluster), "0,1 2,3 4-7");
    assert_eq!((objects(&found, Level::Llc).as_str(), found.packages.len(), found.nodes.len()), ("0-7", 1, 1));
    let kinds: Vec<String> = found.kinds.iter().map(|kind| kind.cpus.to_string()).collect();
    assert_eq!(kinds, ["0-3", "4-7"]);
    assert!(gaps(&found).contains(&NEVER) && gaps(&found).contains(&"memory of NUMA nodes"));
}

const TWO_SOCKETS: &str = "\
user@node7:~$ lscpu\r
Architecture:            x86_64\r
  CPU op-mode(s):        32-bit, 64-bit\r
CPU(s):                  16\r
  On-line CPU(s) list:   0-15\r
Vendor ID:               GenuineIntel\r
  Model name:            Intel(R) Xeon(R) Silver 4110 CPU @ 2.10GHz\r
    CPU family:          6\r
    Model:               85\r
    Thread(s) per core:  2\r
    Core(s) per socket:  4\r
    Socket(s):           2\r
    Stepping:            4\r
Caches (sum of all):     \r
  L1d:                   256 KiB (8 instances)\r
  L1i:                   256 KiB (8 instances)\r
  L2:                    8 MiB (8 instances)\r
  L3:                    22 MiB (2 instances)\r
NUMA:                    \r
  NUMA node(s):          2\r
  NUMA node0 CPU(s):     0-3,8-11\r
  NUMA node1 CPU(s):     4-7,12-15\r
\r
user@node7:~$ numactl -H\r
available: 2 nodes (0-1)\r
node 0 cpus: 0 1 2 3 8 9 10 11\r
node 0 size: 31849 MB\r
node 0 free: 1024 MB\r
node 1 cpus: 4 5 6 7 12 13 14 15\r
node 1 size: 32249 MB\r
node 1 free: 20480 MB\r
node distances:\r
node   0   1 \r
  0:  10  21 \r
  1:  21  10 \r
";

#[test]
fn a_summary_and_the_nodes_are_two_sockets() {
    let found = machine(TWO_SOCKETS);
    assert_eq!(objects(&found, Level::Package), "0-3,8-11 4-7,12-15");
    assert_eq!(objects(&found, Level::Core), "0,8 1,9 2,10 3,11 4,12 5,13 6,14 7,15");
    assert_eq!(objects(&found, Level::Llc), "0-3,8-11 4-7,12-15");
    assert_eq!(found.nodes[1].distances, [21, 10]);
    assert_eq!(found.nodes[0].memory_bytes, Some(31_849 << 20));
    assert_eq!(found.processor.model_name.as_deref(), Some("Intel(R) Xeon(R) Silver 4110 CPU @ 2.10GHz"));
    assert_eq!((found.processor.family, found.processor.model), (Some(6), Some(85)));
    let l3 = found.caches.iter().find(|cache| cache.level == 3).unwrap();
    assert_eq!(l3.size_bytes, Some(11 << 20));
    assert!(gaps(&found).contains(&"which cpus share a core"), "{:?}", found.gaps);
    // A mail that quotes the same.
    let quoted: String = TWO_SOCKETS.lines().map(|line| format!("> {line}\n")).collect();
    assert_eq!(objects(&machine(&quoted), Level::Core), objects(&found, Level::Core));
}

#[test]
fn counted_caches_are_shared_by_neighbouring_cores_and_a_gap_says_so() {
    let epyc = "CPU(s): 64\nOn-line CPU(s) list: 0-63\nThread(s) per core: 2\nCore(s) per socket: 16\nSocket(s): 2\n\
                L1d cache: 1 MiB (32 instances)\nL2 cache: 16 MiB (32 instances)\nL3 cache: 256 MiB (8 instances)\n\
                NUMA node0 CPU(s): 0-15,32-47\nNUMA node1 CPU(s): 16-31,48-63\n";
    let found = machine(epyc);
    let first = "0-3,32-35 4-7,36-39 8-11,40-43 12-15,44-47";
    assert!(objects(&found, Level::Llc).starts_with(first), "{}", objects(&found, Level::Llc));
    assert_eq!(found.llcs[7].size_bytes, Some(32 << 20));
    assert!(gaps(&found).contains(&"which cores share a cache") && !gaps(&found).contains(&"shared caches"));
    let uneven = machine(&epyc.replace("(8 instances)", "(3 instances)"));
    assert!(gaps(&uneven).contains(&"shared caches") && !gaps(&uneven).contains(&"which cores share a cache"));
}

#[test]
fn sums_of_caches_of_different_sizes_are_not_divided() {
    let summary = |name: &str, l2: &str, l3: &str| {
        format!(
            "CPU(s): 32\nOn-line CPU(s) list: 0-31\nModel name: {name}\nThread(s) per core: 2\nCore(s) per socket: 16\n\
             Socket(s): 1\nL2 cache: {l2}\nL3 cache: {l3}\n"
        )
    };
    let sizes = |machine: &Machine, level: u8| {
        let of_level = machine.caches.iter().filter(|cache| cache.level == level);
        of_level.map(|cache| cache.size_bytes.map(|bytes| bytes >> 20)).collect::<Vec<_>>()
    };
    let stacked =
        machine(&summary("AMD Ryzen 9 7950X3D 16-Core Processor", "16 MiB (16 instances)", "128 MiB (2 instances)"));
    assert_eq!((sizes(&stacked, 2)[0], sizes(&stacked, 3)), (Some(1), vec![None, None]), "96 and 32 MiB");
    let alike =
        machine(&summary("AMD Ryzen 9 7950X 16-Core Processor", "16 MiB (16 instances)", "64 MiB (2 instances)"));
    assert_eq!(sizes(&alike, 3), [Some(32), Some(32)]);
    assert!(gaps(&alike).contains(&"sizes of caches") && !gaps(&machine(TWO_SOCKETS)).contains(&"packages and cores"));
    let uneven = machine(&summary("13th Gen", "33 MiB (16 instances)", "36 MiB (1 instance)"));
    assert_eq!((sizes(&uneven, 2)[0], sizes(&uneven, 3)), (Some(2), vec![Some(36)]), "33 MiB can be divided into 16");
    let table = "CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE MAXMHZ\n0 0 0 0 0:0:0:0 yes 1800\n1 0 0 1 1:1:1:0 yes 1800\n\
                 2 0 1 2 2:2:2:0 yes 2400\n3 0 1 3 3:3:3:0 yes 2400\n";
    let summary = "CPU(s): 4\nOn-line CPU(s) list: 0-3\nVendor ID: ARM\nModel name: Cortex-A55\nModel name: Cortex-A76\n\
                   L1d cache: 192 KiB (4 instances)\nL2 cache: 1.3 MiB (4 instances)\n";
    let small = machine(&format!("$ lscpu -e\n{table}\n$ lscpu\n{summary}"));
    assert_eq!(small.kinds.len(), 2, "sizes that are assumed to be equal do not make cores equal");
    assert_eq!(small.caches[0].size_bytes, None);
    assert_eq!(small.processor.model_name.as_deref(), Some("Cortex-A55 + Cortex-A76"));
}

#[test]
fn kinds_of_arm_cores_follow_from_their_designs() {
    let cpus = |parts: &[&str]| {
        let entry =
            |(cpu, part): (usize, &&str)| format!("\nprocessor : {cpu}\nCPU implementer : 0x41\nCPU part : {part}\n");
        parts.iter().enumerate().map(entry).collect::<String>()
    };
    let kinds = |machine: &Machine| {
        machine
            .kinds
            .iter()
            .map(|kind| format!("{} {} {}", kind.core_type.word(), kind.cpus, kind.reason))
            .collect::<Vec<_>>()
    };
    let rk3588 = machine(&cpus(&["0xd05", "0xd05", "0xd0b", "0xd0b"]));
    assert_eq!(kinds(&rk3588), ["performance 2,3 Cortex-A76", "efficiency 0,1 Cortex-A55"]);
    assert_eq!(rk3588.processor.model_name.as_deref(), Some("2x Cortex-A76 + 2x Cortex-A55"));
    assert!(!gaps(&rk3588).contains(&"kinds of cores"));
    let phone = machine(&cpus(&["0xd46", "0xd47", "0xd48"]));
    assert_eq!(kinds(&phone), ["performance 2 Cortex-X2", "efficiency 1 Cortex-A710", "low-power 0 Cortex-A510"]);
    assert!(kinds(&machine(&cpus(&["0xd05", "0xd0b", "0xfff"]))).is_empty(), "an unknown design may be any");
    assert!(kinds(&machine(&cpus(&["0xd0b", "0xd0b"]))).is_empty());
}

#[test]
fn an_extended_table_beside_a_summary_says_more() {
    let table: String =
        (0..16).map(|cpu| format!("{cpu:3} {:4} {:6} {:4} 0:0:0:0 yes\n", cpu / 8, cpu / 8, cpu / 2)).collect();
    let both = format!("{TWO_SOCKETS}\n$ lscpu -e\nCPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE\n{table}");
    let found = machine(&both);
    assert_eq!(objects(&found, Level::Core), "0,1 2,3 4,5 6,7 8,9 10,11 12,13 14,15");
    assert!(!gaps(&found).contains(&"which cpus share a core"));
}

#[test]
fn the_parsable_table_has_caches_and_offline_cpus_are_absent() {
    let text = "# The following is the parsable format, which can be fed to other\n# programs. Each different item in every column has an \
                unique ID\n# starting usually from zero.\n# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n0,0,0,0,,0,0,0,0\n1,1,0,0,,1,1,1,0\n\
                2,2,0,0,,2,2,2,1\n3,3,0,0,,3,3,3,1\n4,0,0,0,,0,0,0,0\n5,1,0,0,,1,1,1,0\n6,2,0,0,,2,2,2,1\n7,3,0,0,,3,3,3,1\n";
    let found = machine(text);
    assert_eq!(objects(&found, Level::Core), "0,4 1,5 2,6 3,7");
    assert_eq!(objects(&found, Level::Llc), "0,1,4,5 2,3,6,7");
}

#[test]
fn tables_and_summaries_of_json_are_the_same() {
    let text = r#"{
   "cpus": [
      {"cpu": 0, "node": 0, "socket": 0, "core": 0, "l1d:l1i:l2:l3": "0:0:0:0", "online": true, "maxmhz": "4000.0000"},
      {
         "cpu": 1,
         "node": 0,
         "socket": 0,
         "core": 0,
         "l1d:l1i:l2:l3": "0:0:0:0",
         "online": true
      },
      {"cpu": 2, "node": null, "socket": null, "core": null, "online": false}
   ]
}"#;
    let found = machine(text);
    assert_eq!((objects(&found, Level::Core).as_str(), found.online.to_string().as_str()), ("0,1", "0,1"));
    assert_eq!(found.present.to_string(), "0-2");
    let summary = r#"{"lscpu": [{"field": "CPU(s):", "data": "4", "children": [{"field": "On-line CPU(s) list:", "data": "0-3"}]},
        {"field": "Thread(s) per core:", "data": "1"}, {"field": "Core(s) per socket:", "data": "4"}, {"field": "Socket(s):", "data": "1"}]}"#;
    assert_eq!(objects(&machine(summary), Level::Core), "0 1 2 3");
}

#[test]
fn small_and_large_cores_of_arm_are_kinds() {
    let text = "\
CPU SOCKET CORE L1d:L1i:L2 ONLINE    MAXMHZ   MINMHZ
  0      0    0 0:0:0         yes 1512.0000 408.0000
  1      0    1 1:1:0         yes 1512.0000 408.0000
  2      0    2 2:2:0         yes 1512.0000 408.0000
  3      0    3 3:3:0         yes 1512.0000 408.0000
  4      1    4 4:4:1         yes 2016.0000 408.0000
  5      1    5 5:5:1         yes 2016.0000 408.0000

processor\t: 0
BogoMIPS\t: 48.00
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x0
CPU part\t: 0xd03
CPU revision\t: 4

processor\t: 4
CPU implementer\t: 0x41
CPU architecture: 8
CPU part\t: 0xd08
";
    let found = machine(text);
    let kinds: Vec<String> = found.kinds.iter().map(|kind| kind.cpus.to_string()).collect();
    assert_eq!(kinds, ["4,5", "0-3"]);
    assert_eq!(found.system.architecture.as_deref(), Some("aarch64"));
    assert_eq!(found.cores.len(), 6);
}

#[test]
fn clusters_of_one_size_are_kinds_by_their_frequencies() {
    let row = |cpu: u32| {
        format!("{cpu} 0 {0} {cpu} {cpu}:{cpu}:{0} yes {1} 600.0\n", cpu / 4, [2064.0, 3204.0][cpu as usize / 4])
    };
    let table: String = (0..8).map(row).collect();
    let found = machine(&format!("CPU NODE SOCKET CORE L1d:L1i:L2 ONLINE MAXMHZ MINMHZ\n{table}"));
    assert_eq!(found.kinds.iter().map(|kind| kind.cpus.to_string()).collect::<Vec<_>>(), ["4-7", "0-3"]);
}

/// The threads of a core are adjacent, and memory of accelerators has nodes without cpus.
#[test]
fn a_summary_of_power9_has_adjacent_threads() {
    let summary = |architecture: &str| {
        format!(
            "Architecture: {architecture}\nCPU(s): 32\nOn-line CPU(s) list: 0-31\nThread(s) per core: 4\nCore(s) per socket: 4\n\
             Socket(s): 2\nNUMA node(s): 4\nNUMA node0 CPU(s): 0-15\nNUMA node8 CPU(s): 16-31\nNUMA node252 CPU(s): \n\
             NUMA node253 CPU(s): \n"
        )
    };
    // The name of the architecture, and nodes that would cut cores in two.
    for architecture in ["ppc64le", "x86_64"] {
        let found = machine(&summary(architecture));
        assert_eq!(objects(&found, Level::Core), "0-3 4-7 8-11 12-15 16-19 20-23 24-27 28-31", "{architecture}");
        assert_eq!(objects(&found, Level::Package), "0-15 16-31");
        let why = &found.gaps.iter().find(|gap| gap.what == "which cpus share a core").unwrap().why;
        assert!(why.contains("adjacent"), "{why}");
    }
}

#[test]
fn cpuinfo_has_packages_and_cores() {
    let entry = |cpu: u32, package: u32, core: u32| {
        format!(
            "processor\t: {cpu}\nvendor_id\t: GenuineIntel\nmodel name\t: X\nphysical id\t: {package}\ncore id\t\t: {core}\nflags\t\t: fpu lm\n\n"
        )
    };
    let text: String = (0..8).map(|cpu| entry(cpu, cpu % 2, cpu / 2 % 2)).collect();
    let found = machine(&text);
    assert_eq!(objects(&found, Level::Core), "0,4 1,5 2,6 3,7");
    assert_eq!(objects(&found, Level::Package), "0,2,4,6 1,3,5,7");
    for gap in ["shared caches", "NUMA nodes", "kinds of cores", NEVER] {
        assert!(gaps(&found).contains(&gap), "{gap}: {:?}", found.gaps);
    }
}

#[test]
fn the_tree_of_lstopo_is_read_with_its_nodes() {
    let text = "\
Machine (63GB total)
  Package L#0
    NUMANode L#0 (P#0 31GB)
    L3 L#0 (16MB)
      L2 L#0 (512KB) + L1d L#0 (32KB) + L1i L#0 (32KB) + Core L#0
        PU L#0 (P#0)
        PU L#1 (P#4)
      L2 L#1 (512KB) + L1d L#1 (32KB) + L1i L#1 (32KB) + Core L#1
        PU L#2 (P#1)
        PU L#3 (P#5)
    HostBridge
      PCIBridge
        PCI 01:00.0 (Ethernet)
          Net \"eth0\"
  Package L#1
    NUMANode L#1 (P#1 32GB)
    L3 L#1 (16MB)
      L2 L#2 (512KB) + L1d L#2 (32KB) + L1i L#2 (32KB) + Core L#2
        PU L#4 (P#2)
        PU L#5 (P#6)
      L2 L#3 (512KB) + L1d L#3 (32KB) + L1i L#3 (32KB) + Core L#3
        PU L#6 (P#3)
        PU L#7 (P#7)
";
    let found = machine(text);
    assert_eq!(objects(&found, Level::Core), "0,4 1,5 2,6 3,7");
    assert_eq!(objects(&found, Level::Package), "0,1,4,5 2,3,6,7");
    assert_eq!(objects(&found, Level::Node), "0,1,4,5 2,3,6,7");
    assert_eq!(found.nodes[1].memory_bytes, Some(32 << 30));
    assert_eq!(found.caches.iter().find(|cache| cache.level == 3).unwrap().size_bytes, Some(16 << 20));
    let old = "Machine (16GB)\n  NUMANode L#0 (P#0 8192MB) + Socket L#0 + L3 L#0 (8192KB)\n    L2 L#0 (256KB) + Core L#0 + PU L#0 (P#0)\n  \
               NUMANode L#1 (P#1 8192MB) + Socket L#1 + L3 L#1 (8192KB)\n    L2 L#1 (256KB) + Core L#1 + PU L#1 (P#1)\n";
    assert_eq!(objects(&machine(old), Level::Node), "0 1");
}

#[test]
fn many_cores_keep_their_numbers() {
    let header = "CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE\n";
    let row = |cpu: u32| {
        let core = cpu % 192;
        format!("{cpu} {} {} {core} {core}:{core}:{core}:{} yes\n", core / 96, core / 96, core / 8)
    };
    let found = machine(&(0..384).map(row).fold(header.to_owned(), |text, row| text + &row));
    assert_eq!((found.cores.len(), found.packages.len(), found.objects_of(Level::Llc).len()), (192, 2, 24));
    assert_eq!(found.objects_of(Level::Llc)[0].to_string(), "0-7,192-199");
}

#[test]
fn interrupts_alone_name_the_cpus() {
    let text = "           CPU0       CPU1\n  24:       5          0   PCI-MSI-edge  eth0-rx-0\n";
    assert_eq!(machine(text).online.to_string(), "0,1");
    let interrupts = crate::irq::read_interrupts(&Root::from_archive_bytes(text.as_bytes()).unwrap());
    assert_eq!((interrupts.len(), interrupts[0].number), (1, 24));
}

#[test]
fn a_summary_that_does_not_multiply_places_nothing() {
    let text = "CPU(s):                20\nOn-line CPU(s) list:   0-19\nThread(s) per core:    2\nCore(s) per socket:    14\nSocket(s):             1\n";
    let found = machine(text);
    assert_eq!(found.online.len(), 20);
    assert!(gaps(&found).contains(&"packages and cores"), "{:?}", found.gaps);
}

/// The summary of a board with small and large cores, as lscpu prints a section for each.
fn board(models: [(&str, usize, usize); 2], third_level: &str) -> String {
    let section = |(name, cores, sockets): (&str, usize, usize)| {
        format!(
            "  Model name:             {name}\n    Model:                0\n    Thread(s) per core:   1\n    \
             Core(s) per socket:   {cores}\n    Socket(s):            {sockets}\n    Stepping:             r2p0\n"
        )
    };
    let count: usize = models.iter().map(|(_, cores, sockets)| cores * sockets).sum();
    format!(
        "Architecture:             aarch64\nCPU(s):                   {count}\n  On-line CPU(s) list:    0-{}\n\
         Vendor ID:                ARM\n{}{}Caches (sum of all):      \n  L1d:                    384 KiB (8 instances)\n  \
         L2:                     2.5 MiB (8 instances)\n  L3:                     {third_level}\n",
        count - 1,
        section(models[0]),
        section(models[1])
    )
}

#[test]
fn kinds_that_a_summary_counts_are_assumed_in_order() {
    let kinds = |text: &str| {
        let machine = machine(text);
        let kind = |kind: &corewise_machine::machine::CoreKind| format!("{} {}", kind.core_type.word(), kind.cpus);
        let assumed = gaps(&machine).contains(&"which cpus are of which kind");
        assert_ne!(assumed, gaps(&machine).contains(&"kinds of cores"), "{:?}", machine.gaps);
        assert_eq!(assumed, !machine.kinds.is_empty());
        machine.kinds.iter().map(kind).collect::<Vec<_>>()
    };
    let rk3588 = board([("Cortex-A55", 4, 1), ("Cortex-A76", 2, 2)], "3 MiB (1 instance)");
    assert_eq!(kinds(&rk3588), ["performance 4-7", "efficiency 0-3"]);
    let apple = board([("Icestorm-M1-Pro", 2, 1), ("Firestorm-M1-Pro", 8, 1)], "8 MiB (1 instance)");
    assert_eq!(kinds(&apple), ["performance 2-9", "efficiency 0,1"]);
    let reverse = board([("Cortex-A720", 8, 1), ("Cortex-A520", 4, 1)], "12 MiB (1 instance)");
    assert!(kinds(&reverse).is_empty(), "the first cpu is a large one, and small ones may be anywhere behind");
    let two_clusters = board([("Cortex-A725", 10, 1), ("Cortex-X925", 10, 1)], "24 MiB (2 instances)");
    assert!(kinds(&two_clusters).is_empty(), "each cluster may have both");
    assert!(kinds(&board([("Cortex-A55", 4, 1), ("Cortex-Z9", 4, 1)], "3 MiB (1 instance)")).is_empty());
}

/// A paste of eight cores in four modules, however the kernel numbers them.
#[test]
fn modules_are_the_same_in_all_numberings() {
    let entry = |cpu: usize, core: usize| {
        format!(
            "processor\t: {cpu}\nvendor_id\t: AuthenticAMD\ncpu family\t: 21\nmodel\t\t: 2\nphysical id\t: 0\nsiblings\t: 8\n\
             core id\t\t: {core}\ncpu cores\t: 4\nflags\t\t: fpu lm\n\n"
        )
    };
    let cpuinfo = |cores: [usize; 8]| (0..8).map(|cpu| entry(cpu, cores[cpu])).collect::<String>();
    let summary = "Architecture: x86_64\nCPU(s): 8\nOn-line CPU(s) list: 0-7\nThread(s) per core: 2\nCore(s) per socket: 4\nSocket(s): 1\n\
                   Vendor ID: AuthenticAMD\nCPU family: 21\nModel: 2\nL1d cache: 128 KiB (8 instances)\n\
                   L2 cache: 8 MiB (4 instances)\nL3 cache: 8 MiB (1 instance)\n";
    let row = |cpu: usize| format!("{cpu} 0 0 {0} {cpu}:{0}:{0}:0 yes 4000.0\n", cpu / 2);
    let table: String = (0..8).map(row).collect();
    let table = format!("CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE MAXMHZ\n{table}");
    let texts = [
        cpuinfo([0, 1, 2, 3, 4, 5, 6, 7]),
        cpuinfo([0, 0, 1, 1, 2, 2, 3, 3]),
        cpuinfo([0, 1, 2, 3, 0, 1, 2, 3]),
        summary.to_owned(),
        format!("$ lscpu -e\n{table}\n$ lscpu\n{summary}"),
    ];
    for text in texts {
        let found = machine(&text);
        assert_eq!(objects(&found, Level::Core), "0 1 2 3 4 5 6 7", "{text}");
        assert_eq!(objects(&found, Level::Cluster), "0,1 2,3 4,5 6,7", "{text}");
    }
    assert!(gaps(&machine(summary)).contains(&"which cpus share a core"));
    let guest = machine(&summary.replace("Model: 2", "Model: 2\nHypervisor vendor: KVM"));
    assert_eq!(objects(&guest, Level::Core), "0,1 2,3 4,5 6,7", "only a hypervisor gives such cores threads");
}

#[test]
fn last_level_caches_of_a_summary_are_as_many_as_it_counts() {
    let text = |cores: usize, third_level: &str| {
        format!(
            "CPU(s): {cores}\nOn-line CPU(s) list: 0-{}\nThread(s) per core: 1\nCore(s) per socket: {cores}\nSocket(s): 1\n\
             L1d cache: {} KiB ({cores} instances)\nL2 cache: {} KiB ({cores} instances)\nL3 cache: {third_level}\n",
            cores - 1,
            32 * cores,
            512 * cores
        )
    };
    let four = machine(&text(16, "64 MiB (4 instances)"));
    assert_eq!(objects(&four, Level::Llc), "0-3 4-7 8-11 12-15");
    assert!(gaps(&four).contains(&"which cores share a cache"));
    let uneven = machine(&text(14, "64 MiB (4 instances)"));
    let gap = uneven.gaps.iter().find(|gap| gap.what == "shared caches").expect("a gap");
    assert!(gap.why.contains("4 of L3"), "{gap:?}");
    let nodes = |first: &str, second: &str| {
        format!("NUMA node(s): 2\nNUMA node0 CPU(s): {first}\nNUMA node1 CPU(s): {second}\n")
    };
    let across = machine(&(text(12, "48 MiB (2 instances)") + &nodes("0-2,6-8", "3-5,9-11")));
    assert_eq!(objects(&across, Level::Llc), "0-2,6-8 3-5,9-11", "one in each node");
    let is_unknown = |text: &str| machine(text).gaps.iter().any(|gap| gap.why.contains("3 of L3"));
    let three = text(12, "48 MiB (3 instances)");
    assert!(!is_unknown(&three));
    assert!(is_unknown(&(three.clone() + &nodes("0-5", "6-11"))), "one would be in two nodes");
    let two_sockets = three.replace("Core(s) per socket: 12\nSocket(s): 1", "Core(s) per socket: 6\nSocket(s): 2");
    assert!(is_unknown(&two_sockets), "one would be in two sockets");
}

/// Eight performance cores with an L2 each and 16 efficiency cores in modules of four, without SMT.
#[test]
fn caches_of_unequal_cores_are_not_divided_evenly() {
    let summary = "CPU(s): 24\nOn-line CPU(s) list: 0-23\nVendor ID: GenuineIntel\nThread(s) per core: 1\nCore(s) per socket: 24\n\
                   Socket(s): 1\nL1d cache: 896 KiB (24 instances)\nL1i cache: 1.5 MiB (24 instances)\n\
                   L2 cache: 40 MiB (12 instances)\nL3 cache: 36 MiB (1 instance)\n";
    let found = machine(summary);
    assert_eq!(found.objects_of(Level::Cluster).len(), 24, "{:?}", found.objects_of(Level::Cluster));
    let gap = found.gaps.iter().find(|gap| gap.what == "shared caches").expect("a gap");
    assert!(gap.why.contains("12 of L2, 1 of L3"), "{gap:?}");
    assert!(found.caches.iter().all(|cache| cache.level < 3), "efficiency cores may be outside the last-level cache");
    let alike = summary.replace("896 KiB", "768 KiB").replace("40 MiB (12", "48 MiB (24");
    let is_shared = |text: &str| machine(text).caches.iter().any(|cache| cache.level == 3 && cache.cpus.len() == 24);
    assert!(is_shared(&alike), "cores of one kind share it");
    assert!(!is_shared(&(alike + "Model name: Cortex-A55\nModel name: Cortex-A76\n")), "their names differ");
}
