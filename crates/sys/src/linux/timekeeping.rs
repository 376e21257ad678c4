//! Checks if the kernel lets this process read the TSC, and trusts it itself.

/// The kernel's list of usable clocks. It removes "tsc" if it finds it unstable or different from cpu to cpu
/// (Documentation/admin-guide/kernel-parameters, `tsc=`).
const AVAILABLE: &str = "/sys/devices/system/clocksource/clocksource0/available_clocksource";

/// Returns true if this process may read the TSC (prctl(2), PR_GET_TSC) and the kernel lists it among its clocks. If the list cannot be
/// read, as in a container without /sys, the processor's flag is enough.
pub fn tsc_is_trusted() -> bool {
    let kernel_trusts = std::fs::read_to_string(AVAILABLE).map_or(true, |clocks| lists_tsc(&clocks));
    kernel_trusts && may_read_tsc()
}

fn lists_tsc(clocks: &str) -> bool {
    clocks.split_whitespace().any(|clock| clock == "tsc")
}

fn may_read_tsc() -> bool {
    let mut mode: libc::c_int = 0;
    // SAFETY: the kernel writes one int to the address, which outlives the call.
    let result = unsafe { libc::prctl(libc::PR_GET_TSC, &raw mut mode) };
    // Kernels without the call never forbid it.
    result != 0 || mode == libc::PR_TSC_ENABLE
}

#[cfg(test)]
mod tests {
    use super::lists_tsc;

    #[test]
    fn the_list_is_of_whole_words() {
        assert!(lists_tsc("tsc kvm-clock acpi_pm \n"));
        assert!(!lists_tsc("hpet acpi_pm tsc-early\n"));
    }
}
