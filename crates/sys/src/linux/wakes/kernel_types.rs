//! The kernel's description of its own types, /sys/kernel/btf/vmlinux: where the fields lie that the programs of this module read
//! (Documentation/bpf/btf.rst).

/// Magic number of the format, and the sizes of its parts (include/uapi/linux/btf.h).
const MAGIC: u16 = 0xeb9f;
const TYPE_BYTES: usize = 12;
const MEMBER_BYTES: usize = 12;
/// Kinds of types.
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const TYPEDEF: u32 = 8;
const VARIABLE: u32 = 14;
/// Most levels of types without a name inside a type, so that a damaged description ends.
const MOST_LEVELS: usize = 8;

/// Parsed description.
#[derive(Debug)]
pub struct KernelTypes {
    bytes: Vec<u8>,
    strings: usize,
    /// Position of each type; number 0 is "void" and has none.
    places: Vec<usize>,
}

/// Kind of a named type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedKind {
    Structure,
    Definition,
}

impl KernelTypes {
    /// Parses a description; `None` if it is damaged, has an unknown kind of type, or another byte order.
    pub fn parse(bytes: Vec<u8>) -> Option<Self> {
        let word = |at: usize| read_word(&bytes, at).map(|word| word as usize);
        if u16::from_ne_bytes([*bytes.first()?, *bytes.get(1)?]) != MAGIC {
            return None;
        }
        let (header, types, length, strings) = (word(4)?, word(8)?, word(12)?, word(16)?);
        let (mut at, end) = (header.checked_add(types)?, header.checked_add(types)?.checked_add(length)?);
        let mut places = vec![0];
        while at < end {
            places.push(at);
            at += TYPE_BYTES + details_bytes(read_word(&bytes, at + 4)?)?;
        }
        Some(Self { strings: header.checked_add(strings)?, bytes, places })
    }

    /// Returns the number of the first type of a kind and a name.
    pub fn find_type(&self, kind: NamedKind, name: &str) -> Option<u32> {
        let is_wanted = |kind_number: u32| match kind {
            NamedKind::Structure => kind_number == STRUCT,
            NamedKind::Definition => kind_number == TYPEDEF,
        };
        let found = self.places.iter().enumerate().skip(1).find(|(_, place)| {
            self.word(**place + 4).is_some_and(|info| is_wanted(kind_of(info))) && self.has_name(**place, name)
        });
        found.and_then(|(number, _)| u32::try_from(number).ok())
    }

    /// Returns the position in bytes of a member of a structure, also if it lies in a part without a name; `None` if there is none, or if it
    /// begins within a byte.
    pub fn find_member(&self, structure: &str, member: &str) -> Option<u32> {
        let number = self.find_type(NamedKind::Structure, structure)?;
        let bits = self.member_bits(number, member, MOST_LEVELS)?;
        bits.is_multiple_of(8).then_some(bits / 8)
    }

    fn member_bits(&self, number: u32, name: &str, levels: usize) -> Option<u32> {
        let place = self.place_of(number)?;
        let info = self.word(place + 4)?;
        if levels == 0 || !matches!(kind_of(info), STRUCT | UNION) {
            return None;
        }
        let members = (0..(info & 0xffff) as usize).map(|index| place + TYPE_BYTES + MEMBER_BYTES * index);
        members.filter_map(|at| Some((at, self.member_start(info, at)?))).find_map(|(at, start)| {
            if self.has_name(at, name) {
                return Some(start);
            }
            let has_no_name = self.word(at) == Some(0);
            let inner = has_no_name.then(|| self.member_bits(self.word(at + 4)?, name, levels - 1)).flatten()?;
            start.checked_add(inner)
        })
    }

    /// Returns a member's start in bits. If the structure has bit fields, the upper byte is their width.
    fn member_start(&self, info: u32, member: usize) -> Option<u32> {
        let start = self.word(member + 8)?;
        Some(if info >> 31 == 1 { start & 0x00ff_ffff } else { start })
    }

    fn place_of(&self, number: u32) -> Option<usize> {
        self.places.get(number as usize).copied().filter(|place| *place > 0)
    }

    fn has_name(&self, place: usize, name: &str) -> bool {
        let Some(start) = self.word(place).map(|offset| self.strings + offset as usize) else { return false };
        let end = start + name.len();
        self.bytes.get(start..end) == Some(name.as_bytes()) && self.bytes.get(end) == Some(&0)
    }

    fn word(&self, at: usize) -> Option<u32> {
        read_word(&self.bytes, at)
    }
}

fn read_word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

const fn kind_of(info: u32) -> u32 {
    info >> 24 & 0x1f
}

/// Returns the number of bytes that follow a type of this kind; `None` for an unknown kind.
const fn details_bytes(info: u32) -> Option<usize> {
    let count = (info & 0xffff) as usize;
    Some(match kind_of(info) {
        // Pointers, forward declarations, typedefs, qualifiers, functions, floats, type tags.
        2 | 7..=12 | 16 | 18 => 0,
        // Numbers, variables, declaration tags.
        1 | VARIABLE | 17 => 4,
        ARRAY => 12,
        STRUCT | UNION | 15 | 19 => MEMBER_BYTES * count,
        // Enumerations, prototypes.
        6 | 13 => 8 * count,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A structure `outer` of a number `first` at bit 0 and, at bit 64, a union without a name that has `inner` at bit 32.
    fn description() -> Vec<u8> {
        let strings = b"\0outer\0first\0inner\0event\0";
        let info = |kind: u32, count: u32| kind << 24 | count;
        let words = [
            [0, info(1, 0), 8].as_slice(),
            &[64],
            &[0, info(UNION, 1), 8],
            &[13, 1, 32],
            &[1, info(STRUCT, 2), 16],
            &[7, 1, 0, 0, 2, 64],
            &[19, info(TYPEDEF, 0), 3],
        ]
        .concat();
        let length = 4 * words.len() as u32;
        let header = [u32::from(MAGIC) | 1 << 16, 24, 0, length, length, strings.len() as u32];
        header.iter().chain(&words).flat_map(|word| word.to_ne_bytes()).chain(strings.iter().copied()).collect()
    }

    #[test]
    fn members_are_found_also_in_parts_without_a_name() {
        let types = KernelTypes::parse(description()).unwrap();
        assert_eq!(types.find_member("outer", "first"), Some(0));
        assert_eq!(types.find_member("outer", "inner"), Some(12));
        assert_eq!(types.find_member("outer", "inne"), None);
        assert_eq!(types.find_type(NamedKind::Definition, "event"), Some(4));
        assert_eq!(types.find_type(NamedKind::Structure, "event"), None);
    }

    #[test]
    fn a_damaged_description_is_none_or_has_nothing() {
        let whole = description();
        for length in 0..whole.len() {
            let types = KernelTypes::parse(whole[..length].to_vec());
            assert_eq!(types.and_then(|types| types.find_type(NamedKind::Definition, "event")), None, "{length}");
        }
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0xff;
            // Any answer will do, as long as there is one.
            let _ = KernelTypes::parse(damaged).and_then(|types| types.find_member("outer", "inner"));
        }
    }
}
