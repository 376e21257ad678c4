//! A journal's file and what is in it: changes that were begun, made and settled.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use super::lines::{Header, Line};
use super::undo::{Change, Meanwhile, Outcome, Undone};

/// The largest journal that is read, in bytes; one entry takes a few hundred.
const LARGEST_BYTES: u64 = 64 << 20;

/// A change in a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its number in the journal, from 1.
    pub number: u32,
    /// The change.
    pub change: Change,
    /// How far it went.
    pub state: State,
}

/// How far a change went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It was about to be made; whether it was is not written down.
    Begun,
    /// It was made; what was there afterwards, in the kernel's words, where those may differ from ours.
    Made(Option<String>),
    /// Nothing remains to be undone.
    Settled,
}

impl Entry {
    fn became(&self) -> Option<&str> {
        match &self.state {
            State::Made(became) => became.as_deref(),
            _ => None,
        }
    }

    /// Whether something may remain to be undone.
    pub fn is_open(&self) -> bool {
        self.state != State::Settled
    }
}

/// What the lines of a journal say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Contents {
    pub header: Option<Header>,
    pub entries: Vec<Entry>,
    /// The command that meant them to stay.
    pub kept_by: Option<String>,
    /// The numbers of complete lines that cannot be read.
    pub unreadable: Vec<usize>,
    /// Where the complete lines end, in bytes.
    pub end: u64,
}

impl Contents {
    /// Reads lines. What follows the last line's end was torn by a crash or a full disk before anything came of it.
    pub fn parse(bytes: &[u8]) -> Self {
        let mut contents = Self::default();
        for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            if !line.ends_with(b"\n") {
                break;
            }
            contents.end += line.len() as u64;
            match serde_json::from_slice(line) {
                Ok(line) => contents.take(line, index + 1),
                Err(_) => contents.unreadable.push(index + 1),
            }
        }
        contents
    }

    /// Whether there is nothing but what was torn.
    pub fn is_empty(&self) -> bool {
        self.end == 0
    }

    fn take(&mut self, line: Line, number: usize) {
        let known = match line {
            Line::Journal(header) if self.header.is_none() => {
                self.header = Some(header);
                true
            }
            Line::Journal(_) => false,
            Line::Begun { entry, change } => {
                self.entries.push(Entry { number: entry, change, state: State::Begun });
                true
            }
            Line::Made { entry, became } => self.set(entry, State::Made(became)),
            Line::Settled { entry } => self.set(entry, State::Settled),
            Line::Kept { by } => {
                self.kept_by = Some(by);
                true
            }
        };
        if !known {
            self.unreadable.push(number);
        }
    }

    fn set(&mut self, number: u32, state: State) -> bool {
        let entry = self.entries.iter_mut().find(|entry| entry.number == number);
        entry.map(|entry| entry.state = state).is_some()
    }
}

/// An open journal.
#[derive(Debug)]
pub(super) struct Log {
    pub path: PathBuf,
    pub contents: Contents,
    file: File,
}

impl Log {
    /// A new journal in an empty file.
    pub fn begin(path: PathBuf, file: File, header: Header) -> io::Result<Self> {
        let mut log = Self { path, contents: Contents::default(), file };
        log.append(&Line::Journal(header.clone()), true)?;
        log.contents.header = Some(header);
        Ok(log)
    }

    /// A journal that is there.
    pub fn read(path: &Path, mut file: File) -> io::Result<Self> {
        let mut bytes = Vec::new();
        (&mut file).take(LARGEST_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > LARGEST_BYTES {
            return Err(io::Error::other("it is too large for a journal"));
        }
        Ok(Self { path: path.to_owned(), contents: Contents::parse(&bytes), file })
    }

    /// Writes a line behind the last complete one. Where that fails, what was written of it is taken away again.
    fn append(&mut self, line: &Line, sync: bool) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        let mut written = self.file.seek(SeekFrom::Start(self.contents.end)).map(|_| ());
        written = written.and_then(|()| self.file.set_len(self.contents.end));
        written = written.and_then(|()| self.file.write_all(&text));
        if sync {
            written = written.and_then(|()| self.file.sync_all());
        }
        match written {
            Ok(()) => self.contents.end += text.len() as u64,
            Err(_) => drop(self.file.set_len(self.contents.end)),
        }
        written
    }

