//! The keys and options by which other programs name cpus.

use super::setting_value::SettingValue;

/// A setting with its keys.
pub(super) struct SettingRow {
    /// Program that has the setting; empty for files of the kernel: their names say it.
    pub program: &'static str,
    /// Keys, as [`find_values`](super::keyed::find_values) takes them.
    pub keys: &'static [&'static str],
    pub value: SettingValue,
    /// The meaning, if it is not simply where the program runs; `{others}` stands for the other cpus.
    pub remark: &'static str,
    /// Text elsewhere in the whole text, without which the keys mean something else; empty if they mean one thing everywhere.
    pub beside: &'static str,
}

/// Commands with their options.
pub(super) struct CommandRow {
    pub programs: &'static [&'static str],
    pub options: &'static [&'static str],
    pub value: SettingValue,
}

/// Commands that take cpus as an argument without an option.
pub(super) struct ArgumentRow {
    pub programs: &'static [&'static str],
    /// Word behind which the arguments are counted; empty to count from the program.
    pub behind: &'static str,
    /// Number of arguments before the cpus.
    pub skipped: usize,
    /// True if all further arguments are cpus too.
    pub has_more: bool,
    pub value: SettingValue,
}

use SettingValue::{
    Count, CountOrList, ForEach, Integer, List, LocalRemote, Mask, MaskOrList, Masks, Nodes, Pairs, SocketCores,
    WindowsFromOne, WindowsMask, WindowsRanges,
};

const fn setting(program: &'static str, keys: &'static [&'static str], value: SettingValue) -> SettingRow {
    SettingRow { program, keys, value, remark: "", beside: "" }
}

const fn explained(
    program: &'static str,
    keys: &'static [&'static str],
    value: SettingValue,
    remark: &'static str,
) -> SettingRow {
    SettingRow { program, keys, value, remark, beside: "" }
}

/// A setting with keys that mean cpus only if `beside` is in the text too.
const fn reported(
    program: &'static str,
    beside: &'static str,
    keys: &'static [&'static str],
    value: SettingValue,
) -> SettingRow {
    SettingRow { program, keys, value, remark: "", beside }
}

const fn argument(programs: &'static [&'static str], behind: &'static str, skipped: usize) -> ArgumentRow {
    ArgumentRow { programs, behind, skipped, has_more: false, value: List }
}

const fn command(
    programs: &'static [&'static str],
    options: &'static [&'static str],
    value: SettingValue,
) -> CommandRow {
    CommandRow { programs, options, value }
}

/// What is banned for interrupts.
const BANNED: &str = "these are banned, so interrupts go to the others: {others}.";
/// The meaning of a number of threads.
const THREADS: &str = "this is a number of threads, and names no cpus";
/// The meaning of a number of cpus.
const CPUS: &str = "this is a number of cpus, and names none";

