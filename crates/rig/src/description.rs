//! Description of a machine of the rig, from which all else is made.

use crate::cpus::{self, CpuNumbers};

/// A machine that the rig can boot.
#[derive(Clone, Copy, Debug)]
pub struct RigMachine {
    /// Its name: lower-case words with hyphens.
    pub name: &'static str,
    /// Its purpose, and the parts that cannot be emulated; one line.
    pub about: &'static str,
    /// True if each change of corewise is tried on it; a large one takes minutes, and mostly repeats the tests of its recording.
    pub each_change: bool,
    /// The processor's own identification.
    pub processor: RigProcessor,
    /// Number of packages.
    pub packages: u32,
    /// Dies per package; the cores of a die share its last-level cache.
    pub dies: u32,
    /// Cores per die; with [`CoreThreads::Module`], modules per die.
    pub cores: u32,
    /// Threads per core, and their kind.
    pub threads: CoreThreads,
    /// Order in which the kernel numbers the cpus.
    pub numbering: CpuNumbering,
    /// Slots without a cpu, by the numbers of [`RigMachine::emulator_slots`]: the siblings of cores with one thread, whole cores.
    pub missing: &'static str,
    /// The memory nodes; none for a machine without NUMA.
    pub nodes: &'static [RigNode],
    /// The distances between the nodes, row by row; empty for the emulator's own.
    pub distances: &'static [&'static [u32]],
    /// Additions to the kernel's command line.
    pub kernel: &'static str,
    /// Cpus that `isolcpus=` on the kernel's command line takes out of the scheduler's balancing.
    pub isolated: &'static str,
    /// Cpus in `nohz_full=` on the kernel's command line.
    pub nohz_full: &'static str,
    /// Cpus that are off when the first step begins: switched off, or, with `maxcpus=`, never switched on.
    pub offline: &'static str,
    /// The cpuset of every step, like that of a container's processes; empty for none.
    pub cpuset: &'static str,
    /// Its disk with a queue for each cpu, if any; it is empty, and no built-in driver drives it.
    pub disk: Option<DiskPlace>,
}

/// Location of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskPlace {
    /// On the machine's own bus; the firmware does not report its node.
    Somewhere,
    /// On a bus of its own at a node.
    AtNode(u32),
}

/// The processor's own identification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RigProcessor {
    /// Vendor string of cpuid: "AuthenticAMD".
    pub vendor: &'static str,
    /// The family, extended family added.
    pub family: u32,
    /// The model, extended model added.
    pub model: u32,
    /// The processor's name.
    pub name: &'static str,
}

/// Kind of the threads of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoreThreads {
    /// This number of SMT siblings; 1 for none.
    Siblings(u32),
    /// Two cores that share an L2: a Bulldozer module, which the kernel shows as a core of two threads.
    Module,
}

/// Order in which the kernel numbers the cpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuNumbering {
    /// Siblings have adjacent numbers: 0 and 1 are one core.
    Adjacent,
    /// First one thread of every core, then their siblings: 0 and 24 are one core of 24.
    SiblingsLast,
}

/// A memory node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RigNode {
    /// Its cpus, by the kernel's numbers.
    pub cpus: &'static str,
    /// Its memory in mebibytes; 0 for none.
    pub size_mib: u32,
}

/// Location of a cpu.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CpuSeat {
    /// The package.
    pub package: u32,
    /// The die in the package.
    pub die: u32,
    /// The core in the die.
    pub core: u32,
    /// The thread in the core.
    pub thread: u32,
}

/// The memory of a machine without nodes, in mebibytes.
const MEMORY_WITHOUT_NODES_MIB: u32 = 640;

impl RigMachine {
    /// Returns the number of threads of a complete core.
    pub fn threads_per_core(&self) -> u32 {
        match self.threads {
            CoreThreads::Siblings(count) => count,
            CoreThreads::Module => 2,
        }
    }

    /// Returns the places of all cpus in the order in which the kernel numbers them.
    pub fn cpu_places(&self) -> Vec<CpuSeat> {
        let missing = cpus::parse(self.missing);
        let slots = (0..).zip(self.emulator_slots()).filter(|(slot, _)| !missing.contains(slot));
        let mut places: Vec<CpuSeat> = slots.map(|(_, place)| place).collect();
        if self.numbering == CpuNumbering::SiblingsLast {
            places.sort_by_key(|place| place.thread);
        }
        places
    }

    /// Returns the places that the emulator's `-smp` makes, in its order, including missing ones.
    pub fn emulator_slots(&self) -> Vec<CpuSeat> {
        let threads = self.threads_per_core();
        let all = 0..self.packages * self.dies * self.cores * threads;
        all.map(|index| {
            let core = index / threads;
            let die = core / self.cores;
            CpuSeat { package: die / self.dies, die: die % self.dies, core: core % self.cores, thread: index % threads }
        })
        .collect()
    }

    /// Returns all cpus, including those switched off.
    pub fn present_cpus(&self) -> CpuNumbers {
        (0..).zip(self.cpu_places()).map(|(cpu, _)| cpu).collect()
    }

    /// Returns the size of all memory, in mebibytes.
    pub fn memory_mib(&self) -> u32 {
        if self.nodes.is_empty() { MEMORY_WITHOUT_NODES_MIB } else { self.nodes.iter().map(|node| node.size_mib).sum() }
    }
}
