//! The file of the cpus' worth (docs/worth.md): one process writes it, any number read it without waiting.
//!
//! Each record has a sequence number, which is odd while the record is written. A reader that sees an odd number, or another one
//! afterwards, reads again (Lameter, "Effective synchronization on Linux/NUMA systems", 2005; the fences follow Boehm, "Can seqlocks get
//! along with programming language memory models?", 2012).

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::time::Duration;

use corewise_machine::worth::{CpuWorth, HEADER_WORDS, RECORD_WORDS, WorthHeader, WorthRecord};

use crate::os::files::{make_readable, open_to_read, writers_of};
use crate::os::folder_handle::{FolderError, FolderHandle};
pub use crate::os::processor_time::ProcessorTime;
use crate::os::shared_words::SharedWords;
use crate::os::thread::monotonic_ns;

/// The file's name in its folder.
pub const FILE: &str = "worth";
/// Its name until it is complete.
const UNFINISHED: &str = "worth.new";
/// Maximum number of cpus; larger files are rejected.
const MOST_RECORDS: u32 = 8_192;
/// Maximum attempts to read a record before it counts as unreadable: a write takes some nanoseconds, unless the writer was killed
/// meanwhile.
const MOST_ATTEMPTS: u32 = 1_000;
/// Index of the header's word with the time of the last update.
const UPDATED: usize = 3;

/// The writer of the file.
#[derive(Debug)]
pub struct WorthWriter {
    folder: FolderHandle,
    file: std::fs::File,
    shared: SharedWords,
}

impl WorthWriter {
    /// Makes the file in a folder of this user's, replacing an existing one; readers of the old one see that it is stale. All users may
    /// read it: the folder lets them open files by name, as far as the folders above it do.
    ///
    /// # Errors
    /// If others may write in the folder; errors of the system.
    pub fn create_file(folder: &Path, head: &WorthHeader) -> io::Result<Self> {
        let folder = FolderHandle::open_private(folder, true).map_err(|error| match error {
            FolderError::System(error) => error,
            FolderError::Foreign(why) => io::Error::other(why),
        })?;
        folder.let_through()?;
        let name = OsStr::new(UNFINISHED);
        match folder.remove_file(name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = folder.create_file(name)?;
        let words = HEADER_WORDS + head.records as usize * RECORD_WORDS;
        let shared = SharedWords::of_file(&file, words, true)?;
        for (word, value) in shared.words().iter().zip(head.to_words()) {
            word.store(value, Ordering::Relaxed);
        }
        for (cpu, record) in (0_u64..).zip(shared.words()[HEADER_WORDS..].chunks_exact(RECORD_WORDS)) {
            record[0].store(cpu << 32, Ordering::Relaxed);
        }
        make_readable(&file)?;
        folder.rename_durably(name, OsStr::new(FILE))?;
        Ok(Self { folder, file, shared })
    }

    /// Writes all records, and the time of this update. Takes some 10 ns a record.
    pub fn write_records(&self, records: &[WorthRecord]) {
        let words = self.shared.words();
        for (place, record) in words[HEADER_WORDS..].chunks_exact(RECORD_WORDS).zip(records) {
            write_record(place, record);
        }
        words[UPDATED].store(monotonic_ns(), Ordering::Release);
    }
}

impl Drop for WorthWriter {
    fn drop(&mut self) {
        // Another writer's file stays.
        if self.folder.is_name_of(OsStr::new(FILE), &self.file) {
            let _ = self.folder.remove_file(OsStr::new(FILE));
        }
        self.shared.words()[UPDATED].store(0, Ordering::Release);
    }
}

fn write_record(place: &[AtomicU64], record: &WorthRecord) {
    let first = place[0].load(Ordering::Relaxed);
    // Only the lower half counts up.
    let next = |word: u64| word & !u64::from(u32::MAX) | u64::from((word as u32).wrapping_add(1));
    // A writer that was killed in the middle left it odd.
    let odd = if first & 1 == 0 { next(first) } else { first };
    place[0].store(odd, Ordering::Relaxed);
    fence(Ordering::Release);
    for (word, value) in place[1..].iter().zip(record.to_words()) {
        word.store(value, Ordering::Relaxed);
    }
    place[0].store(next(odd), Ordering::Release);
}

/// A reader of the file.
#[derive(Debug)]
pub struct WorthReader {
    head: WorthHeader,
    shared: SharedWords,
}

impl WorthReader {
    /// Opens the file in a folder; `None` if there is none. It must belong to this user or to root, and no other user may write it: a
    /// writer could crash its readers by truncating it.
    ///
    /// # Errors
    /// If these conditions fail or the layout is another version's; errors of the system.
    pub fn open(folder: &Path) -> io::Result<Option<Self>> {
        let file = match open_to_read(&folder.join(FILE), false) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        if let Some(why) = writers_of(&file)? {
            return Err(io::Error::other(format!("the map of worth {why}")));
        }
        let other = || io::Error::other("the map of worth has another layout: another version of corewise writes it");
        let header = SharedWords::of_file(&file, HEADER_WORDS, false).map_err(|_| other())?;
        let head = WorthHeader::of_words(&load_words(header.words())).filter(|head| head.records <= MOST_RECORDS);
        let head = head.ok_or_else(other)?;
        let shared = SharedWords::of_file(&file, HEADER_WORDS + head.records as usize * RECORD_WORDS, false)?;
        Ok(Some(Self { head, shared }))
    }

