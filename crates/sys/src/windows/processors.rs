//! The processors as the kernel reports them, and their numbers.

use std::ptr;
use std::sync::LazyLock;

use corewise_machine::CpuSet;
use windows_sys::Win32::System::SystemInformation::{
    GetLogicalProcessorInformationEx, GetSystemCpuSetInformation, LOGICAL_PROCESSOR_RELATIONSHIP, RelationAll,
    RelationGroup, RelationNumaNodeEx,
};
use windows_sys::Win32::System::Threading::GetCurrentProcess;

use crate::logical_processors::numbering::GroupNumbering;
use crate::logical_processors::relations::{GroupMask, parse_relations};

/// Largest cpu number in masks: 128 groups.
const LARGEST_CPU: u32 = 8_191;
/// Maximum attempts to enlarge a buffer that is too small: processors may be added meanwhile.
const MOST_TRIES: usize = 4;

/// Numbering of cpus at the first use: groups stay as they are while the system runs.
pub static NUMBERING: LazyLock<GroupNumbering> = LazyLock::new(|| {
    let bytes = read_relation(RelationGroup).unwrap_or_default();
    GroupNumbering::from_relations(&parse_relations(&bytes).0, LARGEST_CPU)
});

/// Returns the masks of a set, one for each group that has cpus of it.
pub fn group_masks(cpus: &CpuSet) -> Vec<GroupMask> {
    let masks =
        NUMBERING.groups.iter().zip(0..).map(|(group, number)| GroupMask { group: number, bits: group.mask(cpus) });
    masks.filter(|mask| mask.bits != 0).collect()
}

/// Returns all relations, and the nodes again with all their groups, if this version has them.
pub fn all_relations() -> Option<Vec<u8>> {
    let mut bytes = read_relation(RelationAll)?;
    bytes.extend(read_relation(RelationNumaNodeEx).unwrap_or_default());
    Some(bytes)
}

fn read_relation(relation: LOGICAL_PROCESSOR_RELATIONSHIP) -> Option<Vec<u8>> {
    // SAFETY: the kernel writes at most `length` bytes into the buffer, and says how many it needs.
    fill_buffer(|buffer, length| unsafe { GetLogicalProcessorInformationEx(relation, buffer.cast(), length) })
}

/// Returns the cpu sets, including those reserved for this process.
pub fn cpu_sets() -> Option<Vec<u8>> {
    // SAFETY: the kernel writes at most `length` bytes into the buffer, and says how many it needs.
    fill_buffer(|buffer, length| unsafe {
        GetSystemCpuSetInformation(buffer.cast(), *length, length, GetCurrentProcess(), 0)
    })
}

/// Returns a buffer of the length that a call asks for.
fn fill_buffer(call: impl Fn(*mut u64, *mut u32) -> i32) -> Option<Vec<u8>> {
    let mut words: Vec<u64> = Vec::new();
    for _ in 0..MOST_TRIES {
        let mut length = (words.len() * 8) as u32;
        let buffer = if words.is_empty() { ptr::null_mut() } else { words.as_mut_ptr() };
        if call(buffer, &raw mut length) != 0 {
            let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            bytes.truncate(length as usize);
            return Some(bytes);
        }
        if (length as usize) <= words.len() * 8 {
            return None;
        }
        words.resize((length as usize).div_ceil(8), 0);
    }
    None
}