/// Settings of configuration files, variables and reports.
pub(super) const SETTINGS: &[SettingRow] = &[
    explained("irqbalance", &["IRQBALANCE_BANNED_CPUS"], Mask, BANNED),
    explained("irqbalance", &["IRQBALANCE_BANNED_CPULIST"], List, BANNED),
    explained("irqbalance", &["Isolated CPUs", "Adaptive-ticks CPUs", "Banned CPUs"], Mask, BANNED),
    explained("Nova", &["cpu_dedicated_set", "vcpu_pin_set"], List, "for the pinned virtual cpus of guests."),
    explained("Nova", &["cpu_shared_set"], List, "for guests that are not pinned, and for emulators."),
    explained("TuneD", &["isolated_cores", "isolated_cpus"], List, "kept free of everything else."),
    explained("TuneD", &["no_balance_cores"], List, "without the scheduler's balancing."),
    explained("OpenShift", &["isolated"], List, "for workloads."),
    explained("OpenShift", &["reserved"], List, "for the system."),
    reported("TuneD", "[irqbalance]", &["banned_cpus"], List),
    setting("CRI-O", &["infra_ctr_cpuset", "shared_cpuset"], List),
    setting("Open vSwitch", &["pmd-cpu-mask", "dpdk-lcore-mask"], Mask),
    setting("Open vSwitch", &["pmd-rxq-affinity"], Pairs(',', ':')),
    reported("Open vSwitch", "pmd thread", &["core_id"], List),
    setting("SPDK", &["reactor_mask"], MaskOrList),
    setting("Nomad", &["reservable_cores"], List),
    setting("VPP", &["corelist-workers", "main-core"], List),
    setting("VPP", &["coremask-workers"], Mask),
    setting("fio", &["cpus_allowed"], List),
    setting("fio", &["cpumask"], Integer),
    setting("fio", &["numa_cpu_nodes"], Nodes),
    setting("LXD", &["limits.cpu"], CountOrList),
    setting("LXD", &["limits.cpu.nodes"], Nodes),
    setting("Proxmox VE", &["affinity", "-affinity"], List),
    setting("VMware", &["sched.cpu.affinity"], List),
    setting("VMware", &["numa.nodeAffinity"], Nodes),
    setting("Xen", &["dom0_nodes"], Nodes),
    setting("QEMU", &["node-affinity"], Nodes),
    setting("Lustre", &["cpu_pattern"], List),
    reported("PowerDNS", "cpu-map=", &["cpu-map"], Pairs(' ', '=')),
    setting("Scylla", &["--cpuset"], List),
    setting("Scylla", &["cpu_mask", "irq_cpu_mask", "--irq-cpu-mask"], Mask),
    setting("", &["CPU affinity"], List),
    reported("MySQL", "RESOURCE GROUP", &["VCPU"], List),
    reported("MySQL Cluster", "ThreadConfig", &["cpubind"], List),
    setting("MySQL Cluster", &["LockExecuteThreadToCPU", "LockMaintThreadsToCPU"], List),
    reported("Grid Engine", "-binding", &["explicit"], SocketCores),
    setting("SQL Server", &["AFFINITY CPU", "AFFINITY cpu", "affinity CPU", "affinity cpu"], WindowsRanges),
    setting("SQL Server", &["AFFINITY NUMANODE"], Nodes),
    reported("SQL Server", "sp_configure", &["affinity mask',"], WindowsMask),
    setting("Java Thread Affinity", &["affinity.reserved", "-Daffinity.reserved"], Mask),
    setting("Open MPI", &["pe-list"], List),
    setting(
        "Open MPI",
        &["hwloc_base_cpu_list", "hwloc_base_cpu_set", "OMPI_MCA_hwloc_base_cpu_list", "OMPI_MCA_hwloc_base_cpu_set"],
        List,
    ),
    setting("Open MPI", &["hwloc_default_cpu_list", "PRTE_MCA_hwloc_default_cpu_list"], List),
    setting("MPICH", &["bind-to user", "binding user"], List),
    reported("Slurm", "cpu-bind=", &["mask"], Mask),
    setting("cpuset(1)", &["pid # mask"], List),
    setting("OpenMP", &["bound to OS proc set", "bound to OS proc"], List),
    setting("Zeek", &["pin_cpus"], List),
    setting("LSF", &["LSB_BIND_CPU_LIST"], List),
    setting("Intel MPI", &["I_MPI_PIN_PROCESSOR_LIST", "I_MPI_PIN_PROCS"], List),
    setting("Intel MPI", &["I_MPI_PIN_DOMAIN"], Masks),
    explained(
        "Intel MPI",
        &["I_MPI_PIN_PROCESSOR_EXCLUDE_LIST"],
        List,
        "these are excluded, so processes go to the others: {others}.",
    ),
    setting("MVAPICH", &["MV2_CPU_MAPPING", "MVP_CPU_MAPPING"], ForEach(':')),
    setting("HTCondor", &["SLOT#_CPU_AFFINITY"], List),
    setting("the compiler's OpenMP", &["FLIB_CPU_AFFINITY", "MP_BLIST", "SUNW_MP_PROCBIND"], List),
    setting(
        "Aeron",
        &["AERON_CONDUCTOR_CPU_AFFINITY", "AERON_SENDER_CPU_AFFINITY", "AERON_RECEIVER_CPU_AFFINITY"],
        List,
    ),
    setting(".NET", &["DOTNET_GCHeapAffinitizeMask", "COMPlus_GCHeapAffinitizeMask"], Mask),
    setting(".NET", &["DOTNET_GCHeapAffinitizeRanges", "COMPlus_GCHeapAffinitizeRanges"], List),
    setting("Ceph", &["osd_numa_node"], Nodes),
    setting("BeeGFS", &["tuneBindToNumaZone"], Nodes),
    setting("Unraid", &["<CPUset>"], List),
    setting("NSSM", &["AppAffinity"], WindowsRanges),
    setting("vLLM", &["VLLM_CPU_OMP_THREADS_BIND"], ForEach('|')),
    setting("llama.cpp", &["--cpu-mask"], Mask),
    setting(
        "",
        &[
            "--core-ids",
            "--core_ids",
            "--cpu-ids",
            "--cpus-list",
            "--cpu-range",
            "--cpu-list",
            "--cpu_list",
            "--core-list",
            "--core_list",
            "--cpu-set",
            "--cpulist",
            "--bind_core_list",
        ],
        List,
    ),
    setting("IIS", &["smpProcessorAffinityMask"], WindowsMask),
    setting("status in /proc", &["Cpus_allowed"], Mask),
    setting("status in /proc", &["Cpus_allowed_list"], List),
    setting("lscpu", &["On-line CPU(s) list"], List),
    setting("lscpu", &["On-line CPU(s) mask"], Mask),
    explained("lscpu", &["Off-line CPU(s) list"], List, "switched off."),
    setting("lscpu", &["NUMA node# CPU(s)"], List),
    setting("numactl -H", &["node # cpus"], List),
    setting("", &["cpus"], CountOrList),
    setting("", &["*smp_affinity", "*effective_affinity", "*default_smp_affinity", "*tracing_cpumask"], Mask),
    setting("", &["*smp_affinity_list", "*effective_affinity_list"], List),
    setting("", &["*rps_cpus", "*xps_cpus", "*workqueue/cpumask", "*writeback/cpumask", "*local_cpus"], Mask),
    setting("", &["*thread_siblings", "*core_siblings", "*core_cpus", "*package_cpus", "*die_cpus"], Mask),
    setting("", &["*cluster_cpus", "*shared_cpu_map", "*cpumap"], Mask),
    setting("", &["*thread_siblings_list", "*core_siblings_list", "*core_cpus_list", "*package_cpus_list"], List),
    setting("", &["*die_cpus_list", "*cluster_cpus_list", "*shared_cpu_list", "*cpulist", "*local_cpulist"], List),
    setting("", &["*cpu/online", "*cpu/offline", "*cpu/present", "*cpu/possible", "*cpu/isolated"], List),
    setting("", &["*cpu/nohz_full", "*cpu_core/cpus", "*cpu_atom/cpus", "*/cpus", "*watchdog_cpumask"], List),
    setting("Go", &["GOMAXPROCS"], Count("this is a number of threads: Go takes any cpus that the process may use")),
    setting("OpenMP", &["OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"], Count(THREADS)),
    setting(
        "",
        &["RAYON_NUM_THREADS", "TOKIO_WORKER_THREADS", "JULIA_NUM_THREADS", "UV_THREADPOOL_SIZE"],
        Count(THREADS),
    ),
    setting("nginx", &["worker_processes"], Count("this is a number of workers; worker_cpu_affinity names their cpus")),
    setting("HAProxy", &["nbthread", "nbproc"], Count("this is a number of threads; cpu-map names their cpus")),
    setting("HAProxy", &["bind-process"], Count("these are numbers of processes; cpu-map names their cpus")),
    setting("the kernel", &["maxcpus", "nr_cpus"], Count("this is a number of cpus; isolcpus= names some")),
    setting("Java", &["-XX:ActiveProcessorCount"], Count(CPUS)),
    setting("Slurm", &["--cpus-per-task", "--cpus_per_task", "SLURM_CPUS_PER_TASK", "--ntasks"], Count(CPUS)),
    setting("Slurm", &["--core-spec", "CoreSpecCount"], Count(CPUS)),
    setting(
        "Kubernetes",
        &["cpu-quota", "--cpu-quota", "--cpu-shares", "CPUQuota", "CPUShares", "CPUWeight"],
        Count("this is a share of time on any cpu"),
    ),
    setting("Proxmox VE", &["--cores", "vcpus"], Count(CPUS)),
    setting("", &["cpu-affinity", "cpu_affinity"], CountOrList),
    setting(
        "Squid",
        &["cpu_affinity_map"],
        Count("Squid counts cpus from 1: subtract 1 from each, and read it as a list"),
    ),
];

