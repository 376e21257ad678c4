//! What the processor itself says of the hypervisor that it is a guest of.

/// The name under which a recording keeps it. It is no file of the machine: an instruction tells it.
pub const HYPERVISOR: &str = "cpuid/hypervisor";

/// The names that hypervisors give themselves, and what they are called.
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

/// The name of QEMU's translator (TCG), which emulates every instruction. QEMU beside KVM has KVM's.
pub const EMULATOR: &str = "TCGTCGTCGTCG";

/// What a hypervisor of this name is called.
pub fn called(name: &str) -> Option<&'static str> {
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, called)| *called)
}

/// The name that the hypervisor of this machine gives itself, where it has a known one.
///
/// Some pass for Hyper-V first, so that Windows talks to them, and give their own name 0x100 leaves behind.
pub fn name() -> Option<String> {
    const PLACES: [u32; 2] = [0x4000_0100, 0x4000_0000];
    PLACES.into_iter().filter_map(name_at).find(|name| called(name).is_some())
}

#[cfg(target_arch = "x86_64")]
fn name_at(leaf: u32) -> Option<String> {
    use std::arch::x86_64::__cpuid;
    const GUEST: u32 = 1 << 31;
    // SAFETY: every x86-64 processor has CPUID and its leaf 1; a leaf that it lacks gives values that mean nothing.
    #[allow(unused_unsafe)]
    let (is_guest, told) = unsafe { (__cpuid(1).ecx & GUEST != 0, __cpuid(leaf)) };
    let bytes: Vec<u8> = [told.ebx, told.ecx, told.edx].into_iter().flat_map(u32::to_le_bytes).collect();
    let text = String::from_utf8(bytes).ok().filter(|_| is_guest)?;
    Some(text.trim_matches(['\0', ' ']).to_owned())
}

#[cfg(not(target_arch = "x86_64"))]
fn name_at(_: u32) -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_of_a_known_hypervisor_has_its_name() {
        assert_eq!(called("KVMKVMKVM"), Some("KVM"));
        assert_eq!(called("KVM"), None);
        // Whatever this machine is, the name that it gives is a known one.
        assert!(name().is_none_or(|name| called(&name).is_some()));
    }
}
