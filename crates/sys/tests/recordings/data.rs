//! Where the recorded machines are, and which files beside them are none.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use corewise_machine::Machine;
use corewise_sys::{Root, SysError, topology};
use libtest_mimic::{Failed, Trial};

/// Files that are no recordings, by the end of their names, with the reason.
const NOT_RECORDINGS: [(&str, &str); 5] = [
    ("COPYING", "a licence"),
    ("LICENSE.md", "a licence"),
    ("INDEX.md", "describes the files"),
    ("expected-hwloc-2.9.0.tsv", "what hwloc counts; read by these tests"),
    (".console", "the output of lstopo for the archive of the same name"),
];

/// All files below the folder, as paths relative to it, sorted.
pub fn files(folder: &Path) -> Vec<String> {
    let mut found = BTreeSet::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).expect("a readable folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).expect("a path below the folder");
                found.insert(name.to_string_lossy().into_owned());
            }
        }
    }
    found.into_iter().collect()
}

/// Why a file is no recording; nothing where it is one.
pub fn not_a_recording(name: &str) -> Option<&'static str> {
    NOT_RECORDINGS.iter().find(|(end, _)| name.ends_with(end)).map(|(_, why)| *why)
}

/// A recording that was read.
pub struct LoadedRecording {
    pub root: Root,
    pub machine: Machine,
}

/// A recording that the first of its tests reads, while others wait; or why it could not.
type ReadOnce = OnceLock<Result<LoadedRecording, String>>;

/// Recordings that were read: most tests of one take less time than unpacking it.
static READ: Mutex<BTreeMap<PathBuf, &'static ReadOnce>> = Mutex::new(BTreeMap::new());

/// Reads a recording.
pub fn recording(folder: &Path, name: &str) -> Result<&'static LoadedRecording, Failed> {
    let path = folder.join(name);
    let mut all = READ.lock().expect("no thread panics with it");
    let once = *all.entry(path.clone()).or_insert_with(|| Box::leak(Box::default()));
    drop(all);
    let read = || {
        let root = Root::open(&path)?;
        topology::read_machine(&root).map(|machine| LoadedRecording { root, machine })
    };
    once.get_or_init(|| read().map_err(|error: SysError| error.to_string())).as_ref().map_err(Failed::from)
}

/// The machine of a recording.
pub fn machine(folder: &Path, name: &str) -> Result<Machine, Failed> {
    Ok(recording(folder, name)?.machine.clone())
}

/// A name in the list that fits no file would hide a mistake in it.
pub fn every_exclusion_is_used(files: Vec<String>) -> Trial {
    Trial::test("every excluded file exists", move || {
        for (end, why) in NOT_RECORDINGS {
            if !files.iter().any(|name| name.ends_with(end)) {
                return Err(format!("no file ends in {end} ({why})").into());
            }
        }
        Ok(())
    })
}
