//! The cpu sets from GetSystemCpuSetInformation, one for each cpu.
//!
//! SYSTEM_CPU_SET_INFORMATION (winnt.h): size and type, 4 bytes each; identifier (4), group (2), index in the group, core, last-level
//! cache, node, efficiency class and flags (1 each), scheduling class (4), allocation tag (8).

use super::bytes::RecordBytes;

/// Size up to the tag, which is not read.
const LEAST_BYTES: usize = 20;

/// Windows' facts about one cpu. A core or cache has the index of its first cpu in the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuSetOf {
    /// Identifier in system calls.
    #[cfg_attr(not(windows), allow(dead_code, reason = "only Windows itself can be called"))]
    pub identifier: u32,
    pub group: u16,
    pub index: u8,
    pub core: u8,
    pub last_level_cache: u8,
    pub node: u8,
    pub efficiency_class: u8,
    /// True if it is reserved for other processes than this one.
    pub is_reserved: bool,
}

/// Returns the set of each cpu, and the defect of the buffer, if any.
pub fn cpu_sets(bytes: &[u8]) -> (Vec<CpuSetOf>, Option<String>) {
    const ALLOCATED: u8 = 2;
    const ALLOCATED_TO_THIS: u8 = 4;
    let (records, wrong_at) = RecordBytes(bytes).split_records(0, LEAST_BYTES);
    let cpu_set = |record: &RecordBytes<'_>| {
        let flags = record.u8_at(19)?;
        // Types other than 0 are of newer versions of Windows.
        (record.u32_at(4)? == 0).then_some(CpuSetOf {
            identifier: record.u32_at(8)?,
            group: record.u16_at(12)?,
            index: record.u8_at(14)?,
            core: record.u8_at(15)?,
            last_level_cache: record.u8_at(16)?,
            node: record.u8_at(17)?,
            efficiency_class: record.u8_at(18)?,
            is_reserved: flags & ALLOCATED != 0 && flags & ALLOCATED_TO_THIS == 0,
        })
    };
    let wrong = wrong_at.map(|at| format!("the size of the record at byte {at} cannot be"));
    (records.iter().filter_map(cpu_set).collect(), wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record with one byte of each field from the group on.
    fn record(kind: u8, flags: u8) -> [u8; 32] {
        let mut record = [0; 32];
        (record[0], record[4], record[9], record[12], record[19]) = (32, kind, 1, 1, flags);
        record[14..19].copy_from_slice(&[5, 4, 3, 2, 1]);
        record
    }

    #[test]
    fn each_cpu_has_its_set() {
        let buffer = [record(0, 0), record(7, 0), record(0, 2), record(0, 6)].concat();
        let of = CpuSetOf {
            identifier: 0x100,
            group: 1,
            index: 5,
            core: 4,
            last_level_cache: 3,
            node: 2,
            efficiency_class: 1,
            is_reserved: false,
        };
        let reserved = CpuSetOf { is_reserved: true, ..of };
        assert_eq!(cpu_sets(&buffer), (vec![of, reserved, of], None));
        assert_eq!(cpu_sets(&buffer[..40]).1.as_deref(), Some("the size of the record at byte 32 cannot be"));
        assert_eq!(cpu_sets(&[19, 0, 0, 0]).0, []);
    }
}