    /// Returns the header.
    pub const fn read_header(&self) -> WorthHeader {
        self.head
    }

    /// Returns the time since its last update; `None` if its writer has ended or has not begun.
    pub fn update_age(&self) -> Option<Duration> {
        let updated = self.shared.words()[UPDATED].load(Ordering::Acquire);
        (updated > 0).then(|| Duration::from_nanos(monotonic_ns().saturating_sub(updated)))
    }

    /// Returns true if it is no longer kept up to date: not updated for two intervals, or for two seconds if that is less; but at least for
    /// one interval and 200 ms.
    pub fn is_stale(&self) -> bool {
        let interval = Duration::from_millis(u64::from(self.head.interval_ms));
        let patience = (2 * interval).min(Duration::from_secs(2)).max(interval + Duration::from_millis(200));
        self.update_age().is_none_or(|age| age > patience)
    }

    /// Returns the record of a cpu; `None` if there is none, or its writer was killed while writing it. Never blocks.
    #[inline]
    pub fn read_record(&self, cpu: u32) -> Option<WorthRecord> {
        let words: [u64; RECORD_WORDS - 1] = self.read_consistent(cpu, |place| load_words(&place[1..]))?;
        WorthRecord::of_words(&words)
    }

    /// Returns only the worth of a cpu: three loads.
    #[inline]
    pub fn read_worth(&self, cpu: u32) -> Option<f32> {
        self.read_consistent(cpu, |place| f32::from_bits(place[2].load(Ordering::Relaxed) as u32))
    }

    /// Returns the records of all online cpus.
    pub fn read_online(&self) -> Vec<CpuWorth> {
        let record = |cpu| Some(CpuWorth { cpu, record: self.read_record(cpu)? });
        (0..self.head.records).filter_map(record).filter(|cpu| cpu.record.online).collect()
    }

    #[inline]
    fn read_consistent<T>(&self, cpu: u32, read: impl Fn(&[AtomicU64]) -> T) -> Option<T> {
        let begin = HEADER_WORDS + cpu as usize * RECORD_WORDS;
        let place = self.shared.words().get(begin..begin + RECORD_WORDS)?;
        for _ in 0..MOST_ATTEMPTS {
            let before = place[0].load(Ordering::Acquire);
            let value = read(place);
            fence(Ordering::Acquire);
            if before & 1 == 0 && place[0].load(Ordering::Relaxed) == before {
                return Some(value);
            }
            std::hint::spin_loop();
        }
        None
    }
}

#[inline]
fn load_words<const N: usize>(words: &[AtomicU64]) -> [u64; N] {
    let mut loaded = [0; N];
    for (value, word) in loaded.iter_mut().zip(words) {
        *value = word.load(Ordering::Relaxed);
    }
    loaded
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    const HEAD: WorthHeader = WorthHeader { records: 2, interval_ms: 100, writer: 7 };

    /// All numbers of it are the same one.
    fn uniform(number: u16) -> WorthRecord {
        let mut record = WorthRecord { at_ns: u64::from(number), online: true, ..WorthRecord::default() };
        (record.worth, record.speed, record.shares.busy) = (f32::from(number), f32::from(number), f32::from(number));
        (record.throttled, record.llc, record.node) = (u32::from(number), Some(number), Some(number));
        record
    }

    #[test]
    fn what_is_written_is_read_and_an_end_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        assert!(WorthReader::open(folder.path()).unwrap().is_none());
        let writer = WorthWriter::create_file(folder.path(), &HEAD).unwrap();
        let reader = WorthReader::open(folder.path()).unwrap().unwrap();
        assert_eq!((reader.read_header(), reader.update_age(), reader.is_stale()), (HEAD, None, true));
        writer.write_records(&[uniform(3), uniform(4)]);
        assert_eq!(
            (reader.read_record(0), reader.read_record(1), reader.read_record(2)),
            (Some(uniform(3)), Some(uniform(4)), None)
        );
        assert_eq!((reader.read_worth(1), reader.read_worth(2)), (Some(4.0), None));
        assert!(reader.update_age().is_some());
        // Another writer takes over: the first does not remove what is not its own.
        let second = WorthWriter::create_file(folder.path(), &HEAD).unwrap();
        drop(writer);
        assert!(reader.is_stale() && WorthReader::open(folder.path()).unwrap().is_some());
        drop(second);
        assert!(WorthReader::open(folder.path()).unwrap().is_none());
    }

