//! Owner and access list of a Windows file, as the kernel writes both into one buffer: they decide which users may change the file.
//!
//! The buffer is a self-relative SECURITY_DESCRIPTOR ([MS-DTYP] 2.4.6). It holds offsets of an owner, which is a security identifier
//! (2.4.2), and of a list of entries (2.4.5). Each entry allows or denies rights to one identifier (2.4.4). Entries that deny are skipped:
//! this can only make a file look more open than it is.

use std::fmt;

/// Rights to change the contents of a file or folder: FILE_WRITE_DATA, FILE_APPEND_DATA, FILE_WRITE_EA, FILE_DELETE_CHILD,
/// FILE_WRITE_ATTRIBUTES, GENERIC_WRITE, and all of [`REPLACE`].
pub const WRITE: u32 = 0x2 | 0x4 | 0x10 | 0x100 | 0x4000_0000 | REPLACE;
/// Rights to replace a folder or its contents: FILE_DELETE_CHILD, DELETE, WRITE_DAC, WRITE_OWNER, GENERIC_ALL.
pub const REPLACE: u32 = 0x40 | 0x1_0000 | 0x4_0000 | 0x8_0000 | 0x1000_0000;
/// The right to delete the file or folder itself. Irrelevant if there is no folder above.
pub const DELETE: u32 = 0x1_0000;

/// Entry types that allow (a conditional one counts as fulfilled), and types that deny.
const ALLOW: [u8; 2] = [0, 9];
const DENY: [u8; 4] = [1, 6, 10, 12];
/// Flag: the entry applies to files made in the folder, not to the folder itself.
const INHERIT_ONLY: u8 = 8;

/// Security identifier of a user or group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SecurityIdentifier {
    authority: u64,
    numbers: Vec<u32>,
}

impl SecurityIdentifier {
    /// Reads the identifier at offset `place` of a buffer.
    pub fn read_at(bytes: &[u8], place: usize) -> Option<Self> {
        let head = bytes.get(place..place.checked_add(8)?)?;
        if head[0] != 1 || head[1] > 15 {
            return None;
        }
        let authority = head[2..].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        let numbers = (0..usize::from(head[1])).map(|index| read_u32(bytes, place + 8 + 4 * index));
        Some(Self { authority, numbers: numbers.collect::<Option<_>>()? })
    }

    /// Returns the binary form that system calls take.
    pub fn to_bytes(&self) -> Vec<u8> {
        let head = [1, self.numbers.len() as u8];
        let numbers = self.numbers.iter().flat_map(|number| number.to_le_bytes());
        head.into_iter().chain(self.authority.to_be_bytes().into_iter().skip(2)).chain(numbers).collect()
    }

    /// Returns true if it can change every file anyway: SYSTEM, the administrators, or Windows' own installer.
    fn is_administrator(&self) -> bool {
        let installer = [80, 956_008_885, 3_418_522_649, 1_831_038_044, 1_853_292_631, 2_271_478_464];
        let of_windows: [&[u32]; 3] = [&[18], &[32, 544], &installer];
        self.authority == 5 && of_windows.contains(&self.numbers.as_slice())
    }

    /// Returns true for SYSTEM, LOCAL SERVICE, NETWORK SERVICE, and a service with a name of its own (S-1-5-80).
    pub(crate) fn is_service(&self) -> bool {
        self.authority == 5 && matches!(self.numbers.first(), Some(18..=20 | 80))
    }

    /// Returns true for OWNER RIGHTS (S-1-3-4): rights of the owner beyond the usual ones.
    fn is_owner_rights(&self) -> bool {
        self.authority == 3 && self.numbers == [4]
    }
}

/// Formats the identifier as Windows does: "S-1-5-18".
impl fmt::Display for SecurityIdentifier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "S-1-{}", self.authority)?;
        self.numbers.iter().try_for_each(|number| write!(formatter, "-{number}"))
    }
}

/// Reason why a file may have been changed by others than a user, the administrators and the system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForeignWriter {
    /// It belongs to this identifier.
    BelongsTo(SecurityIdentifier),
    /// It has no access list: everyone has all rights.
    IsOpen,
    /// This identifier may change it.
    Writable(SecurityIdentifier),
    /// Its access list cannot be parsed.
    Unreadable,
}

