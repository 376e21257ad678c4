//! The notations, and the words that name them.

use std::str::FromStr;

use crate::Machine;
use crate::vocabulary::vocabulary;

vocabulary! {
    /// A notation of sets of cpus, in display order. The columns: the printed forms, and the accepted forms.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Notation {
        List "list": "a cpu list, as the kernel and most Linux tools write it",
            "`1-7,16-23`", "a list, strides and `N` (the last cpu) as the kernel takes them";
        Hexadecimal "hex": "a hexadecimal mask, cpu 0 the lowest bit; with commas as files of /proc/irq have it",
            "`0xff00fe`, and with commas as in /proc/irq", "with or without `0x`, commas or spaces; hwloc-calc's `0x1,0x00000003`";
        Binary "binary": "a mask bit by bit, cpu 0 at the right, in groups of four",
            "`1111 1111 0000 0000 1111 1110`", "with or without `0b` and spaces";
        Decimal "decimal": "a mask as a signed decimal number, as some Windows tools show it",
            "signed, 64 and 32 bits", "negative numbers too: 32 bits wide if the machine's cpus fit, else 64";
        Taskset "taskset": "taskset: a prefix that starts a command on these cpus",
            "`taskset -c LIST`, `taskset MASK`", "both, and with `-p`, `-a`; the output of `taskset -p`";
        Numactl "numactl": "numactl: a prefix that starts a command on these cpus, or on the cpus of whole NUMA nodes",
            "`--physcpubind=`, and `--cpunodebind=` if the cpus are whole nodes", "`-C`, `-N`, `!`, `+`, `all`; the output of `--show`";
        Hwloc "hwloc": "hwloc-bind: a prefix that starts a command on these cpus",
            "`hwloc-bind MASK --`", "locations and options of hwloc-bind and hwloc-calc";
        Likwid "likwid": "likwid-pin: a prefix that pins each thread to the next of these cpus",
            "`likwid-pin -c LIST`, in order", "domains, `L:`, `E:`, `scatter`, `balanced`, `cbalanced`, `@`; `-pin` of likwid-mpirun";
        Systemd "systemd": "systemd: settings of a unit",
            "`AllowedCPUs=`, `CPUAffinity=`", "unit files, systemd-run, `systemctl set-property` and `show`; all settings together";
        Cgroup "cgroup": "cgroup v2: what to write into the files of a group",
            "what to write into cpuset.cpus and cpuset.mems", "the same, of one group or several; cgset; LXC's keys";
        Docker "docker": "Docker: options of docker run and docker update",
            "`--cpuset-cpus= --cpuset-mems=`, and for compose files", "the same; the output of `docker inspect`";
        Kubernetes "kubernetes": "Kubernetes: settings of the kubelet's static policy",
            "what you can configure for the static policy: how many cpus, whole cores, which are reserved", "`reservedSystemCPUs`, `--reserved-cpus`, the kubelet's file cpu_manager_state";
        Slurm "slurm": "Slurm: an option of srun",
            "`--cpu-bind=mask_cpu:`, `map_cpu:`", "both, several masks, `*N`, `map_ldom:`, `mask_ldom:`, the variables `SLURM_CPU_BIND*`, `CPU_IDs=`";
        OpenMp "openmp": "OpenMP: environment variables for the runtime's own threads",
            "`OMP_PLACES=`, `GOMP_CPU_AFFINITY=`, in order", "both, intervals, abstract names, `KMP_AFFINITY`, `KMP_HW_SUBSET`, the output of `OMP_DISPLAY_ENV`";
        Libvirt "libvirt": "libvirt: elements of a domain that pin its virtual cpus",
            "`<vcpu>`, a `<vcpupin>` for each cpu in order, and the `<topology>` of whole cores", "the same, lists with `^`, `<emulatorpin>`, `<iothreadpin>`; `virsh vcpupin`, `emulatorpin`, `vcpuinfo` and their output";
        KernelCommandLine "cmdline": "the Linux command line: parameters that keep everything else off these cpus",
            "`isolcpus= nohz_full= rcu_nocbs= irqaffinity=`", "the same, with flags, `N` and `all`; the settings of boot loaders; `systemd.cpu_affinity=`";
        Windows "windows": "Windows: the command prompt's start, with a mask for each processor group",
            "`start /affinity`, for each processor group", "the same, with `/node`, and the command that calls it (`cmd /c start …`)";
        PowerShell "powershell": "PowerShell: the mask of a running process, a signed 64-bit number",
            "`.ProcessorAffinity =`, for each processor group", "the same, and bare numbers, `0x` and `0b` among them";
        ProcessLasso "lasso": "Process Lasso: a rule that holds every process of a name on these cpus",
            "a rule of Process Lasso, `app.exe,0,0-3;8`, if there is one processor group", "the same, the list alone, and a line `DefaultAffinitiesEx=`";
        Nginx "nginx": "nginx: a directive that gives each worker its cpu",
            "`worker_cpu_affinity`, a binary mask for each worker", "the same, also with `auto`";
        Redis "redis": "Redis: settings that bind the server and its helpers",
            "`server_cpulist`", "this, `bio_cpulist`, `bgsave_cpulist`, `aof_rewrite_cpulist`";
        Haproxy "haproxy": "HAProxy: a map of threads to cpus",
            "`cpu-map auto:1/1-4`, one thread for each cpu", "lines `cpu-map`";
        Steam "steam": "Steam: launch options of a game",
            "`taskset -c LIST %command%`, and `WINE_CPU_TOPOLOGY=`", "both";
        GameMode "gamemode": "GameMode: the setting that pins a game",
            "`pin_cores=`", "this and `park_cores=`";
        Rankfile "rankfile": "Open MPI: a file that binds each rank to a core",
            "`rank 0=localhost slot=SOCKET:CORE`, if the cpus are whole cores", "the same, `slot=CORE`, lists and `*`";
        Dpdk "dpdk": "DPDK: options of its environment",
            "`-l LIST`, `--lcores`", "both, `-c MASK`, on whole command lines";
        Setting "setting": "a setting of another program, recognized by its key",
            "irqbalance's banned cpus", "irqbalance, Nova, TuneD, Open vSwitch, VPP, fio, LXD, Proxmox VE, Scylla, Intel MPI, Suricata, perf, stress-ng, cset, SPDK, Xen, VMware, SQL Server; `/proc/PID/status`, lscpu, nvidia-smi, reports of MPI launchers, calls such as `sched_setaffinity`, `numactl -H`, files of /proc/irq and /sys";
    }
}

impl Notation {
    /// Returns the notation with which a machine's own shell starts a program: the command prompt on Windows, the only system with
    /// processor groups, and taskset elsewhere.
    pub fn of_shell(machine: &Machine) -> Self {
        if machine.processor_groups.is_empty() { Self::Taskset } else { Self::Windows }
    }
}

/// A word that names no notation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a notation; the notations are {names}", names = Notation::ALL.map(Notation::word).join(", "))]
pub struct UnknownNotation(pub String);

impl FromStr for Notation {
    type Err = UnknownNotation;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|notation| notation.word().eq_ignore_ascii_case(text));
        found.ok_or_else(|| UnknownNotation(text.to_owned()))
    }
}
