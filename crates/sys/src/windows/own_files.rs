//! The machine's description of itself: the buffers of two calls, and the names of processor and system.

use std::fmt::Write as _;

use windows_sys::Win32::System::Registry::{HKEY_LOCAL_MACHINE, RRF_RT_REG_SZ, RegGetValueW};
use windows_sys::Win32::System::SystemInformation::{GlobalMemoryStatusEx, MEMORYSTATUSEX};
use windows_sys::Win32::System::Threading::{GetNumaAvailableMemoryNodeEx, GetNumaHighestNodeNumber};

use super::text::{from_wide, to_wide};
use super::version::{windows_version, wine_version};
use super::{cpuset, processors};
use crate::values::own_files::{ABOUT_WINDOWS, CPU_SETS, LOGICAL_PROCESSORS};

/// Root folder of a machine's files: there is none.
pub const FOLDER: Option<&str> = None;

/// Returns results of calls as a recording keeps them.
pub fn described_text(path: &str) -> Option<String> {
    match path {
        LOGICAL_PROCESSORS => processors::all_relations().map(|bytes| format_hexadecimal(&bytes)),
        CPU_SETS => processors::cpu_sets().map(|bytes| format_hexadecimal(&bytes)),
        ABOUT_WINDOWS => Some(describe_system()),
        _ => None,
    }
}

/// Formats bytes as two digits each, a line for every 32 bytes.
fn format_hexadecimal(bytes: &[u8]) -> String {
    let line = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>() + "\n";
    bytes.chunks(32).map(line).collect()
}

fn describe_system() -> String {
    const PROCESSOR: &str = r"HARDWARE\DESCRIPTION\System\CentralProcessor\0";
    let mut text = String::new();
    let mut line = |key: &str, value: Option<String>| {
        let value = value.map(|value| value.replace(['\r', '\n'], " ")).filter(|value| !value.trim().is_empty());
        value.into_iter().for_each(|value| _ = writeln!(text, "{key}: {value}"));
    };
    line("version", windows_version());
    line("wine", wine_version());
    line("processor", read_registry(PROCESSOR, "ProcessorNameString"));
    line("vendor", read_registry(PROCESSOR, "VendorIdentifier"));
    line("identifier", read_registry(PROCESSOR, "Identifier"));
    line("architecture", Some(std::env::consts::ARCH.to_owned()));
    line("memory", memory_bytes().map(|bytes| bytes.to_string()));
    for (node, bytes) in free_bytes() {
        line(&format!("free node {node}"), Some(bytes.to_string()));
    }
    if let Ok(cpus) = cpuset::reachable_cpus() {
        for mask in processors::group_masks(&cpus) {
            line(&format!("affinity group {}", mask.group), Some(format!("{:x}", mask.bits)));
        }
    }
    text
}

fn read_registry(key: &str, value: &str) -> Option<String> {
    let (key, value) = (to_wide(key), to_wide(value));
    let mut buffer = [0_u16; 256];
    let mut length = size_of_val(&buffer) as u32;
    // SAFETY: both names end in zero, and the kernel writes at most `length` bytes into the buffer.
    let error = unsafe {
        RegGetValueW(
            HKEY_LOCAL_MACHINE,
            key.as_ptr(),
            value.as_ptr(),
            RRF_RT_REG_SZ,
            std::ptr::null_mut(),
            buffer.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    (error == 0).then(|| from_wide(&buffer))
}

fn memory_bytes() -> Option<u64> {
    let mut status = MEMORYSTATUSEX { dwLength: size_of::<MEMORYSTATUSEX>() as u32, ..MEMORYSTATUSEX::default() };
    // SAFETY: the kernel fills the structure, and was given its length.
    (unsafe { GlobalMemoryStatusEx(&raw mut status) } != 0).then_some(status.ullTotalPhys)
}

/// Returns the free memory of each node, if the kernel reports it.
fn free_bytes() -> Vec<(u32, u64)> {
    let mut highest = 0;
    // SAFETY: the kernel fills the number.
    if unsafe { GetNumaHighestNodeNumber(&raw mut highest) } == 0 {
        return Vec::new();
    }
    let free = |node: u32| {
        let mut bytes = 0;
        // SAFETY: the kernel fills the number.
        (unsafe { GetNumaAvailableMemoryNodeEx(u16::try_from(node).ok()?, &raw mut bytes) } != 0)
            .then_some((node, bytes))
    };
    (0..=highest).filter_map(free).collect()
}