/// Returns why someone besides the user, the administrators and the system may have any of `rights`; `None` if no one has.
pub fn foreign_writer(descriptor: &[u8], user: &SecurityIdentifier, rights: u32) -> Option<ForeignWriter> {
    let is_trusted = |sid: &SecurityIdentifier| sid == user || sid.is_administrator();
    let Some((owner, list)) = split_descriptor(descriptor) else { return Some(ForeignWriter::Unreadable) };
    if !is_trusted(&owner) {
        return Some(ForeignWriter::BelongsTo(owner));
    }
    let Some(list) = list else { return Some(ForeignWriter::IsOpen) };
    let Some(entries) = allowed_entries(list) else { return Some(ForeignWriter::Unreadable) };
    let other =
        entries.into_iter().find(|(mask, sid)| mask & rights != 0 && !is_trusted(sid) && !sid.is_owner_rights());
    other.map(|(_, sid)| ForeignWriter::Writable(sid))
}

/// Returns the owner and the bytes from the access list on; `None` for the list if there is none.
fn split_descriptor(descriptor: &[u8]) -> Option<(SecurityIdentifier, Option<&[u8]>)> {
    const HAS_LIST: u16 = 0x4;
    let owner = SecurityIdentifier::read_at(descriptor, read_u32(descriptor, 4)? as usize)?;
    let control = read_u16(descriptor, 2)?;
    let place = read_u32(descriptor, 16)? as usize;
    let list = if control & HAS_LIST == 0 || place == 0 { None } else { Some(descriptor.get(place..)?) };
    Some((owner, list))
}

/// Returns the rights that entries allow, each with its identifier; `None` if an entry has an unknown type or a wrong length.
fn allowed_entries(list: &[u8]) -> Option<Vec<(u32, SecurityIdentifier)>> {
    let list = list.get(..usize::from(read_u16(list, 2)?))?;
    let mut place = 8;
    let mut allowed = Vec::new();
    for _ in 0..read_u16(list, 4)? {
        let (kind, flags, size) = (*list.get(place)?, *list.get(place + 1)?, usize::from(read_u16(list, place + 2)?));
        let entry = list.get(place..place + size.max(8))?;
        if ALLOW.contains(&kind) && flags & INHERIT_ONLY == 0 {
            allowed.push((read_u32(entry, 4)?, SecurityIdentifier::read_at(entry, 8)?));
        } else if !ALLOW.contains(&kind) && !DENY.contains(&kind) {
            return None;
        }
        place += size.max(8);
    }
    Some(allowed)
}

fn read_u16(bytes: &[u8], place: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(place..place.checked_add(2)?)?.try_into().ok()?))
}

