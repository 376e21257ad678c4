//! Folders and links that are exchanged all the time while files are opened and written through them.

use std::fs::{self, Permissions};
use std::io::Read as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::Arc;
use std::thread;

use tempfile::TempDir;

use super::*;
use crate::input::{InputFile, InputKind};
use crate::output;

/// How often something is tried while its path is exchanged.
const TRIES: usize = 1_000;
/// The tries end here if the path never is as it has to be: a machine that gives the other thread no turn proves nothing.
const MOST_TRIES: usize = 1_000_000;

/// A folder in which everybody may write, beside one of this user's alone.
struct ExchangedFile {
    _both: TempDir,
    /// Everybody may write here: `x` and `y` in it are exchanged.
    open: PathBuf,
    own: PathBuf,
}

impl ExchangedFile {
    fn new() -> Self {
        let both = tempfile::tempdir().unwrap();
        let [open, own] = ["open", "own"].map(|name| both.path().join(name));
        for (folder, mode) in [(&open, 0o777), (&own, 0o700)] {
            fs::create_dir(folder).unwrap();
            fs::set_permissions(folder, Permissions::from_mode(mode)).unwrap();
        }
        Self { _both: both, open, own }
    }

    /// A folder in the open one with a file in it.
    fn folder(&self, name: &str, mode: u32, content: &str) -> PathBuf {
        let folder = self.open.join(name);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("file"), content).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(mode)).unwrap();
        folder
    }

    /// Tries something while `x` and `y` change places; it says whether the try counts.
    fn try_while_exchanged(&self, mut attempt: impl FnMut() -> bool) {
        let [x, y, third] = ["x", "y", "third"].map(|name| self.open.join(name));
        let alive = Arc::new(());
        let lease = Arc::downgrade(&alive);
        thread::scope(|scope| {
            // A panic drops it too: then the other thread ends, and the test with it.
            let _alive = alive;
            scope.spawn(|| {
                while lease.strong_count() > 0 {
                    for (from, to) in [(&x, &third), (&y, &x), (&third, &y)] {
                        while fs::rename(from, to).is_err() && lease.strong_count() > 0 {
                            // The attempt has made a folder where there was none for a moment.
                            let _ = fs::remove_dir_all(to);
                        }
                    }
                    thread::yield_now();
                }
            });
            let counted = (0..MOST_TRIES).filter(|_| attempt()).take(TRIES).count();
            if counted < TRIES {
                println!("skipped: only {counted} of {TRIES} tries met the path as it has to be");
            }
        });
    }
}

#[test]
fn content_and_origin_are_of_one_file_while_folders_are_exchanged() {
    let place = ExchangedFile::new();
    place.folder("x", 0o777, "of anybody");
    place.folder("y", 0o700, "own");
    let path = place.open.join("x/file");
    place.try_while_exchanged(|| {
        let Ok(input) = InputFile::open(&path, InputKind::Suite) else { return false };
        let (text, origin) = input.text_with_origin().unwrap();
        assert!(origin.writers().is_some(), "{text}: whoever may write in the folder chose which file this is");
        let is_of_folder = origin.writers().unwrap().starts_with("its folder may be written by everybody");
        assert_eq!(text == "of anybody", is_of_folder, "{text}: {:?}", origin.writers());
        true
    });
}

#[test]
fn a_link_that_is_exchanged_is_never_followed() {
    let place = ExchangedFile::new();
    fs::write(place.own.join("file"), "own").unwrap();
    let theirs = place.folder("theirs", 0o777, "of anybody");
    symlink(&place.own, place.open.join("x")).unwrap();
    symlink(&theirs, place.open.join("y")).unwrap();
    let path = place.open.join("x/file");
    place.try_while_exchanged(|| {
        let opened = InputFile::open(&path, InputKind::Suite);
        assert!(opened.is_err(), "{opened:?}");
        assert!(output::replace_file(&path, b"written").is_err() && output::create_file(&path).is_err());
        true
    });
    assert_eq!(fs::read(place.own.join("file")).unwrap(), b"own");
    assert_eq!(fs::read(theirs.join("file")).unwrap(), b"of anybody");
}

