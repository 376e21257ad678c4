//! What disturbs cpus that should run one program alone: settings of the kernel, idle states, timers.

use std::collections::BTreeMap;

use corewise_machine::CpuSet;

use crate::root::Root;

/// The facts that were read; `None` or empty if the kernel does not report them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IsolationFacts {
    /// Flags and cpus of isolcpus= on the kernel's command line: "managed_irq,domain,2-7".
    pub isolcpus: Option<String>,
    /// Cpus whose callbacks of RCU run elsewhere: rcu_nocbs= and nohz_full=.
    pub without_callbacks: CpuSet,
    /// Cpus of isolated cpuset partitions: cpuset.cpus.isolated, since Linux 6.7.
    pub partitions: CpuSet,
    /// Cpus of unbound work queues: /sys/devices/virtual/workqueue/cpumask.
    pub work_queues: Option<CpuSet>,
    /// Cpus of interrupts of devices that appear later: /proc/irq/default_smp_affinity.
    pub new_interrupts: Option<CpuSet>,
    /// Cpus with the watchdog of hard lockups, whose performance counter interrupts now and then.
    pub watchdog: CpuSet,
    /// The chosen word of transparent_hugepage/enabled: "always", "madvise", "never".
    pub huge_pages: Option<String>,
    /// True if pages are moved between nodes: kernel.numa_balancing.
    pub balances_nodes: bool,
    /// Interval of updating statistics of memory, in seconds: vm.stat_interval.
    pub statistics_s: Option<u64>,
    /// Governor of each cpu: "performance", "schedutil".
    pub governors: BTreeMap<u32, String>,
    /// Deepest enabled idle state of each cpu: its name and the time to leave it, in microseconds.
    pub idle_states: BTreeMap<u32, (String, u64)>,
    /// Pending timers of each cpu by the name of their function, from /proc/timer_list, which only root may read.
    pub timers: Option<BTreeMap<u32, BTreeMap<String, usize>>>,
}

impl IsolationFacts {
    /// Reads the facts about these cpus.
    pub fn read_facts(root: &Root, cpus: &CpuSet) -> Self {
        let line = |path: &str| root.read_text(path).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let list = |path: &str| line(path).and_then(|text| CpuSet::parse_list(&text).ok());
        let mask = |path: &str| line(path).and_then(|text| CpuSet::parse_mask(&text).ok());
        let is_on = |path: &str| line(path).is_some_and(|text| text != "0");
        let words = line("proc/cmdline").unwrap_or_default();
        let parameter = |name: &str| find_parameter(&words, name).map(str::to_owned);
        let callbacks = ["rcu_nocbs", "nohz_full"].iter().filter_map(|name| CpuSet::parse_list(&parameter(name)?).ok());
        let watched = list("proc/sys/kernel/watchdog_cpumask").filter(|_| is_on("proc/sys/kernel/nmi_watchdog"));
        let of_cpu = |cpu: u32| format!("sys/devices/system/cpu/cpu{cpu}");
        let governor = |cpu: u32| Some((cpu, line(&format!("{}/cpufreq/scaling_governor", of_cpu(cpu)))?));
        Self {
            isolcpus: parameter("isolcpus"),
            without_callbacks: callbacks.fold(CpuSet::new(), |all, cpus| all.union(&cpus)),
            partitions: list("sys/fs/cgroup/cpuset.cpus.isolated").unwrap_or_default(),
            work_queues: mask("sys/devices/virtual/workqueue/cpumask"),
            new_interrupts: mask("proc/irq/default_smp_affinity"),
            watchdog: watched.unwrap_or_default(),
            huge_pages: line("sys/kernel/mm/transparent_hugepage/enabled").and_then(|text| chosen_word(&text)),
            balances_nodes: is_on("proc/sys/kernel/numa_balancing"),
            statistics_s: line("proc/sys/vm/stat_interval").and_then(|text| text.parse().ok()),
            governors: cpus.iter().filter_map(governor).collect(),
            idle_states: cpus.iter().filter_map(|cpu| Some((cpu, deepest_state(root, &of_cpu(cpu))?))).collect(),
            timers: root.read_text("proc/timer_list").map(|text| parse_timers(&text)),
        }
    }
}

/// Returns the value of a parameter on the kernel's command line; the last one counts.
fn find_parameter<'a>(words: &'a str, name: &str) -> Option<&'a str> {
    words.split_whitespace().rev().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
}

/// Returns the word in brackets: "always [madvise] never".
fn chosen_word(text: &str) -> Option<String> {
    Some(text.split_once('[')?.1.split_once(']')?.0.to_owned())
}

/// Returns the name and exit latency of the deepest idle state that is not disabled.
fn deepest_state(root: &Root, folder: &str) -> Option<(String, u64)> {
    let states = root.list_folder(&format!("{folder}/cpuidle"));
    let read = |state: &String, name: &str| {
        root.read_text(&format!("{folder}/cpuidle/{state}/{name}")).map(|text| text.trim().to_owned())
    };
    let enabled = states.iter().filter(|state| read(state, "disable").is_none_or(|text| text == "0"));
    let known = enabled.filter_map(|state| Some((read(state, "name")?, read(state, "latency")?.parse().ok()?)));
    known.max_by_key(|(_, latency_us)| *latency_us)
}

/// Counts the pending timers of each cpu by function, in the form of kernel/time/timer_list.c: "cpu: 3", " #0: <ffff…>, tick_nohz_handler,
/// S:01".
fn parse_timers(text: &str) -> BTreeMap<u32, BTreeMap<String, usize>> {
    let mut timers: BTreeMap<u32, BTreeMap<String, usize>> = BTreeMap::new();
    let mut current = None;
    for line in text.lines() {
        if let Some(cpu) = line.strip_prefix("cpu:") {
            current = cpu.trim().parse().ok();
        } else if line.starts_with("Tick Device") {
            current = None;
        } else if let (Some(cpu), Some(timer)) = (current, line.trim_start().strip_prefix('#'))
            && timer.starts_with(|first: char| first.is_ascii_digit())
        {
            let function = timer.split(", ").nth(1).unwrap_or("unknown");
            *timers.entry(cpu).or_default().entry(function.to_owned()).or_default() += 1;
        }
    }
    timers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_words_and_timers_are_read_as_the_kernel_writes_them() {
        let words = "ro isolcpus=managed_irq,domain,2-5 rcu_nocbs=2-3 isolcpus=4";
        assert_eq!((find_parameter(words, "isolcpus"), find_parameter(words, "nohz_full")), (Some("4"), None));
        assert_eq!(chosen_word("always [madvise] never").as_deref(), Some("madvise"));
        let text = "Timer List Version: v0.9\n\ncpu: 0\n clock 0:\nactive timers:\n #0: <ffff>, tick_nohz_handler, S:01\n \
                    # expires at 1-1 nsecs\n #1: <ffff>, hrtimer_wakeup, S:01, schedule, app/12\n #2: <ffff>, hrtimer_wakeup, \
                    S:01\n\ncpu: 1\nactive timers:\n\nTick Device: mode:     1\n #0: x, y\n";
        let timers = parse_timers(text);
        let of_first: Vec<(&str, usize)> = timers[&0].iter().map(|(name, count)| (name.as_str(), *count)).collect();
        assert_eq!(of_first, [("hrtimer_wakeup", 2), ("tick_nohz_handler", 1)]);
        assert_eq!(timers.len(), 1, "{timers:?}");
    }
}