fn read_u32(bytes: &[u8], place: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(place..place.checked_add(4)?)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One of the authority of Windows itself, S-1-5.
    fn of_windows(numbers: &[u32]) -> SecurityIdentifier {
        SecurityIdentifier { authority: 5, numbers: numbers.to_vec() }
    }

    #[test]
    fn services_are_known_by_their_identifiers() {
        let services: [&[u32]; 4] = [&[18], &[19], &[20], &[80, 1, 2, 3, 4, 5]];
        assert!(services.iter().all(|numbers| of_windows(numbers).is_service()));
        assert!(
            ![user(), everybody(), of_windows(&[32, 544]), of_windows(&[])].iter().any(SecurityIdentifier::is_service)
        );
    }

    const ALL: u32 = 0x1f_01ff;
    const READ: u32 = 0x12_00a9;

    fn user() -> SecurityIdentifier {
        of_windows(&[21, 1, 2, 3, 1001])
    }

    fn everybody() -> SecurityIdentifier {
        SecurityIdentifier { authority: 1, numbers: vec![0] }
    }

    /// A descriptor as the kernel writes it: kinds, flags and rights of entries, and whose they are.
    fn descriptor(owner: &SecurityIdentifier, entries: Option<&[(u8, u8, u32, SecurityIdentifier)]>) -> Vec<u8> {
        let owner = owner.to_bytes();
        let place = if entries.is_some() { 20 + owner.len() as u32 } else { 0 };
        let mut bytes = vec![1, 0, if entries.is_some() { 4 } else { 0 }, 0x80];
        [20, 0, 0, place].into_iter().for_each(|offset: u32| bytes.extend(offset.to_le_bytes()));
        bytes.extend(owner);
        let mut list = Vec::new();
        for (kind, flags, rights, sid) in entries.unwrap_or_default() {
            let sid = sid.to_bytes();
            list.extend([*kind, *flags]);
            list.extend((8 + sid.len() as u16).to_le_bytes());
            list.extend(rights.to_le_bytes());
            list.extend(sid);
        }
        if let Some(entries) = entries {
            bytes.extend([2, 0]);
            bytes.extend((8 + list.len() as u16).to_le_bytes());
            bytes.extend((entries.len() as u32).to_le_bytes());
            bytes.extend(list);
        }
        bytes
    }

    #[test]
    fn nobody_else_may_change_what_is_private() {
        let [system, administrators, users] = [&[18][..], &[32, 544], &[32, 545]].map(of_windows);
        // What a file in a user's profile has; the owner of a file made with the rights of an administrator is their group.
        let private = [(0, 0, ALL, system), (0, 0, ALL, administrators.clone()), (0, 0, ALL, user())];
        let of = |more: &[(u8, u8, u32, SecurityIdentifier)]| [&private[..], more].concat();
        let check = |owner: &SecurityIdentifier, entries: &[(u8, u8, u32, SecurityIdentifier)], rights| {
            foreign_writer(&descriptor(owner, Some(entries)), &user(), rights)
        };
        assert_eq!(check(&user(), &private, WRITE), None);
        assert_eq!(check(&administrators, &of(&[(0, 0, READ, users.clone())]), WRITE), None);
        assert_eq!(check(&user(), &of(&[(0, INHERIT_ONLY, ALL, users.clone())]), WRITE), None, "for what will be made");
        assert_eq!(check(&user(), &of(&[(1, 0, ALL, users.clone())]), WRITE), None, "it denies");
        assert_eq!(
            check(&user(), &of(&[(0, 0, ALL, SecurityIdentifier { authority: 3, numbers: vec![4] })]), WRITE),
            None
        );
        for right in [0x2, 0x4, 0x10, 0x40, 0x100, DELETE, 0x4_0000, 0x8_0000, 0x1000_0000, 0x4000_0000] {
            let writable = Some(ForeignWriter::Writable(everybody()));
            assert_eq!(check(&user(), &of(&[(0, 0, READ | right, everybody())]), WRITE), writable, "{right:x}");
            assert_eq!(check(&user(), &of(&[(9, 0, right, everybody())]), WRITE), writable, "under a condition");
        }
        // As C:\ has it: everybody may make folders there, and nobody replace one.
        assert_eq!(check(&user(), &of(&[(0, 0, READ | 4, users.clone())]), REPLACE), None);
        assert_eq!(
            check(&user(), &of(&[(0, 0, 0x40, users.clone())]), REPLACE),
            Some(ForeignWriter::Writable(users.clone()))
        );
        assert_eq!(check(&users, &private, WRITE), Some(ForeignWriter::BelongsTo(users)));
    }

    #[test]
    fn what_is_open_or_cannot_be_understood_is_not_believed() {
        let check = |bytes: &[u8]| foreign_writer(bytes, &user(), WRITE);
        assert_eq!(check(&descriptor(&user(), None)), Some(ForeignWriter::IsOpen));
        assert_eq!(check(&descriptor(&user(), Some(&[]))), None, "an empty list lets nobody in");
        assert_eq!(check(&descriptor(&user(), Some(&[(5, 0, ALL, everybody())]))), Some(ForeignWriter::Unreadable));
        let whole = descriptor(&user(), Some(&[(0, 0, ALL, user()), (0, 0, ALL, everybody())]));
        assert_eq!(check(&whole), Some(ForeignWriter::Writable(everybody())));
        for end in 0..whole.len() {
            assert_eq!(check(&whole[..end]), Some(ForeignWriter::Unreadable), "cut at {end}");
        }
        // No byte that lies makes it private, but for those that say who it is, what is allowed, and how many entries there are.
        for (index, byte) in (0..whole.len()).flat_map(|index| [0, 1, 0x7f, 0xff].map(|byte| (index, byte))) {
            let mut lying = whole.clone();
            lying[index] = byte;
            let _ = check(&lying);
        }
    }

    #[test]
    fn an_identifier_is_written_as_windows_writes_it() {
        let sid = of_windows(&[21, 7, 4_000_000_000]);
        assert_eq!(sid.to_string(), "S-1-5-21-7-4000000000");
        assert_eq!(SecurityIdentifier::read_at(&sid.to_bytes(), 0), Some(sid));
        assert_eq!(everybody().to_string(), "S-1-1-0");
        assert_eq!(SecurityIdentifier::read_at(&[1, 15, 0, 0, 0, 0, 0, 5], 0), None);
        assert_eq!(SecurityIdentifier::read_at(&[1, 0], usize::MAX), None);
    }
}
