//! Interrupts that the kernel lets no user move: their files have no write permission, and their text does not show it.

use std::fs;

/// Name of the recorded file with their numbers, one a line. The machine has no such file.
pub const FIXED_INTERRUPTS: &str = "proc/irq/corewise-fixed";

const FOLDER: &str = "/proc/irq";

/// Returns the numbers on this machine; `None` if there is no /proc/irq.
///
/// Linux, `kernel/irq/proc.c`, `register_irq_proc`: newer kernels make the file `smp_affinity_list` writable only if
/// `irq_can_set_affinity_usr` allows it. Older ones always do.
pub fn fixed_numbers() -> Option<String> {
    let mut numbers: Vec<u32> =
        fs::read_dir(FOLDER).ok()?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    numbers.sort_unstable();
    let is_fixed = |number: &u32| {
        let file = fs::metadata(format!("{FOLDER}/{number}/smp_affinity_list"));
        file.is_ok_and(|file| file.permissions().readonly())
    };
    Some(numbers.into_iter().filter(is_fixed).map(|number| format!("{number}\n")).collect())
}
