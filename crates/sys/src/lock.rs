//! A lock file that only one process at a time holds.

use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::file_place::FilePlace;
use crate::os::files;
use crate::os::folder_handle::{FolderError, FolderHandle};
use crate::os::process::boot_id;

/// A held lock; released with this value, or when the process ends.
#[derive(Debug)]
pub struct FileLock {
    file: File,
    process: u32,
    /// The folder and the name of a file that goes with the lock.
    removed: Option<(FolderHandle, OsString)>,
}

/// Unlocks the file explicitly: a process that is between fork and exec shares it, and would keep the lock until exec.
impl Drop for FileLock {
    fn drop(&mut self) {
        if std::process::id() == self.process {
            if let Some((folder, name)) = &self.removed {
                let _ = folder.remove_file(name);
            }
            let _ = files::unlock_file(&self.file);
        }
    }
}

/// Result of asking for a lock.
#[derive(Debug)]
pub enum LockAttempt {
    /// This process has it.
    Ours(FileLock),
    /// Another process has it; holds its number, if it is in the file.
    Held(Option<u32>),
}

/// Takes this machine's lock of a name in a folder, which is made if it is missing. Machines that share the folder have a lock each: the
/// file's name ends with the boot. Only this user may write in the folder: other users that can reach a lock can keep it.
///
/// # Errors
/// If the folder is another user's, cannot be made or written to, or if files cannot be locked.
pub fn take_lock(folder: &Path, name: &str) -> io::Result<LockAttempt> {
    take_lock_of_boot(folder, name, &boot_id().unwrap_or_default())
}

fn take_lock_of_boot(folder: &Path, name: &str, boot: &str) -> io::Result<LockAttempt> {
    let failed = |error| match error {
        FolderError::System(error) => error,
        FolderError::Foreign(why) => io::Error::other(why),
    };
    let (folder, name) = (FolderHandle::open_private(folder, true).map_err(failed)?, format!("{name}.{boot}"));
    // A file of each boot would stay.
    Ok(match take_in(&folder, &name)? {
        LockAttempt::Ours(mut lock) => {
            lock.removed = Some((folder, name.into()));
            LockAttempt::Ours(lock)
        }
        held => held,
    })
}

/// Longest wait for a lock that is held for moments only.
const PATIENCE: Duration = Duration::from_secs(30);
const FIRST_PAUSE: Duration = Duration::from_millis(5);
/// Pauses grow up to this, so that many who wait do not slow down the holder.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// Waits for the lock of a name in the folder to which the path of a file leads, and holds it. Only this user can open the lock's own file,
/// so no other user can keep it.
///
/// # Errors
/// If the folder cannot be reached or written to, or the lock is not released within thirty seconds.
pub fn wait_for_lock(path: &Path, name: &str) -> io::Result<FileLock> {
    let (place, begin) = (FilePlace::find_place(path)?, Instant::now());
    let mut pause = FIRST_PAUSE;
    loop {
        match take_in(place.folder(), name)? {
            LockAttempt::Ours(lock) => return Ok(lock),
            LockAttempt::Held(_) if begin.elapsed() < PATIENCE => {
                std::thread::sleep(pause);
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
            LockAttempt::Held(process) => {
                let who = process.map_or_else(|| "another process".to_owned(), |process| format!("process {process}"));
                return Err(io::Error::new(
                    io::ErrorKind::WouldBlock,
                    format!("{who} holds its lock and does not end"),
                ));
            }
        }
    }
}

/// Takes the lock of a name in an open folder. All machines that share the folder have the same.
pub(crate) fn take_in(folder: &FolderHandle, name: &str) -> io::Result<LockAttempt> {
    let name = OsStr::new(name);
    loop {
        let mut file = match folder.create_file(name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match folder.open_own(name) {
                // Its holder has just removed it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened?,
            },
            made => made?,
        };
        match files::try_lock(&file) {
            // A lock on a file that its holder has removed is none.
            Ok(()) if !folder.is_name_of(name, &file) => {}
            Ok(()) => {
                file.set_len(0)?;
                writeln!(file, "{}", std::process::id())?;
                return Ok(LockAttempt::Ours(FileLock { file, process: std::process::id(), removed: None }));
            }
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                file.rewind()?;
                let _ = file.take(32).read_to_string(&mut text);
                return Ok(LockAttempt::Held(text.trim().parse().ok()));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_it_and_the_others_know_who() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("own");
        let LockAttempt::Ours(lock) = take_lock(&folder, "name").unwrap() else { panic!("nobody else has it") };
        let LockAttempt::Held(process) = take_lock(&folder, "name").unwrap() else { panic!("it is held") };
        assert_eq!(process, Some(std::process::id()));
        assert!(matches!(take_lock(&folder, "other").unwrap(), LockAttempt::Ours(_)));
        drop(lock);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "a lock's file goes with it");
        assert!(matches!(take_lock(&folder, "name").unwrap(), LockAttempt::Ours(_)));
    }

    #[test]
    fn machines_that_share_a_home_have_a_lock_each() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("own");
        let take = |boot| take_lock_of_boot(&folder, "name", boot).unwrap();
        let LockAttempt::Ours(_first) = take("boot-1") else { panic!("nobody else has it") };
        let LockAttempt::Ours(_second) = take("boot-2") else { panic!("it is another machine's") };
        assert!(matches!(take("boot-1"), LockAttempt::Held(_)));
    }

    #[test]
    fn a_lock_is_held_once_while_many_take_and_remove_it() {
        use std::sync::atomic::{AtomicU32, Ordering};
        let folder = tempfile::tempdir().unwrap();
        let (folder, holders) = (folder.path().join("own"), AtomicU32::new(0));
        let hold_often = || {
            for _ in 0..200 {
                if let LockAttempt::Ours(_lock) = take_lock(&folder, "name").unwrap() {
                    assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0, "two hold it");
                    std::thread::yield_now();
                    holders.fetch_sub(1, Ordering::SeqCst);
                }
            }
        };
        std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(hold_often))));
    }

    #[cfg(unix)]
    #[test]
    fn no_lock_is_taken_where_others_may_write() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(take_lock(folder.path(), "name").unwrap_err().to_string().contains("write"));
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
        symlink("elsewhere", folder.path().join("name.boot")).unwrap();
        assert!(take_lock_of_boot(folder.path(), "name", "boot").is_err(), "a link leads somewhere else");
    }
}
