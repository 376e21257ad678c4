//! Kernel, architecture and hypervisor.

use std::collections::BTreeMap;

use corewise_machine::machine::SystemFacts;

use super::cpuinfo::CpuInfo;
use super::reader::ValueReader;
use crate::root::{EMULATOR, HYPERVISOR, SCHEDULING, VULNERABILITIES, usual_name};

/// Maximum number of vulnerabilities; Linux 6.18 names 19.
const MOST_VULNERABILITIES: usize = 64;
/// Longest kept state of a vulnerability, in characters.
const LONGEST_STATE: usize = 100;

/// Reads the kernel's facts and the hypervisor.
pub fn read_system(reader: &ValueReader, info: &CpuInfo, governors: Vec<String>) -> SystemFacts {
    SystemFacts {
        architecture: read_architecture(reader, info),
        kernel: kernel_release(reader),
        hypervisor: find_hypervisor(reader, info),
        // It comes from the running machine alone, so that no recording has it.
        host: None,
        emulated: by_processor(reader).1,
        governors,
        scheduling: SCHEDULING
            .iter()
            .filter_map(|(name, file)| Some(((*name).to_owned(), reader.read_word(file)?)))
            .collect(),
        vulnerabilities: read_vulnerabilities(reader),
    }
}

/// Reads the state of each vulnerability, without the details behind it: "Mitigation: Retpolines; STIBP: disabled; …".
fn read_vulnerabilities(reader: &ValueReader) -> BTreeMap<String, String> {
    let names = reader.folder_names(VULNERABILITIES).into_iter().take(MOST_VULNERABILITIES);
    let state = |name: String| {
        let text = reader.read_word(&format!("{VULNERABILITIES}/{name}"))?;
        let state: String = text.split(';').next().unwrap_or_default().trim().chars().take(LONGEST_STATE).collect();
        (!state.is_empty()).then_some((name, state))
    };
    names.filter_map(state).collect()
}

/// Returns the hypervisor by the processor's report, and true for an emulator.
pub fn by_processor(reader: &ValueReader) -> (Option<String>, bool) {
    let emulated = reader.read_word(HYPERVISOR).as_deref() == Some(EMULATOR);
    (hypervisor_by_processor(reader).map(str::to_owned), emulated)
}

/// Returns the architecture: from the kernel (since 6.1), from hwloc's recorder, or by the form of /proc/cpuinfo.
fn read_architecture(reader: &ValueReader, info: &CpuInfo) -> Option<String> {
    let by_form = || info.architecture().map(str::to_owned);
    reader.read_word("proc/sys/kernel/arch").or_else(|| noted_value(reader, "Architecture")).or_else(by_form)
}

/// Returns the kernel's release: "6.18.2-arch1".
fn kernel_release(reader: &ValueReader) -> Option<String> {
    let release = |text: &str| text.strip_prefix("Linux version ")?.split_whitespace().next().map(str::to_owned);
    let version = || release(&reader.read_text("proc/version")?);
    reader.read_word("proc/sys/kernel/osrelease").or_else(version).or_else(|| noted_value(reader, "OSRelease"))
}

/// Returns a value of uname that hwloc-gather-topology notes in its recordings.
fn noted_value(reader: &ValueReader, name: &str) -> Option<String> {
    let notes = reader.read_text("proc/hwloc-nofile-info")?;
    let (_, value) = notes.lines().filter_map(|line| line.split_once(':')).find(|(key, _)| *key == name)?;
    Some(value.trim().to_owned()).filter(|value| !value.is_empty())
}

/// Returns the hypervisor by its traces in a guest: Xen's own file, the firmware's vendor, the processor, the available clock. An x86 cpu
/// without the `hypervisor` flag is no guest; other architectures have no such flag and only the names decide. QEMU's firmware does not
/// reveal what runs its cpus, so the processor takes precedence.
fn find_hypervisor(reader: &ValueReader, info: &CpuInfo) -> Option<String> {
    if info.is_guest() == Some(false) {
        return None;
    }
    let machine = hypervisor_by_firmware(reader);
    let named =
        xen_guest(reader).or_else(|| machine.filter(|name| *name != QEMU)).or_else(|| hypervisor_by_processor(reader));
    named
        .or_else(|| hypervisor_by_clock(reader))
        .or(machine)
        .or_else(|| info.is_guest().map(|_| "a virtual machine"))
        .map(str::to_owned)
}

