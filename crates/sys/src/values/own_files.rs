//! The names under which a recording keeps what a system describes by calls and not by files. They are no files of the machine.

/// What GetLogicalProcessorInformationEx writes for all relations, in hexadecimal.
pub const LOGICAL_PROCESSORS: &str = "windows/logical-processors";

/// What GetSystemCpuSetInformation writes, in hexadecimal.
pub const CPU_SETS: &str = "windows/cpu-sets";

/// What the processor and the system are called, memory and affinity: lines `KEY: VALUE`.
pub const ABOUT_WINDOWS: &str = "windows/about";
