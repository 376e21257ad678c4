//! Names of recorded files for facts that a system describes by calls. The machine has no such files.

/// Result of GetLogicalProcessorInformationEx for all relations, in hexadecimal.
pub const LOGICAL_PROCESSORS: &str = "windows/logical-processors";

/// Result of GetSystemCpuSetInformation, in hexadecimal.
pub const CPU_SETS: &str = "windows/cpu-sets";

/// Names of processor and system, memory and affinity: lines `KEY: VALUE`.
pub const ABOUT_WINDOWS: &str = "windows/about";
