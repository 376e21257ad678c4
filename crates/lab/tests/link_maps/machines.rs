//! The machines of the published matrices whose layout is published too.

use corewise_model::simulate::layout::MachineLayout;

/// A machine and what is to be found of it.
pub struct RealMachine {
    /// Its matrix, below the data's folder.
    pub file: &'static str,
    /// Packages, last-level caches, cores and threads, as the vendor publishes them (docs/links.md names the sources).
    pub layout: MachineLayout,
    /// The groups that its costs are to show.
    pub expected: ExpectedGroups,
    /// Whether its clock was so coarse that a held-out error jumps from step to step.
    pub is_coarse: bool,
}

/// What is to be found.
#[derive(Clone, Copy)]
pub enum ExpectedGroups {
    /// The last-level caches.
    Caches,
    /// One group of all.
    One,
    /// These: what the costs show is no cache, and the reason stands beside it.
    These(&'static [&'static str]),
}

use ExpectedGroups::{Caches, One, These};

const fn real(file: &'static str, layout: [u32; 4], adjacent: bool, expected: ExpectedGroups) -> RealMachine {
    let [packages, caches, cores, threads] = layout;
    let layout = MachineLayout { packages, caches, cores, threads, adjacent };
    RealMachine { file, layout, expected, is_coarse: false }
}

const fn coarse(real: RealMachine) -> RealMachine {
    RealMachine { is_coarse: true, ..real }
}

/// Packages, caches in each, cores on each, threads of each; whether siblings have neighbouring numbers.
pub const MACHINES: &[RealMachine] = &[
    real(
        "kcores/amd-custom-apu-0405-valve-steam-deck-apu-zen-2-4-cores-smt-enabled-by-arthomnix.csv",
        [1, 1, 4, 2],
        true,
        One,
    ),
    real("kcores/amd-epyc-7r13-48-core-processor-from-aws-c6a-metal-by-nviennot.csv", [2, 6, 8, 2], false, Caches),
    real("kcores/amd-epyc-9754-128-core-processor-by-entropy-enthalpy.csv", [1, 16, 8, 1], false, Caches),
    // One L3 for all; what the costs show are its modules of two cores with a common L2.
    real(
        "kcores/amd-fx-8300-8-core-processor-by-kassane.csv",
        [1, 1, 8, 1],
        false,
        These(&["0-1", "2-3", "4-5", "6-7"]),
    ),
    real("kcores/amd-ryzen-7-2700x-eight-core-processor-by-demindiro.csv", [1, 2, 4, 2], true, Caches),
    real("kcores/amd-ryzen-7-5800x3d-8-core-processor-by-keantoken.csv", [1, 1, 8, 2], false, One),
    real("kcores/amd-ryzen-9-3900x-12-core-processor-by-zommiommy.csv", [1, 4, 3, 2], false, Caches),
    real("kcores/amd-ryzen-9-5950x-3-40ghz-by-nephyrin.csv", [1, 2, 8, 2], false, Caches),
    coarse(real("kcores/amd-ryzen-9-7950x-by-zamadatix.csv", [1, 2, 8, 2], true, Caches)),
    real("kcores/amd-ryzen-9-9950x-16-core-processor-by-keithmyers.csv", [1, 2, 8, 2], false, Caches),
    real("kcores/amd-ryzen-9-9950x-16-core-processor-by-ubergarm.csv", [1, 2, 8, 2], false, Caches),
    real("kcores/amd-ryzen-threadripper-1950x-by-farnoy.csv", [1, 4, 4, 2], false, Caches),
    real(
        "kcores/amd-ryzen-threadripper-3960x-3-80ghz-24-cores-zen-2-3rd-gen-2019-q4-by-toolsdevler.csv",
        [1, 8, 3, 2],
        false,
        Caches,
    ),
    real(
        "kcores/amd-ryzen-threadripper-pro-3945wx-12-core-processor-by-willian-zhang.csv",
        [1, 4, 3, 2],
        false,
        Caches,
    ),
    real("kcores/aws-graviton2-from-aws-c6gd-metal-by-nviennot.csv", [1, 1, 64, 1], false, One),
    real(
        "kcores/broadcom-bcm2711-quad-core-cortex-a72-arm-v8-64-bit-soc-1-8ghz-raspberry-pi-4b-by-kassane.csv",
        [1, 1, 4, 1],
        false,
        One,
    ),
    real("kcores/dual-amd-epyc-7742-64-core-processor-by-nviennot.csv", [2, 16, 4, 2], false, Caches),
    real("kcores/dual-amd-epyc-9454-48-core-processor-by-fwyzard.csv", [2, 8, 6, 2], false, Caches),
    real("kcores/dual-amd-epyc-9754-128-core-processor-by-fwyzard.csv", [2, 16, 8, 2], false, Caches),
    // A pair of cores shares its way onto the mesh, and talks for half; the system's cache is one for each package.
    real("kcores/dual-ampere-altra-processor-q80-30-cpu-3-0ghz-by-zeroping.csv", [1, 1, 80, 1], false, These(ALTRA)),
    coarse(real("kcores/dual-ibm-power9-8335-gth-16-core-2-7ghz-by-herver.csv", [2, 8, 2, 4], true, Caches)),
    real("kcores/intel-xeon-phi-7210-1-30ghz-by-shisoft.csv", [1, 32, 2, 1], false, Caches),
    real("kcores/quad-intel-xeon-e5-4650v2-2-4ghz-by-alloybronya.csv", [2, 1, 10, 2], true, Caches),
    coarse(real("nviennot/amd-ryzen-9-7950x.csv", [1, 2, 8, 2], true, Caches)),
    real("soilros/amd-epyc-7713.csv", [2, 8, 8, 1], false, Caches),
    real("soilros/intel-core-i7-8565u.csv", [1, 1, 4, 2], true, One),
    real("soilros/intel-xeon-e5-2698-v3.csv", [2, 1, 16, 2], true, Caches),
    real("mctop/lpd48core.mct", [4, 2, 6, 1], false, Caches),
    real("mctop/lpdpc4.mct", [1, 1, 4, 2], false, One),
    real("mctop/lpdxeon2680.mct", [2, 1, 10, 2], false, Caches),
    // Performance and efficiency cores on one L3; the layout stands for their number only.
    real("kcores/intel-core-i7-14700k-3-4ghz-by-michi0403.csv", [1, 1, 28, 1], false, One),
    real("kcores/intel-core-i9-12900k-by-bizude.csv", [1, 1, 24, 1], false, One),
    // 36 cores in each package, and a guest that has 128 of their 144 cpus; the layout stands for two packages.
    real(
        "kcores/dual-intel-xeon-platinum-8360y-2-40ghz-by-herver.csv",
        [1, 1, 128, 1],
        false,
        These(&["0-35,72-107", "36-71,108-127"]),
    ),
];

/// Neighbours in twos.
const ALTRA: &[&str] = &[
    "0-1", "2-3", "4-5", "6-7", "8-9", "10-11", "12-13", "14-15", "16-17", "18-19", "20-21", "22-23", "24-25", "26-27",
    "28-29", "30-31", "32-33", "34-35", "36-37", "38-39", "40-41", "42-43", "44-45", "46-47", "48-49", "50-51",
    "52-53", "54-55", "56-57", "58-59", "60-61", "62-63", "64-65", "66-67", "68-69", "70-71", "72-73", "74-75",
    "76-77", "78-79",
];
