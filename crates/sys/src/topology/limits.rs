//! The largest cpu number, and the folder of cpus.

use corewise_machine::Gap;

/// The folder of the files of cpus.
pub const CPUS: &str = "sys/devices/system/cpu";

/// Largest cpu number that is read: Linux is built for at most 8,192 cpus. The limit keeps an "online" of 0-65535, eight bytes of a hostile
/// recording, from taking gigabytes.
pub const LARGEST_CPU: u32 = 8_191;

/// Returns the gap of a source that names larger cpus.
pub fn larger_cpus() -> Gap {
    let most = LARGEST_CPU + 1;
    Gap::new(
        format!("cpus above {LARGEST_CPU}"),
        format!("they are not supported: Linux is built for at most {most} cpus"),
    )
}
