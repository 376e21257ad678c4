//! The machines that the rig knows.

use crate::{CoreThreads, CpuNumbering, DiskPlace, RigMachine, RigNode, RigProcessor};

const XEON: RigProcessor =
    RigProcessor { vendor: "GenuineIntel", family: 6, model: 0x8f, name: "Intel(R) Xeon(R) Gold 6430" };

/// One core of one thread, the base of the machines below.
const ONE: RigMachine = RigMachine {
    name: "one-cpu",
    about: "a machine with a single cpu",
    each_change: true,
    processor: XEON,
    packages: 1,
    dies: 1,
    cores: 1,
    threads: CoreThreads::Siblings(1),
    numbering: CpuNumbering::Adjacent,
    missing: "",
    nodes: &[],
    distances: &[],
    kernel: "",
    isolated: "",
    nohz_full: "",
    offline: "",
    cpuset: "",
    disk: None,
};

/// Four cores of two threads.
const EIGHT: RigMachine = RigMachine { cores: 4, threads: CoreThreads::Siblings(2), ..ONE };

const FX_8150: RigMachine = RigMachine {
    name: "fx-8150",
    about: "AMD FX-8150: 4 modules of 2 cores that share an L2. The emulator lets them share the L1d too",
    processor: RigProcessor {
        vendor: "AuthenticAMD",
        family: 0x15,
        model: 1,
        name: "AMD FX(tm)-8150 Eight-Core Processor",
    },
    cores: 4,
    threads: CoreThreads::Module,
    disk: Some(DiskPlace::Somewhere),
    ..ONE
};

/// Dies of the real processor have two last-level caches; here each such cache is a die.
const THREADRIPPER_2990WX: RigMachine = RigMachine {
    name: "threadripper-2990wx",
    about: "AMD Threadripper 2990WX: 64 cpus, 4 nodes, two without memory. Each last-level cache appears as a die",
    each_change: false,
    processor: RigProcessor {
        vendor: "AuthenticAMD",
        family: 0x17,
        model: 8,
        name: "AMD Ryzen Threadripper 2990WX 32-Core Processor",
    },
    dies: 8,
    cores: 4,
    threads: CoreThreads::Siblings(2),
    numbering: CpuNumbering::SiblingsLast,
    nodes: &[
        RigNode { cpus: "0-7,32-39", size_mib: 512 },
        RigNode { cpus: "8-15,40-47", size_mib: 0 },
        RigNode { cpus: "16-23,48-55", size_mib: 512 },
        RigNode { cpus: "24-31,56-63", size_mib: 0 },
    ],
    distances: PUBLISHED_DISTANCES,
    ..ONE
};

const PUBLISHED_DISTANCES: &[&[u32]] = &[&[10, 16, 16, 16], &[16, 10, 16, 16], &[16, 16, 10, 16], &[16, 16, 16, 10]];

/// The kernel derives the caches of the first Zen processors from the APIC id, and assumes four cores. So this one claims to be of the
/// second generation.
const THREADRIPPER_2990WX_SMALL: RigMachine = RigMachine {
    name: "threadripper-2990wx-small",
    about: "the 2990WX with one core to a last-level cache, 16 cpus",
    each_change: true,
    processor: RigProcessor { model: 0x31, ..THREADRIPPER_2990WX.processor },
    cores: 1,
    nodes: &[
        RigNode { cpus: "0-1,8-9", size_mib: 320 },
        RigNode { cpus: "2-3,10-11", size_mib: 0 },
        RigNode { cpus: "4-5,12-13", size_mib: 320 },
        RigNode { cpus: "6-7,14-15", size_mib: 0 },
    ],
    ..THREADRIPPER_2990WX
};

const THREADRIPPER_3960X: RigMachine = RigMachine {
    name: "threadripper-3960x",
    about: "AMD Threadripper 3960X: 8 last-level caches of 3 cores, SMT, siblings n and n+24. Each cache appears as a die",
    each_change: false,
    processor: RigProcessor {
        vendor: "AuthenticAMD",
        family: 0x17,
        model: 0x31,
        name: "AMD Ryzen Threadripper 3960X 24-Core Processor",
    },
    dies: 8,
    cores: 3,
    threads: CoreThreads::Siblings(2),
    numbering: CpuNumbering::SiblingsLast,
    ..ONE
};

const RYZEN_9950X3D: RigMachine = RigMachine {
    name: "ryzen-9-9950x3d",
    about: "AMD Ryzen 9 9950X3D: 2 dies of 8 cores, siblings n and n+16. Caches of unequal size cannot be emulated",
    each_change: false,
    processor: RigProcessor {
        vendor: "AuthenticAMD",
        family: 0x1a,
        model: 0x44,
        name: "AMD Ryzen 9 9950X3D 16-Core Processor",
    },
    dies: 2,
    cores: 8,
    threads: CoreThreads::Siblings(2),
    numbering: CpuNumbering::SiblingsLast,
    ..ONE
};