#[test]
fn nothing_is_written_through_a_link_that_takes_the_place_of_a_folder() {
    let place = ExchangedFile::new();
    fs::write(place.own.join("file"), "own").unwrap();
    place.folder("x", 0o777, "");
    symlink(&place.own, place.open.join("y")).unwrap();
    let path = place.open.join("x/file");
    let mut number = 0;
    place.try_while_exchanged(|| {
        number += 1;
        let written = match number % 3 {
            0 => output::replace_file(&path, b"written"),
            1 => output::create_file(&path).map(drop),
            _ => output::make_folder(&place.open.join("x/deep/folder")),
        };
        let _ = crate::input::remove_stale(&path);
        assert_eq!(fs::read(place.own.join("file")).unwrap(), b"own");
        written.is_ok()
    });
    assert_eq!(fs::read_dir(&place.own).unwrap().count(), 1, "no draft and no folder was made there either");
}

#[test]
fn a_file_of_this_user_to_which_others_can_have_led_is_not_replaced() {
    let place = ExchangedFile::new();
    let own = place.folder("x", 0o700, "own");
    let refusal = output::replace_file(&own.join("file"), b"written").unwrap_err().to_string();
    assert!(refusal.starts_with("it is there already, and others can have led here"), "{refusal}");
    output::replace_file(&own.join("new"), b"written").unwrap();
    assert_eq!(fs::read(own.join("file")).unwrap(), b"own");
}

#[test]
fn a_path_from_here_is_checked_as_one_from_the_root() {
    let place = ExchangedFile::new();
    // The current folder is the whole process's: this test looks at the one that it has.
    let here = std::env::current_dir().unwrap();
    let [relative, absolute] = [PathBuf::from("Cargo.toml"), here.join("Cargo.toml")]
        .map(|path| InputFile::open(&path, InputKind::Suite).unwrap());
    assert!(relative.origin().is_same_file(absolute.origin()));
    assert_eq!(relative.origin(), absolute.origin());
    assert!(absolute.origin().is_at(Path::new("Cargo.toml")) && !absolute.origin().is_at(&place.own));
    let above = FolderHandle::open_any(&place.open).unwrap();
    let inside = place.folder("x", 0o700, "own");
    let inside = FolderHandle::open_any(&inside).unwrap();
    assert_eq!(crate::os::folder_handle::strangers_above(&above, &place.open).unwrap(), None);
    let strangers = crate::os::folder_handle::strangers_above(&inside, &place.open.join("x")).unwrap();
    assert!(strangers.unwrap().starts_with("other users may write in "));
}

#[test]
fn a_device_is_written_to_and_a_file_is_replaced_by_a_new_one() {
    let place = ExchangedFile::new();
    output::create_file(Path::new("/dev/null")).unwrap();
    let (file, name) = (place.own.join("file"), place.own.join("other name"));
    fs::write(&file, "own").unwrap();
    fs::hard_link(&file, &name).unwrap();
    let made = output::create_file(&file).unwrap();
    std::io::Write::write_all(&mut { made }, b"new").unwrap();
    let mut text = String::new();
    InputFile::open(&file, InputKind::Suite).unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(
        (text.as_str(), fs::read_to_string(&name).unwrap().as_str()),
        ("new", "own"),
        "another name keeps its file"
    );
}

#[test]
fn what_belongs_to_a_file_counts_with_it() {
    let place = ExchangedFile::new();
    let file = place.own.join("file");
    fs::write(&file, "own").unwrap();
    let origin = || FilePlace::find_place(&file).unwrap().file_origin(&["-wal"]).unwrap().unwrap();
    assert_eq!(origin().writers(), None);
    let log = place.own.join("file-wal");
    fs::write(&log, "").unwrap();
    assert_eq!(origin().writers(), None);
    fs::set_permissions(&log, Permissions::from_mode(0o666)).unwrap();
    assert!(origin().writers().unwrap().contains("-wal beside it may be written by everybody"));
    fs::remove_file(&log).unwrap();
    symlink("elsewhere", &log).unwrap();
    assert!(origin().writers().is_some());
}
