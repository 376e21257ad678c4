//! The keys and options by which other programs name cpus.

/// A setting with its keys.
pub(super) struct SettingRow {
    /// Program whose setting it is; empty for files of the kernel, whose names say it.
    pub program: &'static str,
    /// Keys, as [`find_values`](super::keyed::find_values) takes them.
    pub keys: &'static [&'static str],
    pub value: SettingValue,
    /// The meaning, if it is not simply where the program runs; `{others}` stands for the other cpus.
    pub remark: &'static str,
}

/// Commands with their options.
pub(super) struct CommandRow {
    pub programs: &'static [&'static str],
    pub options: &'static [&'static str],
    pub value: SettingValue,
}

/// Form of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SettingValue {
    /// A list, with commas or spaces.
    List,
    /// A list, of which a single number is a number of cpus.
    CountOrList,
    /// A list in which `^3` removes cpu 3.
    Excluding,
    /// A hexadecimal mask, with or without `0x` and commas.
    Mask,
    /// Hexadecimal masks, one for each process.
    Masks,
    /// A mask as a whole number of C: decimal unless it begins with `0x`.
    Integer,
    /// Lists, one for each process, with this separator.
    ForEach(char),
    /// A list of NUMA nodes.
    Nodes,
    /// A number of cpus or threads, which names none; the reason.
    Count(&'static str),
}

use SettingValue::{Count, CountOrList, Excluding, ForEach, Integer, List, Mask, Masks, Nodes};

const fn setting(program: &'static str, keys: &'static [&'static str], value: SettingValue) -> SettingRow {
    SettingRow { program, keys, value, remark: "" }
}

const fn explained(
    program: &'static str,
    keys: &'static [&'static str],
    value: SettingValue,
    remark: &'static str,
) -> SettingRow {
    SettingRow { program, keys, value, remark }
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
/// What a number of threads says.
const THREADS: &str = "this is a number of threads, and names no cpus";
/// What a number of cpus says.
const CPUS: &str = "this is a number of cpus, and names none";

/// Settings of configuration files, variables and reports.
pub(super) const SETTINGS: &[SettingRow] = &[
    explained("irqbalance", &["IRQBALANCE_BANNED_CPUS"], Mask, BANNED),
    explained("irqbalance", &["IRQBALANCE_BANNED_CPULIST"], List, BANNED),
    explained("Nova", &["cpu_dedicated_set", "vcpu_pin_set"], Excluding, "for the pinned virtual cpus of guests."),
    explained("Nova", &["cpu_shared_set"], Excluding, "for guests that are not pinned, and for emulators."),
    explained("TuneD", &["isolated_cores", "isolated_cpus"], List, "kept free of everything else."),
    explained("TuneD", &["no_balance_cores"], List, "without the scheduler's balancing."),
    explained("OpenShift", &["isolated"], List, "for workloads."),
    explained("OpenShift", &["reserved"], List, "for the system."),
    setting("Open vSwitch", &["pmd-cpu-mask", "dpdk-lcore-mask"], Mask),
    setting("VPP", &["corelist-workers", "main-core"], List),
    setting("VPP", &["coremask-workers"], Mask),
    setting("fio", &["cpus_allowed"], List),
    setting("fio", &["cpumask"], Integer),
    setting("fio", &["numa_cpu_nodes"], Nodes),
    setting("LXD", &["limits.cpu"], CountOrList),
    setting("LXD", &["limits.cpu.nodes"], Nodes),
    setting("Proxmox VE", &["affinity", "-affinity"], List),
    setting("VMware", &["sched.cpu.affinity"], List),
    setting("Scylla", &["--cpuset"], List),
    setting("Scylla", &["cpu_mask", "irq_cpu_mask", "--irq-cpu-mask"], Mask),
    setting("Slurm", &["CPUSpecList", "CpuSpecList"], List),
    setting("", &["CPU affinity"], List),
    setting("MySQL", &["VCPU ="], List),
    setting("Zeek", &["pin_cpus"], List),
    setting("LSF", &["LSB_BIND_CPU_LIST"], List),
    setting("Intel MPI", &["I_MPI_PIN_PROCESSOR_LIST", "I_MPI_PIN_PROCS"], List),
    setting("Intel MPI", &["I_MPI_PIN_DOMAIN"], Masks),
    setting("MVAPICH", &["MV2_CPU_MAPPING"], ForEach(':')),
    setting("vLLM", &["VLLM_CPU_OMP_THREADS_BIND"], ForEach('|')),
    setting("llama.cpp", &["--cpu-mask"], Mask),
    setting(
        "",
        &["--cpu-range", "--cpu-list", "--cpu_list", "--core-list", "--core_list", "--cpu-set", "--cpulist"],
        List,
    ),
    setting("IIS", &["smpProcessorAffinityMask"], Integer),
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
    setting("", &["*cpu/nohz_full", "*cpu_core/cpus", "*cpu_atom/cpus", "*/cpus"], List),
    setting("Go", &["GOMAXPROCS"], Count("this is a number of threads: Go takes any cpus that the process may use")),
    setting("OpenMP", &["OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"], Count(THREADS)),
    setting(
        "",
        &["RAYON_NUM_THREADS", "TOKIO_WORKER_THREADS", "JULIA_NUM_THREADS", "UV_THREADPOOL_SIZE"],
        Count(THREADS),
    ),
    setting("nginx", &["worker_processes"], Count("this is a number of workers; worker_cpu_affinity names their cpus")),
    setting("HAProxy", &["nbthread", "nbproc"], Count("this is a number of threads; cpu-map names their cpus")),
    setting("the kernel", &["maxcpus", "nr_cpus"], Count("this is a number of cpus; isolcpus= names some")),
    setting("Java", &["-XX:ActiveProcessorCount"], Count(CPUS)),
    setting("Slurm", &["--cpus-per-task", "--cpus_per_task", "SLURM_CPUS_PER_TASK", "--ntasks"], Count(CPUS)),
    setting(
        "Kubernetes",
        &["cpu-quota", "--cpu-quota", "--cpu-shares", "CPUQuota", "CPUShares", "CPUWeight"],
        Count("this is a share of time on any cpu"),
    ),
    setting("Proxmox VE", &["--cores", "vcpus"], Count(CPUS)),
    setting("uWSGI", &["cpu-affinity"], Count("this is a number of cpus for each worker")),
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
    command(&["rtla", "oslat", "hwlatdetect"], &["-c", "--cpus", "--cpu-list"], List),
    command(&["firejail"], &["--cpu"], List),
    command(&["pepc"], &["--cpus"], List),
    command(&["trace-cmd"], &["-M"], Mask),
    command(&["cpuset"], &["-l"], List),
    command(&["dplace"], &["-c"], List),
    command(&["aprun"], &["-cc"], List),
    command(&["llama-cli", "llama-server", "llama-bench"], &["-C"], Mask),
    command(&["iperf3"], &["-A", "--affinity"], List),
    command(&["scylla"], &["--cpuset"], List),
];
