//! Reads an archive, packed or plain, into memory: only the files that readers ask for, within limits.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;
use std::rc::Rc;

use tar::EntryType;

use super::disk::text_of;
use super::files::RecordedFiles;
use super::paths::CPUID;
use super::wanted::HWLOC_XML;
use super::{inline, pasted, wanted};
use crate::error::SysError;
use crate::values::own_files::LOGICAL_PROCESSORS;

/// Maximum unpacked size of an archive, in bytes; a machine of 1,536 cpus takes 11 MB.
const MOST_UNPACKED_BYTES: u64 = 512 << 20;

/// Maximum entries of a tar; a machine of 112 cpus with everything below sys/devices/system takes 19,000.
const MOST_ENTRIES: u64 = 2_000_000;

/// Maximum size of a file that is kept, in bytes; /proc/cpuinfo takes 2 kB a cpu.
const LARGEST_FILE_BYTES: u64 = 32 << 20;

/// Maximum that is kept in memory of one archive, in bytes; a machine of 1,536 cpus takes 11 MB.
const MOST_KEPT_BYTES: usize = 96 << 20;

/// Memory of a kept file besides its path and its text, in bytes.
const FILE_COST_BYTES: usize = 128;

/// Maximum length of a path that is kept, in bytes.
const LONGEST_PATH_BYTES: usize = 1_024;

/// Maximum memory to unpack an xz stream, in KiB; its largest preset takes 64 MiB.
const XZ_MEMORY_KIB: u32 = 80 << 10;

/// Bytes needed to distinguish a tar, an inline file and an XML export: one tar header.
const HEAD_BYTES: usize = 512;

/// Reads an archive; `path` is for messages.
pub fn read_archive(path: &Path, input: impl Read) -> Result<RecordedFiles, SysError> {
    let exceeded = Rc::new(Cell::new(false));
    let found = unpack_input(input).and_then(|unpacked| {
        collect_files(LimitedReader { inner: unpacked, left: MOST_UNPACKED_BYTES, exceeded: exceeded.clone() })
    });
    let path = path.to_owned();
    match found {
        Ok(ArchiveMatch::Machine(files)) => Ok(files),
        Ok(ArchiveMatch::None(why)) => Err(SysError::NotARecording { path, why: why.into() }),
        Ok(ArchiveMatch::TooMuch(what, limit)) => Err(SysError::TooLarge { path, what, limit }),
        Err(_) if exceeded.get() => {
            Err(SysError::TooLarge { path, what: "its unpacked size in bytes", limit: MOST_UNPACKED_BYTES })
        }
        Err(error) => Err(SysError::Damaged { path, why: describe_damage(&error).to_owned() }),
    }
}

/// Describes why an archive cannot be unpacked to its end. Each unpacker words an early end differently.
fn describe_damage(error: &io::Error) -> &'static str {
    let says = |what: &str| error.to_string().to_lowercase().contains(what);
    match error.kind() {
        io::ErrorKind::UnexpectedEof => CUT_OFF,
        _ if ["eof", "entire block", "end of file", "incomplete", "truncated"].into_iter().any(says) => CUT_OFF,
        _ if says("memory") => "it needs too much memory to unpack",
        io::ErrorKind::PermissionDenied | io::ErrorKind::Interrupted | io::ErrorKind::TimedOut => {
            "it cannot be read to its end"
        }
        _ => "its bytes are not what its checksums say",
    }
}

const CUT_OFF: &str = "the archive is cut off";

enum ArchiveMatch {
    Machine(RecordedFiles),
    None(&'static str),
    TooMuch(&'static str, u64),
}

/// Unpacks gzip, bzip2 or xz, detected by the first bytes.
fn unpack_input<'a>(mut input: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
    let mut magic = Vec::new();
    input.by_ref().take(6).read_to_end(&mut magic)?;
    let whole = BufReader::with_capacity(64 << 10, Cursor::new(magic.clone()).chain(input));
    Ok(match magic.as_slice() {
        [0x1f, 0x8b, ..] => Box::new(flate2::bufread::MultiGzDecoder::new(whole)),
        [b'B', b'Z', b'h', ..] => Box::new(bzip2::bufread::MultiBzDecoder::new(whole)),
        [0xfd, b'7', b'z', b'X', b'Z', 0] => Box::new(lzma_rust2::XzReader::new_mem_limit(whole, true, XZ_MEMORY_KIB)),
        _ => Box::new(whole),
    })
}

fn collect_files(mut input: impl Read) -> io::Result<ArchiveMatch> {
    let mut head = Vec::new();
    input.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut head)?;
    let mut kept = ArchivedMachines::default();
    let whole = BufReader::with_capacity(64 << 10, Cursor::new(head.clone()).chain(input));
    let too_much = if is_tar(&head) {
        keep_tar(whole, &mut kept)?
    } else if inline::begins_inline(&head) {
        keep_inline(whole, "", &mut kept)?
    } else if head.trim_ascii_start().starts_with(b"<") {
        keep_file(whole, HWLOC_XML, &mut kept)?
    } else if head.is_empty() {
        return Ok(ArchiveMatch::None("the file is empty"));
    } else {
        return read_paste(whole);
    };
    Ok(match too_much {
        Some((what, limit)) => ArchiveMatch::TooMuch(what, limit),
        None => {
            kept.into_machine().map_or(ArchiveMatch::None("no sys/devices/system/cpu in it"), ArchiveMatch::Machine)
        }
    })
}