    /// A map of a file without its space would end the writer with SIGBUS, when it stores the first record.
    #[cfg(unix)]
    #[test]
    fn a_file_has_its_space_before_it_is_mapped() {
        use std::os::unix::fs::MetadataExt as _;
        let file = tempfile::tempfile().unwrap();
        // The writer stores into each page once it has begun.
        let _words = SharedWords::of_file(&file, 1 << 17, true).unwrap();
        let found = file.metadata().unwrap();
        assert!(found.blocks() * 512 >= found.len() && found.len() == 1 << 20, "{found:?}");
    }

    #[test]
    fn a_writer_that_was_killed_in_the_middle_holds_nobody_up() {
        let folder = tempfile::tempdir().unwrap();
        let writer = WorthWriter::create_file(folder.path(), &HEAD).unwrap();
        writer.write_records(&[uniform(3), uniform(4)]);
        let reader = WorthReader::open(folder.path()).unwrap().unwrap();
        writer.shared.words()[HEADER_WORDS].fetch_add(1, Ordering::Relaxed);
        assert_eq!((reader.read_record(0), reader.read_record(1)), (None, Some(uniform(4))));
        writer.write_records(&[uniform(5), uniform(6)]);
        assert_eq!(reader.read_record(0), Some(uniform(5)), "the next one writes on");
    }

    #[test]
    fn no_record_is_torn() {
        let folder = tempfile::tempdir().unwrap();
        let writer = WorthWriter::create_file(folder.path(), &HEAD).unwrap();
        writer.write_records(&[uniform(0), uniform(0)]);
        let reader = WorthReader::open(folder.path()).unwrap().unwrap();
        let alive = Arc::new(());
        let lease = Arc::downgrade(&alive);
        std::thread::scope(|scope| {
            // A panic drops it too: then the other thread ends, and the test with it.
            let _alive = alive;
            scope.spawn(|| {
                for number in (0..=u16::MAX).cycle() {
                    if lease.strong_count() == 0 {
                        break;
                    }
                    write_record(&writer.shared.words()[HEADER_WORDS..HEADER_WORDS + RECORD_WORDS], &uniform(number));
                    // Who writes without a pause is never done when a reader looks again.
                    (0..500).for_each(|_| std::hint::spin_loop());
                }
            });
            let mut seen = std::collections::HashSet::new();
            let mut reads = 0_u64;
            // Until the writer was seen at work, however long it takes to be given a cpu.
            while reads < 1_000_000 || seen.len() < 100 {
                if let Some(record) = reader.read_record(0) {
                    assert_eq!(record, uniform(record.throttled as u16));
                    seen.insert(record.throttled);
                }
                reads += 1;
            }
        });
    }

    #[cfg(unix)]
    #[test]
    fn what_others_may_write_is_not_read() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
        let _writer = WorthWriter::create_file(folder.path(), &HEAD).unwrap();
        let file = folder.path().join(FILE);
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(folder.path())), (0o644, 0o711), "it was for its user alone");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
        assert!(WorthReader::open(folder.path()).unwrap_err().to_string().contains("written by everybody"));
        std::fs::remove_file(&file).unwrap();
        std::fs::write(&file, [0; 64]).unwrap();
        assert!(WorthReader::open(folder.path()).unwrap_err().to_string().contains("another layout"));
        std::fs::write(&file, "short").unwrap();
        assert!(WorthReader::open(folder.path()).unwrap_err().to_string().contains("another layout"));
        std::fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &file).unwrap();
        assert!(WorthReader::open(folder.path()).unwrap_err().to_string().contains("link"));
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(WorthWriter::create_file(folder.path(), &HEAD).is_err(), "others may write in the folder");
    }
}