const QEMU: &str = "QEMU";

fn xen_guest(reader: &ValueReader) -> Option<&'static str> {
    (reader.read_word("sys/hypervisor/type")? == "xen").then_some("Xen")
}

/// Names a hypervisor by words in the firmware's vendor and product.
fn hypervisor_by_firmware(reader: &ValueReader) -> Option<&'static str> {
    let field = |name: &str| {
        let places = ["sys/devices/virtual/dmi/id", "sys/class/dmi/id"];
        places.iter().find_map(|place| reader.read_word(&format!("{place}/{name}"))).unwrap_or_default()
    };
    let words = format!("{} {}", field("sys_vendor"), field("product_name"));
    let names = [
        ("KVM", "KVM"),
        (QEMU, QEMU),
        ("VMware", "VMware"),
        ("VirtualBox", "VirtualBox"),
        ("innotek", "VirtualBox"),
        ("Xen", "Xen"),
        ("Amazon EC2", "Amazon EC2"),
        ("Google Compute Engine", "Google Compute Engine"),
        ("Microsoft Corporation Virtual Machine", "Hyper-V"),
        ("Parallels", "Parallels"),
        ("BHYVE", "bhyve"),
        ("Apple Virtualization", "Apple Virtualization"),
        ("OpenStack", "OpenStack"),
        ("Alibaba Cloud ECS", "Alibaba Cloud"),
    ];
    let metal = words.trim_end().ends_with(".metal");
    names.iter().find(|(word, _)| words.contains(word) && !metal).map(|(_, name)| *name)
}

fn hypervisor_by_processor(reader: &ValueReader) -> Option<&'static str> {
    usual_name(&reader.read_word(HYPERVISOR)?)
}

