//! Which interrupts the kernel lets nobody move: it gives their files no permission to write, which no text of theirs tells.

use std::fs;

/// The name under which a recording keeps their numbers, one a line. It is no file of the machine.
pub const FIXED_INTERRUPTS: &str = "proc/irq/corewise-fixed";

const FOLDER: &str = "/proc/irq";

/// The numbers of this machine's; nothing where there is no /proc/irq.
///
/// Linux, `kernel/irq/proc.c`, `register_irq_proc`: newer kernels give the file `smp_affinity_list` permission to write only
/// where `irq_can_set_affinity_usr` says so. Older ones give it to all.
pub fn numbers() -> Option<String> {
    let mut numbers: Vec<u32> =
        fs::read_dir(FOLDER).ok()?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    numbers.sort_unstable();
    let is_fixed = |number: &u32| {
        let file = fs::metadata(format!("{FOLDER}/{number}/smp_affinity_list"));
        file.is_ok_and(|file| file.permissions().readonly())
    };
    Some(numbers.into_iter().filter(is_fixed).map(|number| format!("{number}\n")).collect())
}
