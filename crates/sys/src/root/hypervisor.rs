//! The processor's own report of its hypervisor.

/// Name of the recorded file with it. The machine has no such file: the name comes from an instruction.
pub const HYPERVISOR: &str = "cpuid/hypervisor";

/// Names that hypervisors report, and their usual names.
///
/// CPUID leaf 0x4000_0000, EBX, ECX and EDX; Linux, `arch/x86/kernel/cpu/hypervisor.c` and the files that it names.
const NAMES: [(&str, &str); 9] = [
    ("KVMKVMKVM", "KVM"),
    (EMULATOR, "QEMU"),
    ("Microsoft Hv", "Hyper-V"),
    ("VMwareVMware", "VMware"),
    ("XenVMMXenVMM", "Xen"),
    ("VBoxVBoxVBox", "VirtualBox"),
    ("bhyve bhyve", "bhyve"),
    ("prl hyperv", "Parallels"),
    ("ACRNACRNACRN", "ACRN"),
];

/// The name of QEMU's translator (TCG), which emulates every instruction. QEMU with KVM reports KVM's.
pub const EMULATOR: &str = "TCGTCGTCGTCG";

/// Returns the usual name of a hypervisor.
pub fn usual_name(name: &str) -> Option<&'static str> {
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, called)| *called)
}

const HYPER_V: &str = "Microsoft Hv";

/// Returns the name that this machine's hypervisor reports, if it is a known one.
///
/// Under Hyper-V, the managing Windows is a guest itself, as is every Windows with virtualization-based security. It has the real
/// processors, and is not counted as a guest.
///
/// Some hypervisors imitate Hyper-V first, for Windows guests, and report their own name 0x100 leaves later.
pub fn own_hypervisor() -> Option<String> {
    known_name(told_at)
}

/// Hyper-V's leaf of features, and the flag in EBX of the managing guest: Linux, `HYPERV_CPUID_FEATURES` and `HV_CPU_MANAGEMENT` in
/// `include/hyperv/hvgdk_mini.h`.
const FEATURES: u32 = 0x4000_0003;
const CPU_MANAGEMENT: u32 = 1 << 12;

/// Returns the first known name at the two places.
fn known_name(told_at: impl Fn(u32) -> Option<[u32; 3]>) -> Option<String> {
    const PLACES: [u32; 2] = [0x4000_0100, 0x4000_0000];
    let text = |registers: [u32; 3]| String::from_utf8(registers.into_iter().flat_map(u32::to_le_bytes).collect()).ok();
    let names = PLACES.into_iter().filter_map(|leaf| text(told_at(leaf)?));
    let name = names.map(|name| name.trim_matches(['\0', ' ']).to_owned()).find(|name| usual_name(name).is_some());
    name.filter(|name| name != HYPER_V || told_at(FEATURES).is_none_or(|[rights, ..]| rights & CPU_MANAGEMENT == 0))
}

/// Returns EBX, ECX and EDX of a leaf; `None` if this is no guest.
#[cfg(target_arch = "x86_64")]
fn told_at(leaf: u32) -> Option<[u32; 3]> {
    use std::arch::x86_64::__cpuid;
    const GUEST: u32 = 1 << 31;
    // SAFETY: every x86-64 processor has CPUID and its leaf 1; a missing leaf gives meaningless values.
    #[allow(unused_unsafe, reason = "newer toolchains make it a safe function")]
    let (is_guest, told) = unsafe { (__cpuid(1).ecx & GUEST != 0, __cpuid(leaf)) };
    is_guest.then_some([told.ebx, told.ecx, told.edx])
}

#[cfg(not(target_arch = "x86_64"))]
fn told_at(_: u32) -> Option<[u32; 3]> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_has_the_name_of_its_hypervisor() {
        let told = |first: &'static [u8; 12], second: &'static [u8; 12]| {
            known_name(move |leaf| {
                let bytes = if leaf == 0x4000_0000 { first } else { second };
                let register = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
                Some([register(0), register(4), register(8)])
            })
        };
        let nothing = b"\0\0\0\0\0\0\0\0\0\0\0\0";
        assert_eq!(told(b"KVMKVMKVM\0\0\0", nothing).as_deref(), Some("KVMKVMKVM"));
        assert_eq!(told(b"bhyve bhyve ", nothing).as_deref(), Some("bhyve bhyve"));
        assert_eq!(told(b"Microsoft Hv", b"KVMKVMKVM\0\0\0").as_deref(), Some("KVMKVMKVM"), "its own name is behind");
        assert_eq!(told(b"unheard of!!", &[0xff; 12]), None);
        assert_eq!(told(b"Microsoft Hv", nothing).as_deref(), Some("Microsoft Hv"));
        assert_eq!(told(b"Microsoft Hv", b"\0\x10\0\0\0\0\0\0\0\0\0\0"), None, "it manages the machine");
        assert_eq!(known_name(|_| None), None, "no guest");
        assert_eq!(usual_name("TCGTCGTCGTCG"), Some("QEMU"));
    }
}