/// Names a hypervisor by clocks that only its guests have.
fn hypervisor_by_clock(reader: &ValueReader) -> Option<&'static str> {
    let clocks = reader.read_word("sys/devices/system/clocksource/clocksource0/available_clocksource")?;
    let names = [("kvm-clock", "KVM"), ("hyperv_clocksource", "Hyper-V"), ("xen", "Xen")];
    names.iter().find(|(clock, _)| clocks.contains(clock)).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Root;

    const GUEST: &str = "processor : 0\nvendor_id : AuthenticAMD\nflags : fpu lm hypervisor\n";
    const METAL: &str = "processor : 0\nvendor_id : AuthenticAMD\nflags : fpu lm\n";
    const ARM: &str = "processor : 0\nCPU implementer : 0x41\nCPU architecture: 8\n";
    const VENDOR: &str = "sys/devices/virtual/dmi/id/sys_vendor";
    const PRODUCT: &str = "sys/class/dmi/id/product_name";

    fn found(files: &[(&str, &str)]) -> SystemFacts {
        let root = Root::from_files(files.iter().copied());
        let reader = ValueReader::new(&root);
        read_system(&reader, &CpuInfo::parse(&reader.read_text("proc/cpuinfo").unwrap_or_default()), Vec::new())
    }

    fn hypervisor(files: &[(&str, &str)]) -> String {
        found(files).hypervisor.unwrap_or_default()
    }

    #[test]
    fn a_guest_is_named_as_well_as_can_be() {
        assert_eq!(hypervisor(&[("proc/cpuinfo", GUEST)]), "a virtual machine");
        assert_eq!(hypervisor(&[("proc/cpuinfo", GUEST), (VENDOR, "QEMU\n")]), "QEMU");
        assert_eq!(hypervisor(&[("proc/cpuinfo", GUEST), ("sys/hypervisor/type", "xen\n")]), "Xen");
        let clocks = "sys/devices/system/clocksource/clocksource0/available_clocksource";
        assert_eq!(hypervisor(&[("proc/cpuinfo", GUEST), (clocks, "tsc kvm-clock \n")]), "KVM");
        assert_eq!(
            hypervisor(&[("proc/cpuinfo", ARM), (VENDOR, "Amazon EC2\n"), (PRODUCT, "c7g.large\n")]),
            "Amazon EC2"
        );
    }

    #[test]
    fn the_processor_tells_an_emulator_from_a_hypervisor() {
        let files = |name| [("proc/cpuinfo", GUEST), (VENDOR, "QEMU\n"), (HYPERVISOR, name)];
        let system = |name| (found(&files(name)).hypervisor.unwrap_or_default(), found(&files(name)).emulated);
        assert_eq!(system("TCGTCGTCGTCG"), ("QEMU".to_owned(), true));
        assert_eq!(system("KVMKVMKVM"), ("KVM".to_owned(), false));
        assert_eq!(system("Microsoft Hv"), ("Hyper-V".to_owned(), false));
        assert_eq!(system("unheard of"), ("QEMU".to_owned(), false));
    }

    #[test]
    fn bare_metal_has_none() {
        assert_eq!(hypervisor(&[("proc/cpuinfo", METAL), (VENDOR, "QEMU\n")]), "", "the cpu says that it is no guest");
        assert_eq!(hypervisor(&[("proc/cpuinfo", ARM), (VENDOR, "NVIDIA\n")]), "");
        assert_eq!(hypervisor(&[("proc/cpuinfo", ARM), (VENDOR, "Amazon EC2\n"), (PRODUCT, "c7g.metal\n")]), "");
        assert_eq!(hypervisor(&[]), "");
    }

    #[test]
    fn the_scheduling_environment_is_what_can_be_read() {
        let files = [("proc/sys/kernel/numa_balancing", "1\n"), ("sys/kernel/sched_ext/root/ops", "rusty_1.0\n")];
        let found: Vec<_> = found(&files).scheduling.into_iter().collect();
        assert_eq!(
            found,
            [("numa_balancing", "1"), ("sched_ext_ops", "rusty_1.0")].map(|(a, b)| (a.to_owned(), b.to_owned()))
        );
    }

    #[test]
    fn vulnerabilities_are_read_without_their_details() {
        let file = |name: &str| format!("{VULNERABILITIES}/{name}");
        let files = [
            (file("spectre_v2"), "Mitigation: Retpolines; IBPB: conditional; STIBP: disabled\n"),
            (file("meltdown"), "Not affected\n"),
            (file("mds"), "Vulnerable: Clear CPU buffers attempted, no microcode; SMT Host state unknown\n"),
        ];
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let found: Vec<(String, String)> = found(&files).vulnerabilities.into_iter().collect();
        let expected = [
            ("mds", "Vulnerable: Clear CPU buffers attempted, no microcode"),
            ("meltdown", "Not affected"),
            ("spectre_v2", "Mitigation: Retpolines"),
        ];
        assert_eq!(found, expected.map(|(name, state)| (name.to_owned(), state.to_owned())));
    }

    #[test]
    fn kernel_and_architecture_have_two_sources() {
        let version = ("proc/version", "Linux version 6.1.0-13-amd64 (someone@host) (gcc) #1 SMP\n");
        assert_eq!(found(&[version]).kernel.as_deref(), Some("6.1.0-13-amd64"));
        assert_eq!(found(&[version, ("proc/sys/kernel/osrelease", "6.18.2\n")]).kernel.as_deref(), Some("6.18.2"));
        assert_eq!(found(&[("proc/cpuinfo", METAL)]).architecture.as_deref(), Some("x86_64"));
        assert_eq!(found(&[("proc/cpuinfo", ARM)]).architecture.as_deref(), Some("aarch64"));
        let notes = ("proc/hwloc-nofile-info", "OSName: Linux\nOSRelease: 3.10.0\nArchitecture: ppc64le\n");
        assert_eq!(found(&[notes]).kernel.as_deref(), Some("3.10.0"));
        assert_eq!(found(&[notes]).architecture.as_deref(), Some("ppc64le"));
        assert_eq!(found(&[("proc/sys/kernel/arch", "riscv64\n")]).architecture.as_deref(), Some("riscv64"));
    }
}