/// Reads pasted text.
fn read_paste(input: impl Read) -> io::Result<ArchiveMatch> {
    let mut bytes = Vec::new();
    input.take(pasted::LARGEST_PASTED_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > pasted::LARGEST_PASTED_BYTES {
        return Ok(ArchiveMatch::TooMuch("its size in bytes as pasted text", pasted::LARGEST_PASTED_BYTES as u64));
    }
    let why = "neither a tar archive, an inline file, an hwloc XML export nor the output of lscpu, numactl -H, lstopo, \
               /proc/cpuinfo or /proc/interrupts";
    let files = pasted::files_of_paste(&text_of(bytes));
    Ok(files.map_or(ArchiveMatch::None(why), ArchiveMatch::Machine))
}

/// A quantity that is too large, and the limit that it exceeds.
type TooMuch = Option<(&'static str, u64)>;

/// Returns true if 512 bytes are a tar header: its checksum matches, counting the checksum's own field as spaces.
fn is_tar(head: &[u8]) -> bool {
    if head.len() < HEAD_BYTES {
        return false;
    }
    let field = String::from_utf8_lossy(&head[148..156]);
    let digits = field.trim_matches(|c: char| c == ' ' || c == '\0');
    let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
    let own: u32 = head[148..156].iter().map(|byte| u32::from(*byte)).sum();
    u32::from_str_radix(digits, 8).is_ok_and(|given| given == sum - own + 8 * u32::from(b' '))
}

/// Keeps the wanted files of a tar. Nothing is written to disk, so names in it cannot lead anywhere.
fn keep_tar(input: impl Read, kept: &mut ArchivedMachines) -> io::Result<TooMuch> {
    let mut archive = tar::Archive::new(input);
    let mut long_name = None;
    // Raw, because the tar crate reads a long name whole into memory, of any length.
    for (count, entry) in archive.entries()?.raw(true).enumerate() {
        if count as u64 >= MOST_ENTRIES {
            return Ok(Some(("its number of entries", MOST_ENTRIES)));
        }
        let mut entry = entry?;
        match entry.header().entry_type() {
            EntryType::GNULongName => long_name = long_name_of(&mut entry)?,
            EntryType::XHeader => long_name = pax_path_of(&mut entry)?.or(long_name),
            EntryType::Regular | EntryType::Continuous => {
                let path = long_name.take().unwrap_or_else(|| entry.path_bytes().into_owned());
                if let Some(too_much) = keep_entry(entry, &path, kept)? {
                    return Ok(Some(too_much));
                }
            }
            EntryType::Symlink => {
                let path = long_name.take().unwrap_or_else(|| entry.path_bytes().into_owned());
                if is_named_only(&path)
                    && let Some(too_much) = keep_entry(io::empty(), &path, kept)?
                {
                    return Ok(Some(too_much));
                }
            }
            EntryType::GNULongLink | EntryType::XGlobalHeader => (),
            _ => long_name = None,
        }
    }
    Ok(None)
}

/// Returns true if only the name of a link entry is wanted; its target is never read.
fn is_named_only(path: &[u8]) -> bool {
    let path = std::str::from_utf8(path).unwrap_or_default().trim_end_matches('/');
    wanted::find_wanted(path).is_some_and(|range| wanted::is_named_only(&path[range]))
}

fn long_name_of(entry: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut name = Vec::new();
    entry.take(LONGEST_PATH_BYTES as u64 + 2).read_to_end(&mut name)?;
    name.truncate(name.iter().position(|byte| *byte == 0).unwrap_or(name.len()));
    Ok(Some(name))
}

fn pax_path_of(entry: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut records = Vec::new();
    entry.take(64 << 10).read_to_end(&mut records)?;
    let mut extensions = tar::PaxExtensions::new(&records).flatten();
    Ok(extensions.find(|extension| extension.key_bytes() == b"path").map(|path| path.value_bytes().to_owned()))
}

fn keep_entry(entry: impl Read, path: &[u8], kept: &mut ArchivedMachines) -> io::Result<TooMuch> {
    let Ok(path) = std::str::from_utf8(path) else { return Ok(None) };
    let path = path.trim_start_matches("./").trim_start_matches('/');
    if path.len() > LONGEST_PATH_BYTES || path.split('/').any(|name| name == "..") {
        return Ok(None);
    }
    for name in ["sys/inlinefiles.txt", "inlinefiles.txt"] {
        if let Some(folder) = path.strip_suffix(name).filter(|folder| folder.is_empty() || folder.ends_with('/')) {
            return keep_inline(BufReader::with_capacity(64 << 10, entry), folder, kept);
        }
    }
    if wanted::find_wanted(path).is_some() { keep_file(entry, path, kept) } else { Ok(None) }
}

fn keep_file(input: impl Read, path: &str, kept: &mut ArchivedMachines) -> io::Result<TooMuch> {
    let mut bytes = Vec::new();
    input.take(LARGEST_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST_FILE_BYTES {
        return Ok(Some(("a file of it in bytes", LARGEST_FILE_BYTES)));
    }
    let begin = wanted::find_wanted(path).map_or(0, |range| range.start);
    Ok(kept.insert_file(&path[..begin], path[begin..].to_owned(), text_of(bytes)))
}

/// Keeps the wanted lines of an inline file as files of the machine in `folder`.
fn keep_inline(mut input: impl BufRead, folder: &str, kept: &mut ArchivedMachines) -> io::Result<TooMuch> {
    let mut line = Vec::new();
    loop {
        line.clear();
        input.by_ref().take(LARGEST_FILE_BYTES).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(None);
        }
        if line.len() as u64 == LARGEST_FILE_BYTES {
            return Ok(Some(("a line of it in bytes", LARGEST_FILE_BYTES)));
        }
        let text = String::from_utf8_lossy(&line);
        let Some((path, text)) = inline::file_of(text.trim_end_matches(['\n', '\r'])) else { continue };
        if let Some(too_much) = kept.insert_file(folder, path, text) {
            return Ok(Some(too_much));
        }
    }
}

/// Kept files by the folder of the archive that contains their machine.
#[derive(Default)]
struct ArchivedMachines {
    machines: BTreeMap<String, RecordedFiles>,
    bytes: usize,
}

impl ArchivedMachines {
    fn insert_file(&mut self, folder: &str, path: String, text: String) -> TooMuch {
        self.bytes += path.len() + text.len() + FILE_COST_BYTES;
        if self.bytes > MOST_KEPT_BYTES {
            return Some(("the stored part of it in bytes", MOST_KEPT_BYTES as u64));
        }
        let path = if wanted::is_dump(&path) && !path.starts_with(CPUID) { format!("{CPUID}/{path}") } else { path };
        match self.machines.get_mut(folder) {
            Some(files) => files.insert_file(path, text),
            None => self.machines.entry(folder.to_owned()).or_default().insert_file(path, text),
        }
        None
    }

    /// Returns the machine with the most facts, the outermost of several, with the cpuid dump beside it, if any.
    fn into_machine(mut self) -> Option<RecordedFiles> {
        let signs = ["sys/devices/system/cpu", "proc/cpuinfo", LOGICAL_PROCESSORS, CPUID, HWLOC_XML];
        let with = |sign: &str, machines: &BTreeMap<String, RecordedFiles>| {
            let having = machines.iter().filter(|(_, files)| files.path_exists(sign));
            having.min_by_key(|(folder, _)| folder.len()).map(|(folder, _)| folder.clone())
        };
        let folder = signs.iter().find_map(|sign| with(sign, &self.machines))?;
        let dump = with(CPUID, &self.machines).filter(|other| *other != folder);
        let dump = dump.and_then(|other| self.machines.remove(&other));
        let mut machine = self.machines.remove(&folder)?;
        if let Some(dump) = dump {
            machine.absorb_files(dump, CPUID);
        }
        Some(machine)
    }
}

/// A reader that fails, and sets a flag, if the input exceeds its limit.
struct LimitedReader<R> {
    inner: R,
    left: u64,
    exceeded: Rc<Cell<bool>>,
}

impl<R: Read> Read for LimitedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        match self.left.checked_sub(count as u64) {
            Some(left) => self.left = left,
            None => {
                self.exceeded.set(true);
                return Err(io::Error::other("too large"));
            }
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests;
