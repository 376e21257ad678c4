//! A journal's file and its contents: changes that were begun or made, and not settled since.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use super::affinity::AffinityChange;
use super::descendants;
use super::journal_place::JournalPlace;
use super::lines::{JournalHeader, JournalLine};
use super::undo::{Change, UndoForecast, UndoOutcome, UndoneChange};
use crate::os::files;

/// Largest journal that is read or written, in bytes; an entry takes a few hundred.
pub(super) const LARGEST_BYTES: u64 = 16 << 20;
/// Maximum number of open changes in a journal, read or written: one for each held thread, and 500 that replace others. Two sets of cpus
/// take at most 16 KiB, so all take at most 88 MB, and twice that while they are undone.
pub(super) const MOST_OPEN: usize = 5_500;
/// Settled entries are dropped from the file when it has grown by this, or to twice its size.
const SLACK_BYTES: u64 = 64 << 10;
/// Growth beyond that up to which they are dropped only after changes were undone: a program may wait for a change that begins.
const PATIENCE_BYTES: u64 = 1 << 20;

/// A change in a journal that is not settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsettledChange {
    /// Its number in the journal, from 1.
    pub number: u32,
    /// The change.
    pub change: Change,
    /// Progress of the change.
    pub state: ChangeState,
}

/// Progress of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeState {
    /// It was about to be made. The journal does not say if it was.
    Begun,
    /// It was made. Holds the value afterwards as the kernel prints it, if that may differ from the value written.
    Made(Option<String>),
}

impl UnsettledChange {
    fn kernel_words(&self) -> Option<&str> {
        match &self.state {
            ChangeState::Made(became) => became.as_deref(),
            ChangeState::Begun => None,
        }
    }
}

/// Contents of a journal's lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct JournalContents {
    pub header: Option<JournalHeader>,
    /// The changes that are not settled, in the order of their numbers.
    pub entries: Vec<UnsettledChange>,
    /// The last number used.
    pub last_number: u32,
    /// The command that meant them to stay.
    pub kept_by: Option<String>,
    /// Reason why none of it is trusted: a line that no corewise writes.
    pub damage: Option<String>,
    /// End of the complete lines, in bytes.
    pub end: u64,
}

impl JournalContents {
    /// Parses lines. An incomplete last line was torn by a crash or a full disk before it took effect. Any other line that no corewise
    /// writes means that the file was tampered with: then no line counts.
    pub fn parse(bytes: &[u8]) -> Self {
        let mut contents = Self::default();
        for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            if !line.ends_with(b"\n") {
                break;
            }
            let known = serde_json::from_slice(line).map_err(|_| "cannot be read");
            if let Err(why) = known.and_then(|line| contents.take_line(line)) {
                let (header, damage) =
                    (contents.header.take(), Some(format!("line {} of the journal {why}", index + 1)));
                return Self { header, damage, ..Self::default() };
            }
            contents.end += line.len() as u64;
            if contents.header.as_ref().is_some_and(|header| !header.is_readable()) {
                // The meaning of a later corewise's lines is unknown.
                break;
            }
        }
        contents
    }

    /// Returns true if there is no complete line.
    pub fn is_empty(&self) -> bool {
        self.end == 0 && self.damage.is_none()
    }

    fn take_line(&mut self, line: JournalLine) -> Result<(), &'static str> {
        let is_first = self.header.is_none();
        match line {
            JournalLine::Journal(header) if is_first => self.header = Some(header),
            JournalLine::Journal(_) => return Err("is a second header"),
            _ if is_first => return Err("is not its header"),
            JournalLine::Begun { entry, .. } if entry <= self.last_number => return Err("repeats a number"),
            JournalLine::Begun { .. } if self.entries.len() >= MOST_OPEN => return Err("is one change too many"),
            JournalLine::Begun { entry, change } => {
                self.last_number = entry;
                self.entries.push(UnsettledChange { number: entry, change, state: ChangeState::Begun });
            }
            JournalLine::Made { entry, became } => {
                let index = self.entry_index(entry).ok_or("is about no change")?;
                self.entries[index].state = ChangeState::Made(became);
            }
            JournalLine::Settled { entry } => {
                let index = self.entry_index(entry).ok_or("is about no change")?;
                self.entries.remove(index);
            }
            JournalLine::Kept { by } => self.kept_by = Some(by),
        }
        Ok(())
    }

    fn entry_index(&self, number: u32) -> Option<usize> {
        self.entries.binary_search_by_key(&number, |entry| entry.number).ok()
    }
}