/// Options of commands.
pub(super) const COMMANDS: &[CommandRow] = &[
    command(&["perf"], &["-C", "--cpu"], List),
    command(&["stress-ng"], &["--taskset"], List),
    command(&["mpirun", "mpiexec", "orterun", "prterun"], &["--cpu-set", "--cpu-list"], List),
    command(&["cset"], &["-c", "--cpu"], List),
    command(&["turbostat"], &["-c", "--cpu"], List),
    command(&["cpupower"], &["-c", "--cpu"], List),
    command(&["chcpu"], &["-e", "-d", "--enable", "--disable"], List),
    command(&["rdmsr", "wrmsr"], &["-p", "--processor"], List),
    command(&["tuna"], &["-c", "--cpus"], List),
    command(&["cyclictest"], &["-a", "--affinity"], List),
    command(&["stalld"], &["-c", "--cpu"], List),
    command(&["rteval"], &["--measurement-cpulist", "--loads-cpulist"], List),
    command(&["rtla", "oslat", "hwlatdetect"], &["-c", "--cpus", "--cpu-list"], List),
    command(&["firejail"], &["--cpu"], List),
    command(&["pepc"], &["--cpus"], List),
    command(&["trace-cmd"], &["-M"], Mask),
    command(&["cpuset"], &["-l"], List),
    command(&["dplace", "omplace"], &["-c"], List),
    command(&["aprun"], &["-cc"], ForEach(':')),
    command(&["llama-cli", "llama-server", "llama-bench"], &["-C"], Mask),
    command(&["iperf3", "iperf"], &["-A", "--affinity"], LocalRemote),
    command(&["netperf"], &["-T"], LocalRemote),
    command(&["schedtool"], &["-a"], List),
    command(&["spdk_tgt", "nvmf_tgt", "iscsi_tgt", "bdevperf", "vhost"], &["-m", "--cpumask"], MaskOrList),
    command(&["xmrig", "cpuminer", "minerd"], &["--cpu-affinity"], Integer),
    command(&["bhyve"], &["-p"], Pairs(' ', ':')),
    command(&["crosvm"], &["--cpu-affinity"], Pairs(':', '=')),
    command(&["pqos"], &["-a"], Pairs(';', '=')),
    command(&["pqos"], &["-m"], Pairs(';', ':')),
    command(&["rdtset", "intel-speed-select", "x86_energy_perf_policy", "execrset"], &["-c", "--cpu"], List),
    command(&["mpstat", "sar"], &["-P"], List),
    command(&["pbind"], &["-b"], List),
    command(&["psexec", "psexec64", "PsExec", "PsExec64"], &["-a"], WindowsFromOne),
    command(&["scylla"], &["--cpuset"], List),
];

/// Arguments of commands.
pub(super) const ARGUMENTS: &[ArgumentRow] = &[
    argument(&["xl", "xm"], "vcpu-pin", 2),
    argument(&["xl", "xm"], "cpupool-cpu-add", 1),
    argument(
        &["set_irq_affinity", "set_irq_affinity.sh", "set_irq_affinity_cpulist", "set_irq_affinity_cpulist.sh"],
        "",
        0,
    ),
    ArgumentRow { value: Nodes, ..argument(&["set_irq_affinity_bynode", "set_irq_affinity_bynode.sh"], "", 0) },
    argument(&["bindprocessor"], "", 1),
    ArgumentRow { has_more: true, ..argument(&["psrset"], "-c", 0) },
];
