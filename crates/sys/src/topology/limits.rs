//! How many cpus are read, and where their files are.

use corewise_machine::Gap;

/// The folder of the files of cpus.
pub const CPUS: &str = "sys/devices/system/cpu";

/// The largest cpu number that is read: Linux is built for at most 8,192 cpus. It keeps an "online" of 0-65535, eight
/// bytes of a hostile recording, from taking gigabytes.
pub const LARGEST_CPU: u32 = 8_191;

/// The gap of a source that names more cpus.
pub fn larger_cpus() -> Gap {
    let most = LARGEST_CPU + 1;
    Gap::new(
        format!("cpus above {LARGEST_CPU}"),
        format!("they are not supported: Linux is built for at most {most} cpus"),
    )
}
