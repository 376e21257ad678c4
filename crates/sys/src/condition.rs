//! State of a machine before measuring: facts that affect times and the visibility of events, as its kernel reports them.

use std::collections::BTreeMap;

use crate::root::Root;
pub use crate::values::lockdown::{HIDES_ALL, UNLOCK};
use crate::values::lockdown::{LOCKDOWN_STATE, parse_lockdown};

/// Settings that may differ between machines of one order, with their files.
const NODE_SETTINGS: [(&str, &str); 8] = [
    ("bios_date", "sys/class/dmi/id/bios_date"),
    ("bios_version", "sys/class/dmi/id/bios_version"),
    ("boost", "sys/devices/system/cpu/cpufreq/boost"),
    ("clock_source", "sys/devices/system/clocksource/clocksource0/current_clocksource"),
    ("idle_driver", "sys/devices/system/cpu/cpuidle/current_driver"),
    ("no_turbo", "sys/devices/system/cpu/intel_pstate/no_turbo"),
    ("smt", "sys/devices/system/cpu/smt/control"),
    ("transparent_hugepage", "sys/kernel/mm/transparent_hugepage/enabled"),
];
/// Words on the kernel's command line that differ on every machine, or name hosts and disks.
const OWN_WORDS: [&str; 9] =
    ["BOOT_IMAGE", "root", "initrd", "ip", "hostname", "resume", "BOOTIF", "systemd.machine_id", "nfsroot"];

/// The facts that were read; `None` if the kernel does not report them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SystemCondition {
    /// Restriction on counting events: kernel.perf_event_paranoid.
    pub paranoid: Option<String>,
    /// The clock source that the kernel itself uses: "tsc", "kvm-clock".
    pub clock_source: Option<String>,
    /// SMT state, threads per core: "on", "off", "notsupported".
    pub siblings: Option<String>,
    /// The load average of the last minute.
    pub load: Option<f64>,
    /// The mode of the kernel's lockdown; `None` also if it is not locked down.
    pub lockdown: Option<String>,
    /// Time that a hypervisor took from all cpus since the start, in kernel ticks.
    pub stolen_ticks: Option<u64>,
}

impl SystemCondition {
    /// Reads the facts.
    pub fn read_condition(root: &Root) -> Self {
        let line = |path: &str| root.read_text(path).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        // "cpu  user nice system idle iowait irq softirq steal": proc_stat(5).
        let times = line("proc/stat");
        let stolen = times.as_ref().and_then(|text| text.lines().next()?.split_whitespace().nth(8)?.parse().ok());
        Self {
            paranoid: line("proc/sys/kernel/perf_event_paranoid"),
            clock_source: line("sys/devices/system/clocksource/clocksource0/current_clocksource"),
            siblings: line("sys/devices/system/cpu/smt/control"),
            load: line("proc/loadavg").and_then(|text| text.split_whitespace().next()?.parse().ok()),
            lockdown: line(LOCKDOWN_STATE).and_then(|text| parse_lockdown(&text).map(str::to_owned)),
            stolen_ticks: stolen,
        }
    }
}

/// Reads settings of a machine that [`Machine::environment`](corewise_machine::Machine::environment) lacks, by name, as far as they are
/// known: firmware, huge pages, the kernel's command line without what names this machine, memory modules.
pub fn read_node_settings(root: &Root) -> BTreeMap<String, String> {
    let word = |path: &str| root.read_text(path).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    // "always [madvise] never" is a choice.
    let chosen = |text: String| match text.split_once('[').and_then(|(_, rest)| rest.split_once(']')) {
        Some((chosen, _)) => chosen.to_owned(),
        None => text,
    };
    let known = NODE_SETTINGS.iter().filter_map(|(name, file)| Some(((*name).to_owned(), chosen(word(file)?))));
    let mut settings: BTreeMap<String, String> = known.collect();
    settings.extend(word("proc/cmdline").map(|line| ("command_line".to_owned(), without_own_words(&line))));
    settings.extend(count_memory_modules(root).map(|modules| ("memory_modules".to_owned(), modules)));
    settings
}

fn without_own_words(line: &str) -> String {
    let is_own = |word: &&str| OWN_WORDS.contains(&word.split('=').next().unwrap_or_default());
    line.split_whitespace().filter(|word| !is_own(word)).collect::<Vec<_>>().join(" ")
}

/// Counts the memory modules by their size in MiB, as the kernel's error detection knows them: "8 x 32768"; `None` if it knows none.
fn count_memory_modules(root: &Root) -> Option<String> {
    const CONTROLLERS: &str = "sys/devices/system/edac/mc";
    let mut sizes: BTreeMap<u64, usize> = BTreeMap::new();
    for controller in root.list_folder(CONTROLLERS) {
        let folder = format!("{CONTROLLERS}/{controller}");
        for module in root.list_folder(&folder) {
            let size = root.read_text(&format!("{folder}/{module}/size")).and_then(|text| text.trim().parse().ok());
            if let Some(size) = size.filter(|size| *size > 0) {
                *sizes.entry(size).or_default() += 1;
            }
        }
    }
    let words: Vec<String> = sizes.iter().map(|(size, count)| format!("{count} x {size}")).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_a_machine_name_neither_its_disk_nor_its_host() {
        let root = Root::from_files([
            ("sys/class/dmi/id/bios_date", "03/14/2025\n"),
            ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
            ("proc/cmdline", "BOOT_IMAGE=/vmlinuz root=UUID=1234 ro mitigations=off ip=10.0.0.3 rootwait\n"),
            ("sys/devices/system/edac/mc/mc0/dimm0/size", "32768\n"),
            ("sys/devices/system/edac/mc/mc0/dimm1/size", "0\n"),
            ("sys/devices/system/edac/mc/mc1/dimm0/size", "32768\n"),
        ]);
        let settings = read_node_settings(&root);
        let settings: Vec<(&str, &str)> =
            settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(
            settings,
            [
                ("bios_date", "03/14/2025"),
                ("command_line", "ro mitigations=off rootwait"),
                ("memory_modules", "2 x 32768"),
                ("transparent_hugepage", "madvise"),
            ]
        );
    }
}
