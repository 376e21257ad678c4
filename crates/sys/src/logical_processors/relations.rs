//! The relations from GetLogicalProcessorInformationEx, as consecutive records, on 64-bit Windows.
//!
//! SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX (winnt.h): the relation and the size of the record, 4 bytes each, then the relation's own
//! fields. Masks are GROUP_AFFINITY: 8 bytes of bits, 2 bytes of group, 6 bytes reserved.

use corewise_machine::facts::CacheKind;

use super::bytes::RecordBytes;

const HEADER_BYTES: usize = 8;
const MASK_BYTES: usize = 16;
/// PROCESSOR_GROUP_INFO.
const GROUP_BYTES: usize = 48;

/// Cpus of one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupMask {
    /// The group's number.
    pub group: u16,
    /// Bit n is the cpu with index n in the group.
    pub bits: u64,
}

/// One relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessorRelation {
    /// The threads of a core; a higher efficiency class is a faster core.
    Core { efficiency_class: u8, cpus: Vec<GroupMask> },
    /// A package.
    Package(Vec<GroupMask>),
    /// A die.
    Die(Vec<GroupMask>),
    /// Cores that share something, usually an L2.
    Module(Vec<GroupMask>),
    /// A NUMA node.
    Node { number: u32, cpus: Vec<GroupMask> },
    /// A cache; `None` for an unknown kind.
    Cache { level: u8, kind: Option<CacheKind>, size_bytes: u64, cpus: Vec<GroupMask> },
    /// The active cpus of each group, by its number.
    Groups(Vec<u64>),
}

/// Returns all known relations, and the defects of the buffer.
pub fn parse_relations(bytes: &[u8]) -> (Vec<ProcessorRelation>, Vec<String>) {
    let (records, wrong_at) = RecordBytes(bytes).split_records(4, HEADER_BYTES);
    let mut wrong: Vec<String> =
        wrong_at.map(|at| format!("the size of the record at byte {at} cannot be")).into_iter().collect();
    let mut relations = Vec::new();
    for (place, record) in records.into_iter().enumerate() {
        match parse_relation(record) {
            FoundRelation::Relation(relation) => relations.push(relation),
            FoundRelation::Cut(relation) => {
                wrong.push(format!("record {place} has fewer masks or groups than it says"));
                relations.push(relation);
            }
            FoundRelation::Short => wrong.push(format!("record {place} is too short")),
            FoundRelation::Unknown => (),
        }
    }
    (relations, wrong)
}

enum FoundRelation {
    Relation(ProcessorRelation),
    /// Its counts exceed its size.
    Cut(ProcessorRelation),
    /// Too short for the fixed fields.
    Short,
    /// A relation of newer versions of Windows.
    Unknown,
}

fn parse_relation(record: RecordBytes<'_>) -> FoundRelation {
    let body = RecordBytes(&record.0[HEADER_BYTES..]);
    let found = match record.u32_at(0) {
        Some(0) => parse_processors(body, |efficiency_class, cpus| ProcessorRelation::Core { efficiency_class, cpus }),
        // Node and NodeEx; the second has all groups of a node.
        Some(1 | 6) => parse_node(body),
        Some(2) => parse_cache(body),
        Some(3) => parse_processors(body, |_, cpus| ProcessorRelation::Package(cpus)),
        Some(4) => parse_groups(body),
        Some(5) => parse_processors(body, |_, cpus| ProcessorRelation::Die(cpus)),
        Some(7) => parse_processors(body, |_, cpus| ProcessorRelation::Module(cpus)),
        _ => return FoundRelation::Unknown,
    };
    match found {
        Some((relation, true)) => FoundRelation::Relation(relation),
        Some((relation, false)) => FoundRelation::Cut(relation),
        None => FoundRelation::Short,
    }
}

/// Parses PROCESSOR_RELATIONSHIP: flags, efficiency class, 20 bytes reserved, count of masks, masks.
fn parse_processors(
    body: RecordBytes<'_>,
    relation: impl Fn(u8, Vec<GroupMask>) -> ProcessorRelation,
) -> Option<(ProcessorRelation, bool)> {
    let (cpus, is_whole) = parse_masks(body, body.u16_at(22)?, 24);
    Some((relation(body.u8_at(1)?, cpus), is_whole))
}

/// Parses NUMA_NODE_RELATIONSHIP: number, 18 bytes reserved, count of masks, masks. Before Server 2022 the count was 0, with one mask.
fn parse_node(body: RecordBytes<'_>) -> Option<(ProcessorRelation, bool)> {
    let number = body.u32_at(0)?;
    let (cpus, is_whole) = parse_masks(body, body.u16_at(22)?.max(1), 24);
    Some((ProcessorRelation::Node { number, cpus }, is_whole))
}

/// Parses CACHE_RELATIONSHIP: level, associativity, 2 bytes of line size, 4 of size, 4 of kind, 18 reserved, count of masks, masks. Before
/// Server 2022 the count was 0, with one mask.
fn parse_cache(body: RecordBytes<'_>) -> Option<(ProcessorRelation, bool)> {
    let kind = match body.u32_at(8)? {
        0 => Some(CacheKind::Unified),
        1 => Some(CacheKind::Instruction),
        2 => Some(CacheKind::Data),
        // A cache of decoded instructions.
        _ => None,
    };
    let (cpus, is_whole) = parse_masks(body, body.u16_at(30)?.max(1), 32);
    Some((
        ProcessorRelation::Cache { level: body.u8_at(0)?, kind, size_bytes: u64::from(body.u32_at(4)?), cpus },
        is_whole,
    ))
}

