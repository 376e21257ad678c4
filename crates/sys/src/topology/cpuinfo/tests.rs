//! Tests of /proc/cpuinfo in its forms.

use super::*;
use crate::Root;
use proptest::prelude::*;

const X86: &str = "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 21\nmodel\t\t: 1\n\
    model name\t: AMD Opteron(TM) Processor 6276                 \nstepping\t: 2\nmicrocode\t: 0x600063e\n\
    physical id\t: 1\ncore id\t\t: 3\nflags\t\t: fpu lm\n\nprocessor\t: 5\nphysical id\t: 2\ncore id\t\t: 4\n";

fn processor(info: &CpuInfo, cpus: &[CpuFacts]) -> ProcessorFacts {
    let root = Root::from_files([("none", "")]);
    info.read_processor(cpus, &ValueReader::new(&root))
}

#[test]
fn x86_is_read() {
    let info = CpuInfo::parse(X86);
    let found = processor(&info, &[]);
    assert_eq!(found.model_name.as_deref(), Some("AMD Opteron(TM) Processor 6276"));
    assert_eq!((found.family, found.model, found.stepping), (Some(0x15), Some(1), Some(2)));
    assert_eq!(found.microcode.as_deref(), Some("0x600063e"));
    assert_eq!(info.listed_cpus().to_string(), "0,5");
    assert_eq!(info.entry_of(5), Some(&CpuInfoEntry { package: Some(2), core: Some(4), part: None }));
    assert_eq!(info.is_guest(), Some(false));
}

#[test]
fn arm_parts_are_named_the_fastest_first() {
    let text = "processor : 0\nCPU implementer : 0x41\nCPU part : 0xd87\n\nprocessor : 1\nCPU implementer : 0x41\nCPU part : 0xd85\n";
    let cpu = |number, capacity| CpuFacts { number, capacity: Some(capacity), ..CpuFacts::default() };
    let info = CpuInfo::parse(text);
    let found = processor(&info, &[cpu(0, 718), cpu(1, 1024)]);
    assert_eq!(found.model_name.as_deref(), Some("1x Cortex-X925 + 1x Cortex-A725"));
    assert_eq!(found.vendor.as_deref(), Some("ARM"));
    let one = processor(&info, &[cpu(1, 1024)]);
    assert_eq!(one.model_name.as_deref(), Some("Cortex-X925"));
    let unknown = CpuInfo::parse("processor : 0\nCPU implementer : 0x99\nCPU part : 0xfff\n");
    assert_eq!(processor(&unknown, &[cpu(0, 1)]).model_name.as_deref(), Some("implementer 0x99 part 0xfff"));
    assert_eq!(info.is_guest(), None);
}

#[test]
fn other_architectures_are_read() {
    let power = CpuInfo::parse("processor\t: 8\ncpu\t\t: POWER9, altivec supported\nrevision\t: 2.1 (pvr 004e 1201)\n");
    assert_eq!(processor(&power, &[]).model_name.as_deref(), Some("POWER9, altivec supported"));
    assert_eq!(power.architecture(), Some("ppc64"));
    let itanium = CpuInfo::parse("processor  : 0\nvendor     : GenuineIntel\narch       : IA-64\nfamily     : 32\n");
    assert_eq!(processor(&itanium, &[]).family, Some(32));
    assert_eq!(itanium.architecture(), Some("ia64"));
    let old_arm = CpuInfo::parse("Processor\t: ARMv7 Processor rev 1 (v7l)\nprocessor\t: 0\n\nSerial\t\t: 0000\n");
    assert_eq!(old_arm.listed_cpus().to_string(), "0");
}

#[test]
fn a_part_is_known_by_its_register_where_cpuinfo_does_not_say_it() {
    let root = Root::from_files([("sys/devices/system/cpu/cpu0/regs/identification/midr_el1", "0x00000000990faab3\n")]);
    let cpus = [CpuFacts::default()];
    let found = CpuInfo::default().read_processor(&cpus, &ValueReader::new(&root));
    assert_eq!(found.model_name.as_deref(), Some("implementer 0x99 part 0xaab"));
}

#[test]
fn the_processor_is_what_most_cpus_say() {
    let cpu = |number: u32, vendor: &str| format!("processor : {number}\nvendor_id : {vendor}\ncpu family : 21\n\n");
    let text = cpu(0, "AuthenticBMD") + &cpu(1, "AuthenticAMD") + &cpu(2, "AuthenticAMD");
    assert_eq!(processor(&CpuInfo::parse(&text), &[]).vendor.as_deref(), Some("AuthenticAMD"));
}

#[test]
fn nonsense_is_passed_over() {
    let info = CpuInfo::parse("processor: x\nprocessor: 99999999\nprocessor: 1\ncore id: y\n:\n::\nno colon\n");
    assert_eq!(info.listed_cpus().to_string(), "1");
    assert_eq!(info.entry_of(1), Some(&CpuInfoEntry::default()));
}

proptest! {
    #[test]
    fn no_text_panics(text in "(processor|core id|CPU part|CPU implementer|flags)?[ \t]*[:\n]?[ 0-9a-fx\n:-]*(.|\n){0,80}") {
        let info = CpuInfo::parse(&text);
        let _ = (processor(&info, &[CpuFacts::default()]), info.architecture(), info.is_guest());
    }
}