    /// Writes down that a change is about to be made; its number.
    pub fn begin_entry(&mut self, change: &Change) -> io::Result<u32> {
        let number = self.contents.entries.last().map_or(1, |last| last.number + 1);
        self.append(&Line::Begun { entry: number, change: change.clone() }, true)?;
        self.contents.entries.push(Entry { number, change: change.clone(), state: State::Begun });
        Ok(number)
    }

    /// Writes down that it was made. Where that cannot be written any more, undoing looks at the machine instead.
    pub fn mark_made(&mut self, number: u32, became: Option<String>) {
        let _ = self.append(&Line::Made { entry: number, became: became.clone() }, false);
        self.contents.set(number, State::Made(became));
    }

    /// Writes down that nothing remains of it. Where that cannot be written, undoing again finds nothing to do.
    pub fn settle(&mut self, number: u32) {
        let _ = self.append(&Line::Settled { entry: number }, false);
        self.contents.set(number, State::Settled);
    }

    /// Writes down that the changes are meant to stay. Where that cannot be written, they are told as those of a crash.
    pub fn keep(&mut self, by: &str) {
        let _ = self.append(&Line::Kept { by: by.to_owned() }, true);
        self.contents.kept_by = Some(by.to_owned());
    }

    /// What undoing the open changes would come to, the last first, after others that were looked at before.
    pub fn preview(&self, meanwhile: &mut Meanwhile) -> Vec<Undone> {
        let (mut undone, mut staying) = (Vec::new(), Vec::new());
        for entry in self.contents.entries.iter().rev().filter(|entry| entry.is_open()) {
            let outcome = match rests_on(&staying, &entry.change) {
                Some(group) => must_go_first(group),
                None => entry.change.preview(entry.became(), meanwhile),
            };
            match &entry.change {
                Change::Folder(folder) if outcome.is_settled() => meanwhile.going.push(folder.path.clone()),
                Change::Folder(folder) => staying.push(folder.path.clone()),
                Change::File(file) if outcome.is_reverted() => {
                    meanwhile.values.insert(file.path.clone(), file.old.clone());
                }
                _ => {}
            }
            undone.push(Undone { change: entry.change.clone(), outcome });
        }
        undone
    }

    /// Undoes the open changes that are wanted, the last first, and writes down what is settled.
    pub fn undo(&mut self, is_wanted: impl Fn(&Entry) -> bool) -> Vec<Undone> {
        let wanted = self.contents.entries.iter().rev().filter(|entry| entry.is_open() && is_wanted(entry));
        let wanted: Vec<Entry> = wanted.cloned().collect();
        let mut undone = Vec::new();
        for entry in wanted {
            let outcome = match rests_on(&self.open_folders(), &entry.change) {
                Some(group) => must_go_first(group),
                None => entry.change.undo(entry.became()),
            };
            if outcome.is_settled() {
                self.settle(entry.number);
            }
            undone.push(Undone { change: entry.change, outcome });
        }
        undone
    }

    fn open_folders(&self) -> Vec<PathBuf> {
        let open = self.contents.entries.iter().filter(|entry| entry.is_open());
        let folders = open.filter_map(|entry| match &entry.change {
            Change::Folder(folder) => Some(folder.path.clone()),
            _ => None,
        });
        folders.filter(|path| path.exists()).collect()
    }

    /// Removes the file where nothing remains of it; whether it did.
    pub fn remove_if_settled(&self) -> io::Result<bool> {
        let is_settled = self.contents.unreadable.is_empty() && !self.contents.entries.iter().any(Entry::is_open);
        if is_settled {
            self.remove()?;
        }
        Ok(is_settled)
    }

    pub fn remove(&self) -> io::Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// A group of our own that stays and needs a controller; without this it would count as somebody else's.
fn rests_on<'a>(staying: &'a [PathBuf], change: &Change) -> Option<&'a Path> {
    let Change::Controller(controller) = change else { return None };
    staying.iter().map(PathBuf::as_path).find(|path| path.parent() == Some(&controller.group))
}

fn must_go_first(group: &Path) -> Outcome {
    Outcome::Failed(format!("{} must go first", group.display()))
}