/// An open journal.
#[derive(Debug)]
pub(super) struct JournalLog {
    pub contents: JournalContents,
    place: JournalPlace,
    name: OsString,
    file: File,
    /// True if the file's position is after the last complete line, and nothing follows it.
    is_at_end: bool,
    /// Length at which settled entries are dropped.
    compact_at: u64,
    /// The process that opened it.
    process: u32,
}

/// Unlocks the file explicitly: a process that is between fork and exec shares it, and would keep the lock until exec.
impl Drop for JournalLog {
    fn drop(&mut self) {
        if std::process::id() == self.process {
            let _ = files::unlock_file(&self.file);
        }
    }
}

impl JournalLog {
    /// Begins a new journal in an empty file.
    pub fn begin_log(place: JournalPlace, name: OsString, file: File, header: JournalHeader) -> io::Result<Self> {
        let mut log = Self::new(JournalContents::default(), place, name, file, SLACK_BYTES);
        // Synced with the first change at the latest, if needed.
        log.append_line(&JournalLine::Journal(header.clone()), LARGEST_BYTES, false)?;
        log.contents.header = Some(header);
        Ok(log)
    }

    /// Reads an existing journal.
    pub fn read_log(place: JournalPlace, name: OsString, mut file: File) -> io::Result<Self> {
        let mut bytes = Vec::new();
        (&mut file).take(LARGEST_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > LARGEST_BYTES {
            return Err(io::Error::other("it is too large for a journal"));
        }
        let contents = JournalContents::parse(&bytes);
        Ok(Self::new(contents, place, name, file, u64::MAX))
    }

    fn new(contents: JournalContents, place: JournalPlace, name: OsString, file: File, compact_at: u64) -> Self {
        Self { contents, place, name, file, is_at_end: false, compact_at, process: std::process::id() }
    }

    /// Returns the path of the file.
    pub fn file_path(&self) -> PathBuf {
        self.place.path_of(&self.name)
    }

    /// Renames a new journal to the name under which it is found.
    pub fn give_name(&mut self) -> io::Result<()> {
        self.name = self.place.give_name(&self.name)?;
        Ok(())
    }

    /// Appends a line after the last complete one, unless the file would become larger than `largest`. On failure, any part that was
    /// written is removed again.
    fn append_line(&mut self, line: &JournalLine, largest: u64, sync: bool) -> io::Result<()> {
        self.append_text(&text_of(line)?, largest, sync)
    }

    fn append_text(&mut self, text: &[u8], largest: u64, sync: bool) -> io::Result<()> {
        if self.contents.end + text.len() as u64 > largest {
            return Err(io::Error::other(format!("it would be larger than {largest} bytes")));
        }
        let mut written = if self.is_at_end { Ok(()) } else { self.go_to_end() };
        written = written.and_then(|()| self.file.write_all(text));
        if sync {
            written = written.and_then(|()| self.file.sync_all());
        }
        self.is_at_end = written.is_ok();
        match written {
            Ok(()) => self.contents.end += text.len() as u64,
            Err(_) => drop(self.file.set_len(self.contents.end)),
        }
        written
    }

    fn go_to_end(&mut self) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.contents.end))?;
        self.file.set_len(self.contents.end)
    }

    /// Records that changes are about to be made, all or none. Returns the number of the first; the others follow it.
    pub fn begin_entries(&mut self, changes: &[Change]) -> io::Result<u32> {
        if self.contents.entries.len() + changes.len() > MOST_OPEN {
            let why = format!("it has {MOST_OPEN} changes that are not undone, and may have no more");
            return Err(io::Error::other(why));
        }
        self.compact_at_length(self.compact_at.saturating_add(PATIENCE_BYTES));
        let first = self.contents.last_number + 1;
        let mut text = Vec::new();
        for (number, change) in (first..).zip(changes) {
            text.extend(text_of(&JournalLine::Begun { entry: number, change: change.clone() })?);
        }
        let sync = !changes.iter().all(ends_with_boot);
        // The other half is for the lines of changes made and settled.
        self.append_text(&text, LARGEST_BYTES / 2, sync)?;
        let entry = |(number, change): (u32, &Change)| UnsettledChange {
            number,
            change: change.clone(),
            state: ChangeState::Begun,
        };
        self.contents.entries.extend((first..).zip(changes).map(entry));
        self.contents.last_number += changes.len() as u32;
        Ok(first)
    }

    /// Drops settled entries from a file of at least this length. If that fails, a full disk may still take a line.
    fn compact_at_length(&mut self, least_bytes: u64) {
        if self.contents.end >= least_bytes {
            let _ = self.compact_file();
        }
    }

    /// Writes the open changes into a new file and replaces the old one with it. The new file is locked before it gets the name.
    fn compact_file(&mut self) -> io::Result<()> {
        let Some(header) = &self.contents.header else { return Ok(()) };
        let mut text = text_of(&JournalLine::Journal(header.clone()))?;
        for UnsettledChange { number, change, state } in &self.contents.entries {
            text.extend(text_of(&JournalLine::Begun { entry: *number, change: change.clone() })?);
            if let ChangeState::Made(became) = state {
                text.extend(text_of(&JournalLine::Made { entry: *number, became: became.clone() })?);
            }
        }
        let (nameless, mut file) = self.place.create_journal(header)?;
        let _ = files::try_lock(&file);
        let mut written = file.write_all(&text);
        if !self.contents.entries.iter().all(|entry| ends_with_boot(&entry.change)) {
            written = written.and_then(|()| file.sync_all());
        }
        let named = written.and_then(|()| self.place.rename_file(&nameless, &self.name));
        named.inspect_err(|_| drop(self.place.remove_file(&nameless)))?;
        (self.contents.end, self.is_at_end) = (text.len() as u64, true);
        self.compact_at = 2 * self.contents.end + SLACK_BYTES;
        self.file = file;
        Ok(())
    }

    /// Records that a change was made. If it cannot be written, undoing checks the machine instead.
    pub fn mark_made(&mut self, number: u32, became: Option<String>) {
        let _ = self.append_line(&JournalLine::Made { entry: number, became: became.clone() }, LARGEST_BYTES, false);
        if let Some(index) = self.contents.entry_index(number) {
            self.contents.entries[index].state = ChangeState::Made(became);
        }
    }

    /// Records that nothing remains of a change. If it cannot be written, undoing again finds nothing to do.
    pub fn settle_change(&mut self, number: u32) {
        let _ = self.append_line(&JournalLine::Settled { entry: number }, LARGEST_BYTES, false);
        if let Some(index) = self.contents.entry_index(number) {
            self.contents.entries.remove(index);
        }
    }

    /// As [`Self::settle_change`], for many at once.
    fn settle_all(&mut self, numbers: &BTreeSet<u32>) {
        let lines: Vec<Vec<u8>> =
            numbers.iter().filter_map(|entry| text_of(&JournalLine::Settled { entry: *entry }).ok()).collect();
        let _ = self.append_text(&lines.concat(), LARGEST_BYTES, false);
        self.contents.entries.retain(|entry| !numbers.contains(&entry.number));
    }

    /// Records that the changes are meant to stay. If it cannot be written, they look like the changes of a crashed process.
    pub fn keep_changes(&mut self, by: &str) {
        let _ = self.append_line(&JournalLine::Kept { by: by.to_owned() }, LARGEST_BYTES, true);
        self.contents.kept_by = Some(by.to_owned());
    }

    /// Predicts the outcomes of undoing the open changes, the last first, after the effects in `meanwhile`.
    pub fn preview_undo(&self, meanwhile: &mut UndoForecast) -> Vec<UndoneChange> {
        let (mut undone, mut staying) = (Vec::new(), Vec::new());
        for entry in self.contents.entries.iter().rev() {
            let outcome = match rests_on(&staying, &entry.change) {
                Some(group) => must_go_first(group),
                None => entry.change.preview_undo(entry.kernel_words(), meanwhile),
            };
            match &entry.change {
                Change::Folder(folder) if outcome.is_settled() => meanwhile.going.push(folder.path.clone()),
                Change::Folder(folder) => staying.push(folder.path.clone()),
                Change::File(file) if outcome.is_reverted() => {
                    meanwhile.values.insert(file.path.clone(), file.old.clone());
                }
                _ => {}
            }
            undone.push(UndoneChange { change: entry.change.clone(), outcome });
        }
        undone
    }

    /// Undoes the open changes selected by `is_wanted`, the last first, and records the settled ones.
    pub fn undo_changes(&mut self, is_wanted: impl Fn(&UnsettledChange) -> bool) -> Vec<UndoneChange> {
        let wanted = self.contents.entries.iter().rev().filter(|entry| is_wanted(entry));
        let wanted: Vec<u32> = wanted.map(|entry| entry.number).collect();
        let mut undone = Vec::new();
        // Threads are settled last: after a crash, undoing starts again until their descendants have their cpus back too.
        let mut threads = Vec::new();
        for number in wanted {
            let Some(index) = self.contents.entry_index(number) else { continue };
            let entry = self.contents.entries[index].clone();
            let is_controller = matches!(entry.change, Change::Controller(_));
            let folders = if is_controller { self.open_folders() } else { Vec::new() };
            let outcome = match rests_on(&folders, &entry.change) {
                Some(group) => must_go_first(group),
                None => entry.change.undo_change(entry.kernel_words(), || self.place.hold_groups()),
            };
            match &entry.change {
                Change::Affinity(change) if outcome.is_settled() => {
                    threads.push((number, change.clone(), undone.len()))
                }
                _ if outcome.is_settled() => self.settle_change(number),
                _ => {}
            }
            undone.push(UndoneChange { change: entry.change, outcome });
        }
        self.undo_heirs(&threads, &mut undone);
        self.compact_at_length(self.compact_at);
        undone
    }

    /// Restores the descendants of `threads`: number here, change, and index in `undone`.
    fn undo_heirs(&mut self, threads: &[(u32, AffinityChange, usize)], undone: &mut [UndoneChange]) {
        if threads.is_empty() {
            return;
        }
        let numbers: BTreeSet<u32> = threads.iter().map(|(number, ..)| *number).collect();
        let open = self.contents.entries.iter().filter(|entry| !numbers.contains(&entry.number));
        let open = open.filter_map(|entry| match &entry.change {
            Change::Affinity(change) => Some(change.clone()),
            _ => None,
        });
        let open: Vec<AffinityChange> = open.collect();
        let gone: Vec<AffinityChange> = threads.iter().map(|(_, change, _)| change.clone()).collect();
        let mut given = descendants::give_back(&gone, &open);
        self.settle_all(&numbers);
        for (_, change, place) in threads.iter().rev() {
            let count = change.process.and_then(|process| given.remove(&process.id)).unwrap_or(0);
            if let UndoOutcome::Reverted(remark) = &mut undone[*place].outcome
                && count > 0
            {
                let heirs = format!("also set back, started since: {count}");
                *remark = Some(remark.take().map_or(heirs.clone(), |remark| format!("{remark}; {heirs}")));
            }
        }
    }

    fn open_folders(&self) -> Vec<PathBuf> {
        let folders = self.contents.entries.iter().filter_map(|entry| match &entry.change {
            Change::Folder(folder) => Some(folder.path.clone()),
            _ => None,
        });
        folders.filter(|path| path.exists()).collect()
    }

    /// Removes the file if nothing remains of it. Returns true if it did.
    pub fn remove_if_settled(&self) -> io::Result<bool> {
        let is_settled = self.contents.damage.is_none() && self.contents.entries.is_empty();
        if is_settled {
            self.remove_file()?;
        }
        Ok(is_settled)
    }

    pub fn remove_file(&self) -> io::Result<()> {
        self.place.remove_file(&self.name)
    }
}

/// Returns true if a change need not be on the disk before it is made: masks end with the boot, as do their threads, and a reader before
/// that sees the kernel's copy of the file. Waiting for a disk would keep a program off its cpus for several milliseconds.
fn ends_with_boot(change: &Change) -> bool {
    matches!(change, Change::Affinity(_))
}

fn text_of(line: &JournalLine) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    Ok(text)
}

/// Returns a group of our own in `staying` that needs a controller; without this it would count as a stranger's.
fn rests_on<'a>(staying: &'a [PathBuf], change: &Change) -> Option<&'a Path> {
    let Change::Controller(controller) = change else { return None };
    staying.iter().map(PathBuf::as_path).find(|path| path.parent() == Some(&controller.group))
}

fn must_go_first(group: &Path) -> UndoOutcome {
    UndoOutcome::Failed(format!("{} must go first", group.display()))
}