const DUAL_SOCKET: RigMachine = RigMachine {
    name: "dual-socket",
    about: "two packages of four cores with two threads, a node each, a node of memory alone, and a disk at the second",
    packages: 2,
    nodes: &[
        RigNode { cpus: "0-7", size_mib: 384 },
        RigNode { cpus: "8-15", size_mib: 384 },
        RigNode { cpus: "", size_mib: 128 },
    ],
    distances: &[&[10, 21, 17], &[21, 10, 28], &[17, 28, 10]],
    disk: Some(DiskPlace::AtNode(1)),
    ..EIGHT
};

/// With two nodes to a package, the kernel counts the cores of processors before Zen differently from the emulator, and takes two for one.
/// So this one claims to be of a later family.
const OPTERON_6134: RigMachine = RigMachine {
    name: "opteron-6134",
    about: "AMD Opteron 6134, two of four packages: two nodes to a package. Each node appears as a die",
    processor: RigProcessor {
        vendor: "AuthenticAMD",
        family: 0x17,
        model: 0x31,
        name: "AMD Opteron(tm) Processor 6134",
    },
    packages: 2,
    dies: 2,
    cores: 2,
    nodes: &[
        RigNode { cpus: "0-1", size_mib: 256 },
        RigNode { cpus: "2-3", size_mib: 256 },
        RigNode { cpus: "4-5", size_mib: 256 },
        RigNode { cpus: "6-7", size_mib: 256 },
    ],
    distances: &[&[10, 16, 16, 22], &[16, 10, 22, 16], &[16, 22, 10, 16], &[22, 16, 16, 10]],
    ..ONE
};

const HYBRID: RigMachine = RigMachine {
    name: "hybrid",
    about: "two cores with two threads and four with one, as hybrid processors have. Kinds of core cannot be emulated",
    processor: RigProcessor {
        vendor: "GenuineIntel",
        family: 6,
        model: 0x9a,
        name: "12th Gen Intel(R) Core(TM) i7-1260P",
    },
    cores: 6,
    missing: "5,7,9,11",
    ..EIGHT
};

const SEVENTY_TWO: RigMachine = RigMachine {
    name: "seventy-two",
    about: "72 cpus, of which eight are off: masks are wider than 64 bits, and sparse",
    packages: 2,
    cores: 18,
    numbering: CpuNumbering::SiblingsLast,
    nodes: &[RigNode { cpus: "0-17,36-53", size_mib: 512 }, RigNode { cpus: "18-35,54-71", size_mib: 512 }],
    distances: &[&[10, 21], &[21, 10]],
    offline: "28-35",
    ..EIGHT
};

const OFFLINE: RigMachine = RigMachine {
    name: "offline",
    about: "three of eight cpus are off: one sibling, a core's other sibling, and one more",
    offline: "1,5-6",
    ..EIGHT
};

const FEW_AT_BOOT: RigMachine = RigMachine {
    name: "few-at-boot",
    about: "maxcpus=5 leaves three of eight cpus off from the start, and one more is switched off later",
    kernel: "maxcpus=5",
    offline: "1,5-7",
    ..EIGHT
};

const ISOLATED: RigMachine = RigMachine {
    name: "isolated",
    about: "isolcpus= and nohz_full= for half of eight cpus",
    isolated: "2-3,6-7",
    nohz_full: "2-3,6-7",
    ..EIGHT
};

const CONTAINER: RigMachine = RigMachine {
    name: "container",
    about: "everything runs in a cpuset of three of eight cpus, as in a container",
    cpuset: "2-3,6",
    ..EIGHT
};

/// All machines: the first serves tests that do not depend on a machine's shape; then small ones before large ones.
pub static MACHINES: [RigMachine; 14] = [
    FX_8150,
    THREADRIPPER_2990WX_SMALL,
    DUAL_SOCKET,
    ONE,
    OPTERON_6134,
    HYBRID,
    OFFLINE,
    FEW_AT_BOOT,
    ISOLATED,
    CONTAINER,
    RYZEN_9950X3D,
    SEVENTY_TWO,
    THREADRIPPER_3960X,
    THREADRIPPER_2990WX,
];

/// Returns the machine of a name.
pub fn find_machine(name: &str) -> Option<&'static RigMachine> {
    MACHINES.iter().find(|machine| machine.name == name)
}