/// Parses GROUP_RELATIONSHIP: the maximum and the active number of groups, 20 bytes reserved, then for each active group its maximum and
/// its active number of cpus, a byte each, 38 bytes reserved, and the mask of the active cpus.
fn parse_groups(body: RecordBytes<'_>) -> Option<(ProcessorRelation, bool)> {
    let count = usize::from(body.u16_at(2)?);
    let masks: Vec<u64> = (0..count).map_while(|group| body.u64_at(24 + group * GROUP_BYTES + 40)).collect();
    let is_whole = masks.len() == count;
    Some((ProcessorRelation::Groups(masks), is_whole))
}

/// Reads `count` masks from an offset on; also returns true if all are there.
fn parse_masks(body: RecordBytes<'_>, count: u16, begin: usize) -> (Vec<GroupMask>, bool) {
    let mask = |place: usize| {
        let at = begin + place * MASK_BYTES;
        Some(GroupMask { bits: body.u64_at(at)?, group: body.u16_at(at + 8)? })
    };
    let masks: Vec<GroupMask> = (0..usize::from(count)).map_while(mask).collect();
    let is_whole = masks.len() == usize::from(count);
    (masks, is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record of a relation with this body.
    fn record(relation: u32, body: &[u8]) -> Vec<u8> {
        let size = (HEADER_BYTES + body.len()) as u32;
        [relation.to_le_bytes().as_slice(), &size.to_le_bytes(), body].concat()
    }

    fn mask(group: u8, bits: u8) -> Vec<u8> {
        [[bits, 0, 0, 0, 0, 0, 0, 0], [group, 0, 0, 0, 0, 0, 0, 0]].concat()
    }

    /// A body with zeros where nothing is written.
    fn body(length: usize, written: &[(usize, u8)], masks: &[Vec<u8>]) -> Vec<u8> {
        let mut body = vec![0; length];
        written.iter().for_each(|(at, byte)| body[*at] = *byte);
        body.extend(masks.concat());
        body
    }

    #[test]
    fn each_relation_is_read_as_documented() {
        let buffer = [
            record(0, &body(24, &[(1, 7), (22, 1)], &[mask(0, 3)])),
            record(3, &body(24, &[(22, 2)], &[mask(0, 15), mask(1, 15)])),
            record(1, &body(24, &[(0, 9)], &[mask(1, 15)])),
            record(6, &body(24, &[(0, 9), (22, 2)], &[mask(0, 1), mask(1, 15)])),
            record(2, &body(32, &[(0, 3), (6, 0x60), (7, 1), (8, 0)], &[mask(0, 15)])),
            record(2, &body(32, &[(0, 1), (5, 0x80), (8, 3)], &[mask(0, 1)])),
            record(99, &[]),
        ]
        .concat();
        let of = |group, bits| GroupMask { group, bits };
        let expected = [
            ProcessorRelation::Core { efficiency_class: 7, cpus: vec![of(0, 3)] },
            ProcessorRelation::Package(vec![of(0, 15), of(1, 15)]),
            ProcessorRelation::Node { number: 9, cpus: vec![of(1, 15)] },
            ProcessorRelation::Node { number: 9, cpus: vec![of(0, 1), of(1, 15)] },
            ProcessorRelation::Cache {
                level: 3,
                kind: Some(CacheKind::Unified),
                size_bytes: 0x160_0000,
                cpus: vec![of(0, 15)],
            },
            ProcessorRelation::Cache { level: 1, kind: None, size_bytes: 0x8000, cpus: vec![of(0, 1)] },
        ];
        let (found, wrong) = parse_relations(&buffer);
        assert_eq!((found.as_slice(), wrong), (expected.as_slice(), vec![]));
    }

    #[test]
    fn groups_have_their_active_cpus() {
        let mut group = body(24, &[(0, 2), (2, 2)], &[]);
        group.extend(body(48, &[(0, 64), (1, 2), (40, 3)], &[]));
        group.extend(body(48, &[(0, 64), (1, 1), (47, 128)], &[]));
        let (found, _) = parse_relations(&record(4, &group));
        assert_eq!(found, [ProcessorRelation::Groups(vec![3, 1 << 63])]);
        let (found, wrong) = parse_relations(&record(4, &group[..24 + 48]));
        assert_eq!((found, wrong.len()), (vec![ProcessorRelation::Groups(vec![3])], 1), "one group is cut off");
    }

    #[test]
    fn counts_and_lengths_that_lie_are_reported() {
        let whole = record(3, &body(24, &[(22, 1)], &[mask(0, 1)]));
        let found = |buffer: &[u8]| {
            let (relations, wrong) = parse_relations(buffer);
            (relations.len(), wrong.join("; "))
        };
        let many = record(3, &body(24, &[(22, 255), (23, 255)], &[mask(0, 1)]));
        assert_eq!(found(&many), (1, "record 0 has fewer masks or groups than it says".to_owned()));
        assert_eq!(found(&record(3, &[0; 20])), (0, "record 0 is too short".to_owned()));
        assert_eq!(
            found(&[whole.as_slice(), &[3, 0, 0, 0, 0, 0, 0, 0]].concat()).1,
            "the size of the record at byte 48 cannot be"
        );
        assert_eq!(found(&whole[..47]).1, "the size of the record at byte 0 cannot be");
        for cut in 0..whole.len() {
            let _ = found(&whole[..cut]);
        }
    }
}
