//! Errors of a store, each with the file and advice.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// Reason why a store could not be opened, read or written. In every case the file was left as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The folder of the store could not be created.
    #[error("the folder {} cannot be created: {source}; choose another store", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The file could not be looked at.
    #[error("{} cannot be opened: {source}", path.display())]
    Unreachable {
        /// The store.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// SQLite could not open or create the file.
    #[error("{} cannot be opened for writing: {detail}; check its permissions, or choose another store", path.display())]
    NotWritable {
        /// The store.
        path: PathBuf,
        /// SQLite's message.
        detail: String,
    },
    /// The path names something that is not an SQLite database.
    #[error("{} is not a database and was not changed: move it away, or choose another store", path.display())]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// The database belongs to another program.
    #[error(
        "{} is a database of another program (application id {application_id:#010x}) and was not changed: choose \
            another store",
        path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Application id in the header of the file; zero if the other program sets none.
        application_id: i32,
    },
    /// The database has another layout.
    #[error(
        "{} has layout {found}, but this corewise reads layout {known}; it was not changed: use the corewise that wrote it, or \
            choose another store",
        path.display()
    )]
    OtherLayout {
        /// The file.
        path: PathBuf,
        /// Its layout.
        found: i32,
        /// The layout that this corewise reads.
        known: i32,
    },
    /// The database is damaged.
    #[error(
        "{} is damaged ({detail}) and was not changed: recover data with `sqlite3 FILE .recover`, or choose another \
            store",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// SQLite's message.
        detail: String,
    },
    /// The database holds more than corewise stores.
    #[error("{} is too large ({what}): choose another store", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size, and the limit.
        what: String,
    },
    /// The disk, or the user's share of it, is full.
    #[error("{} cannot grow: the disk is full; nothing was stored", path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// Reading or writing failed below SQLite. A full disk can also appear as this error if SQLite needs room beside the file.
    #[error("{} cannot be read or written ({detail}): the disk may be full or failing; nothing was stored", path.display())]
    Disk {
        /// The file.
        path: PathBuf,
        /// SQLite's message.
        detail: String,
    },
    /// Another process held the database for longer than the wait of ten seconds.
    #[error("{} was locked by another process for too long; nothing was stored: try again", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// This number was never given.
    #[error("there is no number {number} in {}; {}", path.display(), describe_existing(existing))]
    Missing {
        /// The store.
        path: PathBuf,
        /// The number asked for.
        number: i64,
        /// The numbers that exist, ascending.
        existing: Vec<i64>,
    },
    /// The artifact of this number was deleted.
    #[error("{kind} {number} in {} was deleted", path.display())]
    Deleted {
        /// The store.
        path: PathBuf,
        /// The number asked for.
        number: i64,
        /// Its kind.
        kind: String,
    },
    /// The artifact of this number is of another kind.
    #[error("number {number} in {} is of the kind {found}, not {wanted}", path.display())]
    OtherKind {
        /// The store.
        path: PathBuf,
        /// The number asked for.
        number: i64,
        /// Its kind.
        found: String,
        /// The requested kind.
        wanted: &'static str,
    },
    /// This corewise cannot read a stored artifact, or a trial of it.
    #[error("{kind} {number} in {} cannot be read by this corewise: {source}", path.display())]
    Unreadable {
        /// The store.
        path: PathBuf,
        /// Its number.
        number: i64,
        /// Its kind.
        kind: &'static str,
        /// The cause.
        source: serde_json::Error,
    },
    /// A value cannot be serialised so that it can be read back, for instance because of an infinite number.
    #[error("the results cannot be serialised: {source}; nothing was stored")]
    Unwritable {
        /// The cause.
        source: serde_json::Error,
    },
    /// Anything else that SQLite reports.
    #[error("{}: {source}", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// SQLite's error.
        source: rusqlite::Error,
    },
}

impl StoreError {
    /// Converts an error of SQLite about a file.
    pub(crate) fn from_sqlite(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        let detail = source.to_string();
        match source.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Self::NotADatabase { path },
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged { path, detail },
            Some(ErrorCode::DiskFull) => Self::Full { path },
            Some(ErrorCode::SystemIoFailure) => Self::Disk { path, detail },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy { path },
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                Self::NotWritable { path, detail }
            }
            _ => Self::Sqlite { path, source },
        }
    }
}

/// Describes the existing numbers, "it has 1-4, 7", in at most twelve runs.
fn describe_existing(existing: &[i64]) -> String {
    let mut runs: Vec<(i64, i64)> = Vec::new();
    for &id in existing {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(id) => *last = id,
            _ => runs.push((id, id)),
        }
    }
    let words: Vec<String> = runs
        .iter()
        .map(|&(first, last)| if first == last { first.to_string() } else { format!("{first}-{last}") })
        .collect();
    match words.len() {
        0 => "it has nothing yet".into(),
        1..=12 => format!("it has {}", words.join(", ")),
        _ => format!("it has {} and more, up to {}", words[..11].join(", "), words[words.len() - 1]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn existing_numbers_are_told_in_runs() {
        assert_eq!(describe_existing(&[]), "it has nothing yet");
        assert_eq!(describe_existing(&[3]), "it has 3");
        assert_eq!(describe_existing(&[1, 2, 3, 7, 9, 10]), "it has 1-3, 7, 9-10");
        let odd: Vec<i64> = (0..40).map(|n| 2 * n + 1).collect();
        assert_eq!(describe_existing(&odd), "it has 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21 and more, up to 79");
    }
}
