//! Plain names of interrupt sources; interrupts of devices, and moving them.

pub mod device;
pub mod near;
pub mod plan;
pub mod spread;

/// Returns the plain name of an interrupt source of [`crate::counts::Count`]: "timer" for "LOC", "virtio1-req.0" for "36 virtio1-req.0".
/// Unknown names are returned unchanged.
///
/// The short names are from the kernel's `arch_show_interrupts` (arch/x86/kernel/irq.c, arch/arm64/kernel/smp.c).
pub fn plain_name(source: &str) -> &str {
    if let Some((number, device)) = source.split_once(' ')
        && number.bytes().all(|byte| byte.is_ascii_digit())
    {
        return if device.contains("arch_timer") { "timer" } else { device };
    }
    match source {
        "LOC" => "timer",
        "RES" | "IPI0" => "reschedule",
        "CAL" | "IPI1" => "function call",
        "TLB" => "TLB shootdown",
        "NMI" => "non-maskable",
        "PMI" => "performance counter",
        "IWI" => "irq work",
        "TRM" => "thermal",
        "THR" => "threshold",
        "DFR" => "deferred error",
        "MCE" => "machine check",
        "MCP" => "machine check poll",
        "HYP" => "hypervisor callback",
        "SPU" => "spurious",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::plain_name;

    #[test]
    fn devices_lose_their_number_and_vectors_get_a_name() {
        let named = [
            ("LOC", "timer"),
            ("36 virtio1-req.0", "virtio1-req.0"),
            ("130 arch_timer", "timer"),
            ("17", "17"),
            ("XYZ", "XYZ"),
            ("NET_RX", "NET_RX"),
        ];
        for (source, name) in named {
            assert_eq!(plain_name(source), name);
        }
    }
}
